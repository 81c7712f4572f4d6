"""What columns are for, by the options or by what they hold; and labels of every kind."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devfnn.errors import DataError, InputError
from devfnn.streams import read
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import NUMBER, Column, LabelColumn, Layout, columns_of
from plain_files import cut_into, whole

TEXT = b"id,when,colour,n,flag\n7,2020-01-01,red,1.5,true\n8,2020-01-02,blue,2.5,false\n"


def stream_of(text: bytes = TEXT, **options):
    return read(io.BytesIO(text), **options)


@pytest.mark.parametrize(
    ("header", "label"),
    [
        ("a,b,c", "c"),
        ("class,b,c", "class"),
        ("a,Label,c", "Label"),
        ("TARGET,b,c", "TARGET"),
        ("y,b,c", "y"),
        ("y,target,label", "label"),
        ("label,class,y", "class"),
        ("y,Y,c", "y"),
        ("auto,b,y", "auto"),
    ],
)
def test_the_label_is_found_by_its_name_or_is_the_last_column(header, label):
    stream = stream_of(f"{header}\n1,2,3\n4,5,6\n".encode())
    assert set(header.split(",")) - set(stream.feature_names) == {label}


def test_the_label_can_be_named_by_place():
    assert stream_of(label=0).classes == (7, 8)
    assert stream_of(label=-1).classes == (True, False)
    assert stream_of(label="n").classes == (1.5, 2.5)


def test_a_column_that_is_left_out_is_not_taken_for_the_label():
    stream = stream_of(ignore=["flag", 0], categories="codes")
    assert stream.classes == (1.5, 2.5)
    assert stream.feature_names == ("when", "colour")
    named = b"a,class,b\n1,2,3\n4,5,6\n"
    assert stream_of(named, ignore=["class"]).classes == (3, 6)


def test_the_time_is_not_taken_for_the_label_and_is_no_feature():
    text = b"a,b,when\n1,x,2020-01-01\n2,y,2020-01-02\n"
    stream = stream_of(text, time="when")
    assert stream.feature_names == ("a",)
    assert stream.classes == ("x", "y")
    days = whole(stream).times.astype("M8[D]").astype(str).tolist()
    assert days == ["2020-01-01", "2020-01-02"]


def test_the_time_may_be_a_number():
    stream = stream_of(label="colour", time="n", ignore=["when"])
    assert whole(stream).times.tolist() == [1.5, 2.5]
    assert "n" not in stream.feature_names


def test_chunks_can_be_cut_by_the_time():
    rows = "".join(f"2020-01-01 {n // 4:02}:{n % 4 * 15:02}:00,{n},x\n" for n in range(40))
    stream = stream_of(f"when,n,label\n{rows}".encode(), time="when")
    hours = [len(chunk.y) for chunk in stream.chunks(every=np.timedelta64(1, "h"))]
    assert hours == [4] * 10


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"label": "none"}, "label: there is no column 'none', only id, when"),
        ({"label": 5}, "label: there is no column 5, only 5 columns"),
        ({"label": -6}, "label: there is no column -6"),
        ({"time": "none"}, "time: there is no column"),
        ({"ignore": ["none"]}, "ignore: there is no column"),
        ({"numeric": ["none"]}, "numeric: there is no column"),
        ({"categorical": ["none"]}, "categorical: there is no column"),
        ({"cyclic": ["none"]}, "cyclic: there is no column"),
        ({"category_values": {"none": ["a"]}}, "category_values|categorical"),
        ({"ignore": "flag"}, "ignore must be a list of names or places"),
        ({"label": "when", "time": "when"}, "cannot be left out"),
        ({"label": "flag", "ignore": ["flag"]}, "cannot be left out"),
        ({"categorical": ["n"], "numeric": ["n"]}, "both categorical and numeric"),
        ({"time": "colour"}, "holds neither timestamps nor numbers"),
        ({"chunk_rows": 0}, "chunk_rows must be a whole number"),
        ({"inspect_rows": 0}, "inspect_rows must be a whole number"),
        ({"encoding": "klingon"}, "encoding 'klingon' is not known"),
        ({"encoding": None}, "encoding None is not known"),
        ({"missing": "zero"}, "missing must be one of"),
        ({"categories": "embed"}, "categories must be one of"),
        ({"on_bad_row": "ignore"}, "on_bad_row must be one of"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        stream_of(**options)


def test_a_file_with_nothing_but_the_label_is_refused():
    with pytest.raises(DataError, match="no column is left for the features"):
        stream_of(b"label\nx\ny\n")
    with pytest.raises(DataError, match="no column is left for the features"):
        stream_of(b"a,b\n1,2\n", ignore=["a"])
    with pytest.raises(DataError, match="no column is left for the features"):
        stream_of(b"a,b\n1,2\n", ignore=["a", "b"])


def test_one_column_is_enough_without_a_label():
    assert whole(stream_of(b"a\n1\n2\n", label=None)).X.tolist() == [[1.0], [2.0]]


def test_features_are_in_the_order_of_the_file():
    stream = stream_of(label="n", categories="codes")
    assert stream.feature_names == ("id", "when", "colour", "flag")
    days = 1577836800.0
    assert whole(stream).X.tolist() == [[7, days, 0, 1], [8, days + 86400, 1, 0]]


def test_numbers_can_be_categories_as_they_are_written():
    text = b"code,label\n007,x\n010,y\n007,x\n7,y\n"
    stream = stream_of(text, categorical=["code"])
    assert stream.feature_names[:3] == ("code=007", "code=010", "code=7")
    assert whole(stream).X[:, :3].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    truths = stream_of(b"a,label\nTrue,x\nfalse,y\n", categorical=["a"])
    assert truths.feature_names[:2] == ("a=True", "a=false")


def test_labels_that_the_file_declares_are_no_features():
    columns = [Column(name, NUMBER) for name in ("a", "y", "z")]
    layout = Layout.of(columns, ReadOptions(), ["y", "z"])
    assert layout.label.name == "y"
    assert [column.name for column in layout.features] == ["a"]
    other = Layout.of(columns, ReadOptions(label="z"), ["y", "z"])
    assert other.label.name == "z"
    assert [column.name for column in other.features] == ["a"]


def test_columns_are_read_in_types_that_hold_their_values():
    stored = {"s": pa.timestamp("s"), "ns": pa.timestamp("ns", "Europe/Paris")}
    stored |= {"d": pa.date32(), "n": pa.int64()}
    columns = columns_of(pa.schema(list(stored.items())).empty_table())
    types = Layout.of(columns, ReadOptions(label=None)).types(None)
    assert types == {
        "s": pa.timestamp("us"),
        "ns": pa.timestamp("ns", "UTC"),
        "d": pa.timestamp("us"),
        "n": pa.float64(),
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"header": "x"}, "header must be True, False or None"),
        ({"names": [1, 2]}, "names must be a list of texts"),
        ({"label": 1.5}, "label takes a name or a place"),
        ({"time": ["a"]}, "time takes a name or a place"),
        ({"ignore": 3}, "ignore must be a list of names or places"),
        ({"ignore": "a"}, "ignore must be a list of names or places"),
        ({"category_values": "x"}, "category_values takes a mapping"),
        ({"missing_values": "NA"}, "missing_values must be a list"),
        ({"chunk_rows": 10**30}, "chunk_rows must be a whole number from 1 to"),
    ],
)
def test_options_of_another_type_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ReadOptions(**options)


ROWS = b"1,red,0\n2,blue,1\n3,red,0\n4,green,1\n"


def opened(text=ROWS, **options):
    return read(io.BytesIO(text), **options)


def test_names_are_given_to_a_file_without_a_header():
    stream = opened(header=False, names=["size", "colour", "kind"], categories="codes")
    assert stream.feature_names == ("size", "colour")
    assert next(iter(stream)).X[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_names_take_the_place_of_a_header():
    stream = opened(b"a,b,c\n" + ROWS, names=["size", "colour", "kind"], label="kind")
    assert stream.feature_names[0] == "size"
    assert len(next(iter(stream)).y) == 4


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c", "d"]])
def test_there_must_be_a_name_for_every_column(names):
    with pytest.raises(DataError, match=f"{len(names)} names for 3 columns"):
        opened(names=names)


@pytest.mark.parametrize("names", ["abc", ["a", "a", "b"]])
def test_names_must_be_a_list_of_different_texts(names):
    with pytest.raises(InputError, match="names"):
        opened(names=names)


def test_declared_values_have_columns_in_their_order_and_no_other():
    stream = opened(header=False, category_values={1: ["green", "red"]})
    assert stream.feature_names == ("x1", "x2=green", "x2=red")
    assert next(iter(stream)).X[:, 1:].tolist() == [[0, 1], [0, 0], [0, 1], [1, 0]]


def test_declared_values_have_codes_in_their_order():
    stream = opened(
        header=False, categories="codes", category_values={"x2": ["green", "red", "blue"]}
    )
    assert next(iter(stream)).X[:, 1].tolist() == [1.0, 2.0, 1.0, 0.0]


def test_numbers_may_be_declared_as_categories():
    stream = opened(header=False, category_values={"x1": ["4", "3", "2", "1"]}, ignore=["x2"])
    assert stream.feature_names == ("x1=4", "x1=3", "x1=2", "x1=1")
    assert next(iter(stream)).X[0].tolist() == [0, 0, 0, 1]


def test_a_column_with_declared_values_is_not_numeric():
    with pytest.raises(InputError, match="cannot be both categorical and numeric"):
        opened(header=False, category_values={"x1": ["1"]}, numeric=["x1"])


@pytest.mark.parametrize("values", ["red", ["red", "red"]])
def test_declared_values_must_be_a_list_of_different_texts(values):
    with pytest.raises(InputError, match="category_values of 'x2' must be"):
        opened(header=False, category_values={"x2": values})


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
    assert [part.y.tolist() for part in rows.labelled_parts()] == [["x", "y"]]


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
    with pytest.raises(DataError, match="'label' was taken for the label, but has more than 100"):
        labels_of(*texts)


def test_a_column_nobody_called_the_label_has_to_look_like_one():
    rows = "".join(f"{n},{n % 2},{n}\n" for n in range(300))
    text = f"a,b,price\n{rows}".encode()
    with pytest.raises(DataError, match="'price' was taken for the label, but has more than 100"):
        read(io.BytesIO(text))
    assert len(whole(read(io.BytesIO(text), label="price")).y) == 300
    assert whole(read(io.BytesIO(text), label="b")).y.tolist()[:3] == [0, 1, 0]
    short = f"a,b,price\n{rows[:300]}".encode()
    assert len(read(io.BytesIO(short[: short.rindex(b"\n")])).classes) > 20


def test_texts_nobody_called_the_label_have_to_look_like_labels():
    names = pa.array([f"name {n}" for n in range(200)])
    for column in (names, names.dictionary_encode()):
        out = io.BytesIO()
        pq.write_table(pa.table({"a": range(200), "who": column}), out)
        with pytest.raises(DataError, match="'who' was taken for the label"):
            read(io.BytesIO(out.getvalue()))
        assert read(io.BytesIO(out.getvalue()), label="who").classes[0] == "name 0"


@given(st.lists(st.one_of(st.integers(-9, 9).map(float), st.none(), st.just(np.nan)), min_size=1))
def test_whole_numbers_with_a_fraction_are_whole(values):
    column = LabelColumn("y", NUMBER, is_whole=True)
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
