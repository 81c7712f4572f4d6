"""Results as JSON files: there after the work, or not at all, and tried before it."""

import contextlib
import json
import os
import pathlib
import secrets
from collections.abc import Iterator
from typing import Annotated, Any, TextIO

import typer

from devfnn.errors import DataError, InputError

JsonFile = Annotated[
    pathlib.Path | None,
    typer.Option("--json", metavar="FILE", dir_okay=False, help="Write the result here."),
]


class ResultFile:
    """Where a result goes, if anywhere: one JSON object, whose list can be written as it grows."""

    def __init__(self, file: TextIO | None = None, path: pathlib.Path | None = None) -> None:
        self._file = file
        self._path = path
        self._has_list = False

    @property
    def is_wanted(self) -> bool:
        """Whether it goes anywhere."""
        return self._file is not None

    def add(self, name: str, item: Any) -> None:
        """Write the next item of the list, which has a name; then comes `write`."""
        start = ",\n" if self._has_list else f"{{\n  {json.dumps(name)}: [\n"
        self._has_list = True
        self._put(start + json.dumps(item))

    def write(self, result: dict[str, Any]) -> None:
        """Write all else."""
        text = json.dumps(result, indent=2) + "\n"
        self._put("\n  ],\n" + text.removeprefix("{\n") if self._has_list else text)

    def _put(self, text: str) -> None:
        if self._file is not None:
            with _saying_what_failed(self._path):
                self._file.write(text)


@contextlib.contextmanager
def result_file(path: pathlib.Path | None) -> Iterator[ResultFile]:
    """A file for the result; opened before the work, and left as it was if that fails."""
    if path is None:
        yield ResultFile()
        return
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, say, which cannot be replaced
        with _opened(path, path) as file:
            yield ResultFile(file, path)
        return
    target = path.resolve()
    draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _opened(draft, path) as file:
            yield ResultFile(file, path)
        with _saying_what_failed(path):
            draft.replace(target)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


@contextlib.contextmanager
def _opened(draft: pathlib.Path, path: pathlib.Path) -> Iterator[TextIO]:
    """The draft, open for writing, if the path may be written."""
    if not os.path.isdir(path.parent):
        raise InputError(f"the folder of {str(path)!r} does not exist")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise InputError(f"{str(path)!r} must not be written")
    try:
        file = draft.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    try:
        yield file
    finally:
        with _saying_what_failed(path):
            file.close()


@contextlib.contextmanager
def _saying_what_failed(path: pathlib.Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None
