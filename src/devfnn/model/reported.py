"""What kernels report about rows, as events in the user's units."""

from typing import TYPE_CHECKING

from devfnn import events
from devfnn.events import Event
from devfnn.kernels import state as constants
from devfnn.kernels.state import EventBuffer

if TYPE_CHECKING:
    from devfnn.model.network import Network


def events_of(
    network: "Network", buffer: EventBuffer, names: list[str], by_layer: bool = False
) -> list[Event]:
    """The lines of an event buffer as events, in their order or layer by layer."""
    lines = list(range(int(buffer.count[0])))
    if by_layer:
        lines.sort(key=buffer.lines[:, 2].__getitem__)
    return [_event(network, line, buffer, names) for line in lines]


def _event(network: "Network", line: int, buffer: EventBuffer, names: list[str]) -> Event:
    """One line as an event."""
    row, kind, layer, first, second = (int(value) for value in buffer.lines[line])
    numbers = [float(value) for value in buffer.numbers[line]]
    at, scaler = network.n_rows + row, network.scaler
    if kind == constants.SPLIT_EVENT:
        feature, value = int(numbers[0]), numbers[1]
        if network.config.scaling == "online":
            value = float(scaler.low[feature] + value * scaler.width[feature])
        return events.RuleSplit(at, layer, first, second, names[feature], value, *numbers[2:])
    if kind == constants.DRIFT_EVENT:
        before, after, bound, cut = numbers
        return events.DriftFound(at, before, after, bound, int(cut))
    if kind == constants.KEPT_EVENT:
        return events.LayerKept(at, layer, first, second, int(numbers[0]), numbers[1])
    if kind == constants.RECALLED_EVENT:
        return events.LayerRecalled(at, layer, *numbers[:3])
    if kind == constants.DROPPED_EVENT:
        limit = float(getattr(network.config.growing, "max_kept", 0))
        return events.LayerDropped(
            at, layer, "went longest without being the best", numbers[0], limit, -1
        )
    return _event_of_layer(at, kind, layer, first, numbers)


def _event_of_layer(at: int, kind: int, layer: int, first: int, numbers: list[float]) -> Event:
    """Of rules that are born or recalled, and layers that rest or are on trial."""
    if kind == constants.RESTED_EVENT:
        return events.LayerRested(at, layer, first, *numbers[:2])
    if kind == constants.WOKEN_EVENT:
        return events.LayerOnTrial(at, layer)
    made = events.RuleBorn if kind == constants.RULE_BORN_EVENT else events.RuleRecalled
    return made(at, layer, first, *numbers)
