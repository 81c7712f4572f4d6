"""The style of all figures: colours, font sizes, labels, and how figures are saved."""

import contextlib
import functools
import io
import os
import pathlib
import re
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from devfnn.errors import InputError

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

SMALL = 8.0
"""Size of legends, tick labels and notes, in points."""

SIZE = 9.0
"""Size of all other text, in points."""

LONGEST_NAME = 28
"""Letters of a name that are shown; the middle of a longer one is left out."""

STYLE: dict[Any, Any] = {
    "axes.edgecolor": GREY,
    "axes.facecolor": "white",
    "axes.labelcolor": INK,
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE,
    "axes.titleweight": "normal",
    "axes.titlecolor": INK,
    "axes.unicode_minus": True,
    "figure.dpi": 100.0,
    "figure.facecolor": "white",
    "font.family": ["sans-serif"],
    "font.size": SIZE,
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "path.simplify": True,
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    "savefig.bbox": None,
    "savefig.facecolor": "auto",
    "savefig.transparent": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "devfnn",
    "text.color": INK,
    "text.parse_math": True,  # `label` masks dollar signs, which only then are shown as they are
    "text.usetex": False,
}

FORMATS: dict[str, dict[str, Any]] = {
    ".png": {"dpi": 200},
    ".svg": {"metadata": {"Date": None}, "dpi": 200},
    ".pdf": {"metadata": {"CreationDate": None}, "dpi": 200},
}
"""Formats by suffix; without dates, so that the same figure gives the same file."""

Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn")


def styled(draw: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """The same function, drawing in this style; matplotlib's settings are restored afterwards."""

    @functools.wraps(draw)
    def draw_in_style(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Drawn:
        with matplotlib.rc_context(STYLE):
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
    named = ax.get_legend_handles_labels()[0] if handles is None else list(handles)
    columns = len(named) if len(named) <= 4 else -(-len(named) // 2)
    ax.legend(
        handles=named,
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
    return shortened(name, longest).replace("$", r"\$")


def class_label(name: Hashable) -> str:
    """A class as a figure shows it.

    >>> class_label("up"), class_label(1)
    ('up', 'class 1')
    """
    return label(name if isinstance(name, str) else f"class {name}")


def shortened(name: object, longest: int = LONGEST_NAME) -> str:
    """A name on one line, without its middle if it is too long."""
    line = " ".join(str(name).split())
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    if len(line) <= longest:
        return line
    n_last = (longest - 1) // 2
    return f"{line[: longest - 1 - n_last]}…{line[len(line) - n_last :]}"


def text_width(text: str, size: float) -> float:
    """Width of a line of text in points."""
    properties = FontProperties(size=size)
    with _without_glyph_warnings():  # there will be one when the text is drawn
        measured = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
    return float(measured[0])


def figure_of(figure_or_axes: Drawing) -> Figure:
    """The whole figure."""
    drawing = figure_or_axes.figure if isinstance(figure_or_axes, Axes) else figure_or_axes
    return drawing.figure if isinstance(drawing, SubFigure) else drawing


def save(figure_or_axes: Drawing, path: str | os.PathLike[str]) -> None:
    """Write a figure to a .png (200 dots per inch), .svg or .pdf file, the same bytes each time."""
    target = pathlib.Path(path)
    check_format(target)
    suffix = target.suffix.lower()
    if not target.parent.is_dir():
        raise InputError(f"the folder of {str(path)!r} does not exist: make it first")
    with matplotlib.rc_context(STYLE), _without_glyph_warnings():
        content = _written(figure_or_axes, suffix.removeprefix("."), FORMATS[suffix])
    try:
        target.write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def check_format(path: pathlib.Path) -> None:
    """Refuse a file whose suffix is no format of figures."""
    if path.suffix.lower() not in FORMATS:
        *first, last = FORMATS
        raise InputError(
            f"the format of {str(path)!r} is not known: use the suffix {', '.join(first)} or {last}"
        )


def as_svg(figure_or_axes: Drawing, hashsalt: str = "devfnn") -> str:
    """A figure as an SVG element, for HTML pages; its text can be searched and copied.

    hashsalt: different for the figures of a page, since element ids are made from it
    """
    settings = STYLE | {"svg.hashsalt": hashsalt, "svg.fonttype": "none"}
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context(settings), _without_glyph_warnings():  # a browser has all letters
        content = _written(figure_or_axes, "svg", {"metadata": nothing, "dpi": 200})
    text = content.decode("utf-8")
    text = text[text.index("<svg") :].strip()
    # Ids such as axes_1 are the same in every figure, and nothing refers to them.
    referred = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text))
    return re.sub(
        r' id="([^"]*)"', lambda match: match.group() if match.group(1) in referred else "", text
    )


@contextlib.contextmanager
def _without_glyph_warnings() -> Iterator[None]:
    """Ignore letters that the font lacks; they are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _written(figure_or_axes: Drawing, file_format: str, options: dict[str, Any]) -> bytes:
    """A figure as bytes of a format."""
    content = io.BytesIO()
    figure_of(figure_or_axes).savefig(content, format=file_format, **options)
    return content.getvalue()
