"""The benchmark of record, on streams of some hundred rows: no files, no Java."""

import concurrent.futures
import dataclasses
import functools
import json
import pathlib
import sys
from typing import Any

import numpy as np
import pytest

from devfnn import Config
from devfnn.errors import DataError
from devfnn.experiments.rendering import Column, Table

# Not for longer than it takes: benchmarks/streams.py would hide the folder tests/streams.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "benchmarks"))

import record
import record_bars
import record_eighteen
import record_plan
import record_report
import record_runs

BENCHMARKS = sys.path.pop()

SMALL = ["--rows", "400", "--streams", "mixed-abrupt", "sea-recurring"]


@pytest.fixture(autouse=True)
def _as_started_there_without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that are started find the modules too; data sets are not looked for."""
    monkeypatch.setattr(sys, "path", [*sys.path, BENCHMARKS])
    monkeypatch.delenv("DEVFNN_DATA", raising=False)
    monkeypatch.setattr(record_runs, "_bare", bare)


bare = functools.cache(record_runs._bare)
"""Sources without comments: each is parsed once for all tests."""


class Here:
    """Runs in this process what others would run, for tests that are not about processes."""

    _processes = None

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take what a pool takes."""

    def submit(self, function: Any, *arguments: Any) -> "concurrent.futures.Future[Any]":
        """Run at once."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self, **_: Any) -> None:
        """There is nothing to end."""


@pytest.fixture
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No processes are started; the whole command starts them."""
    monkeypatch.setattr("devfnn.experiments.grid.concurrent.futures.ProcessPoolExecutor", Here)
    monkeypatch.setattr("devfnn.experiments.grid.concurrent.futures.as_completed", iter)


def some_systems(*names: str) -> list[record_plan.System]:
    """Systems by name, in the order of the plan."""
    return [each for each in record_plan.record_systems() if each.name in names]


def small_cells() -> list[record_runs.RecordCell]:
    """The default and a rival on one short stream."""
    streams = [each for each in record_plan.record_streams(None, 300) if "sine-a" in each.name]
    return record_runs.cells_of(streams, some_systems("default", "majority"))


def cell(accuracy: float | None, kind: str = "default", **others: Any) -> dict[str, Any]:
    """A made-up summary."""
    mean = None if accuracy is None else accuracy / 100.0
    return {"accuracy_mean": mean, "kind": kind, "model_bytes": 50_000} | others


def verdicts(cells: dict[tuple[str, str], dict[str, Any]]) -> dict[str, bool | None]:
    """Bars by what they say."""
    nonlinear = frozenset({"sine-abrupt", "sine-gradual"})
    return {bar.what: bar.is_reached for bar in record_bars.bars(cells, nonlinear)}


def only(found: dict[str, bool | None], *words: str) -> bool | None:
    """The one bar whose text has all these words."""
    (value,) = [value for what, value in found.items() if all(word in what for word in words)]
    return value


# The whole command


def test_the_whole_command_writes_tables_data_text_and_figures(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = ["default", "growing off", "static", "paper", "one logistic rule", "majority"]
    command = [*SMALL, "--output", str(tmp_path), "--systems", *systems]
    assert record.main(command) == 0
    printed = capsys.readouterr().out
    for word in ("mixed-abrupt", "sea-recurring", "Accuracy, generated", "Bars"):
        assert word in printed
    data = json.loads((tmp_path / "record.json").read_text())
    ran = {(run["stream"], run["system"]) for run in data["runs"]}
    assert ran == {
        (stream, system)
        for stream in ("mixed-abrupt", "sea-recurring")
        for system in systems
        if (stream, system) != ("mixed-abrupt", "paper")
    }
    text = (tmp_path / "record.md").read_text()
    assert "--systems default 'growing off'" in text
    assert str(tmp_path) not in text
    assert "numba" in text and "a trial, not a measurement" in text
    assert "files are not there" in text
    assert (tmp_path / "accuracy-speed.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "drift.png").read_bytes().startswith(b"\x89PNG")


def test_a_limited_run_leaves_the_committed_report_alone() -> None:
    assert record.parsed([]).text == record.COMMITTED
    assert record.parsed([]).output == record.WHOLE
    for limited in (["--quick"], ["--rows", "3000"], ["--streams", "weather"]):
        assert record.parsed(limited).text != record.COMMITTED
    assert record.parsed(["--quick"]).rows == record.QUICK_ROWS
    assert record.parsed(["--quick", "--text", "mine.md"]).text == pathlib.Path("mine.md")


def test_nothing_to_run_is_said(tmp_path: pathlib.Path) -> None:
    assert record.main([*SMALL, "--output", str(tmp_path), "--systems", "nobody"]) == 2


# Going on where it stopped


@pytest.mark.usefixtures("_in_this_process")
def test_a_second_call_runs_nothing_and_a_changed_learner_only_itself(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = list(record_runs.run_cells(small_cells(), tmp_path))
    assert [outcome.was_there for outcome in first] == [False, False]
    assert [str(each.cell) for each in first] == [
        "default on sine-abrupt",
        "majority on sine-abrupt",
    ]
    made = record_runs.noted(tmp_path, first[0].cell)
    assert set(made) == {"date", "cpu"}
    again = list(record_runs.run_cells(small_cells(), tmp_path))
    assert [outcome.was_there for outcome in again] == [True, True]
    assert again[0].result == first[0].result

    known = record_runs.source_fingerprint
    monkeypatch.setattr(
        record_runs,
        "source_fingerprint",
        lambda parts: "changed" if parts == record_runs.LEARNER else known(parts),
    )
    later = list(record_runs.run_cells(small_cells(), tmp_path))
    assert {o.cell.system.name: o.was_there for o in later} == {"default": False, "majority": True}


def test_figures_of_rivals_are_kept_until_their_release_changes(tmp_path: pathlib.Path) -> None:
    streams = [each for each in record_plan.record_streams(None) if each.name == "sine-abrupt"]
    systems = [each for each in record_plan.record_systems() if each.name == "river-logistic"]
    cell = record_runs.RecordCell(
        "river-logistic", systems[0].settings_on(streams[0]), streams[0], systems[0], "0", "river 1"
    )
    figures = dict.fromkeys(record_runs.KEPT, 0.5)
    run = figures | {"stream": "sine-abrupt", "system": "river-logistic"}
    record_runs.keep_rivals([cell], [run], tmp_path / "rivals.json")
    kept = record_runs.kept_rivals([cell], tmp_path / "rivals.json")
    assert kept[cell.name].items() >= run.items()
    assert record_runs.compare(list(kept.values()))[0]["p"] is None
    newer = dataclasses.replace(cell, origin="river 2")
    assert record_runs.kept_rivals([newer], tmp_path / "rivals.json") == {}


def test_rivals_that_are_run_anew_take_the_place_of_those_kept(tmp_path: pathlib.Path) -> None:
    path, (system,) = tmp_path / "rivals.json", some_systems("river-logistic")
    streams = {each.name: each for each in record_plan.record_streams(None)}
    cells = {
        name: record_runs.RecordCell(
            system.name, system.settings_on(streams[name]), streams[name], system, name, "river 1"
        )
        for name in ("sine-abrupt", "sine-gradual")
    }

    def run_on(stream: str, log_loss: float) -> dict[str, Any]:
        about = {"stream": stream, "system": system.name, "log_loss": log_loss}
        return dict.fromkeys(record_runs.KEPT, 0.5) | about

    both = [run_on("sine-abrupt", 0.1), run_on("sine-gradual", 0.2)]
    record_runs.keep_rivals([*cells.values()], both, path)
    older = json.loads(path.read_text())
    del older[0]["log_loss"], older[0]["calibration_error"]
    path.write_text(json.dumps([*older, older[1] | {"system": "no longer in the plan"}]))
    record_runs.keep_rivals([cells["sine-gradual"]], [run_on("sine-gradual", 0.3)], path)
    kept = record_runs.kept_rivals([*cells.values()], path)
    assert [each["log_loss"] for each in kept.values()] == [None, 0.3]
    assert len(json.loads(path.read_text())) == 2


def test_the_kept_rivals_belong_to_the_streams_of_the_plan() -> None:
    runs = json.loads(record.RIVALS.read_text(encoding="utf-8"))
    made = {each.name: each.about for each in record_plan.record_streams(None)}
    assert {run["stream"] for run in runs} == {*made, *record_plan.file_names()}
    for run in runs:
        assert run["about"] == made.get(run["stream"], run["about"])
        assert set(run) <= {"origin", "about", *record_runs.KEPT}
        assert set(record_runs.KEPT) - set(run) <= {"log_loss", "calibration_error"}
        if run["system"] in record_plan.PEERS and run["stream"] in record_plan.EIGHTEEN:
            assert run["log_loss"] is not None and run["calibration_error"] is not None


@pytest.mark.usefixtures("_in_this_process")
def test_a_learner_edited_meanwhile_leaves_no_result_under_its_old_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = small_cells()
    monkeypatch.setattr(record_runs, "source_fingerprint", lambda parts: "edited")
    with pytest.raises(DataError, match="edited while default on sine-abrupt ran"):
        list(record_runs.run_cells(cells, tmp_path))
    left = [file.name for file in (tmp_path / "runs").iterdir()]
    assert not [name for name in left if "__default__" in name]


def test_a_result_is_known_by_rows_and_settings_but_not_by_folders() -> None:
    (default, *_) = small_cells()
    assert small_cells()[0].name == default.name
    settings = default.settings.to_dict()
    elsewhere = settings | {"stream": settings["stream"] | {"data_dir": "elsewhere"}}
    code = record_runs._code(settings, "rows", "source")
    assert record_runs._code(elsewhere, "rows", "source") == code
    assert record_runs._code(settings, "other rows", "source") != code
    assert record_runs._code(settings, "rows", "other source") != code
    assert record_runs._code(settings | {"changes": {"memory": 1.0}}, "rows", "source") != code


def test_a_comment_does_not_make_another_learner() -> None:
    plain = record_runs._bare("def double(x):\n    return 2 * x\n")
    assert record_runs._bare('def double(x):\n    """Twice."""\n    return 2 * x  # so\n') == plain
    assert record_runs._bare("def double(x):\n    return 3 * x\n") != plain


# Systems and streams


def test_every_ablation_changes_one_mechanism() -> None:
    found = record_plan.ablations()
    configs = [Config().replace(**changes) for changes in found.values()]
    assert all(config != Config() for config in configs)
    assert all(configs.count(config) == 1 for config in configs)
    wanted = {"growing off", "merging off", "feature mask on", "active learning off"}
    wanted |= {"rule growing off", "joining off", "recall off", "forgetting off"}
    assert wanted <= set(found)


def test_names_of_systems_and_streams_are_used_once() -> None:
    systems = [system.name for system in record_plan.record_systems()]
    assert len(set(systems)) == len(systems)
    named = {
        *(record_plan.DEFAULT, record_plan.SWIFT, record_plan.GROWING_OFF),
        *(*record_plan.ONLINE.values(), *record_plan.PEERS, record_plan.LAGS),
        *(record_plan.ALL_LABELS, record_plan.BUDGET, record_plan.BY_ROW),
        *(record_plan.MOA_FOREST, record_plan.RIVER_FOREST),
    }
    assert named <= set(systems)
    streams = [stream.name for stream in record_plan.record_streams(None)]
    assert len(set(streams)) == len(streams) == 12
    assert record_plan.RECURRING in streams


def test_files_are_scaled_by_dataset_and_made_streams_as_compare_does(
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "weather.npz").touch()
    (tmp_path / "kdd99.npz").touch()
    streams = {each.name: each for each in record_plan.record_streams(tmp_path)}
    assert {"weather", "kdd99-binary", "kdd99-23"} <= set(streams)
    assert "electricity" not in streams
    systems = {each.name: each for each in record_plan.record_systems()}
    weather, made = streams["weather"], streams["sine-abrupt"]
    rival = systems["capymoa-hat"]
    assert rival.settings_on(weather).scaling_name == "dataset"
    assert rival.settings_on(made).scaling_name == "none"
    assert systems["default"].settings_on(weather).scaling_name == "dataset"
    assert systems["default"].settings_on(made).scaling_name == "online"
    online = systems[record_plan.ONLINE["default"]]
    assert online.settings_on(weather).scaling_name == "online"
    assert not online.runs_on(made)
    by_row = systems[record_plan.BY_ROW]
    assert by_row.runs_on(weather) and not by_row.runs_on(made)
    assert by_row.settings_on(weather).procedure.by_row
    assert streams["kdd99-23"].settings.rows == record_plan.KDD_ROWS


def zoo_in(folder: pathlib.Path) -> None:
    """A short stream of the zoo whose second class comes late."""
    (folder / "zoo").mkdir()
    X = np.random.default_rng(0).random((1600, 2))
    np.savez(folder / "zoo" / "keystroke.npz", X=X, y=np.arange(1600) // 1500)


def test_the_zoo_is_run_as_compare_runs_files_but_not_by_slow_rivals(
    tmp_path: pathlib.Path,
) -> None:
    zoo_in(tmp_path)
    (stream,) = [each for each in record_plan.record_streams(tmp_path) if each.group == "zoo"]
    assert (stream.name, stream.settings.rows) == ("keystroke", record_plan.ZOO_ROWS)
    systems = {each.name: each for each in record_plan.record_systems()}
    for name in ("default", "swift", *record_plan.PEERS):
        assert systems[name].runs_on(stream)
    for name in (record_plan.RIVER_FOREST, "capymoa-srp, 10 trees", "capymoa-sgbt, 10 steps"):
        assert not systems[name].runs_on(stream)
    assert not systems[record_plan.ONLINE["default"]].runs_on(stream)
    assert systems["default"].settings_on(stream).scaling_name == "online"
    assert systems[record_plan.MOA_FOREST].settings_on(stream).scaling_name == "none"
    opened = stream.settings.open().stream
    assert opened.classes == (0, 1)
    assert [len(chunk.y) for chunk in opened] == [500, 500, 500, 100]


def test_the_forest_of_thirty_trees_is_run_on_the_eighteen_streams_only() -> None:
    systems = {each.name: each for each in record_plan.record_systems()}
    assert systems[record_plan.MOA_FOREST_30].streams == record_plan.EIGHTEEN
    assert systems[record_plan.ONLINE["swift"]].streams == record_plan.BOOSTED


def test_a_stream_of_the_zoo_is_known_wherever_its_file_is(tmp_path: pathlib.Path) -> None:
    names = []
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
        zoo_in(folder)
        streams = [each for each in record_plan.record_streams(folder) if each.group == "zoo"]
        names += [each.name for each in record_runs.cells_of(streams, some_systems("majority"))]
    assert len(names) == 2 and len(set(names)) == 1


def test_a_short_stream_drifts_in_proportion() -> None:
    streams = {each.name: each for each in record_plan.record_streams(None, 4000)}
    gradual = streams["rbf-gradual"].settings
    assert gradual.options["rows_per_concept"] == 1000
    assert gradual.options["width"] == 200
    whole = {each.name: each for each in record_plan.record_streams(None)}
    assert whole["rbf-gradual"].settings.options["rows_per_concept"] == 25_000
    assert whole["sea-recurring"].settings.options["rows_per_concept"] == 12_500
    for stream in streams.values():
        assert sum(len(chunk.y) for chunk in stream.settings.open().stream) == 4000


# Summaries


def made_up(system: str, accuracies: list[float | None], speed: float = 100.0) -> dict[str, Any]:
    """A summary of a run on one stream."""
    known = [value for value in accuracies if value is not None]
    return {
        "stream": "s",
        "system": system,
        "accuracy_mean": sum(known) / len(known),
        "rows_per_second": speed,
        "chunk_accuracies": accuracies,
    }


def test_systems_are_tested_against_the_default_and_timed_against_the_forests() -> None:
    default: list[float | None] = [None, *(0.8 + 0.001 * i for i in range(20))]
    worse = [None if value is None else value - 0.1 for value in default]
    forest = record_plan.MOA_FOREST
    found = record_runs.compare(
        [made_up("default", default, 500.0), made_up("same", default), made_up(forest, worse, 10.0)]
    )
    own, same, rival = found
    assert own["p"] is None and own["difference"] == 0.0
    assert own["times_capymoa_arf"] == 50.0 and own["times_river_arf"] is None
    assert same["p"] == 1.0
    assert rival["p"] < 0.01 and rival["difference"] == pytest.approx(-0.1)


def test_too_few_chunks_are_not_tested() -> None:
    assert record_runs._signed_rank([None, 0.5, 0.6], [None, 0.4, 0.5]) is None
    assert record_runs._signed_rank([0.5] * 9, [0.5] * 9) == 1.0


@pytest.mark.usefixtures("_in_this_process")
def test_a_summary_parts_the_first_fifth_from_the_others(tmp_path: pathlib.Path) -> None:
    cells = small_cells()
    (default, majority) = record_runs.run_cells(cells, tmp_path)
    summary = record_runs.summary_of(cells[0], default.result or {})
    known = [value for value in summary["chunk_accuracies"] if value is not None]
    n_first = len(summary["chunk_accuracies"]) // 5 - 1  # the first chunk only trains
    assert summary["first_mean"] == pytest.approx(sum(known[:n_first]) / n_first)
    assert summary["rest_mean"] == pytest.approx(sum(known[n_first:]) / len(known[n_first:]))
    assert summary["log_loss"] > 0.0 and 0.0 <= summary["calibration_error"] <= 1.0
    assert summary["layers"] >= 1 and summary["rules"] >= 1 and summary["rows_per_second"] > 0
    assert 0.0 < summary["label_fraction"] <= 1.0
    assert record_runs.summary_of(cells[1], majority.result or {})["layers"] is None


# Bars


def test_without_results_no_bar_is_measured() -> None:
    assert set(verdicts({}).values()) == {None}


def test_levels_and_online_scaling() -> None:
    online = record_plan.ONLINE["default"]
    cells = {
        ("weather", "default"): cell(81.5),
        ("weather", online): cell(81.2),
        ("electricity", "default"): cell(78.29),
        ("electricity", online): cell(77.9),
        ("sea-paper", "swift"): cell(94.26),
    }
    found = verdicts(cells)
    assert found["default on weather: at least 81.5"] is True
    assert found["default on electricity: at least 78.3"] is False
    assert only(found, online, "weather", "not more") is True
    assert only(found, online, "electricity", "not more") is False
    assert only(found, online, "weather", "at least 81.2") is True
    assert only(found, online, "electricity", "at least 80") is False
    assert only(found, "swift on sea-paper: at least 94.2") is True
    assert only(found, "default on sea-paper: at least") is None


def test_the_best_rival_counts_and_our_own_parts_do_not() -> None:
    cells = {
        ("susy-30k", "default"): cell(78.0),
        ("susy-30k", "one logistic rule"): cell(79.0, "part"),
        ("susy-30k", "capymoa-hat"): cell(77.0, "peer"),
        ("kdd99-23", "default"): cell(98.0),
        ("kdd99-23", "no-change"): cell(98.5, "trivial"),
    }
    found = verdicts(cells)
    assert only(found, "susy-30k") is True
    assert only(found, "kdd99-23") is False


def test_the_forest_on_nonlinear_streams() -> None:
    forest = record_plan.MOA_FOREST
    cells = {
        ("sine-abrupt", "default"): cell(90.0),
        ("sine-abrupt", forest): cell(89.0, "peer"),
        ("sine-gradual", "default"): cell(90.0),
        ("sine-gradual", forest): cell(92.5, "peer"),
        ("sea-recurring", "default"): cell(50.0),
        ("sea-recurring", forest): cell(90.0, "peer"),
    }
    found = verdicts(cells)
    assert only(found, "at least half") is True
    assert only(found, "never more than 2 below") is False
    cells["sine-gradual", forest] = cell(92.0, "peer")
    assert only(verdicts(cells), "never more than 2 below") is True


def test_growing_and_labels() -> None:
    growing, labels = record_plan.GROWING_OFF, record_plan.ALL_LABELS
    cells = {
        ("sea-recurring", "default"): cell(89.0),
        ("sea-recurring", growing): cell(88.5),
        ("sea-recurring", labels): cell(89.5),
        ("weather", "default"): cell(81.0),
        ("weather", growing): cell(81.21),
        ("weather", labels): cell(81.0),
        ("weather", record_plan.BUDGET): cell(78.9),
    }
    found = verdicts(cells)
    assert only(found, "growing: at least") is True
    assert only(found, "growing: on no stream") is False
    assert only(found, "active learning: on no stream") is True
    assert only(found, record_plan.BUDGET, "weather") is False


def test_rows_speed_and_size() -> None:
    cells = {
        ("weather", record_plan.BY_ROW): cell(80.6),
        ("electricity", record_plan.LAGS): cell(89.2),
        ("weather", "swift"): cell(80.0, times_capymoa_arf=60.0, times_river_arf=150.0),
        ("electricity", "swift"): cell(
            80.0, times_capymoa_arf=51.0, times_river_arf=900.0, model_bytes=100_000
        ),
    }
    found = verdicts(cells)
    assert only(found, record_plan.BY_ROW, "weather") is True
    assert only(found, record_plan.LAGS) is False
    assert only(found, "speed:", record_plan.MOA_FOREST) is True
    assert only(found, "speed:", record_plan.RIVER_FOREST) is False
    assert only(found, "bytes") is False


def test_the_default_against_swift() -> None:
    cells = {
        ("letter", "default"): cell(70.0),  # of the zoo, where it was developed
        ("letter", "swift"): cell(80.0),
        ("weather", "default"): cell(80.6, rows_per_second=100.0),
        ("weather", "swift"): cell(80.9, rows_per_second=200.0),
        ("sea-paper", "default"): cell(94.0, rows_per_second=100.0),
        ("sea-paper", "swift"): cell(94.0, rows_per_second=201.0),
    }
    found = verdicts(cells)
    assert only(found, "outside the zoo") is True
    assert only(found, "default on weather", "times the time of swift") is True
    assert only(found, "default on sea-paper", "times the time of swift") is False
    cells["sine-abrupt", "default"] = cell(89.6)
    cells["sine-abrupt", "swift"] = cell(90.0)
    assert only(verdicts(cells), "outside the zoo") is False


# The eighteen real streams


def of_eighteen(**changes: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Summaries of the default, 4 points above all peers, and of these.

    changes: what differs for the default, by stream with _ for -
    """
    cells = {}
    for stream in record_plan.EIGHTEEN:
        usual = {"log_loss": 0.5, "calibration_error": 0.02, "rows": 20_000}
        own = usual | {"rows_per_second": 20_000.0} | changes.get(stream.replace("-", "_"), {})
        accuracy = own.pop("accuracy", 84.0)
        cells[stream, record_plan.name_on("default", stream)] = cell(accuracy, **own)
        if stream in record_plan.BOOSTED:
            cells[stream, "default"] = cell(0.0, **usual)  # scaled by dataset: counts for nothing
        for peer in record_plan.PEERS:
            cells[stream, peer] = cell(80.0, "peer", **usual, rows_per_second=2000.0)
    return cells


def of_the_eighteen(found: dict[str, bool | None]) -> dict[str, bool | None]:
    """The bars over the eighteen streams alone."""
    return {what: value for what, value in found.items() if what.startswith("eighteen")}


def test_the_eighteen_streams_are_all_real_ones_but_kdd() -> None:
    files = {name for name in record_plan.file_names() if not name.startswith("kdd99")}
    assert set(record_plan.EIGHTEEN) == files
    assert len(record_plan.EIGHTEEN) == 18


def test_the_bars_over_the_eighteen_streams_are_reached() -> None:
    assert set(of_the_eighteen(verdicts(of_eighteen())).values()) == {True}


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("mean accuracy", {"letter": {"accuracy": 83.9}}),
        (
            "below the best peer",
            {
                "letter": {"accuracy": 79.69},
                "shuttle": {"accuracy": 79.69},
                "weather": {"accuracy": 79.69},
                "gmsc": {"accuracy": 100.0},
            },
        ),
        ("log-loss", {"susy_30k": {"log_loss": 1.5}}),
        ("mean calibration", {"letter": {"calibration_error": 0.12}}),
        ("worst calibration", {"letter": {"calibration_error": 0.061}}),
        ("geometric mean", {"letter": {"rows_per_second": 19_999.0}}),
        ("nowhere less", {"electricity": {"rows_per_second": 3999.0}}),
    ],
)
def test_each_bar_over_the_eighteen_streams_can_fail(
    words: str, changes: dict[str, dict[str, Any]]
) -> None:
    assert only(of_the_eighteen(verdicts(of_eighteen(**changes))), words) is False


def test_two_of_the_eighteen_streams_may_be_behind_and_short_ones_badly_calibrated() -> None:
    changes = {
        "letter": {"accuracy": 79.0},
        "shuttle": {"accuracy": 79.6},
        "gmsc": {"accuracy": 79.7},  # not more than 0.3 below
        "keystroke": {"calibration_error": 0.5, "rows": 4_999},
    }
    found = of_the_eighteen(verdicts(of_eighteen(**changes)))
    assert only(found, "below the best peer") is True
    assert only(found, "mean calibration") is only(found, "worst calibration") is True


@pytest.mark.parametrize("system", ["default", record_plan.MOA_FOREST_30])
def test_a_stream_that_was_not_run_leaves_means_unmeasured(system: str) -> None:
    cells = of_eighteen()
    del cells["phishing", system]
    found = of_the_eighteen(verdicts(cells))
    assert only(found, "mean accuracy") is only(found, "below the best peer") is None
    assert only(found, "mean log-loss") is (None if system == "default" else True)


def test_how_systems_stand_is_a_table_of_means_and_ranks() -> None:
    cells = of_eighteen(letter={"accuracy": 70.0}, keystroke={"rows": 1600})
    table = record_eighteen.standing(cells, record_plan.EIGHTEEN)
    rows = {row["system"]: row for row in table.rows}
    own, peer = rows["default"], rows[record_plan.MOA_BAGGING]
    assert own["accuracy"] == pytest.approx((17 * 84 + 70) / 18)
    assert (own["near"], peer["near"]) == (17, 18)
    assert own["by_accuracy"] == pytest.approx((17 * 1 + 7) / 18)
    assert own["by_log_loss"] == peer["by_log_loss"] == 4.0
    assert (own["times"], peer["times"]) == (pytest.approx(10.0), pytest.approx(1.0))
    assert rows["swift"]["accuracy"] is None and rows["swift"]["by_accuracy"] is None


def test_measures_by_stream_end_with_their_means() -> None:
    cells = of_eighteen(weather={"log_loss": 1.4})
    del cells["letter", record_plan.MOA_FOREST]
    table = record_eighteen.by_stream(cells, "log_loss", record_plan.EIGHTEEN)
    rows = {row["stream"]: row for row in table.rows}
    assert list(rows) == [*record_plan.EIGHTEEN, "mean of all"]
    assert rows["weather"]["default"] == 1.4
    assert rows["mean of all"]["default"] == pytest.approx(0.55)
    assert record_plan.MOA_FOREST not in rows["mean of all"]


# Text and figures


def test_markdown_has_a_line_for_each_row() -> None:
    columns = (Column("system", "system"), Column("x", "x", decimals=1))
    table = Table("t", columns, ({"system": "a|b", "x": 1.0}, {"system": "c", "x": None}), ("so.",))
    assert record_report.markdown_table(table).splitlines() == [
        "| system | x |",
        "| :-- | --: |",
        "| a\\|b | 1.0 |",
        "| c | - |",
        "",
        "so.",
    ]


def test_accuracy_around_drift_is_a_mean_over_drifts() -> None:
    values = [None, 1.0, 1.0, 1.0, 0.0, 0.6, 1.0, 1.0, 0.5, 0.8, 1.0, 1.0]
    run = {"drift_positions": [40, 80], "chunk_rows": [10] * 12, "chunk_accuracies": values}
    found = record_report.around_drift({("s", "a"): run}, ["s"], "a")
    assert found == {0: 1.0, 10: 0.25, 20: 0.7}


def test_the_best_rivals_were_run_on_all_streams() -> None:
    runs = [
        {"stream": stream, "system": system, "kind": "peer", "accuracy_mean": accuracy}
        for stream, system, accuracy in [("s", "a", 0.9), ("s", "b", 0.8), ("t", "b", 0.8)]
    ]
    assert record_report.best_rivals(runs, ["s", "t"]) == ["b"]
