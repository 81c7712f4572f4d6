"""`devfnn learn`: a saved model learns more rows, each of them once."""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import typer

import devfnn
from devfnn.cli import inputs
from devfnn.cli.errors import interrupted, until_ctrl_c
from devfnn.cli.option_parsing import parse_parameters
from devfnn.cli.output import Output, OutputFile, check_replaceable, command, file_option
from devfnn.display.live import rows_bar
from devfnn.display.streams import show_bad_rows
from devfnn.display.tables import facts_table, text_table
from devfnn.errors import DataError, InputError, StorageError
from devfnn.evaluation import ChunkResult, iter_prequential
from devfnn.evaluation.course import Course
from devfnn.experiments.keeping import Keeper
from devfnn.experiments.settings import StreamSettings, difference
from devfnn.formatting import NO_VALUE, count, percent
from devfnn.model.compiling import ensure_compiled
from devfnn.storage import dump
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.streams.stream import Stream
from devfnn.types import Chunk, Position

Line = dict[str, Any]
"""What is told of a chunk."""


@dataclasses.dataclass
class Resuming:
    """Options to go on where a model stands in a source of rows."""

    is_on: bool = typer.Option(
        False, "--resume", help="Go on after the rows of STREAM that the model has learned."
    )
    source: str | None = typer.Option(
        None, metavar="NAME", help="With --resume, what STREAM is called, in place of its path."
    )
    save_every: float | None = typer.Option(
        None, min=0.0, metavar="SECONDS", help="With --resume, how often to save: every 5 s."
    )

    def check(self, skip: int, target: pathlib.Path | None) -> None:
        """Refuse options that do not go together."""
        if not self.is_on and (self.source is not None or self.save_every is not None):
            raise InputError("--source and --save-every are for --resume")
        if self.is_on and skip:
            raise InputError("--resume knows which rows to skip: leave --skip out")
        if self.is_on and target is not None:
            raise InputError("--resume goes on with MODEL itself: leave --output out")

    def name_of(self, settings: StreamSettings) -> str | None:
        """What the stream is called, the same when the same is typed again."""
        if not self.is_on or self.source is not None:
            return self.source
        if inputs.is_file(settings.name):
            path = os.path.realpath(os.path.expanduser(settings.name))
            if settings.name == STANDARD_INPUT or not os.path.isfile(path):
                raise InputError("--resume needs --source NAME for a pipe, which has no name")
            return path
        return f"{settings.name} {json.dumps(settings.options, sort_keys=True, default=str)}"


@command
def learn(
    output: Output,
    model_file: inputs.ModelFile,
    chosen: inputs.StreamChoice,
    *,
    target: pathlib.Path | None = file_option("Save here, not in place of MODEL.", "--output"),
    new: bool = typer.Option(False, "--new", help="Make a new model."),
    changes: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="Parameter of a new model; may be repeated."
    ),
    rows: inputs.Rows = None,
    chunk_rows: inputs.ChunkRows = 500,
    skip: inputs.Skip = 0,
    resuming: Resuming,
    wait: inputs.Wait = False,
) -> None:
    """Let a saved model learn more rows, predicting every chunk before it is learned.

    The model is saved at the end. Ctrl-C ends learning early and saves what was learned until
    then. With --resume it is saved every few seconds, together with how far it is: whatever stops
    it, the same command again goes on from there, so that every row is learned once. With --new
    too, the model is made unless it is there. The CSV file has a line for each chunk.
    """
    resuming.check(skip, target)
    name, target = chosen.name, model_file if target is None else target
    with contextlib.ExitStack() as stack:
        result, table = stack.enter_context(output.files({"MODEL": model_file, "STREAM": name}))
        output.check_distinct({"STREAM": name}, output=target)
        settings = chosen.settings(rows=rows, chunk_rows=chunk_rows, skip=skip)
        inputs.check_has_labels(settings)
        source = resuming.name_of(settings)
        check_replaceable(target)
        stack.enter_context(output.locked(target, wait))
        model = _model(model_file, changes, new, resuming.is_on)
        stream = inputs.opened(settings, output.progress)
        if model.feature_names:
            stream = inputs.with_features_of(model, stream, name)
        else:
            model = type(model)(model.config, stream.feature_names)
        ensure_compiled(model.config)  # here, where Ctrl-C still works at once
        learning = _Learning(model, source)
        hint = " To learn without it: --set missing=skip." if new else ""
        chunks = learning.chunks(stream, settings, hint)
        keeper = None
        if resuming.is_on:
            every = 5.0 if resuming.save_every is None else resuming.save_every
            keeper = Keeper(target, every, output.warn)
        with rows_bar(output.progress, "learning", learning.n_rows_left) as show:
            is_whole = learning.learn(chunks, _written(result, table, show), keeper)
        learning.check(name, is_whole)
        found: dict[str, Any] = {
            "stream": name,
            "model": str(model_file),
            "output": str(target),
            "skip": skip,
        }
        found |= {"is_interrupted": not is_whole} | learning.found()
        if learning.course:
            inputs.save_model(model, target)
        result.write_json(found if learning.course else found | {"chunks": []})
    if not learning.course:
        output.say(f"All {learning.start.rows:,} rows of {source} were learned before.")
        return
    _show(output, found, learning)
    show_bad_rows(stream, output.screen)
    if not is_whole:
        n_rows = found["rows"]
        how = _how_to_go_on(name, skip + n_rows, rows and rows - n_rows, resuming.is_on)
        output.note(f"{n_rows:,} rows were learned and saved in {target}.{how}")
        raise interrupted()


def _written(
    result: OutputFile, table: OutputFile, show: Callable[[int], object]
) -> Callable[[Line], None]:
    """What is done with the line of each chunk: written at once, so that none is kept."""
    is_first = True

    def write(line: Line) -> None:
        nonlocal is_first
        if is_first:
            table.add_row(line)
        is_first = False
        result.add_item("chunks", line)
        table.add_row((line | {"events": _counted(line["events"])}).values())
        show(line["rows"])

    return write


class _Learning:
    """A model on its way through a stream, and what it says of every chunk."""

    def __init__(self, model: devfnn.DEVFNN, source: str | None) -> None:
        self.model, self._source = model, source
        self.start = model.positions.get(source, Position()) if source is not None else Position()
        """How far the model was in its source."""
        self.course = Course()
        self.before = _counts(model)
        self.n_rows_left: int | None = None
        if source is not None:  # refused now, not after the work
            model.positions = model.positions | {source: self.start}
        try:
            dump(model)
        except StorageError as error:
            raise InputError(str(error)) from None
        self._position, self._n_begun = self.start, 0

    def chunks(self, stream: Stream, settings: StreamSettings, hint: str) -> Iterator[Chunk]:
        """The chunks that are still to be learned."""
        rest, n_before = stream, settings.skip
        if self._source is not None:
            rest, n_before = stream.after(self.start), self.start.rows
        self.n_rows_left = rest.n_rows
        settings = dataclasses.replace(settings, skip=n_before)  # rows are numbered from there
        config = self.model.config
        return inputs.checked_chunks(rest, rest.feature_names, settings, config, hint)

    def learn(
        self, chunks: Iterable[Chunk], tell: Callable[[Line], object], keeper: Keeper | None
    ) -> bool:
        """Learn until the end or Ctrl-C, and save now and then; returns whether it is the end."""

        def add(result: ChunkResult) -> None:
            tell(self._added(result))
            if keeper is not None and keeper.is_due:
                self._keep(keeper)

        def through(chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
            return iter_prequential(self.model, self._counted(chunks))

        try:
            return until_ctrl_c(chunks, add, through)
        except (InputError, DataError):  # what was learned before a bad row is kept
            if keeper is not None and self.course:
                self._keep(keeper)
            raise

    def _counted(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            self._n_begun += len(chunk.y)
            if self._source is not None:
                self._position = self._position.after(chunk.X, chunk.y)
            yield chunk

    def _added(self, result: ChunkResult) -> Line:
        """Note a chunk that was learned; returns what is told of it."""
        model = self.model
        if self._source is not None:
            model.positions = model.positions | {self._source: self._position}
        self.course.append(result)
        return {
            "rows": result.n_rows,
            "accuracy": result.accuracy,
            "rules": model.n_rules,
            "layers": model.n_live_layers,
            "labels_used": model.n_labels_used,
            "events": dict(collections.Counter(event.kind for event in result.events)),
        }

    def _keep(self, keeper: Keeper) -> None:
        """Save the model with its position, once something of the source was learned."""
        if self.start.rows or self.n_labels_used:
            try:
                keeper.keep(lambda: dump(self.model))
            except StorageError as error:
                raise DataError(str(error)) from None

    def check(self, name: str, is_whole: bool) -> None:
        """Refuse to save a model that has learned nothing, or half a chunk."""
        n_rows = self.n_rows
        if not is_whole and (not n_rows or n_rows < self._n_begun):  # Ctrl-C was pressed twice
            raise KeyboardInterrupt
        if not self.start.rows:
            if not n_rows:
                raise DataError(f"{name} has no rows")
            if not self.n_labels_used:
                raise DataError(f"nothing was learned: no row of {name} has a label to learn")

    @property
    def n_rows(self) -> int:
        """Rows learned on its way."""
        return self.course[-1].n_rows if self.course else 0

    @property
    def n_labels_used(self) -> int:
        """Labels that the model was trained with on its way."""
        return self.model.n_labels_used - self.before["labels used"]

    def found(self) -> dict[str, Any]:
        """What was learned, as plain data."""
        sizes = {"before": self.before, "after": _counts(self.model)}
        return {
            "source": self._source,
            "rows_before": self.start.rows,
            "rows": self.n_rows,
            "accuracy_mean": self.course.mean("accuracy"),
            "labels_used": self.n_labels_used,
            "events": dict(self.course.event_counts),
        } | {
            when: {what.replace(" ", "_"): number for what, number in counts.items()}
            for when, counts in sizes.items()
        }


def _model(path: pathlib.Path, changes: list[str], is_new: bool, is_resumed: bool) -> devfnn.DEVFNN:
    if is_new and path.exists() and not is_resumed:
        raise InputError(f"{str(path)!r} exists: without --new it continues to learn")
    if is_new:
        made = devfnn.DEVFNN(devfnn.Config().replace(**parse_parameters(changes)))
        return _same(inputs.opened_model(path), made, path) if path.exists() else made
    if changes:
        raise InputError("--set is for a new model; one that has learned keeps its parameters")
    if not path.exists():
        raise DataError(f"there is no model file {str(path)!r}; --new makes one")
    return inputs.opened_model(path)


def _same(model: devfnn.DEVFNN, made: devfnn.DEVFNN, path: pathlib.Path) -> devfnn.DEVFNN:
    """The model, if it is one that the command would have made."""
    found = difference(made.config.to_dict(), model.config.to_dict())
    if found is not None:
        name, here, there = found
        raise InputError(
            f"the model in {str(path)!r} has {name} = {there!r}, not {here!r}: without --new and "
            "--set it goes on as it is"
        )
    return model


def _how_to_go_on(name: str, n_rows: int, n_left: int | None, is_resumed: bool) -> str:
    if is_resumed:
        same = ", with the same rows from the first" if name == STANDARD_INPUT else ""
        return f" To continue, type the same again{same}."
    if name == STANDARD_INPUT:
        return ""
    again = f"--skip {n_rows}" + (f" --rows {n_left}" if n_left else "")
    return f" To continue, type the same with {again}"


def _show(output: Output, found: Mapping[str, Any], learning: _Learning) -> None:
    before, after = learning.before, _counts(learning.model)
    facts = {
        "rows": count(found["rows"]),
        "accuracy, mean over chunks": percent(found["accuracy_mean"]),
        "labels used": count(found["labels_used"]),
        "events": _counted(found["events"]) or NO_VALUE,
    }
    if found["rows_before"]:
        facts["rows learned before"] = count(found["rows_before"])
    output.screen.print(facts_table(f"{found['stream']}, learned by {found['output']}", facts))
    sizes = [(what, count(before[what]), count(end)) for what, end in after.items()]
    output.screen.print(text_table("Model", ("", "before", "after"), sizes))
    new_classes = learning.model.classes[before["classes"] :]
    if new_classes and before["classes"]:
        named = ", ".join(map(repr, new_classes))
        output.say(f"Labels that the model had not seen before are new classes: {named}", "yellow")


def _counts(model: devfnn.DEVFNN) -> dict[str, int]:
    return {
        "rows learned": model.n_rows,
        "labels used": model.n_labels_used,
        "classes": len(model.classes),
        "layers": model.n_live_layers,
        "rules": model.n_rules,
        "numbers in rules": model.n_parameters,
    }


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number:,}" for kind, number in sorted(counts.items()))
