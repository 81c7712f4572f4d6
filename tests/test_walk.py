"""A reader who follows one chunk through the default has few files to open."""

import json
import pathlib
import subprocess
import sys

WALK = pathlib.Path(__file__).parents[1] / "benchmarks" / "walk.py"


def test_a_chunk_goes_through_few_files_and_folders() -> None:
    done = subprocess.run(
        [sys.executable, str(WALK), "--json"], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    walk = json.loads(done.stdout)
    assert 5 < len(walk["files"]) <= 15
    assert 2 < len(walk["changes"]) <= 10
