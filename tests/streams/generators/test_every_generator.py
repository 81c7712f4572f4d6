"""What holds for every generated stream, and for every concept they are made of."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import devfnn.streams
from devfnn.errors import InputError
from devfnn.streams import (
    LED,
    RFID,
    SEA,
    Agrawal,
    Hyperplane,
    Mixed,
    RandomRBF,
    Sine,
    Stagger,
    drifting,
)
from devfnn.streams.generators.catalogue import GENERATORS
from streams.generators.gathered import assert_same, made, made_in_pieces, situated, started, whole

CONCEPTS = [
    SEA(8.0),
    Hyperplane((0.1, 0.5, 0.3)),
    Hyperplane((0.1, 0.5, 0.3), n_drift_features=2, magnitude=0.01),
    RFID(),
    Agrawal(4, perturbation=0.1),
    LED(n_swapped=3),
    RandomRBF(n_features=3, n_classes=3),
    RandomRBF(n_features=3, n_classes=3, speed=0.01),
    Sine(3, has_irrelevant=True),
    Stagger(2),
    Mixed(1),
]

every_generator = pytest.mark.parametrize("name", GENERATORS)
every_concept = pytest.mark.parametrize("concept", CONCEPTS, ids=repr)


@every_generator
def test_a_stream_starts_anew_when_iterated_again(name):
    stream = GENERATORS[name].make(6000)
    assert_same(whole(stream), whole(stream))


@every_generator
def test_two_iterations_at_once_do_not_disturb_each_other(name):
    stream = GENERATORS[name].make(5000, chunk_rows=1000)
    expected = whole(stream)
    pairs = list(zip(stream, stream, strict=True))
    for side in range(2):
        chunks = [pair[side] for pair in pairs]
        assert_same(
            (np.concatenate([c.X for c in chunks]), np.concatenate([c.y for c in chunks])), expected
        )


@every_generator
@settings(max_examples=5)
@given(chunk_rows=st.integers(1, 3000))
def test_rows_do_not_depend_on_the_chunk_size(name, chunk_rows):
    make = GENERATORS[name].make
    options = {"rows_per_concept": 700, "width": 300, "noise": 0.1}
    rows = whole(make(5000, chunk_rows=chunk_rows, **options))
    assert_same(rows, whole(make(5000, chunk_rows=5000, **options)))


@every_generator
def test_another_seed_gives_other_rows(name):
    make = GENERATORS[name].make
    first, second = whole(make(1000, seed=0)), whole(make(1000, seed=1))
    assert not np.array_equal(first[0], second[0])
    assert not np.array_equal(first[1], second[1])


@every_generator
def test_rows_are_what_the_stream_says(name):
    stream = GENERATORS[name].make(50_000)
    chunks = list(stream)
    assert stream.n_rows == sum(len(chunk.y) for chunk in chunks) == 50_000
    assert not stream.is_endless
    assert len(set(stream.feature_names)) == len(stream.feature_names)
    X, y = whole(stream)
    assert X.shape == (50_000, len(stream.feature_names))
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert set(y.tolist()) == set(stream.classes)
    assert len(stream.class_names) in (0, len(stream.classes))


@every_generator
def test_a_stream_without_a_number_of_rows_never_ends(name):
    stream = GENERATORS[name].make(None, chunk_rows=700)
    assert stream.is_endless
    assert stream.n_rows is None
    chunks = list(itertools.islice(stream, 20))
    assert [len(chunk.y) for chunk in chunks] == [700] * 20
    rows = np.concatenate([chunk.X for chunk in chunks]), np.concatenate([c.y for c in chunks])
    assert_same(rows, whole(stream.take(14_000)))
    assert_same(rows, whole(GENERATORS[name].make(14_000)))


@every_generator
def test_drifts_are_where_the_options_say(name):
    make = GENERATORS[name].make
    has_concepts = bool(make(None).drift_positions)
    assert make(1000, rows_per_concept=400).drift_positions == ((400, 800) if has_concepts else ())
    assert make(1000, positions=[300]).drift_positions == ((300,) if has_concepts else ())
    assert make(1000, rows_per_concept=None).drift_positions == ()
    first = list(itertools.islice(make(None).drift_positions, 5))
    assert first == sorted(set(first))
    assert all(position >= 1000 for position in first)
    assert has_concepts or name in ("hyperplane", "rbf")


@every_generator
def test_a_drift_changes_the_labels_or_the_features(name):
    make = GENERATORS[name].make
    if not make(None).drift_positions:
        pytest.skip("has one concept, which moves by itself")
    options = {"noise": 0.0, "class_shares": None}
    still = whole(make(10_000, rows_per_concept=None, **options))
    drifted = whole(make(10_000, positions=[5000], **options))
    assert_same((still[0][:5000], still[1][:5000]), (drifted[0][:5000], drifted[1][:5000]))
    is_other = (still[1] != drifted[1]) | (still[0] != drifted[0]).any(axis=1)
    assert is_other[5000:].mean() > 0.04


@every_generator
def test_noise_changes_labels_only(name):
    make = GENERATORS[name].make
    clean, noisy = whole(make(10_000, noise=0.0)), whole(make(10_000, noise=0.2))
    np.testing.assert_array_equal(clean[0], noisy[0])
    assert np.mean(clean[1] != noisy[1]) == pytest.approx(0.2, abs=0.02)


@every_generator
def test_a_class_comes_as_often_as_asked(name):
    stream = GENERATORS[name].make(20_000, noise=0.0, class_shares={1: 0.3})
    assert np.mean(whole(stream)[1] == 1) == pytest.approx(0.3, abs=0.02)


@every_generator
def test_bad_options_are_refused_at_once(name):
    make = GENERATORS[name].make
    for bad in ({"noise": 2}, {"seed": -1}, {"chunk_rows": 0}, {"class_shares": {"x": 0.1}}):
        with pytest.raises(InputError):
            make(100, **bad)
    with pytest.raises(InputError, match="n_rows must be"):
        make(0)


@every_generator
def test_the_catalogue_says_what_a_stream_is_and_where_it_comes_from(name):
    generator = GENERATORS[name]
    assert 20 <= len(generator.summary) <= 80
    assert "\n" not in generator.summary
    year = generator.citation.rsplit(" ", 1)[-1]
    assert 1980 < int(year) < 2020


def test_the_catalogue_holds_every_generator_that_is_exported():
    exported = {
        value
        for value in vars(devfnn.streams).values()
        if inspect.isfunction(value) and "generators" in value.__module__
    }
    assert {generator.make for generator in GENERATORS.values()} == exported - {drifting}


# Concepts


@every_concept
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(1, 299), max_size=8))
def test_rows_of_a_concept_do_not_depend_on_how_calls_cut_them(concept, cuts):
    draws = np.random.default_rng(1).random((300, concept.n_draws))
    assert_same(made_in_pieces(concept, draws, cuts), started(concept)(draws))


@every_concept
def test_a_concept_can_make_rows_one_by_one(concept):
    draws = np.random.default_rng(2).random((50, concept.n_draws))
    assert_same(made_in_pieces(concept, draws, range(50)), started(concept)(draws))


@every_concept
def test_a_concept_looks_at_its_own_random_numbers_only(concept):
    draws = np.random.default_rng(3).random((500, concept.n_draws + 4))
    assert_same(started(concept)(draws), started(concept)(draws[:, : concept.n_draws].copy()))


@every_concept
def test_a_concept_leaves_the_random_numbers_as_they_are(concept):
    draws = np.random.default_rng(4).random((500, concept.n_draws))
    before = draws.copy()
    X, _ = started(concept)(draws)
    np.testing.assert_array_equal(draws, before)
    assert X.shape == (500, len(concept.feature_names))


@every_concept
def test_makers_of_a_concept_do_not_share_what_they_remember(concept):
    draws = np.random.default_rng(5).random((200, concept.n_draws))
    first, second = started(concept), started(concept)
    expected = started(concept)(draws)
    first(draws)
    assert_same(second(draws), expected)


@every_concept
def test_extreme_random_numbers_make_rows_all_the_same(concept):
    for extreme in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        X, classes = started(concept)(np.full((10, concept.n_draws), extreme))
        assert np.isfinite(X).all()
        assert set(classes.tolist()) <= set(range(len(concept.classes)))


@every_concept
def test_all_classes_of_a_concept_occur(concept):
    X, classes = made(concept, 20_000)
    assert classes.dtype == np.int64
    assert set(classes.tolist()) == set(range(len(concept.classes)))
    assert len(X) == len(classes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SEA(4.0), SEA(14.0)),
        (Hyperplane((0.1, 0.9)), Hyperplane((0.9, -0.1))),
        (RFID(2.0, 0.0), RFID(3.0, 5.0)),
        (RandomRBF(2, seed=1), RandomRBF(2, seed=2)),
    ],
    ids=repr,
)
def test_what_lies_between_two_concepts_begins_with_the_old_and_ends_with_the_new(old, new):
    draws = np.random.default_rng(6).random((2000, old.n_draws))
    for concept, share in ((old, 0.0), (new, 1.0)):
        X, classes = situated(old, old.between(new, np.full(2000, share)))(draws)
        expected, expected_classes = started(concept)(draws)
        np.testing.assert_allclose(X, expected, atol=1e-9)
        np.testing.assert_array_equal(classes, expected_classes)
    middle = situated(old, old.between(new, np.full(2000, 0.5)))(draws)
    for concept in (old, new):
        rows = started(concept)(draws)
        assert not (np.array_equal(middle[0], rows[0]) and np.array_equal(middle[1], rows[1]))
