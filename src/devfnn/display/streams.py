"""How streams look: lists, facts, first rows, and what a stream is like chunk by chunk."""

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence

import rich.box
import rich.table

from devfnn.streams.describing import Description
from devfnn.types import Chunk

WIDE = 100
"""Columns of text in which names of features must fit to be shown side by side."""

MOST_CLASSES = 4
"""Classes whose shares are shown; the rest are put together."""

MOST_LINES = 20
"""Lines of a table of chunks; with more chunks a line stands for several."""

NO_VALUE = "-"


def names_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> rich.table.Table:
    """Names with what there is to know about them."""
    table = rich.table.Table(title=title, title_justify="left", box=rich.box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, style="bold" if number == 0 else "", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    return table


def facts_table(title: str, facts: Mapping[str, str]) -> rich.table.Table:
    """Facts, one below the other; those without a value are left out."""
    table = rich.table.Table(
        title=title, title_justify="left", show_header=False, box=rich.box.SIMPLE
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value:
            table.add_row(name, value)
    return table


def head_table(
    chunk: Chunk, feature_names: Sequence[str], title: str, class_names: Mapping[Hashable, str]
) -> rich.table.Table:
    """Rows as they come; many features are shown one below the other."""
    columns = [*feature_names, "label"]
    rows = [
        [*(number(value) for value in x), class_names.get(label, _label(label))]
        for x, label in zip(chunk.X.tolist(), chunk.y.tolist(), strict=True)
    ]
    if chunk.times is not None:
        columns = ["time", *columns]
        rows = [[str(time), *row] for time, row in zip(chunk.times, rows, strict=True)]
    table = rich.table.Table(title=title, title_justify="left", box=rich.box.SIMPLE_HEAD)
    if sum(len(column) + 3 for column in columns) <= WIDE:
        for column in columns:
            table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        return table
    table.add_column("row", style="bold", no_wrap=True)
    for place in range(len(rows)):
        table.add_column(str(place + 1), justify="right", no_wrap=True)
    for column, values in zip(columns, zip(*rows, strict=True), strict=True):
        table.add_row(column, *values)
    return table


def features_table(whole: Description, feature_names: Sequence[str]) -> rich.table.Table:
    """Range, mean, spread and missing values of every feature."""
    table = rich.table.Table(title="Features", title_justify="left", box=rich.box.SIMPLE_HEAD)
    table.add_column("feature", style="bold", overflow="fold")
    for column in ("min", "mean", "max", "std", "missing"):
        table.add_column(column, justify="right", no_wrap=True)
    for place, name in enumerate(feature_names):
        values = (whole.lows, whole.means, whole.highs, whole.stds)
        n_missing = int(whole.n_missing[place])
        missing = f"{n_missing:,} ({percent(n_missing / whole.n_rows)})" if n_missing else NO_VALUE
        table.add_row(name, *(number(float(value[place])) for value in values), missing)
    return table


def classes_table(whole: Description, names: Mapping[Hashable, str]) -> rich.table.Table:
    """How often each class came."""
    table = rich.table.Table(title="Classes", title_justify="left", box=rich.box.SIMPLE_HEAD)
    table.add_column("label", style="bold")
    if names:
        table.add_column("name")
    table.add_column("rows", justify="right")
    table.add_column("share", justify="right")
    for label, part in whole.class_shares().items():
        name = [names.get(label, "")] if names else []
        table.add_row(_label(label), *name, f"{whole.class_counts[label]:,}", percent(part))
    return table


def chunks_table(
    parts: Sequence[Description], feature_names: Sequence[str], drift_positions: Sequence[int]
) -> rich.table.Table:
    """Class balance, missing values and ranges as the stream goes on."""
    groups = _grouped(parts)
    table = rich.table.Table(title="Chunks", title_justify="left", box=rich.box.SIMPLE_HEAD)
    table.add_column("rows from", justify="right")
    table.add_column("class balance", overflow="fold")
    table.add_column("missing", justify="right")
    shows_ranges = len(feature_names) <= MOST_CLASSES
    for name in feature_names if shows_ranges else ("new ranges",):
        table.add_column(name, overflow="fold")
    table.add_column("drift")
    start, before = 0, None
    for group in groups:
        ranges = (
            [f"{number(a)} .. {number(b)}" for a, b in zip(group.lows, group.highs, strict=True)]
            if shows_ranges
            else [_new_ranges(group, before, feature_names)]
        )
        inside = [each for each in drift_positions if start <= each < start + group.n_rows]
        missing = group.n_missing.sum() / max(group.n_rows * len(feature_names), 1)
        table.add_row(
            f"{start:,}",
            _balance(group),
            percent(missing) if missing else NO_VALUE,
            *ranges,
            ", ".join(f"{each:,}" for each in inside),
        )
        start += group.n_rows
        before = group if before is None else before + group
    return table


def _grouped(parts: Sequence[Description]) -> list[Description]:
    """Neighbours put together until they fit on a screen."""
    size = math.ceil(len(parts) / MOST_LINES)
    groups = []
    for start in range(0, len(parts), size):
        group, *others = parts[start : start + size]
        for part in others:
            group = group + part
        groups.append(group)
    return groups


def _balance(group: Description) -> str:
    shares = list(group.class_shares().items())
    text = "  ".join(f"{_label(label)} {percent(part)}" for label, part in shares[:MOST_CLASSES])
    rest = sum(part for _, part in shares[MOST_CLASSES:])
    return f"{text}  others {percent(rest)}" if rest else text


def _new_ranges(group: Description, before: Description | None, names: Sequence[str]) -> str:
    """Features that left the range they had so far."""
    if before is None:
        return NO_VALUE
    wider = (group.lows < before.lows) | (group.highs > before.highs)
    found = list(itertools.compress(names, wider))
    if not found:
        return NO_VALUE
    return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")


def _label(label: object) -> str:
    return NO_VALUE if label is None else str(label)


def number(value: float) -> str:
    """A number in few characters.

    >>> number(0.5), number(1234567.0), number(float("nan"))
    ('0.5', '1.235e+06', '-')
    """
    return NO_VALUE if math.isnan(value) else f"{value:.4g}"


def percent(part: float) -> str:
    """A share in percent.

    >>> percent(0.25)
    '25.0 %'
    """
    return f"{100.0 * part:.1f} %"
