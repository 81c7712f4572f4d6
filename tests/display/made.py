"""Consoles that write into memory, and results of chunks, for what is shown on terminals."""

import io

import rich.console

from devfnn.evaluation import ChunkResult
from devfnn.events import DriftFound


def console(is_terminal=False, width=100):
    """A console that writes into memory."""
    return rich.console.Console(file=io.StringIO(), width=width, force_terminal=is_terminal)


def shown(*things, **how):
    """What a console shows."""
    screen = console(**how)
    for thing in things:
        screen.print(thing)
    return screen.file.getvalue()


def drift(row):
    """Drift that was found at a row."""
    return (DriftFound(row, 0.1, 0.3, 0.1, 50),)


def results(*drifting, n_chunks=10, n_correct=None, tally=None):
    """Chunks of 100 rows, all but the first predicted, by default 90 of them correctly."""
    return [
        ChunkResult(
            index=index,
            chunk_rows=100,
            n_rows=100 * (index + 1),
            n_correct=(n_correct[index] if n_correct else 90) if index else None,
            n_scored=100 if index else 0,
            events=drift(100 * (index + 1)) if index in drifting else (),
            seconds_predict=0.01,
            seconds_learn=0.04,
            n_rules=3,
            n_layers=2,
            tally=tally if index else None,
        )
        for index in range(n_chunks)
    ]
