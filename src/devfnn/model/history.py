"""History of the structure of a model: the newest events, and how many were dropped."""

import collections
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from devfnn.events import Event

MOST_EVENTS = 1000
"""Events, or queries, that a model keeps and saves, the newest."""


@dataclasses.dataclass(frozen=True)
class History:
    """Structural events of a model, the oldest first, with the numbers that caused them."""

    events: tuple[Event, ...]
    n_dropped: int
    """Older events that are no longer kept."""
    since_row: int
    """Row from which events were recorded; 0 is the first row learned."""

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def of_kind(self, *kinds: str) -> list[Event]:
        """Events of some kinds, by name: "DriftFound", "RuleSplit", ..."""
        return [event for event in self.events if event.kind in kinds]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        events = [event.to_dict() | {"explanation": event.explanation} for event in self.events]
        return {"since_row": self.since_row, "n_dropped": self.n_dropped, "events": events}

    def text(self, most: int = 50) -> str:
        """The newest events, one a line."""
        shown = self.events[-most:] if most > 0 else ()
        n_hidden = len(self.events) - len(shown) + self.n_dropped
        lines = [f"from row {self.since_row:,}: {len(self.events) + self.n_dropped:,} events"]
        lines += [f"... and {n_hidden:,} before"] if n_hidden else []
        return "\n".join(
            [*lines, *(f"row {each.row:,}  {each.kind}: {each.explanation}" for each in shown)]
        )


class Logbook:
    """Log of a model's events, or of its queries."""

    def __init__(
        self, newest: Iterable[Any] = (), n_noted: int = 0, since: int | None = None
    ) -> None:
        self.newest: collections.deque[Any] = collections.deque(newest, maxlen=MOST_EVENTS)
        self.n_noted = n_noted
        self.since = since

    def copy(self) -> "Logbook":
        """The same, to be continued apart from this."""
        return Logbook(self.newest, self.n_noted, self.since)

    def begin(self, row: int) -> None:
        """Start recording at this row, unless it has started."""
        if self.since is None:
            self.since = row

    def note(self, events: Iterable[Any], row: int) -> None:
        """Append events up to a row."""
        for event in events:
            self.begin(min(event.row, row))
            self.newest.append(event)
            self.n_noted += 1

    def history(self, row: int) -> History:
        """The history, at a row."""
        since = row if self.since is None else self.since
        return History(tuple(self.newest), self.n_noted - len(self.newest), since)
