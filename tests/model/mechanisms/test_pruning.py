"""Rules that go: without significance or potential, or because a neighbour says the same."""

import numpy as np
import pytest

from devfnn import DEVFNN
from devfnn.arrays import Flags, Floats, Ints
from devfnn.events import RulePruned, RuleSplit
from devfnn.kernels.state import ACTIVE, ARCHIVED, FREE, GaussianState
from devfnn.model.config import Config
from devfnn.model.mechanisms.pruning import (
    join_rules,
    prune_layer,
    prune_rules,
    rule_potential,
    rule_significance,
)
from devfnn.model.network import Network
from scenes import (
    BOX_LAYER,
    CHUNK,
    ONE_CLOUD,
    change,
    of_kind,
    run,
    sloped,
    stack_of,
    stacked,
    swift,
)

VERBS = ["learn", "learn_rows"]
BOTH_SEEN = np.array([True, True])
NONE_SEEN = np.array([False, False])
CONFIG = stacked(layers=stack_of(1), gaussian__archive_size=2)


def filled(n_features: int, n_rules: int, config: Config = CONFIG) -> Network:
    """A layer of random rules for two classes."""
    rng, network = np.random.default_rng(5), Network.empty(n_features, 2, config)
    network.resize(slots=n_rules)
    own = gaussians(network)
    own.status[:] = ACTIVE
    own.log_volumes[:] = rng.normal(size=n_rules) - 4.0
    own.consequents[:] = rng.normal(size=own.consequents.shape)
    return network


def gaussians(network: Network) -> GaussianState:
    """The arrays of a gaussian layer."""
    assert network.state.gaussians is not None
    return network.state.gaussians


class Scene:
    """A layer whose rules are evaluated again and again."""

    def __init__(self, n_rules: int, config: Config = CONFIG) -> None:
        self.network = filled(2, n_rules, config)
        self.own = gaussians(self.network)
        self.own.utilities[:] = 0.9
        self.own.potentials[:] = [1.0, 0.2]
        self.own.class_counts[:] = [1.0, 1.0]

    @property
    def status(self) -> list[int]:
        """What the slots hold."""
        return self.own.status[0].tolist()

    def evaluate(self, seen: Flags = NONE_SEEN) -> tuple[int, str, float, float] | None:
        """One evaluation at the end of a chunk."""
        return prune_layer(self.own, 0, seen, self.network.config.gaussian)

    def settle(self, times: int = 5) -> None:
        """A history that wobbles a little."""
        potentials = self.own.potentials[0, :, 1].copy()
        for turn in range(times):
            self.own.potentials[0, :, 1] = potentials * (1.0 + 0.01 * (-1) ** turn)
            self.own.consequents[:] *= 1.0 + 0.001 * (-1) ** turn
            assert self.evaluate() is None
        self.own.potentials[0, :, 1] = potentials

    def let_go(self, rule: int) -> None:
        """Rows no longer come near the rule."""
        self.own.potentials[0, rule, 1] = 50.0
        self.own.utilities[0, rule] = 0.01


def test_significance_is_weight_times_share_of_width() -> None:
    own = gaussians(filled(3, 3))
    widths = np.exp(own.log_volumes[0] / 3.0)
    expected = np.abs(own.consequents[0]).sum(axis=(1, 2)) * widths / widths.sum()
    np.testing.assert_allclose(rule_significance(own, 0), expected)


@pytest.mark.parametrize("level", [1000.0, -1000.0])
def test_significance_survives_extreme_volumes(level: float) -> None:
    own = gaussians(filled(3, 3))
    expected = rule_significance(own, 0)
    own.log_volumes[:] += level
    np.testing.assert_allclose(rule_significance(own, 0), expected, rtol=1e-9)


def test_a_rule_that_does_not_fire_has_no_significance() -> None:
    own = gaussians(filled(3, 3))
    own.status[0, 1] = ARCHIVED
    own.log_volumes[0, 1] = 99.0
    significance = rule_significance(own, 0)
    assert significance[1] == 0.0 and (significance[[0, 2]] > 0.0).all()


def test_potential_comes_from_its_sums() -> None:
    own = gaussians(filled(2, 2))
    own.potentials[0] = [[3.0, 9.0], [4.0, 0.0]]
    np.testing.assert_allclose(rule_potential(own, 0), [0.5, 1.0])


def test_the_only_rule_is_never_pruned() -> None:
    scene = Scene(2)
    scene.own.status[0, 1] = ARCHIVED
    scene.settle()
    scene.let_go(0)
    for _ in range(10):
        assert scene.evaluate() is None
    assert scene.status[0] == ACTIVE


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
    assert scene.status == [ACTIVE, ARCHIVED, ACTIVE]


def test_a_rule_without_significance_is_deleted() -> None:
    scene = Scene(3)
    scene.settle()
    for _ in range(2):
        scene.own.consequents[0, 2] *= 0.1
        scene.own.utilities[0, 2] = 0.0
        removed = scene.evaluate()
    assert removed is not None and removed[:2] == (2, "significance")
    assert scene.status == [ACTIVE, ACTIVE, FREE]


def test_without_recall_nothing_is_archived() -> None:
    for config in (
        CONFIG.replace(gaussian__recall=False),
        CONFIG.replace(gaussian__archive_size=0),
    ):
        scene = Scene(3, config)
        scene.settle()
        scene.let_go(1)
        scene.evaluate()
        assert scene.evaluate() is not None
        assert scene.status == [ACTIVE, FREE, ACTIVE]


def test_a_violation_must_be_repeated_at_once() -> None:
    scene = Scene(3)
    scene.settle()
    kept = scene.own.potentials[0, 1, 1]
    scene.own.utilities[0, 1] = 0.01
    for _ in range(5):
        scene.own.potentials[0, 1, 1] = 50.0
        assert scene.evaluate() is None
        for _ in range(8):  # long enough for the history to close up again
            scene.own.potentials[0, 1, 1] = kept
            assert scene.evaluate() is None


@pytest.mark.parametrize("history", [0, 1, 2])
def test_a_young_rule_is_not_judged(history: int) -> None:
    scene = Scene(3)
    scene.settle(history)
    scene.let_go(1)
    scene.evaluate()
    assert scene.own.violations[0, 1, 1] == 0.0


def test_a_rule_in_use_stays() -> None:
    scene = Scene(3)
    scene.settle()
    scene.let_go(1)
    scene.own.utilities[0, 1] = 1.0 / 6.0  # half of an even share
    for _ in range(5):
        assert scene.evaluate() is None


def test_the_only_rule_of_a_class_stays_while_the_class_is_seen() -> None:
    scene = Scene(3)
    scene.settle()
    scene.let_go(1)
    scene.own.class_counts[0] = [[9.0, 1.0], [1.0, 9.0], [9.0, 1.0]]
    for _ in range(3):
        assert scene.evaluate(BOTH_SEEN) is None
    removed = scene.evaluate(np.array([True, False]))
    assert removed is not None and removed[0] == 1


def test_one_rule_goes_at_a_time_and_the_least_used_first() -> None:
    scene = Scene(4)
    scene.settle()
    scene.let_go(1)
    scene.let_go(2)
    scene.own.utilities[0, [1, 2]] = [0.02, 0.01]
    scene.evaluate()
    first, second = scene.evaluate(), scene.evaluate()
    assert first is not None and first[0] == 2
    assert second is not None and second[0] == 1


def test_the_archive_keeps_the_rules_of_highest_potential() -> None:
    scene = Scene(5)
    scene.own.status[0, 3:] = ARCHIVED
    scene.settle()
    scene.own.potentials[0, 3:, 1] = [0.3, 80.0]
    scene.let_go(1)
    scene.evaluate()
    assert scene.evaluate() is not None
    assert scene.status == [ACTIVE, ARCHIVED, ACTIVE, ARCHIVED, FREE]


def test_a_wider_margin_prunes_less() -> None:
    scene = Scene(3, CONFIG.replace(gaussian__prune_margin=100.0))
    scene.settle()
    scene.own.potentials[0, 1, 1], scene.own.utilities[0, 1] = 0.22, 0.01
    for _ in range(3):
        assert scene.evaluate() is None


def test_records_hold_mean_and_deviation_of_all_evaluations() -> None:
    scene, values = Scene(2), []
    for distance in (0.2, 0.5, 0.1, 0.4):
        scene.own.potentials[0, :, 1] = distance
        values.append(rule_potential(scene.own, 0)[0])
        scene.evaluate()
    assert scene.own.record_counts[0, 0, 1] == 4
    assert scene.own.record_means[0, 0, 1] == pytest.approx(np.mean(values))
    assert scene.own.record_squares[0, 0, 1] == pytest.approx(4 * np.var(values))


def test_what_went_is_an_event_with_its_numbers() -> None:
    scene = Scene(3)
    scene.settle()
    scene.let_go(1)
    scene.network.n_rows = 700
    nobody = np.zeros(0, np.int64)
    assert prune_rules(scene.network, [0], nobody) == []
    (event,) = prune_rules(scene.network, [0], nobody)
    assert isinstance(event, RulePruned)
    assert (event.row, event.layer, event.rule, event.reason) == (700, 0, 1, "potential")
    assert event.value < event.limit and event.merged_into == -1
    assert event.utility == 0.01


# ---- boxes that say the same become one

ALONE = swift(chunk_rows=CHUNK, labels__choice="all", **ONE_CLOUD)
"""As without clouds, so that boxes must see what a line cannot."""


def likely(n_chunks: int, seed: int) -> tuple[Floats, Ints]:
    """One rule is enough: the log odds are a line in the first feature."""
    X, _ = sloped(n_chunks, seed=seed)
    odds = np.exp(3.0 * (X[:, 0] - 0.5))
    chance = np.random.default_rng(seed + 100).random(len(X))
    return X, (chance < odds / (1.0 + odds)).astype(np.int64)


def split_for_nothing(joining: bool = True) -> DEVFNN:
    """Boxes that were split by chance: one would be enough."""
    model = DEVFNN(ALONE.replace(boxes__joining=False, boxes__evidence=0.5, boxes__max_rules=6))
    run(model, *likely(20, seed=1))
    assert model._known().state.pool.n_members[BOX_LAYER] == 6
    change(model, boxes__evidence=1e9, boxes__joining=joining)
    return model


@pytest.mark.parametrize("verb", VERBS)
def test_neighbours_that_say_the_same_join(verb: str) -> None:
    X, y = likely(80, seed=5)
    sizes = {}
    for joining in (True, False):
        model = split_for_nothing(joining)
        before = int(model._known().state.pool.n_members[BOX_LAYER])
        joined = of_kind(run(model, X, y, verb), RulePruned)
        sizes[joining] = int(model._known().state.pool.n_members[BOX_LAYER])
        assert sizes[joining] == before - len(joined)
        for event in joined:
            assert event.layer == BOX_LAYER and event.value < event.limit
            assert event.merged_into in range(32) and event.merged_into != event.rule
        assert (model.predict(X) == (X[:, 0] > 0.5)).mean() > 0.93
    assert sizes == {True: 1, False: 6}


def test_neighbours_that_differ_do_not_join() -> None:
    model = DEVFNN(ALONE)
    X, _ = sloped(100)
    y = (4.0 * X[:, 0]).astype(np.int64) % 2  # four stripes
    events = run(model, X, y)
    assert of_kind(events, RuleSplit) and not of_kind(events, RulePruned)
    assert model._known().state.pool.n_members[BOX_LAYER] > 3
    assert (model.predict(X) == y).mean() > 0.97


def test_a_joined_rule_knows_what_both_knew() -> None:
    model = split_for_nothing(joining=False)
    run(model, *likely(60, seed=6))
    network, pool = model._known(), model._known().state.pool
    own = pool.members[BOX_LAYER, : pool.n_members[BOX_LAYER]].tolist()
    rows, ages = pool.class_counts[own].sum(), pool.ages[own].sum()
    before = {name: getattr(pool, name).copy() for name in ("ages", "means", "variances")}
    change(model, boxes__joining=True, boxes__join_evidence=1e9)
    (event,) = join_rules(network)
    left = pool.members[BOX_LAYER, : pool.n_members[BOX_LAYER]].tolist()
    assert isinstance(event, RulePruned) and set(own) - set(left) == {event.rule}
    assert pool.owners[event.rule] == -1
    assert pool.class_counts[left].sum() == pytest.approx(rows)
    assert pool.ages[left].sum() == ages
    (joined,) = (rule for rule in left if pool.ages[rule] != before["ages"][rule])
    both = [joined, event.rule]
    shares = before["ages"][both] / before["ages"][both].sum()
    mean, squares = shares @ before["means"][both], before["means"][both] ** 2
    np.testing.assert_allclose(pool.means[joined], mean)
    spread = shares @ (before["variances"][both] + squares) - mean**2
    np.testing.assert_allclose(pool.variances[joined], spread)
