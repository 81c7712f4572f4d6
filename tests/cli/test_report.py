"""`devfnn report`: what it writes, and what it refuses before it starts."""

import csv
import functools
import json
import os

import pytest

from cli.shown import messages
from reports.made_results import made_comparison, made_result, made_results_of, ranked

SMALL = made_result(n_chunks=12, n_events=4)


@pytest.fixture
def report(invoke):
    """Call the command."""
    return functools.partial(invoke, "report")


@pytest.fixture
def file(tmp_path):
    """A result in a file."""
    path = tmp_path / "result.json"
    path.write_text(json.dumps(SMALL))
    return path


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the page, where only what is around it matters."""
    monkeypatch.setattr("devfnn.reports.run_report", lambda result: "<html>page</html>")


def test_the_page_goes_beside_the_result(report, file):
    result = report(file)
    assert result.exit_code == 0, result.output
    page = file.with_suffix(".html")
    assert result.stdout == f"The report is in {page}\n"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "devfnn on sea" in text
    assert "<svg" in text


def test_the_page_goes_where_one_says(report, file, tmp_path, undrawn):
    target = tmp_path / "page.html"
    assert report(file, "--output", target, "--quiet").output == ""
    assert target.read_text() == "<html>page</html>"
    assert not file.with_suffix(".html").exists()


def test_measures_go_to_json_and_csv(report, file, tmp_path, undrawn):
    measures, table = tmp_path / "measures.json", tmp_path / "measures.csv"
    assert report(file, "--json", measures, "--csv", table).exit_code == 0
    rows = json.loads(measures.read_text())["measures"]
    assert rows[0]["measure"] == "accuracy"
    assert rows[0]["mean"] == SMALL["accuracy_mean"]
    assert rows[0]["last_window"] == SMALL["windowed"]["accuracy"][-1]
    with table.open(newline="") as lines:
        written = list(csv.DictReader(lines))
    assert [line["measure"] for line in written] == [row["measure"] for row in rows]
    assert float(written[0]["mean"]) == SMALL["accuracy_mean"]


def compared(folder, n_there=None):
    """A comparison in a folder, with the first of its results."""
    comparison = ranked(
        made_comparison(models=("a", "b", "c"), streams=("sea", "rfid"), seeds=(0,))
    )
    (folder / "results").mkdir()
    results = made_results_of(comparison, n_chunks=4)[:n_there]
    for cell, result in zip(comparison["cells"], results, strict=False):
        (folder / cell["file"]).write_text(json.dumps(result | {"model": "other name"}))
    path = folder / "comparison.json"
    path.write_text(json.dumps(comparison))
    return path


def test_a_comparison_finds_its_single_results(report, tmp_path):
    path, table = compared(tmp_path), tmp_path / "table.csv"
    result = report(path, "--csv", table)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"The report is in {path.with_suffix('.html')}\n"
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert "3 models on 2 streams" in page
    assert page.count("Mean over the latest chunks and over seeds.") == 2
    assert table.read_text().startswith("stream,model,mean,std,seeds,rank\nsea,a,")


def test_single_results_that_are_not_there_are_counted(report, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "devfnn.reports.comparison_report", lambda comparison, results: f"{len(results)} runs"
    )
    path = compared(tmp_path, n_there=2)
    result = report(path)
    assert f"4 of 6 single results are not beside {path}." in result.stdout
    assert path.with_suffix(".html").read_text() == "2 runs"


def test_a_comparison_cannot_name_files_outside_its_folder(report, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "devfnn.reports.comparison_report", lambda comparison, results: f"{len(results)} runs"
    )
    folder = tmp_path / "inside"
    folder.mkdir()
    path = compared(folder)
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(SMALL))
    comparison = json.loads(path.read_text())
    comparison["cells"][0]["file"] = "../outside.json"
    comparison["cells"][1]["file"] = str(outside)
    path.write_text(json.dumps(comparison))
    assert "2 of 6 single results are not beside" in report(path).stdout
    assert path.with_suffix(".html").read_text() == "4 runs"


def test_a_file_that_is_no_result_is_refused(report, tmp_path):
    file = tmp_path / "odd.json"
    file.write_text('{"accuracy": ')
    result = report(file)
    assert result.exit_code == 1
    assert "odd.json: damaged, cut short, or not" in result.stderr
    assert not file.with_suffix(".html").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("confusion", "none"),
        ("event_log", [3]),
        ("per_chunk", SMALL["per_chunk"] | {"accuracy": [{}] * 12}),
    ],
)
def test_a_malformed_value_is_refused_in_one_line(report, file, key, value):
    file.write_text(json.dumps(SMALL | {key: value}))
    result = report(file)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {file}: damaged, cut short, or not as devfnn writes it")
    assert not file.with_suffix(".html").exists()


def test_what_cannot_be_written_is_refused_before_the_result_is_read(report, file, monkeypatch):
    monkeypatch.setattr("devfnn.cli.plot.read_either", lambda path: pytest.fail("was read"))
    folder = file.parent / "taken.html"
    folder.mkdir()
    for target, message in (
        (file.parent / "none" / "page.html", "does not exist"),
        (file, "RESULT and --output are the same file"),
        (folder, "is a directory"),
    ):
        result = report(file, "--output", target)
        assert result.exit_code == 2, result.output
        assert message in messages(result)
    assert json.loads(file.read_text()) == SMALL


def test_a_result_that_is_not_there_is_refused(report, tmp_path):
    assert report(tmp_path / "none.json").exit_code == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_page_that_must_not_be_written_is_refused(report, file):
    page = file.with_suffix(".html")
    page.write_text("mine")
    page.chmod(0o400)
    assert report(file).exit_code == 2
    assert page.read_text() == "mine"
