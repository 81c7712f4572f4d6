"""The slow twin of the default network, from the mathematics, not from the kernels."""

import copy
import dataclasses

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import (
    ALL_LABELS,
    ANSWERED,
    ASKED_FOR,
    CLOUDS,
    DRIFT_EVENT,
    DROPPED_EVENT,
    KEPT_EVENT,
    LINE,
    NO_DRIFT_TEST,
    OFFERED,
    RECALLED_EVENT,
    RESTED_EVENT,
    SPLIT_EVENT,
    WOKEN_EVENT,
    Batch,
    Params,
)
from reference import certainty, softmax
from rival_build import (
    BOX_LAYER,
    BRISK_LINE,
    CALM_CURVE,
    CLOUD_LAYER,
    LIVELY_CURVE,
    QUICK_LINE,
    STEADY_LINE,
)
from rival_parts import (
    DOUBT,
    DRIFT_EVERY,
    FADE_EVERY,
    FIRST_MASS,
    FIRST_SPREAD,
    GRACE_ROWS,
    LEAST_MASS,
    LEAST_SPREAD,
    MASS_OF_ROW,
    NEGLIGIBLE,
    OUT_OF_REACH,
    Line,
    SlowBudget,
    SlowCloud,
    SlowErrors,
    SlowLayer,
    SlowRepeats,
    SlowRule,
    capped,
    halves,
    learned_logistic,
)


@dataclasses.dataclass
class SlowRivals:
    """Rival layers and their vote. `layers` has only the places that hold one."""

    params: Params
    caps: Floats
    n_slots: int
    n_places: int
    most_rules: int
    most_clouds: int
    layers: dict[int, SlowLayer]
    clouds: list[SlowCloud]
    pairs: dict[tuple[int, int], tuple[float, float]]
    errors: SlowErrors
    memory: float
    referee: float
    uncertainty: float
    label_rate: float
    independence: float
    repeats: SlowRepeats
    budget: SlowBudget
    rows: int
    steps: int
    scored: int
    n_open: int
    lead: float
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
        rows_behind = np.sqrt(self.independence) * self.params.vote_rows
        powers = softmax(self.params.vote_power * rows_behind * scores)
        for place, number in enumerate(self.awake):
            powers[place] *= self._head_start(number)
        return dict(zip(self.awake, (powers / powers.sum()).tolist(), strict=True))

    def _head_start(self, number: int) -> float:
        """Of the single curves: by their independent rows per weight, against ten."""
        memories = self.params.pool.memories
        if number not in (LIVELY_CURVE, CALM_CURVE):
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
        is_counted = labelled != ANSWERED
        if is_counted:
            unsure = 2.0 - 2.0 * certainty(probabilities)
            self.uncertainty += 0.002 * (unsure - self.uncertainty)
        chosen = labelled in (ASKED_FOR, ANSWERED)
        if labelled == OFFERED:
            chosen = self._is_worth(probabilities, draw)
        if is_counted:
            self.label_rate += 0.002 * (float(chosen) - self.label_rate)
        self.budget.note(labelled, chosen)
        return chosen

    def _is_worth(self, probabilities: Floats, draw: float) -> bool:
        p, sure = self.params, certainty(probabilities)
        if p.label_choice == ALL_LABELS:
            return p.label_budget >= 1.0 or self.budget.has_room()
        if p.label_budget >= 1.0:
            return draw < p.exploration or sure < p.certainty
        if not self.budget.has_room():
            return False
        unsure = (2.0 - 2.0 * sure) / max(self.uncertainty, 1e-6)
        wish = (1.0 - p.exploration) * unsure + p.exploration
        zeal = np.clip(3.0 - 2.0 * self.label_rate / p.label_budget, 0.0, 2.0)
        return bool(draw < p.label_budget * wish * zeal)

    # how it learns

    def learn_row(
        self, index: int, row: Floats, label: int, weight: float, draw: float, labelled: int
    ) -> tuple[bool, bool]:
        """Say, choose, learn; was the label taken, was it an error?"""
        outputs = self.outputs(row)
        probabilities = self.vote(outputs)
        if not self.choose(probabilities, draw, labelled):
            return False, False
        is_wrong = self._note_error(probabilities, label)
        self.lead += self._lead(outputs, label)
        self._score(outputs, label)
        if self.rows % DRIFT_EVERY == 0 and self._is_drift(index):
            self._respond(index)
        self._train(index, row, label, weight)
        self.n_open += 1
        if self.n_open == self.params.chunk_rows:
            self.n_open = 0
            self._close(index, self.params.chunk_rows, self.lead)
            self.lead = 0.0
        return True, is_wrong

    def learn_rows(self, batch: Batch) -> tuple[list[int], list[int]]:
        """Row by row; taken and errors by row."""
        rows = enumerate(zip(*batch, strict=True))
        taken, errors = zip(*(self.learn_row(index, *row) for index, row in rows), strict=True)
        return list(map(int, taken)), list(map(int, errors))

    def learn_chunk(self, batch: Batch) -> tuple[list[int], list[int]]:
        """Choose and count errors, answer drift, learn, score; taken and errors by row.

        After a drift, what has started anew learns the first half of the chunk, is asked again, and
        is scored on the second half alone.
        """
        said = [self.outputs(row) for row in batch.rows]
        taken, errors, lead = [0] * len(said), [0] * len(said), 0.0
        for index, outputs in enumerate(said):
            label, probabilities = int(batch.labels[index]), self.vote(outputs)
            if self.choose(probabilities, batch.draws[index], batch.labelled[index]):
                taken[index] = 1
                errors[index] = int(self._note_error(probabilities, label))
                lead += self._lead(outputs, label)
        indices, half = np.flatnonzero(taken), 0
        if self._is_drift(0):
            place, source = self._respond(0)
            half = len(said) // 2
            self._train_some(batch, indices[indices < half])
            for row, outputs in zip(batch.rows[half:], said[half:], strict=True):
                outputs[place] = outputs[source]
                now = self.outputs(row).items()
                outputs.update({key: own for key, own in now if key < self.params.n_configured})
        counted = indices[indices >= half]
        self._train_some(batch, counted)
        for index in counted:
            self._score(said[index], int(batch.labels[index]))
        self.n_open = (self.n_open + sum(taken)) % self.params.chunk_rows
        self._close(len(said), sum(taken), lead)
        return taken, errors

    def _train_some(self, batch: Batch, indices: Ints) -> None:
        for index in indices.tolist():
            label, weight = int(batch.labels[index]), float(batch.weights[index])
            self._train(index, batch.rows[index], label, weight)

    def _size(self, layer: SlowLayer, row: Floats) -> int:
        """Expanded features in use: lines do without the curves."""
        return 1 + row.size if layer.kind == LINE else 1 + 2 * row.size

    def _note_error(self, probabilities: Floats, label: int) -> bool:
        is_wrong = bool(probabilities.argmax() != label)
        self.repeats.watch(label)
        if self.params.drift_test != NO_DRIFT_TEST:
            self.errors.note(is_wrong, self.params.drift_significance)
        return is_wrong

    def _lead(self, outputs: dict[int, Floats], label: int) -> float:
        brisk, steady = (outputs[line].argmax() == label for line in (BRISK_LINE, STEADY_LINE))
        return float(brisk) - float(steady)

    def _score(self, outputs: dict[int, Floats], label: int) -> None:
        """Fading shares of right predictions, and of rows on which kept layers differ."""
        self.scored += 1
        rate = 1.0 / self.params.vote_rows
        faster = max(rate * self.independence, 1.0 / self.scored)
        for number, layer in self.awake.items():
            layer.score += faster * (float(outputs[number].argmax() == label) - layer.score)
        kept = [number for number in self.awake if number >= self.params.n_configured]
        for first, second in [(a, b) for a in kept for b in kept if a < b]:
            share, count = self.pairs.get((first, second), (0.0, 0.0))
            differs = float(outputs[first].argmax() != outputs[second].argmax())
            self.pairs[first, second] = share + rate * (differs - share), count + 1.0

    def _train(self, index: int, row: Floats, label: int, weight: float) -> None:
        """The layers that are always there learn, and the best kept one."""
        best = self.best()
        for number, layer in self.awake.items():
            if number >= self.params.n_configured and number != best:
                continue
            if layer.kind == CLOUDS:
                self._train_clouds(row, label, weight)
            else:
                self._train_rules(index, number, row, label, weight)
        self.rows += 1
        if self.rows % FADE_EVERY == 0:
            for cloud in self.clouds:
                cloud.mass = max(cloud.mass * self.params.clouds.memory**FADE_EVERY, LEAST_MASS)

    def _memory(self, number: int) -> float:
        if not self.params.pool.forgetting:
            return 1.0
        lengths = {
            number: float(self.params.pool.memories[number])
            for number in (QUICK_LINE, LIVELY_CURVE, CALM_CURVE)
        }
        lengths[BRISK_LINE] = 0.25 * self.memory
        return 1.0 - 1.0 / lengths.get(number, self.memory)

    def _train_rules(self, index: int, number: int, row: Floats, label: int, weight: float) -> None:
        p, layer = self.params.pool, self.layers[number]
        rule, size, said = layer.holder(row), self._size(layer, row), self.output(number, row)
        if layer.kind == LINE and number != QUICK_LINE:
            noise = float(p.label_noises[STEADY_LINE])
            right = (1.0 - noise) * said[label]
            weight *= max(right / (right + noise / said.size), 1e-6)
        block, rates = np.s_[:size, :size], (weight, self._memory(number))
        moved = learned_logistic(
            rule.weights[:, :size], rule.gain[block], halves(row)[:size], label, rates
        )
        rule.weights[:, :size] = moved[0]
        rule.gain[block] = capped(moved[1], self.caps[:size])
        rule.note(row, label, weight)
        if number == BOX_LAYER and p.splits[BOX_LAYER]:
            rule.gather(row, label, said)
            if rule.age % p.split_every == 0 and len(layer.rules) < self.most_rules:
                self._split(index, layer, rule)

    def _split(self, index: int, layer: SlowLayer, rule: SlowRule) -> None:
        """Two rules of one, if that explains the labels better and there is a slot."""
        gained, feature, place = rule.best_cut()
        needed = self.params.pool.split_evidence + 4.0 * (rule.evidence.shape[2] - 1)
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
            half.doubted(self.params.pool.split_doubt, self.caps)
        facts = (float(feature), cut, gained, needed)
        self.lines.append((index, SPLIT_EVENT, BOX_LAYER, rule.slot, sibling.slot, facts))

    def _free_slots(self) -> list[int]:
        used = {rule.slot for layer in self.layers.values() for rule in layer.rules}
        return [slot for slot in range(self.n_slots) if slot not in used]

    def _train_clouds(self, row: Floats, label: int, weight: float) -> None:
        densities = self.densities(row)
        own = np.array([cloud.label == label for cloud in self.clouds], np.bool_)
        if not self.clouds or self.cloud_shares(row)[label] < self.params.clouds.birth:
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
                cloud.move(row, min(self.params.clouds.rate * share * weight, 0.5))

    # drift and structural steps

    def _is_drift(self, index: int) -> bool:
        # A row that is worth less brings less evidence: its log level counts for a part only.
        bound = self.errors.bound(self.params.drift_significance ** (1.0 / self.independence))
        before, after = self.errors.rates()
        if self.params.drift_test == NO_DRIFT_TEST or after - before <= bound:
            return False
        facts = (before, after, bound, float(self.errors.cut_rows))
        self.lines.append((index, DRIFT_EVENT, 0, 0, 0, facts))
        self.errors = SlowErrors()
        return True

    def _respond(self, index: int) -> tuple[int, int]:
        """Keep the best lasting layer, start the others anew; where it is kept, which it was."""
        lasting = [
            STEADY_LINE,
            BOX_LAYER,
            *(key for key in self.awake if key >= self.params.n_configured),
        ]
        best = max(lasting, key=lambda number: self.layers[number].score)
        place = best
        if self.params.keeps_layers and best < self.params.n_configured:
            place = self._keep(best, index)
        for number in (BRISK_LINE, STEADY_LINE, BOX_LAYER):
            for rule in self.layers[number].rules:
                rule.start_anew(self.caps)
        if CLOUD_LAYER in self.layers:
            self.layers[CLOUD_LAYER].rest = 0
        self.memory, self.referee = self.params.pool.shortest_memory, 0.0
        self.scored = int((1.0 - self.independence) * self.scored)
        return place, best

    def _keep(self, source: int, index: int) -> int:
        """Copy a layer to a place of its own; its own number if there can be no room."""
        rules, places = self.layers[source].rules, range(self.params.n_configured, self.n_places)
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
        self.lines.append((index, KEPT_EVENT, place, source, len(rules), facts))
        return place

    def _kept(self) -> list[int]:
        return sorted(number for number in self.layers if number >= self.params.n_configured)

    def _drop_oldest(self, index: int) -> None:
        """Forget the kept layer that was the best the longest ago."""
        place = min(self._kept(), key=lambda number: self.layers[number].last_win)
        unused = float(self.steps - self.layers[place].last_win)
        self.lines.append((index, DROPPED_EVENT, place, 0, 0, (unused, 0.0, 0.0, 0.0)))
        del self.layers[place]
        self.pairs = {pair: known for pair, known in self.pairs.items() if place not in pair}

    def _close(self, index: int, n_rows: int, lead: float) -> None:
        """End of a structural step: memory, rest, and which layer was the best."""
        if n_rows:
            self.referee = 0.75 * self.referee + lead / n_rows
            wished = 0.8 * self.memory if self.referee > 0.0 else self.memory + 0.5 * n_rows
            pool = self.params.pool
            self.memory = float(np.clip(wished, pool.shortest_memory, pool.longest_memory))
        self._widen_caps()
        self.steps += 1
        self.independence = self.repeats.independence()
        if CLOUD_LAYER in self.layers:
            layer = self.layers[CLOUD_LAYER]
            share = self.shares()[CLOUD_LAYER] if not layer.rest else 0.0
            if layer.rest:
                layer.rest -= 1
                if not layer.rest:
                    self.lines.append((index, WOKEN_EVENT, CLOUD_LAYER, 0, 0, (0.0,) * 4))
            elif self.scored >= GRACE_ROWS and share < 1e-3:
                layer.rest = 4
                facts = (share, 1e-3, 0.0, 0.0)
                self.lines.append((index, RESTED_EVENT, CLOUD_LAYER, 4, 0, facts))
        best = self.best()
        if best >= self.params.n_configured and self.layers[best].last_win < self.steps - 1:
            scores = [self.layers[key].score for key in (best, STEADY_LINE, BOX_LAYER)]
            self.lines.append((index, RECALLED_EVENT, best, 0, 0, (*scores, 0.0)))
        self.layers[best].last_win = self.steps

    def _widen_caps(self) -> None:
        """Let weights be larger where the calm curve has seen a feature vary little."""
        rule = self.layers[CALM_CURVE].rules[0]
        varies = rule.variance > 1e-6
        factors = np.ones_like(rule.variance)
        factors[varies] = np.minimum(
            1.0 / 12.0 / rule.variance[varies], self.params.pool.prior_reach
        )
        if rule.age >= 100:
            wider = self.params.pool.prior * np.where(varies, factors, 0.0)
            wished = np.concatenate([[0.0], wider, wider])
            self.caps = np.clip(wished, self.caps, 2.0 * self.caps)
