"""Which labels to ask for, as River's active learners say it."""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from devfnn.errors import InputError
from devfnn.river.classifier import DEVFNNClassifier
from devfnn.river.library import active, base

RATE = 0.002
"""Of the running mean of uncertainty, once there are enough rows for it."""


class ConflictSampler(active.base.ActiveLearningClassifier):
    """Asks for labels of rows on which the first two classes are in conflict, and a few others.

    `predict_one` and `predict_proba_one` return the prediction and whether the label is wanted;
    evaluators of River then pass only those labels on. Every call counts as a row of the stream.

    Parameters
    ----------
    classifier
        The classifier to ask for: a `DEVFNNClassifier`, or any other that gives probabilities.
    conflict_threshold
        Certainty below which a label is wanted: share of the first class among the first two.
    exploration
        Share of rows whose label is wanted whatever the certainty.
    label_budget
        Most labels per row, over any `budget_window` rows in a row; 1 is no limit. The chance of a
        row then follows its uncertainty, so that no part of the stream is without labels.
    budget_window
        Rows over which the budget counts.
    seed
        Seed of the choice.

    Examples
    --------
    >>> from river import datasets
    >>> model = ConflictSampler(DEVFNNClassifier(), label_budget=0.2, seed=1)
    >>> asked = right = 0
    >>> for x, y in datasets.Phishing():
    ...     label, wants_label = model.predict_one(x)
    ...     right += label == y
    ...     if wants_label:
    ...         asked += 1
    ...         model.learn_one(x, y)
    >>> asked <= 250, right > 1000
    (True, True)
    """

    def __init__(
        self,
        classifier: base.Classifier,
        conflict_threshold: float = 0.99,
        exploration: float = 0.1,
        label_budget: float = 1.0,
        budget_window: int = 100,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, seed=seed)
        shares = {
            "conflict_threshold": conflict_threshold,
            "exploration": exploration,
            "label_budget": label_budget,
        }
        for name, share in shares.items():
            if not 0.0 <= share <= 1.0:
                raise InputError(f"{name} must be between 0 and 1, not {share!r}")
        if budget_window < 1 or 0.0 < label_budget * budget_window < 1.0:
            raise InputError(
                f"{budget_window!r} rows have no room for a label: longer budget_window"
            )
        self.conflict_threshold = conflict_threshold
        self.exploration = exploration
        self.label_budget = label_budget
        self.budget_window = budget_window
        self._n_rows = 0
        self._uncertainty = 0.0
        self._last_asked: deque[bool] = deque(maxlen=budget_window - 1)

    def _ask_for_label(self, x: Mapping[Any, Any], y_pred: Mapping[Hashable, float]) -> bool:
        """Whether the label of a row is wanted; counts the row."""
        unsure = 2.0 * (1.0 - certainty(y_pred))
        self._n_rows += 1
        rate = max(RATE, 1.0 / self._n_rows)
        self._uncertainty += rate * (unsure - self._uncertainty)
        asks = self._may_ask() and (not y_pred or self._rng.random() < self._chance(unsure))
        self._last_asked.append(asks)
        return asks

    def _may_ask(self) -> bool:
        """Whether one more label stays inside the budget."""
        return sum(self._last_asked) + 1 <= self.label_budget * self.budget_window

    def _chance(self, unsure: float) -> float:
        """Chance of a row; under a budget, by its uncertainty against that of the others."""
        if self.label_budget >= 1.0:
            is_sure = 1.0 - 0.5 * unsure >= self.conflict_threshold
            return self.exploration if is_sure else 1.0
        relative = unsure / max(self._uncertainty, 1e-6)
        return self.label_budget * ((1.0 - self.exploration) * relative + self.exploration)

    def learn_one(self, x: Mapping[Any, Any], y: Hashable, **kwargs: Any) -> None:
        """Learn a row whose label was asked for.

        Parameters
        ----------
        x
            Features by name.
        y
            Its label.
        kwargs
            Whatever the classifier takes, as `w`.
        """
        model: Any = self.classifier
        if isinstance(model, DEVFNNClassifier):  # or a pipeline that ends with one
            kwargs["asked"] = True
        model.learn_one(x, y, **kwargs)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": DEVFNNClassifier()}
        yield {"classifier": DEVFNNClassifier(), "label_budget": 0.2}


def certainty(probabilities: Mapping[Hashable, float]) -> float:
    """Share of the first class among the first two: 0.5 is undecided, 1 is sure.

    >>> certainty({"a": 0.5, "b": 0.25, "c": 0.0}), certainty({"a": 1.0}), certainty({})
    (0.6666666666666666, 1.0, 0.5)
    """
    first, second = sorted([0.0, 0.0, *probabilities.values()])[:-3:-1]
    return first / (first + second) if first + second > 1e-9 else 0.5
