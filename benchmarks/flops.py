"""Time of the learning kernel against a plain loop that does as many operations. Run: `make flops`.

The kernels are `assess_chunk` and `learn_chunk` of the default, on prepared arrays; every label is
learned.
Its operations are counted by a formula (`flops_count.py`), with facts from a run on numbers that
count (`flops_facts.py`). The loops do the same number of operations, as multiply-adds over
contiguous arrays that together are as large as what the kernel reads and writes for a row:

- in order: half of them updates y += a x, half a sum of y x, compiled as the source says;
- update: all of them updates y += a x, which need no permission to be done several at a time;
- fast: as the first, but sums may be reordered (fastmath), so that all is done several at a time.

Times are those of the processor, so that other programs do not count; kernel and loops take turns.

Usage: python benchmarks/flops.py [--quick] [--json FILE] [--streams A B] [--rounds N]
"""

import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numba
import numpy as np
from flops_count import Facts, numbers_touched, row_flops
from rich.console import Console
from rich.progress import track
from rich.table import Table

import devfnn
from devfnn import DEVFNN, presets
from devfnn.files import write_whole
from devfnn.kernels import network as kernels
from devfnn.kernels._jit import held
from devfnn.kernels.state import Batch, Params, State, Work
from devfnn.model.compiling import ensure_compiled
from devfnn.model.network import event_buffer
from devfnn.streams import agrawal, hyperplane, led, sea
from devfnn.types import Chunk

CHUNK_ROWS = 500

CALM = 10**6
"""Rows of a concept: no drift while time is taken."""

STREAMS: dict[str, Callable[[int], Any]] = {
    "sea": lambda rows: sea(rows, rows_per_concept=CALM),
    "hyperplane-4": lambda rows: hyperplane(rows),
    "hyperplane-10": lambda rows: hyperplane(rows, n_features=10),
    "agrawal": lambda rows: agrawal(rows, rows_per_concept=CALM),
    "led": lambda rows: led(rows, rows_per_concept=CALM),
}

YARDSTICKS = ("in order", "update", "fast")

WITHIN = 4.0
"""Times the first yardstick that the kernel may take."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much is run."""

    warm_chunks: int = 40
    timed_chunks: int = 5  # as many as clouds without a say need to rest and wake
    counted_rows: int = 60  # of each of them
    whole_chunks: int = 20
    rounds: int = 15


QUICK = Effort(warm_chunks=4, timed_chunks=2, counted_rows=10, whole_chunks=2, rounds=2)


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What the kernel is called with, before it has changed anything."""

    state: State
    batch: Batch
    outputs: Any
    codes: Any
    params: Params
    work: Work


def _copy(arrays: Any) -> Any:
    if arrays is None or isinstance(arrays, np.ndarray):
        return None if arrays is None else arrays.copy()
    return arrays._make(map(_copy, arrays))


def learn(each: Prepared, state: State, outputs: Any, events: Any) -> None:
    """A chunk through the kernels, as the network calls them when there is no drift."""
    own = [held(one) for one in (state, each.params, each.work, each.batch, events)]
    _, n_taken, lead = kernels.assess_chunk(*own, outputs)
    step = (0, len(each.batch.labels), each.batch.rows.shape[1], 0, False, n_taken, lead)
    kernels.learn_chunk(*own, outputs, each.codes, step)


def prepare(model: DEVFNN, chunk: Chunk) -> Prepared | None:
    """Learn a chunk, and keep the arguments of the kernel; None if the structure changed."""
    network, kernel, kept = model._known(), kernels.assess_chunk, []

    def keep(state: Any, params: Any, work: Any, batch: Any, events: Any, outputs: Any) -> Any:
        own = (_copy(network.state), _copy(batch.arrays), outputs.copy(), network._codes())
        kept.append(Prepared(*own, network.params, network.work))
        return kernel(state, params, work, batch, events, outputs)

    kernels.assess_chunk = keep
    try:
        model.predict(chunk.X)
        events = model.learn(chunk.X, chunk.y)
    finally:
        kernels.assess_chunk = kernel
    return None if [event for event in events if event.kind != "CloudsChanged"] else kept[0]


def count(prepared: Sequence[Prepared], n_rows: int) -> tuple[Facts, dict[str, Any]]:
    """Facts about the first rows of all chunks, and the operations that were done, by part."""
    chunks = [
        dataclasses.replace(
            each,
            batch=each.batch._make(array[:n_rows] for array in each.batch),
            outputs=each.outputs[:n_rows],
        )
        for each in prepared
    ]
    script = pathlib.Path(__file__).with_name("flops_facts.py")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "chunks"
        file.write_bytes(pickle.dumps([tuple(vars(each).values()) for each in chunks]))
        package = str(pathlib.Path(devfnn.__file__).parents[1])
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": package}
        finished = subprocess.run(
            [sys.executable, str(script), str(file)],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if finished.returncode:
        raise RuntimeError(finished.stderr)
    found = json.loads(finished.stdout)
    return Facts(**found["facts"]), found["done"]


# ---- the loops to compare with


def _updates_and_sum(x: Any, y: Any, n_rows: int, n_steps: int) -> float:
    """Each step is an update and a term of a sum: 4 operations."""
    total = 0.0
    for row in range(n_rows):
        factor = 1e-3 if row % 2 else -1e-3
        left = n_steps
        while left > 0:
            length = min(left, x.shape[0])
            for i in range(length):
                y[i] += factor * x[i]
                total += y[i] * x[i]
            left -= length
    return total


def _updates(x: Any, y: Any, n_rows: int, n_steps: int) -> float:
    """Each step is two updates: 4 operations."""
    for row in range(n_rows):
        factor = 1e-3 if row % 2 else -1e-3
        left = 2 * n_steps
        while left > 0:
            length = min(left, x.shape[0])
            for i in range(length):
                y[i] += factor * x[i]
            left -= length
    return float(y[0])


LOOPS = {
    "in order": numba.njit(_updates_and_sum),
    "update": numba.njit(_updates),
    "fast": numba.njit(fastmath=True)(_updates_and_sum),
}


def loop_times(n_flops: float, n_numbers: int, n_rows: int) -> dict[str, float]:
    """Seconds per row of every loop."""
    size = max(n_numbers // 2, 1)
    x = np.linspace(-1.0, 1.0, size)
    times = {}
    for name, loop in LOOPS.items():
        y = np.zeros(size)
        start = time.thread_time()
        loop(x, y, n_rows, round(n_flops / 4))
        times[name] = (time.thread_time() - start) / n_rows
    return times


# ---- the kernel


def kernel_time(prepared: Sequence[Prepared]) -> float:
    """Seconds per row of the learning kernel over all chunks."""
    seconds, n_rows = 0.0, 0
    for each in prepared:
        state, rows = _copy(each.state), len(each.batch.labels)
        events, outputs = event_buffer(rows, rows + 64), each.outputs.copy()
        start = time.thread_time()
        learn(each, state, outputs, events)
        seconds += time.thread_time() - start
        n_rows += rows
    return seconds / n_rows


def whole_time(model: DEVFNN, chunks: Sequence[Chunk]) -> float:
    """Seconds per row of predict and learn; the median over chunks."""
    times = []
    for chunk in chunks:
        start = time.thread_time()
        model.predict(chunk.X)
        model.learn(chunk.X, chunk.y)
        times.append((time.thread_time() - start) / len(chunk.y))
    return statistics.median(times)


def _prepared(model: DEVFNN, chunks: Iterator[Chunk], effort: Effort) -> list[Prepared]:
    for chunk in itertools.islice(chunks, effort.warm_chunks):
        model.learn(chunk.X, chunk.y)
    found: list[Prepared] = []
    while len(found) < effort.timed_chunks:
        each = prepare(model, next(chunks))
        found += [each] if each else []
    return found


def measure(name: str, effort: Effort) -> dict[str, Any]:
    """Everything about one stream."""
    n_chunks = effort.warm_chunks + 20 * effort.timed_chunks + effort.whole_chunks
    chunks = iter(STREAMS[name](CHUNK_ROWS * n_chunks))
    model = DEVFNN(presets.swift().replace(labels__choice="all"))
    prepared = _prepared(model, chunks, effort)
    whole = whole_time(model, [next(chunks) for _ in range(effort.whole_chunks)])
    facts, done = count(prepared, effort.counted_rows)
    n, m = prepared[0].batch.rows.shape[1], prepared[0].outputs.shape[2]
    parts = row_flops(n, m, facts)
    flops = sum(part.all for part in parts.values())
    numbers = numbers_touched(n, m, facts)
    kernel_time(prepared), loop_times(flops, numbers, 1)  # loads and compiles
    kernel, loops = [], []
    for _ in range(effort.rounds):
        kernel.append(kernel_time(prepared))
        loops.append(loop_times(flops, numbers, CHUNK_ROWS * len(prepared)))
    seconds = statistics.median(kernel)
    return {
        "stream": name,
        "features": n,
        "classes": m,
        "whole_rows_per_second": 1.0 / whole,
        "learn_rows_per_second": 1.0 / seconds,
        "flops_per_row": flops,
        "exp_log_per_row": sum(part.slow for part in parts.values()),
        "counted_flops_per_row": sum(each for each, _ in done.values()),
        "numbers_touched": numbers,
        "gflops": flops / seconds / 1e9,
        "yardstick_gflops": {
            loop: flops / statistics.median(times[loop] for times in loops) / 1e9
            for loop in YARDSTICKS
        },
        "ratios": {
            loop: statistics.median(
                mine / times[loop] for mine, times in zip(kernel, loops, strict=True)
            )
            for loop in YARDSTICKS
        },
        "facts": dataclasses.asdict(facts),
        "parts": {part: {"formula": parts[part].all, "counted": done[part][0]} for part in parts},
    }


def show(found: Sequence[dict[str, Any]], console: Console) -> None:
    """The tables."""
    table = Table(
        "stream", "n", "m", "predict + learn\nrows/s", "learn\nrows/s", "flops\nper row",
        "exp, log\nper row", "numbers\ntouched", "GFLOP/s",
        *(f"times\n{loop!r}" for loop in YARDSTICKS),
        title="The learning kernel against loops of as many operations", title_justify="left",
    )  # fmt: skip
    for row in found:
        table.add_row(
            row["stream"], str(row["features"]), str(row["classes"]),
            f"{row['whole_rows_per_second']:,.0f}", f"{row['learn_rows_per_second']:,.0f}",
            f"{row['flops_per_row']:,.0f}", f"{row['exp_log_per_row']:,.0f}",
            f"{row['numbers_touched']:,}", f"{row['gflops']:.2f}",
            *(f"{row['ratios'][loop]:.2f}" for loop in YARDSTICKS),
        )  # fmt: skip
    console.print(table)
    shares = Table("part", *(row["stream"] for row in found), title="Operations per row, by part")
    for part in found[0]["parts"]:
        shares.add_row(part, *(f"{row['parts'][part]['formula']:,.0f}" for row in found))
    console.print(shares)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("results/flops.json"))
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--rounds", type=int, help="of taking time; the median counts")
    parser.add_argument("--quick", action="store_true", help="few rows: a trial, no measurement")
    options = parser.parse_args(arguments)
    effort = QUICK if options.quick else Effort()
    if options.rounds is not None:
        effort = dataclasses.replace(effort, rounds=options.rounds)
    ensure_compiled(presets.swift())
    console = Console(width=130)
    names = track(options.streams, "streams", console=console, transient=True)
    found = [measure(name, effort) for name in names]
    show(found, console)
    worst = max(row["ratios"][YARDSTICKS[0]] for row in found)
    console.print(f"At most {worst:.2f} times the loop {YARDSTICKS[0]!r}; {WITHIN} is allowed.")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"within": WITHIN, "streams": found}, indent=1)
    write_whole(options.json, f"{text}\n".encode())
    console.print(f"Written to {options.json}")


if __name__ == "__main__":
    main()
