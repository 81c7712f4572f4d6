"""Making, widening and copying the arrays of a concept network. Nothing here learns."""

import functools
import math
import threading
from collections.abc import Mapping
from typing import Any

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
    LINE,
    LIVELY_CURVE,
    MEMORY,
    MOST_CONTRASTS,
    NO_LAYER,
    NO_OWNER,
    QUICK_LINE,
    STEADY_LINE,
    UNCERTAINTY,
    Concepts,
    Work,
)
from devfnn.kernels.state import Floats, Ints
from devfnn.model.config import Config
from devfnn.model.label_budget import purse_size

N_BINS = 8
"""Bins of a feature in which the evidence for splits is gathered."""

FIRST_LAYERS = (
    (QUICK_LINE, LINE),
    (BRISK_LINE, LINE),
    (STEADY_LINE, LINE),
    (LIVELY_CURVE, BOXES),
    (CALM_CURVE, BOXES),
    (BOX_LAYER, BOXES),
)
"""Layers that have a rule from the start, and their kinds."""


def n_contrasts(n_classes: int) -> int:
    """Contrasts of classes in which splits are looked for: each halves the classes in its way."""
    return max(1, min(MOST_CONTRASTS, (n_classes - 1).bit_length()))


def n_clouds(config: Config) -> int:
    """Room for clouds."""
    return config.max_clouds if config.rule_growing else 0


LAYOUT: dict[str, tuple[tuple[str | int, ...], float]] = {
    "owners": (("C",), NO_OWNER),
    "lows": (("C", "n"), -np.inf),
    "highs": (("C", "n"), np.inf),
    "weights": (("C", "m", "p"), 0.0),
    "gains": (("C", "h"), 0.0),
    "caps": (("p",), 1.0),
    "evidence": (("C", "n", "B", "Q", 2), 0.0),
    "crossings": (("C", "d", "Q"), 0.0),
    "ages": (("C",), 0),
    "means": (("C", "n"), 0.5),
    "variances": (("C", "n"), 0.0),
    "class_counts": (("C", "m"), 0.0),
    "kinds": (("L",), NO_LAYER),
    "members": (("L", "R"), 0),
    "n_members": (("L",), 0),
    "scores": (("L",), 0.0),
    "rests": (("L",), 0),
    "last_wins": (("L",), 0),
    "disagreements": (("L", "L"), 0.0),
    "compared": (("L", "L"), 0.0),
    "cloud_centers": (("n", "K"), 0.0),
    "cloud_labels": (("K",), 0),
    "cloud_spreads": (("K",), 1.0),
    "cloud_masses": (("K",), 0.0),
    "cloud_heights": (("K",), 0.0),
    "n_clouds": ((1,), 0),
    "track": ((4,), 0),
    "course": ((8,), 0.0),
    "label_shares": (("m",), 0.0),
    "clock": ((4,), 0),
    "purse": (("S",), 0),
}
"""Axes of every array, as `kernels/concept_state.py` names them, and what an empty one holds: whole
numbers where that is one. Files are checked against this table before anything is made."""


SINGLES = ("evidence", "crossings")
"""Arrays of single precision: sums that are only compared with a limit."""


def axis_lengths(n_rules: int, n_features: int, n_classes: int, config: Config) -> dict[str, int]:
    """How long the axes are."""
    return {
        "C": n_rules,
        "n": n_features,
        "m": n_classes,
        "p": 2 * n_features + 1,
        "h": (2 * n_features + 1) * (n_features + 1),
        "d": n_features * (n_features - 1) // 2 if config.crossings else 0,
        "B": N_BINS,
        "Q": n_contrasts(n_classes),
        "L": FIRST_KEPT + config.max_kept,
        "R": config.max_boxes,
        "K": n_clouds(config),
        "S": purse_size(config),
    }


def shape_of(name: str, lengths: Mapping[str, int]) -> tuple[int, ...]:
    """Shape of one of the arrays."""
    axes, _ = LAYOUT[name]
    return tuple(axis if isinstance(axis, int) else lengths[axis] for axis in axes)


def type_of(name: str) -> "np.dtype[Any]":
    """Type of the numbers in one of the arrays."""
    if name in SINGLES:
        return np.dtype(np.float32)
    return np.dtype(np.int64 if isinstance(LAYOUT[name][1], int) else np.float64)


def empty_arrays(n_rules: int, n_features: int, n_classes: int, config: Config) -> Concepts:
    """Arrays without layers and rules."""
    lengths = axis_lengths(n_rules, n_features, n_classes, config)
    state = Concepts(
        **{
            name: np.full(shape_of(name, lengths), fill, type_of(name))
            for name, (_, fill) in LAYOUT.items()
        }
    )
    state.caps[:] = config.prior
    return state


def empty_concepts(n_features: int, n_classes: int, config: Config) -> Concepts:
    """A network that has learned nothing: three lines, two curves, one box, no clouds."""
    state = empty_arrays(config.max_pool, n_features, n_classes, config)
    for layer, kind in FIRST_LAYERS:
        state.kinds[layer] = kind
        state.owners[layer] = layer
        state.members[layer, 0] = layer
        state.n_members[layer] = 1
        state.gains[layer] = packed(np.diag(state.caps))
    if n_clouds(config):
        state.kinds[CLOUD_LAYER] = CLOUDS
    state.course[MEMORY] = config.shortest_memory
    state.course[UNCERTAINTY] = state.course[INDEPENDENCE] = 1.0
    return state


def packed(matrices: Floats) -> Floats:
    """The lower halves (..., h) of symmetric matrices (..., p, p), row by row."""
    rows, columns = np.tril_indices(matrices.shape[-1])
    halves: Floats = np.ascontiguousarray(matrices[..., rows, columns])
    return halves


def unpacked(halves: Floats) -> Floats:
    """The symmetric matrices (..., p, p) of which `packed` gave the lower halves."""
    size = (math.isqrt(8 * halves.shape[-1] + 1) - 1) // 2
    rows, columns = np.tril_indices(size)
    matrices = np.empty((*halves.shape[:-1], size, size))
    matrices[..., rows, columns] = halves
    matrices[..., columns, rows] = halves
    return matrices


@functools.lru_cache(maxsize=64)
def _work(sizes: tuple[int, ...], thread: int) -> Work:
    n_layers, n_classes, size, n_places = sizes
    return Work(
        expanded=np.zeros(size),
        gain=np.zeros(size),
        outputs=np.zeros((n_layers, n_classes)),
        shares=np.zeros(n_layers),
        probabilities=np.zeros(n_classes),
        step=np.zeros(n_classes),
        learned=np.zeros(n_classes),
        heights=np.zeros(n_places),
        distances=np.zeros(n_places),
    )


def work_for(state: Concepts) -> Work:
    """Working memory for kernels on a network of this size; every thread has its own."""
    sizes = (state.kinds.size, *state.weights.shape[1:], state.cloud_labels.size)
    return _work(sizes, threading.get_ident())


def widened(state: Concepts, n_features: int, n_classes: int, config: Config) -> Concepts:
    """The same with room for more features and classes; nothing learned is lost.

    New features start with weight 0 in every rule; a class never seen starts as unlikely as one
    unseen row in all that a rule has learned.
    """
    n, m = state.lows.shape[1], state.weights.shape[1]
    fresh = empty_arrays(state.owners.size, n_features, n_classes, config)
    places = expanded_places(n, n_features)
    for name in Concepts._fields:
        old, new = getattr(state, name), getattr(fresh, name)
        if name == "weights":
            new[:, :m, places] = old
        elif name == "gains":
            new[:] = _widened_gains(old, places, fresh.caps)
        elif name == "caps":
            new[places] = old
        elif name in SINGLES and n_contrasts(m) != n_contrasts(n_classes):
            continue
        else:
            new[tuple(slice(size) for size in old.shape)] = old
    rows = state.class_counts.sum(axis=1)
    fresh.weights[:, m:, 0] = -np.log1p(rows)[:, None]
    fresh.cloud_centers[n:] = 0.5
    return fresh


def _widened_gains(old: Floats, places: Ints, caps: Floats) -> Floats:
    """Gains with the old ones at their places, and the prior for what is new."""
    matrices = np.repeat(np.diag(caps)[None], old.shape[0], axis=0)
    matrices[:, places[:, None], places] = unpacked(old)
    return packed(matrices)


def expanded_places(old: int, new: int) -> Ints:
    """Where the expanded features stand when there are more of them."""
    first = np.arange(1 + old)
    return np.concatenate([first, 1 + new + np.arange(old)])
