"""A run from its settings to its result."""

import dataclasses
import json

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.errors import DataError, InputError
from devfnn.evaluation import Procedure, iter_prequential
from devfnn.experiments import Run, RunSettings, StreamSettings
from devfnn.experiments.result_files import read_result, write_result
from devfnn.experiments.running import evaluate, model_bytes
from devfnn.streams import sea
from timeless import timeless

KEYS = {
    *("format", "version", "versions", "stream", "model", "preset", "scaling", "seed", "settings"),
    *("command", "config", "feature_names", "classes", "class_names", "rows", "rows_left_out"),
    *("chunks", "chunk_rows", "is_complete", "accuracy_mean", "accuracy_std", "accuracy_overall"),
    *("precision", "recall", "f1", "precision_weighted", "recall_weighted", "f1_weighted"),
    *("kappa", "kappa_m", "kappa_temporal", "g_mean", "balanced_accuracy", "log_loss", "brier"),
    *("calibration_error", "auc", "paper_precision", "paper_recall", "per_class", "confusion"),
    *("calibration", "rules_mean", "layers_mean", "layers_total_mean", "parameters_mean"),
    *("labels_used", "label_fraction", "seconds_predict", "seconds_learn", "rows_per_second"),
    *("model_bytes", "events", "event_log", "drift_positions", "drift_detection", "per_chunk"),
    *("windowed", "rules"),
}
"""What results are to have."""


def settings(model="devfnn", *, stream="sea", rows=1000, chunk_rows=100, seed=0, **changes):
    """A short run."""
    about = StreamSettings(name=stream, rows=rows, chunk_rows=chunk_rows, seed=seed)
    return RunSettings(stream=about, model=model, **changes)


def finished(chosen):
    """The run at its end."""
    run = Run(chosen)
    for _ in run:
        pass
    return run


@pytest.fixture
def gappy_file(tmp_path):
    """A file whose row 231 has no value in column a."""
    rows = [f"{'' if k == 230 else k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(400)]
    (tmp_path / "gappy.csv").write_text("a,b,y\n" + "".join(rows))
    return str(tmp_path / "gappy.csv")


def test_a_result_has_all_keys_and_is_strict_json(tmp_path):
    result = finished(settings()).result("devfnn run sea")
    assert result.keys() >= KEYS
    json.dumps(result, allow_nan=False)
    file = tmp_path / "result.json"
    write_result(result, file)
    assert read_result(file) == result  # figures and reports take it
    lengths = {name: len(values) for name, values in result["per_chunk"].items()}
    assert set(lengths.values()) == {10}
    assert (result["command"], result["is_complete"]) == ("devfnn run sea", True)
    assert result["rows"] == sum(result["per_chunk"]["chunk_rows"]) == 1000


def test_a_run_is_the_prequential_loop_over_the_same_rows():
    run = finished(settings(seed=3, rows=1500, chunk_rows=250))
    stream = sea(seed=3).take(1500).chunks(rows=250)
    expected = list(iter_prequential(DEVFNN(Config(seed=3), classes=stream.classes), stream))
    assert [each.accuracy for each in run.results] == [each.accuracy for each in expected]


def test_iterating_goes_on_where_the_run_stands():
    run = Run(settings())
    for place, _ in enumerate(run):
        if place == 3:
            break
    assert run.is_complete is False
    assert run.result()["chunks"] == 4
    for _ in run:
        pass
    assert run.is_complete is True
    assert timeless(run.result()) == timeless(finished(settings()).result())


def test_a_run_that_has_not_begun_has_no_result():
    with pytest.raises(DataError, match="without rows"):
        Run(settings()).result()


@pytest.mark.parametrize(
    "model",
    [
        *("devfnn", "gclass", "rls", "logistic", "majority", "no-change"),
        *("river-gaussian-nb", "river-hoeffding-tree", "river-logistic"),
        *("sklearn-sgd", "sklearn-gaussian-nb", "capymoa-naive-bayes"),
    ],
)
def test_every_kind_of_model_gives_a_result(model):
    library = {"river": "river", "sklearn": "sklearn", "capymoa": "capymoa"}.get(
        model.split("-")[0]
    )
    if library is not None:
        pytest.importorskip(library)
    result = finished(settings(model, rows=400)).result()
    assert result.keys() >= KEYS
    assert result["model"] == model
    assert 0.4 < result["accuracy_overall"] <= 1.0
    assert result["labels_used"] > 0
    is_own = model in ("devfnn", "gclass", "rls", "logistic")
    for name in ("config", "rules", "rules_mean", "layers_mean", "preset"):
        assert (result[name] is not None) == is_own, name


def test_the_configuration_is_the_one_of_the_model():
    changes = {"gaussian__memory": 0.99}
    result = finished(settings("logistic", rows=300, changes=changes, seed=4)).result()
    own = result["config"]["gaussian"]
    assert (own["growing"], own["memory"], result["config"]["seed"]) == (False, 0.99, 4)


def test_only_models_that_do_not_scale_themselves_get_scaled_rows():
    seen = {}
    for model in ("majority", "devfnn"):
        for scaling in ("online", "dataset", "none"):
            chunks = []
            run = Run(
                settings(model, rows=300, scaling=scaling),
                watch=lambda source, chunks=chunks: (
                    chunks.append(each) or each for each in source
                ),
            )
            for _ in run:
                pass
            seen[model, scaling] = np.concatenate([chunk.X for chunk in chunks])
    raw = seen["majority", "none"]
    assert raw.max() > 9.0
    np.testing.assert_array_equal(seen["devfnn", "online"], raw)
    np.testing.assert_array_equal(seen["devfnn", "none"], raw)
    assert seen["majority", "online"].max() <= 1.1
    for model in ("majority", "devfnn"):
        expected = (raw - raw.min(axis=0)) / np.ptp(raw, axis=0)
        np.testing.assert_array_equal(seen[model, "dataset"], expected)


@pytest.mark.parametrize("model", ["river-gaussian-nb", "river-logistic", "sklearn-sgd"])
def test_models_that_cannot_have_gaps_fail_clearly(gappy_file, model):
    pytest.importorskip(model.split("-")[0])
    run = Run(settings(model, stream=gappy_file, rows=None))
    with pytest.raises(DataError, match=rf"row 231: 'a' is missing, and {model} needs all values"):
        for _ in run:
            pass
    assert len(run.results) == 2


def test_models_that_look_at_no_feature_take_gaps(gappy_file):
    assert finished(settings("majority", stream=gappy_file, rows=None)).is_complete


def test_the_procedure_reaches_the_loop():
    result = finished(settings(procedure=Procedure(warm_up_chunks=4))).result()
    assert [value is None for value in result["per_chunk"]["accuracy"]] == [True] * 4 + [False] * 6
    result = finished(settings(procedure=Procedure(holdout_every=2))).result()
    assert [value is None for value in result["per_chunk"]["accuracy"]] == [True, False] * 5
    result = finished(settings(procedure=Procedure(label_budget=0.2))).result()
    assert result["label_fraction"] <= 0.2


def test_rows_that_fill_no_fold_are_counted():
    about = StreamSettings(name="sea", rows=1003, folds=10)
    result = finished(RunSettings(stream=about, model="majority")).result()
    assert (result["rows"], result["rows_left_out"], result["chunks"]) == (1000, 3, 10)


def test_drifts_beyond_the_rows_are_not_told():
    about = StreamSettings(name="sea", rows=1000, options={"rows_per_concept": 300})
    run = Run(RunSettings(stream=about, model="majority"))
    next(iter(run))
    assert run.result()["drift_positions"] == [300]


def test_any_model_can_be_evaluated_on_any_stream():
    model = DEVFNN(Config(seed=2), classes=[0, 1])  # as models of a run are told them
    result = evaluate(model, sea(seed=2).take(1000).chunks(rows=100), name="my stream")
    assert result.keys() >= KEYS
    assert result["stream"] == "my stream"
    expected = finished(settings(seed=2)).result()
    assert result["per_chunk"]["accuracy"] == expected["per_chunk"]["accuracy"]


def test_the_size_of_a_model_is_that_of_its_arrays_or_of_its_pickle():
    class Unpicklable:
        def __reduce__(self):
            raise RuntimeError("a Java object")

    class Sized(Unpicklable):
        nbytes = np.int64(12)

    assert model_bytes(Sized()) == 12
    assert model_bytes(Unpicklable()) is None
    assert model_bytes([1, 2, 3]) > 3


def test_a_result_of_any_model_on_any_stream_says_what_it_is_of():
    result = evaluate(DEVFNN(Config(seed=3)), sea(1000), Procedure(window_chunks=4), name="mine")
    assert (result["stream"], result["model"], result["seed"]) == ("mine", "devfnn", 3)
    assert result["settings"]["procedure"]["window_chunks"] == 4
    assert result["config"]["seed"] == 3 and len(result["rules"]) >= 1
    assert json.loads(json.dumps(result)) == result


@pytest.mark.parametrize("stream", [[], (np.zeros((3, 1)), np.zeros(3)), None])
def test_what_is_no_stream_is_refused_with_a_word_on_how_to_make_one(stream):
    with pytest.raises(InputError, match="from_arrays"):
        evaluate(DEVFNN(), stream)


def test_rules_of_a_result_name_the_classes(tmp_path):
    stream = dataclasses.replace(sea(1000), class_names=("below", "above"))
    rules = evaluate(DEVFNN(), stream)["rules"]
    assert {label for rule in rules for label, _ in rule["probabilities"]} == {"below", "above"}
