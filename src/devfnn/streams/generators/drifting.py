"""Any concepts, one after the other, as a stream: drift, noise and imbalance put together."""

import dataclasses
import functools
import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypedDict, Unpack

import numpy as np

from devfnn.errors import InputError
from devfnn.streams.arguments import share, whole_number
from devfnn.streams.drift import Schedule, Turnover
from devfnn.streams.generators.concept import (
    Concept,
    Floats,
    Ints,
    Maker,
    MovableConcept,
    MovingMaker,
    SituatedConcept,
    Situation,
    picked,
)
from devfnn.streams.generators.imbalance import MAX_ROUNDS, ClassShares
from devfnn.streams.stream import Stream
from devfnn.types import Chunk

BLOCK_ROWS = 4096
"""Rows made at a time. Part of what a seed means: another size would give other rows."""


class StreamOptions(TypedDict, total=False):
    """What every generated stream takes; the fields of `Recipe` say what they mean."""

    positions: Sequence[int]
    rows_per_concept: int | None
    width: int | Sequence[int]
    kind: str | Sequence[str]
    noise: float
    class_shares: Mapping[Hashable, float | tuple[float, float]] | None
    chunk_rows: int
    seed: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """The parameters that all generated streams have, checked.

    Parameters
    ----------
    positions
        Rows with which the next concept begins to appear; after the last concept comes the first.
    rows_per_concept
        Instead of positions: rows after which the next concept takes over, again and again.
    width
        Rows a drift takes; 0 is abrupt. One for all drifts, or one for each position.
    kind
        What happens during a drift that takes a while. `gradual`: rows come from the old or the
        new concept, more and more from the new one. `incremental`: the concept itself moves. One
        for all drifts, or one for each position.
    noise
        Share of labels that are replaced by another class.
    class_shares
        How often a class comes, before noise: `{1: 0.05}`, or `{1: (0.05, 0.25)}` for a share that
        swings between two values. Classes not named share the rest as they would by themselves.
    chunk_rows
        Rows in a chunk.
    seed
        Seed of everything random. Features, noise, imbalance and gradual drift have random numbers
        of their own, so that changing one leaves the others as they are.
    """

    positions: Sequence[int] = ()
    rows_per_concept: int | None = None
    width: int | Sequence[int] = 0
    kind: str | Sequence[str] = "gradual"
    noise: float = 0.0
    class_shares: Mapping[Hashable, float | tuple[float, float]] | None = None
    chunk_rows: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("chunk_rows", self.chunk_rows, low=1)
        whole_number("seed", self.seed, low=0)
        share("noise", self.noise)

    def schedule(self) -> Schedule:
        """When which concept comes."""
        positions = tuple(whole_number("positions", each, low=1) for each in self.positions)
        return Schedule(positions, self.rows_per_concept, self.width, self.kind)


def drifting(
    concepts: Sequence[Concept], n_rows: int | None = None, **options: Unpack[StreamOptions]
) -> Stream:
    """A stream that goes from concept to concept.

    Parameters
    ----------
    concepts
        One or more, with the same features and classes.
    n_rows
        Rows of the whole stream; None for one that never ends.
    **options
        As in `Recipe`: drift, noise, imbalance, chunks, seed.

    Examples
    --------
    Two concepts, a gradual drift, then the first one again, at once:

    >>> from devfnn.streams import SEA
    >>> stream = drifting([SEA(8), SEA(9)], n_rows=4000, positions=[1000, 3000], width=[500, 0])
    >>> stream.drift_positions
    (1000, 3000)
    """
    if n_rows is not None:
        whole_number("n_rows", n_rows, low=1)
    unknown = options.keys() - StreamOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(StreamOptions.__annotations__)
        raise TypeError(f"there is no option {min(unknown)!r}; all streams take {known}")
    recipe = Recipe(**options)
    schedule = recipe.schedule()
    concepts = tuple(concepts)
    _check_concepts(concepts, schedule)
    first = concepts[0]
    shares = None
    if recipe.class_shares is not None:
        shares = ClassShares.of(recipe.class_shares, first.classes)

    stream = Stream(
        feature_names=first.feature_names,
        classes=first.classes,
        blocks=functools.partial(_started, concepts, recipe, schedule, shares),
        is_endless=True,
        drift_positions=schedule.drift_positions(concepts, None),
        class_names=tuple(getattr(first, "class_names", ())),
        chunk_rows=recipe.chunk_rows,
    )
    return stream if n_rows is None else stream.take(n_rows)


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
        is_movable = isinstance(old, MovableConcept) and isinstance(new, MovableConcept)
        if not is_movable or type(old) is not type(new):
            raise InputError(
                "incremental drift needs concepts of one kind whose numbers can move; "
                'use kind="gradual" for others'
            )
        if old != new:
            _between(old, new, np.ones(1))  # refuses what it cannot do


def _between(old: Concept, new: Concept, shares: Floats) -> Maker:
    assert isinstance(old, MovableConcept) and isinstance(new, MovableConcept)
    maker: Maker = old.between(new, shares)
    return maker


def with_defaults(options: StreamOptions, defaults: StreamOptions) -> StreamOptions:
    """Options, with those not given as a generator has them; positions replace its rhythm."""
    merged: StreamOptions = {**defaults, **options}
    if "positions" in options and "rows_per_concept" not in options:
        merged["rows_per_concept"] = None
    return merged


@dataclasses.dataclass(frozen=True)
class _Block:
    """Where the rows of a block come from."""

    first: int
    """Number of the first row."""
    sources: Ints
    """Concept of every row, or -n where concept n is on its way, (n_rows,)."""
    shares: Floats
    """How much of a concept on its way is there, (n_rows,)."""
    places: Ints
    """Which of its maker's rows each row is, (n_rows,)."""


def _started(
    concepts: Sequence[Concept], recipe: Recipe, schedule: Schedule, shares: ClassShares | None
) -> Iterator[Chunk]:
    return _Run(concepts, recipe, schedule, shares).blocks()


class _Run:
    """One pass over a generated stream."""

    def __init__(
        self,
        concepts: Sequence[Concept],
        recipe: Recipe,
        schedule: Schedule,
        shares: ClassShares | None,
    ) -> None:
        self.concepts = concepts
        self.schedule = schedule
        self.noise = recipe.noise
        self.shares = shares
        self.labels = _label_array(concepts[0].classes)
        self.n_draws = max(concept.n_draws for concept in concepts)
        self.originals: Ints = np.array([concepts.index(concept) for concept in concepts])
        self.makers: dict[int, Maker] = {
            number: concepts[number].start() for number in set(self.originals.tolist())
        }
        self.situation = _situation(concepts)
        rngs = [np.random.default_rng([recipe.seed, purpose]) for purpose in range(5)]
        self.for_features, self.for_noise, self.for_mixing, self.for_classes, self.for_retries = (
            rngs
        )

    def blocks(self) -> Iterator[Chunk]:
        """Rows without end."""
        for first in itertools.count(step=BLOCK_ROWS):
            turnover = self.schedule.turnover(first, BLOCK_ROWS)
            mixed = turnover.mixed(self.for_mixing.random(BLOCK_ROWS))
            sources = self._sources(turnover, mixed)
            block = _Block(first, sources, turnover.shares, np.empty(BLOCK_ROWS, np.int64))
            X, classes = self._made(block)
            if self.shares is not None:
                self._balance(X, classes, block)
            yield Chunk(X, self.labels[self._noisy(classes)])

    def _sources(self, turnover: Turnover, mixed: Ints) -> Ints:
        """Concepts of a block; equal ones are one, so that a concept that returns goes on."""
        n_concepts = len(self.concepts)
        sources: Ints = self.originals[mixed % n_concepts]
        if turnover.is_incremental.any():
            new = turnover.concepts
            is_change = self.originals[new % n_concepts] != self.originals[(new - 1) % n_concepts]
            sources = np.where(turnover.is_incremental & is_change, -new, sources)
        return sources

    def _made(self, block: _Block) -> tuple[Floats, Ints]:
        """Features and classes of a block."""
        n_rows = len(block.sources)
        draws = self.situation(self.for_features.random((n_rows, self.n_draws)))
        X = np.empty((n_rows, len(self.concepts[0].feature_names)))
        classes = np.empty(n_rows, np.int64)
        for source, rows in _grouped(block.sources):
            X[rows], classes[rows] = self._maker(source, block.shares[rows])(draws[rows])
            block.places[rows] = np.arange(len(block.places[rows]))
        return X, classes

    def _maker(self, source: int, shares: Floats) -> Maker:
        """What makes the rows of a source."""
        if source >= 0:
            return self.makers[source]
        n_concepts = len(self.concepts)
        old, new = self.concepts[(-source - 1) % n_concepts], self.concepts[-source % n_concepts]
        return _between(old, new, shares)

    def _balance(self, X: Floats, classes: Ints, block: _Block) -> None:
        """Make rows anew until each is of the class that the shares ask for."""
        assert self.shares is not None
        draws = self.for_classes.random((len(classes), 2))
        wanted = self.shares.wanted(draws, classes, block.first, len(self.labels))
        wrong = np.flatnonzero(classes != wanted)
        for _ in range(MAX_ROUNDS):
            if not len(wrong):
                return
            self._remake(X, classes, block, wrong)
            wrong = wrong[classes[wrong] != wanted[wrong]]
        lacking = self.concepts[0].classes[wanted[wrong[0]]]
        raise InputError(f"class {lacking!r} is too rare in a concept for the share asked for")

    def _remake(self, X: Floats, classes: Ints, block: _Block, wrong: Ints) -> None:
        """Other rows instead of some of a block, from where these came."""
        draws = _situation(self.concepts)(self.for_retries.random((len(wrong), self.n_draws)))
        for source, members in _grouped(block.sources[wrong]):
            rows = wrong[members]
            maker = self._maker(source, block.shares[rows])
            if isinstance(maker, MovingMaker):
                X[rows], classes[rows] = maker.again(draws[members], block.places[rows])
            else:
                X[rows], classes[rows] = maker(draws[members])

    def _noisy(self, classes: Ints) -> Ints:
        """Some classes replaced by another one."""
        draws = self.for_noise.random((len(classes), 2))
        n_classes = len(self.labels)
        if n_classes < 2 or not self.noise:
            return classes
        steps = 1 + picked(draws[:, 1], n_classes - 1)
        return np.where(draws[:, 0] < self.noise, (classes + steps) % n_classes, classes)


def _situation(concepts: Sequence[Concept]) -> Situation:
    """What all concepts of a stream share; mostly nothing but the random numbers."""
    first = concepts[0]
    return first.situation() if isinstance(first, SituatedConcept) else lambda draws: draws


def _grouped(sources: Ints) -> Iterator[tuple[int, slice | Ints]]:
    """Every source with its rows. Mostly all are of one; a slice then saves copies."""
    found = np.unique(sources).tolist()
    if len(found) == 1:
        yield found[0], slice(None)
        return
    for source in found:
        yield source, np.flatnonzero(sources == source)


def _label_array(classes: Sequence[Hashable]) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Labels by class index; plain integers where they are."""
    if all(type(label) is int for label in classes):
        return np.array(classes, np.int64)
    labels = np.empty(len(classes), object)
    labels[:] = classes
    return labels
