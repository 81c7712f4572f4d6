"""Layers and rules that were made one, as the events of a model tell it.

In a stacked network a layer that says the same as another is left out for good. In a concept
network it is dropped, and its number may be given again; two boxes side by side whose weights
differ by chance alone become one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from devfnn.events import Event, LayerDropped, LayersMerged, RulePruned

SAYS_THE_SAME = "differs from layer {} in too few rows"
"""Why a kept layer is dropped that is merged into another."""

IS_LIKE = "difference from rule {}"
"""Why a rule goes that is joined to another."""


class Merger(NamedTuple):
    """Two that were made one."""

    row: int
    what: str
    """A layer, or a rule."""
    gone: int
    kept: int
    layer: int
    """The layer of a rule; of a layer its number."""

    @property
    def text(self) -> str:
        """What happened, as a sentence without its dot."""
        of = f" of layer {self.layer}" if self.what == "rule" else ""
        into = f"into {self.what} {self.kept} at row {self.row:,}"
        return f"{self.what.capitalize()} {self.gone}{of} was merged {into}"


def mergers_in(events: Iterable[Event]) -> Iterator[Merger]:
    """What was merged, in the order of the events."""
    for event in events:
        match event:
            case LayersMerged(row=row, kept=kept, dropped=gone):
                yield Merger(row, "layer", gone, kept, gone)
            case LayerDropped(row=row, layer=gone, reason=reason):
                if (other := _number_in(reason, SAYS_THE_SAME)) is not None:
                    yield Merger(row, "layer", gone, other, gone)
            case RulePruned(row=row, layer=layer, rule=gone, reason=reason):
                if (other := _number_in(reason, IS_LIKE)) is not None:
                    yield Merger(row, "rule", gone, other, layer)


def _number_in(reason: str, pattern: str) -> int | None:
    """The number in a reason, if it is of this kind."""
    found = re.fullmatch(pattern.format(r"(\d+)"), reason)
    return int(found[1]) if found else None
