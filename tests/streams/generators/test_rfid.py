"""The RFID stand-in: zones of a walking tag from its signal strength."""

import numpy as np
import pytest

from devfnn.errors import InputError
from devfnn.streams import RFID, drifting, rfid
from devfnn.streams.generators.rfid import DISTANCES, MOVE_CHANCE
from streams.generators.gathered import made, started, whole

ENVIRONMENTS = ((2.2, 0.0), (2.5, -4.0), (2.1, 5.0))


def zones_by_threshold(X, exponent, offset):
    """Zones by thresholds halfway between those that the model expects."""
    expected = -40.0 + offset - 10.0 * exponent * np.log10(DISTANCES)
    return (X < (expected[:-1] + expected[1:]) / 2).sum(axis=1)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_thresholds_halfway_between_the_zones_get_nine_rows_in_ten_right(environment):
    X, zones = made(RFID(*environment), 100_000)
    accuracy = np.mean(zones_by_threshold(X, *environment) == zones)
    assert 0.87 < accuracy < 0.94  # measured: 0.900, 0.929, 0.888


@pytest.mark.parametrize("new", ENVIRONMENTS[1:])
def test_thresholds_of_another_environment_get_many_rows_wrong(new):
    X, zones = made(RFID(*new), 50_000)
    assert np.mean(zones_by_threshold(X, *ENVIRONMENTS[0]) == zones) < 0.6


def test_a_stream_says_what_it_is():
    stream = rfid(1000, rows_per_concept=300)
    assert stream.feature_names == ("signal_strength",)
    assert stream.classes == (0, 1, 2, 3)
    assert stream.class_names == ("zone 1", "zone 2", "zone 3", "zone 4")
    assert stream.drift_positions == (300, 600, 900)
    X, y = whole(stream)
    assert X.shape == (1000, 1)
    assert y.dtype == np.int64


def test_nearer_zones_have_the_stronger_signal():
    X, zones = made(RFID(), 50_000)
    means = [X[zones == zone].mean() for zone in range(4)]
    np.testing.assert_allclose(means, -40.0 - 22.0 * np.log10(DISTANCES), atol=0.5)


def test_all_zones_are_equally_frequent():
    _, zones = made(RFID(), 400_000)
    np.testing.assert_allclose(np.bincount(zones) / len(zones), 0.25, atol=0.02)


def test_the_first_row_is_like_any_other(rng):
    starts = [started(RFID())(draws) for draws in rng.random((4000, 1, 7))]
    X, zones = (np.concatenate(part) for part in zip(*starts, strict=True))
    np.testing.assert_allclose(np.bincount(zones) / len(zones), 0.25, atol=0.03)
    later_X, later_zones = made(RFID(), 50_000)
    for zone in range(4):
        later = later_X[later_zones == zone].std()
        assert X[zones == zone].std() == pytest.approx(later, rel=0.1)


def test_a_tag_stays_for_a_while_and_goes_on_to_a_neighbour():
    _, zones = made(RFID(), 100_000)
    moves = np.diff(zones)
    assert set(np.unique(moves)) == {-1, 0, 1}
    # at the first and the last zone every second way ends where it began
    assert np.mean(moves != 0) == pytest.approx(0.75 * MOVE_CHANCE, abs=0.003)


def test_shadowing_lasts_and_fades():
    X, zones = made(RFID(), 200_000)
    rest = X[:, 0] + 40.0 + 22.0 * np.log10(np.array(DISTANCES)[zones])
    lags = [np.corrcoef(rest[:-lag], rest[lag:])[0, 1] for lag in (1, 2, 3, 30)]
    assert lags[0] > 0.3
    assert lags[1] / lags[0] == pytest.approx(0.8, abs=0.05)
    assert lags[2] / lags[1] == pytest.approx(0.8, abs=0.05)
    assert abs(lags[3]) < 0.03


def test_a_changed_environment_moves_every_row_as_the_model_says():
    X, zones = made(RFID(2.2, 0.0))
    moved, same_zones = made(RFID(3.0, -2.0))
    np.testing.assert_array_equal(zones, same_zones)
    expected = -2.0 - 8.0 * np.log10(np.array(DISTANCES)[zones])
    np.testing.assert_allclose((moved - X)[:, 0], expected, atol=8.0 * -np.log10(0.8))


def test_an_incremental_drift_passes_the_environments_between():
    options = {"positions": [20_000], "width": 40_000, "kind": "incremental"}
    X, y = whole(rfid(60_000, environments=[(2.0, 0.0), (2.0, 10.0)], **options))
    near = np.where(y == 0, X[:, 0], np.nan)
    by_stage = np.nanmean(near.reshape(6, -1), axis=1)
    np.testing.assert_allclose(by_stage, [-40, -40, -38.75, -36.25, -33.75, -31.25], atol=0.5)


def test_zones_can_be_imbalanced():
    X, y = whole(rfid(20_000, class_shares={3: 0.05}, rows_per_concept=20_000))
    assert np.mean(y == 3) == pytest.approx(0.05, abs=0.01)
    assert 0.85 < np.mean(zones_by_threshold(X, 2.2, 0.0) == y) < 0.95


@pytest.mark.parametrize("environment", [(float("nan"), 0.0), (2.0, float("inf")), ("far", 0.0)])
def test_an_environment_must_be_finite_numbers(environment):
    with pytest.raises(InputError, match="must be a finite number"):
        rfid(100, environments=[environment])


@pytest.mark.parametrize("options", [{}, {"width": 5000}, {"width": 5000, "kind": "incremental"}])
def test_one_tag_walks_through_all_environments(options):
    _, y = whole(rfid(40_000, **options))
    assert np.abs(np.diff(y)).max() == 1


def test_environments_that_are_no_pairs_are_refused():
    with pytest.raises(InputError, match="pairs of exponent and offset"):
        rfid(100, environments=[2.2, 0.0])


def test_zones_keep_their_names_however_concepts_are_put_together():
    assert drifting([RFID(), RFID(2.5)], 100, positions=[50]).class_names[0] == "zone 1"
