"""Ten million rows, or as many as are asked for, of a long and unkind life; run with `make soak`.

Every model predicts and learns all rows of `soak_rows.py`, chunk by chunk and now and then row by
row, and is saved and read again on the way. Told, and an exit code of 1, is whatever goes wrong:
numbers that are not finite, matrices that are not positive definite, predictions that are no
probabilities, a file that does not go on bit for bit, growth, slowing down, or a concept that is
known worse than before.

Usage: python benchmarks/soak.py [--rows N] [--models NAME ...]
"""

import argparse
import collections
import dataclasses
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from soak_rows import ROUND, ROWS, Chunk, Life

from devfnn import DEVFNN, Config
from devfnn.errors import StorageError
from devfnn.kernels.state import FREE, LINE, NO_OWNER
from devfnn.model import presets
from devfnn.model.compiling import ensure_compiled
from devfnn.model.layers.pool import unpacked
from devfnn.storage import dump, parse
from devfnn.storage.layout import check_network

LEAST_SQUARES = presets.stacked().replace(gaussian__consequent="least_squares")
MODELS: dict[str, tuple[Config, float]] = {
    "swift": (presets.swift(), 1.0),
    "default": (Config(), 1.0),
    "stacked": (presets.stacked(), 0.05),
    "least squares": (LEAST_SQUARES, 0.05),
}
"""Configurations, and the share of the rows that each learns."""

MOST_BYTES = 32e6
"""Of any of these models. Gaussian layers double their room until all rules and layers that the
configuration allows are there, which is half of this; others have all their room at once."""

CHECKS, SAVES, BY_ROW = 100, 20, 50
"""Times that all is checked, and that a model is saved; chunks from one row by row to the next."""

SLOWER, LARGER, WORSE = 1.5, 1.1, 0.03
"""What is allowed in the last tenth: times the processor time, and times the memory of the second
tenth, when all classes have come; less accuracy in a concept."""

LEAST_SECONDS = 1.0
"""A tenth that takes less processor time than this is no measure of speed."""

SETTLED = 40
"""Chunks of a tenth, below which sizes are not compared: all is still new."""

ROOM = 20e6
"""Bytes by which the memory of the process may grow for reasons of its own."""


@dataclasses.dataclass
class Tenth:
    """What was measured in a tenth of the rows."""

    seconds: float = 0.0
    """Of the processor."""
    n_bytes: int = 0
    """Largest size of the model."""
    resident: int = 0
    """Largest memory of the process."""
    hits: "np.ndarray[Any, Any]" = dataclasses.field(default_factory=lambda: np.zeros((4, 2)))
    """Rows predicted right, and rows, of every concept."""


@dataclasses.dataclass
class Soak:
    """A model on its way through a life, and what went wrong."""

    model: DEVFNN
    life: Life
    tenths: list[Tenth] = dataclasses.field(default_factory=lambda: [Tenth() for _ in range(10)])
    least: dict[str, float] = dataclasses.field(default_factory=dict)
    """Smallest eigenvalue of every kind of matrix."""
    events: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """By kind."""
    problems: list[str] = dataclasses.field(default_factory=list)

    def run(self, tell: Callable[[int], object] = lambda n_rows: None) -> "Soak":
        """Live, and look back; `tell` hears the number of rows so far."""
        n_chunks = self.life.n_chunks
        ensure_compiled(self.model.config)
        for index in range(n_chunks):
            tenth = self.tenths[10 * index // n_chunks]
            chunk = self.life.chunk(index)
            self._live(index, chunk, tenth)
            if _is_due(index, n_chunks, CHECKS):
                self._check(tenth)
            if _is_due(index, n_chunks, SAVES):
                self._save_and_go_on(index)
            tell((index + 1) * ROWS)
        self.problems += self._worse_than_before()
        return self

    def _live(self, index: int, chunk: Chunk, tenth: Tenth) -> None:
        """Predict and learn a chunk."""
        start = time.process_time()
        shares = self.model.predict_proba(chunk.X) if index else None
        learn = self.model.learn_rows if index % BY_ROW == BY_ROW - 1 else self.model.learn
        events = learn(chunk.X, chunk.y, chosen=chunk.chosen)
        tenth.seconds += time.process_time() - start
        self.events.update(event.kind for event in events)
        if shares is None:
            return
        if not (np.isfinite(shares).all() and (shares >= 0.0).all()):
            self._note(index, "predictions are not finite, or negative")
        if np.abs(shares.sum(axis=1) - 1.0).max() > 1e-9:
            self._note(index, "probabilities do not sum to 1")
        if chunk.is_clean:
            predicted = np.asarray(self.model.classes)[shares.argmax(axis=1)]
            tenth.hits[chunk.concept] += (np.count_nonzero(predicted == chunk.y), ROWS)

    def _check(self, tenth: Tenth) -> None:
        """The state is one that a model can be in; matrices are positive definite."""
        index = self.model.n_rows // ROWS
        try:
            check_network(self.model._known())
        except StorageError as error:
            self._note(index, str(error))
        for kind, matrix in matrices_of(self.model):
            if not (np.isfinite(matrix).all() and (matrix == matrix.T).all()):
                self._note(index, f"a {kind} is not finite, or not symmetric")
                continue
            least = float(np.linalg.eigvalsh(matrix)[0])
            self.least[kind] = min(self.least.get(kind, np.inf), least)
            if least <= 0.0:
                self._note(index, f"a {kind} is not positive definite: {least:g}")
        tenth.n_bytes = max(tenth.n_bytes, self.model.nbytes)
        tenth.resident = max(tenth.resident, resident_bytes())

    def _save_and_go_on(self, index: int) -> None:
        """Go on with a copy from a file, which learns what the model itself does."""
        stored = dump(self.model)
        copy, ahead = parse(stored), self.life.chunk(index + 1)
        if dump(copy) != stored:
            self._note(index, "a file is not what was saved")
        twin = parse(stored)
        for each in (self.model, twin):
            each.learn(ahead.X, ahead.y, chosen=ahead.chosen)
        if dump(self.model) != dump(twin):
            self._note(index, "a model that was read does not go on as the one that was saved")
        self.model = copy

    def _worse_than_before(self) -> Iterator[str]:
        """What the last tenth has lost against the second."""
        early, late = self.tenths[1], self.tenths[-1]
        if early.seconds > LEAST_SECONDS and late.seconds > SLOWER * early.seconds:
            yield f"slower: {late.seconds:.1f} s for a tenth, {early.seconds:.1f} s before"
        if late.n_bytes > self._most_bytes():
            yield f"larger: {late.n_bytes:,} bytes, {early.n_bytes:,} before"
        if late.resident > LARGER * early.resident + ROOM:
            yield f"the process grew: {late.resident:,} bytes, {early.resident:,} before"
        for concept, (before, after) in enumerate(zip(early.hits, late.hits, strict=True)):
            if self.life.n_chunks < 10 * ROUND:  # else tenths differ in what went wrong
                continue
            if after[0] / after[1] < before[0] / before[1] - WORSE:
                shares = f"{after[0] / after[1]:.4f}, {before[0] / before[1]:.4f} before"
                yield f"concept {concept} is known worse: {shares}"

    def _most_bytes(self) -> float:
        """How large the model may be in the end."""
        has_room = any(layer.kind == "gaussian" for layer in self.model.config.layers)
        is_new = self.life.n_chunks < 10 * SETTLED
        return MOST_BYTES if has_room or is_new else LARGER * self.tenths[1].n_bytes

    def _note(self, index: int, problem: str) -> None:
        if len(self.problems) < 20:
            self.problems.append(f"chunk {index:,}: {problem}")


def matrices_of(model: DEVFNN) -> Iterator[tuple[str, "np.ndarray[Any, Any]"]]:
    """Every gain matrix and inverse covariance, each with its kind."""
    state = model._known().state
    pool, own = state.pool, state.gaussians
    for rule in np.flatnonzero(pool.owners != NO_OWNER) if pool is not None else ():
        n = pool.lows.shape[1]
        size = 1 + n if state.layers.kinds[pool.owners[rule]] == LINE else 1 + 2 * n
        yield "gain", unpacked(pool.gains[rule])[:size, :size]
    for layer, rule in np.argwhere(own.status != FREE) if own is not None else ():
        n = int(own.n_inputs[layer, 0])
        yield "gain", own.gain_covs[layer, rule, : 2 * n + 1, : 2 * n + 1]
        yield "inverse covariance", own.inverse_covs[layer, rule, :n, :n]


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


def _is_due(index: int, n_chunks: int, times: int) -> bool:
    """Whether something that happens so many times in all is due after a chunk."""
    return (index + 1) * times // n_chunks > index * times // n_chunks


def summary_table(soaks: dict[str, Soak]) -> Table:
    """How the models fared: in the second tenth of their rows, and in the last."""
    table = Table("model", "tenth", box=SIMPLE_HEAD)
    for column in ("rows", "rows/s", "accuracy", "model, kB", "process, MB"):
        table.add_column(column, justify="right")
    for name, soak in soaks.items():
        n_rows = soak.life.n_chunks * ROWS // 10
        for which, each in (("second", soak.tenths[1]), ("last", soak.tenths[-1])):
            n_right, n_scored = each.hits.sum(axis=0)
            table.add_row(
                name if which == "second" else "",
                which,
                f"{n_rows:,}",
                f"{n_rows / max(each.seconds, 1e-9):,.0f}",
                f"{n_right / max(n_scored, 1):.4f}",
                f"{each.n_bytes / 1e3:,.0f}",
                f"{each.resident / 1e6:,.0f}",
            )
    return table


def told(name: str, soak: Soak) -> str:
    """What happened to a model, in a sentence."""
    events = ", ".join(f"{kind} {number:,}" for kind, number in sorted(soak.events.items()))
    least = ", ".join(f"{kind} {least:.1e}" for kind, least in soak.least.items())
    return f"{name}: {events}; smallest eigenvalues: {least}"


def main(arguments: list[str]) -> int:
    """Soak the models; 1 if something went wrong."""
    parser = argparse.ArgumentParser(description="A long and unkind life.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    chosen = parser.parse_args(arguments)
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"))
    soaks: dict[str, Soak] = {}
    start, worked = time.monotonic(), time.process_time()
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        for name in chosen.models:
            config, share = MODELS[name]
            n_chunks = max(40, int(share * chosen.rows) // ROWS)
            task = progress.add_task(name, total=n_chunks * ROWS, rate="")
            began = time.monotonic()

            def tell(n_rows: int, task: Any = task, began: float = began) -> None:
                rate = n_rows / max(time.monotonic() - began, 1e-9)
                progress.update(task, completed=n_rows, rate=f"{n_rows:,} rows, {rate:,.0f} rows/s")

            soaks[name] = Soak(DEVFNN(config.replace(missing="skip")), Life(n_chunks)).run(tell)
    console.print(summary_table(soaks))
    problems = [f"{name}, {each}" for name, soak in soaks.items() for each in soak.problems]
    took = (
        f"{time.monotonic() - start:,.0f} s, of the processor {time.process_time() - worked:,.0f} s"
    )
    took += f"; {len(problems)} problems" if problems else "; all is well"
    for line in (*itertools.starmap(told, soaks.items()), took, *problems):
        console.print(line, markup=False, highlight=False)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
