"""Who may change what a model has learned, and what other threads read meanwhile.

One thread at a time changes it, under a lock, in place: the `working` state. What others read is
`published`, a copy that nobody changes, so that readers never wait for a chunk being learned. A
copy takes a few hundredths of the time of 500 rows; it is made

- before every change but that of a plain row: if the change fails, the model is what it was;
- after it, once the model is used by more than one thread. Row by row only now and then
  (`PUBLISHING_SHARE`), or when somebody reads while nobody writes.

As long as one thread alone uses a model, that thread reads and changes the working state directly.
"""

import contextlib
import dataclasses
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from devfnn.arrays import Ints
from devfnn.errors import InputError
from devfnn.model.history import Logbook
from devfnn.model.network import Network
from devfnn.model.validation import Labels
from devfnn.types import Position

PUBLISHING_SHARE = 0.05
"""Largest share of the time of learning row by row that goes into copies for readers."""

PATIENCE = 1e-3
"""Seconds after which a thread that waits for the lock looks again whether it still has to."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Model = TypeVar("Model", bound="HasAccess")


@dataclasses.dataclass
class Learned:
    """Everything that a model has learned, and noted. Parts but the network are replaced, or kept
    to one side by `copy`, so that a copy never changes with the original."""

    names: list[str] | None
    labels: Labels
    network: Network | None = None
    logbook: Logbook = dataclasses.field(default_factory=Logbook)
    query_log: Logbook = dataclasses.field(default_factory=Logbook)
    early_budget: Ints | None = None
    """What was asked for before there was a network."""
    late: tuple[int, ...] = ()
    """With lags, columns of features that were added later."""
    positions: dict[str, Position] = dataclasses.field(default_factory=dict)
    """How far it has come in sources of rows."""

    def copy(self) -> "Learned":
        """The same, to be changed apart from this."""
        return dataclasses.replace(
            self,
            network=None if self.network is None else self.network.copy(),
            logbook=self.logbook.copy(),
            query_log=self.query_log.copy(),
            early_budget=None if self.early_budget is None else self.early_budget.copy(),
        )

    def hear(self, same: "Learned") -> None:
        """Take over what layers said of the last rows in an equal state, to learn these rows."""
        if self.network is not None and same.network is not None and same.network.said is not None:
            inputs, outputs, stacked = same.network.said
            self.network.said = inputs, outputs.copy(), stacked.copy()


class _Local(threading.local):
    """What belongs to a thread."""

    view: Learned | None = None
    """What the call at hand reads or changes."""
    is_changing: bool = False
    """Whether it changes it."""


class Access:
    """Lets one thread at a time change what a model has learned, and any number read it."""

    def __init__(self, learned: Learned) -> None:
        self.working = learned
        self.published: Learned | None = None
        self.is_current = False
        """Whether `published` is the state before or after the change at hand, if there is one."""
        self.lock = threading.RLock()
        self.is_awaited = False
        """Whether a writer waits for the lock: readers do not take it then."""
        self._is_at_work = False
        """Whether a writer has the lock."""
        self._owner = threading.get_ident()
        self._is_shared = False
        """Whether another thread than the owner has come."""
        self._is_split = False
        """Whether the owner can no longer be reading what is changed in place."""
        self._local = _Local()
        self._due = 0.0
        _all.add(self)

    # ---- read

    def view(self) -> Learned:
        """What the thread at hand reads, or changes if it is within a change."""
        return self._local.view or self.own() or self._newest()

    def own(self) -> Learned | None:
        """The working state if no other thread than the one at hand has used the model so far."""
        working = self.working  # first: whoever comes afterwards changes a copy of it
        return working if not self._is_shared and threading.get_ident() == self._owner else None

    @contextlib.contextmanager
    def reading(self, learned: Learned | None = None) -> Iterator[Learned]:
        """One state, that of now if none is given, for all that is read within."""
        local = self._local
        before, local.view = local.view, learned or self.view()
        try:
            yield local.view
        finally:
            local.view = before

    def newest_for_a_moment(self) -> tuple[Learned, bool]:
        """A state to read, the newest if nobody changes it now, and whether `lock` is to be
        released afterwards."""
        if (own := self.own()) is not None:
            return own, False
        if not self.is_awaited and self.lock.acquire(blocking=False):
            return self.working, True
        return self._newest(), False

    def _newest(self) -> Learned:
        """The newest state that can be read without waiting for a change."""
        if not self._is_shared:
            self._share()
        while (shown := self.published) is None or not self.is_current:
            may_wait = shown is None or not self._is_at_work  # for another reader
            if self.lock.acquire(timeout=PATIENCE if may_wait else 0.0):
                try:
                    self._publish()
                finally:
                    self.lock.release()
            elif shown is not None and self._is_at_work:
                break
        return shown

    def _share(self) -> None:
        """Another thread than the owner comes for the first time, to read."""
        before, self._is_shared = self.published, True
        while not self.lock.acquire(timeout=PATIENCE):
            if self.is_current or self.published is not before:
                return
        try:
            self._split()
        finally:
            self.lock.release()

    def _split(self) -> None:
        """Leave to its owner what it may be reading, and work on a copy. The lock is held."""
        if not self._is_split:
            self._is_shared = True
            self.published = self.working
            self.working, self.is_current, self._is_split = self.working.copy(), True, True

    # ---- change

    def change(self, do: Callable[[], R]) -> R:
        """Change what was learned; if that fails, it is what it was."""
        local = self._local
        if local.is_changing:  # part of another change
            return do()
        if local.view is not None:
            raise InputError("a model cannot learn while the same call reads it")
        self.is_awaited = True
        with self.lock:
            self.is_awaited = False
            try:
                self._begin()
                if not self.is_current:
                    self._publish()
                elif self.published is not None:
                    self.working.hear(self.published)
                if self.working is self.published:
                    self.working = self.working.copy()
                local.view = self.working
                found = do()
                if self._is_shared:
                    self._publish()
                else:
                    self.published, self.is_current = None, False
                return found
            except BaseException:
                self.working = self.published or self.working
                raise
            finally:
                self._end()

    def begin_in_place(self) -> Learned:
        """Before a small change that cannot fail, under `lock`; `end_in_place` must follow."""
        self.is_awaited = False
        self._begin()
        if self.working is self.published:
            self.working = self.working.copy()
        self.is_current = False
        self._local.view = working = self.working
        return working

    def end_in_place(self) -> None:
        """After it."""
        self._end()
        if self._is_shared and time.perf_counter() >= self._due:
            with contextlib.suppress(MemoryError):  # readers see it later
                self._publish()

    def _begin(self) -> None:
        """The thread at hand has the lock to change something."""
        self._local.is_changing = self._is_at_work = True
        if self._is_shared or threading.get_ident() != self._owner:
            self._split()

    def _end(self) -> None:
        """It has done so."""
        self._local.view = None
        self._local.is_changing = self._is_at_work = False

    def _publish(self) -> None:
        """Show readers the state as it is. The lock is held."""
        start = time.perf_counter()
        self.published = self.working.copy()
        self.is_current = True
        now = time.perf_counter()
        self._due = now + (now - start) / PUBLISHING_SHARE

    def start_anew(self) -> None:
        """In a forked process, where threads that had the lock are gone."""
        if self._is_at_work:
            self.working = self.published or self.working
            self.is_current = self.working is self.published
        self.lock, self._is_at_work, self.is_awaited = threading.RLock(), False, False


_all: "weakref.WeakSet[Access]" = weakref.WeakSet()
"""The access to all models of this process."""


def _start_all_anew() -> None:
    for each in [*_all]:
        each.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_all_anew)


class HasAccess:
    """What has an `Access`."""

    _access: Access


def reads(method: Callable[Concatenate[Model, P], R]) -> Callable[Concatenate[Model, P], R]:
    """A method that reads one state of the model from its beginning to its end."""

    def call(self: Model, /, *args: P.args, **kwargs: P.kwargs) -> R:
        local = self._access._local
        if local.view is not None:
            return method(self, *args, **kwargs)
        local.view = self._access.view()
        try:
            return method(self, *args, **kwargs)
        finally:
            local.view = None

    return functools.update_wrapper(call, method)


def changes(method: Callable[Concatenate[Model, P], R]) -> Callable[Concatenate[Model, P], R]:
    """A method that changes the model, one call after the other; a call that fails does not."""

    def call(self: Model, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._access.change(functools.partial(method, self, *args, **kwargs))

    return functools.update_wrapper(call, method)


class Part(Generic[T]):
    """An attribute of a model that is a part of what it has learned."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.removeprefix("_")

    @overload
    def __get__(self, model: None, owner: Any = None) -> "Part[T]": ...

    @overload
    def __get__(self, model: HasAccess, owner: Any = None) -> T: ...

    def __get__(self, model: HasAccess | None, owner: Any = None) -> "T | Part[T]":
        if model is None:
            return self
        found: T = getattr(model._access.view(), self._name)
        return found

    def __set__(self, model: HasAccess, value: T) -> None:
        setattr(model._access.view(), self._name, value)
