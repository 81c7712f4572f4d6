"""What the layers of a concept network say of one row, and why; see `model/explaining.py`.

Lines, curves and boxes: a feature contributes the difference between its terms at the row and at
the mean of the rows of the rule that fires.

Clouds: every class has the density of its clouds in reach, and all have the same doubt on top, so
that the log of the sum is the log probability, up to what all classes share. Contributions are of
the log density of all clouds of the class, in reach or not, such that they also tell why a class is
out of reach: the difference between the row and the mean of all clouds by their mass, in what a
feature adds to the clouds of the class, by their shares at the row. The bias holds what they add at
that mean, masses and widths of the clouds, the doubt, and the rest.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    CLOUDS,
    FIRST_KEPT,
    LIVELY_CURVE,
    NO_LAYER,
    QUICK_LINE,
    STEADY_LINE,
    Concepts,
)
from devfnn.kernels.state import Flags, Floats, Ints
from devfnn.model.concepts.inputs import layer_inputs
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.concepts.rules import NO_SAY
from devfnn.model.config import Config
from devfnn.model.explaining import LOG_PROBABILITIES, LOGITS, FiredRule, LayerReasons, softmax
from devfnn.scaling import CLIP

LAYER_KINDS = {
    QUICK_LINE: "quick line",
    BRISK_LINE: "brisk line",
    STEADY_LINE: "steady line",
    LIVELY_CURVE: "lively curve",
    CALM_CURVE: "calm curve",
    BOX_LAYER: "boxes",
    CLOUD_LAYER: "clouds",
}
"""What the layers of a concept network are that are always there."""

DOUBT, OUT_OF_REACH = 0.02, 10.0
"""As in `kernels/clouds.py`: probability spread over all classes; log density that counts as 0."""


def kind_of(state: Concepts, layer: int) -> str:
    """What a layer is, in words."""
    if layer < FIRST_KEPT:
        return LAYER_KINDS[layer]
    return "kept boxes" if state.kinds[layer] == BOXES else "kept line"


def state_of(state: Concepts, layer: int, share: float) -> str:
    """Whether a layer votes, waits for its concept, or rests."""
    if state.rests[layer] > 0:
        return "rests"
    return "waits" if layer >= FIRST_KEPT and share < NO_SAY else "votes"


def reasons_of(
    network: ConceptNetwork, X: Floats, names: Sequence[str], config: Config
) -> list[LayerReasons]:
    """What every layer says of the only row of X, and why."""
    from devfnn.kernels import concepts

    state, row = network.state, layer_inputs(network, X, config)[0]
    shares = np.zeros(state.kinds.size)
    concepts.voting_shares(state, config.habits(), shares)
    said = _said_by_all(state, row)
    output = said.bias + said.contributions.sum(axis=1)
    probabilities = np.where(said.speaks[:, None], softmax(output), 0.0)
    inputs = tuple(names)
    return [
        LayerReasons(
            layer=layer,
            kind=kind_of(state, layer),
            state=state_of(state, layer, shares[layer]),
            voting_weight=float(shares[layer]),
            fired=said.fired.get(layer, ()),
            output_is=LOG_PROBABILITIES if layer == CLOUD_LAYER else LOGITS,
            inputs=inputs,
            bias=said.bias[layer],
            contributions=said.contributions[layer],
            output=output[layer],
            probabilities=probabilities[layer],
            votes=probabilities[layer],
        )
        for layer in (state.kinds != NO_LAYER).nonzero()[0].tolist()
    ]


class _Said(NamedTuple):
    """What all places for layers say; zeros for those that say nothing."""

    speaks: Flags  # (L,)
    bias: Floats  # (L, m)
    contributions: Floats  # (L, n, m)
    fired: dict[int, tuple[FiredRule, ...]]


def _said_by_all(state: Concepts, row: Floats) -> _Said:
    """What the layers that do not rest say."""
    n_layers, n_classes = state.kinds.size, state.weights.shape[1]
    speaks: Flags = (state.kinds != NO_LAYER) & (state.rests == 0)
    bias = np.zeros((n_layers, n_classes))
    contributions = np.zeros((n_layers, row.size, n_classes))
    ruled = speaks & (state.kinds != CLOUDS)
    layers = ruled.nonzero()[0].tolist()
    rules = [holding_rule(state, layer, row) for layer in layers]
    bias[layers], contributions[layers] = _of_rules(state, rules, state.kinds[layers], row)
    fired: dict[int, tuple[FiredRule, ...]] = {
        layer: (FiredRule(rule, 1.0),) for layer, rule in zip(layers, rules, strict=True)
    }
    if speaks[CLOUD_LAYER]:
        own = _of_clouds(state, row, n_classes)
        bias[CLOUD_LAYER], contributions[CLOUD_LAYER], fired[CLOUD_LAYER] = own
    return _Said(speaks, bias, contributions, fired)


def _of_rules(state: Concepts, rules: list[int], kinds: Ints, row: Floats) -> tuple[Floats, Floats]:
    """The bias (r, m) and contributions (r, n, m) of lines, curves and boxes. kinds: (r,)"""
    n, weights, is_there = row.size, state.weights[rules], ~np.isnan(row)
    is_curved = is_there & (kinds == BOXES)[:, None]
    here, usual = 2.0 * row - 1.0, 2.0 * np.clip(state.means[rules], -CLIP, 1.0 + CLIP) - 1.0
    usually = np.ones((len(rules), 2 * n + 1))
    usually[:, 1 : 1 + n] = np.where(is_there, usual, 0.0)
    usually[:, 1 + n :] = np.where(is_curved, 2.0 * usual * usual - 1.0, 0.0)
    line = np.where(is_there, here - usual, 0.0)
    curve = np.where(is_curved, 2.0 * (here * here - usual * usual), 0.0)
    parts = weights[:, :, 1 : 1 + n] * line[:, None] + weights[:, :, 1 + n :] * curve[:, None]
    return (weights @ usually[:, :, None])[:, :, 0], parts.swapaxes(1, 2)


def holding_rule(state: Concepts, layer: int, row: Floats) -> int:
    """The rule whose box holds the row; absent features lie in every box, as in the kernel."""
    members = state.members[layer, : state.n_members[layer]]
    if members.size > 1:
        is_out = (row <= state.lows[members]) | (row > state.highs[members])
        holds = ~is_out.any(axis=1)
        return int(members[holds.argmax()])  # the first rule if there is none
    return int(members[0])


def _of_clouds(
    state: Concepts, row: Floats, n_classes: int
) -> tuple[Floats, Floats, tuple[FiredRule, ...]]:
    """The bias (m,), contributions (n, m) and fired rules of the clouds."""
    count = int(state.n_clouds[0])
    bias, contributions = np.zeros(n_classes), np.zeros((row.size, n_classes))
    if not count:
        return bias, contributions, ()
    centers, spreads = state.cloud_centers[:, :count], state.cloud_spreads[:count]
    is_there = ~np.isnan(row)
    away = np.where(is_there[:, None], row[:, None] - centers, 0.0)
    heights = state.cloud_heights[:count] - 0.5 * (away * away).sum(axis=0) / spreads
    densities = np.exp(heights - heights.max())
    densities[heights.max() - heights >= OUT_OF_REACH] = 0.0
    densities /= densities.sum()
    labels = state.cloud_labels[:count]
    shares = np.bincount(labels, densities, n_classes)
    output = np.log((1.0 - DOUBT) * shares + DOUBT / n_classes)
    masses = state.cloud_masses[:count]
    usual = centers @ (masses / masses.sum())
    beyond = np.where(is_there, row - usual, 0.0)
    for own in np.unique(labels).tolist():
        clouds = np.flatnonzero(labels == own)
        pulls = softmax(heights[clouds]) / spreads[clouds]
        middle = np.where(is_there, 0.5 * (row + usual), 0.0)
        contributions[:, own] = beyond * (centers[:, clouds] @ pulls - middle * pulls.sum())
    bias[:] = output - contributions.sum(axis=0)
    order = np.argsort(-densities, kind="stable")[: np.count_nonzero(densities)].tolist()
    return bias, contributions, tuple(FiredRule(c, float(densities[c])) for c in order)
