"""Text shown as it is, and the tables that all others are made from."""

from collections.abc import Iterable, Mapping, Sequence

import rich.box
import rich.console
import rich.table
import rich.text

LEFT: rich.console.JustifyMethod = "left"
RIGHT: rich.console.JustifyMethod = "right"


def literal(text: str, style: str = "") -> rich.text.Text:
    """Text without markup or emoji; control characters are shown and do not reach the terminal.

    >>> literal("speed [m/s] \\x1b[2J").plain
    'speed [m/s] \\\\x1b[2J'
    """
    shown = (each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)
    return rich.text.Text("".join(shown), style=style)


def title(text: str) -> rich.text.Text:
    """The title of a table."""
    return literal(text, "table.title")


def simple_table(name: str = "") -> rich.table.Table:
    """An empty table without frames."""
    return rich.table.Table(
        title=title(name) if name else None,
        title_justify="left",
        box=rich.box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )


def text_table(
    name: str,
    columns: Iterable[tuple[str, rich.console.JustifyMethod]],
    lines: Iterable[Sequence[str | rich.text.Text]] = (),
) -> rich.table.Table:
    """Lines of text below names of columns; columns at the right hold numbers and do not fold."""
    table = simple_table(name)
    for place, (column, side) in enumerate(columns):
        style = "bold" if side == LEFT and not place else ""
        is_number = side == RIGHT
        table.add_column(
            literal(column), justify=side, style=style, no_wrap=is_number, overflow="fold"
        )
    for line in lines:
        table.add_row(*(literal(cell) if isinstance(cell, str) else cell for cell in line))
    return table


def facts_table(name: str, facts: Mapping[str, str]) -> rich.table.Table:
    """Names and values in two columns; empty values are left out."""
    table = rich.table.Table(
        title=title(name), title_justify="left", show_header=False, box=rich.box.SIMPLE
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for fact, value in facts.items():
        if value:
            table.add_row(fact, literal(value))
    return table
