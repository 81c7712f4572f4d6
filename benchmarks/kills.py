"""Processes killed at any moment: nothing is lost, nothing is learned twice, no file is torn.

Each scenario is a command, or a loop that saves, of which processes are killed (SIGKILL) at random
moments; files are read after every kill. The same is started again until it ends by itself, and
must have come to what nobody stopped comes to: the same bytes, but for times. Processes are copies
of one that has loaded the kernels. Everything is saved as often as possible.

    make kills ARGS="--kills 100 --only learn"
"""

import argparse
import collections
import contextlib
import dataclasses
import importlib
import multiprocessing
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from devfnn import DEVFNN, Fleet, load
from devfnn.cli import main as devfnn_main
from devfnn.errors import DataError, StorageError
from devfnn.experiments import Run, RunSettings, StreamSettings, grid, resume
from devfnn.experiments.keeping import Keeper
from devfnn.experiments.result_files import read_either, read_result
from devfnn.files import locked
from devfnn.model import presets
from devfnn.streams import sea
from devfnn.types import Chunk

ROWS, CHUNK_ROWS, STEPS = 1200, 100, 12
"""Rows that are learned, those of a chunk, and saves of a loop."""

KILLS_IN_A_ROW = 8
"""After so many, a run is left alone, so that its end is looked at."""

LONGEST = 60.0
"""Seconds that a run is given to end by itself."""

FAULTS = ("lost", "twice", "torn", "differs", "left", "failed")

TIMES = ("seconds_predict", "seconds_learn", "seconds_ready", "rows_per_second", "command")

SMALL = presets.swift().replace(rules__max_rules=8, boxes__max_rules=4, clouds__max_rules=4)

Work = Callable[[], object]


class WrongError(Exception):
    """What must not be: the kind of fault, and what was found."""

    def __init__(self, kind: str, found: str) -> None:
        super().__init__(found)
        self.kind = kind


def require(condition: bool, kind: str, found: object) -> None:
    if not condition:
        raise WrongError(kind, str(found))


# ---- processes


def forked(work: Work, log: pathlib.Path) -> int:
    """A copy of this process that does some work; what it says goes into a file."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setsid()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def ended_within(process: int, seconds: float) -> int | None:
    """The exit code of a process; None if it had to be killed after so many seconds."""
    give_up, pause = time.monotonic() + seconds, 0.0005
    while time.monotonic() < give_up:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(pause, max(0.0, give_up - time.monotonic())))
        pause = min(0.005, 2 * pause)
    os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return None if code == -signal.SIGKILL else code


def command(*words: object) -> Work:
    """What the command line does with these words."""

    def work() -> None:
        sys.argv = ["devfnn", *map(str, words)]
        devfnn_main()

    return work


# ---- what is killed


class Scenario:
    """Work in a folder that can be begun again until it is done."""

    name = ""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.model = folder / "model"

    def prepare(self) -> None:
        """What must be there before the work."""

    def works(self) -> list[Work]:
        """The same work, to begin with and after a kill; several are done at once."""
        raise NotImplementedError

    def progress(self) -> int:
        """How far it is by its files, all of which are read; it must never go back."""
        raise NotImplementedError

    def outcome(self) -> Any:
        """What its files come to in the end."""
        raise NotImplementedError


class Checkpointed(Scenario):
    """`devfnn run --checkpoint --resume`."""

    name = "run"

    def works(self) -> list[Work]:
        options = ("--rows", ROWS, "--chunk-rows", CHUNK_ROWS, "--preset", "swift", "--quiet")
        options += ("--checkpoint", self.folder / "point", "--resume", "--hide-labels", 0.2)
        files = ("--json", self.folder / "run.json", "--save", self.model, "--wait")
        return [command("run", "sea", *options, *files)]

    def progress(self) -> int:
        if (self.folder / "run.json").exists():
            read_result(self.folder / "run.json")
        if self.model.exists():
            load(self.model)
        if not (self.folder / "point").exists():
            return 0
        stream: Any = {"name": "sea", "options": {"seed": 0}, "rows": ROWS}
        settings = StreamSettings(**stream, chunk_rows=CHUNK_ROWS, hide_labels=0.2)
        run = Run(RunSettings(stream=settings, preset="swift"))
        resume(run, self.folder / "point")
        return run.loop.n_rows

    def outcome(self) -> Any:
        return timeless(read_result(self.folder / "run.json")), self.model.read_bytes()


class Learned(Scenario):
    """`devfnn learn --resume`, from a file into a model."""

    name, n_at_once = "learn", 1

    def prepare(self) -> None:
        DEVFNN(SMALL, ["f1", "f2", "f3"]).save(self.model)
        for number in range(self.n_at_once):
            rows = next(iter(sea(ROWS, seed=number).chunks(rows=ROWS)))
            pairs = zip(rows.X.tolist(), rows.y.tolist(), strict=True)
            lines = [",".join(map(repr, [*x, y])) for x, y in pairs]
            text = "\n".join(["f1,f2,f3,class", *lines, ""])
            (self.folder / f"rows{number}.csv").write_text(text)

    def works(self) -> list[Work]:
        options = ("--resume", "--save-every", 0, "--chunk-rows", CHUNK_ROWS, "--quiet", "--wait")
        return [
            command("learn", self.model, self.folder / f"{name}.csv", "--source", name, *options)
            for name in (f"rows{number}" for number in range(self.n_at_once))
        ]

    def progress(self) -> int:
        model = load(self.model)
        n_known = sum(position.rows for position in model.positions.values())
        require(model.n_rows >= n_known, "lost", f"{model.n_rows} of {n_known} rows")
        require(model.n_rows <= n_known, "twice", f"{model.n_rows} of {n_known} rows")
        return n_known

    def outcome(self) -> Any:
        return self.model.read_bytes()


class LearnedAtOnce(Learned):
    """The same from three files, by three processes at once; in any order, so rows are counted."""

    name, n_at_once = "learn x 3", 3

    def outcome(self) -> Any:
        return sorted(load(self.model).positions.items()), load(self.model).n_rows


class Saved(Scenario):
    """A loop that learns, saves, and says so, as a service would."""

    name = "save"

    def works(self) -> list[Work]:
        return [self.go_on]

    def opened(self) -> Any:
        """The model, as it is in its file or new."""
        return load(self.model) if self.model.exists() else DEVFNN(SMALL)

    def learn(self, model: Any, chunk: Chunk) -> None:
        model.learn(chunk.X, chunk.y)

    def go_on(self) -> None:
        model = self.opened()
        stream = sea(CHUNK_ROWS * STEPS).chunks(rows=CHUNK_ROWS)
        with open(self.folder / "said", "ab", buffering=0) as said:
            for chunk in stream.skip(int(np.sum(model.n_rows))):
                self.learn(model, chunk)
                model.save(self.model)
                said.write(b".")

    def progress(self) -> int:
        said = self.folder / "said"
        n_said = CHUNK_ROWS * len(said.read_bytes()) if said.exists() else 0
        n_rows = int(np.sum(self.opened().n_rows))
        require(n_rows >= n_said, "lost", f"{n_rows} of {n_said} rows")
        require(n_rows <= n_said + CHUNK_ROWS, "twice", f"{n_rows} rows, {n_said} are said")
        if n_rows > n_said:  # it was killed after it saved, before it said so
            with open(said, "ab") as file:
                file.write(b".")
        return n_rows

    def outcome(self) -> Any:
        return self.model.read_bytes()


class SavedFleet(Saved):
    """The same with a fleet."""

    name = "fleet"

    def opened(self) -> Any:
        kind: Any = Fleet
        return kind.load(self.model) if self.model.exists() else Fleet(4, 3, [0, 1], SMALL)

    def learn(self, model: Any, chunk: Chunk) -> None:
        model.learn(np.arange(len(chunk.y)) % 4, chunk.X, chunk.y)

    def outcome(self) -> Any:
        fleet, rows = self.opened(), next(iter(sea(CHUNK_ROWS, seed=1)))
        answers = fleet.predict_proba(np.arange(len(rows.y)) % 4, rows.X)
        return answers.tobytes(), fleet.n_rows.tolist()


class Compared(Scenario):
    """`devfnn compare`, over two processes."""

    name = "compare"

    def works(self) -> list[Work]:
        options = ("--models", "majority,devfnn@swift", "--streams", "sea,sine", "--quiet")
        options += ("--rows", 400, "--chunk-rows", CHUNK_ROWS, "--jobs", 2)
        return [command("compare", *options, "--output", self.folder / "out")]

    def progress(self) -> int:
        return len([read_result(file) for file in (self.folder / "out" / "runs").glob("*.json")])

    def outcome(self) -> Any:
        files = sorted((self.folder / "out").rglob("*.json"))
        found = {file.name: timeless(read_either(file)) for file in files}
        return found, (self.folder / "out" / "comparison.html").exists()


SCENARIOS: tuple[type[Scenario], ...] = (
    *(Checkpointed, Learned, LearnedAtOnce, Saved, Compared),
    *((SavedFleet,) if hasattr(Fleet, "save") else ()),
)


def timeless(data: Any) -> Any:
    """A result without what no two runs have in common."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in TIMES}
    return [timeless(value) for value in data] if isinstance(data, list) else data


# ---- killing


@dataclasses.dataclass
class Tally:
    """What came of one scenario."""

    name: str
    seconds: float = 0.0
    n_kills: int = 0
    n_finished: int = 0
    faults: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    examples: list[str] = dataclasses.field(default_factory=list)

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Count what goes wrong, and go on."""
        try:
            yield
        except WrongError as error:
            self.note(error.kind, str(error))
        except (DataError, StorageError, OSError, ValueError) as error:  # of reading
            self.note("torn", f"{type(error).__name__}: {error}")

    def note(self, kind: str, found: str) -> None:
        self.faults[kind] += 1
        self.examples.append(f"{self.name}: {kind}: {found}")


def run_all(scenario: Scenario, seconds: list[float]) -> tuple[int, list[int]]:
    """Start all works at once, each for so long; the number of kills, and other ends."""
    started = time.monotonic()
    works = enumerate(scenario.works())
    ends = [started + each for each in seconds]
    processes = [forked(work, scenario.folder / f"log{place}") for place, work in works]
    n_kills, codes = 0, []
    for end, process in sorted(zip(ends, processes, strict=True)):
        code = ended_within(process, end - time.monotonic())
        n_kills += code is None
        codes += [] if code is None else [code]
    return n_kills, codes


def undisturbed(kind: type[Scenario], folder: pathlib.Path) -> tuple[Any, float]:
    """What a scenario comes to if nobody stops it, and how long it takes."""
    scenario = kind(folder)
    scenario.prepare()
    start = time.monotonic()
    _, codes = run_all(scenario, [LONGEST] * len(scenario.works()))
    seconds = time.monotonic() - start
    logs = "".join(file.read_text() for file in folder.glob("log*"))
    require(set(codes) == {0}, "failed", f"{kind.name} ends with {codes}: {logs}")
    scenario.progress()
    return scenario.outcome(), seconds


def disturbed(scenario: Scenario, expected: Any, usual: float, tally: Tally, most: int) -> None:
    """Kill a scenario again and again, then let it come to its end, and look at that."""
    chance, known, n_works = random.Random(tally.n_kills), 0, len(scenario.works())
    scenario.prepare()
    for n_before in range(1 + KILLS_IN_A_ROW):
        is_last = n_before == KILLS_IN_A_ROW or tally.n_kills >= most
        limits = [LONGEST if is_last else chance.uniform(0.0, usual) for _ in range(n_works)]
        n_kills, codes = run_all(scenario, limits)
        tally.n_kills += 0 if is_last else n_kills
        if any(codes) or (is_last and n_kills):
            logs = "".join(file.read_text() for file in scenario.folder.glob("log*"))
            tally.note("failed", f"ends with {codes}, {n_kills} too late: {logs[-500:]}")
        with tally.noting():
            before, known = known, scenario.progress()
            require(known >= before, "lost", f"{known} after {before}")
        if not n_kills:
            break
    tally.n_finished += 1
    with tally.noting():
        require(scenario.outcome() == expected, "differs", "another outcome than undisturbed")
        left = [str(path) for path in scenario.folder.rglob("*.draft")]
        require(not left, "left", left)
        for lock in scenario.folder.rglob("*.lock"):
            with locked(lock.with_suffix("")):  # DataError if a dead process kept it
                pass


def killed(kind: type[Scenario], n_kills: int, folder: pathlib.Path) -> Tally:
    """Kill a scenario so many times."""
    tally, start = Tally(kind.name), time.monotonic()
    (folder / "undisturbed").mkdir()
    load_what_is_used(kind)
    expected, usual = undisturbed(kind, folder / "undisturbed")
    while tally.n_kills < n_kills:
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as own:
            disturbed(kind(pathlib.Path(own)), expected, usual, tally, n_kills)
    tally.seconds = time.monotonic() - start
    return tally


def load_what_is_used(kind: type[Scenario]) -> None:
    """Import here, once for all copies, what a copy imports in its work."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
        scenario, names = kind(pathlib.Path(own)), pathlib.Path(own, "modules")
        scenario.prepare()

        def work() -> None:
            with contextlib.suppress(SystemExit):
                scenario.works()[0]()
            names.write_text("\n".join(sys.modules))

        ended_within(forked(work, pathlib.Path(own, "log")), LONGEST)
        for name in names.read_text().split("\n") if names.exists() else ():
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def get_ready() -> None:
    """Load kernels once, for all copies; save always, and let copies of copies do the work."""
    for model in (DEVFNN(SMALL), DEVFNN(presets.swift())):
        for chunk in sea(600).chunks(rows=300):
            model.learn(chunk.X, chunk.y)
            model.predict(chunk.X)
    if SavedFleet in SCENARIOS:
        first = next(iter(sea(300)))
        Fleet(4, 3, [0, 1], SMALL).learn(np.arange(300) % 4, first.X, first.y)
    Keeper.is_due = property(lambda _: True)  # type: ignore[assignment, misc]
    context = multiprocessing.get_context("fork")
    parent = multiprocessing.parent_process
    grid.multiprocessing = types.SimpleNamespace(  # type: ignore[assignment]
        get_context=lambda _: context, parent_process=parent
    )


def main() -> int:
    """Kill, and show a table; 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000, help="kills in all")
    parser.add_argument("--only", choices=[kind.name for kind in SCENARIOS])
    options = parser.parse_args()
    chosen = [kind for kind in SCENARIOS if options.only in (None, kind.name)]
    get_ready()
    start, tallies = time.monotonic(), []
    print(f"{'':10}{'kills':>7}{'ends':>6}" + "".join(f"{kind:>9}" for kind in FAULTS))
    for place, kind in enumerate(chosen):
        n_kills = (options.kills - sum(tally.n_kills for tally in tallies)) // (len(chosen) - place)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            tally = killed(kind, max(1, n_kills), pathlib.Path(folder))
        tallies.append(tally)
        counts = "".join(f"{tally.faults[kind]:9}" for kind in FAULTS)
        print(f"{tally.name:10}{tally.n_kills:7}{tally.n_finished:6}{counts}", flush=True)
    print(f"{sum(t.n_kills for t in tallies):,} kills in {time.monotonic() - start:.0f} s")
    for example in [example for tally in tallies for example in tally.examples][:20]:
        print(example)
    return int(any(tally.faults for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
