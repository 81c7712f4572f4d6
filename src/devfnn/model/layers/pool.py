"""Lines, curves and boxes: parameters, layout, widening, re-basing, rules and reasons."""

import dataclasses
import functools
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import BOXES, CURVE, LINE, MEMORY, NO_OWNER, PoolParams, PoolState, State
from devfnn.model.costs import BRANCH, CALL, EXPONENTIAL, PRODUCT, Cost
from devfnn.model.explanation import LOGITS, FiredRule, Said, softmax, within_reason
from devfnn.model.layout import LEAST, Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import CLIP, WIDEST_PRIOR, Change, chebyshev_basis
from devfnn.model.units import Units
from devfnn.parameters import Section, choice, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "pool"
ARRAYS = PoolState
PARAMS = "pool"
KINDS = {"line": LINE, "curve": CURVE, "boxes": BOXES}
TAKES = {"memory", "memory_share", "label_noise"}

ADAPTIVE = 0.0
"""Memory of a layer that follows the stream: short after a drift, longer in a calm."""


# ---- parameters


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rules(Section):
    """Lines, curves and boxes: recursive logistic regression in rules of one pool."""

    max_rules: int = number(32, 1, 10**5, "rules of all these layers together, kept ones too")
    prior: float = number(5.0, 1e-6, 1e8, "variance of the weights of a rule before any row")
    prior_reach: float = number(25.0, 1.0, 1e4, "most by which it widens for a narrow feature")
    least_trust: float = number(1e-6, 0.0, 1.0, "least weight of a row whose label looks wrong")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Memory(Section):
    """The adaptive memory of lines, curves and boxes."""

    shortest: float = number(2000.0, 8.0, 1e9, "rows of memory after a drift, at least")
    longest: float = number(20000.0, 2.0, 1e12, "rows of memory in a calm, at most")
    referee_memory: float = number(0.75, 0.0, 1.0, "share kept per step of the lead of the short")
    shortening: float = number(0.8, 0.0, 1.0, "factor per step while the short memory leads")
    lengthening: float = number(0.5, 0.0, 1e6, "rows more per row learned while it does not")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Boxes(Section):
    """Rules that split where labels differ on the two sides of a value."""

    idle: ClassVar = {
        ("joining", False): "join_evidence join_rows",
        ("splitting", False): "evidence evidence_per_contrast every least_variance doubt joining "
        "join_evidence join_rows",
    }
    max_rules: int = number(20, 1, 1000, "rules in the layer, and in each kept layer")
    splitting: bool = choice(True, "let rules become two")
    evidence: float = number(20.0, 0.0, 1e9, "gain in likelihood for which a rule splits")
    evidence_per_contrast: float = number(4.0, 0.0, 1e9, "more for each further contrast")
    every: int = number(100, 1, 10**7, "learned rows of a rule between two looks at that")
    least_variance: float = number(20.0, 0.0, 1e9, "of residuals, seen on each side of a cut")
    doubt: float = number(10.0, 1.0, 1e9, "factor on the gain of both halves of a rule")
    crossings: bool = choice(True, "let rules also split where two features cross their means")
    joining: bool = choice(True, "make one rule of two neighbours that say the same")
    join_evidence: float = number(0.5, 0.0, 1e9, "difference per weight below which rules join")
    join_rows: int = number(1000, 0, 10**9, "rows that both must have learned before")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "rules": (Rules, ("line", "curve", "boxes"), True),
    "memory": (Memory, ("line", "curve", "boxes"), False),
    "boxes": (Boxes, ("boxes",), True),
}


SPLIT_BINS = 8
"""Bins of a feature in which the evidence for splits is gathered. Twice as many changed accuracies
by no more than noise (docs/performance.md), and files grow with them."""

ROUNDS = 6
"""Of Newton's method, for the output after a step: usual ones, for what a layer costs."""

LAYOUT = {
    "owners": Field("C", NO_OWNER, NO_OWNER),
    "members": Field("L R", 0),
    "n_members": Field("L", 0),
    "lows": Field("C n", -math.inf, None, sys.float_info.max, unbounded=True),
    "highs": Field("C n", math.inf, -sys.float_info.max, unbounded=True),
    "weights": Field("C m p", 0.0),
    "gains": Field("C h", 0.0),
    "caps": Field("p", 1.0, LEAST),
    "evidence": Field("C n B Q 2", 0.0, stored="f4"),
    "crossings": Field("C d Q", 0.0, stored="f4"),
    "ages": Field("C", 0),
    "means": Field("C n", 0.5),
    "variances": Field("C n", 0.0, 0.0),
    "class_counts": Field("C m", 0.0, 0.0),
}


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """Lengths of the axes that only these layers have."""
    n, boxes = sizes.features, config.boxes
    return {
        "C": config.rules.max_rules if config.rules is not None else 0,
        "R": boxes.max_rules if boxes is not None else 1,
        "p": 2 * n + 1,
        "h": (2 * n + 1) * (n + 1),
        "d": n * (n - 1) // 2 if boxes is not None and boxes.crossings else 0,
        "B": SPLIT_BINS,
    }


def start(state: State, config: "Config") -> None:
    """The first rule of every line, curve and layer of boxes."""
    pool = present(state.pool)
    state.progress.signals[MEMORY] = (config.memory or Memory()).shortest
    pool.caps[:] = config.rules.prior
    own = [index for index, layer in enumerate(config.layers) if layer.kind in KINDS]
    pool.owners[: len(own)] = own
    pool.members[own, 0] = np.arange(len(own))
    pool.n_members[own] = 1
    pool.gains[: len(own)] = packed(np.diag(pool.caps))


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """Start values of new features and classes.

    New features have weight 0 in every rule; a class never seen starts as unlikely as one unseen
    row in all that a rule has learned.
    """
    pool, before = present(fresh.pool), present(old.pool)
    n_old, m_old = before.lows.shape[1], before.class_counts.shape[1]
    n = pool.lows.shape[1]
    added = np.concatenate([1 + np.arange(n_old, n), 1 + n + np.arange(n_old, n)])
    pool.gains[:, added * (added + 3) // 2] = pool.caps[added]
    if pool.evidence.shape[3] != before.evidence.shape[3]:
        pool.evidence[:] = 0.0
        pool.crossings[:] = 0.0
    rows = before.class_counts.sum(axis=1)
    pool.weights[:, m_old:, 0] = -np.log1p(rows)[:, None]


_lower_half = functools.cache(np.tril_indices)


def packed(matrices: Floats) -> Floats:
    """The lower halves (..., h) of symmetric matrices (..., p, p), row by row."""
    rows, columns = _lower_half(matrices.shape[-1])
    halves: Floats = np.ascontiguousarray(matrices[..., rows, columns])
    return halves


def unpacked(halves: Floats) -> Floats:
    """The symmetric matrices (..., p, p) of which `packed` gave the lower halves."""
    size = (math.isqrt(8 * halves.shape[-1] + 1) - 1) // 2
    rows, columns = _lower_half(size)
    matrices = np.empty((*halves.shape[:-1], size, size))
    matrices[..., rows, columns] = halves
    matrices[..., columns, rows] = halves
    return matrices


def moved_halves(places: Ints) -> Ints:
    """Where what `packed` gave stands in a larger one. places: of rows, in their order"""
    rows, columns = _lower_half(places.size)
    found: Ints = places[rows] * (places[rows] + 1) // 2 + places[columns]
    return found


# ---- a new scaling map


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """Rewrite weights, gains and boxes such that every output stays what it was.

    Only the constant, and the line and curve of a feature that has changed, are touched.
    """
    pool = present(state.pool)
    prior, wild = config.rules.prior, change.features[change.is_wild]
    if wild.size:
        _restart_features(pool, wild, prior)
    change = change.without_wild()
    if change.features.size:
        n, own = pool.lows.shape[1], change.features
        basis = chebyshev_basis(change, used, 1 + np.arange(n), 1 + n + np.arange(n))
        places = np.concatenate([[0], 1 + own, 1 + n + own])
        block = basis[np.ix_(places, places)]
        straight = block.copy()  # a line has no curves, so none may flow into its gains
        straight[:, 1 + own.size :] = np.eye(places.size)[:, 1 + own.size :]
        is_line = np.isin(pool.owners, np.flatnonzero(state.layers.kinds == LINE))
        for rules, moves in ((~is_line & (pool.owners != NO_OWNER), block), (is_line, straight)):
            _move_rules(pool, np.flatnonzero(rules), places, moves)
        explained = (np.abs(basis) @ np.sqrt(pool.caps)) ** 2
        pool.caps[:] = np.clip(explained, prior, WIDEST_PRIOR * prior)
        for array in (pool.lows, pool.highs, pool.means):
            array[:, own] = (array[:, own] - change.shifts) / change.factors
        pool.variances[:, own] /= change.factors**2
        _forget_evidence(pool, own)
    if not is_settled:  # the map is still made from the first rows: all is still to be learned
        pool.caps[:] = prior
        pool.gains[:] = packed(np.diag(pool.caps))


def _move_rules(pool: PoolState, rules: Ints, places: Ints, moves: Floats) -> None:
    """Weights and gains of rules in a new basis, which differs from the old one in some places."""
    own = np.ix_(rules, np.arange(pool.weights.shape[1]), places)
    pool.weights[own] = pool.weights[own] @ moves.T
    where = _rows_of(places, pool.caps.size)
    gains = moves @ pool.gains[rules][:, where]
    gains[:, :, places] = gains[:, :, places] @ moves.T
    pool.gains[rules[:, None, None], where] = gains


def _rows_of(places: Ints, size: int) -> Ints:
    """Where rows of symmetric matrices of a size stand in what `packed` gives, (k, size)."""
    rows, columns = places[:, None], np.arange(size)
    high, low = np.maximum(rows, columns), np.minimum(rows, columns)
    found: Ints = high * (high + 1) // 2 + low
    return found


def _restart_features(pool: PoolState, features: Ints, prior: float) -> None:
    """Start all rules anew on features whose old ranges say nothing about the new ones."""
    places = np.concatenate([1 + features, 1 + pool.lows.shape[1] + features])
    pool.weights[:, :, places] = 0.0
    where = _rows_of(places, pool.caps.size)
    pool.gains[:, where] = 0.0
    pool.gains[:, where[np.arange(places.size), places]] = prior
    pool.caps[places] = prior
    pool.means[:, features] = 0.5
    pool.variances[:, features] = 0.0
    _forget_evidence(pool, features)


def _forget_evidence(pool: PoolState, features: Ints) -> None:
    """Gather evidence for splits anew wherever these features take part."""
    pool.evidence[:, features] = 0.0
    if pool.crossings.size:
        pairs = np.tril_indices(pool.lows.shape[1], -1)
        pool.crossings[:, np.isin(pairs, features).any(axis=0)] = 0.0


# ---- what there is


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """Rules of a layer, and numbers that define them."""
    pool = present(state.pool)
    (n, m), count = (pool.lows.shape[1], pool.class_counts.shape[1]), int(pool.n_members[layer])
    own = (n + 1) * m if state.layers.kinds[layer] == LINE else 2 * n + (2 * n + 1) * m
    return count, count * own


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """A rule is found and says its odds; boxes also gather evidence of where to split."""
    pool, kind = present(state.pool), state.layers.kinds[layer]
    n, m = pool.lows.shape[1], pool.class_counts.shape[1]
    cost = cost_of_rule(n + 1 if kind == LINE else 2 * n + 1, m)
    search = (int(pool.n_members[layer]) - 1) * BRANCH
    evidence = (n + pool.crossings.shape[1]) * pool.crossings.shape[2] * BRANCH
    return Cost(cost.row + search, cost.label + search + (evidence if kind == BOXES else 0.0))


def cost_of_rule(size: int, m: int) -> Cost:
    """To learn, a rule says its odds again, then its matrix moves twice over.

    Of two classes one exponential tells both.
    """
    odds = m if m > 2 else 1
    say = CALL + m * size * PRODUCT + odds * EXPONENTIAL
    return Cost(say, CALL + say + (2 * size + m) * size * PRODUCT + ROUNDS * odds * EXPONENTIAL)


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """The rules of a layer of boxes, or the only one of a line or curve."""
    pool = present(state.pool)
    members = pool.members[layer, : pool.n_members[layer]].tolist()
    n_rows = float(pool.class_counts[members].sum())
    is_used = np.isin(np.arange(pool.lows.shape[1]), units.used)
    is_curved = bool(state.layers.kinds[layer] != LINE)
    for rule in members:
        _, said = _at_mean(pool, rule, is_used, is_used & is_curved)
        shares = softmax(said)
        own = float(pool.class_counts[rule].sum())
        yield Rule(
            layer=layer,
            rule=rule,
            inputs=units.names,
            n_features=len(units.names),
            center=units.values(pool.means[rule]),
            covariance=units.covariance(pool.variances[rule]),
            probabilities=dict(zip(units.labels, shares.tolist(), strict=True)),
            n_rows=own,
            ranges=units.ranges,
            bounds=np.stack([units.values(ends[rule]) for ends in (pool.lows, pool.highs)], axis=1),
            age=int(pool.ages[rule]),
            firing_share=own / n_rows if n_rows else None,
            slopes=2.0 * pool.weights[rule][:, 1 + units.used].T,
        )


def _at_mean(
    pool: PoolState, rule: int, is_there: Flags, is_curved: Flags
) -> tuple[Floats, Floats]:
    """The mean (n,) of the rows of a rule in [-1, 1] units, and the logits (m,) of the rule there.

    is_there, is_curved: (n,) features whose line and curve count
    """
    usual: Floats = 2.0 * np.minimum(np.maximum(pool.means[rule], -CLIP), 1.0 + CLIP) - 1.0
    line = np.where(is_there, usual, 0.0)
    curve = np.where(is_curved, 2.0 * usual * usual - 1.0, 0.0)
    return usual, pool.weights[rule] @ np.concatenate([[1.0], line, curve])


# ---- why


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What a line, curve or layer of boxes says of a row, and why; and what other layers take in.

    A feature contributes the difference between its terms at the row and at the mean of the rows of
    the rule that fires.
    """
    pool = present(state.pool)
    rule = holding_rule(pool, layer, row)
    n, weights, is_there = row.size, pool.weights[rule], ~np.isnan(row)
    is_curved = state.layers.kinds[layer] != LINE
    usual, bias = _at_mean(pool, rule, is_there, is_there & bool(is_curved))
    here = np.where(is_there, 2.0 * row - 1.0, usual)
    contributions = weights[:, 1 : 1 + n].T * (here - usual)[:, None]
    if is_curved:
        contributions += weights[:, 1 + n :].T * (2.0 * (here * here - usual * usual))[:, None]
    bias, contributions = within_reason(bias, contributions)
    shares = softmax(bias + contributions.sum(axis=0))
    return Said(LOGITS, bias, contributions, (FiredRule(rule, 1.0),), shares, shares), shares


def holding_rule(pool: PoolState, layer: int, row: Floats) -> int:
    """The rule whose box holds the row; absent features lie in every box, as in the kernel."""
    members = pool.members[layer, : pool.n_members[layer]]
    if members.size == 1:
        return int(members[0])
    is_out = (row <= pool.lows[members]) | (row > pool.highs[members])
    return int(members[is_out.any(axis=1).argmin()])  # the first rule if there is none


# ---- whether numbers from a file can be those of a model


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise."""
    pool, kinds = present(state.pool), state.layers.kinds
    yield from _problems_of_members(pool, kinds)
    has_bounds = ~(np.isnan(pool.lows) | np.isnan(pool.highs))
    yield has_bounds.all(), "pool/lows or pool/highs holds NaN"
    # a box may shrink to nothing where a range widens far beyond it; it then holds no row
    yield (pool.lows <= pool.highs).all(), "pool/lows holds a bound above that in pool/highs"
    is_used = pool.owners != NO_OWNER
    places = np.arange(pool.caps.size)
    variances = pool.gains[is_used][:, places * (places + 3) // 2]
    yield (variances > 0.0).all(), "pool/gains holds a variance that is not positive"


def _problems_of_members(pool: PoolState, kinds: Ints) -> Iterator[tuple[Any, str]]:
    """Every rule belongs to one layer, and to the one that says so."""
    counts, room = pool.n_members, pool.members.shape[1]
    has_room = (counts <= room).all()
    yield has_room, "pool/n_members holds more than there is room"
    is_known = (pool.members < pool.owners.size).all()
    yield is_known, "pool/members holds a rule that is not there"
    yield (pool.owners < kinds.size).all(), "pool/owners holds no layer"
    is_single, is_boxes = np.isin(kinds, [LINE, CURVE]), kinds == BOXES
    fits = np.where(is_single, counts == 1, np.where(is_boxes, counts >= 1, counts == 0)).all()
    yield fits, "pool/n_members does not fit the kind of a layer"
    used = np.arange(room) < counts[:, None]
    rules, layers = pool.members[used], np.nonzero(used)[0]
    own = np.array_equal(pool.owners[rules], layers)
    yield own, "pool/members holds a rule that another layer owns"
    once = np.unique(rules).size == rules.size == np.count_nonzero(pool.owners != NO_OWNER)
    yield once, "pool/members and pool/owners contradict each other"


# ---- parameters for kernels


def params(config: "Config", n_inputs: int) -> PoolParams:
    """What kernels need."""
    layers, rules = config.layers, config.rules
    boxes, memory = config.boxes or Boxes(), config.memory or Memory()
    lines = [k for k, own in enumerate(layers) if own.kind == "line" and own.memory == ADAPTIVE]
    short = [k for k in lines if layers[k].memory_share < 1.0]
    long = [k for k in lines if layers[k].memory_share == 1.0]
    fixed = [k for k, layer in enumerate(layers) if layer.kind == "curve" and layer.memory]
    numbers: PoolParams = numbers_for(
        PoolParams,
        (rules, memory, boxes),
        memories=np.array([float(layer.memory) for layer in layers]),
        memory_shares=np.array([float(layer.memory_share) for layer in layers]),
        label_noises=np.array([float(layer.label_noise) for layer in layers]),
        splits=np.array([layer.kind == "boxes" and boxes.splitting for layer in layers]),
        head_starts=np.array([k in fixed for k in range(len(layers))]),
        short_line=short[0] if short and long else -1,
        long_line=long[0] if long else -1,
        reference=max(fixed, key=lambda k: layers[k].memory, default=-1),
        shortest_memory=float(memory.shortest),
        longest_memory=float(max(memory.longest, memory.shortest)),
        forgetting=config.memory is not None,
        split_evidence=float(boxes.evidence),
        split_every=int(boxes.every),
        split_doubt=float(boxes.doubt),
    )
    return numbers
