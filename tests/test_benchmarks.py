"""Every script in benchmarks/ can be imported, so that its configurations exist."""

import os
import pathlib
import subprocess
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in BENCHMARKS.glob("*.py"))


def test_every_script_can_be_imported() -> None:
    for package in ("pyarrow", "rich", "river", "scipy"):
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(SCRIPTS)}"],
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(BENCHMARKS), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
