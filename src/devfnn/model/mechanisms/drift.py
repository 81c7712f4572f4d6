"""Drift detection on the 0/1 errors of the network.

Paper: section "Hidden Layer Growing Mechanism". Two tests:

`chunk`, the printed one: inside one chunk, the cut is the first row where the errors so far are at
least as frequent as in the whole chunk. So the rest of the chunk can only be better, a rising error
rate is never seen, and the one-sided variant never fires (a test shows it).

`stream`, ours: errors since the last drift; the cut is where the error rate was lowest, and the
bound knows that the variance of rare errors is small (Bernstein's inequality instead of
Hoeffding's).
"""

import dataclasses
import enum
import math
from typing import TYPE_CHECKING

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import CUT_ROWS
from devfnn.model.layout import present

if TYPE_CHECKING:
    from devfnn.model.network import Network


class Level(enum.Enum):
    """Outcome of a drift test."""

    STABLE = "stable"
    WARNING = "warning"
    DRIFT = "drift"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The outcome of a test with the numbers behind it; `cut` counts rows."""

    level: Level
    error_before: float = 0.0
    error_after: float = 0.0
    bound: float = 0.0
    cut: int = 0


def hoeffding_bound(span: float, n_rows: int, significance: float) -> float:
    """Gap between a sample mean and the true mean that chance can explain.

    >>> round(hoeffding_bound(span=1.0, n_rows=200, significance=0.05), 4)
    0.0865
    """
    return span * math.sqrt(math.log(1.0 / significance) / (2.0 * n_rows))


def dynamic_significance(n_chunks: int, horizon: float, cap: float) -> float:
    """Level that rises with the number of chunks seen, up to the cap (paper: alpha).

    >>> dynamic_significance(1, 200.0, 0.1) < dynamic_significance(20, 200.0, 0.1) < 0.1
    True
    """
    return max(min(-math.expm1(-max(n_chunks, 1) / horizon), cap), 1e-300)


def drift_in_chunk(
    errors: Ints, drift_significance: float, warning_significance: float, one_sided: bool
) -> Verdict:
    """The printed test on the errors of one chunk."""
    n_rows = errors.size
    whole = errors.mean() if n_rows else 0.0
    span = float(np.ptp(errors)) if n_rows else 0.0
    counts = np.arange(1, n_rows + 1)
    means = np.cumsum(errors) / counts
    spans = (means > 0.0) & (means < 1.0)
    slack = np.sqrt(math.log(1.0 / drift_significance) / (2.0 * counts))
    is_cut = means + spans * slack >= whole + span * slack
    cuts = np.flatnonzero(is_cut[1:-1]) + 2  # 1 < cut < n_rows
    if not cuts.size or span == 0.0:
        return Verdict(Level.STABLE)
    cut = int(cuts[0])
    facts = (float(means[cut - 1]), float(errors[cut:].mean()), cut)
    levels = (drift_significance, warning_significance)
    bounds = [hoeffding_bound(span, cut, level) for level in levels]
    return _judge(facts, bounds[0], bounds[1], one_sided)


def _judge(
    facts: tuple[float, float, int], drift_bound: float, warning_bound: float, one_sided: bool
) -> Verdict:
    """Compare the rise of the error rate with both bounds."""
    before, after, cut = facts
    gap = after - before if one_sided else abs(after - before)
    if gap > drift_bound:
        return Verdict(Level.DRIFT, before, after, drift_bound, cut)
    if gap > warning_bound:
        return Verdict(Level.WARNING, before, after, warning_bound, cut)
    return Verdict(Level.STABLE, before, after, drift_bound, cut)


def drift_in_stream(
    track: Ints,
    errors: Ints,
    drift_significance: float,
    warning_significance: float,
    one_sided: bool,
) -> Verdict:
    """The test over the stream; a drift resets the statistics. track: `Progress.errors`"""
    from devfnn.kernels.drift import note_errors

    note_errors(track, errors, drift_significance)
    verdict = judge_stream(track, drift_significance, warning_significance, one_sided)
    if verdict.level is Level.DRIFT:
        track[:] = 0
    return verdict


def judge_stream(
    track: Ints | Floats, drift_significance: float, warning_significance: float, one_sided: bool
) -> Verdict:
    """Compare the errors after the cut with those before. track: as `Progress.errors`"""
    from devfnn.kernels.drift import compare_errors

    before, after, drift_bound = compare_errors(track, math.log(1.0 / drift_significance))
    if drift_bound == math.inf:
        return Verdict(Level.STABLE)
    _, _, warning_bound = compare_errors(track, math.log(1.0 / warning_significance))
    return _judge((before, after, int(track[CUT_ROWS])), drift_bound, warning_bound, one_sided)


def find_drift(network: "Network", errors: Ints) -> Verdict:
    """Test the errors since the last structural step, as configured."""
    drift = present(network.config.drift)
    levels = [drift.significance, drift.warning or drift.significance]
    if drift.horizon is not None:
        n, horizon = network.n_chunks, drift.horizon
        levels = [dynamic_significance(n, horizon, cap) for cap in levels]
    if drift.test == "chunk":
        return drift_in_chunk(errors, levels[0], levels[1], drift.one_sided)
    track = network.state.progress.errors
    return drift_in_stream(track, errors, levels[0], levels[1], drift.one_sided)
