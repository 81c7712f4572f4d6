"""Fleet: many small models whose arrays have a leading axis, so that one kernel call serves all."""

import functools
import itertools
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from devfnn import formatting
from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError, shown
from devfnn.kernels.state import CLOUDS, OFFERED, STEPS, Batch, State
from devfnn.model.class_weights import weighted
from devfnn.model.compiling import ensure_compiled
from devfnn.model.config import SWIFT_LAYERS, Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.names import announced
from devfnn.model.network import LINES_PER_CALL, Network, event_buffer
from devfnn.model.rows import Rows
from devfnn.model.state import Sizes, first_sizes, modules_of, state_memory
from devfnn.model.validation import Labels, as_labels, as_rows, as_weights, draws_of

if TYPE_CHECKING:
    from devfnn.kernels.fleets import Groups

P = ParamSpec("P")
R = TypeVar("R")

ADDRESSABLE = 2**47
"""Bytes that a processor can tell apart."""


def alone(method: Callable[Concatenate["Fleet", P], R]) -> Callable[Concatenate["Fleet", P], R]:
    """A method that no other thread's call comes between."""

    def call(self: "Fleet", /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return functools.update_wrapper(call, method)


class Fleet:
    """Many DEVFNN models at once, without Python per model: for thousands of small streams.

    Every row has the id of its model, 0 up to `n_models` - 1. A model learns its rows one by one,
    as `DEVFNN.learn_rows` does, and knows nothing of the others but the scaling: with
    `scaling="online"` all share one map, made from the rows of all, since the streams of a fleet
    are of one kind. A model without rows finds all classes equally likely.

    Joining of rules and merging of layers (`boxes.joining`, `merging`) do not run in a fleet, and
    there are neither a feature mask nor lags nor balanced class weights nor events; `n_drifts`
    counts drifts. All else does: splits, clouds, drift, kept layers and their recall, active
    learning, memory that adapts. Everything runs in one thread. `save` writes it to a file, which
    `Fleet.load` reads; a single model is saved by `fleet.model(3).save(path)`.

    Parameters
    ----------
    n_models, n_features
        Sizes. Room for all models is made at once.
    classes
        All labels that may come, in the order of the columns of `predict_proba`.
    config
        The parameters of all models; those of `presets.swift()` if not given. With 2 classes such
        a model takes 32 kB for 3 features and 353 kB for 20; with the small one below 8 kB and
        85 kB. `nbytes` says how much all take.
    feature_names
        Names for rules; taken from the columns of the first table learned if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from devfnn import Fleet, presets
    >>> rng = np.random.default_rng(0)
    >>> ids, X = rng.integers(0, 10, 5000), rng.random((5000, 2))
    >>> y = X[:, 0] > ids / 10  # every stream has a threshold of its own
    >>> small = presets.swift().replace(rules__max_rules=8, boxes__max_rules=4)
    >>> small = small.replace(clouds__max_rules=4, growing__max_kept=2)
    >>> fleet = Fleet(10, 2, [False, True], small)
    >>> fleet.learn(ids[:4000], X[:4000], y[:4000])
    >>> bool((fleet.predict(ids[4000:], X[4000:]) == y[4000:]).mean() > 0.95)
    True
    >>> fleet.model(3).n_rows == int(fleet.n_rows[3])
    True
    """

    def __init__(
        self,
        n_models: int,
        n_features: int,
        classes: Iterable[Hashable],
        config: Config | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        from devfnn.kernels.fleets import Counts

        self._lock = threading.RLock()
        self.config = fleet_config(config if config is not None else Config(layers=SWIFT_LAYERS))
        sizes: dict[str, Any] = {"n_models": n_models, "n_features": n_features}
        for name, value in sizes.items():
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} must be a whole number from 1, not {shown(value)}")
        self._labels = Labels(_checked_classes(classes))
        self._names = DEVFNN(self.config, feature_names)._names
        if self._names is not None and len(self._names) != n_features:
            raise InputError(f"{len(self._names)} feature names for {shown(n_features)} features")
        _check_size(n_models, first_sizes(n_features, len(self._labels), self.config), self.config)
        self._common = Network.empty(n_features, len(self._labels), self.config)
        state = self._common.state
        self._states = _mapped(state, lambda array: np.repeat(array[None], n_models, axis=0))
        self._counts = Counts(*(np.zeros(n_models, np.int64) for _ in range(3)))

    # ---- what a user may look at

    @property
    def n_models(self) -> int:
        """Models in the fleet."""
        return int(self._counts.n_rows.size)

    @property
    def n_features(self) -> int:
        """Features of a row."""
        return self._common.n_features

    @property
    def classes(self) -> list[Hashable]:
        """All labels, in the order of the columns of `predict_proba`."""
        return list(self._labels.classes)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, x0, x1, ... if none were given."""
        return self._names or [f"x{index}" for index in range(self.n_features)]

    @property
    @alone
    def n_rows(self) -> Ints:
        """Rows offered to every model for learning so far."""
        return self._counts.n_rows.copy()

    @property
    @alone
    def n_labels_used(self) -> Ints:
        """Labels that every model was trained with."""
        return self._counts.n_labels.copy()

    @property
    @alone
    def n_drifts(self) -> Ints:
        """Drifts that every model has found so far."""
        return self._counts.n_drifts.copy()

    @property
    @alone
    def n_rules(self) -> Ints:
        """Active rules of every model."""
        rules: Ints = np.zeros(self.n_models, np.int64)
        if self._states.pool is not None:
            rules += self._states.pool.n_members.sum(axis=1)
        if self._states.clouds is not None:
            layers = self._states.layers
            is_awake = ((layers.kinds == CLOUDS) & (layers.rests == 0)).any(axis=1)
            rules += np.where(is_awake, self._states.clouds.count[:, 0], 0)
        return rules

    @property
    def nbytes(self) -> int:
        """Size of the arrays of all models in bytes."""
        parts = [part for part in (*self._states, self._counts) if part is not None]
        return sum(array.nbytes for part in parts for array in part)

    @alone
    def to_dict(self) -> dict[str, Any]:
        """The fleet as plain data, for JSON: what it is, and counts of every model."""
        return {
            "class": "Fleet",
            "config": self.config.to_dict(),
            "features": self.feature_names,
            "classes": [formatting.label_to_json(label) for label in self.classes],
            "models": self.n_models,
            "rows": self.n_rows.tolist(),
            "labels_used": self.n_labels_used.tolist(),
            "drifts": self.n_drifts.tolist(),
            "rules": self.n_rules.tolist(),
            "bytes": self.nbytes,
        }

    @alone
    def model(self, index: int) -> DEVFNN:
        """A copy of one model, to look at, to save, or to go on with.

        It goes on as the fleet would, bit for bit: without joining and merging, and with the shared
        scaling map as it is now. Its history begins here; a fleet keeps none.
        """
        (place,) = as_ids([index], 1, self.n_models).tolist()
        network = self._common.copy()
        network.state = _mapped(self._state_of(place), np.copy)
        network.n_rows = int(self._counts.n_rows[place])
        network.n_chunks = int(network.state.progress.counts[STEPS])
        network.n_labels = int(self._counts.n_labels[place])
        model = DEVFNN(self.config, self._names)
        model._labels = Labels(self._labels.classes)
        model._network = network
        return model

    # ---- predict: nothing here changes a model

    @alone
    def predict_proba(self, ids: Any, X: Any) -> Floats:
        """Class probabilities of rows, each by the model its id names."""
        from devfnn.kernels.fleets import predict_groups

        rows = as_rows(X, self._names, self.n_features, self.config.missing)
        groups = groups_of(as_ids(ids, len(rows), self.n_models))
        ensure_compiled("fleet")
        inputs = self._common.inputs_of(rows)
        probabilities = np.empty((len(rows), len(self._labels)))
        params, work = self._common.params, self._common.work
        predict_groups(self._states, groups, inputs, params, probabilities, work)
        return probabilities

    @alone
    def predict(self, ids: Any, X: Any) -> "np.ndarray[Any, np.dtype[Any]]":
        """Labels of rows, each by the model its id names."""
        return self._labels.decode(self.predict_proba(ids, X).argmax(axis=1))

    # ---- learn

    @alone
    def learn(self, ids: Any, X: Any, y: Any, weights: Any = None) -> None:
        """Learn rows of many models, mixed as they come; those of a model count in their order.

        Rows of weight 0 are passed over. Of rows that are refused nothing is learned; a call that
        runs out of memory, or is stopped by Ctrl-C, may have learned some: load what was saved.
        """
        owners, rows = self._checked(ids, X, y, weights)
        ensure_compiled("fleet")
        learned = start = 0
        while learned < len(rows):
            due = self._common.absorb(rows.X, start)
            if learned < due:
                self._learn_part(owners[learned:due], rows.part(learned, due))
                learned = due
            if due < len(rows):
                self._change_map()
                start = due + 1

    def _checked(self, ids: Any, X: Any, y: Any, weights: Any) -> tuple[Ints, Rows]:
        """Models and rows, checked before the fleet changes."""
        matrix = as_rows(X, self._names, self.n_features, self.config.missing)
        owners = as_ids(ids, len(matrix), self.n_models)
        row_weights = as_weights(weights, len(matrix))
        labels = as_labels(y, len(matrix))
        is_used = row_weights > 0.0
        if not is_used.all():
            matrix, owners, row_weights = matrix[is_used], owners[is_used], row_weights[is_used]
            labels = list(itertools.compress(labels, is_used))
        codes, fresh = self._labels.encode(labels)
        if fresh:
            there_are = ", ".join(map(repr, self._labels.classes))
            raise InputError(f"no class of the fleet is called {fresh[0]!r}; there are {there_are}")
        if self._names is None and hasattr(X, "columns") and len(matrix):
            self._names = [str(column) for column in X.columns]
        rows = Rows(matrix, codes, row_weights)
        if self.config.class_weights is not None:
            offered = np.full(len(rows), OFFERED)
            rows.weights = weighted(self._common, rows, offered, self._labels)
        return owners, rows

    def _learn_part(self, ids: Ints, rows: Rows) -> None:
        """Learn rows under one scaling map."""
        from devfnn.kernels.fleets import learn_groups

        common, groups = self._common, groups_of(ids)
        order, sizes = groups.order, np.diff(groups.bounds)
        before = self._counts.n_rows[groups.models] - groups.bounds[:-1]
        numbers = np.arange(len(rows)) + np.repeat(before, sizes)
        batch = Batch(
            rows=common.inputs_of(rows.X[order]),
            labels=rows.labels[order],
            weights=rows.weights[order],
            draws=draws_of(self.config.seed, numbers),
            labelled=np.full(len(rows), OFFERED, np.int64),
        )
        n_lines = min(int(sizes.max()), self.config.chunk_rows) + LINES_PER_CALL
        events = event_buffer(len(rows), n_lines)
        none = np.zeros((0, common.sizes.layers, common.n_classes))
        rest = (common.params, events, self._counts, none, common.work)
        learn_groups(self._states, groups, batch, *rest)

    def _change_map(self) -> None:
        """Remake the shared scaling map, and convert all models that have learned."""
        common, config = self._common, self.config
        is_settled, used = not common.scaler.first_rows.size, common.used_features
        change = common.scaler.remake()
        if is_settled and change.is_empty:
            return
        for index in np.flatnonzero(self._counts.n_rows).tolist():
            for module in modules_of(config):
                module.rebase(self._state_of(index), change, used, is_settled, config)

    def _state_of(self, index: int) -> State:
        """The network of one model, as views."""
        return _mapped(self._states, lambda array: array[index])

    # ---- storing

    @alone
    def save(self, path: Any) -> None:
        """Write the fleet to a file, atomically; see `devfnn.storage`."""
        from devfnn.storage.fleets import save_fleet

        save_fleet(self, path)

    @classmethod
    def load(cls, path: Any, **limits: int) -> "Fleet":
        """Read a fleet that `save` wrote; it goes on bit for bit. Limits are those of `load`."""
        from devfnn.storage.fleets import load_fleet

        return load_fleet(path, **limits)

    @alone
    def __getstate__(self) -> bytes:
        from devfnn.storage.fleets import dump_fleet

        return dump_fleet(self)

    def __setstate__(self, state: bytes) -> None:
        from devfnn.storage import UNLIMITED
        from devfnn.storage.fleets import parse_fleet

        self.__dict__.update(parse_fleet(state, **UNLIMITED).__dict__)


def _mapped(state: State, change: Callable[[Any], Any]) -> State:
    """A state with every array changed."""
    parts: Iterable[Any] = state
    return State._make(None if part is None else part._make(map(change, part)) for part in parts)


def groups_of(ids: Ints) -> "Groups":
    """Rows grouped by model, in their order.

    >>> groups_of(np.array([2, 0, 2]))
    Groups(models=array([0, 2]), bounds=array([0, 1, 3]), order=array([1, 0, 2]))
    """
    from devfnn.kernels.fleets import Groups

    short = ids.astype(np.min_scalar_type(ids.max(initial=0)))  # sorted in linear time, if it can
    order = np.argsort(short, kind="stable")
    models = ids[order]
    starts = np.flatnonzero(np.diff(models, prepend=-1))
    return Groups(models[starts], np.append(starts, ids.size), order)


def as_ids(ids: Any, n_rows: int, n_models: int) -> Ints:
    """The model of every row; raises InputError."""
    try:
        array = np.asarray(ids)
    except ValueError:
        raise InputError("ids must be whole numbers, one for each row") from None
    if array.shape != (n_rows,):
        raise InputError(f"ids must be one number for each of {n_rows} rows, not {array.shape}")
    if not n_rows:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"ids must be whole numbers, not {array.dtype}")
    is_unknown = (array < 0) | (array >= n_models)
    if is_unknown.any():
        row = int(np.argmax(is_unknown))
        last = n_models - 1
        raise InputError(f"row {row} is of model {array[row]}; the fleet has models 0 to {last}")
    return array.astype(np.int64)


def fleet_config(config: Config) -> Config:
    """The same without merging and joining, silently; raises InputError for what else cannot be."""
    if config.has("gaussian"):
        raise InputError("a fleet is of lines, curves, boxes and clouds, without gaussian layers")
    if config.feature_mask is not None:
        raise InputError("a fleet has no feature mask; use feature_mask=None")
    if config.balances:
        raise InputError("a fleet has no balanced class weights; give the weight of each class")
    if config.lags:
        raise InputError("a fleet has no lags; give the last labels as features")
    config = config.replace(merging=None)
    may_join = config.boxes is not None and config.boxes.splitting
    return config.replace(boxes__joining=False) if may_join else config


def _check_size(n_models: int, sizes: Sizes, config: Config) -> None:
    """Refuse a fleet that fits into no memory."""
    n_bytes = int(n_models) * state_memory(sizes, config)
    if n_bytes > ADDRESSABLE:
        raise InputError(f"such a fleet would take {shown(n_bytes)} bytes; have fewer models")


def _checked_classes(classes: Iterable[Hashable]) -> list[Hashable]:
    """Two or more labels, each once."""
    labels = announced(classes)
    if len(labels) < 2:
        raise InputError(f"a fleet needs two classes or more, not {len(labels)}")
    return labels
