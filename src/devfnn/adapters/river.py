"""DEVFNN inside River: `pip install 'devfnn[river]'`."""

import math
import numbers
import os
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Self

import numpy as np

from devfnn.adapters.shared import OneByOne, needs
from devfnn.errors import InputError, shown
from devfnn.formatting import percent
from devfnn.kernels.state import CUT_ERRORS, CUT_ROWS, TRACK_ERRORS, TRACK_ROWS
from devfnn.model.config import Config, Labels
from devfnn.model.devfnn import DEVFNN
from devfnn.model.explanation import IN_USE, MISSING, Explanation
from devfnn.model.mechanisms.drift import Level, Verdict, judge_stream
from devfnn.model.names import plain_label
from devfnn.model.queries import BY_CHANCE, MOST_QUERIES, NOTHING_KNOWN, UNSURE, Query
from devfnn.model.single_rows import SingleRows
from devfnn.model.validation import as_labels, as_weights

with needs("River 0.26 or newer", "river"):
    from river import active, base
    from river.utils import dataframe

    from devfnn.adapters.river_rows import Features, as_list, as_mapping, as_number, read_table

__all__ = ["ConflictSampler", "DEVFNNClassifier", "HoeffdingErrorDrift"]

MOST_RULES_SHOWN = 5
"""Rules that `debug_one` shows."""

UNCERTAINTY_RATE = 0.002
"""Step of the recent mean uncertainty, once there are enough rows for it."""

_WAS_ASKED_FOR: ContextVar[bool] = ContextVar("was_asked_for", default=False)
"""Whether labels were asked for: every DEVFNN then uses them, also inside of other models."""


class DEVFNNClassifier(OneByOne, base.MiniBatchClassifier):
    """`devfnn.DEVFNN`: our own default, or `presets.paper()`, the published network.

    Rows are learned one by one; `learn_many` is the same as `learn_one` in a loop. Features may
    come and go: what a row does not have, or has as None, NaN or NA, is left out, not guessed.
    Labels may be anything that can be a key of a dictionary, and new ones may come at any time.
    A call that is refused changes nothing.

    Parameters
    ----------
    config
        All parameters of the model but how missing values are treated.
    seed
        Of the share of labels that is learned whatever the certainty; None: the configuration's.
    parameters
        Changes of it, as `Config.replace` takes them: `drift__significance=1e-6`, `clouds=None`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> model = DEVFNNClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.89
    True
    """

    def __init__(
        self, config: Config | None = None, seed: int | None = None, **parameters: Any
    ) -> None:
        self.config = config
        self.seed = seed
        self.parameters = parameters
        full = (config or Config()).replace(**parameters).replace(missing="skip")
        self._rows = SingleRows(DEVFNN(full if seed is None else full.replace(seed=seed)))
        self._features = Features()
        self._label_name: Any = None

    @property
    def _multiclass(self) -> bool:
        return True

    # ---- one row

    def learn_one(
        self, x: Mapping[Any, Any], y: Hashable, w: float = 1.0, asked: bool = False
    ) -> None:
        """Learn a row, `w` times as strongly as others.

        A row of weight 0 is passed over: neither its label nor new features are looked at. With
        `asked` the label was asked for, and is used however sure the model is.
        """
        x = as_mapping(x)
        values = self._features.whole_row(x)
        if values is None and self._features.are_new(x) and as_weights([w], 1)[0] > 0.0:
            for key, value in x.items():
                as_number(value, key)
            self.model._labels.encode([y])  # refused before there is a new feature
            self._add_features(x)
        values = values or self._features.row(x)
        if values:
            self._rows.learn(values, y, w, asked or _WAS_ASKED_FOR.get())

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Probabilities by label; none before the first label."""
        return self._rows.by_label(self._features.row(as_mapping(x)))

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """The most probable label; None before the first."""
        return self._rows.likeliest(self._features.row(as_mapping(x)))

    def explain_one(self, x: Mapping[Any, Any]) -> Explanation:
        """Why the model predicts what it does for a row: contributions of layers and features."""
        return self.model.explain(np.array(self._features.row(as_mapping(x)), np.float64))

    def debug_one(self, x: Mapping[Any, Any]) -> str:
        """A row as the model sees it, what it predicts and why, and the rules that fired."""
        x, model = as_mapping(x), self.model
        if not model.classes:
            return "The model has not learned anything yet."
        why = self.explain_one(x)
        lines = ["Features"]
        for key, value, state in zip(self._features.keys, why.values, why.states, strict=False):
            number = "missing" if np.isnan(value) else f"{value:g}"
            note = "" if state in (IN_USE, MISSING) else f" ({state})"
            lines.append(f"  {key}: {number}{note}")
        lines += [
            f"  {shown(key)}: never seen, ignored" for key in x if self._features.are_new([key])
        ]
        by_label = zip(why.labels, why.probabilities.tolist(), strict=True)
        ordered = sorted(by_label, key=lambda entry: -entry[1])
        lines += ["Probabilities", *(f"  {label}: {percent(share, 0)}" for label, share in ordered)]
        lines += ["Why", *(f"  {line}" for line in why.text().splitlines()[1:])]
        fired = {(layer.layer, rule.rule) for layer in why.layers for rule in layer.fired}
        rules = [rule for rule in model.rules() if (rule.layer, rule.rule) in fired]
        lines.append(f"Rules that fired ({model.n_rules} in {model.n_live_layers} layers)")
        lines += [f"  {rule.text()}  {rule.remark()}" for rule in rules[:MOST_RULES_SHOWN]]
        return "\n".join(lines)

    # ---- many rows

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn rows one after the other, from a table of pandas, Polars or PyArrow.

        Labels are a column, a list or an array; `w` is one weight for all rows, or one for each.
        Rows of weight 0 are passed over.
        """
        _, columns, rows = read_table(X)
        labels = as_labels(as_list(y, "labels"), len(rows))
        if isinstance(w, numbers.Number | np.generic | str | bytes):
            w = np.repeat(as_weights([w], 1), len(rows))
        weights = as_weights(None if w is None else as_list(w, "weights"), len(rows))
        learned = np.flatnonzero(weights).tolist()
        if learned and self._features.are_new(columns):
            for row in learned:
                plain_label(labels[row], row)
            self.model._labels.encode([labels[row] for row in learned])  # is there room for them?
            self._add_features(columns)
        if learned and len(self._features):
            self.model.learn_rows(self._features.matrix(columns, rows), labels, weights)
            self._label_name = getattr(y, "name", None)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities in a table of the caller's kind, a column for every label so far."""
        frame, columns, rows = read_table(X)
        shares = np.empty((len(rows), 0))
        if self.model.classes:
            shares = self.model.predict_proba(self._features.matrix(columns, rows))
        by_label = {label: shares[:, place] for place, label in enumerate(self.model.classes)}
        return dataframe.to_native_frame(by_label, like=frame)

    def predict_many(self, X: Any) -> Any:
        """The most probable labels of rows in a column of the caller's kind."""
        frame, columns, rows = read_table(X)
        labels: Any = [None] * len(rows)
        if self.model.classes:
            labels = self.model.predict(self._features.matrix(columns, rows))
            labels = labels.tolist() if labels.dtype == object else labels
        return dataframe.to_native_series(labels, name=self._label_name, like=frame)

    def _add_features(self, keys: Any) -> None:
        """Make room for features that were never seen."""
        features = self._features.copied()
        names = features.add(keys)
        if self.model.classes:
            self.model.add_features(names)
        else:
            names = self.model.feature_names + names
            self._rows = SingleRows(DEVFNN(self.model.config, names))
        self._features = features  # nothing was refused

    # ---- store

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of `devfnn`, which runs no code when it is read.

        It holds names that are text: with other keys it is refused; pickle the classifier then.
        """
        for key in self._features.keys:
            if not isinstance(key, str):
                problem = f"feature {key!r} is no text, which is all a file can hold"
                raise InputError(f"{problem}; pickle the classifier")
        self.model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save`, or `save` of a DEVFNN with `missing="skip"`, has written.

        The classifier goes on learning as the saved one.
        """
        model = DEVFNN.load(path)
        if model.config.missing != "skip":
            raise InputError('the model needs missing="skip"')
        loaded = cls(model.config)
        loaded._features = Features(model.feature_names)
        loaded._rows = SingleRows(model)
        return loaded


class ConflictSampler(active.base.ActiveLearningClassifier):
    """Asks for labels of rows on which the first two classes are in conflict, and a few others.

    `predict_one` and `predict_proba_one` return the prediction and whether the label is wanted;
    evaluators of River then pass only those labels on. Every call counts as a row of the stream.
    What was asked for is learned in any case: a DEVFNN, also one inside of a pipeline or an
    ensemble, does not choose among labels that were paid for.

    Parameters
    ----------
    classifier
        A `DEVFNNClassifier`, or any other that gives probabilities.
    certainty
        Certainty below which a label is wanted: share of the first class among the first two.
    exploration
        Share of rows whose label is wanted whatever the certainty.
    budget
        Most labels per row: no window of `window` rows exceeds it. 1 is no limit. The chance
        of a row follows its uncertainty, so that no part of the stream is without labels.
    window
        Rows over which the budget counts.

    Examples
    --------
    >>> from river import datasets
    >>> model = ConflictSampler(DEVFNNClassifier(), budget=0.2, seed=1)
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
        certainty: float = 0.99,
        exploration: float = 0.1,
        budget: float = 1.0,
        window: int = 100,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, seed=seed)
        Labels(certainty=certainty, exploration=exploration, budget=budget, window=window)  # checks
        self.certainty = certainty
        self.exploration = exploration
        self.budget = budget
        self.window = window
        self._most = math.floor(budget * window + 1e-9)
        self._n_rows = 0
        self._mean_uncertainty = 0.0
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
            raise InputError(f"{type(model).__name__} gives no probabilities") from None
        return shares, self._ask_for_label(x, shares)

    def _ask_for_label(self, x: Mapping[Any, Any], y_pred: Mapping[Hashable, float]) -> bool:
        """Whether the label of a row is wanted; counts the row."""
        row, asked = self._n_rows, self._asked
        self._n_rows += 1
        first, second = sorted([0.0, 0.0, *y_pred.values()])[:-3:-1]
        unsure = 2.0 * (1.0 - (first / (first + second) if first + second > 1e-9 else 0.5))
        rate = max(UNCERTAINTY_RATE, 1.0 / self._n_rows)
        self._mean_uncertainty += rate * (unsure - self._mean_uncertainty)
        while asked and asked[0] <= row - self.window:
            asked.popleft()
        reason = self._reason(unsure, bool(y_pred)) if len(asked) < self._most else None
        if reason is None:
            return False
        asked.append(row)
        left = self._most - len(asked) if self.budget < 1.0 else None
        self._queries.append(Query(row, reason, 1.0 - 0.5 * unsure, left))
        return True

    def _reason(self, unsure: float, has_answer: bool) -> str | None:
        """Why to ask for a row, if at all; under a budget by its uncertainty against the mean."""
        if not has_answer:
            return NOTHING_KNOWN
        draw: float = self._rng.random()
        if self.budget < 1.0:
            explored = self.budget * self.exploration
            relative = unsure / max(self._mean_uncertainty, 1e-6)
            conflict = self.budget * (1.0 - self.exploration) * relative
        else:
            explored = self.exploration
            conflict = 1.0 if 1.0 - 0.5 * unsure < self.certainty else 0.0
        if draw < conflict:
            return UNSURE
        return BY_CHANCE if draw < conflict + explored else None

    def learn_one(self, x: Mapping[Any, Any], y: Hashable, **kwargs: Any) -> None:
        """Learn a row whose label was asked for; the classifier may take more, as `w`."""
        model: Any = self.classifier
        token = _WAS_ASKED_FOR.set(True)
        try:
            model.learn_one(x, y, **kwargs)
        finally:
            _WAS_ASKED_FOR.reset(token)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": DEVFNNClassifier()}
        yield {"classifier": DEVFNNClassifier(), "budget": 0.2}


class HoeffdingErrorDrift(base.DriftAndWarningDetector):
    """Drift in the errors of a model: are they more frequent than when they were rarest?

    Errors since the last drift are cut where Hoeffding's bound on their rate was lowest. Drift is
    when the rate after the cut is higher than the one before by more than chance explains
    (Bernstein's inequality). Errors that become rarer are no drift: the cut moves on with them.

    Parameters
    ----------
    drift_significance, warning_significance
        Probability of a false alarm in one test.
    clock
        Values between two tests: the more tests, the more false alarms.

    Examples
    --------
    >>> import random
    >>> rng = random.Random(0)
    >>> detector = HoeffdingErrorDrift()
    >>> for row in range(4000):
    ...     detector.update(rng.random() < (0.1 if row < 2000 else 0.3))
    ...     if detector.drift_detected:
    ...         print(f"drift at {row}, from {detector.verdict.error_before:.2f} errors")
    drift at 2111, from 0.11 errors
    """

    def __init__(
        self, drift_significance: float = 1e-4, warning_significance: float = 1e-3, clock: int = 32
    ) -> None:
        super().__init__()
        for name, level in (("drift", drift_significance), ("warning", warning_significance)):
            if not 0.0 < level < 1.0:
                raise InputError(f"{name}_significance must be between 0 and 1, not {level!r}")
        if clock < 1:
            raise InputError(f"clock must be 1 or more, not {clock!r}")
        self.drift_significance = drift_significance
        self.warning_significance = warning_significance
        self.clock = clock
        self.n_detections = 0
        """Drifts found so far."""
        self._slack = math.sqrt(math.log(1.0 / drift_significance) / 2.0)
        self._reset()

    def _reset(self) -> None:
        super()._reset()
        self.verdict = Verdict(Level.STABLE)
        """Outcome of the last test, with the numbers behind it."""
        self._track = [0.0] * 4
        self._lowest = math.inf

    def update(self, x: int | float) -> None:
        """Take in whether the model was wrong: 1 for an error, 0 for none, or a loss between."""
        if not 0.0 <= x <= 1.0:
            raise InputError(f"an error is between 0 and 1, not {x!r}")
        if self.drift_detected:
            self._reset()
        track = self._track
        track[TRACK_ROWS] += 1.0
        track[TRACK_ERRORS] += x  # a loss is a part of an error
        rows = track[TRACK_ROWS]
        upper = track[TRACK_ERRORS] / rows + self._slack / math.sqrt(rows)
        if upper <= self._lowest:
            self._lowest = upper
            track[CUT_ROWS], track[CUT_ERRORS] = rows, track[TRACK_ERRORS]
        if rows % self.clock == 0:
            levels = self.drift_significance, self.warning_significance
            self.verdict = judge_stream(np.array(track), *levels, one_sided=True)
            self._warning_detected = self.verdict.level is Level.WARNING
            self._drift_detected = self.verdict.level is Level.DRIFT
            self.n_detections += self._drift_detected

    @property
    def _tags(self) -> set[str]:
        """River's checks ask for them."""
        return set()
