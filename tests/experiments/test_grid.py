"""Many runs over processes: each once, each in a file of its own."""

import concurrent.futures.process
import multiprocessing
import os
import signal
import threading

import pytest

from devfnn.errors import DataError, InputError
from devfnn.evaluation import Procedure
from devfnn.evaluation.ranking import Ranking
from devfnn.experiments import Run, StreamSettings
from devfnn.experiments.grid import (
    THREADS,
    Outcome,
    _as_children_start,
    _end_with_parent,
    cells_of,
    comparison_of,
    run_cell,
    run_grid,
)
from devfnn.experiments.result_files import read_either, read_result, write_result
from devfnn.files import locked
from timeless import timeless


def short(name="sea", **others):
    """A short stream."""
    return StreamSettings(name=name, rows=600, chunk_rows=100, **others)


@pytest.fixture
def rows_file(tmp_path):
    """A file, one of whose values is missing."""
    rows = [f"{'' if k == 430 else k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(600)]
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(rows))
    return str(tmp_path / "rows.csv")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def done_here(cells, folder):
    """Run cells in this process."""
    for cell in cells:
        assert run_cell(cell, folder).error is None


def sized(outcomes):
    """Outcomes by cell, without times, and without sizes of pickles, which vary a little."""
    return {
        str(each.cell): (
            each.error,
            each.result and timeless(dict(each.result) | {"model_bytes": 0}),
        )
        for each in outcomes
    }


# ---- which cells


def test_every_model_meets_every_stream_with_every_seed():
    cells = cells_of(["devfnn", "majority"], [short(), short("led")], 3)
    assert len(cells) == len({cell.name for cell in cells}) == 12
    assert {(cell.model, cell.settings.stream.name, cell.seed) for cell in cells} == {
        (model, stream, seed)
        for model in ("devfnn", "majority")
        for stream in ("sea", "led")
        for seed in range(3)
    }
    for cell in cells:
        assert cell.settings.stream.options == {"seed": cell.seed}


def test_where_nothing_is_drawn_one_seed_is_enough(rows_file):
    def seeds(model, **others):
        return [cell.seed for cell in cells_of([model], [short(rows_file, **others)], 3)]

    assert seeds("majority") == seeds("logistic") == seeds("river-gaussian-nb") == [0]
    assert seeds("devfnn") == seeds("river-arf") == [0, 1, 2]
    assert seeds("majority", hide_labels=0.5) == seeds("majority", shuffle=50) == [0, 1, 2]


def test_presets_parameters_and_common_settings_reach_their_cells():
    cells = cells_of(
        ["devfnn", "devfnn@static"],
        [short()],
        1,
        changes={"devfnn@static": {"gaussian__max_rules": 2}},
        common={"scaling": "dataset", "procedure": Procedure(by_row=True)},
    )
    assert [cell.settings.preset for cell in cells] == [None, "static"]
    assert [cell.settings.changes for cell in cells] == [{}, {"gaussian__max_rules": 2}]
    assert {cell.settings.scaling for cell in cells} == {"dataset"}
    assert all(cell.settings.procedure.by_row for cell in cells)
    assert [str(cell) for cell in cells] == [
        "devfnn on sea, seed 0",
        "devfnn@static on sea, seed 0",
    ]


@pytest.mark.parametrize(
    ("models", "streams", "changes", "message"),
    [
        (["majority", "majority"], ["sea"], {}, "the model majority is named more than once"),
        (["majority"], ["sea", "sea"], {}, "the stream sea is named more than once"),
        (["devfnn", "devfnn@default"], ["sea"], {}, "devfnn and devfnn@default are the same model"),
        (["majority"], ["sea"], {"devfnn": {"vote": "hard"}}, "'devfnn', which is not compared"),
        (["majority"], ["-"], {}, "a pipe can be read only once"),
        (["devfn"], ["sea"], {}, "no model is called 'devfn'; did you mean devfnn"),
        (["devfnn@best"], ["sea"], {}, "a preset is one of"),
        (["majority@static"], ["sea"], {}, "majority has no presets"),
    ],
)
def test_cells_that_make_no_sense_are_refused(models, streams, changes, message):
    with pytest.raises(InputError, match=message):
        cells_of(models, [short(name) for name in streams], 1, changes=changes)


def test_files_of_the_same_name_do_not_clash():
    names = ["a/rows.csv", "b/rows.csv", "b/rows.arff", "b/ro ws.csv", "b/ro_ws.csv", "sea"]
    names += [f"{'x' * 300}{number}.csv" for number in range(2)]
    cells = cells_of(["majority"], [short(name) for name in names], 1)
    assert len({cell.name.lower() for cell in cells}) == len(names)
    assert cells[5].name == "majority__sea__0"
    for cell in cells:
        assert set("/ \0") & set(cell.name) == set()
        assert len(cell.name) < 120


# ---- running them


def test_cells_are_run_once_however_many_processes_there_are(rows_file, folder, monkeypatch):
    models = ["devfnn", "majority", "logistic"]
    cells = cells_of(models, [short(), short(rows_file)], 1)
    before = {name: os.environ.get(name) for name in THREADS}
    outcomes = list(run_grid(cells, folder, 2))
    assert {name: os.environ.get(name) for name in THREADS} == before
    assert sorted(str(each.cell) for each in outcomes) == sorted(map(str, cells))

    # A cell that fails is told, and the others finish.
    failed = {each.cell.model: each.error for each in outcomes if each.result is None}
    assert failed.keys() == {"devfnn", "logistic"}
    assert failed["devfnn"] == failed["logistic"]
    assert "row 30, feature 0 is NaN" in failed["logistic"]
    done = [each for each in outcomes if each.result is not None]
    assert {file.name for file in folder.iterdir()} == {f"{each.cell.name}.json" for each in done}
    assert len(done) == 4
    assert not any(each.was_there for each in outcomes)
    for each in done:
        assert read_result(folder / f"{each.cell.name}.json") == each.result

    # This process, which does one after the other, comes to the same results.
    alone = folder.parent / "alone"
    alone.mkdir()
    together = sized(outcomes)
    assert sized(run_cell(cell, alone) for cell in cells) == together and len(together) == 6

    # What is there is not run again.
    def no_pool(*_, **__):
        pytest.fail("something is run again")

    monkeypatch.setattr("devfnn.experiments.grid.concurrent.futures.ProcessPoolExecutor", no_pool)
    times = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    again = list(run_grid([each.cell for each in done], folder, 2))
    assert [each.result for each in again] == [each.result for each in done]
    assert all(each.was_there for each in again)
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == times


def test_results_of_other_settings_are_refused_before_anything_is_run(folder, monkeypatch):
    done_here(cells_of(["majority"], [short()], 1), folder)
    other = cells_of(["no-change", "majority"], [short(delay_labels=5)], 1)
    monkeypatch.setattr("devfnn.experiments.grid.concurrent.futures.ProcessPoolExecutor", None)
    with pytest.raises(DataError, match=r"other settings, stream.delay_labels = 0 instead of 5"):
        list(run_grid(other, folder))


def test_data_that_have_moved_are_the_same_data(folder):
    done_here(cells_of(["majority"], [short(data_dir="here")], 1), folder)
    outcomes = list(run_grid(cells_of(["majority"], [short(data_dir="there")], 1), folder))
    assert [each.was_there for each in outcomes] == [True]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1, "per_chunk": {}}'])
def test_a_file_that_is_no_result_is_named(folder, content):
    (folder / "majority__sea__0.json").write_text(content)
    with pytest.raises(DataError, match=r"majority__sea__0\.json"):
        list(run_grid(cells_of(["majority"], [short()], 1), folder))


def test_drafts_that_a_kill_left_do_no_harm(folder):
    (folder / "majority__sea__0.123.tmp").write_text("{")
    done_here(cells_of(["majority"], [short()], 1), folder)
    assert read_result(folder / "majority__sea__0.json")["rows"] == 600


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DataError("a bad row"), "a bad row"),
        (RuntimeError("of another library"), "RuntimeError: of another library"),
        (MemoryError(), "MemoryError: "),
    ],
)
def test_errors_come_back_as_text_since_some_cannot_be_sent(folder, monkeypatch, error, message):
    def fail(*_):
        raise error

    monkeypatch.setattr("devfnn.experiments.grid.Run", fail)
    assert run_cell(cells_of(["majority"], [short()], 1)[0], folder).error == message


def test_a_process_that_was_killed_is_told(folder, monkeypatch):
    class Broken:
        _processes = None

        def __init__(self, *_, **__):
            pass

        def submit(self, *_):
            future = concurrent.futures.Future()
            future.set_exception(concurrent.futures.process.BrokenProcessPool("..."))
            return future

        def shutdown(self, **_):
            pass

    monkeypatch.setattr("devfnn.experiments.grid.concurrent.futures.ProcessPoolExecutor", Broken)
    (outcome,) = run_grid(cells_of(["majority"], [short()], 1), folder)
    assert outcome.result is None
    assert "ended from outside" in outcome.error


def test_ctrl_c_is_left_to_the_first_process():
    before = signal.getsignal(signal.SIGINT)
    with _as_children_start():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before

    def elsewhere():
        with _as_children_start():
            found.append(signal.getsignal(signal.SIGINT))

    found = []
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [before]


def test_a_process_ends_with_its_parent(monkeypatch):
    ended, gone = threading.Event(), threading.Event()

    class Parent:
        def join(self):
            gone.wait(10)

    monkeypatch.setattr(multiprocessing, "parent_process", Parent)
    monkeypatch.setattr(os, "_exit", lambda code: ended.set())
    _end_with_parent()
    assert not ended.is_set()
    gone.set()
    assert ended.wait(10)


# ---- comparing them


def outcomes_of(scores):
    """Outcomes with given accuracies, by model, stream and seed."""
    common = dict.fromkeys(("accuracy_std", "accuracy_overall", "f1", "kappa", "rows", "chunks"), 1)
    more = ("rows_per_second", "model_bytes", "label_fraction", "seconds_predict", "seconds_learn")
    common |= dict.fromkeys((*more, "rules_mean", "layers_mean"))
    found = []
    for (model, stream, seed), score in scores.items():
        cell = cells_of([model], [short(stream)], seed + 1)[seed]
        result = None if score is None else common | {"accuracy_mean": score}
        found.append(Outcome(cell, result, "it broke" if score is None else None))
    return found


def test_a_comparison_ranks_means_over_seeds(tmp_path):
    scores = {
        (model, stream, seed): 0.5 + bonus + 0.1 * seed
        for stream in ("sea", "led", "agrawal")
        for model, bonus in (("majority", 0.0), ("devfnn", 0.2))
        for seed in (0, 1)
    }
    scores["majority", "sea", 0], scores["devfnn", "sea", 1] = 0.8, 0.0
    found = comparison_of(outcomes_of(scores), post_hoc="nemenyi")
    assert found["models"] == ["majority", "devfnn"]
    assert found["streams"] == ["sea", "led", "agrawal"]
    assert found["seeds"] == [0, 1]
    assert [(cell["stream"], cell["model"], cell["seed"]) for cell in found["cells"]] == [
        (stream, model, seed)
        for stream in found["streams"]
        for model in found["models"]
        for seed in (0, 1)
    ]
    ranking = Ranking.from_dict(found["ranking"])
    assert ranking.mean_ranks == pytest.approx((5 / 3, 4 / 3))
    assert found["cells"][0]["file"] == "runs/majority__sea__0.json"
    file = tmp_path / "comparison.json"
    write_result(found, file)
    assert read_either(file) == found


def test_runs_that_failed_are_named_and_not_ranked():
    scores = {
        (model, stream, 0): 0.5 for model in ("majority", "devfnn") for stream in ("sea", "led")
    }
    scores["devfnn", "led", 0] = None
    found = comparison_of(outcomes_of(scores))
    assert found["failed"] == [{"cell": "devfnn on led, seed 0", "error": "it broke"}]
    assert len(found["cells"]) == 3
    assert found["ranking"] is None


def test_one_model_or_one_stream_is_not_ranked():
    assert comparison_of(outcomes_of({("majority", "sea", 0): 0.5}))["ranking"] is None
    pair = {("majority", "sea", 0): 0.5, ("devfnn", "sea", 0): 0.6}
    assert comparison_of(outcomes_of(pair))["ranking"] is None


def test_two_processes_in_one_folder_run_a_cell_once(tmp_path):
    (cell,) = cells_of(["majority"], [StreamSettings(name="sea", rows=600)], 1)
    file, found = tmp_path / cell.file, []
    with locked(file):  # as another process that runs it
        thread = threading.Thread(target=lambda: found.append(run_cell(cell, tmp_path)))
        thread.start()
        thread.join(timeout=0.3)
        assert thread.is_alive()
        known = Run(cell.settings)
        list(known)
        write_result(known.result("by the other"), file)
    thread.join(timeout=60)
    assert found[0].was_there
    assert found[0].result["command"] == "by the other"
    assert [path.name for path in tmp_path.iterdir()] == [cell.file]
