"""Compiled code, got ready where the user can see it."""

import contextlib
import logging
import time
from collections.abc import Iterator

import rich.console

from devfnn.display.literal import literal
from devfnn.evaluation import iter_prequential
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.streams import sea


def get_ready(config: Config | None, console: rich.console.Console) -> float:
    """Compile or load the kernels; returns the seconds it took."""
    start = time.perf_counter()
    with _log_shown(console), console.status("Getting the compiled kernels ready ..."):
        from devfnn.model.compiling import ensure_compiled

        config = config or Config()
        ensure_compiled(config)
        rehearsal = sea(300, rows_per_concept=300, chunk_rows=100)
        for _ in iter_prequential(DEVFNN(config), rehearsal):
            pass
    return time.perf_counter() - start


class _ConsoleHandler(logging.Handler):
    """Shows log records as lines on a console, above a status if there is one."""

    def __init__(self, console: rich.console.Console) -> None:
        super().__init__()
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        self.console.print(literal(record.getMessage()))


@contextlib.contextmanager
def _log_shown(console: rich.console.Console) -> Iterator[None]:
    """Show what the package logs, while this lasts."""
    handler = _ConsoleHandler(console)
    logger = logging.getLogger("devfnn")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
