"""What cannot be done, as a message and an exit code, in the words of the command line."""

import contextlib
import logging
import re
import signal
from collections.abc import Iterator

import typer

from devfnn.errors import DataError, InputError
from devfnn.streams import stream
from devfnn.streams.files.options import FileOptions
from devfnn.streams.generators.drifting import StreamOptions

BAD_ROWS_LOG = stream.__name__

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

_OPTIONS = "|".join({*FileOptions.__annotations__, *StreamOptions.__annotations__})
_IN_PYTHON = re.compile(rf"\b({_OPTIONS})=(?:'([^'\"]+)'|\"([^'\"]+)\"|(None|True|False)\b)")


@contextlib.contextmanager
def refusing_bad_data() -> Iterator[None]:
    """Show bad values with exit code 2, data that cannot be read with 1, and Ctrl-C with 130."""
    try:
        with _not_logged(BAD_ROWS_LOG):  # the commands show them in their own way
            yield
    except InputError as error:
        raise typer.BadParameter(in_shell_words(str(error))) from None
    except DataError as error:
        typer.secho(f"Error: {in_shell_words(str(error))}", fg="red", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise interrupted() from None


@contextlib.contextmanager
def _not_logged(name: str) -> Iterator[None]:
    """Let a part of the package log nothing."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def interrupted() -> typer.Exit:
    """Say that Ctrl-C was pressed; what is returned ends the program."""
    typer.secho("Interrupted.", fg="yellow", err=True)
    return typer.Exit(INTERRUPTED)


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """Let Ctrl-C wait until this is done, so that nothing is done by half."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def in_shell_words(message: str) -> str:
    """Options as one types them here.

    >>> in_shell_words("use on_bad_row='skip', or label=None")
    'use --with on_bad_row=skip, or --label none'
    """

    def typed(found: re.Match[str]) -> str:
        name = found[1]
        value = found[2] or found[3] or found[4].lower()
        return f"--label {value}" if name == "label" else f"--with {name}={value}"

    return _IN_PYTHON.sub(typed, message)
