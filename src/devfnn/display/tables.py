"""How tables of results look on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import rich.box
import rich.console
import rich.table

from devfnn.display.literal import literal, title
from devfnn.experiments.rendering import NO_VALUE, Column, Table

ROOMY = 110
"""Width of a terminal, in letters, from which on details are shown."""


def results_table(table: Table, width: int = ROOMY) -> rich.table.Table:
    """A table of results; columns to be compared stand under each other, to save width."""
    every = [
        column
        for column in table.columns
        if column.key != table.section and (width >= ROOMY or not column.is_detail)
    ]
    shown = [column for column in every if column.beside is None and _says_something(column, table)]
    below = {column.beside: column for column in every if column.beside is not None}
    grid = rich.table.Table(
        title=title(table.title), box=rich.box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    for place, column in enumerate(shown):
        grid.add_column(
            literal(column.title),
            justify="right" if place else "left",
            no_wrap=column.spread is None,  # the others fold at their ±
            overflow="fold",
            min_width=6 if column.spread else None,  # else a narrow terminal loses columns
        )
    for rows in table.sections():
        if table.section is not None:
            grid.add_row(literal(str(rows[0][table.section]), "bold"))
        for row in rows:
            for style, cells in _lines(row, shown, below):
                grid.add_row(*(literal(cell) for cell in cells), style=style)
        grid.add_section()
    return grid


def show_notes(table: Table, console: rich.console.Console) -> None:
    """What a reader must know, under the table."""
    for note in table.notes:
        console.print(literal(note, "dim"))


def _says_something(column: Column, table: Table) -> bool:
    """Whether it, or the column beside it, has a value anywhere."""
    pair = [each for each in table.columns if column.key in (each.key, each.beside)]
    return any(each.text(row) != NO_VALUE for each in pair for row in table.rows)


def _lines(
    row: Mapping[str, Any], shown: Sequence[Column], below: Mapping[str, Column]
) -> list[tuple[str, list[str]]]:
    """A row as one or two lines with their styles: what was measured, and what was published."""
    measured = [column.text(row) for column in shown]
    beside = [below[column.key].text(row) if column.key in below else "" for column in shown]
    if all(cell in ("", NO_VALUE) for cell in beside):
        return [("", measured)]
    if not any(row.get(column.key) is not None for column in shown if column.key in below):
        return [("dim", [f"{measured[0]}, published", *beside[1:]])]
    return [("", measured), ("dim", ["  published", *beside[1:]])]
