"""`devfnn run`: a model over a stream, predicting before learning."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import rich.console
import typer

from devfnn.baselines.registry import MODELS
from devfnn.cli import inputs, running
from devfnn.cli.errors import Wrap, between_chunks, interrupted
from devfnn.cli.option_parsing import parse_class_weights, parse_parameters
from devfnn.cli.output import File, Output, check_replaceable, command, file_option, text_file
from devfnn.display.live import watched
from devfnn.display.results import class_table, drift_table, result_table
from devfnn.display.streams import show_bad_rows
from devfnn.display.tables import literal
from devfnn.errors import DataError, InputError, NotLearnedError
from devfnn.evaluation.classes import are_unequal
from devfnn.experiments import Checkpoint, Run, RunSettings, resume
from devfnn.experiments.checkpoint import check_can_be_stored
from devfnn.experiments.result_files import sealed
from devfnn.formatting import detection_line
from devfnn.model.config import Config
from devfnn.types import Chunk

Preset = Literal["default", "swift", "stacked", "static", "paper", "paper_static", "paper_masked"]


@dataclasses.dataclass
class UsualStream(inputs.StreamChoice):
    """A stream that need not be named."""

    name: str = typer.Argument(
        "sea", metavar="STREAM", help="A generator, a data set, a file, or - for a pipe."
    )


@command
def run(
    output: Output,
    context: typer.Context,
    chosen: UsualStream,
    *,
    model: str = typer.Option("devfnn", help="Which model; `devfnn models` lists them."),
    preset: Preset | None = typer.Option(
        None, help="Configuration of DEVFNN; paper has the authors' values for their streams."
    ),
    changes: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="Set a parameter; may be repeated."
    ),
    class_weights: str | None = typer.Option(
        None,
        metavar="WEIGHTS",
        help="Weights of classes: balanced, or LABEL=WEIGHT,...; for rare classes.",
    ),
    how: running.RunChoice,
    checkpoint: pathlib.Path | None = file_option("Save the state of the run here."),
    is_resumed: bool = typer.Option(False, "--resume", help="Continue from the checkpoint."),
    wait: inputs.Wait = False,
    save: pathlib.Path | None = file_option("Save the model here."),
    report: pathlib.Path | None = file_option("Write a report here, as HTML."),
) -> None:
    """Run a model over a stream, predicting every chunk before it is learned.

    Ctrl-C ends the run and shows its result so far. With --checkpoint it can be continued later,
    with --resume, to the same result; also after a crash. The CSV file has a line for each chunk,
    and of a run with more than 4,000 chunks for several.
    """
    name, written = chosen.name, {"report": report, "save": save, "checkpoint": checkpoint}
    with contextlib.ExitStack() as stack:
        result, table = stack.enter_context(output.files({"STREAM": name}, **written))
        page = stack.enter_context(text_file(report))
        stream = how.of(chosen)
        inputs.check_has_labels(stream)
        if save is not None:
            check_replaceable(save)
        point = stack.enter_context(_checkpoint(output, checkpoint, is_resumed, wait))
        settings = RunSettings(
            stream=stream,
            model=model,
            preset=preset,
            changes=_changes(changes, class_weights, model),
            scaling=how.scaling,
            procedure=how.procedure(),
        )
        with between_chunks() as wrap:
            ongoing = _opened(settings, wrap, output.progress)
            _check_weighted(ongoing)
            if save is not None or checkpoint is not None:
                check_can_be_stored(ongoing)
            seconds_ready = running.compile_kernels(settings.config(), output.progress)
            if is_resumed:
                _continue(ongoing, point, output)
            is_whole = _finished(ongoing, point, output.progress)
        _check_learned(ongoing, name, is_whole)
        found = ongoing.result(running.typed_command(context)) | {"seconds_ready": seconds_ready}
        result.write_json(sealed(found))
        chunks = found["per_chunk"]
        lists = ("voting_weights", "feature_mask", "layer_states")
        columns = [each for each in chunks if each not in lists]
        for line in (columns, *zip(*map(chunks.get, columns), strict=True)):
            table.add_row(line)
        if page.is_wanted:
            from devfnn.reports import run_report

            page.write(run_report(found))
        if save is not None:
            inputs.save_model(ongoing.model, save)
    _show(ongoing, found, output.screen)
    if not is_whole:
        _say_how_to_go_on(output, context, point, name)
        raise interrupted()


def _changes(texts: list[str], class_weights: str | None, model: str) -> dict[str, Any]:
    """Parameters that are set, weights of classes among them."""
    found = parse_parameters(texts, model)
    if class_weights is not None:
        if model in MODELS and not MODELS[model].takes_config:
            raise InputError(f"{model} has no class weights; they are for DEVFNN and its parts")
        found["class_weights"] = parse_class_weights(class_weights)
    return found


@contextlib.contextmanager
def _checkpoint(
    output: Output, path: File, is_resumed: bool, wait: bool
) -> Iterator[Checkpoint | None]:
    """The file for the state of the run, kept from other processes; None without one."""
    if path is None:
        if is_resumed:
            raise InputError("--resume needs --checkpoint FILE, the file to continue from")
        yield None
        return
    check_replaceable(path)
    with output.locked(path, wait):
        if path.exists() and not is_resumed:
            raise InputError(
                f"{str(path)!r} exists: add --resume to continue from it, or remove it to start "
                "again"
            )
        yield Checkpoint(path, tell=output.warn)


def _continue(ongoing: Run, point: Checkpoint | None, output: Output) -> None:
    """Let the run go on where its checkpoint stands, if there is one."""
    if point is not None and point.path.exists():
        resume(ongoing, point.path)
        output.note(f"Continuing after {ongoing.loop.n_rows:,} rows.")
    else:
        output.note("There is no checkpoint yet; the run starts at the beginning.")


def _opened(settings: RunSettings, wrap: Wrap, console: rich.console.Console) -> Run:
    """The run, about to begin; values that DEVFNN would refuse are reported with their row."""
    config = settings.config()
    hint = " To learn without it: --set missing=skip."

    def watch(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        safe, names = wrap(chunks), ongoing.stream.feature_names
        if config is None:
            return safe
        return inputs.checked_chunks(safe, names, settings.stream, config, hint)

    with inputs.opening(settings.stream, console) as progress:
        ongoing = Run(settings, progress=progress, watch=watch)
    return ongoing


def _check_weighted(ongoing: Run) -> None:
    """Refuse weights of classes that the stream is known not to have."""
    stream, config = ongoing.stream, getattr(ongoing.model, "config", None)
    for label in config.weight_of if isinstance(config, Config) else ():
        if stream.classes and label not in stream.classes:
            there_are = ", ".join(map(str, stream.class_names or stream.classes))
            raise InputError(f"no class is called {label!r}; there are {there_are}")


def _finished(ongoing: Run, point: Checkpoint | None, console: rich.console.Console) -> bool:
    """Run to the end, or until Ctrl-C is pressed; returns whether it is the end."""
    results = ongoing if point is None else point.follow(ongoing)
    name = _name(ongoing.settings)
    n_rows = ongoing.stream.n_rows
    shown = watched(results, n_rows, console, name=name, before=ongoing.results.points.copy())
    try:
        with contextlib.closing(shown):  # type: ignore[type-var]
            for _ in shown:
                pass
    except KeyboardInterrupt:
        return False
    except (InputError, DataError, NotLearnedError):
        raise
    except Exception as error:
        if ongoing.settings.takes_config:
            raise
        model = ongoing.settings.model  # of another library
        raise DataError(f"{model} failed: {type(error).__name__}: {error}") from error
    return True


def _say_how_to_go_on(
    output: Output, context: typer.Context, point: Checkpoint | None, name: str
) -> None:
    """How a run that was interrupted is continued, and from where if it could not be stored."""
    if point is None:
        output.note("With --checkpoint FILE, a run can be continued later.")
        return
    if point.problem is not None:
        output.warn(f"The state of the run is not stored: {point.problem}")
    same = ", with the same rows from the first" if name == "-" else ""
    before = " from the state before that" if point.problem is not None else ""
    if point.path.exists():
        again = running.typed_command(context, "--resume")
        output.note(f"To continue{before}{same}: {again}")


def _check_learned(ongoing: Run, name: str, is_whole: bool) -> None:
    """Refuse a result without rows or labels, or of a model that has half learned a chunk."""
    if not ongoing.results:
        raise DataError(f"{name} has no rows") if is_whole else KeyboardInterrupt
    if not ongoing.loop.is_between_chunks:  # Ctrl-C was pressed twice
        raise KeyboardInterrupt
    if is_whole and not ongoing.results[-1].n_labels:
        raise DataError(f"nothing was learned: no row of {name} has a label to learn")


def _name(settings: RunSettings) -> str:
    system = f"DEVFNN ({settings.preset_name})" if settings.model == "devfnn" else settings.model
    return f"{system} on {settings.stream.name}"


def _show(ongoing: Run, result: dict[str, Any], screen: rich.console.Console) -> None:
    settings, n_rows = ongoing.settings, result["rows"]
    name = f"{_name(settings)}, {n_rows:,} rows, seed {settings.stream.seed}"
    if are_unequal(result):
        screen.print(class_table(result))
    screen.print(result_table(result, name + ("" if ongoing.is_complete else ", interrupted")))
    if settings.takes_config:
        screen.print(drift_table(ongoing.results, result["drift_positions"], n_rows))
        if result["drift_detection"] is not None:
            screen.print(detection_line(result["drift_detection"]))
    show_bad_rows(ongoing.stream, screen)
    screen.print(" ".join(_notes(ongoing, result)))
    for caution in result["cautions"]:
        screen.print(literal(caution, "bold"))


def _notes(ongoing: Run, result: dict[str, Any]) -> list[str]:
    """How the run was made, in sentences."""
    notes = [f"Chunks of {result['chunk_rows']:,} rows, scaling: {result['scaling']}."]
    if result["scaling"] == "dataset":
        notes.append("Scaling by the range of the whole stream looks ahead, as the paper does.")
    if "chunks_per_point" in result:
        n_chunks = result["chunks_per_point"]
        notes.append(f"The run is long: results by chunks are told {n_chunks:,} at a time.")
    if ongoing.n_left_out:
        notes.append(f"{ongoing.n_left_out:,} rows at the end do not fill a chunk: left out.")
    if ongoing.settings.takes_config:
        ready = f"{result['seconds_ready']:.1f} s"
        notes.append(f"Compiling or loading the kernels took {ready}, not counted above.")
    return notes
