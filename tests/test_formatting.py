"""Numbers as people read them."""

import pytest

from devfnn.formatting import count, listed, percent, plural, seconds, size


def test_what_was_not_measured_is_a_dash():
    for show in (percent, count, size, seconds):
        assert show(None) == "-"


def test_shares_are_in_percent():
    assert [percent(share) for share in (0.0, 0.93333, 1.0, -0.012)] == [
        *("0.00 %", "93.33 %", "100.00 %", "-1.20 %")
    ]


def test_rounded_shares_are_nothing_or_all_only_if_they_are():
    assert [percent(share, 0) for share in (0.0, 1e-9, 0.5, 1 - 1e-9, 1.0)] == [
        "0 %",
        "< 1 %",
        "50 %",
        "> 99 %",
        "100 %",
    ]
    assert percent(0.0004, 1) == "< 0.1 %"
    assert percent(0.005, 0) == "< 1 %"


def test_thousands_are_set_apart():
    assert [count(number) for number in (0, 999, 1000.4, 12_345_678)] == [
        *("0", "999", "1,000", "12,345,678")
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (2.5e6, "2.5 MB"), (3e9, "3.0 GB")],
)
def test_sizes_have_the_unit_that_fits(number, text):
    assert size(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0 s"),
        (0.2, "0.2 s"),
        (59.4, "59 s"),
        (60, "1:00 min"),
        (3599, "59:59 min"),
        (3600, "1:00:00"),
    ],
)
def test_times_have_the_form_that_fits(number, text):
    assert seconds(number) == text


def test_times_are_rounded_into_the_next_form():
    assert seconds(59.7) == "1:00 min"
    assert seconds(3599.6) == "1:00:00"


def test_names_are_listed_up_to_a_number():
    assert listed(["a", "b", "c"], 3) == "a, b, c"
    assert listed(["a", "b", "c"], 1) == "a and 2 more"
    assert listed([], 3) == ""


def test_one_thing_is_no_plural():
    assert [plural(number, "row") for number in (0, 1, 1234)] == ["0 rows", "1 row", "1,234 rows"]
