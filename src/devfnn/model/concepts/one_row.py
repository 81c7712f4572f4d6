"""One row at a time through the kernels of a concept network, without making arrays for it.

Working memory is made once, and a kernel is bound once to the types of what it is always called
with: to look at thirty arrays before each call takes longer than the call.
"""

import functools
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from devfnn.events import Event
from devfnn.kernels.concept_state import STEPS, Lessons
from devfnn.kernels.state import ASKED_FOR, OFFERED, Floats
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.concepts.inputs import absorb, change_map, used_features
from devfnn.model.concepts.learning import empty_diary, events_of
from devfnn.model.concepts.state import work_for
from devfnn.model.concepts.structure import take_steps
from devfnn.model.config import Config
from devfnn.model.intake import are_sound, are_sound_or_absent, exploration_draws
from devfnn.scaling import CLIP, SETTLING_ROWS

DRAWS = 1024
"""Random numbers that are made at a time."""

NARROWEST = 1e-200
"""Values that are allowed cannot overflow when they are divided by this."""

LEAST, MOST = -CLIP, 1.0 + CLIP


def bound(kernel: Any, *arguments: Any) -> Callable[[], Any]:
    """A kernel with its arguments, compiled for exactly these; what is in them may change."""
    import numba

    compiled = kernel
    if not numba.config.DISABLE_JIT:
        compiled = kernel.compile(tuple(numba.typeof(argument) for argument in arguments))
    return functools.partial(compiled, *arguments)


class OneRow:
    """A network that is asked and taught one row after the other.

    Parameters
    ----------
    network
        The network.
    names
        Names of its features.
    config
        Parameters, without lags and feature mask.
    """

    def __init__(self, network: ConceptEngine, names: list[str], config: Config) -> None:
        from devfnn.kernels import concepts

        self._network, self._names, self._config = network, names, config
        self._watch: Callable[[], int] | None
        self._thread = threading.get_ident()
        state = self._state = network.state
        habits, work = config.habits(), work_for(state)
        self._pack = struct.Struct(f"{network.n_features}d").pack_into
        self._taken: Sequence[float] | None = None  # the row in `_values`
        self._is_scaled = False
        self._may_lack = config.missing == "skip"
        self._row: Floats = np.zeros((1, network.n_features))
        self._values = self._row[0]
        self._inputs = np.zeros_like(self._row)
        self._scaled = self._inputs[0]
        self._least, self._most = (
            np.full_like(self._scaled, LEAST),
            np.full_like(self._scaled, MOST),
        )
        outputs = np.zeros((1, state.kinds.size, network.n_classes))
        self._probabilities = np.zeros((1, network.n_classes))
        labels, labelled = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._lessons = Lessons(self._inputs, labels, np.ones(1), np.zeros(1), labelled)
        self._diary = empty_diary(1)
        self._forward = bound(concepts.forward, state, self._inputs, outputs, work)
        self._vote = bound(concepts.vote, state, outputs, habits, self._probabilities)
        lesson = (self._lessons, habits, self._diary, network.lead, work)
        self._learn = bound(concepts.learn_rows, state, *lesson)
        self._catch_up()

    def serves(self, network: Any) -> bool:
        """Whether this network can be asked here; if it has learned elsewhere, catches up."""
        if (
            network is not self._network
            or network.state is not self._state
            or threading.get_ident() != self._thread
        ):
            return False
        if network.n_rows != self._n_rows:
            self._catch_up()
        return True

    def _catch_up(self) -> None:
        """Take over what other ways of learning may have changed."""
        self._n_rows = self._network.n_rows
        self._steps = int(self._state.clock[STEPS])
        self._read_map()
        self._draw_anew()

    def takes(self, values: Sequence[float]) -> bool:
        """Take in a row for what is called next; False if it is none, or may be none."""
        if not are_sound(values) and not (self._may_lack and are_sound_or_absent(values)):
            return False
        if type(values) is tuple and values == self._taken:  # it was asked before it is learned
            return True
        self._taken = None
        self._is_scaled = False
        try:
            self._pack(self._values, 0, *values)
        except struct.error:  # too few or too many
            return False
        self._taken = values  # a list never equals a tuple, so that it may change
        return True

    def probabilities(self) -> list[float]:
        """Class probabilities of the row that was taken."""
        if not self._is_scaled:
            self._scale()
        self._forward()
        self._vote()
        shares: list[float] = self._probabilities[0].tolist()
        return shares

    def learn(self, label: int, weight: float, asked: bool) -> list[Event]:
        """Learn the row that was taken, of a known class.

        The same, bit for bit, as `learn_rows` of `learning.py`.
        """
        events: list[Event] = []
        network, lessons, diary = self._network, self._lessons, self._diary
        network.forget_said()
        if not self._absorb():
            events += change_map(network, self._names, self._config)
            self._read_map()
        if not self._is_scaled:
            self._scale()
        place = self._n_rows - self._first_draw
        if place == DRAWS:
            self._draw_anew()
            place = 0
        lessons.draws[0] = self._draws[place]
        lessons.labels[0], lessons.weights[0] = label, weight
        lessons.labelled[0] = ASKED_FOR if asked else OFFERED
        diary.taken[0] = diary.n_lines[0] = 0
        self._learn()
        if diary.n_lines[0]:
            events += events_of(network, diary, self._names, self._config)
        network.n_rows = self._n_rows = self._n_rows + 1
        network.n_labels += int(diary.taken[0])
        if self._state.clock[STEPS] > self._steps:
            self._steps = int(self._state.clock[STEPS])
            network.n_chunks += 1
            events += take_steps(network, self._names, self._config)
        return events

    def _absorb(self) -> int:
        """Let the scaler see the row; 0 if the map must change before it is learned."""
        if self._watch is not None:
            return self._watch()
        return absorb(self._network, self._row, 0, self._config)

    def _read_map(self) -> None:
        """Copy the scaling map; NaN for features that are left out."""
        from devfnn.kernels.ranges import watch

        scaler, used = self._network.scaler, used_features(self._network, self._config)
        is_scaled = self._config.scaling == "online"
        self._low = scaler.low.copy() if is_scaled else np.zeros_like(scaler.low)
        self._width = np.where(used, scaler.width if is_scaled else 1.0, np.nan)
        self._is_scaled = False
        self._is_narrow = bool((self._width < NARROWEST).any())
        self._watch = None
        if is_scaled and scaler.n_first >= SETTLING_ROWS:
            outside = (scaler.outside_share, scaler.outside_level, scaler.escapes)
            arrays = (scaler.low, scaler.width, *outside, scaler.waking)
            self._watch = bound(watch, self._row, 0, *arrays)

    def _scale(self) -> None:
        """The row as the layers see it: the same as `layer_inputs`."""
        if self._is_narrow:
            with np.errstate(over="ignore"):
                np.divide(self._values - self._low, self._width, self._scaled)
        else:
            np.subtract(self._values, self._low, self._scaled)
            np.divide(self._scaled, self._width, self._scaled)
        np.maximum(self._scaled, self._least, out=self._scaled)
        np.minimum(self._scaled, self._most, out=self._scaled)
        self._is_scaled = True

    def _draw_anew(self) -> None:
        """Random numbers for the next rows."""
        self._first_draw = self._n_rows
        self._draws = exploration_draws(self._config.seed, self._n_rows, DRAWS).tolist()
