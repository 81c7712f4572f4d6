"""`devfnn run`: a model over a stream, predicting first."""

import contextlib
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import rich.console
import typer

from devfnn.cli.choosing import (
    Choice,
    DataDir,
    DelayLabels,
    Folds,
    HideLabels,
    Label,
    Options,
    Rows,
    Shuffle,
    Skip,
)
from devfnn.cli.commands import typed_command
from devfnn.cli.describing import show_bad_rows
from devfnn.cli.interrupts import between_chunks
from devfnn.cli.kernels import get_ready
from devfnn.cli.models import usable
from devfnn.cli.procedures import (
    ByRow,
    Holdout,
    LabelBudget,
    Preset,
    Scaling,
    Silence,
    Unpredicted,
    WarmUp,
    Window,
)
from devfnn.cli.refusals import finishing, interrupted, refusing_bad_data
from devfnn.cli.results import (
    CsvFile,
    CsvPath,
    JsonFile,
    Quiet,
    TextFile,
    check_distinct,
    check_replaceable,
    csv_file,
    result_file,
    text_file,
)
from devfnn.cli.values import parsed_changes
from devfnn.display import detection_line, drift_table, result_table, watched
from devfnn.display.literal import literal
from devfnn.errors import DataError, InputError, NotLearnedError, StorageError
from devfnn.evaluation import Procedure
from devfnn.experiments import Checkpoint, Run, RunSettings, resume
from devfnn.experiments.checkpoint import check_can_be_stored


def run(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="STREAM", help="A generator, a data set, a file, or - for a pipe."),
    ] = "sea",
    model: Annotated[str, typer.Option(help="Which model; `devfnn models` lists them.")] = "devfnn",
    preset: Annotated[
        Preset | None,
        typer.Option(help="Where DEVFNN starts from; paper is for the streams of its Table 1."),
    ] = None,
    scaling: Annotated[
        Scaling | None,
        typer.Option(help="dataset looks ahead, as the paper does, and is its preset's default."),
    ] = None,
    folds: Folds = None,
    chunk_rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows in a chunk: 500, or as in the paper for its streams."),
    ] = None,
    rows: Rows = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stream and the model.")] = 0,
    label: Label = None,
    data_dir: DataDir = None,
    options: Options = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; may be repeated."),
    ] = None,
    skip: Skip = 0,
    shuffle: Shuffle = None,
    hide_labels: HideLabels = 0.0,
    delay_labels: DelayLabels = 0,
    by_row: ByRow = False,
    warm_up: WarmUp = 0,
    holdout: Holdout = None,
    label_budget: LabelBudget = None,
    unpredicted: Silence = Unpredicted.wrong,
    window: Window = 10,
    checkpoint: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Keep here where the run stands."),
    ] = None,
    is_resumed: Annotated[
        bool, typer.Option("--resume", help="Go on where the checkpoint stands.")
    ] = False,
    save: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Save the model here."),
    ] = None,
    report: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Write a report here, as HTML."),
    ] = None,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """Run a model over a stream, predicting every chunk before it is learned.

    Ctrl-C ends the run and shows its result so far. With --checkpoint it can go on later, with
    --resume, to the same result; also after a crash. The CSV file has a line for each chunk.
    """
    screen = rich.console.Console(quiet=quiet)
    progress = rich.console.Console(stderr=True, quiet=quiet)
    choice = Choice(
        name=name,
        rows=rows,
        folds=folds,
        chunk_rows=chunk_rows,
        seed=seed,
        label=label,
        data_dir=data_dir,
        changes=options,
        skip=skip,
        shuffle=shuffle,
        hide_labels=hide_labels,
        delay_labels=delay_labels,
    )
    with (
        refusing_bad_data(),
        result_file(json_file) as result,
        csv_file(csv_path) as table,
        text_file(report) as page,
    ):
        check_distinct(
            {"STREAM": pathlib.Path(name) if os.path.isfile(name) else None}
            | {"--json": json_file, "--csv": csv_path, "--report": report}
            | {"--save": save, "--checkpoint": checkpoint}
        )
        _check_labels(choice)
        _check_files(save, checkpoint, is_resumed)
        settings = RunSettings(
            stream=choice.settings(),
            model=model,
            preset=preset,
            changes=parsed_changes(changes or []),
            scaling=scaling,
            procedure=Procedure(
                by_row=by_row,
                warm_up_chunks=warm_up,
                holdout_every=holdout,
                label_budget=label_budget,
                unpredicted=unpredicted.value,
                window_chunks=window,
            ),
        )
        with between_chunks() as wrap:
            ongoing = _opened(settings, choice, wrap, progress)
            if save is not None or checkpoint is not None:
                check_can_be_stored(ongoing)
            seconds_ready = get_ready(settings.config(), progress) if settings.takes_config else 0.0
            if is_resumed:
                _go_on(ongoing, checkpoint, progress)
            is_whole = _finished(ongoing, checkpoint, progress)
        if not ongoing.results:
            raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
        if not ongoing.loop.is_between_chunks:  # Ctrl-C was pressed twice: a chunk is half learned
            raise KeyboardInterrupt
        found = ongoing.result(typed_command(context)) | {"seconds_ready": seconds_ready}
        if is_whole and not found["labels_used"]:
            raise DataError(f"nothing was learned: no row of {name} has a label to learn")
        result.write(found)
        _write_chunks(table, found)
        _write_report(page, found)
        _save(ongoing, save)
    _show(ongoing, found, screen)
    if not is_whole:
        _say_how_to_go_on(context, checkpoint, progress)
        raise interrupted()


def _check_labels(choice: Choice) -> None:
    if choice.has_no_label or choice.hide_labels == 1.0:
        said = "--label none" if choice.has_no_label else "--hide-labels 1"
        raise InputError(f"a run needs labels to learn; with {said} there are none")


def _check_files(
    save: pathlib.Path | None, checkpoint: pathlib.Path | None, is_resumed: bool
) -> None:
    """Refuse what cannot be written in the end, or would be lost."""
    for path in (save, checkpoint):
        if path is not None:
            check_replaceable(path)
    if is_resumed and checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE, to know where to go on")
    if checkpoint is not None and checkpoint.exists() and not is_resumed:
        raise InputError(
            f"{str(checkpoint)!r} exists: add --resume to go on there, or remove it to start anew"
        )


def _opened(settings: RunSettings, choice: Choice, wrap: Any, console: rich.console.Console) -> Run:
    """The run, about to begin; values that DEVFNN would refuse are found on their way to it."""
    config = settings.config()
    hint = " To learn without it: --set missing=skip."

    def watch(chunks: Iterable[Any]) -> Iterator[Any]:
        safe = wrap(chunks)
        if config is None:
            return safe  # type: ignore[no-any-return]
        return usable(safe, ongoing.stream.feature_names, choice, config, hint)

    with choice.opening(console) as progress:
        ongoing = Run(settings, progress=progress, watch=watch)
    return ongoing


def _go_on(ongoing: Run, checkpoint: pathlib.Path | None, console: rich.console.Console) -> None:
    if checkpoint is None or not checkpoint.exists():
        console.print("There is no checkpoint yet; the run starts at the beginning.")
        return
    resume(ongoing, checkpoint)
    console.print(f"Going on after {ongoing.loop.n_rows:,} rows.")


def _finished(ongoing: Run, checkpoint: pathlib.Path | None, console: rich.console.Console) -> bool:
    """Run to the end, or until Ctrl-C is pressed; returns whether it is the end."""
    results = ongoing if checkpoint is None else Checkpoint(checkpoint).follow(ongoing)
    settings = ongoing.settings
    name = f"{_system(settings)} on {settings.stream.name}"
    n_rows = ongoing.stream.n_rows
    shown = watched(results, n_rows, console, name=name, before=list(ongoing.results))
    try:
        with contextlib.closing(shown), _blaming(settings):  # type: ignore[type-var]
            for _ in shown:
                pass
    except KeyboardInterrupt:
        return False
    return True


@contextlib.contextmanager
def _blaming(settings: RunSettings) -> Iterator[None]:
    """Say whose fault it is when a model of another library fails."""
    try:
        yield
    except (InputError, DataError, NotLearnedError, KeyboardInterrupt):
        raise
    except Exception as error:
        if settings.takes_config:
            raise
        raise DataError(f"{settings.model} failed: {type(error).__name__}: {error}") from error


def _system(settings: RunSettings) -> str:
    return f"DEVFNN ({settings.preset_name})" if settings.model == "devfnn" else settings.model


def _write_chunks(table: CsvFile, result: dict[str, Any]) -> None:
    """A line for each chunk."""
    lists = ("voting_weights", "feature_mask")
    columns = {name: each for name, each in result["per_chunk"].items() if name not in lists}
    table.add(columns)
    for line in zip(*columns.values(), strict=True):
        table.add(line)


def _write_report(page: TextFile | None, result: dict[str, Any]) -> None:
    if page is not None:
        from devfnn.reports import run_report

        page.write(run_report(result))


def _save(ongoing: Run, path: pathlib.Path | None) -> None:
    if path is None:
        return
    try:
        with finishing():
            ongoing.model.save(path)
    except StorageError as error:
        raise DataError(str(error)) from None


def _show(ongoing: Run, result: dict[str, Any], screen: rich.console.Console) -> None:
    """What the run came to."""
    settings, n_rows = ongoing.settings, result["rows"]
    name = f"{_system(settings)} on {settings.stream.name}, {n_rows:,} rows"
    name += f", seed {settings.stream.seed}" + ("" if ongoing.is_complete else ", interrupted")
    screen.print(result_table(result, name))
    if settings.takes_config:
        screen.print(drift_table(ongoing.results, result["drift_positions"], n_rows))
        if result["drift_detection"] is not None:
            screen.print(detection_line(result["drift_detection"]))
    show_bad_rows(ongoing.stream, screen)
    notes = [f"Chunks of {result['chunk_rows']:,} rows, scaling: {result['scaling']}."]
    if result["scaling"] == "dataset":
        notes.append("Scaling by the range of the whole stream looks ahead, as the paper does.")
    if ongoing.n_left_out:
        notes.append(f"{ongoing.n_left_out:,} rows at the end do not fill a chunk: left out.")
    if settings.takes_config:
        notes.append(
            f"Kernels were ready after {result['seconds_ready']:.1f} s, not counted above."
        )
    screen.print(" ".join(notes))


def _say_how_to_go_on(
    context: typer.Context, checkpoint: pathlib.Path | None, console: rich.console.Console
) -> None:
    if checkpoint is None:
        console.print("With --checkpoint FILE, a run can go on later.")
        return
    command = typed_command(context, with_outputs=True, flags=("--resume",))
    same = ", with the same rows from the first" if context.params["name"] == "-" else ""
    console.print(literal(f"To go on{same}: {command}"), soft_wrap=True)
