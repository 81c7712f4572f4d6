"""What the layers of a stacked network say of one row, and why; see `model/explaining.py`.

An input contributes the mean, over the rules that fire, of the difference between its terms at the
row and at the centre of each rule.
"""

import itertools
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from devfnn.kernels.state import ACTIVE, Flags, Floats, Ints
from devfnn.model.config import Config
from devfnn.model.explaining import (
    LOG_PROBABILITIES,
    LOGITS,
    SCORES,
    FiredRule,
    LayerReasons,
    softmax,
)
from devfnn.model.inputs import scaled
from devfnn.model.network import Network
from devfnn.model.stacked_rules import Names
from devfnn.scaling import CLIP

LEAST_FIRING = 1e-3
"""With `normalisation="floor"`, a total of firing strengths that is read as 1."""

TINY = 1e-300


class _Said(NamedTuple):
    """What a layer says."""

    bias: Floats  # (m,)
    contributions: Floats  # (n, m)
    fired: tuple[FiredRule, ...]
    raw: Floats  # (m,) as later layers take it in


def reasons_of(
    network: Network, X: Floats, labels: Sequence[Hashable], names: Sequence[str], config: Config
) -> list[LayerReasons]:
    """What every layer says of the only row of X, and why."""
    layers, shape = network.layers, network.shape
    all_names = list(itertools.islice(Names(labels, names).inputs(), shape.inputs))
    row = np.full(shape.inputs + shape.classes, np.nan)
    row[: shape.features] = scaled(network, X, config)[0]
    weights = np.where(layers.is_merged, 0.0, layers.voting_weights)
    weights = weights / weights.sum()
    reasons = []
    for layer in range(shape.layers):
        n, is_merged = int(layers.n_inputs[layer, 0]), bool(layers.is_merged[layer])
        said = _nothing(n, shape.classes) if is_merged else _say(network, layer, row[:n], config)
        if not is_merged:
            start = shape.features + layer * shape.classes
            row[start : start + shape.classes] = np.clip(said.raw, 0.0, 1.0)
        output = said.bias + said.contributions.sum(axis=0)
        probabilities = np.zeros_like(output) if is_merged else _shares(output, config)
        reasons.append(
            LayerReasons(
                layer=layer,
                kind="rules",
                state="merged" if is_merged else "votes",
                voting_weight=float(weights[layer]),
                fired=said.fired,
                output_is=_output_is(config),
                inputs=tuple(all_names[:n]),
                bias=said.bias,
                contributions=said.contributions,
                output=output,
                probabilities=probabilities,
                votes=_votes(said.raw, probabilities, is_merged, config),
            )
        )
    return reasons


def _output_is(config: Config) -> str:
    """What the outputs of the layers are."""
    if config.consequent == "least_squares":
        return SCORES
    return LOGITS if config.mixing == "logits" else LOG_PROBABILITIES


def _nothing(n_inputs: int, n_classes: int) -> _Said:
    """No word."""
    none = np.zeros(n_classes)
    return _Said(none, np.zeros((n_inputs, n_classes)), (), none)


def _raw(output: Floats, config: Config) -> Floats:
    """The output of a layer as later layers take it in."""
    if config.consequent == "least_squares":
        return output
    return softmax(output) if config.mixing == "logits" else np.exp(output)


def _shares(output: Floats, config: Config) -> Floats:
    """The output of a layer as probabilities."""
    if config.consequent == "logistic":
        return softmax(output)
    positive = np.maximum(output, 0.0)
    total = positive.sum()
    return positive / total if total > 0.0 else np.full(output.size, 1.0 / output.size)


def _votes(raw: Floats, probabilities: Floats, is_merged: bool, config: Config) -> Floats:
    """What a layer puts into the vote."""
    if config.vote == "soft" or is_merged:
        return probabilities
    votes = np.zeros_like(raw)
    votes[raw.argmax()] = 1.0
    return votes


def _say(network: Network, layer: int, inputs: Floats, config: Config) -> _Said:
    """The output of one layer, taken apart. inputs: (n,)"""
    layers, n, m = network.layers, inputs.size, network.shape.classes
    rules: Ints = np.flatnonzero(layers.status[layer] == ACTIVE)
    if not rules.size:
        bias = np.full(m, 1.0 / m if config.consequent == "least_squares" else 0.0)
        return _Said(bias, np.zeros((n, m)), (), np.full(m, 1.0 / m))
    is_there: Flags = layers.input_mask[layer, :n] & ~np.isnan(inputs)
    strengths = _strengths(network, layer, rules, np.where(is_there, inputs, np.nan), config)
    if _output_is(config) == LOG_PROBABILITIES and not strengths.any():
        return _nothing(n, m)
    weights = layers.consequents[layer, rules]  # (r, m, p)
    usually, parts = _terms(weights, _centers(network, layer, rules, n), inputs, is_there)
    shares, rest = strengths[:, None], np.zeros(m)
    if _output_is(config) == LOG_PROBABILITIES:
        shares, rest = _mixed(usually + parts.sum(axis=2), strengths)
    bias = rest + (shares * usually).sum(axis=0)
    contributions = (shares[:, :, None] * parts).sum(axis=0).T
    output = bias + contributions.sum(axis=0)
    order = np.argsort(-strengths, kind="stable")
    pairs = zip(rules[order].tolist(), strengths[order].tolist(), strict=True)
    fired = tuple(FiredRule(*pair) for pair in pairs)
    return _Said(bias, contributions, fired, _raw(output, config))


def _centers(network: Network, layer: int, rules: Ints, n: int) -> Floats:
    """Centres (r, n) of rules, clipped as inputs are."""
    reach = np.where(np.arange(n) < network.shape.features, CLIP, 0.0)
    centers: Floats = np.clip(network.layers.centers[layer, rules, :n], -reach, 1.0 + reach)
    return centers


def _terms(
    weights: Floats, centers: Floats, inputs: Floats, is_there: Flags
) -> tuple[Floats, Floats]:
    """What rules say at their centres (r, m), and what inputs add beyond them (r, m, n).

    weights: (r, m, p) · centers: (r, n) · inputs, is_there: (n,) those that are not count for 0
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


def _strengths(network: Network, layer: int, rules: Ints, inputs: Floats, config: Config) -> Floats:
    """How strongly rules fire; absent inputs lie on the centre."""
    has_floor = config.normalisation == "floor"
    if rules.size == 1 and not has_floor:
        return np.ones(1)
    layers, n = network.layers, inputs.size
    offsets = np.where(np.isnan(inputs), 0.0, inputs - layers.centers[layer, rules, :n])
    inverses = layers.inverse_covs[layer, rules, :n, :n]
    pulls = np.matmul(offsets[:, None, :], inverses)[:, 0]
    distances = np.maximum((pulls * offsets).sum(axis=1), 0.0)
    nearest = 0.0 if has_floor else distances.min()
    firing: Floats = np.exp(-0.5 * (distances - nearest))
    total = firing.sum()
    firing /= 1.0 if has_floor and total < LEAST_FIRING else total
    return firing
