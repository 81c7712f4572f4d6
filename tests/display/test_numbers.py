"""Numbers as people read them."""

import pytest

from devfnn.display.numbers import bytes_of, count, mean_and_last, percent, seconds


def test_what_was_not_measured_is_a_dash():
    for show in (percent, count, bytes_of, seconds):
        assert show(None) == "-"
    assert mean_and_last(None, 3) == "-"
    assert mean_and_last(2.5, None) == "2.50 (-)"


def test_shares_are_in_percent():
    assert [percent(share) for share in (0.0, 0.93333, 1.0, -0.012)] == [
        *("0.00 %", "93.33 %", "100.00 %", "-1.20 %")
    ]


def test_thousands_are_set_apart():
    assert [count(number) for number in (0, 999, 1000.4, 12_345_678)] == [
        *("0", "999", "1,000", "12,345,678")
    ]
    assert mean_and_last(1234.567, 5678) == "1234.57 (5,678)"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (2.5e6, "2.5 MB"), (3e9, "3.0 GB")],
)
def test_sizes_have_the_unit_that_fits(number, text):
    assert bytes_of(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (60, "1:00 min"), (3599, "59:59 min"), (3600, "1:00:00")],
)
def test_times_have_the_form_that_fits(number, text):
    assert seconds(number) == text


def test_times_are_rounded_into_the_next_form():
    assert seconds(59.7) == "1:00 min"
    assert seconds(3599.6) == "1:00:00"
