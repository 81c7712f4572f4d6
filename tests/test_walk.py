"""A reader who follows one chunk through the default has few files to open."""

import json
import os
import pathlib
import subprocess
import sys

BENCHMARKS = pathlib.Path(__file__).parents[1] / "benchmarks"
SHORTER = "import walk; walk.CHUNK_ROWS = 300; walk.main()"
"""Chunks of 300 rows take the same way as those of 500."""


def test_a_chunk_goes_through_few_files_and_folders() -> None:
    paths = os.pathsep.join([str(BENCHMARKS), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", SHORTER, "--json"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    walk = json.loads(done.stdout)
    assert 5 < len(walk["files"]) <= 16
    assert 2 < len(walk["changes"]) <= 10
