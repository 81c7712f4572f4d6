"""How streams look: lists, facts, first rows, and what a stream is like chunk by chunk."""

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import rich.box
import rich.cells
import rich.console
import rich.table

from devfnn.display.literal import literal, title
from devfnn.streams.describing import Description, Overview, joined_neighbours
from devfnn.types import Chunk

GAP, EDGES = 2, 2
"""Blanks between two columns of a table, and around all of them."""

MOST_CLASSES = 4
"""Classes whose shares are shown; the rest are put together."""

MOST_LINES = 20
"""Lines of a table of chunks; with more chunks a line stands for several."""

MOST_CLASS_LINES = 30
"""Lines of a table of classes; the rest are put together."""

MOST_NAMES, MOST_DRIFTS = 3, 2
"""Names and drifts listed in a cell; more are counted."""

NARROW = 24
"""Characters that are not broken into lines."""

NO_VALUE = "-"


def names_table(
    name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> rich.table.Table:
    """Names with what there is to know about them."""
    table = _table(name)
    lines = list(rows)
    for place, column in enumerate(columns):
        is_number = all(line[place].replace(",", "").isdigit() for line in lines)
        table.add_column(
            column,
            style="bold" if place == 0 else "",
            no_wrap=place == 0,
            overflow="fold",
            justify="right" if is_number else "left",
        )
    for line in lines:
        table.add_row(*map(literal, line))
    return table


def facts_table(name: str, facts: Mapping[str, str]) -> rich.table.Table:
    """Facts, one below the other; those without a value are left out."""
    table = rich.table.Table(
        title=title(name), title_justify="left", show_header=False, box=rich.box.SIMPLE
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for fact, value in facts.items():
        if value:
            table.add_row(fact, literal(value))
    return table


def head_tables(
    chunk: Chunk, names: Sequence[str], class_names: Mapping[Hashable, str], width: int
) -> Iterator[rich.table.Table]:
    """Rows as they come; those too wide for the screen with their features below each other."""
    columns = [*names, "label"]
    rows = [
        [*(number(value) for value in x), class_names.get(label, _label(label))]
        for x, label in zip(chunk.X.tolist(), chunk.y.tolist(), strict=True)
    ]
    if chunk.times is not None:
        columns = ["time", *columns]
        rows = [[str(time), *row] for time, row in zip(chunk.times, rows, strict=True)]
    if sum(_widest(column) for column in zip(columns, *rows, strict=True)) <= width - EDGES:
        yield _rows_table(columns, rows)
        return
    names_width = min(_widest(columns), width // 2)
    n_side_by_side = max(1, (width - EDGES - names_width) // max(map(_widest, rows)))
    for start in range(0, len(rows), n_side_by_side):
        yield _columns_table(columns, rows[start : start + n_side_by_side], start)


def _widest(texts: Iterable[str]) -> int:
    """Characters that a column needs, with the gap to the next."""
    return max(map(rich.cells.cell_len, texts)) + GAP


def _rows_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> rich.table.Table:
    table = _table()
    for column in columns:
        table.add_column(literal(column), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(literal, row))
    return table


def _columns_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], start: int
) -> rich.table.Table:
    table = _table()
    table.add_column("row", style="bold", overflow="fold")
    for place in range(len(rows)):
        table.add_column(f"{start + place + 1:,}", justify="right", no_wrap=True)
    for column, values in zip(columns, zip(*rows, strict=True), strict=True):
        table.add_row(literal(column), *map(literal, values))
    return table


def features_table(whole: Description, feature_names: Sequence[str]) -> rich.table.Table:
    """Range, mean, spread and missing values of every feature."""
    table = _table("Features")
    table.add_column("feature", style="bold", overflow="fold")
    for column in ("min", "mean", "max", "std", "missing"):
        table.add_column(column, justify="right", no_wrap=True)
    for place, name in enumerate(feature_names):
        values = (whole.lows, whole.means, whole.highs, whole.stds)
        n_missing = int(whole.n_missing[place])
        missing = f"{n_missing:,} ({percent(n_missing / whole.n_rows)})" if n_missing else NO_VALUE
        table.add_row(literal(name), *(number(float(value[place])) for value in values), missing)
    return table


def classes_table(whole: Description, names: Mapping[Hashable, str]) -> rich.table.Table:
    """How often each class came, the most common first."""
    table = _table("Classes")
    table.add_column("label", style="bold", overflow="fold")
    if names:
        table.add_column("name", overflow="fold")
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    shares = list(whole.class_shares().items())
    for label, part in shares[:MOST_CLASS_LINES]:
        name = [literal(names.get(label, ""))] if names else []
        n_rows = f"{whole.class_counts[label]:,}"
        table.add_row(literal(_label(label)), *name, n_rows, percent(part))
    rest = shares[MOST_CLASS_LINES:]
    if rest:
        n_rows = f"{sum(whole.class_counts[label] for label, _ in rest):,}"
        blank = [""] if names else []
        table.add_row(f"{len(rest):,} more", *blank, n_rows, percent(sum(part for _, part in rest)))
    return table


def chunks_table(
    overview: Overview, feature_names: Sequence[str], drift_positions: Sequence[int]
) -> rich.table.Table:
    """Class balance, missing values and ranges as the stream goes on, with its drifts if known."""
    groups = joined_neighbours(overview.parts, math.ceil(len(overview.parts) / MOST_LINES))
    shows_ranges = len(feature_names) <= MOST_CLASSES
    lines: list[list[str]] = []
    start, before = 0, None
    for group in groups:
        missing = group.n_missing.sum() / max(group.n_rows * len(feature_names), 1)
        lines.append(
            [
                f"{start:,}",
                _drifts([each for each in drift_positions if 0 <= each - start < group.n_rows]),
                percent(missing) if missing else "",
                _balance(group),
                *(_ranges(group) if shows_ranges else [_new_ranges(group, before, feature_names)]),
            ]
        )
        start += group.n_rows
        before = group if before is None else before + group
    columns = ["rows from", "drift", "missing", "class balance"]
    columns += feature_names if shows_ranges else ["new ranges"]
    table = _table("Chunks")
    shown = [place for place in range(len(columns)) if any(line[place] for line in lines)]
    for place in shown:
        justify: rich.console.JustifyMethod = "right" if place < 3 else "left"
        is_narrow = place <= 3 and max(len(line[place]) for line in lines) <= NARROW
        table.add_column(
            literal(columns[place]), justify=justify, overflow="fold", no_wrap=is_narrow
        )
    for line in lines:
        table.add_row(*(literal(line[place]) for place in shown))
    return table


def _table(name: str = "") -> rich.table.Table:
    return rich.table.Table(
        title=title(name) if name else None,
        title_justify="left",
        box=rich.box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )


def _drifts(positions: Sequence[int]) -> str:
    if len(positions) > MOST_DRIFTS:
        return f"{len(positions):,} drifts"
    return ", ".join(f"{each:,}" for each in positions)


def _balance(group: Description) -> str:
    shares = list(group.class_shares().items())
    text = "  ".join(f"{_label(label)}: {percent(part)}" for label, part in shares[:MOST_CLASSES])
    rest = sum(part for _, part in shares[MOST_CLASSES:])
    return f"{text}  others: {percent(rest)}" if rest else text


def _ranges(group: Description) -> list[str]:
    """From where to where the values of each feature go."""
    ends = zip(group.lows.tolist(), group.highs.tolist(), strict=True)
    return [f"{number(low, digits=3)} .. {number(high, digits=3)}" for low, high in ends]


def _new_ranges(group: Description, before: Description | None, names: Sequence[str]) -> str:
    """Features that left the range they had so far."""
    if before is None:
        return NO_VALUE
    wider = (group.lows < before.lows) | (group.highs > before.highs)
    found = list(itertools.compress(names, wider))
    more = f" and {len(found) - MOST_NAMES:,} more" if len(found) > MOST_NAMES else ""
    return (", ".join(found[:MOST_NAMES]) or NO_VALUE) + more


def _label(label: object) -> str:
    return NO_VALUE if label is None else str(label)


def number(value: float, digits: int = 4) -> str:
    """A number in few characters.

    >>> number(0.5), number(1234567.0), number(float("nan"))
    ('0.5', '1.235e+06', '-')
    """
    return NO_VALUE if math.isnan(value) else f"{value:.{digits}g}"


def percent(part: float) -> str:
    """A share in percent.

    >>> percent(0.25), percent(1e-6)
    ('25.0 %', '< 0.1 %')
    """
    if 0.0 < part < 0.0005:
        return "< 0.1 %"
    return f"{100.0 * part:.1f} %"
