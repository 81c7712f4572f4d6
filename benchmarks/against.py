"""Speed against another checkout of the project, in the same run, as ratios.

One process for each checkout; they take turns of a tenth of a second, so that both feel whatever
else the machine does. A ratio is the median over pairs of turns; above 1 this checkout is faster.

Usage: python benchmarks/against.py ../older-checkout [--turns 15]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

WORKER = """
import sys, time
from devfnn import DEVFNN, presets
from devfnn.streams import agrawal, hyperplane, sea

def by_chunks(model, X, y): model.predict(X); model.learn(X, y)
def by_rows(model, X, y): model.predict(X); model.learn_rows(X, y)
def one_by_one(model, X, y):
    for x, label in zip(X.tolist(), y.tolist()):
        model.predict_proba_one(x); model.learn_one(x, label)

uses = {"by-chunks": by_chunks, "by-rows": by_rows, "one-by-one": one_by_one}
streams = {
    make.__name__: [(each.X, each.y) for each in make(20_000, seed=1).chunks(500)]
    for make in (sea, hyperplane, agrawal)
}
for line in sys.stdin:
    stream, preset, use = line.split()
    chunks = streams[stream][: 10 if use == "one-by-one" else None]
    model = DEVFNN(getattr(presets, preset)())
    for X, y in chunks[:2]:
        model.learn(X, y)
    start = time.process_time()
    for X, y in chunks[2:]:
        uses[use](model, X, y)
    print((time.process_time() - start) / (500 * len(chunks[2:])), flush=True)
"""

USES = [
    *(
        f"{stream} default {use}"
        for stream in ("sea", "hyperplane", "agrawal")
        for use in ("by-chunks", "by-rows", "one-by-one")
    ),
    "sea static by-chunks",
]


def start(source: pathlib.Path) -> "subprocess.Popen[str]":
    """A process that works with the package in a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER],
        env=os.environ | {"PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def seconds(worker: "subprocess.Popen[str]", use: str) -> float:
    """Processor time of one turn, for a row."""
    assert worker.stdin and worker.stdout
    print(use, file=worker.stdin, flush=True)
    return float(worker.stdout.readline())


def main() -> None:
    """Print microseconds per row of both, and the ratio."""
    parser = argparse.ArgumentParser(description="Speed against another checkout.")
    parser.add_argument("other", type=pathlib.Path, help="a checkout of the project")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--only", default="", help="uses that contain this")
    given = parser.parse_args()
    workers = [start(given.other / "src"), start(pathlib.Path(__file__).parents[1] / "src")]
    print(f"{'microseconds a row':28}{'other':>8}{'this':>8}{'ratio':>8}")
    ratios = []
    for use in [each for each in USES if given.only in each]:
        for worker in workers:
            seconds(worker, use)  # compiles, if it must
        turns = [[seconds(worker, use) for worker in workers] for _ in range(given.turns)]
        ratios.append(statistics.median(other / this for other, this in turns))
        other, this = (1e6 * statistics.median(each) for each in zip(*turns, strict=True))
        print(f"{use:28}{other:8.2f}{this:8.2f}{ratios[-1]:8.2f}", flush=True)
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
