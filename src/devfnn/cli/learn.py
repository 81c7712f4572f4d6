"""`devfnn learn`: a saved model goes on learning, and is saved again."""

import collections
import pathlib
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import rich.console
import typer

import devfnn
from devfnn.cli.choosing import Choice, ChunkRows, DataDir, Label, Options, Rows, Seed, Skip
from devfnn.cli.describing import show_bad_rows
from devfnn.cli.interrupts import between_chunks
from devfnn.cli.models import ModelFile, opened_model, usable, with_features_of
from devfnn.cli.refusals import finishing, interrupted, refusing_bad_data
from devfnn.cli.results import (
    CsvFile,
    CsvPath,
    JsonFile,
    Quiet,
    ResultFile,
    check_outputs,
    check_replaceable,
    csv_file,
    result_file,
)
from devfnn.cli.values import parsed_changes
from devfnn.display.literal import literal
from devfnn.display.models import learning_table
from devfnn.display.progress import rows_bar
from devfnn.errors import DataError, InputError, StorageError
from devfnn.evaluation import iter_prequential
from devfnn.model.compiling import ensure_compiled
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.types import Chunk

COLUMNS = ("rows", "accuracy", "rules", "layers", "labels_used", "events")
"""What is written about every chunk."""


def learn(
    model_file: ModelFile,
    name: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A file, - for a pipe, a data set or a generator."),
    ],
    output: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Save here, not in place of MODEL."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Make a new model.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Parameter of a new model; may be repeated."
        ),
    ] = None,
    label: Label = None,
    rows: Rows = None,
    chunk_rows: ChunkRows = 500,
    skip: Skip = 0,
    seed: Seed = 0,
    data_dir: DataDir = None,
    options: Options = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Go on learning with a saved model, predicting every chunk before it is learned.

    The model is saved at the end, at once or not at all. Ctrl-C ends it early and saves what was
    learned until then. The CSV file has a line for each chunk.
    """
    screen = rich.console.Console(quiet=quiet)
    progress = rich.console.Console(stderr=True, quiet=quiet)
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        choice = Choice(
            name=name,
            rows=rows,
            chunk_rows=chunk_rows,
            seed=seed,
            label=label,
            data_dir=data_dir,
            changes=options,
            skip=skip,
        )
        if choice.has_no_label:
            raise InputError("labels are needed to learn; with --label none there are none")
        target = model_file if output is None else output
        check_outputs({"MODEL": model_file, "FILE": name}, json=json_file, csv=csv_path)
        check_outputs({"FILE": name}, output=target, json=json_file, csv=csv_path)
        model = _new_model(model_file, changes) if new else _known_model(model_file, changes)
        check_replaceable(target)
        stream = choice.open(progress)
        if model.feature_names:
            stream = with_features_of(model, stream, name)
        else:
            model = type(model)(model.config, stream.feature_names)
        ensure_compiled(model.config)  # here, where Ctrl-C still works at once
        lesson = Lesson(model, result, table)
        hint = " To learn without it: --set missing=skip." if new else ""
        chunks = usable(stream, stream.feature_names, choice, model.config, hint)
        with rows_bar(progress, "learning", stream.n_rows) as show:
            is_whole = lesson.learn_all(chunks, show)
        if not lesson.n_rows:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        if lesson.n_labels == 0:
            raise DataError(f"nothing was learned: no row of {name} has a label to learn")
        _save(model, target)
        about = {"stream": name, "model": str(model_file), "output": str(target)}
        result.write(about | {"is_interrupted": not is_whole, "skip": skip} | lesson.summary())
    heading = f"{name}, learned by {target}"
    screen.print(learning_table(heading, lesson.facts(), lesson.before, lesson.now()))
    if lesson.new_classes and lesson.before["classes"]:
        named = ", ".join(map(repr, lesson.new_classes))
        note = f"Labels the model had never seen, which are classes of their own now: {named}"
        screen.print(literal(note, "yellow"), soft_wrap=True)
    show_bad_rows(stream, screen)
    if not is_whole:
        _say_how_to_go_on(choice, target, lesson.n_rows, progress)
        raise interrupted()


def _known_model(path: pathlib.Path, changes: list[str] | None) -> devfnn.DEVFNN:
    if changes:
        raise InputError("--set is for a new model; one that has learned keeps its parameters")
    if not path.exists():
        raise DataError(f"there is no model file {str(path)!r}; --new makes one")
    return opened_model(path)


def _new_model(path: pathlib.Path, changes: list[str] | None) -> devfnn.DEVFNN:
    if path.exists():
        raise InputError(f"{str(path)!r} exists: without --new it goes on learning")
    return devfnn.DEVFNN(devfnn.Config().replace(**parsed_changes(changes or [])))


def _save(model: devfnn.DEVFNN, path: pathlib.Path) -> None:
    """Save a model whatever is pressed meanwhile."""
    try:
        with finishing():
            model.save(path)
    except StorageError as error:
        raise DataError(str(error)) from None


def _say_how_to_go_on(
    choice: Choice, path: pathlib.Path, n_rows: int, console: rich.console.Console
) -> None:
    said = f"{n_rows:,} rows were learned and saved in {path}."
    if choice.name != STANDARD_INPUT:
        command = ["devfnn", "learn", str(path), choice.name, "--skip", str(choice.skip + n_rows)]
        if choice.rows is not None:
            command += ["--rows", str(choice.rows - n_rows)]
        said += f" To go on, with the other options as before: {shlex.join(command)}"
    console.print(literal(said), soft_wrap=True)


class Lesson:
    """A model that learns chunks: written as they come, and counted."""

    def __init__(self, model: devfnn.DEVFNN, result: ResultFile, table: CsvFile) -> None:
        self.model, self.result, self.table = model, result, table
        self.n_rows = 0
        self.n_scored_chunks, self.accuracy_sum = 0, 0.0
        self.events: collections.Counter[str] = collections.Counter()
        self.before = self.now()
        table.add(COLUMNS)

    def learn_all(self, chunks: Iterator[Chunk], show: Callable[[int], object]) -> bool:
        """Learn chunks until they end or Ctrl-C is pressed; returns whether they ended."""
        try:
            with between_chunks() as wrap:
                for result in iter_prequential(self.model, wrap(chunks)):
                    self._add(result.n_rows, result.accuracy, [e.kind for e in result.events])
                    show(result.n_rows)
        except KeyboardInterrupt:
            return False
        return True

    def _add(self, n_rows: int, accuracy: float | None, kinds: list[str]) -> None:
        """Take in what became of a chunk."""
        self.n_rows = n_rows
        self.events.update(kinds)
        if accuracy is not None:
            self.n_scored_chunks += 1
            self.accuracy_sum += accuracy
        happened = dict(collections.Counter(kinds))
        now = self.now()
        sizes = (now["rules"], now["layers"], now["labels used"])
        if self.result.is_wanted:
            values = (n_rows, accuracy, *sizes, happened)
            self.result.add("chunks", dict(zip(COLUMNS, values, strict=True)))
        self.table.add([n_rows, accuracy, *sizes, _counted(happened.items())])

    def now(self) -> dict[str, int]:
        """What the model is like."""
        model = self.model
        return {
            "rows learned": model.n_rows,
            "labels used": model.n_labels_used,
            "classes": len(model.classes),
            "layers": model.n_live_layers,
            "rules": model.n_rules,
            "numbers in rules": model.n_parameters,
        }

    @property
    def new_classes(self) -> list[Any]:
        """Labels that opened new classes."""
        return self.model.classes[self.before["classes"] :]

    @property
    def n_labels(self) -> int:
        """Labels used."""
        return self.model.n_labels_used - self.before["labels used"]

    @property
    def accuracy(self) -> float | None:
        """Mean over the chunks that were predicted."""
        return self.accuracy_sum / self.n_scored_chunks if self.n_scored_chunks else None

    def facts(self) -> dict[str, str]:
        """What learning came to, for the screen."""
        accuracy = "-" if self.accuracy is None else f"{100.0 * self.accuracy:.2f} %"
        return {
            "rows": f"{self.n_rows:,}",
            "accuracy, mean over chunks": accuracy,
            "labels used": f"{self.n_labels:,}",
            "events": _counted(sorted(self.events.items())) or "-",
        }

    def summary(self) -> dict[str, Any]:
        """The same as plain data."""
        sides = {"before": self.before, "after": self.now()}
        return {
            "rows": self.n_rows,
            "accuracy_mean": self.accuracy,
            "labels_used": self.n_labels,
            "events": dict(self.events),
        } | {
            side: {name.replace(" ", "_"): count for name, count in counts.items()}
            for side, counts in sides.items()
        }


def _counted(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{kind} {count:,}" for kind, count in counts)
