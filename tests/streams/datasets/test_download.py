"""Downloads against a real web server on this machine."""

import errno
import hashlib
import io
import logging
import os
import pathlib
import socket
import subprocess
import sys
import tarfile
import threading
import time

import numpy as np
import pytest

import devfnn
from devfnn.errors import DataError
from devfnn.streams.datasets import download, partial, transfer
from devfnn.streams.datasets.description import Mirror, RemoteFile
from devfnn.streams.datasets.download import fetch

CONTENT = np.random.default_rng(0).bytes(300_000)
OTHER = np.random.default_rng(1).bytes(300_000)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def remote(*urls, content=CONTENT, **changes):
    """A file that should have this content."""
    facts = {"n_bytes": len(content), "sha256": sha256(content)} | changes
    return RemoteFile("data.csv", tuple(Mirror(url) for url in urls), **facts)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def free_port():
    """A port of this machine at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def unreachable():
    return f"http://127.0.0.1:{free_port()}/data.csv"


def test_a_file_is_downloaded_whole(server, tmp_path):
    path = fetch(remote(server.put("/data.csv", CONTENT)), tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "data.csv"
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["data.csv"]
    assert server.ranges() == [None]


def test_a_file_that_is_here_is_not_downloaded(server, tmp_path):
    file = remote(server.put("/data.csv", CONTENT))
    fetch(file, tmp_path)
    assert fetch(file, tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_a_broken_transfer_goes_on_where_it_ended(server, tmp_path):
    url = server.put("/data.csv", CONTENT, cuts=[100_000, 180_000])
    path = fetch(remote(url, sha256=None, n_bytes=None), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=100000-", "bytes=180000-"]
    assert [headers.get("If-Range") for _, headers in server.asked] == [None, '"one"', '"one"']
    assert names(tmp_path) == ["data.csv"]


def test_a_date_serves_where_the_server_has_no_strong_tag(server, tmp_path):
    date = "Wed, 01 Jan 2020 00:00:00 GMT"
    url = server.put("/data.csv", CONTENT, etag='W/"x"', last_modified=date, cuts=[100_000])
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert server.asked[1][1]["If-Range"] == date
    assert server.ranges() == [None, "bytes=100000-"]


def test_a_server_that_ignores_ranges_sends_all_again(server, tmp_path):
    url = server.put("/data.csv", CONTENT, has_ranges=False, cuts=[100_000])
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=100000-"]


@pytest.mark.parametrize("heeds_if_range", [True, False])
def test_a_file_that_changed_meanwhile_starts_anew(server, tmp_path, heeds_if_range):
    url = server.put(
        *("/data.csv", CONTENT),
        cuts=[100_000],
        etags=['"one"', '"two"', '"two"'],
        heeds_if_range=heeds_if_range,
    )
    path = fetch(remote(url, sha256=None), tmp_path)
    assert path.read_bytes() == CONTENT
    ranges = [None, "bytes=100000-"] + [None] * (not heeds_if_range)
    assert server.ranges() == ranges


def test_without_version_and_checksum_nothing_is_continued(server, tmp_path):
    url = server.put("/data.csv", CONTENT, etag="", cuts=[100_000])
    assert fetch(remote(url, sha256=None), tmp_path).read_bytes() == CONTENT
    assert server.ranges() == [None, None]


def test_a_checksum_allows_to_go_on_without_a_version(server, tmp_path):
    url = server.put("/data.csv", CONTENT, etag="", cuts=[100_000])
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=100000-"]


def test_a_wrong_beginning_is_found_by_the_checksum_and_replaced(server, tmp_path):
    url = server.put("/data.csv", CONTENT)
    part = partial.Part(tmp_path / "data.csv")
    part.begin(url, "")
    part.path.write_bytes(OTHER[:1000])
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert server.ranges() == ["bytes=1000-", None]


def test_a_partial_file_that_is_too_long_starts_anew(server, tmp_path):
    url = server.put("/data.csv", CONTENT)
    part = partial.Part(tmp_path / "data.csv")
    part.begin(url, '"one"')
    part.path.write_bytes(CONTENT + b"more")
    assert fetch(remote(url, sha256=None, n_bytes=None), tmp_path).read_bytes() == CONTENT
    assert server.ranges() == [f"bytes={len(CONTENT) + 4}-", None]


def test_a_whole_partial_file_is_only_checked(server, tmp_path):
    url = server.put("/data.csv", CONTENT)
    part = partial.Part(tmp_path / "data.csv")
    part.begin(url, '"one"')
    part.path.write_bytes(CONTENT)
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert server.asked == []


def test_a_wrong_checksum_removes_the_file_and_says_both(server, tmp_path):
    url = server.put("/data.csv", OTHER)
    with pytest.raises(DataError) as error:
        fetch(remote(url), tmp_path)
    assert sha256(OTHER) in str(error.value)
    assert sha256(CONTENT) in str(error.value)
    assert names(tmp_path) == []


def test_a_wrong_size_is_refused_before_the_bytes_come(server, tmp_path):
    url = server.put("/data.csv", CONTENT + b"more")
    with pytest.raises(DataError, match=r"the file has 300004 bytes there, not 300000"):
        fetch(remote(url), tmp_path)
    assert names(tmp_path) == []


def test_a_file_that_is_too_long_ends_early(server, tmp_path):
    url = server.put("/data.csv", CONTENT + OTHER * 20, says_length=False)
    with pytest.raises(DataError, match="more bytes come than the 300000 of the file"):
        fetch(remote(url), tmp_path)
    assert names(tmp_path) == []


def test_a_file_that_is_too_short_is_asked_for_again(server, tmp_path):
    url = server.put("/data.csv", CONTENT[:-5], says_length=False)
    with pytest.raises(DataError, match="could not be downloaded"):
        fetch(remote(url), tmp_path)
    assert len(server.asked) == download.TRIES


def test_a_server_that_always_breaks_is_given_up(server, tmp_path):
    url = server.put("/data.csv", CONTENT, cuts=[1] * 20)
    with pytest.raises(DataError, match="the connection ended after 1 of 300000 bytes"):
        fetch(remote(url), tmp_path)
    assert len(server.asked) == download.TRIES


def test_transfers_that_bring_much_do_not_count_as_failed(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MUCH_BYTES", 10_000)
    url = server.put("/data.csv", CONTENT, cuts=list(range(20_000, 300_000, 20_000)))
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 15


def test_a_busy_server_is_asked_again(server, tmp_path):
    url = server.put("/data.csv", CONTENT, status=503)
    with pytest.raises(DataError, match="503"):
        fetch(remote(url), tmp_path)
    assert len(server.asked) == download.TRIES


def test_a_missing_file_is_not_asked_for_again(server, tmp_path):
    with pytest.raises(DataError, match="the server says 404 Not Found") as error:
        fetch(remote(server.url("/data.csv")), tmp_path)
    assert len(server.asked) == 1
    directions = f"download {server.url('/data.csv')}, and put it as data.csv into {tmp_path}"
    assert directions in str(error.value)


def test_the_next_place_is_tried(server, tmp_path):
    urls = [
        unreachable(),
        server.url("/missing.csv"),
        server.put("/other.csv", OTHER),
        server.put("/data.csv", CONTENT),
    ]
    assert fetch(remote(*urls), tmp_path).read_bytes() == CONTENT
    assert [path for path, _ in server.asked] == ["/missing.csv", "/other.csv", "/data.csv"]
    assert names(tmp_path) == ["data.csv"]


def test_bytes_of_one_place_are_not_continued_from_another(server, tmp_path):
    first = server.put("/first.csv", OTHER, cuts=[100_000] * 4)
    second = server.put("/data.csv", CONTENT)
    path = fetch(remote(first, second, sha256=None), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.ranges()[-1] is None


def test_a_redirect_is_followed(server, tmp_path):
    server.put("/data.csv", CONTENT, cuts=[100_000])
    url = server.put("/old.csv", redirect=server.url("/data.csv"))
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert server.ranges() == [None, None, "bytes=100000-", "bytes=100000-"]


@pytest.mark.parametrize("address", ["http://example.org/data.csv", "ftp://127.0.0.1/data.csv"])
def test_an_unsafe_redirect_is_refused(server, tmp_path, address):
    url = server.put("/old.csv", redirect=address)
    with pytest.raises(DataError, match="is no https address"):
        fetch(remote(url), tmp_path)


@pytest.mark.parametrize(
    "address", ["http://example.org/a", "file:///etc/hosts", "ftp://example.org/a", "a.csv"]
)
def test_an_unsafe_address_is_refused(tmp_path, address):
    with pytest.raises(DataError, match="is no https address"):
        fetch(remote(address), tmp_path)


def test_a_packed_answer_is_refused(server, tmp_path):
    url = server.put("/data.csv", CONTENT, encoding="gzip")
    with pytest.raises(DataError, match="packed"):
        fetch(remote(url), tmp_path)
    assert server.asked[0][1]["Accept-Encoding"] == "identity"


def test_without_a_network_the_error_says_what_to_do(tmp_path):
    url = unreachable()
    with pytest.raises(DataError) as error:
        fetch(remote(url), tmp_path)
    assert "no connection" in str(error.value)
    assert f"download {url}, and put it as data.csv into {tmp_path}" in str(error.value)


def test_a_silent_server_is_given_up(server, tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(download, "TRIES", 2)
    url = server.put("/data.csv", CONTENT, hold_after=100_000)
    with pytest.raises(DataError, match="the connection broke: timed out"):
        fetch(remote(url), tmp_path)
    assert len(server.asked) == 2


def test_offline_nothing_is_asked_for(server, tmp_path, monkeypatch):
    monkeypatch.setenv("DEVFNN_OFFLINE", "1")
    with pytest.raises(DataError, match=r"DEVFNN_OFFLINE is set; download .*data\.csv into"):
        fetch(remote(server.put("/data.csv", CONTENT)), tmp_path)
    assert server.asked == []


@pytest.mark.parametrize("value", ["", "0", "false", "No"])
def test_offline_can_be_switched_off(monkeypatch, value):
    monkeypatch.setenv("DEVFNN_OFFLINE", value)
    assert not download.is_offline()


def test_progress_counts_up_to_the_whole_file(server, tmp_path):
    told = []
    url = server.put("/data.csv", CONTENT, cuts=[100_000])
    fetch(remote(url, sha256=None, n_bytes=None), tmp_path, lambda *numbers: told.append(numbers))
    done = [numbers[0] for numbers in told]
    assert done == sorted(done)
    assert done[0] == 0 and 100_000 in done and done[-1] == len(CONTENT)
    assert {numbers[1] for numbers in told} == {len(CONTENT)}


def test_progress_does_not_know_the_whole_if_nobody_does(server, tmp_path):
    told = []
    url = server.put("/data.csv", CONTENT, says_length=False)
    fetch(remote(url, n_bytes=None), tmp_path, lambda *numbers: told.append(numbers))
    assert told[-1] == (len(CONTENT), None)


def test_start_and_end_are_logged(server, tmp_path, caplog):
    url = server.put("/data.csv", CONTENT)
    with caplog.at_level(logging.INFO, "devfnn"):
        fetch(remote(url), tmp_path)
    assert caplog.messages == [f"downloading data.csv from {url}", f"data.csv is in {tmp_path}"]


def fetching(file, folder):
    """Code of a process that downloads."""
    return (
        "import pathlib\n"
        "from devfnn.streams.datasets.description import Mirror, RemoteFile\n"
        "from devfnn.streams.datasets.download import fetch\n"
        f"fetch({file!r}, pathlib.Path({str(folder)!r}))\n"
    )


def start_process(code):
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(devfnn.__file__).parents[1])}
    return subprocess.Popen([sys.executable, "-c", code], env=environment)


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def test_a_process_that_is_killed_leaves_what_the_next_goes_on_with(server, tmp_path):
    url = server.put("/data.csv", CONTENT, hold_after=200_000)
    part = tmp_path / "data.csv.part"
    process = start_process(fetching(remote(url), tmp_path))
    try:
        wait_until(lambda: part.exists() and part.stat().st_size > 100_000)
    finally:
        process.kill()
        process.wait()
    assert not (tmp_path / "data.csv").exists()
    n_here = part.stat().st_size
    server.files["/data.csv"].hold_after = None
    assert fetch(remote(url), tmp_path).read_bytes() == CONTENT
    assert server.ranges() == [None, f"bytes={n_here}-"]
    assert names(tmp_path) == ["data.csv"]


def test_processes_that_download_at_once_share_one_download(server, tmp_path):
    url = server.put("/data.csv", CONTENT, hold_after=100_000)
    processes = [start_process(fetching(remote(url), tmp_path)) for _ in range(3)]
    try:
        wait_until(lambda: server.asked)
        time.sleep(0.5)
        server.files["/data.csv"].may_go_on.set()
        assert [process.wait(60) for process in processes] == [0, 0, 0]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert (tmp_path / "data.csv").read_bytes() == CONTENT
    assert len(server.asked) == 1
    assert names(tmp_path) == ["data.csv"]


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
    assert len(server.asked) == 1
    assert names(tmp_path) == ["data.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_said_clearly(server, tmp_path, monkeypatch):
    begin = partial.Part.begin

    def begin_on_a_full_disk(part, *args):
        begin(part, *args)
        part.path.symlink_to("/dev/full")

    monkeypatch.setattr(partial.Part, "begin", begin_on_a_full_disk)
    with pytest.raises(DataError, match=r"the disk is full: data\.csv does not fit into") as error:
        fetch(remote(server.put("/data.csv", CONTENT)), tmp_path)
    assert error.value.__cause__.errno == errno.ENOSPC


def test_a_folder_that_cannot_be_made_is_said_clearly(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"data\.csv cannot be written into .*DEVFNN_CACHE"):
        fetch(remote(server.put("/data.csv", CONTENT)), tmp_path / "file" / "folder")


def archive(members, mode="w:gz"):
    """A tar archive with these members: bytes, or the name of a link's target."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def in_archive(url, content, member="a/data.csv", **changes):
    mirror = Mirror(url, member, len(content), sha256(content))
    facts = {"n_bytes": len(CONTENT), "sha256": sha256(CONTENT)} | changes
    return RemoteFile("data.csv", (mirror,), **facts)


def test_a_member_of_an_archive_becomes_a_plain_file(server, tmp_path):
    packed = archive({"other": OTHER, "../data.csv": OTHER, "a/data.csv": CONTENT})
    url = server.put("/data.tar.gz", packed, cuts=[100_000])
    assert fetch(in_archive(url, packed), tmp_path / "here").read_bytes() == CONTENT
    assert server.ranges() == [None, "bytes=100000-"]
    assert names(tmp_path) == ["here"]
    assert names(tmp_path / "here") == ["data.csv"]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"data.csv": CONTENT, "b/a/data.csv": CONTENT}, "has no file a/data.csv"),
        ({"a/data.csv": "/etc/hosts"}, "has no file a/data.csv"),
        ({"a/data.csv": CONTENT + b"more"}, "has 300004 bytes, more than 300000"),
        ({"a/data.csv": CONTENT[:-1]}, "299999 bytes came, not 300000"),
        ({"a/data.csv": OTHER}, "has the sha256"),
    ],
)
def test_an_archive_with_something_else_is_refused(server, tmp_path, members, reason):
    packed = archive(members)
    with pytest.raises(DataError, match=reason):
        fetch(in_archive(server.put("/data.tar.gz", packed), packed), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("n_kept", [50, 200_000])
def test_a_damaged_archive_is_refused(server, tmp_path, n_kept):
    packed = archive({"a/data.csv": CONTENT})[:n_kept]
    with pytest.raises(DataError, match="the archive is damaged"):
        fetch(in_archive(server.put("/data.tar.gz", packed), packed), tmp_path)
    assert names(tmp_path) == []


def test_the_directions_name_the_member_of_an_archive(tmp_path):
    file = in_archive(unreachable(), b"")
    with pytest.raises(DataError, match=r"unpack a/data\.csv from it, and put it as data\.csv"):
        fetch(file, tmp_path)
