"""Making, widening and copying the arrays of the layers. Nothing here learns."""

import dataclasses
import functools

import numpy as np

from devfnn.kernels.state import FREE, Flags, Floats, Ints, Layers, Scratch
from devfnn.model.config import Config

FIRST_SLOTS = 2
"""Rule slots of a fresh network; they double when they run out."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """How large the arrays are."""

    layers: int
    slots: int
    features: int
    classes: int

    @property
    def inputs(self) -> int:
        """Inputs of the deepest layer: the features and the outputs of the layers before."""
        return self.features + (self.layers - 1) * self.classes


@functools.lru_cache(maxsize=256)
def scratch_for(shape: Shape, thread: int) -> Scratch:
    """Working memory for kernels on layers of this shape; every thread has its own."""
    slots, n, m = shape.slots, shape.inputs, shape.classes
    return Scratch(
        inputs=np.empty(n + m),
        stacked=np.empty(n + m),
        present=np.empty(n, np.bool_),
        n_present=np.zeros(1, np.int64),
        offsets=np.empty((slots, n)),
        pulls=np.empty((slots, n)),
        distances=np.empty(slots),
        activations=np.empty(slots),
        expanded=np.empty(2 * n + 1),
        gain=np.empty(2 * n + 1),
        locals=np.empty((slots, m)),
        output=np.empty(m),
        residuals=np.empty(m),
        candidate_center=np.empty(n),
        candidate_width=np.empty(n),
        factor=np.empty((n, n)),
        probabilities=np.empty(m),
    )


def empty_layers(shape: Shape, config: Config) -> Layers:
    """Layers without rules; every feature switched on."""
    count, slots, n, m = shape.layers, shape.slots, shape.inputs, shape.classes
    p = 2 * n + 1
    layers = Layers(
        status=np.full((count, slots), FREE, np.int64),
        centers=np.zeros((count, slots, n)),
        covs=np.zeros((count, slots, n, n)),
        inverse_covs=np.zeros((count, slots, n, n)),
        log_volumes=np.zeros((count, slots)),
        populations=np.ones((count, slots)),
        class_counts=np.zeros((count, slots, m)),
        consequents=np.zeros((count, slots, m, p)),
        gain_covs=np.zeros((count, slots, p, p)),
        gain_caps=np.full((count, p), float(config.initial_gain)),
        densities=np.zeros((count, slots, 3)),
        potentials=np.zeros((count, slots, 2)),
        utilities=np.zeros((count, slots)),
        ages=np.zeros((count, slots), np.int64),
        premise_updates=np.zeros((count, slots), np.int64),
        n_inputs=np.zeros((count, 1), np.int64),
        input_mask=np.ones((count, n), np.bool_),
        density_weight=np.zeros((count, 1)),
        density_mean=np.full((count, n), 0.5),
        density_cov=np.zeros((count, n, n)),
        class_weights=np.zeros((count, m)),
        class_means=np.full((count, m, n), 0.5),
        class_variances=np.zeros((count, m, n)),
        threshold=np.full((count, 1), float(config.conflict_threshold)),
        counters=np.zeros((count, 6), np.int64),
        voting_weights=np.full(count, float(config.newborn_weight)),
        decays=np.full(count, float(config.initial_decay)),
        is_merged=np.zeros(count, np.bool_),
    )
    layers.n_inputs[:, 0] = shape.features + np.arange(count) * m
    return layers


def reshaped(layers: Layers, old: Shape, new: Shape, config: Config) -> Layers:
    """A larger copy: more layers, rule slots, features or classes; nothing learned is lost.

    New inputs start switched on, at the middle of their range, uncoupled, with weight 0. A class
    never seen starts as an output of 0, or, for logistic rules, as unlikely as one unseen row in
    all.
    """
    fresh = empty_layers(new, config)
    inputs = _moved_inputs(old, new)
    expanded = np.concatenate([[0], *([2 * j + 1, 2 * j + 2] for j in inputs)]).astype(np.int64)
    count, slots, m = old.layers, old.slots, old.classes
    for name in ("centers", "covs", "inverse_covs", "class_means", "class_variances"):
        _copy_inputs(getattr(layers, name), getattr(fresh, name), name, inputs)
    for name in ("input_mask", "density_mean", "density_cov"):
        _copy_inputs(getattr(layers, name), getattr(fresh, name), name, inputs)
    for name in _PLAIN:
        source = getattr(layers, name)
        getattr(fresh, name)[tuple(slice(size) for size in source.shape)] = source
    fresh.consequents[:count, :slots, :m][..., expanded] = layers.consequents
    fresh.gain_covs[:count, :slots][:, :, expanded[:, None], expanded] = layers.gain_covs
    fresh.gain_caps[:, expanded] = layers.gain_caps[0]
    fresh.n_inputs[:, 0] = new.features + np.arange(new.layers) * new.classes
    _start_new_inputs(fresh, np.setdiff1d(np.arange(new.inputs), inputs), layers, config)
    _start_new_classes(fresh, old, new, config)
    return fresh


_PLAIN = (
    "status",
    "log_volumes",
    "populations",
    "class_counts",
    "densities",
    "potentials",
    "utilities",
    "ages",
    "premise_updates",
    "density_weight",
    "class_weights",
    "threshold",
    "counters",
    "voting_weights",
    "decays",
    "is_merged",
)


def _moved_inputs(old: Shape, new: Shape) -> Ints:
    """Where each old input stands in the new order."""
    places = [*range(old.features)]
    for layer in range(old.layers - 1):
        start = new.features + layer * new.classes
        places += range(start, start + old.classes)
    return np.asarray(places, np.int64)


def _copy_inputs(source: Floats | Flags, target: Floats | Flags, name: str, inputs: Ints) -> None:
    """Copy an array whose last axis (for covariances the last two) runs over inputs."""
    n_axes = 2 if name in ("covs", "inverse_covs", "density_cov") else 1
    part = target[tuple(slice(size) for size in source.shape[: source.ndim - n_axes])]
    if n_axes == 1:
        part[..., inputs] = source
    else:
        part[..., inputs[:, None], inputs] = source


def _start_new_inputs(fresh: Layers, added: Ints, old: Layers, config: Config) -> None:
    """Give inputs that rules have never seen their start values, in every used slot."""
    if not added.size:
        return
    for layer in range(old.status.shape[0]):
        own = added[added < fresh.n_inputs[layer, 0]]
        for rule in np.flatnonzero(old.status[layer] != FREE):
            fresh.centers[layer, rule, own] = 0.5
            fresh.covs[layer, rule, own, own] = 1.0 / config.first_precision
            fresh.inverse_covs[layer, rule, own, own] = config.first_precision
            fresh.log_volumes[layer, rule] -= 0.5 * own.size * np.log(config.first_precision)
            for column in (2 * own + 1, 2 * own + 2):
                fresh.gain_covs[layer, rule, column, column] = config.initial_gain


def _start_new_classes(fresh: Layers, old: Shape, new: Shape, config: Config) -> None:
    """Give outputs that rules have never been trained on their start values."""
    if config.consequent == "logistic":
        for label in range(old.classes, new.classes):
            rows = fresh.class_counts[: old.layers, : old.slots].sum(axis=2)
            fresh.consequents[: old.layers, : old.slots, label, 0] = -np.log1p(rows)


def parameter_count(layers: Layers) -> int:
    """Numbers that define the live rules: centres, covariances and consequents."""
    total = 0
    for layer in np.flatnonzero(~layers.is_merged):
        n = int(layers.n_inputs[layer, 0])
        rules = int(np.count_nonzero(layers.status[layer] == 1))
        total += rules * (n + n * n + (2 * n + 1) * layers.class_weights.shape[1])
    return total
