"""Stacked layers: depth. They give the network's answer, from what the layers below say.

An input is a layer below, or the vote of all: its centred log probabilities. It contributes its
weight times these to the logits of the classes, so that what a layer counted is exact.
"""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats
from devfnn.kernels.state import STACKED, StackedParams, StackedState, State
from devfnn.model.explanation import LOGITS, FiredRule, Said, softmax
from devfnn.model.layout import Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import Change
from devfnn.model.units import Units
from devfnn.parameters import Section, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "stacked"
ARRAYS = StackedState
PARAMS = "stacked"
KINDS = {"stacked": STACKED}
TAKES = {"inputs", "ridge"}
LEAST_VOTE = 0.1
"""Least weight of the vote: where rows of a chunk all have the same fault, the best one would be 0,
and the layer would say nothing of the rows to come."""

VOTE = "vote"
"""What the input is called that is the vote of all layers below."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stacked(Section):
    """Logistic regression on what layers below say, one weight for each."""

    memory: float = number(0.9995, 0.5, 1.0, "share of what is known of the weights kept per row")
    power: float = number(0.3, 0.0, 1.0, "share of voting.power in the vote of stacked layers")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "stacked": (Stacked, ("stacked",), True),
}

LAYOUT = {
    "weights": Field("U I", 0.0),
    "information": Field("U I I", 0.0),
    "slopes": Field("U I", 0.0),
    "curvatures": Field("U I I", 0.0),
}


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """How many stacked layers there are, and how many inputs: layers below, and their vote."""
    n_stacked = sum(layer.kind == "stacked" for layer in config.layers)
    return {"U": n_stacked, "I": len(config.layers) - n_stacked + 1}


def start(state: State, config: "Config") -> None:
    """The weights to begin with."""
    own, numbers = present(state.stacked), params(config, 0)
    own.weights[:] = numbers.starts
    own.information[:] = numbers.ridges[:, None, None] * np.eye(own.weights.shape[1])


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """Weights are the same for all classes and features."""


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """It knows no features."""


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """One rule, and a number for each input."""
    return 1, int(np.count_nonzero(present(state.stacked).weights[_place(state, layer)]))


def _place(state: State, layer: int) -> int:
    """Which of the stacked layers it is."""
    return layer - int(np.argmax(state.layers.kinds == STACKED))


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """How much it trusts each layer below."""
    own = present(state.stacked)
    weights = own.weights[_place(state, layer)]
    names = input_names(config)
    order = [j for j in np.argsort(-np.abs(weights), kind="stable") if weights[j]]
    n_classes = len(units.labels)
    yield Rule(
        layer=layer,
        rule=0,
        inputs=tuple(names[j] for j in order),
        n_features=0,
        center=np.zeros(len(order)),
        covariance=np.zeros((len(order), len(order))),
        probabilities=dict.fromkeys(units.labels, 1.0 / n_classes),
        n_rows=float(state.progress.counts[0]),
        firing_share=1.0,
        trusts=weights[order],
    )


def input_names(config: "Config") -> tuple[str, ...]:
    """Names of the layers below, and of their vote."""
    below = [layer.name for layer in config.layers if layer.kind != "stacked"]
    return (*below, VOTE)


def heard_of(said: dict[int, Said], shares: Floats, config: "Config") -> Floats:
    """What stacked layers hear of a row (I, m): of the layers below, and of their vote.

    said: by layer, of those that do not rest · shares: (L,) of the vote
    """
    from devfnn.kernels.stacked import LEAST_SHARE, MOST_HEARD

    names, n_configured = input_names(config), len(config.layers)
    first = len(names) - 1
    voters = {k: own for k, own in said.items() if k < first or k >= n_configured}
    votes = [shares[k] * own.votes for k, own in voters.items()]
    rows = np.tile(np.sum(votes, axis=0), (len(names), 1))
    for layer in range(first):
        if layer in said:
            rows[layer] = said[layer].votes
    logs = np.log(np.maximum(rows, LEAST_SHARE))
    heard: Floats = np.clip(logs - logs.mean(axis=1, keepdims=True), -MOST_HEARD, MOST_HEARD)
    return heard


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What it makes of what the layers below say. inputs: (I, m) their centred log probabilities"""
    weights = present(state.stacked).weights[_place(state, layer)]
    contributions = weights[:, None] * inputs
    bias = np.zeros(inputs.shape[1])
    shares = softmax(contributions.sum(axis=0))
    return Said(LOGITS, bias, contributions, (FiredRule(0, 1.0),), shares, shares), shares


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise."""
    known = np.einsum("uii->ui", present(state.stacked).information)
    yield (known > 0.0).all(), "stacked/information knows less than nothing of a weight"


def params(config: "Config", n_inputs: int) -> StackedParams:
    """What kernels need; of a network without stacked layers they use nothing."""
    layers = [layer for layer in config.layers if layer.kind == "stacked"]
    n_below = len(config.layers) - len(layers)
    takes = np.zeros((len(layers), n_below + 1), np.bool_)
    starts = np.zeros(takes.shape)
    for place, layer in enumerate(layers):
        takes[place, :n_below] = layer.inputs != "vote"
        takes[place, n_below] = layer.inputs != "all"
        starts[place] = takes[place] / n_below
        if takes[place, n_below]:
            starts[place] = np.arange(n_below + 1) == n_below
    numbers: StackedParams = numbers_for(
        StackedParams,
        (config.stacked or Stacked(),),
        first=n_below,
        takes=takes,
        starts=starts,
        lows=LEAST_VOTE * takes * (np.arange(n_below + 1) == n_below),
        ridges=np.array([float(layer.ridge) for layer in layers]),
    )
    return numbers
