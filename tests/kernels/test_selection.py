"""What to learn: certainty, redundancy and exploration; and that no label is read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from build import Stack, batch_of, blobs, filled_stack, stack
from devfnn.kernels.layers import choose_rows, mark_present
from devfnn.kernels.selection import certainty, is_redundant, move_threshold
from devfnn.arrays import Flags, Floats
from devfnn.kernels.state import ASKED_FOR, SEEN, UNLABELLED, USED
from twin import slow_copy


def chosen_rows(made: Stack, rows: Floats, draws: Floats | None = None) -> Flags:
    """Which rows the layer would learn as it stands."""
    wanted = np.zeros(len(rows), np.bool_)
    batch = batch_of(rows, np.zeros(len(rows)), draws=draws)
    choose_rows(made.layers, 0, made.settings, batch, made.scratch, wanted)
    return wanted


def trained(rng: np.random.Generator, n_rows: int = 150, **changes: object) -> Stack:
    """A layer past its warm-up, with two rules or more."""
    changes = {"first_precision": 30.0, "vigilance": 0.3, "active_learning": True} | changes
    made = stack(2, 3, **changes)
    made.learn(batch_of(*blobs(rng, n_rows, 2, 3), draws=rng.random(n_rows)))
    assert (made.layer().status == 1).sum() > 1 or not changes.get("rule_growing", True)
    return made


@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=5))
@settings(deadline=None, derandomize=True)
def test_certainty_equals_the_reference(outputs: list[float]) -> None:
    values = np.array(outputs)
    assert certainty(values) == pytest.approx(reference.certainty(values), rel=1e-12)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([0.5, 0.5], 0.5),
        ([1.0, 0.0], 1.0),
        ([0.6, 0.2, 0.2], 0.75),
        ([-1.0, -2.0], 0.5),
        ([0.0, 0.0, 0.0], 0.5),
        ([2.0, -1.0], 1.0),
        ([0.7], 1.0),
    ],
)
def test_certainty_of_plain_cases(outputs: list[float], expected: float) -> None:
    assert certainty(np.array(outputs)) == pytest.approx(expected)


def test_redundant_rows_lie_between_the_qualities_of_the_centres(
    rng: np.random.Generator,
) -> None:
    made = filled_stack(rng, 3, 2, (4,))
    layer, scratch = made.layer(), made.scratch
    rows = rng.random((100, 3))
    layer.density_weight[0] = 100.0
    layer.density_mean[:], layer.density_cov[:] = reference.weighted_moments(rows, np.ones(100))
    verdicts = set()
    for row in rng.uniform(0.0, 1.0, (100, 3)):
        winner = int(rng.integers(4))
        metric = layer.inverse_covs[winner]
        own = reference.data_quality(row, metric, rows, np.ones(100))
        centers = [
            reference.data_quality(center, metric, rows, np.ones(100)) for center in layer.centers
        ]
        mark_present(layer, row, scratch)
        verdict = is_redundant(layer, winner, row, scratch)
        assert verdict == (min(centers) < own < max(centers))
        verdicts.add(bool(verdict))
    assert verdicts == {True, False}


def test_with_a_single_rule_every_row_is_redundant(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (1,))
    layer, scratch = made.layer(), made.scratch
    layer.density_weight[0] = 1.0
    for row in rng.uniform(-1.0, 2.0, (10, 2)):
        mark_present(layer, row, scratch)
        assert is_redundant(layer, 0, row, scratch)


@pytest.mark.parametrize(
    "changes",
    [{}, {"label_budget": 0.5}, {"exploration": 0.0}, {"conflict_threshold": 0.6}],
    ids=str,
)
def test_choices_equal_the_slow_twin(rng: np.random.Generator, changes: dict[str, float]) -> None:
    made = trained(rng, **changes)
    rows = np.vstack([blobs(rng, 150, 2, 3)[0], np.full((1, 2), np.nan), np.full((1, 2), 1e6)])
    rows[:20, 0] = np.nan
    draws = rng.random(152)
    slow = slow_copy(made.layer(), made.settings)
    expected = [slow.wants(row, draw) for row, draw in zip(rows, draws, strict=True)]
    wanted = chosen_rows(made, rows, draws)
    assert wanted.tolist() == expected
    assert wanted.any() and not wanted.all()


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


def test_asking_changes_nothing(rng: np.random.Generator) -> None:
    made = trained(rng)
    before = made.copy().layers
    chosen_rows(made, blobs(rng, 50, 2, 3)[0])
    for name in before._fields:
        np.testing.assert_array_equal(getattr(made.layers, name), getattr(before, name))


def test_a_rejected_row_changes_only_the_records_that_need_no_label(
    rng: np.random.Generator,
) -> None:
    made = trained(rng)
    rows = blobs(rng, 100, 2, 3)[0]
    rejected = rows[~chosen_rows(made, rows)][:1]
    before = made.copy().layer()
    made.learn(batch_of(rejected, np.zeros(1)))
    changed = {
        name
        for name in before._fields
        if not np.array_equal(getattr(made.layer(), name), getattr(before, name))
    }
    assert changed == {"potentials", "utilities", "counters"}
    assert made.layer().counters[SEEN] == before.counters[SEEN] + 1
    assert made.layer().counters[USED] == before.counters[USED]


def test_everything_is_learned_during_warm_up(rng: np.random.Generator) -> None:
    made = stack(2, 2, active_learning=True, exploration=0.0, conflict_threshold=0.0)
    rows, labels = blobs(rng, 5, 2, 2)  # as many as the consequents have weights
    made.learn(batch_of(rows, labels))
    assert made.layer().counters[USED] == 5
    made.learn(batch_of(rows, labels))  # a single rule is never uncertain at threshold 0
    assert made.layer().counters[USED] == 5


def test_a_layer_without_rules_wants_every_row() -> None:
    made = stack(2, 2, active_learning=True, exploration=0.0, conflict_threshold=0.0)
    assert chosen_rows(made, np.zeros((3, 2))).all()


def test_exploration_takes_its_share_whatever_the_certainty(rng: np.random.Generator) -> None:
    made = trained(rng, rule_growing=False, conflict_threshold=0.0, exploration=0.25)
    draws = rng.random(400)
    wanted = chosen_rows(made, blobs(rng, 400, 2, 3)[0], draws)
    np.testing.assert_array_equal(wanted, draws < 0.25)


def test_chosen_rows_are_all_learned(rng: np.random.Generator) -> None:
    made = trained(rng)
    made.layer().threshold[0] = 0.0
    used = int(made.layer().counters[USED])
    rows, labels = blobs(rng, 50, 2, 3)
    made.learn(batch_of(rows, labels, labelled=ASKED_FOR))
    assert made.layer().counters[USED] == used + 50


def test_an_unlabelled_row_changes_only_the_records_that_need_no_label(
    rng: np.random.Generator,
) -> None:
    for is_active in (True, False):
        made = trained(rng, active_learning=is_active)
        before = made.copy().layer()
        made.learn(batch_of(rng.random((5, 2)), np.zeros(5), labelled=UNLABELLED))
        changed = {
            name
            for name in before._fields
            if not np.array_equal(getattr(made.layer(), name), getattr(before, name))
        }
        assert changed == {"potentials", "utilities", "counters"}
        assert made.layer().counters[USED] == before.counters[USED]


def test_without_active_learning_every_row_is_wanted(rng: np.random.Generator) -> None:
    made = trained(rng, active_learning=False)
    assert chosen_rows(made, rng.random((20, 2))).all()


@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_varying_threshold_stays_in_its_bounds(is_accepted: bool) -> None:
    made = stack(2, 4, active_learning=True, threshold_step=0.1, conflict_threshold=0.7)
    layer = made.layer()
    move_threshold(layer, is_accepted, made.settings)
    assert layer.threshold[0] == pytest.approx(0.7 * (0.9 if is_accepted else 1.1))
    for _ in range(100):
        move_threshold(layer, is_accepted, made.settings)
    assert layer.threshold[0] == pytest.approx(0.3 if is_accepted else 1.0)
