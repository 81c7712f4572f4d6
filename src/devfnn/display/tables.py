"""Text shown as it is, and the tables that all others are made from."""

from collections.abc import Mapping

import rich.box
import rich.table
import rich.text


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
