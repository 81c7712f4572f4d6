"""Whether the numbers of a state can be those of a concept network."""

import numpy as np

from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    CLOUDS,
    FIRST_KEPT,
    INDEPENDENCE,
    LABEL_RATE,
    LAST_LABEL,
    LINE,
    LIVELY_CURVE,
    MEMORY,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    QUICK_LINE,
    ROWS,
    SCORED,
    STEADY_LINE,
    STEPS,
    TRACK_ROWS,
    UNCERTAINTY,
    WATCHED,
    Concepts,
)
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.concepts.state import n_clouds
from devfnn.model.config import Config
from devfnn.model.rebasing import WIDEST_PRIOR
from devfnn.storage.container import require
from devfnn.storage.values import (
    LARGEST_COUNT,
    LEAST,
    check_labels,
    check_purse,
    check_recent,
    check_scaler,
    check_track,
)

RANGES: dict[str, tuple[float, float]] = {
    "state/owners": (NO_OWNER, LARGEST_COUNT),
    "state/lows": (-np.inf, np.finfo(float).max),
    "state/highs": (-np.finfo(float).max, np.inf),
    "state/caps": (LEAST, np.inf),
    "state/variances": (0.0, np.inf),
    "state/class_counts": (0.0, np.inf),
    "state/kinds": (NO_LAYER, CLOUDS),
    "state/scores": (0.0, 1.0),
    "state/disagreements": (0.0, 1.0),
    "state/compared": (0.0, np.inf),
    "state/cloud_spreads": (LEAST, np.inf),
    "state/cloud_masses": (0.0, np.inf),
    "gathered/weights": (0.0, np.inf),
}
"""Closed ranges of values."""

PARTLY_FINITE = {"state/lows", "state/highs"}
"""Arrays that are checked here instead: an infinite bound is none."""

ROUNDING = 1e-3
"""Of sums of single precision, for each unit."""

LEAST_EVIDENCE = -1e-3
"""Variances of residuals are sums of what may be below 0 by rounding."""

ROUNDED = 1e-6
"""By how much shares may sum to more than 1."""

LEAST_WORTH = 0.1
"""The least that a row counts, as in `kernels/repeats.py`: evidence and votes are divided by it."""


def check_concepts(network: ConceptNetwork, config: Config) -> None:
    """What the parts of a concept network say about each other."""
    state = network.state
    require(state.owners.size == config.max_pool, "the pool of rules does not fit max_pool")
    _check_kinds(state, config)
    _check_members(state)
    _check_rules(state, config)
    _check_clouds(state)
    _check_course(state, config)
    _check_counters(network)
    check_track(*state.track)
    check_purse(state.purse)
    check_labels("gathered", network.gathered, network.n_classes)
    check_recent(network.recent, network.n_classes)
    check_scaler(network.scaler)


def _check_kinds(state: Concepts, config: Config) -> None:
    """Which layers there are: seven of a certain kind each, then those that are kept."""
    kinds = dict.fromkeys((QUICK_LINE, BRISK_LINE, STEADY_LINE), LINE)
    kinds |= dict.fromkeys((LIVELY_CURVE, CALM_CURVE, BOX_LAYER), BOXES)
    kinds[CLOUD_LAYER] = CLOUDS if n_clouds(config) else NO_LAYER
    are_there = all(state.kinds[layer] == kind for layer, kind in kinds.items())
    require(are_there, "state/kinds lacks a layer that is always there")
    is_kept = bool((state.kinds[FIRST_KEPT:] != CLOUDS).all())
    require(is_kept, "state/kinds holds kept clouds, but clouds are never kept")
    may_rest = np.arange(state.kinds.size) == CLOUD_LAYER
    require(not state.rests[~may_rest].any(), "state/rests lets a layer rest that never does")


def _check_members(state: Concepts) -> None:
    """Every rule belongs to one layer, and to the one that says so."""
    counts, room = state.n_members, state.members.shape[1]
    require(bool((counts <= room).all()), "state/n_members holds more than there is room")
    is_known = bool((state.members < state.owners.size).all())
    require(is_known, "state/members holds a rule that is not there")
    require(bool((state.owners < state.kinds.size).all()), "state/owners holds no layer")
    lines, boxes = state.kinds == LINE, state.kinds == BOXES
    fits = (counts[lines] == 1).all() and (counts[boxes] >= 1).all()
    fits = fits and (counts[[LIVELY_CURVE, CALM_CURVE]] == 1).all()
    fits = fits and not counts[~lines & ~boxes].any()
    require(bool(fits), "state/n_members does not fit the kind of a layer")
    used = np.arange(room) < counts[:, None]
    rules, layers = state.members[used], np.nonzero(used)[0]
    own = np.array_equal(state.owners[rules], layers)
    require(own, "state/members holds a rule that another layer owns")
    once = np.unique(rules).size == rules.size == np.count_nonzero(state.owners != NO_OWNER)
    require(once, "state/members and state/owners contradict each other")


def _check_rules(state: Concepts, config: Config) -> None:
    """Boxes, gains and evidence."""
    has_bounds = ~(np.isnan(state.lows) | np.isnan(state.highs))
    require(bool(has_bounds.all()), "state/lows or state/highs holds NaN")
    # a box may shrink to nothing where a range widens far beyond it; it then holds no row
    is_box = bool((state.lows <= state.highs).all())
    require(is_box, "state/lows holds a bound above that in state/highs")
    places = np.arange(state.caps.size)
    diagonals = places * (places + 3) // 2  # in the lower half of a matrix, row by row
    variances = state.gains[state.owners != NO_OWNER][:, diagonals]
    require(bool((variances > 0.0).all()), "state/gains holds a variance that is not positive")
    is_sound = bool((state.evidence[..., 1] >= LEAST_EVIDENCE).all())
    require(is_sound, "state/evidence holds a variance below 0")
    most = 2.0 * state.ages[:, None, None] * (1.0 + ROUNDING) + ROUNDING
    is_sound = bool((np.abs(state.crossings) <= most)[state.owners != NO_OWNER].all())
    require(is_sound, "state/crossings holds more than so many rows can leave there")
    units = state.caps / config.prior
    is_sound = bool(((units > 1.0 - ROUNDING) & (units < WIDEST_PRIOR + ROUNDING)).all())
    require(is_sound, "state/caps holds a bound that does not fit the prior")


def _check_clouds(state: Concepts) -> None:
    """Clouds that are there have a class and a mass."""
    count = int(state.n_clouds[0])
    require(count <= state.cloud_labels.size, "state/n_clouds holds more than there is room")
    is_known = bool((state.cloud_labels[:count] < state.weights.shape[1]).all())
    require(is_known, "state/cloud_labels holds a class that is not there")
    has_mass = bool((state.cloud_masses[:count] > 0.0).all())
    require(has_mass, "state/cloud_masses holds a cloud without mass")


def _check_course(state: Concepts, config: Config) -> None:
    """Memory, rates and shares, which the next rows start from."""
    habits = config.habits()
    memory = habits.shortest_rows <= state.course[MEMORY] <= habits.longest_rows
    require(bool(memory), "the memory in state/course does not fit the configuration")
    shares = state.course[[UNCERTAINTY, LABEL_RATE, INDEPENDENCE, NEAR_CHANGES]]
    is_share = bool(((shares >= 0.0) & (shares <= 1.0)).all())
    require(is_share, "state/course holds a share that is none")
    is_worth = bool(state.course[INDEPENDENCE] >= LEAST_WORTH)
    require(is_worth, "by state/course, rows are worth next to nothing")
    watched, labels = state.course[WATCHED], state.course[[LAST_LABEL]]
    is_count = bool(watched >= 0.0 and watched == np.floor(watched))
    require(is_count, "state/course counts labels in fractions")
    is_label = np.isin(labels, np.arange(state.weights.shape[1])).all()
    require(bool(is_label), "state/course holds a label that is none")
    own = state.label_shares
    is_share = bool(((own >= 0.0) & (own <= 1.0)).all() and own.sum() <= 1.0 + ROUNDED)
    require(is_share, "state/label_shares holds shares that are none")


def _check_counters(network: ConceptNetwork) -> None:
    """Counters that limit each other."""
    clock, track = network.state.clock, network.state.track
    is_sound = (
        max(int(clock[ROWS]), int(track[TRACK_ROWS])) <= network.n_labels <= network.n_rows
        and clock[STEPS] <= network.n_chunks
        and clock[SCORED] <= clock[ROWS]
        and (network.state.last_wins <= clock[STEPS]).all()
    )
    require(bool(is_sound), "the counters of the network contradict each other")
