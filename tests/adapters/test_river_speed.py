"""Rows one by one are fast inside River: `swift` predicts and learns 20,000 in a second."""

import importlib.util
import pathlib
import statistics

import pytest

pytest.importorskip("river", minversion="0.26")

from river import datasets, naive_bayes

from devfnn import presets
from devfnn.adapters.river import DEVFNNClassifier

BENCHMARK = pathlib.Path(__file__).parents[2] / "benchmarks" / "adapters.py"


@pytest.fixture(scope="module")
def rates():
    """Of ours and of GaussianNB, batch by batch and by turns."""
    spec = importlib.util.spec_from_file_location("adapters_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    data = list(datasets.Phishing())
    ours = benchmark.feed_of(DEVFNNClassifier(presets.swift()), data)
    theirs = benchmark.feed_of(naive_bayes.GaussianNB(), data)
    return benchmark.rates_of(ours, theirs, len(data), n_rounds=4)


def test_rows_one_by_one_are_fast(rates):
    assert max(rate.ours for rate in rates) > 20_000


def test_they_are_fast_beside_another_model_of_river(rates):
    ratio = statistics.median(rate.ours / rate.theirs for rate in rates)
    assert ratio > 3.0  # GaussianNB has about 7,000 pairs/s: 20,000
