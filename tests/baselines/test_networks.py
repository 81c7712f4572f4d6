"""What all networks for tasks share: when a task begins, labels, seeds, parameters."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from devfnn.errors import InputError

torch = pytest.importorskip("torch")

from devfnn.baselines.networks.den import DEN  # noqa: E402
from devfnn.baselines.networks.hat import HAT  # noqa: E402
from devfnn.baselines.networks.pnn import PNN  # noqa: E402

ALL = pytest.mark.parametrize("kind", [PNN, HAT, DEN])


def rows_of(seed, n_rows=320, n_features=3):
    """Rows with a linear boundary."""
    X = np.random.default_rng(seed).random((n_rows, n_features))
    return X, (X.sum(axis=1) > n_features / 2).astype(int)


def answers(model, strange):
    """What is said of each chunk before it is learned; the labels of one chunk are permuted."""
    said = []
    for seed in range(6):
        X, y = rows_of(seed, 160)
        if seed:
            said.append(model.predict_proba(X))
        model.learn(X, np.random.default_rng(seed).permutation(y) if seed == strange else y)
    return said


@ALL
@pytest.mark.parametrize("block_chunks", [1, 2])
def test_labels_of_the_chunk_that_is_predicted_are_never_read(kind, block_chunks):
    plain = answers(kind(block_chunks=block_chunks), strange=None)
    permuted = answers(kind(block_chunks=block_chunks), strange=4)
    is_same = [np.array_equal(*pair) for pair in zip(plain, permuted, strict=True)]
    assert is_same == [True] * 4 + [False]  # chunks 1 to 5


@ALL
def test_tasks_begin_with_equal_blocks_of_a_known_stream(kind):
    model, starts = kind(n_chunks=10), []
    for seed in range(12):
        events = model.learn(*rows_of(seed, 40))
        starts += [seed for event in events if event.kind == "TaskStarted"]
    assert starts == [4, 7]


@ALL
def test_the_cap_of_tasks_can_be_lifted(kind):
    model = kind(block_chunks=1, max_tasks=None)
    for seed in range(5):
        model.learn(*rows_of(seed, 40))
    assert model.n_tasks == 5


@ALL
def test_labels_are_anything_hashable_and_may_come_later(kind):
    model = kind(block_chunks=2, max_tasks=2)
    X, y = rows_of(0)
    model.learn(X, ["up"] * len(X))
    for seed in range(5):
        X, y = rows_of(seed)
        labels = [("late", 1) if value else seed for value in y]
        events = model.learn(X, labels)
        assert [event.kind for event in events].count("ClassAdded") == (2 if seed == 0 else 1)
    assert set(model.classes) == {"up", ("late", 1), *range(5)}
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), 7)
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert set(model.predict(X)) <= set(model.classes)


@ALL
def test_the_seed_decides_and_a_copy_goes_on_alone(kind):
    first, second, other = kind(1), kind(1), kind(2)
    state = torch.random.get_rng_state()
    for seed in range(3):
        for model in (first, second, other):
            model.learn(*rows_of(seed))
    X, y = rows_of(7)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))
    again = pickle.loads(pickle.dumps(first))
    before = first.predict_proba(X)
    copy.deepcopy(first).learn(X, y)
    assert np.array_equal(first.predict_proba(X), before)
    first.learn(X, y)
    again.learn(X, y)
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    assert torch.equal(torch.random.get_rng_state(), state)


@ALL
def test_huge_values_leave_probabilities_sound(kind):
    model = kind(activation="leaky_relu", optimizer="sgd")
    X, y = rows_of(0)
    X[0] = 1e6
    for _ in range(3):
        model.learn(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    X[0] = 2e6
    with pytest.raises(InputError, match="scale them first"):
        model.learn(X, y)


def test_pytorch_is_loaded_by_nobody_else():
    code = "import sys, devfnn, devfnn.baselines, devfnn.baselines.networks; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" not in done.stdout.split()


BAD_PARAMETERS = [
    *((kind, {"widht": 3}) for kind in (PNN, HAT, DEN)),
    (PNN, {"width": 0}),
    (HAT, {"embedding": "oracle"}),
    (HAT, {"learning_rate": float("nan")}),
    *((kind, {"seed": -1}) for kind in (PNN, HAT, DEN)),
    (PNN, {"stream": "moon"}),
    (HAT, {"epochs": 1.5}),
    (PNN, {"classes": 5}),
    (HAT, {"classes": "ab"}),
    (PNN, {"n_chunks": 0}),
    (DEN, {"head_l1": -0.1}),
    (DEN, {"new_units": -1}),
    (DEN, {"loss_limit": float("nan")}),
    (DEN, {"drift_limit": -1.0}),
    (DEN, {"max_units": 0}),
    (DEN, {"inner_epochs": 0}),
]


@pytest.mark.parametrize(("kind", "parameters"), BAD_PARAMETERS, ids=str)
def test_parameters_are_checked(kind, parameters):
    (name,) = parameters
    with pytest.raises(InputError, match=rf"{name} must be |no parameter is called 'widht'"):
        kind(**parameters)
