"""Where commands write: consoles, and files that are tried before the work and whole after it."""

import contextlib
import csv
import functools
import inspect
import json
import os
import pathlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO

import rich.console
import typer

from devfnn.cli.errors import shown_errors
from devfnn.display.tables import literal
from devfnn.errors import DataError, InputError


def file_option(text: str, *names: str) -> Any:
    """An option for a file that is written; `text` is its help."""
    return typer.Option(None, *names, metavar="FILE", dir_okay=False, help=text)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command with --json, --csv and --quiet, whose errors are shown as messages.

    The function gets an `Output` in front of its own arguments.
    """

    def run(
        *args: Any,
        json_file: pathlib.Path | None = file_option("Write the result here.", "--json"),
        csv_path: pathlib.Path | None = file_option("Write the result as a table here.", "--csv"),
        quiet: bool = typer.Option(False, "--quiet", help="Show nothing but errors."),
        **kwargs: Any,
    ) -> None:
        with shown_errors():
            function(Output(json_file, csv_path, quiet), *args, **kwargs)

    _, *own = inspect.signature(function).parameters.values()
    every = inspect.signature(run).parameters.values()
    added = [each for each in every if each.kind is each.KEYWORD_ONLY]
    functools.update_wrapper(run, function)
    run.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    return run


class Output:
    """The consoles of a command, and the files of its result."""

    def __init__(
        self, json_file: pathlib.Path | None, csv_path: pathlib.Path | None, quiet: bool
    ) -> None:
        self.json_file, self.csv_path = json_file, csv_path
        self.screen = rich.console.Console(quiet=quiet)
        self.progress = rich.console.Console(stderr=True, quiet=quiet)

    def say(self, text: str, style: str = "") -> None:
        """A line of text on the screen, as it is."""
        self.screen.print(literal(text, style), soft_wrap=True)

    def note(self, text: str) -> None:
        """A line of text about the work, not part of the result."""
        self.progress.print(literal(text), soft_wrap=True)

    @contextlib.contextmanager
    def files(
        self, inputs: Mapping[str, pathlib.Path | str] | None = None, **others: pathlib.Path | None
    ) -> Iterator[tuple["ResultFile", "CsvFile"]]:
        """The files of --json and --csv, which replace older ones if the work succeeds.

        Refuses one file for two purposes: `inputs` are read, `others` are written by options.
        """
        self.check_distinct(inputs or {}, **others)
        with text_file(self.json_file) as result, text_file(self.csv_path) as table:
            yield ResultFile(result), CsvFile(table)

    def check_distinct(
        self, inputs: Mapping[str, pathlib.Path | str], **others: pathlib.Path | None
    ) -> None:
        """Refuse to write to a file that is read, or twice to the same file."""
        read = {pathlib.Path(path).resolve(): name for name, path in inputs.items()}
        files = {name: path for path, name in read.items() if path.is_file()}
        written = others | {"json": self.json_file, "csv": self.csv_path}
        check_distinct(files | {f"--{name}": path for name, path in written.items()})


class OutputFile:
    """A text file, if one is wanted; DataError says what cannot be written."""

    def __init__(self, file: TextIO | None = None, path: pathlib.Path | None = None) -> None:
        self._file, self._path = file, path

    @property
    def is_wanted(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    def write(self, text: str) -> None:
        """Write some text."""
        if self._file is not None:
            with _naming_errors(self._path):
                self._file.write(text)


class ResultFile:
    """A JSON object, if one is wanted, with a list that can be written as it grows."""

    def __init__(self, file: OutputFile) -> None:
        self._file, self._has_list = file, False
        self.is_wanted = file.is_wanted

    def add(self, name: str, item: Any) -> None:
        """Write the next item of the list, which is called `name`; `write` comes last."""
        start = ",\n" if self._has_list else f"{{\n  {json.dumps(name)}: [\n"
        self._has_list = True
        self._file.write(start + json.dumps(item))

    def write(self, result: Mapping[str, Any]) -> None:
        """Write the rest of the object."""
        text = json.dumps(result, indent=2) + "\n"
        self._file.write("\n  ],\n" + text.removeprefix("{\n") if self._has_list else text)


class CsvFile:
    """A table, if one is wanted: names of columns first, then rows as they come."""

    def __init__(self, file: OutputFile) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self.is_wanted = file.is_wanted

    def add(self, row: Iterable[Any]) -> None:
        """Write the next row; None leaves a cell empty."""
        self._writer.writerow(row)

    def add_all(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a whole table: the names in the first row, and the values of all."""
        for place, row in enumerate(rows):
            if place == 0:
                self.add(row)
            self.add(row.values())


def write_facts(result: ResultFile, table: CsvFile, facts: Mapping[str, Any]) -> None:
    """The same few facts as an object and as a row."""
    result.write(facts)
    table.add_all([facts])


@contextlib.contextmanager
def text_file(path: pathlib.Path | None) -> Iterator[OutputFile]:
    """A file, opened before the work: a draft beside it, which replaces it if all goes well."""
    if path is None:
        yield OutputFile()
    elif _is_device(path):  # which cannot be replaced
        with _opened(path, path) as file:
            yield OutputFile(file, path)
    else:
        draft = _draft_of(path)
        try:
            with _opened(draft, path) as file:
                yield OutputFile(file, path)
            with _naming_errors(path):
                draft.replace(path.resolve())
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()


def check_distinct(files: Mapping[str, pathlib.Path | None]) -> None:
    """Refuse one file for two purposes, which are given with their names in messages."""
    seen: dict[pathlib.Path, str] = {}
    for name, path in files.items():
        if path is None or _is_device(path):  # which takes whatever comes
            continue
        target = path.resolve()
        if target in seen:
            raise InputError(f"{seen[target]} and {name} are the same file, {str(path)!r}")
        seen[target] = name


def check_replaceable(path: pathlib.Path) -> None:
    """Refuse now what could not be replaced by a file after the work."""
    if _is_device(path):
        raise InputError(f"{str(path)!r} is no file, so it cannot be replaced by one")
    draft = _draft_of(path)
    with _opened(draft, path):
        draft.unlink()


def _is_device(path: pathlib.Path) -> bool:
    """Whether there is something that is no file: a pipe, a device, a folder."""
    return os.path.exists(path) and not os.path.isfile(path)


def _draft_of(path: pathlib.Path) -> pathlib.Path:
    target = path.resolve()
    return target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")


@contextlib.contextmanager
def _opened(draft: pathlib.Path, path: pathlib.Path) -> Iterator[TextIO]:
    """The draft, open for writing, if the path may be written."""
    if not os.path.isdir(path.parent):
        raise InputError(f"the folder of {str(path)!r} does not exist")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise InputError(f"{str(path)!r} is write-protected")
    try:
        file = draft.open("w", encoding="utf-8", errors="backslashreplace", newline="")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    try:
        yield file
    finally:
        with _naming_errors(path):
            file.close()


@contextlib.contextmanager
def _naming_errors(path: pathlib.Path | None) -> Iterator[None]:
    """Say which file cannot be written; errors of standard output are left to the caller."""
    try:
        yield
    except OSError as error:
        if path is None:
            raise
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None


def check_figure_file(target: pathlib.Path) -> None:
    """The same for a figure, whose suffix must be a format."""
    from devfnn.figures.style import check_format

    check_format(target)
    check_replaceable(target)
