"""Learning with a concept network: chunk by chunk, or row by row."""

import numpy as np

from devfnn.events import (
    DriftFound,
    Event,
    LayerDropped,
    LayerKept,
    LayerRecalled,
    RuleSplit,
)
from devfnn.kernels.concept_state import (
    DRIFT_LINE,
    DROPPED_LINE,
    KEPT_LINE,
    RECALLED_LINE,
    SPLIT_LINE,
    STEPS,
    Diary,
    Lessons,
)
from devfnn.kernels.state import Floats, Ints
from devfnn.model.concepts.inputs import absorb, absorb_chunk, change_map, layer_inputs
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.concepts.state import work_for
from devfnn.model.concepts.structure import gather, take_steps
from devfnn.model.config import Config
from devfnn.model.intake import exploration_draws
from devfnn.model.network import Rows

LINES_PER_CALL = 64
"""Lines of a diary on top of one for every row."""


def forward(network: ConceptNetwork, inputs: Floats) -> Floats:
    """Outputs (k, L, m) of all layers; zeros where one rests."""
    from devfnn.kernels import concepts

    state = network.state
    outputs = np.empty((inputs.shape[0], state.kinds.size, network.n_classes))
    concepts.forward(state, inputs, outputs, work_for(state))
    return outputs


def vote(network: ConceptNetwork, outputs: Floats, config: Config) -> Floats:
    """The network's probabilities (k, m)."""
    from devfnn.kernels import concepts

    probabilities = np.empty((outputs.shape[0], network.n_classes))
    concepts.vote(network.state, outputs, config.habits(), probabilities)
    return probabilities


def learn_chunk(
    network: ConceptNetwork,
    rows: Rows,
    labelled: Ints,
    names: list[str],
    config: Config,
    said: tuple[Floats, Floats] | None = None,
) -> list[Event]:
    """Take in a chunk. `said` is inputs and outputs of a prediction just made, if there is one."""
    from devfnn.kernels import concepts

    events = absorb_chunk(network, rows.X, names, config)
    inputs = layer_inputs(network, rows.X, config)
    if said is not None and np.array_equal(inputs, said[0], equal_nan=True):
        outputs = said[1]
    else:
        outputs = forward(network, inputs)
    diary = empty_diary(len(rows))
    lessons = _lessons(network, rows, inputs, labelled, config)
    work = work_for(network.state)
    concepts.learn_chunk(network.state, lessons, outputs, config.habits(), diary, work)
    events += events_of(network, diary, names, config)
    gather(network, rows, diary.taken, config)
    network.n_rows += len(rows)
    network.n_chunks += 1
    network.n_labels += int(diary.taken.sum())
    return events + take_steps(network, names, config)


def learn_rows(
    network: ConceptNetwork, rows: Rows, labelled: Ints, names: list[str], config: Config
) -> list[Event]:
    """Learn rows in parts: up to the next change of the scaling map or structural step."""
    events: list[Event] = []
    learned = start = 0
    while learned < len(rows):
        due = absorb(network, rows.X, start, config)
        while learned < due:
            part = rows.part(learned, due)
            count, new = _learn_part(network, part, labelled[learned:due], names, config)
            learned += count
            events += new
        if due < len(rows):
            events += change_map(network, names, config)
            start = due + 1
    return events


def _learn_part(
    network: ConceptNetwork, rows: Rows, labelled: Ints, names: list[str], config: Config
) -> tuple[int, list[Event]]:
    """Rows under one scaling map, up to the end of a structural step; how many, and events."""
    from devfnn.kernels import concepts

    inputs = layer_inputs(network, rows.X, config)
    diary = empty_diary(len(rows))
    steps = int(network.state.clock[STEPS])
    lessons = _lessons(network, rows, inputs, labelled, config)
    state, habits, work = network.state, config.habits(), work_for(network.state)
    done = concepts.learn_rows(state, lessons, habits, diary, network.lead, work)
    events = events_of(network, diary, names, config)
    gather(network, rows.part(0, done), diary.taken[:done], config)
    network.n_rows += done
    network.n_labels += int(diary.taken.sum())
    if network.state.clock[STEPS] > steps:
        network.n_chunks += 1
        events += take_steps(network, names, config)
    return done, events


def empty_diary(n_rows: int) -> Diary:
    """Room for what kernels report about rows."""
    n_lines = n_rows + LINES_PER_CALL
    return Diary(
        taken=np.zeros(n_rows, np.int64),
        errors=np.zeros(n_rows, np.int64),
        lines=np.zeros((n_lines, 5), np.int64),
        numbers=np.zeros((n_lines, 4)),
        n_lines=np.zeros(1, np.int64),
    )


def _lessons(
    network: ConceptNetwork, rows: Rows, inputs: Floats, labelled: Ints, config: Config
) -> Lessons:
    """Rows as kernels take them."""
    draws = exploration_draws(config.seed, network.n_rows, len(rows))
    return Lessons(inputs, rows.labels, rows.weights, draws, labelled)


def events_of(
    network: ConceptNetwork, diary: Diary, names: list[str], config: Config
) -> list[Event]:
    """The lines of a diary as events, in the user's units."""
    events: list[Event] = []
    for line in range(int(diary.n_lines[0])):
        row, kind, layer, first, second = (int(value) for value in diary.lines[line])
        numbers = [float(value) for value in diary.numbers[line]]
        at = network.n_rows + row
        if kind == SPLIT_LINE:
            feature, cut = int(numbers[0]), numbers[1]
            value = _in_units(network, feature, cut, config)
            facts = (names[feature], value, numbers[2], numbers[3])
            events.append(RuleSplit(at, layer, first, second, *facts))
        elif kind == DRIFT_LINE:
            before, after, bound, cut_rows = numbers
            events.append(DriftFound(at, before, after, bound, int(cut_rows)))
        elif kind == KEPT_LINE:
            events.append(LayerKept(at, layer, first, second, int(numbers[0]), numbers[1]))
        elif kind == RECALLED_LINE:
            events.append(LayerRecalled(at, layer, *numbers[:3]))
        elif kind == DROPPED_LINE:
            reason = "went longest without being the best"
            events.append(LayerDropped(at, layer, reason, numbers[0], float(config.max_kept)))
    return events


def _in_units(network: ConceptNetwork, feature: int, value: float, config: Config) -> float:
    """A scaled value in the user's units."""
    if config.scaling != "online":
        return value
    scaler = network.scaler
    return float(scaler.low[feature] + value * scaler.width[feature])
