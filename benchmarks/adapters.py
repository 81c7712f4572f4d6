"""Rows that the adapters predict, then learn, in a second, against GaussianNB of River.

The speed of a shared machine changes by half within seconds: only what was measured at the same
time can be compared. So both take turns, batch by batch, and seconds are those of the process.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from river import datasets, naive_bayes

from devfnn import DEVFNN, presets
from devfnn.adapters.river import DEVFNNClassifier

BATCH = 125

Data = list[tuple[dict[str, float], Any]]
Feed = Callable[[int, int], None]
"""Predicts and learns rows from the first to before the second."""


class Rates(NamedTuple):
    """Rows a second on one batch."""

    ours: float
    theirs: float


def feed_of(model: Any, data: list[tuple[Any, Any]]) -> Feed:
    """Rows through a classifier of River, or whatever predicts and learns one row as these do."""

    def feed(start: int, stop: int) -> None:
        for x, y in data[start:stop]:
            model.predict_one(x)
            model.learn_one(x, y)

    return feed


def core_feed(data: Data) -> Feed:
    """Rows through the model itself."""
    rows = [(np.array(list(x.values()), np.float64), y) for x, y in data]
    model = DEVFNN()
    model.learn_one(*rows[0])
    return feed_of(model, rows)


def capymoa_feed(data: Data) -> Feed:
    """Rows through the classifier for CapyMOA."""
    from devfnn.adapters.capymoa import DEVFNN as Learner  # before CapyMOA: it finds Java

    from capymoa.stream import NumpyStream  # isort: skip

    X = np.array([list(x.values()) for x, _ in data])
    stream = NumpyStream(X, np.array([int(y) for _, y in data]), target_type="categorical")
    instances = [stream.next_instance() for _ in data]
    learner = Learner(stream.get_schema())

    def feed(start: int, stop: int) -> None:
        for instance in instances[start:stop]:
            learner.predict(instance)
            learner.train(instance)

    return feed


def rates_of(ours: Feed, theirs: Feed, n_rows: int, n_rounds: int = 10) -> list[Rates]:
    """Both by turns over all rows; a first round, with which all gets warm, does not count."""
    found = []
    for turn in range(n_rounds + 1):
        for start in range(0, n_rows, BATCH):
            stop = min(start + BATCH, n_rows)
            seconds = [_seconds(feed, start, stop) for feed in (ours, theirs)]
            if turn:
                found.append(Rates(*((stop - start) / each for each in seconds)))
    return found


def _seconds(feed: Feed, start: int, stop: int) -> float:
    """Processor time of a batch."""
    before = time.process_time()
    feed(start, stop)
    return time.process_time() - before


def main() -> None:
    """Measure and print."""
    data = list(datasets.Phishing())
    print(f"{'adapter':14}{'rows/s':>10}{'at best':>10}{'GaussianNB':>12}{'ratio':>8}")
    swift = DEVFNNClassifier(config=presets.swift())
    feeds = {"River": feed_of(DEVFNNClassifier(), data), "core": core_feed(data)}
    feeds["River, swift"] = feed_of(swift, data)
    try:
        feeds["CapyMOA"] = capymoa_feed(data)
    except ImportError as error:
        print(error)
    for name, feed in feeds.items():
        rates = rates_of(feed, feed_of(naive_bayes.GaussianNB(), data), len(data))
        ours, theirs = (statistics.median(column) for column in zip(*rates, strict=True))
        best = max(each.ours for each in rates)
        ratio = statistics.median(each.ours / each.theirs for each in rates)
        print(f"{name:14}{ours:10,.0f}{best:10,.0f}{theirs:12,.0f}{ratio:8.1f}")


if __name__ == "__main__":
    main()
