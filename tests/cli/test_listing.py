"""`devfnn models`: what can be run."""

import csv
import json

from devfnn.baselines.registry import MODELS


def test_all_models_are_listed(invoke, tmp_path):
    table, file = tmp_path / "models.csv", tmp_path / "models.json"
    result = invoke("models", "--json", file, "--csv", table)
    assert result.exit_code == 0, result.output
    for name in MODELS:
        assert name in result.stdout
    assert "devfnn[baselines,bench]" in result.stdout
    listed = json.loads(file.read_text())["models"]
    assert [each["name"] for each in listed] == list(MODELS)
    assert {each["extra"] for each in listed} == {None, "baselines", "bench"}
    with table.open(newline="") as lines:
        assert [line["model"] for line in csv.DictReader(lines)] == list(MODELS)


def test_a_list_that_cannot_be_written_is_refused(invoke, tmp_path):
    assert invoke("models", "--json", tmp_path / "no" / "x").exit_code == 2
