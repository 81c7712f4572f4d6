"""Labels: their type, those that are missing, and those that are of another kind."""

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import DataError
from devfnn.streams import read
from devfnn.streams.files.labels import LabelColumn, LabelKind
from plain_files import cut_into, whole


def labels_of(*texts, **options):
    """Labels of a CSV file with these texts, its classes, and which may be learned."""
    text = "a,label\n" + "".join(f"{n},{label}\n" for n, label in enumerate(texts))
    stream = read(io.BytesIO(text.encode()), **options)
    rows = whole(stream)
    return rows.y.tolist(), stream.classes


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["x", "y", "x"], ["x", "y", "x"]),
        (["1", "0", "1"], [1, 0, 1]),
        (["1.0", "0.0", "1"], [1, 0, 1]),
        (["0.5", "1.5", "0.5"], [0.5, 1.5, 0.5]),
        (["true", "False", "true"], [True, False, True]),
        (["1", "x", "2"], ["1", "x", "2"]),
        (["-1", "1", "-1"], [-1, 1, -1]),
        (["2020-01-01", "2020-01-02", "2020-01-01"], ["2020-01-01", "2020-01-02", "2020-01-01"]),
        (["12:30", "13:30", "12:30"], ["12:30", "13:30", "12:30"]),
        (["1e3", "2e3", "1e3"], [1000, 2000, 1000]),
    ],
)
def test_the_type_of_labels_is_inferred(texts, labels):
    found, classes = labels_of(*texts)
    assert found == labels
    assert [type(label) for label in found] == [type(label) for label in labels]
    assert classes == tuple(dict.fromkeys(labels))


def test_missing_labels_are_none_and_not_to_be_learned():
    text = b"a,label\n1,x\n2,\n3,?\n4,y\n"
    stream = read(io.BytesIO(text))
    rows = whole(stream)
    assert rows.y.tolist() == ["x", None, None, "y"]
    assert rows.labelled.tolist() == [True, False, False, True]
    assert stream.classes == ("x", "y")
    assert [lesson.y.tolist() for lesson in rows.lessons()] == [["x", "y"]]


@pytest.mark.parametrize("first", ["1", "0.5", "true", "x", "1.0"])
def test_a_missing_label_may_come_in_any_piece(first):
    text = f"a,label\n1,{first}\n2,{first}\n3,\n4,{first}\n".encode()
    for n_bytes in (1, 1000):
        with cut_into(n_bytes, 3):
            rows = whole(read(io.BytesIO(text), inspect_rows=2))
        assert rows.y.tolist()[2] is None
        assert rows.y.tolist()[3] == rows.y.tolist()[0]


def test_a_file_whose_first_labels_are_all_missing_has_texts():
    found, classes = labels_of("", "", "x", inspect_rows=2)
    assert (found, classes) == ([None, None, "x"], ())


def test_a_file_without_labels_has_none():
    rows = whole(read(io.BytesIO(b"a,b\n1,2\n3,4\n"), label=None))
    assert rows.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert rows.y.tolist() == [None, None]
    assert rows.labelled.tolist() == [False, False]


@pytest.mark.parametrize(
    ("first", "odd", "reason"),
    [
        ("1", "x", "'x' in column 'label' is no whole number"),
        ("1", "1.5", "'1.5' in column 'label' is no whole number"),
        ("1", "9223372036854775808", "is no whole number"),
        ("1.0", "1.5", "the label 1.5 is no whole number, as those before it were"),
        ("1.0", "inf", "the label inf is no whole number"),
        ("1.0", "1e300", "the label 1e\\+300 is no whole number"),
        ("1.0", "9007199254740993", "is no whole number"),
        ("0.5", "x", "'x' in column 'label' is no number"),
        ("0.5", "-inf", "the label -inf"),
        ("true", "x", "'x' in column 'label' is no truth value"),
    ],
)
def test_a_label_of_another_kind_is_a_bad_row(first, odd, reason):
    texts = [first, first, first, odd, first]
    with pytest.raises(DataError, match=f"row 4: .*{reason}"):
        labels_of(*texts, inspect_rows=2)
    found, _ = labels_of(*texts, inspect_rows=2, on_bad_row="skip")
    assert len(found) == 4
    assert len(set(found)) == 1


def test_large_whole_numbers_are_exact():
    labels = [2**53, 2**53 + 1, -(2**63), 2**63 - 1]
    assert labels_of(*labels)[0] == labels
    larger = [str(2**63), str(2**63 + 1), "1"]
    assert labels_of(*larger) == (larger, tuple(larger))


@pytest.mark.parametrize("texts", [[f"{n}.25" for n in range(150)]])
def test_measurements_are_refused(texts):
    with pytest.raises(DataError, match="'label' holds measurements, not classes"):
        labels_of(*texts)


def test_a_column_nobody_called_the_label_has_to_look_like_one():
    rows = "".join(f"{n},{n % 2},{n}\n" for n in range(300))
    text = f"a,b,price\n{rows}".encode()
    with pytest.raises(DataError, match="'price' was taken for the label, but nearly every row"):
        read(io.BytesIO(text))
    assert len(whole(read(io.BytesIO(text), label="price")).y) == 300
    assert whole(read(io.BytesIO(text), label="b")).y.tolist()[:3] == [0, 1, 0]
    short = f"a,b,price\n{rows[:300]}".encode()
    assert len(read(io.BytesIO(short[: short.rindex(b"\n")])).classes) > 20


def test_texts_nobody_called_the_label_have_to_look_like_labels():
    names = pa.array([f"name {n}" for n in range(200)])
    for column in (names, names.dictionary_encode()):
        with pytest.raises(DataError, match="'who' was taken for the label"):
            LabelColumn.of("who", column, is_guess=True)
        assert LabelColumn.of("who", column).kind is LabelKind.text


@given(st.lists(st.one_of(st.integers(-9, 9).map(float), st.none(), st.just(np.nan)), min_size=1))
def test_whole_numbers_with_a_fraction_are_whole(values):
    column = LabelColumn("y", LabelKind.whole)
    labels, labelled, misfits = column.array(pa.array(values, pa.float64()))
    expected = [None if v is None or np.isnan(v) else int(v) for v in values]
    assert labels.tolist() == expected
    assert misfits == []
    has_all = None not in expected
    assert (labelled is None) == has_all
    if not has_all:
        assert labelled.tolist() == [label is not None for label in expected]


def test_numbers_of_low_precision_are_the_same_in_classes_and_rows(tmp_path):
    labels = pa.array([0.1, 0.2, 0.1], pa.float32())
    with pa.OSFile(str(tmp_path / "data"), "wb") as out:
        table = pa.table({"a": [1, 2, 3], "label": labels})
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    stream = read(tmp_path / "data")
    assert set(whole(stream).y.tolist()) == set(stream.classes)
