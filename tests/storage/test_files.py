"""Files: replaced at once or not at all, readable by other tools, errors that name the path."""

import errno
import io
import os
import pathlib
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from devfnn import DEVFNN, Config, StorageError, load
from devfnn.events import RangeChanged
from devfnn.storage import dump, save
from devfnn.storage.files import read_model
from storage.stored import STORIES, Story, opened, small_file, text_of


def test_other_tools_can_read_the_tensors(tmp_path: pathlib.Path) -> None:
    model = Story(Config()).model(2)
    model.save(tmp_path / "model.safetensors")
    with safe_open(tmp_path / "model.safetensors", "numpy") as file:
        assert set(file.metadata()) == {"devfnn"}
        np.testing.assert_array_equal(file.get_tensor("scaler/low"), model._known().scaler.low)
        np.testing.assert_array_equal(
            file.get_tensor("pool/weights"), model._known().state.pool.weights
        )


@pytest.mark.parametrize("name", ["default", "chunks", "rivals, masked"])
def test_a_file_is_what_the_library_of_its_format_writes(name: str) -> None:
    data = dump(STORIES[name].known(9))
    with_metadata = opened(data)[0]
    assert save_tensors(load_tensors(data), {"devfnn": text_of(with_metadata)}) == data


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    DEVFNN(Config(seed=1)).save(path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(StorageError, match=r"cannot write .*model: No space left"):
        save(DEVFNN(Config(seed=2)), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_save_leaves_no_draft(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        DEVFNN().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_the_draft_is_complete_and_on_disk_before_it_takes_the_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, model = [], DEVFNN()
    replace, fsync = os.replace, os.fsync

    def watched_replace(draft: str, target: str) -> None:
        assert pathlib.Path(draft).parent == tmp_path
        assert pathlib.Path(draft).read_bytes() == dump(model)
        steps.append("replace")
        replace(draft, target)

    def watched_fsync(descriptor: int) -> None:
        steps.append("fsync")
        fsync(descriptor)

    monkeypatch.setattr(os, "replace", watched_replace)
    monkeypatch.setattr(os, "fsync", watched_fsync)
    model.save(tmp_path / "model")
    assert steps[:2] == ["fsync", "replace"]


def test_folders_that_cannot_be_written_to(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in ("absent/model", "file/model", "folder"):
        with pytest.raises(StorageError, match=f"cannot write .*{path}: "):
            DEVFNN().save(tmp_path / path)
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_without_permission(tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="Permission denied"):
        DEVFNN().save(tmp_path / "model")


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_links_and_permissions_stay(tmp_path: pathlib.Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    DEVFNN(Config(seed=1)).save(target)
    target.chmod(0o640)
    link.symlink_to(target)
    DEVFNN(Config(seed=2)).save(link)
    assert link.is_symlink() and load(target).config.seed == 2
    assert target.stat().st_mode & 0o777 == 0o640


def test_the_longest_names_that_a_model_takes_can_be_saved(tmp_path: pathlib.Path) -> None:
    longest = [letter * 999 + end for letter in ("\\", "\x01", "\U000e0001") for end in "ab"]
    model = DEVFNN(Config(lags=1), feature_names=longest, classes=longest)
    model.learn(np.eye(6), longest)
    model._logbook.note([RangeChanged(1, longest[-1], 0.0, 1.0)] * 2000, 1)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").feature_names == longest
    assert load(tmp_path / "model").classes == longest


def test_a_file_that_shrinks_while_it_is_read() -> None:
    data = small_file()
    with pytest.raises(StorageError, match=r"truncated: tensor .* is incomplete"):
        read_model(io.BytesIO(data[:-1]), len(data), len(data))


def test_an_absent_file_is_told_apart_from_a_bad_one(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")
    with pytest.raises(StorageError, match="not a regular file"):
        load(tmp_path)
    with pytest.raises(StorageError, match="null"):
        load("\0")
