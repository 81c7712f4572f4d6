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
    SPLIT_EVENT,
    EventBuffer,
)

if TYPE_CHECKING:
    from devfnn.model.network import Network


def events_of(network: "Network", buffer: EventBuffer, names: list[str]) -> list[Event]:
    """The lines of an event buffer as events, in the user's units."""
    return [_event(network, line, buffer, names) for line in range(int(buffer.count[0]))]


def _event(network: "Network", line: int, buffer: EventBuffer, names: list[str]) -> Event:
    """One line as an event."""
    row, kind, layer, first, second = (int(value) for value in buffer.lines[line])
    numbers = [float(value) for value in buffer.numbers[line]]
    at, scaler = network.n_rows + row, network.scaler
    if kind == SPLIT_EVENT:
        feature, value = int(numbers[0]), numbers[1]
        if network.config.scaling == "online":
            value = float(scaler.low[feature] + value * scaler.width[feature])
        return RuleSplit(at, layer, first, second, names[feature], value, *numbers[2:])
    if kind == DRIFT_EVENT:
        before, after, bound, cut = numbers
        return DriftFound(at, before, after, bound, int(cut))
    if kind == KEPT_EVENT:
        return LayerKept(at, layer, first, second, int(numbers[0]), numbers[1])
    if kind == RECALLED_EVENT:
        return LayerRecalled(at, layer, *numbers[:3])
    if kind == DROPPED_EVENT:
        limit = float(getattr(network.config.growing, "max_kept", 0))
        return LayerDropped(at, layer, "went longest without being the best", numbers[0], limit, -1)
    made = RuleBorn if kind == RULE_BORN_EVENT else RuleRecalled
    return made(at, layer, first, *numbers)
