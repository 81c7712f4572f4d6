"""Result files: tried before the work, there after it, and untouched if it fails."""

import json
import os
import threading

import pytest

from devfnn.cli.results import result_file
from devfnn.errors import DataError, InputError


def test_a_result_is_there_after_the_work(tmp_path):
    file = tmp_path / "result.json"
    with result_file(file) as result:
        result.write({"a": 1})
        assert not file.exists()
    assert json.loads(file.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("n_items", [1, 3])
def test_a_list_is_written_as_it_grows(tmp_path, n_items):
    file = tmp_path / "result.json"
    with result_file(file) as result:
        for number in range(n_items):
            result.add("items", {"number": number})
        result.write({"a": 1, "b": [2]})
    expected = {"items": [{"number": number} for number in range(n_items)], "a": 1, "b": [2]}
    assert json.loads(file.read_text()) == expected


@pytest.mark.parametrize("error", [DataError, KeyboardInterrupt])
def test_nothing_is_left_behind_by_work_that_fails(tmp_path, error):
    with pytest.raises(error), result_file(tmp_path / "new.json") as result:
        result.add("items", 1)
        raise error
    assert list(tmp_path.iterdir()) == []


def test_an_older_result_stays_if_the_work_fails_and_is_replaced_if_not(tmp_path):
    file = tmp_path / "result.json"
    file.write_text("old")
    with pytest.raises(DataError), result_file(file) as result:
        result.write({})
        raise DataError
    assert file.read_text() == "old"
    link = tmp_path / "link.json"
    link.symlink_to(file)
    with result_file(link) as result:
        result.write({})
    assert link.is_symlink()
    assert file.read_text() == "{}\n"


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    with pytest.raises(InputError, match="does not exist"), result_file(tmp_path / "no" / "x"):
        pytest.fail("the work began")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="does not exist"), result_file(tmp_path / "file" / "x"):
        pytest.fail("the work began")
    with pytest.raises(InputError, match="cannot write"), result_file(tmp_path / ("x" * 300)):
        pytest.fail("the work began")


def test_a_pipe_gets_the_result(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    with result_file(pipe) as result:
        result.write({"a": 1})
    reader.join(timeout=10)
    assert json.loads(found[0]) == {"a": 1}
    assert pipe.is_fifo()


def test_without_a_file_nothing_is_written():
    with result_file(None) as result:
        result.add("items", 1)
        result.write({})
        assert not result.is_wanted
