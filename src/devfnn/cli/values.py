"""NAME=VALUE pairs of the command line, and how refused values are shown."""

import contextlib
import math
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import typer

from devfnn.errors import DataError, InputError

Plain = bool | int | float | str


@contextlib.contextmanager
def refusing_bad_values() -> Iterator[None]:
    """Show a refused value as a usage error, with exit code 2."""
    try:
        yield
    except InputError as error:
        raise typer.BadParameter(str(error)) from None


@contextlib.contextmanager
def refusing_bad_data() -> Iterator[None]:
    """Show data that cannot be read as a message, with exit code 1; bad values with 2."""
    try:
        with refusing_bad_values():
            yield
    except DataError as error:
        typer.secho(f"Error: {error}", fg="red", err=True)
        raise typer.Exit(1) from None


def parsed_changes(changes: Iterable[str]) -> dict[str, Any]:
    """NAME=VALUE pairs with values as the plainest type that fits; commas make a list.

    >>> parsed_changes(["max_rules=1e2", "thresholds=8,9.5", "ignore=id,"])
    {'max_rules': 100, 'thresholds': [8, 9.5], 'ignore': ['id']}
    """
    return dict(map(_parsed_change, changes))


def _parsed_change(change: str) -> tuple[str, Any]:
    name, equals, text = (part.strip() for part in change.partition("="))
    if not (name and equals and text):
        raise InputError(f"NAME=VALUE is needed, not {change!r}")
    if "," in text:
        return name, [plainest(part.strip()) for part in text.split(",") if part.strip()]
    return name, plainest(text)


def plainest(text: str) -> Plain:
    """A text as a truth value, a number, or itself.

    >>> [plainest(text) for text in ("1e2", "false", "soft", "nan")]
    [100, False, 'soft', 'nan']
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        number = float(text)
        if math.isfinite(number):  # no parameter may be anything else: the text is refused later
            return int(number) if number.is_integer() else number
    return text


def check_folder(file: pathlib.Path | None) -> None:
    """Refuse a result file that cannot be written before the work, not after it."""
    if file is not None and not file.parent.is_dir():
        raise InputError(f"the folder of {str(file)!r} does not exist")
