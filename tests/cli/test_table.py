"""`devfnn table`, as a user calls it."""

import csv
import json

import pytest
import typer
from typer.testing import CliRunner

from devfnn.cli.table import table


@pytest.fixture
def invoke():
    """Call the command in a window of a fixed width."""
    app = typer.Typer()
    app.command()(table)
    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})
    return lambda *arguments: runner.invoke(app, [*map(str, arguments)])


@pytest.fixture
def results(tmp_path):
    """A folder with results of two models on two streams."""
    folder = tmp_path / "results"
    (folder / "more").mkdir(parents=True)
    for model, place, accuracy in (("devfnn", folder, 0.8), ("majority", folder / "more", 0.5)):
        for stream in ("electricity", "sea-paper"):
            data = {
                "format": 1,
                "stream": stream,
                "model": model,
                "preset": "default" if model == "devfnn" else None,
                "scaling": "online",
                "seed": 0,
                "accuracy_mean": accuracy,
                "accuracy_std": 0.1,
                "rows": 100,
                "chunks": 2,
                "rows_per_second": 1000.0,
                "per_chunk": {"rows": [50, 100], "accuracy": [None, accuracy]},
            }
            (place / f"{model}-{stream}.json").write_text(json.dumps(data))
    return folder


def test_a_folder_becomes_table_1(invoke, results):
    shown = invoke(results)
    assert shown.exit_code == 0, shown.output
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    place = lines.index("electricity")
    assert lines[place + 1].startswith("DEVFNN (default) 80.00 ± 10.00 -")
    assert lines[place + 2].startswith("published 70 ± 13 4.24 ± 2.25 0.75 0.78")
    assert "majority 50.00 ± 10.00 - - - - online 1" in lines
    assert any(line.startswith("CR: accuracy in percent") for line in lines)


def test_files_named_beside_their_folder_count_once(invoke, results):
    file = results / "devfnn-electricity.json"
    assert invoke(results, file).stdout == invoke(results).stdout


def test_peers_are_models_by_streams(invoke, results):
    shown = invoke(results, "--peers")
    assert shown.exit_code == 0, shown.output
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["DEVFNN", "(default)", "1", "80.00", "80.00", "1,000", "1.00"] in lines
    assert ["majority", "1", "50.00", "50.00", "1,000", "2.00"] in lines


@pytest.mark.parametrize(
    ("written_as", "start"),
    [
        ("text", "Table 1 of the paper"),
        ("csv", "stream,system,accuracy_mean,accuracy_std"),
        ("latex", "% Needs \\usepackage{booktabs}."),
        ("html", "<table>"),
    ],
)
def test_a_table_is_written_in_every_format(invoke, results, tmp_path, written_as, start):
    file = tmp_path / "table.out"
    shown = invoke(results, "--format", written_as, "--output", file)
    assert shown.exit_code == 0, shown.output
    assert file.read_text().startswith(start)
    assert "DEVFNN (default)" in file.read_text()
    assert "The table is in" in shown.stdout
    if written_as != "text":
        assert invoke(results, "--format", written_as).stdout == file.read_text()


def test_json_and_csv_files_have_all_values(invoke, results, tmp_path):
    plain, lines = tmp_path / "table.json", tmp_path / "table.csv"
    shown = invoke(results, "--json", plain, "--csv", lines, "--quiet")
    assert (shown.exit_code, shown.output) == (0, "")
    rows = json.loads(plain.read_text())["rows"]
    with lines.open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["system"] for row in read] == [row["system"] for row in rows]
    assert float(read[0]["published_accuracy_mean"]) == rows[0]["published_accuracy_mean"] == 0.917


def test_quiet_shows_no_format_either(invoke, results):
    assert invoke(results, "--format", "csv", "--quiet").output == ""


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', '{"format": 99, "per_chunk": {}}'])
def test_a_file_that_is_no_result_is_named(invoke, results, content):
    (results / "other.json").write_text(content)
    shown = invoke(results)
    assert shown.exit_code == 1
    assert "other.json" in shown.stderr
    assert "Traceback" not in shown.output


def test_what_is_not_there_is_refused(invoke, results):
    assert invoke(results / "nothing.json").exit_code == 2
    assert invoke().exit_code == 2
    shown = invoke(results, "--output", results / "no" / "folder.txt")
    assert shown.exit_code == 2
    assert "does not exist" in shown.stderr
    assert invoke(results, "--format", "word").exit_code == 2


def test_two_results_of_one_run_are_refused_and_nothing_is_written(invoke, results, tmp_path):
    data = json.loads((results / "devfnn-electricity.json").read_text())
    (results / "again.json").write_text(json.dumps(data | {"accuracy_mean": 0.1}))
    file = tmp_path / "table.csv"
    shown = invoke(results, "--csv", file, "--output", tmp_path / "table.txt")
    assert shown.exit_code == 2
    assert "with seed 0" in " ".join(shown.stderr.replace("│", " ").split())
    assert not file.exists()
    assert not (tmp_path / "table.txt").exists()
