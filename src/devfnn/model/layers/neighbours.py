"""Neighbours: the nearest rows of the window, each a rule for its own class."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import NEIGHBOURS, NeighbourParams, NeighbourState, NeighbourWork, State
from devfnn.model.costs import BRANCH, CALL, PRODUCT, Cost
from devfnn.model.explanation import LOG_PROBABILITIES, FiredRule, Said
from devfnn.model.layout import Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import Change
from devfnn.model.units import Units
from devfnn.parameters import Section, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "neighbours"
ARRAYS = NeighbourState
PARAMS = "neighbours"
KINDS = {"neighbours": NEIGHBOURS}
TAKES: set[str] = set()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Neighbours(Section):
    """The rows of the window nearest to a row."""

    count: int = number(5, 1, 1000, "neighbours that vote")
    prior: float = number(0.5, 0.0, 1e6, "weight of the class frequencies of the window")
    softness: float = number(0.1, 1e-6, 1e6, "how far near and further neighbours count alike")
    least_share: float = number(0.02, 0.0, 1e6, "what a feature that tells nothing still counts")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "neighbours": (Neighbours, ("neighbours",), True),
}

LAYOUT = {
    "scales": Field("nn", 0.0, 0.0, stored="f4"),
    "gaps": Field("nn", False),
    "class_weights": Field("m", 0.0, 0.0),
    "weight": Field("1", 0.0, 0.0),
}

MOST_ROWS_SHOWN = 10
"""Rows of the window that are listed as rules."""


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """Features, if there are neighbours."""
    is_there = config.has("neighbours")
    count = config.neighbours.count if config.neighbours is not None else 0
    return {"nn": sizes.features if is_there else 0, "k": count}


def start(state: State, config: "Config") -> None:
    """No row yet."""


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """New features count from the next structural step on."""


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """A difference counts what it did before, in the units of the new map."""
    own = present(state.neighbours)
    own.scales[change.features[change.is_wild]] = 0.0
    change = change.without_wild()
    own.scales[change.features] *= (change.factors**2).astype(np.float32)


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """Rows of the window, and numbers that define them."""
    window = present(state.window)
    count = min(int(window.count[0]), window.labels.size)
    return count, count * (len(window.rows) + 1)


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """The distances to all rows of the window, and which are smallest."""
    return _cost(counts_of(state, layer)[0], len(present(state.window).rows), config)


def full_cost(layer: int, sizes: tuple[int, int], config: "Config") -> Cost:
    """The same with a full window. sizes: features, classes"""
    return _cost(config.window.rows, sizes[0], config)


def _cost(n_rows: int, n: int, config: "Config") -> Cost:
    """Single numbers take two thirds of the time. At structural steps all are read three times."""
    say = CALL + n_rows * (2 * n / 3 + 1) * PRODUCT
    return Cost(say + 10 * n * n_rows * BRANCH / config.chunk_rows, 0.0)


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """The newest rows of the window, each for its own class."""
    window = present(state.window)
    count = counts_of(state, layer)[0]
    scales = present(state.neighbours).scales
    spreads = np.where(scales > 0.0, 1.0 / np.maximum(scales, 1e-12), 1.0).astype(np.float64)
    for age in range(min(count, MOST_ROWS_SHOWN)):
        place = int((window.count[0] - 1 - age) % window.labels.size)
        own = int(window.labels[place])
        center = np.nan_to_num(window.rows[:, place].astype(np.float64), nan=0.5)
        yield Rule(
            layer=layer,
            rule=place,
            inputs=units.names,
            n_features=len(units.names),
            center=units.values(center),
            covariance=units.covariance(np.minimum(spreads, 1.0)),
            probabilities={label: float(k == own) for k, label in enumerate(units.labels)},
            n_rows=float(window.weights[place]),
            ranges=units.ranges,
            age=age,
        )


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What the nearest rows say of a row, and how much each feature's distance counted.

    A feature speaks for a class by how much nearer the neighbours of the class are in it than
    neighbours are on the whole, in shares of the squared distance.
    """
    from devfnn.kernels.neighbours import LEAST_DISTANCE

    own, window = present(state.neighbours), present(state.window)
    places, shares = nearest_rows(state, row, config)
    away = np.nan_to_num(row.astype(np.float32)[:, None] - window.rows[:, places])
    parts = (own.scales[:, None] * away * away).astype(np.float64)
    contributions, fired = np.zeros((row.size, shares.size)), tuple[FiredRule, ...]()
    if places.size:
        last = max(float(parts.sum(axis=0).max()), LEAST_DISTANCE)
        closeness = 1.0 / (np.sqrt(parts.sum(axis=0) / last) + config.neighbours.softness)
        closeness *= window.weights[places]
        strengths, labels = closeness / closeness.sum(), window.labels[places]
        found = zip(places.tolist(), strengths.tolist(), labels.tolist(), strict=True)
        fired = tuple(FiredRule(*each) for each in found)
        contributions = _nearness(parts, closeness, window.labels[places], shares.size)
    bias = np.log(shares) - contributions.sum(axis=0)
    return Said(LOG_PROBABILITIES, bias, contributions, fired, shares, shares), shares


def nearest_rows(state: State, row: Floats, config: "Config") -> tuple[Ints, Floats]:
    """Places of the nearest rows, the nearest first, and the class probabilities by them."""
    from devfnn.kernels._jit import held
    from devfnn.kernels.neighbours import say_neighbours

    own, window = present(state.neighbours), present(state.window)
    size, room = own.class_weights.size, window.labels.size
    work = NeighbourWork(
        distances=np.empty(room, np.float32),
        lows=np.empty(room, np.float32),
        nearest=np.empty(config.neighbours.count, np.int64),
        means=np.empty(size),
        weights=np.empty(size),
    )
    shares = np.empty(size)
    parts = (held(window), held(own), row, held(params(config, 0)), held(work), shares)
    count = say_neighbours(*parts)
    return work.nearest[:count], shares


def _nearness(parts: Floats, closeness: Floats, labels: Ints, n_classes: int) -> Floats:
    """By how much a class is nearer than all, feature by feature, in shares of the distance."""
    total = max(float(parts.sum(axis=0).max()), 1e-20)
    usual = parts @ (closeness / closeness.sum())
    found = np.zeros((len(parts), n_classes))
    for own in np.unique(labels).tolist():
        mine = labels == own
        found[:, own] = (usual - parts[:, mine] @ (closeness[mine] / closeness[mine].sum())) / total
    return found


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """Nothing that its layout does not say."""
    return iter(())


def params(config: "Config", n_inputs: int) -> NeighbourParams:
    """What kernels need; of a network without neighbours they use nothing."""
    numbers: NeighbourParams = numbers_for(NeighbourParams, (config.neighbours or Neighbours(),))
    return numbers
