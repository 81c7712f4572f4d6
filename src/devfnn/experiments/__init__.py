"""Runs from settings to results: one, or many at once; checkpoints and tables."""

from devfnn.experiments.checkpoint import Checkpoint, resume
from devfnn.experiments.result_files import write_result
from devfnn.experiments.running import Run, evaluate
from devfnn.experiments.settings import RunSettings, StreamSettings

__all__ = [
    "Checkpoint",
    "Run",
    "RunSettings",
    "StreamSettings",
    "evaluate",
    "resume",
    "write_result",
]
