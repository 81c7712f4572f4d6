"""Bars that the default has to reach, and those that it reached before and `swift` reaches now."""

import dataclasses
import statistics
from collections.abc import Callable, Iterator

from record_eighteen import (
    NEAR,
    Values,
    behind,
    best_peers,
    calibration_errors,
    complete,
    percents,
    times_as_fast,
)
from record_plan import (
    ALL_LABELS,
    BUDGET,
    BY_ROW,
    DEFAULT,
    EIGHTEEN,
    FOUR_FILES,
    GROWING_OFF,
    LAGS,
    MOA_FOREST,
    ONLINE,
    PEERS,
    RECURRING,
    RIVER_FOREST,
    SWIFT,
    ZOO,
)
from record_runs import Cells

LEVELS = {"sea-paper": 93.7, "hyperplane-paper": 93.8, "weather": 81.5, "electricity": 78.3}
"""Accuracy of the default with scaling by the whole data set, in percent."""

ONLINE_LEVELS = {"weather": 81.2, "electricity": 80.0}
"""The same with online scaling."""

SWIFT_LEVELS = {
    "sea-paper": 94.2,
    "hyperplane-paper": 94.4,
    "weather": 80.8,
    "electricity": 79.1,
}
"""What `swift` had when it was the default, scaled by the whole data set."""

RIVALLED = ("susy-30k", "kdd99-binary", "kdd99-23")
"""Where the default has to be at or above the best rival."""

BY_ROW_LEVELS = {"weather": 80.5, "electricity": 82.0}
LAGS_LEVEL = 90.5

LEAD = 4.0
"""Points that the mean accuracy over the eighteen streams is to be above that of the best peer."""

MOST_BEHIND = 2
"""Of the eighteen streams, how many the default may be further below the best peer than `NEAR`."""

MOST_LOG_LOSS = 0.55
MOST_CALIBRATION_ERROR = {"mean": 0.025, "worst": 0.06}
"""Over the eighteen streams, the second over the long ones among them."""

TIMES_FOREST = {"geometric mean": 10.0, "least": 2.0}
"""How many times as fast as CapyMOA's forest over the eighteen streams."""

SWIFT_LOSS = 0.3
"""Points that the default may be below `swift`."""

TIMES_SWIFT = 2.0
TIMED = ("sea-paper", "hyperplane-paper", "weather")
"""How many times as long as `swift` the default may take, and where."""

ONLINE_LOSS = 0.3
FOREST_LOSS = 2.0
GROWING_LOSS = 0.2
GROWING_GAIN = 0.5
ACTIVE_LOSS = 0.5
BUDGET_LOSS = 2.0
"""All in points."""

TIMES = {MOA_FOREST: 50.0, RIVER_FOREST: 200.0}
MOST_BYTES = 100_000
"""Of `swift`: how many times as fast as forests, on every stream, and its size on the files."""


@dataclasses.dataclass(frozen=True)
class Bar:
    """Something the default has to reach."""

    what: str
    is_reached: bool | None = None
    """None if what it takes was not measured."""
    figures: str = ""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.is_reached is None:
            return "not measured"
        return "reached" if self.is_reached else "NOT reached"


def bars(cells: Cells, nonlinear: frozenset[str]) -> list[Bar]:
    """All bars, in order.

    Parameters
    ----------
    cells
        Summaries by stream and system.
    nonlinear
        Generated streams that are to be compared with the forest.
    """
    return [
        *_eighteen(cells),
        *_calibration(cells),
        *_speed(cells),
        *_against_swift(cells),
        *_levels(cells),
        *_rivals(cells),
        *_forest(cells, nonlinear),
        *_growing(cells),
        *_labels(cells),
        *_by_row(cells),
        *_of_swift(cells),
    ]


def _eighteen(cells: Cells) -> Iterator[Bar]:
    """Accuracy and log-loss over the eighteen streams."""
    own, best = percents(cells, DEFAULT), best_peers(cells)
    what = f"eighteen streams: mean accuracy at least {LEAD:g} above that of the best peer"
    least = len(EIGHTEEN) - MOST_BEHIND
    near = f"eighteen streams: not more than {NEAR} below the best peer on {least} of them"
    if own is None or best is None:
        yield from (Bar(what), Bar(near))
    else:
        means = {peer: statistics.fmean((percents(cells, peer) or {}).values()) for peer in PEERS}
        mean, peer = statistics.fmean(own.values()), max(PEERS, key=lambda each: means[each])
        gap = round(mean - means[peer], 9)
        figures = f"{mean:.2f} against {means[peer]:.2f} ({peer}): {gap:+.2f}"
        yield Bar(what, gap >= LEAD, figures)
        below = behind(own, best)
        named = "".join(f", {stream} {gap:+.2f}" for stream, gap in below.items())
        yield Bar(near, len(below) <= MOST_BEHIND, f"{len(EIGHTEEN) - len(below)}{named}")
    losses = complete(cells, DEFAULT, "log_loss")
    what = f"eighteen streams: mean log-loss at most {MOST_LOG_LOSS:g}"
    yield _at_most(what, losses and statistics.fmean(losses.values()), MOST_LOG_LOSS)


def _at_most(what: str, value: float | None, most: float, where: str = "") -> Bar:
    return Bar(what) if value is None else Bar(what, value <= most, f"{value:.3f}{where}")


def _calibration(cells: Cells) -> Iterator[Bar]:
    errors = calibration_errors(cells, DEFAULT)
    most = MOST_CALIBRATION_ERROR["mean"]
    what = f"eighteen streams: mean calibration error of long ones at most {most:g}"
    yield _at_most(what, errors and statistics.fmean(errors.values()), most)
    most = MOST_CALIBRATION_ERROR["worst"]
    what = f"eighteen streams: worst calibration error of long ones at most {most:g}"
    worst = None if errors is None else max(errors, key=errors.__getitem__)
    yield _at_most(what, errors and max(errors.values()), most, f" ({worst})")


def _speed(cells: Cells) -> Iterator[Bar]:
    """Speed over the eighteen streams, and against `swift`."""
    times = times_as_fast(cells, DEFAULT)
    usual, least = TIMES_FOREST["geometric mean"], TIMES_FOREST["least"]
    whole = f"eighteen streams: at least {usual:g} times as fast as {MOA_FOREST}, geometric mean"
    each = f"eighteen streams: nowhere less than {least:g} times as fast as {MOA_FOREST}"
    if times is None:
        yield from (Bar(whole), Bar(each))
    else:
        mean, slowest = statistics.geometric_mean(times.values()), min(times, key=times.__getitem__)
        yield Bar(whole, mean >= usual, f"{mean:.1f}")
        yield Bar(each, times[slowest] >= least, f"{times[slowest]:.2f} ({slowest})")
    for stream in TIMED:
        what = f"{DEFAULT} on {stream}: at most {TIMES_SWIFT:g} times the time of {SWIFT}"
        own, swift = (
            cells.get((stream, system), {}).get("rows_per_second") for system in (DEFAULT, SWIFT)
        )
        if not own or not swift:
            yield Bar(what)
        else:
            yield Bar(what, swift <= TIMES_SWIFT * own, f"{swift / own:.2f}")


def _against_swift(cells: Cells) -> Iterator[Bar]:
    """The default was developed on the zoo, so the other streams count."""
    gaps = {
        stream: gap for stream, gap in _gaps(cells, DEFAULT, SWIFT).items() if stream not in ZOO
    }
    what = f"{DEFAULT}: on no stream outside the zoo more than {SWIFT_LOSS} below {SWIFT}"
    yield _never_below(gaps, SWIFT_LOSS, what)


def _percent(cells: Cells, stream: str, system: str = DEFAULT) -> float | None:
    mean = cells.get((stream, system), {}).get("accuracy_mean")
    return None if mean is None else 100.0 * float(mean)


def _level(cells: Cells, stream: str, system: str, least: float) -> Bar:
    what = f"{system} on {stream}: at least {least:g}"
    reached = _percent(cells, stream, system)
    return Bar(what) if reached is None else Bar(what, reached >= least, f"{reached:.2f}")


def _levels(cells: Cells) -> Iterator[Bar]:
    for stream, least in LEVELS.items():
        yield _level(cells, stream, DEFAULT, least)
    for stream, least in ONLINE_LEVELS.items():
        yield _level(cells, stream, ONLINE[DEFAULT], least)
    for stream in LEVELS:
        pair = (ONLINE[DEFAULT], DEFAULT)
        what = f"{pair[0]} on {stream}: not more than {ONLINE_LOSS} lower"
        yield _gap(cells, stream, pair, what, lambda gap: gap >= -ONLINE_LOSS)


def _gap(
    cells: Cells, stream: str, pair: tuple[str, str], what: str, accept: Callable[[float], bool]
) -> Bar:
    """One system against another on one stream."""
    one, other = (_percent(cells, stream, system) for system in pair)
    if one is None or other is None:
        return Bar(what)
    gap = round(one - other, 9)
    return Bar(what, accept(gap), f"{one:.2f} against {other:.2f}: {gap:+.2f}")


def _rivals(cells: Cells) -> Iterator[Bar]:
    for stream in RIVALLED:
        what = f"{DEFAULT} on {stream}: at or above the best rival"
        rivals = {
            system: _percent(cells, stream, system)
            for (name, system), cell in cells.items()
            if name == stream and cell["kind"] in ("peer", "trivial")
        }
        known = {system: value for system, value in rivals.items() if value is not None}
        best = max(known, key=lambda system: known[system], default=None)
        own = _percent(cells, stream)
        if best is None or own is None:
            yield Bar(what)
        else:
            yield Bar(what, own >= known[best], f"{own:.2f} against {known[best]:.2f} ({best})")


def _gaps(
    cells: Cells, one: str, other: str, among: frozenset[str] | None = None
) -> dict[str, float]:
    """By how many points a system is above another, wherever both were run."""
    found = {}
    for stream in dict.fromkeys(stream for stream, _ in cells):
        if among is not None and stream not in among:
            continue
        own, theirs = _percent(cells, stream, one), _percent(cells, stream, other)
        if own is not None and theirs is not None:
            found[stream] = round(own - theirs, 9)
    return found


def _never_below(gaps: dict[str, float], most: float, what: str) -> Bar:
    """That no gap is further below zero than allowed; all that are get named."""
    if not gaps:
        return Bar(what)
    failed = {stream: gap for stream, gap in gaps.items() if gap < -most}
    if failed:
        named = ", ".join(f"{stream} {gap:+.2f}" for stream, gap in failed.items())
        return Bar(what, False, f"{named} ({len(failed)} of {len(gaps)} streams)")
    lowest = min(gaps, key=lambda stream: gaps[stream])
    return Bar(what, True, f"lowest of {len(gaps)} streams: {lowest} {gaps[lowest]:+.2f}")


def _forest(cells: Cells, nonlinear: frozenset[str]) -> Iterator[Bar]:
    gaps = _gaps(cells, DEFAULT, MOA_FOREST, nonlinear)
    what = f"nonlinear generated streams: at or above {MOA_FOREST} on at least half"
    n_above = sum(gap >= 0.0 for gap in gaps.values())
    if gaps:
        named = ", ".join(f"{stream} {gap:+.2f}" for stream, gap in gaps.items())
        yield Bar(what, 2 * n_above >= len(gaps), f"{n_above} of {len(gaps)}: {named}")
    else:
        yield Bar(what)
    what = f"nonlinear generated streams: never more than {FOREST_LOSS:g} below {MOA_FOREST}"
    yield _never_below(gaps, FOREST_LOSS, what)


def _growing(cells: Cells) -> Iterator[Bar]:
    gaps = _gaps(cells, DEFAULT, GROWING_OFF)
    what = f"growing: on no stream more than {GROWING_LOSS} below {GROWING_OFF}"
    yield _never_below(gaps, GROWING_LOSS, what)
    what = f"growing: at least {GROWING_GAIN} above {GROWING_OFF} on {RECURRING}"
    pair = (DEFAULT, GROWING_OFF)
    yield _gap(cells, RECURRING, pair, what, lambda gap: gap >= GROWING_GAIN)


def _labels(cells: Cells) -> Iterator[Bar]:
    gaps = _gaps(cells, DEFAULT, ALL_LABELS)
    what = f"active learning: on no stream more than {ACTIVE_LOSS} below all labels"
    yield _never_below(gaps, ACTIVE_LOSS, what)
    for stream in FOUR_FILES:
        what = f"{BUDGET} on {stream}: not more than {BUDGET_LOSS:g} below all labels"
        pair = (BUDGET, ALL_LABELS)
        yield _gap(cells, stream, pair, what, lambda gap: gap >= -BUDGET_LOSS)


def _by_row(cells: Cells) -> Iterator[Bar]:
    for stream, least in BY_ROW_LEVELS.items():
        yield _level(cells, stream, BY_ROW, least)
    yield _level(cells, "electricity", LAGS, LAGS_LEVEL)


def _of_swift(cells: Cells) -> Iterator[Bar]:
    """What the default reached, or was to reach, when it was what `swift` is now."""
    for stream, least in SWIFT_LEVELS.items():
        yield _level(cells, stream, SWIFT, least)
    keys = {MOA_FOREST: "times_capymoa_arf", RIVER_FOREST: "times_river_arf"}
    for rival, least in TIMES.items():
        what = f"speed: {SWIFT} at least {least:g} times as fast as {rival}, on every stream"
        times = {
            stream: float(cell[keys[rival]])
            for (stream, system), cell in cells.items()
            if system == SWIFT and cell.get(keys[rival])
        }
        yield _all_as_fast(what, times, least)
    what = f"size: {SWIFT} below {MOST_BYTES:,} bytes on the four files"
    sizes = {
        stream: cells[stream, SWIFT]["model_bytes"]
        for stream in FOUR_FILES
        if cells.get((stream, SWIFT), {}).get("model_bytes") is not None
    }
    if sizes:
        named = ", ".join(f"{stream} {size:,}" for stream, size in sizes.items())
        yield Bar(what, all(size < MOST_BYTES for size in sizes.values()), named)
    else:
        yield Bar(what)


def _all_as_fast(what: str, times: Values, least: float) -> Bar:
    if not times:
        return Bar(what)
    slowest = min(times, key=times.__getitem__)
    n_reached = sum(value >= least for value in times.values())
    return Bar(
        what,
        n_reached == len(times),
        f"{n_reached} of {len(times)} streams; least {times[slowest]:.1f} ({slowest}), "
        f"geometric mean {statistics.geometric_mean(times.values()):.1f}",
    )
