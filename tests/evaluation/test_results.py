"""What a run measured: in a few numbers, as plain data, and how well drift was found."""

import dataclasses
import json

import numpy as np
import pytest
import sklearn.metrics as sk

from devfnn import DEVFNN
from devfnn.evaluation import MEASURES, ChunkResult, Prequential, Procedure, Summary
from devfnn.evaluation.results import drift_detection, drift_record, run_record
from devfnn.events import DriftFound, LayerAdded, RulePruned
from devfnn.streams import from_arrays, sea


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
    assert json.loads(json.dumps(dataclasses.asdict(summary)))["accuracy"] == 0.8


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


# ---- all of it as plain data

WINDOW = 3


class Prophet:
    """Says what it was given to say, row by row."""

    classes = ("b", "a", "c")

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def predict_proba(self, X):
        return self.probabilities[X[:, 0].astype(int)]

    def learn(self, X, y):
        return []


@pytest.fixture(scope="module")
def prophecy():
    """Labels, the probabilities said of them (columns a, b, c), and the record of the run."""
    rng = np.random.default_rng(4)
    n_rows = 1130
    codes = rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])
    votes = rng.gamma(1.0, size=(n_rows, 3))
    votes[np.arange(n_rows), codes] *= 3.0
    said = votes / votes.sum(axis=1, keepdims=True)
    X = np.column_stack([np.arange(n_rows), rng.random(n_rows)])
    stream = from_arrays(X, np.array(["a", "b", "c"])[codes], chunk_rows=100)
    model = Prophet(said[:, [1, 0, 2]])
    loop = Prequential(model, stream, Procedure(window_chunks=WINDOW))
    results = list(loop)
    record = run_record(
        results,
        classes=loop.scorer.codes.labels,
        class_names=["class " + str(label) for label in loop.scorer.codes.labels],
        auc=loop.scorer.auc,
        window_chunks=WINDOW,
    )
    return codes, said, record


def scikit_learn_says(codes, said):
    """Measures of rows by scikit-learn."""
    predicted = said.argmax(axis=1)
    macro = sk.precision_recall_fscore_support(codes, predicted, average="macro", zero_division=0)
    weighted = sk.precision_recall_fscore_support(
        codes, predicted, average="weighted", zero_division=0
    )
    recalls = sk.recall_score(codes, predicted, average=None)
    return {
        "accuracy": sk.accuracy_score(codes, predicted),
        "precision": macro[0],
        "recall": macro[1],
        "f1": macro[2],
        "precision_weighted": weighted[0],
        "recall_weighted": weighted[1],
        "f1_weighted": weighted[2],
        "kappa": sk.cohen_kappa_score(codes, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(codes, predicted),
        "g_mean": float(np.prod(recalls) ** (1 / len(recalls))),
        "log_loss": sk.log_loss(codes, said),
        "brier": sk.brier_score_loss(codes, said),
        "auc": sk.roc_auc_score(codes, said, multi_class="ovr"),
    }


def assert_is(found, expected):
    for name, value in expected.items():
        tolerance = 4e-3 if name == "auc" else 1e-9  # the area is counted by levels
        assert found[name] == pytest.approx(value, abs=tolerance), name


def test_values_of_chunks_are_those_of_their_predictions(prophecy):
    codes, said, record = prophecy
    found = record["per_chunk"]
    assert all(found[name][0] is None for name in MEASURES)
    for index in range(1, 12):
        part = slice(100 * index, 100 * (index + 1))
        expected = scikit_learn_says(codes[part], said[part])
        assert_is({name: found[name][index] for name in MEASURES}, expected)


def test_windowed_values_are_those_of_the_predictions_of_the_last_scored_chunks(prophecy):
    codes, said, record = prophecy
    found = record["windowed"]
    assert found["chunks"] == WINDOW
    assert all(found[name][0] is None for name in MEASURES)
    for index in range(1, 12):
        part = slice(100 * max(1, index + 1 - WINDOW), 100 * (index + 1))
        expected = scikit_learn_says(codes[part], said[part])
        assert_is({name: found[name][index] for name in MEASURES}, expected)


def test_values_of_the_run_are_those_of_all_predictions(prophecy):
    codes, said, record = prophecy
    expected = scikit_learn_says(codes[100:], said[100:])
    expected["accuracy_overall"] = expected.pop("accuracy")
    assert_is(record, expected)
    assert "accuracy" not in record
    assert record["rows_scored"] == 1030
    by_chunk = [value for value in record["per_chunk"]["accuracy"] if value is not None]
    assert record["accuracy_mean"] == pytest.approx(np.mean(by_chunk))
    assert record["accuracy_std"] == pytest.approx(np.std(by_chunk, ddof=1))


def test_classes_and_their_scores_stand_in_one_order(prophecy):
    codes, said, record = prophecy
    order = ["abc".index(label) for label in record["classes"]]
    truth, predicted = codes[100:], said[100:].argmax(axis=1)
    assert record["confusion"] == sk.confusion_matrix(truth, predicted, labels=order).tolist()
    scores = sk.precision_recall_fscore_support(truth, predicted, labels=order)
    for place, each in enumerate(record["per_class"]):
        assert each["label"] == record["classes"][place]
        assert each["name"] == record["class_names"][place] == f"class {each['label']}"
        for name, values in zip(("precision", "recall", "f1", "support"), scores, strict=True):
            assert each[name] == pytest.approx(values[place])


def test_calibration_counts_all_rows_in_bins_of_confidence(prophecy):
    codes, said, record = prophecy
    confidence = said[100:].max(axis=1)
    is_right = said[100:].argmax(axis=1) == codes[100:]
    found = record["calibration"]
    bins = np.ceil(confidence * 10) - 1
    assert found["rows"] == [int((bins == place).sum()) for place in range(10)]
    for place in range(3, 10):
        assert found["confidence"][place] == pytest.approx(confidence[bins == place].mean())
        assert found["accuracy"][place] == pytest.approx(is_right[bins == place].mean())
    assert found["confidence"][0] is None


# ---- a run of DEVFNN

SIZES = ("rules", "layers", "layers_total", "parameters", "labels", "model_bytes")
OVERALL = {
    *("accuracy_mean", "accuracy_std", "accuracy_overall", "precision", "recall", "f1"),
    *("precision_weighted", "recall_weighted", "f1_weighted", "kappa", "kappa_m"),
    *("kappa_temporal", "g_mean", "balanced_accuracy", "log_loss", "brier"),
    *("calibration_error", "auc", "paper_precision", "paper_recall"),
    *("rules_mean", "layers_mean", "layers_total_mean", "parameters_mean"),
    *("labels_used", "label_fraction", "seconds_predict", "seconds_learn", "rows_per_second"),
}


def run(stream, procedure=None, model=None):
    """Results of a run, and their record."""
    loop = Prequential(model or DEVFNN(), stream, procedure)
    results = list(loop)
    record = run_record(results, classes=loop.scorer.codes.labels, auc=loop.scorer.auc)
    return results, record


@pytest.fixture(scope="module")
def drifting():
    return run(sea(4000, thresholds=[4, 12], rows_per_concept=2000, noise=0.0, chunk_rows=250))


def test_a_record_is_plain_data_without_nan(drifting):
    _, record = drifting
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_record_has_every_value_once_for_the_run_and_once_for_every_chunk(drifting):
    _, record = drifting
    assert all(isinstance(record[name], float | int) for name in OVERALL)
    assert (record["rows"], record["chunks"]) == (4000, 16)
    columns = {"rows", "chunk_rows", *MEASURES, *SIZES, "seconds_predict", "seconds_learn"}
    columns |= {"voting_weights", "feature_mask", "layer_states"}
    assert set(record["per_chunk"]) == columns
    assert all(len(values) == 16 for values in record["per_chunk"].values())
    assert set(record["windowed"]) == {"chunks", *MEASURES}
    assert all(len(record["windowed"][name]) == 16 for name in MEASURES)
    assert record["per_chunk"]["rows"] == list(range(250, 4001, 250))
    for name in SIZES:
        assert all(isinstance(value, int) for value in record["per_chunk"][name]), name


def test_layers_weights_and_features_are_told_for_every_chunk(drifting):
    results, record = drifting
    per_chunk = record["per_chunk"]
    assert [len(each) for each in per_chunk["voting_weights"]] == per_chunk["layers_total"]
    assert all(len(each) == 3 for each in per_chunk["feature_mask"])
    assert record["rules_mean"] == pytest.approx(np.mean(per_chunk["rules"]))
    assert record["layers_total_mean"] == pytest.approx(np.mean(per_chunk["layers_total"]))
    assert max(per_chunk["layers"]) > 1
    assert results[-1].n_rules == per_chunk["rules"][-1]


def test_labels_of_chunks_add_up_to_the_labels_used(drifting):
    results, record = drifting
    labels = record["per_chunk"]["labels"]
    assert sum(labels) == record["labels_used"] == results[-1].n_labels
    assert all(0 <= used <= 250 for used in labels)
    assert record["label_fraction"] == record["labels_used"] / 4000


def test_labels_that_a_model_used_before_do_not_count():
    model = DEVFNN()
    for chunk in sea(3000, chunk_rows=500):
        model.learn(chunk.X, chunk.y)
    assert model.n_labels_used > 500
    _, record = run(sea(500, chunk_rows=250, seed=1), model=model)
    assert 0.0 < record["label_fraction"] <= 1.0
    assert all(0 <= used <= 250 for used in record["per_chunk"]["labels"])


def test_every_event_is_reported_with_its_chunk_and_its_explanation(drifting):
    results, record = drifting
    log = record["event_log"]
    assert len(log) == sum(record["events"].values()) > 5
    assert {each["kind"] for each in log} == set(record["events"])
    for each in log:
        assert each["explanation"] and "{" not in each["explanation"]
        chunk = each["chunk"]
        assert 250 * chunk <= each["row"] <= 250 * (chunk + 1)
    drift = next(each for each in log if each["kind"] == "DriftFound")
    event = next(e for r in results for e in r.events if isinstance(e, DriftFound))
    assert drift == event.to_dict() | {"chunk": drift["chunk"], "explanation": event.explanation}


def test_the_explanation_of_a_pruned_rule_leaves_its_reason():
    event = RulePruned(5, 0, 1, "significance", 0.01, 0.02, 0.3, -1)
    results = [ChunkResult(0, 10, 10, None, 0, (event,), 0.0, 0.1)]
    (entry,) = run_record(results, classes=[])["event_log"]
    assert entry["reason"] == "significance"
    assert "significance 0.01" in entry["explanation"]


def test_what_was_not_measured_is_none_in_the_record():
    results = [ChunkResult(0, 10, 10, None, 0, (), 0.0, 0.0)]
    record = run_record(results, classes=["x", "y"], class_names=["ex"])
    assert all(record[name] is None for name in OVERALL - {"seconds_predict", "seconds_learn"})
    assert record["calibration"] is None
    assert record["confusion"] == [[0, 0], [0, 0]]
    assert record["class_names"] == ["ex", "y"]
    assert all(record["windowed"][name] == [None] for name in MEASURES)
    assert record["per_chunk"]["rules"] == record["per_chunk"]["voting_weights"] == [None]
    json.dumps(record, allow_nan=False)


def test_a_run_of_nothing_is_a_record():
    record = run_record([], classes=[])
    assert (record["rows"], record["chunks"], record["accuracy_overall"]) == (0, 0, None)
    json.dumps(record, allow_nan=False)


def test_classes_that_came_late_have_rows_and_columns_of_their_own():
    X = np.zeros((6, 1))
    chunks = list(from_arrays(X, ["a", "b", "a", "b", "c", "a"], chunk_rows=2))
    _, record = run(chunks, model=Last())
    assert record["classes"] == ["a", "b", "c"]
    assert record["confusion"] == [[0, 2, 0], [0, 1, 0], [0, 1, 0]]
    assert record["per_class"][2] == {
        "label": "c",
        "name": "c",
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "support": 1,
    }


class Last:
    """Predicts the last label; nothing for negative rows."""

    def predict(self, X):
        found = np.empty(len(X), object)
        found[:] = [None if row < 0 else self.label for row in X[:, 0]]
        return found

    def learn(self, X, y):
        self.label = y[-1]


def test_rows_of_which_nothing_was_said_are_a_class_of_their_own_in_the_matrix_only():
    X = np.array([[1.0], [1.0], [-1.0], [1.0], [1.0], [1.0]])
    chunks = list(from_arrays(X, ["a", "b", "a", "b", "a", "b"], chunk_rows=2))
    _, record = run(chunks, model=Last())
    assert record["classes"] == ["a", "b", None]
    assert record["class_names"] == ["a", "b", "no prediction"]
    assert record["confusion"] == [[0, 1, 1], [0, 2, 0], [0, 0, 0]]
    assert record["accuracy_overall"] == 0.5
    assert record["per_chunk"]["paper_precision"] == [None, 0.0, 0.0]
    json.dumps(record, allow_nan=False)


def test_labels_that_json_does_not_know_become_text():
    X = np.zeros((4, 1))
    labels = np.empty(4, object)
    labels[:] = [("a", 1), np.int64(3), ("a", 1), np.int64(3)]
    _, record = run(list(from_arrays(X, labels, chunk_rows=2)), model=Last())
    assert record["classes"] == ["('a', 1)", 3]
    json.dumps(record, allow_nan=False)


def test_the_papers_pair_is_the_mean_over_chunks(drifting):
    _, record = drifting
    for name in ("paper_precision", "paper_recall"):
        values = [value for value in record["per_chunk"][name] if value is not None]
        assert record[name] == pytest.approx(np.mean(values))


def test_new_probabilities_columns_do_not_break_the_overall_area():
    """Over all rows the area is that of all predictions, also when a class came late."""
    rng = np.random.default_rng(0)
    X = rng.random((1200, 2))
    y = np.where(X[:, 0] > 0.5, 1, 0)
    y[600:][X[600:, 1] > 0.8] = 2
    chunks = list(from_arrays(X, y, chunk_rows=200))
    said = []

    class Recorded(DEVFNN):
        def predict_proba(self, X):
            found = super().predict_proba(X)
            whole = np.zeros((len(X), 3))
            whole[:, [int(label) for label in self.classes]] = found
            said.append(whole)
            return found

    _, record = run(chunks, model=Recorded())
    expected = sk.roc_auc_score(y[200:], np.concatenate(said), multi_class="ovr")
    assert record["auc"] == pytest.approx(expected, abs=1e-3)


# ---- drift


def alarmed(*rows_of_events, chunk_rows=100):
    """Results with drifts found at rows."""
    results = []
    for index in range(10):
        first = index * chunk_rows
        found = [row for row in rows_of_events if first <= row < first + chunk_rows]
        events = tuple(DriftFound(row, 0.1, 0.2, 0.05, 3) for row in found)
        events += (LayerAdded(first, 1, 2, 3),)
        results.append(
            ChunkResult(index, chunk_rows, first + chunk_rows, None, 0, events, 0.0, 0.1)
        )
    return results


def test_a_drift_is_found_at_the_row_of_its_event():
    found = drift_record(alarmed(430, 870), [400, 700])
    assert found["delays"] == [30, 170]
    assert drift_record(alarmed(430, 870), [450])["delays"] == [420]
    assert drift_record(alarmed(430, 870), [450])["false_alarms"] == 1


@pytest.mark.parametrize("by_row", [False, True])
def test_no_drift_is_found_before_its_rows_were_seen(by_row):
    """By chunks at the end of a chunk: only then are its labels known."""
    stream = sea(3000, thresholds=[4, 12], rows_per_concept=1500, noise=0.0, chunk_rows=200)
    results, _ = run(stream, Procedure(by_row=by_row))
    alarms = [event.row for each in results for event in each.events if event.kind == "DriftFound"]
    assert alarms
    assert by_row or all(row % 200 == 0 for row in alarms)
    (delay,) = drift_record(results, [1500])["delays"]
    assert 0 < delay <= 600


def test_drift_is_recorded_only_where_it_is_known():
    assert drift_record(alarmed(430), []) is None
    assert drift_record([], [400]) is None
    assert drift_record(alarmed(), [400])["missed"] == 1


def test_a_run_finds_the_drift_of_its_stream(drifting):
    results, _ = drifting
    found = drift_record(results, [2000])
    assert (found["drifts"], found["found"]) == (1, 1)
    assert found["delay_mean"] <= 750


# ---- drift found and missed


@pytest.mark.parametrize(
    ("alarms", "positions", "delays", "n_false"),
    [
        ([], [], (), 0),
        ([5], [], (), 1),
        ([], [1000], (None,), 0),
        ([1200], [1000], (200,), 0),
        ([1200, 1300, 1900], [1000], (200,), 2),
        ([500, 1200], [1000], (200,), 1),
        ([1001], [1000], (1,), 0),
        ([1000], [1000], (None,), 1),  # of the rows that had come, none was of the new concept
        ([2000], [1000, 2000], (1000, None), 0),
        ([2001], [1000, 2000], (None, 1), 0),
        ([1100, 2100, 3000], [1000, 2000, 2500], (100, 100, 500), 0),
        ([3000], [2999], (1,), 0),
        ([1200, 1200], [1000], (200,), 1),
    ],
)
def test_a_drift_is_found_by_the_first_alarm_before_the_next(alarms, positions, delays, n_false):
    found = drift_detection(alarms, positions, 3000)
    assert found["delays"] == list(delays)
    assert found["false_alarms"] == n_false
    assert found["drifts"] == len(positions) == found["found"] + found["missed"]


def test_drifts_before_the_first_row_and_after_the_last_do_not_count():
    assert drift_detection([100], [0, 50, 900, 1000], 900) == {
        "drifts": 1,
        "found": 1,
        "missed": 0,
        "false_alarms": 0,
        "delay_mean": 50.0,
        "delays": [50],
    }


def test_the_mean_delay_is_that_of_the_drifts_that_were_found():
    found = drift_detection([1100, 3300], [1000, 2000, 3000], 4000)
    assert found["delay_mean"] == 200.0
    assert (found["found"], found["missed"]) == (2, 1)
    assert drift_detection([], [1000], 2000)["delay_mean"] is None
    json.dumps(found, allow_nan=False)


def test_a_stream_that_drifts_for_ever_is_looked_at_only_as_far_as_the_run_went():
    endless = sea(thresholds=[4, 8], rows_per_concept=500).repeat()
    found = drift_detection([700, 1100], endless.drift_positions, 1700)
    assert found["delays"] == [200, 100, None]
