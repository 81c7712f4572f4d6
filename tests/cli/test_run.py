"""`devfnn run`: what it shows, what it writes, what it refuses."""

import json
import logging
import os
import subprocess
import sys

import pytest

import devfnn
from devfnn.evaluation import iter_prequential
from devfnn.streams import sea

SMALL = ["run", "--rows", "4000", "--chunk-rows", "250", "--with", "rows_per_concept=500"]


def test_version(invoke):
    result = invoke("version")
    assert result.exit_code == 0
    assert result.stdout == f"devfnn {devfnn.__version__}\n"


def test_help_names_the_commands(invoke):
    result = invoke("--help")
    assert result.exit_code == 0
    assert "run" in result.stdout
    assert "version" in result.stdout


def test_run_shows_progress_lines_and_then_the_result(invoke):
    result = invoke(*SMALL)
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stderr.splitlines() if "rows/s" in line]
    assert len(lines) == 10
    assert "accuracy" in lines[-1]
    assert "4,000 rows" in lines[-1]
    for text in ("mean ± std over chunks", "rules", "layers", "rows per second", "new concept"):
        assert text in result.stdout
    for position in range(500, 4000, 500):
        assert f" {position:,} " in result.stdout


def test_run_writes_json(invoke, tmp_path):
    file = tmp_path / "result.json"
    result = invoke(*SMALL, "--seed", 3, "--json", file)
    assert result.exit_code == 0, result.output
    report = json.loads(file.read_text())
    assert report["version"] == devfnn.__version__
    assert report["config"]["seed"] == 3
    assert report["drift_positions"] == list(range(500, 4000, 500))
    assert report["summary"]["n_rows"] == 4000
    assert 0.6 < report["summary"]["accuracy_mean"] < 1.0
    assert report["accuracies"][0] is None
    assert len(report["accuracies"]) == 16
    assert {"kind", "row"} <= report["events"][0].keys()


def test_the_same_seed_gives_the_same_run(invoke, tmp_path):
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    for file in files:
        invoke(*SMALL, "--json", file)
    first, second = (json.loads(file.read_text()) for file in files)
    assert first["accuracies"] == second["accuracies"]
    assert first["events"] == second["events"]


def test_parameters_and_presets_reach_the_model(invoke, tmp_path):
    file = tmp_path / "result.json"
    result = invoke(
        *SMALL, "--preset", "static", "--set", "max_rules=2", "--set", "vote=hard", "--json", file
    )
    assert result.exit_code == 0, result.output
    config = json.loads(file.read_text())["config"]
    assert (config["growing"], config["max_rules"], config["vote"]) == (False, 2, "hard")


def test_quiet_shows_nothing(invoke):
    result = invoke(*SMALL, "--quiet")
    assert result.exit_code == 0
    assert result.output == ""


def test_a_stream_of_one_chunk_has_no_accuracy(invoke):
    result = invoke("run", "--rows", "100")
    assert result.exit_code == 0, result.output
    assert "accuracy -" in result.stderr


def test_what_the_package_logs_is_shown_while_kernels_get_ready(invoke, monkeypatch):
    def ensure_compiled():
        logging.getLogger("devfnn").warning("compiling, once on this machine")

    monkeypatch.setattr("devfnn.model.compiling.ensure_compiled", ensure_compiled)
    assert "compiling, once on this machine\n" in invoke(*SMALL).stderr
    assert invoke(*SMALL, "--quiet").output == ""
    assert logging.getLogger("devfnn").handlers == []


def test_a_file_is_learned_by_its_path(invoke, tmp_path):
    file, report = tmp_path / "rows.csv", tmp_path / "result.json"
    rows = "".join(f"{k % 7},{k % 3},{'low' if k % 7 < 3 else 'high'}\n" for k in range(3000))
    file.write_text("a,b,level\n" + rows)
    result = invoke("run", file, "--json", report)
    assert result.exit_code == 0, result.output
    assert json.loads(report.read_text())["summary"]["accuracy"] > 0.95
    assert "1,000 rows" in result.stderr  # the length is not known: lines come at 1000, 2000, ...


def test_a_pipe_is_learned_as_it_comes(invoke):
    rows = "".join(f"{k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(2000))
    result = invoke("run", "-", input=rows)
    assert result.exit_code == 0, result.output
    assert "2,000 rows" in result.stdout


def test_data_that_cannot_be_read_are_said_to_be_so(invoke, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n" + "1,0\n2,1\n" * 600 + "oops,1\n")
    result = invoke("run", file)
    assert result.exit_code == 1
    assert "row 1201: 'oops' in column 'a' is no number" in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


def rows_file(tmp_path, *, odd: dict[int, str]):
    """A file of 1200 rows with two features, some values of the first replaced."""
    file = tmp_path / "rows.csv"
    rows = [f"{odd.get(k, k % 7)},{k % 3},{int(k % 7 < 3)}\n" for k in range(1200)]
    file.write_text("depth [/m],b,kind\n" + "".join(rows))
    return file


def test_a_missing_value_is_named_with_what_to_type(invoke, tmp_path):
    file = rows_file(tmp_path, odd={997: ""})
    result = invoke("run", file)
    assert result.exit_code == 1, result.output
    shown = " ".join(result.stderr.split())
    assert f"{file}, row 998: 'depth [/m]' is missing." in shown
    assert "--set missing=skip" in shown
    assert "--with missing=mean" in shown
    assert "row 998: " in " ".join(invoke("run", file, "--skip", 500).stderr.split())
    assert "as shuffled: " in " ".join(invoke("run", file, "--shuffle", 2000).stderr.split())
    assert invoke("run", file, "--set", "missing=skip").exit_code == 0
    assert invoke("run", file, "--with", "missing=mean").exit_code == 0
    assert invoke("run", file, "--rows", 900).exit_code == 0


def test_a_value_that_is_too_large_is_named(invoke, tmp_path):
    result = invoke("run", rows_file(tmp_path, odd={997: "-1e200"}), "--set", "missing=skip")
    assert result.exit_code == 1
    assert "row 998: 'depth [/m]' is -1e+200; beyond 1e+100" in " ".join(result.stderr.split())


def test_a_run_without_labels_is_refused(invoke, tmp_path):
    result = invoke("run", rows_file(tmp_path, odd={}), "--label", "None")
    assert result.exit_code == 2
    assert "a run needs labels to learn" in " ".join(result.stderr.split())


def test_a_run_that_learned_nothing_is_no_result(invoke, tmp_path):
    file, report = tmp_path / "rows.csv", tmp_path / "result.json"
    file.write_text("a,kind\n" + "1,?\n2,?\n" * 400)
    result = invoke("run", file, "--json", report)
    assert result.exit_code == 1, result.output
    assert "nothing was learned" in result.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_a_run_takes_transforms(invoke, tmp_path):
    file = tmp_path / "result.json"
    result = invoke(
        *("run", "sea", "--seed", 3, "--rows", 3000, "--chunk-rows", 250, "--json", file),
        *("--skip", 700, "--shuffle", 400, "--hide-labels", 0.5, "--delay-labels", 300),
    )
    assert result.exit_code == 0, result.output
    stream = sea(seed=3).skip(700).take(3000).shuffle(400, seed=3).hide_labels(0.5, seed=3)
    stream = stream.delay_labels(rows=300).chunks(rows=250)
    expected = list(iter_prequential(devfnn.DEVFNN(devfnn.Config(seed=3)), stream))
    report = json.loads(file.read_text())
    assert report["stream"] == "sea"
    assert report["accuracies"] == [result.accuracy for result in expected]
    assert report["summary"]["n_labels"] == expected[-1].n_labels


def test_labels_may_be_delayed_for_ever(invoke):
    result = invoke("run", "sea", "--rows", 1000, "--delay-labels", 10**30)
    assert result.exit_code == 0, result.output
    assert "labels used" in result.stdout


def test_the_name_of_a_file_is_shown_as_it_is(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows_file(tmp_path, odd={}).rename("[bold].csv")
    assert "on [bold].csv, 1,200 rows" in invoke("run", "[bold].csv").stdout


def test_a_terminal_that_lacks_a_character_gets_its_code(tmp_path):
    (tmp_path / "rows.csv").write_text("größe,b\n1,0\n2,1\n", encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-m", "devfnn", "data", "head", tmp_path / "rows.csv"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
    assert rb"gr\xf6\xdfe" in finished.stdout


def test_options_are_named_as_one_types_them(invoke, tmp_path):
    result = invoke("run", rows_file(tmp_path, odd={1100: "oops"}))
    assert result.exit_code == 1
    assert "--with on_bad_row=skip" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "0"], "--rows"),
        (["--rows", "many"], "--rows"),
        (["--chunk-rows", "0"], "--chunk-rows"),
        (["--with", "noise=1.5"], "noise must be between 0 and 1, not 1.5"),
        (["--with", "noise=nan"], "noise takes NUMBER, not 'nan'"),
        (["--with", "noise=0.1", "--with", "noise=0.2"], "noise is given twice"),
        (["--with", "chunk_rows=10"], "chunk_rows is not for --with: --chunk-rows sets it"),
        (["--hide-labels", "1.5"], "--hide-labels"),
        (["--hide-labels", "1"], "a run needs labels to learn"),
        (["--skip", "-1"], "--skip"),
        (["--shuffle", "0"], "--shuffle"),
        (["--json", "/proc/result.json"], "cannot write '/proc/result.json'"),
        (["--with", "nois=0.1"], "sea has no option 'nois'; did you mean noise?"),
        (["--with", "noise"], "NAME=VALUE is needed, not 'noise'"),
        (["--label", "2"], "--label is for files"),
        (["see"], "did you mean sea"),
        (["no/such/file.csv"], "there is no file and no stream called 'no/such/file.csv'"),
        (["--seed", "-1"], "--seed"),
        (["--preset", "best"], "--preset"),
        (["--set", "memory"], "NAME=VALUE is needed, not 'memory'"),
        (["--set", "=1"], "NAME=VALUE is needed"),
        (["--set", "colour=1"], "no parameter is called 'colour'"),
        (["--set", "memory=3"], "memory must be between 0.5 and 1, not 3"),
        (["--set", "max_rules=2.5"], "max_rules must be a whole number, not 2.5"),
        (["--set", "max_rules=nan"], "max_rules must be a whole number, not 'nan'"),
        (["--set", "growing=1"], "growing must be True or False, not 1"),
        (["--json", "no/such/folder/result.json"], "does not exist"),
        (["--colour"], "--colour"),
    ],
)
def test_bad_values_are_refused_with_a_clear_message(invoke, arguments, message):
    result = invoke("run", *arguments)
    assert result.exit_code == 2
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert message in shown
    assert "Traceback" not in result.output


def test_events_say_where_in_the_stream_they_happened(invoke, tmp_path):
    file = tmp_path / "result.json"
    result = invoke(*SMALL, "--hide-labels", "0.5", "--json", file)
    assert result.exit_code == 0, result.output
    rows = [event["stream_row"] for event in json.loads(file.read_text())["events"]]
    assert rows == sorted(rows)
    assert all(row % 250 == 0 for row in rows)


def test_bad_rows_of_a_run_are_shown_once(invoke, tmp_path, caplog):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n" + "1,0\n2,1\n" * 600 + "oops,1\n")
    result = invoke("run", file, "--with", "on_bad_row=count")
    assert result.exit_code == 0, result.output
    assert result.output.count("oops") == 1
    assert "oops" not in caplog.text
