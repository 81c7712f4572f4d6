"""Clouds: parameters, layout, how they are re-based, rules and reasons.

A class is as likely as the densities of its clouds in reach, and all have the same doubt on top, so
that the log of the sum is the log probability, up to what all classes share. Contributions are of
the log density of all clouds of the class, in reach or not, such that they also tell why a class is
out of reach: the difference between the row and the mean of all clouds by their mass, in what a
feature adds to the clouds of the class, by their shares at the row. The bias holds what they add at
that mean, masses and widths of the clouds, the doubt, and the rest.
"""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats
from devfnn.kernels.state import CLOUDS, CloudParams, CloudState, State
from devfnn.model.costs import BRANCH, CALL, PRODUCT, Cost
from devfnn.model.explanation import LOG_PROBABILITIES, FiredRule, Said, softmax
from devfnn.model.layout import LEAST, Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import Change
from devfnn.model.units import Units
from devfnn.parameters import Section, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "clouds"
ARRAYS = CloudState
PARAMS = "clouds"
KINDS = {"clouds": CLOUDS}
TAKES: set[str] = set()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Clouds(Section):
    """Round Gaussians of one class each, which follow the rows."""

    max_rules: int = number(100, 1, 10**5, "clouds in the layer")
    rate: float = number(0.2, 0.0, 1.0, "step of a cloud towards a row of its own")
    birth: float = number(0.1, 0.0, 1.0, "probability of its class below which a row founds one")
    memory: float = number(0.999, 0.5, 1.0, "share of the mass of clouds kept per row")
    doubt: float = number(0.02, 0.0, 1.0, "probability spread over all classes in any case")
    first_spread: float = number(0.02, 1e-5, 1.0, "variance of the first cloud of a class")
    first_mass: float = number(0.02, 1e-3, 1.0, "mass of a new cloud")
    row_mass: float = number(0.025, 1e-6, 1.0, "mass that a row adds")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "clouds": (Clouds, ("clouds",), True),
}

LAYOUT = {
    "centers": Field("n K", 0.0),
    "labels": Field("K", 0),
    "spreads": Field("K", 1.0, LEAST),
    "masses": Field("K", 0.0, 0.0),
    "heights": Field("K", 0.0),
    "count": Field("1", 0),
}


LEAST_TOLD = 1e-6
"""Least probability that explanations tell apart from none, where clouds have no doubt."""


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """Lengths of the axes that only clouds have."""
    return {"K": config.clouds.max_rules if config.clouds is not None else 0}


def start(state: State, config: "Config") -> None:
    """No cloud yet."""


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """New features lie in the middle of every cloud."""
    clouds, before = present(fresh.clouds), present(old.clouds)
    clouds.centers[before.centers.shape[0] :] = 0.5


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """Clouds are round in scaled units: centres move exactly, spreads by the mean factor."""
    from devfnn.kernels.clouds import LEAST_SPREAD

    clouds = present(state.clouds)
    clouds.centers[change.features[change.is_wild]] = 0.5
    change = change.without_wild()
    if not change.features.size:
        return
    moved = clouds.centers[change.features] - change.shifts[:, None]
    clouds.centers[change.features] = moved / change.factors[:, None]
    n, count = clouds.centers.shape[0], int(clouds.count[0])
    narrower = np.exp(-2.0 * np.log(change.factors).sum() / n)
    clouds.spreads[:] = np.maximum(clouds.spreads * narrower, LEAST_SPREAD)
    logs = np.log(np.maximum(clouds.masses[:count], 1e-300))
    clouds.heights[:count] = logs - 0.5 * n * np.log(clouds.spreads[:count])


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """Clouds, and numbers that define them."""
    clouds = present(state.clouds)
    count = int(clouds.count[0])
    return count, count * (len(clouds.centers) + 3)


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """The distances to all clouds: to predict a row, and again to learn it."""
    clouds = present(state.clouds)
    return _cost(int(clouds.count[0]), len(clouds.centers))


def full_cost(layer: int, sizes: tuple[int, int], config: "Config") -> Cost:
    """The same with as many clouds as there may be. sizes: features, classes"""
    return _cost(config.clouds.max_rules, sizes[0])


def _cost(count: int, n: int) -> Cost:
    say = CALL + count * (2 * n * PRODUCT + BRANCH)
    return Cost(say, say + CALL)


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """The clouds, each sure of its own class."""
    clouds = present(state.clouds)
    count = int(clouds.count[0])
    total = float(clouds.masses[:count].sum())
    for cloud in range(count):
        own = int(clouds.labels[cloud])
        yield Rule(
            layer=layer,
            rule=cloud,
            inputs=units.names,
            n_features=len(units.names),
            center=units.values(clouds.centers[:, cloud]),
            covariance=units.covariance(np.full(len(clouds.centers), clouds.spreads[cloud])),
            probabilities={label: float(k == own) for k, label in enumerate(units.labels)},
            n_rows=float(clouds.masses[cloud] / config.clouds.row_mass),
            ranges=units.ranges,
            firing_share=float(clouds.masses[cloud]) / total,
        )


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What the clouds say of a row, and why; and what other layers take in."""
    from devfnn.kernels.clouds import OUT_OF_REACH

    clouds, n_classes = present(state.clouds), state.progress.label_shares.size
    count, doubt = int(clouds.count[0]), config.clouds.doubt
    contributions = np.zeros((row.size, n_classes))
    if not count:
        shares, bias = np.full(n_classes, 1.0 / n_classes), np.zeros(n_classes)
        return Said(LOG_PROBABILITIES, bias, contributions, (), shares, shares), shares
    centers, spreads = clouds.centers[:, :count], clouds.spreads[:count]
    is_there = ~np.isnan(row)
    away = np.where(is_there[:, None], row[:, None] - centers, 0.0)
    heights = clouds.heights[:count] - 0.5 * (away * away).sum(axis=0) / spreads
    densities = np.exp(heights - heights.max())
    densities[heights.max() - heights >= OUT_OF_REACH] = 0.0
    densities /= densities.sum()
    labels, masses = clouds.labels[:count], clouds.masses[:count]
    shares = np.bincount(labels, densities, n_classes)
    output = np.log((1.0 - doubt) * shares + doubt / n_classes)
    usual = centers @ (masses / masses.sum())
    beyond = np.where(is_there, row - usual, 0.0)
    middle = np.where(is_there, 0.5 * (row + usual), 0.0)
    for own in np.unique(labels).tolist():
        members = np.flatnonzero(labels == own)
        pulls = softmax(heights[members]) / spreads[members]
        contributions[:, own] = beyond * (centers[:, members] @ pulls - middle * pulls.sum())
    contributions = _bounded(contributions, doubt / n_classes)
    bias = output - contributions.sum(axis=0)
    order = np.argsort(-densities, kind="stable")[: np.count_nonzero(densities)].tolist()
    fired = tuple(FiredRule(cloud, float(densities[cloud])) for cloud in order)
    shares = softmax(bias + contributions.sum(axis=0))
    return Said(LOG_PROBABILITIES, bias, contributions, fired, shares, shares), shares


def _bounded(contributions: Floats, least_share: float) -> Floats:
    """Contributions that are no larger together than the log odds that clouds can give.

    Of a class far away, densities differ by thousands; its probability is the doubt all the same.
    """
    most = -np.log(max(least_share, LEAST_TOLD))
    totals = np.abs(contributions).sum(axis=0)
    bounded: Floats = contributions * np.minimum(1.0, most / np.maximum(totals, 1e-300))
    return bounded


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise: a cloud has a class and a mass."""
    clouds = present(state.clouds)
    count, n_classes = int(clouds.count[0]), state.progress.label_shares.size
    yield count <= clouds.labels.size, "clouds/count holds more than there is room"
    is_known = clouds.labels[:count] < n_classes
    yield is_known.all(), "clouds/labels holds a class that is not there"
    yield (clouds.masses[:count] > 0.0).all(), "clouds/masses holds a cloud without mass"


def params(config: "Config", n_inputs: int) -> CloudParams:
    """What kernels need; of a network without clouds they use nothing."""
    own = config.clouds or Clouds()
    numbers: CloudParams = numbers_for(
        CloudParams,
        (own,),
        memory=float(own.memory) if config.memory or config.rules is None else 1.0,
    )
    return numbers
