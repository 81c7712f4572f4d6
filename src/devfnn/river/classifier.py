"""DEVFNN as a classifier of River."""

import contextlib
import numbers
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Self

import numpy as np

from devfnn.errors import InputError
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.explaining import Explanation
from devfnn.model.intake import as_labels, as_weights, plain_label
from devfnn.model.single_rows import SingleRows
from devfnn.model.telling import TellingRules
from devfnn.river.features import Features, as_list, as_mapping, as_number, read_table
from devfnn.river.library import base, dataframe
from devfnn.river.wording import debug_text

_ASKED: ContextVar[bool] = ContextVar("asked", default=False)


@contextlib.contextmanager
def asked_for() -> Iterator[None]:
    """Within it, labels were asked for: every DEVFNN uses them, also inside of other models."""
    token = _ASKED.set(True)
    try:
        yield
    finally:
        _ASKED.reset(token)


class DEVFNNClassifier(TellingRules, base.MiniBatchClassifier):
    """Deep evolving fuzzy neural network for streams that change.

    Rows are learned one by one; `learn_many` is the same as `learn_one` in a loop. Features may
    come and go: what a row does not have, or has as None, NaN or NA, is left out, not guessed.
    Labels may be anything that can be a key of a dictionary, and new ones may come at any time.
    A call that is refused changes nothing.

    Parameters
    ----------
    config
        All parameters of the model; the default is one configuration for all streams. How missing
        values are treated is not a choice here.
    seed
        Seed of the share of labels that is learned whatever the certainty. None takes the one of
        the configuration: the model is repeatable in any case.
    parameters
        Parameters of `devfnn.Config` by name, instead of those of `config`.

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
        everything = (config if config is not None else Config()).replace(**parameters)
        own_seed = everything.seed if seed is None else seed
        everything = everything.replace(missing="skip", seed=own_seed)
        self._rows = SingleRows(DEVFNN(everything))
        self._features = Features()
        self._label_name: Any = None

    @property
    def model(self) -> DEVFNN:
        """The model itself, for its rules, its size and its files."""
        return self._rows.model

    @property
    def _multiclass(self) -> bool:
        return True

    # ---- one row

    def learn_one(
        self, x: Mapping[Any, Any], y: Hashable, w: float = 1.0, asked: bool = False
    ) -> None:
        """Learn a row; without any feature that is known, before the first label, nothing.

        Parameters
        ----------
        x
            Features by name.
        y
            Its label.
        w
            How strongly it is learned. A row of weight 0 is passed over: neither its label nor
            features that are new are looked at.
        asked
            Whether the label was asked for: it is then used in any case, however sure the model.
        """
        x = as_mapping(x)
        values = self._features.whole_row(x)
        if values is None:
            values = self._unusual_row(x, y, w)
            if not values:
                return
        self._rows.learn(values, y, w, asked or _ASKED.get())

    def _unusual_row(self, x: Mapping[Any, Any], y: Hashable, w: float) -> Sequence[float]:
        """The values of a row with gaps or new features; makes room for these."""
        if self._features.are_new(x) and as_weights([w], 1)[0] > 0.0:
            for key, value in x.items():
                as_number(value, key)
            plain_label(y, 0)
            self._add_features(x)
        return self._features.row(x)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Probabilities by label; none before the first label."""
        shares = self._rows.probabilities(self._features.row(as_mapping(x)))
        return dict(zip(self.model._labels.classes, shares, strict=True))

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """The most probable label; None before the first."""
        shares = self._rows.probabilities(self._features.row(as_mapping(x)))
        return self.model._labels.classes[shares.index(max(shares))] if shares else None

    def explain_one(self, x: Mapping[Any, Any]) -> Explanation:
        """Why the model says what it says of a row: what layers, rules and features add to it."""
        return self.model.explain(np.array(self._features.row(as_mapping(x)), np.float64))

    def debug_one(self, x: Mapping[Any, Any]) -> str:
        """What the model makes of a row, as text."""
        return debug_text(self.model, self._features, as_mapping(x))

    # ---- many rows

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn rows one after the other.

        Parameters
        ----------
        X
            A table of pandas, Polars, PyArrow or whatever narwhals knows.
        y
            Their labels: a column of the same kind, a list or an array.
        w
            Their weights, 1 if not given: one for all, or one for each. Rows of weight 0 are passed
            over, and their labels not looked at.
        """
        _, columns, rows = read_table(X)
        labels = as_labels(as_list(y, "labels"), len(rows))
        weights = _as_row_weights(w, len(rows))
        is_learned = weights > 0.0
        for row in np.flatnonzero(is_learned).tolist():
            plain_label(labels[row], row)
        if not is_learned.any():
            return
        if self._features.are_new(columns):
            self._add_features(columns)
        if len(self._features):
            self.model.learn_rows(self._features.matrix(columns, rows), labels, weights)
            self._label_name = getattr(y, "name", None)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of rows in a table of the caller's kind, a column for every label.

        Before the first label there is no column; only tables of pandas keep their rows then.
        """
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

    # ---- features that appear

    def _add_features(self, keys: Any) -> None:
        """Make room for features that were never seen."""
        names = self._features.add(keys)
        if self.model.classes:
            self.model.add_features(names)
        else:
            names = self.model.feature_names + names
            self._rows = SingleRows(DEVFNN(self.model.config, names))

    # ---- store

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of `devfnn`, which runs no code when it is read.

        Parameters
        ----------
        path
            Where to. A file holds names that are text: with other keys it is refused. Then pickle
            the classifier, or call `model.save`, and tell `load` the keys.
        """
        if strange := [key for key in self._features.keys if not isinstance(key, str)]:
            raise InputError(
                f"feature {strange[0]!r} is no text, which is all a file can hold; pickle the "
                "classifier, or use `model.save(path)` and `load(path, keys=...)`"
            )
        self.model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], keys: Sequence[Hashable] | None = None) -> Self:
        """Read a file that `save`, or `save` of a DEVFNN with `missing="skip"`, has written.

        Parameters
        ----------
        path
            The file.
        keys
            What rows call the features, in the order of `model.feature_names`; by default the same.

        Returns
        -------
        DEVFNNClassifier
            A classifier that goes on learning as the saved one would have.
        """
        model = DEVFNN.load(path)
        if model.config.missing != "skip":
            raise InputError('rows of River may lack features; the model needs missing="skip"')
        loaded = cls(model.config)
        loaded._features = Features(model.feature_names, keys)
        loaded._rows = SingleRows(model)
        return loaded


def _as_row_weights(w: Any, n_rows: int) -> Any:
    """A weight for each row, from one for all, a column, or nothing."""
    if w is None:
        return np.ones(n_rows)
    if isinstance(w, numbers.Number | np.generic | str | bytes):
        return np.full(n_rows, as_weights([w], 1)[0])
    return as_weights(as_list(w, "weights"), n_rows)
