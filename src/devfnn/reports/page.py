"""HTML pages that need no other file: templates, figures, and values as text."""

import base64
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jinja2
from markupsafe import Markup
from matplotlib.axes import Axes

from devfnn.errors import InputError
from devfnn.figures import as_svg
from devfnn.figures.style import new_figure, styled
from devfnn.formatting import NO_VALUE, count, percent, seconds, size

WIDE, HALF = 10.5, 5.1
"""Widths of figures in inches: of the whole page, and of half of it."""

LONGEST_VALUE = 400
"""Characters of a setting that are shown."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of a page, or the reason why it is missing."""

    title: str
    caption: str
    svg: Markup | None = None
    missing: str = ""
    is_wide: bool = False


def picture(title: str, caption: str, draw: Callable[[], Any], *, is_wide: bool = False) -> Picture:
    """Draw a figure; if the data do not allow it, keep the message that says why."""
    try:
        svg = Markup(as_svg(draw(), title))  # whose text is escaped
    except InputError as error:
        return Picture(title, caption, missing=sentence(str(error)), is_wide=is_wide)
    return Picture(title, caption, svg=svg, is_wide=is_wide)


def blank(width: float, height: float) -> Axes:
    """Empty axes of this size in inches, in the style of all figures."""
    return styled(new_figure(width, height).add_subplot)()


def rendered(template: str, context: Mapping[str, Any]) -> str:
    """A template of this package filled with data; the same data give the same page."""
    text = _environment().get_template(template).render(context) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be written


@functools.cache
def _environment() -> jinja2.Environment:
    """Templates in which all text from data is escaped."""
    loader = jinja2.PackageLoader("devfnn.reports")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = (loader.get_source(environment, name)[0] for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        # The page allows this one script, and nothing is loaded from elsewhere.
        "policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'",
    }
    formats = (percent, count, decimal, seconds, size, plain)
    environment.filters |= {each.__name__: each for each in formats}
    return environment


def decimal(number: float | None, digits: int = 3) -> str:
    """A number with so many decimals.

    >>> decimal(0.5), decimal(-0.0001), decimal(None)
    ('0.500', '0.000', '-')
    """
    return NO_VALUE if number is None else f"{round(number, digits) + 0.0:.{digits}f}"


def p_value(number: float) -> str:
    """A p-value; small ones as a bound.

    >>> p_value(0.0421), p_value(0.00001)
    ('0.042', '< 0.001')
    """
    return "< 0.001" if number < 0.001 else f"{number:.3f}"


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
    if value is None or not text:
        return NO_VALUE
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + " …"


def flattened(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of nested settings; inner names follow a point.

    >>> list(flattened({"a": 1, "stream": {"noise": 0.1}}))
    [('a', 1), ('stream.noise', 0.1)]
    """
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def set_values(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Settings that have a value, flattened.

    >>> set_values({"rows": None, "skip": 0, "changes": {}, "stream": {"noise": 0.1}})
    [('skip', 0), ('stream.noise', 0.1)]
    """
    empty: tuple[object, ...] = (None, "", [], {})
    return [(name, value) for name, value in flattened(values) if value not in empty]


def sentence(text: str) -> str:
    """A text with a capital letter at its start and a full stop at its end.

    >>> sentence("no rules in the result")
    'No rules in the result.'
    """
    text = text.strip()
    return text if not text else text[0].upper() + text[1:].removesuffix(".") + "."
