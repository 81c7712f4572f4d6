"""Rows one at a time, for callers that have no more than one: as fast as the kernels allow.

Working memory is made once, and a kernel is bound once to the types of what it is always called
with: checking thirty arrays before each call takes longer than the call.
"""

import functools
import struct
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.events import Event
from devfnn.kernels.state import ASKED_FOR, OFFERED, SEEN_ROWS, Batch
from devfnn.model.access import Learned
from devfnn.model.class_weights import weighted
from devfnn.model.compiling import ensure_compiled
from devfnn.model.network import LINES_PER_CALL, Network, event_buffer
from devfnn.model.reported import events_of
from devfnn.model.rows import Rows
from devfnn.model.scaling import CLIP
from devfnn.model.validation import (
    LARGEST_WEIGHT,
    are_sound,
    are_sound_or_absent,
    exploration_draws,
)

if TYPE_CHECKING:
    from devfnn.model.devfnn import DEVFNN

DRAWS = 1024
"""Random numbers drawn at a time."""


def bound(kernel: Any, *arguments: Any) -> Callable[[], Any]:
    """A kernel with its arguments, compiled for exactly these; what is in them may change."""
    import numba

    compiled = kernel
    if not numba.config.DISABLE_JIT:
        compiled = kernel.compile(tuple(numba.typeof(argument) for argument in arguments))
    return functools.partial(compiled, *arguments)


class OneRow:
    """A network that predicts and learns one row at a time. names: of its features"""

    def __init__(self, network: Network, names: list[str]) -> None:
        from devfnn.kernels import network as kernels

        self._network, self._names = network, names
        self._state = network.state
        self._n_open, self._budget = network.state.progress.n_open, network.state.progress.budget
        self._last_open = network.config.chunk_rows - 1
        self._pack = struct.Struct(f"{network.n_features}d").pack_into
        self._may_lack = network.config.missing == "skip"
        self._row: Floats = np.zeros((1, network.n_features))
        self._values = self._row[0]
        self._inputs = np.zeros_like(self._row)
        outputs = np.zeros((0, network.sizes.layers, network.n_classes))
        self._probabilities = np.zeros((1, network.n_classes))
        labels, labelled = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._batch = Batch(self._inputs, labels, np.ones(1), np.zeros(1), labelled)
        self._buffer = event_buffer(1, 1 + LINES_PER_CALL)
        own = network.held(self._batch, self._buffer)
        self._predict = bound(kernels.predict_row, *own[:4], self._probabilities)
        self._learn = bound(kernels.learn_rows, *own, outputs, 0)
        self._catch_up()

    def serves(self, network: Any) -> bool:
        """Whether this network can be used here; synchronises if it has learned elsewhere."""
        if network is not self._network or network.state is not self._state:
            return False
        if network.n_rows != self._n_rows:
            self._catch_up()
        return True

    def _catch_up(self) -> None:
        """Reload what other ways of learning may have changed."""
        self._n_rows = self._network.n_rows
        self._read_map()
        self._draw_anew()

    def takes(self, values: Sequence[float]) -> bool:
        """Load a row; False if invalid."""
        if not are_sound(values) and not (self._may_lack and are_sound_or_absent(values)):
            return False
        try:
            self._pack(self._values, 0, *values)
        except struct.error:  # too few or too many
            return False
        return True

    def probabilities(self) -> list[float]:
        """Class probabilities of the loaded row."""
        self._scale()
        self._predict()
        shares: list[float] = self._probabilities[0].tolist()
        return shares

    @property
    def is_step_near(self) -> bool:
        """Whether a structural step may follow the next row."""
        return bool(self._n_open[0] >= self._last_open)

    def is_in_map(self) -> bool:
        """Let the scaler see the row that was taken; whether the map stays as it is."""
        return self._watch() == 1

    def learn_in_new_map(
        self, names: list[str], label: int, weight: float, asked: bool
    ) -> list[Event]:
        """Change the map, which is due, then learn the row."""
        events = self._network.change_map(names)
        self._read_map()
        return events + self.learn(label, weight, asked)

    def learn(self, label: int, weight: float, asked: bool) -> list[Event]:
        """Learn the row that was taken and seen, of a known class, where no step is near.

        The same, bit for bit, as `Network.learn_rows`. Wherever Ctrl-C comes, the row is learned or
        not.
        """
        network, batch, buffer = self._network, self._batch, self._buffer
        n_rows, n_labels, n_seen = self._n_rows, network.n_labels, int(self._budget[SEEN_ROWS])
        network.said = None
        self._scale()
        place = n_rows - self._first_draw
        if place == DRAWS:
            self._draw_anew()
            place = 0
        batch.draws[0] = self._draws[place]
        batch.labels[0], batch.weights[0] = label, weight
        batch.labelled[0] = ASKED_FOR if asked else OFFERED
        buffer.taken[0] = buffer.count[0] = 0
        try:
            self._learn()
            events = events_of(network, buffer, self._names) if buffer.count[0] else []
            network.n_rows = self._n_rows = n_rows + 1
            network.n_labels = n_labels + int(buffer.taken[0])
        except BaseException:
            n_learned = int(self._budget[SEEN_ROWS]) - n_seen
            network.n_rows = self._n_rows = n_rows + n_learned
            network.n_labels = n_labels + n_learned * int(buffer.taken[0])
            raise
        return events

    def _read_map(self) -> None:
        """Copy the scaling map; NaN for features that are left out."""
        from devfnn.kernels._jit import held
        from devfnn.kernels.scaling import scale_rows, watch

        scaler, used = self._network.scaler, self._network.used_features
        is_scaled = self._network.config.scaling == "online"
        low = scaler.low.copy() if is_scaled else np.zeros_like(scaler.low)
        width = np.where(used, scaler.width if is_scaled else 1.0, np.nan)
        self._scale = bound(scale_rows, self._row, low, width, CLIP, self._inputs)
        self._watch: Callable[[], int] = functools.partial(self._network.absorb, self._row, 0)
        if is_scaled and scaler.is_settled:
            self._watch = bound(watch, self._row, 0, held(scaler.ranges))

    def _draw_anew(self) -> None:
        """Random numbers for the next rows."""
        self._first_draw = self._n_rows
        seed = self._network.config.seed
        self._draws = exploration_draws(seed, self._n_rows, DRAWS).tolist()


def plain_row(x: Any) -> Sequence[float] | None:
    """A row as a list or tuple; None if it is neither of these nor a vector."""
    if isinstance(x, list | tuple):
        return x
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "fiu":
        values: list[float] = x.tolist()
        return values
    return None


def as_row(x: Any) -> Any:
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


class SingleRows:
    """A model that predicts and learns one row at a time.

    Results are those of `DEVFNN.predict_proba` and `DEVFNN.learn_rows`, bit for bit, and so is what
    they refuse. The model may be used directly in between, and by other threads.
    """

    def __init__(self, model: "DEVFNN") -> None:
        self.model = model
        config = model.config
        self._is_plain = not (config.lags or config.feature_mask or config.has("gaussian"))
        self._is_plain &= not (config.balances and config.is_budgeted)  # labels are counted if paid
        self._has_weights = config.class_weights is not None
        self._own = _Own()

    def by_label(self, x: Any) -> dict[Hashable, float]:
        """Class probabilities of a row, by label; none before learning."""
        classes, shares = self._said(x)
        return dict(zip(classes, shares, strict=True))

    def likeliest(self, x: Any) -> Hashable:
        """The most probable label; None before learning."""
        classes, shares = self._said(x)
        return classes[shares.index(max(shares))] if shares else None

    def _said(self, x: Any) -> tuple[list[Hashable], list[float]]:
        """Labels and probabilities; of the newest state if nobody is changing it."""
        access = self.model._access
        learned, is_held = access.newest_for_a_moment()
        try:
            network, classes = learned.network, learned.labels.classes
            if network is None:
                return [], []
            values, fast = plain_row(x), self._fast_path(network)
            if values is not None and fast is not None and fast.takes(values):
                return classes, fast.probabilities()
            with access.reading(learned):
                said: list[float] = self.model.predict_proba(as_row(x))[0].tolist()
            return classes, said
        finally:
            if is_held:
                access.lock.release()

    def learn(self, x: Any, label: Hashable, weight: Any = 1.0, asked: bool = False) -> list[Event]:
        """Learn a row at once; with `asked` the label is used in any case."""
        model, values = self.model, plain_row(x)
        is_weight = isinstance(weight, int | float) and 0.0 < weight <= LARGEST_WEIGHT
        if values is not None and is_weight and self._is_plain:
            access, is_in_map = model._access, True
            access.is_awaited = True
            with access.lock:
                try:
                    learned = access.begin_in_place()
                    found = self._ready(learned, values, label)
                    if found is not None:
                        fast, index = found
                        if self._has_weights:
                            weight = self._weight_of(learned, index, weight)
                        is_in_map = fast.is_in_map()
                        if is_in_map:
                            return self._noted(learned, fast.learn(index, weight, asked))
                finally:
                    access.end_in_place()
                if not is_in_map:
                    names = model.feature_names
                    do = functools.partial(fast.learn_in_new_map, names, index, weight, asked)
                    return access.change(lambda: self._noted(access.working, do()))
        return model.learn_rows(as_row(x), [label], [weight], chosen=True if asked else None)

    def _ready(self, learned: Learned, values: Any, label: Hashable) -> tuple[OneRow, int] | None:
        """The fast path with a row taken, and its class; None if it has to go the slow way."""
        try:
            index = learned.labels.index_of(label)
        except TypeError:  # no label
            return None
        if learned.network is None or index is None:
            return None
        fast = self._fast_path(learned.network)
        if fast is None or fast.is_step_near or not fast.takes(values):
            return None
        if learned.logbook.since is None:
            learned.logbook.begin(learned.network.n_rows)
        return fast, index

    @staticmethod
    def _noted(learned: Learned, events: list[Event]) -> list[Event]:
        """Events of a row, in the log."""
        if events and learned.network is not None:
            learned.logbook.note(events, learned.network.n_rows)
        return events

    @staticmethod
    def _weight_of(learned: Learned, index: int, weight: float) -> float:
        """The weight of a row of a class, with that of the class."""
        network = learned.network
        assert network is not None
        row = Rows(np.empty((1, 0)), np.array([index]), np.array([weight], np.float64))
        return float(weighted(network, row, np.array([OFFERED]), learned.labels)[0])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_own": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _own=_Own())

    def _fast_path(self, network: Network) -> OneRow | None:
        """The fast path of this thread for a network, if there is one."""
        own = self._own
        if own.fast is not None and own.fast.serves(network):
            return own.fast
        if not self._is_plain:
            return None
        if own.last is not network:  # states that are shown to readers may not live long
            own.last, own.fast = network, None
            if self.model._access.own() is None:
                return None
        ensure_compiled(self.model.config)
        own.fast = OneRow(network, self.model.feature_names)
        return own.fast


class _Own(threading.local):
    """The fast path of a thread, and the network it was last asked for."""

    fast: OneRow | None = None
    last: Network | None = None
