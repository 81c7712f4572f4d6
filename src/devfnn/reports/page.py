"""A page: one HTML file that needs nothing else, with everything from the data escaped."""

import base64
import dataclasses
import functools
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from devfnn.errors import InputError
from devfnn.evaluation.summary import mean

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOT_MEASURED = "–"

WIDE, HALF = 10.5, 5.1
"""Widths of figures in inches: of the whole page, and of half of it."""

LONGEST_VALUE = 400
"""Characters of a setting that are shown."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of a page, or the reason why it is not there."""

    title: str
    caption: str
    svg: "Markup | None" = None
    missing: str = ""
    is_wide: bool = False


def picture(title: str, caption: str, draw: Callable[[], Any], *, is_wide: bool = False) -> Picture:
    """Draw a figure; one that the data do not allow is left out, with what was said about it."""
    from markupsafe import Markup

    from devfnn.figures.style import as_svg

    try:
        svg = as_svg(draw(), title)
    except InputError as error:
        return Picture(title, caption, missing=sentence(str(error)), is_wide=is_wide)
    # Text in a figure is escaped by the SVG writer. What stands before the element (XML
    # declaration, document type) has no place inside a page.
    return Picture(title, caption, svg=Markup(svg[svg.index("<svg") :]), is_wide=is_wide)


def sheet(width: float, height: float) -> "Figure":
    """An empty figure of so many inches, which is how large it is on the page."""
    from devfnn.figures.style import new_figure

    return new_figure(width, height)


def blank(width: float, height: float) -> "Axes":
    """Empty axes of so many inches, in the style of all figures."""
    from devfnn.figures.style import styled

    return styled(sheet(width, height).add_subplot)()


def rendered(template: str, context: Mapping[str, Any]) -> str:
    """A template of this package with its data, the same for the same data."""
    environment = _environment()
    text = environment.get_template(template).render(context) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")  # halves of characters cannot be written


@functools.cache
def _environment() -> "jinja2.Environment":
    """Templates in which whatever comes from data is escaped."""
    import jinja2
    from markupsafe import Markup

    loader = jinja2.PackageLoader("devfnn.reports")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = (loader.get_source(environment, name)[0] for name in ("page.css", "page.js"))
    digest = hashlib.sha256(script.encode()).digest()
    environment.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        # The page allows itself this one script and no address outside the file.
        "policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{base64.b64encode(digest).decode()}'",
    }
    environment.filters |= {
        "percent": percent,
        "count": count,
        "decimal": decimal,
        "p_value": p_value,
        "seconds": seconds,
        "size": size,
        "plain": plain,
    }
    return environment


def percent(share: float | None, digits: int = 2) -> str:
    """A share in percent.

    >>> percent(0.12345), percent(None)
    ('12.35 %', '–')
    """
    return NOT_MEASURED if share is None else f"{100.0 * share:.{digits}f} %"


def count(number: float | None) -> str:
    """A whole number with separators.

    >>> count(1234567)
    '1,234,567'
    """
    return NOT_MEASURED if number is None else f"{number:,.0f}"


def decimal(number: float | None, digits: int = 3) -> str:
    """A number with so many digits behind the point.

    >>> decimal(0.5), decimal(-0.0001)
    ('0.500', '0.000')
    """
    if number is None:
        return NOT_MEASURED
    return f"{round(number, digits) + 0.0:.{digits}f}"


def seconds(number: float | None) -> str:
    """A duration.

    >>> seconds(0.0234), seconds(83.21)
    ('0.02 s', '83.2 s')
    """
    if number is None:
        return NOT_MEASURED
    return f"{number:.2f} s" if number < 10.0 else f"{number:,.1f} s"


def p_value(number: float | None) -> str:
    """A p-value; small ones as a bound.

    >>> p_value(0.0421), p_value(0.00001)
    ('0.042', '< 0.001')
    """
    if number is None:
        return NOT_MEASURED
    return "< 0.001" if number < 0.001 else f"{number:.3f}"


def size(n_bytes: float | None) -> str:
    """Bytes in the unit that fits.

    >>> size(512), size(102_400), size(3_000_000)
    ('512 B', '102 kB', '3.0 MB')
    """
    if n_bytes is None:
        return NOT_MEASURED
    if n_bytes < 1e3:
        return f"{n_bytes:.0f} B"
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:.0f} kB"
    return f"{n_bytes / 1e6:,.1f} MB"


def plain(value: object) -> str:
    """Any plain value as text, numbers in few digits.

    >>> plain(0.123456789), plain(True), plain(None), plain([1, "a"])
    ('0.123457', 'yes', '–', '1, a')
    """
    if value is None or value == "":
        return NOT_MEASURED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        text = ", ".join(map(plain, value)) or NOT_MEASURED
    else:
        text = str(value)
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
    """Settings that are set to something, flattened.

    >>> set_values({"rows": None, "skip": 0, "changes": {}, "stream": {"noise": 0.1}})
    [('skip', 0), ('stream.noise', 0.1)]
    """
    empty: tuple[object, ...] = (None, "", [], {})
    return [(name, value) for name, value in flattened(values) if value not in empty]


def sentence(text: str) -> str:
    """A text with a capital letter at its start and a point at its end.

    >>> sentence("no rules in the result")
    'No rules in the result.'
    """
    text = text.strip()
    return text if not text else text[0].upper() + text[1:].removesuffix(".") + "."


def spread(values: "list[float]") -> float | None:
    """The standard deviation (n - 1), of two values at least."""
    middle = mean(values)
    if middle is None or len(values) < 2:
        return None
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
