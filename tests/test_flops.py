"""The count of operations against numbers that count, and the command on few rows."""

import dataclasses
import json
import pathlib
import sys

import numpy as np
import pytest

from build import IS_COMPILED
from devfnn import DEVFNN, presets

# Not for longer than it takes: benchmarks/streams.py would hide the folder tests/streams.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "benchmarks"))

import flops
import flops_count
from flops_count import Facts, Flops

sys.path.pop()

N_ROWS = 130
"""More than two fadings of the clouds, and a look at whether a rule should split."""


def prepared(n_features: int, n_classes: int, max_clouds: int) -> flops.Prepared:
    """Arguments of the kernel after some rows of a stream without drift; no rule may split."""
    rng = np.random.default_rng(5)
    X = rng.random((4 * N_ROWS, n_features))
    y = np.minimum((X[:, 0] * n_classes).astype(np.int64), n_classes - 1)
    y[:n_classes] = np.arange(n_classes)
    config = presets.swift().replace(labels__choice="all", boxes__evidence=1e9)
    config = config.replace(growing=None, drift=None, merging=None)
    clouds = {"clouds__max_rules": max_clouds} if max_clouds else {"clouds": None}
    config = config.replace(**clouds)
    model = DEVFNN(config)
    model.learn(X[: 3 * N_ROWS], y[: 3 * N_ROWS])
    found = flops.prepare(model, flops.Chunk(X[3 * N_ROWS :], y[3 * N_ROWS :]))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("n_features", "n_classes", "max_clouds"),
    [(1, 2, 0), (1, 5, 4), (4, 2, 4), (4, 5, 0)],  # every two values of two of them
)
def test_the_count_is_that_of_numbers_that_count(
    n_features: int, n_classes: int, max_clouds: int
) -> None:
    facts, done = flops.count([prepared(n_features, n_classes, max_clouds)], N_ROWS)
    counted = {part: Flops(*each) for part, each in done.items()}
    expected = flops_count.row_flops(n_features, n_classes, facts)
    assert counted.keys() == expected.keys()
    for part, each in expected.items():
        assert counted[part] == pytest.approx(each, rel=1e-9), part
    assert (facts.clouds > 0) == (max_clouds > 0)
    assert facts.rounds >= 5


def test_the_count_of_two_features_and_classes_by_hand() -> None:
    parts = flops_count.row_flops(2, 2, Facts(rounds=6))
    assert parts["expansion"].all == 10
    # Three lines with 3 expanded features: 2 inner products of 6; a softmax of 5, 1 of them exp.
    # Three curves with 5: 2 inner products of 10, and the same softmax.
    assert parts["outputs"] == (3 * 17 + 3 * 25, 6 * 1)
    # A matrix of 3 x 3 times a row: 15, and an inner product: 6. Of 5 x 5: 45 and 10.
    assert parts["gain product"].all == 3 * 21 + 3 * 55
    # Six steps: log odds 2, a round 15, what is left for the other class 1.
    assert parts["implicit step"] == (6 * 18, 6 * 2)
    # The packed halves have 6 and 15 entries, each takes 3.
    line, curve = 10 + 2 * (2 + 6) + 4 + 3 + 18, 10 + 2 * (2 + 10) + 4 + 5 + 45
    assert parts["update"].all == 3 * line + 3 * curve
    # Two features in bins take 12, their only pair 1.
    assert parts["evidence"].all == 4 + 3 + 12 + 1
    assert parts["clouds"].all == parts["caps"].all == 0
    # A memory takes 2 in every layer, one more if it adapts; trust takes 6 in two lines.
    assert parts["row weights"].all == 6 * 2 + 3 + 2 * 6
    # Six layers of two classes; choice 11, track of errors 11 with a log; labels: a share of each
    # class 3 and its rate 2, the share of changes 3 and its rate 1, one more label 1.
    assert parts["votes"] == (24 + 11 + 11 + 2 * 5 + 4 + 1, 1)


def test_loops_do_as_many_operations_as_asked_for() -> None:
    """Twice the operations take twice the updates; arrays are as large as asked for."""
    x, y = np.ones(8), np.zeros(8)
    flops._updates_and_sum(x, y, 1, 20)
    assert y.tolist() == pytest.approx([-3e-3] * 4 + [-2e-3] * 4)  # 20 steps over 8 numbers
    y = np.zeros(8)
    flops._updates(x, y, 1, 20)
    assert y.sum() == pytest.approx(-40e-3)
    assert flops._updates_and_sum(x, np.zeros(8), 1, 4) == pytest.approx(-4e-3)


@pytest.mark.skipif(not IS_COMPILED, reason="measures compiled code")
def test_the_command_writes_what_it_measured(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flops, "QUICK", dataclasses.replace(flops.QUICK, counted_rows=3))
    file = tmp_path / "new" / "flops.json"
    flops.main(["--quick", "--streams", "sea", "led", "--json", str(file)])
    printed = capsys.readouterr().out
    assert "hyperplane" not in printed
    for word in ("sea", "led", "gain product", "in order"):
        assert word in printed
    rows = json.loads(file.read_text())["streams"]
    assert [(row["stream"], row["features"], row["classes"]) for row in rows] == [
        ("sea", 3, 2),
        ("led", 24, 10),
    ]
    for row in rows:
        assert row["counted_flops_per_row"] == pytest.approx(row["flops_per_row"], rel=1e-3)
        assert 0.0 < row["exp_log_per_row"] < 0.05 * row["flops_per_row"]
        per_second = row["flops_per_row"] * row["learn_rows_per_second"] / 1e9
        assert row["gflops"] == pytest.approx(per_second)
        assert set(row["ratios"]) == set(flops.YARDSTICKS)
        assert all(ratio > 0.0 for ratio in row["ratios"].values())
