"""DEVFNN: predict, then learn, one chunk or one row at a time."""

import dataclasses
import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from devfnn.errors import InputError, NotLearnedError
from devfnn.events import ClassAdded, Event
from devfnn.kernels.state import ACTIVE, UNLABELLED, Batch, Flags, Floats, Ints
from devfnn.model import voting
from devfnn.model.chunkwise import learn_chunk
from devfnn.model.compiling import ensure_compiled
from devfnn.model.config import Config
from devfnn.model.growth import forward
from devfnn.model.inputs import scaled, switch_inputs
from devfnn.model.intake import (
    Labels,
    as_labelled,
    as_labels,
    as_rows,
    as_weights,
    exploration_draws,
)
from devfnn.model.network import Network, Rows
from devfnn.model.rowwise import close_gathered, learn_rows, split_at_new_classes
from devfnn.model.rules import Rule, rules_of
from devfnn.model.state import parameter_count


class DEVFNN:
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
        self._network: Network | None = None

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
        count = self._network.shape.features if self._network is not None else 0
        return [f"x{index}" for index in range(count)]

    @property
    def n_layers(self) -> int:
        """Layers, merged ones included."""
        return self._network.shape.layers if self._network is not None else 0

    @property
    def n_live_layers(self) -> int:
        """Layers that vote."""
        return int(np.count_nonzero(~self._network.layers.is_merged)) if self._network else 0

    @property
    def n_rules(self) -> int:
        """Active rules of the live layers."""
        if self._network is None:
            return 0
        layers = self._network.layers
        return int(np.count_nonzero(layers.status[~layers.is_merged] == ACTIVE))

    @property
    def n_parameters(self) -> int:
        """Numbers that define the live rules."""
        return parameter_count(self._network.layers) if self._network is not None else 0

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
        """Voting weight of every layer; 0 for merged ones."""
        layers = self._known().layers
        return np.where(layers.is_merged, 0.0, layers.voting_weights)

    @property
    def feature_mask(self) -> Flags:
        """Which features are in use."""
        return self._known().layers.input_mask[0, : self._known().shape.features].copy()

    def rules(
        self, archived: bool = False, class_names: Mapping[Hashable, str] | None = None
    ) -> list[Rule]:
        """The active rules of all live layers in the user's units, the weightiest first.

        With `archived` also those that wait to be recalled, after the others. None before learning.
        `class_names` says what labels are called, where they are but numbers.
        """
        if self._network is None:
            return []
        labels = [(class_names or {}).get(label, label) for label in self.classes]
        return rules_of(self._network, labels, self.feature_names, self.config, archived)

    # ---- predict: nothing here changes the model

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of rows; the columns follow `classes`."""
        network = self._known()
        rows = as_rows(X, self._names, network.shape.features, self.config.missing)
        outputs, _ = forward(network, scaled(network, rows, self.config), self.config)
        return voting.vote(network.layers, outputs, self.config)

    def predict(self, X: Any) -> "np.ndarray[Any, np.dtype[Any]]":
        """Labels of rows."""
        return self._labels.decode(self.predict_proba(X).argmax(axis=1))

    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Class probabilities of one row, by label."""
        probabilities = self.predict_proba(self._as_row(x))[0]
        return dict(zip(self._labels.classes, probabilities.tolist(), strict=True))

    def predict_one(self, x: Any) -> Hashable:
        """Label of one row."""
        return self._labels.classes[int(self.predict_proba(self._as_row(x))[0].argmax())]

    def wants_label(self, X: Any) -> Flags:
        """Which rows are worth labelling, as the winning layer stands; everything before learning.

        Without active learning, all of them. Then call `learn(X, y, chosen=wanted)`: labels of the
        other rows are not read, and the label budget counts on.
        """
        from devfnn.kernels.layers import choose_rows

        if self._network is None:
            width = len(self._names) if self._names is not None else None
            rows = as_rows(X, self._names, width, self.config.missing)
            return np.ones(rows.shape[0], np.bool_)
        network = self._known()
        rows = as_rows(X, self._names, network.shape.features, self.config.missing)
        _, stacked = forward(network, scaled(network, rows, self.config), self.config)
        wanted = np.zeros(rows.shape[0], np.bool_)
        settings = self.config.kernel_settings(network.shape.inputs)
        draws = exploration_draws(self.config.seed, network.n_rows, rows.shape[0])
        batch = Batch(stacked, np.zeros(0, np.int64), np.zeros(0), draws, np.zeros(0, np.int64))
        layer = voting.winner(network.layers)
        choose_rows(network.layers, layer, settings, batch, network.scratch, wanted)
        return wanted

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
        rows, labelled, fresh = self._checked(X, y, weights, chosen)
        if not len(rows):
            return []
        network = self._ready(rows, fresh)
        events = self._welcome(fresh) + close_gathered(network, self.feature_names, self.config)
        return events + learn_chunk(network, rows, labelled, self.feature_names, self.config)

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> list[Event]:
        """Learn one row at once; structural steps follow every `chunk_rows` rows."""
        return self.learn_rows(self._as_row(x), [y], [weight])

    def learn_rows(self, X: Any, y: Any, weights: Any = None, *, chosen: Any = None) -> list[Event]:
        """The same, bit for bit, as `learn_one` in a loop over the rows."""
        rows, labelled, fresh = self._checked(X, y, weights, chosen)
        events: list[Event] = []
        if not len(rows):
            return events
        n_known = len(self._labels)
        for part, known, labels in split_at_new_classes(rows, labelled, fresh, n_known):
            network = self._ready(part, labels)
            events += self._welcome(labels)
            events += learn_rows(network, part, known, self.feature_names, self.config)
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
        shape = dataclasses.replace(network.shape, features=len(known) + len(fresh))
        network.resize(shape, self.config)
        self._names = known + fresh
        switch_inputs(network, self.config)

    # ---- taking rows in

    def _known(self) -> Network:
        """The network, or an error that says what to do."""
        if self._network is None:
            raise NotLearnedError("the model has not learned anything yet; call learn first")
        ensure_compiled()
        return self._network

    def _as_row(self, x: Any) -> Floats:
        """One row as a matrix."""
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
        names, n_features = self._names, None
        if self._network is not None:
            n_features = self._network.shape.features
        elif names is not None:
            n_features = len(names)
        matrix = as_rows(X, names, n_features, self.config.missing)
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

    def _ready(self, rows: Rows, fresh: list[Hashable]) -> Network:
        """A network wide enough for the rows' features and classes."""
        ensure_compiled()
        n_features, n_classes = rows.X.shape[1], len(self._labels) + len(fresh)
        if self._network is None:
            self._network = Network.empty(n_features, n_classes, self.config)
            switch_inputs(self._network, self.config)
        elif fresh:
            shape = dataclasses.replace(self._network.shape, classes=n_classes)
            self._network.resize(shape, self.config)
            switch_inputs(self._network, self.config)
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
