"""What is said of each data set, against itself and against the files."""

import json
import re
import urllib.parse

import numpy as np
import pytest

from devfnn.streams.datasets.catalogue import DATA_SETS, UNPUBLISHED, RemoteFile
from devfnn.streams.files.options import ReadOptions

NAMES = [
    *("electricity", "weather", "susy", "susy-30k", "kdd99", "covtype"),
    *("sea-paper", "hyperplane-paper"),
]
PUBLISHED = ["electricity", "weather", "susy", "kdd99", "covtype"]
HAS_NUMBERS = ["weather", "sea-paper", "hyperplane-paper", "electricity"]
"""Data sets whose arrays number the classes."""


def test_all_data_sets_are_there():
    assert sorted(DATA_SETS) == sorted(NAMES)
    assert all(name == each.name for name, each in DATA_SETS.items())
    assert not set(UNPUBLISHED) & set(DATA_SETS)


@pytest.mark.parametrize("name", NAMES)
def test_facts_fit_together(name):
    data_set = DATA_SETS[name]
    assert len(set(data_set.feature_names)) == len(data_set.feature_names)
    assert len(set(data_set.class_names)) == len(data_set.class_names)
    assert len(set(data_set.labels)) == len(data_set.class_names)
    assert set(data_set.category_values) <= set(data_set.feature_names)
    assert all(0 < each < data_set.n_rows for each in data_set.drift_positions)
    for text in (data_set.title, data_set.summary, data_set.licence, data_set.citation):
        assert text == text.strip() != ""
    assert data_set.home_page.startswith("http")


@pytest.mark.parametrize("name", NAMES)
def test_a_target_has_a_class_for_every_class(name):
    data_set = DATA_SETS[name]
    assert data_set.target_names[0] == data_set.default_target
    for target in data_set.targets.values():
        assert len(target.groups) == len(data_set.class_names)
        assert set(target.groups) == set(range(len(target.class_names)))


@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_way_to_get_it(name):
    data_set = DATA_SETS[name]
    assert (data_set.file is None) == bool(data_set.by_hand)
    assert (data_set.file is None) == (name not in PUBLISHED)
    assert data_set.drawn_from in (None, *NAMES)


@pytest.mark.parametrize("name", PUBLISHED)
def test_addresses_are_safe_and_checksums_are_checksums(name):
    file = DATA_SETS[name].file
    assert isinstance(file, RemoteFile)
    assert file.mirrors
    assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
    for url in file.mirrors:
        assert urllib.parse.urlsplit(url).scheme == "https"


@pytest.mark.parametrize("name", PUBLISHED)
def test_options_name_the_columns(name):
    data_set = DATA_SETS[name]
    options = ReadOptions(**data_set.options)
    assert isinstance(options.label, str)
    if options.names is not None:
        features = [each for each in options.names if each != options.label]
        assert tuple(features) == data_set.feature_names


def test_what_is_checked_is_said():
    assert DATA_SETS["electricity"].checks[:1] == ("sha256 of the download",)
    assert DATA_SETS["susy"].checks == ("names or number of columns", "labels", "number of rows")
    assert any("checksum" in note for note in DATA_SETS["susy"].notes)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_as_described(arrays_of, name):
    data_set = DATA_SETS[name]
    file = arrays_of(name)
    assert file["X"].shape == (data_set.n_rows, len(data_set.feature_names))
    assert tuple(file["feature_names"]) == data_set.feature_names
    assert np.unique(file["y"]).tolist() == list(range(len(data_set.class_names)))
    if name not in HAS_NUMBERS:
        assert tuple(file["class_names"]) == data_set.class_names


@pytest.mark.parametrize("target", ["binary", "family"])
def test_targets_of_kdd99_are_those_of_the_arrays(arrays_of, target):
    chosen = DATA_SETS["kdd99"].targets[target]
    file = arrays_of("kdd99")
    assert tuple(file[f"y_{target}_names"]) == chosen.class_names
    assert np.array_equal(np.array(chosen.groups)[file["y"]], file[f"y_{target}"])


def test_texts_of_kdd99_are_those_of_the_arrays(arrays_of):
    data_set = DATA_SETS["kdd99"]
    file = arrays_of("kdd99")
    values = json.loads(str(file["categories_json"]))
    assert {name: tuple(texts) for name, texts in values.items()} == data_set.category_values


def test_two_pressures_are_outliers(arrays_of):
    column = DATA_SETS["weather"].feature_names.index("sea_level_pressure")
    file = arrays_of("weather")
    rows = np.flatnonzero(file["X"][:, column] > 5000) + 1
    assert rows.tolist() == [3596, 3597]
    assert "3596 and 3597" in DATA_SETS["weather"].notes[0]


def test_concepts_of_sea_begin_where_it_is_said(arrays_of):
    data_set = DATA_SETS["sea-paper"]
    bounds = [0, *data_set.drift_positions, data_set.n_rows]
    file = arrays_of("sea-paper")
    sums, y = file["X"][:, 0] + file["X"][:, 1], file["y"]
    agreement = [
        np.mean((sums[start:end] <= threshold) == y[start:end])
        for start, end, threshold in zip(bounds, bounds[1:], [8, 9, 7, 9.5] * 2, strict=False)
    ]
    assert np.min(agreement[:4]) > 0.89
    assert np.max(agreement[:4]) < 0.92
    assert agreement[4:] == [1.0] * 4
