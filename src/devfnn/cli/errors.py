"""Errors as messages and exit codes, and Ctrl-C where it does no harm."""

import contextlib
import errno
import logging
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import typer

from devfnn.errors import DataError, InputError
from devfnn.formatting import printable
from devfnn.streams import stream
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.generators.drifting import StreamOptions

Wrap = Callable[[Iterable[Any]], Iterator[Any]]

_OPTIONS = "|".join({*ReadOptions.__annotations__, *StreamOptions.__annotations__})
_IN_PYTHON = re.compile(rf"\b({_OPTIONS})=(?:['\"]([^'\"]+)['\"]|(None|True|False)\b)")


@contextlib.contextmanager
def shown_errors() -> Iterator[None]:
    """Bad values end with exit code 2, data that cannot be read with 1, Ctrl-C with 130."""
    logger = logging.getLogger(stream.__name__)
    before, logger.disabled = logger.disabled, True  # commands show bad rows themselves
    warnings, shown_here = logging.getLogger("devfnn.streams"), _Warnings(logging.WARNING)
    warnings.addHandler(shown_here)
    try:
        yield
    except InputError as error:
        raise typer.BadParameter(in_shell_words(str(error))) from None
    except DataError as error:
        shown = printable(in_shell_words(str(error)))
        typer.secho(f"Error: {shown}", fg="red", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        if error.errno in (None, errno.EPIPE):  # a closed pipe is no error of ours
            raise
        named = repr(error.filename or "a file")
        typer.secho(f"Error: cannot use {named}: {error.strerror}", fg="red", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise interrupted() from None
    finally:
        logger.disabled = before
        warnings.removeHandler(shown_here)


class _Warnings(logging.Handler):
    """Shows what is logged of streams, names of files and columns among it."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(printable(record.getMessage()), err=True)


@contextlib.contextmanager
def printable_messages() -> Iterator[None]:
    """Messages about wrong arguments, which may be names of files, do nothing to a terminal."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            error.message = printable(message)  # type: ignore[attr-defined]
        raise


def in_shell_words(message: str) -> str:
    """A message with options of streams as on the command line.

    >>> in_shell_words("use on_bad_row='skip', or label=None")
    'use --with on_bad_row=skip, or --label none'
    """

    def typed(found: re.Match[str]) -> str:
        value = found[2] or found[3].lower()
        return f"--label {value}" if found[1] == "label" else f"--with {found[1]}={value}"

    return _IN_PYTHON.sub(typed, message)


def interrupted() -> typer.Exit:
    """Say that Ctrl-C was pressed, and return the exception that ends the program."""
    typer.secho("Interrupted.", fg="yellow", err=True)
    return typer.Exit(130)  # as shells have it


@contextlib.contextmanager
def between_chunks() -> Iterator[Wrap]:
    """Yields a function that wraps chunks, so that Ctrl-C works only while the next one is awaited.

    So no chunk is half learned, and a silent pipe can be left at once. Ctrl-C also works before
    the first chunk is asked for, and everywhere if it is pressed twice.
    """
    is_waiting, n_pressed = True, 0

    def press(*_: object) -> None:
        nonlocal n_pressed
        n_pressed += 1
        if is_waiting or n_pressed > 1:
            raise KeyboardInterrupt

    def wrap(chunks: Iterable[Any]) -> Iterator[Any]:
        nonlocal is_waiting
        for chunk in chunks:
            is_waiting = False
            yield chunk
            is_waiting = True
            if n_pressed:
                raise KeyboardInterrupt
        is_waiting = False

    if threading.current_thread() is not threading.main_thread():  # signals are not ours
        yield wrap
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield wrap
    finally:
        signal.signal(signal.SIGINT, before)


def until_ctrl_c(
    chunks: Iterable[Any], do: Callable[[Any], object], through: Callable[..., Iterable[Any]] = iter
) -> bool:
    """Apply a function to every result; returns whether Ctrl-C was not pressed."""
    try:
        with between_chunks() as wrap:
            for each in through(wrap(chunks)):
                do(each)
    except KeyboardInterrupt:
        return False
    return True
