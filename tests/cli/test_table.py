"""`devfnn table`, as a user calls it."""

import csv
import functools
import json

import pytest

from devfnn.experiments import grid, table_runs


@pytest.fixture
def invoke(invoke):
    """Call `devfnn table`."""
    return functools.partial(invoke, "table")


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
    assert "majority 50.00 ± 10.00 - - - - 1.000 online 100 1" in lines
    assert any(line.startswith("CR: accuracy in percent") for line in lines)


def test_a_malformed_value_is_refused(invoke, results):
    file = results / "devfnn-electricity.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"accuracy_mean": "high"}))
    shown = invoke(results)
    assert shown.exit_code == 1
    assert f"Error: {results}: damaged, cut short, or not as devfnn writes it" in shown.stderr


def test_files_named_beside_their_folder_count_once(invoke, results):
    file = results / "devfnn-electricity.json"
    assert invoke(results, file).stdout == invoke(results).stdout


def test_peers_are_models_by_streams(invoke, results):
    shown = invoke(results, "--peers")
    assert shown.exit_code == 0, shown.output
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["DEVFNN", "(default)", "1", "80.00", "80.00", "online", "1,000", "1.00", "-"] in lines
    assert ["majority", "1", "50.00", "50.00", "online", "1,000", "2.00", "0.500"] in lines


@pytest.mark.parametrize(
    ("written_as", "start"),
    [
        ("latex", "% Needs \\usepackage{booktabs}."),
        ("markdown", "**Table 1 of the paper"),
    ],
)
def test_a_table_is_written_in_every_format(invoke, results, tmp_path, written_as, start):
    file = tmp_path / "table.out"
    shown = invoke(results, "--format", written_as, "--output", file)
    assert shown.exit_code == 0, shown.output
    assert file.read_text().startswith(start)
    assert "DEVFNN (default)" in file.read_text()
    assert "The table is in" in shown.stdout
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
    assert invoke(results, "--format", "latex", "--quiet").output == ""


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', '{"format": 99, "per_chunk": {}}'])
def test_a_file_that_is_no_result_is_named(invoke, results, content):
    (results / "other.json").write_text(content)
    shown = invoke(results)
    assert shown.exit_code == 1
    assert "other.json" in shown.stderr
    assert "Traceback" not in shown.output


def test_what_is_not_there_is_refused(invoke, results):
    assert invoke(results / "nothing.json").exit_code == 2
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


SMALL = ("--streams", "rfid,sine", "--rows", 1200, "--seeds", 2, "--models")


def test_without_results_all_that_is_missing_is_run(invoke, in_one_process, tmp_path):
    folder = tmp_path / "runs"
    words = (*SMALL, "devfnn,dsscn,majority", "--folder", folder)
    shown = invoke(*words)
    assert shown.exit_code == 0, shown.output
    assert len(in_one_process) == len(list(folder.glob("*.json"))) == 12
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "rfid (simulated)" in lines
    assert any(line.startswith("DSSCN ") for line in lines)
    assert any(line.startswith("published 91 ± 14.6") for line in lines)
    in_one_process.clear()
    again = invoke(*words)
    assert (again.stdout, in_one_process) == (shown.stdout, [])
    assert invoke(folder).stdout == shown.stdout
    peers = invoke(*words, "--peers")
    assert in_one_process == [] and "Models by streams" in peers.stdout


def test_what_failed_is_told_and_the_others_are_shown(
    invoke, in_one_process, tmp_path, monkeypatch
):
    def too_bad(cell, to):
        return grid.Outcome(cell, None, "too bad")

    real = grid.run_cell
    monkeypatch.setattr(
        grid, "run_cell", lambda cell, to: too_bad(cell, to) if cell.seed else real(cell, to)
    )
    shown = invoke(*SMALL, "majority", "--folder", tmp_path / "runs")
    assert shown.exit_code == 1
    assert "Failed: majority on sine, seed 1: too bad" in shown.stderr
    assert "majority" in shown.stdout
    monkeypatch.setattr(grid, "run_cell", too_bad)
    nothing = invoke(*SMALL, "majority", "--folder", tmp_path / "other")
    assert nothing.exit_code == 1
    assert "Failed: majority on rfid, seed 0: too bad" in nothing.stderr
    assert nothing.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--models", "pn"), "no model is called 'pn'"),
        (("--streams", "nowhere"), "nowhere"),
        (("--models", ","), "at least one model"),
        (("--seeds", "0"), "--seeds"),
        (("--peers", "--ablations"), "--peers and --models do not go"),
        (("--ablations", "--models", "pnn"), "--ablations are of DEVFNN"),
    ],
)
def test_what_cannot_be_run_is_refused_first(invoke, in_one_process, tmp_path, words, message):
    shown = invoke(*SMALL[:-1], *words, "--folder", tmp_path / "runs")
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert in_one_process == []


@pytest.mark.parametrize("option", ["--models", "--streams", "--rows"])
def test_results_and_orders_to_run_do_not_go_together(invoke, results, option):
    shown = invoke(results, option, "1")
    assert shown.exit_code == 2
    assert "nothing is run" in shown.stderr


def test_ablations_are_a_table_too(invoke, in_one_process, tmp_path, monkeypatch):
    monkeypatch.setattr(table_runs, "ABLATIONS", {"merging off": {"merging": None}})
    for others in ("STACKED_ABLATIONS", "PAPER_ABLATIONS"):
        monkeypatch.setattr(table_runs, others, {})
    words = ("--ablations", "--streams", "sine", "--rows", 600, "--seeds", 1)
    shown = invoke(*words, "--folder", tmp_path / "runs")
    assert shown.exit_code == 0, shown.output
    assert len(in_one_process) == 4
    assert "What each mechanism is worth" in shown.stdout
    assert "merging=none" in shown.stdout


@pytest.mark.parametrize("n_before", [0, 1])
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(
    invoke, in_one_process, tmp_path, monkeypatch, n_before
):
    real, done = grid.run_cell, []

    def attempt(cell, to):
        if len(done) == n_before:
            raise KeyboardInterrupt
        done.append(cell)
        return real(cell, to)

    monkeypatch.setattr(grid, "run_cell", attempt)
    shown = invoke(*SMALL, "majority", "--folder", tmp_path / "runs")
    assert shown.exit_code == 130
    assert "To continue:" in shown.stderr
    assert ("majority" in shown.stdout) == bool(n_before)
