"""Rule pruning: significance and potential, and everything that keeps a rule from going."""

import numpy as np
import pytest

from build import Stack, filled_stack
from devfnn.kernels.state import ACTIVE, ARCHIVED, FREE
from devfnn.model.config import Config
from devfnn.model.pruning import (
    RuleRecords,
    clear_record,
    empty_records,
    prune_layer,
    prune_layers,
    resized_records,
    rule_potential,
    rule_significance,
)

BOTH_SEEN = np.array([True, True])
NONE_SEEN = np.array([False, False])
CONFIG = Config(prune_margin=1.0, recall=True, archive_size=2)


class Scene:
    """A layer whose rules are evaluated again and again."""

    def __init__(self, n_rules: int, config: Config = CONFIG) -> None:
        self.made: Stack = filled_stack(np.random.default_rng(5), 2, 2, (n_rules,))
        self.layer, self.config = self.made.layer(), config
        self.records = empty_records(1, self.made.shape.slots)
        self.layer.utilities[:] = 0.9
        self.layer.potentials[:] = [1.0, 0.2]
        self.layer.class_counts[:] = [1.0, 1.0]

    def evaluate(self, seen: np.ndarray = NONE_SEEN) -> tuple[int, str, float, float] | None:
        """One evaluation at the end of a chunk."""
        return prune_layer(self.made.layers, self.records, 0, seen, self.config)

    def settle(self, times: int = 5) -> None:
        """A history that wobbles a little."""
        potentials = self.layer.potentials[:, 1].copy()
        for turn in range(times):
            self.layer.potentials[:, 1] = potentials * (1.0 + 0.01 * (-1) ** turn)
            self.layer.consequents[:] *= 1.0 + 0.001 * (-1) ** turn
            assert self.evaluate() is None
        self.layer.potentials[:, 1] = potentials

    def let_go(self, rule: int) -> None:
        """Rows no longer come near the rule."""
        self.layer.potentials[rule, 1] = 50.0
        self.layer.utilities[rule] = 0.01


def test_significance_is_weight_times_share_of_width(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (3,))
    layer = made.layer()
    widths = np.exp(layer.log_volumes / 3.0)
    expected = np.abs(layer.consequents).sum(axis=(1, 2)) * widths / widths.sum()
    np.testing.assert_allclose(rule_significance(made.layers, 0), expected)


@pytest.mark.parametrize("level", [1000.0, -1000.0])
def test_significance_survives_extreme_volumes(rng: np.random.Generator, level: float) -> None:
    made = filled_stack(rng, 3, 2, (3,))
    expected = rule_significance(made.layers, 0)
    made.layer().log_volumes[:] += level
    np.testing.assert_allclose(rule_significance(made.layers, 0), expected, rtol=1e-9)


def test_a_rule_that_does_not_fire_has_no_significance(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 3, 2, (3,))
    made.layer().status[1] = ARCHIVED
    made.layer().log_volumes[1] = 99.0
    significance = rule_significance(made.layers, 0)
    assert significance[1] == 0.0 and (significance[[0, 2]] > 0.0).all()


def test_potential_comes_from_its_sums(rng: np.random.Generator) -> None:
    made = filled_stack(rng, 2, 2, (2,))
    made.layer().potentials[:] = [[3.0, 9.0], [4.0, 0.0]]
    np.testing.assert_allclose(rule_potential(made.layers, 0), [0.5, 1.0])


def test_the_only_rule_is_never_pruned() -> None:
    scene = Scene(2)
    scene.layer.status[1] = ARCHIVED
    scene.settle()
    scene.let_go(0)
    for _ in range(10):
        assert scene.evaluate() is None
    assert scene.layer.status[0] == ACTIVE


def test_a_rule_without_potential_is_archived_at_the_second_violation() -> None:
    scene = Scene(3)
    scene.settle()
    scene.let_go(1)
    assert scene.evaluate() is None
    removed = scene.evaluate()
    assert removed is not None
    rule, reason, value, limit = removed
    assert (rule, reason) == (1, "potential")
    assert value == pytest.approx(np.sqrt(1.0 / 51.0))
    assert value < limit
    assert scene.layer.status.tolist() == [ACTIVE, ARCHIVED, ACTIVE]


def test_a_rule_without_significance_is_deleted() -> None:
    scene = Scene(3)
    scene.settle()
    for _ in range(2):
        scene.layer.consequents[2] *= 0.1
        scene.layer.utilities[2] = 0.0
        removed = scene.evaluate()
    assert removed is not None and removed[:2] == (2, "significance")
    assert scene.layer.status.tolist() == [ACTIVE, ACTIVE, FREE]


def test_without_recall_nothing_is_archived() -> None:
    for config in (CONFIG.replace(recall=False), CONFIG.replace(archive_size=0)):
        scene = Scene(3, config)
        scene.settle()
        scene.let_go(1)
        scene.evaluate()
        assert scene.evaluate() is not None
        assert scene.layer.status.tolist() == [ACTIVE, FREE, ACTIVE]


def test_a_violation_must_be_repeated_at_once() -> None:
    scene = Scene(3)
    scene.settle()
    kept = scene.layer.potentials[1, 1]
    scene.layer.utilities[1] = 0.01
    for _ in range(5):
        scene.layer.potentials[1, 1] = 50.0
        assert scene.evaluate() is None
        for _ in range(8):  # long enough for the history to close up again
            scene.layer.potentials[1, 1] = kept
            assert scene.evaluate() is None


@pytest.mark.parametrize("history", [0, 1, 2])
def test_a_young_rule_is_not_judged(history: int) -> None:
    scene = Scene(3)
    scene.settle(history)
    scene.let_go(1)
    scene.evaluate()
    assert scene.records.violations[0, 1, 1] == 0.0


def test_a_rule_in_use_stays() -> None:
    scene = Scene(3)
    scene.settle()
    scene.let_go(1)
    scene.layer.utilities[1] = 1.0 / 6.0  # half of an even share
    for _ in range(5):
        assert scene.evaluate() is None


def test_the_only_rule_of_a_class_stays_while_the_class_is_seen() -> None:
    scene = Scene(3)
    scene.settle()
    scene.let_go(1)
    scene.layer.class_counts[:] = [[9.0, 1.0], [1.0, 9.0], [9.0, 1.0]]
    for _ in range(3):
        assert scene.evaluate(BOTH_SEEN) is None
    removed = scene.evaluate(np.array([True, False]))
    assert removed is not None and removed[0] == 1


def test_one_rule_goes_at_a_time_and_the_least_used_first() -> None:
    scene = Scene(4)
    scene.settle()
    scene.let_go(1)
    scene.let_go(2)
    scene.layer.utilities[[1, 2]] = [0.02, 0.01]
    scene.evaluate()
    first, second = scene.evaluate(), scene.evaluate()
    assert first is not None and first[0] == 2
    assert second is not None and second[0] == 1


def test_the_archive_keeps_the_rules_of_highest_potential() -> None:
    scene = Scene(5)
    scene.layer.status[3:] = ARCHIVED
    scene.settle()
    scene.layer.potentials[3:, 1] = [0.3, 80.0]
    scene.let_go(1)
    scene.evaluate()
    assert scene.evaluate() is not None
    assert scene.layer.status.tolist() == [ACTIVE, ARCHIVED, ACTIVE, ARCHIVED, FREE]


def test_a_wider_margin_prunes_less() -> None:
    scene = Scene(3, CONFIG.replace(prune_margin=100.0))
    scene.settle()
    scene.layer.potentials[1, 1], scene.layer.utilities[1] = 0.22, 0.01
    for _ in range(3):
        assert scene.evaluate() is None


def test_records_hold_mean_and_deviation_of_all_evaluations() -> None:
    scene, values = Scene(2), []
    for distance in (0.2, 0.5, 0.1, 0.4):
        scene.layer.potentials[:, 1] = distance
        values.append(rule_potential(scene.made.layers, 0)[0])
        scene.evaluate()
    assert scene.records.counts[0, 0, 1] == 4
    assert scene.records.means[0, 0, 1] == pytest.approx(np.mean(values))
    assert scene.records.squares[0, 0, 1] == pytest.approx(4 * np.var(values))


def test_records_can_be_cleared_and_widened() -> None:
    records = RuleRecords(*(np.ones((1, 2, 2)) for _ in range(4)))
    wider = resized_records(records, 2, 4)
    for array in wider:
        assert array.shape == (2, 4, 2)
        assert (array[0, :2] == 1.0).all() and array.sum() == 4.0
    clear_record(wider, 0, 1)
    assert all((array[0, 1] == 0.0).all() and (array[0, 0] == 1.0).all() for array in wider)


def test_what_went_is_an_event_with_its_numbers() -> None:
    scene = Scene(3)
    scene.settle()
    scene.let_go(1)
    arguments = (scene.made.layers, scene.records, [0], NONE_SEEN, 700, scene.config)
    assert prune_layers(*arguments) == []
    (event,) = prune_layers(*arguments)
    assert (event.row, event.layer, event.rule, event.reason) == (700, 0, 1, "potential")
    assert event.value < event.limit
    assert event.utility == 0.01
