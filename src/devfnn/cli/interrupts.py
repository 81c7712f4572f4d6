"""Ctrl-C where it does no harm."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator

from devfnn.types import Chunk

Wrap = Callable[[Iterable[Chunk]], Iterator[Chunk]]


@contextlib.contextmanager
def between_chunks() -> Iterator[Wrap]:
    """Wraps chunks such that Ctrl-C works only while the next one is waited for.

    So none is learned by half, and a pipe that says nothing can be left at once. It works before
    the first chunk is asked for too; and anywhere if it is pressed twice.
    """
    is_waiting, n_pressed = True, 0

    def press(*_: object) -> None:
        nonlocal n_pressed
        n_pressed += 1
        if is_waiting or n_pressed > 1:
            raise KeyboardInterrupt

    def wrap(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        nonlocal is_waiting
        remaining = iter(chunks)
        while True:
            is_waiting = True
            if n_pressed:
                raise KeyboardInterrupt
            chunk = next(remaining, None)
            is_waiting = False
            if chunk is None:
                return
            yield chunk

    if threading.current_thread() is not threading.main_thread():  # signals are not ours
        yield wrap
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield wrap
    finally:
        signal.signal(signal.SIGINT, before)
