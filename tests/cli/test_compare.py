"""`devfnn compare`: models against each other, over processes, as often as it is stopped."""

import csv
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys

import pytest

from cli.shown import messages
from devfnn.experiments import StreamSettings
from devfnn.experiments.grid import cells_of, run_cell
from devfnn.experiments.result_files import read_either, read_result
from timeless import timeless

SMALL = ("--rows", 600, "--chunk-rows", 100)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, so that names are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unstarted(monkeypatch):
    """Running cells fails the test."""

    def run_grid(*_):
        pytest.fail("a run started")

    monkeypatch.setattr("devfnn.cli.running.run_grid", run_grid)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out pages, where only what is around them matters."""
    monkeypatch.setattr("devfnn.reports.comparison_report", lambda comparison, results: "a page")
    page = "a page of {model} on {stream}"
    monkeypatch.setattr("devfnn.reports.run_report", lambda result: page.format_map(result))


def rows_file(path, *, gap=None, step=7):
    path.parent.mkdir(exist_ok=True)
    rows = [f"{'' if k == gap else k % step},{k % 3},{int(k % step < 3)}\n" for k in range(600)]
    path.write_text("a,b,y\n" + "".join(rows))
    return str(path)


def modified(folder):
    """When the files of a folder were written."""
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}


# ---- what comes of it


def test_a_comparison_is_run_told_and_written(invoke, here, in_one_process, request):
    command = ("compare", "--models", "logistic,majority,no-change", "--streams", "sea,led")
    command += (*SMALL, "--seeds", 2, "--jobs", 2, "--output", "out")
    result = invoke(*command, "--json", "c.json", "--csv", "c.csv")
    assert result.exit_code == 0, result.output
    for part in ("Accuracy", "logistic", "majority", "sea", "led", "rank", "Friedman test"):
        assert part in result.stdout
    assert "Report: out/comparison.html" in result.stdout
    assert "logistic on sea, seed 0: " in result.stderr

    found = read_either("c.json")
    assert (here / "c.json").read_text() == (here / "out" / "comparison.json").read_text()
    assert (found["models"], found["streams"], found["seeds"]) == (
        ["logistic", "majority", "no-change"],
        ["sea", "led"],
        [0, 1],
    )
    assert found["is_complete"] is True
    assert found["failed"] == []
    assert found["ranking"]["models"] == found["models"]
    assert len(found["cells"]) == 12
    for cell in found["cells"]:
        single = read_result(here / "out" / cell["file"])
        assert single["accuracy_mean"] == cell["accuracy_mean"]
        assert single["is_complete"] is True
        assert single["seed"] == cell["seed"]
    with (here / "c.csv").open(newline="") as lines:
        assert [line["model"] for line in csv.DictReader(lines)] == [
            cell["model"] for cell in found["cells"]
        ]
    page = (here / "out" / "comparison.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "logistic" in page

    # The other commands take the results; their pages are drawn in tests of reports.
    request.getfixturevalue("undrawn")
    single = here / "out" / "runs" / "logistic__sea__0.json"
    for words in (
        ("report", "out/comparison.json", "--output", "r.html"),
        ("report", single, "--output", "s.html"),
        ("table", "out"),
        ("plot", single, "--output", "p.svg"),
        ("plot", "out/comparison.json", "--output", "q.svg"),
    ):
        taken = invoke(*words)
        assert taken.exit_code == 0, (words, taken.output)
    assert (here / "r.html").read_text() == "a page"
    assert (here / "s.html").read_text() == "a page of logistic on sea"

    # The same command runs nothing again.
    before = modified(here / "out" / "runs")
    again = invoke(*command, "--json", "d.json")
    assert again.exit_code == 0, again.output
    assert again.stderr.count("already there") == 12
    assert modified(here / "out" / "runs") == before
    other = read_either("d.json")
    assert {**other, "command": 0} == {**found, "command": 0}


def test_models_are_ranked_by_any_measure(invoke, here, in_one_process):
    command = ("compare", "--models", "logistic,rls,majority", "--streams", "sea,led", *SMALL)
    command += ("--output", "out", "--json", "c.json")
    for measure in ("log_loss", "g_mean"):
        result = invoke(*command, "--measure", measure)
        assert result.exit_code == 0, result.output
        title = f"{measure} over all rows, mean over seeds"
        is_lower_better = measure == "log_loss"
        title += "; lower is better" if is_lower_better else " (%)"
        assert title in result.stdout
        assert f"Ranks are by {measure}" in result.stdout
        found = read_either("c.json")
        assert found["measure"] == measure
        values = {(cell["stream"], cell["model"]): cell[measure] for cell in found["cells"]}
        for stream in found["streams"]:
            single = read_result(here / "out" / "runs" / f"logistic__{stream}__0.json")
            assert values[stream, "logistic"] == single[measure]
        mean_ranks = dict(zip(found["models"], found["ranking"]["mean_ranks"], strict=True))
        best = min if is_lower_better else max
        for stream in found["streams"]:
            winner = best(found["models"], key=lambda model, at=stream: values[at, model])
            assert mean_ranks[winner] <= 2.0
        page = (here / "out" / "comparison.html").read_text(encoding="utf-8")
        name = {"log_loss": "Log loss", "g_mean": "G-mean"}[measure]
        assert f"<h2>{name}</h2>" in page
        assert f"<h2>{name} over time</h2>" in page
        assert f"Mean ranks by {name.replace('Log', 'log')}, 1 is best" in page
        lines = [line.split() for line in result.stdout.splitlines()]
        models = [line[0] for line in lines if line and line[0] in found["models"]]
        assert models == sorted(models, key=lambda model, own=mean_ranks: own[model])


def test_a_measure_that_there_is_not_is_refused(invoke, here, unstarted):
    result = invoke("compare", *SMALL, "--measure", "speed")
    assert result.exit_code == 2
    assert "no measure is called 'speed'; there are accuracy, precision" in messages(result)


def test_what_failed_is_told_and_the_others_finish(invoke, here, in_one_process, undrawn):
    rows_file(here / "gappy.csv", gap=430)
    command = ("compare", "--models", "devfnn,majority", "--streams", "gappy.csv,sea", *SMALL)
    result = invoke(*command, "--output", "out")
    assert result.exit_code == 1, result.output
    assert "Failed: devfnn on gappy.csv, seed 0: " in result.stderr
    assert len(in_one_process) == 4
    found = read_either("out/comparison.json")
    assert len(found["cells"]) == 3
    assert [each["cell"] for each in found["failed"]] == ["devfnn on gappy.csv, seed 0"]
    assert found["ranking"] is None


def test_nothing_but_failures_is_a_comparison_too(invoke, here, in_one_process):
    rows_file(here / "gappy.csv", gap=430)
    result = invoke("compare", "--models", "devfnn", "--streams", "gappy.csv", "--output", "out")
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    assert not (here / "out" / "comparison.html").exists()
    assert read_either("out/comparison.json")["cells"] == []


def test_parameters_are_set_by_model(invoke, here, in_one_process, undrawn):
    sets = (
        "--set",
        "devfnn@static:gaussian.max_rules=2",
        "--set",
        "devfnn@static:voting.floor=0.1",
    )
    models = ("--models", "devfnn,devfnn@static", "--streams", "sea", *SMALL)
    result = invoke("compare", *models, *sets, "--output", "out", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.output == ""
    plain, static = (
        read_result(here / "out" / "runs" / f"{model}__sea__0.json")
        for model in ("devfnn", "devfnn@static")
    )
    assert static["settings"]["changes"] == {"gaussian__max_rules": 2, "voting__floor": 0.1}
    assert (static["config"]["gaussian"]["max_rules"], static["config"]["growing"]) == (2, None)
    assert plain["settings"]["changes"] == {}


def test_what_is_said_of_streams_holds_for_all(invoke, here, in_one_process, undrawn):
    words = ("--models", "majority,logistic", "--streams", "sea", "--rows", 600, "--folds", 4)
    words += ("--delay-labels", 200, "--hide-labels", 0.5, "--scaling", "dataset")
    assert invoke("compare", *words, "--output", "out").exit_code == 0
    for model in ("majority", "logistic"):
        settings = read_result(f"out/runs/{model}__sea__0.json")["settings"]
        assert settings["scaling"] == "dataset"
        assert settings["procedure"]["by_row"] is False
        stream = settings["stream"]
        assert (stream["folds"], stream["delay_labels"], stream["hide_labels"]) == (4, 200, 0.5)


def test_files_of_the_same_name_do_not_clash(invoke, here, in_one_process, undrawn):
    for place, folder in enumerate("ab"):
        rows_file(here / folder / "rows.csv", step=7 + place)
    words = ("--models", "majority", "--streams", "a/rows.csv,b/rows.csv", "--output", "out")
    result = invoke("compare", *words, *SMALL)
    assert result.exit_code == 0, result.output
    assert len(list((here / "out" / "runs").iterdir())) == 2
    cells = read_either("out/comparison.json")["cells"]
    assert len({cell["accuracy_mean"] for cell in cells}) == 2
    for cell in cells:
        assert read_result(here / "out" / cell["file"])["stream"] == cell["stream"]


def test_rows_may_come_one_by_one_and_models_be_scaled_as_each_is_used_to(
    invoke, here, in_one_process, undrawn
):
    words = ("--models", "majority,logistic", "--streams", "sea", *SMALL, "--by-row")
    assert invoke("compare", *words, "--delay-labels", 200, "--output", "out").exit_code == 0
    found = {
        model: read_result(f"out/runs/{model}__sea__0.json") for model in ("majority", "logistic")
    }
    assert [each["scaling"] for each in found.values()] == ["none", "online"]
    for each in found.values():
        assert each["settings"]["procedure"]["by_row"] is True
        assert each["per_chunk"]["labels"][:4] == [0, 0, 100, 100]


def test_only_files_have_to_be_told_their_label(invoke, here, in_one_process, undrawn):
    rows_file(here / "rows.csv")
    words = ("--models", "majority", "--streams", "sea,rows.csv", "--label", "b", *SMALL)
    result = invoke("compare", *words, "--output", "out")
    assert result.exit_code == 0, result.output
    cells = read_either("out/comparison.json")["cells"]
    features = {
        cell["stream"]: read_result(f"out/{cell['file']}")["feature_names"] for cell in cells
    }
    assert features["rows.csv"] == ["a", "y"]


# ---- what is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--models", "devfn"], "no model is called 'devfn'; did you mean devfnn"),
        (["--streams", "see"], "did you mean sea"),
        (["--streams", "sea,no/such/file.csv"], "there is no file and no stream called"),
        (["--models", ","], "at least one model and one stream are needed"),
        (["--models", "devfnn,devfnn@default"], "devfnn and devfnn@default are the same model"),
        (["--models", "rls,rls"], "the model rls is named more than once"),
        (["--models", "devfnn@best"], "a preset is one of"),
        (["--streams", "-"], "a pipe can be read only once"),
        (["--set", "memory=1"], "MODEL:NAME=VALUE is needed"),
        (["--set", "gclass:memory=1"], "MODEL:NAME=VALUE is needed, with one of"),
        (["--set", "devfnn:memory"], "NAME=VALUE is needed, not 'memory'"),
        (["--set", "devfnn:colour=1"], "no parameter is called 'colour'"),
        (["--set", "majority:memory=1"], "majority has no option 'memory'"),
        (["--folds", "3", "--chunk-rows", "5"], "by folds or by chunk_rows, not by both"),
        (["--rows", "10", "--folds", "20"], "10 rows cannot be cut into 20 folds"),
        (["--seeds", "0"], "--seeds"),
        (["--jobs", "0"], "--jobs"),
        (["--test", "t"], "--test"),
        (["--json", "no/folder/x"], "does not exist"),
        (["--csv", "no/folder/x"], "does not exist"),
        (["--json", "x", "--csv", "x"], "are the same file"),
        (["--json", "comparison/comparison.json"], "are the same file"),
        (["--output", "a-file"], "a-file"),
        (["--output", "a-file/x"], "a-file/x"),
    ],
)
def test_bad_values_are_refused_before_anything_is_run(invoke, here, unstarted, words, message):
    (here / "a-file").write_text("")
    (here / "comparison").mkdir()
    result = invoke("compare", *words)
    assert result.exit_code == 2, result.output
    assert message in messages(result)
    assert "Traceback" not in result.output
    assert sorted(each.name for each in here.iterdir()) == ["a-file", "comparison"]


@pytest.mark.parametrize("name", ["comparison.json", "comparison.html", "runs"])
def test_a_folder_that_cannot_take_the_results_is_refused_first(invoke, here, unstarted, name):
    (here / "out").mkdir()
    if name == "runs":
        (here / "out" / name).write_text("")
    else:
        (here / "out" / name).mkdir()
    result = invoke("compare", "--models", "majority", "--streams", "sea", "--output", "out")
    assert result.exit_code == 2, result.output


def test_results_of_other_settings_are_refused(invoke, here, undrawn):
    (here / "out" / "runs").mkdir(parents=True)
    cells = cells_of(
        ["majority"],
        [StreamSettings(name="sea", rows=600, chunk_rows=100)],
        1,
    )
    assert run_cell(cells[0], here / "out" / "runs").error is None
    words = ("compare", "--models", "majority", "--streams", "sea", "--output", "out")
    assert invoke(*words, *SMALL).exit_code == 0  # the very same: nothing is run
    before = modified(here / "out" / "runs")
    result = invoke(*words, "--rows", 700, "--chunk-rows", 100)
    assert result.exit_code == 1, result.output
    assert "other settings, stream.rows = 600 instead of 700" in messages(result)
    assert modified(here / "out" / "runs") == before


# ---- stopped and gone on with

LONG = ["compare", "--models", "majority,logistic", "--streams", "sea,sine,led"]
LONG += ["--rows", "10000", "--jobs", "1", "--output", "out"]

UNDRAWN = """
import sys, types
page = lambda comparison, results: "a page"
sys.modules["devfnn.reports"] = types.SimpleNamespace(comparison_report=page)
from devfnn.cli import main
main()
"""
"""The command line without figures, which take longer than what is shown here."""


def started(here):
    """A comparison in a process group of its own, which has just finished a run.

    And how many it found already there.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", UNDRAWN, *LONG],
        cwd=here,
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    n_there = 0
    while "rows/s" not in (line := process.stderr.readline()) or "already there" in line:
        assert line, "it ended by itself"
        n_there += "already there" in line
    return process, n_there


def test_a_comparison_that_is_stopped_goes_on_with_the_same_command(
    invoke, here, ctrl_c, in_one_process, undrawn
):
    runs = here / "out" / "runs"

    def done():
        return {name: time for name, time in modified(runs).items() if name.endswith(".json")}

    # Ctrl-C on a terminal reaches all processes.
    process, n_there = started(here)
    assert n_there == 0
    os.killpg(process.pid, signal.SIGINT)
    output, messages = process.communicate(timeout=60)
    assert process.returncode == 130, messages
    assert "Traceback" not in messages
    assert "To continue: devfnn compare" in messages
    assert "Accuracy" in output
    partial = json.loads((here / "out" / "comparison.json").read_text())
    assert partial["is_complete"] is False
    command = shlex.split(messages.split("To continue: ")[1].splitlines()[0])[1:]
    assert sorted(command) == sorted(LONG)
    by_ctrl_c = done()
    assert 0 < len(by_ctrl_c) < 6

    # A kill leaves no process behind: they would keep the pipes open.
    for file in sorted(by_ctrl_c)[1:]:
        (runs / file).unlink()  # so that enough is left to be stopped again
    by_ctrl_c = done()
    process, n_there = started(here)
    assert n_there == len(by_ctrl_c)
    process.kill()
    process.communicate(timeout=60)
    by_kill = done()
    assert 1 < len(by_kill) < 6
    assert by_kill.items() >= by_ctrl_c.items()

    # The same command finishes the rest, and comes to what nobody stopped.
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("already there") == len(by_kill)
    assert len(in_one_process) == 6 - len(by_kill)
    assert done().items() >= by_kill.items()
    found = timeless(json.loads((here / "out" / "comparison.json").read_text()))
    assert [pathlib.Path(cell["file"]).name for cell in found["cells"]] == [
        f"{model}__{stream}__0.json"
        for stream in ("sea", "sine", "led")
        for model in ("majority", "logistic")
    ]
    (here / "out").rename(here / "stopped")
    assert invoke(*LONG).exit_code == 0
    assert found == timeless(json.loads((here / "out" / "comparison.json").read_text()))


def test_streams_have_options_of_their_own(invoke, tmp_path, in_one_process, undrawn):
    file = tmp_path / "comparison.json"
    names = ("--models", "majority", "--streams", "sea,led", "--rows", 600, "--chunk-rows", 200)
    options = ("--with", "sea:noise=0.4", "--with", "sea:rows_per_concept=300")
    result = invoke("compare", *names, *options, "--output", tmp_path / "out", "--json", file)
    assert result.exit_code == 0, result.output
    runs = tmp_path / "out" / "runs"
    settings = [json.loads(each.read_text())["settings"] for each in sorted(runs.glob("*.json"))]
    led, sea = (each["stream"]["options"] for each in settings)
    assert (sea["noise"], sea["rows_per_concept"]) == (0.4, 300)
    assert "noise" not in led
    refused = invoke("compare", *names, "--with", "agrawal:noise=0.1")
    assert refused.exit_code == 2
    assert "STREAM:NAME=VALUE is needed, with one of sea, led" in messages(refused)


def test_only_files_are_told_their_label(invoke, tmp_path, in_one_process, undrawn):
    rows = "".join(f"{k % 7},{int(k % 7 < 3)},{k % 3}\n" for k in range(600))
    (tmp_path / "mine.csv").write_text("a,kind,b\n" + rows)
    names = ("--models", "majority", "--streams", f"sea,{tmp_path / 'mine.csv'}", "--rows", 600)
    file = tmp_path / "comparison.json"
    others = ("--label", "kind", "--chunk-rows", 200, "--output", tmp_path / "out", "--json", file)
    result = invoke("compare", *names, *others)
    assert result.exit_code == 0, result.output
    accuracies = [cell["accuracy_mean"] for cell in json.loads(file.read_text())["cells"]]
    assert 0.5 < accuracies[1] < 0.6  # 4 of 7 rows are of the majority class
