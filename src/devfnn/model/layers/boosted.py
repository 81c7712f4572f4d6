"""Boosted layers: small trees fitted to what the trees before them leave of a window of rows.

A feature contributes along the paths that a row takes through the trees: what a leaf or inner node
says beyond the node above it, which splits on the feature. An inner node says the mean of its
leaves by the rows that they hold. The bias is what the roots say, and the sides to which rows go
that lack a feature.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import BOOSTED, N_EDGES, BoostedParams, BoostedState, State
from devfnn.model.costs import BRANCH, CALL, EXPONENTIAL, PRODUCT, Cost
from devfnn.model.explanation import LOGITS, FiredRule, Said, softmax
from devfnn.model.layout import Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import Change
from devfnn.model.units import Units
from devfnn.parameters import Section, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "boosted"
ARRAYS = BoostedState
PARAMS = "boosted"
KINDS = {"boosted": BOOSTED}
TAKES = {"memory", "trees", "max_trees", "rate", "tree_memory"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Boosted(Section):
    """Small trees, each fitted to what the others leave of the window."""

    depth: int = number(4, 1, 8, "conditions of a rule of a tree, at most")
    step_rows: float = number(500.0, 1.0, 1e9, "rows for which a layer grows its number of trees")
    first_factor: float = number(3.0, 1.0, 100.0, "by how much faster it grows at first")
    first_steps: float = number(4.0, 0.0, 1e6, "steps that are the first")
    bins_every: int = number(8, 1, 10**6, "steps between two times that bins are made anew")
    row_share: float = number(0.7, 0.01, 1.0, "of the rows, which a tree sees")
    feature_share: float = number(0.5, 0.01, 1.0, "of the features, which a tree sees")
    max_features: int = number(64, 1, 10**6, "features that a tree sees at most")
    least_gain: float = number(2.0, 0.0, 1e9, "gain in likelihood for which a node splits")
    least_curvature: float = number(1.0, 0.0, 1e9, "of the loss, on each side of a split")
    ridge: float = number(2.0, 1e-6, 1e9, "curvature by which a leaf is held back")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "boosted": (Boosted, ("boosted",), True),
}

LAYOUT = {
    "owners": Field("T", 0, stored="u1"),
    "features": Field("T N", 0, stored="i4"),
    "thresholds": Field("T N", math.inf, stored="f4", unbounded=True),
    "lefts": Field("T N", True),
    "leaves": Field("T E m", 0.0, stored="f4"),
    "covers": Field("T E", 0.0, 0.0, stored="f4"),
    "scales": Field("T", 0.0, 0.0),
    "bases": Field("D m", 0.0),
    "grown": Field("D", 0),
    "is_stale": Field("D", False),
    "scores": Field("D V m", 0.0, stored="f4"),
    "edges": Field(f"b {N_EDGES}", math.nan, stored="f4", unbounded=True),
    "codes": Field("b V", N_EDGES + 1, 0, N_EDGES + 1, stored="u1"),
    "coded": Field("1", 0),
    "refits": Field("1", 0),
}

MOST_TREE_RULES = 30
"""Rules of a layer that are listed: the strongest, of thousands."""


def _layers(config: "Config") -> list[Any]:
    return [layer for layer in config.layers if layer.kind == "boosted"]


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """Trees of all boosted layers, nodes of a tree, and features if there are such layers."""
    layers, depth = _layers(config), config.boosted.depth if config.boosted is not None else 1
    return {
        "T": sum(layer.max_trees for layer in layers),
        "D": len(layers),
        "N": 2**depth - 1,
        "E": 2**depth,
        "b": sizes.features if layers else 0,
    }


def start(state: State, config: "Config") -> None:
    """No tree yet, but room for those of every layer."""
    rooms = [layer.max_trees for layer in _layers(config)]
    present(state.boosted).owners[:] = np.repeat(np.arange(len(rooms)), rooms)


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """A class never seen starts as unlikely as one unseen row in all that a layer has learned."""
    own, window = present(fresh.boosted), present(fresh.window)
    m_old = present(old.boosted).bases.shape[1]
    if own.bases.shape[1] > m_old:
        own.bases[:, m_old:] = -np.log1p(min(int(window.count[0]), window.labels.size))
        own.is_stale[:] = True


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """Thresholds and bins in the units of the new map; in the middle where nothing carries over."""
    own = present(state.boosted)
    wild, change = change.features[change.is_wild], change.without_wild()
    own.thresholds[np.isin(own.features, wild) & np.isfinite(own.thresholds)] = 0.5
    own.edges[wild] = np.nan
    factors, shifts = np.ones(len(own.edges)), np.zeros(len(own.edges))
    factors[change.features], shifts[change.features] = change.factors, change.shifts
    own.thresholds[:] = (own.thresholds - shifts[own.features]) / factors[own.features]
    own.edges[:] = (own.edges - shifts[:, None]) / factors[:, None]


# ---- what there is


def _own_trees(state: State, layer: int) -> tuple[int, Ints]:
    """Which of the boosted layers it is, and its trees."""
    own, place = (
        present(state.boosted),
        int(np.count_nonzero(state.layers.kinds[:layer] == BOOSTED)),
    )
    trees = np.flatnonzero(own.owners == place)
    return place, trees[: int(own.grown[place])]


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """Leaves that hold rows, and numbers that define them and the conditions above."""
    own, (_, trees) = present(state.boosted), _own_trees(state, layer)
    count = int(np.count_nonzero(own.covers[trees]))
    n_splits = int(np.count_nonzero(np.isfinite(own.thresholds[trees])))
    return count, count * own.leaves.shape[2] + 2 * n_splits


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """A row falls through all trees; and the part of a row in the trees that come for old ones."""
    own, window = present(state.boosted), present(state.window)
    _, trees = _own_trees(state, layer)
    n_rows = min(int(window.count[0]), window.labels.size)
    return _cost(layer, (len(own.edges), own.leaves.shape[2]), (trees.size, n_rows), config)


def full_cost(layer: int, sizes: tuple[int, int], config: "Config") -> Cost:
    """The same with as many trees and rows as there may be. sizes: features, classes"""
    return _cost(layer, sizes, (config.layers[layer].max_trees, config.window.rows), config)


def _cost(layer: int, sizes: tuple[int, int], counts: tuple[int, int], config: "Config") -> Cost:
    """counts: trees, rows of the window"""
    (n, m), (n_trees, n_rows), about = sizes, counts, config.boosted
    say = CALL + n_trees * (3 * about.depth * BRANCH + 2 * m * PRODUCT)
    room = config.window.rows
    codes = n * (room / about.bins_every / config.chunk_rows + 1) * N_EDGES.bit_length() * BRANCH
    fading = 2 * m * room * PRODUCT / config.chunk_rows
    grown = config.layers[layer].trees / about.step_rows
    tree = _cost_of_tree(min(n_rows, int(config.layers[layer].memory) or n_rows), sizes, about)
    return Cost(say + codes / len(_layers(config)) + fading + grown * tree, 0.0)


def _cost_of_tree(n_rows: int, sizes: tuple[int, int], about: Boosted) -> float:
    """To grow a tree on so many rows, and to take the oldest one out. sizes: features, classes"""
    (n, m), depth = sizes, about.depth
    n_features = min(math.ceil(about.feature_share * n), about.max_features)
    odds = 0.5 * EXPONENTIAL * (m if m > 2 else 1) + 4 * m * PRODUCT
    seen = odds + 2 * depth * (n_features + 1) * BRANCH
    each = 2 * BRANCH + about.row_share * seen + 2 * (1.5 * depth * BRANCH + 2 * m * PRODUCT)
    return n_rows * each + (1 << depth) * n_features * 2 * (N_EDGES + 2) * BRANCH


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """The strongest rules; those of several trees with the same conditions are merged.

    Strength is how far the log odds of a rule lie apart, times the share of rows that it holds for.
    A tree that does not split says the same of all rows, which is no rule.
    """
    own, (_, trees) = present(state.boosted), _own_trees(state, layer)
    (n, n_leaves), merged = (
        (len(own.edges), own.leaves.shape[1]),
        dict[tuple[Any, ...], list[Any]](),
    )
    for place, tree in enumerate(trees.tolist()):
        for leaf in np.flatnonzero(own.covers[tree]).tolist():
            if not (conditions := _conditions(own, tree, leaf)):
                continue
            said, cover = own.leaves[tree, leaf] * own.scales[tree], float(own.covers[tree, leaf])
            start = [np.zeros(said.size), 0.0, 0, place * n_leaves + leaf]
            known = merged.setdefault(conditions, start)
            known[0] = known[0] + said
            known[1] += cover
            known[2] += 1
    total = max(float(own.covers[trees].sum()) / max(trees.size, 1), 1e-12)
    ranked = sorted(merged.items(), key=lambda each: -float(np.ptp(each[1][0])) * each[1][1])
    for conditions, (said, cover, count, leaf) in ranked[:MOST_TREE_RULES]:
        bounds = np.tile([-np.inf, np.inf], (n, 1))
        for feature, low, high in conditions:
            bounds[feature] = low, high
        inside = np.clip(bounds, 0.0, 1.0)
        ends = np.stack([units.values(end) for end in bounds.T], axis=1)
        yield Rule(
            layer=layer,
            rule=leaf,
            inputs=units.names,
            n_features=len(units.names),
            center=units.values(inside.mean(axis=1)),
            covariance=units.covariance(np.ptp(inside, axis=1) ** 2 / 12.0),
            probabilities=dict(zip(units.labels, softmax(said).tolist(), strict=True)),
            n_rows=cover / count,
            ranges=units.ranges,
            bounds=ends,
            firing_share=min(cover / count / total, 1.0),
        )


def _conditions(own: BoostedState, tree: int, leaf: int) -> tuple[Any, ...]:
    """What must hold for a leaf: feature, lower and upper bound, each feature once."""
    node, found = leaf + own.features.shape[1], dict[int, tuple[float, float]]()
    while node:
        above, is_left = (node - 1) // 2, node % 2 == 1
        limit, feature = float(own.thresholds[tree, above]), int(own.features[tree, above])
        if np.isfinite(limit):
            low, high = found.get(feature, (-np.inf, np.inf))
            found[feature] = (low, min(high, limit)) if is_left else (max(low, limit), high)
        node = above
    return tuple((feature, *ends) for feature, ends in sorted(found.items()))


# ---- why


def _node_values(own: BoostedState, trees: Ints) -> tuple[Floats, Floats]:
    """What the nodes of trees say (t, N + E, m), and the rows that they hold."""
    n_inner, n_leaves = own.features.shape[1], own.leaves.shape[1]
    values = np.zeros((trees.size, n_inner + n_leaves, own.leaves.shape[2]))
    covers = np.zeros((trees.size, n_inner + n_leaves))
    values[:, n_inner:] = own.leaves[trees] * own.scales[trees, None, None]
    covers[:, n_inner:] = own.covers[trees]
    for node in range(n_inner - 1, -1, -1):
        pair = slice(2 * node + 1, 2 * node + 3)
        covers[:, node] = covers[:, pair].sum(axis=1)
        shares = covers[:, pair] / np.maximum(covers[:, node], 1e-12)[:, None]
        values[:, node] = (values[:, pair] * shares[:, :, None]).sum(axis=1)
    return values, covers


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What the trees of a layer say of a row, and why."""
    own = present(state.boosted)
    place, trees = _own_trees(state, layer)
    values, _ = _node_values(own, trees)
    single, each = row.astype(np.float32), np.arange(trees.size)
    bias = own.bases[place] + values[:, 0].sum(axis=0)
    contributions = np.zeros((row.size, bias.size))
    nodes = np.zeros(trees.size, np.int64)
    for _ in range(own.leaves.shape[1].bit_length() - 1):
        features = own.features[trees, nodes]
        found = single[features]
        limits, lefts = own.thresholds[trees, nodes], own.lefts[trees, nodes]
        below = 2 * nodes + np.where(np.isnan(found) & lefts | (found <= limits), 1, 2)
        gained = values[each, below] - values[each, nodes]
        splits = np.isfinite(limits) & ~np.isnan(found)
        np.add.at(contributions, features[splits], gained[splits])
        bias = bias + gained[~splits].sum(axis=0)
        nodes = below
    strengths = np.abs(values[each, nodes] - values[each, nodes].mean(axis=1, keepdims=True)).sum(
        axis=1
    )
    fired = _fired(own, trees, nodes - own.features.shape[1], strengths)
    shares = softmax(bias + contributions.sum(axis=0))
    return Said(LOGITS, bias, contributions, fired, shares, shares), shares


def _fired(
    own: BoostedState, trees: Ints, leaves: Ints, strengths: Floats
) -> tuple[FiredRule, ...]:
    """The rules that fire, the strongest first: merged and numbered as `rules_of` does it."""
    found, numbers = dict[tuple[Any, ...], float](), dict[tuple[Any, ...], int]()
    pairs = zip(trees.tolist(), leaves.tolist(), strict=True)
    for place, (tree, leaf) in enumerate(pairs):
        if conditions := _conditions(own, tree, leaf):
            numbers.setdefault(conditions, place * own.leaves.shape[1] + leaf)
            found[conditions] = found.get(conditions, 0.0) + float(strengths[place])
    total = max(sum(found.values()), 1e-300)
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return tuple(FiredRule(numbers[each], strength / total) for each, strength in ranked)


# ---- whether numbers from a file can be those of a model


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise."""
    own, window = present(state.boosted), present(state.window)
    yield (
        (own.features < len(own.edges)).all(),
        "boosted/features holds a feature that is not there",
    )
    rooms = [layer.max_trees for layer in _layers(config)]
    is_own = np.array_equal(own.owners, np.repeat(np.arange(len(rooms)), rooms))
    yield is_own, "boosted/owners does not fit the configured layers"
    yield own.coded[0] <= window.count[0], "boosted/coded holds more rows than there were"


# ---- parameters for kernels


def params(config: "Config", n_inputs: int) -> BoostedParams:
    """What kernels need; of a network without boosted layers they use nothing."""
    layers, own = _layers(config), config.boosted or Boosted()
    most = config.window.rows if config.window is not None else 0
    rooms = np.array([layer.max_trees for layer in layers], np.int64)
    trees = np.array([float(layer.trees) for layer in layers])
    numbers: BoostedParams = numbers_for(
        BoostedParams,
        (own,),
        seed=int(config.seed),
        layers=np.array(
            [k for k, each in enumerate(config.layers) if each.kind == "boosted"], np.int64
        ),
        windows=np.array([min(int(layer.memory) or most, most) for layer in layers], np.int64),
        trees=trees,
        rates=np.array([float(layer.rate) for layer in layers]),
        memories=np.array([float(layer.tree_memory) for layer in layers]),
        starts=np.cumsum(rooms) - rooms,
        rooms=rooms,
        first_trees=trees * own.first_factor * own.first_steps,
        first_refits=int(own.first_steps),
    )
    return numbers
