"""The prior: recent class frequencies, whatever the row."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats
from devfnn.kernels.state import PRIOR, PriorParams, PriorState, State
from devfnn.model.costs import CALL, PRODUCT, Cost
from devfnn.model.explanation import LOG_PROBABILITIES, FiredRule, Said
from devfnn.model.layout import Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import Change
from devfnn.model.units import Units
from devfnn.parameters import Section, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "prior"
ARRAYS = PriorState
PARAMS = "prior"
KINDS = {"prior": PRIOR}
TAKES: set[str] = set()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prior(Section):
    """IF anything, THEN the classes as they came of late."""

    rows: float = number(100.0, 1.0, 1e9, "rows that its frequencies rest on")
    doubt: float = number(0.02, 0.0, 1.0, "probability spread over all classes in any case")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "prior": (Prior, ("prior",), True),
}

LAYOUT = {"class_weights": Field("m", 0.0, 0.0)}


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """It has no axis of its own."""
    return {}


def start(state: State, config: "Config") -> None:
    """No class yet."""


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """A new class has not come yet."""


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """It knows no features."""


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """One rule, and a number for each class."""
    return 1, present(state.prior).class_weights.size


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """Next to nothing."""
    each = CALL + 2 * present(state.prior).class_weights.size * PRODUCT
    return Cost(each, each)


def _shares(state: State, config: "Config") -> Floats:
    """What it says of any row."""
    weights, doubt = present(state.prior).class_weights, config.prior.doubt
    total = weights.sum()
    shares = weights / total if total > 0.0 else np.full(weights.size, 1.0 / weights.size)
    said: Floats = (1.0 - doubt) * shares + doubt / weights.size
    return said


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """Its only rule."""
    shares = _shares(state, config)
    yield Rule(
        layer=layer,
        rule=0,
        inputs=(),
        n_features=0,
        center=np.zeros(0),
        covariance=np.zeros((0, 0)),
        probabilities=dict(zip(units.labels, shares.tolist(), strict=True)),
        n_rows=float(present(state.prior).class_weights.sum()),
        firing_share=1.0,
    )


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What it says, all of it usual."""
    shares = _shares(state, config)
    bias, nothing = np.log(shares), np.zeros((row.size, shares.size))
    return Said(LOG_PROBABILITIES, bias, nothing, (FiredRule(0, 1.0),), shares, shares), shares


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """Nothing that its layout does not say."""
    return iter(())


def params(config: "Config", n_inputs: int) -> PriorParams:
    """What kernels need; of a network without a prior they use nothing."""
    numbers: PriorParams = numbers_for(PriorParams, (config.prior or Prior(),))
    return numbers
