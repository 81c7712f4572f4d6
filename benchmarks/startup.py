"""How long `import devfnn` takes, and whether a second process compiles again."""

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

USE = """
import numpy as np
from devfnn import DEVFNN
X = np.random.default_rng(0).random((1000, 4))
DEVFNN().learn(X, X[:, 0] > 0.5)
"""


def _seconds(code: str, cache: str | None = None) -> tuple[float, float]:
    """Wall and processor time of a process."""
    environment = dict(os.environ)
    if cache:
        environment["NUMBA_CACHE_DIR"] = cache
    start, used = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    now = os.times()
    busy = now.children_user + now.children_system - used.children_user - used.children_system
    return time.perf_counter() - start, busy


def measure() -> dict[str, Any]:
    """Seconds, best of three for the import."""
    python = min(_seconds("pass")[0] for _ in range(3))
    with tempfile.TemporaryDirectory() as cache:
        first = _seconds(USE, cache)
        second = _seconds(USE, cache)
    return {
        "import_seconds": min(_seconds("import devfnn")[0] for _ in range(3)) - python,
        "first_use_seconds": first[0],
        "second_process_seconds": second[0],
        "compile_cpu_seconds": first[1] - second[1],
    }
