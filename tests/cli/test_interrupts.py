"""Ctrl-C: what was done so far is shown, and the exit code is that of shells."""

import json
import signal
import subprocess
import sys

import pytest

from devfnn.streams.describing import Overview, describe


def interrupted_after(n_items, function):
    """The function, but for Ctrl-C after so many of the items it yields."""

    def shortened(*arguments):
        for number, item in enumerate(function(*arguments)):
            if number == n_items:
                raise KeyboardInterrupt
            yield item

    return shortened


def test_ctrl_c_ends_a_run_on_a_pipe_and_shows_its_result(tmp_path):
    file = tmp_path / "result.json"
    command = [sys.executable, "-m", "devfnn", "run", "-", "--json", str(file)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, encoding="utf-8", **pipes) as process:
        process.stdin.write("".join(f"{k % 7},{k % 3},{int(k % 7 < 3)}\n" for k in range(2000)))
        process.stdin.flush()  # and not closed: more rows may come
        while "1,000 rows" not in (line := process.stderr.readline()):
            assert line, "the run ended by itself"
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=60)
    assert process.returncode == 130, messages
    assert "interrupted" in output
    assert "accuracy over all predicted rows" in output
    assert "Traceback" not in messages
    report = json.loads(file.read_text())
    assert report["is_interrupted"] is True
    assert report["summary"]["n_rows"] >= 500  # Ctrl-C may come between a chunk and its result


def test_ctrl_c_shows_what_was_described(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("devfnn.cli.describing.describe", interrupted_after(3, describe))
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

    monkeypatch.setattr("devfnn.cli.describing.Overview", Pressed)
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
    monkeypatch.setattr("devfnn.cli.run._get_ready", lambda *_: 0.0)
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
