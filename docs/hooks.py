"""What the site does to pages while it is built: formulas as pictures, tables of parameters.

Formulas are drawn by matplotlib, so that no page loads a script from elsewhere.
"""

import dataclasses
import html
import inspect
import re
from typing import Any, Literal, get_args, get_origin

from matplotlib.mathtext import MathTextParser
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from devfnn import Config
from devfnn.model.config import SECTIONS, Layer

FORMULA = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)

SIZE = 16.0
"""Of the letters in formulas, in units of a picture."""

STEPS: dict[int, str] = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
"""Letters of SVG for the steps of an outline."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the tables of parameters where a page asks for it."""
    return markdown.replace("<!-- parameters -->", parameters_tables())


def on_page_content(content: str, **_: Any) -> str:
    """Draw the formulas."""
    return FORMULA.sub(lambda match: formula(html.unescape(match.group(1))), content)


def formula(source: str) -> str:
    """A formula as an SVG element on the line of the text around it.

    >>> formula("n").startswith('<svg class="formula" role="img" aria-label="n"')
    True
    """
    text = f"${source}$"
    width, height, depth, *_ = MathTextParser("path").parse(text, dpi=72)
    width, height, depth = (each * SIZE / 10.0 for each in (width, height, depth))
    outline = "".join(
        _step(code, points) for points, code in TextPath((0.0, 0.0), text, SIZE).iter_segments()
    )
    em = [f"{each / SIZE:.3f}em" for each in (width, height, depth)]
    return (
        f'<svg class="formula" role="img" aria-label="{html.escape(source)}" '
        f'style="width:{em[0]};height:{em[1]};vertical-align:-{em[2]}" '
        f'viewBox="0 {depth - height:.2f} {width:.2f} {height:.2f}">'
        f'<path transform="scale(1 -1)" d="{outline}"/></svg>'
    )


def _step(code: int, points: Any) -> str:
    if code == Path.CLOSEPOLY:
        return "Z"
    return STEPS[code] + " ".join(f"{value:.2f}" for value in points)


def parameters_tables() -> str:
    """Every parameter: a Markdown table for the network, for layers, and for every section."""
    parts = ["### The network", parameters_table(Config), "### `layers`", *_described(Layer)]
    for name, kinds in SECTIONS.items():
        parts.append(f"### `{name}`")
        for kind in kinds:
            parts += _described(kind)
    return "\n\n".join(parts)


def _described(kind: type) -> list[str]:
    return [f"`{kind.__name__}`: {inspect.getdoc(kind)}".partition("\n")[0], parameters_table(kind)]


def parameters_table(kind: type) -> str:
    """The parameters of a section as rows of a Markdown table; none if it has none.

    >>> print(parameters_table(SECTIONS["clouds"][0]).splitlines()[2])
    | `max_rules` | `100` | 1 to 100,000 | clouds in the layer |  |
    """
    rows = ["| parameter | default | values | meaning | symbol |", "|---|---|---|---|---|"]
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if about := field.metadata:
            values = _values(field.type, about)
            cells = (f"`{field.name}`", f"`{field.default!r}`", values, about["meaning"])
            rows.append(f"| {' | '.join(cells)} | {about['symbol']} |")
    return "\n".join(rows)


def _values(kind: Any, about: Any) -> str:
    """Which values a parameter may have."""
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value!r}`" for value in get_args(kind))
    if "low" in about:
        return f"{about['low']:,g} to {about['high']:,g}"
    return "`True`, `False`"
