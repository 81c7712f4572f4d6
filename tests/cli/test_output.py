"""Result and table files: tried before the work, there after it, and untouched if it fails."""

import csv
import io
import json
import os
import pathlib
import threading

import pytest

from devfnn.cli.output import Output, OutputFile, check_replaceable, text_file
from devfnn.errors import DataError, InputError


def test_a_result_is_there_after_the_work(tmp_path):
    file = tmp_path / "result.json"
    with text_file(file) as result:
        result.write_json({"a": 1})
        assert not file.exists()
    assert json.loads(file.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("n_items", [1, 3])
def test_a_list_is_written_as_it_grows(tmp_path, n_items):
    file = tmp_path / "result.json"
    with text_file(file) as result:
        for number in range(n_items):
            result.add_item("items", {"number": number})
        result.write_json({"a": 1, "b": [2]})
    expected = {"items": [{"number": number} for number in range(n_items)], "a": 1, "b": [2]}
    assert json.loads(file.read_text()) == expected


@pytest.mark.parametrize("error", [DataError, KeyboardInterrupt])
def test_nothing_is_left_behind_by_work_that_fails(tmp_path, error):
    with pytest.raises(error), text_file(tmp_path / "new.json") as result:
        result.add_item("items", 1)
        raise error
    assert list(tmp_path.iterdir()) == []


def test_an_older_result_stays_if_the_work_fails_and_is_replaced_if_not(tmp_path):
    file = tmp_path / "result.json"
    file.write_text("old")
    with pytest.raises(DataError), text_file(file) as result:
        result.write_json({})
        raise DataError
    assert file.read_text() == "old"
    link = tmp_path / "link.json"
    link.symlink_to(file)
    with text_file(link) as result:
        result.write_json({})
    assert link.is_symlink()
    assert file.read_text() == "{}\n"


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    with pytest.raises(InputError, match="does not exist"), text_file(tmp_path / "no" / "x"):
        pytest.fail("the work began")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="does not exist"), text_file(tmp_path / "file" / "x"):
        pytest.fail("the work began")
    with pytest.raises(InputError, match="cannot write"), text_file(tmp_path / ("x" * 300)):
        pytest.fail("the work began")


def test_a_pipe_gets_the_result(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    with text_file(pipe) as result:
        result.write_json({"a": 1})
    reader.join(timeout=10)
    assert json.loads(found[0]) == {"a": 1}
    assert pipe.is_fifo()


def test_without_a_file_nothing_is_written():
    with text_file(None) as result:
        result.add_item("items", 1)
        result.write_json({})
        assert not result.is_wanted


# ---- tables


def test_a_table_is_there_after_the_work(tmp_path):
    file = tmp_path / "table.csv"
    with text_file(file) as table:
        table.add_row(["name", "value"])
        table.add_row(['a, "b"\nc', None])
        table.add_row(["größe", 0.1])
        assert not file.exists()
    assert file.read_bytes().startswith(b"name,value\n")
    with file.open(newline="", encoding="utf-8") as lines:
        assert list(csv.reader(lines)) == [
            ["name", "value"],
            ['a, "b"\nc', ""],
            ["größe", "0.1"],
        ]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@x", "\tx", "\r=x", "\uff1d1", "-1-1", "=cmd|' /C"]
)
def test_what_a_spreadsheet_would_compute_is_a_text_in_a_table(tmp_path, text):
    with text_file(tmp_path / "table.csv") as table:
        table.add_row([text])
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as lines:
        assert list(csv.reader(lines)) == [[f"'{text}"]]


@pytest.mark.parametrize("value", ["-1.5", "+2", "-1e-9", "-inf", "-", "a=b", "x", "", -1.5, None])
def test_numbers_and_other_texts_are_written_as_they_are(tmp_path, value):
    with text_file(tmp_path / "table.csv") as table:
        table.add_row([value, "end"])
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as lines:
        assert list(csv.reader(lines)) == [["" if value is None else str(value), "end"]]


def test_what_utf_8_cannot_hold_is_written_by_its_code(tmp_path):
    with text_file(tmp_path / "table.csv") as table:
        table.add_row(["\ud800"])
    assert (tmp_path / "table.csv").read_text() == "\\ud800\n"


def test_a_full_disk_is_named_but_a_closed_pipe_is_left_to_others(tmp_path):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=r"cannot write .*table.csv: No space left"):
        OutputFile(Full(), tmp_path / "table.csv").add_row([1])
    with pytest.raises(OSError, match="No space left"):
        OutputFile(Full()).add_row([1])


def test_whether_a_file_can_be_replaced_is_tried_without_a_trace(tmp_path):
    file = tmp_path / "x.model"
    check_replaceable(file)
    assert list(tmp_path.iterdir()) == []
    file.write_text("old")
    check_replaceable(file)
    assert file.read_text() == "old"
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path, "is no file"),
        (tmp_path / "pipe", "is no file"),
        (tmp_path / "no" / "x", "does not exist"),
        (tmp_path / ("x" * 300), "cannot write"),
    ):
        with pytest.raises(InputError, match=message):
            check_replaceable(path)


def test_a_text_is_there_after_the_work(tmp_path):
    file = tmp_path / "page.html"
    with text_file(file) as page:
        page.write("größe")
        assert not file.exists()
    assert file.read_text(encoding="utf-8") == "größe"
    with text_file(None) as page:
        page.write("nothing")
        assert not page.is_wanted
    with pytest.raises(DataError), text_file(file) as page:
        page.write("new")
        raise DataError
    assert file.read_text(encoding="utf-8") == "größe"
    assert list(tmp_path.iterdir()) == [file]


# ---- one file for two purposes


def test_one_file_for_two_purposes_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "x")
    for other in (tmp_path / "x", pathlib.Path("x"), pathlib.Path("./x"), tmp_path / "link"):
        with pytest.raises(InputError, match="--json and --csv are the same file"):
            Output(tmp_path / "x", other, True).check_distinct(save=None)


def test_other_files_devices_and_no_files_are_not_the_same(tmp_path):
    null = pathlib.Path("/dev/null")
    for files in ((tmp_path / "x", tmp_path / "y"), (null, null), (None, None)):
        Output(*files, True).check_distinct()
