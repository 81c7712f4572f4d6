"""One rule layer: its output, its whole learning step against a slow twin, inputs off and on."""

from typing import Any

import numpy as np
import pytest

import reference
from build import (
    Stack,
    batch_of,
    blobs,
    count,
    fill_rule,
    filled_stack,
    journal_of,
    stack,
)
from devfnn.kernels.layers import (
    bound_gains,
    decouple_input,
    learn_layer,
    mark_present,
    update_potentials,
)
from devfnn.kernels.premises import fire
from devfnn.arrays import Floats, Ints
from devfnn.kernels.state import ACTIVE, ARCHIVED, FREE, TUNED
from devfnn.kernels.training import forgetting_factor
from twin import SlowLayer, assert_same, slow_copy

OUTPUTS = {
    "least_squares": {"consequent": "least_squares"},
    "logits": {"consequent": "logistic", "mixing": "logits"},
    "probabilities": {"consequent": "logistic", "mixing": "probabilities"},
}

EVENTFUL = {"first_precision": 30.0, "vigilance": 0.3, "potential_memory": 0.9}
"""Parameters under which a few hundred rows found and recall many rules."""


# ---- output


@pytest.mark.parametrize("normalisation", ["softmax", "floor"])
@pytest.mark.parametrize("kind", list(OUTPUTS))
@pytest.mark.parametrize("n_rules", [1, 4])
def test_the_output_equals_the_reference(
    rng: np.random.Generator, n_rules: int, kind: str, normalisation: str
) -> None:
    made = filled_stack(rng, 3, 3, (n_rules,), normalisation=normalisation, **OUTPUTS[kind])
    layer = made.layer()
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
        shares = reference.firing_shares(distances, normalisation == "floor")
        phi = reference.expanded(row)
        expected = reference.mixture(shares, layer.consequents[:n_rules], phi, kind)
        np.testing.assert_allclose(output, expected, rtol=1e-10, atol=1e-12)


def test_archived_rules_have_no_say(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (3,))
    made.layer().status[1] = ARCHIVED
    rows = rng.random((10, 2))
    slow = slow_copy(made.layer(), made.settings)
    expected = np.stack([slow.output(row) for row in rows])
    np.testing.assert_allclose(made.forward(rows)[0][:, 0], expected, rtol=1e-10)


def test_a_layer_without_rules_is_undecided() -> None:
    outputs, _ = stack(2, 4).forward(np.random.default_rng(0).random((5, 2)))
    np.testing.assert_allclose(outputs, 0.25)


@pytest.mark.parametrize("kind", list(OUTPUTS))
def test_the_output_is_finite_at_distance_one_million(rng: np.random.Generator, kind: str) -> None:
    made = filled_stack(rng, 3, 2, (4,), **OUTPUTS[kind])
    outputs, _ = made.forward(np.full((1, 3), 1e6))
    assert np.isfinite(outputs).all()


# ---- records that need no label


@pytest.mark.parametrize("n", [1, 3])
def test_potential_by_sums_equals_the_published_recursion_started_at_one(
    rng: np.random.Generator, n: int
) -> None:
    made = filled_stack(rng, n, 2, (2,), potential_memory=1.0)
    layer, scratch = made.layer(), made.scratch
    layer.status[1] = ARCHIVED
    layer.potentials[:] = [1.0, 0.0]
    seen = []
    for row in rng.random((50, n)):
        mark_present(layer, row, scratch)
        fire(layer, row, True, scratch)
        scratch.activations[:] = [1.0, 0.0]
        update_potentials(layer, made.settings, scratch)
        seen.append(scratch.distances / n)
        for rule in range(2):
            expected = reference.published_potential(np.array(seen)[:, rule])
            weight, distance = layer.potentials[rule]
            assert np.sqrt(weight / (weight + distance)) == pytest.approx(expected, rel=1e-12)


def test_utility_is_the_windowed_mean_of_the_activation(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (2,), potential_memory=0.9)
    layer, scratch = made.layer(), made.scratch
    layer.utilities[:] = -1.0  # never seen a row
    expected = None
    for share in rng.random(20):
        scratch.distances[:] = 1.0
        scratch.n_present[0] = 2
        scratch.activations[:] = [share, 1.0 - share]
        update_potentials(layer, made.settings, scratch)
        expected = share if expected is None else 0.9 * expected + 0.1 * share
        np.testing.assert_allclose(layer.utilities, [expected, 1.0 - expected], rtol=1e-12)


# ---- forgetting


def test_forgetting_follows_the_local_density(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), local_forgetting=0.1, memory=0.999)
    layer, scratch = made.layer(), made.scratch
    layer.ages[0] = 100
    slow = slow_copy(layer, made.settings)
    for row in rng.random((50, 2)):
        mark_present(layer, row, scratch)
        fire(layer, row, True, scratch)
        share = rng.random()
        scratch.activations[0] = share
        memory = forgetting_factor(layer, 0, made.settings, scratch)
        expected = slow._memory(slow.rules[0], share, scratch.distances[0] / 2.0)
        assert memory == pytest.approx(expected, rel=1e-14)
        assert 0.9 * 0.999 <= memory <= 1.0
    np.testing.assert_allclose(layer.densities[0], slow.rules[0].density, rtol=1e-12)
    assert layer.populations[0] == pytest.approx(slow.rules[0].population)


def test_a_rule_that_does_not_fire_forgets_nothing(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), local_forgetting=0.5, memory=0.9)
    scratch = made.scratch
    scratch.activations[0], scratch.distances[0], scratch.n_present[0] = 0.0, 50.0, 2
    made.layer().ages[0] = 100
    population = made.layer().populations[0]
    assert forgetting_factor(made.layer(), 0, made.settings, scratch) == 1.0
    assert made.layer().populations[0] == population


def test_the_population_never_falls_below_one(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,), local_forgetting=0.5, density_memory=0.5)
    layer, scratch = made.layer(), made.scratch
    layer.ages[0], layer.populations[0] = 100, 1.5
    scratch.activations[0], scratch.n_present[0] = 1.0, 2
    for distance in (0.0, 1e6, 0.0, 1e6, 0.0, 1e6):
        scratch.distances[0] = distance
        assert 0.5 <= forgetting_factor(layer, 0, made.settings, scratch) <= 1.0
    assert layer.populations[0] == 1.0


# ---- the whole step against the slow twin


class Pair:
    """A layer and its slow twin, fed alike."""

    def __init__(self, n: int, m: int, changes: dict[str, Any]) -> None:
        self.made = stack(n, m, **(EVENTFUL | changes))
        self.slow = SlowLayer(self.made.settings, n, m)
        self.events: list[tuple[int, str, int]] = []

    def learn(self, rows: Floats, labels: Ints, rng: np.random.Generator) -> None:
        """Learn rows on both sides; every 50 rows a rule is archived on both sides."""
        draws, weights = rng.random(len(rows)), rng.uniform(0.5, 1.5, len(rows))
        for start in range(0, len(rows), 50):
            part = slice(start, start + 50)
            batch = batch_of(rows[part], labels[part], weights[part], draws[part])
            lines = self.made.learn(batch)
            own = [(row, ("born", "recalled")[kind], rule) for row, kind, _, rule in lines]
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
        (3, 2, {}),
        (2, 3, {}),
        (3, 3, {}),
        (2, 2, {"consequent": "least_squares", "initial_gain": 1e3}),
        (3, 2, {"mixing": "probabilities", "local_forgetting": 0.1, "weight_decay": 1e-3}),
        (2, 3, {"normalisation": "floor"}),
        (2, 2, {"max_rules": 2, "max_population": 20.0}),
        (2, 3, {"active_learning": True, "threshold_step": 0.01}),
        (2, 2, {"active_learning": True, "label_budget": 0.4}),
        (2, 2, {"premise_tuning": "published"}),
        (2, 2, {"premise_tuning": "off"}),
        (2, 2, {"rule_growing": False}),
    ],
    ids=str,
)
def test_a_layer_equals_its_slow_twin_rule_by_rule(n: int, m: int, changes: dict[str, Any]) -> None:
    rng = np.random.default_rng(22)
    pair = Pair(n, m, changes)
    pair.learn(*blobs(rng, 600, n, m), rng)
    kinds = [kind for _, kind, _ in pair.events]
    assert kinds.count("born") > 3 or not pair.made.settings.grow_rules
    assert "recalled" in kinds or changes


def test_a_layer_equals_its_slow_twin_with_missing_values(rng: np.random.Generator) -> None:
    pair = Pair(3, 2, {"local_forgetting": 0.1})
    rows, labels = blobs(rng, 400, 3, 2)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[[0, 200]] = np.nan
    pair.learn(rows, labels, rng)
    assert len(pair.events) > 3


def test_a_layer_equals_its_slow_twin_with_an_input_off_and_on(
    rng: np.random.Generator,
) -> None:
    pair = Pair(3, 2, {})
    rows, labels = blobs(rng, 450, 3, 2)
    pair.learn(rows[:150], labels[:150], rng)
    decouple_input(pair.made.layers, 0, 1, pair.made.settings.width_floor)
    pair.made.layer().input_mask[1] = pair.slow.mask[1] = False
    for rule in pair.slow.rules.values():
        rule.cov[1, [0, 2]] = rule.cov[[0, 2], 1] = 0.0
        rule.cov += np.diag(np.maximum(0.02**2 - np.diag(rule.cov), 0.0))
    pair.learn(rows[150:300], labels[150:300], rng)
    pair.made.layer().input_mask[1] = pair.slow.mask[1] = True
    pair.learn(rows[300:], labels[300:], rng)


def test_rows_in_one_batch_or_in_many_give_the_same_layer(rng: np.random.Generator) -> None:
    rows, labels = blobs(rng, 200, 2, 2)
    whole, parts = stack(2, 2, **EVENTFUL), stack(2, 2, **EVENTFUL)
    whole.learn(batch_of(rows, labels))
    for row in range(200):
        parts.learn(batch_of(rows[row : row + 1], labels[row : row + 1]))
    for name in whole.layers._fields:
        np.testing.assert_array_equal(getattr(whole.layers, name), getattr(parts.layers, name))


def test_a_row_of_weight_zero_is_passed_over(rng: np.random.Generator) -> None:
    made = stack(2, 2)
    made.learn(batch_of(*blobs(rng, 50, 2, 2)))
    before = made.copy().layers
    made.learn(batch_of(rng.random((3, 2)), np.zeros(3), np.zeros(3)))
    for name in before._fields:
        np.testing.assert_array_equal(getattr(made.layers, name), getattr(before, name))


def test_a_layer_without_room_says_so_and_stays_as_it_was(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (2,))
    batch, before = batch_of(rng.random((3, 2)), np.zeros(3)), made.copy().layers
    journal = journal_of(3, made.shape)
    done = learn_layer(made.layers, 0, made.settings, batch, journal, made.scratch, 1)
    assert done == 1
    for name in before._fields:
        np.testing.assert_array_equal(getattr(made.layers, name), getattr(before, name))
    full = made.settings._replace(max_rules=2)
    assert learn_layer(made.layers, 0, full, batch, journal, made.scratch, 1) == 3


# ---- the letter of the formulas


def test_the_first_row_founds_a_rule_and_does_not_tune_it_too() -> None:
    made = stack(2, 2, first_precision=4.0)
    row = np.array([[0.3, 0.6]])
    made.learn(batch_of(row, np.ones(1)))
    layer = made.layer()
    assert layer.counters[TUNED] == 0
    assert layer.populations[0] == 1.0
    np.testing.assert_array_equal(layer.class_counts[0], [0.0, 1.0])
    np.testing.assert_allclose(layer.inverse_covs[0], 4.0 * np.eye(2))


def test_a_lone_rule_forgets_as_one_of_several_does(rng: np.random.Generator) -> None:
    changes = {"rule_growing": False, "recall": False, "local_forgetting": 0.2}
    alone = stack(2, 2, **changes)
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
    for _ in range(300):
        made = filled_stack(rng, 2, 2, (3,), premise_tuning="published", max_rules=3)
        layer = made.layer()
        layer.density_weight[0], layer.density_mean[:] = 0.3, rng.random(2)
        layer.density_cov[:] = 0.05 * np.eye(2)
        layer.class_weights[:], layer.class_means[:] = 1.0, rng.random((2, 2))
        for rule in range(3):  # about as large as a rule on this row would be
            layer.log_volumes[rule] = rng.uniform(-6.0, -2.0)
            layer.covs[rule] = np.exp(layer.log_volumes[rule]) * np.eye(2)
            layer.inverse_covs[rule] = np.linalg.inv(layer.covs[rule])
        slow = slow_copy(layer, made.settings)
        row, label = rng.random(2), int(rng.integers(2))
        slow.learn(row, label)
        made.learn(batch_of(row[None], np.array([label])))
        decisions.append((int(layer.counters[TUNED]), slow.tuned))
    assert {own for own, _ in decisions} == {0, 1}
    assert [own for own, _ in decisions] == [expected for _, expected in decisions]


def test_a_layer_learns_the_same_whatever_is_stacked_on_top(rng: np.random.Generator) -> None:
    changes = {"rule_growing": False, "local_forgetting": 0.2}
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
    made.layers.gain_covs[:] *= 1e4
    before = made.copy().layers
    made.layers.gain_caps[:] = np.linspace(1.0, 20.0, made.layers.gain_caps.shape[1])
    bound_gains(made.layers, made.layers.gain_caps[0], np.empty(made.layers.gain_covs.shape[2]))
    for layer, rule, size in ((0, 0, 5), (0, 1, 5), (1, 0, 9), (1, 1, 9)):
        caps = made.layers.gain_caps[layer, :size]
        W, gain = reference.bounded(
            before.consequents[layer, rule, :, :size],
            before.gain_covs[layer, rule, :size, :size],
            caps,
        )
        own = made.layers.gain_covs[layer, rule, :size, :size]
        np.testing.assert_allclose(own, gain, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(
            made.layers.consequents[layer, rule, :, :size], W, rtol=1e-8, atol=1e-10
        )
        assert (np.diag(own) <= caps * (1.0 + 1e-9)).all()
    np.testing.assert_array_equal(made.layers.gain_covs[0, 2], before.gain_covs[0, 2])


# ---- inputs switched off and on


def test_decoupling_cuts_the_covariances_of_one_input(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (3,))
    layer = made.layer()
    layer.status[1:] = [ARCHIVED, FREE]
    before = made.copy().layer()
    decouple_input(made.layers, 0, 1, 1e-6)
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
    decouple_input(made.layers, 0, 1, 1e-6)
    layer = made.layer()
    layer.input_mask[1] = False
    rows = rng.random((10, 3))
    for rule in range(3):
        marginal = np.linalg.inv(layer.covs[rule][np.ix_([0, 2], [0, 2])])
        np.testing.assert_allclose(
            layer.inverse_covs[rule][np.ix_([0, 2], [0, 2])], marginal, rtol=1e-9
        )
    outputs, _ = made.forward(rows)
    rows[:, 1] = rng.random(10)
    np.testing.assert_array_equal(made.forward(rows)[0], outputs)
    rows[:, 1] = np.nan
    np.testing.assert_array_equal(made.forward(rows)[0], outputs)


def accuracies(made: Stack, rows: Floats, labels: Ints, n_chunks: int) -> list[float]:
    """Test, then train, chunk by chunk."""
    scores = []
    for X, y in zip(np.array_split(rows, n_chunks), np.array_split(labels, n_chunks), strict=True):
        scores.append(float((made.forward(X)[0][:, 0].argmax(axis=1) == y).mean()))
        made.learn(batch_of(X, y))
    return scores


def test_an_input_comes_back_with_what_it_knew(rng: np.random.Generator) -> None:
    made = stack(2, 2, rule_growing=False, memory=0.99)
    rows = rng.random((count(2000, 600), 2))
    labels = (rows[:, 0] + rows[:, 1] > 1.0).astype(np.int64)
    assert accuracies(made, rows, labels, 4)[-1] > 0.95
    layer = made.layer()
    decouple_input(made.layers, 0, 1, made.settings.width_floor)
    layer.input_mask[1] = False
    before = made.copy().layer()
    other = accuracies(made, rows, (rows[:, 0] > 0.5).astype(np.int64), 4)
    assert other[-1] > 0.95  # learns what the other input alone can say
    assert layer.centers[0, 1] == before.centers[0, 1]
    np.testing.assert_array_equal(layer.covs[0, 1], before.covs[0, 1])
    layer.input_mask[1] = True
    assert accuracies(made, rows, labels, 4)[-1] > 0.95
    assert np.linalg.eigvalsh(layer.inverse_covs[0]).min() > 0.0


def test_a_feature_that_wakes_up_costs_one_chunk_at_most(rng: np.random.Generator) -> None:
    made, chunk = stack(2, 2, **EVENTFUL), count(500, 150)
    rows = rng.random((10 * chunk, 2))
    labels = (rows[:, 0] > 0.5).astype(np.int64)
    rows[: 6 * chunk, 1] = 0.3
    scores = accuracies(made, rows, labels, 10)
    layer = made.layer()
    assert min(scores[3:6]) > 0.9
    assert min(scores[7:]) > 0.9
    for rule in np.flatnonzero(layer.status == ACTIVE):
        assert np.linalg.eigvalsh(layer.inverse_covs[rule]).min() > 0.0


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
    rows, labels = spoiled(*blobs(rng, count(500, 200), 3, 2), defect)
    made.learn(batch_of(rows, labels))
    assert np.isfinite(made.forward(rows)[0]).all()
    # An expanded input of 1e13 leaves matrices that are singular to rounding.
    slack = 1e-12 if defect == "far" else 0.0
    layer = made.layer()
    for rule in np.flatnonzero(layer.status == ACTIVE):
        for matrix in (layer.covs[rule], layer.inverse_covs[rule], layer.gain_covs[rule]):
            assert np.isfinite(matrix).all() and (matrix == matrix.T).all()
            variances = np.linalg.eigvalsh(matrix)
            assert variances.min() > -slack * variances.max()
        assert np.isfinite(layer.consequents[rule]).all()
        assert layer.populations[rule] >= 1.0
