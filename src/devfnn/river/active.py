"""Which labels to ask for, as River's active learners say it."""

import math
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from devfnn.errors import InputError
from devfnn.model.asking import BY_CHANCE, MOST_QUERIES, NOTHING_KNOWN, UNSURE, Query
from devfnn.river.classifier import DEVFNNClassifier, asked_for
from devfnn.river.library import active, base

RATE = 0.002
"""Of the running mean of uncertainty, once there are enough rows for it."""


class ConflictSampler(active.base.ActiveLearningClassifier):
    """Asks for labels of rows on which the first two classes are in conflict, and a few others.

    `predict_one` and `predict_proba_one` return the prediction and whether the label is wanted;
    evaluators of River then pass only those labels on. Every call counts as a row of the stream.
    What was asked for is learned in any case: a DEVFNN, also one inside of a pipeline or an
    ensemble, does not choose among labels that were paid for.

    Parameters
    ----------
    classifier
        The classifier to ask for: a `DEVFNNClassifier`, or any other that gives probabilities.
    conflict_threshold
        Certainty below which a label is wanted: share of the first class among the first two.
    exploration
        Share of rows whose label is wanted whatever the certainty.
    label_budget
        Most labels per row: no `budget_window` rows in a row have more. 1 is no limit. The chance
        of a row follows its uncertainty, so that no part of the stream is without labels.
    budget_window
        Rows over which the budget counts.
    seed
        Seed of the choice.

    Attributes
    ----------
    queries
        The newest labels that were asked for, and why, as a list of `Query`.

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
    >>> model.queries[0]
    Query(row=0, reason='nothing known yet', certainty=0.5, n_left=19)
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
        self._most = math.floor(label_budget * budget_window + 1e-9)
        self._n_rows = 0
        self._uncertainty = 0.0
        self._asked: deque[int] = deque()  # rows of the window whose label was asked for
        self._queries: deque[Query] = deque(maxlen=MOST_QUERIES)

    @property
    def queries(self) -> list[Query]:
        """The newest labels that were asked for, and why; the oldest first."""
        return list(self._queries)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """Probabilities by label, and whether the label is wanted."""
        model: Any = self.classifier
        try:
            shares: Any = model.predict_proba_one(x, **kwargs)
        except NotImplementedError:
            kind = type(model).__name__
            raise InputError(
                f"{kind} gives no probabilities, so that nothing is known of its doubts; take a "
                "classifier that has predict_proba_one"
            ) from None
        return shares, self._ask_for_label(x, shares)

    def _ask_for_label(self, x: Mapping[Any, Any], y_pred: Mapping[Hashable, float]) -> bool:
        """Whether the label of a row is wanted; counts the row."""
        row, asked = self._n_rows, self._asked
        self._n_rows += 1
        unsure = 2.0 * (1.0 - certainty(y_pred))
        self._uncertainty += max(RATE, 1.0 / self._n_rows) * (unsure - self._uncertainty)
        while asked and asked[0] <= row - self.budget_window:
            asked.popleft()
        reason = self._reason(unsure, bool(y_pred)) if len(asked) < self._most else None
        if reason is None:
            return False
        asked.append(row)
        left = self._most - len(asked) if self.label_budget < 1.0 else None
        self._queries.append(Query(row, reason, 1.0 - 0.5 * unsure, left))
        return True

    def _reason(self, unsure: float, has_answer: bool) -> str | None:
        """Why to ask for a row, if at all; under a budget by its uncertainty against the others."""
        if not has_answer:
            return NOTHING_KNOWN
        draw: float = self._rng.random()
        if self.label_budget < 1.0:
            explored = self.label_budget * self.exploration
            relative = unsure / max(self._uncertainty, 1e-6)
            conflict = self.label_budget * (1.0 - self.exploration) * relative
        else:
            explored = self.exploration
            conflict = 1.0 if 1.0 - 0.5 * unsure < self.conflict_threshold else 0.0
        if draw < conflict:
            return UNSURE
        return BY_CHANCE if draw < conflict + explored else None

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
        with asked_for():
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
