"""Positions in sources are stored with what was learned of them."""

import copy
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, InputError, load
from devfnn.storage import dump
from devfnn.types import Position
from storage.stored import Tensors, forged, refused


def test_positions_are_stored_and_copied(tmp_path: pathlib.Path) -> None:
    model = DEVFNN()
    model.positions = {"größe\udcff": Position(3, 2**32 - 1), "a queue": Position(2**40)}
    model.save(tmp_path / "model")
    for other in (
        load(tmp_path / "model"),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ):
        assert other.positions == model.positions
        assert isinstance(other.positions["a queue"], Position)
        assert dump(other) == dump(model)


def test_positions_are_stored_in_one_order() -> None:
    one, other = DEVFNN(), DEVFNN()
    one.positions = {"a": Position(1), "b": Position(2)}
    other.positions = {"b": Position(2), "a": Position(1)}
    assert dump(one) == dump(other)


WRONG: dict[str, Any] = {
    "no name": {1: Position(1)},
    "a name that is too long": {"x" * 4097: Position(1)},
    "a plain number": {"a": 3},
    "a negative count": {"a": Position(-1)},
    "a count that is none": {"a": Position(1.5)},  # type: ignore[arg-type]
    "a truth value": {"a": Position(True)},
    "a huge fingerprint": {"a": Position(1, 2**62)},
    "three numbers": {"a": (1, 2, 3)},
    "too many": {str(n): Position(n) for n in range(1001)},
    "no dict": [Position(1)],
}


@pytest.mark.parametrize("what", WRONG)
def test_positions_that_cannot_be_are_refused(what: str) -> None:
    model = DEVFNN()
    model.positions = {"a": Position(7)}
    with pytest.raises(InputError, match="position"):
        model.positions = WRONG[what]
    with pytest.raises(InputError, match="position"):
        model.learn([[1.0]], [0], positions=WRONG[what])
    assert model.positions == {"a": Position(7)} and not model.n_rows


def test_rows_and_their_position_are_learned_at_once() -> None:
    model = DEVFNN()
    model.learn([[1.0], [2.0]], [0, 1], positions={"a": Position(2)})
    model.learn_rows([[1.0]], [0], positions={"b": Position(1, 5)})
    assert model.positions == {"a": Position(2), "b": Position(1, 5)}
    with pytest.raises(InputError, match="infinite"):
        model.learn([[1.0], [np.inf]], [0, 1], positions={"a": Position(4)})
    assert model.positions["a"] == Position(2)


@pytest.mark.parametrize(
    "positions",
    [
        *([], None, {"a": 1}, {"a": [1]}, {"a": [1, 2, 3]}, {"a": [-1, 0]}, {"a": [1.0, 0]}),
        *({"a": [True, 0]}, {"a": {"rows": 1}}, {"x" * 4097: [1, 0]}, {"a": "12"}),
        {str(n): [n, 0] for n in range(1001)},
    ],
)
def test_files_with_positions_that_cannot_be_are_refused(positions: Any) -> None:
    def change(header: dict[str, Any], tensors: Tensors) -> None:
        header["positions"] = positions

    refused(forged(change), "position|header is malformed|a header has|other fields")


# ---- fingerprints


def test_a_position_does_not_depend_on_how_rows_are_cut(rng: np.random.Generator) -> None:
    X = rng.normal(size=(100, 3))
    X[5, 1] = np.nan
    for y in (
        rng.integers(0, 3, 100),
        np.array([1, True, 1.0, "ä\ud800", (2, "b")] * 20, object),
    ):
        whole = Position().after(X, y)
        position = Position()
        for start, stop in ((0, 0), (0, 1), (1, 60), (60, 100)):
            position = position.after(X[start:stop], y[start:stop])
        assert position == whole == Position().after(X, y.astype(object))
        assert whole.rows == 100


def test_other_rows_have_another_fingerprint(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    known = Position().after(X, y)
    other = X.copy()
    other[7, 1] += 1e-12
    turned = X[::-1], y[::-1]
    swapped = X[[1, 0, *range(2, 20)]]
    for rows, labels in ((other, y), (X, 1 - y), turned, (swapped, y), (X[:, ::-1], y)):
        found = Position().after(rows, labels)
        assert found.rows == 20 and found.fingerprint != known.fingerprint
