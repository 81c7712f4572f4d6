"""The style of all figures: colours, font sizes, labels, and how figures are saved."""

import contextlib
import functools
import io
import os
import pathlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar

import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from devfnn.errors import InputError
from devfnn.files import write_whole

Drawing: TypeAlias = Figure | SubFigure | Axes
"""What can be saved: a figure, or the axes of one."""

INK = "#262626"
GREY = "#7f7f7f"
PALE = "#d9d9d9"
BLUE = "#0072b2"
ORANGE = "#e69f00"
GREEN = "#009e73"
RED = "#d55e00"
PURPLE = "#cc79a7"
SKY = "#56b4e9"

PALETTE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, "#8c6d31", INK)
"""Colours that can be distinguished with any colour vision, after Okabe and Ito."""

WIDTH = 7.0
"""Width of a figure in inches: a page of text."""

SMALL, SIZE = 8.0, 9.0
"""Sizes of text in points: of legends, tick labels and notes, and of all else."""

LONGEST_NAME = 28
"""Letters of a name that are shown; the middle of a longer one is left out."""

STYLE: dict[Any, Any] = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE,
    "axes.titlecolor": INK,
    "font.size": SIZE,
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    "svg.hashsalt": "devfnn",
    "text.color": INK,
}
"""What differs from the defaults of matplotlib."""

FORMATS: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"metadata": {"Date": None}},
    ".pdf": {"metadata": {"CreationDate": None}},
}
"""Formats by suffix; without dates, so that the same figure gives the same file."""

Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn")


def styled(draw: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """The same function, drawing in this style; the user's settings do not matter, nor change."""

    @functools.wraps(draw)
    def draw_in_style(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Drawn:
        with matplotlib.style.context(["default", STYLE]):
            return draw(*args, **kwargs)

    return draw_in_style


def new_figure(width: float, height: float) -> Figure:
    """A figure of this size in inches, outside of pyplot, so that it needs no screen."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def axes_or_new(ax: Axes | None, width: float = WIDTH, height: float = 2.6) -> Axes:
    """The given axes, or those of a new figure, with two spines and small ticks."""
    if ax is None:
        ax = new_figure(width, height).add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(labelsize=SMALL, color=GREY, labelcolor=INK, length=3.0)
    ax.set_axisbelow(True)
    return ax


def legend_above(ax: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Put the legend of all that has a label, or of `handles`, above the axes at the right."""
    shown = ax.get_legend_handles_labels()[0] if handles is None else list(handles)
    columns = len(shown) if len(shown) <= 4 else -(-len(shown) // 2)
    ax.legend(
        handles=shown,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=max(columns, 1),
        borderaxespad=0.1,
        columnspacing=1.4,
        handlelength=1.8,
    )


def label(name: object, longest: int = LONGEST_NAME) -> str:
    """A name as a figure can show it: on one line, not too long, dollar signs escaped.

    >>> label("price in $ and\\nin $")
    'price in \\\\$ and in \\\\$'
    >>> label("a very long name of a feature", longest=12)
    'a very…ature'
    """
    line = " ".join(str(name).split())
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    if len(line) > longest:
        n_last = (longest - 1) // 2
        line = f"{line[: longest - 1 - n_last]}…{line[len(line) - n_last :]}"
    return line.replace("$", r"\$")


def text_width(text: str, size: float) -> float:
    """Width in points of a line of text as `label` gives it."""
    plain = text.replace(r"\$", "$")
    with _without_glyph_warnings():  # there will be one when the text is drawn
        return float(
            text_to_path.get_text_width_height_descent(plain, FontProperties(size=size), False)[0]
        )


def figure_of(figure_or_axes: Drawing) -> Figure:
    """The whole figure, also of axes in a part of it."""
    return figure_or_axes.figure.figure


def save(figure_or_axes: Drawing, path: str | os.PathLike[str]) -> None:
    """Write a figure to a .png (200 dots per inch), .svg or .pdf file, the same bytes each time."""
    target = pathlib.Path(path)
    check_format(target)
    if not target.parent.is_dir():
        raise InputError(f"the folder of {str(path)!r} does not exist: make it first")
    content = _written(figure_or_axes, target.suffix.lower())
    try:
        write_whole(target, content)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def check_format(path: pathlib.Path) -> None:
    """Refuse a file whose suffix is no format of figures."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"the format of {str(path)!r} is not known: use the suffix .png, .svg or .pdf"
        )


def as_svg(figure_or_axes: Drawing, hashsalt: str = "devfnn") -> str:
    """A figure as an SVG element, for HTML pages; its text can be searched and copied.

    hashsalt: different for the figures of a page, since element ids are made from it
    """
    settings = {"svg.hashsalt": hashsalt, "svg.fonttype": "none"}
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    text = _written(figure_or_axes, ".svg", settings, metadata=nothing).decode("utf-8")
    text = text[text.index("<svg") :].strip()
    # Ids such as axes_1 are the same in every figure, and nothing refers to them.
    referred = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text))
    return re.sub(
        r' id="([^"]*)"', lambda match: match.group() if match.group(1) in referred else "", text
    )


@contextlib.contextmanager
def _without_glyph_warnings() -> Iterator[None]:
    """Ignore letters that the font lacks; they are drawn as boxes, or by the browser."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _written(
    figure_or_axes: Drawing, suffix: str, settings: dict[Any, Any] | None = None, **options: Any
) -> bytes:
    """A figure as bytes of a format."""
    content = io.BytesIO()
    in_style = matplotlib.style.context(["default", STYLE | (settings or {})])
    with in_style, _without_glyph_warnings():
        figure_of(figure_or_axes).savefig(
            content, format=suffix[1:], dpi=200, **(FORMATS[suffix] | options)
        )
    return content.getvalue()
