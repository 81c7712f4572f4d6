"""Rows per second of a fleet of small models, against Python loops over as many of them.

Every model has a SEA stream of its own, whose threshold no other has and which jumps half way; rows
of all of them come mixed, in batches, and are predicted, then learned. The loops are given the same
rows, as far as they go: batch by batch, cut by model, or one row after the other.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from devfnn import DEVFNN, Fleet, presets

SMALL = presets.swift().replace(
    scaling="none", clouds=None, rules__max_rules=8, boxes__max_rules=4, growing__max_kept=2
)
CLASSES = [0, 1]

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]


def batches_of(n_models: int, rows_per_model: int, batch_rows: int, seed: int = 0) -> list[Batch]:
    """Ids, rows in [0, 1] and labels; 10 % of the labels are wrong."""
    rng = np.random.default_rng(seed)
    n_rows = n_models * rows_per_model
    thresholds = rng.uniform(0.6, 1.4, (2, n_models))
    ids, X = rng.integers(0, n_models, n_rows), rng.random((n_rows, 3))
    is_late = (np.arange(n_rows) >= n_rows // 2).astype(np.int64)
    y = (X[:, 0] + X[:, 1] <= thresholds[is_late, ids]).astype(np.int64)
    y ^= rng.random(n_rows) < 0.1
    starts = range(0, n_rows, batch_rows)
    return [(ids[s : s + batch_rows], X[s : s + batch_rows], y[s : s + batch_rows]) for s in starts]


def use_fleet(fleet: Fleet, batch: Batch) -> None:
    """Predict and learn."""
    ids, X, y = batch
    fleet.predict(ids, X)
    fleet.learn(ids, X, y)


def use_models_by_parts(models: list[DEVFNN], batch: Batch) -> None:
    """The same with a loop over the models of a batch."""
    ids, X, y = batch
    for index in np.unique(ids).tolist():
        own = ids == index
        models[index].predict(X[own])
        models[index].learn_rows(X[own], y[own])


def use_models_by_row(models: list[DEVFNN], batch: Batch) -> None:
    """The same with a loop over the rows."""
    for index, x, label in zip(*batch, strict=True):
        models[index].predict_one(x)
        models[index].learn_one(x, label)


def rate(use: Callable[[Any, Batch], None], models: Any, batches: list[Batch]) -> float:
    """Rows per second, as the median over batches."""
    times = []
    for batch in batches:
        start = time.perf_counter()
        use(models, batch)
        times.append((time.perf_counter() - start) / len(batch[2]))
    return float(1.0 / np.median(times))


def measure(n_models: int = 1000, rows_per_model: int = 1000) -> dict[str, Any]:
    """All three, in the same run."""
    batches = batches_of(n_models, rows_per_model, batch_rows=20 * n_models)
    few = [tuple(part[: 2 * n_models] for part in batch) for batch in batches[:3]]
    fleet = Fleet(n_models, 3, CLASSES, SMALL)
    models = [Fleet(1, 3, CLASSES, SMALL).model(0) for _ in range(n_models)]
    use_fleet(Fleet(n_models, 3, CLASSES, SMALL), batches[0])  # loads the kernels
    use_models_by_row(models, few[0])
    rates = {
        "fleet": rate(use_fleet, fleet, batches),
        "loop over models": rate(use_models_by_parts, models, batches[:3]),
        "loop over rows": rate(use_models_by_row, models, few),
    }
    return {
        "models": n_models,
        "bytes_per_model": fleet.nbytes // n_models,
        "rows_per_second": rates,
        "fleet_is_faster": {name: rates["fleet"] / other for name, other in rates.items()},
    }


if __name__ == "__main__":
    found = measure(*map(int, sys.argv[1:]))
    print(f"{found['models']} models of {found['bytes_per_model']} bytes")
    for name, speed in found["rows_per_second"].items():
        times = found["fleet_is_faster"][name]
        print(f"{name:18}{speed:10,.0f} rows/s  the fleet is {times:5.1f} times as fast")
    print(json.dumps(found))
