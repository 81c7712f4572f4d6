"""What commands share: options, consoles, and output files checked before the work."""

import contextlib
import csv
import dataclasses
import functools
import inspect
import io
import json
import os
import pathlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO

import rich.console
import typer

from devfnn.cli.errors import shown_errors
from devfnn.display.tables import literal
from devfnn.errors import DataError, InputError
from devfnn.files import Draft, InUseError, locked
from devfnn.formatting import printable

File = pathlib.Path | None

TEXT: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
"""How text is written."""

FORMULAS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
"""What formulas of spreadsheets begin with, here and in East Asia, where they may be wide."""


def file_option(text: str, *names: str) -> Any:
    """An option for a file that is written; `text` is its help."""
    return typer.Option(None, *names, metavar="FILE", dir_okay=False, help=text)


@dataclasses.dataclass
class Output:
    """The consoles of a command, and the files of its result."""

    json_file: File = file_option("Write the result here.", "--json")
    csv_path: File = file_option(
        "Write the result as a table here; texts that a spreadsheet would take for formulas get an "
        "apostrophe in front, in JSON they are as they are.",
        "--csv",
    )
    quiet: bool = typer.Option(False, "--quiet", help="Show nothing but errors.")

    def __post_init__(self) -> None:
        self.screen = rich.console.Console(quiet=self.quiet)
        self.progress = rich.console.Console(stderr=True, quiet=self.quiet)

    def say(self, text: str, style: str = "") -> None:
        """A line of text on the screen, as it is."""
        self.screen.print(literal(text, style), soft_wrap=True)

    def warn(self, text: str) -> None:
        """A line about something that went wrong, also with --quiet."""
        rich.console.Console(stderr=True).print(literal(text, "yellow"), soft_wrap=True)

    def note(self, text: str) -> None:
        """A line of text about the work, not part of the result."""
        self.progress.print(literal(text), soft_wrap=True)

    @contextlib.contextmanager
    def locked(self, path: pathlib.Path, wait: bool) -> Iterator[None]:
        """Keep other processes from a file; if one holds it, refuse at once or wait."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(path))
            except InUseError as error:
                if not wait:
                    raise DataError(f"{error}, or add --wait") from None
                self.note(f"{error}.")
                stack.enter_context(locked(path, wait=True))
            yield

    @contextlib.contextmanager
    def files(
        self, inputs: Mapping[str, pathlib.Path | str] | None = None, **others: File
    ) -> Iterator[tuple["OutputFile", "OutputFile"]]:
        """The files of --json and --csv, which replace older ones if the work succeeds.

        Refuses one file for two purposes: `inputs` are read, `others` are written by options.
        """
        self.check_distinct(inputs, **others)
        with text_file(self.json_file) as result, text_file(self.csv_path) as table:
            yield result, table

    def check_distinct(
        self, inputs: Mapping[str, pathlib.Path | str] | None = None, **others: File
    ) -> None:
        """Refuse to write to a file that is read, or twice to the same file."""
        read = {resolved(path): name for name, path in (inputs or {}).items()}
        seen = {path: name for path, name in read.items() if os.path.isfile(path)}
        for name, path in (others | {"json": self.json_file, "csv": self.csv_path}).items():
            if path is None or _is_device(path):  # which takes whatever comes
                continue
            target = resolved(path)
            if target in seen:
                raise InputError(f"{seen[target]} and --{name} are the same file, {str(path)!r}")
            seen[target] = f"--{name}"


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are shown as messages.

    A parameter of the function that is a dataclass becomes an option for each of its fields.
    """
    own = inspect.signature(function).parameters.values()
    groups: dict[str, Any] = {
        each.name: each.annotation for each in own if dataclasses.is_dataclass(each.annotation)
    }

    def run(**given: Any) -> None:
        with shown_errors():
            for name, group in groups.items():
                fields = [field.name for field in dataclasses.fields(group)]
                given[name] = group(**{field: given.pop(field) for field in fields})
            function(**given)

    parameters: list[inspect.Parameter] = []
    for each in sorted(own, key=lambda each: each.annotation is Output):
        group = groups.get(each.name)
        parameters += inspect.signature(group).parameters.values() if group else [each]
    functools.update_wrapper(run, function)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=each.KEYWORD_ONLY) for each in parameters]
    )
    return run


class OutputFile:
    """A file for a text, a JSON object or a table, if one is wanted."""

    def __init__(self, file: TextIO | None = None, path: File = None) -> None:
        self._file, self._path, self._has_list = file, path, False
        self._is_terminal = path is None and file is not None and file.isatty()
        lines = types.SimpleNamespace(write=self._write_line)
        self._rows = csv.writer(lines, lineterminator="\r\n")  # so that cells with \r are quoted
        self.is_wanted = file is not None

    def write(self, text: str) -> None:
        """Write some text; DataError says what cannot be written."""
        if self._file is not None:
            with _naming_errors(self._path):
                self._file.write(text)

    def add_item(self, name: str, item: Any) -> None:
        """Write the next item of a list in a JSON object, which `write_json` completes."""
        start = ",\n" if self._has_list else f"{{\n  {json.dumps(name)}: [\n"
        self._has_list = True
        self.write(start + json.dumps(item))

    def write_json(self, result: Mapping[str, Any]) -> None:
        """Write a JSON object, or the rest of one."""
        text = json.dumps(result, indent=2) + "\n"
        self.write("\n  ],\n" + text.removeprefix("{\n") if self._has_list else text)

    def add_row(self, row: Iterable[Any]) -> None:
        """Write the next row of a table, names of columns first; None leaves a cell empty.

        Texts that a spreadsheet would take for formulas get an apostrophe; on a terminal, control
        characters are told.
        """
        cells = (no_formula(each) if isinstance(each, str) else each for each in row)
        if self._is_terminal:
            cells = (printable(each) if isinstance(each, str) else each for each in cells)
        self._rows.writerow(cells)

    def _write_line(self, line: str) -> None:
        self.write(line.removesuffix("\r\n") + "\n")

    def write_table(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a table: the names in the first row, and the values of all."""
        for place, row in enumerate(rows):
            if place == 0:
                self.add_row(row)
            self.add_row(row.values())


def no_formula(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: texts like one begin with an apostrophe.

    >>> no_formula("=1+2"), no_formula("@home"), no_formula("-1.5"), no_formula("no-show")
    ("'=1+2", "'@home", '-1.5', 'no-show')
    """
    if len(text) < 2 or text[0] not in FORMULAS:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


@contextlib.contextmanager
def text_file(path: File) -> Iterator[OutputFile]:
    """A file, opened before the work, that takes the place of an older one if all goes well."""
    if path is None:
        yield OutputFile()
    elif _is_device(path):  # which cannot be replaced
        with _refusing(path):
            file = path.open("w", **TEXT)
        try:
            yield OutputFile(file, path)
        finally:
            with _naming_errors(path):
                file.close()
    else:
        draft = _draft_of(path)
        text = io.TextIOWrapper(draft.file, **TEXT)
        try:
            yield OutputFile(text, path)
            with _naming_errors(path):
                text.flush()
                draft.take_place()
        finally:
            draft.discard()


def check_replaceable(path: pathlib.Path) -> None:
    """Refuse now what could not be replaced by a file after the work."""
    if _is_device(path):
        raise InputError(f"{str(path)!r} is no file, so it cannot be replaced by one")
    _draft_of(path).discard()


def resolved(path: pathlib.Path | str) -> pathlib.Path:
    """The file that a path leads to; of links that lead nowhere, the path itself."""
    if "\0" in str(path):
        raise InputError(f"{str(path)!r} cannot be the name of a file: it holds a zero byte")
    return pathlib.Path(os.path.realpath(path))


def _is_device(path: pathlib.Path) -> bool:
    """Whether there is something that is no file: a pipe, a device, a folder."""
    return os.path.exists(path) and not os.path.isfile(path)


def _draft_of(path: pathlib.Path) -> Draft:
    """The next content of a file, if it may be written."""
    if os.path.islink(resolved(path)):
        raise InputError(f"{str(path)!r} is a link that leads to itself")
    if not os.path.isdir(path.parent):
        raise InputError(f"the folder of {str(path)!r} does not exist")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise InputError(f"{str(path)!r} is write-protected")
    with _refusing(path):
        return Draft(path)


@contextlib.contextmanager
def _refusing(path: pathlib.Path) -> Iterator[None]:
    """Say before the work which file cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


@contextlib.contextmanager
def _naming_errors(path: File) -> Iterator[None]:
    """Say which file cannot be written; errors of standard output are left to the caller."""
    try:
        yield
    except OSError as error:
        if path is None:
            raise
        raise DataError(f"cannot write {path}: {error.strerror or error}") from None
