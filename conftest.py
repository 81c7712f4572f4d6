"""Examples in docstrings are run too; those that need PyTorch, where it is installed."""

import importlib.util

collect_ignore_glob: list[str] = []
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob.append("src/devfnn/baselines/networks/*")
