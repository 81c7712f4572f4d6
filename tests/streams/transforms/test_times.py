"""Stretches of time, and the clocks of rows."""

import datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.streams.transforms import times

HOUR = datetime.timedelta(hours=1)


@pytest.mark.parametrize(
    "span", [1, 0.5, np.float32(2), HOUR, np.timedelta64(3, "ms"), np.timedelta64(1, "W")]
)
def test_stretches_of_time_are_accepted(span):
    times.check_span("every", span)
    times.check_span("every", span, or_zero=True)


@pytest.mark.parametrize("zero", [0, 0.0, datetime.timedelta(0), np.timedelta64(0, "s")])
def test_zero_is_a_stretch_of_time_only_where_it_makes_sense(zero):
    times.check_span("time", zero, or_zero=True)
    with pytest.raises(InputError, match="every must be a stretch of time above zero, not "):
        times.check_span("every", zero)


@pytest.mark.parametrize(
    "span",
    [
        -1,
        -HOUR,
        np.timedelta64(-1, "s"),
        float("nan"),
        float("inf"),
        np.timedelta64("NaT", "s"),
        "1h",
        None,
        [1],
        np.array([1, 2]),
        1j,
        datetime.timedelta.max,
    ],
)
def test_what_is_no_stretch_of_time_is_refused(span):
    with pytest.raises(InputError, match="time must be a stretch of time from zero on, not"):
        times.check_span("time", span, or_zero=True)


@pytest.mark.parametrize("unit", ["M", "Y", None])
def test_stretches_that_are_not_always_equally_long_are_refused(unit):
    span = np.timedelta64(1, unit) if unit else np.timedelta64(1)
    with pytest.raises(InputError, match="every must be in weeks, days, hours or shorter units"):
        times.check_span("every", span)


DATES = np.array(["2024-01-01T00:30", "2024-01-01T02:00"], "datetime64[s]")


@pytest.mark.parametrize(
    ("row_times", "span", "message"),
    [
        (None, 1, "every needs a stream with times, and this one has none"),
        (np.array(["a", "b"]), 1, "every needs times that are dates or numbers, not <U1"),
        (np.array([1, None], object), 1, "dates or numbers, not object"),
        (DATES, 5, r"every must be a timedelta, as the stream's times are datetime64\[s\]"),
        (np.array([1, 2]), np.timedelta64(1, "s"), "every must be a number, as .* are int64"),
        (np.array([1.0, np.nan]), 1, "rows whose times are all known and finite"),
        (np.array([1.0, np.inf]), 1, "rows whose times are all known and finite"),
        (np.array(["2024-01-01", "NaT"], "datetime64[D]"), np.timedelta64(1, "D"), "all known"),
    ],
)
def test_clocks_that_tell_nothing_are_refused(row_times, span, message):
    with pytest.raises(InputError, match=message):
        times.checked_times("every", row_times, span)


def test_small_numbers_do_not_overflow_when_a_delay_is_added():
    for dtype in (np.uint8, np.int16, np.uint32):
        checked = times.checked_times("time", np.array([250, 7], dtype), 10**6)
        assert (checked + 10**6).tolist() == [1_000_250, 1_000_007]


def test_a_day_begins_at_midnight_and_an_hour_when_it_is_full():
    hours = times.windows(DATES, np.timedelta64(1, "h"))
    assert (hours - hours[0]).tolist() == [0, 2]
    days = times.windows(
        np.array(["1969-12-31T23:59:59", "1970-01-01", "1970-01-01T23:59:59"], "datetime64[s]"),
        times.numpy_span(datetime.timedelta(days=1)),
    )
    assert days.tolist() == [-1, 0, 0]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_dates_of_any_unit_fall_in_the_same_windows(unit):
    dates = np.array(["1969-12-30", "1970-01-02", "2024-02-29"], f"datetime64[{unit}]")
    assert times.windows(dates, np.timedelta64(2, "D")).tolist() == [-1, 0, 9891]


@example(time=3_600_000_000_000 * 470_000 - 1, span=3_600_000_000_000)  # an hour of nanoseconds
@given(time=st.integers(-(2**60), 2**60), span=st.integers(1, 2**45))
def test_windows_of_whole_numbers_are_exact(time, span):
    assert times.windows(np.array([time]), span).tolist() == [time // span]


def test_windows_of_fractions_begin_at_whole_multiples():
    assert times.windows(np.array([-0.1, 0.0, 0.4, 1.0]), 0.1).tolist() == [-1, 0, 4, 10]
    assert times.windows(np.array([-1, 0, 3]), 1.5).tolist() == [-1, 0, 2]
