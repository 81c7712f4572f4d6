"""`devfnn learn --resume`: whatever stops it, the same command again learns every row once."""

import contextlib
import functools
import json
import os
import signal
import threading

import numpy as np
import pytest

from cli.shown import messages, shown
from devfnn import DEVFNN, Config
from devfnn.experiments.keeping import Keeper
from devfnn.files import locked
from devfnn.storage import dump
from devfnn.types import Position


@pytest.fixture
def invoke(invoke):
    """Call `devfnn learn`."""
    return functools.partial(invoke, "learn")


class Killed(BaseException):
    """The process ended here."""


def made(n_rows=2300, seed=0):
    """Rows of two classes, as lines of a file."""
    X = np.random.default_rng(seed).random((n_rows, 2))
    return [f"{a},{b},{'high' if a > b else 'low'}" for a, b in X.tolist()]


def write(path, lines):
    path.write_text("\n".join(["a,b,kind", *lines, ""]))
    return path


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.csv", made())


@pytest.fixture
def model(tmp_path):
    return tmp_path / "m.devfnn"


def killed_at(monkeypatch, n_calls, *, after_write):
    """Let the process end at a save, before or after it is on the disk."""
    keep, calls = Keeper.keep, []

    def killed(self, content):
        calls.append(1)
        if len(calls) < n_calls or after_write:
            keep(self, content)
        if len(calls) == n_calls:
            raise Killed

    monkeypatch.setattr(Keeper, "keep", killed)


# ---- every row once


@pytest.mark.parametrize("after_write", [False, True])
@pytest.mark.parametrize("n_calls", [1, 2, 4])
def test_what_is_killed_goes_on_to_the_same_model(invoke, rows, monkeypatch, n_calls, after_write):
    whole, model = rows.with_name("whole.devfnn"), rows.with_name("m.devfnn")
    command = (rows, "--new", "--resume", "--save-every", 0)
    assert invoke(whole, *command).exit_code == 0
    with monkeypatch.context() as patch, pytest.raises(Killed):
        killed_at(patch, n_calls, after_write=after_write)
        invoke(model, *command, catch_exceptions=False)
    assert not model.exists() or DEVFNN.load(model).n_rows < 2300
    result = invoke(model, *command)
    assert result.exit_code == 0, result.output
    assert model.read_bytes() == whole.read_bytes()
    found = DEVFNN.load(model)
    assert found.positions.keys() == {str(rows)}
    assert found.positions[str(rows)].rows == found.n_rows == 2300


def test_it_learns_what_it_would_without_being_resumed(invoke, rows, model, tmp_path):
    plain = tmp_path / "plain.devfnn"
    assert invoke(plain, rows, "--new").exit_code == 0
    assert invoke(model, rows, "--new", "--resume").exit_code == 0
    found = DEVFNN.load(model)
    assert DEVFNN.load(plain).positions == {}  # only --resume keeps them
    found.positions = {}
    assert dump(found) == plain.read_bytes()


def test_a_source_that_was_learned_is_not_learned_again(invoke, rows, model, tmp_path):
    command = (model, rows, "--new", "--resume", "--json", tmp_path / "x.json")
    assert invoke(*command).exit_code == 0
    before = model.read_bytes(), model.stat().st_ino
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert f"All 2,300 rows of {rows} were learned before." in shown(result)
    assert (model.read_bytes(), model.stat().st_ino) == before
    data = json.loads((tmp_path / "x.json").read_text())
    assert (data["rows_before"], data["rows"], data["chunks"]) == (2300, 0, [])
    assert data["source"] == str(rows)


def test_a_file_that_grows_is_learned_on(invoke, rows, model, tmp_path):
    lines = made(3000)
    for n_rows in (700, 1400, 3000):
        result = invoke(model, write(rows, lines[:n_rows]), "--new", "--resume")
        assert result.exit_code == 0, result.output
        assert DEVFNN.load(model).n_rows == n_rows
    assert "rows learned before 1,400" in shown(result)


def test_sources_have_positions_of_their_own(invoke, rows, model, tmp_path):
    other = write(tmp_path / "other.csv", made(600, seed=1))
    for file in (rows, other, rows, other):
        assert invoke(model, file, "--new", "--resume").exit_code == 0
    assert {name: each.rows for name, each in DEVFNN.load(model).positions.items()} == {
        str(rows): 2300,
        str(other): 600,
    }
    assert DEVFNN.load(model).n_rows == 2900


def test_streams_that_are_made_are_sources_by_their_options(invoke, model):
    for seed in (0, 1, 0):
        result = invoke(model, "sea", "--rows", 1000, "--seed", seed, "--new", "--resume")
        assert result.exit_code == 0, result.output
    found = DEVFNN.load(model)
    assert found.n_rows == 2000
    assert list(found.positions) == ['sea {"seed": 0}', 'sea {"seed": 1}']
    assert invoke(model, "sea", "--rows", 1700, "--resume").exit_code == 0
    assert DEVFNN.load(model).positions['sea {"seed": 0}'].rows == 1700


def test_a_link_and_its_file_are_one_source(invoke, rows, model, tmp_path, monkeypatch):
    (tmp_path / "link.csv").symlink_to(rows)
    monkeypatch.chdir(tmp_path)
    for name in (rows, "rows.csv", "./rows.csv", "link.csv"):
        assert invoke(model, name, "--new", "--resume").exit_code == 0
    assert DEVFNN.load(model).n_rows == 2300


def test_a_file_that_has_moved_keeps_its_name(invoke, rows, model, tmp_path):
    named = ("--resume", "--source", "the log")
    assert invoke(model, rows, "--new", *named).exit_code == 0
    moved = tmp_path / "old.csv"
    rows.rename(moved)
    result = invoke(model, moved, *named)
    assert "All 2,300 rows of the log were learned before." in shown(result)


def test_a_pipe_with_a_name_is_learned_on(invoke, model):
    lines = made(1500)
    for n_rows in (800, 1500):
        text = "\n".join(["a,b,kind", *lines[:n_rows], ""])
        result = invoke(model, "-", "--new", "--resume", "--source", "pipe", input=text)
        assert result.exit_code == 0, result.output
        assert DEVFNN.load(model).n_rows == n_rows
    assert DEVFNN.load(model).positions["pipe"].rows == 1500


def test_chunks_of_another_length_are_the_same_rows(invoke, rows, model):
    assert invoke(model, rows, "--new", "--resume", "--rows", 700).exit_code == 0
    assert invoke(model, rows, "--resume", "--chunk-rows", 333).exit_code == 0
    assert DEVFNN.load(model).n_rows == 2300


def test_positions_that_a_program_keeps_stay(invoke, rows, model):
    known = DEVFNN(feature_names=["a", "b"])
    known.positions = {"a queue": Position(17)}
    known.save(model)
    assert invoke(model, rows, "--resume").exit_code == 0
    assert DEVFNN.load(model).positions["a queue"] == Position(17)


# ---- stopped otherwise


def test_ctrl_c_is_continued_by_the_same_command(invoke, rows, model, tmp_path, monkeypatch):
    whole, learn, calls = tmp_path / "whole.devfnn", DEVFNN.learn, []
    command = (rows, "--new", "--resume")

    def pressed(self, X, y, *others, **options):
        calls.append(len(y))
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return learn(self, X, y, *others, **options)

    with monkeypatch.context() as patch:
        patch.setattr(DEVFNN, "learn", pressed)
        result = invoke(model, *command)
    assert result.exit_code == 130, result.output
    assert "1,000 rows were learned and saved" in messages(result)
    assert "To continue, type the same again." in messages(result)
    assert DEVFNN.load(model).positions[str(rows)].rows == 1000
    assert invoke(model, *command).exit_code == invoke(whole, *command).exit_code == 0
    assert model.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("is_resumed", [False, True])
def test_half_a_chunk_is_never_saved(invoke, rows, model, monkeypatch, is_resumed):
    learn, calls = DEVFNN.learn, []

    def pressed_twice(self, X, y, *others, **options):
        calls.append(len(y))
        events = learn(self, X, y, *others, **options)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return events

    monkeypatch.setattr(DEVFNN, "learn", pressed_twice)
    options = ["--resume", "--save-every", 0] if is_resumed else []
    result = invoke(model, rows, "--new", *options)
    assert result.exit_code == 130, result.output
    if is_resumed:
        assert DEVFNN.load(model).n_rows == 1000
    else:
        assert not model.exists()


def test_what_was_learned_before_a_bad_row_is_kept(invoke, rows, model, tmp_path):
    lines, whole = made(), tmp_path / "whole.devfnn"
    write(rows, [*lines[:1700], "oops,1,low", *lines[1701:]])
    result = invoke(model, rows, "--new", "--resume")
    assert result.exit_code == 1
    n_rows = DEVFNN.load(model).n_rows if model.exists() else 0
    assert n_rows in (0, 1500)  # as far as whole chunks came from the reader
    write(rows, lines)
    assert invoke(model, rows, "--new", "--resume").exit_code == 0
    assert invoke(whole, rows, "--new", "--resume").exit_code == 0
    assert model.read_bytes() == whole.read_bytes()


def test_a_value_that_cannot_be_learned_is_named_by_its_row_in_the_source(invoke, rows, model):
    lines = made()
    write(rows, [*lines[:1200], "1e200,1,low", *lines[1201:]])
    for _ in range(2):
        result = invoke(model, rows, "--new", "--resume")
        assert result.exit_code == 1
        assert "row 1,201: 'a' is 1e+200" in messages(result)
        assert DEVFNN.load(model).positions[str(rows)].rows == 1000


def test_a_save_that_fails_on_the_way_is_told_and_made_up_for(invoke, rows, model, monkeypatch):
    fsync, calls = os.fsync, []

    def full_once(descriptor):
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full_once)
    result = invoke(model, rows, "--new", "--resume", "--save-every", 0, "--quiet")
    assert result.exit_code == 0, result.output
    assert f"cannot write {model}: No space left on device" in messages(result)
    assert f"{model} is written again" in messages(result)
    assert DEVFNN.load(model).n_rows == 2300


# ---- what is refused


@pytest.mark.parametrize("change", ["first", "last", "label", "fewer"])
def test_other_rows_than_were_learned_are_refused(invoke, rows, model, change):
    lines = made()
    assert invoke(model, rows, "--new", "--resume", "--rows", 1000).exit_code == 0
    before = model.read_bytes()
    if change == "label":
        lines[999] = lines[999].replace("high", "LOW").replace("low", "high").lower()
    elif change != "fewer":
        lines[0 if change == "first" else 999] = "0.5,0.25,high"
    write(rows, lines[:999] if change == "fewer" else lines)
    result = invoke(model, rows, "--resume")
    assert result.exit_code == 1
    assert ("fewer than" if change == "fewer" else "are not those") in messages(result)
    assert model.read_bytes() == before


def test_rows_without_labels_leave_nothing_behind(invoke, model, rows):
    write(rows, ["1,2,?"] * 1500)
    for _ in range(2):
        result = invoke(model, rows, "--new", "--resume", "--save-every", 0)
        assert result.exit_code == 1
        assert "nothing was learned" in messages(result)
        assert not model.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.csv", "--resume", "--skip", "5"], "leave --skip out"),
        (["rows.csv", "--resume", "--output", "x"], "leave --output out"),
        (["rows.csv", "--source", "x"], "are for --resume"),
        (["rows.csv", "--save-every", "1"], "are for --resume"),
        (["-", "--resume"], "--resume needs --source NAME for a pipe"),
        (["/dev/stdin", "--resume"], "--resume needs --source NAME for a pipe"),
        (["rows.csv", "--resume", "--set", "seed=1"], "--set is for a new model"),
        (["rows.csv", "--new", "--resume", "--set", "seed=1"], "has seed = 0, not 1"),
    ],
)
def test_what_does_not_go_together_is_said(invoke, rows, model, monkeypatch, arguments, message):
    monkeypatch.chdir(rows.parent)
    DEVFNN(Config(), feature_names=["a", "b"]).save(model)
    before = model.read_bytes()
    result = invoke(model, *arguments)
    assert result.exit_code == 2, result.output
    assert message in shown(result)
    assert model.read_bytes() == before


def test_a_source_that_the_model_has_no_room_for_is_refused_before_the_work(invoke, rows, model):
    known = DEVFNN(feature_names=["a", "b"])
    known.positions = {str(number): Position(1) for number in range(1000)}
    known.save(model)
    for options, message in (((), "at most 1,000 sources"), (("--source", "x" * 5000), "the name")):
        result = invoke(model, rows, "--resume", *options)
        assert result.exit_code == 2, result.output
        assert message in shown(result)
        known.positions = {}
        known.save(model)


# ---- one process at a time


def test_a_model_is_in_the_hands_of_one_process(invoke, rows, model):
    DEVFNN(feature_names=["a", "b"]).save(model)
    before = model.read_bytes()
    with locked(model):
        for options in ((), ("--resume",)):
            result = invoke(model, rows, *options)
            assert result.exit_code == 1
            assert f"{model} is in use by process {os.getpid()}" in messages(result)
            assert "or add --wait" in messages(result)
    assert model.read_bytes() == before
    assert invoke(model, rows).exit_code == 0


def test_who_waits_learns_on_what_the_other_has_saved(invoke, rows, model):
    assert invoke(model, rows, "--new").exit_code == 0
    known = DEVFNN.load(model)
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked(model))

        def save_and_release():
            known.learn([[0.1, 0.9]] * 10, ["low"] * 10)
            known.save(model)
            stack.close()

        threading.Timer(0.3, save_and_release).start()
        assert invoke(model, rows, "--wait").exit_code == 0
    assert DEVFNN.load(model).n_rows == 2300 + 10 + 2300
