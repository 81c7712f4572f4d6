"""Any concepts, one after the other, as a stream: drift, noise and imbalance put together."""

import functools
import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.streams.arguments import finite_number, whole_number
from devfnn.streams.drift import Schedule, Turnover
from devfnn.streams.generators.concept import Concept, Maker, picked
from devfnn.streams.stream import Stream
from devfnn.streams.transforms import label_array
from devfnn.types import Chunk

BLOCK_ROWS = 4096
"""Rows made at a time. Part of what a seed means: another size would give other rows."""

SWING_ROWS = 10_000
"""Period, in rows, of a class share that oscillates."""

MAX_ROUNDS = 10_000
"""Tries to draw a row of the wanted class: enough if one row in 500 is of it."""

Shares = Mapping[Hashable, float | tuple[float, float]]


class StreamOptions(TypedDict, total=False):
    """What every generated stream takes, besides `n_rows` (None for a stream without end)."""

    positions: Sequence[int]
    """Rows with which the next concept begins to appear; after the last concept comes the first."""
    rows_per_concept: int | None
    """Instead of positions: rows after which the next concept takes over, again and again."""
    width: int | Sequence[int]
    """Rows a drift takes; 0, the default, is abrupt. One for all drifts, or one for each
    position."""
    kind: str | Sequence[str]
    """What happens during a drift that takes a while. `gradual`, the default: rows come from the
    old or the new concept, more and more from the new one. `incremental`: the concept itself moves.
    One for all drifts, or one for each position."""
    noise: float
    """Share of labels that are replaced by another class."""
    class_shares: Shares | None
    """How often a class comes, before noise: `{1: 0.05}`, or `{1: (0.05, 0.25)}` for a share that
    swings between two values. Classes not named share the rest as they would by themselves."""
    chunk_rows: int
    """Rows in a chunk, 500 by default."""
    seed: int
    """Seed of everything random. Features, noise, imbalance and gradual drift have random numbers
    of their own, so that changing one leaves the others as they are."""


def with_defaults(options: StreamOptions, **defaults: Unpack[StreamOptions]) -> StreamOptions:
    """Options, with a generator's own where none are given; positions replace its rhythm."""
    merged: StreamOptions = {**defaults, **options}
    if "positions" in options and "rows_per_concept" not in options:
        merged["rows_per_concept"] = None
    return merged


def drifting(
    concepts: Sequence[Concept], n_rows: int | None = None, **options: Unpack[StreamOptions]
) -> Stream:
    """A stream that goes from concept to concept.

    Concepts have the same features and classes. `StreamOptions` has the options: drift, noise,
    imbalance, chunks, seed.

    Two concepts, a gradual drift, then the first one again, at once:

    >>> from devfnn.streams import SEA
    >>> stream = drifting([SEA(8), SEA(9)], n_rows=4000, positions=[1000, 3000], width=[500, 0])
    >>> stream.drift_positions
    (1000, 3000)
    """
    unknown = options.keys() - StreamOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(StreamOptions.__annotations__)
        raise TypeError(f"there is no option {min(unknown)!r}; all streams take {known}")
    schedule = Schedule(
        tuple(options.get("positions", ())),
        options.get("rows_per_concept"),
        options.get("width", 0),
        options.get("kind", "gradual"),
    )
    concepts = tuple(concepts)
    _check_concepts(concepts, schedule)
    first, shares = concepts[0], options.get("class_shares")
    stream = Stream(
        feature_names=first.feature_names,
        classes=first.classes,
        blocks=functools.partial(
            _blocks,
            concepts,
            schedule,
            finite_number("noise", options.get("noise", 0.0), low=0, high=1),
            None if shares is None else ClassShares(shares, first.classes),
            whole_number("seed", options.get("seed", 0), low=0),
        ),
        is_endless=True,
        drift_positions=schedule.drift_positions(concepts),
        class_names=tuple(getattr(first, "class_names", ())),
        chunk_rows=options.get("chunk_rows", 500),
    )
    return stream if n_rows is None else stream.take(whole_number("n_rows", n_rows, low=1))


def _check_concepts(concepts: Sequence[Concept], schedule: Schedule) -> None:
    if not concepts:
        raise InputError("a stream needs one or more concepts")
    for concept in concepts[1:]:
        same_features = concept.feature_names == concepts[0].feature_names
        if not same_features or concept.classes != concepts[0].classes:
            raise InputError("concepts of a stream must have the same features and classes")
    if not schedule.is_incremental:
        return
    for old, new in zip(concepts, (*concepts[1:], concepts[0]), strict=True):
        between = getattr(old, "between", None)
        if between is None or type(old) is not type(new):
            raise InputError(
                "incremental drift needs concepts of one kind whose numbers can move; "
                'use kind="gradual" for others'
            )
        if old != new:
            between(new, np.ones(1))  # refuses what it cannot do


class ClassShares:
    """Shares of some classes; the others keep their proportions among the rest."""

    def __init__(self, shares: Shares, classes: Sequence[Hashable]) -> None:
        if not isinstance(shares, Mapping):
            raise InputError(f"class_shares must map classes to shares, not {shares!r}")
        self.n_classes = len(classes)
        self.places: list[int] = []
        """Indices of the classes whose share is set."""
        self.bounds: list[tuple[float, ...]] = []
        """Their lowest and highest shares."""
        for label, value in shares.items():
            if label not in classes:
                known = ", ".join(map(repr, classes))
                raise InputError(f"class_shares names {label!r}; the classes are {known}")
            bounds: tuple[float, ...] = value if isinstance(value, tuple) else (value, value)
            bounds = tuple(finite_number("class_shares", each, low=0, high=1) for each in bounds)
            if len(bounds) != 2 or bounds[0] > bounds[1]:
                raise InputError(f"class_shares of {label!r} must be low to high, not {value!r}")
            self.places.append(classes.index(label))
            self.bounds.append(bounds)
        if sum(high for _, high in self.bounds) > 1.0 + 1e-9:
            raise InputError("class_shares must not add up to more than 1")
        is_all = len(self.places) == len(classes)
        if is_all and sum(low for low, _ in self.bounds) < 1.0 - 1e-9:
            raise InputError("class_shares of all classes must add up to 1")

    def wanted(self, draws: Floats, classes: Ints, first: int) -> Ints:
        """The class every row should have, given what it would have by itself.

        draws: (n_rows, 2) · classes: (n_rows,) · first: number of the first row
        """
        rows = np.arange(first, first + len(classes))
        swing = 0.5 - 0.5 * np.cos(2.0 * np.pi * rows / SWING_ROWS)
        lows, highs = np.array(self.bounds).reshape(-1, 2).T
        edges = np.cumsum(lows + (highs - lows) * swing[:, None], axis=1)
        choice = (draws[:, :1] >= edges).sum(axis=1)
        wanted: Ints = np.array((*self.places, -1))[choice]
        is_rest = wanted < 0
        if is_rest.any() and len(self.places) < self.n_classes:
            wanted[is_rest] = self._rest(draws[:, 1], classes)[is_rest]
        elif is_rest.any():  # shares of all classes add up to 1 but for rounding
            wanted[is_rest] = self.places[-1]
        return wanted

    def _rest(self, draws: Floats, classes: Ints) -> Ints:
        """A class whose share is not set: the row's own, or that of another such row at random."""
        is_free = ~np.isin(classes, self.places)
        pool = classes[is_free]
        if not len(pool):
            pool = np.setdiff1d(np.arange(self.n_classes), self.places)
        lent: Ints = pool[picked(draws, len(pool))]
        return np.where(is_free, classes, lent)


def _blocks(
    concepts: Sequence[Concept], plan: Schedule, noise: float, shares: ClassShares | None, seed: int
) -> Iterator[Chunk]:
    """Rows without end."""
    rngs = [np.random.default_rng([seed, purpose]) for purpose in range(5)]
    for_features, for_noise, for_mixing, for_classes, for_retries = rngs
    rows = _Rows(concepts)
    labels = label_array(concepts[0].classes)
    for first in itertools.count(step=BLOCK_ROWS):
        turnover = plan.turnover(first, BLOCK_ROWS)
        rows.begin(turnover, turnover.mixed(for_mixing.random(BLOCK_ROWS)))
        rows.make(for_features)
        if shares is not None:
            draws = for_classes.random((BLOCK_ROWS, 2))
            rows.balance(shares.wanted(draws, rows.classes, first), for_retries)
        yield Chunk(rows.X, labels[_noisy(rows.classes, noise, len(labels), for_noise)])


class _Rows:
    """Makes the rows of one pass over a stream, block by block."""

    X: Floats
    classes: Ints
    sources: Ints
    """Concept of every row, or -n where concept n is on its way, (n_rows,)."""
    shares: Floats
    """How much of a concept on its way is there, (n_rows,)."""
    places: Ints
    """Index of each row among its maker's rows, (n_rows,)."""

    def __init__(self, concepts: Sequence[Concept]) -> None:
        self.concepts = concepts
        self.n_draws = max(concept.n_draws for concept in concepts)
        self.originals: Ints = np.array([concepts.index(concept) for concept in concepts])
        self.makers: dict[int, Maker] = {
            number: concepts[number].start() for number in set(self.originals.tolist())
        }
        self.start_situation = getattr(concepts[0], "situation", lambda: lambda draws: draws)
        self.situation = self.start_situation()

    def begin(self, turnover: Turnover, mixed: Ints) -> None:
        """Begin a block; equal concepts are one, so that a concept that returns goes on."""
        n_rows, n_concepts = len(mixed), len(self.concepts)
        self.X = np.empty((n_rows, len(self.concepts[0].feature_names)))
        self.classes, self.places = np.empty((2, n_rows), np.int64)
        self.shares = turnover.shares
        self.sources = self.originals[mixed % n_concepts]
        if turnover.is_incremental.any():
            new = turnover.concepts
            is_change = self.originals[new % n_concepts] != self.originals[(new - 1) % n_concepts]
            self.sources = np.where(turnover.is_incremental & is_change, -new, self.sources)

    def make(self, rng: np.random.Generator) -> None:
        """Make all rows of the block."""
        draws = self.situation(rng.random((len(self.sources), self.n_draws)))
        for source, rows in _grouped(self.sources):
            maker = self._maker(source, self.shares[rows])
            self.X[rows], self.classes[rows] = maker(draws[rows])
            self.places[rows] = np.arange(len(self.places[rows]))

    def balance(self, wanted: Ints, rng: np.random.Generator) -> None:
        """Redraw rows from their source until each has the wanted class."""
        wrong = np.flatnonzero(self.classes != wanted)
        for _ in range(MAX_ROUNDS):
            if not len(wrong):
                return
            draws = self.start_situation()(rng.random((len(wrong), self.n_draws)))
            for source, members in _grouped(self.sources[wrong]):
                rows = wrong[members]
                maker = self._maker(source, self.shares[rows])
                if again := getattr(maker, "again", None):
                    self.X[rows], self.classes[rows] = again(draws[members], self.places[rows])
                else:
                    self.X[rows], self.classes[rows] = maker(draws[members])
            wrong = wrong[self.classes[wrong] != wanted[wrong]]
        lacking = self.concepts[0].classes[wanted[wrong[0]]]
        raise InputError(f"class {lacking!r} is too rare in a concept for the share asked for")

    def _maker(self, source: int, shares: Floats) -> Maker:
        """What makes the rows of a source."""
        if source >= 0:
            return self.makers[source]
        n_concepts = len(self.concepts)
        old: Any = self.concepts[(-source - 1) % n_concepts]
        maker: Maker = old.between(self.concepts[-source % n_concepts], shares)
        return maker


def _grouped(sources: Ints) -> Iterator[tuple[int, slice | Ints]]:
    """Every source with its rows; a slice, without copies, if all are of one source."""
    found = np.unique(sources).tolist()
    if len(found) == 1:
        yield found[0], slice(None)
        return
    for source in found:
        yield source, np.flatnonzero(sources == source)


def _noisy(classes: Ints, noise: float, n_classes: int, rng: np.random.Generator) -> Ints:
    """Some classes replaced by another one."""
    draws = rng.random((len(classes), 2))
    if n_classes < 2 or not noise:
        return classes
    steps = 1 + picked(draws[:, 1], n_classes - 1)
    return np.where(draws[:, 0] < noise, (classes + steps) % n_classes, classes)
