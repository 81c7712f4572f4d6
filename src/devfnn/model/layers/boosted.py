"""Boosted layers: small trees fitted to what the trees before them leave of a window of rows.

A feature contributes along the paths that a row takes through the trees: what a leaf or inner node
says beyond the node above it, which splits on the feature. An inner node says the mean of its
leaves by the rows that they hold. The bias is what the roots say.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import BOOSTED, N_EDGES, BoostedParams, BoostedState, State
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
    row_share: float = number(0.5, 0.01, 1.0, "of the rows, which a tree sees")
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


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """The strongest rules; those of several trees with the same conditions are merged.

    Strength is how far the log odds of a rule lie apart, times the share of rows that it holds for.
    """
    own, (_, trees) = present(state.boosted), _own_trees(state, layer)
    n, merged = len(own.edges), dict[tuple[Any, ...], list[Any]]()
    for tree in trees.tolist():
        for leaf in np.flatnonzero(own.covers[tree]).tolist():
            said, cover = own.leaves[tree, leaf] * own.scales[tree], float(own.covers[tree, leaf])
            known = merged.setdefault(_conditions(own, tree, leaf), [np.zeros(said.size), 0.0, 0])
            known[0] = known[0] + said
            known[1] += cover
            known[2] += 1
    total = max(float(own.covers[trees].sum()) / max(trees.size, 1), 1e-12)
    ranked = sorted(merged.items(), key=lambda each: -float(np.ptp(each[1][0])) * each[1][1])
    for place, (conditions, (said, cover, count)) in enumerate(ranked[:MOST_TREE_RULES]):
        bounds = np.tile([-np.inf, np.inf], (n, 1))
        for feature, low, high in conditions:
            bounds[feature] = low, high
        inside = np.clip(bounds, 0.0, 1.0)
        ends = np.stack([units.values(end) for end in bounds.T], axis=1)
        yield Rule(
            layer=layer,
            rule=place,
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
        splits = np.isfinite(limits)
        np.add.at(contributions, features[splits], gained[splits])
        bias = bias + gained[~splits].sum(axis=0)
        nodes = below
    strengths = np.abs(values[each, nodes] - values[each, nodes].mean(axis=1, keepdims=True)).sum(
        axis=1
    )
    order = np.argsort(-strengths, kind="stable")
    total = max(float(strengths.sum()), 1e-300)
    leaves = nodes - own.features.shape[1] + each * own.leaves.shape[1]
    fired = tuple(FiredRule(int(leaves[k]), float(strengths[k] / total)) for k in order)
    shares = softmax(bias + contributions.sum(axis=0))
    return Said(LOGITS, bias, contributions, fired, shares, shares), shares


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
