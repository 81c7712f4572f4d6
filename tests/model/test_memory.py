"""Calls that need much memory take it in parts, and give it back."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from build import count
from devfnn import DEVFNN
from devfnn.arrays import Floats, Ints
from devfnn.model import network as networks
from devfnn.storage import dump
from scenes import config_of, each_network

MB = 2**20


def rows(n_rows: int, n_classes: int = 2, seed: int = 0) -> tuple[Floats, Ints]:
    """Rows of as many classes."""
    X = np.random.default_rng(seed).random((n_rows, 3))
    return X, (X[:, 0] * n_classes).astype(np.int64)


def peak(do: Callable[[], object]) -> int:
    """Most bytes that a call takes at once, and that are kept after it."""
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@each_network
def test_predictions_are_made_in_blocks(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, (X, y) = DEVFNN(config_of(network, chunk_rows=100)), rows(count(400, 60))
    model.learn(X, y)
    expected, wanted = model.predict_proba(X), model.wants_label(X)
    monkeypatch.setattr(networks, "BLOCK_BYTES", 5000)
    n_blocks = len([*model._known().parts(len(X), networks.BLOCK_BYTES)])
    assert n_blocks > 1
    np.testing.assert_array_equal(model.predict_proba(X + 0.0), expected)
    np.testing.assert_array_equal(model.wants_label(X), wanted)
    assert model._known().said is None


def test_what_a_prediction_needs_does_not_grow_with_rows_or_classes() -> None:
    model = DEVFNN(config_of("swift"), classes=range(count(1000, 5)))
    model.learn(*rows(200))
    X, _ = rows(count(4000, 100))
    result = 8 * len(X) * len(model.classes)
    at_once = 8 * len(X) * len(model.classes) * model.n_layers
    assert peak(lambda: model.predict_proba(X)) < result + 1.5 * networks.BLOCK_BYTES + MB
    assert at_once > 4 * networks.BLOCK_BYTES or count(0, 1)


def test_nothing_large_is_kept_after_a_prediction() -> None:
    model = DEVFNN(config_of("swift"))
    model.learn(*rows(200))
    X, _ = rows(count(400_000, 200))
    tracemalloc.start()
    model.predict(X)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2 * MB


@each_network
def test_a_chunk_too_large_for_memory_is_learned_in_parts(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows(count(600, 60))
    whole, parts = (DEVFNN(config_of(network), classes=[0, 1]) for _ in range(2))
    first = slice(0, len(X) // 3)
    for model in (whole, parts):
        model.learn(X[first], y[first])
    X, y = X[first.stop :], y[first.stop :]
    n_bytes = 8 * 20 * len(X) // 3
    monkeypatch.setattr(networks.Network.parts, "__defaults__", (n_bytes,))
    pieces = [*parts._known().parts(len(X))]
    assert len(pieces) > 1
    events = whole.learn(X, y)
    assert events == [event for piece in pieces for event in parts.learn(X[piece], y[piece])]
    assert dump(whole) == dump(parts)


def test_no_room_for_a_chunk_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (X, y) = DEVFNN(config_of("swift")), rows(count(300, 60))
    model.learn(X, y)
    before = dump(model)
    n_left = 0

    def np_empty(*args: object, **options: object) -> Floats:
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise MemoryError
        return empty(*args, **options)  # type: ignore[call-overload]

    empty = np.empty
    monkeypatch.setattr(networks.np, "empty", np_empty)
    n_failed = 0
    for n_calls in range(20):
        n_left = n_calls
        try:
            model.learn(X, ["other"] * len(X))
        except MemoryError:
            n_failed += 1
            n_left = 10**9
            assert dump(model) == before
        else:
            break
    assert n_failed > 1
