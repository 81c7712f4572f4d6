"""Online scaling without look-ahead: an affine map per feature, from its range to [0, 1].

The map is made from the first rows and then stays, until rows keep leaving the range. A few values
just outside widen it. Values far away are clipped, and followed only if they stay and vary: the
same one again and again is a code for what is missing. A feature is asleep, and left out, while it
has been constant or varied only for a few rows (width 0), and while it is a clock, leaving its
range on the same side again and again: what was learned of its past values says nothing of those
to come.

When the map changes, `Change` says how, and kinds of layers rewrite their rules (`rebase`): with
old = a * new + b per feature, the Chebyshev features of old and new values are related by a matrix,
expanded(old) = expanded(new) @ basis, so that every output stays what it was. The prior of the
weights (the cap of their variances) is rewritten too, up to a bound. Beyond that outputs change:
what was learned only in a corner of the new range would extrapolate badly, so it fades into the
prior; where a range becomes more than a hundred times as wide, an input starts anew.

A feature that is far away altogether, or in a range more than a hundred times as narrow, is taken
for the same one in another unit or at another level: only the map changes, and what was learned of
high and low values holds for those that are high and low now.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from devfnn.kernels.scaling import Ranges

CLIP = 0.1
"""Scaled values further than this outside [0, 1] are clipped, as an outlier, squared, would rule
the weights for long. A range may be short of a tenth on each side before values are lost."""

FIRST_MAP, SETTLING_ROWS = 4, 128
"""Rows from which the first map is made, and the last; it is remade after 8, 16 ... The extremes of
128 rows leave out 2 % of a range, far inside `CLIP`; those of 4, 40 %, so that they are a start."""

EDGE = 0.05
"""Share of the first rows at either end that may be outliers: six of 128; those that lie a whole
spread further out are."""

WIDEN_BY = 0.25
"""Margin added to a widened range, as a share of its new width, so that ranges widen rarely."""

NARROW = 1.0 / 128.0
"""Share of a range that the newest rows fill where they are in another unit, beyond doubt."""

SCALED_LIKE = 1.0
"""How far from where a smaller unit would put them, in their own widths, the newest rows may begin:
the first of them, near 0, may have stretched the range already."""

SMALL_LOOKS = 20
"""For how many looks at the newest rows they stay in the same part before they are taken for it."""

FILLED_LOOKS = 8
"""Looks at which a range was filled before it counts as one: after fewer, a glitch among the first
rows, or of a feature that was constant, may have made it. Fifty rows are seen at five looks."""

FARTHEST = 4.0
"""Most widths that a range grows by to reach values far away; beyond, it is left for them."""

CONTINUOUS, REPEATED = 4, 3
"""Different values from which a feature is taken for a number, which may have codes far away, and
how often a code is among the values at least."""

WILD_BELOW, WILD_ABOVE = 0.5, 128.0
"""Factors of a width beyond which nothing is carried over. A range halves only where outliers made
a first map; at 128 the weight of a curve grows by its square, beyond `WIDEST_PRIOR`."""

WIDEST_PRIOR = 1e4
"""Most that a prior grows, which a fourfold range takes; a slope known from a corner of a wider one
would be sure of wrong things for long (docs/paper.md, section 2.3)."""


def without_codes(values: Floats) -> Floats:
    """Values but NaN and those, at either end, that come again and again far from all others.

    >>> without_codes(np.array([*range(10), -9999.0, -9999.0, -9999.0, 8.5])).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 8.5]
    """
    from devfnn.kernels.scaling import FAR, may_be_code

    values = values[~np.isnan(values)]
    distinct, counts = np.unique(values, return_counts=True)
    first, last = 0, distinct.size - 1
    while last - first >= CONTINUOUS:
        below, above = distinct[first + 1] - distinct[first], distinct[last] - distinct[last - 1]
        end = last if above > below else first
        others = distinct[last] - distinct[first] - max(below, above)
        is_code = counts[end] >= REPEATED and may_be_code(distinct[end])
        if max(below, above) <= FAR * others or not is_code:
            break
        first, last = (first, last - 1) if end == last else (first + 1, last)
    is_kept = np.isin(values, distinct[first : last + 1])
    return values[is_kept]


def range_of(values: Floats) -> tuple[float, float]:
    """Where some values lie, but for outliers: those far from their quantiles."""
    low, high = values.min(), values.max()
    lower, upper = np.quantile(values, [EDGE, 1.0 - EDGE])
    reach = upper - lower
    if reach > 0.0:
        low, high = max(low, lower - reach), min(high, upper + reach)
    return float(low), float(high)


def _none() -> Ints:
    """No features."""
    return np.zeros(0, np.int64)


@dataclasses.dataclass(frozen=True)
class Change:
    """Old scaled value = factor * new scaled value + shift, for the features that changed."""

    features: Ints
    factors: Floats
    shifts: Floats
    moved: Ints = dataclasses.field(default_factory=_none)
    """Features in another unit or at another level: nothing is rewritten for them."""
    switched: Ints = dataclasses.field(default_factory=_none)
    """Features that fell asleep or woke."""
    codes: Ints = dataclasses.field(default_factory=_none)
    """Features in which a code for what is missing was noticed."""

    @property
    def is_empty(self) -> bool:
        """Whether the map is what it was."""
        return not (self.features.size or self.moved.size or self.switched.size)

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
        from devfnn.kernels.scaling import SAMPLE_ROWS

        self.low: Floats = np.zeros(n_features)
        self.width: Floats = np.zeros(n_features)
        self.first_rows: Floats = np.empty((0, n_features))
        self.outside_share: Floats = np.zeros((2, n_features))
        self.outside_level: Floats = np.zeros((2, n_features))
        self.escapes: Ints = np.zeros((2, n_features), np.int64)
        self.is_clock: Flags = np.zeros(n_features, np.bool_)
        self.waking: Ints = np.zeros(n_features, np.int64)
        self.far_share: Floats = np.zeros(n_features)
        self.far_run: Ints = np.zeros(n_features, np.int64)
        self.code: Floats = np.zeros(n_features)
        self.repeats: Ints = np.zeros(n_features, np.int64)
        self.told: Floats = np.full(n_features, np.nan)
        self.changed_at: Ints = np.zeros(n_features, np.int64)
        self.sample: Floats = np.full((SAMPLE_ROWS, n_features), np.nan)
        self.n_watched: Ints = np.zeros(1, np.int64)
        self.small: Floats = np.zeros((2, n_features))
        self.small_for: Ints = np.zeros(n_features, np.int64)
        self.filled_for: Ints = np.zeros(n_features, np.int64)
        self.n_first: int = 0

    @property
    def awake(self) -> Flags:
        """Features that vary and do not grow steadily."""
        awake: Flags = (self.width > 0.0) & ~self.is_clock
        return awake

    @property
    def ranges(self) -> "Ranges":
        """The arrays as kernels take them."""
        from devfnn.kernels.scaling import Ranges

        return Ranges._make(getattr(self, name) for name in Ranges._fields)

    @property
    def is_settled(self) -> bool:
        """Whether the first map has been made from enough rows."""
        return self.n_first >= SETTLING_ROWS

    def transform(self, X: Floats) -> Floats:
        """Scaled rows, clipped; sleeping features come out in the middle. NaN stays NaN."""
        from devfnn.kernels.scaling import scale_rows

        scaled: Floats = np.empty(X.shape)
        scale_rows(X, self.low, np.where(self.awake, self.width, 0.0), CLIP, scaled)
        return scaled

    def absorb(self, X: Floats, start: int, ranges: Any = None) -> int:
        """Take in rows from `start`; returns the first that may change the map, or len(X).

        ranges: `self.ranges` as kernels take them, if they were unpacked before
        """
        from devfnn.kernels.scaling import watch

        n_rows: int = X.shape[0]
        if self.is_settled:
            return int(watch(X, start, self.ranges if ranges is None else ranges))
        if start >= n_rows:
            return n_rows
        after = FIRST_MAP
        while after <= self.n_first:
            after *= 2
        taken = min(after - self.n_first, n_rows - start)
        self.first_rows = np.concatenate([self.first_rows, X[start : start + taken]])
        self.n_first += taken
        return start + taken - 1 if self.n_first == after else n_rows

    @np.errstate(over="ignore")  # ratios without end are wild, and nothing is carried over by them
    def remake(self) -> Change:
        """Make the map that is due, and say how the scaled values of the past change with it."""
        from devfnn.kernels.scaling import CLOCK_ESCAPES

        old_low, old_width, was_awake = self.low.copy(), self.width.copy(), self.awake
        moved = list[int]()
        if self.first_rows.size:
            self._fit_first_rows()
        else:
            self._wake()
            self._widen()
            moved = [*self._follow(), *self._narrow()]
        self.is_clock = np.asarray(np.any(self.escapes >= CLOCK_ESCAPES, axis=0))
        is_carried = (old_width > 0.0) & ((self.low != old_low) | (self.width != old_width))
        is_carried[moved] = False
        changed = np.flatnonzero(is_carried)
        width, shift = old_width[changed], self.low[changed] - old_low[changed]
        return Change(
            features=changed,
            factors=self.width[changed] / width,
            shifts=shift / width,
            moved=np.array(moved, np.int64),
            switched=np.flatnonzero(was_awake != self.awake),
            codes=self._new_codes(),
        )

    def _new_codes(self) -> Ints:
        """Features in which a code was found that was not told before."""
        from devfnn.kernels.scaling import CODE_ROWS

        is_back = (self.repeats >= CODE_ROWS) & (self.far_run == 0)
        found: Ints = np.flatnonzero(is_back & (self.code != self.told))
        self.told[found] = self.code[found]
        return found

    def _fit_first_rows(self) -> None:
        """Cover the first rows, without outliers."""
        for feature, column in enumerate(self.first_rows.T):
            values = without_codes(column)
            if not values.size:
                continue
            low, high = range_of(values)
            self.waking[feature] = 1
            self.outside_level[:, feature] = low
            self.low[feature], self.width[feature] = low, high - low
        if self.is_settled:
            self.first_rows = self.first_rows[:0]

    def _wake(self) -> None:
        """Give features a range that have varied for a while."""
        from devfnn.kernels.scaling import WAKING_ROWS

        for feature in np.flatnonzero((self.width == 0.0) & (self.waking > WAKING_ROWS)).tolist():
            self._move(feature, *self.outside_level[:, feature])

    def _widen(self) -> None:
        """Stretch the ranges that rows keep leaving, where they leave them."""
        from devfnn.kernels.scaling import OUTSIDE_SHARE

        for side, feature in np.argwhere(self.outside_share > OUTSIDE_SHARE).tolist():
            self._stretch(feature, side, self.outside_level[side, feature])

    def _follow(self) -> list[int]:
        """Reach for values far away that stay and vary; which features are there altogether."""
        from devfnn.kernels.scaling import CODE_ROWS, FAR, FAR_SHARE, WAKING_ROWS

        is_code = (self.repeats >= CODE_ROWS) | (self.code == self.told)
        is_due = (self.far_share > FAR_SHARE) & ~is_code
        moved = list[int]()
        for feature in np.flatnonzero(is_due).tolist():
            low, width, values = self.low[feature], self.width[feature], self.sample[:, feature]
            far = without_codes(values[np.abs((values - low) / width - 0.5) > FAR + 0.5])
            self.far_share[feature] = 0.0
            if np.unique(far).size < 2:
                continue
            lowest, highest = range_of(far)
            side, reach = int(highest > low), max(low + width, highest) - min(low, lowest)
            is_gone = self.far_run[feature] >= WAKING_ROWS and not self.is_clock[feature]
            if is_gone and reach > FARTHEST * width:
                self.escapes[1 - side, feature] = 0
                self.escapes[side, feature] += 1
                self._move(feature, lowest, highest)
                moved.append(feature)
                continue
            lowest, highest = range_of(without_codes(values))
            if highest > low + width:
                self._stretch(feature, 1, highest)
            if lowest < low:
                self._stretch(feature, 0, lowest)
        return moved

    def _narrow(self) -> list[int]:
        """Leave ranges that stand almost empty, but those of clocks; which are left."""
        from devfnn.kernels.scaling import LOOK_EVERY, SAMPLE_EVERY, SAMPLE_ROWS, SMALL

        if self.n_watched[0] % LOOK_EVERY != 1:
            return []
        is_old = self.n_watched[0] - self.changed_at > SAMPLE_ROWS * SAMPLE_EVERY
        ordered = np.sort(self.sample, axis=0)
        bulk = ordered[-SAMPLE_ROWS // 4] - ordered[SAMPLE_ROWS // 4]
        may_be = ~(bulk >= SMALL * self.width) & (ordered[0] != ordered[-1]) & self.awake & is_old
        moved = list[int]()
        self.small_for[~may_be] = 0
        for feature in np.flatnonzero(may_be).tolist():
            values = without_codes(self.sample[:, feature])
            filled = np.ptp(values) if values.size else 0.0
            if filled == 0.0:  # missing all the time, or constant
                continue
            stays, is_scaled = self._stays_small(feature, values), self._is_scaled(feature, values)
            is_tiny = filled < NARROW * self.width[feature]
            was_empty = self.filled_for[feature] < FILLED_LOOKS
            if (is_scaled and (stays or is_tiny)) or (was_empty and stays):
                self._move(feature, *range_of(values))
                moved.append(feature)
        return moved

    def _stays_small(self, feature: int, values: Floats) -> bool:
        """Whether the newest rows have filled the same small part of the range for long."""
        from devfnn.kernels.scaling import SMALL

        low, high = float(values.min()), float(values.max())
        if self.small_for[feature]:
            low, high = min(low, self.small[0, feature]), max(high, self.small[1, feature])
        is_small = high - low < SMALL * self.width[feature]
        self.small[:, feature] = low, high
        self.small_for[feature] = self.small_for[feature] + 1 if is_small else 0
        return bool(self.small_for[feature] >= SMALL_LOOKS)

    def _is_scaled(self, feature: int, values: Floats) -> bool:
        """Whether values lie where those of the whole range would in a smaller unit.

        Others are in a part of it for a time, as sensors at night are.
        """
        low, high = float(values.min()), float(values.max())
        factor = (high - low) / self.width[feature]
        return bool(abs(low - factor * self.low[feature]) < SCALED_LIKE * (high - low))

    def _stretch(self, feature: int, side: int, level: float) -> None:
        """Widen a range on one side up to a value, and some more."""
        low, high = self.low[feature], self.low[feature] + self.width[feature]
        if side == 1:
            reached = max(high, level)
            high = reached + WIDEN_BY * (reached - low)
        else:
            reached = min(low, level)
            low = reached - WIDEN_BY * (high - reached)
        self.escapes[side, feature] += 1
        filled_for = self.filled_for[feature]
        self._move(feature, low, high)
        self.filled_for[feature] = filled_for

    def _move(self, feature: int, low: float, high: float) -> None:
        """Set a range; what was seen outside the old one counts no more."""
        self.low[feature], self.width[feature] = low, high - low
        self.outside_share[:, feature] = 0.0
        self.far_share[feature] = 0.0
        self.far_run[feature] = self.small_for[feature] = self.filled_for[feature] = 0
        self.changed_at[feature] = self.n_watched[0]

    def widen_to(self, n_features: int) -> None:
        """Room for features that appear later; they start asleep."""
        added = n_features - self.low.size
        for name, array in vars(self).items():
            if name in ("n_first", "n_watched"):
                continue
            gap = np.nan if name in ("first_rows", "sample", "told") else 0
            more = np.full((*array.shape[:-1], added), gap, array.dtype)
            setattr(self, name, np.concatenate([array, more], axis=-1))
