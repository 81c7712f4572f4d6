"""What kernels report about rows, as events in the user's units."""

from typing import TYPE_CHECKING

from devfnn.events import (
    DriftFound,
    Event,
    LayerDropped,
    LayerKept,
    LayerRecalled,
    RuleBorn,
    RuleRecalled,
    RuleSplit,
)
from devfnn.kernels.state import (
    DRIFT_EVENT,
    DROPPED_EVENT,
    KEPT_EVENT,
    RECALLED_EVENT,
    RULE_BORN_EVENT,
    RULE_RECALLED_EVENT,
    SPLIT_EVENT,
    EventBuffer,
)
from devfnn.model.config import KeepLayers

if TYPE_CHECKING:
    from devfnn.model.network import Network


def events_of(network: "Network", buffer: EventBuffer, names: list[str]) -> list[Event]:
    """The lines of an event buffer as events, in the user's units."""
    return [_event(network, line, buffer, names) for line in range(int(buffer.count[0]))]


def _event(network: "Network", line: int, buffer: EventBuffer, names: list[str]) -> Event:
    """One line as an event."""
    row, kind, layer, first, second = (int(value) for value in buffer.lines[line])
    numbers = [float(value) for value in buffer.numbers[line]]
    at = network.n_rows + row
    if kind == SPLIT_EVENT:
        feature = int(numbers[0])
        value = _in_units(network, feature, numbers[1])
        return RuleSplit(at, layer, first, second, names[feature], value, *numbers[2:])
    if kind == DRIFT_EVENT:
        before, after, bound, cut = numbers
        return DriftFound(at, before, after, bound, int(cut))
    if kind == KEPT_EVENT:
        return LayerKept(at, layer, first, second, int(numbers[0]), numbers[1])
    if kind == RECALLED_EVENT:
        return LayerRecalled(at, layer, *numbers[:3])
    if kind == DROPPED_EVENT:
        growing = network.config.growing
        limit = float(growing.max_kept) if isinstance(growing, KeepLayers) else 0.0
        reason = "went longest without being the best"
        return LayerDropped(at, layer, reason, numbers[0], limit, -1)
    made = {RULE_BORN_EVENT: RuleBorn, RULE_RECALLED_EVENT: RuleRecalled}[kind]
    return made(at, layer, first, *numbers)


def _in_units(network: "Network", feature: int, value: float) -> float:
    """A scaled value in the user's units."""
    if network.config.scaling != "online":
        return value
    return float(network.scaler.low[feature] + value * network.scaler.width[feature])
