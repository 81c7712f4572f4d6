"""Results read back: whole ones of this format, or a word about what is wrong."""

import json
import pathlib

import pytest

from devfnn.errors import DataError, InputError
from devfnn.evaluation.ranking import rank
from devfnn.experiments import Run, RunSettings, StreamSettings
from devfnn.experiments.result_files import (
    cached_result,
    kind_of,
    read_either,
    read_result,
    read_results,
    refusing_malformed,
    sealed,
    write_result,
)
from reports.made_results import made_comparison, made_result

SMALL = made_result(n_chunks=12, n_events=4)


def ranked_comparison():
    scores = {"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.7, 0.6, 0.5]}
    return made_comparison(models=("a", "b", "c"), ranking=rank(scores).to_dict())


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
    assert read_either(write(comparison)) == comparison
    assert kind_of(comparison) == "comparison"


def test_values_are_not_looked_at(write):
    odd = SMALL | {"rows": "many", "confusion": None, "more": [{}]}
    assert read_result(write(odd)) == odd


def test_most_of_a_result_may_be_missing(write):
    keys = ("format", "stream", "model", "rows", "chunks")
    least = {key: SMALL[key] for key in keys}
    least["per_chunk"] = {"rows": [500], "accuracy": [None]}
    assert read_result(write(least)) == least


def test_numbers_that_are_not_finite_count_as_not_measured(write):
    text = json.dumps(SMALL | {"kappa": "WORD"})
    for word in ("NaN", "-Infinity"):
        assert read_result(write(text.replace('"WORD"', word)))["kappa"] is None


def test_a_file_of_the_other_kind_is_refused(write):
    with pytest.raises(DataError, match=r"result\.json: a comparison; give the result"):
        read_result(write(made_comparison()))


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
        ("", "cut short, or not as devfnn writes it"),
        ("accuracy 0.9", "cut short, or not as devfnn writes it"),
        (json.dumps(SMALL)[:-2000], "cut short, or not as devfnn writes it"),
        ("[" * 100_000, "RecursionError"),
        ('{"a": ' + "9" * 5000 + "}", "cut short, or not as devfnn writes it"),
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
    with pytest.raises(DataError, match="not as devfnn writes it"):
        read_either(file)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*none\.json: No such file"):
        read_either(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"cannot read .*Is a directory"):
        read_either(tmp_path)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (3, "format 3, this version reads 1 and 2"),
        (0, "format 0, this version reads 1 and 2"),
        ("1", "format 1, this"),
        (True, "format True, this"),
        (1.0, r"format 1\.0, this"),
        (None, "format None"),
    ],
)
def test_another_format_is_refused(write, found, message):
    with pytest.raises(DataError, match=message):
        read_either(write(SMALL | {"format": found}))


# ---- files that were changed


SEALED = SMALL | {"format": 2, "kappa": 0.25}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_result_is_the_same_however_its_file_is_laid_out(write, indent):
    text = json.dumps(sealed(SEALED), indent=indent, sort_keys=bool(indent))
    assert read_result(write(text)) == SEALED


def test_what_a_file_cannot_hold_as_it_is_does_not_break_its_checksum(write, tmp_path):
    odd = SEALED | {"kappa": float("nan"), "rows": (1, 2), "more": {1: "größe\ud800"}}
    write_result(odd, tmp_path / "result.json")
    found = read_result(tmp_path / "result.json")
    assert (found["kappa"], found["rows"], found["more"]) == (None, [1, 2], {"1": "größe\ud800"})
    write_result(found, tmp_path / "again.json")  # a checksum of its own, not the old one
    assert read_result(tmp_path / "again.json") == found


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"kappa": 0.25', '"kappa": 0.26', "changed after it was written"),
        ('"kappa": 0.25', '"kapa": 0.25', "changed after it was written"),
        ('"kappa": 0.25, ', "", "changed after it was written"),
        ('"format": 2', '"format": 1', "a checksum, in a file of format 1"),
        ('"sha256"', '"sha"', "no checksum; devfnn.experiments.write_result"),
        ('"sha256": "', '"sha256": "0', "changed after it was written"),
        ('"kappa": 0.25', '"kappa": 0.26, "kappa": 0.25', "a key occurs twice: 'kappa'"),
        ('"kappa": 0.25', '"kappa": 1e999', "the number 1e999 is too large"),
        ('"kappa": 0.25', '"kappa": -1e999', "the number -1e999 is too large"),
    ],
)
def test_a_file_that_was_edited_is_refused(write, before, after, message):
    text = json.dumps(sealed(SEALED))
    assert text.count(before) == 1
    with pytest.raises(DataError, match=message) as caught:
        read_result(write(text.replace(before, after)))
    assert "result.json" in str(caught.value)


def test_a_file_cut_anywhere_is_refused(write):
    text = json.dumps(sealed(SEALED))
    for end in range(0, len(text), 97):
        with pytest.raises(DataError):
            read_result(write(text[:end]))


FORMAT_1 = pathlib.Path(__file__).parent / "format1"
"""Files that devfnn wrote before results had checksums."""


def test_results_without_checksums_of_the_format_before_are_read():
    assert read_result(FORMAT_1 / "run.json")["rows"] == 1500
    assert len(read_either(FORMAT_1 / "comparison.json")["cells"]) == 4
    assert {data["format"] for data in read_results([FORMAT_1])} == {1}


def test_a_result_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot write .*no/x\.json: No such file"):
        write_result(SEALED, tmp_path / "no" / "x.json")


# ---- what goes wrong with values


@pytest.mark.parametrize(
    "error", [KeyError("row"), TypeError("a\nb"), OverflowError(), IndexError()]
)
def test_what_fails_on_a_value_is_told_in_one_line_with_the_file(error):
    with pytest.raises(DataError, match=f"^x.json: damaged, .*{type(error).__name__}"):
        with refusing_malformed("x.json"):
            raise error
    for known in (InputError("as it is"), DataError("as it is")):
        with pytest.raises(type(known), match="as it is"):
            with refusing_malformed("x.json"):
                raise known


# ---- results of earlier calls


@pytest.fixture
def cached(tmp_path):
    """Settings, the file of their result, and a way to change it."""
    stream = StreamSettings(name="sine", rows=300, chunk_rows=100)
    settings, path = RunSettings(stream=stream, model="logistic"), tmp_path / "result.json"
    run = Run(settings)
    for _ in run:
        pass
    write_result(run.result(), path)

    def change(**changes):
        write_result(read_result(path) | changes, path)

    return settings, path, change


def test_a_result_of_the_same_settings_is_taken(cached):
    settings, path, _ = cached
    assert cached_result(path, settings)["rows"] == 300
    assert cached_result(path.with_name("other.json"), settings) is None


def test_a_run_that_was_stopped_is_run_again(cached):
    settings, path, change = cached
    change(is_complete=False)
    assert cached_result(path, settings) is None


def test_results_of_other_code_are_refused(cached):
    settings, path, change = cached
    config = json.loads(path.read_text())["config"]
    change(config=config | {"labels": config["labels"] | {"budget": 0.5}})
    with pytest.raises(DataError, match=r"labels\.budget = 0\.5 instead of 1\.0"):
        cached_result(path, settings)
    change(config=config, versions={"devfnn": "0.0.1"})
    with pytest.raises(DataError, match=r"version = '0\.0\.1'"):
        cached_result(path, settings)
    change(settings=["sine"])
    with pytest.raises(DataError, match="not as devfnn writes it"):
        cached_result(path, settings)
