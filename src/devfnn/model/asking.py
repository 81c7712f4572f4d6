"""Asking for labels: which rows are worth one, inside the budget, and a log of what was asked."""

import collections
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from devfnn.errors import InputError
from devfnn.events import Event
from devfnn.kernels.state import ANSWERED, GONE_BY, OFFERED, OWED, Flags, Floats, Ints
from devfnn.model import lags
from devfnn.model.compiling import ensure_compiled
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.config import Config
from devfnn.model.engines import Engine, OfEngine
from devfnn.model.intake import Labels, as_rows, as_weights, exploration_draws
from devfnn.model.label_budget import empty_purse, in_budget, is_bounded, labels_left
from devfnn.model.network import Rows

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


class _Model(OfEngine, Protocol):
    """What is asked of a model here."""

    _labels: Labels
    _query_log: QueryLog
    _early_purse: Ints | None

    def _learn_row_by_row(self, rows: Rows, labelled: Ints, fresh: Any) -> list[Event]: ...
    def learn_rows(self, X: Any, y: Any, weights: Any, *, chosen: Any) -> list[Event]: ...
    def _checked(self, X: Any, y: Any, weights: Any, chosen: Any) -> Any: ...
    def wants_label(self, X: Any) -> Flags: ...
    @property
    def n_labels_owed(self) -> int: ...


class Asking:
    """A model that knows which labels it needs."""

    asks_before_learning = True
    """Whether `wants_label` has an answer before anything was learned: experiments ask then."""
    _early_purse: Ints | None

    def wants_label(self: _Model, X: Any) -> Flags:
        """Which rows are worth labelling, as the model stands; nothing is changed.

        Without active learning, all of them; never more than the label budget allows. Then call
        `learn(X, y, chosen=wanted)`: labels of the other rows are not read, and the budget counts
        on. If labels come later than the next rows, `ask` instead.
        """
        rows = as_rows(X, self._names, self._n_features(), self.config.missing)
        return _wanted(self, rows, spend=False)

    def ask(self: _Model, X: Any) -> Flags:
        """Which rows to have labelled: as `wants_label`, but the budget is spent and it is logged.

        When labels come, in any order, `answer` with them.

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
        ...     events = model.answer(X[rows][asked], y[rows][asked])
        >>> int(model.n_labels_used) <= 100, model.n_labels_owed
        (True, 0)
        >>> model.queries()[0].reason
        'nothing known yet'
        """
        rows = as_rows(X, self._names, self._n_features(), self.config.missing)
        before = _purse(self).copy()
        if self._network is None and self._early_purse is None:
            self._early_purse = before.copy()
        wanted = _wanted(self, rows, spend=True)
        for query in _queries(self, before, wanted, rows):
            self._query_log.note(query)
        _purse(self)[OWED] += int(np.count_nonzero(wanted))
        return wanted

    def answer(self: _Model, X: Any, y: Any, weights: Any = None) -> list[Event]:
        """Learn labels that `ask` asked for, row by row, and return what changed in the structure.

        They were paid for when they were asked for. Rows that were not asked for do not belong
        here; labels that nobody asked for go to `learn`.

        Parameters
        ----------
        X, y
            Rows and their labels, in any order. New labels open new classes.
        weights
            Weight of every row in training, 1 if not given.
        """
        n_answers = len(as_rows(X, self._names, self._n_features(), self.config.missing))
        if n_answers > self.n_labels_owed:
            raise InputError(
                f"{n_answers} answers, but {self.n_labels_owed} labels are owed; ask(X) first, or "
                "learn(X, y, chosen=True) labels that nobody asked for"
            )
        rows, labelled, fresh = self._checked(X, y, weights, True)
        _purse(self)[OWED] -= n_answers
        labelled[:] = ANSWERED
        return self._learn_row_by_row(rows, labelled, fresh)

    def queries(self: _Model) -> list[Query]:
        """Labels that `ask` asked for, the newest 1,000, the oldest first. They are saved."""
        return list(self._query_log.newest)

    @property
    def n_labels_owed(self: _Model) -> int:
        """Labels that `ask` asked for and that were not answered yet."""
        return int(_purse(self)[OWED])

    # ---- labels that are all there

    def _picked(self: _Model, X: Any, weights: Any) -> Flags:
        """The rows of a chunk that the model takes inside its budget, before any label is read."""
        rows = as_rows(X, self._names, self._n_features(), self.config.missing)
        picked = as_weights(weights, rows.shape[0]) > 0.0
        picked[picked] = self.wants_label(rows[picked])
        return picked

    def _learn_sparingly(self: _Model, rows: Rows, labels: list[Hashable]) -> list[Event]:
        """Row by row inside a budget: what is not taken opens no class, and is no lag of others.

        So rows of classes that are new, and all rows if there are lags, are asked about first.
        """
        events: list[Event] = []
        start, told = 0, [labels[code] for code in rows.labels.tolist()]
        for row, label in enumerate([*told, None]):
            is_known = label is not None and self._labels.index_of(label) is not None
            if is_known and not self.config.lags:
                continue
            part = rows.part(start, row)
            part.labels = self._labels.encode(told[start:row])[0]
            offered = np.full(len(part), OFFERED, np.int64)
            events += self._learn_row_by_row(part, offered, [])
            if row < len(rows):
                x, weight = rows.X[row : row + 1], rows.weights[row]
                events += self.learn_rows(x, [label], [weight], chosen=self.wants_label(x))
            start = row + 1
        return events


def _purse(model: _Model) -> Ints:
    """The label budget; until there is a network, one of its own."""
    if model._network is not None:
        return model._network.purse
    return empty_purse(model.config) if model._early_purse is None else model._early_purse


def _wanted(model: _Model, rows: Floats, spend: bool) -> Flags:
    """Which rows are worth a label, inside the budget, which is spent if told."""
    if model._network is None:  # all that the budget allows
        ensure_compiled(model.config.network)
        purse = _purse(model) if spend else _purse(model).copy()
        return in_budget(np.ones(len(rows), np.bool_), purse, model.config)
    network = model._known()
    return network.wanted(lags.at_once(network, rows, model._late), model.config, spend)


def _queries(model: _Model, purse: Ints, wanted: Flags, rows: Floats) -> Iterator[Query]:
    """What is being asked, and why. purse: as it was before"""
    first, config, network = int(purse[GONE_BY]), model.config, model._network
    places = np.flatnonzero(wanted)
    lefts = labels_left(purse, first + places, config)
    if network is None:
        for place, left in zip(places.tolist(), lefts, strict=True):
            yield Query(first + place, NOTHING_KNOWN, 0.5, left)
        return
    draws = exploration_draws(config.seed, first, len(wanted))
    seen = lags.at_once(network, rows, model._late)
    certainties = _certainties(network.probabilities(seen, config))
    for place, left in zip(places.tolist(), lefts, strict=True):
        certainty = float(certainties[place])
        reason = _reason(certainty, float(draws[place]), network, config)
        yield Query(first + place, reason, certainty, left)


def _certainties(probabilities: Floats) -> Floats:
    """Shares of the likeliest among the two likeliest classes of rows (k, m)."""
    best = np.sort(probabilities, axis=1)[:, -2:]
    shares: Floats = best[:, -1] / best.sum(axis=1)
    return shares


def _reason(certainty: float, draw: float, network: Engine, config: Config) -> str:
    """Why a row was asked for; where it was for both, the weightier reason."""
    if not config.active_learning:
        return EVERY_ROW
    if is_bounded(config) and isinstance(network, ConceptEngine):
        doubt = (1.0 - certainty) / max(network.usual_doubt, 1e-9)
        chance = config.exploration
        return UNSURE if (1.0 - chance) * doubt > chance else BY_CHANCE
    if certainty < config.conflict_threshold:
        return UNSURE
    is_chance = draw < config.exploration * config.label_budget
    return BY_CHANCE if is_chance else UNLIKE_OTHERS
