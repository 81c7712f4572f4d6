"""Timing: the yardstick and the ratio."""

import pytest

from devfnn.experiments import bench


def test_a_wider_update_takes_longer():
    narrow = min(bench.yardstick_seconds(2) for _ in range(3))
    wide = min(bench.yardstick_seconds(150) for _ in range(3))
    assert wide > 2.0 * narrow


def test_the_ratio_is_that_of_the_speed_and_the_yardstick(monkeypatch):
    monkeypatch.setattr(bench, "yardstick_seconds", lambda n_features: 1e-3 * n_features)
    (timing,) = bench.timings(["majority"], ["sea"], 1000, 1)
    assert timing["times_yardstick"] == pytest.approx(timing["rows_per_second"] * 3e-3)
    assert timing["accuracy_mean"] == pytest.approx(0.65, abs=0.1)
