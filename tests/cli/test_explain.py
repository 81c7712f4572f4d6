"""`devfnn explain`: one row of a file, explained as text, JSON and CSV."""

import csv
import functools
import json
import re

import numpy as np
import pytest

from cli.shown import shown
from devfnn import DEVFNN, presets
from scenes import flipped, run


@pytest.fixture
def invoke(invoke):
    """Call `devfnn explain`."""
    return functools.partial(invoke, "explain")


def prepared(folder, network):
    """A model in a file, and rows in another."""
    X, y = flipped(5)
    model = DEVFNN(presets.by_name(network), feature_names=["heat", "wind", "dust"])
    run(model, X, np.where(y, "rain", "dry"))
    model.save(folder / "model")
    lines = ["heat,wind,dust", *(",".join(map(repr, row)) for row in X[:20].tolist())]
    (folder / "rows.csv").write_text("\n".join(lines))
    return model, X


@pytest.mark.parametrize("network", ["default", "stacked"])
def test_a_row_is_explained(invoke, tmp_path, network):
    model, X = prepared(tmp_path, network)
    files = ("--json", tmp_path / "why.json", "--csv", tmp_path / "why.csv")
    result = invoke(tmp_path / "model", tmp_path / "rows.csv", "--row", 7, *files)
    assert result.exit_code == 0, result.output
    why = model.explain(X[6])
    assert result.output.strip() == why.text()
    data = json.loads((tmp_path / "why.json").read_text())
    assert data["row"] == 7
    assert data["layers"] == json.loads(json.dumps(why.to_dict()["layers"]))
    lines = list(csv.DictReader((tmp_path / "why.csv").read_text().splitlines()))
    total = sum(float(line["rain"]) for line in lines if line["layer"] == "1")
    rain = why.labels.index("rain")
    assert total == pytest.approx(why.layers[1].output[rain])


def test_a_row_that_is_not_there(invoke, tmp_path):
    prepared(tmp_path, "default")
    result = invoke(tmp_path / "model", tmp_path / "rows.csv", "--row", 21)
    assert result.exit_code != 0
    assert "no row 21" in " ".join(result.output.split())


def test_a_model_without_rows(invoke, tmp_path):
    prepared(tmp_path, "default")
    DEVFNN().save(tmp_path / "empty")
    result = invoke(tmp_path / "empty", tmp_path / "rows.csv")
    assert result.exit_code != 0
    assert "has learned nothing yet" in " ".join(result.output.split())


def test_what_is_usual_is_told_and_drawn(invoke, tmp_path):
    prepared(tmp_path, "default")
    files = (tmp_path / "model", tmp_path / "rows.csv")
    result = invoke(*files, "--figure", tmp_path / "why.png", "--csv", tmp_path / "why.csv")
    assert result.exit_code == 0, result.output
    assert re.search(r"For \w+: usually [+-]\d+\.\d\d, .*together [+-]\d", result.output)
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    assert "bias" in (tmp_path / "why.csv").read_text()


@pytest.mark.parametrize(
    ("figure", "message"), [("why.txt", "is not known"), ("no/why.png", "does not exist")]
)
def test_a_figure_that_cannot_be_written_is_refused_before_the_work(
    invoke, tmp_path, figure, message
):
    prepared(tmp_path, "default")
    json_file = tmp_path / "why.json"
    files = (tmp_path / "model", tmp_path / "rows.csv", "--json", json_file)
    result = invoke(*files, "--figure", tmp_path / figure)
    assert result.exit_code != 0
    assert message in shown(result)
    assert not json_file.exists()


def test_a_figure_is_not_written_over_the_model(invoke, tmp_path):
    prepared(tmp_path, "default")
    (tmp_path / "model").rename(tmp_path / "model.png")
    before = (tmp_path / "model.png").read_bytes()
    rows = tmp_path / "rows.csv"
    result = invoke(tmp_path / "model.png", rows, "--figure", tmp_path / "model.png")
    assert result.exit_code != 0
    assert (tmp_path / "model.png").read_bytes() == before
