"""Ctrl-C: what was done so far is shown, and the exit code is that of shells."""

import json
import shlex
import signal
import subprocess
import sys
import threading

import pytest

import devfnn
from devfnn.cli.errors import between_chunks
from devfnn.errors import DataError
from devfnn.evaluation import Prequential
from devfnn.experiments import Run
from devfnn.streams.describing import Overview, describe
from devfnn.streams.stream import Stream
from timeless import timeless


def interrupted_after(n_items, function):
    """The function, but for Ctrl-C after so many of the items it yields."""

    def shortened(*arguments):
        for number, item in enumerate(function(*arguments)):
            if number == n_items:
                raise KeyboardInterrupt
            yield item

    return shortened


def test_ctrl_c_ends_a_run_on_a_pipe_and_shows_its_result(tmp_path, ctrl_c):
    file = tmp_path / "result.json"
    command = [sys.executable, "-m", "devfnn", "run", "-", "--json", str(file)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, encoding="utf-8", **pipes) as process:
        process.stdin.write("".join(f"{k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(2000)))
        process.stdin.flush()  # and not closed: more rows may come
        while "500 rows" not in (line := process.stderr.readline()):
            assert line, "the run ended by itself"
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=60)
    assert process.returncode == 130, messages
    assert "interrupted" in output
    assert "accuracy over all predicted rows" in output
    assert "Traceback" not in messages
    report = json.loads(file.read_text())
    assert report["is_complete"] is False
    assert report["rows"] >= 500  # Ctrl-C may come between a chunk and its result
    assert "With --checkpoint FILE, a run can be continued later." in messages


def test_ctrl_c_shows_what_was_described(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("devfnn.cli.data.describe", interrupted_after(3, describe))
    file = tmp_path / "report.json"
    result = invoke("data", "describe", "sea", "--json", file)
    assert result.exit_code == 130, result.output
    assert "1,500 rows in 3 chunks" in result.stdout
    assert "Interrupted." in result.stderr
    report = json.loads(file.read_text())
    assert len(report["chunks"]) == 3
    assert report["is_interrupted"] is True


def test_a_chunk_is_described_as_a_whole_or_not_at_all(invoke, tmp_path, monkeypatch):
    class Pressed(Overview):
        def add(self, description):
            if self.n_chunks == 3:
                signal.raise_signal(signal.SIGINT)
            super().add(description)

    monkeypatch.setattr("devfnn.cli.data.Overview", Pressed)
    file = tmp_path / "report.json"
    result = invoke("data", "describe", "sea", "--json", file)
    assert result.exit_code == 130, result.output
    assert "2,000 rows in 4 chunks" in result.stdout
    assert len(json.loads(file.read_text())["chunks"]) == 4


@pytest.mark.parametrize("command", [["run"], ["data", "describe"]])
def test_ctrl_c_before_the_first_chunk_leaves_nothing_behind(
    invoke, tmp_path, monkeypatch, command
):
    def interrupted(stream):
        raise KeyboardInterrupt

    monkeypatch.setattr("devfnn.streams.stream.Stream.__iter__", interrupted)
    monkeypatch.setattr("devfnn.cli.running.compile_kernels", lambda *_: 0.0)
    result = invoke(*command, "sea", "--json", tmp_path / "result.json")
    assert result.exit_code == 130, result.output
    assert "Interrupted." in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_no_part_of_an_export(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "devfnn.streams.exporting.cut_by_rows", interrupted_after(1, lambda blocks, _: blocks)
    )
    result = invoke("data", "export", "sea", tmp_path / "sea.parquet")
    assert result.exit_code == 130, result.output
    assert list(tmp_path.iterdir()) == []


# ---- between chunks


def press():
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_works_at_once_while_a_chunk_is_waited_for():
    def chunks():
        yield 1
        press()
        pytest.fail("it was waited for another chunk")

    before, seen = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), between_chunks() as wrap:
        for each in wrap(chunks()):
            seen.append(each)
    assert seen == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_works_at_once_before_the_first_chunk_is_asked_for():
    with pytest.raises(KeyboardInterrupt), between_chunks():
        press()
        pytest.fail("it went on")


def test_ctrl_c_waits_until_a_chunk_is_done():
    seen = []
    with pytest.raises(KeyboardInterrupt), between_chunks() as wrap:
        for each in wrap([1, 2, 3]):
            if each == 2:
                press()
            seen.append(each)
    assert seen == [1, 2]


def test_ctrl_c_after_the_last_chunk_is_noticed():
    seen = []
    with pytest.raises(KeyboardInterrupt), between_chunks() as wrap:
        for each in wrap([1, 2]):
            seen.append(each)
            if each == 2:
                press()
    assert seen == [1, 2]


def test_ctrl_c_pressed_twice_works_anywhere():
    with pytest.raises(KeyboardInterrupt), between_chunks() as wrap:
        for _ in wrap([1, 2]):
            press()
            press()
            pytest.fail("it went on")


def test_signals_of_other_threads_are_left_alone():
    before, found = signal.getsignal(signal.SIGINT), []

    def elsewhere():
        with between_chunks() as wrap:
            found.extend(wrap([1, 2]))
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [1, 2, before]


# ---- runs that are continued later


def pressed_after(monkeypatch, n_chunks):
    """Let Ctrl-C be pressed while so many chunks have been learned."""
    chunks = Stream.__iter__

    def pressed(stream):
        for place, chunk in enumerate(chunks(stream)):
            if place == n_chunks and stream.n_rows != 300:  # which is the rehearsal of the kernels
                press()
            yield chunk

    monkeypatch.setattr(Stream, "__iter__", pressed)


SHORT = ("run", "sea", "--rows", 3000, "--chunk-rows", 250, "--with", "rows_per_concept=1000")
SHORT += ("--hide-labels", 0.3, "--delay-labels", 300, "--seed", 2)


def to_go_on(messages):
    """The command that is said to continue."""
    line = next(line for line in messages.splitlines() if line.startswith("To continue: "))
    return shlex.split(line.removeprefix("To continue: "))[1:]


@pytest.mark.parametrize(
    "more", [(), ("--by-row",), ("--label-budget", 0.3), ("--model", "gclass")]
)
def test_a_run_goes_on_as_it_is_said(invoke, tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    files = ("--json", "my result.json", "--checkpoint", "my point", "--csv", "chunks.csv")
    whole = tmp_path / "whole.json"
    assert invoke(*SHORT, *more, "--json", whole).exit_code == 0
    command = [*SHORT, *more, *files]
    for n_chunks in (3, 8):
        with monkeypatch.context() as patch:
            pressed_after(patch, n_chunks)
            result = invoke(*command)
        assert result.exit_code == 130, result.output
        assert "Interrupted." in result.stderr
        assert "interrupted" in result.stdout
        report = json.loads((tmp_path / "my result.json").read_text())
        assert report["is_complete"] is False
        assert report["chunks"] == n_chunks
        assert len((tmp_path / "chunks.csv").read_text().splitlines()) == n_chunks + 1
        command = to_go_on(result.stderr)
        assert command.count("--resume") == 1
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    assert "Continuing after 2,000 rows." in result.stderr
    found = json.loads((tmp_path / "my result.json").read_text())
    expected = json.loads(whole.read_text())
    assert timeless(found) == timeless(expected)


def test_a_run_that_is_interrupted_from_outside_goes_on_to_the_same_result(
    invoke, tmp_path, monkeypatch, ctrl_c
):
    monkeypatch.chdir(tmp_path)
    run = ["run", "sea", "--rows", "60000", "--delay-labels", "700"]
    files = ["--json", "a result.json", "--checkpoint", "point"]
    command = [sys.executable, "-m", "devfnn", *run, *files]
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, encoding="utf-8", **pipes) as process:
        while "6,000 rows" not in (line := process.stderr.readline()):
            assert line, "the run ended by itself"
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=60)
    assert process.returncode == 130, messages
    assert "interrupted" in output
    assert "Traceback" not in messages
    partial = json.loads((tmp_path / "a result.json").read_text())
    assert partial["is_complete"] is False
    assert 6_000 <= partial["rows"] < 60_000

    assert invoke(*to_go_on(messages)).exit_code == 0
    assert invoke(*run, "--json", "whole.json").exit_code == 0
    found, whole = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("a result", "whole")
    )
    assert timeless(found) == timeless(whole)


def test_a_pipe_has_to_say_the_same_again_to_go_on(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(3000))
    with monkeypatch.context() as patch:
        pressed_after(patch, 3)
        result = invoke("run", "-", "--checkpoint", "x", input=rows)
    assert result.exit_code == 130, result.output
    command = "run --resume - --checkpoint x"
    assert "To continue, with the same rows from the first: " in result.stderr
    assert command in result.stderr
    result = invoke(*command.split(), "--json", "y", input=rows)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "y").read_text())["rows"] == 3000


def test_ctrl_c_pressed_twice_within_a_chunk_leaves_nothing_behind(invoke, tmp_path, monkeypatch):
    learn = Prequential._learn

    def pressed(loop, batches):
        if loop.n_chunks == 3:
            press()
            press()
        return learn(loop, batches)

    monkeypatch.setattr(Prequential, "_learn", pressed)
    files = ("--json", tmp_path / "a", "--save", tmp_path / "b", "--checkpoint", tmp_path / "c")
    result = invoke("run", "sea", "--rows", 3000, *files)
    assert result.exit_code == 130, result.output
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_kernels_get_ready_works_at_once(invoke, tmp_path, monkeypatch):
    def slow(*_):
        press()
        pytest.fail("it went on")

    monkeypatch.setattr("devfnn.cli.running.compile_kernels", slow)
    result = invoke("run", "sea", "--json", tmp_path / "x")
    assert result.exit_code == 130, result.output
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_saved_when_a_run_is_interrupted(invoke, tmp_path, monkeypatch):
    pressed_after(monkeypatch, 3)
    result = invoke("run", "sea", "--rows", 3000, "--save", tmp_path / "x.model")
    assert result.exit_code == 130, result.output
    assert devfnn.load(tmp_path / "x.model").n_rows == 1500


def test_bad_data_leave_a_checkpoint_to_go_on_from(invoke, tmp_path, monkeypatch):
    chunks = Run.__iter__

    def broken(run):
        for place, result in enumerate(chunks(run)):
            yield result
            if place == 2:
                raise DataError("a bad row")

    with monkeypatch.context() as patch:
        patch.setattr(Run, "__iter__", broken)
        result = invoke(*SHORT, "--checkpoint", tmp_path / "x")
    assert result.exit_code == 1, result.output
    assert "a bad row" in result.stderr
    result = invoke(*SHORT, "--checkpoint", tmp_path / "x", "--resume")
    assert result.exit_code == 0, result.output
    assert "Continuing after 750 rows." in result.stderr
