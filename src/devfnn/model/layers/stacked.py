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
from devfnn.model.costs import BRANCH, CALL, EXPONENTIAL, PRODUCT, Cost
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

CHOICE, VOTE = "choice of the vote", "vote"
"""What the inputs are called that are the vote of all layers below, and the class it chooses."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stacked(Section):
    """Logistic regression on what layers below say, one weight for each."""

    memory: float = number(0.9995, 0.5, 1.0, "share of what is known of the weights kept per row")
    unforeseen: float = number(
        2e-3, 0.0, 0.5, "share of labels that no layer foresees, at first; 0: never any"
    )
    unforeseen_rows: float = number(1e4, 1.0, 1e9, "rows over which that share is learned")
    power: float = number(0.3, 0.0, 1.0, "share of voting.power in the vote of stacked layers")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "stacked": (Stacked, ("stacked",), True),
}

LAYOUT = {
    "weights": Field("U I", 0.0),
    "information": Field("U I I", 0.0),
    "slopes": Field("U I", 0.0),
    "curvatures": Field("U I I", 0.0),
    "unforeseen": Field("1", 0.0, 0.0, 0.5),
}


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """How many stacked layers there are, and how many inputs: layers below, choice and vote."""
    n_stacked = sum(layer.kind == "stacked" for layer in config.layers)
    return {"U": n_stacked, "I": len(config.layers) - n_stacked + 2}


def start(state: State, config: "Config") -> None:
    """The weights to begin with."""
    own, numbers = present(state.stacked), params(config, 0)
    own.weights[:] = numbers.starts
    own.unforeseen[:] = (config.stacked or Stacked()).unforeseen
    own.information[:] = numbers.ridges[:, None, None] * np.eye(own.weights.shape[1])


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """Weights are the same for all classes and features."""


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """It knows no features."""


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """One rule, and a number for each input."""
    return 1, int(np.count_nonzero(present(state.stacked).weights[_place(state, layer)]))


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """Its part in hearing the layers below, what it says, and how its weights are to move.

    To learn it is also asked what it would say without each dear layer, if such layers may rest.
    """
    own, m = present(state.stacked), state.progress.label_shares.size
    n_stacked, n_inputs = own.weights.shape
    known = {"vote": 2, "all": int(n_inputs) - 1}
    takes = known.get(str(config.layers[layer].inputs), int(n_inputs))
    hear = n_inputs * (m + 1) * EXPONENTIAL / n_stacked
    say = CALL + hear + m * (takes * PRODUCT + EXPONENTIAL)
    n_asked = int(np.count_nonzero(state.layers.watched)) * (config.resting is not None)
    ask = n_asked * m * (2 + 1 / n_stacked) * EXPONENTIAL
    move = 0.5 * takes * takes * (m * 2 * PRODUCT + BRANCH)
    return Cost(say, CALL + hear + move + ask)


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
    """Names of the layers below, of the choice of their vote, and of the vote."""
    below = [layer.name for layer in config.layers if layer.kind != "stacked"]
    return (*below, CHOICE, VOTE)


def heard_of(said: dict[int, Said], shares: Floats, config: "Config") -> Floats:
    """What stacked layers hear of a row (I, m): of the layers below, and of their vote twice.

    said: by layer, of those that do not rest · shares: (L,) of the vote
    """
    from devfnn.kernels.stacked import CHOICE_ODDS, LEAST_SHARE, MOST_HEARD

    names, n_configured = input_names(config), len(config.layers)
    first = len(names) - 2
    voters = {k: own for k, own in said.items() if k < first or k >= n_configured}
    votes = [shares[k] * own.votes for k, own in voters.items()]
    rows = np.tile(np.sum(votes, axis=0), (len(names), 1))
    for layer in range(first):
        if layer in said:
            rows[layer] = said[layer].votes
    logs = np.log(np.maximum(rows, LEAST_SHARE))
    heard: Floats = np.clip(logs - logs.mean(axis=1, keepdims=True), -MOST_HEARD, MOST_HEARD)
    is_best = np.arange(rows.shape[1]) == rows[first].argmax()
    heard[first] = CHOICE_ODDS * (is_best - 1.0 / rows.shape[1])
    return heard


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What it makes of what the layers below say. inputs: (I, m) their centred log probabilities"""
    own, n_classes = present(state.stacked), inputs.shape[1]
    weights = own.weights[_place(state, layer)]
    contributions = weights[:, None] * inputs
    shares = softmax(contributions.sum(axis=0))
    votes = (1.0 - own.unforeseen[0]) * shares + own.unforeseen[0] / n_classes
    fired = (FiredRule(0, 1.0),)
    return Said(LOGITS, np.zeros(n_classes), contributions, fired, shares, votes), shares


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise."""
    known = np.einsum("uii->ui", present(state.stacked).information)
    yield (known > 0.0).all(), "stacked/information knows less than nothing of a weight"


def params(config: "Config", n_inputs: int) -> StackedParams:
    """What kernels need; of a network without stacked layers they use nothing."""
    layers = [layer for layer in config.layers if layer.kind == "stacked"]
    n_below = len(config.layers) - len(layers)
    takes = np.ones((len(layers), n_below + 2), np.bool_)
    starts, is_vote = np.zeros(takes.shape), np.arange(n_below + 2) == n_below + 1
    for place, layer in enumerate(layers):
        takes[place, :n_below] = layer.inputs != "vote"
        takes[place, -1] = layer.inputs != "all"
        starts[place, :n_below] = takes[place, :n_below] / n_below
        if takes[place, -1]:
            starts[place] = is_vote
    numbers: StackedParams = numbers_for(
        StackedParams,
        (config.stacked or Stacked(),),
        first=n_below,
        takes=takes,
        starts=starts,
        lows=LEAST_VOTE * takes * is_vote,
        ridges=np.array([float(layer.ridge) for layer in layers]),
    )
    return numbers
