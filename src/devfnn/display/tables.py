"""Text shown as it is, and the tables that all others are made from."""

import re
from collections.abc import Iterable, Mapping, Sequence

import rich.box
import rich.table
import rich.text

from devfnn.formatting import printable

Cell = str | rich.text.Text | None

NUMBER = re.compile(r"-?|([<>+] )?[+-]?[\d.,]+(e[+-]\d+)?( (%|bytes|[kMG]B))?( \(.*\))?")
"""Cells of columns that are aligned at the right and not folded."""


def literal(text: str, style: str = "") -> rich.text.Text:
    """Text without markup or emoji; control characters are shown and do not reach the terminal.

    >>> literal("speed [m/s] \\x1b[2J").plain
    'speed [m/s] \\\\x1b[2J'
    """
    return rich.text.Text(printable(text, keeps="\n"), style=style)


def simple_table(name: str = "", show_header: bool = True) -> rich.table.Table:
    """An empty table without frames."""
    return rich.table.Table(
        title=literal(name, "table.title") if name else None,
        title_justify="left",
        box=rich.box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
        show_header=show_header,
    )


def text_table(
    name: str, columns: Sequence[str], lines: Iterable[Iterable[Cell]], show_header: bool = True
) -> rich.table.Table:
    """Lines of text below names of columns; columns without any content are left out."""
    table = simple_table(name, show_header)
    texts = [
        [cell if isinstance(cell, rich.text.Text) else literal(cell or "") for cell in line]
        for line in lines
    ]
    shown = [place for place in range(len(columns)) if any(line[place].plain for line in texts)]
    for place in shown:
        is_number = all(NUMBER.fullmatch(line[place].plain) for line in texts)
        table.add_column(
            literal(columns[place]),
            justify="right" if is_number else "left",
            style="" if place or is_number else "bold",
            no_wrap=is_number,
            overflow="fold",
        )
    for line in texts:
        table.add_row(*(line[place] for place in shown))
    return table


def facts_table(name: str, facts: Mapping[str, str]) -> rich.table.Table:
    """Names and values in two columns; empty values are left out."""
    lines = [(literal(fact), value) for fact, value in facts.items() if value]
    table = text_table(name, ("", ""), lines, show_header=False)
    for column in table.columns:
        column.justify = "left"
    return table
