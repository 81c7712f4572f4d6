"""Results as JSON and CSV files: there after the work, or not at all, and tried before it."""

import contextlib
import csv
import json
import os
import pathlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, TextIO

import typer

from devfnn.errors import DataError, InputError

JsonFile = Annotated[
    pathlib.Path | None,
    typer.Option("--json", metavar="FILE", dir_okay=False, help="Write the result here."),
]

Quiet = Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")]

CsvPath = Annotated[
    pathlib.Path | None,
    typer.Option("--csv", metavar="FILE", dir_okay=False, help="Write the result as a table here."),
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


class CsvFile:
    """Where a table goes, if anywhere: names of columns first, then lines as they come."""

    def __init__(self, file: TextIO | None = None, path: pathlib.Path | None = None) -> None:
        self._writer = None if file is None else csv.writer(file, lineterminator="\n")
        self._path = path

    @property
    def is_wanted(self) -> bool:
        """Whether it goes anywhere."""
        return self._writer is not None

    def add(self, line: Iterable[Any]) -> None:
        """Write the next line; the first one holds the names. None leaves a cell empty."""
        if self._writer is not None:
            with _saying_what_failed(self._path):
                self._writer.writerow(line)


@contextlib.contextmanager
def result_file(path: pathlib.Path | None) -> Iterator[ResultFile]:
    """A file for the result; opened before the work, and left as it was if that fails."""
    with _drafted(path) as file:
        yield ResultFile(file, path)


@contextlib.contextmanager
def csv_file(path: pathlib.Path | None) -> Iterator[CsvFile]:
    """The same for a table."""
    with _drafted(path) as file:
        yield CsvFile(file, path)


def write_facts(result: ResultFile, table: CsvFile, facts: dict[str, Any]) -> None:
    """The same few facts as an object and as a line."""
    result.write(facts)
    table.add(facts)
    table.add(facts.values())


class TextFile:
    """Where a text goes."""

    def __init__(self, file: TextIO, path: pathlib.Path | None) -> None:
        self._file, self._path = file, path

    def write(self, text: str) -> None:
        """Write it."""
        with _saying_what_failed(self._path):
            self._file.write(text)


@contextlib.contextmanager
def text_file(path: pathlib.Path | None) -> Iterator[TextFile | None]:
    """The same for a text; None if it goes nowhere."""
    with _drafted(path) as file:
        yield None if file is None else TextFile(file, path)


def check_distinct(files: Mapping[str, pathlib.Path | None]) -> None:
    """Refuse one file for two purposes; they are given by the words that ask for them."""
    seen: dict[pathlib.Path, str] = {}
    for word, path in files.items():
        if path is None or (os.path.exists(path) and not os.path.isfile(path)):
            continue  # a device or a pipe takes whatever comes
        target = path.resolve()
        if target in seen:
            raise InputError(f"{seen[target]} and {word} are the same file, {str(path)!r}")
        seen[target] = word


def check_outputs(inputs: Mapping[str, pathlib.Path | str], **outputs: pathlib.Path | None) -> None:
    """Refuse to write over what is read, and one file for two outputs.

    >>> check_outputs({"MODEL": "a.devfnn"}, json=pathlib.Path("b.json"), csv=None)
    """
    read = {pathlib.Path(path).resolve(): word for word, path in inputs.items()}
    named = {f"--{name}": path for name, path in outputs.items()}
    check_distinct({word: path for path, word in read.items()} | named)


def check_replaceable(path: pathlib.Path) -> None:
    """Refuse now what could not be replaced by a file after the work."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{str(path)!r} is no file, so it cannot be replaced by one")
    draft = _draft_of(path)
    with _opened(draft, path):
        draft.unlink()


@contextlib.contextmanager
def _drafted(path: pathlib.Path | None) -> Iterator[TextIO | None]:
    """A draft beside the file, which it replaces if all goes well."""
    if path is None:
        yield None
        return
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, say, which cannot be replaced
        with _opened(path, path) as file:
            yield file
        return
    draft = _draft_of(path)
    try:
        with _opened(draft, path) as file:
            yield file
        with _saying_what_failed(path):
            draft.replace(path.resolve())
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _draft_of(path: pathlib.Path) -> pathlib.Path:
    target = path.resolve()
    return target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")


@contextlib.contextmanager
def _opened(draft: pathlib.Path, path: pathlib.Path) -> Iterator[TextIO]:
    """The draft, open for writing, if the path may be written."""
    if not os.path.isdir(path.parent):
        raise InputError(f"the folder of {str(path)!r} does not exist")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise InputError(f"{str(path)!r} must not be written")
    try:
        file = draft.open("w", encoding="utf-8", errors="backslashreplace", newline="")
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
        if path is None:  # standard output, which others care for
            raise
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None
