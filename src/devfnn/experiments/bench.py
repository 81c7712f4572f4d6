"""How fast models are on this machine, against one plain update in NumPy in the same run."""

import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from devfnn.experiments.running import Run
from devfnn.experiments.settings import RunSettings, StreamSettings

STREAMS = ("sea", "hyperplane", "agrawal", "led")
"""From 3 features and 2 classes to 24 features and 10 classes."""

YARDSTICK_ROWS = 2000


def timings(
    models: Sequence[str], streams: Sequence[str], n_rows: int, n_repeats: int
) -> Iterator[dict[str, Any]]:
    """Time every model on every stream; a result at a time.

    Speeds are medians over repetitions. times_yardstick: how many times as fast as a plain update
    in NumPy, row by row; loop_share: what the loop takes on top of the model's own time
    """
    for stream, model in itertools.product(streams, models):
        name, _, preset = model.partition("@")
        about = StreamSettings(name=stream, rows=n_rows, chunk_rows=500)
        settings = RunSettings(stream=about, model=name, preset=preset or None)
        rates, ratios, shares = [], [], []
        for repeat in range(n_repeats + 1):
            run = Run(settings)
            run.source.start = list(run.source).copy  # so that making rows is not timed
            start = time.perf_counter()
            for _ in run:
                pass
            wall = time.perf_counter() - start
            own = sum(each.seconds_predict + each.seconds_learn for each in run.results)
            rate = run.loop.n_rows / own
            if repeat:  # the first one loads compiled code and fills caches
                rates.append(rate)
                ratios.append(rate * yardstick_seconds(len(run.stream.feature_names)))
                shares.append(wall / own - 1.0)
        result = run.result()
        yield {
            "model": model,
            "stream": stream,
            "n_features": len(run.stream.feature_names),
            "n_classes": len(result["classes"]),
            "rows": result["rows"],
            "accuracy_mean": result["accuracy_mean"],
            "rows_per_second": statistics.median(rates),
            "times_yardstick": statistics.median(ratios),
            "loop_share": statistics.median(shares),
            "model_bytes": result["model_bytes"],
        }


def yardstick_seconds(n_features: int) -> float:
    """Seconds of one recursive least squares update, as one would write it in NumPy."""
    rng = np.random.default_rng(0)
    size = 2 * n_features + 1
    rows = rng.random((YARDSTICK_ROWS, size))
    gain, weights = np.eye(size) * 100.0, np.zeros(size)
    start = time.perf_counter()
    for row in rows:
        direction = gain @ row
        direction /= 1.0 + row @ direction
        weights += direction * (1.0 - row @ weights)
        gain -= np.outer(direction, row @ gain)
    return (time.perf_counter() - start) / YARDSTICK_ROWS
