"""Gaussian layers (paper: gClass): parameters, layout, inputs, re-basing, rules and reasons.

An input contributes the mean, over the rules that fire, of the difference between its terms at the
row and at the centre of each rule. Inputs are the features, then the outputs of the layers before.
"""

import dataclasses
import math
import statistics
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

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
from devfnn.model.costs import CALL, EXPONENTIAL, PRODUCT, Cost
from devfnn.model.explanation import LOGITS, SCORES, FiredRule, Said, softmax, within_reason
from devfnn.model.layout import LEAST, Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import CLIP, WIDEST_PRIOR, Change, chebyshev_basis
from devfnn.model.units import Units
from devfnn.parameters import Section, choice, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "gaussians"
ARRAYS = GaussianState
PARAMS = "gaussian"
KINDS = {"gaussian": GAUSSIAN}
TAKES = {"inputs", "single_rule"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gaussian(Section):
    """Gaussian rules with full covariance and Chebyshev consequents (paper: gClass)."""

    idle: ClassVar = {
        ("recall", False): "recall_margin archive_size",
        ("pruning", False): "prune_margin recall recall_margin archive_size",
        ("rules", "fixed"): "max_rules pruning prune_margin recall recall_margin archive_size",
        ("growing", False): "vigilance max_rules pruning prune_margin recall recall_margin "
        "archive_size",
        ("tuning", "off"): "max_population",
        ("consequent", "least_squares"): "curvature_floor",
        ("local_forgetting", 0.0): "density_memory",
    }

    # The THEN part of a rule
    consequent: Literal["logistic", "least_squares"] = choice(
        "logistic", "recursive logistic regression, or the paper's FWGRLS"
    )
    initial_gain: float = number(5.0, 1e-6, 1e8, "start and cap of the gain, in first units", "Ω")
    later_gain: float = number(1.0, 1e-6, 1e8, "start of the gain matrix of later rules", "Ω")
    curvature_floor: float = number(0.01, 1e-6, 0.25, "least curvature of the logistic update")
    memory: float = number(0.9995, 0.5, 1.0, "share of the past kept per row")
    chunk_memory: float = number(1.0, 0.0, 1.0, "share kept per chunk; 0 starts the gain anew")
    weight_decay: float = number(0.0, 0.0, 1.0, "strength of the pull towards 0", "ϖ")
    local_forgetting: float = number(0.0, 0.0, 0.5, "most that local density cuts memory; 0 is off")
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
    tuning: Literal["covered", "published", "off"] = choice("covered", "rows that tune the winner")
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
    "potentials": Field("L G 2", 0.0, -sys.float_info.max, sys.float_info.max),
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


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """Lengths of the axes that only gaussian layers have."""
    n_inputs = sizes.features + (sizes.layers - 1) * sizes.classes
    return {"G": sizes.slots, "i": n_inputs, "q": 2 * n_inputs + 1}


def start(state: State, config: "Config") -> None:
    """Layers without rules; every feature switched on."""
    own = present(state.gaussians)
    own.gain_caps[:] = config.gaussian.initial_gain
    own.threshold[:] = config.labels.certainty
    own.n_inputs[:, 0] = input_counts(own)


def input_counts(own: GaussianState) -> Ints:
    """How many inputs every layer has: features, and outputs of all layers before it."""
    n_layers, n_classes = own.class_weights.shape
    counts: Ints = own.centers.shape[2] - np.arange(n_layers - 1, -1, -1) * n_classes
    return counts


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """Start values of new inputs and classes, in every used slot.

    New inputs start switched on, at the middle of their range, uncoupled, with weight 0. A class
    never seen starts as an output of 0, or, for logistic rules, as unlikely as one unseen row in
    all.
    """
    own, before, params = present(fresh.gaussians), present(old.gaussians), config.gaussian
    own.n_inputs[:, 0] = input_counts(own)
    known = np.zeros(own.centers.shape[2], np.bool_)
    known[moved_inputs(before, own)] = True
    own.gain_caps[:] = own.gain_caps[0]
    n_layers, n_slots = before.status.shape
    for layer in range(n_layers):
        added = np.flatnonzero(~known[: own.n_inputs[layer, 0]])
        rules = np.flatnonzero(before.status[layer] != FREE)
        start_inputs(own, (layer, rules), added, params, params.initial_gain)
    m_old = before.class_weights.shape[1]
    if params.consequent == "logistic":
        rows = own.class_counts[:n_layers, :n_slots].sum(axis=2)
        own.consequents[:n_layers, :n_slots, m_old:, 0] = -np.log1p(rows)[:, :, None]


def start_inputs(
    own: GaussianState, rules: tuple[int, Ints], added: Ints, params: Gaussian, gain: float
) -> None:
    """Inputs that rules of a layer have never seen: uncoupled, at the middle, of weight 0."""
    layer, slots = rules[0], rules[1][:, None]
    own.centers[layer, slots, added] = 0.5
    own.covs[layer, slots, added, added] = 1.0 / params.first_precision
    own.inverse_covs[layer, slots, added, added] = params.first_precision
    own.log_volumes[rules] -= 0.5 * added.size * np.log(params.first_precision)
    for column in (2 * added + 1, 2 * added + 2):
        own.gain_covs[layer, slots, column, column] = gain


def moved_inputs(old: GaussianState, new: GaussianState) -> Ints:
    """Where each old input stands in the new order."""
    (n_layers, m_old), m_new = old.class_weights.shape, new.class_weights.shape[1]
    said = input_counts(new)[0] + m_new * np.arange(n_layers - 1)[:, None] + np.arange(m_old)
    return np.concatenate([np.arange(input_counts(old)[0]), said.ravel()])


# ---- inputs that are switched off


def switch_inputs(state: State, used: Flags, config: "Config") -> None:
    """Bring all input masks in line: features in use, and what each layer takes in of others.

    An input that is switched off is uncoupled from the others, so that leaving it out is exact.
    """
    from devfnn.kernels.gaussian import decouple_input

    own, is_merged = present(state.gaussians), state.layers.is_merged
    n_layers, n_classes = own.class_weights.shape
    is_settled = np.arange(n_layers - 1) >= config.n_always(n_layers)  # learn only while they lead
    for layer in range(n_layers):
        source = config.layers[layer] if layer < len(config.layers) else config.growing
        takes = getattr(source, "inputs", "features")  # KeepLayers keeps no gaussian layer
        is_open = (takes == "all") | ((takes == "settled") & is_settled)
        if isinstance(takes, tuple):
            is_open = np.isin(np.arange(n_layers - 1), takes)
        wanted = np.concatenate([used, np.repeat(is_open & ~is_merged[:-1], n_classes)])
        n = int(own.n_inputs[layer, 0])
        for axis in np.flatnonzero(own.input_mask[layer, :n] & ~wanted[:n]):
            decouple_input(own, layer, axis, config.gaussian.width_floor)
        own.input_mask[layer] = wanted


# ---- a new scaling map


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """Rewrite all rules and statistics in the units of the new map.

    While the map is still being made from the first rows, the prior is that of the newest map.
    """
    own, params = present(state.gaussians), config.gaussian
    _restart_inputs(own, change.features[change.is_wild], params)
    change = change.without_wild()
    if not change.features.size:
        return
    n = own.centers.shape[2]
    lines = 2 * np.arange(n) + 1
    basis = chebyshev_basis(change, own.input_mask[0], lines, lines + 1)
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
    from devfnn.kernels.gaussian import decouple_input

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


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """Active rules of a layer, and numbers that define their centres, covariances, consequents."""
    own = present(state.gaussians)
    n, m = int(own.n_inputs[layer, 0]), own.class_weights.shape[1]
    count = int(np.count_nonzero(own.status[layer] == ACTIVE))
    return count, count * (n + n * n + (2 * n + 1) * m)


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """Every rule measures its distance and says its outputs; to learn, its matrix moves twice."""
    own, m = present(state.gaussians), state.progress.label_shares.size
    count, n = counts_of(state, layer)[0], int(own.n_inputs[layer, 0])
    size = 2 * n + 1
    say = CALL + count * ((n * n + m * size) * PRODUCT + EXPONENTIAL) + m * EXPONENTIAL
    learn = count * (2 * size + m) * size * PRODUCT + n**3 * PRODUCT
    return Cost(say, CALL + say + learn)


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """Every rule of a layer, active or archived."""
    own, params = present(state.gaussians), config.gaussian
    n_inputs, n_features = int(own.n_inputs[layer, 0]), units.all_lows.size
    used = np.flatnonzero(own.input_mask[layer, :n_inputs])
    names = units.input_names(n_inputs)
    lows, widths = (each[used] for each in units.input_maps(n_inputs))
    slots = np.flatnonzero(own.status[layer] != FREE)
    _, said = _at_centers(own, layer, slots, own.input_mask[layer, :n_inputs], n_features)
    for slot, outputs in zip(slots.tolist(), said, strict=True):
        shares = _shares(outputs, params)
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
            ranges=np.stack([lows, lows + widths], axis=1),
            age=int(own.ages[layer, slot]),
            firing_share=utility if utility >= 0.0 else None,
            slopes=2.0 * own.consequents[layer, slot][:, 2 * used + 1].T,
        )


def _at_centers(
    own: GaussianState, layer: int, rules: Ints, is_there: Flags, n_features: int
) -> tuple[Floats, Floats]:
    """Centres of rules (r, n) in [-1, 1] units, clipped like rows, and what they say there (r, m).

    is_there: (n,) other inputs count for 0
    """
    n = is_there.size
    reach = np.where(np.arange(n) < n_features, CLIP, 0.0)
    usual = 2.0 * np.clip(own.centers[layer, rules, :n], -reach, 1.0 + reach) - 1.0
    weights = own.consequents[layer, rules]
    terms = _terms(weights, is_there, usual, 2.0 * usual * usual - 1.0)
    return usual, weights[:, :, 0] + terms.sum(axis=2)


def _terms(weights: Floats, is_there: Flags, line: Floats, curve: Floats) -> Floats:
    """What every input adds to what rules say (r, m, n), by its line and curve (r, n)."""
    n = is_there.size
    line, curve = np.where(is_there, line, 0.0), np.where(is_there, curve, 0.0)
    terms: Floats = weights[:, :, 1 : 2 * n + 1 : 2] * line[:, None]
    terms += weights[:, :, 2 : 2 * n + 2 : 2] * curve[:, None]
    return terms


def _shares(outputs: Floats, params: Gaussian) -> Floats:
    """Outputs as class probabilities; of least squares negative ones count as 0."""
    if params.consequent == "logistic":
        return softmax(outputs)
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
    own, params = present(state.gaussians), config.gaussian
    inputs = inputs[: int(own.n_inputs[layer, 0])]
    n, kind = inputs.size, output_kind(params)
    rules: Ints = np.flatnonzero(own.status[layer] == ACTIVE)
    is_there: Flags = own.input_mask[layer, :n] & ~np.isnan(inputs)
    strengths = _strengths(own, layer, rules, np.where(is_there, inputs, np.nan))
    usual, usually = _at_centers(own, layer, rules, is_there, row.size)
    here = 2.0 * inputs - 1.0
    curve = 2.0 * (here * here - usual * usual)
    parts = _terms(own.consequents[layer, rules], is_there, here - usual, curve)
    bias = (strengths[:, None] * usually).sum(axis=0)
    if kind == SCORES and not rules.size:
        bias += 1.0 / bias.size
    contributions = (strengths[:, None, None] * parts).sum(axis=0).T
    output = bias + contributions.sum(axis=0)
    order = np.argsort(-strengths, kind="stable")
    pairs = zip(rules[order].tolist(), strengths[order].tolist(), strict=True)
    fired = tuple(FiredRule(*pair) for pair in pairs)
    shares = votes = _shares(output, params)
    raw = output if kind == SCORES else shares
    if kind == LOGITS:
        bias, contributions = within_reason(bias, contributions)
    if getattr(config.voting, "ballots", "soft") == "hard":
        votes = np.eye(raw.size)[raw.argmax()]
    return Said(kind, bias, contributions, fired, shares, votes), raw


def output_kind(params: Gaussian) -> str:
    """What the outputs of gaussian layers are."""
    return LOGITS if params.consequent == "logistic" else SCORES


def _strengths(own: GaussianState, layer: int, rules: Ints, inputs: Floats) -> Floats:
    """How strongly rules fire; absent inputs lie on the centre."""
    if rules.size < 2:
        return np.ones(rules.size)
    n = inputs.size
    offsets = np.where(np.isnan(inputs), 0.0, inputs - own.centers[layer, rules, :n])
    pulls = np.matmul(offsets[:, None, :], own.inverse_covs[layer, rules, :n, :n])[:, 0]
    distances = np.maximum((pulls * offsets).sum(axis=1), 0.0)
    firing: Floats = np.exp(-0.5 * (distances - distances.min()))
    firing /= firing.sum()
    return firing


# ---- whether numbers from a file can be those of a model


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise."""
    own = present(state.gaussians)
    n_inputs, is_rule = input_counts(own), own.status != FREE
    fits = np.array_equal(own.n_inputs[:, 0], n_inputs)
    yield fits, "the numbers of inputs of the layers do not fit the shape"
    is_own = np.arange(own.centers.shape[2]) < n_inputs[:, None]
    variances = np.einsum("lrii->lri", own.covs)[is_rule[:, :, None] & is_own[:, None, :]]
    yield (variances > 0.0).all(), "a gaussian rule has a variance that is not positive"


# ---- parameters for kernels


def params(config: "Config", n_inputs: int) -> GaussianParams:
    """What kernels need, for layers of at most `n_inputs` inputs."""
    own, labels = config.gaussian, config.labels
    is_evolving = own.rules == "evolving"
    numbers: GaussianParams = numbers_for(
        GaussianParams,
        (own, labels),
        logistic=own.consequent == "logistic",
        chooses_rows=labels.choice == "layer",
        exploration=float(labels.exploration * labels.budget),
        grow_rules=own.growing and is_evolving,
        recall_rules=own.recall and own.pruning and is_evolving,
        log_vigilance=math.log(max(own.vigilance, 1e-300)),
        tuning=["off", "covered", "published"].index(own.tuning),
        coverage=chi_square_radii(own.coverage, n_inputs),
        singles=np.array([layer.single_rule for layer in config.layers]),
    )
    return numbers


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
