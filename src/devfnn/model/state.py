"""All arrays of a network: made, widened, the working memory and the parameters of its kernels."""

import dataclasses
import functools
from typing import Any

import numpy as np

from devfnn.kernels import state as constants
from devfnn.kernels.state import (
    BoostedWork,
    GaussianWork,
    Layers,
    NeighbourWork,
    Params,
    Progress,
    StackedWork,
    State,
    Work,
)
from devfnn.model import label_budget
from devfnn.model.config import (
    DEAR_KINDS,
    ByAccuracy,
    ByLikelihood,
    ByReward,
    Config,
    KeepLayers,
    Resting,
    Weighted,
)
from devfnn.model.layers import KIND_MODULES, KINDS, gaussian, kinds_served, pool, surface
from devfnn.model.layout import Field, carry_over, make, n_contrasts, numbers_for

LAYERS_LAYOUT = {
    "kinds": Field("L", constants.NO_LAYER, constants.NO_LAYER, max(KINDS.values())),
    "origins": Field("L", 0),
    "scores": Field("A", 0.0, 0.0, 1.0),
    "voting_weights": Field("W", 1.0, 0.0, 1.0),
    "decays": Field("W", 1.0, 0.0, 1.0),
    "is_merged": Field("L", False),
    "rests": Field("L", 0),
    "naps": Field("Z", 0),
    "worths": Field("Z", 0.0),
    "squares": Field("Z", 0.0, 0.0),
    "watched": Field("Z", 0.0, 0.0),
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
    **{module.NAME: module.LAYOUT for module in KIND_MODULES},
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
        is_weighted = isinstance(config.voting, Weighted)
        lengths = {
            "L": self.layers,
            "A": 0 if is_weighted else self.layers,
            "W": self.layers if is_weighted else 0,
            "Z": self.layers if config.resting is not None and config.has("stacked") else 0,
            "n": self.features,
            "m": self.classes,
            "Q": n_contrasts(self.classes),
            "S": label_budget.budget_size(config),
        }
        for module in KIND_MODULES:
            lengths |= module.lengths(self, config)
        return lengths


def first_sizes(n_features: int, n_classes: int, config: Config) -> Sizes:
    """Sizes of a network that has learned nothing."""
    growing = config.growing
    kept = growing.max_kept if isinstance(growing, KeepLayers) else 0
    slots = gaussian.FIRST_SLOTS if config.has("gaussian") else 0
    return Sizes(len(config.layers) + kept, slots, n_features, n_classes)


def modules_of(config: Config) -> list[Any]:
    """The modules of the kinds of layers that a network has."""
    return [module for module in KIND_MODULES if config.has(*kinds_served(module))]


def compiled_modules(config: Config) -> list[Any]:
    """Those that kernels are compiled for: networks with lines, curves or boxes share them all."""
    beside_rules = set() if not config.has(*pool.KINDS) else {*KINDS} - {"gaussian"}
    return [
        module
        for module in KIND_MODULES
        if config.has(*kinds_served(module)) or beside_rules.intersection(kinds_served(module))
    ]


def empty_state(sizes: Sizes, config: Config) -> State:
    """Arrays of a network that has learned nothing."""
    lengths = sizes.lengths(config)
    made: dict[str, Any] = {module.NAME: None for module in KIND_MODULES}
    for module in compiled_modules(config):
        made[module.NAME] = module.ARRAYS(**make(module.LAYOUT, lengths))
    layers = Layers(**make(LAYERS_LAYOUT, lengths))
    state = State(layers=layers, progress=Progress(**make(PROGRESS_LAYOUT, lengths)), **made)
    layers.kinds[: len(config.layers)] = [KINDS[layer.kind] for layer in config.layers]
    layers.origins[:] = np.arange(sizes.layers)
    if isinstance(config.voting, Weighted):
        layers.voting_weights[:] = config.voting.newborn_weight
        layers.decays[:] = getattr(config.voting, "decay", 1.0)
    state.progress.signals[[constants.UNCERTAINTY, constants.INDEPENDENCE]] = 1.0
    for module in modules_of(config):
        module.start(state, config)
    return state


WORK_LAYOUT = {
    "outputs": Field("L m", 0.0),
    "shares": Field("L", 0.0),
    "probabilities": Field("m", 0.0),
    "codes": Field("L", 0),
    "inputs": Field("i+m", 0.0),
    "expanded": Field("p|s", 0.0),
    "gain": Field("p|s", 0.0),
    "step": Field("m", 0.0),
    "learned": Field("m", 0.0),
    "heights": Field("K", 0.0),
    "distances": Field("K", 0.0),
}

GAUSSIAN_WORK_LAYOUT = {
    "present": Field("i", False),
    "n_present": Field("1", 0),
    "offsets": Field("G i", 0.0),
    "pulls": Field("G i", 0.0),
    "distances": Field("G", 0.0),
    "activations": Field("G", 0.0),
    "expanded": Field("q", 0.0),
    "gain": Field("q", 0.0),
    "locals": Field("G m", 0.0),
    "output": Field("m", 0.0),
    "residuals": Field("m", 0.0),
    "candidate_center": Field("i", 0.0),
    "candidate_width": Field("i", 0.0),
    "factor": Field("i i", 0.0),
}


BOOSTED_WORK_LAYOUT = {
    "columns": Field("V", 0, stored="i4"),
    "nodes": Field("V", 0, stored="u1"),
    "slopes": Field("V 2", 0.0, stored="f4"),
    "said": Field("V m", 0.0, stored="f4"),
    "features": Field("b", 0),
    "contrast": Field("m", 0.0),
    "bins": Field(f"E {constants.N_EDGES + 2} 2", 0.0, stored="f4"),
    "best": Field("E 4", 0.0),
    "cuts": Field("E 3", 0),
    "sums": Field("E m 2", 0.0),
    "values": Field("256", 0.0, stored="f4"),
    "row": Field("b", 0.0, stored="f4"),
}

NEIGHBOUR_WORK_LAYOUT = {
    "distances": Field("V", 0.0, stored="f4"),
    "lows": Field("V", 0.0, stored="f4"),
    "nearest": Field("k", 0),
    "means": Field("m", 0.0),
    "weights": Field("m", 0.0),
}

STACKED_WORK_LAYOUT = {
    "heard": Field("I m", 0.0),
    "vote": Field("m", 0.0),
    "asked": Field("I", 0.0),
    "found": Field("I", 0.0),
    "logits": Field("U m", 0.0),
    "answer": Field("m", 0.0),
    "judged": Field("m", 0.0),
    "without": Field("m", 0.0),
    "spare": Field("3 m", 0.0),
}


def _work_lengths(size: dict[str, int]) -> dict[str, int]:
    """Lengths of the axes of working memory, from those of the state."""
    return size | {"i+m": size["i"] + size["m"], "p|s": max(size["p"], size["s"])}


@functools.lru_cache(maxsize=256)
def work_for(lengths: tuple[tuple[str, int], ...], thread: int) -> Work:
    """Working memory of kernels, for lengths of the axes."""
    size = _work_lengths(dict(lengths))
    own = GaussianWork(**make(GAUSSIAN_WORK_LAYOUT, size)) if size["G"] else None
    return Work(
        **make(WORK_LAYOUT, size),
        gaussian=own,
        boosted=BoostedWork(**make(BOOSTED_WORK_LAYOUT, size)),
        neighbours=NeighbourWork(**make(NEIGHBOUR_WORK_LAYOUT, size)),
        stacked=StackedWork(**make(STACKED_WORK_LAYOUT, size)),
    )


def state_memory(sizes: Sizes, config: Config) -> int:
    """Bytes of the arrays that `empty_state` makes, without making them."""
    lengths = sizes.lengths(config)
    own = (module.LAYOUT for module in compiled_modules(config))
    layouts = (LAYERS_LAYOUT, PROGRESS_LAYOUT, *own)
    return sum(field.n_bytes(lengths) for layout in layouts for field in layout.values())


def work_memory(sizes: Sizes, config: Config) -> int:
    """Bytes of the working memory of one thread."""
    size = _work_lengths(sizes.lengths(config))
    layouts = (WORK_LAYOUT, BOOSTED_WORK_LAYOUT, NEIGHBOUR_WORK_LAYOUT, STACKED_WORK_LAYOUT)
    own = GAUSSIAN_WORK_LAYOUT if size["G"] else {}
    return sum(field.n_bytes(size) for layout in (*layouts, own) for field in layout.values())


# ---- larger arrays


def resized_state(state: State, old: Sizes, new: Sizes, config: Config) -> State:
    """A larger copy of the arrays; nothing learned is lost."""
    fresh = empty_state(new, config)
    n = old.features
    blocks = np.r_[: 1 + n, 1 + new.features : 1 + new.features + n]  # 1, T1 of all, T2 of all
    places = {"p": blocks, "h": pool.moved_halves(blocks)}  # others keep their place
    if state.gaussians is not None and fresh.gaussians is not None:
        inputs = gaussian.moved_inputs(state.gaussians, fresh.gaussians)
        pairs = np.stack([2 * inputs + 1, 2 * inputs + 2], axis=1)
        places |= {"i": inputs, "q": np.append(0, pairs)}  # 1, T1, T2, T1, T2, ...
    lost = {"Q"} if n_contrasts(old.classes) != n_contrasts(new.classes) else set()
    if config.has("surface"):
        moved = surface.moved_terms(n, new.features, config)
        places |= moved
        lost |= {"s", "t"} - moved.keys()
    for name, layout in STATE_LAYOUTS.items():
        if (part := getattr(state, name)) is not None:
            known = {k: f for k, f in layout.items() if lost.isdisjoint(f.axes.split())}
            carry_over(known, part._asdict(), getattr(fresh, name)._asdict(), places)
    fresh.layers.origins[old.layers :] = np.arange(old.layers, new.layers)
    for module in modules_of(config):
        module.start_widened(fresh, state, config)
    return fresh


# ---- parameters for kernels


CURVES = 10
"""Curves that cost what the layers of the default that never rest do, about."""


def price_of(layer: int, sizes: tuple[int, int], config: Config) -> float:
    """What a dear layer costs at most, in tens of curves; 0 of others. sizes: features, classes"""
    if config.layers[layer].kind not in DEAR_KINDS:
        return 0.0
    module = next(each for each in KIND_MODULES if config.layers[layer].kind in each.KINDS)
    curve, own = (
        pool.cost_of_rule(2 * sizes[0] + 1, sizes[1]),
        module.full_cost(layer, sizes, config),
    )
    return float(sum(own) / (CURVES * sum(curve)))


@functools.lru_cache(maxsize=64)
def kernel_params(config: Config, n_inputs: int, sizes: tuple[int, int]) -> Params:
    """The numbers that kernels need.

    n_inputs: of gaussian layers, at most · sizes: features, classes
    """
    labels, growing = config.labels, config.growing
    accuracy = config.voting if isinstance(config.voting, ByAccuracy) else ByAccuracy()
    likelihood = config.voting if isinstance(config.voting, ByLikelihood) else ByLikelihood()
    reward = config.voting if isinstance(config.voting, ByReward) else ByReward()
    modules = [module for module in KIND_MODULES if module.PARAMS]
    own: dict[str, Any] = {module.PARAMS: None for module in modules}
    for module in modules:
        if module in compiled_modules(config):
            own[module.PARAMS] = module.params(config, n_inputs)
    rules, resting, rests = own["pool"], config.resting or Resting(), config.resting is not None
    prices = [price_of(layer, sizes, config) for layer in range(len(config.layers))]
    drift_test = constants.NO_DRIFT_TEST
    if config.drift is not None and growing is not None:
        drift_test = (
            constants.DRIFT_IN_STREAM
            if isinstance(growing, KeepLayers)
            else constants.DRIFT_AT_STEPS
        )
    votes = {
        "accuracy": constants.BY_ACCURACY,
        "reward": constants.BY_REWARD,
        "likelihood": constants.BY_LIKELIHOOD,
    }
    is_weighted = isinstance(config.voting, Weighted)
    choices = {"all": constants.ALL_LABELS, "vote": constants.BY_VOTE, "layer": constants.BY_LAYER}
    all_gaussian = all(layer.kind == "gaussian" for layer in config.layers)
    choice = (
        constants.BY_LAYER if all_gaussian else choices[labels.choice]
    )  # layers see all rows then
    numbers: Params = numbers_for(
        Params,
        (labels, accuracy),
        n_configured=len(config.layers),
        chunk_rows=int(config.chunk_rows),
        stacks=config.has("gaussian"),
        first_leader=max(rules.long_line, 0) if rules is not None else 0,
        training=["leader", "configured", "all"].index(config.training),
        label_choice=choice,
        label_budget=float(labels.budget),
        budget_window=int(labels.window),
        votes=votes.get(config.voting.form, constants.EQUAL),
        soft_votes=not is_weighted or config.voting.ballots == "soft",  # type: ignore[union-attr]
        vote_rows=float(accuracy.rows),
        vote_power=float(accuracy.power),
        vote_memory=float(likelihood.memory),
        vote_sharpness=float(likelihood.sharpness),
        vote_step=float(reward.step),
        vote_floor=float(getattr(config.voting, "floor", reward.floor)),
        drift_test=drift_test,
        drift_significance=float(config.drift.significance) if config.drift is not None else 0.5,
        drift_every=int(config.drift.every) if config.drift is not None else 1,
        weighs_repeats=bool(rules is not None and (config.drift is None or config.drift.repeats)),
        is_dear=np.array([layer.kind in DEAR_KINDS and rests for layer in config.layers]),
        rest_share=float(resting.share),
        rest_steps=int(resting.steps),
        most_rest_steps=int(resting.max_steps),
        grace_rows=int(resting.grace_rows),
        least_worths=np.array([resting.worth * price for price in prices]),
        worth_rows=float(resting.worth_rows),
        worth_doubt=float(resting.doubt),
        trial_rows=int(resting.trial_rows),
        keeps_layers=isinstance(growing, KeepLayers) and growing.max_kept > 0,
        **own,
    )
    return numbers
