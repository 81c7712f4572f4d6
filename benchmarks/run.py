"""The benchmark: accuracy on four files, speed, start-up. Prints tables and writes JSON.

Usage: python benchmarks/run.py [--json FILE] [--only accuracy|speed|startup]
"""

import argparse
import collections
import importlib.metadata
import json
import pathlib
import platform
from typing import Any

import accuracy
import speed
import startup
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from devfnn.files import write_whole
from devfnn.model import presets
from devfnn.model.compiling import ensure_compiled
from streams import FOLDS, data_folder

console = Console(width=120)


def run_accuracy() -> list[dict[str, Any]]:
    """All systems on all files."""
    folder = data_folder()
    if folder is None:
        console.print("Accuracy is left out: set DEVFNN_DATA to the folder of the four files.")
        return []
    rows = []
    n_systems = sum(1 for _ in accuracy.systems("sea"))
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("accuracy", total=n_systems * len(FOLDS))
        for row in accuracy.measure(folder):
            rows.append(row)
            progress.advance(task)
    return rows


def show_accuracy(rows: list[dict[str, Any]]) -> None:
    """Mean accuracy over chunks in percent, with rules, layers and labels of the default."""
    table = Table("system", *FOLDS, title="Accuracy, mean over chunks (%)", title_justify="left")
    by_system: dict[str, dict[str, dict[str, Any]]] = collections.defaultdict(dict)
    for row in rows:
        by_system[row["system"]][row["stream"]] = row
    published = [f"{accuracy.PUBLISHED[stream]:.2f}" for stream in FOLDS]
    table.add_row("DEVFNN as published", *published)
    for system, cells in by_system.items():
        table.add_row(system, *(f"{100 * cells[s]['accuracy_mean']:.2f}" for s in FOLDS))
    console.print(table)
    details = Table("default", *FOLDS, title="The default in detail", title_justify="left")
    cells = by_system["default"]
    for title, key, scale, digits in (
        ("std over chunks (%)", "accuracy_std", 100, 2),
        ("rules", "rules_mean", 1, 1),
        ("layers", "layers_mean", 1, 1),
        ("labels used", "n_labels", 1, 0),
        ("model bytes", "model_bytes", 1, 0),
        ("rows/s", "rows_per_second", 1, 0),
    ):
        values = (f"{scale * cells[stream][key]:.{digits}f}" for stream in FOLDS)
        details.add_row(title, *values)
    console.print(details)


def show_speed(rows: list[dict[str, Any]]) -> None:
    """Rows per second, and times the bare arithmetic of one rule's update."""
    table = Table(
        "varied", "value", "rows/s", "x one bare update", "rules", "layers",
        title="Speed of predict + learn, one thread, chunks of 500", title_justify="left",
    )  # fmt: skip
    for row in rows:
        table.add_row(
            row["varied"],
            str(row["value"]),
            f"{row['rows_per_second']:,.0f}",
            f"{row['times_bare_update']:.1f}",
            str(row["rules"]),
            str(row["layers"]),
        )
    console.print(table)


def versions() -> dict[str, str]:
    """What the figures were made with."""
    packages = ("devfnn", "numpy", "numba")
    found = {name: importlib.metadata.version(name) for name in packages}
    return {"python": platform.python_version(), "machine": platform.machine(), **found}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("results/bench.json"))
    parser.add_argument("--only", choices=["accuracy", "speed", "startup"])
    arguments = parser.parse_args()
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    for config in (presets.default(), presets.stacked()):
        ensure_compiled(config)
    results: dict[str, Any] = {"versions": versions()}
    if arguments.only in (None, "startup"):
        results["startup"] = startup.measure()
        console.print({key: round(value, 2) for key, value in results["startup"].items()})
    if arguments.only in (None, "speed"):
        results["speed"] = list(speed.measure())
        show_speed(results["speed"])
    if arguments.only in (None, "accuracy"):
        results["accuracy"] = run_accuracy()
        if results["accuracy"]:
            show_accuracy(results["accuracy"])
    write_whole(arguments.json, json.dumps(results, indent=1).encode())
    console.print(f"Written to {arguments.json}")


if __name__ == "__main__":
    main()
