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


def _seconds(code: str, cache: str | None = None) -> float:
    environment = dict(os.environ)
    if cache:
        environment["NUMBA_CACHE_DIR"] = cache
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    return time.perf_counter() - start


def measure() -> dict[str, Any]:
    """Seconds, best of three for the import."""
    python = min(_seconds("pass") for _ in range(3))
    with tempfile.TemporaryDirectory() as cache:
        first = _seconds(USE, cache)
        second = _seconds(USE, cache)
    return {
        "import_seconds": min(_seconds("import devfnn") for _ in range(3)) - python,
        "first_use_seconds": first,
        "second_process_seconds": second,
    }
