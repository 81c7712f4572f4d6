"""Labels that a model asked for: which, and why."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import BY_LAYER, SEEN_ROWS
from devfnn.model.config import Config
from devfnn.model.history import MOST_EVENTS
from devfnn.model.label_budget import labels_left
from devfnn.model.network import Network
from devfnn.model.validation import exploration_draws

MOST_QUERIES = MOST_EVENTS
"""Queries that a model keeps, the newest."""

UNSURE, BY_CHANCE, UNLIKE_OTHERS = "unsure", "by chance", "unlike the others"
NOTHING_KNOWN, EVERY_ROW = "nothing known yet", "every row"
REASONS = (UNSURE, BY_CHANCE, UNLIKE_OTHERS, NOTHING_KNOWN, EVERY_ROW)
"""Why a label was asked for."""


class Query(NamedTuple):
    """A label that was asked for."""

    row: int
    """Which row, counted from the first that went by."""
    reason: str
    """unsure, by chance, unlike the others, nothing known yet, or every row: no active learning."""
    certainty: float
    """Share of the likeliest class among the two likeliest: 0.5 undecided, 1 sure."""
    n_left: int | None
    """Labels that were left just after it, in the window that ends with it; None: no budget."""


def queries_of(
    network: Network | None, rows: Floats, wanted: Flags, budget: Ints, config: Config
) -> Iterator[Query]:
    """Queries with their reasons. rows: as the network takes them · budget: as it was before"""
    first, places = int(budget[SEEN_ROWS]), np.flatnonzero(wanted)
    lefts = labels_left(budget, first + places, config)
    certainties = np.full(len(wanted), 0.5)
    draws = exploration_draws(config.seed, first, len(wanted))
    if network is not None:  # as `certainty` in `kernels/labels.py`, for all rows at once
        best = np.sort(network.judged(rows), axis=1)[:, -2:]
        certainties = best[:, -1] / best.sum(axis=1)
    for place, left in zip(places.tolist(), lefts, strict=True):
        certainty, reason = float(certainties[place]), NOTHING_KNOWN
        if network is not None:
            reason = _reason(certainty, float(draws[place]), network, config)
        yield Query(first + place, reason, certainty, left)


def _reason(certainty: float, draw: float, network: Network, config: Config) -> str:
    """Why a row was asked for; of two reasons the more important one."""
    labels = config.labels
    if labels.choice == "all":
        return EVERY_ROW
    if config.is_budgeted and network.params.label_choice != BY_LAYER:
        doubt = (1.0 - certainty) / max(network.usual_doubt, 1e-9)  # 0: it is always sure
        chance = labels.exploration
        return UNSURE if (1.0 - chance) * doubt > chance else BY_CHANCE
    if certainty < labels.certainty:
        return UNSURE
    is_chance = draw < labels.exploration * labels.budget
    return BY_CHANCE if is_chance else UNLIKE_OTHERS
