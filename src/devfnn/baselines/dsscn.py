"""DSSCN: layers of random nodes, one more whenever the inputs drift.

Deep stacked stochastic configuration network (Pratama and Wang 2019), written anew from a
description; where the published programs contradict themselves, `compat` and the comments say what
was chosen. Only the top layer answers and learns.

A node is an interval-valued Gaussian: a centre, an interval of fixed half width around it, and a
random matrix A; S = A Aᵀ / n measures distances. A candidate is admissible if, for every output, it
explains at least a given share of the squared error: the supervisory inequality of stochastic
configuration networks (Wang and Li 2017). Small random numbers are tried first, larger ones if none
of these will do. A node answers with a linear function of second-order Chebyshev terms, learned by
generalised recursive least squares, one filter for each node. Its rows count by its share of the
firing. Weights fade a little with every row; the default is so small that this is off.

Inputs drift if the feature means moved inside a chunk. The cut is the first row where the means so
far, with their margin, reach those of the whole chunk with theirs. So a fall of the means is seen,
a rise inside a chunk is not; this is how the method is defined. A chunk without a cut is stable.
"""

import dataclasses
import math
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.baselines.chunks import ChunkClassifier, random_generator, settings_from
from devfnn.errors import InputError
from devfnn.events import Event, LayerAdded, LayersMerged, MeansMoved, NodeAdded
from devfnn.model.compiling import ensure_compiled
from devfnn.model.mechanisms.drift import Level, dynamic_significance, hoeffding_bound
from devfnn.model.mechanisms.feature_mask import compression_index
from devfnn.parameters import check_parameters, choice, number

LEAST_AFTER = 2
"""Rows after a cut: the range of a single one is 0, so any gap would be a drift."""

SMALLEST_SUM = 1e-3
"""Where all nodes together fire less than this, the firing is not normalised."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """All parameters of DSSCN; the defaults are those of our description of the network."""

    scopes: tuple[float, ...] = (0.5, 1.0, 3.0, 5.0, 7.0, 9.0, 15.0, 25.0, 50.0)
    """Ranges of the random numbers, tried in order (λ)."""
    rates: tuple[float, ...] = (0.9,)
    """Shares of the error that may remain, tried in order (r)."""
    n_candidates: int = number(50, 1, 10**5, "random nodes drawn for each scope")
    slack: float = number(1.0, 0.0, 1.0, "by how much few nodes loosen the share; 0 is off", "μ")
    half_width: float = number(0.05, 0.0, 1e6, "of the interval around the centre of a node")
    upper_share: float = number(0.5, 0.0, 1.0, "weight of the upper firing", "q")
    growth: int = number(1, 0, 1000, "nodes that may be added with one chunk")
    min_rows: int = number(20, 1, 10**9, "rows of a chunk below which only weights are trained")
    max_nodes: int = number(60, 1, 10**5, "nodes of one layer")
    max_layers: int = number(50, 1, 1000, "layers; at full depth the top layer learns on")
    shift: float = number(0.001, 0.0, 1e3, "by how much a layer moves the input of the next", "α")
    covariance: float = number(1000.0, 1e-9, 1e12, "of the weights of a new node")
    decay: float = number(1e-15, 0.0, 1e-3, "how fast weights fade", "ϖ")
    merging: bool = choice(True, "merge layers that are alike")
    merge_threshold: float = number(0.005, 0.0, 1e6, "compression index of layers that are alike")
    drift_cap: float = number(0.09, 1e-12, 0.999, "largest significance of a drift")
    warning_cap: float = number(0.1, 1e-12, 0.999, "largest significance of a warning")
    horizon: float = number(200.0, 2.0, 1e12, "chunks over which the significance rises", "T")
    cut_confidence: float = number(0.001, 1e-12, 0.999, "significance of the search for the cut")
    compat: bool = choice(False, "let the cut come after one row, as in the authors' program")
    max_buffer: int = number(10000, 1, 10**9, "rows kept after warnings, the newest")

    def __post_init__(self) -> None:
        check_parameters(self)
        for name, limit in (("scopes", math.inf), ("rates", 1.0)):
            values = getattr(self, name)
            numbers = list(values) if isinstance(values, Iterable) else []
            are_fine = [isinstance(each, int | float) and 0.0 < each < limit for each in numbers]
            if not numbers or not all(are_fine) or sorted(numbers) != numbers:
                raise InputError(f"{name} must be numbers between 0 and {limit:g} that rise")
            object.__setattr__(self, name, tuple(map(float, numbers)))


class Nodes(NamedTuple):
    """What nodes look at; it never changes once a node is there."""

    centers: Floats  # (n_nodes, n_features)
    factors: Floats  # random matrices, (n_nodes, n_features, n_features)

    def one(self, index: int) -> "Nodes":
        """A single node."""
        return Nodes(self.centers[index : index + 1], self.factors[index : index + 1])


class Found(NamedTuple):
    """An admissible candidate, and what it explains beyond what it must, over all outputs."""

    node: Nodes
    scope: float
    rate: float
    score: float


def strengths_of(rows: Floats, nodes: Nodes, settings: Settings) -> Floats:
    """Firing of every node, between its upper and its lower one, (n_rows, n_nodes)."""
    offsets = (nodes.centers[:, None, :] @ nodes.factors)[:, 0]
    turned = rows[None] @ nodes.factors - offsets[:, None, :]  # (n_nodes, n_rows, n_features)
    widths = settings.half_width * nodes.factors.sum(axis=1)
    # The squares of turned - widths and turned + widths, summed, differ only in the sign of a term.
    squares = np.einsum("ijk,ijk->ij", turned, turned) + np.square(widths).sum(axis=1)[:, None]
    apart = 2.0 * np.abs((turned @ widths[:, :, None])[:, :, 0])
    scale = -0.5 / rows.shape[1]
    upper: Floats = np.exp(scale * np.maximum(squares - apart, 0.0)).T
    lower: Floats = np.exp(scale * (squares + apart)).T
    return np.asarray(settings.upper_share * upper + (1.0 - settings.upper_share) * lower)


def supervisory_scores(errors: Floats, strengths: Floats, remaining: float) -> Floats:
    """What candidates explain of every output beyond what they must (ξ), (n_candidates, n_outputs).

    errors: of the network without them, (n_rows, n_outputs); strengths: their firing, (n_rows,
    n_candidates); remaining: share of the squared error that may remain, r + μ.
    """
    norms = np.maximum(np.square(strengths).sum(axis=0), 1e-300)
    explained = np.square(strengths.T @ errors) / norms[:, None]
    return np.asarray(explained - (1.0 - remaining) * np.square(errors).sum(axis=0))


def best_admissible(scores: Floats) -> int | None:
    """The candidate with the largest sum of scores, among those with no negative score.

    >>> best_admissible(np.array([[9.0, -0.1], [1.0, 2.0], [1.0, 1.0]]))
    1
    >>> best_admissible(np.array([[9.0, -0.1]]))
    """
    admissible = np.flatnonzero(scores.min(axis=1) >= 0.0)
    if not admissible.size:
        return None
    return int(admissible[scores[admissible].sum(axis=1).argmax()])


def drawn_nodes(
    rows: Floats, errors: Floats, scope: float, count: int, rng: np.random.Generator
) -> Nodes:
    """Random candidates; their centres are rows, more often those with large errors."""
    weights = np.square(errors).sum(axis=1)
    total = weights.sum()
    chosen = rng.choice(len(rows), count, p=weights / total if total > 0.0 else None)
    n_features = rows.shape[1]
    return Nodes(rows[chosen], rng.uniform(-scope, scope, (count, n_features, n_features)))


def search_node(
    rows: Floats, errors: Floats, n_nodes: int, settings: Settings, rng: np.random.Generator
) -> Found | None:
    """The best admissible candidate of the first scope that has one; None if none has.

    `rows` are what the layer sees; `errors`, (n_rows, n_outputs), and `n_nodes` are those of the
    layer as it is. The fewer nodes, the larger μ, the share of the error that may remain beyond r.
    """
    for scope in settings.scopes:
        nodes = drawn_nodes(rows, errors, scope, settings.n_candidates, rng)
        strengths = strengths_of(rows, nodes, settings)
        for rate in settings.rates:
            remaining = rate + settings.slack * (1.0 - rate) / (n_nodes + 2)
            scores = supervisory_scores(errors, strengths, remaining)
            best = best_admissible(scores)
            if best is not None:
                return Found(nodes.one(best), scope, rate, float(scores[best].sum()))
    return None


def chebyshev_terms(rows: Floats) -> Floats:
    """1, and x and 2x² - 1 of every feature, (n_rows, 2 n_features + 1).

    >>> chebyshev_terms(np.array([[0.5, 2.0]])).tolist()
    [[1.0, 0.5, -0.5, 2.0, 7.0]]
    """
    terms = np.ones((len(rows), 2 * rows.shape[1] + 1))
    terms[:, 1::2] = rows
    terms[:, 2::2] = 2.0 * np.square(rows) - 1.0
    return terms


class Layer:
    """Random nodes with learned weights, and the fixed random matrix that shifts its input.

    `shifts`, (n_outputs, n_features), turns the output of the layer below into a shift.
    """

    def __init__(self, shifts: Floats) -> None:
        n_outputs, n_features = shifts.shape
        n_terms = 2 * n_features + 1
        self.shifts = shifts
        self.nodes = Nodes(np.empty((0, n_features)), np.empty((0, n_features, n_features)))
        self.weights = np.empty((0, n_terms, n_outputs))
        self.covariances = np.empty((0, n_terms, n_terms))  # of the weights

    @property
    def n_nodes(self) -> int:
        return len(self.nodes.centers)

    @property
    def n_parameters(self) -> int:
        """Numbers that describe it: both ends of intervals, distances and weights."""
        n_nodes, n_features = self.nodes.centers.shape
        return int(n_nodes * (2 * n_features + n_features**2) + self.weights.size)

    def outputs(self, rows: Floats, settings: Settings) -> Floats:
        """Its answer to rows, (n_rows, n_outputs): those of its nodes, mixed by their shares."""
        answers = chebyshev_terms(rows) @ self.weights  # (n_nodes, n_rows, n_outputs)
        shares = self._shares(rows, settings)
        return np.asarray((shares.T[:, :, None] * answers).sum(axis=0))

    def _shares(self, rows: Floats, settings: Settings) -> Floats:
        """Shares of the nodes in the firing, (n_rows, n_nodes)."""
        strengths = strengths_of(rows, self.nodes, settings)
        sums = strengths.sum(axis=1, keepdims=True)
        return strengths / np.where(sums < SMALLEST_SUM, 1.0, sums)

    def widen(self, n_outputs: int, rng: np.random.Generator) -> None:
        """Make room for classes that came later; answers for the others stay."""
        missing = n_outputs - len(self.shifts)
        if missing > 0:
            self.weights = np.pad(self.weights, ((0, 0), (0, 0), (0, missing)))
            fresh = rng.random((missing, self.shifts.shape[1]))
            self.shifts = np.concatenate([self.shifts, fresh])

    def grow(
        self, rows: Floats, targets: Floats, settings: Settings, rng: np.random.Generator
    ) -> Found | None:
        """Add the node that explains most of what the layer gets wrong, if one is good enough.

        A layer that is still empty gets a round node in the middle if none is.
        """
        errors = targets - self.outputs(rows, settings)
        found = search_node(rows, errors, self.n_nodes, settings, rng)
        if found is not None:
            self._add(found.node, settings.covariance)
        elif not self.n_nodes:
            factor = math.sqrt(rows.shape[1]) * np.eye(rows.shape[1])
            self._add(Nodes(rows.mean(axis=0)[None], factor[None]), settings.covariance)
        return found

    def _add(self, node: Nodes, covariance: float) -> None:
        """Add a node; it starts with the weights of the nearest one."""
        fresh = np.zeros((1, *self.weights.shape[1:]))
        if self.n_nodes:
            distances = np.square(self.nodes.centers - node.centers).sum(axis=1)
            fresh = self.weights[[distances.argmin()]]
        unsure = covariance * np.eye(self.weights.shape[1])
        self.nodes = Nodes(*(np.concatenate(pair) for pair in zip(self.nodes, node, strict=True)))
        self.weights = np.concatenate([self.weights, fresh])
        self.covariances = np.concatenate([self.covariances, unsure[None]])

    def learn(self, rows: Floats, targets: Floats, settings: Settings) -> None:
        """Update the weights with rows, in order. targets: (n_rows, n_outputs)"""
        from devfnn.kernels.dsscn import learn_nodes

        ensure_compiled("nodes")
        terms, shares = chebyshev_terms(rows), np.ascontiguousarray(self._shares(rows, settings))
        weights = np.ascontiguousarray(self.weights.transpose(0, 2, 1))
        decay, gain = float(settings.decay), np.empty(terms.shape[1])
        learn_nodes(weights, self.covariances, terms, shares, targets, decay, gain)
        self.weights = np.ascontiguousarray(weights.transpose(0, 2, 1))
        turned = self.covariances.transpose(0, 2, 1)
        self.covariances = 0.5 * (self.covariances + turned)  # symmetric despite rounding


class DSSCN(ChunkClassifier):
    """Deep stacked stochastic configuration network, learned chunk by chunk.

    `seed` decides everything that is drawn; parameters are those of `Settings`.

    >>> model = DSSCN(seed=1)
    >>> rows = np.linspace(0.0, 1.0, 40)[:, None]
    >>> events = model.learn(rows, ["low"] * 20 + ["high"] * 20)
    >>> model.predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    _largest = 1e30  # squares of larger values would overflow in the least squares

    def __init__(self, seed: int = 0, **parameters: Any) -> None:
        super().__init__()
        self.settings = settings_from(Settings, parameters)
        self.layers: list[Layer] = []  # the bottom one first
        self._rng = random_generator(seed)
        self._buffer: list[tuple[Floats, Ints]] = []  # rows kept for the next layer
        self._n_chunks = 0

    @property
    def n_layers(self) -> int:
        return len(self.layers)

    @property
    def n_rules(self) -> int:
        """Nodes of all layers."""
        return sum(layer.n_nodes for layer in self.layers)

    @property
    def n_parameters(self) -> int:
        return sum(layer.n_parameters for layer in self.layers)

    def _probabilities(self, rows: Floats) -> Floats:
        """The positive parts of the outputs, or a soft maximum where none is positive."""
        outputs = self._pass_through(rows)[1][-1]
        positive = np.maximum(outputs, 0.0)
        soft = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        chosen = np.where(positive.max(axis=1, keepdims=True) > 1e-12, positive, soft)
        return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))

    def _learn(self, rows: Floats, codes: Ints, fresh: list[Hashable]) -> list[Event]:
        events = self._add_classes(fresh)
        for layer in self.layers:
            layer.widen(len(self._labels), self._rng)
        if not self.layers:
            events += self._add_layer(rows, codes)
            self._keep(rows, codes)
        else:
            events += self._merge(rows, codes)
            events += self._follow(rows, codes)
        self._n_chunks += 1
        return events

    def _pass_through(self, rows: Floats) -> tuple[list[Floats], list[Floats]]:
        """What each layer sees of rows and what it answers, from the bottom to the top.

        A layer sees rows moved by the answer of the layer below, if there is one: x + α y Z.
        """
        inputs: list[Floats] = []
        outputs: list[Floats] = []
        for layer in self.layers:
            below = self.settings.shift * (outputs[-1] @ layer.shifts) if outputs else 0.0
            inputs.append(rows + below)
            outputs.append(layer.outputs(inputs[-1], self.settings))
        return inputs, outputs

    def _merge(self, rows: Floats, codes: Ints) -> list[Event]:
        """Remove the worse of the two layers most alike, if these are alike enough.

        The layer above then sees what is below; a new bottom layer sees the rows as they are.
        """
        threshold = self.settings.merge_threshold
        if not self.settings.merging or self.n_layers < 2:
            return []
        outputs = self._pass_through(rows)[1]
        pairs = np.tril_indices(len(outputs), -1)
        distances = unlikeness(np.stack(outputs))[pairs]
        nearest = int(distances.argmin())
        if not distances[nearest] < threshold:
            return []
        pair = int(pairs[1][nearest]), int(pairs[0][nearest])
        errors = [np.count_nonzero(outputs[at].argmax(axis=1) != codes) for at in pair]
        kept, dropped = pair if errors[0] <= errors[1] else pair[::-1]
        del self.layers[dropped]
        return [LayersMerged(self._n_rows, kept, dropped, float(distances[nearest]), threshold)]

    def _follow(self, rows: Floats, codes: Ints) -> list[Event]:
        """A new layer after a drift, rows kept after a warning, else the top layer learns."""
        given = self.settings
        if len(rows) < given.min_rows:  # the means of so few rows always move
            return self._train_top(rows, codes, room=0)
        level, gap, bound, cut = judge_means(rows, self._n_chunks, given)
        moved = MeansMoved(self._n_rows, level.value, gap, bound, cut)
        if level is Level.DRIFT and self.n_layers < given.max_layers:
            rows, codes = self._with_buffer(rows, codes)
            self._buffer = []
            return [moved, *self._add_layer(rows, codes)]
        if level is Level.WARNING:
            self._keep(rows, codes)
            return [moved]
        self._buffer = []
        room = min(given.growth, given.max_nodes - self.layers[-1].n_nodes)
        return self._train_top(rows, codes, room)

    def _with_buffer(self, rows: Floats, codes: Ints) -> tuple[Floats, Ints]:
        """Rows with those that were kept before them."""
        all_rows, all_codes = zip(*self._buffer, (rows, codes), strict=True)
        return np.concatenate(all_rows), np.concatenate(all_codes)

    def _keep(self, rows: Floats, codes: Ints) -> None:
        rows, codes = self._with_buffer(rows, codes)
        newest = slice(-self.settings.max_buffer, None)
        self._buffer = [(rows[newest], codes[newest])]

    def _add_layer(self, rows: Floats, codes: Ints) -> list[Event]:
        """Put a layer on top and train it on what it will see: all rows through the stack."""
        self.layers.append(Layer(self._rng.random((len(self._labels), rows.shape[1]))))
        added = LayerAdded(self._n_rows, self.n_layers - 1, rows.shape[1], len(rows))
        return [*([added] if self.n_layers > 1 else []), *self._train_top(rows, codes, room=1)]

    def _train_top(self, rows: Floats, codes: Ints, room: int) -> list[Event]:
        """Let the top layer grow by at most `room` nodes, then learn."""
        given, top, targets = self.settings, self.layers[-1], np.eye(len(self._labels))[codes]
        seen = self._pass_through(rows)[0][-1]
        events: list[Event] = []
        for _ in range(room):
            found = top.grow(seen, targets, given, self._rng)
            if found is None:
                break
            place = self.n_layers - 1, top.n_nodes - 1
            events.append(NodeAdded(self._n_rows, *place, found.scope, found.score))
        top.learn(seen, targets, given)
        return events


def cut_of(rows: Floats, confidence: float, first: int) -> int | None:
    """Rows before the cut, at least `first`; None if there is no cut.

    With `first` = 1 the program of the authors is followed: mean and range of a single row are
    taken over its features.
    """
    n_rows = len(rows)
    counts = np.arange(1, n_rows)
    slack = np.sqrt((n_rows - counts) / (2.0 * counts * n_rows) * math.log(1.0 / confidence))
    means = (np.cumsum(rows[:-1], axis=0) / counts[:, None]).mean(axis=1)
    highest = np.maximum.accumulate(rows[:-1], axis=0)
    spans = (highest - np.minimum.accumulate(rows[:-1], axis=0)).mean(axis=1)
    if n_rows > 1:
        spans[0] = np.ptp(rows[0])
    whole = rows.mean() + np.ptp(rows, axis=0).mean() * slack
    cuts = np.flatnonzero((means + spans * slack >= whole)[first - 1 :])
    return int(cuts[0]) + first if cuts.size else None


def judge_means(rows: Floats, n_chunks: int, settings: Settings) -> tuple[Level, float, float, int]:
    """Whether the feature means moved inside a chunk; `n_chunks` counts the chunks before it.

    With the level come the gap between the means before and after the cut, averaged over features,
    the bound of that level, or of a warning if it is stable, and the rows before the cut.
    """
    cut = cut_of(rows, settings.cut_confidence, first=1 if settings.compat else 2)
    if cut is None or len(rows) - cut < LEAST_AFTER or not np.ptp(rows, axis=0).any():
        return Level.STABLE, 0.0, 0.0, 0
    before, after = rows[:cut], rows[cut:]
    gap = float(np.abs(before.mean(axis=0) - after.mean(axis=0)).mean())
    span, horizon, bound = float(np.ptp(after, axis=0).mean()), settings.horizon, 0.0
    levels = {
        Level.DRIFT: dynamic_significance(n_chunks, horizon, settings.drift_cap),
        Level.WARNING: dynamic_significance(n_chunks, horizon - 1.0, settings.warning_cap),
    }
    for level, significance in levels.items():
        bound = hoeffding_bound(span, cut, significance)
        if gap >= bound:
            return level, gap, bound, cut
    return Level.STABLE, gap, bound, cut


def unlikeness(outputs: Floats) -> Floats:
    """Largest compression index over classes, for every pair of layers.

    0 if one layer is a linear function of the other. outputs: (n_layers, n_rows, n_outputs).
    """
    away = outputs - outputs.mean(axis=1, keepdims=True)
    covariances = np.einsum("akc,bkc->abc", away, away) / outputs.shape[1]
    variances = np.einsum("aac->ac", covariances)
    return np.asarray(compression_index(variances[:, None], variances[None], covariances).max(2))
