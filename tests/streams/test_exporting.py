"""Export: what is read back is what was written, and a file is whole or not there."""

import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

from devfnn.errors import DataError, InputError
from devfnn.streams import Stream, exporting, read, rfid, sea
from devfnn.streams.exporting import export_parquet
from devfnn.streams.transforms import joined
from devfnn.types import Chunk


def whole(stream: Stream) -> Chunk:
    return joined(list(stream))


def of_labels(y: np.ndarray, **fields) -> Stream:
    rows = Chunk(np.arange(len(y), dtype=float)[:, None], y, **fields)
    return Stream(("a",), (), lambda: iter([rows]))


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr(exporting, "GROUP_ROWS", 300)


@pytest.mark.usefixtures("small_groups")
def test_what_is_read_back_is_what_was_written(tmp_path):
    stream = sea(1000, rows_per_concept=400)
    seen = []
    assert export_parquet(stream, tmp_path / "sea.parquet", progress=seen.append) == 1000
    assert seen == [300, 600, 900, 1000]
    back = read(tmp_path / "sea.parquet")
    assert back.feature_names == stream.feature_names
    assert back.n_rows == 1000
    np.testing.assert_array_equal(whole(back).X, whole(stream).X)
    np.testing.assert_array_equal(whole(back).y, whole(stream).y)


def test_names_of_classes_and_drift_are_kept(tmp_path):
    stream = rfid(1000, rows_per_concept=300)
    export_parquet(stream, tmp_path / "rfid.parquet", label="zone")
    back = read(tmp_path / "rfid.parquet")
    assert back.classes == stream.classes
    assert back.class_names == stream.class_names != ()
    assert list(back.drift_positions) == [300, 600, 900]


@pytest.mark.parametrize(
    "labels",
    [["a", "b", "a"], [3, 1, 3], [True, False, True], [1.5, 2.5, 1.5], ["a", None, "b"]],
)
def test_labels_of_any_one_type_are_kept(tmp_path, labels):
    y = np.array(labels, object if None in labels or isinstance(labels[0], str) else None)
    export_parquet(of_labels(y), tmp_path / "some.parquet")
    assert whole(read(tmp_path / "some.parquet")).y.tolist() == labels


def test_labels_of_mixed_types_are_refused_and_leave_no_file(tmp_path):
    with pytest.raises(InputError, match="labels of these types"):
        export_parquet(of_labels(np.array(["a", 1], object)), tmp_path / "some.parquet")
    assert list(tmp_path.iterdir()) == []


def test_hidden_labels_are_left_empty(tmp_path):
    stream = of_labels(np.array([1, 2, 3]), labelled=np.array([True, False, True]))
    export_parquet(stream, tmp_path / "some.parquet")
    assert pq.read_table(tmp_path / "some.parquet")["class"].to_pylist() == [1, None, 3]


def test_delayed_labels_are_written_with_their_rows(tmp_path):
    stream = sea(1000).delay_labels(rows=300)
    export_parquet(stream, tmp_path / "sea.parquet")
    assert pq.read_table(tmp_path / "sea.parquet")["class"].null_count == 0


def test_times_become_a_column(tmp_path):
    times = np.array(["2020-01-01", "2020-01-02"], "datetime64[us]")
    export_parquet(of_labels(np.array([0, 1]), times=times), tmp_path / "some.parquet")
    back = read(tmp_path / "some.parquet")
    assert back.feature_names == ("a",)
    np.testing.assert_array_equal(whole(back).times, times)


def test_classes_keep_their_order_and_names(tmp_path):
    rows = Chunk(np.zeros((3, 1)), np.array([1, 0, 1]))
    stream = Stream(("a",), (1, 0), lambda: iter([rows]), class_names=("yes", "no"))
    export_parquet(stream, tmp_path / "some.parquet")
    back = read(tmp_path / "some.parquet")
    assert (back.classes, back.class_names) == ((1, 0), ("yes", "no"))


def test_another_label_has_other_classes(tmp_path):
    rows = Chunk(np.array([[5.0], [7.0]]), np.array([1, 0]))
    stream = Stream(("a",), (1, 0), lambda: iter([rows]), class_names=("yes", "no"))
    export_parquet(stream, tmp_path / "some.parquet")
    with pytest.raises(DataError, match="no column is left"):
        read(tmp_path / "some.parquet", label="a")  # the label is no feature


def test_a_stream_without_rows_gives_a_file_without_rows(tmp_path):
    assert export_parquet(sea(10).take(0), tmp_path / "none.parquet") == 0
    back = read(tmp_path / "none.parquet")
    assert back.feature_names == ("f1", "f2", "f3")
    assert list(back) == []


def test_the_file_says_which_column_is_the_label(tmp_path):
    export_parquet(sea(10), tmp_path / "sea.parquet", label="which")
    with pq.ParquetFile(tmp_path / "sea.parquet") as file:
        note = json.loads(file.metadata.metadata[b"devfnn"])
    assert note["labels"] == ["which"]
    assert read(tmp_path / "sea.parquet").feature_names == ("f1", "f2", "f3")


@pytest.mark.parametrize(
    ("stream", "label", "message"),
    [
        (sea(), "class", "has no end"),
        (sea(10), "f1", "a feature is called 'f1'"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, stream, label, message):
    with pytest.raises(InputError, match=message):
        export_parquet(stream, tmp_path / "some.parquet", label=label)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        export_parquet(sea(10), tmp_path / "no" / "some.parquet")


def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is no file"):
        export_parquet(sea(10), tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.usefixtures("small_groups")
def test_a_stream_that_breaks_leaves_the_old_file(tmp_path):
    file = tmp_path / "some.parquet"
    export_parquet(sea(10), file)
    before = file.read_bytes()

    def blocks():
        yield next(iter(sea(500)))
        raise DataError("broken")

    with pytest.raises(DataError, match="broken"):
        export_parquet(Stream(("f1", "f2", "f3"), (0, 1), blocks), file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
