"""Gaussian layers (paper: gClass): parameters, layout, inputs, re-basing, rules and reasons.

An input contributes the mean, over the rules that fire, of the difference between its terms at the
row and at the centre of each rule. Inputs are the features, then the outputs of the layers before.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import (
    ACTIVE,
    ARCHIVED,
    FREE,
    GAUSSIAN,
    GaussianParams,
    GaussianState,
    State,
)
from devfnn.model.explanation import (
    LOG_PROBABILITIES,
    LOGITS,
    SCORES,
    FiredRule,
    Said,
    softmax,
)
from devfnn.model.layout import LEAST, Field
from devfnn.model.rebasing import WIDEST_PRIOR, chebyshev_basis
from devfnn.model.rules import Rule
from devfnn.model.scaling import CLIP, Change
from devfnn.model.units import Units
from devfnn.parameters import Section, choice, number

if TYPE_CHECKING:
    from devfnn.model.config import Config

NAME = "gaussians"
ARRAYS = GaussianState
PARAMS = "gaussian"
KINDS = {"gaussian": GAUSSIAN}
TAKES = {"inputs", "single_rule"}
"""Parameters of `Layer` that this kind has."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gaussian(Section):
    """Gaussian rules with full covariance and Chebyshev consequents (paper: gClass)."""

    # The THEN part of a rule
    consequent: Literal["logistic", "least_squares"] = choice(
        "logistic", "recursive logistic regression, or the paper's FWGRLS"
    )
    mixing: Literal["logits", "probabilities"] = choice(
        "logits", "what the rules of a logistic layer average"
    )
    normalisation: Literal["softmax", "floor"] = choice(
        "softmax", "of firing strengths; floor reads a total under 0.001 as 1, as the authors do"
    )
    initial_gain: float = number(5.0, 1e-6, 1e8, "start and cap of the gain, in first units", "Ω")
    later_gain: float = number(1.0, 1e-6, 1e8, "start of the gain matrix of later rules", "Ω")
    curvature_floor: float = number(0.01, 1e-6, 0.25, "least curvature of the logistic update")
    memory: float = number(0.9995, 0.5, 1.0, "share of the past kept per row")
    chunk_memory: float = number(1.0, 0.0, 1.0, "share kept per chunk; 0 starts the gain anew")
    weight_decay: float = number(0.0, 0.0, 1.0, "strength of the pull towards 0", "ϖ")
    local_forgetting: float = number(
        0.0, 0.0, 0.5, "most a moving local density may cut the memory; 0 is off"
    )
    density_memory: float = number(0.99, 0.5, 1.0, "share of the local density kept per row")

    # The IF part
    rules: Literal["evolving", "fixed"] = choice(
        "evolving", "rules come and go; or a layer has one for each feature, for good"
    )
    growing: bool = choice(True, "let rows found new rules")
    max_rules: int = number(10, 1, 1000, "active rules in a layer")
    first_precision: float = number(2.0, 1e-6, 1e6, "inverse variance of a first rule", "k_fs")
    vigilance: float = number(0.9, 0.0, 1.0, "volume share of the winner for growth", "Vig")
    width_floor: float = number(0.02, 1e-6, 1.0, "least width of a rule, inputs in [0, 1]")
    coverage: float = number(0.9, 0.5, 0.9999, "share of a Gaussian that counts as inside")
    tuning: Literal["covered", "published", "off"] = choice(
        "covered", "rows that move the winner's premise"
    )
    max_population: float = number(1e4, 2.0, 1e12, "rows a premise rests on at most")
    pruning: bool = choice(True, "drop rules without significance or potential")
    prune_margin: float = number(1.0, 0.0, 100.0, "standard deviations below a rule's own mean")
    potential_memory: float = number(0.998, 0.5, 1.0, "share of the potential kept per row")
    recall: bool = choice(True, "keep obsolete rules and call them back")
    recall_margin: float = number(1.05, 0.0, 100.0, "how much denser an archived rule must lie")
    archive_size: int = number(10, 0, 1000, "obsolete rules kept in a layer")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "gaussian": (Gaussian, ("gaussian",), True)
}
"""Sections of the configuration: their class, the kinds they belong to, whether these need them."""


FIRST_SLOTS = 2
"""Rule slots of a fresh network; they double when they run out."""

LAYOUT = {
    "status": Field("L G", FREE, FREE, ARCHIVED),
    "centers": Field("L G i", 0.0),
    "covs": Field("L G i i", 0.0),
    "inverse_covs": Field("L G i i", 0.0),
    "log_volumes": Field("L G", 0.0),
    "populations": Field("L G", 1.0, LEAST),
    "class_counts": Field("L G m", 0.0, 0.0),
    "consequents": Field("L G m q", 0.0),
    "gain_covs": Field("L G q q", 0.0),
    "gain_caps": Field("L q", 1.0, LEAST),
    "densities": Field("L G 3", 0.0),
    "potentials": Field("L G 2", 0.0),
    "utilities": Field("L G", 0.0),
    "ages": Field("L G", 0),
    "premise_updates": Field("L G", 0),
    "record_counts": Field("L G 2", 0.0, 0.0),
    "record_means": Field("L G 2", 0.0),
    "record_squares": Field("L G 2", 0.0),
    "violations": Field("L G 2", 0.0),
    "n_inputs": Field("L 1", 0),
    "input_mask": Field("L i", True),
    "density_weight": Field("L 1", 0.0, 0.0),
    "density_mean": Field("L i", 0.5),
    "density_cov": Field("L i i", 0.0),
    "class_weights": Field("L m", 0.0, 0.0),
    "class_means": Field("L m i", 0.5),
    "class_variances": Field("L m i", 0.0),
    "threshold": Field("L 1", 1.0),
    "counters": Field("L 6", 0),
}

TRACE = 1e-12
"""Share of its cap added to every variance: a far jump all but ties the weights of a feature to the
bias, and rounding must not cost the matrix its definiteness."""

LEAST_FIRING = 1e-3
"""With `normalisation="floor"`, a total of firing strengths that is read as 1."""

TINY = 1e-300


def lengths(n: int, config: "Config") -> dict[str, int]:
    """Lengths of the axes that only gaussian layers have: they follow from the number of layers."""
    return {}


def start(state: State, config: "Config") -> None:
    """Layers without rules; every feature switched on."""
    own = state.gaussians
    assert own is not None
    for index, layer in enumerate(config.layers):
        if layer.kind == "gaussian":
            state.layers.kinds[index] = GAUSSIAN
    own.gain_caps[:] = config.gaussian.initial_gain
    own.threshold[:] = config.labels.certainty
    count_inputs(state)


def count_inputs(state: State) -> None:
    """How many inputs every layer has: features, and outputs of all layers before it."""
    own = state.gaussians
    assert own is not None
    n_layers, n_classes = own.class_weights.shape
    n_features = own.centers.shape[2] - (n_layers - 1) * n_classes
    own.n_inputs[:, 0] = n_features + np.arange(n_layers) * n_classes


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """Start values of new inputs and classes, in every used slot.

    New inputs start switched on, at the middle of their range, uncoupled, with weight 0. A class
    never seen starts as an output of 0, or, for logistic rules, as unlikely as one unseen row in
    all.
    """
    own, before, params = fresh.gaussians, old.gaussians, config.gaussian
    assert own is not None and before is not None
    count_inputs(fresh)
    known = np.zeros(own.centers.shape[2], np.bool_)
    known[moved_inputs(before, own)] = True
    own.gain_caps[:] = own.gain_caps[0]
    n_layers, n_slots = before.status.shape
    for layer in range(n_layers):
        added = np.flatnonzero(~known[: own.n_inputs[layer, 0]])
        for rule in np.flatnonzero(before.status[layer] != FREE):
            start_inputs(own, layer, int(rule), added, params, params.initial_gain)
    m_old = before.class_weights.shape[1]
    if params.consequent == "logistic":
        rows = own.class_counts[:n_layers, :n_slots].sum(axis=2)
        own.consequents[:n_layers, :n_slots, m_old:, 0] = -np.log1p(rows)[:, :, None]


def start_inputs(
    own: GaussianState, layer: int, rule: int, added: Ints, params: Gaussian, gain: float
) -> None:
    """Inputs that a rule has never seen: uncoupled, at the middle, of weight 0."""
    own.centers[layer, rule, added] = 0.5
    own.covs[layer, rule, added, added] = 1.0 / params.first_precision
    own.inverse_covs[layer, rule, added, added] = params.first_precision
    own.log_volumes[layer, rule] -= 0.5 * added.size * np.log(params.first_precision)
    for column in (2 * added + 1, 2 * added + 2):
        own.gain_covs[layer, rule, column, column] = gain


def moved_inputs(old: GaussianState, new: GaussianState) -> Ints:
    """Where each old input stands in the new order."""
    (n_layers, m_old), (n_new, m_new) = old.class_weights.shape, new.class_weights.shape
    n_features = old.centers.shape[2] - (n_layers - 1) * m_old
    first = new.centers.shape[2] - (n_new - 1) * m_new
    places = [*range(n_features)]
    for layer in range(n_layers - 1):
        start = first + layer * m_new
        places += range(start, start + m_old)
    return np.asarray(places, np.int64)


# ---- inputs that are switched off


def switch_inputs(state: State, used: Flags, config: "Config") -> None:
    """Bring all input masks in line: features in use, and what each layer takes in of others.

    An input that is switched off is uncoupled from the others, so that leaving it out is exact.
    """
    from devfnn.kernels.gaussian import decouple_input

    own, is_merged = state.gaussians, state.layers.is_merged
    assert own is not None
    n_layers, n_classes = own.class_weights.shape
    for layer in range(n_layers):
        wanted = np.ones(own.input_mask.shape[1], np.bool_)
        wanted[: used.size] = used
        source = config.layers[layer] if layer < len(config.layers) else config.growing
        takes = getattr(source, "inputs", "features")  # KeepLayers keeps no gaussian layer
        for other in range(n_layers - 1):
            start = used.size + other * n_classes
            is_open = takes == "all" or (takes == "settled" and _is_settled(other, config))
            wanted[start : start + n_classes] = is_open and not is_merged[other]
        n = int(own.n_inputs[layer, 0])
        off: Flags = own.input_mask[layer, :n] & ~wanted[:n]
        for axis in np.flatnonzero(off):
            decouple_input(own, layer, axis, config.gaussian.width_floor)
        own.input_mask[layer] = wanted


def _is_settled(layer: int, config: "Config") -> bool:
    """Whether a layer learns only while it leads: the others never stand still."""
    return config.training == "leader" or (
        config.training == "configured" and layer >= len(config.layers)
    )


# ---- a new scaling map


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """Rewrite all rules and statistics in the units of the new map.

    While the map is still being made from the first rows, the prior is that of the newest map.
    """
    own, params = state.gaussians, config.gaussian
    assert own is not None
    _restart_inputs(own, change.features[change.is_wild], params)
    change = change.without_wild()
    if not change.features.size:
        return
    n = own.centers.shape[2]
    basis = chebyshev_basis(change, own.input_mask[0], *_pair_columns(n))
    factors, shifts = np.ones(n), np.zeros(n)
    factors[change.features], shifts[change.features] = change.factors, change.shifts
    pairs = np.outer(factors, factors)
    own.consequents[:] = own.consequents @ basis.T
    own.gain_covs[:] = basis @ own.gain_covs @ basis.T
    own.gain_covs[:] = 0.5 * (own.gain_covs + own.gain_covs.swapaxes(2, 3))
    _rebase_prior(own, basis, is_settled, params)
    own.centers[:] = (own.centers - shifts) / factors
    own.covs[:] /= pairs
    own.inverse_covs[:] *= pairs
    for layer in range(own.status.shape[0]):
        n_own = int(own.n_inputs[layer, 0])
        own.log_volumes[layer, own.status[layer] != FREE] -= np.log(factors[:n_own]).sum()
    own.density_mean[:] = (own.density_mean - shifts) / factors
    own.density_cov[:] /= pairs
    own.class_means[:] = (own.class_means - shifts) / factors
    own.class_variances[:] /= factors**2


def _pair_columns(n: int) -> tuple[Ints, Ints]:
    """Where T1 and T2 of every input stand."""
    return 2 * np.arange(n) + 1, 2 * np.arange(n) + 2


def _rebase_prior(own: GaussianState, basis: Floats, is_settled: bool, params: Gaussian) -> None:
    """Let the prior of the weights follow the map, and hold all variances under it."""
    from devfnn.kernels.gaussian import bound_gains

    lowest, highest = params.initial_gain, WIDEST_PRIOR * params.initial_gain
    explained = (np.abs(basis) @ np.sqrt(own.gain_caps[0])) ** 2
    caps = np.clip(explained, lowest, highest if is_settled else lowest)
    own.gain_caps[:] = caps
    own.gain_covs[own.status == FREE] = 0.0
    bound_gains(own, caps, np.empty(caps.size))
    diagonal = np.arange(caps.size)
    own.gain_covs[:, :, diagonal, diagonal] += TRACE * caps


def _restart_inputs(own: GaussianState, features: Ints, params: Gaussian) -> None:
    """Start rules anew on some inputs; what these said at a rule's centre stays in its bias."""
    for feature in features.tolist():
        linear, quadratic = 2 * feature + 1, 2 * feature + 2
        t = 2.0 * own.centers[:, :, feature, None] - 1.0
        said = own.consequents[..., linear] * t
        said += own.consequents[..., quadratic] * (2.0 * t * t - 1.0)
        own.consequents[..., 0] += said * own.input_mask[:, None, None, feature]
        for column in (linear, quadratic):
            own.consequents[..., column] = 0.0
            own.gain_covs[:, :, column, :] = 0.0
            own.gain_covs[:, :, :, column] = 0.0
            own.gain_covs[:, :, column, column] = params.initial_gain
            own.gain_caps[:, column] = params.initial_gain
        _restart_premise(own, feature, params)


def _restart_premise(own: GaussianState, feature: int, params: Gaussian) -> None:
    """Give every rule its first width on one input, and forget the moments of that input."""
    from devfnn.kernels.gaussian import decouple_input

    own.centers[:, :, feature] = 0.5
    own.covs[:, :, feature, feature] = 1.0 / params.first_precision
    for layer in range(own.status.shape[0]):
        decouple_input(own, layer, feature, params.width_floor)
    own.density_mean[:, feature] = 0.5
    own.density_cov[:, feature, :] = 0.0
    own.density_cov[:, :, feature] = 0.0
    own.class_means[:, :, feature] = 0.5
    own.class_variances[:, :, feature] = 0.0


# ---- what there is


def n_rules(state: State, layer: int) -> int:
    """Active rules of a layer."""
    assert state.gaussians is not None
    return int(np.count_nonzero(state.gaussians.status[layer] == ACTIVE))


def n_parameters(state: State, layer: int) -> int:
    """Numbers that define the rules of a layer: centres, covariances and consequents."""
    own = state.gaussians
    assert own is not None
    n, m = int(own.n_inputs[layer, 0]), int(own.class_weights.shape[1])
    return n_rules(state, layer) * (n + n * n + (2 * n + 1) * m)


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """Every rule of a layer, active or archived."""
    own, params = state.gaussians, config.gaussian
    assert own is not None
    n_inputs, n_features = int(own.n_inputs[layer, 0]), units.all_lows.size
    used = np.flatnonzero(own.input_mask[layer, :n_inputs])
    names = units.input_names(n_inputs)
    lows, widths = (each[used] for each in units.input_maps(n_inputs))
    for slot in np.flatnonzero(own.status[layer] != FREE).tolist():
        shares = _said_at_center(own, layer, slot, used, n_features, params)
        utility = float(own.utilities[layer, slot])
        cov = own.covs[layer, slot][np.ix_(used, used)]
        yield Rule(
            layer=layer,
            rule=slot,
            inputs=tuple(names[place] for place in used.tolist()),
            n_features=int(np.count_nonzero(used < n_features)),
            center=lows + widths * own.centers[layer, slot, used],
            covariance=cov * np.outer(widths, widths),
            probabilities=dict(zip(units.labels, shares.tolist(), strict=True)),
            n_rows=float(own.class_counts[layer, slot].sum()),
            is_archived=bool(own.status[layer, slot] == ARCHIVED),
            voting_weight=0.0,
            ranges=np.stack([lows, lows + widths], axis=1),
            age=int(own.ages[layer, slot]),
            firing_share=utility if utility >= 0.0 else None,
            slopes=2.0 * own.consequents[layer, slot][:, 2 * used + 1].T,
        )


def _said_at_center(
    own: GaussianState, layer: int, slot: int, used: Ints, n_features: int, params: Gaussian
) -> Floats:
    """Class probabilities by one rule's consequent at its own centre.

    Inputs are clipped as those of a prediction are, and outputs become shares in the same way.
    """
    reach = np.where(used < n_features, CLIP, 0.0)
    t = 2.0 * np.clip(own.centers[layer, slot, used], -reach, 1.0 + reach) - 1.0
    weights = own.consequents[layer, slot]
    outputs = weights[:, 0] + weights[:, 2 * used + 1] @ t
    outputs += weights[:, 2 * used + 2] @ (2.0 * t * t - 1.0)
    if params.consequent == "logistic":
        return softmax(outputs)
    return _positive_shares(outputs)


def _positive_shares(outputs: Floats) -> Floats:
    """Outputs as shares: negative ones count as 0; all equal if none is positive."""
    shares: Floats = np.maximum(outputs, 0.0)
    if not shares.any():
        shares[:] = 1.0
    shares /= shares.sum()
    return shares


# ---- why


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What a layer says of a row, and why; and its raw output, as later layers take it in."""
    own, params, n_features = state.gaussians, config.gaussian, row.size
    assert own is not None
    inputs = inputs[: int(own.n_inputs[layer, 0])]
    n, m = inputs.size, own.class_weights.shape[1]
    kind = output_kind(params)
    rules: Ints = np.flatnonzero(own.status[layer] == ACTIVE)
    if not rules.size:
        bias = np.full(m, 1.0 / m if kind == SCORES else 0.0)
        return _spoken(kind, bias, np.zeros((n, m)), (), np.full(m, 1.0 / m), config)
    is_there: Flags = own.input_mask[layer, :n] & ~np.isnan(inputs)
    strengths = _strengths(own, layer, rules, np.where(is_there, inputs, np.nan), params)
    if kind == LOG_PROBABILITIES and not strengths.any():
        return _spoken(kind, np.zeros(m), np.zeros((n, m)), (), np.zeros(m), config)
    reach = np.where(np.arange(n) < n_features, CLIP, 0.0)
    centers = np.clip(own.centers[layer, rules, :n], -reach, 1.0 + reach)
    usually, parts = _terms(own.consequents[layer, rules], centers, inputs, is_there)
    shares, rest = strengths[:, None], np.zeros(m)
    if kind == LOG_PROBABILITIES:
        shares, rest = _mixed(usually + parts.sum(axis=2), strengths)
    bias = rest + (shares * usually).sum(axis=0)
    contributions = (shares[:, :, None] * parts).sum(axis=0).T
    output = bias + contributions.sum(axis=0)
    order = np.argsort(-strengths, kind="stable")
    pairs = zip(rules[order].tolist(), strengths[order].tolist(), strict=True)
    fired = tuple(FiredRule(*pair) for pair in pairs)
    raw = output
    if kind != SCORES:
        raw = softmax(output) if kind == LOGITS else np.exp(output)
    return _spoken(kind, bias, contributions, fired, raw, config)


def output_kind(params: Gaussian) -> str:
    """What the outputs of gaussian layers are."""
    if params.consequent == "least_squares":
        return SCORES
    return LOGITS if params.mixing == "logits" else LOG_PROBABILITIES


def _spoken(
    kind: str,
    bias: Floats,
    contributions: Floats,
    fired: tuple[FiredRule, ...],
    raw: Floats,
    config: "Config",
) -> tuple[Said, Floats]:
    """What a layer says, as probabilities and as votes."""
    output = bias + contributions.sum(axis=0)
    shares = _positive_shares(output) if kind == SCORES else softmax(output)
    votes = shares
    if getattr(config.voting, "ballots", "soft") == "hard":
        votes = np.zeros_like(raw)
        votes[raw.argmax()] = 1.0
    return Said(kind, bias, contributions, fired, shares, votes), raw


def _terms(
    weights: Floats, centers: Floats, inputs: Floats, is_there: Flags
) -> tuple[Floats, Floats]:
    """What rules say at their centres (r, m), and what inputs add beyond them (r, m, n).

    weights: (r, m, q) · centers: (r, n) · inputs, is_there: (n,) those that are not count for 0
    """
    n, here, usual = inputs.size, 2.0 * inputs - 1.0, 2.0 * centers - 1.0
    lines, curves = weights[:, :, 1 : 2 * n + 1 : 2], weights[:, :, 2 : 2 * n + 2 : 2]
    line = np.where(is_there, here - usual, 0.0)
    curve = np.where(is_there, 2.0 * (here * here - usual * usual), 0.0)
    parts = lines * line[:, None] + curves * curve[:, None]
    line, curve = np.where(is_there, usual, 0.0), np.where(is_there, 2.0 * usual * usual - 1.0, 0.0)
    usually = lines * line[:, None] + curves * curve[:, None]
    return weights[:, :, 0] + usually.sum(axis=2), parts


def _mixed(logits: Floats, strengths: Floats) -> tuple[Floats, Floats]:
    """Rules that average probabilities: shares (r, m) in each class, and the rest (m,) of its log.

    logits: (r, m) of the rules · strengths: (r,) how strongly they fire
    """
    top = logits.max(axis=1, keepdims=True)
    totals = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    heights = np.log(np.maximum(strengths, TINY))[:, None] + logits - totals
    highest = heights.max(axis=0)
    shares = softmax(heights.T).T
    output = highest + np.log(np.exp(heights - highest).sum(axis=0))
    return shares, output - (shares * logits).sum(axis=0)


def _strengths(
    own: GaussianState, layer: int, rules: Ints, inputs: Floats, params: Gaussian
) -> Floats:
    """How strongly rules fire; absent inputs lie on the centre."""
    has_floor = params.normalisation == "floor"
    if rules.size == 1 and not has_floor:
        return np.ones(1)
    n = inputs.size
    offsets = np.where(np.isnan(inputs), 0.0, inputs - own.centers[layer, rules, :n])
    pulls = np.matmul(offsets[:, None, :], own.inverse_covs[layer, rules, :n, :n])[:, 0]
    distances = np.maximum((pulls * offsets).sum(axis=1), 0.0)
    nearest = 0.0 if has_floor else distances.min()
    firing: Floats = np.exp(-0.5 * (distances - nearest))
    total = firing.sum()
    firing /= 1.0 if has_floor and total < LEAST_FIRING else total
    return firing


# ---- whether numbers from a file can be those of a model

ASYMMETRY = 1e-6
"""Largest relative difference between the two halves of a symmetric matrix."""


def problems_of(state: State, config: "Config") -> Iterator[tuple[bool, str]]:
    """What must hold, and what is wrong otherwise."""
    own = state.gaussians
    assert own is not None
    n_layers, n_classes = own.class_weights.shape
    n_inputs = own.centers.shape[2] - (n_layers - 1 - np.arange(n_layers)) * n_classes
    fits = np.array_equal(own.n_inputs[:, 0], n_inputs)
    yield fits, "the numbers of inputs of the layers do not fit the shape"
    diagonals = np.einsum("lrii->lri", own.covs)
    is_own = np.arange(own.centers.shape[2]) < n_inputs[:, None]
    used = (own.status != FREE)[:, :, None] & is_own[:, None, :]
    is_sound = bool((diagonals[used] > 0.0).all())
    yield is_sound, "a gaussian rule has a variance that is not positive"
    is_rule: Flags = own.status != FREE
    for name in ("covs", "inverse_covs", "gain_covs"):
        is_sound = _are_symmetric(getattr(own, name)[is_rule])
        yield is_sound, f"gaussians/{name} holds a matrix that is not symmetric"
    is_sound = _are_symmetric(own.density_cov)
    yield is_sound, "gaussians/density_cov holds a matrix that is not symmetric"


def _are_symmetric(matrices: Floats) -> bool:
    """Matrices on the last two axes."""
    limit = ASYMMETRY * np.abs(matrices).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return bool((np.abs(matrices - matrices.swapaxes(-2, -1)) <= limit).all())


# ---- parameters for kernels


def params(config: "Config", n_inputs: int) -> GaussianParams:
    """What kernels need, for layers of at most `n_inputs` inputs."""
    own, labels = config.gaussian, config.labels
    is_evolving = own.rules == "evolving"
    return GaussianParams(
        logistic=own.consequent == "logistic",
        mix_logits=own.mixing == "logits",
        firing_floor=own.normalisation == "floor",
        initial_gain=float(own.initial_gain),
        later_gain=float(own.later_gain),
        curvature_floor=float(own.curvature_floor),
        memory=float(own.memory),
        weight_decay=float(own.weight_decay),
        local_forgetting=float(own.local_forgetting),
        density_memory=float(own.density_memory),
        potential_memory=float(own.potential_memory),
        chooses_rows=labels.choice == "layer",
        certainty=float(labels.certainty),
        exploration=float(labels.exploration * labels.budget),
        threshold_step=float(labels.threshold_step),
        grow_rules=own.growing and is_evolving,
        recall_rules=own.recall and own.pruning and is_evolving,
        recall_margin=float(own.recall_margin),
        max_rules=int(own.max_rules),
        first_precision=float(own.first_precision),
        log_vigilance=math.log(max(own.vigilance, 1e-300)),
        width_floor=float(own.width_floor),
        tuning=["off", "covered", "published"].index(own.tuning),
        max_population=float(own.max_population),
        coverage=chi_square_radii(own.coverage, n_inputs),
        singles=np.array([layer.single_rule for layer in config.layers]),
    )


def chi_square_radii(share: float, n_inputs: int) -> Floats:
    """Squared radius that holds `share` of a Gaussian, for 0 to `n_inputs` dimensions.

    Wilson and Hilferty's approximation, good to three percent.

    >>> chi_square_radii(0.9, 4).round(2).tolist()
    [0.0, 2.64, 4.56, 6.21, 7.75]
    """
    dimensions = np.arange(1, n_inputs + 1)
    spread = 2.0 / (9.0 * dimensions)
    z = statistics.NormalDist().inv_cdf(share)
    radii: Floats = dimensions * (1.0 - spread + z * np.sqrt(spread)) ** 3
    return np.concatenate([[0.0], radii])
