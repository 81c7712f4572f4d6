"""Layer merging: of two layers with the same output, the weaker is left out.

Two forms. By compression (paper: section "Hidden Layer Merging Mechanism"): variances and
covariances of the outputs are kept over chunks for every pair of layers, from the birth of the
younger one on. By disagreement: kept layers that differ on too few rows; the worse is dropped.
"""

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from devfnn.arrays import Flags, Floats
from devfnn.events import Event, LayerDropped, LayersMerged
from devfnn.kernels.state import NO_LAYER
from devfnn.model.config import ByCompression, ByDisagreement
from devfnn.model.layout import Field, carry_over, make, present
from devfnn.model.mechanisms.feature_mask import compression_index

if TYPE_CHECKING:
    from devfnn.model.network import Network

LEAST_VARIANCE = 1e-9
"""A layer whose output varies less than this matches no other."""

LEAST_CHUNKS = 2
"""Chunks behind a pair of layers: in its first, a newborn is still what it was made from."""

LEAST_MEMORIES = 2.0
"""Rows on which kept layers were compared, in `voting.rows`: their fading disagreement, which
starts at 0, has then reached 86 % of its level."""


class OutputStats(NamedTuple):
    """Moments of the outputs of layer i while layer j lived too: arrays (L, L, ...)."""

    chunks: Floats  # (L, L) chunks behind a pair
    weights: Floats  # (L, L)
    means: Floats  # (L, L, m)
    variances: Floats  # (L, L, m)
    covs: Floats  # (L, L, m) symmetric in the first two axes


LAYOUT = {
    "chunks": Field("L L", 0.0, 0.0),
    "weights": Field("L L", 0.0, 0.0),
    "means": Field("L L m", 0.0),
    "variances": Field("L L m", 0.0),
    "covs": Field("L L m", 0.0),
}


def empty_output_stats(n_layers: int, n_classes: int) -> OutputStats:
    """Statistics of nothing."""
    return OutputStats(**make(LAYOUT, {"L": n_layers, "m": n_classes}))


def resized_output_stats(stats: OutputStats, n_layers: int, n_classes: int) -> OutputStats:
    """A larger copy."""
    fresh = empty_output_stats(n_layers, n_classes)
    carry_over(LAYOUT, stats._asdict(), fresh._asdict(), {})
    return fresh


def update_output_stats(
    stats: OutputStats, outputs: Floats, is_merged: Flags, memory: float
) -> None:
    """Take the outputs of a chunk (k, L, m) into the statistics of all live pairs."""
    live = np.flatnonzero(~is_merged)
    pairs, n_rows = np.ix_(live, live), len(outputs)
    means = outputs[:, live].mean(axis=0)
    centred = outputs[:, live] - means
    past = memory * stats.weights[pairs]
    share = (n_rows / (past + n_rows))[:, :, None]
    keep, moved = 1.0 - share, means[:, None] - stats.means[pairs]
    variances = (centred**2).mean(axis=0)[:, None]
    variances = keep * stats.variances[pairs] + share * variances + keep * share * moved**2
    covs = (centred[:, :, None] * centred[:, None]).mean(axis=0)
    covs = keep * stats.covs[pairs] + share * covs + keep * share * moved * moved.swapaxes(0, 1)
    covs *= np.tri(live.size, k=-1).T[:, :, None]  # pairs i < j, and the same for j, i
    stats.variances[pairs], stats.covs[pairs] = variances, covs + covs.swapaxes(0, 1)
    stats.means[pairs] += share * moved
    stats.weights[pairs] = past + n_rows
    stats.chunks[pairs] += 1


def redundant_pair(
    stats: OutputStats, is_merged: Flags, threshold: float, n_rivals: int = 0
) -> tuple[int, int, float] | None:
    """The two live layers most alike, if they are alike enough; a pair needs two chunks.

    The first `n_rivals` layers are not compared with each other.
    """
    live = np.flatnonzero(~is_merged)
    best: tuple[int, int, float] | None = None
    for i, j in itertools.combinations(live.tolist(), 2):
        first, second = stats.variances[i, j], stats.variances[j, i]
        has_varied = min(first.max(), second.max()) >= LEAST_VARIANCE
        if j >= n_rivals and stats.chunks[i, j] >= LEAST_CHUNKS and has_varied:
            index = float(compression_index(first, second, stats.covs[i, j]).max())
            if index < (best[2] if best else threshold):
                best = (i, j, index)
    return best


def merge_layers(network: "Network", outputs: Floats) -> list[Event]:
    """Leave out layers that repeat another. outputs: (k, L, m) of the rows since the last step"""
    merging = network.config.merging
    if isinstance(merging, ByCompression):
        return _merge_by_outputs(network, outputs, merging)
    return _merge_kept(network, present(merging))


def _merge_by_outputs(network: "Network", outputs: Floats, merging: ByCompression) -> list[Event]:
    """The weaker of two goes, unless it is one that always learns: these are rivals, not copies."""
    layers, stats = network.state.layers, present(network.output_stats)
    update_output_stats(stats, outputs, layers.is_merged, merging.memory)
    events, config = list[Event](), network.config
    n_rivals = len(config.layers) if config.training == "configured" else 0
    while pair := redundant_pair(stats, layers.is_merged, merging.threshold, n_rivals):
        first, second, index = pair
        is_weaker = layers.voting_weights[first] < layers.voting_weights[second]
        kept, dropped = (second, first) if is_weaker and first >= n_rivals else (first, second)
        layers.is_merged[dropped] = True
        events.append(LayersMerged(network.n_rows, kept, dropped, index, merging.threshold))
    if events:
        network.switch_inputs()
    return events


def _merge_kept(network: "Network", merging: ByDisagreement) -> list[Event]:
    """Drop kept layers that predict the same as another; the worse of the two goes."""
    from devfnn.kernels.boxes import drop_layer

    layers, pool = network.state.layers, network.state.pool
    events, rows = list[Event](), LEAST_MEMORIES * network.params.vote_rows
    n_configured = len(network.config.layers)
    kept = n_configured + np.flatnonzero(layers.kinds[n_configured:] != NO_LAYER)
    for first, second in itertools.combinations(kept.tolist(), 2):
        share, are_there = float(layers.disagreements[first, second]), layers.kinds != NO_LAYER
        is_known = are_there[[first, second]].all() and layers.compared[first, second] >= rows
        if is_known and share < merging.share:
            worse = first if layers.scores[first] < layers.scores[second] else second
            facts = (worse, "differs in too few rows", share, merging.share, first + second - worse)
            events.append(LayerDropped(network.n_rows, *facts))
            drop_layer(layers, pool, worse)
    return events
