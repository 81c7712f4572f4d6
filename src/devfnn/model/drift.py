"""Drift detection on the 0/1 errors of the network.

Paper: section "Hidden Layer Growing Mechanism". Two tests:

`chunk`, the printed one: inside one chunk, the cut is the first row where the errors so far are at
least as frequent as in the whole chunk. So the rest of the chunk can only be better, a rising error
rate is never seen, and the one-sided variant never fires (`tests/model/test_drift.py` shows it).

`stream`, ours: errors since the last drift; the cut is where the error rate was lowest, and the
bound knows that the variance of rare errors is small (Bernstein's inequality instead of
Hoeffding's).
"""

import dataclasses
import enum
import math

import numpy as np

from devfnn.kernels.state import Floats, Ints
from devfnn.model.config import Config


class Level(enum.Enum):
    """What the errors say."""

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
    """Gap between a sample mean and the true mean that chance alone still explains.

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
    before, after = float(means[cut - 1]), float(errors[cut:].mean())
    gap = after - before if one_sided else abs(after - before)
    return _judge(
        gap,
        (before, after, cut),
        hoeffding_bound(span, cut, drift_significance),
        hoeffding_bound(span, cut, warning_significance),
    )


def _judge(
    gap: float, facts: tuple[float, float, int], drift_bound: float, warning_bound: float
) -> Verdict:
    """Compare the gap with both bounds."""
    before, after, cut = facts
    if gap > drift_bound:
        return Verdict(Level.DRIFT, before, after, drift_bound, cut)
    if gap > warning_bound:
        return Verdict(Level.WARNING, before, after, warning_bound, cut)
    return Verdict(Level.STABLE, before, after, drift_bound, cut)


def bernstein_bound(rate: float, n_before: int, n_after: int, significance: float) -> float:
    """Gap between two error rates that chance explains, given the pooled rate."""
    share = 1.0 / n_before + 1.0 / n_after
    log_level = math.log(1.0 / significance)
    variance = rate * (1.0 - rate)
    return math.sqrt(2.0 * variance * log_level * share) + log_level / (3.0 * n_after)


@dataclasses.dataclass
class ErrorTrack:
    """Errors since the last drift, and the point up to which they were rarest."""

    rows: int = 0
    errors: int = 0
    cut_rows: int = 0
    cut_errors: int = 0

    def extend(self, errors: Ints, significance: float) -> None:
        """Take in the errors of a chunk; the cut moves to wherever the bounded rate is lowest."""
        counts = self.rows + np.arange(1, errors.size + 1)
        totals = self.errors + np.cumsum(errors)
        slack = math.sqrt(math.log(1.0 / significance) / 2.0)
        uppers: Floats = totals / counts + slack / np.sqrt(counts)
        lowest = errors.size - 1 - int(np.argmin(uppers[::-1]))  # the last of equals
        stored = math.inf
        if self.cut_rows:
            stored = self.cut_errors / self.cut_rows + slack / math.sqrt(self.cut_rows)
        if uppers[lowest] <= stored:
            self.cut_rows, self.cut_errors = int(counts[lowest]), int(totals[lowest])
        self.rows, self.errors = int(counts[-1]), int(totals[-1])

    def verdict(
        self, drift_significance: float, warning_significance: float, one_sided: bool
    ) -> Verdict:
        """Compare the errors after the cut with those before."""
        n_after = self.rows - self.cut_rows
        if not n_after or not self.cut_rows:
            return Verdict(Level.STABLE)
        before = self.cut_errors / self.cut_rows
        after = (self.errors - self.cut_errors) / n_after
        rate = self.errors / self.rows
        gap = after - before if one_sided else abs(after - before)
        return _judge(
            gap,
            (before, after, self.cut_rows),
            bernstein_bound(rate, self.cut_rows, n_after, drift_significance),
            bernstein_bound(rate, self.cut_rows, n_after, warning_significance),
        )


def find_drift(errors: Ints, track: ErrorTrack, n_chunks: int, config: Config) -> Verdict:
    """Test the errors of a chunk as configured; a drift starts the track anew."""
    drift = dynamic_significance(n_chunks, config.horizon, config.drift_significance)
    warning = dynamic_significance(n_chunks, config.horizon, config.warning_significance)
    if config.drift_test == "chunk":
        return drift_in_chunk(errors, drift, warning, config.drift_one_sided)
    track.extend(errors, drift)
    verdict = track.verdict(drift, warning, config.drift_one_sided)
    if verdict.level is Level.DRIFT:
        track.rows = track.errors = track.cut_rows = track.cut_errors = 0
    return verdict
