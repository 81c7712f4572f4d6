"""Random RBF: clouds around random centres, each of one class; the centres may move.

From MOA, "RandomRBFGenerator" and "RandomRBFGeneratorDrift": Bifet, Holmes, Kirkby and Pfahringer,
"MOA: massive online analysis", JMLR 11, 2010. It differs from MOA in three points. Classes go to
the centres in turn, not at random, so that every class has its share and a centre keeps its class
when one concept moves to the next. Centres start off in any direction, not only upwards. And at a
wall they are reflected, where MOA lets them lie on it for the rest of a step.
"""

import dataclasses
from typing import NamedTuple, Unpack

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.streams.arguments import MOST_FEATURES, finite_number, whole_number
from devfnn.streams.generators.concept import Maker, normal_draws, numbered_names
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream


class Clouds(NamedTuple):
    """Clouds of rows around their centres."""

    centres: Floats
    """Where they are, from 0 to 1, (n_centroids, n_features)."""
    spreads: Floats
    """Standard deviation of the distance to the centre, (n_centroids,)."""
    weights: Floats
    """How often they are chosen, as proportions, (n_centroids,)."""
    speeds: Floats
    """By how much centres move with every row, (n_centroids, n_features)."""


@dataclasses.dataclass(frozen=True)
class RandomRBF:
    """A row is near a random centre and has its class."""

    n_features: int = 10
    """Features; most rows are between 0 and 1."""
    n_classes: int = 2
    """Classes, which go to the centres in turn."""
    n_centroids: int = 50
    """Centres, at least one for each class."""
    seed: int = 0
    """Decides centres, spreads, weights and the directions in which centres move."""
    speed: float = 0.0
    """Distance a centre moves with every row. It turns back at 0 and at 1."""

    def __post_init__(self) -> None:
        whole_number("n_features", self.n_features, low=1, high=MOST_FEATURES)
        whole_number("n_classes", self.n_classes, low=1)
        whole_number("n_centroids", self.n_centroids, low=self.n_classes)
        whole_number("seed", self.seed, low=0)
        finite_number("speed", self.speed, low=0)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return numbered_names(self.n_features)

    @property
    def classes(self) -> tuple[int, ...]:
        return tuple(range(self.n_classes))

    @property
    def n_draws(self) -> int:
        return self.n_features + 3

    def clouds(self) -> Clouds:
        """The clouds as they are at the start."""
        rng = np.random.default_rng(self.seed)
        shape = (self.n_centroids, self.n_features)
        centres = rng.random(shape)
        spreads, weights = rng.random((2, self.n_centroids))
        directions = rng.standard_normal(shape)
        speeds = self.speed * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return Clouds(centres, spreads, weights, speeds)

    def start(self) -> Maker:
        if self.speed:
            return _Moving(self)
        clouds = self.clouds()

        def made(draws: Floats) -> tuple[Floats, Ints]:
            chosen = _chosen(clouds.weights, draws[:, 0])
            return self.near(clouds.centres[chosen], clouds.spreads[chosen], chosen, draws)

        return made

    def near(
        self, centres: Floats, spreads: Floats, chosen: Ints, draws: Floats
    ) -> tuple[Floats, Ints]:
        """Rows in a random direction of the chosen clouds' centres, normally distributed."""
        directions = 2.0 * draws[:, 1 : self.n_features + 1] - 1.0
        lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
        steps = normal_draws(draws[:, self.n_features + 1 : self.n_draws])[:, 0]
        scales = spreads * steps / np.maximum(lengths, 1e-12)
        return centres + directions * scales[:, None], chosen % self.n_classes

    def between(self, other: "RandomRBF", shares: Floats) -> Maker:
        if self.n_centroids != other.n_centroids:
            raise InputError("incremental drift needs concepts with equally many centres")
        if self.speed or other.speed:
            raise InputError(
                "centres move by themselves or by incremental drift, not both; set speed to 0"
            )
        old, new = self.clouds(), other.clouds()

        def made(draws: Floats) -> tuple[Floats, Ints]:
            weights = old.weights + shares[:, None] * (new.weights - old.weights)
            edges = np.cumsum(weights, axis=1)
            chosen = (edges[:, :-1] <= draws[:, :1] * edges[:, -1:]).sum(axis=1)
            start, end = old.centres[chosen], new.centres[chosen]
            centres = start + shares[:, None] * (end - start)
            spreads = old.spreads[chosen]
            spreads = spreads + shares * (new.spreads[chosen] - spreads)
            return self.near(centres, spreads, chosen, draws)

        return made


class _Moving:
    """Makes rows while centres move."""

    def __init__(self, concept: RandomRBF) -> None:
        self.concept = concept
        self.clouds = concept.clouds()
        self.n_made = 0
        self.first = 0
        """Number of the first row of the last call."""

    def __call__(self, draws: Floats) -> tuple[Floats, Ints]:
        self.first = self.n_made
        self.n_made += len(draws)
        return self.again(draws, np.arange(len(draws)))

    def again(self, draws: Floats, places: Ints) -> tuple[Floats, Ints]:
        chosen = _chosen(self.clouds.weights, draws[:, 0])
        ages = (self.first + places)[:, None]
        walked = self.clouds.centres[chosen] + self.clouds.speeds[chosen] * ages
        centres = 1.0 - np.abs(1.0 - walked % 2.0)  # reflected at 0 and at 1
        return self.concept.near(centres, self.clouds.spreads[chosen], chosen, draws)


def _chosen(weights: Floats, draws: Floats) -> Ints:
    """A cloud for every row, as often as its weight says."""
    edges = np.cumsum(weights)
    return np.asarray(np.searchsorted(edges[:-1], draws * edges[-1], side="right"))


def rbf(
    n_rows: int | None = None,
    *,
    n_features: int = 10,
    n_classes: int = 2,
    n_centroids: int = 50,
    n_concepts: int = 1,
    speed: float = 0.0001,
    **options: Unpack[StreamOptions],
) -> Stream:
    """Clouds of rows around centres that move slowly.

    Centres that move by themselves are no drift that has a position: with one concept
    `drift_positions` is empty. Several concepts are drawn with the seeds 0, 1, 2 and so on,
    whatever the stream's seed; for others give `RandomRBF` concepts to `drifting`. To let centres
    travel from one concept to the next set `speed` to 0, and `kind` and `width`. By default one of
    several lasts 10,000 rows. All other options are in `RandomRBF` and `StreamOptions`.
    """
    concepts = [
        RandomRBF(n_features, n_classes, n_centroids, seed, speed)
        for seed in range(whole_number("n_concepts", n_concepts, low=1))
    ]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))
