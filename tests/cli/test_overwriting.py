"""No command writes over what it reads, or two results into one file."""

import json

import pytest

from cli.shown import messages
from devfnn import DEVFNN
from devfnn.streams import sea


@pytest.fixture
def files(tmp_path, invoke):
    """A model, rows and a result, and their contents."""
    model = DEVFNN(feature_names=["a", "b"])
    for chunk in sea(1000, rows_per_concept=1000).select(["f1", "f2"]):
        model.learn(chunk.X, chunk.y)
    model.save(tmp_path / "m.devfnn")
    rows = "".join(f"{k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(1200))
    (tmp_path / "rows.csv").write_text("a,b,class\n" + rows)
    run = ("run", "sea", "--model", "majority", "--rows", 1500, "--quiet")
    assert invoke(*run, "--json", tmp_path / "run.json").exit_code == 0
    return tmp_path


COMMANDS = [
    "learn m.devfnn rows.csv --json m.devfnn",
    "learn m.devfnn rows.csv --output o.devfnn --json rows.csv",
    "learn m.devfnn rows.csv --output rows.csv",
    "learn m.devfnn rows.csv --output o.devfnn --csv o.devfnn",
    "predict m.devfnn rows.csv --csv rows.csv",
    "predict m.devfnn rows.csv --json m.devfnn",
    "predict m.devfnn rows.csv --json x --csv x",
    "inspect m.devfnn --json m.devfnn",
    "data describe rows.csv --json rows.csv",
    "data head rows.csv --csv rows.csv",
    "data info rows.csv --csv rows.csv",
    "data export rows.csv x.parquet --json x.parquet",
    "table run.json --json run.json",
    "table run.json --output run.json",
    "table . --csv run.json",
    "report run.json --json run.json",
    "report run.json --output x.html --json x.html",
    "plot run.json --json run.json",
    "plot run.json --output x.png --csv x.png",
    "run rows.csv --json rows.csv",
    "run rows.csv --save x --report x",
    "compare --models majority --streams rows.csv --json rows.csv",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_read_or_written_already_is_not_written_over(
    invoke, files, monkeypatch, command
):
    monkeypatch.chdir(files)
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    result = invoke(*command.split())
    assert result.exit_code == 2, result.output
    assert "are the same file" in messages(result)
    assert {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()} == before
    assert json.loads((files / "run.json").read_text())["rows"] == 1500
