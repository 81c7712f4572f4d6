"""Results read back: what is sound is read, and everything else is refused by name."""

import copy
import json

import pytest

from devfnn.errors import DataError
from devfnn.evaluation.ranking import rank
from devfnn.experiments import reading
from devfnn.experiments.reading import (
    kind_of,
    read_comparison,
    read_either,
    read_result,
    read_results,
)
from reports.made_results import made_comparison, made_result

SMALL = made_result(n_chunks=12, n_events=4)


def ranked_comparison():
    scores = {"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.7, 0.6, 0.5]}
    return made_comparison(models=("a", "b", "c"), ranking=rank(scores).to_dict())


def changed(data, place, value):
    """A copy with one value replaced; `place` is keys and indices, outermost first."""
    copied = copy.deepcopy(data)
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copied


@pytest.fixture
def write(tmp_path):
    """Write data as JSON to a file."""

    def written(data, name="result.json"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        return file

    return written


def test_a_result_is_read_as_it_was_written(write):
    assert read_result(write(SMALL)) == SMALL
    assert kind_of(SMALL) == "run"


def test_a_comparison_is_read_as_it_was_written(write):
    comparison = ranked_comparison()
    assert read_comparison(write(comparison)) == comparison
    assert kind_of(comparison) == "comparison"


def test_most_of_a_result_may_be_missing(write):
    keys = ("format", "stream", "model", "rows", "chunks")
    least = {key: SMALL[key] for key in keys}
    least["per_chunk"] = {"rows": [500], "accuracy": [None]}
    assert read_result(write(least)) == least


def test_numbers_that_are_not_finite_count_as_not_measured(write):
    text = json.dumps(SMALL | {"kappa": "WORD"})
    for word in ("NaN", "-Infinity", "1e999"):
        assert read_result(write(text.replace('"WORD"', word)))["kappa"] is None


def test_a_file_of_the_other_kind_is_refused(write):
    with pytest.raises(DataError, match=r"result\.json: a comparison; give the result"):
        read_result(write(made_comparison()))
    with pytest.raises(DataError, match=r"result\.json: the result of a single run; give a comp"):
        read_comparison(write(SMALL))


def test_a_folder_stands_for_all_results_in_it_by_name(write, tmp_path):
    for name, seed in (("b", 2), ("a", 1), ("deeper/c", 3)):
        write(SMALL | {"seed": seed}, f"runs/{name}.json")
    write(made_comparison(), "runs/comparison.json")
    single = write(SMALL | {"seed": 9}, "z.json")
    results = read_results([single, tmp_path / "runs"])
    assert [result["seed"] for result in results] == [9, 1, 2, 3]


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(DataError, match="no results in this folder"):
        read_results([tmp_path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON, or cut short"),
        ("accuracy 0.9", "not JSON, or cut short"),
        (json.dumps(SMALL)[:-2000], "not JSON, or cut short"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON, or cut short"),
        ("[1, 2]", "neither a result of devfnn run nor one of devfnn compare"),
        ('{"accuracy": 0.9}', "neither a result"),
    ],
)
def test_a_file_that_holds_no_result_is_refused(write, text, message):
    with pytest.raises(DataError, match=message) as caught:
        read_either(write(text))
    assert "result.json" in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    file = tmp_path / "result.json"
    file.write_bytes(b"\x89PNG\r\n\xff\xfe")
    with pytest.raises(DataError, match="not JSON"):
        read_either(file)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*none\.json: No such file"):
        read_either(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"cannot read .*Is a directory"):
        read_either(tmp_path)


def test_a_file_that_is_too_large_is_not_read(write, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match="larger than 1,000 bytes"):
        read_either(write(SMALL))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (2, "format 2, this version reads 1; upgrade devfnn"),
        (0, "format 0, this version reads 1; run it again"),
        ("1", "no format number"),
        (True, "no format number"),
        (None, "no format number"),
    ],
)
def test_another_format_is_refused(write, found, message):
    with pytest.raises(DataError, match=message):
        read_either(write(SMALL | {"format": found}))


@pytest.mark.parametrize("key", ["stream", "model", "rows", "chunks"])
def test_a_result_without_what_is_needed_is_refused(write, key):
    with pytest.raises(DataError, match=f"the file lacks {key}"):
        read_result(write({name: value for name, value in SMALL.items() if name != key}))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["stream"], 3, "stream must be text, not 3"),
        (["rows"], "many", "rows must be a whole number, 0 or more, not 'many'"),
        (["rows"], -1, "rows must be a whole number"),
        (["chunks"], True, "chunks must be a whole number, 0 or more, not True"),
        (["accuracy_mean"], "high", "accuracy_mean must be a number, not 'high'"),
        (["accuracy_mean"], 10**400, "accuracy_mean must be a number"),
        (["kappa"], [1], "kappa must be a number, not a list"),
        (["command"], {}, "command must be text, not an object"),
        (["is_complete"], "yes", "is_complete must be true or false"),
        (["feature_names"], ["a", 3], r"feature_names\[1\] must be text"),
        (["class_names"], ["a"], "class_names must have 2 values, not 1"),
        (["confusion"], [[1, 2]], "confusion must have 2 values, not 1"),
        (["confusion", 1], [1, 2, 3], "a row of confusion must have 2 values, not 3"),
        (["confusion", 1, 0], None, r"confusion\[1\]\[0\] must be a whole number.*not null"),
        (["per_class", 0, "recall"], "good", r"per_class\[0\]\.recall must be a number"),
        (["per_class"], {}, "per_class must be a list, not an object"),
        (["calibration", "edges"], [0, 1], r"calibration\.rows must have 1 values, not 10"),
        (["per_chunk"], [], "per_chunk must be an object, not a list"),
        (["per_chunk", "rows"], [1.5] * 12, r"per_chunk\.rows\[0\] must be a whole number"),
        (["per_chunk", "accuracy"], [0.5], r"per_chunk\.accuracy must have 12 values, not 1"),
        (["per_chunk", "kappa", 3], "x", r"per_chunk\.kappa\[3\] must be a number, not 'x'"),
        (["per_chunk", "new", ], [{}] * 12, r"per_chunk\.new\[0\] must be a number"),
        (["per_chunk", "voting_weights", 2], 0.5, r"voting_weights\[2\] must be a list"),
        (["per_chunk", "feature_mask", 2], [0, 1, 2, 0, 0], r"\[2\]\[2\] must be 0 or 1, not 2"),
        (["per_chunk", "feature_mask", 2], [1], "feature_mask must have 5 values, not 1"),
        (["windowed", "accuracy"], [], r"windowed\.accuracy must have 12 values, not 0"),
        (["events", "RuleBorn"], "x", r"events\.RuleBorn must be a whole number"),
        (["event_log", 0], {"kind": "RuleBorn"}, r"event_log\[0\] lacks row"),
        (["event_log", 0, "kind"], 3, r"event_log\[0\]\.kind must be text"),
        (["event_log", 0, "reason"], 3, r"event_log\[0\]\.reason must be text"),
        (["drift_positions"], [-5], r"drift_positions\[0\] must be a whole number"),
        (["drift_detection"], {"drifts": 1}, "drift_detection lacks found, missed, false_alarms"),
        (["rules", 0, "center"], "x", r"rules\[0\]\.center must be a list"),
        (["rules", 0, "is_archived"], 1, r"rules\[0\]\.is_archived must be true or false"),
        (["rules", 0, "probabilities", 0], ["a"], "must be a label and a number, not a list"),
        (["rules", 0, "probabilities", 0], ["a", "b"], r"probabilities\[0\]\[1\] must be a number"),
        (["config"], "default", "config must be an object, not 'default'"),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type_are_refused_by_name(write, place, value, message):
    with pytest.raises(DataError, match=message):
        read_result(write(changed(SMALL, place, value)))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["models"], "a", "models must be a list"),
        (["cells"], {}, "cells must be a list"),
        (["cells", 0], {"model": "a"}, r"cells\[0\] lacks stream, accuracy_mean"),
        (["cells", 0, "model"], "other", r"cells\[0\]\.model must be one of the models"),
        (["cells", 0, "stream"], "other", r"cells\[0\]\.stream must be one of the streams"),
        (["cells", 0, "rows_per_second"], "fast", r"cells\[0\]\.rows_per_second must be a number"),
        (["cells", 0, "file"], 3, r"cells\[0\]\.file must be text"),
        (["ranking", "mean_ranks"], [1.0], r"ranking\.mean_ranks must have 3 values"),
        (["ranking", "groups"], [["x"]], "a model in the ranking must be one of those ranked"),
        (["ranking", "p_values"], [{"models": ["a"], "p": 1}], "a pair of .* must have 2 values"),
        (["ranking"], {"models": []}, "ranking lacks n_streams, mean_ranks"),
    ],
)
def test_comparisons_that_do_not_fit_together_are_refused(write, place, value, message):
    with pytest.raises(DataError, match=message):
        read_comparison(write(changed(ranked_comparison(), place, value)))


def test_a_long_value_is_not_shown_whole(write):
    with pytest.raises(DataError) as caught:
        read_result(write(SMALL | {"rows": "x" * 10_000}))
    assert len(str(caught.value)) < 300
