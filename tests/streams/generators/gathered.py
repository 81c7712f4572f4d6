"""Rows of streams and of concepts, gathered for tests."""

import itertools
from collections.abc import Sequence

import numpy as np

from devfnn.streams import Concept, Stream
from devfnn.streams.generators.concept import Maker

Rows = tuple[np.ndarray, np.ndarray]


def whole(stream: Stream) -> Rows:
    """All rows of a stream: features and labels."""
    chunks = list(stream)
    return np.concatenate([chunk.X for chunk in chunks]), np.concatenate([c.y for c in chunks])


def started(concept: Concept) -> Maker:
    """What makes rows of a concept from random numbers, in a situation of its own if it has one."""
    return situated(concept, concept.start())


def situated(concept: Concept, maker: Maker) -> Maker:
    """A maker that gets what its situation says, if it has one."""
    if not hasattr(concept, "situation"):
        return maker
    situation = concept.situation()
    return lambda draws: maker(situation(draws))


def made(concept: Concept, n_rows: int = 5000, seed: int = 0) -> Rows:
    """Rows of a concept by itself: features and classes."""
    draws = np.random.default_rng(seed).random((n_rows, concept.n_draws))
    return started(concept)(draws)


def made_in_pieces(concept: Concept, draws: np.ndarray, cuts: Sequence[int]) -> Rows:
    """The same rows, but made by several calls."""
    edges = sorted({0, len(draws), *(cut for cut in cuts if cut < len(draws))})
    maker = started(concept)
    pieces = [maker(draws[start:end]) for start, end in itertools.pairwise(edges)]
    X, classes = zip(*pieces, strict=True)
    return np.concatenate(X), np.concatenate(classes)


def assert_same(rows: Rows, expected: Rows) -> None:
    """Features and labels are equal, to the last bit."""
    np.testing.assert_array_equal(rows[0], expected[0])
    np.testing.assert_array_equal(rows[1], expected[1])
