"""Streams by name: names first, then files, and help where there is neither."""

from collections.abc import Sequence

import numpy as np
import pytest

from devfnn.errors import InputError
from devfnn.streams import sea
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import check_options, open_stream, option_types


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_is_made_by_its_name(name):
    stream = open_stream(name, options={"n_rows": 10, "seed": 3})
    assert stream.n_rows == 10
    assert stream.feature_names == GENERATORS[name].make(10).feature_names


def test_options_reach_the_generator():
    stream = open_stream("sea", options={"thresholds": [4], "noise": 0.0, "n_rows": 100})
    expected = sea(100, thresholds=[4], noise=0.0)
    np.testing.assert_array_equal(next(iter(stream)).y, next(iter(expected)).y)


def test_a_file_is_read_by_its_path(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,0\n2,1\n")
    assert open_stream(str(file)).feature_names == ("a",)
    assert open_stream(str(file), options={"label": "a"}).feature_names == ("b",)


def test_a_name_comes_before_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sea").write_text("a,b\n1,0\n")
    assert open_stream("sea").feature_names == ("f1", "f2", "f3")
    assert open_stream("./sea").feature_names == ("a",)


def test_a_data_set_is_found_in_the_folder_given(data_dir):
    if not (data_dir / "weather.npz").is_file():
        pytest.skip("needs weather.npz in the folder that DEVFNN_DATA names")
    assert open_stream("weather", data_dir=data_dir).n_rows == 18_159


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hyperplan", {}, "did you mean hyperplane"),
        ("zzz", {}, "there is no file and no stream called 'zzz'"),
        ("sea", {"threshold": [4]}, "did you mean thresholds"),
        ("sea", {"label": 1}, "sea has no option 'label'"),
        ("kdd99", {"noise": 1}, "kdd99 has no option 'noise'"),
        ("kdd99", {"target": "x"}, "must be one of attack, binary, family"),
        ("-", {"noise": 1}, "a file has no option 'noise'"),
    ],
)
def test_what_is_not_there_is_refused_with_help(name, options, message):
    with pytest.raises(InputError, match=message):
        open_stream(name, options=options)
    with pytest.raises(InputError, match=message):
        check_options(name, options)


def test_options_of_a_generator_are_its_own_and_the_common_ones():
    assert {"thresholds", "noise", "n_rows", "seed"} <= set(option_types("sea"))


def test_options_come_with_their_types():
    assert option_types("sea")["thresholds"] == Sequence[float]
    assert option_types("kdd99")["target"] == str | None
    assert option_types("-")["header"] == bool | None


def test_a_name_that_is_too_long_for_a_file_is_no_stream():
    with pytest.raises(InputError, match="there is no file and no stream"):
        option_types("x" * 5000)
