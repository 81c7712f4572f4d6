"""What commands read: streams with their options, and saved models with the rows they know."""

import contextlib
import dataclasses
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.errors import until_ctrl_c
from devfnn.cli.option_parsing import parse_options
from devfnn.display.live import download_bar
from devfnn.errors import DataError, InputError, StorageError
from devfnn.experiments import running
from devfnn.experiments.settings import Progress, StreamSettings
from devfnn.formatting import listed
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.fleet import Fleet
from devfnn.model.validation import LARGEST
from devfnn.storage import load
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import check_options, open_stream, option_types
from devfnn.streams.stream import Stream
from devfnn.types import Chunk

FLAGS = {"chunk_rows": "--chunk-rows", "n_rows": "--rows", "seed": "--seed", "label": "--label"}
"""Options of streams that have options of their own on the command line."""

Rows = Annotated[int | None, typer.Option(min=1, help="Rows to read at most.")]
ChunkRows = Annotated[int, typer.Option(min=1, help="Rows in a chunk.")]
Skip = Annotated[int, typer.Option(min=0, metavar="ROWS", help="Rows to skip at the start.")]
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait while another process works on the same file.")
]
DataDir = Annotated[
    pathlib.Path | None, typer.Option(file_okay=False, help="Folder to look for data sets first.")
]
ModelFile = Annotated[
    pathlib.Path,
    typer.Argument(
        metavar="MODEL", dir_okay=False, help="A model, as `devfnn run --save` writes it."
    ),
]

_MADE_UP = re.compile(r"x[0-9]+")


# ---- streams


@dataclasses.dataclass
class StreamChoice:
    """Options that name a stream."""

    name: str = typer.Argument(
        metavar="STREAM", help="A generator, a data set, a file, or - for a pipe."
    )
    seed: int = typer.Option(0, min=0, help="Seed of a generated stream, and of the model.")
    label: str | None = typer.Option(
        None, help="Column with the label: a name, a position from 0, or none."
    )
    data_dir: DataDir = None
    options: list[str] = typer.Option(
        [],
        "--with",
        metavar="NAME=VALUE",
        help="An option of the stream, as `data info` lists them; may be repeated.",
    )

    def settings(self, *, chunk_rows: int | None = 500, **others: Any) -> StreamSettings:
        """The options parsed, and checked as far as possible unopened."""
        parsed = parse_options(self.options, option_types(self.name))
        for option in parsed:
            if option in FLAGS:
                flag = FLAGS[option]
                raise InputError(f"{option} is not for --with: use {flag}, where it applies")
        if self.label is not None:
            if self.name in GENERATORS:
                raise InputError(f"--label is for files; {self.name} knows its labels")
            parsed |= parse_options([f"label={self.label}"], {"label": str | int | None})
        if self.name in GENERATORS:
            parsed["seed"] = self.seed
        check_options(self.name, parsed)
        return StreamSettings(
            name=self.name,
            options=parsed,
            data_dir=None if self.data_dir is None else str(self.data_dir),
            seed=self.seed,
            chunk_rows=chunk_rows,
            **others,
        )

    def without_label(self) -> "StreamChoice":
        """The same; a file has no label unless one is given."""
        is_without = self.label is None and is_file(self.name)
        return dataclasses.replace(self, label="none") if is_without else self


def has_no_label(settings: StreamSettings) -> bool:
    """Whether `--label none` was given."""
    return settings.options.get("label", "") is None


def check_has_labels(settings: StreamSettings) -> None:
    """Refuse to learn without labels."""
    if has_no_label(settings) or settings.hide_labels == 1.0:
        option = "--label none" if has_no_label(settings) else "--hide-labels 1"
        raise InputError(f"labels are needed to learn; with {option} there are none")


def is_file(name: str) -> bool:
    """Whether a name is that of a file or a pipe; only these have a choice of label."""
    return name not in GENERATORS and name not in DATA_SETS


def opened(settings: StreamSettings, console: rich.console.Console) -> Stream:
    """The stream; a missing data set is downloaded."""
    with opening(settings, console) as progress:
        return settings.open(progress).stream


def opened_whole(settings: StreamSettings, console: rich.console.Console) -> Stream:
    """The stream without cuts, possibly endless."""
    with opening(settings, console) as progress:
        return open_stream(
            settings.name, data_dir=settings.data_dir, progress=progress, options=settings.options
        )


@contextlib.contextmanager
def opening(settings: StreamSettings, console: rich.console.Console) -> Iterator[Progress]:
    """A bar for downloads, and a message for options that the stream does not accept."""
    try:
        with download_bar(console) as progress:
            yield progress
    except (InputError, DataError):
        raise
    except (TypeError, ValueError, OverflowError) as error:
        if not settings.options.keys() - {"label", "seed"}:
            raise
        raise InputError(f"{settings.name} does not accept these options: {error}") from error


# ---- saved models


def opened_model(path: pathlib.Path) -> DEVFNN:
    """The model in a file; DataError if it cannot be read."""
    with _refused(path):
        return load(path)


def opened_model_or_fleet(path: pathlib.Path) -> DEVFNN | Fleet:
    """The same, or a fleet."""
    from devfnn.storage.fleets import load_either

    with _refused(path):
        return load_either(path)


@contextlib.contextmanager
def _refused(path: pathlib.Path) -> Iterator[None]:
    """Turn what is wrong with a file into a DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (StorageError, InputError) as error:
        raise DataError(f"{error}" if str(path) in str(error) else f"{path}: {error}") from None


def save_model(model: Any, path: pathlib.Path) -> None:
    """Save a model; Ctrl-C waits until that is done."""
    try:
        is_whole = until_ctrl_c([model], lambda each: each.save(path))
    except StorageError as error:
        raise DataError(str(error)) from None
    if not is_whole:
        raise KeyboardInterrupt


def learned_model(path: pathlib.Path) -> DEVFNN:
    """The same; DataError also if it has learned nothing."""
    model = opened_model(path)
    if not model.n_rows:
        raise DataError(f"the model in {path} has learned nothing yet")
    return model


def with_features_of(model: DEVFNN, stream: Stream, name: str) -> Stream:
    """The stream with exactly the features of a model, in its order.

    They are found by name. If the model or the file has no names but x1, x2, ..., and as many
    features as the other, they are taken in order. DataError if one is missing.
    """
    wanted, given = tuple(model.feature_names), stream.feature_names
    missing = [feature for feature in wanted if feature not in given]
    if not missing:
        return stream if wanted == given else stream.select(wanted)
    if len(wanted) == len(given) and (_are_made_up(wanted) or _are_made_up(given)):
        return stream
    more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
    hint = ". Without --label, a column may have been taken as the label"
    if _are_made_up(given):
        hint = f". If {given[-1]} is the label, add --label {given[-1]}"
    raise DataError(
        f"{name} lacks the feature {missing[0]!r}{more}; it has {listed(given)}, "
        f"the model needs {listed(wanted)}" + hint
    )


def _are_made_up(names: Sequence[str]) -> bool:
    return all(_MADE_UP.fullmatch(name) for name in names)


def checked_chunks(
    chunks: Iterable[Chunk],
    feature_names: Sequence[str],
    settings: StreamSettings,
    config: Config,
    hint: str = "",
) -> Iterator[Chunk]:
    """The chunks, up to a value that DEVFNN would refuse; `hint` is about missing ones."""
    why = f"is missing.{hint} To replace it by the mean: --with missing=mean"
    is_learned = config.missing != "error"
    return running.checked_chunks(
        chunks, feature_names, settings, why=None if is_learned else why, largest=LARGEST
    )
