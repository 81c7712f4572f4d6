"""Slow parts of the twin: a rule, a cloud, a layer, errors, repeats, the label budget."""

import dataclasses

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega

from devfnn.arrays import Floats
from devfnn.kernels.state import ANSWERED
from reference import softmax

DOUBT, NEGLIGIBLE, OUT_OF_REACH = 0.02, 0.01, 10.0
FIRST_MASS, LEAST_MASS, MASS_OF_ROW = 0.02, 1e-3, 0.025
FIRST_SPREAD, LEAST_SPREAD = 0.02, 1e-5
FADE_EVERY, DRIFT_EVERY = 64, 50
SHARE_RATE, GRACE_ROWS = 1e-4, 10000

Line = tuple[int, int, int, int, int, tuple[float, ...]]


def halves(row: Floats) -> Floats:
    """[1, T1 of all features, T2 of all features] on [-1, 1]; absent features give 0. (p,)"""
    t = 2.0 * row - 1.0
    phi = np.concatenate([[1.0], t, 2.0 * t**2 - 1.0])
    phi[np.isnan(phi)] = 0.0
    return phi


def implicit_shares(said: Floats, label: int, reach: float) -> Floats:
    """The shares with shares = softmax(log said + reach * (target - shares)), exactly.

    Given the normaliser, every class has an equation of its own: omega + log omega = x.
    """
    if reach == 0.0:
        return said.copy()
    target = np.eye(said.size)[label]
    known = np.log(np.maximum(said, 1e-300)) + reach * target + np.log(reach)

    def shares(normaliser: float) -> Floats:
        return np.real(wrightomega(known - normaliser)) / reach

    low, high = known.min() - reach - 800.0, known.max() + 800.0
    root = brentq(lambda c: shares(c).sum() - 1.0, low, high, xtol=1e-13, rtol=1e-15, maxiter=500)
    return shares(root)


def learned_logistic(
    weights: Floats, gain: Floats, phi: Floats, label: int, rates: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Weights (m, q) and gain matrix (q, q) after a row; `rates` are its weight and the memory."""
    weight, memory = rates
    said = softmax(weights @ phi)
    pull = gain @ phi
    variance = float(phi @ pull)
    learned = implicit_shares(said, label, weight * variance)
    slopes = [1e-4, *(said * (1.0 - said)), *(learned * (1.0 - learned))]
    curvature = weight * max(slopes)
    target = np.eye(said.size)[label]
    moved = weights + weight * np.outer(target - learned, pull)
    shrunk = gain - np.outer(pull, pull) / (memory / curvature + variance)
    return moved, shrunk / memory


def capped(gain: Floats, caps: Floats) -> Floats:
    """The gain matrix with no variance over its cap; correlations stay."""
    factors = np.minimum(1.0, np.sqrt(caps / np.diag(gain)))
    return gain * np.outer(factors, factors)


def contrasts_of(n_contrasts: int, m: int) -> Floats:
    """The side (-1 or 1) of every class in every contrast: the bits of its number. (Q, m)"""
    return np.array([[1.0 if k & 2**q else -1.0 for k in range(m)] for q in range(n_contrasts)])


def cut_evidence(left: Floats, right: Floats) -> float:
    """What two steps explain over one. left, right: (Q, 2) sums of residuals and variances"""
    if min(left[:, 1].sum(), right[:, 1].sum()) < 20.0:
        return 0.0
    both = left + right
    gained = [part[:, 0] ** 2 / (part[:, 1] + 1.0) for part in (left, right, both)]
    return float((gained[0] + gained[1] - gained[2]).sum())


@dataclasses.dataclass
class SlowRule:
    """A rule of a line, a curve or boxes."""

    slot: int
    low: Floats
    high: Floats
    weights: Floats  # (m, p)
    gain: Floats  # (p, p)
    evidence: Floats  # (n, B, Q, 2)
    crossings: Floats  # (n, n, Q) symmetric, 0 on the diagonal
    age: int
    mean: Floats
    variance: Floats
    class_counts: Floats

    def holds(self, row: Floats) -> bool:
        """Whether every feature that is there lies in the box."""
        there = ~np.isnan(row)
        return bool(((row > self.low) & (row <= self.high))[there].all())

    def bins(self, j: int) -> Floats:
        """Bounds of the bins of a feature."""
        n_bins = self.evidence.shape[1]
        low, high = max(self.low[j], 0.0), min(self.high[j], 1.0)
        return low + (high - low) * np.arange(n_bins + 1) / n_bins

    def gather(self, row: Floats, label: int, said: Floats) -> None:
        """Add the residuals of a row to the bins it lies in."""
        sides = contrasts_of(self.evidence.shape[2], said.size)
        expected = sides @ said
        news = np.stack([sides[:, label] - expected, 1.0 - expected**2], axis=-1)
        for j in np.flatnonzero(~np.isnan(row)):
            inner = self.bins(j)[1:-1]
            self.evidence[j, (row[j] >= inner).sum()] += news
        signs = np.where(np.isnan(row), 0.0, np.where(row > self.mean, 1.0, -1.0))
        turned = np.outer(signs, signs) * (1.0 - np.eye(row.size))
        self.crossings += turned[..., None] * (sides[:, label] - expected)

    def crossed(self) -> Floats:
        """Evidence of all pairs of features, less what the best of so many has by luck. (n, n)"""
        variances = self.evidence[..., 1].sum(axis=1)
        larger = np.maximum(variances[:, None], variances[None]) + 1.0
        n, common = len(variances), self.evidence[:, None, :, :, 0].sum(axis=2)
        turned = (self.crossings**2 - common**2) / larger
        return turned.sum(axis=-1) - 2.0 * np.log(max(n * (n - 1) / 2, 1.0))

    def middle(self, j: int) -> tuple[float, float, int]:
        """The cut nearest to the mean of a feature: its step, what both sides saw, its bin."""
        inner = self.bins(j)[1:-1]
        place = int(np.abs(inner - self.mean[j]).argmin())
        bins = self.evidence[j]
        left, right = bins[: place + 1].sum(axis=0), bins[place + 1 :].sum(axis=0)
        seen = min(left[:, 1].sum(), right[:, 1].sum())
        return max(cut_evidence(left, right), 0.0), float(seen), place

    def best_cut(self) -> tuple[float, int, int]:
        """Evidence, feature and last bin on the left of the best cut, the first of equals.

        Where two features cross, that with less of a step is cut.
        """
        best = self.best_step()
        pairs = [(j, k) for j in range(len(self.evidence)) for k in range(j)]
        if not pairs:
            return best
        crossed = self.crossed()
        pair = max(pairs, key=lambda pair: crossed[pair])
        cuts = [(*self.middle(j), j) for j in pair]
        cuts = sorted((cut for cut in cuts if cut[1] >= 20.0), key=lambda cut: cut[0])
        if crossed[pair] > best[0] and cuts:
            _, _, place, feature = cuts[0]
            return float(crossed[pair]), feature, place
        return best

    def best_step(self) -> tuple[float, int, int]:
        """The best cut for a step in one feature."""
        best = (0.0, -1, -1)
        for j, bins in enumerate(self.evidence):
            for place in range(len(bins) - 1):
                left, right = bins[: place + 1].sum(axis=0), bins[place + 1 :].sum(axis=0)
                gained = cut_evidence(left, right)
                best = (gained, j, place) if gained > best[0] else best
        return best

    def note(self, row: Floats, label: int, weight: float) -> None:
        """Mean, variance and classes of the rows, the last 1000 or so."""
        self.age += 1
        self.class_counts[label] += weight
        rate = max(1.0 / self.age, 0.001)
        away = np.nan_to_num(row - self.mean, nan=0.0)
        faded = (1.0 - rate) * self.variance + rate * (1.0 - rate) * away**2
        self.variance = np.where(np.isnan(row), self.variance, faded)
        self.mean = self.mean + rate * away

    def doubted(self, doubt: float, caps: Floats) -> None:
        """Become one half of what was one rule."""
        self.gain = capped(doubt * self.gain, caps)
        self.evidence = np.zeros_like(self.evidence)
        self.crossings = np.zeros_like(self.crossings)
        self.age = 0
        self.class_counts = 0.5 * self.class_counts

    def start_anew(self, caps: Floats) -> None:
        """Forget what it says, not where it holds."""
        self.weights, self.gain = np.zeros_like(self.weights), np.diag(caps)
        self.evidence = np.zeros_like(self.evidence)
        self.crossings = np.zeros_like(self.crossings)
        self.age = 0
        self.class_counts = np.zeros_like(self.class_counts)


@dataclasses.dataclass
class SlowCloud:
    """A round Gaussian of one class."""

    center: Floats
    label: int
    spread: float
    mass: float

    @property
    def height(self) -> float:
        """Log density at the centre, up to a constant."""
        return float(np.log(self.mass) - 0.5 * self.center.size * np.log(self.spread))

    def distance(self, row: Floats) -> float:
        """Squared; absent features lie on the centre."""
        return float(np.nansum((row - self.center) ** 2))

    def move(self, row: Floats, rate: float) -> None:
        """Follow a row."""
        distance = self.distance(row)
        self.center = self.center + rate * np.nan_to_num(row - self.center, nan=0.0)
        spread = (1.0 - rate) * self.spread + rate * distance / row.size
        self.spread = max(spread, LEAST_SPREAD)


@dataclasses.dataclass
class SlowRepeats:
    """Whether labels come in runs: how often they differ from the last one, and how often each."""

    watched: int
    last: int
    near_share: float
    class_shares: Floats  # (m,)

    def watch(self, label: int) -> None:
        """Take in a label: means at first, of about the last ten thousand later."""
        if self.watched:
            kept = 1.0 - max(1.0 / self.watched, SHARE_RATE)
            self.near_share = kept * self.near_share + (1.0 - kept) * (label != self.last)
        self.last = label
        self.watched += 1
        kept = 1.0 - max(1.0 / self.watched, SHARE_RATE)
        target = np.eye(self.class_shares.size)[label]
        self.class_shares = kept * self.class_shares + (1.0 - kept) * target

    def independence(self) -> float:
        """What a row is worth: 1 unless neighbours are clearly more alike than any two labels."""
        by_chance = 1.0 - float(self.class_shares @ self.class_shares)
        if self.watched < 1000 or self.near_share >= 0.7 * by_chance:
            return 1.0
        return max(self.near_share / by_chance, 0.1)


@dataclasses.dataclass
class SlowErrors:
    """Errors since the last drift, and up to the cut where their bounded rate was lowest."""

    rows: int = 0
    errors: int = 0
    cut_rows: int = 0
    cut_errors: int = 0

    def note(self, is_wrong: bool, significance: float) -> None:
        """Take in a row; of equal bounds the last is the cut."""

        def upper(errors: int, rows: int) -> float:
            if not rows:
                return np.inf
            return float(errors / rows + np.sqrt(np.log(1.0 / significance) / (2.0 * rows)))

        self.rows, self.errors = self.rows + 1, self.errors + int(is_wrong)
        if upper(self.errors, self.rows) <= upper(self.cut_errors, self.cut_rows):
            self.cut_rows, self.cut_errors = self.rows, self.errors

    def rates(self) -> tuple[float, float]:
        """Of errors, before and after the cut; the same if there is nothing to compare."""
        after = self.rows - self.cut_rows
        if not (self.cut_rows and after):
            return 0.0, 0.0
        return self.cut_errors / self.cut_rows, (self.errors - self.cut_errors) / after

    def bound(self, level: float) -> float:
        """Bernstein's bound of the difference of both rates, at a level of significance."""
        after = self.rows - self.cut_rows
        if not (self.cut_rows and after):
            return np.inf
        rate, evidence = self.errors / self.rows, np.log(1.0 / level)
        variance = rate * (1.0 - rate) * (1.0 / self.cut_rows + 1.0 / after)
        return float(np.sqrt(2.0 * variance * evidence) + evidence / (3.0 * after))


@dataclasses.dataclass
class SlowBudget:
    """The label budget: a list of the rows whose labels were bought."""

    most: int
    window: int
    row: int
    n_bought: int
    owed: int
    bought: list[int]

    def has_room(self) -> bool:
        """Whether the window that ends with this row has room for one more label."""
        return sum(row > self.row - self.window for row in self.bought) < self.most

    def note(self, labelled: int, is_bought: bool) -> None:
        """Let a row go by; those that are answers went by before."""
        if labelled != ANSWERED:
            self.n_bought += is_bought
            self.bought += [self.row] * int(is_bought)
            self.row += 1


@dataclasses.dataclass
class SlowLayer:
    """One of the rivals."""

    kind: int
    rules: list[SlowRule]
    score: float = 0.0
    rest: int = 0
    last_win: int = 0

    def holder(self, row: Floats) -> SlowRule:
        """The rule whose box holds the row; the first if none does."""
        return next((rule for rule in self.rules if rule.holds(row)), self.rules[0])
