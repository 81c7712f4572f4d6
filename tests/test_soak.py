"""A long and unkind life in short: nothing goes wrong, and what would go wrong is told."""

import pathlib
import sys

import numpy as np
import pytest

from build import only_compiled
from devfnn import DEVFNN, Config
from devfnn.model import presets

# Not for longer than it takes: benchmarks/streams.py would hide the folder tests/streams.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "benchmarks"))

import soak
from soak import Soak, Tenth
from soak_rows import ROUND, ROWS, Life

sys.path.pop()

SWIFT = presets.swift().replace(missing="skip")


def lived(config, n_chunks):
    """A model after so many chunks, and what was noticed."""
    return Soak(DEVFNN(config.replace(missing="skip")), Life(n_chunks)).run()


@only_compiled
@pytest.mark.parametrize(
    ("config", "n_chunks", "event"),
    [
        (presets.swift(), 400, "DriftFound"),
        (Config(), 100, "DriftFound"),
        (presets.stacked(), 40, "RuleBorn"),
    ],
    ids=["swift", "default", "stacked"],
)
def test_a_life_of_drift_glitches_and_new_classes_leaves_a_sound_model(config, n_chunks, event):
    found = lived(config, n_chunks)
    assert found.problems == []
    assert found.model.n_rows == n_chunks * ROWS
    assert len(found.model.classes) == 6
    assert found.events[event] > 0
    assert found.least["gain"] > 0.0
    n_right, n_scored = found.tenths[-1].hits.sum(axis=0)
    assert n_right / n_scored > 0.65  # of six classes, with noise


def test_a_chunk_is_made_by_its_number():
    life = Life(400)
    for index in (0, 97, 350):
        first, again = life.chunk(index), life.chunk(index)
        np.testing.assert_array_equal(first.X, again.X)
        assert first.y.tolist() == again.y.tolist()
    assert life.chunk(1).X.tolist() != life.chunk(2).X.tolist()


def test_all_of_life_is_in_it():
    life = Life(2 * ROUND)
    chunks = [life.chunk(index) for index in range(0, 2 * ROUND)]
    for tenth in range(10):
        part = chunks[tenth * 2 * ROUND // 10 : (tenth + 1) * 2 * ROUND // 10]
        assert {chunk.concept for chunk in part} == {0, 1, 2, 3}
        assert {label for chunk in part[-20:] for label in chunk.y.tolist()} == set(range(6))
    assert set(chunks[0].y.tolist()) == {0, 1}
    hidden = [chunk.chosen for chunk in chunks if chunk.chosen is not None]
    assert 0.2 < len(hidden) / len(chunks) < 0.4
    assert np.mean(hidden) == pytest.approx(0.3, abs=0.02)
    largest = {float(np.nanmax(np.abs(chunk.X[:3, :3]))) for chunk in chunks if not chunk.is_clean}
    assert {9999.0, 1e12, 1e30} <= largest
    assert 0.01 < np.mean([not chunk.is_clean for chunk in chunks]) < 0.2


# ---- what goes wrong is told


@pytest.fixture
def short():
    """A life that has not begun."""
    return Soak(DEVFNN(SWIFT), Life(10 * ROUND))


def tenths(**last):
    """Ten tenths alike, but for the last."""
    usual = {"seconds": 10.0, "n_bytes": 1000, "resident": 10**9}
    hits = np.tile([800.0, 1000.0], (4, 1))
    return [Tenth(**usual, hits=hits) for _ in range(9)] + [
        Tenth(**{**usual, "hits": hits, **last})
    ]


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        ({"seconds": 16.0}, "slower: 16.0 s for a tenth, 10.0 s before"),
        ({"n_bytes": 1200}, "larger: 1,200 bytes, 1,000 before"),
        ({"resident": 2 * 10**9}, "the process grew"),
        ({"hits": np.tile([760.0, 1000.0], (4, 1))}, "concept 0 is known worse: 0.7600, 0.8000"),
    ],
)
def test_what_is_worse_in_the_end_is_told(short, last, problem):
    short.tenths = tenths(**last)
    assert problem in " ".join(short._worse_than_before())


def test_gaussian_layers_may_take_the_room_they_are_allowed():
    stack = Soak(DEVFNN(presets.stacked()), Life(10 * ROUND), tenths(n_bytes=15_000_000))
    assert list(stack._worse_than_before()) == []
    stack.tenths = tenths(n_bytes=40_000_000)
    assert "larger: 40,000,000 bytes" in next(stack._worse_than_before())


def test_small_changes_are_no_problem(short):
    hits = np.tile([790.0, 1000.0], (4, 1))
    short.tenths = tenths(seconds=12.0, n_bytes=1050, resident=10**9 + 10**6, hits=hits)
    assert list(short._worse_than_before()) == []


@pytest.mark.parametrize(
    ("shares", "problem"),
    [
        (np.full((ROWS, 2), np.nan), "not finite"),
        (np.tile([1.5, -0.5], (ROWS, 1)), "negative"),
        (np.full((ROWS, 2), 0.4), "do not sum to 1"),
    ],
)
def test_predictions_that_are_no_probabilities_are_told(short, monkeypatch, shares, problem):
    short._live(0, short.life.chunk(0), short.tenths[0])
    monkeypatch.setattr(short.model, "predict_proba", lambda X: shares, raising=False)
    short._live(1, short.life.chunk(1), short.tenths[0])
    assert problem in " ".join(short.problems)


def test_a_state_that_is_unsound_is_told(short):
    short._live(0, short.life.chunk(0), short.tenths[0])
    short._check(short.tenths[0])
    assert short.problems == []
    state = short.model._known().state
    state.pool.gains[state.pool.owners >= 0] *= -1.0
    state.layers.scores[0] = np.nan
    short._check(short.tenths[0])
    told = " ".join(short.problems)
    assert "not positive definite" in told
    assert "scores" in told


def test_a_file_that_does_not_go_on_alike_is_told(short, monkeypatch):
    for index in range(3):
        short._live(index, short.life.chunk(index), short.tenths[0])
    short._save_and_go_on(2)
    assert short.problems == []
    other = DEVFNN(SWIFT)
    first = short.life.chunk(0)
    other.learn(first.X, first.y)
    monkeypatch.setattr(soak, "parse", lambda data: other)
    short._save_and_go_on(2)
    assert len(short.problems) == 2


@pytest.mark.parametrize("problem", [None, "it broke"])
def test_the_command_ends_with_1_if_something_went_wrong(monkeypatch, capsys, problem):
    monkeypatch.setattr(Soak, "_worse_than_before", lambda own: filter(None, [problem]))
    assert soak.main(["--rows", "20000", "--models", "swift"]) == (0 if problem is None else 1)
    told = capsys.readouterr().out
    assert ("swift, it broke" if problem else "all is well") in told
    assert "rows/s" in told
