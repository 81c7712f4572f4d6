"""DEVFNN as a classifier of River."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.intake import as_weights, plain_label
from devfnn.model.single_rows import SingleRows
from devfnn.river.features import Features, as_label_list, as_number, read_table
from devfnn.river.library import base, dataframe
from devfnn.river.wording import debug_text


class DEVFNNClassifier(base.MiniBatchClassifier):
    """Deep evolving fuzzy neural network for streams that change.

    Rows are learned one by one; `learn_many` is the same as `learn_one` in a loop. Features may
    come and go: what a row does not have, or has as None or NaN, is left out, not guessed. Labels
    may be anything that can be a key of a dictionary, and new ones may come at any time.

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
        """Learn a row.

        Parameters
        ----------
        x
            Features by name.
        y
            Its label.
        w
            How strongly it is learned; a row of weight 0 is passed over.
        asked
            Whether the label was asked for: it is then used in any case, however sure the model.
        """
        values = self._features.whole_row(x)
        if values is None:
            if w != 0.0 and self._features.are_new(x):
                _check_row(x, y, w)
                self._add_features(x)
            values = self._features.row(x)
        if len(values):
            self._rows.learn(values, y, w, asked)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Probabilities by label; none before the first label."""
        shares = self._rows.probabilities(self._features.row(x))
        return dict(zip(self.model.classes, shares, strict=True))

    def debug_one(self, x: Mapping[Any, Any]) -> str:
        """What the model makes of a row, as text."""
        return debug_text(self.model, self._features, x)

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
            Their weights, 1 if not given: one for all, or one for each.
        """
        _, columns, rows = read_table(X)
        labels = as_label_list(y)
        weights = as_weights(_as_weight_list(w, len(rows)), len(rows))
        for row, label in enumerate(labels):
            plain_label(label, row)
        if not weights.any():
            return
        if self._features.are_new(columns):
            self._add_features(columns)
        if len(self._features):
            self.model.learn_rows(self._features.matrix(columns, rows), labels, weights)
            self._label_name = getattr(y, "name", None)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of rows in a table of the caller's kind, a column for every label."""
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


def _check_row(x: Mapping[Any, Any], y: Hashable, w: float) -> None:
    """Refuse what cannot be learned before anything is changed for it."""
    for key, value in x.items():
        as_number(value, key)
    plain_label(y, 0)
    as_weights([w], 1)


def _as_weight_list(w: Any, n_rows: int) -> Any:
    """A weight for each row, from one for all, a column, or nothing."""
    if w is None or isinstance(w, int | float):
        return [1.0 if w is None else float(w)] * n_rows
    return as_label_list(w)
