"""`devfnn run --checkpoint`: in the hands of one process, and a full disk ends no run."""

import contextlib
import os
import signal
import threading

import pytest

from cli.shown import messages
from devfnn import DEVFNN
from devfnn.files import locked


def test_a_checkpoint_is_in_the_hands_of_one_run(invoke, tmp_path):
    point = tmp_path / "point"
    run = ("run", "sea", "--rows", 1500, "--checkpoint", point)
    with locked(point):
        result = invoke(*run)
        assert result.exit_code == 1
        assert f"{point} is in use by process {os.getpid()}: wait" in messages(result)
        assert "or add --wait" in messages(result)
    assert not point.exists()
    assert invoke(*run).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["point"]


def test_a_run_can_wait_for_its_checkpoint(invoke, tmp_path):
    point = tmp_path / "point"
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked(point))
        threading.Timer(0.5, stack.close).start()
        result = invoke("run", "sea", "--rows", 1500, "--checkpoint", point, "--wait")
    assert result.exit_code == 0, result.output
    assert "is in use by process" in messages(result)


def full_from(monkeypatch, n_calls):
    """Let the disk be full from some write on."""
    fsync, calls = os.fsync, []

    def failing(descriptor):
        calls.append(descriptor)
        if len(calls) >= n_calls:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)


def test_a_run_whose_checkpoint_cannot_be_written_is_finished(invoke, tmp_path, monkeypatch):
    full_from(monkeypatch, 1)
    run = ("run", "sea", "--rows", 1500, "--quiet", "--checkpoint", tmp_path / "point")
    result = invoke(*run)
    assert result.exit_code == 0, result.output
    said = f"cannot write {tmp_path / 'point'}: No space left on device; the newest state is not"
    assert said in messages(result)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("was_stored", [False, True])
def test_after_ctrl_c_it_is_said_that_the_state_is_not_stored(
    invoke, tmp_path, monkeypatch, was_stored
):
    point = tmp_path / "point"
    run = ("run", "sea", "--rows", 3000, "--checkpoint", point)
    learn = DEVFNN.learn
    if was_stored:
        with monkeypatch.context() as patch:
            press_in_chunk(patch, learn, 2)
            assert invoke(*run).exit_code == 130
    press_in_chunk(monkeypatch, learn, 2)
    full_from(monkeypatch, 1)
    result = invoke(*run, *(["--resume"] if was_stored else []))
    assert result.exit_code == 130, result.output
    assert "The state of the run is not stored: cannot write" in messages(result)
    assert ("To continue from the state before that: " in messages(result)) is was_stored
    assert "To continue: " not in messages(result)


def press_in_chunk(monkeypatch, learn, n_chunks):
    """Let Ctrl-C be pressed while a chunk is learned; the kernels are made ready with others."""
    calls = []

    def pressed(self, X, y, *others, **options):
        calls.append(len(y))
        if len([n for n in calls if n == 500]) == n_chunks:
            signal.raise_signal(signal.SIGINT)
        return learn(self, X, y, *others, **options)

    monkeypatch.setattr(DEVFNN, "learn", pressed)
