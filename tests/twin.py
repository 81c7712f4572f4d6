"""Slow twins of a gaussian layer and of a stack of them: one row at a time, from the formulas.

Rules are plain objects in a dict; inverses and volumes are made from the covariance whenever they
are asked for. Nothing is shared with the kernels but their parameters.
"""

import dataclasses

import numpy as np

from build import Stack
from devfnn.arrays import Floats
from devfnn.kernels.state import (
    ACTIVE,
    ARCHIVED,
    BY_LIKELIHOOD,
    BY_REWARD,
    FREE,
    OFFERED,
    UNLABELLED,
    GaussianParams,
    GaussianState,
)
from reference import (
    bounded,
    certainty,
    decayed,
    expanded,
    firing_shares,
    least_squares_step,
    logistic_step,
    mixture,
    one_hot,
    squared_distance,
    tuned_cov,
    updated_vote,
    vote,
    winner,
)

DECAY_EVERY = 16
REPAIR_EVERY = 64
NEGLIGIBLE = 1e-4
LEAST_WEIGHT = 1e-3
SHIFT = 0.1


@dataclasses.dataclass
class SlowRule:
    """One rule; inverse and volume are not kept but made from the covariance."""

    center: Floats
    cov: Floats
    weights: Floats  # (m, p)
    gain: Floats  # (p, p)
    class_counts: Floats
    is_active: bool = True
    population: float = 1.0
    updates: int = 0
    age: int = 0
    utility: float | None = None
    density: tuple[float, float, float] = (1.0, 0.0, 1.0)
    potential: tuple[float, float] = (1.0, 0.0)

    @property
    def inverse(self) -> Floats:
        """The metric of the rule."""
        return np.linalg.inv(self.cov)

    @property
    def log_volume(self) -> float:
        """Half the log determinant."""
        return float(0.5 * np.linalg.slogdet(self.cov)[1])

    @property
    def current_potential(self) -> float:
        """P+ from its windowed sums."""
        return float(np.sqrt(self.potential[0] / sum(self.potential)))


class Moments:
    """Weighted mean and covariance; absent inputs keep theirs."""

    def __init__(self, n: int) -> None:
        self.weight, self.mean, self.cov = 0.0, np.full(n, 0.5), np.zeros((n, n))

    def add(self, row: Floats, weight: float) -> None:
        """Take in a row."""
        self.weight += weight
        rate = weight / self.weight
        self.cov = tuned_cov(self.cov, row - self.mean, rate)
        self.mean = self.mean + rate * np.nan_to_num(row - self.mean, nan=0.0)

    def quality(self, point: Floats, inverse: Floats) -> float:
        """Data quality of a point, by moments."""
        if self.weight == 0.0:
            return 1.0
        spread = squared_distance(point, self.mean, inverse) + (inverse * self.cov).sum()
        return float((1.0 + spread / point.size) ** -0.5)


class SlowLayer:
    """A layer as the formulas have it; `params` are those of the kernels.

    Rules live in a dict from slot to rule.
    """

    def __init__(self, params: GaussianParams, n: int, m: int) -> None:
        self.params, self.n, self.m = params, n, m
        self.caps = np.full(2 * n + 1, params.initial_gain)
        self.mask = np.ones(n, np.bool_)
        self.may_grow = params.grow_rules
        self.rules: dict[int, SlowRule] = {}
        self.moments = Moments(n)
        self.class_moments = [Moments(n) for _ in range(m)]
        self.threshold = params.certainty
        self.seen = self.used = self.grown = self.recalled = self.tuned = 0

    @property
    def warmup(self) -> int:
        """Rows after which the consequents are determined: as many as they have weights."""
        return 2 * self.n + 1

    # what it says

    @property
    def active(self) -> dict[int, SlowRule]:
        """Rules that fire, by slot."""
        return {slot: rule for slot, rule in sorted(self.rules.items()) if rule.is_active}

    def visible(self, row: Floats) -> Floats:
        """The row as the layer sees it: its own inputs, NaN where switched off."""
        return np.where(self.mask, row[: self.n], np.nan)

    def distances(self, row: Floats) -> dict[int, float]:
        """Squared distance of a row to every rule."""
        return {
            slot: squared_distance(row, rule.center, rule.inverse)
            for slot, rule in self.rules.items()
        }

    def shares(self, distances: dict[int, float]) -> dict[int, float]:
        """Activation of every active rule."""
        of_active = np.array([distances[slot] for slot in self.active])
        shares = firing_shares(of_active)
        return dict(zip(self.active, shares.tolist(), strict=True))

    def output(self, row: Floats) -> Floats:
        """The layer's output for a row."""
        if not self.active:
            return np.full(self.m, 1.0 / self.m)
        row = self.visible(row)
        kind = "logits" if self.params.logistic else "least_squares"
        shares = np.array(list(self.shares(self.distances(row)).values()))
        consequents = np.stack([rule.weights for rule in self.active.values()])
        return mixture(shares, consequents, expanded(row), kind)

    # how it learns a row

    def learn(
        self,
        row: Floats,
        label: int,
        weight: float = 1.0,
        draw: float = 1.0,
        labelled: int = OFFERED,
    ) -> tuple[str, int] | None:
        """One row: choose, grow or tune, train; returns ("born" or "recalled", slot) if it did."""
        x = self.visible(row)
        self.seen += 1
        is_founder = not self.active
        if is_founder:
            self.rules[0] = self._first_rule(x)
            self.grown += 1
        distances = self.distances(x)
        self._watch(distances, self.shares(distances), int((~np.isnan(x)).sum()))
        win = self._winner(distances)
        if not self._chooses(row, draw, labelled):
            return None
        self.used += 1
        event = self._grow(x, label, win, distances)
        if event is not None:
            win = event[1]
        elif not is_founder:
            self._tune_if_due(x, label, weight, win)
        own = self.moments.quality(x, self.rules[win].inverse)
        self.moments.add(x, weight * max(own, LEAST_WEIGHT))
        self.class_moments[label].add(x, weight)
        self.rules[win].class_counts[label] += weight
        self._train(x, label, weight)
        return event

    def _winner(self, distances: dict[int, float]) -> int:
        """Slot of the winning rule."""
        slots = list(self.active)
        index = winner(
            np.array([distances[slot] for slot in slots]),
            np.array([self.rules[slot].log_volume for slot in slots]),
            np.array([self.rules[slot].population for slot in slots]),
        )
        return slots[index]

    def _watch(self, distances: dict[int, float], shares: dict[int, float], n: int) -> None:
        """Potential of all rules and utility of the active ones; no label is needed."""
        keep = self.params.potential_memory
        for slot, rule in self.rules.items():
            rows, total = rule.potential
            rule.potential = (keep * rows + 1.0, keep * total + distances[slot] / max(n, 1))
        for slot, rule in self.active.items():
            old = shares[slot] if rule.utility is None else rule.utility
            rule.utility = keep * old + (1.0 - keep) * shares[slot]

    # what to learn

    def wants(self, row: Floats, draw: float) -> bool:
        """Whether the row is worth its label."""
        x, s = self.visible(row), self.params
        win = self._winner(self.distances(x))
        if self.used < self.warmup:
            return True
        is_conflict = certainty(self.output(row)) < self.threshold
        return draw < s.exploration or is_conflict or not self._is_redundant(x, win)

    def _is_redundant(self, x: Floats, win: int) -> bool:
        """Neither denser nor sparser than all centres; alone, a rule says nothing."""
        own, lowest, highest = self._qualities(x, self.rules[win].inverse)
        return len(self.active) == 1 or lowest < own < highest

    def _chooses(self, row: Floats, draw: float, labelled: int) -> bool:
        """Whether the row is learned."""
        s = self.params
        is_accepted = labelled != UNLABELLED
        if s.chooses_rows and labelled == OFFERED:
            is_accepted = self.wants(row, draw)
        return is_accepted

    # growing

    def _rule(self, center: Floats, widths: Floats, weights: Floats, gain: float) -> SlowRule:
        """An axis-parallel rule."""
        size = 2 * self.n + 1
        counts = np.zeros(self.m)
        return SlowRule(center, np.diag(widths**2), weights, gain * np.eye(size), counts)

    def _first_rule(self, x: Floats) -> SlowRule:
        """Wide, and with weights 0."""
        s = self.params
        widths = np.full(self.n, s.first_precision**-0.5)
        zeros = np.zeros((self.m, 2 * self.n + 1))
        return self._rule(np.where(np.isnan(x), 0.5, x), widths, zeros, s.initial_gain)

    def sketch(self, x: Floats, label: int, distances: dict[int, float]) -> tuple[Floats, Floats]:
        """Centre and widths of the rule that the row would found: the three cases of overlap."""
        gaps = {
            slot: np.sqrt(np.nansum((x - rule.center) ** 2)) for slot, rule in self.active.items()
        }
        own = [s for s, rule in self.active.items() if rule.class_counts.argmax() == label]
        foreign = [s for s in self.active if s not in own]
        same = min(own, key=gaps.__getitem__, default=None)
        other = min(foreign, key=gaps.__getitem__, default=None)
        nearest = min(gaps, key=gaps.__getitem__) if same is None else same
        reach = self.params.coverage[int((~np.isnan(x)).sum())]
        is_clear = min(distances[slot] for slot in self.active) > reach
        if is_clear or same is None or other is None:
            return self._spread(x, x, nearest, 1.0)
        reference = same if self._closest_class(x) == label else other
        shrink = np.clip(gaps[other] / max(gaps[same], 1e-6), 0.1, 1.0)
        pushed = x - SHIFT * (self.rules[reference].center - x)
        return self._spread(x, pushed, reference, float(shrink))

    def _spread(
        self, x: Floats, center: Floats, reference: int, shrink: float
    ) -> tuple[Floats, Floats]:
        """Widths from the distance to a rule; what the row does not show comes from that rule."""
        rule = self.rules[reference]
        widths = np.maximum(shrink * np.abs(center - rule.center), self.params.width_floor)
        absent = np.isnan(x)
        return (
            np.where(absent, rule.center, center),
            np.where(absent, np.sqrt(np.diag(rule.cov)), widths),
        )

    def _closest_class(self, x: Floats) -> int:
        """The class whose rows lie densest around the row."""
        spreads = [
            np.nansum((x - moments.mean) ** 2 + np.where(np.isnan(x), 0.0, np.diag(moments.cov)))
            if moments.weight > 0.0
            else np.inf
            for moments in self.class_moments
        ]
        return int(np.argmin(spreads)) if np.isfinite(spreads).any() else -1

    def _qualities(self, x: Floats, metric: Floats) -> tuple[float, float, float]:
        """Data quality of the row, and the least and largest of the centres, in one metric."""
        centers = [np.where(np.isnan(x), np.nan, rule.center) for rule in self.active.values()]
        others = [self.moments.quality(center, metric) for center in centers]
        return self.moments.quality(x, metric), min(others), max(others)

    def _grow(
        self, x: Floats, label: int, win: int, distances: dict[int, float]
    ) -> tuple[str, int] | None:
        """A rule for this row, new or recalled, if quality, significance and volume agree."""
        s = self.params
        if not self.may_grow or self.used <= self.warmup or np.isnan(x[self.mask]).any():
            return None
        volumes = np.array([rule.log_volume for rule in self.active.values()])
        share = np.exp(self.rules[win].log_volume - np.logaddexp.reduce(volumes))
        center, widths = self.sketch(x, label, distances)
        own, lowest, highest = self._qualities(x, np.diag(widths**-2.0))
        is_large = np.log(widths).sum() >= volumes.max()
        if not (np.log(share) > s.log_vigilance and is_large and not lowest < own < highest):
            return None
        if len(self.active) >= s.max_rules:
            return None
        if s.recall_rules:
            slot = self._recallable(x, max(own, highest), distances)
            if slot is not None:
                rule = self.rules[slot]
                rule.is_active, rule.age, rule.utility = True, 0, None
                rule.density = (1.0, 0.0, 1.0)
                self.recalled += 1
                return "recalled", slot
        slot = next(number for number in range(len(self.rules) + 1) if number not in self.rules)
        self.rules[slot] = self._rule(center, widths, self.rules[win].weights.copy(), s.later_gain)
        distances[slot] = squared_distance(x, center, self.rules[slot].inverse)
        self.grown += 1
        return "born", slot

    def _recallable(self, x: Floats, best: float, distances: dict[int, float]) -> int | None:
        """The archived rule of highest potential among those that hold the row."""
        reach = self.params.coverage[int((~np.isnan(x)).sum())]
        holding = [
            slot
            for slot, rule in self.rules.items()
            if not rule.is_active
            and distances[slot] <= reach
            and rule.current_potential > self.params.recall_margin * best
        ]
        return max(holding, key=lambda slot: self.rules[slot].current_potential, default=None)

    # tuning and training

    def _tune_if_due(self, x: Floats, label: int, weight: float, win: int) -> None:
        """When to learn: move the winner's premise if the row is inside, or as published."""
        s, distances = self.params, self.distances(x)
        is_due = s.tuning == 1 and distances[win] <= s.coverage[int((~np.isnan(x)).sum())]
        if s.tuning == 2:
            _, widths = self.sketch(x, label, distances)
            volumes = [rule.log_volume for rule in self.active.values()]
            own, lowest, highest = self._qualities(x, np.diag(widths**-2.0))
            is_due = np.log(widths).sum() >= max(volumes) and lowest < own < highest
        if is_due:
            self.tuned += 1
            self._tune(win, x, weight)

    def _tune(self, slot: int, x: Floats, weight: float) -> None:
        """Move a rule towards the row, its covariance from the old centre."""
        s, rule = self.params, self.rules[slot]
        rate = weight / (rule.population + weight)
        offset = np.where(self.mask, x - rule.center, np.nan)
        rule.cov = tuned_cov(rule.cov, offset, rate)
        rule.center = rule.center + rate * np.nan_to_num(offset, nan=0.0)
        rule.population = min(rule.population + weight, s.max_population)
        rule.updates += 1
        if rule.updates % REPAIR_EVERY == 0 or np.isnan(x[self.mask]).any():
            variances = np.maximum(np.diag(rule.cov), s.width_floor**2)
            rule.cov = rule.cov + np.diag(variances - np.diag(rule.cov))

    def _train(self, x: Floats, label: int, weight: float) -> None:
        """Recursive update of every rule that fires, each on its own error."""
        s, phi = self.params, expanded(x)
        distances = self.distances(x)
        shares = self.shares(distances)
        target = one_hot(np.array([label]), self.m)[0]
        for slot, rule in self.active.items():
            if shares[slot] < NEGLIGIBLE:
                continue
            n_present = max(int((~np.isnan(x)).sum()), 1)
            memory = self._memory(rule, shares[slot], distances[slot] / n_present)
            strength = shares[slot] * weight
            if s.logistic:
                rates = (memory, s.curvature_floor)
                moved = logistic_step(rule.weights, rule.gain, phi, target, strength, rates)
            else:
                moved = least_squares_step(rule.weights, rule.gain, phi, target, strength, memory)
            rule.weights, rule.gain = bounded(*moved, self.caps)
            rule.age += 1
            if s.weight_decay > 0.0 and rule.age % DECAY_EVERY == 0:
                decay = DECAY_EVERY * s.weight_decay * strength
                rule.weights = decayed(rule.weights, rule.gain, decay)

    def _memory(self, rule: SlowRule, share: float, distance: float) -> float:
        """Forgetting of one rule for this row, and of its premise where the density moves."""
        s = self.params
        memory = 1.0 - (1.0 - s.memory) * share
        if s.local_forgetting == 0.0:
            return memory
        u, total, last = rule.density
        u, total = s.density_memory * u + share, s.density_memory * total + share * distance
        density = (u / (u + total)) ** 0.5
        rule.density = (u, total, density)
        change = share * abs(density - last)
        if rule.age > self.warmup:
            memory *= 1.0 - s.local_forgetting * min(change, 1.0)
            rule.population = max(1.0, rule.population * (1.0 - min(0.99 * change, 0.99)))
        return memory


class SlowStack:
    """Layers on layers: later ones see the outputs of those before, clipped, absent if merged."""

    def __init__(self, made: Stack) -> None:
        """The twin of a stack as it stands."""
        self.params, votes = made.network.params, made.votes
        self.layers = [slow_copy(made.layer(k), made.params) for k in range(votes.kinds.size)]
        self.weights, self.decays = votes.voting_weights.copy(), votes.decays.copy()
        self.is_merged = votes.is_merged.copy()

    def forward(self, row: Floats) -> tuple[Floats, Floats]:
        """Outputs (L, m) for one row, and all stacked inputs, the last layer's outputs included."""
        inputs, outputs = row, []
        for layer, is_merged in zip(self.layers, self.is_merged, strict=True):
            output = np.full(layer.m, np.nan) if is_merged else layer.output(inputs)
            outputs.append(output)
            inputs = np.concatenate([inputs, np.clip(output, 0.0, 1.0)])
        return np.stack(outputs), inputs

    def learn(self, row: Floats, label: int, labelled: int = OFFERED) -> bool:
        """Votes, then train; returns whether the stack was wrong on the row, as far as known."""
        p = self.params
        outputs, inputs = self.forward(row)
        is_wrong = False
        if labelled != UNLABELLED:
            is_wrong = vote(outputs, self.weights, self.is_merged, p.soft_votes).argmax() != label
            if p.votes == BY_REWARD:
                self._reward(outputs, label)
            elif p.votes == BY_LIKELIHOOD:
                self._weigh(outputs, label)
        best = int(np.argmax(np.where(self.is_merged, -np.inf, self.weights)))
        for index in np.flatnonzero(~self.is_merged):
            is_configured = p.training == 1 and index < p.n_configured
            if p.training == 2 or is_configured or index == best:
                self.layers[index].learn(inputs, label, labelled=labelled)
        return bool(is_wrong)

    def _reward(self, outputs: Floats, label: int) -> None:
        """Voting weights as printed."""
        for index in np.flatnonzero(~self.is_merged):
            self.weights[index], self.decays[index] = updated_vote(
                self.weights[index],
                self.decays[index],
                outputs[index].argmax() == label,
                self.params.vote_step,
                self.params.vote_floor,
            )

    def _weigh(self, outputs: Floats, label: int) -> None:
        """Voting weights by the fading likelihood of the labels."""
        p, live = self.params, ~self.is_merged
        positive = np.maximum(outputs[live], 0.0)
        share = np.maximum(positive[:, label] / positive.sum(axis=1), 0.01)
        weights = self.weights[live] ** p.vote_memory * share**p.vote_sharpness
        self.weights[live] = np.maximum(weights / weights.max(), p.vote_floor)


# ---- from and to the arrays of the kernels


def slow_copy(layer: GaussianState, params: GaussianParams) -> SlowLayer:
    """The twin of a layer as it stands."""
    n, m = int(layer.n_inputs[0]), layer.class_weights.size
    size = 2 * n + 1
    slow = SlowLayer(params, n, m)
    slow.caps = layer.gain_caps[:size].copy()
    slow.mask = layer.input_mask[:n].copy()
    for slot in np.flatnonzero(layer.status != FREE):
        slow.rules[int(slot)] = SlowRule(
            layer.centers[slot, :n].copy(),
            layer.covs[slot, :n, :n].copy(),
            layer.consequents[slot, :, :size].copy(),
            layer.gain_covs[slot, :size, :size].copy(),
            layer.class_counts[slot].copy(),
            bool(layer.status[slot] == ACTIVE),
            float(layer.populations[slot]),
            int(layer.premise_updates[slot]),
            int(layer.ages[slot]),
            None if layer.utilities[slot] < 0.0 else float(layer.utilities[slot]),
            tuple(layer.densities[slot].tolist()),
            tuple(layer.potentials[slot].tolist()),
        )
    slow.moments.weight = float(layer.density_weight[0])
    slow.moments.mean = layer.density_mean[:n].copy()
    slow.moments.cov = layer.density_cov[:n, :n].copy()
    for label, moments in enumerate(slow.class_moments):
        moments.weight = float(layer.class_weights[label])
        moments.mean = layer.class_means[label, :n].copy()
        moments.cov = np.diag(layer.class_variances[label, :n])
    slow.threshold = float(layer.threshold[0])
    slow.seen, slow.used, slow.grown, slow.recalled, slow.tuned = layer.counters[:5].tolist()
    return slow


def assert_same(layer: GaussianState, slow: SlowLayer, tolerance: float = 1e-8) -> None:
    """Compare a layer with its twin, rule by rule and field by field."""
    n, size = slow.n, 2 * slow.n + 1
    counts = [slow.seen, slow.used, slow.grown, slow.recalled, slow.tuned]
    assert layer.counters[:5].tolist() == counts
    expected = [FREE] * layer.status.size
    for slot, rule in slow.rules.items():
        expected[slot] = ACTIVE if rule.is_active else ARCHIVED
    assert layer.status.tolist() == expected
    pairs = [(layer.threshold, [slow.threshold])]
    for slot, rule in slow.rules.items():
        assert layer.ages[slot] == rule.age
        assert layer.premise_updates[slot] == rule.updates
        pairs += [
            (layer.centers[slot, :n], rule.center),
            (layer.covs[slot, :n, :n], rule.cov),
            (layer.inverse_covs[slot, :n, :n], rule.inverse),
            (layer.log_volumes[slot], rule.log_volume),
            (layer.populations[slot], rule.population),
            (layer.class_counts[slot], rule.class_counts),
            (layer.consequents[slot, :, :size], rule.weights),
            (layer.gain_covs[slot, :size, :size], rule.gain),
            (layer.densities[slot], rule.density),
            (layer.potentials[slot], rule.potential),
            (layer.utilities[slot], -1.0 if rule.utility is None else rule.utility),
        ]
    if slow.params.grow_rules:
        pairs += [(layer.density_mean[:n], slow.moments.mean)]
        pairs += [(layer.density_cov[:n, :n], slow.moments.cov)]
        for label, moments in enumerate(slow.class_moments):
            pairs += [(layer.class_means[label, :n], moments.mean)]
            pairs += [(layer.class_variances[label, :n], np.diag(moments.cov))]
    for own, other in pairs:
        np.testing.assert_allclose(own, other, rtol=tolerance, atol=tolerance)
