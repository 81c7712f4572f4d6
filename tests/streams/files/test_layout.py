"""What columns are for: by their names, by the options, and refused if neither says so."""

import io

import numpy as np
import pyarrow as pa
import pytest

from devfnn.errors import DataError, InputError
from devfnn.streams import read
from devfnn.streams.files.layout import Layout
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import Column, Kind
from plain_files import whole

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
        ({"ignore": "flag"}, "ignore takes names or places"),
        ({"label": "when", "time": "when"}, "cannot be the label and be left out, or the time"),
        ({"label": "flag", "ignore": ["flag"]}, "cannot be the label and be left out"),
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
    columns = [Column(name, Kind.number) for name in ("a", "y", "z")]
    layout = Layout.of(columns, ReadOptions(), ["y", "z"])
    assert layout.label.name == "y"
    assert [column.name for column in layout.features] == ["a"]
    other = Layout.of(columns, ReadOptions(label="z"), ["y", "z"])
    assert other.label.name == "z"
    assert [column.name for column in other.features] == ["a"]


def test_columns_are_read_in_types_that_hold_their_values():
    columns = [
        Column("s", Kind.time, data_type=pa.timestamp("s")),
        Column("ns", Kind.time, data_type=pa.timestamp("ns", "Europe/Paris")),
        Column("d", Kind.time, data_type=pa.date32()),
        Column("n", Kind.number, data_type=pa.int64()),
    ]
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
        ({"names": [1, 2]}, "names must be a list of different texts"),
        ({"label": 1.5}, "label takes names or places"),
        ({"time": ["a"]}, "time takes names or places"),
        ({"ignore": 3}, "ignore takes names or places"),
        ({"ignore": "a"}, "ignore takes names or places"),
        ({"category_values": "x"}, "category_values takes a mapping"),
        ({"missing_values": "NA"}, "missing_values must be a list"),
        ({"chunk_rows": 10**30}, "chunk_rows must be at most"),
    ],
)
def test_options_of_another_type_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ReadOptions(**options)
