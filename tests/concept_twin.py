"""A slow twin of the concept network: one row at a time, from the formulas.

Rules and clouds are plain objects in lists, gains whole matrices, the implicit step is solved to
the last digit. Nothing is shared with the kernels but their settings and the names of places.
"""

import copy
import dataclasses
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega

from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    CLOUDS,
    DRIFT_LINE,
    DROPPED_LINE,
    FIRST_KEPT,
    INDEPENDENCE,
    KEPT_LINE,
    LAST_LABEL,
    LINE,
    LIVELY_CURVE,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    QUICK_LINE,
    RECALLED_LINE,
    SPLIT_LINE,
    STEADY_LINE,
    TOLD,
    WATCHED,
    Concepts,
    Diary,
    Habits,
    Lessons,
    Work,
)
from devfnn.kernels.state import ASKED_FOR, OFFERED, Floats, Ints
from devfnn.model.concepts.state import empty_concepts, packed, unpacked, work_for
from devfnn.model.config import Config
from devfnn.model.drift import ErrorTrack, Level
from reference import certainty, softmax

DOUBT, NEGLIGIBLE, OUT_OF_REACH = 0.02, 0.01, 10.0
FIRST_MASS, LEAST_MASS, MASS_OF_ROW = 0.02, 1e-3, 0.025
FIRST_SPREAD, LEAST_SPREAD = 0.02, 1e-5
FADE_EVERY, DRIFT_EVERY = 64, 50
SHARE_RATE, GRACE_ROWS = 1e-4, 10000

FIRST_FREE = CLOUD_LAYER
"""The first slot that is free in a new network: each layer before the clouds has one rule."""

Line = tuple[int, int, int, int, int, tuple[float, ...]]


# ---- one rule


def halves(row: Floats) -> Floats:
    """[1, T1 of all features, T2 of all features] on [-1, 1]; absent features give 0. (p,)"""
    t = 2.0 * row - 1.0
    return np.nan_to_num(np.concatenate([[1.0], t, 2.0 * t**2 - 1.0]), nan=0.0)


def implicit_shares(said: Floats, label: int, reach: float) -> Floats:
    """The shares with shares = softmax(log said + reach * (target - shares)), exactly.

    Given the normaliser, every class has an equation of its own: omega + log omega = x.
    """
    if reach == 0.0:
        return said.copy()
    target = np.eye(said.size)[label]
    known = np.log(np.maximum(said, 1e-300)) + reach * target + np.log(reach)

    def shares(normaliser: float) -> Floats:
        return np.real(wrightomega(known - normaliser)) / reach

    low, high = known.min() - reach - 800.0, known.max() + 800.0
    root = brentq(lambda c: shares(c).sum() - 1.0, low, high, xtol=1e-13, rtol=1e-15, maxiter=500)
    return shares(root)


def learned_logistic(
    weights: Floats, gain: Floats, phi: Floats, label: int, rates: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Weights (m, q) and gain matrix (q, q) after a row; `rates` are its weight and the memory."""
    weight, memory = rates
    said = softmax(weights @ phi)
    pull = gain @ phi
    variance = float(phi @ pull)
    learned = implicit_shares(said, label, weight * variance)
    slopes = [1e-4, *(said * (1.0 - said)), *(learned * (1.0 - learned))]
    curvature = weight * max(slopes)
    target = np.eye(said.size)[label]
    moved = weights + weight * np.outer(target - learned, pull)
    shrunk = gain - np.outer(pull, pull) / (memory / curvature + variance)
    return moved, shrunk / memory


def capped(gain: Floats, caps: Floats) -> Floats:
    """The gain matrix with no variance over its cap; correlations stay."""
    factors = np.minimum(1.0, np.sqrt(caps / np.diag(gain)))
    return gain * np.outer(factors, factors)


def contrasts_of(n_contrasts: int, m: int) -> Floats:
    """The side (-1 or 1) of every class in every contrast: the bits of its number. (Q, m)"""
    return np.array([[1.0 if k & 2**q else -1.0 for k in range(m)] for q in range(n_contrasts)])


def cut_evidence(left: Floats, right: Floats) -> float:
    """What two steps explain over one. left, right: (Q, 2) sums of residuals and variances"""
    if min(left[:, 1].sum(), right[:, 1].sum()) < 20.0:
        return 0.0
    both = left + right
    gained = [part[:, 0] ** 2 / (part[:, 1] + 1.0) for part in (left, right, both)]
    return float((gained[0] + gained[1] - gained[2]).sum())


@dataclasses.dataclass
class SlowRule:
    """A rule of a line or of the boxes."""

    slot: int
    low: Floats
    high: Floats
    weights: Floats  # (m, p)
    gain: Floats  # (p, p)
    evidence: Floats  # (n, B, Q, 2)
    crossings: Floats  # (n, n, Q) symmetric, 0 on the diagonal
    age: int
    mean: Floats
    variance: Floats
    class_counts: Floats

    def holds(self, row: Floats) -> bool:
        """Whether every feature that is there lies in the box."""
        there = ~np.isnan(row)
        return bool(((row > self.low) & (row <= self.high))[there].all())

    def bins(self, j: int) -> Floats:
        """Bounds of the bins of a feature."""
        n_bins = self.evidence.shape[1]
        low, high = max(self.low[j], 0.0), min(self.high[j], 1.0)
        return low + (high - low) * np.arange(n_bins + 1) / n_bins

    def gather(self, row: Floats, label: int, said: Floats) -> None:
        """Add the residuals of a row to the bins it lies in."""
        sides = contrasts_of(self.evidence.shape[2], said.size)
        expected = sides @ said
        news = np.stack([sides[:, label] - expected, 1.0 - expected**2], axis=-1)
        for j in np.flatnonzero(~np.isnan(row)):
            inner = self.bins(j)[1:-1]
            self.evidence[j, (row[j] >= inner).sum()] += news
        signs = np.where(np.isnan(row), 0.0, np.where(row > self.mean, 1.0, -1.0))
        turned = np.outer(signs, signs) * (1.0 - np.eye(row.size))
        self.crossings += turned[..., None] * (sides[:, label] - expected)

    def crossed(self) -> Floats:
        """Evidence of all pairs of features, less what the best of so many has by luck. (n, n)"""
        variances = self.evidence[..., 1].sum(axis=1)
        larger = np.maximum(variances[:, None], variances[None]) + 1.0
        n, common = len(variances), self.evidence[:, None, :, :, 0].sum(axis=2)
        turned = (self.crossings**2 - common**2) / larger
        return turned.sum(axis=-1) - 2.0 * np.log(max(n * (n - 1) / 2, 1.0))

    def middle(self, j: int) -> tuple[float, float, int]:
        """The cut nearest to the mean of a feature: its step, what both sides saw, its bin."""
        inner = self.bins(j)[1:-1]
        place = int(np.abs(inner - self.mean[j]).argmin())
        bins = self.evidence[j]
        left, right = bins[: place + 1].sum(axis=0), bins[place + 1 :].sum(axis=0)
        seen = min(left[:, 1].sum(), right[:, 1].sum())
        return max(cut_evidence(left, right), 0.0), float(seen), place

    def best_cut(self) -> tuple[float, int, int]:
        """Evidence, feature and last bin on the left of the best cut, the first of equals.

        Where two features cross, that with less of a step is cut.
        """
        best = self.best_step()
        pairs = [(j, k) for j in range(len(self.evidence)) for k in range(j)]
        if not pairs:
            return best
        crossed = self.crossed()
        pair = max(pairs, key=lambda pair: crossed[pair])
        cuts = [(*self.middle(j), j) for j in pair]
        cuts = sorted((cut for cut in cuts if cut[1] >= 20.0), key=lambda cut: cut[0])
        if crossed[pair] > best[0] and cuts:
            _, _, place, feature = cuts[0]
            return float(crossed[pair]), feature, place
        return best

    def best_step(self) -> tuple[float, int, int]:
        """The best cut for a step in one feature."""
        best = (0.0, -1, -1)
        for j, bins in enumerate(self.evidence):
            for place in range(len(bins) - 1):
                left, right = bins[: place + 1].sum(axis=0), bins[place + 1 :].sum(axis=0)
                gained = cut_evidence(left, right)
                best = (gained, j, place) if gained > best[0] else best
        return best

    def note(self, row: Floats, label: int, weight: float) -> None:
        """Mean, variance and classes of the rows, the last 1000 or so."""
        self.age += 1
        self.class_counts[label] += weight
        rate = max(1.0 / self.age, 0.001)
        away = np.nan_to_num(row - self.mean, nan=0.0)
        faded = (1.0 - rate) * self.variance + rate * (1.0 - rate) * away**2
        self.variance = np.where(np.isnan(row), self.variance, faded)
        self.mean = self.mean + rate * away

    def doubted(self, doubt: float, caps: Floats) -> None:
        """Become one half of what was one rule."""
        self.gain = capped(doubt * self.gain, caps)
        self.evidence = np.zeros_like(self.evidence)
        self.crossings = np.zeros_like(self.crossings)
        self.age = 0
        self.class_counts = 0.5 * self.class_counts

    def start_anew(self, caps: Floats) -> None:
        """Forget what it says, not where it holds."""
        self.weights, self.gain = np.zeros_like(self.weights), np.diag(caps)
        self.evidence = np.zeros_like(self.evidence)
        self.crossings = np.zeros_like(self.crossings)
        self.age = 0
        self.class_counts = np.zeros_like(self.class_counts)


@dataclasses.dataclass
class SlowCloud:
    """A round Gaussian of one class."""

    center: Floats
    label: int
    spread: float
    mass: float

    @property
    def height(self) -> float:
        """Log density at the centre, up to a constant."""
        return float(np.log(self.mass) - 0.5 * self.center.size * np.log(self.spread))

    def distance(self, row: Floats) -> float:
        """Squared; absent features lie on the centre."""
        return float(np.nansum((row - self.center) ** 2))

    def move(self, row: Floats, rate: float) -> None:
        """Follow a row."""
        distance = self.distance(row)
        self.center = self.center + rate * np.nan_to_num(row - self.center, nan=0.0)
        spread = (1.0 - rate) * self.spread + rate * distance / row.size
        self.spread = max(spread, LEAST_SPREAD)


@dataclasses.dataclass
class SlowRepeats:
    """Whether labels come in runs: how often they differ from the last one, and how often each."""

    watched: int
    last: int
    near_share: float
    class_shares: Floats  # (m,)

    def watch(self, label: int) -> None:
        """Take in a label: means at first, of about the last ten thousand later."""
        if self.watched:
            kept = 1.0 - max(1.0 / self.watched, SHARE_RATE)
            self.near_share = kept * self.near_share + (1.0 - kept) * (label != self.last)
        self.last = label
        self.watched += 1
        kept = 1.0 - max(1.0 / self.watched, SHARE_RATE)
        target = np.eye(self.class_shares.size)[label]
        self.class_shares = kept * self.class_shares + (1.0 - kept) * target

    def independence(self) -> float:
        """What a row is worth: 1 unless neighbours are clearly more alike than any two labels."""
        by_chance = 1.0 - float(self.class_shares @ self.class_shares)
        if self.watched < 1000 or self.near_share >= 0.7 * by_chance:
            return 1.0
        return max(self.near_share / by_chance, 0.1)


@dataclasses.dataclass
class SlowLayer:
    """One of the rivals."""

    kind: int
    rules: list[SlowRule]
    score: float = 0.0
    rest: int = 0
    last_win: int = 0

    def holder(self, row: Floats) -> SlowRule:
        """The rule whose box holds the row; the first if none does."""
        return next((rule for rule in self.rules if rule.holds(row)), self.rules[0])


# ---- the network


@dataclasses.dataclass
class SlowConcepts:
    """Rival layers and their vote. `layers` has only the places that hold one."""

    habits: Habits
    caps: Floats
    n_slots: int
    n_places: int
    most_rules: int
    most_clouds: int
    layers: dict[int, SlowLayer]
    clouds: list[SlowCloud]
    pairs: dict[tuple[int, int], tuple[float, float]]
    track: ErrorTrack
    memory: float
    referee: float
    uncertainty: float
    label_rate: float
    independence: float
    repeats: SlowRepeats
    rows: int
    steps: int
    scored: int
    lead: float = 0.0
    lines: list[Line] = dataclasses.field(default_factory=list)

    @property
    def m(self) -> int:
        """Classes."""
        return int(self.layers[0].rules[0].class_counts.size)

    @property
    def awake(self) -> dict[int, SlowLayer]:
        """Layers that vote, by number."""
        return {key: layer for key, layer in sorted(self.layers.items()) if layer.rest == 0}

    # what it says

    def densities(self, row: Floats) -> Floats:
        """Of all clouds at a row, relative to the highest; 0 if far below."""
        logs = np.array([c.height - 0.5 * c.distance(row) / c.spread for c in self.clouds])
        below = logs.max() - logs if logs.size else logs
        return np.where(below < OUT_OF_REACH, np.exp(-below), 0.0)

    def cloud_shares(self, row: Floats) -> Floats:
        """Class probabilities by the clouds."""
        shares = np.full(self.m, 1.0 / self.m)
        if self.clouds:
            sums, labels = np.zeros(self.m), [cloud.label for cloud in self.clouds]
            np.add.at(sums, labels, self.densities(row))
            shares = sums / sums.sum()
        return (1.0 - DOUBT) * shares + DOUBT / self.m

    def output(self, number: int, row: Floats) -> Floats:
        """What one layer says of a row."""
        layer = self.layers[number]
        if layer.kind == CLOUDS:
            return self.cloud_shares(row)
        phi = halves(row)[: self._size(layer, row)]
        return softmax(layer.holder(row).weights[:, : phi.size] @ phi)

    def outputs(self, row: Floats) -> dict[int, Floats]:
        """What all layers say that do not rest."""
        return {number: self.output(number, row) for number in self.awake}

    def best(self) -> int:
        """The layer with the highest score: the steady line before others, then the first."""
        order = [STEADY_LINE, *self.awake]
        return max(order, key=lambda number: self.layers[number].score)

    def shares(self) -> dict[int, float]:
        """Voting weights."""
        scores = np.array([layer.score for layer in self.awake.values()])
        rows_behind = np.sqrt(self.independence) * self.habits.vote_rows
        powers = softmax(self.habits.vote_sharpness * rows_behind * scores)
        for place, number in enumerate(self.awake):
            powers[place] *= self._head_start(number)
        return dict(zip(self.awake, (powers / powers.sum()).tolist(), strict=True))

    def _head_start(self, number: int) -> float:
        """Of the single curves: by their independent rows per weight, against ten."""
        memories = {LIVELY_CURVE: self.habits.shortest_rows, CALM_CURVE: self.habits.longest_rows}
        if number not in memories:
            return 1.0
        per_weight = memories[number] * self.independence / self.caps.size
        return float(max(1.0, per_weight / (per_weight + 10.0) / self.independence))

    def vote(self, outputs: dict[int, Floats]) -> Floats:
        """Probabilities of the network."""
        shares = self.shares()
        return np.sum([shares[number] * outputs[number] for number in shares], axis=0)

    # which labels it takes

    def choose(self, probabilities: Floats, draw: float, labelled: int) -> bool:
        """Whether the label of a row is taken; counts how many were, and how unsure rows are."""
        unsure = 2.0 - 2.0 * certainty(probabilities)
        self.uncertainty += 0.002 * (unsure - self.uncertainty)
        chosen = labelled == ASKED_FOR
        if labelled == OFFERED:
            chosen = self._is_worth(probabilities, draw)
        self.label_rate += 0.002 * (float(chosen) - self.label_rate)
        return chosen

    def _is_worth(self, probabilities: Floats, draw: float) -> bool:
        h, sure = self.habits, certainty(probabilities)
        if not h.active_learning:
            return True
        if h.label_budget >= 1.0:
            return draw < h.exploration or sure < h.conflict_threshold
        unsure = (2.0 - 2.0 * sure) / max(self.uncertainty, 1e-6)
        wish = (1.0 - h.exploration) * unsure + h.exploration
        brake = np.clip(2.0 - self.label_rate / h.label_budget, 0.0, 1.0)
        return bool(draw < h.label_budget * wish * brake)

    # how it learns

    def learn_row(
        self, index: int, row: Floats, label: int, weight: float, say: tuple[float, int]
    ) -> tuple[bool, bool]:
        """Say, choose, learn; `say` is draw and kind of label. Was it taken, was it an error?"""
        outputs = self.outputs(row)
        probabilities = self.vote(outputs)
        if not self.choose(probabilities, *say):
            return False, False
        is_wrong = self._note_error(probabilities, label)
        self._compare(outputs, label)
        self._score(outputs, label)
        if self.rows % DRIFT_EVERY == 0 and self._is_drift(index):
            self._respond(index)
        self._train(index, row, label, weight)
        if self.rows % self.habits.chunk_rows == 0:
            self._close(index, self.habits.chunk_rows)
        return True, is_wrong

    def learn_chunk(self, lessons: Lessons) -> tuple[list[int], list[int]]:
        """Choose and count errors, answer drift, learn, score; taken and errors by row.

        After a drift, what has started anew learns the first half of the chunk, is asked again, and
        is scored on the second half alone.
        """
        said = [self.outputs(row) for row in lessons.rows]
        taken, errors = [0] * len(said), [0] * len(said)
        for index, outputs in enumerate(said):
            label, probabilities = int(lessons.labels[index]), self.vote(outputs)
            if self.choose(probabilities, lessons.draws[index], lessons.labelled[index]):
                taken[index] = 1
                errors[index] = int(self._note_error(probabilities, label))
                self._compare(outputs, label)
        indices, half = np.flatnonzero(taken), 0
        if self._is_drift(0):
            place, source = self._respond(0)
            half = len(said) // 2
            self._train_some(lessons, indices[indices < half])
            for row, outputs in zip(lessons.rows[half:], said[half:], strict=True):
                outputs[place] = outputs[source]
                now = self.outputs(row)
                outputs.update({number: now[number] for number in now if number < FIRST_KEPT})
        counted = indices[indices >= half]
        self._train_some(lessons, counted)
        for index in counted:
            self._score(said[index], int(lessons.labels[index]))
        self._close(len(said), sum(taken))
        return taken, errors

    def _train_some(self, lessons: Lessons, indices: Ints) -> None:
        for index in indices.tolist():
            label, weight = int(lessons.labels[index]), float(lessons.weights[index])
            self._train(index, lessons.rows[index], label, weight)

    def _size(self, layer: SlowLayer, row: Floats) -> int:
        """Expanded features in use: lines do without the curves."""
        return 1 + 2 * row.size if layer.kind == BOXES else 1 + row.size

    def _note_error(self, probabilities: Floats, label: int) -> bool:
        is_wrong = bool(probabilities.argmax() != label)
        self.repeats.watch(label)
        self.track.extend(np.array([is_wrong], np.int64), self.habits.drift_significance)
        return is_wrong

    def _compare(self, outputs: dict[int, Floats], label: int) -> None:
        self.lead += float(outputs[BRISK_LINE].argmax() == label)
        self.lead -= float(outputs[STEADY_LINE].argmax() == label)

    def _score(self, outputs: dict[int, Floats], label: int) -> None:
        """Fading shares of right predictions, and of rows on which kept layers differ."""
        self.scored += 1
        rate = 1.0 / self.habits.vote_rows
        faster = max(rate * self.independence, 1.0 / self.scored)
        for number, layer in self.awake.items():
            layer.score += faster * (float(outputs[number].argmax() == label) - layer.score)
        kept = [number for number in self.awake if number >= FIRST_KEPT]
        for first, second in [(a, b) for a in kept for b in kept if a < b]:
            share, count = self.pairs.get((first, second), (0.0, 0.0))
            differs = float(outputs[first].argmax() != outputs[second].argmax())
            self.pairs[first, second] = share + rate * (differs - share), count + 1.0

    def _train(self, index: int, row: Floats, label: int, weight: float) -> None:
        """The layers that are always there learn, and the best kept one."""
        best = self.best()
        for number, layer in self.awake.items():
            if number >= FIRST_KEPT and number != best:
                continue
            if layer.kind == CLOUDS:
                self._train_clouds(row, label, weight)
            else:
                self._train_rules(index, number, row, label, weight)
        self.rows += 1
        if self.rows % FADE_EVERY == 0:
            for cloud in self.clouds:
                cloud.mass = max(cloud.mass * self.habits.cloud_memory**FADE_EVERY, LEAST_MASS)

    def _memory(self, number: int) -> float:
        if not self.habits.forgetting:
            return 1.0
        lengths = {
            QUICK_LINE: self.habits.quick_rows,
            BRISK_LINE: 0.25 * self.memory,
            LIVELY_CURVE: self.habits.shortest_rows,
            CALM_CURVE: self.habits.longest_rows,
        }
        return 1.0 - 1.0 / lengths.get(number, self.memory)

    def _train_rules(self, index: int, number: int, row: Floats, label: int, weight: float) -> None:
        h, layer = self.habits, self.layers[number]
        rule, size, said = layer.holder(row), self._size(layer, row), self.output(number, row)
        if layer.kind == LINE and number != QUICK_LINE:
            right = (1.0 - h.label_noise) * said[label]
            weight *= max(right / (right + h.label_noise / said.size), 1e-6)
        block, rates = np.s_[:size, :size], (weight, self._memory(number))
        moved = learned_logistic(
            rule.weights[:, :size], rule.gain[block], halves(row)[:size], label, rates
        )
        rule.weights[:, :size] = moved[0]
        rule.gain[block] = capped(moved[1], self.caps[:size])
        rule.note(row, label, weight)
        if number == BOX_LAYER and h.rule_growing:
            rule.gather(row, label, said)
            if rule.age % h.split_every == 0 and len(layer.rules) < self.most_rules:
                self._split(index, layer, rule)

    def _split(self, index: int, layer: SlowLayer, rule: SlowRule) -> None:
        """Two rules of one, if that explains the labels better and there is a slot."""
        gained, feature, place = rule.best_cut()
        needed = self.habits.split_evidence + 4.0 * (rule.evidence.shape[2] - 1)
        needed /= self.independence
        if gained <= needed:
            return
        while not self._free_slots() and self._kept():
            self._drop_oldest(index)
        slot = self._free_slots()[:1]
        if not slot:
            return
        cut = rule.bins(feature)[place + 1]
        sibling = dataclasses.replace(copy.deepcopy(rule), slot=slot[0])
        rule.high[feature] = sibling.low[feature] = cut
        layer.rules.append(sibling)
        for half in (rule, sibling):
            half.doubted(self.habits.split_doubt, self.caps)
        facts = (float(feature), cut, gained, needed)
        self.lines.append((index, SPLIT_LINE, BOX_LAYER, rule.slot, sibling.slot, facts))

    def _free_slots(self) -> list[int]:
        used = {rule.slot for layer in self.layers.values() for rule in layer.rules}
        return [slot for slot in range(self.n_slots) if slot not in used]

    def _train_clouds(self, row: Floats, label: int, weight: float) -> None:
        densities = self.densities(row)
        own = np.array([cloud.label == label for cloud in self.clouds], np.bool_)
        if not self.clouds or self.cloud_shares(row)[label] < self.habits.cloud_birth:
            spread = FIRST_SPREAD
            if own.any():
                spread = 0.5 * self.clouds[np.where(own, densities, -1.0).argmax()].spread
            center = np.where(np.isnan(row), 0.5, row)
            born = SlowCloud(center, label, max(spread, LEAST_SPREAD), FIRST_MASS)
            if len(self.clouds) < self.most_clouds:
                self.clouds.append(born)
            else:
                self.clouds[int(np.argmin([cloud.mass for cloud in self.clouds]))] = born
            return
        total = densities[own].sum()
        for cloud, density in zip(self.clouds, densities, strict=True):
            if cloud.label == label and density > NEGLIGIBLE * total:
                share = density / total
                cloud.mass += MASS_OF_ROW * share * weight
                cloud.move(row, min(self.habits.cloud_rate * share * weight, 0.5))

    # drift and structural steps

    def _is_drift(self, index: int) -> bool:
        # A row that is worth less brings less evidence: its log level counts for a part only.
        level = self.habits.drift_significance ** (1.0 / self.independence)
        verdict = self.track.verdict(level, level, one_sided=True)
        if not self.habits.growing or verdict.level is not Level.DRIFT:
            return False
        facts = (verdict.error_before, verdict.error_after, verdict.bound, float(verdict.cut))
        self.lines.append((index, DRIFT_LINE, 0, 0, 0, facts))
        self.track = ErrorTrack()
        return True

    def _respond(self, index: int) -> tuple[int, int]:
        """Keep the best lasting layer, start the others anew; where it is kept, which it was."""
        lasting = [STEADY_LINE, BOX_LAYER, *(key for key in self.awake if key >= FIRST_KEPT)]
        best = max(lasting, key=lambda number: self.layers[number].score)
        place = best
        if self.habits.recall and best < FIRST_KEPT:
            place = self._keep(best, index)
        for number in (BRISK_LINE, STEADY_LINE, BOX_LAYER):
            for rule in self.layers[number].rules:
                rule.start_anew(self.caps)
        if CLOUD_LAYER in self.layers:
            self.layers[CLOUD_LAYER].rest = 0
        self.memory, self.referee = self.habits.shortest_rows, 0.0
        self.scored = int((1.0 - self.independence) * self.scored)
        return place, best

    def _keep(self, source: int, index: int) -> int:
        """Copy a layer to a place of its own; its own number if there can be no room."""
        rules, places = self.layers[source].rules, range(FIRST_KEPT, self.n_places)
        emptied = sum(len(self.layers[number].rules) for number in self._kept())
        if not places or len(self._free_slots()) + emptied < len(rules):
            return source
        while len(self._free_slots()) < len(rules) or len(self._kept()) == len(places):
            self._drop_oldest(index)
        place = next(place for place in places if place not in self.layers)
        kept = copy.deepcopy(self.layers[source])
        for rule, slot in zip(kept.rules, self._free_slots(), strict=False):
            rule.slot = slot
        kept.rest, kept.last_win = 0, self.steps
        self.layers[place] = kept
        facts = (float(sum(rule.age for rule in rules)), kept.score, 0.0, 0.0)
        self.lines.append((index, KEPT_LINE, place, source, len(rules), facts))
        return place

    def _kept(self) -> list[int]:
        return sorted(number for number in self.layers if number >= FIRST_KEPT)

    def _drop_oldest(self, index: int) -> None:
        """Forget the kept layer that was the best the longest ago."""
        place = min(self._kept(), key=lambda number: self.layers[number].last_win)
        unused = float(self.steps - self.layers[place].last_win)
        self.lines.append((index, DROPPED_LINE, place, 0, 0, (unused, 0.0, 0.0, 0.0)))
        del self.layers[place]
        self.pairs = {pair: known for pair, known in self.pairs.items() if place not in pair}

    def _close(self, index: int, n_rows: int) -> None:
        """End of a structural step: memory, rest, and which layer was the best."""
        if n_rows:
            self.referee = 0.75 * self.referee + self.lead / n_rows
            wished = 0.8 * self.memory if self.referee > 0.0 else self.memory + 0.5 * n_rows
            self.memory = float(
                np.clip(wished, self.habits.shortest_rows, self.habits.longest_rows)
            )
        self.lead = 0.0
        self._widen_caps()
        self.steps += 1
        self.independence = self.repeats.independence()
        if CLOUD_LAYER in self.layers:
            layer = self.layers[CLOUD_LAYER]
            if layer.rest:
                layer.rest -= 1
            elif self.scored >= GRACE_ROWS and self.shares()[CLOUD_LAYER] < 1e-3:
                layer.rest = 4
        best = self.best()
        if best >= FIRST_KEPT and self.layers[best].last_win < self.steps - 1:
            scores = [self.layers[key].score for key in (best, STEADY_LINE, BOX_LAYER)]
            self.lines.append((index, RECALLED_LINE, best, 0, 0, (*scores, 0.0)))
        self.layers[best].last_win = self.steps

    def _widen_caps(self) -> None:
        """Let weights be larger where the calm curve has seen a feature vary little."""
        rule = self.layers[CALM_CURVE].rules[0]
        varies = rule.variance > 1e-6
        factors = np.ones_like(rule.variance)
        factors[varies] = np.minimum(1.0 / 12.0 / rule.variance[varies], self.habits.prior_reach)
        if rule.age >= 100:
            wider = self.habits.prior * np.where(varies, factors, 0.0)
            wished = np.concatenate([[0.0], wider, wider])
            self.caps = np.clip(wished, self.caps, 2.0 * self.caps)


# ---- from and to the arrays of the kernels


def slow_rule(state: Concepts, slot: int) -> SlowRule:
    """The twin of one rule."""
    return SlowRule(
        slot=slot,
        low=state.lows[slot].copy(),
        high=state.highs[slot].copy(),
        weights=state.weights[slot].copy(),
        gain=unpacked(state.gains[slot]),
        evidence=state.evidence[slot].astype(np.float64),
        crossings=unpaired(state.crossings[slot]),
        age=int(state.ages[slot]),
        mean=state.means[slot].copy(),
        variance=state.variances[slot].copy(),
        class_counts=state.class_counts[slot].copy(),
    )


def unpaired(crossings: Floats) -> Floats:
    """Pairs of features (d, Q) as a symmetric table (n, n, Q)."""
    n = int((1 + np.sqrt(1 + 8 * len(crossings))) / 2)
    table = np.zeros((n, n, crossings.shape[1]))
    table[np.tril_indices(n, -1)] = crossings
    return table + table.swapaxes(0, 1)


def members_of(state: Concepts, layer: int) -> list[int]:
    """Slots of the rules of a layer."""
    slots: list[int] = state.members[layer, : state.n_members[layer]].tolist()
    return slots


def slow_layer(state: Concepts, number: int) -> SlowLayer:
    """The twin of one layer."""
    return SlowLayer(
        kind=int(state.kinds[number]),
        rules=[slow_rule(state, slot) for slot in members_of(state, number)],
        score=float(state.scores[number]),
        rest=int(state.rests[number]),
        last_win=int(state.last_wins[number]),
    )


def slow_repeats(state: Concepts) -> SlowRepeats:
    """The twin of what is known of labels that repeat each other."""
    watched, last, near_share = state.course[WATCHED:].tolist()
    return SlowRepeats(int(watched), int(last), near_share, state.label_shares.copy())


def slow_copy(state: Concepts, habits: Habits, lead: float = 0.0) -> SlowConcepts:
    """The twin of a network as it stands."""
    numbers = np.flatnonzero(state.kinds != NO_LAYER).tolist()
    kept = [number for number in numbers if number >= FIRST_KEPT]
    memory, referee, uncertainty, label_rate, independence = state.course[:WATCHED].tolist()
    rows, steps, scored, _ = state.clock.tolist()
    return SlowConcepts(
        habits=habits,
        caps=state.caps.copy(),
        n_slots=state.owners.size,
        n_places=state.kinds.size,
        most_rules=state.members.shape[1],
        most_clouds=state.cloud_labels.size,
        layers={number: slow_layer(state, number) for number in numbers},
        clouds=[
            SlowCloud(
                state.cloud_centers[:, cloud].copy(),
                int(state.cloud_labels[cloud]),
                float(state.cloud_spreads[cloud]),
                float(state.cloud_masses[cloud]),
            )
            for cloud in range(state.n_clouds[0])
        ],
        pairs={
            (a, b): (float(state.disagreements[a, b]), float(state.compared[a, b]))
            for a in kept
            for b in kept
            if a < b
        },
        track=ErrorTrack(*state.track.tolist()),
        memory=memory,
        referee=referee,
        uncertainty=uncertainty,
        label_rate=label_rate,
        independence=independence,
        repeats=slow_repeats(state),
        rows=rows,
        steps=steps,
        scored=scored,
        lead=lead,
    )


def assert_close(own: Any, other: Any, tolerance: float) -> None:
    """Both relative and absolute. NumPy's own test is slow, so that it only tells what differs."""
    if not (np.abs(np.subtract(own, other)) <= tolerance * (1.0 + np.abs(other))).all():
        np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)


def assert_same_rule(state: Concepts, rule: SlowRule, tolerance: float) -> None:
    """Compare a rule with its twin, field by field."""
    slot = rule.slot
    assert state.ages[slot] == rule.age
    assert state.lows[slot].tolist() == rule.low.tolist()
    assert state.highs[slot].tolist() == rule.high.tolist()
    assert_close(state.weights[slot], rule.weights, tolerance)
    assert_close(unpacked(state.gains[slot]), rule.gain, tolerance)
    assert_close(state.evidence[slot], rule.evidence, max(tolerance, 1e-5))
    assert_close(unpaired(state.crossings[slot]), rule.crossings, max(tolerance, 1e-5))
    assert_close(state.means[slot], rule.mean, tolerance)
    assert_close(state.variances[slot], rule.variance, tolerance)
    assert_close(state.class_counts[slot], rule.class_counts, tolerance)


def assert_same_clouds(state: Concepts, clouds: list[SlowCloud], tolerance: float) -> None:
    """Compare all clouds with their twins."""
    count = len(clouds)
    assert state.n_clouds[0] == count
    assert state.cloud_labels[:count].tolist() == [cloud.label for cloud in clouds]
    for place, cloud in enumerate(clouds):
        assert_close(state.cloud_centers[:, place], cloud.center, tolerance)
        assert_close(state.cloud_spreads[place], cloud.spread, tolerance)
        assert_close(state.cloud_masses[place], cloud.mass, tolerance)
        assert_close(state.cloud_heights[place], cloud.height, tolerance)


def assert_same(state: Concepts, slow: SlowConcepts, tolerance: float = 1e-9) -> None:
    """Compare a network with its twin: counts and choices exactly, numbers closely."""
    owners = np.full(state.owners.size, NO_OWNER)
    kinds = np.full(state.kinds.size, NO_LAYER)
    for number, layer in slow.layers.items():
        kinds[number] = layer.kind
        slots = [rule.slot for rule in layer.rules]
        owners[slots] = number
        assert members_of(state, number) == slots
        assert (state.rests[number], state.last_wins[number]) == (layer.rest, layer.last_win)
        assert_close(state.scores[number], layer.score, tolerance)
        for rule in layer.rules:
            assert_same_rule(state, rule, tolerance)
    assert state.owners.tolist() == owners.tolist()
    assert state.kinds.tolist() == kinds.tolist()
    for (first, second), known in slow.pairs.items():
        own = state.disagreements[first, second], state.compared[first, second]
        assert_close(own, known, tolerance)
    assert_same_clouds(state, slow.clouds, tolerance)
    assert_close(state.caps, slow.caps, tolerance)
    assert state.track.tolist() == list(dataclasses.astuple(slow.track))
    assert state.clock[:TOLD].tolist() == [slow.rows, slow.steps, slow.scored]
    course = [slow.memory, slow.referee, slow.uncertainty, slow.label_rate, slow.independence]
    assert_close(state.course[: INDEPENDENCE + 1], course, tolerance)
    assert_same_repeats(state, slow.repeats)


def assert_same_repeats(state: Concepts, slow: SlowRepeats) -> None:
    """Compare what is known of runs of labels: it does not depend on what layers learn."""
    assert state.course[[WATCHED, LAST_LABEL]].tolist() == [slow.watched, slow.last]
    assert_close(state.course[NEAR_CHANGES], slow.near_share, 1e-12)
    assert_close(state.label_shares, slow.class_shares, 1e-12)


def assert_same_lines(diary: Diary, lines: list[Line], tolerance: float = 1e-9) -> None:
    """Compare what kernels report with what the twin does."""
    count = int(diary.n_lines[0])
    assert diary.lines[:count].tolist() == [list(line[:5]) for line in lines]
    for numbers, line in zip(diary.numbers, lines, strict=False):
        assert_close(numbers, line[5], max(tolerance, 1e-5))


# ---- networks, rows and working memory for tests


def diary_for(n_rows: int, n_lines: int = 50) -> Diary:
    """Room for what kernels report."""
    return Diary(
        taken=np.zeros(n_rows, np.int64),
        errors=np.zeros(n_rows, np.int64),
        lines=np.zeros((n_lines, 5), np.int64),
        numbers=np.zeros((n_lines, 4)),
        n_lines=np.zeros(1, np.int64),
    )


def dirty_work(state: Concepts) -> Work:
    """Working memory that holds nothing sensible: kernels must not read what they did not write."""
    work = work_for(state)
    for array in work:
        array.fill(np.nan)
    return work


def lessons_of(rows: Floats, labels: Ints, **others: Any) -> Lessons:
    """Rows to learn, of weight 1, offered, and never drawn for exploration unless told."""
    ones = np.ones(len(rows))
    return Lessons(
        rows=np.ascontiguousarray(rows),
        labels=np.ascontiguousarray(labels, np.int64),
        weights=others.get("weights", ones),
        draws=others.get("draws", ones),
        labelled=others.get("labelled", np.full(len(rows), OFFERED, np.int64)),
    )


def part_of(lessons: Lessons, start: int, stop: int) -> Lessons:
    """Some of the rows."""
    return Lessons(*(array[start:stop] for array in lessons))


def copied(state: Concepts) -> Concepts:
    """The same, independent of the original."""
    return Concepts(*(array.copy() for array in state))


def fresh(n: int, m: int, room: int = 8, **changes: Any) -> tuple[Concepts, Habits]:
    """A network that has learned nothing, with free slots; learns all rows unless told."""
    config = Config(**({"active_learning": False, "max_pool": FIRST_FREE + room} | changes))
    return empty_concepts(n, m, config), config.habits()


def random_gain(rng: np.random.Generator, caps: Floats) -> Floats:
    """A gain matrix within its caps."""
    mixing = rng.normal(size=(caps.size, caps.size))
    return capped(mixing @ mixing.T / caps.size + 0.05 * np.eye(caps.size), 0.8 * caps)


def fill_rule(state: Concepts, slot: int, rng: np.random.Generator) -> None:
    """Put random but sound numbers into a rule; its box stays."""
    state.weights[slot] = rng.normal(size=state.weights.shape[1:])
    state.gains[slot] = packed(random_gain(rng, state.caps))
    state.evidence[slot, ..., 0] = rng.normal(size=state.evidence.shape[1:-1])
    state.evidence[slot, ..., 1] = rng.uniform(1.0, 5.0, state.evidence.shape[1:-1])
    state.crossings[slot] = rng.normal(size=state.crossings.shape[1:])
    state.ages[slot] = rng.integers(1, 90)
    state.means[slot] = rng.random(state.means.shape[1])
    state.variances[slot] = 0.1 * rng.random(state.means.shape[1])
    state.class_counts[slot] = rng.uniform(1.0, 20.0, state.class_counts.shape[1])


def add_rule(state: Concepts, layer: int, low: Floats, high: Floats) -> int:
    """Give a layer a rule with a box, in a free slot."""
    slot = int(np.flatnonzero(state.owners == NO_OWNER)[0])
    state.owners[slot] = layer
    state.members[layer, state.n_members[layer]] = slot
    state.n_members[layer] += 1
    state.lows[slot], state.highs[slot] = low, high
    return slot


def halve(state: Concepts, slot: int, feature: int, cut: float) -> int:
    """Cut a box in two; the new rule holds above the cut."""
    low = state.lows[slot].copy()
    low[feature] = cut
    sibling = add_rule(state, int(state.owners[slot]), low, state.highs[slot])
    state.highs[slot, feature] = cut
    return sibling


def random_halvings(state: Concepts, layer: int, times: int, rng: np.random.Generator) -> None:
    """Cut random boxes of a layer, at random features and places."""
    for _ in range(times):
        slot, feature = int(rng.choice(members_of(state, layer))), int(rng.integers(0, 2))
        low, high = max(state.lows[slot, feature], -0.2), min(state.highs[slot, feature], 1.2)
        halve(state, slot, feature, float(rng.uniform(low, high)))


def fill_clouds(state: Concepts, count: int, rng: np.random.Generator) -> None:
    """Put random clouds of all classes into the network."""
    n, m = state.cloud_centers.shape[0], state.weights.shape[1]
    state.n_clouds[0] = count
    state.cloud_centers[:, :count] = rng.random((n, count))
    state.cloud_labels[:count] = np.arange(count) % m
    state.cloud_spreads[:count] = rng.uniform(0.01, 0.1, count)
    state.cloud_masses[:count] = rng.uniform(0.05, 1.0, count)
    spreads = np.log(state.cloud_spreads[:count])
    state.cloud_heights[:count] = np.log(state.cloud_masses[:count]) - 0.5 * n * spreads


def random_network(
    rng: np.random.Generator, n: int, m: int, kept: tuple[int, ...] = (LINE, BOXES), **changes: Any
) -> tuple[Concepts, Habits]:
    """Random rules in all layers that are always there, and in kept ones of these kinds."""
    state, habits = fresh(n, m, 24, **({"prior": 0.4} | changes))
    random_halvings(state, BOX_LAYER, 3, rng)
    for place, kind in enumerate(kept, start=FIRST_KEPT):
        state.kinds[place] = kind
        add_rule(state, place, np.full(n, -np.inf), np.full(n, np.inf))
        if kind == BOXES:
            random_halvings(state, place, 2, rng)
    for slot in np.flatnonzero(state.owners != NO_OWNER):
        fill_rule(state, int(slot), rng)
    if state.kinds[CLOUD_LAYER] == CLOUDS:
        fill_clouds(state, min(7, state.cloud_labels.size), rng)
    state.scores[:] = np.where(
        state.kinds == NO_LAYER, 0.0, rng.uniform(0.6, 0.9, 20)[: state.kinds.size]
    )
    state.course[: INDEPENDENCE + 1] = [3000.0, 0.01, 0.5, 0.2, 1.0]
    return state, habits


def let_rows_repeat(state: Concepts, factor: float) -> None:
    """As if labels so far had come in runs: so many rows are worth one."""
    m = state.label_shares.size
    state.label_shares[:] = 1.0 / m
    state.course[[WATCHED, LAST_LABEL, NEAR_CHANGES]] = 1240.0, 1.0, (1.0 - 1.0 / m) / factor
    state.course[INDEPENDENCE] = 1.0 / factor


def turning_stream(
    rng: np.random.Generator, n_rows: int, m: int, every: int
) -> tuple[Floats, Ints]:
    """Rows of two features in [0, 1] with bands of classes that turn round, and back, in turns."""
    rows = rng.random((n_rows, 2))
    bands = np.minimum((m * 0.5 * rows.sum(axis=1)).astype(np.int64), m - 1)
    turned = np.arange(n_rows) // every % 2 == 1
    return rows, np.where(turned, (m - 1) - bands if m == 2 else (bands + 1) % m, bands)
