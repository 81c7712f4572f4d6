"""Speed against another checkout of the project, in turns in the same run, as ratios.

The machine may be shared: each process takes the best of three, rounds alternate, and single ratios
still vary by a third where others work beside. Look at the geometric mean.

Usage: python benchmarks/against.py ../older-checkout [--rounds 2]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

USE = """
import json, time
from devfnn import DEVFNN, presets
from devfnn.streams import agrawal, hyperplane, sea

def by_chunks(model, X, y): model.predict(X); model.learn(X, y)
def by_rows(model, X, y): model.predict(X); model.learn_rows(X, y)
def one_by_one(model, X, y):
    for x, label in zip(X.tolist(), y.tolist()):
        model.predict_proba_one(x); model.learn_one(x, label)

def speed(use, chunks, config=None):
    model = DEVFNN(config) if config else DEVFNN()
    for X, y in chunks[:2]:
        model.learn(X, y)
    start = time.process_time()
    for X, y in chunks[2:]:
        use(model, X, y)
    return 500 * len(chunks[2:]) / (time.process_time() - start)

found = {}
for make in (sea, hyperplane, agrawal):
    chunks = [(each.X, each.y) for each in make(20_000, seed=1).chunks(500)]
    for use in (by_chunks, by_rows, one_by_one):
        part = chunks[:12] if use is one_by_one else chunks
        found[f"{make.__name__} {use.__name__}"] = max(speed(use, part) for _ in range(3))
chunks = [(each.X, each.y) for each in sea(10_000, seed=1).chunks(500)]
found["sea static"] = max(speed(by_chunks, chunks, presets.static()) for _ in range(3))
print(json.dumps(found))
"""


def speeds(source: pathlib.Path) -> dict[str, float]:
    """Rows per second with the package in a folder; kernels must be compiled there."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print rows per second of both, and the ratio."""
    parser = argparse.ArgumentParser(description="Speed against another checkout.")
    parser.add_argument("other", type=pathlib.Path, help="a checkout of the project")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    sources = (given.other / "src", pathlib.Path(__file__).parents[1] / "src")
    rounds = [[speeds(source) for source in sources] for _ in range(given.rounds)]
    ratios = []
    for name in rounds[0][0]:
        before, now = (max(each[place][name] for each in rounds) for place in (0, 1))
        ratios.append(now / before)
        print(f"{name:24}{before:12,.0f}{now:12,.0f}{ratios[-1]:7.2f}")
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
