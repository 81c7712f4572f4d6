"""What streams look like in a window of some width."""

import numpy as np
import pytest

from devfnn.display.streams import (
    MOST_CLASS_LINES,
    chunks_table,
    classes_table,
    features_table,
    head_tables,
)
from devfnn.streams.describing import Description, Overview
from devfnn.types import Chunk
from display import made


def shown(*things, width=80):
    """What a console of some width shows."""
    return made.shown(*things, width=width)


def described(*chunks):
    overview = Overview(most=40)
    for chunk in chunks:
        overview.add(Description.of(chunk))
    return overview


def rows(n_rows, n_features=2, label="a"):
    X = np.arange(float(n_rows * n_features)).reshape(n_rows, n_features)
    return Chunk(X, np.full(n_rows, label, object))


def head(chunk, names, width):
    lines = [[*x, label] for x, label in zip(chunk.X.tolist(), chunk.y.tolist(), strict=True)]
    return shown(*head_tables([*names, "label"], lines, {}, width), width=width)


def test_rows_that_fit_are_side_by_side():
    text = head(rows(3), ["left", "right"], 80)
    assert text.split()[:3] == ["left", "right", "label"]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_value_is_cut_off_whatever_the_width(width):
    names = [f"a_feature_{place}" for place in range(20)]
    chunk = rows(25, 20, label="a label")
    text = head(chunk, names, width)
    assert "…" not in text
    for name in names:
        assert name in text
    assert text.count("a label") == 25
    for value in chunk.X.ravel():
        assert f" {value:.4g}" in text


def test_long_names_leave_room_for_values():
    text = head(rows(2, 1), ["x" * 200], 60)
    assert text.count("x") == 200
    assert "…" not in text


def test_columns_without_content_are_left_out():
    overview = described(rows(10), rows(10))
    text = shown(chunks_table(overview, ["left", "right"], ()))
    assert "drift" not in text
    assert "missing" not in text
    gappy = rows(10)
    gappy.X[0, 0] = np.nan
    text = shown(chunks_table(described(rows(10), gappy), ["left", "right"], (10,)))
    assert "drift" in text
    assert "5.0 %" in text


def test_many_drifts_in_a_line_are_counted():
    text = shown(chunks_table(described(rows(100)), ["left", "right"], range(10, 100, 10)))
    assert "9 drifts" in text


def test_rare_classes_are_put_together():
    labels = np.array([*range(100), *[0] * 900], object)
    overview = described(Chunk(np.zeros((1000, 1)), labels))
    text = shown(classes_table(overview.whole, {}))
    assert len(text.splitlines()) < MOST_CLASS_LINES + 10
    assert "70 more" in text
    assert "7.0 %" in text


def test_a_few_missing_values_are_not_none():
    chunk = rows(10_000, 1)
    chunk.X[5] = np.nan
    assert "1 (< 0.1 %)" in shown(features_table(described(chunk).whole, ["a"]))


def test_names_and_labels_are_shown_as_they_are():
    overview = described(rows(10, label="[/x]"))
    names = ["temp [/C]", "speed [m/s]"]
    for text in (
        shown(chunks_table(overview, names, ())),
        head(rows(2, label="[/x]"), names, 80),
        shown(classes_table(overview.whole, {"[/x]": "temp [/C] speed [m/s]"}))
        + shown(features_table(overview.whole, names)),
    ):
        for part in ("temp [/C]", "speed [m/s]", "[/x]"):
            assert part in text
