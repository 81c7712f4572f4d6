"""Asking for labels: which rows are worth one, inside the budget, and a log of what was asked."""

import collections
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from devfnn.kernels.state import GONE_BY, HAS_ASKED, OWED, Flags, Floats, Ints
from devfnn.model import lags
from devfnn.model.config import Config
from devfnn.model.engines import Engine
from devfnn.model.intake import as_rows, exploration_draws
from devfnn.model.label_budget import (
    is_bounded,
    labels_left,
    most_labels,
)

MOST_QUERIES = 1000
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


class QueryLog:
    """The newest queries, and how many there were."""

    def __init__(self, queries: list[Query] | None = None, n_asked: int = 0) -> None:
        self.newest = collections.deque(queries or [], maxlen=MOST_QUERIES)
        self.n_asked = n_asked

    def note(self, query: Query) -> None:
        """Add a query."""
        self.newest.append(query)
        self.n_asked += 1


class _Model(Protocol):
    """What is asked of a model here."""

    config: Config
    _names: list[str] | None
    _network: Engine | None
    _late: tuple[int, ...]
    _query_log: QueryLog

    def _known(self) -> Engine: ...
    def _n_features(self) -> int | None: ...
    def predict_proba(self, X: Any) -> Floats: ...
    def wants_label(self, X: Any) -> Flags: ...


class Asking:
    """A model that knows which labels it needs."""

    def wants_label(self: _Model, X: Any) -> Flags:
        """Which rows are worth labelling, as the model stands; nothing is changed.

        Without active learning, all of them. Never more than the label budget allows. Then call
        `learn(X, y, chosen=wanted)`: labels of the other rows are not read, and the budget counts
        on. If labels come later than the next rows, call `ask` instead.
        """
        return _wanted(self, X, spend=False)

    def ask(self: _Model, X: Any) -> Flags:
        """Which rows to have labelled: as `wants_label`, but the budget is spent and it is logged.

        Learn the labels when they come, in any order, with `learn(X, y, chosen=True)`, or together
        with the rows that were not asked for with `chosen=mask`. They are paid for already.

        Examples
        --------
        >>> import numpy as np
        >>> from devfnn import Config, DEVFNN
        >>> X = np.random.default_rng(0).random((1000, 2))
        >>> y = X[:, 0] > X[:, 1]
        >>> model = DEVFNN(Config(label_budget=0.1, budget_window=100))
        >>> for start in range(0, 1000, 100):
        ...     rows = slice(start, start + 100)
        ...     asked = model.ask(X[rows])
        ...     events = model.learn(X[rows][asked], y[rows][asked], chosen=True)
        >>> int(model.n_labels_used) <= 100
        True
        >>> model.queries()[0].reason
        'nothing known yet'
        """
        if self._network is None:
            wanted = self.wants_label(X)
            _log_early(self._query_log, wanted, self.config)
            return wanted
        probabilities, network = self.predict_proba(X), self._known()
        before, wanted = network.purse.copy(), _wanted(self, X, spend=True)
        for query in _queries(before, wanted, probabilities, self.config):
            self._query_log.note(query)
        network.purse[HAS_ASKED] = 1
        network.purse[OWED] += int(np.count_nonzero(wanted))
        return wanted

    def queries(self: _Model) -> list[Query]:
        """Labels that `ask` asked for, the newest 1,000, the oldest first. They are saved."""
        return list(self._query_log.newest)

    @property
    def n_labels_owed(self: _Model) -> int:
        """Labels that `ask` asked for and that were not learned yet."""
        return self._query_log.n_asked if self._network is None else int(self._network.purse[OWED])


def _wanted(model: _Model, X: Any, spend: bool) -> Flags:
    """Which rows are worth a label, inside the budget, which is spent if told."""
    rows = as_rows(X, model._names, model._n_features(), model.config.missing)
    if model._network is None:
        return _before_learning(len(rows), model._query_log.n_asked, model.config)
    network = model._known()
    return network.wanted(lags.at_once(network, rows, model._late), model.config, spend)


def _before_learning(n_rows: int, n_asked: int, config: Config) -> Flags:
    """What a model wants that knows nothing: all that the budget allows until it has learned."""
    wanted = np.ones(n_rows, np.bool_)
    if is_bounded(config):
        wanted[max(most_labels(config) - n_asked, 0) :] = False
    return wanted


def _log_early(log: QueryLog, wanted: Flags, config: Config) -> None:
    """Note what was asked for before anything was learned."""
    for row in range(log.n_asked, log.n_asked + int(np.count_nonzero(wanted))):
        left = most_labels(config) - row - 1 if is_bounded(config) else None
        log.note(Query(row, NOTHING_KNOWN, 0.5, left))


def _queries(purse: Ints, wanted: Flags, probabilities: Floats, config: Config) -> Iterator[Query]:
    """What is being asked, and why."""
    first = int(purse[GONE_BY])
    places = np.flatnonzero(wanted)
    draws = exploration_draws(config.seed, first, len(wanted))[places]
    certainties = _certainties(probabilities[places])
    lefts = labels_left(purse, first + places, config)
    facts = zip(places.tolist(), draws.tolist(), certainties.tolist(), lefts, strict=True)
    for place, draw, certainty, left in facts:
        yield Query(first + place, _reason(certainty, draw, config), certainty, left)


def _certainties(probabilities: Floats) -> Floats:
    """Shares of the likeliest among the two likeliest classes of rows (k, m)."""
    best = np.sort(probabilities, axis=1)[:, -2:]
    shares: Floats = best[:, -1] / best.sum(axis=1)
    return shares


def _reason(certainty: float, draw: float, config: Config) -> str:
    """Why a row was asked for."""
    if not config.active_learning:
        return EVERY_ROW
    is_chance = draw < config.exploration * config.label_budget
    is_unsure = certainty < config.conflict_threshold
    if is_unsure and not (is_chance and is_bounded(config)):
        return UNSURE
    if is_chance:
        return BY_CHANCE
    return UNSURE if config.network == "concepts" else UNLIKE_OTHERS
