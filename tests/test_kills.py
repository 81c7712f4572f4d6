"""Processes killed at any moment lose nothing; `make kills` does it a thousand times."""

import os
import pathlib
import subprocess
import sys

import pytest

import devfnn

SCRIPT = pathlib.Path(__file__).parents[1] / "benchmarks" / "kills.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_is_killed_goes_on_to_what_nobody_stopped_comes_to() -> None:
    pytest.importorskip("pyarrow")
    here = str(pathlib.Path(devfnn.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--kills", "12"],
        env=os.environ | {"PYTHONPATH": here},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["kills", "ends", "lost", "twice", "torn", "differs", "left", "failed"]
    assert {"run", "learn", "save", "compare"} <= {line[0] for line in lines[1:]}
    assert lines[-1][:2] == ["12", "kills"]
