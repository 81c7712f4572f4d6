"""HTML pages that need no other file: sections of text, tables and figures, and values as text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import jinja2
from markupsafe import Markup

from devfnn.errors import InputError
from devfnn.figures import as_svg
from devfnn.figures.style import new_figure, styled
from devfnn.formatting import NO_VALUE, flat_names, printable

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of writing: told in a page, not held."""

WIDE, HALF = 10.5, 5.1
"""Widths of figures in inches: of the whole page, and of half of it."""

Part: TypeAlias = str | dict[str, Any] | list[dict[str, Any]]
"""A part of a section: a paragraph, what `table` made, or a list of what `picture` made."""


def rendered(sections: Mapping[str, Iterable[Part]], **content: Any) -> str:
    """A page; the same data give the same page, and all text from data is escaped.

    `content` is what else the template `page.html` names, such as a title and remarks.
    """
    loader = jinja2.PackageLoader("devfnn.reports")
    pages = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style = Markup(loader.get_source(pages, "page.css")[0])
    page = pages.get_template("page.html").render(content, sections=sections, style=style)
    page = _UNSEEN.sub(lambda found: printable(found[0]), page)
    return f"{page}\n".encode("utf-8", "replace").decode("utf-8")  # no lone surrogates


def table(columns: Mapping[str, str], rows: Iterable[Sequence[object]], look: str = "") -> Part:
    """Rows of text below the names of columns; the first cell of a row is its name.

    Columns and the whole table may have a look, which is a class of `page.css`.
    """
    return {"columns": columns, "rows": rows, "look": look}


def pairs(kind: str, values: Mapping[str, object]) -> Part:
    """A table of names and values."""
    if not values:
        return f"There is no {kind} in the result."
    return table({kind: "", "value": "value"}, values.items(), "narrow")


def picture(
    title: str,
    caption: str,
    draw: Callable[..., Any],
    *data: Any,
    height: float | None = None,
    is_wide: bool = False,
) -> dict[str, Any]:
    """A figure of `data`; if they do not allow it, the message that says why.

    `height` in inches asks for a figure as wide as half the page, or, if it is wide, all of it.
    """
    width = WIDE if is_wide else HALF
    try:
        how = {} if height is None else {"ax": styled(new_figure(width, height).add_subplot)()}
        svg = Markup(as_svg(draw(*data, **how), title))  # whose text is escaped
    except InputError as error:
        svg, caption = None, f"Left out. {sentence(str(error))}"
    return {"title": title, "caption": caption, "svg": svg, "is_wide": is_wide}


def decimal(number: float | None, digits: int = 3) -> str:
    """A number with so many decimals.

    >>> decimal(0.5), decimal(-0.0001), decimal(None)
    ('0.500', '0.000', '-')
    """
    return NO_VALUE if number is None else f"{round(number, digits) + 0.0:.{digits}f}"


def marked(value: object) -> Markup:
    """A value that stands out."""
    return Markup("<mark>{}</mark>").format(value)


def plain(value: object) -> str:
    """Any plain value as text, numbers in few digits.

    >>> plain(0.123456789), plain(True), plain(None), plain([1, "a"])
    ('0.123457', 'yes', '-', '1, a')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = ", ".join(map(plain, value)) if isinstance(value, list | tuple) else str(value)
    return NO_VALUE if value is None or not text else text


def settings_of(result: Mapping[str, Any]) -> dict[str, str]:
    """Settings of a run that have a value, as text.

    >>> settings_of({"settings": {"rows": None, "skip": 0, "stream": {"noise": 0.1}}})
    {'skip': '0', 'stream.noise': '0.1'}
    """
    flat = flat_names(result.get("settings") or {})
    return {name: plain(value) for name, value in flat.items() if value not in (None, "", [])}


def sentence(text: str) -> str:
    """A text with a capital letter at its start and a full stop at its end.

    >>> sentence("no rules in the result")
    'No rules in the result.'
    """
    text = text.strip()
    return text if not text else text[0].upper() + text[1:].removesuffix(".") + "."
