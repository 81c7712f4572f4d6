"""How a run goes: what is tested and learned, in which order, and what makes no sense."""

import datetime
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn.errors import InputError
from devfnn.evaluation import Procedure
from devfnn.evaluation.procedure import skipped, turns
from devfnn.streams import from_arrays
from devfnn.types import Chunk


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
        ({"warm_up_chunks": -1}, "warm_up_chunks must be a whole number from 0 on, not -1"),
        ({"warm_up_chunks": 1.5}, "warm_up_chunks must be a whole number from 0 on, not 1.5"),
        ({"window_chunks": 0}, "window_chunks must be a whole number from 1 on, not 0"),
        ({"holdout_every": 1}, "holdout_every must be a whole number from 2 on, not 1"),
        ({"label_budget": 0.0}, "label_budget is a share above 0, at most 1, not 0"),
        ({"label_budget": 1.1}, "label_budget must be between 0 and 1, not 1.1"),
        ({"label_budget": float("nan")}, "label_budget must be between 0 and 1, not nan"),
        ({"label_budget": "half"}, "label_budget must be between 0 and 1, not 'half'"),
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


# ---- the order of a run

NAMES = ("number", "delay", "moment")


def numbered(n_rows, chunk_rows, delays=None, moments=None, times=None, y=None):
    """Chunks of rows that are known by their first feature."""
    zeros = np.zeros(n_rows)
    X = np.column_stack(
        [
            np.arange(n_rows, dtype=float),
            zeros if delays is None else delays,
            zeros if moments is None else moments,
        ]
    )
    labels = np.arange(n_rows) % 2 if y is None else y
    whole = Chunk(X, labels, times)
    return [whole.rows(slice(k, k + chunk_rows)) for k in range(0, n_rows, chunk_rows)]


def numbers(batches):
    """The rows of batches."""
    return [row for batch in batches for row in batch.rows.X[:, 0].astype(int).tolist()]


def steps(source, procedure, names=NAMES):
    """Of every step, what is learned before, what is predicted, and what is learned after."""
    return [
        (numbers(step.before), step.rows.X[:, 0].astype(int).tolist(), numbers(step.after))
        for _, planned in turns(source, procedure, names)
        for step in planned
    ]


def test_without_delay_a_chunk_is_predicted_and_then_learned():
    assert steps(numbered(5, 2), Procedure()) == [
        ([], [0, 1], [0, 1]),
        ([], [2, 3], [2, 3]),
        ([], [4], [4]),
    ]


def test_by_row_each_row_is_predicted_and_then_learned():
    assert steps(numbered(3, 2), Procedure(by_row=True)) == [([], [row], [row]) for row in range(3)]
    planned = turns(numbered(3, 2), Procedure(by_row=True), NAMES)
    assert [len(chunk.y) for chunk, _ in planned] == [2, 1]


def test_delayed_labels_have_come_at_the_end_of_a_chunk_and_not_before():
    late, second = numbered(4, 2)
    source = [late._replace(labelled=np.zeros(2, bool)), second._replace(late=late)]
    assert steps(source, Procedure(by_row=True)) == [
        ([], [0], []),
        ([], [1], []),
        ([], [2], []),
        ([], [3], [0, 1, 2, 3]),
    ]
    stream = from_arrays(late.X, [0, 1], chunk_rows=2).delay_labels(rows=1)
    assert steps(stream, Procedure(by_row=True)) == [([], [0], []), ([], [1], [0]), ([], [], [1])]
    only_late = second.rows(slice(0))._replace(late=late)
    assert steps([only_late], Procedure(by_row=True)) == [([], [], [0, 1])]


def test_chunks_with_neither_rows_nor_late_labels_are_passed_over():
    first, second = numbered(4, 2)
    empty = first.rows(slice(0))
    assert len(list(turns([empty, first, empty, second], Procedure(), NAMES))) == 2
    assert list(turns([empty], Procedure(delay=1), NAMES)) == []


def test_rows_whose_labels_are_hidden_or_unknown_are_not_learned():
    labels = np.array([0, None, 1, 1], object)
    (chunk,) = numbered(4, 4, y=labels)
    chunk = chunk._replace(labelled=np.array([True, True, False, True]))
    assert steps([chunk], Procedure()) == [([], [0, 1, 2, 3], [0, 3])]
    assert steps([chunk], Procedure(delay=0)) == [([], [0, 1, 2, 3], []), ([0, 3], [], [])]


# ---- delays


def test_a_label_that_is_due_when_a_chunk_comes_is_learned_before_it():
    assert steps(numbered(6, 2), Procedure(delay=3)) == [
        ([], [0, 1], []),
        ([], [2, 3], []),
        ([0, 1], [4, 5], []),
        ([2, 3, 4, 5], [], []),
    ]


@pytest.mark.parametrize("delay", [0, 1, 2, 7])
def test_by_row_a_label_comes_as_many_rows_later_as_the_delay_says(delay):
    found = steps(numbered(5, 2), Procedure(by_row=True, delay=delay))
    wait = max(1, delay)  # a label is never there before its row was predicted
    expected = [([row - wait] if row >= wait else [], [row], []) for row in range(5)]
    rest = list(range(max(0, 5 - wait), 5))
    assert found == [*expected, (rest, [], [])]


def by_hand(moments, due):
    """Rows learned before each row, one by one: all that is due, in the order in which it is."""
    waiting, found = [], []
    for row, moment in enumerate(moments):
        come = sorted((due[each], each) for each in waiting if due[each] <= moment)
        found.append([each for _, each in come])
        waiting = [each for each in waiting if due[each] > moment]
        waiting.append(row)
    return found, [each for _, each in sorted((due[each], each) for each in waiting)]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=25),
    st.integers(1, 7),
)
@settings(max_examples=80, deadline=None)
def test_delays_of_rows_are_kept_and_labels_come_in_the_order_in_which_they_are_due(pairs, size):
    gaps, delays = np.array(pairs).T
    moments = np.cumsum(gaps)
    source = numbered(len(pairs), size, delays, moments)
    expected, rest = by_hand(moments.tolist(), (moments + delays).tolist())
    found = steps(source, Procedure(by_row=True, delay="delay", moment="moment"))
    assert [before for before, _, _ in found[: len(pairs)]] == expected
    assert [before for before, _, _ in found[len(pairs) :]] == ([rest] if rest else [])


@given(st.lists(st.integers(0, 12), min_size=1, max_size=25), st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_every_label_is_learned_once_and_never_before_it_is_due(delays, size):
    source = numbered(len(delays), size, delays)
    learned = []
    for before, rows, after in steps(source, Procedure(delay="delay")):
        assert after == []
        if rows:
            assert all(row + delays[row] <= rows[0] for row in before)
        learned += before
    assert sorted(learned) == list(range(len(delays)))


def test_a_delay_in_rows_may_be_a_function_of_the_chunk():
    procedure = Procedure(by_row=True, delay=lambda chunk: np.where(chunk.y == 1, 3, 1))
    assert steps(numbered(5, 5), procedure) == [
        ([], [0], []),
        ([0], [1], []),
        ([], [2], []),
        ([2], [3], []),
        ([1], [4], []),
        ([4, 3], [], []),
    ]


def test_delays_by_a_feature_count_rows_also_in_a_stream_with_times():
    times = np.datetime64("2024-01-01") + np.arange(4) * np.timedelta64(1, "D")
    source = numbered(4, 4, delays=[2, 0, 0, 0], times=times)
    found = steps(source, Procedure(by_row=True, delay="delay"))
    assert [before for before, _, _ in found] == [[], [], [1, 0], [2], [3]]


HOURS = np.array([0, 1, 1, 5, 6, 12])
DATES = np.datetime64("2024-01-01", "ns") + HOURS * np.timedelta64(1, "h")
AS_HOURS = [[], [], [], [0, 1, 2], [], [3, 4], [5]]


@pytest.mark.parametrize(
    ("delay", "moment"),
    [
        (datetime.timedelta(hours=2), None),
        (np.timedelta64(120, "m"), None),
        (lambda chunk: np.full(len(chunk.y), np.timedelta64(2, "h")), None),
        (lambda chunk: [datetime.timedelta(hours=2)] * len(chunk.y), None),
        (datetime.timedelta(hours=2), lambda chunk: chunk.times),
        (datetime.timedelta(hours=2), lambda chunk: chunk.times.astype("M8[us]").tolist()),
        (2, "moment"),
        (2.0, "moment"),
        (np.int64(2), lambda chunk: chunk.X[:, 2]),
        (lambda chunk: np.full(len(chunk.y), 2), "moment"),
    ],
)
def test_delays_in_time_are_kept_however_they_are_given(delay, moment):
    source = numbered(6, 3, moments=HOURS, times=DATES)
    found = steps(source, Procedure(by_row=True, delay=delay, moment=moment))
    assert [before for before, _, _ in found] == AS_HOURS


def test_a_delay_that_is_no_whole_number_is_a_stretch_of_times_that_are_numbers():
    source = numbered(6, 3, times=HOURS.astype(float))
    found = steps(source, Procedure(by_row=True, delay=2.0))
    assert [before for before, _, _ in found] == AS_HOURS


@pytest.mark.parametrize(
    ("procedure", "message"),
    [
        (Procedure(delay="nothing"), "delay names a feature, but there is no 'nothing'"),
        (Procedure(delay=1, moment="never"), "moment names a feature, but there is no 'never'"),
        (Procedure(delay=datetime.timedelta(1)), "a delay in time needs a stream with times"),
        (Procedure(delay=1.5), "a delay in time needs a stream with times"),
        (Procedure(delay=lambda chunk: np.zeros(1)), "delay must give one value for each row"),
        (Procedure(delay=1, moment=lambda chunk: 3), "moment must give one value for each row"),
        (
            Procedure(delay=lambda chunk: ["soon"] * 6, moment="number"),
            "a delay that is <U4 does not fit",
        ),
        (
            Procedure(delay=lambda chunk: [b"", object()] * 3, moment="number"),
            "delay must give numbers or times",
        ),
        (Procedure(delay=datetime.timedelta(1), moment="number"), "does not fit rows that come at"),
        (Procedure(delay=lambda chunk: np.full(6, np.nan)), "it must be known when it comes"),
        (
            Procedure(delay=1, moment=lambda chunk: np.full(6, np.nan)),
            "it must be known when it comes",
        ),
    ],
)
def test_delays_that_cannot_be_kept_are_refused(procedure, message):
    with pytest.raises(InputError, match=message):
        steps(numbered(6, 6), procedure)


def test_labels_are_not_delayed_twice():
    stream = from_arrays(np.zeros((6, 1)), [0, 1] * 3, chunk_rows=2).delay_labels(rows=2)
    with pytest.raises(InputError, match="the stream delays its labels itself"):
        steps(stream, Procedure(delay=1))


def test_chunks_are_not_held_out_of_a_stream_that_delays_its_labels():
    """Labels of a chunk that is held out would be learned later."""
    stream = from_arrays(np.zeros((6, 1)), [0, 1] * 3, chunk_rows=2).delay_labels(rows=2)
    with pytest.raises(InputError, match="holdout_every and a stream that delays its labels"):
        steps(stream, Procedure(holdout_every=2))


# ---- places


def places(source, procedure):
    """Where batches stand in the stream, of all steps."""
    return [
        [batch.places.tolist() for batch in [*step.before, *step.after]]
        for _, planned in turns(source, procedure, NAMES)
        for step in planned
    ]


def test_rows_of_a_chunk_are_learned_at_their_own_places():
    assert places(numbered(5, 3), Procedure()) == [[[0, 1, 2, 3]], [[3, 4, 5]]]
    assert places(numbered(2, 2), Procedure(by_row=True)) == [[[0, 1]], [[1, 2]]]


def test_hidden_rows_leave_gaps_between_places():
    (chunk,) = numbered(5, 5)
    chunk = chunk._replace(labelled=np.array([False, True, False, True, False]))
    assert places([chunk], Procedure()) == [[[1, 3, 5]]]


def test_late_rows_are_learned_where_their_labels_come():
    late, second = numbered(4, 2)
    assert places([late, second._replace(late=late)], Procedure())[1] == [[4, 4, 4], [2, 3, 4]]
    assert places(numbered(4, 2), Procedure(delay=2)) == [[], [[2, 2]], [[4, 4, 4, 4]]]


# ---- going on


@pytest.mark.parametrize("procedure", [Procedure(), Procedure(by_row=True, delay=7)])
@pytest.mark.parametrize("n_turns", [0, 1, 3, 5])
def test_turns_that_are_skipped_leave_the_others_as_they_are(procedure, n_turns):
    def summary(planned):
        return [
            [(numbers(step.before), numbers(step.after)) for step in steps] for _, steps in planned
        ]

    source = numbered(23, 5)
    whole = summary(turns(source, procedure, NAMES))
    assert summary(skipped(turns(source, procedure, NAMES), n_turns)) == whole[n_turns:]
