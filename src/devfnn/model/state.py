"""All arrays of a network: made, widened, and the working memory of its kernels."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from devfnn.arrays import Ints
from devfnn.kernels.state import (
    INDEPENDENCE,
    MEMORY,
    NO_LAYER,
    UNCERTAINTY,
    GaussianWork,
    Layers,
    Progress,
    State,
    Work,
)
from devfnn.model import label_budget
from devfnn.model.config import Config, KeepLayers, Weighted
from devfnn.model.kinds import KINDS, STORES
from devfnn.model.layers import gaussian
from devfnn.model.layout import (
    Field,
    block_places,
    carry_over,
    make,
    n_contrasts,
    packed_places,
    pair_places,
)
from devfnn.model.params import kernel_params

LAYERS_LAYOUT = {
    "kinds": Field("L", NO_LAYER, NO_LAYER, max(KINDS.values())),
    "origins": Field("L", 0),
    "scores": Field("A", 0.0, 0.0, 1.0),
    "voting_weights": Field("W", 1.0, 0.0, 1.0),
    "decays": Field("W", 1.0, 0.0, 1.0),
    "is_merged": Field("L", False),
    "rests": Field("L", 0),
    "last_wins": Field("L", 0),
    "disagreements": Field("A A", 0.0, 0.0, 1.0),
    "compared": Field("A A", 0.0, 0.0),
}

PROGRESS_LAYOUT = {
    "errors": Field("4", 0),
    "signals": Field("8", 0.0),
    "label_shares": Field("m", 0.0, 0.0, 1.0),
    "counts": Field("4", 0),
    "n_open": Field("1", 0),
    "lead": Field("1", 0.0),
    "budget": Field("S", 0),
}

STATE_LAYOUTS = {
    "layers": LAYERS_LAYOUT,
    "progress": PROGRESS_LAYOUT,
    **{store.NAME: store.LAYOUT for store in STORES},
}
"""The layout of every part of `State`."""

# ---- sizes


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the arrays are."""

    layers: int
    slots: int  # rules of a gaussian layer that there is room for
    features: int
    classes: int

    def lengths(self, config: Config) -> dict[str, int]:
        """Lengths of all axes of `State`, by letter."""
        n, m = self.features, self.classes
        n_inputs = n + (self.layers - 1) * m
        lengths = {
            "L": self.layers,
            "A": 0 if isinstance(config.voting, Weighted) else self.layers,
            "W": self.layers if isinstance(config.voting, Weighted) else 0,
            "G": self.slots,
            "n": n,
            "m": m,
            "Q": n_contrasts(m),
            "i": n_inputs,
            "q": 2 * n_inputs + 1,
            "S": label_budget.budget_size(config),
        }
        for store in STORES:
            lengths |= store.lengths(n, config)
        return lengths


def first_sizes(n_features: int, n_classes: int, config: Config) -> Sizes:
    """Sizes of a network that has learned nothing."""
    growing = config.growing
    kept = growing.max_kept if isinstance(growing, KeepLayers) else 0
    slots = gaussian.FIRST_SLOTS if config.has("gaussian") else 0
    return Sizes(len(config.layers) + kept, slots, n_features, n_classes)


def stores_of(config: Config) -> list[Any]:
    """The modules of the kinds of layers that a network has."""
    return [store for store in STORES if config.has(*store.KINDS)]


def empty_state(sizes: Sizes, config: Config) -> State:
    """Arrays of a network that has learned nothing."""
    lengths = sizes.lengths(config)
    present = stores_of(config)
    made = {
        store.NAME: store.ARRAYS(**make(store.LAYOUT, lengths)) if store in present else None
        for store in STORES
    }
    layers = Layers(**make(LAYERS_LAYOUT, lengths))
    state = State(layers=layers, progress=Progress(**make(PROGRESS_LAYOUT, lengths)), **made)
    layers.origins[:] = np.arange(sizes.layers)
    if isinstance(config.voting, Weighted):
        layers.voting_weights[:] = config.voting.newborn_weight
        layers.decays[:] = getattr(config.voting, "decay", 1.0)
    if config.rules is not None:
        state.progress.signals[MEMORY] = kernel_params(config, 0).pool.shortest_memory  # type: ignore[union-attr]
    state.progress.signals[UNCERTAINTY] = state.progress.signals[INDEPENDENCE] = 1.0
    for store in present:
        store.start(state, config)
    return state


@functools.lru_cache(maxsize=256)
def work_for(lengths: tuple[tuple[str, int], ...], thread: int) -> Work:
    size = dict(lengths)
    n_layers, m, slots, n = size["L"], size["m"], size["G"], size["i"]
    own = None
    if slots:
        own = GaussianWork(
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
        )
    return Work(
        outputs=np.zeros((n_layers, m)),
        shares=np.zeros(n_layers),
        probabilities=np.zeros(m),
        codes=np.zeros(n_layers, np.int64),
        inputs=np.zeros(n + m),
        expanded=np.zeros(size["p"]),
        gain=np.zeros(size["p"]),
        step=np.zeros(m),
        learned=np.zeros(m),
        heights=np.zeros(size["K"]),
        distances=np.zeros(size["K"]),
        gaussian=own,
    )


# ---- larger arrays


def resized_state(state: State, old: Sizes, new: Sizes, config: Config) -> State:
    """A larger copy of the arrays; nothing learned is lost."""
    fresh = empty_state(new, config)
    places = _places(state, fresh, old, new)
    for name, layout in STATE_LAYOUTS.items():
        part, target = getattr(state, name), getattr(fresh, name)
        if part is not None:
            known = layout
            if old.classes != new.classes and n_contrasts(old.classes) != n_contrasts(new.classes):
                known = {each: f for each, f in layout.items() if "Q" not in f.axes.split()}
            carry_over(known, part._asdict(), target._asdict(), places)
    fresh.layers.origins[old.layers :] = np.arange(old.layers, new.layers)
    for store in stores_of(config):
        store.start_widened(fresh, state, config)
    return fresh


def _places(state: State, fresh: State, old: Sizes, new: Sizes) -> Mapping[str, Ints]:
    """Where the entries of axes stand in larger arrays, other than in front."""
    blocks = block_places(old.features, new.features)
    places = {"p": blocks, "h": packed_places(blocks)}
    if state.gaussians is not None and fresh.gaussians is not None:
        inputs = gaussian.moved_inputs(state.gaussians, fresh.gaussians)
        places |= {"i": inputs, "q": pair_places(inputs)}
    return places
