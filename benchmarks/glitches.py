"""What is left of a model after a glitch, a change of unit or a jump of level, against a clean run.

After 10,000 rows some rows hold a code for missing values, or garbage, or a feature comes in
another unit or at another level from then on. Told is by how many points accuracy is below that of
the clean run from 2,000 rows after a glitch on, and from 5,000 rows after a change for good. The
worst feature counts of those that matter.

Usage: python benchmarks/glitches.py [--presets NAME ...] [--streams NAME ...] [--by chunk row]
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np

from devfnn import DEVFNN, presets
from devfnn.arrays import Floats, Ints
from devfnn.streams.opening import open_stream

CHUNK_ROWS, BEFORE, AFTER_GLITCH, AFTER_CHANGE, SCORED = 500, 10_000, 2_000, 5_000, 5_000
N_ROWS = BEFORE + AFTER_CHANGE + SCORED

Damage = Callable[[Floats], None]
"""Changes the rows from the glitch on, in place."""


def linear(seed: int) -> tuple[Floats, Ints]:
    """Two classes with a straight border, which is easy."""
    X = np.random.default_rng(seed).random((N_ROWS, 5))
    return X, (X[:, 0] + X[:, 1] > 1.0).astype(np.int64)


def tailed(seed: int) -> tuple[Floats, Ints]:
    """Features with long tails."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(N_ROWS, 4)))
    return X, (np.log(X[:, 0]) + np.log(X[:, 1]) > 0.3 * rng.normal(size=N_ROWS)).astype(np.int64)


def generated(name: str, seed: int) -> tuple[Floats, Ints]:
    """Rows of a generator."""
    chunks = list(
        open_stream(name, options={"n_rows": N_ROWS, "seed": seed, "rows_per_concept": N_ROWS})
    )
    X, y = (np.concatenate([getattr(chunk, part) for chunk in chunks]) for part in "Xy")
    return np.array(X, np.float64), np.unique(y, return_inverse=True)[1]


STREAMS: dict[str, Callable[[int], tuple[Floats, Ints]]] = {
    "linear": linear,
    "tailed": tailed,
    "sea": lambda seed: generated("sea", seed),
    "hyperplane": lambda seed: generated("hyperplane", seed),
    "rbf": lambda seed: generated("rbf", seed),
    "agrawal": lambda seed: generated("agrawal", seed),
}
EVERY = slice(None)


def code(value: float, n_rows: int, features: slice) -> Damage:
    """Some rows hold a code."""

    def damage(rows: Floats) -> None:
        rows[:n_rows, features] = value

    return damage


def garbage(size: float, n_rows: int, features: slice) -> Damage:
    """Some rows hold numbers of any size."""

    def damage(rows: Floats) -> None:
        part = rows[:n_rows, features]
        part[:] = size * np.random.default_rng(3).normal(size=part.shape)

    return damage


def now_and_then(value: float, share: float) -> Damage:
    """From now on a share of the values of one feature are a code."""

    def damage(rows: Floats) -> None:
        rows[np.random.default_rng(5).random(len(rows)) < share, 0] = value

    return damage


def unit(factor: float, features: slice) -> Damage:
    """Another unit."""

    def damage(rows: Floats) -> None:
        rows[:, features] *= factor

    return damage


def level(widths: float, features: slice) -> Damage:
    """Another level."""

    def damage(rows: Floats) -> None:
        rows[:, features] += widths * np.ptp(rows[:, features], axis=0)

    return damage


ONE = slice(0, 1)
GLITCHES: dict[str, Damage] = {
    "6 x -9999": code(-9999.0, 6, ONE),
    "50 x -9999": code(-9999.0, 50, ONE),
    "50 x -9999, all": code(-9999.0, 50, EVERY),
    "50 x -1": code(-1.0, 50, ONE),
    "50 x garbage 1e6": garbage(1e6, 50, EVERY),
    "50 x garbage 5": garbage(5.0, 50, EVERY),
    "50 x garbage 50": garbage(50.0, 50, EVERY),
    "3 x 1e12": code(1e12, 3, ONE),
}
CHANGES: dict[str, Damage] = {
    **{
        f"unit {factor:g}": unit(factor, ONE)
        for factor in (1e-6, 1e-3, 0.02, 0.05, 0.1, 10.0, 1e3, 1e6)
    },
    **{f"unit {factor:g}, all": unit(factor, EVERY) for factor in (1e-6, 1e6)},
    **{f"level {widths:g}": level(widths, ONE) for widths in (1.0, -5.0, 30.0, 1e6)},
}


def right(preset: str, by: str, X: Floats, y: Ints) -> Floats:
    """Whether each row was predicted, before it was learned."""
    model = DEVFNN(presets.by_name(preset), classes=np.unique(y).tolist())
    is_right = np.zeros(len(y))
    for start in range(0, len(y), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        if by == "chunk":
            if start:
                is_right[rows] = model.predict(X[rows]) == y[rows]
            model.learn(X[rows], y[rows])
            continue
        for row in range(start, min(start + CHUNK_ROWS, len(y))):
            if row:
                is_right[row] = model.predict_one(X[row]) == y[row]
            model.learn_one(X[row], y[row])
    return is_right


def main() -> None:
    """Print a line for each damage and network, a column for each stream."""
    parser = argparse.ArgumentParser(description="Accuracy lost by glitches.")
    parser.add_argument("--presets", nargs="+", default=["default", "swift"])
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=STREAMS)
    parser.add_argument("--by", nargs="+", default=["chunk"], choices=["chunk", "row"])
    parser.add_argument("--only", nargs="+", default=[*GLITCHES, *CHANGES])
    given, worst = parser.parse_args(), {"glitch": 0.0, "change": 0.0}
    print(f"{'points lost':30}" + "".join(f"{name:>11}" for name in given.streams))
    for preset in given.presets:
        for by in given.by:
            clean = {}
            for name in given.streams:
                X, y = STREAMS[name](0)
                clean[name] = X, y, right(preset, by, X, y)
            shares = "".join(f"{100 * c[2][BEFORE:].mean():11.2f}" for c in clean.values())
            print(f"{f'{preset} by {by}, clean':30}{shares}", flush=True)
            for what, damage in (GLITCHES | CHANGES).items():
                if what not in given.only:
                    continue
                kind = "glitch" if what in GLITCHES else "change"
                start = BEFORE + (AFTER_GLITCH if kind == "glitch" else AFTER_CHANGE)
                print(f"  {what:28}", end="")
                for X, y, before in clean.values():
                    damaged = X.copy()
                    damage(damaged[BEFORE:])
                    later = slice(start, start + SCORED)
                    found = right(preset, by, damaged, y)[later]
                    lost = 100 * float(before[later].mean() - found.mean())
                    worst[kind] = max(worst[kind], lost)
                    print(f"{lost:11.2f}", end="", flush=True)
                print()
    print(f"worst after a glitch {worst['glitch']:.2f}, after a change {worst['change']:.2f}")


if __name__ == "__main__":
    sys.exit(main())
