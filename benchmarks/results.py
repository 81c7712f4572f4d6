"""The tables of docs/results.md: Table 1 of the paper, peers, ablations. Runs what is missing.

Usage: python benchmarks/results.py [--folder FOLDER] [--text FILE] [--jobs N] [--data-dir FOLDER]

Runs are kept in the folder, where `devfnn table --folder FOLDER` finds them too. Stopped, it goes
on with the same command. In the text, only what stands between the markers of a table is replaced.
"""

import argparse
import datetime
import pathlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import rich.console

from devfnn.cli.running import made_folder, run_all
from devfnn.experiments.ablations import ablation_table
from devfnn.experiments.grid import Cell
from devfnn.experiments.paper_table import paper_table
from devfnn.experiments.peer_table import peer_table
from devfnn.experiments.rendering import Table
from devfnn.experiments.table_runs import (
    PAPER_MODELS,
    PAPER_STREAMS,
    PEER_MODELS,
    PEER_STREAMS,
    ablation_cells,
    table_cells,
)

COMMITTED = pathlib.Path("docs/results.md")

Result = Mapping[str, Any]


class Part(NamedTuple):
    """A table of the text."""

    name: str
    command: str
    """The command that makes the same table."""
    cells: Callable[[str | None], list[Cell]]
    make: Callable[[Iterable[Result]], Table]


PARTS = (
    Part(
        "table 1",
        "devfnn table",
        lambda folder: table_cells(PAPER_MODELS, PAPER_STREAMS, 3, data_dir=folder),
        paper_table,
    ),
    Part(
        "peers",
        "devfnn table --peers --seeds 1",
        lambda folder: table_cells(PEER_MODELS, PEER_STREAMS, 1, data_dir=folder),
        peer_table,
    ),
    Part(
        "ablations",
        "devfnn table --ablations",
        lambda folder: ablation_cells(PEER_STREAMS, 3, data_dir=folder),
        ablation_table,
    ),
)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("results/table"))
    parser.add_argument("--text", type=pathlib.Path, default=COMMITTED)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--data-dir", help="where data sets are looked for first")
    parser.add_argument(
        "--known", action="store_true", help="run nothing: make the tables from what is there"
    )
    return parser.parse_args(words)


def written(part: Part, results: Sequence[Result], n_left: int) -> str:
    """A table with the command and the versions that made it."""
    lines = [f"Made by `{part.command}` on {datetime.date.today()}, {versions(results)}."]
    if n_left:
        lines.append(f"**{n_left} runs are not in it: they were not finished.**")
    return "\n\n".join([*lines, part.make(results).to_markdown()])


def versions(results: Iterable[Result]) -> str:
    """What the runs were made with."""
    found: dict[str, set[str]] = {}
    for result in results:
        for name, version in (result.get("versions") or {}).items():
            found.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(found[name]))}" for name in found)


def replaced(text: str, name: str, table: str) -> str:
    """The text with a table between its markers."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"the text has no place for {name!r}: {begin} ... {end}")
    return f"{before}{begin}\n{table}\n{end}{after}"


def main(words: Sequence[str]) -> int:
    """Make all tables; 1 if runs failed or are missing."""
    given = parsed(words)
    screen = rich.console.Console(stderr=True)
    folder = made_folder(given.folder)
    text, n_missing = given.text.read_text(encoding="utf-8"), 0
    for part in PARTS:
        cells = part.cells(given.data_dir)
        wanted = [
            cell for cell in cells if not given.known or (folder / f"{cell.name}.json").exists()
        ]
        runs = run_all(wanted, folder, given.jobs, screen)
        if runs.n_left:
            screen.print("Stopped; the same command continues with the rest.")
            return 130
        for failure in runs.failures:
            screen.print(f"Failed: {failure}", markup=False)
        n_left = len(cells) - len(runs.results)
        n_missing += n_left
        if runs.results:
            text = replaced(text, part.name, written(part, runs.results, n_left))
    given.text.write_text(text, encoding="utf-8")
    screen.print(f"The tables are in {given.text}", markup=False)
    return int(n_missing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
