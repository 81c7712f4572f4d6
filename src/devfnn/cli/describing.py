"""`devfnn data describe`: a stream read once, in bounded memory, and shown."""

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import rich.console

from devfnn.cli.refusals import finishing
from devfnn.cli.results import CsvFile, ResultFile
from devfnn.display.literal import literal
from devfnn.display.progress import rows_bar
from devfnn.display.streams import MOST_LINES, chunks_table, classes_table, features_table
from devfnn.streams.describing import Description, Overview, describe
from devfnn.streams.drift import positions_before
from devfnn.streams.stream import Stream

NUMBERS = ("min", "max", "mean", "std", "missing")
"""What a table says about each feature of a chunk."""


def described(
    stream: Stream, result: ResultFile, table: CsvFile, console: rich.console.Console
) -> tuple[Overview, bool]:
    """A stream in few numbers, and whether it was read to its end or until Ctrl-C.

    Each chunk goes to the result and the table as it comes, and is not kept.
    """
    overview = Overview(most=2 * MOST_LINES)
    names = stream.feature_names
    numbers = (f"{number} of {name}" for name in names for number in NUMBERS)
    table.add(["first row", "rows", "classes", "hidden labels", *numbers])
    n_rows = 0
    try:
        with rows_bar(console, "reading", stream.n_rows) as progress:
            for part in describe(stream):
                with finishing():
                    overview.add(part)
                    if result.is_wanted:
                        result.add("chunks", part.to_dict(names))
                    if table.is_wanted:
                        table.add(_line(part, names, n_rows))
                n_rows += part.n_rows
                progress(n_rows)
    except KeyboardInterrupt:
        return overview, False
    return overview, True


def _line(part: Description, names: Sequence[str], n_before: int) -> Iterator[Any]:
    """A chunk as a line of a table; class counts are JSON, for nobody knows what classes come."""
    data = part.to_dict(names)
    yield from (n_before + 1, data["rows"], json.dumps(data["classes"]), data["hidden_labels"])
    yield from (data["features"][name][number] for name in names for number in NUMBERS)


def show_overview(overview: Overview, stream: Stream, screen: rich.console.Console) -> None:
    """Chunks, classes and features as tables."""
    assert overview.whole is not None
    chunks = "1 chunk" if overview.n_chunks == 1 else f"{overview.n_chunks:,} chunks"
    screen.print(f"{overview.whole.n_rows:,} rows in {chunks}")
    positions = positions_before(stream.drift_positions, overview.whole.n_rows)
    screen.print(chunks_table(overview, stream.feature_names, positions))
    screen.print(classes_table(overview.whole, class_names(stream)))
    screen.print(features_table(overview.whole, stream.feature_names))
    show_bad_rows(stream, screen)


def class_names(stream: Stream) -> dict[Hashable, str]:
    """What classes are called, where they have names."""
    if not stream.class_names:
        return {}
    return dict(zip(stream.classes, stream.class_names, strict=True))


def show_bad_rows(stream: Stream, screen: rich.console.Console) -> None:
    """Say which rows were left out, if they were counted."""
    if stream.bad_rows is None or not stream.bad_rows.n_rows:
        return
    n_bad = stream.bad_rows.n_rows
    screen.print("1 bad row was left out:" if n_bad == 1 else f"{n_bad:,} bad rows were left out:")
    for row, reason in stream.bad_rows.examples:
        screen.print(literal(f"  row {row:,}: {reason}"))
