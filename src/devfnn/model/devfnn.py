"""DEVFNN: predict, then learn, one chunk or one row at a time."""

import itertools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from devfnn.errors import InputError, NotLearnedError
from devfnn.events import ClassAdded, Event
from devfnn.kernels.state import UNLABELLED, Flags, Floats, Ints
from devfnn.model import lags
from devfnn.model.asking import Asking, QueryLog
from devfnn.model.compiling import ensure_compiled
from devfnn.model.config import Config
from devfnn.model.engines import Engine, empty_engine
from devfnn.model.history import Logbook
from devfnn.model.intake import Labels, as_labelled, as_labels, as_rows, as_weights
from devfnn.model.label_budget import is_bounded
from devfnn.model.network import Rows
from devfnn.model.rowwise import split_at_new_classes
from devfnn.model.self_explaining import SelfExplaining
from devfnn.model.single_rows import SingleRows, plain_row


class DEVFNN(Asking, SelfExplaining):
    """Deep evolving fuzzy neural network for streams that change.

    Parameters
    ----------
    config
        All parameters; the default is one configuration for all streams.
    feature_names
        Names for events and rules; taken from the columns of the first table if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from devfnn import DEVFNN
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> y = np.where(X.sum(axis=1) > 1, "high", "low")
    >>> model = DEVFNN()
    >>> events = model.learn(X[:500], y[:500])
    >>> bool((model.predict(X[500:]) == y[500:]).mean() > 0.95)
    True
    """

    def __init__(
        self, config: Config | None = None, feature_names: Sequence[str] | None = None
    ) -> None:
        self.config = config if config is not None else Config()
        self._names = [str(name) for name in feature_names] if feature_names is not None else None
        if self._names is not None and len(set(self._names)) < len(self._names):
            twice = next(name for name in self._names if self._names.count(name) > 1)
            raise InputError(f"feature {twice!r} is named more than once")
        self._labels = Labels()
        self._network: Engine | None = None
        self._logbook = Logbook()
        self._query_log = QueryLog()
        self._early_purse: Ints | None = None  # what was asked for before there was a network
        self._rows: SingleRows | None = None  # made when needed, never saved
        self._late: tuple[int, ...] = ()  # with lags, columns of features that were added later

    # ---- what a user may look at

    @property
    def classes(self) -> list[Hashable]:
        """Labels seen so far, in the order of the columns of `predict_proba`."""
        return list(self._labels.classes)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, x0, x1, ... if none were given."""
        if self._names is not None:
            return list(self._names)
        return [f"x{index}" for index in range(self._n_features() or 0)]

    @property
    def n_layers(self) -> int:
        """Layers, merged ones included."""
        return self._network.n_layers if self._network is not None else 0

    @property
    def n_live_layers(self) -> int:
        """Layers that vote."""
        return self._network.n_live_layers if self._network is not None else 0

    @property
    def n_rules(self) -> int:
        """Active rules of the live layers."""
        return self._network.n_rules if self._network is not None else 0

    @property
    def n_parameters(self) -> int:
        """Numbers that define the live rules."""
        return self._network.n_parameters if self._network is not None else 0

    @property
    def n_rows(self) -> int:
        """Rows offered for learning so far."""
        return self._network.n_rows if self._network is not None else 0

    @property
    def n_labels_used(self) -> int:
        """Labels that at least one layer was trained with."""
        return self._network.n_labels if self._network is not None else 0

    @property
    def voting_weights(self) -> Floats:
        """Voting weight of every layer; 0 for merged and resting ones."""
        return self._known().voting_weights(self.config)

    @property
    def feature_mask(self) -> Flags:
        """Which features are in use."""
        network = self._known()
        columns = lags.columns_of(network.n_features, len(self.feature_names), self._late)
        return network.used_features(self.config)[columns.features]

    # ---- predict: nothing here changes the model

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of rows; the columns follow `classes`."""
        network = self._known()
        rows = as_rows(X, self._names, self._n_features(), self.config.missing)
        return network.probabilities(lags.at_once(network, rows, self._late), self.config)

    def predict(self, X: Any) -> "np.ndarray[Any, np.dtype[Any]]":
        """Labels of rows."""
        return self._labels.decode(self.predict_proba(X).argmax(axis=1))

    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Class probabilities of one row, by label."""
        return dict(zip(self._labels.classes, self._shares_of(x), strict=True))

    def predict_one(self, x: Any) -> Hashable:
        """Label of one row."""
        shares = self._shares_of(x)
        return self._labels.classes[shares.index(max(shares))]

    def _shares_of(self, x: Any) -> list[float]:
        """Class probabilities of one row."""
        values = plain_row(x)
        if values is not None and (shares := self._single_rows().quick_probabilities(values)):
            return shares
        said: list[float] = self.predict_proba(self._as_row(x))[0].tolist()
        return said

    # ---- learn

    def learn(self, X: Any, y: Any, weights: Any = None, *, chosen: Any = None) -> list[Event]:
        """Learn a chunk and return what changed in the structure (paper: Algorithm 1).

        Parameters
        ----------
        X, y
            Rows and their labels. New labels open new classes.
        weights
            Weight of every row in training, 1 if not given; rows of weight 0 are passed over. For
            votes, drift and forgetting, every other row is one row.
        chosen
            Mask of the rows that `wants_label` picked, or True for all: they are learned in any
            case, the others have no label. By default all have one, and the model takes its pick.
        """
        if chosen is None and is_bounded(self.config):
            chosen = self._picked(X, weights)
        rows, labelled, fresh = self._checked(X, y, weights, chosen)
        if not len(rows):
            return []
        network = self._ready(rows, fresh)
        events = self._welcome(fresh)
        names = lags.names_of(network, self.feature_names, self._labels.classes, self._late)
        events += network.close(names, self.config)
        rows.X = lags.at_once(network, rows.X, self._late)
        events += network.learn_chunk(rows, labelled, names, self.config)
        lags.remember(network, rows.labels, labelled)
        self._logbook.note(events, network.n_rows)
        return events

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> list[Event]:
        """Learn one row at once; structural steps follow every `chunk_rows` rows."""
        values = plain_row(x)
        if values is not None:
            events = self._single_rows().learn_quickly(values, y, weight, asked=False)
            if events is not None:
                return events
        return self.learn_rows(self._as_row(x), [y], [weight])

    def learn_rows(self, X: Any, y: Any, weights: Any = None, *, chosen: Any = None) -> list[Event]:
        """The same, bit for bit, as `learn_one` in a loop over the rows."""
        rows, labelled, fresh = self._checked(X, y, weights, chosen)
        if chosen is None and is_bounded(self.config) and (fresh or self.config.lags):
            return self._learn_sparingly(rows, [*self._labels.classes, *fresh])
        return self._learn_row_by_row(rows, labelled, fresh)

    def _learn_row_by_row(self, rows: Rows, labelled: Ints, fresh: list[Hashable]) -> list[Event]:
        """Learn rows that were checked."""
        events: list[Event] = []
        if not len(rows):
            return events
        n_known = len(self._labels)
        for part, known, labels in split_at_new_classes(rows, labelled, fresh, n_known):
            network = self._ready(part, labels)
            events += self._welcome(labels)
            names = lags.names_of(network, self.feature_names, self._labels.classes, self._late)
            seen = lags.one_by_one(network, part, known, self._late)
            events += network.learn_rows(seen, known, names, self.config)
            lags.remember(network, part.labels, known)
        self._logbook.note(events, self.n_rows)
        return events

    def add_features(self, names: Sequence[str]) -> None:
        """Let features appear later; rows of the past count as not having them.

        Needs `missing="skip"`, since a row without a feature must be allowed.
        """
        network = self._known()
        known, fresh = self.feature_names, [str(name) for name in names]
        if self.config.missing != "skip":
            raise InputError('features may appear later only with missing="skip"')
        if repeated := sorted({name for name in fresh if [*known, *fresh].count(name) > 1}):
            raise InputError(f"the model has a feature {repeated[0]!r} already")
        n_columns = network.n_features
        network.widen(n_columns + len(fresh), len(self._labels), self.config)
        if self.config.lags:
            self._late += tuple(range(n_columns, n_columns + len(fresh)))
        self._names = known + fresh

    # ---- taking rows in

    def _known(self) -> Engine:
        """The network, or an error that says what to do."""
        if self._network is None:
            raise NotLearnedError("the model has not learned anything yet; call learn first")
        ensure_compiled(self.config.network)
        return self._network

    def _n_features(self) -> int | None:
        """How many features a row has, as far as that is known."""
        if self._network is not None:
            return self._network.n_features - self.config.lags * len(self._labels)
        return len(self._names) if self._names is not None else None

    def _single_rows(self) -> SingleRows:
        """The quick way for single rows; it knows nothing that the model does not."""
        if self._rows is None:
            self._rows = SingleRows(self)
        return self._rows

    def _as_row(self, x: Any) -> Any:
        """One row as a matrix; as a table if its values have names."""
        if hasattr(x, "to_frame") and all(isinstance(name, str) for name in x.index):
            return x.to_frame().T  # a series of pandas, matched by name
        if hasattr(x, "columns") and len(x) == 1:
            return x
        try:
            array = np.asarray(x)
        except ValueError:
            raise InputError("one row is a vector of features, not of lists") from None
        if array.ndim != 1:
            raise InputError(f"one row is a vector of features, not {array.ndim}-dimensional")
        return array[None, :]

    def _checked(
        self, X: Any, y: Any, weights: Any, chosen: Any
    ) -> tuple[Rows, Ints, list[Hashable]]:
        """Rows, what is known of their labels, and new labels; the model is not touched.

        Rows of weight 0 are passed over.
        """
        names = self._names
        matrix = as_rows(X, names, self._n_features(), self.config.missing)
        row_weights = as_weights(weights, matrix.shape[0])
        labelled = as_labelled(chosen, matrix.shape[0])
        labels = as_labels(y, matrix.shape[0])
        is_used = row_weights > 0.0
        has_label = is_used & (labelled != UNLABELLED)
        known = labels if has_label.all() else list(itertools.compress(labels, has_label))
        codes = np.zeros(len(labels), np.int64)
        codes[has_label], fresh = self._labels.encode(known)
        if self._network is None:  # nothing can be done with rows before the first label
            is_used &= np.arange(len(labels)) >= (np.argmax(has_label) if known else len(labels))
        if self._network is None and names is None and hasattr(X, "columns") and is_used.any():
            self._names = [str(column) for column in X.columns]
        rows = Rows(matrix, codes, row_weights)
        if is_used.all():
            return rows, labelled, fresh
        return rows.where(is_used), labelled[is_used], fresh

    def _ready(self, rows: Rows, fresh: list[Hashable]) -> Engine:
        """A network wide enough for the rows' features and classes."""
        ensure_compiled(self.config.network)
        n_classes = len(self._labels) + len(fresh)
        n_columns = rows.X.shape[1] + self.config.lags * n_classes
        if self._network is None:
            self._network = empty_engine(n_columns, n_classes, self.config)
            if self._early_purse is not None:
                self._network.purse[:] = self._early_purse
                self._early_purse = None
        elif fresh:
            lags.widen(self._network, n_columns, n_classes, self.config)
        self._logbook.begin(self._network.n_rows)
        return self._network

    def _welcome(self, fresh: list[Hashable]) -> list[Event]:
        """Number new labels and say so."""
        first = len(self._labels)
        self._labels.add(fresh)
        row = self._known().n_rows
        return [ClassAdded(row, str(label), first + i) for i, label in enumerate(fresh)]

    # ---- storing

    @property
    def nbytes(self) -> int:
        """Size of the learned arrays in bytes."""
        from devfnn.storage import state_bytes

        return state_bytes(self._network)

    def save(self, path: Any) -> None:
        """Write the model to a file, at once or not at all; see `devfnn.storage`."""
        from devfnn.storage import save

        save(self, path)

    @classmethod
    def load(cls, path: Any) -> "DEVFNN":
        """Read a model that `save` wrote; a file of another class is refused."""
        from devfnn.storage import load_as

        return load_as(cls, path)

    def __getstate__(self) -> bytes:
        from devfnn.storage import dump

        return dump(self)

    def __setstate__(self, state: bytes) -> None:
        from devfnn.storage import parse

        self.__dict__.update(parse(state, max_bytes=len(state)).__dict__)
