"""Examples in docstrings are run too; those that need PyTorch, where it is installed."""

import importlib.util
import os
import pathlib
import sys

os.environ.setdefault("DEVFNN_WRAP_KERNELS", "1")  # tests call parts of kernels from Python

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    # Nothing is written beside sources then, and every process that a test starts would compile
    # all of NumPy, SciPy and Numba again, for seconds. They share a folder of their own instead.
    sys.pycache_prefix = str(pathlib.Path(__file__).parent / ".pytest_cache" / "bytecode")
    sys.dont_write_bytecode = False
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

collect_ignore_glob: list[str] = []
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob.append("src/devfnn/baselines/networks/*")
