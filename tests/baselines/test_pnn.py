"""The progressive network, and what all networks for tasks share."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

from devfnn.errors import InputError, NotLearnedError

torch = pytest.importorskip("torch")

from devfnn.baselines.networks.hat import HAT  # noqa: E402
from devfnn.baselines.networks.pnn import PNN  # noqa: E402

BOTH = pytest.mark.parametrize("kind", [PNN, HAT])


def rows_of(seed, n_rows=320, n_features=3):
    """Rows with a linear boundary."""
    X = np.random.default_rng(seed).random((n_rows, n_features))
    return X, (X.sum(axis=1) > n_features / 2).astype(int)


def two_columns(seed=0, **parameters):
    """A network that has just begun its second column."""
    model = PNN(seed, block_chunks=1, max_tasks=2, **parameters)
    model.learn(*rows_of(0))
    X, y = rows_of(1)
    model.learn(X, 1 - y)
    return model


def bits(tensors):
    return [tensor.detach().numpy().tobytes() for tensor in tensors]


PROBE = torch.from_numpy(np.random.default_rng(9).random((40, 3)))


# ---- columns


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_an_old_column_never_changes(optimizer):
    model = PNN(0, block_chunks=1, max_tasks=2, optimizer=optimizer)
    model.learn(*rows_of(0))
    tensors, scores = bits(model.columns[0].tensors()), bits([model.task_logits(PROBE, 0)])
    for seed in range(1, 6):  # 10 steps each
        X, y = rows_of(seed)
        model.learn(X, 1 - y)
    assert len(model.columns) == 2
    assert bits(model.columns[0].tensors()) == tensors
    assert bits([model.task_logits(PROBE, 0)]) == scores


def test_only_the_newest_column_has_gradients():
    model = two_columns()
    model.task_logits(PROBE, 1).square().sum().backward()
    assert all(tensor.grad is None for tensor in model.columns[0].tensors())
    assert all(tensor.grad.abs().sum() > 0 for tensor in model.columns[1].tensors())


def test_a_column_reads_those_before_it():
    model = two_columns()
    before = model.task_logits(PROBE, 1)
    cut, moved = copy.deepcopy(model), copy.deepcopy(model)
    with torch.no_grad():
        for adapter in cut.columns[1].adapters:
            adapter.outputs.zero_()
        moved.columns[0].weights[1] += 0.5
    assert (cut.task_logits(PROBE, 1) - before).abs().max() > 1e-6
    assert (moved.task_logits(PROBE, 1) - before).abs().max() > 1e-6
    with torch.no_grad():
        for each in (model, moved):
            for adapter in each.columns[1].adapters:
                adapter.scales.zero_()
                adapter.bias.zero_()
    assert torch.equal(model.task_logits(PROBE, 1), moved.task_logits(PROBE, 1))
    with torch.no_grad():
        for adapter in model.columns[1].adapters:
            adapter.outputs.zero_()
    assert torch.equal(model.task_logits(PROBE, 1), moved.task_logits(PROBE, 1))


def steps_to_flip(seed, is_cut):
    """Steps that a new column takes until it knows that the labels are flipped."""
    X, y = rows_of(seed)
    model = PNN(seed, max_tasks=2, batch_rows=len(X), epochs=600)
    model.learn(X, y)
    model.settings = dataclasses.replace(model.settings, epochs=1)
    model._start_task(3)
    if is_cut:
        cut_laterals(model)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(1 - y)
    for step in range(1, 1000):
        model._train(inputs, targets)
        scores = model.task_logits(inputs, 1)
        if torch.nn.functional.cross_entropy(scores, targets) < 0.3:
            return step
    return 1000


def cut_laterals(model):
    """Let the newest column stand alone."""
    for adapter in model.columns[1].adapters:
        adapter.outputs.requires_grad_(False)
        adapter.outputs.zero_()


def test_a_flipped_task_is_learned_faster_with_the_columns_before():
    joined = [steps_to_flip(seed, is_cut=False) for seed in range(5)]
    alone = [steps_to_flip(seed, is_cut=True) for seed in range(5)]
    assert np.mean(joined) < np.mean(alone) < 1000


@pytest.mark.parametrize(("n_features", "nodes"), [(3, 11), (4, 14), (8, 26), (41, 125)])
def test_nodes_are_those_of_the_table(n_features, nodes):
    model = PNN(block_chunks=1)
    for number in range(1, 5):
        model.learn(*rows_of(number, 40, n_features))
        assert model.n_rules == nodes * min(number, 3)
    assert model.n_layers == 3
    assert model.n_parameters == model._count(model.size, n_features, 2)


@pytest.mark.parametrize(("stream", "n_features", "n_classes"), [("susy", 18, 2), ("rfid", 3, 4)])
def test_streams_that_break_the_formula_have_30_nodes(stream, n_features, n_classes):
    model = PNN(stream=stream, block_chunks=1, classes=range(n_classes))
    for seed in range(3):
        model.learn(*rows_of(seed, 40, n_features))
    assert (model.n_rules, model.n_layers) == (30, 3)


def test_the_second_reading_is_one_network_of_as_many_nodes():
    model = PNN(reading="B", block_chunks=1)
    for seed in range(3):
        model.learn(*rows_of(seed))
    assert (model.n_rules, model.n_tasks, model.size.width) == (33, 1, 11)


def test_linear_adapters_count_and_learn():
    model = two_columns(adapter="linear")
    assert model.n_parameters == model._count(model.size, 3, 2)
    cut = copy.deepcopy(model)
    with torch.no_grad():
        cut.columns[1].adapters[1].mixing.zero_()
    assert not torch.equal(cut.task_logits(PROBE, 1), model.task_logits(PROBE, 1))


def test_a_warm_column_starts_from_the_one_before():
    model = two_columns(warm_start=True, learning_rate=1e-12)
    for old, new in zip(model.columns[0].weights, model.columns[1].weights, strict=True):
        assert torch.allclose(old, new, atol=1e-9)


# ---- what all networks share


def answers(model, strange):
    """What is said of each chunk before it is learned; the labels of one chunk are permuted."""
    said = []
    for seed in range(8):
        X, y = rows_of(seed)
        if seed:
            said.append(model.predict_proba(X))
        model.learn(X, np.random.default_rng(seed).permutation(y) if seed == strange else y)
    return said


@BOTH
@pytest.mark.parametrize("policy", ["blocks", "drift", "chunk"])
@pytest.mark.parametrize("choice", ["latest", "best_prev", "entropy"])
def test_labels_of_the_chunk_that_is_predicted_are_never_read(kind, policy, choice):
    parameters = {"policy": policy, "choice": choice, "block_chunks": 2, "min_gap": 1}
    plain = answers(kind(**parameters), strange=None)
    permuted = answers(kind(**parameters), strange=4)
    is_same = [np.array_equal(*pair) for pair in zip(plain, permuted, strict=True)]
    assert is_same[:4] == [True] * 4  # chunks 1 to 4
    assert choice != "latest" or not is_same[4]  # with others, an old task may have been chosen


@BOTH
def test_tasks_begin_with_equal_blocks_of_a_known_stream(kind):
    model, starts = kind(n_chunks=10), []
    for seed in range(12):
        events = model.learn(*rows_of(seed, 40))
        starts += [seed for event in events if event.kind == "TaskStarted"]
    assert starts == [4, 7]


def test_switches_are_true_or_false():
    with pytest.raises(InputError, match="warm_start must be True or False"):
        PNN(warm_start="no")


@BOTH
def test_the_cap_of_tasks_can_be_lifted(kind):
    model = kind(policy="chunk", max_tasks=None)
    for seed in range(5):
        model.learn(*rows_of(seed, 40))
    assert model.n_tasks == 5


@BOTH
def test_a_task_begins_when_errors_change_inside_a_chunk(kind):
    model, kinds = kind(policy="drift", horizon=10.0), []
    for seed in range(20):
        X, y = rows_of(seed)
        y = np.where(np.arange(len(y)) < 60, 1 - y, y) if seed == 12 else y
        kinds.append([event.kind for event in model.learn(X, y)])
    assert kinds[12] == ["DriftFound", "TaskStarted"]
    assert kinds[1:5] == [[]] * 4


def test_the_task_that_was_best_on_the_last_chunk_predicts():
    model = PNN(block_chunks=15, max_tasks=2, choice="best_prev", epochs=5, width=6)
    for seed in range(30):
        X, y = rows_of(seed)
        model.learn(X, y if seed < 15 else 1 - y)
    assert model._best_task == 1
    X, y = rows_of(50)
    model.learn(X[:32], y[:32])
    assert model._best_task == 0
    assert (model.predict(X) == y).mean() > 0.8


def test_the_most_certain_task_predicts():
    model = two_columns(choice="entropy")
    with torch.no_grad():
        model.columns[0].weights[-1] *= 100.0
    expected = model._task_probabilities(PROBE, 0)
    assert np.array_equal(model.predict_proba(PROBE.numpy()), expected)


@BOTH
def test_labels_are_anything_hashable_and_may_come_later(kind):
    model = kind(block_chunks=2, max_tasks=2, choice="best_prev")
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


@BOTH
def test_a_refused_call_changes_nothing(kind):
    model = kind()
    with pytest.raises(NotLearnedError):
        model.predict([[1.0]])
    X, y = rows_of(0)
    model.learn(X, y)
    state = pickle.dumps(model)
    bad = X.copy()
    bad[3, 1] = np.nan
    for rows, labels in [
        (bad, y),
        (X, y[:-1]),
        (X[:, :2], y),
        (X[0], y),
        (X, [None, *y[1:]]),
        (X, [[1], *y[1:]]),
        (X.astype(str), y),
    ]:
        with pytest.raises(InputError):
            model.learn(rows, labels)
    with pytest.raises(InputError):
        model.predict(bad)
    assert model.learn(X[:0], []) == []
    assert pickle.dumps(model) == state


@BOTH
@pytest.mark.parametrize(
    "parameters",
    [
        {"widht": 3},
        {"width": 0},
        {"policy": "never"},
        {"choice": "oracle"},
        {"learning_rate": float("nan")},
        {"seed": -1},
        {"stream": "moon"},
        {"epochs": 1.5},
        {"classes": 5},
        {"classes": "ab"},
        {"n_chunks": 0},
    ],
)
def test_parameters_are_checked(kind, parameters):
    with pytest.raises(InputError):
        kind(**parameters)


@BOTH
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


@BOTH
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


@BOTH
@pytest.mark.parametrize("budget", [200, 1000])
def test_networks_of_matched_size_come_near_the_budget(kind, budget):
    model = kind(size="matched", budget=budget, block_chunks=1)
    for seed in range(3):
        model.learn(*rows_of(seed, 40))
    assert abs(model.n_parameters - budget) < 0.25 * budget


def test_pytorch_is_loaded_by_nobody_else():
    code = "import sys, devfnn, devfnn.baselines, devfnn.baselines.networks; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" not in done.stdout.split()
