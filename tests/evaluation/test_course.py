"""Results of runs without end: few points, and what is computed from them stays what it was."""

import dataclasses
import tracemalloc

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.evaluation import MEASURES, Procedure, Summary, course, iter_prequential
from devfnn.evaluation.course import Course
from devfnn.evaluation.results import drift_record, run_record
from devfnn.events import DriftFound
from devfnn.experiments import Run, RunSettings, StreamSettings
from devfnn.experiments.checkpoint import packed
from devfnn.model import presets
from devfnn.streams import sea

CLASSES = (0, 1)
OVER_CHUNKS = ("accuracy_mean", "accuracy_std", "rules_mean", "layers_mean", "layers_total_mean")


@pytest.fixture(scope="module")
def chunks():
    """Results of 75 chunks, with drifts."""
    stream = sea(3000, rows_per_concept=700, chunk_rows=40)
    return list(iter_prequential(DEVFNN(presets.swift()), stream))


@pytest.fixture(scope="module")
def whole(chunks):
    """The record of all chunks."""
    return run_record(chunks, classes=CLASSES, auc=0.75)


@pytest.fixture
def few(monkeypatch):
    """Room for eight points only, so that 75 chunks fill it, each point with 16 of them."""
    monkeypatch.setattr(course, "MOST_POINTS", 8)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("n_chunks", [1, 8, 9, 16, 17, 64, 65, 75])
def test_a_long_run_has_few_points_that_stand_for_all_chunks(chunks, n_chunks):
    found = Course.of(chunks[:n_chunks])
    assert len(found) <= 8
    assert found.n_chunks == sum(each.n_chunks for each in found) == n_chunks
    *others, last = found
    assert all(each.n_chunks == found.chunks_per_point for each in others)
    assert last.n_chunks <= found.chunks_per_point
    assert [each.index for each in found] == list(range(0, n_chunks, found.chunks_per_point))


def test_a_run_with_room_keeps_every_chunk_as_it_was(chunks, whole):
    found = Course.of(chunks)
    assert found.points == chunks
    assert "chunks_per_point" not in whole
    assert "chunks" not in whole["per_chunk"]


@pytest.mark.usefixtures("few")
def test_what_sums_over_the_run_give_is_the_same_in_a_long_run(chunks, whole):
    record = run_record(chunks, classes=CLASSES, auc=0.75)
    assert record["chunks_per_point"] == 16
    for name in ("rows", "chunks", "rows_scored", "labels_used", "label_fraction", "events"):
        assert record[name] == whole[name]
    for name in ("confusion", "per_class", "event_log"):
        assert record[name] == whole[name]
    usual = [name for name in MEASURES if name != "accuracy"]
    for name in ("accuracy_overall", "seconds_learn", "rows_per_second", *usual, *OVER_CHUNKS):
        assert record[name] == pytest.approx(whole[name], rel=1e-12)
    assert Summary.of(chunks).n_chunks == 75


@pytest.mark.usefixtures("few")
def test_points_of_a_long_run_are_sums_and_what_was_at_their_end(chunks, whole):
    record = run_record(chunks, classes=CLASSES)
    of_points, of_chunks = record["per_chunk"], whole["per_chunk"]
    ends = [15, 31, 47, 63, 74]
    assert of_points["chunks"] == [16, 16, 16, 16, 11]
    for name in ("rows", "rules", "layers", "model_bytes", "voting_weights", "layer_states"):
        assert of_points[name] == [of_chunks[name][end] for end in ends]
    parts = np.split(np.arange(75), np.array(ends[:-1]) + 1)
    for name in ("chunk_rows", "labels"):
        values = np.array(of_chunks[name])
        assert of_points[name] == [values[part].sum() for part in parts]
    accuracies = np.array(of_chunks["accuracy"], float)
    means = [np.nanmean(accuracies[part]) for part in parts]
    assert of_points["accuracy"] == pytest.approx(means)


@pytest.mark.usefixtures("few")
def test_measures_over_the_window_are_the_same_in_a_long_run(chunks, whole):
    record = run_record(chunks, classes=CLASSES)
    for name in MEASURES:
        values = [whole["windowed"][name][end] for end in (15, 31, 47, 63, 74)]
        assert record["windowed"][name] == values
    assert record["windowed"]["chunks"] == 10


@pytest.mark.usefixtures("few")
def test_a_point_of_chunks_that_are_not_all_scored_has_the_window_of_those_that_are():
    stream, procedure = sea(2000, chunk_rows=50), Procedure(holdout_every=4, window_chunks=2)
    results = list(iter_prequential(DEVFNN(presets.swift()), stream, procedure))
    found = Course.of(results, 2)
    scored = [each for each in results if each.tally is not None]
    assert [each.n_scored for each in found] == [100] * 5  # 8 chunks in a point, 2 of them scored
    expected = [sum(each.n_correct for each in scored[k : k + 2]) / 100 for k in range(0, 10, 2)]
    assert [each["accuracy"] for each in found.windowed()] == expected


@pytest.mark.usefixtures("few")
def test_of_a_long_run_the_newest_events_are_kept_and_all_are_counted(chunks, monkeypatch):
    monkeypatch.setattr(course, "MOST_EVENTS", 5)
    drifting = [
        dataclasses.replace(each, events=(DriftFound(each.n_rows, 0.1, 0.3, 0.1, 2),))
        for each in chunks
    ]
    record = run_record(drifting, classes=CLASSES)
    assert record["events"] == {"DriftFound": 75}
    assert record["events_dropped"] == 70
    assert [event["chunk"] for event in record["event_log"]] == [70, 71, 72, 73, 74]
    # Drifts before the oldest alarm that is known are not called missed.
    detection = drift_record(drifting, [100, 1000, 2900])
    assert (detection["drifts"], detection["missed"], detection["false_alarms"]) == (1, 0, 4)


def test_memory_and_checkpoint_of_a_run_do_not_grow_with_its_chunks(monkeypatch):
    monkeypatch.setattr(course, "MOST_POINTS", 100)
    monkeypatch.setattr(course, "MOST_EVENTS", 50)
    stream = StreamSettings(name="sea", chunk_rows=10, options={"rows_per_concept": 500})
    run = Run(RunSettings(stream=stream, preset="swift"))
    sizes, stored = [], []
    tracemalloc.start()
    try:
        for result in run:
            if result.index + 1 in (1600, 4800):  # 100 points, and 75
                sizes.append(tracemalloc.get_traced_memory()[0])
                stored.append(len(packed(run)))
            if len(sizes) == 2:
                break
    finally:
        tracemalloc.stop()
    assert [len(run.results), run.results.n_chunks] == [75, 4800]
    assert sizes[1] < sizes[0] + 200_000  # of all chunks: 10 kB each
    assert stored[1] < stored[0] + 50_000  # 1 kB each
