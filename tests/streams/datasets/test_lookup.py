"""Where data sets are looked for."""

import pathlib
import sys

import pytest

from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.lookup import (
    Located,
    cache_folder,
    download_folder,
    folders,
    locate,
)

WEATHER = DATA_SETS["weather"]


@pytest.fixture
def three_folders(tmp_path, monkeypatch):
    """The folder given, that of DEVFNN_DATA, and that of downloads."""
    found = [tmp_path / name for name in ("given", "data", "cache")]
    for folder in found:
        folder.mkdir()
    monkeypatch.setenv("DEVFNN_DATA", str(found[1]))
    monkeypatch.setenv("DEVFNN_CACHE", str(found[2]))
    return found


def put(folder, name):
    path = folder / name
    path.write_text("something")
    return path


def test_folders_are_searched_in_order(three_folders):
    given, data, cache = three_folders
    assert folders(given) == (given, data, cache)
    assert folders() == (data, cache)
    assert locate(WEATHER, given) is None
    for folder in (cache, data, given):
        path = put(folder, "weather.csv")
        assert locate(WEATHER, given) == Located(path, "published")


def test_a_folder_comes_once(three_folders, monkeypatch):
    monkeypatch.setenv("DEVFNN_DATA", str(three_folders[2]))
    assert folders(str(three_folders[2])) == (three_folders[2],)


def test_arrays_come_before_the_published_file(three_folders):
    folder = three_folders[0]
    put(folder, "weather.csv")
    path = put(folder, "weather.npz")
    assert locate(WEATHER, folder) == Located(path, "npz")


def test_a_nearer_folder_comes_before_arrays(three_folders):
    path = put(three_folders[0], "weather.csv")
    put(three_folders[1], "weather.npz")
    assert locate(WEATHER, three_folders[0]) == Located(path, "published")


@pytest.mark.parametrize("name", ["SUSY.csv.gz", "SUSY.csv"])
def test_a_published_file_may_have_other_names(tmp_path, name):
    path = put(tmp_path, name)
    assert locate(DATA_SETS["susy"], tmp_path) == Located(path, "published")


def test_what_was_drawn_is_told_from_what_was_published(tmp_path):
    drawn = put(tmp_path, "susy-30k-drawn.npz")
    assert locate(DATA_SETS["susy-30k"], tmp_path) == Located(drawn, "drawn")
    whole = put(tmp_path, "susy-30k.npz")
    assert locate(DATA_SETS["susy-30k"], tmp_path) == Located(whole, "npz")


def test_a_folder_or_a_partial_file_is_no_data_set(tmp_path):
    (tmp_path / "weather.npz").mkdir()
    put(tmp_path, "weather.csv.part")
    assert locate(WEATHER, tmp_path) is None


def test_a_folder_that_does_not_exist_has_nothing(tmp_path):
    assert locate(WEATHER, tmp_path / "nowhere") is None


def test_downloads_go_to_the_folder_given_else_to_the_cache(three_folders):
    given, _, cache = three_folders
    assert download_folder(given) == given
    assert download_folder() == cache == cache_folder()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/devfnn"),
        ("linux", {}, "/home/me/.cache/devfnn"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/me/Library/Caches/devfnn"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/devfnn"),
        ("win32", {}, "/home/me/AppData/Local/devfnn"),
        ("linux", {"DEVFNN_CACHE": "~/mine"}, "/home/me/mine"),
    ],
)
def test_the_cache_is_where_the_system_has_it(monkeypatch, platform, variables, expected):
    for name in ("DEVFNN_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(pathlib.Path, "home", lambda: pathlib.Path("/home/me"))
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == pathlib.Path(expected)
