"""Concepts put together: drift, noise, imbalance, and rows that depend on nothing else."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams import LED, RFID, SEA, Hyperplane, Mixed, RandomRBF, Sine, Stagger, drifting
from streams.generators.gathered import assert_same, whole

NEVER, ALWAYS = SEA(-1.0), SEA(100.0)
"""Concepts whose label, 0 or 1, says which of them made a row."""


@dataclasses.dataclass(frozen=True)
class Counting:
    """Its feature counts the rows it made; labels are random, but of one concept all the same."""

    name: str = "one"

    feature_names = ("count",)
    classes = ("a", "b")
    n_draws = 1

    def start(self):
        return CountingMaker()


class CountingMaker:
    def __init__(self):
        self.n_made = 0
        self.counts = np.zeros(0)

    def __call__(self, draws):
        self.counts = np.arange(self.n_made, self.n_made + len(draws), dtype=float)
        self.n_made += len(draws)
        return self.again(draws, np.arange(len(draws)))

    def again(self, draws, places):
        return self.counts[places, None], (draws[:, 0] < 0.5).astype(np.int64)


# Which concept makes a row


def test_concepts_take_turns_at_the_positions_and_after_the_last_comes_the_first():
    y = whole(drifting([NEVER, ALWAYS], 100, positions=[10, 30, 31]))[1]
    assert y.tolist() == [0] * 10 + [1] * 20 + [0] + [1] * 69


def test_concepts_take_turns_after_so_many_rows_for_ever():
    stream = drifting([NEVER, ALWAYS, ALWAYS], rows_per_concept=1500)
    y = whole(stream.take(9000))[1]
    np.testing.assert_array_equal(y, np.tile(np.repeat([0, 1, 1], 1500), 2))
    positions = list(itertools.islice(stream.drift_positions, 4))
    assert positions == [1500, 4500, 6000, 9000]


@pytest.mark.parametrize("options", [{"positions": [3000]}, {"rows_per_concept": 50_000}])
def test_the_share_of_the_new_concept_rises_linearly(options):
    width, start = 40_000, options.get("positions", [50_000])[0]
    y = whole(drifting([NEVER, ALWAYS], 95_000, width=width, seed=3, **options))[1]
    assert not y[:start].any()
    assert y[start + width :].all()
    shares = y[start : start + width].reshape(20, -1).mean(axis=1)
    np.testing.assert_allclose(shares, (np.arange(20) + 0.5) / 20, atol=0.04)


def test_every_drift_can_have_a_width_and_a_kind_of_its_own():
    options = {"positions": [1000, 3000, 5000], "width": [0, 1000, 1000]}
    kinds = ["gradual", "incremental", "gradual"]
    concepts = [SEA(4.0), SEA(14.0)]
    X, y = whole(drifting(concepts, 8000, **options, kind=kinds))
    totals = X[:, 0] + X[:, 1]
    moving = 14 - 10 * (np.arange(1000) + 0.5) / 1000
    thresholds = np.concatenate(
        [np.full(1000, 4), np.full(2000, 14), moving, np.full(2000, 4), np.full(2000, 14)]
    )
    is_gradual = np.arange(8000) // 1000 == 5
    np.testing.assert_array_equal(y[~is_gradual], (totals <= thresholds)[~is_gradual])
    is_new = (totals <= 14) & (totals > 4) & is_gradual
    assert 0.3 < y[is_new].mean() < 0.7


def test_drift_across_the_blocks_in_which_rows_are_made_is_seamless():
    y = whole(drifting([NEVER, ALWAYS], 20_000, positions=[4096, 8191, 12_289]))[1]
    expected = np.zeros(20_000)
    expected[4096:8191] = 1
    expected[12_289:] = 1
    np.testing.assert_array_equal(y, expected)


def test_equal_neighbours_are_one_concept():
    options = {"seed": 5, "noise": 0.1}
    stream = drifting([SEA(8), SEA(8), SEA(9)], 5000, rows_per_concept=700, width=300, **options)
    assert stream.drift_positions == (1400, 2100, 3500, 4200)
    same = drifting([SEA(8), SEA(8)], 5000, rows_per_concept=700, width=300, **options)
    assert same.drift_positions == ()
    assert_same(whole(same), whole(drifting([SEA(8)], 5000, **options)))


@pytest.mark.parametrize(
    "options",
    [
        {"rows_per_concept": 7},
        {"rows_per_concept": 900, "width": 500},
        {"positions": [100, 5000], "width": 50},
    ],
)
def test_equal_concepts_make_their_rows_in_order(options):
    X, _ = whole(drifting([Counting(), Counting(), Counting()], 10_000, **options))
    np.testing.assert_array_equal(X[:, 0], np.arange(10_000))


def test_a_concept_that_returns_goes_on_where_it_was():
    concepts = [Counting("one"), Counting("two"), Counting("one")]
    X, _ = whole(drifting(concepts, 12_000, rows_per_concept=1000))
    is_second = np.arange(12_000) // 1000 % 3 == 1
    np.testing.assert_array_equal(X[~is_second, 0], np.arange(8000))
    np.testing.assert_array_equal(X[is_second, 0], np.arange(4000))


def test_equal_neighbours_do_not_move_during_an_incremental_drift():
    options = {"positions": [1000], "width": 500, "kind": "incremental"}
    walking = Hyperplane((0.5, 0.2), 1, magnitude=0.01)
    stream = drifting([walking, walking], 5000, **options)
    assert_same(whole(stream), whole(drifting([walking], 5000)))


def test_concepts_of_different_kinds_make_one_stream_if_features_and_classes_are_the_same():
    concepts = [SEA(9.0), Hyperplane((0.3, -0.5, 0.7), 2, magnitude=0.01)]
    X, y = whole(drifting(concepts, 6000, positions=[2000], width=2000))
    assert X[:2000].max() > 5.0
    assert X[4000:].max() <= 1.0
    is_new = X.max(axis=1) <= 1.0
    assert is_new[2000:4000].mean() == pytest.approx(0.5, abs=0.05)
    np.testing.assert_array_equal(y[:2000], X[:2000, 0] + X[:2000, 1] <= 9.0)


# What does not depend on what


@settings(max_examples=30)
@given(
    chunk_rows=st.integers(1, 6000),
    width=st.integers(0, 600),
    kind=st.sampled_from(["gradual", "incremental"]),
    share=st.sampled_from([None, 0.1, (0.05, 0.3)]),
)
def test_rows_do_not_depend_on_the_chunk_size(chunk_rows, width, kind, share):
    options = {
        "rows_per_concept": 600,
        "width": width,
        "kind": kind,
        "noise": 0.2,
        "class_shares": None if share is None else {1: share},
        "seed": 11,
    }
    concepts = [SEA(8), SEA(9), SEA(7)]
    rows = whole(drifting(concepts, 5000, chunk_rows=chunk_rows, **options))
    assert_same(rows, whole(drifting(concepts, 5000, chunk_rows=5000, **options)))


@pytest.mark.parametrize("n_rows", [1, 700, 4096, 4097])
def test_a_shorter_stream_is_the_beginning_of_a_longer_one(n_rows):
    options = {"rows_per_concept": 500, "width": 100, "noise": 0.1, "class_shares": {0: 0.2}}
    longer = whole(drifting([SEA(8), SEA(9)], 9000, **options))
    shorter = whole(drifting([SEA(8), SEA(9)], n_rows, **options))
    assert_same(shorter, (longer[0][:n_rows], longer[1][:n_rows]))


@pytest.mark.parametrize(
    "options",
    [
        {"noise": 0.3},
        {"positions": [100, 4500]},
        {"rows_per_concept": 900, "width": 400},
        {"rows_per_concept": 900, "width": 400, "kind": "incremental"},
        {"chunk_rows": 7},
    ],
)
def test_features_are_left_alone_by_noise_and_drift(options):
    expected, _ = whole(drifting([SEA(8)], 5000, seed=4))
    X, _ = whole(drifting([SEA(8), SEA(9.5)], 5000, seed=4, **options))
    np.testing.assert_array_equal(X, expected)


def test_noise_does_not_change_which_labels_a_gradual_drift_gives():
    options = {"positions": [1000], "width": 3000, "seed": 1}
    clean = whole(drifting([NEVER, ALWAYS], 5000, **options))[1]
    noisy = whole(drifting([NEVER, ALWAYS], 5000, noise=0.1, **options))[1]
    assert np.mean(clean != noisy) == pytest.approx(0.1, abs=0.015)
    more = whole(drifting([NEVER, ALWAYS], 5000, noise=0.3, **options))[1]
    assert (clean != more)[clean != noisy].all()


def test_changing_the_list_of_concepts_afterwards_changes_nothing():
    concepts = [NEVER]
    stream = drifting(concepts, 100)
    concepts[0] = ALWAYS
    assert not whole(stream)[1].any()


def test_positions_may_be_an_array():
    stream = drifting([NEVER, ALWAYS], 100, positions=np.array([20, 40]))
    assert stream.drift_positions == (20, 40)
    assert all(type(position) is int for position in stream.drift_positions)


# Noise


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.5, 1.0])
def test_noise_is_the_share_of_labels_replaced_by_another_class(noise):
    clean = whole(drifting([LED()], 50_000))[1]
    noisy = whole(drifting([LED()], 50_000, noise=noise))[1]
    is_wrong = clean != noisy
    assert is_wrong.mean() == pytest.approx(noise, abs=0.01)
    if noise >= 0.5:
        steps = np.bincount((noisy - clean)[is_wrong] % 10, minlength=10)
        np.testing.assert_allclose(steps[1:] / is_wrong.sum(), 1 / 9, atol=0.01)


def test_rows_made_again_for_imbalance_do_not_make_a_concept_move():
    X, y = whole(drifting([Counting("one"), Counting("two")], 10_000, class_shares={"a": 0.1}))
    np.testing.assert_array_equal(X[:, 0], np.arange(10_000))
    assert np.mean(y == "a") == pytest.approx(0.1, abs=0.01)
    options = {"rows_per_concept": 300, "width": 200}
    mixed = drifting([Counting("one"), Counting("two")], 10_000, **options)
    unequal = drifting(
        [Counting("one"), Counting("two")], 10_000, class_shares={"a": 0.1}, **options
    )
    np.testing.assert_array_equal(whole(unequal)[0], whole(mixed)[0])


# What is refused


@pytest.mark.parametrize(
    ("concepts", "options", "message"),
    [
        ([], {}, "one or more concepts"),
        ([SEA(8), Sine(1)], {}, "same features and classes"),
        ([LED(), LED(n_irrelevant=3)], {}, "same features and classes"),
        ([RandomRBF(2, 2), RandomRBF(2, 3)], {}, "same features and classes"),
        ([SEA(8), Hyperplane((1, 2, 3))], {"kind": "incremental"}, "concepts of one kind"),
        ([Mixed(1), Mixed(2)], {"kind": "incremental"}, "numbers can move"),
        ([SEA(8), SEA(9)], {"kind": "sudden"}, "kind must be one of gradual, incremental"),
        ([SEA(8), SEA(9)], {"kind": ["gradual", "gradual"]}, "kind needs one value"),
        ([SEA(8), SEA(9)], {"kind": 3}, "kind must be one of"),
        ([SEA(8), SEA(9)], {"width": -1}, "width must be"),
        ([SEA(8), SEA(9)], {"width": 0.5}, "width must be"),
        ([SEA(8), SEA(9)], {"width": [1, 2]}, "width needs one value"),
        ([SEA(8), SEA(9)], {"positions": [20, 40], "width": 21}, "takes 21 rows"),
        ([SEA(8), SEA(9)], {"positions": [20, 20]}, "positions must rise"),
        ([SEA(8), SEA(9)], {"positions": [0]}, "positions must be"),
        ([SEA(8), SEA(9)], {"positions": [1.5]}, "positions must be"),
        ([SEA(8), SEA(9)], {"rows_per_concept": 50}, "positions or rows_per_concept, not both"),
    ],
)
def test_a_bad_composition_is_refused_at_once(concepts, options, message):
    with pytest.raises(InputError, match=message):
        drifting(concepts, 100, **({"positions": [50], "width": 10} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows_per_concept": 0}, "rows_per_concept must be"),
        ({"rows_per_concept": 10, "width": 11}, "takes 11 rows"),
        ({"rows_per_concept": 10, "width": [1]}, "one for all drifts"),
        ({"width": -1}, "width must be"),
        ({"kind": "sudden"}, "kind must be"),
        ({"noise": -0.1}, "noise must be"),
        ({"noise": "much"}, "noise must be"),
        ({"seed": 0.5}, "seed must be"),
        ({"chunk_rows": 0}, "chunk_rows must be"),
        ({"n_rows": 0}, "n_rows must be"),
        ({"class_shares": 0.1}, "class_shares must map"),
        ({"class_shares": {2: 0.1}}, "class_shares names 2; the classes are 0, 1"),
        ({"class_shares": {1: 1.1}}, "class_shares must be between 0 and 1"),
        ({"class_shares": {1: (0.3, 0.1)}}, "must be low to high"),
        ({"class_shares": {1: (0.1, 0.2, 0.3)}}, "must be low to high"),
        ({"class_shares": {1: (None, 0.2)}}, "class_shares must be between 0 and 1"),
        ({"class_shares": {0: 0.6, 1: 0.6}}, "must not add up to more than 1"),
        ({"class_shares": {0: 0.3, 1: 0.3}}, "of all classes must add up to 1"),
    ],
)
def test_bad_options_are_refused_at_once(options, message):
    with pytest.raises(InputError, match=message):
        drifting([SEA(8), SEA(9)], **options)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="nois"):
        drifting([RFID()], nois=0.1)


def test_classes_have_the_shares_asked_for_and_the_others_keep_their_proportions():
    concept = RandomRBF(n_features=3, n_classes=4, n_centroids=8, seed=2)
    natural = np.bincount(whole(drifting([concept], 50_000))[1]) / 50_000
    y = whole(drifting([concept], 50_000, class_shares={1: 0.6, 2: 0.1}))[1]
    shares = np.bincount(y) / 50_000
    assert shares[1] == pytest.approx(0.6, abs=0.01)
    assert shares[2] == pytest.approx(0.1, abs=0.01)
    assert shares[0] / shares[3] == pytest.approx(natural[0] / natural[3], rel=0.08)


def test_shares_of_all_classes_may_be_given():
    y = whole(drifting([Stagger(1)], 20_000, class_shares={0: 0.5, 1: 0.5}))[1]
    assert y.mean() == pytest.approx(0.5, abs=0.01)


def test_a_class_can_be_left_out():
    y = whole(drifting([LED()], 10_000, class_shares={3: 0.0}))[1]
    assert set(y) == set(range(10)) - {3}


def test_a_share_can_swing():
    y = whole(drifting([Sine(1)], 200_000, class_shares={0: (0.1, 0.9)}))[1]
    found = (y == 0).reshape(20, 20, 500).mean(axis=(0, 2))
    middles = (np.arange(20) + 0.5) / 20
    expected = 0.5 - 0.4 * np.cos(2.0 * np.pi * middles)
    np.testing.assert_allclose(found, expected, atol=0.03)


def test_imbalance_keeps_the_boundary_through_every_kind_of_drift():
    for kind in ("gradual", "incremental"):
        options = {"positions": [2000], "width": 4000, "kind": kind}
        stream = drifting([SEA(4), SEA(14)], 8000, class_shares={1: 0.3}, **options)
        X, y = whole(stream)
        totals = X[:, 0] + X[:, 1]
        assert y.mean() == pytest.approx(0.3, abs=0.02)
        assert y[totals <= 4].all()
        assert not y[totals > 14].any()
        np.testing.assert_array_equal(y[:2000], totals[:2000] <= 4)
        np.testing.assert_array_equal(y[6000:], totals[6000:] <= 14)
        if kind == "incremental":
            thresholds = 4 + 10 * (np.arange(4000) + 0.5) / 4000
            np.testing.assert_array_equal(y[2000:6000], totals[2000:6000] <= thresholds)


def test_imbalance_leaves_rows_that_are_right_as_they_are():
    plain = whole(drifting([SEA(8)], 5000))
    X, y = whole(drifting([SEA(8)], 5000, class_shares={1: 0.1}))
    is_kept = (X == plain[0]).all(axis=1)
    assert is_kept.mean() > 0.5
    np.testing.assert_array_equal(y[is_kept], plain[1][is_kept])
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] <= 8)


def test_a_class_that_does_not_occur_cannot_have_a_share():
    stream = drifting([SEA(-1.0)], 100, class_shares={1: 0.01})
    with pytest.raises(InputError, match="class 1 is too rare in a concept"):
        whole(stream)
