"""Which stream a command works on: one name, and what can be said about it."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.typed import parsed_options
from devfnn.cli.values import plainest
from devfnn.display.progress import download_bar
from devfnn.errors import DataError, InputError
from devfnn.experiments.settings import Progress, StreamSettings
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import check_options, open_stream, option_types
from devfnn.streams.stream import Stream

FLAGS = {"chunk_rows": "--chunk-rows", "n_rows": "--rows", "seed": "--seed", "label": "--label"}
"""Options of streams that the command line has by other names."""

Name = Annotated[
    str, typer.Argument(metavar="STREAM", help="A generator, a data set, a file, or - for a pipe.")
]
Rows = Annotated[int | None, typer.Option(min=1, help="Rows to take at most.")]
ChunkRows = Annotated[int, typer.Option(min=1, help="Rows in a chunk.")]
Folds = Annotated[int | None, typer.Option(min=1, help="Cut the stream into so many chunks.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of a generated stream.")]
Label = Annotated[
    str | None, typer.Option(help="Column with the label: a name, a place from 0, or none.")
]
DataDir = Annotated[
    pathlib.Path | None, typer.Option(file_okay=False, help="Where to look for data sets first.")
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME=VALUE",
        help="An option of the stream, as `data info` lists them; may be repeated.",
    ),
]
Skip = Annotated[int, typer.Option(min=0, metavar="ROWS", help="Leave out the first rows.")]
Shuffle = Annotated[
    int | None,
    typer.Option(min=1, metavar="ROWS", help="Shuffle the rows within buffers of so many."),
]
HideLabels = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, metavar="RATE", help="Share of labels not to be learned."),
]
DelayLabels = Annotated[
    int, typer.Option(min=0, metavar="ROWS", help="Let labels come so many rows later.")
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choice:
    """What was said about a stream on the command line."""

    name: str
    rows: int | None = None
    folds: int | None = None
    chunk_rows: int | None = 500
    seed: int | None = None
    label: str | None = None
    data_dir: pathlib.Path | None = None
    changes: list[str] | None = None
    skip: int = 0
    shuffle: int | None = None
    hide_labels: float = 0.0
    delay_labels: int = 0

    def settings(self) -> StreamSettings:
        """The same with its options parsed."""
        return StreamSettings(
            name=self.name,
            options=self.options(),
            data_dir=None if self.data_dir is None else str(self.data_dir),
            rows=self.rows,
            skip=self.skip,
            folds=self.folds,
            chunk_rows=self.chunk_rows,
            shuffle=self.shuffle,
            hide_labels=self.hide_labels,
            delay_labels=self.delay_labels,
            seed=self.seed or 0,
        )

    def open(self, console: rich.console.Console) -> Stream:
        """The stream; a data set that is not there is downloaded under a bar."""
        settings = self.settings()
        with self.opening(console) as progress:
            return settings.open(progress).stream

    def opened_whole(self, console: rich.console.Console) -> Stream:
        """The stream as it is, perhaps without end."""
        options = self.options()
        with self.opening(console) as progress:
            return open_stream(
                self.name, data_dir=self.data_dir, progress=progress, options=options
            )

    @contextlib.contextmanager
    def opening(self, console: rich.console.Console) -> Iterator[Progress]:
        """A bar for downloads, and clear words for options that the stream does not take."""
        try:
            with download_bar(console) as progress:
                yield progress
        except (InputError, DataError):
            raise
        except (TypeError, ValueError, OverflowError) as error:
            if not self.changes:
                raise
            raise InputError(f"{self.name} does not take these options: {error}") from error

    def options(self) -> dict[str, Any]:
        """All options of the stream, checked as far as that can be done without opening it."""
        options = parsed_options(self.changes or (), option_types(self.name))
        for option in options:
            if option in FLAGS:
                raise InputError(
                    f"{option} is not for --with: {FLAGS[option]} sets it, where it matters"
                )
        if self.label is not None:
            if self.name in GENERATORS:
                raise InputError(f"--label is for files; {self.name} knows its labels")
            options["label"] = None if self.has_no_label else _place_or_name(self.label)
        if self.seed is not None and self.name in GENERATORS:
            options["seed"] = self.seed
        check_options(self.name, options)
        return options

    @property
    def has_no_label(self) -> bool:
        """Whether it was said that there are no labels."""
        return self.label is not None and self.label.lower() == "none"


def _place_or_name(text: str) -> str | int:
    value = plainest(text)
    return value if type(value) is int else text
