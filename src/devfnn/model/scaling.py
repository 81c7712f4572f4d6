"""Online scaling without look-ahead: an affine map per feature, from its range to [0, 1].

The map is made from the first rows and then stays, until rows keep leaving the range; a single
outlier is clipped, not followed. A feature is asleep, and left out, while it has been constant or
varied only for a few rows (width 0), and while it is a clock, leaving its range on the same side
again and again: what was learned of its past values says nothing of those to come.

When the map changes, `Change` says how, and kinds of layers rewrite their rules (`rebase`): with
old = a * new + b per feature, the Chebyshev features of old and new values are related by a matrix,
expanded(old) = expanded(new) @ basis, so that every output stays what it was. The prior of the
weights (the cap of their variances) is rewritten too, up to a bound. Beyond that outputs change:
what was learned only in a corner of the new range would extrapolate badly, so it fades into the
prior; after a jump of more than a hundred widths at once, an input starts anew.
"""

import dataclasses

import numpy as np

from devfnn.arrays import Flags, Floats, Ints

CLIP = 0.1
"""Scaled values further than this outside [0, 1] are clipped, as an outlier, squared, would rule
the weights for long. A range may be short of a tenth on each side before values are lost."""

FIRST_MAP, SETTLING_ROWS = 4, 128
"""Rows from which the first map is made, and the last; it is remade after 8, 16 ... The extremes of
128 rows leave out 2 % of a range, far inside `CLIP`; those of 4, 40 %, so that they are a start."""

EDGE = 0.02
"""Share of the first rows at either end that may be outliers, as many as never widen a range later
(`OUTSIDE_SHARE` in `kernels/scaling.py`); those that lie a whole spread further out are."""

WIDEN_BY = 0.25
"""Margin added to a widened range, as a share of its new width, so that ranges widen rarely."""

WILD_BELOW, WILD_ABOVE = 0.5, 128.0
"""Factors of a width beyond which nothing is carried over. A range halves only where outliers made
a first map; at 128 the weight of a curve grows by its square, beyond `WIDEST_PRIOR`."""

WIDEST_PRIOR = 1e4
"""Most that a prior grows, which a fourfold range takes; a slope known from a corner of a wider one
would be sure of wrong things for long (docs/paper.md, section 2.3)."""


@dataclasses.dataclass(frozen=True)
class Change:
    """Old scaled value = factor * new scaled value + shift, for the features that changed."""

    features: Ints
    factors: Floats
    shifts: Floats

    @property
    def is_wild(self) -> Flags:
        """Features whose range changed too much to convert; they start anew."""
        wild: Flags = (self.factors < WILD_BELOW) | (self.factors > WILD_ABOVE)
        return wild

    def without_wild(self) -> "Change":
        """The change of the other features."""
        kept = ~self.is_wild
        return Change(self.features[kept], self.factors[kept], self.shifts[kept])


def chebyshev_basis(change: Change, used: Flags, lines: Ints, curves: Ints) -> Floats:
    """The matrix (p, p) with expanded(old) = expanded(new) @ basis, in [-1, 1] units.

    used: (n,) an input that is left out counts as 0 under both maps, so its weights must not flow
    into the bias · lines, curves: (n,) where T1 and T2 of each input stand
    """
    basis = np.eye(1 + lines.size + curves.size)
    for feature, a, b in zip(change.features, change.factors, change.shifts, strict=True):
        shift = a + 2.0 * b - 1.0  # of 2u - 1
        line, curve = lines[feature], curves[feature]
        basis[line, line] = a
        basis[line, curve] = 4.0 * a * shift
        basis[curve, curve] = a * a
        if used[feature]:
            basis[0, line] = shift
            basis[0, curve] = a * a + 2.0 * shift * shift - 1.0
    return basis


class OnlineScaler:
    """Affine maps of all features, made from what was seen so far."""

    def __init__(self, n_features: int) -> None:
        self.low: Floats = np.zeros(n_features)
        self.width: Floats = np.zeros(n_features)
        self.first_rows: Floats = np.empty((0, n_features))
        self.outside_share: Floats = np.zeros((2, n_features))
        self.outside_level: Floats = np.zeros((2, n_features))
        self.escapes: Ints = np.zeros((2, n_features), np.int64)
        self.is_clock: Flags = np.zeros(n_features, np.bool_)
        self.waking: Ints = np.zeros(n_features, np.int64)
        self.n_first: int = 0

    @property
    def awake(self) -> Flags:
        """Features that vary and do not grow steadily."""
        awake: Flags = (self.width > 0.0) & ~self.is_clock
        return awake

    def transform(self, X: Floats) -> Floats:
        """Scaled rows, clipped; sleeping features come out in the middle. NaN stays NaN."""
        from devfnn.kernels.scaling import scale_rows

        scaled: Floats = np.empty(X.shape)
        scale_rows(X, self.low, np.where(self.awake, self.width, 0.0), CLIP, scaled)
        return scaled

    def absorb(self, X: Floats, start: int) -> int:
        """Take in rows from `start`; returns the first that changes the map, or len(X)."""
        from devfnn.kernels.scaling import watch

        n_rows: int = X.shape[0]
        if self.n_first < SETTLING_ROWS:
            if start >= n_rows:
                return n_rows
            after = FIRST_MAP
            while after <= self.n_first:
                after *= 2
            taken = min(after - self.n_first, n_rows - start)
            self.first_rows = np.concatenate([self.first_rows, X[start : start + taken]])
            self.n_first += taken
            return start + taken - 1 if self.n_first == after else n_rows
        outside = (self.outside_share, self.outside_level, self.escapes)
        return int(watch(X, start, self.low, self.width, *outside, self.waking))

    def remake(self) -> Change:
        """Make the map that is due, and say how the scaled values of the past change with it."""
        from devfnn.kernels.scaling import CLOCK_ESCAPES

        old_low, old_width = self.low.copy(), self.width.copy()
        if self.first_rows.size:
            self._fit_first_rows()
        else:
            self._widen()
        self.is_clock = np.asarray(np.any(self.escapes >= CLOCK_ESCAPES, axis=0))
        moved = (old_width > 0.0) & ((self.low != old_low) | (self.width != old_width))
        changed = np.flatnonzero(moved)
        width, shift = old_width[changed], self.low[changed] - old_low[changed]
        return Change(changed, self.width[changed] / width, shift / width)

    def _fit_first_rows(self) -> None:
        """Cover the first rows, without outliers far from their quantiles."""
        for feature, column in enumerate(self.first_rows.T):
            values = column[~np.isnan(column)]
            if not values.size:
                continue
            low, high = values.min(), values.max()
            lower, upper = np.quantile(values, [EDGE, 1.0 - EDGE])
            reach = upper - lower
            if reach > 0.0:
                low, high = max(low, lower - reach), min(high, upper + reach)
            self.waking[feature] = 1
            self.outside_level[:, feature] = low
            self.low[feature], self.width[feature] = low, high - low
        if self.n_first >= SETTLING_ROWS:
            self.first_rows = self.first_rows[:0]

    def _widen(self) -> None:
        """Stretch the ranges that rows keep leaving, where they leave them; wake sleepers."""
        from devfnn.kernels.scaling import OUTSIDE_SHARE, WAKING_ROWS

        for feature in np.flatnonzero((self.width == 0.0) & (self.waking > WAKING_ROWS)):
            lowest, highest = self.outside_level[:, feature]
            self.low[feature], self.width[feature] = lowest, highest - lowest
        for side, feature in np.argwhere(self.outside_share > OUTSIDE_SHARE):
            low, high = self.low[feature], self.low[feature] + self.width[feature]
            level = self.outside_level[side, feature]
            if side == 1:
                reached = max(high, level)
                high = reached + WIDEN_BY * (reached - low)
            else:
                reached = min(low, level)
                low = reached - WIDEN_BY * (high - reached)
            self.low[feature], self.width[feature] = low, high - low
            self.outside_share[:, feature] = 0.0
            self.escapes[side, feature] += 1

    def widen_to(self, n_features: int) -> None:
        """Room for features that appear later; they start asleep."""
        added = n_features - self.low.size
        names = "low width outside_share outside_level escapes is_clock waking first_rows"
        for name in names.split():
            array, gap = getattr(self, name), np.nan if name == "first_rows" else 0
            more = np.full((*array.shape[:-1], added), gap, array.dtype)
            setattr(self, name, np.concatenate([array, more], axis=-1))
