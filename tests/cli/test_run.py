"""`devfnn run`: what it shows, what it writes, what it refuses."""

import csv
import json
import logging
import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np
import pytest

import devfnn
from cli.shown import messages
from devfnn.evaluation import iter_prequential
from devfnn.experiments import Run
from devfnn.experiments.settings import ENDLESS_ROWS
from devfnn.streams import sea
from timeless import timeless

KEYS = {
    *("stream", "model", "preset", "scaling", "rows", "chunks", "accuracy_mean", "accuracy_std"),
    *("accuracy_overall", "precision", "recall", "f1", "kappa", "rules_mean", "layers_mean"),
    *("parameters_mean", "labels_used", "label_fraction", "seconds_predict", "seconds_learn"),
    *("rows_per_second", "model_bytes", "events", "per_chunk", "seconds_ready", "command"),
}

SMALL = ["run", "sea", "--rows", "4000", "--chunk-rows", "250", "--with", "rows_per_concept=500"]


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
    for text in (
        "mean ± std over chunks",
        "rules",
        "layers",
        "rows per second",
        "concept from row",
    ):
        assert text in result.stdout
    for position in range(500, 4000, 500):
        assert f" {position:,} " in result.stdout


def test_a_terminal_shows_a_live_panel(invoke):
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "NO_COLOR": None}
    result = invoke(*SMALL, env=terminal)
    assert result.exit_code == 0, result.output
    for text in ("accuracy now", "accuracy so far", "time left", "DEVFNN (default) on sea"):
        assert text in result.stderr
    assert "4,000 of 4,000 rows" in result.stderr
    assert "time left" not in invoke(*SMALL).stderr


def test_run_writes_json(invoke, tmp_path):
    file = tmp_path / "result.json"
    result = invoke(*SMALL, "--seed", 3, "--json", file)
    assert result.exit_code == 0, result.output
    report = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert report.keys() >= KEYS
    assert report["version"] == devfnn.__version__
    assert report["config"]["seed"] == report["seed"] == 3
    assert report["drift_positions"] == list(range(500, 4000, 500))
    assert (report["rows"], report["chunks"], report["chunk_rows"]) == (4000, 16, 250)
    assert 0.6 < report["accuracy_mean"] < 1.0
    assert report["per_chunk"]["accuracy"][0] is None
    assert {len(values) for values in report["per_chunk"].values()} == {16}
    assert {"kind", "row", "chunk", "explanation"} <= report["event_log"][0].keys()
    assert sum(report["events"].values()) == len(report["event_log"])
    assert (report["stream"], report["model"], report["preset"]) == ("sea", "devfnn", "default")
    assert (report["scaling"], report["is_complete"]) == ("online", True)


def test_run_writes_a_line_for_each_chunk(invoke, tmp_path):
    table, file = tmp_path / "chunks.csv", tmp_path / "result.json"
    result = invoke(*SMALL, "--csv", table, "--json", file)
    assert result.exit_code == 0, result.output
    with table.open(newline="") as lines:
        read = list(csv.DictReader(lines))
    chunks = json.loads(file.read_text())["per_chunk"]
    assert len(read) == 16
    assert read[0]["accuracy"] == ""
    assert [float(line["accuracy"]) for line in read[1:]] == chunks["accuracy"][1:]
    assert [int(line["rules"]) for line in read] == chunks["rules"]


def test_the_same_seed_gives_the_same_run(invoke, tmp_path):
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    for file in files:
        invoke(*SMALL, "--json", file)
    first, second = (json.loads(file.read_text()) for file in files)
    assert timeless(first) == timeless(second)
    assert first["event_log"]


def test_parameters_and_presets_reach_the_model(invoke, tmp_path):
    file = tmp_path / "result.json"
    result = invoke(
        *(*SMALL, "--preset", "static", "--json", file),
        *("--set", "gaussian.max_rules=2", "--set", "voting__ballots=hard"),
    )
    assert result.exit_code == 0, result.output
    config = json.loads(file.read_text())["config"]
    assert (config["growing"], config["gaussian"]["max_rules"]) == (None, 2)
    assert config["voting"]["ballots"] == "hard"


def test_quiet_shows_nothing(invoke):
    result = invoke(*SMALL, "--quiet")
    assert result.exit_code == 0
    assert result.output == ""


def test_a_stream_of_one_chunk_has_no_accuracy(invoke):
    result = invoke("run", "sea", "--rows", "100")
    assert result.exit_code == 0, result.output
    assert "accuracy now -" in result.stderr


def test_what_the_package_logs_is_shown_while_kernels_get_ready(invoke, monkeypatch):
    def ensure_compiled(network):
        logging.getLogger("devfnn").warning("compiling, once on this machine")

    monkeypatch.setattr("devfnn.model.compiling.ensure_compiled", ensure_compiled)
    assert "compiling, once on this machine" in invoke(*SMALL).stderr
    assert invoke(*SMALL, "--quiet").output == ""
    assert logging.getLogger("devfnn").handlers == []


def test_a_file_is_learned_by_its_path(invoke, tmp_path):
    file, report = tmp_path / "rows.csv", tmp_path / "result.json"
    rows = "".join(f"{k % 7},{k % 3},{'low' if k % 7 < 3 else 'high'}\n" for k in range(3000))
    file.write_text("a,b,level\n" + rows)
    result = invoke("run", file, "--json", report)
    assert result.exit_code == 0, result.output
    assert json.loads(report.read_text())["accuracy_overall"] > 0.95
    assert "500 rows" in result.stderr  # the length is not known: a line comes at once


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
    assert "row 1201: 'oops' in column 'a' is no number" in messages(result)
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
    shown = messages(result)
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
    assert "row 998: 'depth [/m]' is -1e+200; values beyond 1e+100" in " ".join(
        result.stderr.split()
    )


def test_a_run_without_labels_is_refused(invoke, tmp_path):
    result = invoke("run", rows_file(tmp_path, odd={}), "--label", "None")
    assert result.exit_code == 2
    assert "labels are needed to learn" in messages(result)


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
    assert report["per_chunk"]["accuracy"] == [result.accuracy for result in expected]
    assert report["labels_used"] == expected[-1].n_labels


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
    assert "--with on_bad_row=skip" in messages(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "0"], "--rows"),
        (["--rows", "many"], "--rows"),
        (["--chunk-rows", "0"], "--chunk-rows"),
        (["--with", "noise=1.5"], "noise must be between 0 and 1, not 1.5"),
        (["--with", "noise=nan"], "noise takes NUMBER, not 'nan'"),
        (["--with", "noise=0.1", "--with", "noise=0.2"], "noise is given twice"),
        (["--with", "chunk_rows=10"], "chunk_rows is not for --with: use --chunk-rows"),
        (["--hide-labels", "1.5"], "--hide-labels"),
        (["--hide-labels", "1"], "labels are needed to learn"),
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
        (["--set", "labels.budget=3"], "budget must be between 0 and 1, not 3"),
        (["--set", "boxes.max_rules=2.5"], "max_rules must be a whole number, not 2.5"),
        (["--set", "boxes__max_rules=nan"], "max_rules must be a whole number, not 'nan'"),
        (["--set", "growing=1"], "growing must be one of KeepLayers, AddLayers, not 1"),
        (["--set", "growing=none"], "without growing nothing follows from a drift"),
        (["--set", "voting=best"], "voting has no form 'best'; there are accuracy"),
        (["--set", "gaussian.vigilance=1"], "the network has no gaussian; add Layer"),
        (["--json", "no/such/folder/result.json"], "does not exist"),
        (["--colour"], "--colour"),
        (["--folds", "0"], "--folds"),
        (["--folds", "10", "--chunk-rows", "100"], "by folds or by chunk_rows, not by both"),
        (["--rows", "10", "--folds", "20"], "10 rows cannot be cut into 20 folds"),
        (["--scaling", "offline"], "--scaling"),
        (["--model", "devfn"], "no model is called 'devfn'; did you mean devfnn"),
        (["--model", "majority", "--set", "memory=1"], "majority has no option 'memory'"),
        (["--model", "majority", "--preset", "static"], "majority has no presets"),
        (["--holdout", "1"], "--holdout"),
        (["--warm-up", "-1"], "--warm-up"),
        (["--label-budget", "0"], "label_budget is a share above 0"),
        (["--label-budget", "1.5"], "label_budget must be between 0 and 1, not 1.5"),
        (["--resume"], "--resume needs --checkpoint FILE"),
        (["--model", "majority", "--checkpoint", "x"], "a run of majority cannot be stored"),
        (["--model", "majority", "--save", "x"], "a run of majority cannot be stored"),
    ],
)
def test_bad_values_are_refused_with_a_clear_message(invoke, arguments, message):
    result = invoke("run", *arguments)
    assert result.exit_code == 2
    shown = messages(result)
    assert message in shown
    assert "Traceback" not in result.output


def test_events_say_where_in_the_stream_they_happened(invoke, tmp_path):
    file = tmp_path / "result.json"
    result = invoke(*SMALL, "--hide-labels", "0.5", "--json", file)
    assert result.exit_code == 0, result.output
    report = json.loads(file.read_text())
    log = report["event_log"]
    rows = [event["row"] for event in log]
    assert rows == sorted(rows)
    assert max(rows) > report["labels_used"]  # not counted by what was learned
    ends = report["per_chunk"]["rows"]
    for event in log:
        assert ends[event["chunk"]] - 250 <= event["row"] <= ends[event["chunk"]]


def test_bad_rows_of_a_run_are_shown_once(invoke, tmp_path, caplog):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n" + "1,0\n2,1\n" * 600 + "oops,1\n")
    result = invoke("run", file, "--with", "on_bad_row=count")
    assert result.exit_code == 0, result.output
    assert result.output.count("oops") == 1
    assert "oops" not in caplog.text


# ---- models, chunks and procedures


def ran(invoke, tmp_path, *arguments):
    """The result of a run, and what was shown."""
    file = tmp_path / "result.json"
    result = invoke("run", *arguments, "--json", file)
    assert result.exit_code == 0, result.output
    return json.loads(file.read_text()), result


@pytest.mark.parametrize("model", ["gclass", "logistic", "majority"])
def test_any_model_can_be_run(invoke, tmp_path, model):
    report, result = ran(invoke, tmp_path, "sea", "--rows", 1000, "--model", model)
    assert report["model"] == model
    assert f"{model} on sea, 1,000 rows" in result.stdout
    assert (report["rules_mean"] is None) == ("rules, mean" not in result.stdout)


def test_models_of_other_libraries_can_be_run(invoke, tmp_path):
    pytest.importorskip("river")
    arguments = ("sea", "--rows", 1000, "--model", "river-hoeffding-tree")
    report, _ = ran(invoke, tmp_path, *arguments, "--set", "grace_period=50")
    assert report["settings"]["changes"] == {"grace_period": 50}
    assert (report["preset"], report["config"], report["rules"]) == (None, None, None)


@pytest.mark.parametrize("model", ["river-gaussian-nb", "sklearn-sgd"])
def test_a_model_of_another_library_says_that_it_needs_all_values(invoke, tmp_path, model):
    pytest.importorskip(model.split("-")[0])
    file = rows_file(tmp_path, odd={997: ""})
    result = invoke("run", file, "--model", model)
    assert result.exit_code == 1, result.output
    shown = messages(result)
    assert f"row 998: 'depth [/m]' is missing, and {model} needs all values" in shown
    assert "--with missing=mean" in shown
    assert "Traceback" not in result.output
    assert invoke("run", file, "--model", model, "--with", "missing=mean").exit_code == 0
    assert invoke("run", file, "--model", "majority").exit_code == 0


def test_a_model_of_another_library_that_fails_is_blamed(invoke, monkeypatch):
    linear = pytest.importorskip("sklearn.linear_model")

    def fail(*_, **__):
        raise ZeroDivisionError("of the library")

    monkeypatch.setattr(linear.SGDClassifier, "partial_fit", fail)
    result = invoke("run", "sea", "--model", "sklearn-sgd")
    assert result.exit_code == 1
    assert "sklearn-sgd failed: ZeroDivisionError: of the library" in result.stderr


def test_a_model_that_cannot_ask_has_no_use_for_a_budget(invoke):
    pytest.importorskip("river")
    result = invoke("run", "sea", "--model", "river-gaussian-nb", "--label-budget", 0.5)
    assert result.exit_code == 2, result.output
    assert "cannot say which labels it wants" in messages(result)


def test_folds_leave_out_rows_and_say_so(invoke, tmp_path):
    report, result = ran(invoke, tmp_path, "sea", "--rows", 1003, "--folds", 4, "--quiet")
    assert result.output == ""
    report, result = ran(invoke, tmp_path, "sea", "--rows", 1003, "--folds", 4)
    assert (report["chunks"], report["chunk_rows"], report["rows_left_out"]) == (4, 250, 3)
    assert "3 rows at the end do not fill a chunk: left out" in " ".join(result.stdout.split())


def test_a_pipe_cannot_be_cut_into_folds(invoke):
    result = invoke("run", "-", "--folds", 4, input="1,2,0\n3,4,1\n")
    assert result.exit_code == 2
    assert "a pipe cannot be cut into folds" in messages(result)


def test_a_pipe_cannot_be_scaled_by_what_is_to_come(invoke):
    result = invoke("run", "-", "--scaling", "dataset", input="1,2,0\n3,4,1\n" * 600)
    assert result.exit_code == 1, result.output
    assert "can be read only once" in result.stderr


def test_scaling_by_the_whole_stream_is_said_to_look_ahead(invoke, tmp_path):
    report, result = ran(invoke, tmp_path, "sea", "--rows", 1000, "--scaling", "dataset")
    assert (report["scaling"], report["config"]["scaling"]) == ("dataset", "none")
    assert "looks ahead" in " ".join(result.stdout.split())
    report, result = ran(invoke, tmp_path, "sea", "--rows", 1000, "--scaling", "none")
    assert (report["scaling"], report["config"]["scaling"]) == ("none", "none")
    assert "looks ahead" not in " ".join(result.stdout.split())


def test_the_preset_of_the_paper_looks_ahead_unless_told_otherwise(invoke, tmp_path):
    short = ("rfid", "--rows", 1000, "--preset", "paper")
    report, result = ran(invoke, tmp_path, *short)
    assert (report["preset"], report["scaling"]) == ("paper", "dataset")
    assert "looks ahead" in " ".join(result.stdout.split())
    report, _ = ran(invoke, tmp_path, *short, "--scaling", "online")
    assert (report["preset"], report["scaling"]) == ("paper", "online")


@pytest.mark.parametrize("preset", ["paper_static", "paper_masked"])
def test_other_presets_of_the_paper_are_run_like_it(invoke, tmp_path, preset):
    report, _ = ran(invoke, tmp_path, "sea", "--rows", 1000, "--preset", preset)
    assert (report["preset"], report["scaling"]) == (preset, "dataset")
    assert report["config"]["voting"]["step"] == 0.1  # as for sea
    assert report["config"]["gaussian"]["consequent"] == "least_squares"


def test_the_preset_of_the_paper_is_for_any_stream(invoke, tmp_path):
    rows = "".join(f"{k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(600))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows)
    for name in ("led", tmp_path / "rows.csv"):
        report, _ = ran(invoke, tmp_path, name, "--rows", 600, "--preset", "paper")
        assert (report["preset"], report["config"]["drift"]["horizon"]) == ("paper", 240)
    result = invoke("run", "-", "--preset", "paper", input=rows)
    assert result.exit_code == 0, result.output


def test_a_stream_of_the_paper_is_cut_as_in_the_paper(invoke, tmp_path):
    report, _ = ran(invoke, tmp_path, "rfid", "--model", "majority")
    assert (report["chunks"], report["chunk_rows"]) == (566, ENDLESS_ROWS // 566)


@pytest.mark.parametrize(
    ("name", "chunks", "rows"),
    [
        ("electricity", 91, 497),
        ("sea-paper", 200, 500),
        ("hyperplane-paper", 240, 500),
        ("weather", 36, 504),
    ],
)
def test_a_data_set_of_the_paper_is_cut_as_in_the_paper(
    invoke, tmp_path, data_dir, name, chunks, rows
):
    arguments = (name, "--model", "majority", "--data-dir", data_dir)
    report, _ = ran(invoke, tmp_path, *arguments)
    assert (report["chunks"], report["chunk_rows"], report["rows"]) == (chunks, rows, chunks * rows)
    report, _ = ran(invoke, tmp_path, *arguments, "--rows", 2000)
    assert (report["rows"], report["chunk_rows"]) == (2000, rows)


def test_the_procedure_is_chosen_by_options(invoke, tmp_path):
    short = ("sea", "--rows", 1000, "--chunk-rows", 100, "--model", "logistic")

    def is_scored(*arguments):
        report, _ = ran(invoke, tmp_path, *short, *arguments)
        return [accuracy is not None for accuracy in report["per_chunk"]["accuracy"]], report

    assert is_scored()[0] == [False] + [True] * 9
    assert is_scored("--warm-up", 3)[0] == [False] * 3 + [True] * 7
    assert is_scored("--holdout", 5)[0] == [False, False, False, False, True] * 2
    scored, report = is_scored("--by-row")
    assert scored == [True] * 10  # all rows but the first
    assert report["rows_scored"] == 999
    _, report = is_scored("--label-budget", 0.25)
    assert 0.0 < report["label_fraction"] <= 0.25
    _, report = is_scored("--delay-labels", 350)
    assert report["per_chunk"]["labels"][:4] == [0, 0, 0, 50]


def test_a_stream_without_rows_is_no_run(invoke, tmp_path):
    np.savez(tmp_path / "x.npz", X=np.zeros((10, 2)), y=np.arange(10) % 2)
    result = invoke("run", tmp_path / "x.npz", "--skip", 50)
    assert result.exit_code in (1, 2), result.output
    assert "Traceback" not in result.output


def test_the_command_is_in_the_result(invoke, tmp_path, monkeypatch):
    words = ["run", "my [sea]", "--rows", "700", "--set", "missing=skip", "--quiet"]
    rows_file(tmp_path, odd={}).rename(tmp_path / "my [sea]")
    monkeypatch.chdir(tmp_path)
    report, _ = ran(invoke, tmp_path, *words[1:])
    assert shlex.split(report["command"]) == [
        "devfnn",
        *words,
        "--json",
        str(tmp_path / "result.json"),
    ]


# ---- files


@pytest.fixture
def unstarted(monkeypatch):
    """Starting a run fails the test."""

    def start(*_, **__):
        pytest.fail("the run started")

    monkeypatch.setattr(Run, "__init__", start)


OUTPUTS = ["--json", "--csv", "--report", "--save", "--checkpoint"]


@pytest.mark.parametrize("option", OUTPUTS)
def test_what_cannot_be_written_is_refused_before_the_run_starts(
    invoke, tmp_path, unstarted, option
):
    (tmp_path / "file").write_text("")
    for path in ("no/such/folder/x", "file/x", ".", "x" * 300):
        result = invoke("run", option, tmp_path / path)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
@pytest.mark.parametrize("option", OUTPUTS)
def test_what_must_not_be_written_is_refused_before_the_run_starts(
    invoke, tmp_path, unstarted, option
):
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o400)
    assert invoke("run", option, tmp_path / "file").exit_code == 2


@pytest.mark.parametrize("option", OUTPUTS)
def test_a_file_that_must_not_be_written_is_refused(
    invoke, tmp_path, unstarted, monkeypatch, option
):
    (tmp_path / "file").write_text("old")
    monkeypatch.setattr("devfnn.cli.output.os.access", lambda *_: False)
    result = invoke("run", option, tmp_path / "file")
    assert result.exit_code == 2, result.output
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("first", OUTPUTS)
def test_one_file_for_two_outputs_is_refused(invoke, tmp_path, unstarted, monkeypatch, first):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "y").mkdir()
    for second in OUTPUTS:
        if second != first:
            result = invoke("run", first, "x", second, "./y/../x")
            assert result.exit_code == 2, result.output
            shown = messages(result)
            assert "are the same file" in shown
            assert first in shown
            assert second in shown
    assert [each.name for each in tmp_path.iterdir()] == ["y"]


def test_the_stream_is_not_written_over(invoke, tmp_path, unstarted, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = rows_file(tmp_path, odd={})
    before = file.read_text()
    for option in OUTPUTS:
        shown = " ".join(invoke("run", "rows.csv", option, "rows.csv").stderr.split())
        assert f"STREAM and {option} are the same file" in shown
    assert file.read_text() == before


def test_a_device_may_take_all_outputs(invoke):
    result = invoke("run", "sea", "--rows", 600, "--json", "/dev/null", "--csv", "/dev/null")
    assert result.exit_code == 0, result.output


def test_all_outputs_are_written_at_once(invoke, tmp_path):
    names = {"--json": "a.json", "--csv": "b.csv", "--report": "c.html"}
    names |= {"--save": "d.model", "--checkpoint": "e.checkpoint"}
    files = [word for option, name in names.items() for word in (option, tmp_path / name)]
    result = invoke("run", "sea", "--rows", 1500, *files)
    assert result.exit_code == 0, result.output
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names.values())
    assert devfnn.load(tmp_path / "d.model").n_rows == 1500
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")


# ---- checkpoints; see also test_interrupts.py


def test_a_checkpoint_that_exists_is_refused_unless_one_goes_on(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, short = pathlib.Path("x"), ("run", "sea", "--rows", 1000)
    result = invoke(*short, "--checkpoint", path, "--resume")
    assert result.exit_code == 0, result.output
    assert "There is no checkpoint yet; the run starts at the beginning." in result.stderr
    before = path.read_bytes()
    result = invoke(*short, "--checkpoint", path)
    assert result.exit_code == 2
    assert "exists: add --resume to continue from it" in messages(result)
    assert path.read_bytes() == before
    result = invoke(*short, "--checkpoint", path, "--resume")
    assert result.exit_code == 0, result.output
    assert "Continuing after 1,000 rows." in result.stderr


def test_a_checkpoint_of_other_settings_is_refused_by_their_name(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = pathlib.Path("x")
    assert invoke("run", "sea", "--rows", 1000, "--checkpoint", path).exit_code == 0
    result = invoke("run", "sea", "--rows", 1000, "--checkpoint", path, "--resume", "--by-row")
    assert result.exit_code == 2
    shown = messages(result)
    assert "procedure.by_row = True, the checkpoint False" in shown


@pytest.mark.parametrize("content", [b"", b"garbage", bytes(1000)])
def test_a_damaged_checkpoint_is_refused(invoke, tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    result = invoke("run", "sea", "--rows", 1000, "--checkpoint", path, "--resume")
    assert result.exit_code == 1, result.output
    assert "damaged, cut short, or not as devfnn writes it" in messages(result)
    assert "Traceback" not in result.output
    assert path.read_bytes() == content


# ---- rare classes


def rare_file(tmp_path):
    """A file of which few rows are of the class fraud, which the features tell apart in part."""
    rng = np.random.default_rng(0)
    is_rare = rng.random(3000) < 0.03
    X = rng.normal(size=(3000, 2)) + 1.2 * is_rare[:, None]
    pairs = zip(X.tolist(), is_rare.tolist(), strict=True)
    rows = (f"{a:.3f},{b:.3f},{'fraud' if own else 'ok'}\n" for (a, b), own in pairs)
    file = tmp_path / "rare.csv"
    file.write_text("a,b,kind\n" + "".join(rows))
    return file


def recall_of(file, label="fraud"):
    """The recall of a class in a result."""
    (found,) = [c for c in json.loads(file.read_text())["per_class"] if c["name"] == label]
    return found["recall"]


def test_class_weights_find_a_rare_class(invoke, tmp_path):
    file, result = rare_file(tmp_path), tmp_path / "result.json"
    recalls = {}
    for weights in ("none", "balanced", "fraud=20,ok=1"):
        shown = invoke("run", file, "--json", result, "--class-weights", weights)
        assert shown.exit_code == 0, shown.output
        recalls[weights] = recall_of(result)
    assert json.loads(result.read_text())["config"]["class_weights"] == [["fraud", 20], ["ok", 1]]
    assert min(recalls["balanced"], recalls["fraud=20,ok=1"]) > recalls["none"] + 0.2
    same = invoke("run", file, "--json", result, "--set", "class_weights=balanced")
    assert same.exit_code == 0, same.output
    assert recall_of(result) == recalls["balanced"]


def test_classes_are_weighted_by_the_names_that_a_stream_gives_them(invoke, tmp_path):
    file = tmp_path / "result.json"
    run = ("run", "rfid", "--rows", 1000, "--folds", 2, "--json", file)
    result = invoke(*run, "--class-weights", "zone 1=3")
    assert result.exit_code == 0, result.output
    (pair,) = json.loads(file.read_text())["config"]["class_weights"]
    assert pair == [json.loads(file.read_text())["classes"][0], 3.0]
    result = invoke(*run, "--class-weights", "zone 9=3")
    assert result.exit_code == 2
    assert "no class is called 'zone 9'; there are zone 1, zone 2" in messages(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--class-weights", "equal"], "class_weights must be one of 'balanced'"),
        (["--class-weights", "1=heavy"], "LABEL=WEIGHT between commas, not '1=heavy'"),
        (["--class-weights", "1=-2"], "weight of class 1 must be between"),
        (["--class-weights", "1=nan"], "weight of class 1 must be between"),
        (["--class-weights", "balanced", "--model", "majority"], "majority has no class weights"),
    ],
)
def test_class_weights_that_cannot_be_are_refused(invoke, arguments, message):
    result = invoke(*SMALL, *arguments)
    assert result.exit_code == 2
    assert message in messages(result)


def test_a_run_that_never_predicts_a_class_says_so_at_its_end(invoke, tmp_path):
    rows = "".join(f"{k % 7},{k % 5},{'odd' if k % 50 == 3 else 'usual'}\n" for k in range(2000))
    file = tmp_path / "rows.csv"
    file.write_text("a,b,kind\n" + rows)
    shown = invoke("run", file, "--class-weights", "usual=100").stdout
    lines = " ".join(shown.replace("─", "").split())
    assert lines.index("class precision recall F1 rows odd") < lines.index("accuracy, mean")
    assert "Class odd was never predicted, though 30 of 1,500 rows have it." in lines
    assert "--class-weights odd=WEIGHT" in lines
    assert "never predicted" not in invoke(*SMALL).stdout


def test_a_run_that_was_resumed_has_the_weights_of_one_that_was_not(invoke, tmp_path):
    """Counts of labels are saved with the checkpoint."""
    file, result, state = rare_file(tmp_path), tmp_path / "result.json", tmp_path / "state"
    run = ("run", file, "--class-weights", "balanced", "--json", result, "--checkpoint", state)
    assert invoke(*run).exit_code == 0
    recall = recall_of(result)
    assert invoke(*run, "--resume").exit_code == 0
    assert recall_of(result) == recall
