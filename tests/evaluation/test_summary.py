"""A run in a few numbers."""

import json

import numpy as np
import pytest

from devfnn.evaluation import ChunkResult, Summary
from devfnn.events import DriftFound, LayerAdded


def result(index, n_correct, chunk_rows=100, **more):
    """A chunk result where only what matters is written out."""
    facts = {"events": (), "seconds_predict": 0.25, "seconds_learn": 0.75} | more
    facts.setdefault("n_scored", 0 if n_correct is None else chunk_rows)
    n_rows = 100 * (index + 1)
    return ChunkResult(
        index=index, chunk_rows=chunk_rows, n_rows=n_rows, n_correct=n_correct, **facts
    )


def test_accuracy_is_averaged_over_the_predicted_chunks():
    summary = Summary.of([result(0, None), result(1, 80), result(2, 90), result(3, 97)])
    assert summary.accuracy_mean == pytest.approx(0.89)
    assert summary.accuracy_std == pytest.approx(np.std([0.80, 0.90, 0.97], ddof=1))


def test_overall_accuracy_weighs_rows_not_chunks():
    summary = Summary.of([result(0, None), result(1, 50), result(2, 10, chunk_rows=10)])
    assert summary.accuracy_mean == pytest.approx(0.75)
    assert summary.accuracy == pytest.approx(60 / 110)


def test_rows_whose_labels_nobody_knows_do_not_count_in_the_accuracy():
    summary = Summary.of(
        [result(0, None), result(1, 5, n_scored=10), result(2, 90), result(3, None)]
    )
    assert summary.accuracy == pytest.approx(95 / 110)
    assert summary.accuracy_mean == pytest.approx(0.7)
    assert summary.n_rows == 400


def test_a_last_chunk_without_rows_adds_time_and_events_but_no_rows():
    late = result(1, None, chunk_rows=0, events=(DriftFound(5, 0.1, 0.3, 0.1, 2),))
    summary = Summary.of([result(0, None), result(1, 80), late])
    assert (summary.n_chunks, summary.n_rows, summary.accuracy) == (3, 200, 0.8)
    assert summary.rows_per_second == pytest.approx(200 / 3)
    assert summary.events == {"DriftFound": 1}


def test_sizes_are_averaged_and_rows_timed():
    summary = Summary.of(
        [result(0, None, n_rules=1, n_layers=1), result(1, 50, n_rules=4, n_layers=2)]
    )
    assert (summary.rules_mean, summary.layers_mean) == (2.5, 1.5)
    assert (summary.n_rows, summary.n_chunks) == (200, 2)
    assert summary.rows_per_second == pytest.approx(100.0)


def test_events_are_counted_by_kind():
    drift, layer = DriftFound(5, 0.1, 0.3, 0.1, 2), LayerAdded(5, 1, 4, 100)
    summary = Summary.of([result(0, None, events=(drift,)), result(1, 50, events=(drift, layer))])
    assert summary.events == {"DriftFound": 2, "LayerAdded": 1}


def test_labels_used_are_those_at_the_end():
    summary = Summary.of([result(0, None, n_labels=100), result(1, 50, n_labels=120)])
    assert summary.n_labels == 120


@pytest.mark.parametrize("results", [[], [result(0, None)]])
def test_what_was_not_measured_is_none(results):
    summary = Summary.of(results)
    assert (summary.accuracy, summary.accuracy_mean, summary.accuracy_std) == (None, None, None)
    assert (summary.rules_mean, summary.layers_mean, summary.n_labels) == (None, None, None)


def test_one_predicted_chunk_has_no_spread():
    summary = Summary.of([result(0, None), result(1, 80)])
    assert summary.accuracy_mean == 0.8
    assert summary.accuracy_std is None


def test_a_summary_is_plain_data():
    summary = Summary.of([result(0, None), result(1, 80, n_rules=2)])
    assert json.loads(json.dumps(summary.to_dict()))["accuracy"] == 0.8


def test_a_part_of_a_run_can_be_summarised():
    results = [result(0, None), result(1, 80), result(2, 90), result(3, 97)]
    assert Summary.of(results[2:]).accuracy_mean == pytest.approx(0.935)
    assert Summary.of(iter(results)).n_rows == 400


def test_a_run_that_took_no_time_has_no_speed():
    summary = Summary.of([result(0, None, seconds_predict=0.0, seconds_learn=0.0)])
    assert summary.rows_per_second is None


def test_sizes_are_averaged_over_the_chunks_that_have_them():
    summary = Summary.of([result(0, None), result(1, 50, n_rules=4), result(2, 50, n_rules=6)])
    assert summary.rules_mean == 5.0
    assert summary.layers_mean is None


def test_a_chunk_in_which_nothing_was_right_has_an_accuracy():
    summary = Summary.of([result(0, None), result(1, 0), result(2, 100)])
    assert (summary.accuracy, summary.accuracy_mean) == (0.5, 0.5)
