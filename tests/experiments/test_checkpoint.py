"""Checkpoints: a run that was killed goes on to the same result, and no file does harm."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save

from devfnn.errors import DataError, InputError
from devfnn.evaluation import Procedure, course
from devfnn.experiments import Checkpoint, Run, RunSettings, StreamSettings, resume
from devfnn.experiments.checkpoint import (
    FIRST_LINE,
    _unpacked,
    check_can_be_stored,
)
from devfnn.experiments.keeping import LARGEST_SHARE
from timeless import timeless

LABELS = {"hide_labels": 0.4, "delay_labels": 130}
SHORT = {"rows": 600, "chunk_rows": 50, "options": {"rows_per_concept": 200}}
"""Also 12 chunks, for runs row by row."""


def settings(stream=None, **changes):
    """A run of 12 chunks with a drift."""
    about = {"name": "sea", "rows": 1200, "chunk_rows": 100, "seed": 3}
    about["options"] = {"rows_per_concept": 400}
    return RunSettings(stream=StreamSettings(**(about | (stream or {}))), **changes)


def finished(chosen):
    """The result of a run that nobody stopped."""
    run = Run(chosen)
    for _ in run:
        pass
    return timeless(run.result())


def stopped(chosen, path, n_chunks):
    """A run that was stopped after some chunks, with a checkpoint."""
    run = Run(chosen)
    following = Checkpoint(path).follow(run)
    for _ in range(n_chunks):
        next(following)
    following.close()
    return run


def resumed(chosen, path):
    """The result of a run that goes on at a checkpoint."""
    run = Run(chosen)
    resume(run, path)
    for _ in run:
        pass
    return timeless(run.result())


def content(path):
    """What a checkpoint says of its run."""
    return json.loads(_unpacked(path.read_bytes())["about"].tobytes())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


# ---- the same result


@pytest.mark.parametrize(
    "chosen",
    [
        settings(),
        settings(LABELS),
        settings({"shuffle": 300, "skip": 50}),
        settings(SHORT | LABELS, procedure=Procedure(by_row=True)),
        settings({"delay_labels": 130}, procedure=Procedure(label_budget=0.3)),
        settings(SHORT, procedure=Procedure(delay=130, by_row=True)),
        settings(procedure=Procedure(warm_up_chunks=2, holdout_every=3, window_chunks=2)),
        settings(SHORT, procedure=Procedure(label_budget=0.2, by_row=True)),
        settings(preset="static", scaling="dataset"),
        settings(model="gclass"),
        settings(model="logistic"),
        settings({"name": "led", "options": {}}, scaling="none"),
        settings({"delay_labels": 10**6}),
    ],
)
def test_a_run_that_was_stopped_goes_on_to_the_same_result(path, chosen):
    for first, last in ((0, 1), (1, 5), (5, 11)):
        run = Run(chosen)
        if first:
            resume(run, path)
        assert len(run.results) == first
        following = Checkpoint(path).follow(run)
        for _ in range(first, last):
            next(following)
        following.close()
    assert resumed(chosen, path) == finished(chosen)


def test_a_run_with_more_chunks_than_points_goes_on_to_the_same_result(path, monkeypatch):
    monkeypatch.setattr(course, "MOST_POINTS", 4)
    monkeypatch.setattr(course, "MOST_EVENTS", 3)
    chosen = settings({"rows": 2300, "options": {"rows_per_concept": 300}}, preset="swift")
    expected = finished(chosen)
    assert expected["chunks_per_point"] == 8
    assert expected["events_dropped"] > 0
    for n_chunks in (3, 4, 5, 12, 20):
        stopped(chosen, path, n_chunks)
        assert resumed(chosen, path) == expected


def test_a_run_may_be_stopped_again_and_again(path):
    chosen = settings(LABELS)
    for place in range(12):
        run = Run(chosen)
        if place:
            resume(run, path)
            assert len(run.results) == place
        following = Checkpoint(path).follow(run)
        next(following)
        following.close()
    assert resumed(chosen, path) == finished(chosen)


def test_a_run_that_was_finished_is_not_run_again(path):
    chosen = settings()
    run = Run(chosen)
    for _ in Checkpoint(path).follow(run):
        pass
    again = Run(chosen)
    resume(again, path)
    assert list(again) == []
    assert again.is_complete
    assert again.result() == run.result()  # times too


@pytest.mark.parametrize("labels", [("größe", "x"), (1.5, -2.0), (10**15, -1), (True, False)])
def test_labels_of_any_plain_type_are_kept(tmp_path, path, labels):
    file = tmp_path / "rows.csv"
    rows = (f"{k % 7},{labels[k % 7 < 3]}\n" for k in range(1200))
    file.write_text("a,y\n" + "".join(rows), encoding="utf-8")
    chosen = settings({"name": str(file), "options": {"label": "y"}})
    stopped(chosen, path, 4)
    assert resumed(chosen, path) == finished(chosen)


DRIVER = """
import json, os, pathlib, sys
from devfnn.experiments import Checkpoint, Run, RunSettings, StreamSettings, resume

def settings(rows):
    return RunSettings(
        stream=StreamSettings(name="sea", rows=rows, chunk_rows=100, hide_labels=0.3,
                              delay_labels=150, options={"rows_per_concept": 1000})
    )

def go_on():
    run = Run(settings(4000))
    path = pathlib.Path(sys.argv[1])
    if path.exists():
        resume(run, path)
    for result in Checkpoint(path, every_seconds=0.0).follow(run):
        print(result.index, flush=True)
    print(json.dumps(run.result()), flush=True)

for _ in Run(settings(300)):  # reads the compiled kernels, once for all copies
    pass
for _ in sys.stdin:
    if not (process := os.fork()):
        print(os.getpid(), flush=True)
        go_on()
        os._exit(0)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
"""For every line it reads, a copy of the process goes on with the run; its end is told."""


def test_a_run_that_is_killed_at_any_moment_goes_on_to_the_same_result(path):
    chance, n_kills, last = random.Random(5), 0, -1
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    command = [sys.executable, "-c", DRIVER, str(path)]
    with subprocess.Popen(command, text=True, **pipes) as driver:
        lines = iter(driver.stdout.readline, "")
        while True:
            print(file=driver.stdin, flush=True)
            process = int(next(lines))
            first = int(next(lines))
            # It was killed before or after the checkpoint of its last chunk.
            assert first in (last + 1, last)
            last = first
            if n_kills == 2:
                break
            for _ in range(chance.randrange(5, 15)):
                last = int(next(lines))
            os.kill(process, signal.SIGKILL)
            while not (line := next(lines)).endswith(f"ended {-signal.SIGKILL}\n"):
                last = int(line)
            n_kills += 1
        driver.stdin.close()
        *_, output, end = driver.stdout.read().splitlines()
    assert end == "ended 0"
    labels = {"hide_labels": 0.3, "delay_labels": 150, "options": {"rows_per_concept": 1000}}
    about = {"name": "sea", "rows": 4000, "chunk_rows": 100} | labels
    chosen = RunSettings(stream=StreamSettings(**about))
    assert timeless(json.loads(output)) == json.loads(json.dumps(finished(chosen)))


# ---- when it is written


def test_a_checkpoint_is_written_after_every_chunk_if_it_may(path):
    run = Run(settings())
    for _ in Checkpoint(path, every_seconds=0.0).follow(run):
        if len(run.results) > 1:  # written when the next result is asked for
            assert len(content(path)["results"]) == len(run.results) - 1


def test_checkpoints_become_rarer_if_they_take_long(path, monkeypatch):
    clock, cost, pace = [0.0], 2.0, 1.0
    monkeypatch.setattr("devfnn.experiments.keeping.time.monotonic", lambda: clock[0])
    written = []

    class Slow(Checkpoint):
        def write(self, run):
            start = clock[0]
            clock[0] += cost
            self._last, self._cost = clock[0], clock[0] - start
            written.append(len(run.results))

    run = Run(settings({"rows": 20_000}, model="logistic"))
    for _ in Slow(path, every_seconds=5.0).follow(run):
        clock[0] += pace
    gaps = np.diff(written[:-1])
    assert written[0] == 5
    assert set(gaps) == {cost / LARGEST_SHARE / pace}


def test_a_chunk_learned_by_half_is_not_stored(path, monkeypatch):
    run = Run(settings())
    following = Checkpoint(path).follow(run)
    for _ in range(3):
        next(following)
    learn = type(run.model).learn

    def half(model, *arguments, **others):
        learn(model, *arguments, **others)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(run.model), "learn", half)
    run.loop._learner._learn = run.model.learn
    with pytest.raises(KeyboardInterrupt):
        next(following)
    assert not path.exists()


def test_a_chunk_whose_result_was_lost_is_not_stored(path, monkeypatch):
    run = Run(settings())
    following = Checkpoint(path, every_seconds=0.0).follow(run)
    for _ in range(3):
        next(following)

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(run.loop), "_result", pressed)
    with pytest.raises(KeyboardInterrupt):
        next(following)
    monkeypatch.undo()
    assert resumed(settings(), path) == finished(settings())


def test_what_was_learned_before_bad_data_is_stored(path):
    def watch(chunks):
        for place, chunk in enumerate(chunks):
            if place == 4:
                raise DataError("a bad row")
            yield chunk

    run = Run(settings(), watch=watch)
    with pytest.raises(DataError, match="a bad row"):
        list(Checkpoint(path).follow(run))
    assert resumed(settings(), path) == finished(settings())


def test_a_draft_that_a_kill_left_does_no_harm_and_goes(tmp_path, path):
    draft = path.with_name(f"{path.name}.0123456789abcdef.draft")
    draft.write_bytes(b"half a checkpoint")
    stopped(settings(), path, 3)
    assert list(tmp_path.iterdir()) == [path]
    assert resumed(settings(), path) == finished(settings())


def test_a_link_stays_a_link(tmp_path, path):
    path.symlink_to(tmp_path / "elsewhere")
    stopped(settings(), path, 2)
    assert path.is_symlink()
    assert resumed(settings(), tmp_path / "elsewhere") == finished(settings())


def full(*_):
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_and_tried_again_and_ends_no_run(path, monkeypatch):
    told, fsync = [], os.fsync
    run = Run(settings())
    for result in Checkpoint(path, every_seconds=0.0, tell=told.append).follow(run):
        if result.index == 2:  # written when the next one is asked for
            monkeypatch.setattr(os, "fsync", full)
        elif result.index == 6:
            assert len(content(path)["results"]) == 2
            monkeypatch.setattr(os, "fsync", fsync)
    why = f"cannot write {path}: No space left on device; the newest state is not stored"
    assert told == [why, f"{path} is written again"]
    assert timeless(run.result()) == finished(settings())
    assert len(content(path)["results"]) == 12
    assert list(path.parent.iterdir()) == [path]


def test_a_run_whose_last_checkpoint_failed_says_so(path, monkeypatch, caplog):
    run, point = Run(settings()), Checkpoint(path)
    following = point.follow(run)
    next(following)
    assert point.problem is None
    monkeypatch.setattr(os, "fsync", full)
    following.close()
    assert point.problem == f"cannot write {path}: No space left on device"
    assert caplog.messages == [f"{point.problem}; the newest state is not stored"]
    assert not path.exists()


# ---- what is refused


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (settings({"seed": 4}), "stream.seed = 4, the checkpoint 3"),
        (settings({"rows": 1300}), "stream.rows = 1300, the checkpoint 1200"),
        (settings({"hide_labels": 0.1}), "stream.hide_labels = 0.1"),
        (settings(changes={"boxes__max_rules": 2}), "changes"),
        (settings(model="gclass"), "model = 'gclass', the checkpoint 'devfnn'"),
        (settings(procedure=Procedure(by_row=True)), "procedure.by_row = True"),
    ],
)
def test_other_settings_are_refused_by_name(path, other, name):
    stopped(settings(), path, 2)
    with pytest.raises(InputError, match=name):
        resume(Run(other), path)


def test_data_may_have_moved_but_not_have_changed(tmp_path, path):
    def chosen(folder, header="a,b,y\n", n_rows=1200):
        (tmp_path / folder).mkdir(exist_ok=True)
        rows = "".join(f"{k % 7},{k % 3},{k % 7 < 3}\n" for k in range(n_rows))
        (tmp_path / "rows.csv").write_text(header + rows)
        about = {"name": str(tmp_path / "rows.csv"), "options": {"label": "y"}}
        return settings(about | {"data_dir": str(tmp_path / folder)})

    stopped(chosen("here"), path, 3)
    assert resumed(chosen("there"), path)["rows"] == 1200
    with pytest.raises(InputError, match=r"features = .*, the checkpoint"):
        resume(Run(chosen("here", header="a,c,y\n")), path)


@pytest.mark.parametrize(
    ("row", "text"),
    [(0, "5,1,False"), (249, "5,1,False"), (249, "3,0,True"), (299, "5,1,False"), (199, None)],
)
def test_rows_that_have_changed_are_refused_again_and_again(tmp_path, path, row, text):
    file = tmp_path / "rows.csv"
    rows = [f"{k % 7},{k % 3},{k % 7 < 3}" for k in range(1200)]
    file.write_text("\n".join(["a,b,y", *rows, ""]))
    chosen = settings({"name": str(file), "options": {"label": "y"}})
    stopped(chosen, path, 3)
    rows = rows[:row] if text is None else [*rows[:row], text, *rows[row + 1 :]]
    file.write_text("\n".join(["a,b,y", *rows, ""]))
    before = path.read_bytes()
    for _ in range(2):
        run = Run(chosen)
        with pytest.raises(DataError, match="not those of the run"):
            resume(run, path)
            list(Checkpoint(path, every_seconds=0.0).follow(run))
        assert path.read_bytes() == before


def test_rows_that_come_later_may_change(tmp_path, path):
    file = tmp_path / "rows.csv"
    rows = [f"{k % 7},{k % 3},{k % 7 < 3}" for k in range(1200)]
    file.write_text("\n".join(["a,b,y", *rows, ""]))
    chosen = settings({"name": str(file), "options": {"label": "y"}})
    stopped(chosen, path, 3)
    rows[700] = "5,1,False"
    file.write_text("\n".join(["a,b,y", *rows, ""]))
    assert resumed(chosen, path)["rows"] == 1200


@pytest.mark.parametrize("model", ["majority", "no-change", "river-gaussian-nb", "sklearn-sgd"])
def test_models_without_a_file_format_are_refused(path, model):
    if "-" in model and model != "no-change":
        pytest.importorskip(model.split("-")[0])
    run = Run(settings(model=model))
    for refused in (
        lambda: check_can_be_stored(run),
        lambda: next(Checkpoint(path).follow(run)),
        lambda: resume(run, path),
    ):
        with pytest.raises(InputError, match=f"a run of {model} cannot be stored"):
            refused()
    assert not path.exists()


def test_a_checkpoint_that_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "no"):
        with pytest.raises(DataError, match="cannot read"):
            resume(Run(settings()), path)


# ---- files from anywhere


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a checkpoint."""
    path = tmp_path_factory.mktemp("whole") / "x"
    stopped(settings(LABELS), path, 6)
    return path.read_bytes()


def refuse(path, data, message="damaged, cut short"):
    """A file must be refused as damaged, and leave the run as it was."""
    path.write_bytes(data)
    run = Run(settings(LABELS))
    before = (run.model, run.loop, run.results)
    with pytest.raises(DataError, match=message):
        resume(run, path)
    assert (run.model, run.loop, run.results) == before


def changed(whole, **arrays):
    """A checkpoint with other content and a checksum that fits; None leaves an array out."""
    tensors = _unpacked(whole) | arrays
    inside = save({name: array for name, array in tensors.items() if array is not None})
    return FIRST_LINE + hashlib.sha256(inside).digest() + inside


def test_the_whole_checkpoint_is_not_refused(whole, path):
    for data in (whole, changed(whole)):
        path.write_bytes(data)
        assert resumed(settings(LABELS), path) == finished(settings(LABELS))


def test_bytes_that_are_no_checkpoint_are_refused(path, rng):
    for data in (b"", b"\0" * 100, rng.bytes(1000), b"{}", (2**62).to_bytes(8, "little") + b"{"):
        refuse(path, data, "it does not begin as those of this version do")


def test_a_checkpoint_of_another_format_is_refused(whole, path):
    refuse(path, whole.replace(FIRST_LINE, b"devfnn checkpoint 3\n"), "of this version")


def test_a_checkpoint_that_was_cut_short_is_refused(whole, path, rng):
    for n_bytes in rng.integers(0, len(whole), 20):
        refuse(path, whole[:n_bytes])


def test_a_flipped_bit_is_refused(whole, path, rng):
    for place in rng.integers(0, len(whole), 60):
        data = bytearray(whole)
        data[place] ^= 1 << int(rng.integers(8))
        refuse(path, bytes(data))


@pytest.mark.parametrize("text", [b" ", b"[]", b"null", b"{}", b"\xff", b"[" * 100_000, b"1e999"])
def test_text_that_is_no_description_is_refused_whatever_its_checksum(whole, path, text):
    refuse(path, changed(whole, about=np.frombuffer(text, np.uint8)))


def test_a_key_that_is_there_twice_is_refused_whatever_the_checksum(whole, path):
    text = _unpacked(whole)["about"].tobytes().replace(b'"loop":', b'"loop":{},"loop":', 1)
    refuse(path, changed(whole, about=np.frombuffer(text, np.uint8)), "a key occurs twice")


@pytest.mark.parametrize("name", ["about", "model", "scores.ring", "scores.last"])
def test_arrays_that_are_missing_or_cut_are_refused_whatever_the_checksum(whole, path, name):
    refuse(path, changed(whole, **{name: None}))
    refuse(path, changed(whole, **{name: _unpacked(whole)[name][:-1]}))


def test_a_model_of_another_run_is_refused(whole, path, tmp_path):
    small = settings(LABELS, changes={"boxes__max_rules": 2})
    for other in (small, settings(LABELS, model="gclass")):
        stopped(other, tmp_path / "other", 6)
        model = _unpacked((tmp_path / "other").read_bytes())["model"]
        refuse(path, changed(whole, model=model), "the model has other parameters")
