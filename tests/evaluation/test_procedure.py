"""Procedures: what is tested and learned, and what makes no sense."""

import datetime
import json

import numpy as np
import pytest

from devfnn.errors import InputError
from devfnn.evaluation import Procedure


def schedule(procedure, n_chunks):
    """For every chunk, t if it is tested and l if it is learned."""
    return [
        "t" * procedure.is_tested(index) + "l" * procedure.is_learned(index)
        for index in range(n_chunks)
    ]


def test_by_default_every_chunk_is_tested_and_learned():
    assert schedule(Procedure(), 3) == ["tl", "tl", "tl"]


def test_warm_up_chunks_are_only_learned():
    assert schedule(Procedure(warm_up_chunks=2), 4) == ["l", "l", "tl", "tl"]


def test_with_holdout_chunks_are_either_tested_or_learned():
    assert schedule(Procedure(holdout_every=3), 7) == ["l", "l", "t", "l", "l", "t", "l"]


def test_holdout_begins_after_the_warm_up():
    procedure = Procedure(holdout_every=2, warm_up_chunks=3)
    assert schedule(procedure, 7) == ["l", "l", "l", "l", "t", "l", "t"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"warm_up_chunks": -1}, "warm_up_chunks is a whole number of 0 or more, not -1"),
        ({"warm_up_chunks": 1.5}, "warm_up_chunks is a whole number of 0 or more, not 1.5"),
        ({"warm_up_chunks": True}, "warm_up_chunks is a whole number of 0 or more, not True"),
        ({"window_chunks": 0}, "window_chunks is a whole number of 1 or more, not 0"),
        ({"holdout_every": 1}, "holdout_every is a whole number of 2 or more, not 1"),
        ({"label_budget": 0.0}, "label_budget is a share above 0, at most 1, not 0"),
        ({"label_budget": 1.1}, "label_budget is a share above 0, at most 1, not 1.1"),
        ({"label_budget": float("nan")}, "label_budget is a share above 0, at most 1, not nan"),
        ({"unpredicted": "right"}, "unpredicted is one of wrong, skip, first, not 'right'"),
        ({"moment": "time"}, "moment says when rows come, which matters only with a delay"),
        ({"holdout_every": 5, "delay": 1}, "holdout_every and delay do not go together"),
        ({"delay": -1}, "delay must be .* from zero on, not -1"),
        ({"delay": -0.5}, "delay must be .* from zero on, not -0.5"),
        ({"delay": np.int64(-1)}, "delay must be .* from zero on"),
        ({"delay": float("nan")}, "delay must be .* from zero on, not nan"),
        ({"delay": datetime.timedelta(days=-1)}, "delay must be .* from zero on"),
        ({"delay": np.timedelta64(-1, "h")}, "delay must be .* from zero on"),
        ({"delay": [1, 2]}, "delay must be .* from zero on"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Procedure(**arguments)


@pytest.mark.parametrize(
    "delay",
    [0, 7, 2.5, "age", len, datetime.timedelta(hours=1), np.timedelta64(3, "D"), np.int64(3)],
)
def test_a_delay_may_be_rows_or_time_or_a_value_of_each_row(delay):
    assert Procedure(delay=delay).delay == delay


def late_by(chunk):
    return np.zeros(len(chunk.y))


def test_a_procedure_is_plain_data_and_functions_have_names():
    procedure = Procedure(
        by_row=True, delay=datetime.timedelta(minutes=90), moment=late_by, label_budget=0.5
    )
    plain = json.loads(json.dumps(procedure.to_dict()))
    assert plain["by_row"] is True
    assert plain["delay"] == "1:30:00"
    assert plain["moment"] == "late_by"
    assert plain["label_budget"] == 0.5
    assert plain["holdout_every"] is None
    assert Procedure(delay=np.timedelta64(2, "h")).to_dict()["delay"] == "2 hours"
    assert json.dumps(Procedure(delay=np.int64(3)).to_dict()["delay"]) == "3"
    assert Procedure(**Procedure(warm_up_chunks=2, delay=7).to_dict()).delay == 7


def test_procedures_cannot_be_changed_and_are_equal_by_their_fields():
    assert Procedure(delay=3) == Procedure(delay=3) != Procedure(delay=4)
    with pytest.raises(AttributeError):
        Procedure().by_row = True
