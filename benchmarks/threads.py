"""A model that is read by some threads while another lets it learn.

First, predictions are checked: while classes and features appear, every answer of a reader must be
probabilities of one state. Then speed: how many rows readers predict while a writer learns, against
the same without one.

Usage: python benchmarks/threads.py [--calls 1000000] [--preset NAME] [--readers 1] [--seconds 5]
"""

import argparse
import itertools
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

from devfnn import DEVFNN, InputError, presets
from devfnn.arrays import Floats

MOST_CLASSES, MOST_FEATURES = 30, 8
"""Until a new model is taken; more of either cost more than they show."""

CHUNK_ROWS = 100


class Growing:
    """Models that get more classes and features all the time."""

    def __init__(self, preset: str) -> None:
        config = presets.by_name(preset).replace(missing="skip", chunk_rows=CHUNK_ROWS)
        self._config, self._rng, self.n_changes = config, np.random.default_rng(0), 0
        self.model = self._begun()

    def _begun(self) -> DEVFNN:
        model = DEVFNN(self._config, ["x0", "x1"])
        model.learn(self._rng.random((CHUNK_ROWS, 2)), [0, 1] * (CHUNK_ROWS // 2))
        return model

    def grow(self) -> None:
        """Learn a chunk, and some rows one by one; at times with a new class or feature."""
        model, rng = self.model, self._rng
        if len(model.classes) >= MOST_CLASSES:
            self.model = model = self._begun()
        n_features = len(model.feature_names)
        if n_features < MOST_FEATURES and rng.random() < 0.3:
            model.add_features([f"x{n_features}"])
        X = rng.random((CHUNK_ROWS, len(model.feature_names)))
        y = rng.integers(0, len(model.classes) + 1, CHUNK_ROWS).tolist()
        model.learn(X, y)
        for x in X[:20].tolist():
            model.learn_one(x, len(model.classes) if rng.random() < 0.02 else 0)
        self.n_changes += 1


def check(growing: Growing, n_calls: int, found: list[str], counts: list[int]) -> None:
    """Predict until there were so many calls; says what was wrong."""
    rng, place = np.random.default_rng(threading.get_ident() % 2**32), len(counts)
    counts.append(0)
    while counts[place] < n_calls and not found:
        model = growing.model
        rows = rng.random((int(rng.integers(1, 4)), len(model.feature_names)))
        try:
            if rng.random() < 0.5:
                shares = model.predict_proba(rows)
            else:
                shares = np.array([[*model.predict_proba_one(rows[0].tolist()).values()]])
        except InputError as error:  # a feature has come meanwhile
            if "features, the model knows" not in str(error):
                found.append(repr(error))
            continue
        except Exception as error:
            found.append(repr(error))
            return
        counts[place] += 1
        is_sound = np.isfinite(shares).all() and (shares >= 0.0).all()
        if not (is_sound and np.allclose(shares.sum(axis=1), 1.0)):
            found.append(f"{shares}")


def run(*works: Callable[[], object]) -> None:
    """Run each in a thread of its own, until all have ended."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def validity(preset: str, n_calls: int, n_readers: int) -> bool:
    """Predict while the model grows; whether all was well."""
    growing, found, counts = Growing(preset), list[str](), list[int]()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    start = time.perf_counter()

    def read() -> None:
        check(growing, n_calls // n_readers, found, counts)

    def write() -> None:
        try:
            while len(counts) < n_readers or (not found and min(counts) < n_calls // n_readers):
                growing.grow()
        except Exception as error:
            found.append(f"writer: {error!r}")

    try:
        run(write, *[read] * n_readers)
    finally:
        sys.setswitchinterval(before)
    seconds = time.perf_counter() - start
    print(
        f"{preset}: {sum(counts):,} predictions of {n_readers} readers in {seconds:.0f} s while "
        f"{growing.n_changes:,} chunks were learned: {len(found)} invalid"
    )
    for each in found:
        print(f"  {each}")
    return not found


def rate(read: Callable[[], int], n_readers: int, seconds: float) -> float:
    """Rows a second that readers predict."""
    totals = [0] * n_readers
    until = time.perf_counter() + seconds

    def work(place: int) -> None:
        while time.perf_counter() < until:
            totals[place] += read()

    run(*[lambda place=place: work(place) for place in range(n_readers)])
    return sum(totals) / seconds


def speed(preset: str, n_readers: int, seconds: float) -> None:
    """Rows a second of readers, without and with a writer."""
    rng = np.random.default_rng(0)
    X: Floats = rng.random((5000, 8))
    y = (X[:, 0] + X[:, 1] > 1.0).astype(np.int64)
    config = presets.by_name(preset)
    model = DEVFNN(config.replace(resting=None))  # else it may cost less as it learns
    model.learn(X, y)
    some = itertools.cycle([X[start : start + 500] for start in range(0, 5000, 500)])
    one = itertools.cycle(X.tolist())  # other rows each time, as what was said of some is kept
    ways: dict[str, Callable[[], int]] = {
        "500 at once": lambda: len(model.predict_proba(next(some))),
        "one by one": lambda: bool(model.predict_proba_one(next(one))),
    }
    stopped = threading.Event()

    def by_chunk() -> None:
        while not stopped.is_set():
            model.learn(X[:500], y[:500])

    def by_row() -> None:
        while not stopped.is_set():
            model.learn_one(X[0], y[0])

    for name, read in ways.items():
        run(read)  # another thread than that of the model
        alone = rate(read, n_readers, seconds)
        print(f"{preset}, {n_readers} readers, {name}: {alone:,.0f} rows/s alone", end="")
        for how, write in (("by chunk", by_chunk), ("by row", by_row)):
            stopped.clear()
            writer = threading.Thread(target=write)
            writer.start()
            n_before, start = model.n_rows, time.perf_counter()
            beside = rate(read, n_readers, seconds)
            learned = (model.n_rows - n_before) / (time.perf_counter() - start)
            stopped.set()
            writer.join()
            print(f"; {beside / alone:.0%} while {learned:,.0f} rows/s are learned {how}", end="")
        print()


def main() -> None:
    """Check, then measure."""
    parser = argparse.ArgumentParser(description="Readers beside a writer.")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--presets", nargs="+", default=["swift", "default"])
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    is_well = True
    for preset in given.presets:
        if given.calls:
            is_well &= validity(preset, given.calls // len(given.presets), given.readers)
        if given.seconds:
            speed(preset, 1, given.seconds)
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
