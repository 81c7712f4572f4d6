"""Which stream a command works on: one name, and what can be said about it."""

import collections.abc
import dataclasses
import inspect
import pathlib
import typing
from collections.abc import Iterator
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.values import parsed_changes, plainest
from devfnn.display.progress import download_bar
from devfnn.errors import InputError
from devfnn.streams.files.options import FileOptions
from devfnn.streams.finding import open_stream
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.generators.drifting import StreamOptions
from devfnn.streams.stream import Stream

ENDLESS_ROWS = 100_000
"""Rows taken of a stream without end when nobody says how many."""

Name = Annotated[
    str, typer.Argument(metavar="STREAM", help="A generator, a data set, a file, or - for a pipe.")
]
Rows = Annotated[int | None, typer.Option(min=1, help="Rows to take at most.")]
ChunkRows = Annotated[int, typer.Option(min=1, help="Rows in a chunk.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of a generated stream.")]
Label = Annotated[
    str | None, typer.Option(help="Column with the label: a name, a place from 0, or none.")
]
DataDir = Annotated[
    pathlib.Path | None, typer.Option(file_okay=False, help="Where to look for data sets first.")
]
Options = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="NAME=VALUE", help="An option of the stream; may be repeated."),
]


@dataclasses.dataclass(frozen=True)
class Choice:
    """What was said about a stream on the command line."""

    name: str
    rows: int | None = None
    chunk_rows: int = 500
    seed: int | None = None
    label: str | None = None
    data_dir: pathlib.Path | None = None
    changes: tuple[str, ...] = ()

    def open(self, console: rich.console.Console) -> Stream:
        """The stream; a data set that is not there is downloaded under a bar."""
        with download_bar(console) as progress:
            stream = open_stream(
                self.name, data_dir=self.data_dir, progress=progress, options=self._options()
            )
        stream = stream.chunks(rows=self.chunk_rows)
        if self.rows is not None or stream.is_endless:
            stream = stream.take(self.rows or ENDLESS_ROWS)
        return stream

    def _options(self) -> dict[str, Any]:
        options = parsed_changes(self.changes)
        lists = set(_list_options(self.name))
        for name, value in options.items():
            if name in lists and not isinstance(value, list):
                options[name] = [value]
        if self.label is not None:
            if self.name in GENERATORS:
                raise InputError(f"--label is for files; {self.name} knows its labels")
            options["label"] = None if self.label.lower() == "none" else _place_or_name(self.label)
        if self.seed is not None and self.name in GENERATORS:
            options.setdefault("seed", self.seed)
        return options


def _place_or_name(text: str) -> str | int:
    value = plainest(text)
    return value if type(value) is int else text


def _list_options(name: str) -> Iterator[str]:
    """Options that take a list, so that a single value is one too."""
    hints: dict[str, Any] = dict(typing.get_type_hints(FileOptions))
    if name in GENERATORS:
        hints = dict(typing.get_type_hints(StreamOptions))
        parameters = inspect.signature(GENERATORS[name].make).parameters
        hints |= {each.name: each.annotation for each in parameters.values()}
    for option, hint in hints.items():
        if typing.get_origin(hint) is collections.abc.Sequence:
            yield option
