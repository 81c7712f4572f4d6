"""Tables of streams: lists, first rows, and descriptions chunk by chunk."""

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import rich.cells
import rich.console
import rich.table

from devfnn.display.tables import literal, text_table
from devfnn.formatting import NO_VALUE, count, listed, percent, plural
from devfnn.streams.describing import Description, Overview, joined_neighbours
from devfnn.streams.stream import Stream

GAP, EDGES = 2, 2
"""Blanks between two columns of a table, and around all of them."""

MOST_LINES, MOST_CLASSES = 20, 4
"""Of a table of chunks: lines, which may stand for several, and classes whose shares are shown."""

MOST_CLASS_LINES = 30
"""Lines of a table of classes; the rest are summed up."""

MOST_NAMES, MOST_DRIFTS = 3, 2
"""Names and drifts listed in a cell; more are counted."""


def head_tables(
    columns: Sequence[str],
    lines: Iterable[Sequence[Any]],
    class_names: Mapping[Hashable, str],
    width: int,
) -> Iterator[rich.table.Table]:
    """Rows with a label at their end; if they are too wide, with a line for each feature."""
    rows = [
        [
            *(each if isinstance(each, str) else number(each) for each in values),
            class_names.get(label, _label(label)),
        ]
        for *values, label in lines
    ]
    if sum(_widest(column) for column in zip(columns, *rows, strict=True)) <= width - EDGES:
        yield text_table("", columns, rows)
        return
    names_width = min(_widest(columns), width // 2)
    n_beside = max(1, (width - EDGES - names_width) // max(map(_widest, rows)))
    for start in range(0, len(rows), n_beside):
        part = rows[start : start + n_beside]
        numbers = (count(start + place) for place in range(1, len(part) + 1))
        yield text_table("", ["row", *numbers], zip(columns, *part, strict=True))


def _widest(texts: Iterable[str]) -> int:
    """Characters that a column needs, with the gap to the next."""
    return max(map(rich.cells.cell_len, texts)) + GAP


def features_table(whole: Description, feature_names: Sequence[str]) -> rich.table.Table:
    """Range, mean, spread and missing values of every feature."""
    lines = []
    for place, name in enumerate(feature_names):
        values = (whole.lows, whole.means, whole.highs, whole.stds)
        n_missing = int(whole.n_missing[place])
        share = percent(n_missing / whole.n_rows, 1)
        missing = f"{n_missing:,} ({share})" if n_missing else NO_VALUE
        lines.append([name, *(number(float(value[place])) for value in values), missing])
    columns = ("feature", "min", "mean", "max", "std", "missing")
    return text_table("Features", columns, lines)


def classes_table(whole: Description, names: Mapping[Hashable, str]) -> rich.table.Table:
    """How often each class came, the most frequent first."""
    shares = list(whole.class_shares().items())
    rest = dict(shares[MOST_CLASS_LINES:])
    lines = [
        [_label(label), names.get(label, ""), count(whole.class_counts[label]), percent(share, 1)]
        for label, share in shares[:MOST_CLASS_LINES]
    ]
    if rest:
        n_rows = sum(whole.class_counts[label] for label in rest)
        share = percent(sum(rest.values()), 1)
        lines.append([f"{len(rest):,} more", "", count(n_rows), share])
    return text_table("Classes", ("label", "name", "rows", "share"), lines)


def chunks_table(
    overview: Overview, feature_names: Sequence[str], drift_positions: Sequence[int]
) -> rich.table.Table:
    """Class balance, missing values and ranges over the stream, with its drifts if known."""
    groups = joined_neighbours(overview.parts, math.ceil(len(overview.parts) / MOST_LINES))
    shows_ranges = len(feature_names) <= MOST_CLASSES
    lines: list[list[str]] = []
    start, before = 0, None
    for group in groups:
        missing = group.n_missing.sum() / max(group.n_rows * len(feature_names), 1)
        drifts = [count(each) for each in drift_positions if 0 <= each - start < group.n_rows]
        is_short = len(drifts) <= MOST_DRIFTS
        lines.append(
            [
                count(start),
                ", ".join(drifts) if is_short else plural(len(drifts), "drift"),
                percent(missing, 1) if missing else "",
                _balance(group),
                *(_ranges(group) if shows_ranges else [_new_ranges(group, before, feature_names)]),
            ]
        )
        start += group.n_rows
        before = group if before is None else before + group
    columns = ["rows from", "drift", "missing", "class balance"]
    columns += feature_names if shows_ranges else ["new ranges"]
    return text_table("Chunks", columns, lines)


def show_bad_rows(stream: Stream, screen: rich.console.Console) -> None:
    """Which rows were left out, if the stream counts them."""
    if stream.bad_rows is not None and stream.bad_rows.n_rows:
        screen.print(f"Left out {plural(stream.bad_rows.n_rows, 'bad row')}:")
        for row, reason in stream.bad_rows.examples:
            screen.print(literal(f"  row {row:,}: {reason}"))


def _balance(group: Description) -> str:
    shares = list(group.class_shares().items())
    parts = [f"{_label(label)}: {percent(share, 1)}" for label, share in shares[:MOST_CLASSES]]
    rest = sum(share for _, share in shares[MOST_CLASSES:])
    return "  ".join([*parts, f"others: {percent(rest, 1)}"] if rest else parts)


def _ranges(group: Description) -> list[str]:
    ends = zip(group.lows.tolist(), group.highs.tolist(), strict=True)
    return [f"{number(low, digits=3)} .. {number(high, digits=3)}" for low, high in ends]


def _new_ranges(group: Description, before: Description | None, names: Sequence[str]) -> str:
    """Features that left the range they had so far."""
    if before is None:
        return NO_VALUE
    wider = (group.lows < before.lows) | (group.highs > before.highs)
    return listed(list(itertools.compress(names, wider)), MOST_NAMES) or NO_VALUE


def _label(label: object) -> str:
    return NO_VALUE if label is None else str(label)


def number(value: float | None, digits: int = 4) -> str:
    """A number in few characters.

    >>> number(0.5), number(1234567.0), number(float("nan"))
    ('0.5', '1.235e+06', '-')
    """
    return NO_VALUE if value is None or math.isnan(value) else f"{value:.{digits}g}"
