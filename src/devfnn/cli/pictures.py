"""Figures as files: tried before the work, and written after it."""

import pathlib
import warnings
from typing import TYPE_CHECKING

from devfnn.cli.results import check_replaceable
from devfnn.errors import InputError

if TYPE_CHECKING:
    from devfnn.figures.style import Drawing


def check_picture(target: pathlib.Path) -> None:
    """Refuse now what could not be written after the work."""
    from devfnn.figures.style import FORMATS

    if target.suffix.lower() not in FORMATS:
        endings = ", ".join(FORMATS)
        raise InputError(f"cannot tell a format from {str(target)!r}: end it in one of {endings}")
    check_replaceable(target)


def save_picture(drawing: "Drawing", target: pathlib.Path) -> None:
    """Write a figure to a file."""
    from devfnn.figures import save

    with warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes; nobody can do anything about it here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        save(drawing, target)
