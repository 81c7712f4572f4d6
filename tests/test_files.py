"""Files are whole at every moment, drafts of killed writers go, locks end with their process."""

import errno
import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from devfnn import files
from devfnn.errors import DataError
from devfnn.files import Draft, InUseError, locked, replacing, write_whole

pytestmark = pytest.mark.skipif(files.fcntl is None, reason="locks of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def child(code, *arguments):
    """Another process that says a line when it is ready; it ends when its input does."""
    script = f"import sys, pathlib\nfrom devfnn.files import *\n{code}\n"
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    command = [sys.executable, "-c", script, *map(str, arguments)]
    process = subprocess.Popen(command, text=True, **pipes)
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


WRITER = """
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""

HOLDER = """
with locked(sys.argv[1]):
    print("ready", flush=True)
    sys.stdin.read()
"""


# ---- written at once or not at all


def test_a_file_is_replaced_when_the_work_has_succeeded(tmp_path):
    path = tmp_path / "file"
    for content in (b"first", b"second"):
        with replacing(path) as file:
            file.write(content)
            assert not path.exists() or path.read_bytes() == b"first"
        assert path.read_bytes() == content
        assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_work_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(error), replacing(path) as file:
        file.write(b"new")
        raise error
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        for n_bytes in (1001, 10**6):  # noticed when the buffer is emptied, and at once
            with pytest.raises(OSError, match="File too large"):
                write_whole(path, bytes(n_bytes))
            assert path.read_bytes() == b"old"
            assert names(tmp_path) == ["file"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_file_is_not_replaced(tmp_path, kind):
    path = pathlib.Path("/dev/full") if kind == "device" else tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    before = path.stat().st_mode
    with pytest.raises(OSError, match="no regular file"):
        write_whole(path, b"new")
    assert path.stat().st_mode == before


def test_a_link_at_the_name_of_a_draft_is_not_followed(tmp_path, monkeypatch):
    path, other = tmp_path / "file", tmp_path / "other"
    other.write_bytes(b"precious")
    (tmp_path / "file.tmp").symlink_to(other)  # the name that drafts of checkpoints once had
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * 16)
    (tmp_path / f"file.{'0' * 16}.draft").symlink_to(other)
    with pytest.raises(FileExistsError):
        write_whole(path, b"new")
    monkeypatch.undo()
    write_whole(path, b"new")
    assert (other.read_bytes(), path.read_bytes()) == (b"precious", b"new")


def test_the_draft_of_a_private_file_is_private_before_it_holds_anything(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        assert stat.S_IMODE(os.stat(file.name).st_mode) == 0o600
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_writers_at_once_leave_one_whole_file(tmp_path):
    path, found = tmp_path / "file", []

    def write(letter):
        for _ in range(30):
            write_whole(path, letter * 10_000)
            found.append(path.read_bytes())

    threads = [threading.Thread(target=write, args=[bytes([65 + n])]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(len(data), len(set(data))) for data in found} == {(10_000, 1)}
    assert len(found) == 240
    assert names(tmp_path) == ["file"]


def test_content_and_name_are_on_the_disk_in_this_order(tmp_path, monkeypatch):
    steps, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content")
        fsync(descriptor)

    def replaced(draft, target):
        steps.append("name")
        replace(draft, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_whole(tmp_path / "file", b"whole")
    assert steps == ["content", "name", "folder"]


# ---- drafts of those that were killed


def test_drafts_of_killed_writers_go_and_those_of_others_stay(tmp_path):
    path = tmp_path / "file"
    (tmp_path / "file.0123456789abcdef.drafts").write_text("")
    (tmp_path / "file.0123456789abcdef").write_text("")
    (tmp_path / "file2.0123456789abcdef.draft").write_text("another file's")
    (tmp_path / "file.fedcba9876543210.draft").symlink_to(tmp_path / "file2.0123456789abcdef.draft")
    (tmp_path / "file.00000000ffffffff.draft").mkdir()
    others = set(names(tmp_path))
    dead, alive = child(WRITER, path), child(WRITER, path)
    assert len(names(tmp_path)) == len(others) + 2
    kill(dead)
    assert len(names(tmp_path)) == len(others) + 2
    write_whole(path, b"whole")
    assert len(names(tmp_path)) == len(others) + 2  # the file, and the draft of the living
    alive.communicate("")
    assert path.read_bytes() == b"half"
    assert set(names(tmp_path)) == others | {"file"}


def test_a_draft_that_was_taken_for_abandoned_is_made_anew(tmp_path, monkeypatch):
    path, is_held, n_tries = tmp_path / "file", files._is_held, []

    def slow(file):
        n_tries.append(file.name)
        if len(n_tries) == 1:  # between its making and its locking, somebody cleans up
            files._remove_abandoned(str(path))
            assert not os.path.exists(file.name)
        return is_held(file)

    monkeypatch.setattr(files, "_is_held", slow)
    write_whole(path, b"whole")
    assert len(n_tries) == 2
    assert (path.read_bytes(), names(tmp_path)) == (b"whole", ["file"])


def test_on_a_disk_without_locks_drafts_stay_and_a_warning_is_given(tmp_path, monkeypatch, caplog):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    draft = Draft(tmp_path / "file")
    write_whole(tmp_path / "file", b"one")
    assert len(names(tmp_path)) == 2
    draft.file.write(b"two")
    draft.take_place()
    draft.discard()
    assert (tmp_path / "file").read_bytes() == b"two"
    with locked(tmp_path / "file"), locked(tmp_path / "file"):
        assert (
            caplog.messages
            == [f"{tmp_path / 'file'} is on a disk without locks: let one process work on it"] * 2
        )
    with pytest.raises(DataError, match=r"cannot lock .*no/file: No such file"):
        with locked(tmp_path / "no" / "file"):
            pytest.fail("it is locked")


# ---- locks


def test_a_file_is_in_the_hands_of_one_process(tmp_path):
    path = tmp_path / "file"
    holder = child(HOLDER, path)
    with pytest.raises(InUseError, match=f"file is in use by process {holder.pid}: wait"):
        with locked(path):
            pytest.fail("two have it")
    holder.communicate("")
    assert names(tmp_path) == []
    with locked(path):
        assert names(tmp_path) == ["file.lock"]
        with pytest.raises(InUseError, match=f"process {os.getpid()}"), locked(path):
            pytest.fail("two have it")
    assert names(tmp_path) == []


def test_a_holder_that_was_killed_keeps_nobody_out(tmp_path):
    holder = child(HOLDER, tmp_path / "file")
    kill(holder)
    assert (tmp_path / "file.lock").read_text() == f"process {holder.pid}\n"
    with locked(tmp_path / "file"):
        assert (tmp_path / "file.lock").read_text() == f"process {os.getpid()}\n"
    assert names(tmp_path) == []


def test_a_link_and_its_file_have_one_lock(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with locked(tmp_path / "link"):
        assert names(tmp_path) == ["file.lock", "link"]
        with pytest.raises(InUseError), locked(tmp_path / "file"):
            pytest.fail("two have it")


def test_those_who_wait_have_it_one_after_the_other(tmp_path):
    path, inside, most = tmp_path / "file", [], []

    def work():
        for _ in range(20):
            with locked(path, wait=True):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 120
    assert names(tmp_path) == []


@pytest.mark.parametrize("content", ["# locked packages\n", "process of law\n"])
def test_a_lock_file_of_somebody_else_is_left_alone(tmp_path, content):
    lock = tmp_path / "file.lock"
    lock.write_text(content)
    with pytest.raises(DataError, match="no lock of devfnn"), locked(tmp_path / "file"):
        pytest.fail("it is locked")
    assert lock.read_text() == content
    lock.unlink()
    (tmp_path / "other").write_text("")
    lock.symlink_to(tmp_path / "other")
    with pytest.raises(DataError, match="cannot lock"), locked(tmp_path / "file"):
        pytest.fail("it is locked")
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(DataError, match="no lock of devfnn"), locked(tmp_path / "file"):
        pytest.fail("it is locked")


def test_without_locks_of_the_system_files_are_written_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    (tmp_path / "file.0123456789abcdef.draft").write_text("")
    with locked(tmp_path / "file"):
        write_whole(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert names(tmp_path) == ["file", "file.0123456789abcdef.draft"]
