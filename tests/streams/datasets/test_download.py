"""Downloads against a real web server on this machine."""

import dataclasses
import errno
import hashlib
import logging
import os
import socket
import threading
import types

import numpy as np
import pytest

from devfnn.errors import DataError
from devfnn.streams.datasets import loading
from devfnn.streams.datasets.catalogue import DATA_SETS, RemoteFile
from devfnn.streams.datasets.loading import fetch, refuse_insecure_redirect

CONTENT = np.random.default_rng(0).bytes(300_000)
OTHER = np.random.default_rng(1).bytes(300_000)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def remote(*urls, content=CONTENT):
    """A data set whose file should have this content; nobody knows it if it is None."""
    checksum = None if content is None else sha256(content)
    file = RemoteFile("data.csv", urls, sha256=checksum)
    return dataclasses.replace(DATA_SETS["weather"], file=file)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def unreachable():
    """An address of this machine at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/data.csv"


def test_a_file_is_downloaded_whole(server, tmp_path):
    path = fetch(remote(server.put("/data.csv", CONTENT)), tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "data.csv"
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["data.csv"]
    assert server.asked[0][1]["Accept-Encoding"] == "identity"


def test_a_broken_transfer_is_tried_again(server, tmp_path):
    url = server.put("/data.csv", CONTENT, cuts=[100_000])
    assert fetch(remote(url, content=None), tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 1 + loading.RETRIES


@pytest.mark.parametrize(
    ("content", "behaviour", "reason"),
    [
        (OTHER, {}, sha256(OTHER)),
        (CONTENT[:-5], {"says_length": False}, "does not match"),
        (CONTENT, {"cuts": [1] * 9}, "no connection, or it broke"),
        (CONTENT, {"status": 503}, "the server says 503 Service Unavailable"),
        (CONTENT, {"status": 404}, "the server says 404 Not Found"),
    ],
)
def test_what_does_not_come_leaves_nothing_and_says_what_to_do(
    server, tmp_path, content, behaviour, reason
):
    url = server.put("/data.csv", content, **behaviour)
    with pytest.raises(DataError, match=r"data\.csv could not be downloaded") as error:
        fetch(remote(url), tmp_path)
    assert reason in str(error.value)
    assert f"download {url}, and put it as data.csv into {tmp_path}" in str(error.value)
    assert names(tmp_path) == []


def test_without_a_network_the_error_says_what_to_do(tmp_path):
    url = unreachable()
    with pytest.raises(DataError) as error:
        fetch(remote(url), tmp_path)
    assert "no connection" in str(error.value)
    assert f"download {url}, and put it as data.csv into {tmp_path}" in str(error.value)


def test_a_silent_server_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "TIMEOUT_SECONDS", 0.1)
    url = server.put("/data.csv", CONTENT, hold_after=100_000)
    with pytest.raises(DataError, match=r"no connection, or it broke: .*timed out"):
        fetch(remote(url), tmp_path)


def test_the_next_place_is_tried(server, tmp_path):
    urls = [unreachable(), server.url("/missing.csv"), server.put("/other.csv", OTHER)]
    urls.append(server.put("/data.csv", CONTENT))
    assert fetch(remote(*urls), tmp_path).read_bytes() == CONTENT
    assert [path for path, _ in server.asked][-1] == "/data.csv"
    assert names(tmp_path) == ["data.csv"]


def test_a_redirect_is_followed(server, tmp_path):
    server.put("/data.csv", CONTENT)
    url = server.put("/old.csv", redirect=server.url("/data.csv"))
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("target", "is_safe"),
    [
        ("https://example.net/data.csv", True),
        ("/data.csv", True),
        ("http://example.org/data.csv", False),
        ("ftp://example.org/data.csv", False),
    ],
)
def test_a_redirect_from_https_to_something_else_is_refused(target, is_safe):
    response = types.SimpleNamespace(url="https://example.org/a", headers={"Location": target})
    if is_safe:
        refuse_insecure_redirect(response)
        return
    with pytest.raises(ValueError, match="is no https address"):
        refuse_insecure_redirect(response)


def test_offline_nothing_is_asked_for(server, tmp_path, monkeypatch):
    monkeypatch.setenv("DEVFNN_OFFLINE", "1")
    with pytest.raises(DataError, match=r"DEVFNN_OFFLINE is set; download .*data\.csv into"):
        fetch(remote(server.put("/data.csv", CONTENT)), tmp_path)
    assert server.asked == []


@pytest.mark.parametrize("value", ["", "0", "false", "No"])
def test_offline_can_be_switched_off(monkeypatch, value):
    monkeypatch.setenv("DEVFNN_OFFLINE", value)
    assert not loading.is_offline()


@pytest.mark.parametrize("says_length", [True, False])
def test_progress_counts_up_to_the_whole_file(server, tmp_path, says_length):
    calls = []
    url = server.put("/data.csv", CONTENT, says_length=says_length)
    fetch(remote(url), tmp_path, lambda *numbers: calls.append(numbers))
    done = [numbers[0] for numbers in calls]
    assert done == sorted(done)
    assert done[-1] >= len(CONTENT)
    assert {numbers[1] for numbers in calls} == {len(CONTENT) if says_length else None}


def test_start_and_end_are_logged_and_nothing_is_printed(server, tmp_path, caplog, capfd):
    url = server.put("/data.csv", CONTENT)
    with caplog.at_level(logging.INFO, "devfnn"):
        fetch(remote(url), tmp_path)
    assert caplog.messages == [f"downloading data.csv from {url}", f"data.csv is in {tmp_path}"]
    assert capfd.readouterr() == ("", "")


def test_threads_that_download_at_once_do_not_disturb_each_other(server, tmp_path):
    file = remote(server.put("/data.csv", CONTENT))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fetch(file, tmp_path).read_bytes()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CONTENT] * 8
    assert names(tmp_path) == ["data.csv"]


def test_a_full_disk_is_said_clearly(server, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(
        DataError, match=r"data\.csv cannot be written into .* \(No space left on device\)"
    ) as error:
        fetch(remote(server.put("/data.csv", CONTENT)), tmp_path)
    assert error.value.__cause__.errno == errno.ENOSPC


def test_a_folder_that_cannot_be_made_is_said_clearly(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"data\.csv cannot be written into .*DEVFNN_CACHE"):
        fetch(remote(server.put("/data.csv", CONTENT)), tmp_path / "file" / "folder")
