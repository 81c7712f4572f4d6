"""Texts of users, shown as they are."""

import rich.text


def literal(text: str, style: str = "") -> rich.text.Text:
    """A text as it is: brackets are no markup, colons no emoji, and nothing commands a terminal.

    >>> literal("speed [m/s] \\x1b[2J").plain
    'speed [m/s] \\\\x1b[2J'
    """
    shown = (each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)
    return rich.text.Text("".join(shown), style=style)


def title(text: str) -> rich.text.Text:
    """The title of a table."""
    return literal(text, "table.title")
