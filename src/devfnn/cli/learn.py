"""`devfnn learn`: a saved model continues to learn, and is saved again."""

import collections
import pathlib
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer

import devfnn
from devfnn.cli import inputs
from devfnn.cli.errors import between_chunks, interrupted
from devfnn.cli.option_parsing import parse_parameters
from devfnn.cli.output import Output, check_replaceable, command, file_option
from devfnn.display.live import rows_bar
from devfnn.display.models import learning_table
from devfnn.display.streams import show_bad_rows
from devfnn.errors import DataError, InputError
from devfnn.evaluation import iter_prequential
from devfnn.evaluation.results import mean
from devfnn.experiments.settings import StreamSettings
from devfnn.formatting import NO_VALUE, count, percent
from devfnn.model.compiling import ensure_compiled
from devfnn.streams.files.content import STANDARD_INPUT
from devfnn.types import Chunk


@command
def learn(
    output: Output,
    model_file: inputs.ModelFile,
    name: inputs.FileName,
    target: pathlib.Path | None = file_option("Save here, not in place of MODEL.", "--output"),
    new: bool = typer.Option(False, "--new", help="Make a new model."),
    changes: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="Parameter of a new model; may be repeated."
    ),
    label: inputs.Label = None,
    rows: inputs.Rows = None,
    chunk_rows: inputs.ChunkRows = 500,
    skip: inputs.Skip = 0,
    seed: inputs.Seed = 0,
    data_dir: inputs.DataDir = None,
    options: inputs.Options = None,
) -> None:
    """Let a saved model learn more rows, predicting every chunk before it is learned.

    The model is saved at the end. Ctrl-C ends learning early and saves what was learned until
    then. The CSV file has a line for each chunk.
    """
    target = model_file if target is None else target
    with output.files({"MODEL": model_file, "FILE": name}) as (result, table):
        output.check_distinct({"FILE": name}, output=target)
        limits: dict[str, Any] = {"rows": rows, "chunk_rows": chunk_rows, "skip": skip}
        settings = inputs.stream_settings(name, label, data_dir, options, seed=seed, **limits)
        inputs.check_has_labels(settings)
        model = _new_model(model_file, changes) if new else _known_model(model_file, changes)
        check_replaceable(target)
        stream = inputs.opened(settings, output.progress)
        if model.feature_names:
            stream = inputs.with_features_of(model, stream, name)
        else:
            model = type(model)(model.config, stream.feature_names)
        ensure_compiled(model.config.network)  # here, where Ctrl-C still works at once
        before = _counts(model)
        hint = " To learn without it: --set missing=skip." if new else ""
        chunks = inputs.checked_chunks(stream, stream.feature_names, settings, model.config, hint)
        with rows_bar(output.progress, "learning", stream.n_rows) as show:
            lines, is_whole = _learned(model, chunks, show)
        found = _summary(lines, before, _counts(model))
        if not lines:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        if not found["labels_used"]:
            raise DataError(f"nothing was learned: no row of {name} has a label to learn")
        inputs.save_model(model, target)
        about: dict[str, Any] = {"stream": name, "model": str(model_file), "output": str(target)}
        about |= {"is_interrupted": not is_whole, "skip": skip}
        result.write(about | found | {"chunks": lines})
        table.add_all(line | {"events": _counted(line["events"])} for line in lines)
    facts = {
        "rows": count(found["rows"]),
        "accuracy, mean over chunks": percent(found["accuracy_mean"]),
        "labels used": count(found["labels_used"]),
        "events": _counted(found["events"]) or NO_VALUE,
    }
    heading = f"{name}, learned by {target}"
    output.screen.print(learning_table(heading, facts, before, _counts(model)))
    new_classes = model.classes[before["classes"] :]
    if new_classes and before["classes"]:
        named = ", ".join(map(repr, new_classes))
        output.say(f"Labels that the model had not seen before are new classes: {named}", "yellow")
    show_bad_rows(stream, output.screen)
    if not is_whole:
        output.note(_how_to_continue(settings, target, found["rows"]))
        raise interrupted()


def _known_model(path: pathlib.Path, changes: list[str]) -> devfnn.DEVFNN:
    if changes:
        raise InputError("--set is for a new model; one that has learned keeps its parameters")
    if not path.exists():
        raise DataError(f"there is no model file {str(path)!r}; --new makes one")
    return inputs.opened_model(path)


def _new_model(path: pathlib.Path, changes: list[str]) -> devfnn.DEVFNN:
    if path.exists():
        raise InputError(f"{str(path)!r} exists: without --new it continues to learn")
    return devfnn.DEVFNN(devfnn.Config().replace(**parse_parameters(changes)))


def _learned(
    model: devfnn.DEVFNN, chunks: Iterable[Chunk], show: Callable[[int], object]
) -> tuple[list[dict[str, Any]], bool]:
    """What happened in each chunk, and whether they ended before Ctrl-C was pressed."""
    lines: list[dict[str, Any]] = []
    try:
        with between_chunks() as wrap:
            for result in iter_prequential(model, wrap(chunks)):
                lines.append(
                    {
                        "rows": result.n_rows,
                        "accuracy": result.accuracy,
                        "rules": model.n_rules,
                        "layers": model.n_live_layers,
                        "labels_used": model.n_labels_used,
                        "events": dict(collections.Counter(each.kind for each in result.events)),
                    }
                )
                show(result.n_rows)
    except KeyboardInterrupt:
        return lines, False
    return lines, True


def _counts(model: devfnn.DEVFNN) -> dict[str, int]:
    """The size of a model."""
    return {
        "rows learned": model.n_rows,
        "labels used": model.n_labels_used,
        "classes": len(model.classes),
        "layers": model.n_live_layers,
        "rules": model.n_rules,
        "numbers in rules": model.n_parameters,
    }


def _summary(
    lines: list[dict[str, Any]], before: Mapping[str, int], after: Mapping[str, int]
) -> dict[str, Any]:
    """What was learned, as plain data."""
    events: collections.Counter[str] = collections.Counter()
    for line in lines:
        events.update(line["events"])
    return {
        "rows": lines[-1]["rows"] if lines else 0,
        "accuracy_mean": mean([line["accuracy"] for line in lines]),
        "labels_used": after["labels used"] - before["labels used"],
        "events": dict(events),
        "before": {name.replace(" ", "_"): number for name, number in before.items()},
        "after": {name.replace(" ", "_"): number for name, number in after.items()},
    }


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number:,}" for kind, number in sorted(counts.items()))


def _how_to_continue(settings: StreamSettings, path: pathlib.Path, n_rows: int) -> str:
    text = f"{n_rows:,} rows were learned and saved in {path}."
    if settings.name == STANDARD_INPUT:
        return text
    words = ["devfnn", "learn", path, settings.name, "--skip", settings.skip + n_rows]
    if settings.rows is not None:
        words += ["--rows", settings.rows - n_rows]
    return f"{text} To continue, with the other options as before: {shlex.join(map(str, words))}"
