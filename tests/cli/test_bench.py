"""`devfnn bench`: speed as rows per second and as a ratio."""

import csv
import json


def test_models_are_timed_on_streams(invoke, tmp_path):
    files = ("--json", tmp_path / "b.json", "--csv", tmp_path / "b.csv")
    quick = ("--streams", "sea,led", "--rows", 1500, "--repeats", 1)
    result = invoke("bench", "--models", "logistic,majority", *quick, *files)
    assert result.exit_code == 0, result.output
    timings = json.loads((tmp_path / "b.json").read_text())["timings"]
    assert [(each["stream"], each["model"]) for each in timings] == [
        ("sea", "logistic"),
        ("sea", "majority"),
        ("led", "logistic"),
        ("led", "majority"),
    ]
    assert timings[2]["n_features"] == 24 and timings[2]["n_classes"] == 10
    for each in timings:
        assert each["rows"] == 1500
        assert each["rows_per_second"] > 0.0 and each["times_yardstick"] > 0.0
        assert each["loop_share"] > 0.0
    assert len(list(csv.reader((tmp_path / "b.csv").read_text().splitlines()))) == 5
    assert "logistic" in result.stdout and "rows/s" in result.stdout


def test_an_unknown_model_is_refused_with_the_nearest_name(invoke):
    result = invoke("bench", "--models", "logistik")
    assert result.exit_code == 2
    assert "logistic" in result.stderr


def test_empty_names_are_refused(invoke):
    assert invoke("bench", "--models", ",").exit_code == 2
