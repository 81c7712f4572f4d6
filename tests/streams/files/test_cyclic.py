"""Timestamps on circles, against the calendar."""

import datetime
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams import read
from devfnn.streams.files.cyclic import cyclic_features, cyclic_names
from plain_files import EPOCH, whole

MOMENTS = st.datetimes(datetime.datetime(1600, 1, 1), datetime.datetime(2400, 1, 1))


@given(MOMENTS)
def test_a_moment_is_where_it_is_in_its_day_and_week(moment):
    features = cyclic_features(np.array([(moment - EPOCH).total_seconds()]))[0]
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    of_day = (moment - midnight).total_seconds() / 86_400.0
    of_week = (moment.weekday() + of_day) / 7.0
    expected = [
        turn(2 * math.pi * share) for share in (of_day, of_week) for turn in (math.sin, math.cos)
    ]
    np.testing.assert_allclose(features[:4], expected, atol=1e-6)


@given(MOMENTS)
def test_a_moment_is_about_where_it_is_in_its_year(moment):
    features = cyclic_features(np.array([(moment - EPOCH).total_seconds()]))[0]
    start = datetime.datetime(moment.year, 1, 1)
    length = datetime.datetime(moment.year + 1, 1, 1) - start
    angle = 2 * math.pi * ((moment - start) / length)
    # The calendar is up to three days off the mean year, within these centuries.
    np.testing.assert_allclose(features[4:], [math.sin(angle), math.cos(angle)], atol=0.06)


@given(st.floats(-1e10, 1e10))
def test_every_moment_is_on_three_circles(seconds):
    features = cyclic_features(np.array([seconds]))[0]
    np.testing.assert_allclose(features[0::2] ** 2 + features[1::2] ** 2, 1.0)


def test_a_missing_moment_is_nowhere():
    assert np.isnan(cyclic_features(np.array([np.nan]))).all()


def test_monday_is_where_weeks_begin():
    monday = (datetime.datetime(2024, 1, 1) - EPOCH).total_seconds()
    np.testing.assert_allclose(cyclic_features(np.array([monday]))[0, 2:4], [0.0, 1.0], atol=1e-9)


TEXT = b"when,n,label\n2024-01-01 06:00:00,1,x\n2024-01-01 18:00:00,2,y\n,3,x\n"


def test_a_column_of_timestamps_becomes_six_features():
    stream = read(io.BytesIO(TEXT), cyclic=["when"])
    assert stream.feature_names == (*cyclic_names("when"), "n")
    rows = whole(stream).X
    np.testing.assert_allclose(rows[:2, 0], [1.0, -1.0])
    assert np.isnan(rows[2, :6]).all()
    assert rows[:, 6].tolist() == [1.0, 2.0, 3.0]


def test_the_time_can_be_cyclic_too():
    stream = read(io.BytesIO(TEXT[:-6]), cyclic=[0], time="when")
    assert stream.feature_names == ("n", *cyclic_names("when"))
    rows = whole(stream)
    np.testing.assert_allclose(rows.X[:, 1], [1.0, -1.0])
    assert rows.times.astype("M8[h]").astype(str).tolist() == ["2024-01-01T06", "2024-01-01T18"]


def test_other_timestamps_are_seconds():
    rows = whole(read(io.BytesIO(TEXT))).X
    start = (datetime.datetime(2024, 1, 1, 6) - EPOCH).total_seconds()
    np.testing.assert_array_equal(rows[:, 0], [start, start + 12 * 3600.0, np.nan])


def test_what_is_no_timestamp_cannot_be_cyclic():
    with pytest.raises(InputError, match="'n' holds no timestamps, so it cannot be cyclic"):
        read(io.BytesIO(TEXT), cyclic=["n"])
    with pytest.raises(InputError, match="the label 'when' cannot be a feature"):
        read(io.BytesIO(TEXT), label="when", cyclic=["when"])


@pytest.mark.parametrize("zone", ["Z", "+00:00", "-0500", "+05:30"])
def test_moments_with_a_zone_are_the_moments_they_name(zone):
    text = f"when,label\n2024-06-01T12:00:00{zone},x\n2024-06-01T12:00:00.5{zone},y\n"
    hours = {"Z": 0.0, "+00:00": 0.0, "-0500": 5.0, "+05:30": -5.5}[zone]
    noon = (datetime.datetime(2024, 6, 1, 12) - EPOCH).total_seconds()
    rows = whole(read(io.BytesIO(text.encode())))
    assert rows.X[:, 0].tolist() == [noon + 3600 * hours, noon + 3600 * hours + 0.5]
