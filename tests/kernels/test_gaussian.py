"""Gaussian layers: what they say, which rows they learn, and the whole step against a twin."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
from build import (
    Stack,
    batch_of,
    blobs,
    changed,
    count,
    fill_rule,
    filled_stack,
    only_compiled,
    only_plain,
    stack,
)
from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.gaussian import (
    bound_gains,
    choose_rows,
    decouple_input,
    forgetting_factor,
    is_redundant,
    mark_present,
    update_potentials,
)
from devfnn.kernels.gaussian_rules import fire
from devfnn.kernels.labels import certainty
from devfnn.kernels.network import learn_chunk
from devfnn.kernels.state import (
    ACTIVE,
    ALWAYS,
    ARCHIVED,
    ASKED_FOR,
    FREE,
    SEEN,
    TUNED,
    UNLABELLED,
    USED,
)
from devfnn.model.network import event_buffer
from twin import assert_same, slow_copy

OUTPUTS = {
    "least_squares": {"consequent": "least_squares"},
    "logits": {"consequent": "logistic"},
}

EVENTFUL = {"first_precision": 30.0, "vigilance": 0.3, "potential_memory": 0.9}
"""Parameters under which a few hundred rows found and recall many rules."""


# ---- output


@pytest.mark.parametrize("kind", list(OUTPUTS))
@pytest.mark.parametrize("n_rules", [1, 4])
def test_the_output_equals_the_reference(rng: np.random.Generator, n_rules: int, kind: str) -> None:
    made = filled_stack(rng, 3, 3, (n_rules + 1,), **OUTPUTS[kind])
    layer = made.layer()
    layer.status[n_rules] = ARCHIVED  # has no say
    rows = np.vstack([rng.uniform(-0.5, 1.5, (30, 3)), np.full((1, 3), np.nan)])
    rows[:10, 1] = np.nan
    outputs, stacked = made.forward(rows)
    np.testing.assert_array_equal(stacked, rows)
    for row, output in zip(rows, outputs[:, 0], strict=True):
        distances = np.array(
            [
                reference.squared_distance(row, layer.centers[rule], layer.inverse_covs[rule])
                for rule in range(n_rules)
            ]
        )
        shares = reference.firing_shares(distances)
        phi = reference.expanded(row)
        expected = reference.mixture(shares, layer.consequents[:n_rules], phi, kind)
        np.testing.assert_allclose(output, expected, rtol=1e-10, atol=1e-12)
    assert np.isfinite(made.forward(np.full((1, 3), 1e6))[0]).all()


def test_a_layer_without_rules_is_undecided(rng: np.random.Generator) -> None:
    outputs, _ = stack(2, 4).forward(rng.random((5, 2)))
    np.testing.assert_allclose(outputs, 0.25)


# ---- records that need no label


@only_plain
@pytest.mark.parametrize("n", [1, 3])
def test_potential_by_sums_equals_the_published_recursion_started_at_one(
    rng: np.random.Generator, n: int
) -> None:
    made = filled_stack(rng, n, 2, (2,), potential_memory=1.0)
    layer, work = made.layer(), made.work
    layer.status[1] = ARCHIVED
    layer.potentials[:] = [1.0, 0.0]
    seen = []
    for row in rng.random((50, n)):
        mark_present(layer, row, work)
        fire(layer, row, True, work)
        work.activations[:] = [1.0, 0.0]
        update_potentials(layer, made.params, work)
        seen.append(work.distances / n)
        for rule in range(2):
            expected = reference.published_potential(np.array(seen)[:, rule])
            weight, distance = layer.potentials[rule]
            assert np.sqrt(weight / (weight + distance)) == pytest.approx(expected, rel=1e-12)


@only_plain
def test_utility_is_the_windowed_mean_of_the_activation(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (2,), potential_memory=0.9)
    layer, work = made.layer(), made.work
    layer.utilities[:] = -1.0  # never seen a row
    expected = None
    for share in rng.random(20):
        work.distances[:] = 1.0
        work.n_present[0] = 2
        work.activations[:] = [share, 1.0 - share]
        update_potentials(layer, made.params, work)
        expected = share if expected is None else 0.9 * expected + 0.1 * share
        np.testing.assert_allclose(layer.utilities, [expected, 1.0 - expected], rtol=1e-12)


# ---- which rows it learns


def chosen_rows(made: Stack, rows: Floats, draws: Floats | None = None) -> Flags:
    """Which rows the layer would learn as it stands."""
    wanted = np.zeros(len(rows), np.bool_)
    batch = batch_of(rows, np.zeros(len(rows)), draws=draws)
    choose_rows(made.gaussians, 0, batch, made.params, made.work, wanted)
    return wanted


def trained(rng: np.random.Generator, n_rows: int = 150, **changes: Any) -> Stack:
    """A layer past its warm-up that chooses rows, with two rules or more."""
    made = stack(2, 3, **(EVENTFUL | {"labels__choice": "layer"} | changes))
    made.learn(batch_of(*blobs(rng, n_rows, 2, 3), draws=rng.random(n_rows)))
    assert (made.layer().status == ACTIVE).sum() > 1 or "max_rules" in changes
    return made


@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=5))
@example([0.0, 0.0, 0.0])
@example([-1.0, -2.0])
@example([0.5, 0.5])
@example([0.7])
@settings(deadline=None, derandomize=True)
def test_certainty_equals_the_reference(outputs: list[float]) -> None:
    values = np.array(outputs)
    assert certainty(values) == pytest.approx(reference.certainty(values), rel=1e-12)


def test_certainty_is_the_share_of_the_first_of_two() -> None:
    assert certainty(np.array([0.6, 0.2, 0.2])) == pytest.approx(0.75)
    assert certainty(np.array([2.0, -1.0])) == 1.0
    assert certainty(np.array([-1.0, -2.0])) == 0.5


@only_plain
def test_redundant_rows_lie_between_the_qualities_of_the_centres(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 3, 2, (4,))
    layer, work = made.layer(), made.work
    rows = rng.random((100, 3))
    layer.density_weight[0] = 100.0
    layer.density_mean[:], layer.density_cov[:] = reference.weighted_moments(rows, np.ones(100))
    verdicts = set()
    for row in rng.uniform(0.0, 1.0, (100, 3)):
        winner = int(rng.integers(4))
        metric = layer.inverse_covs[winner]
        own, *centers = (
            reference.data_quality(point, metric, rows, np.ones(100))
            for point in (row, *layer.centers)
        )
        mark_present(layer, row, work)
        verdict = is_redundant(layer, winner, row, work)
        assert verdict == (min(centers) < own < max(centers))
        verdicts.add(bool(verdict))
    assert verdicts == {True, False}
    layer.status[1:] = FREE  # with a single rule every row is redundant
    for row in rng.uniform(-1.0, 2.0, (10, 3)):
        mark_present(layer, row, work)
        assert is_redundant(layer, 0, row, work)


@pytest.mark.parametrize(
    "changes",
    [{}, {"labels__budget": 0.5}, {"labels__exploration": 0.0}, {"labels__certainty": 0.6}],
    ids=str,
)
def test_choices_equal_the_slow_twin(rng: np.random.Generator, changes: dict[str, float]) -> None:
    made = trained(rng, **changes)
    rows = np.vstack([blobs(rng, 150, 2, 3)[0], np.full((1, 2), np.nan), np.full((1, 2), 1e6)])
    rows[:20, 0] = np.nan
    draws, before = rng.random(152), made.copy().gaussians
    slow = slow_copy(made.layer(), made.params)
    expected = [slow.wants(row, draw) for row, draw in zip(rows, draws, strict=True)]
    wanted = chosen_rows(made, rows, draws)
    assert wanted.tolist() == expected
    assert wanted.any() and not wanted.all()
    assert not changed(before, made.gaussians)  # asking changes nothing


def test_active_learning_never_reads_the_label(rng: np.random.Generator) -> None:
    made = trained(rng)
    rows, labels = blobs(rng, 60, 2, 3)
    draws = rng.random(60)
    decisions = []
    for turn in range(3):  # the same rows, each on a copy of the same layer, under all labels
        used = []
        for row in range(60):
            copy = made.copy()
            before = int(copy.layer().counters[USED])
            one = slice(row, row + 1)
            copy.learn(batch_of(rows[one], (labels[one] + turn) % 3, draws=draws[one]))
            used.append(int(copy.layer().counters[USED]) > before)
        decisions.append(used)
    assert decisions[0] == decisions[1] == decisions[2]
    assert 0 < sum(decisions[0]) < 60
    assert chosen_rows(made, rows, draws).tolist() == decisions[0]


@pytest.mark.parametrize("is_choosing", [True, False])
def test_a_row_not_learned_changes_only_the_records_that_need_no_label(
    rng: np.random.Generator, is_choosing: bool
) -> None:
    made = trained(rng, labels__choice="layer" if is_choosing else "all")
    rows = blobs(rng, 100, 2, 3)[0]
    rejected = rows[~chosen_rows(made, rows)][:1]
    batches = [batch_of(rng.random((5, 2)), np.zeros(5), labelled=UNLABELLED)]
    if is_choosing:
        batches.append(batch_of(rejected, np.zeros(1)))
    else:
        assert not len(rejected)  # it wants every row
    for batch in batches:
        before = made.copy().layer()
        made.learn(batch)
        assert changed(before, made.layer()) == {"potentials", "utilities", "counters"}
        assert made.layer().counters[SEEN] == before.counters[SEEN] + len(batch.rows)
        assert made.layer().counters[USED] == before.counters[USED]


def test_everything_is_learned_during_warm_up(rng: np.random.Generator) -> None:
    only_unsure = {"labels__exploration": 0.0, "labels__certainty": 0.0}
    made = stack(2, 2, labels__choice="layer", **only_unsure)
    assert chosen_rows(made, np.zeros((3, 2))).all()  # it has no rules yet
    rows, labels = blobs(rng, 5, 2, 2)  # as many as the consequents have weights
    made.learn(batch_of(rows, labels))
    assert made.layer().counters[USED] == 5
    made.learn(batch_of(rows, labels))  # a single rule is never uncertain at threshold 0
    assert made.layer().counters[USED] == 5


@pytest.mark.parametrize("budget", [1.0, 0.5])
def test_exploration_takes_its_share_of_the_budget_whatever_the_certainty(
    rng: np.random.Generator, budget: float
) -> None:
    labels = {"choice": "layer", "certainty": 0.0, "exploration": 0.25, "budget": budget}
    made = trained(rng, max_rules=1, **{f"labels__{name}": labels[name] for name in labels})
    draws = rng.random(400)
    wanted = chosen_rows(made, blobs(rng, 400, 2, 3)[0], draws)
    np.testing.assert_array_equal(wanted, draws < 0.25 * budget)


def test_rows_asked_for_are_all_learned(rng: np.random.Generator) -> None:
    made = trained(rng)
    made.layer().threshold[0] = 0.0
    used = int(made.layer().counters[USED])
    made.learn(batch_of(*blobs(rng, 50, 2, 3), labelled=ASKED_FOR))
    assert made.layer().counters[USED] == used + 50


# ---- forgetting


def test_a_layer_forgets_by_the_local_density_as_its_slow_twin_does(
    rng: np.random.Generator,
) -> None:
    lone = {"max_rules": 1, "recall": False, "memory": 0.999, "local_forgetting": 0.1}
    made = filled_stack(rng, 2, 2, (1,), **lone)
    made.layer().ages[0] = 100
    slow = slow_copy(made.layer(), made.params)
    without = made.copy()
    without.network.params = without.network.params._replace(
        gaussian=without.params._replace(local_forgetting=0.0)
    )
    for row, label in zip(*blobs(rng, 50, 2, 2), strict=True):
        slow.learn(row, int(label))
        for each in (made, without):
            each.learn(batch_of(row[None], label[None]))
        assert_same(made.layer(), slow)
    np.testing.assert_allclose(made.layer().densities[0], slow.rules[0].density, rtol=1e-12)
    assert made.layer().populations[0] < without.layer().populations[0]


@only_plain
def test_the_memory_of_a_rule_follows_the_local_density(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), local_forgetting=0.1, memory=0.999)
    layer, work = made.layer(), made.work
    layer.ages[0] = 100
    slow = slow_copy(layer, made.params)
    for row in rng.random((50, 2)):
        mark_present(layer, row, work)
        fire(layer, row, True, work)
        share = rng.random()
        work.activations[0] = share
        memory = forgetting_factor(layer, 0, made.params, work)
        expected = slow._memory(slow.rules[0], share, work.distances[0] / 2.0)
        assert memory == pytest.approx(expected, rel=1e-14)
        assert 0.9 * 0.999 <= memory <= 1.0
    np.testing.assert_allclose(layer.densities[0], slow.rules[0].density, rtol=1e-12)
    assert layer.populations[0] == pytest.approx(slow.rules[0].population)


@only_plain
def test_a_rule_that_does_not_fire_forgets_nothing(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), local_forgetting=0.5, memory=0.9)
    layer, work = made.layer(), made.work
    work.activations[0], work.distances[0], work.n_present[0] = 0.0, 50.0, 2
    layer.ages[0] = 100
    population = layer.populations[0]
    assert forgetting_factor(layer, 0, made.params, work) == 1.0
    assert layer.populations[0] == population


@only_plain
def test_the_population_never_falls_below_one(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), local_forgetting=0.5, density_memory=0.5)
    layer, work = made.layer(), made.work
    layer.ages[0], layer.populations[0] = 100, 1.5
    work.activations[0], work.n_present[0] = 1.0, 2
    for distance in (0.0, 1e6, 0.0, 1e6, 0.0, 1e6):
        work.distances[0] = distance
        assert 0.5 <= forgetting_factor(layer, 0, made.params, work) <= 1.0
    assert layer.populations[0] == 1.0


# ---- the whole step against the slow twin


class Pair:
    """A layer and its slow twin, fed alike."""

    def __init__(self, n: int, m: int, changes: dict[str, Any]) -> None:
        self.made = stack(n, m, **(EVENTFUL | changes))
        self.slow = slow_copy(self.made.layer(), self.made.params)
        self.events: list[tuple[int, str, int]] = []

    def learn(self, rows: Floats, labels: Ints, rng: np.random.Generator) -> None:
        """Learn rows on both sides; every 50 rows a rule is archived on both sides."""
        draws, weights = rng.random(len(rows)), rng.uniform(0.5, 1.5, len(rows))
        for start in range(0, len(rows), 50):
            part = slice(start, start + 50)
            batch = batch_of(rows[part], labels[part], weights[part], draws[part])
            names = {"RuleBorn": "born", "RuleRecalled": "recalled"}
            own = [
                (event.row, names[type(event).__name__], event.rule)
                for event in self.made.learn(batch)
            ]
            values = zip(rows[part], labels[part], weights[part], draws[part], strict=True)
            other = [
                (row, *event)
                for row, value in enumerate(values)
                if (event := self.slow.learn(*value)) is not None
            ]
            assert own == other
            self.events += own
            assert_same(self.made.layer(), self.slow)
            self._archive()

    def _archive(self) -> None:
        """Put the densest of several rules away."""
        active = self.slow.active
        if len(active) > 1:
            slot = max(active, key=lambda rule: active[rule].current_potential)
            active[slot].is_active = False
            self.made.layer().status[slot] = ARCHIVED


@pytest.mark.parametrize(
    ("n", "m", "changes"),
    [
        (2, 2, {}),
        pytest.param(3, 3, {}, marks=only_compiled),
        (2, 2, {"consequent": "least_squares", "initial_gain": 1e3}),
        (3, 2, {"local_forgetting": 0.1, "weight_decay": 1e-3}),
        (2, 2, {"max_rules": 2, "max_population": 20.0}),
        pytest.param(2, 3, {"labels__choice": "layer"}, marks=only_compiled),
        (2, 2, {"labels__choice": "layer", "labels__budget": 0.4}),
        (2, 2, {"tuning": "published"}),
        (2, 2, {"tuning": "off"}),
        pytest.param(2, 2, {"growing": False, "vigilance": 0.9}, marks=only_compiled),
    ],
    ids=str,
)
def test_a_layer_equals_its_slow_twin_rule_by_rule(n: int, m: int, changes: dict[str, Any]) -> None:
    rng = np.random.default_rng(22)
    pair = Pair(n, m, changes)
    pair.learn(*blobs(rng, count(300, 250) if changes else 500, n, m), rng)
    kinds = [kind for _, kind, _ in pair.events]
    assert kinds.count("born") > 3 or not pair.made.params.grow_rules
    assert "recalled" in kinds or changes


def test_a_layer_equals_its_slow_twin_with_missing_values(rng: np.random.Generator) -> None:
    pair = Pair(3, 2, {"local_forgetting": 0.1})
    rows, labels = blobs(rng, 300, 3, 2)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[[0, 200]] = np.nan
    pair.learn(rows, labels, rng)
    assert len(pair.events) > 3


def test_a_layer_equals_its_slow_twin_with_an_input_off_and_on(
    rng: np.random.Generator,
) -> None:
    pair = Pair(3, 2, {})
    rows, labels = blobs(rng, 300, 3, 2)
    pair.learn(rows[:100], labels[:100], rng)
    decouple_input(pair.made.gaussians, 0, 1, pair.made.params.width_floor)
    pair.made.layer().input_mask[1] = pair.slow.mask[1] = False
    for rule in pair.slow.rules.values():
        rule.cov[1, [0, 2]] = rule.cov[[0, 2], 1] = 0.0
        rule.cov += np.diag(np.maximum(0.02**2 - np.diag(rule.cov), 0.0))
    pair.learn(rows[100:200], labels[100:200], rng)
    pair.made.layer().input_mask[1] = pair.slow.mask[1] = True
    pair.learn(rows[200:], labels[200:], rng)


def test_rows_in_one_batch_or_in_many_give_the_same_layer(rng: np.random.Generator) -> None:
    rows, labels = blobs(rng, 200, 2, 2)
    whole, parts = stack(2, 2, **EVENTFUL), stack(2, 2, **EVENTFUL)
    whole.learn(batch_of(rows, labels))
    for row in range(200):
        parts.learn(batch_of(rows[row : row + 1], labels[row : row + 1]))
    assert not changed(whole.gaussians, parts.gaussians)


def test_a_layer_without_room_says_so_and_stays_as_it_was(rng: np.random.Generator) -> None:
    batch, codes = batch_of(rng.random((3, 2)), np.zeros(3)), np.array([ALWAYS])
    for max_rules, first_row in ((5, 1), (2, 3)):
        made = filled_stack(rng, 2, 2, (2,), max_rules=max_rules)
        network, before, outputs = made.network, made.copy().gaussians, np.empty((3, 1, 2))
        step = (1, 3, 2, -1, True, 0, 0.0)  # from row 1 to row 3
        own = network.held(batch, event_buffer(3, 3))
        assert learn_chunk(*own, outputs, codes, step) == first_row
        assert bool(changed(before, made.gaussians)) == (first_row == 3)


# ---- the letter of the formulas


def test_the_first_row_founds_a_rule_and_does_not_tune_it_too() -> None:
    made = stack(2, 2, first_precision=4.0)
    made.learn(batch_of(np.array([[0.3, 0.6]]), np.ones(1)))
    layer = made.layer()
    assert layer.status.tolist() == [ACTIVE, FREE]
    assert layer.counters[TUNED] == 0
    assert layer.populations[0] == 1.0
    np.testing.assert_array_equal(layer.class_counts[0], [0.0, 1.0])
    np.testing.assert_allclose(layer.inverse_covs[0], 4.0 * np.eye(2))


def test_a_lone_rule_forgets_as_one_of_several_does(rng: np.random.Generator) -> None:
    alone = stack(2, 2, max_rules=1, recall=False, local_forgetting=0.2)
    rows, labels = blobs(rng, 200, 2, 2)
    alone.learn(batch_of(rows[:20], labels[:20]))
    paired = alone.copy()
    fill_rule(paired.layer(), 1, rng)
    paired.layer().centers[1] = 1e3  # so far away that it never fires
    for made in (alone, paired):
        made.learn(batch_of(rows[20:], labels[20:]))
    for name in ("densities", "populations", "centers", "covs", "consequents", "gain_covs"):
        np.testing.assert_allclose(
            getattr(paired.layer(), name)[0], getattr(alone.layer(), name)[0], rtol=1e-9
        )


def test_published_tuning_judges_the_row_by_the_rows_before_it(
    rng: np.random.Generator,
) -> None:
    decisions = []
    for _ in range(120):
        made = filled_stack(rng, 2, 2, (3,), tuning="published", max_rules=3)
        layer = made.layer()
        layer.density_weight[0], layer.density_mean[:] = 0.3, rng.random(2)
        layer.density_cov[:] = 0.05 * np.eye(2)
        layer.class_weights[:], layer.class_means[:] = 1.0, rng.random((2, 2))
        for rule in range(3):  # about as large as a rule on this row would be
            layer.log_volumes[rule] = rng.uniform(-6.0, -2.0)
            layer.covs[rule] = np.exp(layer.log_volumes[rule]) * np.eye(2)
            layer.inverse_covs[rule] = np.linalg.inv(layer.covs[rule])
        slow = slow_copy(layer, made.params)
        row, label = rng.random(2), int(rng.integers(2))
        slow.learn(row, label)
        made.learn(batch_of(row[None], np.array([label])))
        decisions.append((int(layer.counters[TUNED]), slow.tuned))
    assert set(decisions) == {(0, 0), (1, 1)}


def test_a_layer_learns_the_same_whatever_is_stacked_on_top(rng: np.random.Generator) -> None:
    changes = {"growing": False, "local_forgetting": 0.2}
    alone, below = stack(2, 2, **changes), stack(2, 2, n_layers=4, **changes)
    rows, labels = blobs(rng, 100, 2, 2)
    alone.learn(batch_of(rows, labels))
    _, stacked = below.forward(rows)
    below.learn(batch_of(stacked, labels))
    np.testing.assert_allclose(
        below.layer().consequents[0, :, :5], alone.layer().consequents[0], rtol=1e-12
    )
    assert below.layer().populations[0] == pytest.approx(alone.layer().populations[0])


def test_gain_matrices_come_back_under_their_cap(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (3, 2))
    made.layer(0).status[2] = FREE
    own = made.gaussians
    own.gain_covs[:] *= 1e4
    before = made.copy().gaussians
    caps = np.linspace(1.0, 20.0, own.gain_caps.shape[1])
    bound_gains(own, caps, np.empty(caps.size))
    for layer, rule, size in ((0, 0, 5), (0, 1, 5), (1, 0, 9), (1, 1, 9)):
        W, gain = reference.bounded(
            before.consequents[layer, rule, :, :size],
            before.gain_covs[layer, rule, :size, :size],
            caps[:size],
        )
        gain_cov = own.gain_covs[layer, rule, :size, :size]
        np.testing.assert_allclose(gain_cov, gain, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(own.consequents[layer, rule, :, :size], W, rtol=1e-8, atol=1e-10)
        assert (np.diag(gain_cov) <= caps[:size] * (1.0 + 1e-9)).all()
    np.testing.assert_array_equal(own.gain_covs[0, 2], before.gain_covs[0, 2])


# ---- inputs switched off and on


def test_decoupling_cuts_the_covariances_of_one_input(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (3,))
    layer = made.layer()
    layer.status[1:] = [ARCHIVED, FREE]
    before = made.copy().layer()
    decouple_input(made.gaussians, 0, 1, 1e-6)
    for rule in range(2):
        cov = before.covs[rule].copy()
        cov[1, [0, 2]] = cov[[0, 2], 1] = 0.0
        np.testing.assert_array_equal(layer.covs[rule], cov)
        np.testing.assert_allclose(layer.inverse_covs[rule], np.linalg.inv(cov), rtol=1e-9)
        assert (layer.inverse_covs[rule, 1, [0, 2]] == 0.0).all()
        assert layer.log_volumes[rule] == pytest.approx(0.5 * np.linalg.slogdet(cov)[1])
    np.testing.assert_array_equal(layer.covs[2], before.covs[2])


def test_leaving_out_a_decoupled_input_is_exact(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (3,))
    decouple_input(made.gaussians, 0, 1, 1e-6)
    layer = made.layer()
    layer.input_mask[1] = False
    rows, others = rng.random((10, 3)), np.ix_([0, 2], [0, 2])
    for rule in range(3):
        marginal = np.linalg.inv(layer.covs[rule][others])
        np.testing.assert_allclose(layer.inverse_covs[rule][others], marginal, rtol=1e-9)
    outputs, _ = made.forward(rows)
    for value in (0.7, np.nan):
        rows[:, 1] = value
        np.testing.assert_array_equal(made.forward(rows)[0], outputs)


def accuracies(made: Stack, rows: Floats, labels: Ints, n_chunks: int) -> list[float]:
    """Test, then train, chunk by chunk."""
    scores = []
    for X, y in zip(np.array_split(rows, n_chunks), np.array_split(labels, n_chunks), strict=True):
        scores.append(float((made.forward(X)[0][:, 0].argmax(axis=1) == y).mean()))
        made.learn(batch_of(X, y))
    return scores


@only_compiled
def test_an_input_comes_back_with_what_it_knew(rng: np.random.Generator) -> None:
    made = stack(2, 2, growing=False, memory=0.99)
    rows = rng.random((2000, 2))
    labels = (rows[:, 0] + rows[:, 1] > 1.0).astype(np.int64)
    assert accuracies(made, rows, labels, 4)[-1] > 0.95
    layer = made.layer()
    decouple_input(made.gaussians, 0, 1, made.params.width_floor)
    layer.input_mask[1] = False
    before = made.copy().layer()
    other = accuracies(made, rows, (rows[:, 0] > 0.5).astype(np.int64), 4)
    assert other[-1] > 0.95  # learns what the other input alone can say
    assert layer.centers[0, 1] == before.centers[0, 1]
    np.testing.assert_array_equal(layer.covs[0, 1], before.covs[0, 1])
    layer.input_mask[1] = True
    assert accuracies(made, rows, labels, 4)[-1] > 0.95
    assert np.linalg.eigvalsh(layer.inverse_covs[0]).min() > 0.0


@only_compiled
def test_a_feature_that_wakes_up_costs_one_chunk_at_most(rng: np.random.Generator) -> None:
    made, chunk = stack(2, 2, **EVENTFUL), 500
    rows = rng.random((10 * chunk, 2))
    labels = (rows[:, 0] > 0.5).astype(np.int64)
    rows[: 6 * chunk, 1] = 0.3
    scores = accuracies(made, rows, labels, 10)
    layer = made.layer()
    assert min(scores[3:6]) > 0.9
    assert min(scores[7:]) > 0.9
    for rule in np.flatnonzero(layer.status == ACTIVE):
        assert np.linalg.eigvalsh(layer.inverse_covs[rule]).min() > 0.0


# ---- rows with something wrong


def spoiled(rows: Floats, labels: Ints, defect: str) -> tuple[Floats, Ints]:
    """The rows with something wrong."""
    match defect:
        case "one row":
            return rows[:1], labels[:1]
        case "constant":
            rows[:, 1] = 0.3
        case "collinear":
            rows[:, 2] = rows[:, 0]
        case "absent":
            rows[:] = np.nan
        case "one class":
            labels[:] = 1
        case "far":
            rows[::50] = 1e6
        case "no variation":
            rows[:] = 0.4
    return rows, labels


@pytest.mark.parametrize("kind", list(OUTPUTS))
@pytest.mark.parametrize(
    "defect", ["one row", "constant", "collinear", "absent", "one class", "far", "no variation"]
)
def test_degenerate_rows_leave_a_sound_layer(
    rng: np.random.Generator, kind: str, defect: str
) -> None:
    made = stack(3, 2, local_forgetting=0.1, **(EVENTFUL | OUTPUTS[kind]))
    rows, labels = spoiled(*blobs(rng, count(500, 120), 3, 2), defect)
    made.learn(batch_of(rows, labels))
    assert np.isfinite(made.forward(rows)[0]).all()
    # An expanded input of 1e13 leaves matrices that are singular to rounding.
    slack = 1e-12 if defect == "far" else 0.0
    layer = made.layer()
    assert (layer.status == ACTIVE).any()
    for rule in np.flatnonzero(layer.status == ACTIVE):
        for matrix in (layer.covs[rule], layer.inverse_covs[rule], layer.gain_covs[rule]):
            assert np.isfinite(matrix).all() and (matrix == matrix.T).all()
            variances = np.linalg.eigvalsh(matrix)
            assert variances.min() > -slack * variances.max()
        assert np.isfinite(layer.consequents[rule]).all()
        assert layer.populations[rule] >= 1.0
