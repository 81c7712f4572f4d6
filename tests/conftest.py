"""What many tests need: random numbers with a seed, and the optional data sets."""

import os
import pathlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest

from devfnn.baselines.peers import provide_java
from devfnn.experiments import grid
from devfnn.experiments.result_files import cached_result
from devfnn.kernels import _jit
from devfnn.model import compiling

provide_java()

# Java compiles quickly, not well: no test runs it for long enough to get that time back.
JVM = "-Xmx8g -Xss10M -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("CAPYMOA_JVM_ARGS", JVM)

# The time of a single example depends on what else the machine does; pytest limits that of a test.
hypothesis.settings.register_profile("devfnn", deadline=None, max_examples=50)
hypothesis.settings.load_profile("devfnn")


@pytest.fixture(scope="session", autouse=True)
def _no_stale_kernels() -> None:
    """Kernels compiled before an edit are not tested: many tests call kernels without a model."""
    folder = _jit.cache_folder()
    if folder is not None and _jit._kept(folder) is None:  # else what is there is being compiled
        _jit.discard_stale_cache("all")
        _jit.write_stamp(*map(compiling.name_of, compiling.everything()))


@pytest.fixture(autouse=True)
def _ctrl_c_is_pythons() -> Iterator[None]:
    """Java, once a test has started it, takes Ctrl-C for itself; the next test gets it back."""
    yield
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Processes that a test starts take Ctrl-C, even if pytest runs in the background without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same ones in every test."""
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def data_dir() -> pathlib.Path:
    """The folder of the optional data sets; tests that need it are skipped without it."""
    folder = os.environ.get("DEVFNN_DATA", "")
    if not folder:
        pytest.skip("needs data sets: set DEVFNN_DATA to a folder of .npz files")
    if not pathlib.Path(folder).is_dir():
        pytest.skip(f"needs data sets: DEVFNN_DATA={folder!r} is not a folder")
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def load_stream(data_dir: pathlib.Path) -> Callable[[str], tuple[Any, Any]]:
    """Read `X, y` of a data set by its name, for instance `load_stream("weather")`."""

    def load(name: str) -> tuple[Any, Any]:
        file = data_dir / f"{name}.npz"
        if not file.is_file():
            pytest.skip(f"needs {file.name} in the folder that DEVFNN_DATA names")
        with np.load(file, allow_pickle=False) as arrays:
            return arrays["X"], arrays["y"]

    return load


@pytest.fixture
def in_one_process(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grids run in this process, cell by cell; returns the names of those that were run."""
    ran: list[str] = []

    def run_grid(cells: Any, folder: pathlib.Path, n_jobs: int) -> Iterator[grid.Outcome]:
        for cell in cells:
            known = cached_result(folder / cell.file, cell.settings)
            if known is None:
                ran.append(cell.name)
                yield grid.run_cell(cell, folder)
            else:
                yield grid.Outcome(cell, known, was_there=True)

    monkeypatch.setattr("devfnn.cli.running.run_grid", run_grid)
    return ran
