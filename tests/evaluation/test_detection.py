"""How well drift was found, in simple numbers."""

import json

import pytest

from devfnn.evaluation.detection import detection
from devfnn.streams import sea


@pytest.mark.parametrize(
    ("alarms", "positions", "delays", "n_false"),
    [
        ([], [], (), 0),
        ([5], [], (), 1),
        ([], [1000], (None,), 0),
        ([1200], [1000], (200,), 0),
        ([1200, 1300, 1900], [1000], (200,), 2),
        ([500, 1200], [1000], (200,), 1),
        ([1001], [1000], (1,), 0),
        ([1000], [1000], (None,), 1),  # of the rows that had come, none was of the new concept
        ([2000], [1000, 2000], (1000, None), 0),
        ([2001], [1000, 2000], (None, 1), 0),
        ([1100, 2100, 3000], [1000, 2000, 2500], (100, 100, 500), 0),
        ([3000], [2999], (1,), 0),
        ([1200, 1200], [1000], (200,), 1),
    ],
)
def test_a_drift_is_found_by_the_first_alarm_before_the_next(alarms, positions, delays, n_false):
    found = detection(alarms, positions, 3000)
    assert found.delays == delays
    assert found.n_false_alarms == n_false
    assert found.n_drifts == len(positions) == found.n_found + found.n_missed


def test_drifts_before_the_first_row_and_after_the_last_do_not_count():
    assert detection([100], [0, 50, 900, 1000], 900).to_dict() == {
        "drifts": 1,
        "found": 1,
        "missed": 0,
        "false_alarms": 0,
        "delay_mean": 50.0,
        "delays": [50],
    }


def test_an_alarm_that_comes_too_late_does_not_find_a_drift():
    assert detection([1200], [1000], 3000, within=200).delays == (200,)
    late = detection([1201], [1000], 3000, within=200)
    assert (late.delays, late.n_false_alarms) == ((None,), 1)


def test_the_mean_delay_is_that_of_the_drifts_that_were_found():
    found = detection([1100, 3300], [1000, 2000, 3000], 4000)
    assert found.delay_mean == 200.0
    assert (found.n_found, found.n_missed) == (2, 1)
    assert detection([], [1000], 2000).delay_mean is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_stream_that_drifts_for_ever_is_looked_at_only_as_far_as_the_run_went():
    endless = sea(thresholds=[4, 8], rows_per_concept=500).repeat()
    found = detection([700, 1100], endless.drift_positions, 1700)
    assert found.delays == (200, 100, None)
