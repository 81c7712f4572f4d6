"""The benchmark of record: every system on every stream, once, on one core. Run by `make record`.

It takes hours. Ctrl-C stops it; the same command goes on. Figures of rivals come from
`results/rivals.json` as long as their releases and the streams are the same; `--rivals` runs them
anew, all or those of `--streams` and `--systems`, and keeps them. A run with fewer rows, streams or
systems leaves the committed report alone.

Usage: python benchmarks/record.py [--quick] [--rows N] [--streams A B] [--systems A B] ...
"""

import argparse
import collections
import datetime
import fnmatch
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from record_bars import Bar, bars
from record_plan import (
    KDD_ROWS,
    RecordStream,
    System,
    file_names,
    is_installed,
    record_streams,
    record_systems,
)
from record_report import bar_table, draw_figures, overviews, plain, report, stream_table
from record_runs import (
    RecordCell,
    Summary,
    by_name,
    cells_of,
    compare,
    cpu_model,
    keep_rivals,
    kept_rivals,
    noted,
    run_cells,
    source_fingerprint,
    summary_of,
)
from rich.console import Console

from devfnn.baselines.peers import provide_java
from devfnn.display.live import grid_bar
from devfnn.errors import DataError
from devfnn.experiments.grid import Outcome
from devfnn.experiments.settings import versions
from devfnn.files import write_whole

QUICK_ROWS = 2000
WHOLE = pathlib.Path("results/record")
SHORT = pathlib.Path("results/record-quick")
COMMITTED = pathlib.Path("results/record.md")
RIVALS = pathlib.Path("results/rivals.json")
FORMAT = 1


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What was typed, with what follows from it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    path = pathlib.Path
    parser.add_argument("--output", type=path, help=f"folder; {WHOLE}, or {SHORT} with few rows")
    parser.add_argument("--data-dir", type=path, help="folder of .npz files; else DEVFNN_DATA")
    parser.add_argument(
        "--streams", nargs="+", metavar="NAME", help="only these; * for any letters"
    )
    parser.add_argument(
        "--systems", nargs="+", metavar="NAME", help="only these; * for any letters"
    )
    parser.add_argument("--rows", type=int, help="rows of a stream at most")
    parser.add_argument("--kdd-rows", type=int, default=KDD_ROWS, help="rows of kdd99 at most")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows of each stream")
    parser.add_argument("--text", type=path, help=f"report; {COMMITTED} if nothing is left out")
    parser.add_argument("--rivals", action="store_true", help="run the rivals anew, too")
    parser.add_argument("--jobs", type=int, default=1, help="processes; more than 1 spoils times")
    found = parser.parse_args(arguments)
    if found.quick:
        found.rows = min(found.rows or QUICK_ROWS, QUICK_ROWS)
    if found.data_dir is None and os.environ.get("DEVFNN_DATA"):
        found.data_dir = path(os.environ["DEVFNN_DATA"])
    found.output = found.output or (WHOLE if found.rows is None else SHORT)
    found.is_whole = found.rows is None and not found.streams and not found.systems
    found.text = found.text or (COMMITTED if found.is_whole else found.output / "record.md")
    for name in ("rows", "kdd_rows", "jobs"):
        value = getattr(found, name)
        if value is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be 1 or more")
    return found


def chosen(
    options: argparse.Namespace,
) -> tuple[list[RecordStream], list[System], list[str]]:
    """Streams, systems, and a word about all that is left out."""
    streams = record_streams(options.data_dir, options.rows, options.kdd_rows)
    there = {stream.name for stream in streams}
    notes = []
    if absent := [name for name in file_names() if name not in there]:
        notes.append(
            f"Left out, since their files are not there (--data-dir or DEVFNN_DATA): "
            f"{', '.join(absent)}."
        )
    systems = record_systems()
    if lacking := [system.name for system in systems if not is_installed(system)]:
        notes.append(f"Left out, since their libraries are not installed: {', '.join(lacking)}.")
    if options.rows is not None:
        notes.append(f"At most {options.rows:,} rows of each stream: a trial, not a measurement.")
    streams = [each for each in streams if _is_asked_for(each.name, options.streams)]
    systems = [
        each for each in systems if is_installed(each) and _is_asked_for(each.name, options.systems)
    ]
    if options.streams or options.systems:
        notes.append("Only some of the streams or systems were asked for.")
    return streams, systems, notes


def _is_asked_for(name: str, patterns: Sequence[str] | None) -> bool:
    return patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def run_all(
    cells: Sequence[RecordCell], options: argparse.Namespace, console: Console
) -> list[Outcome]:
    """Run what is missing, with a bar."""
    outcomes = []
    with grid_bar(console, len(cells)) as show:
        for outcome in run_cells(cells, options.output, options.jobs):
            outcomes.append(outcome)
            show(outcome)
            if outcome.error:
                console.print(f"{outcome.cell} failed: {outcome.error}", markup=False)
    return outcomes


def summaries_of(
    cells: Sequence[RecordCell],
    outcomes: Sequence[Outcome],
    kept: Mapping[str, Summary],
    folder: pathlib.Path,
) -> list[Summary]:
    """What came of the runs, and what is kept of rivals, in the order of the plan."""
    results = {outcome.cell.name: outcome.result for outcome in outcomes}
    found = []
    for cell in cells:
        if cell.name in kept:
            found.append(kept[cell.name])
        elif result := results.get(cell.name):
            found.append(summary_of(cell, result, noted(folder, cell)))
    return compare(found)


def versions_here() -> dict[str, str]:
    """What the figures were made with."""
    found = dict(versions())
    found["devfnn"] += f" (source {source_fingerprint()})"
    if "capymoa" in found:
        found["java"] = _java_version()
    return found | {"cpu": cpu_model()}


def _java_version() -> str:
    """What Java says of itself."""
    provide_java()
    home = os.environ.get("JAVA_HOME")
    java = str(pathlib.Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return "none"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    return (said.stderr or said.stdout).partition("\n")[0].replace('"', "").strip() or "unknown"


def command_of(options: argparse.Namespace) -> str:
    """The command, without folders, which are a machine's own."""
    words = ["python", "benchmarks/record.py"]
    words += ["--quick"] if options.quick else []
    words += ["--rivals"] if options.rivals else []
    if options.rows is not None and not options.quick:
        words += ["--rows", str(options.rows)]
    if options.kdd_rows != KDD_ROWS:
        words += ["--kdd-rows", str(options.kdd_rows)]
    for name in ("streams", "systems"):
        names = getattr(options, name)
        words += [f"--{name}", *names] if names else []
    words += ["--jobs", str(options.jobs)] if options.jobs > 1 else []
    return shlex.join(words)


def notes_on_runs(outcomes: Sequence[Outcome], summaries: Sequence[Summary]) -> list[str]:
    """What a reader must know of the runs: failures, and times that cannot be compared."""
    notes = [f"Failed: {each.cell}: {each.error}" for each in outcomes if each.error]
    machines = {each["made"]["cpu"] for each in summaries if each["made"].get("cpu")}
    if len(machines) > 1:
        notes.append(f"Times are from different machines: {', '.join(sorted(machines))}.")
    kinds = collections.defaultdict(set)
    for each in summaries:
        if each["made"].get("date"):
            group = "Rivals" if each["kind"] in ("peer", "trivial") else "DEVFNN and its parts"
            kinds[group].add(each["made"]["date"])
    for group, days in kinds.items():
        span = " to ".join(dict.fromkeys((min(days), max(days))))
        notes.append(f"{group} were run {span}.")
    return notes


def is_complete(
    options: argparse.Namespace, left_out: Sequence[str], outcomes: Sequence[Outcome]
) -> bool:
    """Whether every run that belongs to the report was made, and one at a time."""
    return is_usual(options) and not left_out and not any(each.error for each in outcomes)


def is_usual(options: argparse.Namespace) -> bool:
    """Whether runs are those of the report, and one at a time."""
    return bool(options.kdd_rows == KDD_ROWS and options.jobs == 1)


def show(
    streams: Sequence[RecordStream], summaries: Sequence[Summary], found: Sequence[Bar]
) -> None:
    """Print all tables."""
    tables = [stream_table(stream, summaries) for stream in streams]
    for table in [*tables, *overviews(streams, summaries), bar_table(found)]:
        if table.rows:
            print(plain(table))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then tell."""
    options, console = parsed(arguments), Console(stderr=True)
    streams, systems, notes = chosen(options)
    for note in notes:
        console.print(note, markup=False)
    cells = cells_of(streams, systems)
    if not cells:
        console.print("Nothing is left to run.")
        return 2
    is_kept = options.rows is None and not (options.rivals or options.systems)
    kept = kept_rivals(cells, RIVALS) if is_kept else {}
    options.output.mkdir(parents=True, exist_ok=True)
    options.text.parent.mkdir(parents=True, exist_ok=True)
    try:
        to_run = [cell for cell in cells if cell.name not in kept]
        outcomes = run_all(to_run, options, console)
    except KeyboardInterrupt:
        console.print("Stopped; what is done is kept, and the same command goes on.")
        return 130
    except DataError as error:
        console.print(f"Stopped: {error}. Give the same command again.", markup=False)
        return 1
    left_out, summaries = list(notes), summaries_of(cells, outcomes, kept, options.output)
    nonlinear = frozenset(stream.name for stream in streams if stream.is_nonlinear)
    found = bars(by_name(summaries), nonlinear)
    notes += notes_on_runs(outcomes, summaries)
    notes += draw_figures(streams, summaries, options.output)
    about: dict[str, Any] = {
        "command": command_of(options),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions_here(),
        "notes": notes,
    }
    everything = about | {
        "format": FORMAT,
        "streams": {stream.name: stream.about for stream in streams},
        "bars": [vars(bar) | {"verdict": bar.verdict} for bar in found],
        "runs": summaries,
    }
    if options.text == COMMITTED and not is_complete(options, left_out, outcomes):
        options.text = options.output / "record.md"
        console.print(f"Not all was run as it should be, so {COMMITTED} stays as it is.")
    if options.rivals and is_usual(options) and options.rows is None:
        keep_rivals(cells, summaries, RIVALS)
    write_whole(options.output / "record.json", f"{json.dumps(everything, indent=1)}\n".encode())
    write_whole(options.text, report(streams, summaries, found, about).encode())
    show(streams, summaries, found)
    n_new = sum(not each.was_there and each.result is not None for each in outcomes)
    summary = f"{n_new} of {len(cells)} runs were made now, {len(kept)} are kept."
    console.print(f"{summary} The report is {options.text}.")
    return 1 if any(each.error for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
