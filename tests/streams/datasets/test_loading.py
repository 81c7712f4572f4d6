"""Data sets by name: where they are looked for, and that the rows are theirs, from any file."""

import dataclasses
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import devfnn
from devfnn.errors import DataError, InputError
from devfnn.streams import dataset
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.datasets.loading import (
    Located,
    cache_folder,
    download_folder,
    drawn_rows,
    folders,
    locate,
)

ELECTRICITY_HEADER = """\
@relation electricity-weka.filters.unsupervised.attribute.Normalize-S1.0-T0.0-weka.filters.\
unsupervised.attribute.ReplaceMissingValues

@attribute date numeric
@attribute day {1,2,3,4,5,6,7}
@attribute period numeric
@attribute nswprice numeric
@attribute nswdemand numeric
@attribute vicprice numeric
@attribute vicdemand numeric
@attribute transfer numeric
@attribute class {UP,DOWN}

@data
"""


def gathered(stream):
    """All rows and labels of a stream."""
    chunks = list(stream)
    return np.concatenate([chunk.X for chunk in chunks]), np.concatenate(
        [chunk.y for chunk in chunks]
    )


def assert_same(one, other, last_digits=0):
    """Two streams say the same and give the same, but for so many units in the last place."""
    assert one.feature_names == other.feature_names
    assert one.class_names == other.class_names
    assert one.classes == other.classes == tuple(range(len(one.class_names)))
    assert one.n_rows == other.n_rows
    X, y = gathered(one)
    X_other, y_other = gathered(other)
    assert X.shape == (one.n_rows, len(one.feature_names))
    np.testing.assert_array_max_ulp(X, X_other, last_digits)
    np.testing.assert_array_equal(y, y_other)
    assert y.dtype == y_other.dtype == np.int64
    return X, y


@pytest.fixture
def change(monkeypatch):
    """Change what is said of a data set for this test."""

    def apply(name, **facts):
        changed = dataclasses.replace(DATA_SETS[name], **facts)
        monkeypatch.setitem(DATA_SETS, name, changed)
        return changed

    return apply


def every_nth_row(arrays, step):
    """Arrays of a file with few of its rows."""
    n_rows = len(arrays["y"])
    return {
        name: array[::step].copy() if array.shape[:1] == (n_rows,) else array
        for name, array in arrays.items()
    }


@pytest.fixture
def some_rows(arrays_of, tmp_path, change):
    """Some rows of a data set as arrays in a folder of their own: the folder, the arrays."""

    def take(name, step):
        arrays = every_nth_row(arrays_of(name), step)
        (tmp_path / "npz").mkdir()
        (tmp_path / "raw").mkdir()
        np.savez_compressed(tmp_path / "npz" / f"{name}.npz", **arrays)
        change(name, n_rows=len(arrays["y"]))
        return arrays

    return take


def electricity_arff(X, y):
    rows = [
        ",".join(
            [f"{value:.6f}".rstrip("0").rstrip(".") for value in row] + [("DOWN", "UP")[label]]
        )
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    return (ELECTRICITY_HEADER + "\n".join(rows)).encode()


def kdd_text(arrays):
    values = json.loads(str(arrays["categories_json"]))
    columns = []
    for name, column in zip(arrays["feature_names"], arrays["X"].T, strict=True):
        if name in values:
            columns.append([values[name][int(code)] for code in column])
        else:
            form = "%.2f" if name.endswith("_rate") else "%d"
            columns.append([form % number for number in column])
    columns.append([str(arrays["class_names"][label]) for label in arrays["y"]])
    return "".join(",".join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def susy_text(X, y):
    rows = np.column_stack([y, X])
    return "".join(",".join(f"{value:.18e}" for value in row) + "\n" for row in rows).encode()


def weather_text(X, y):
    header = ",".join([*(f"feat_{place}" for place in range(1, 9)), "target"])
    rows = [
        ",".join([*map(repr, row), str(label)])
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    return "\n".join([header, *rows, ""]).encode()


def both(tmp_path, name, **options):
    """A data set from its arrays, and from the published file."""
    return (
        dataset(name, data_dir=tmp_path / "npz", download=False, **options),
        dataset(name, data_dir=tmp_path / "raw", download=False, **options),
    )


@pytest.mark.parametrize(
    ("target", "categories"),
    [
        *((None, each) for each in ("auto", "codes", "onehot", "hash", "frequency")),
        *(("attack", "codes"), ("binary", "auto"), ("family", "codes")),
    ],
)
def test_kdd99_is_the_same_from_its_text(some_rows, tmp_path, categories, target):
    arrays = some_rows("kdd99", 250)
    packed = gzip.compress(kdd_text(arrays), 1)
    (tmp_path / "raw" / "kddcup.data_10_percent.gz").write_bytes(packed)
    X, y = assert_same(*both(tmp_path, "kdd99", target=target, categories=categories))
    label = "y" if target in (None, "attack") else f"y_{target}"
    np.testing.assert_array_equal(y, arrays[label])
    if categories == "codes":
        np.testing.assert_array_equal(X, arrays["X"])


def test_categories_of_kdd99_have_a_column_for_every_text_that_occurs(some_rows, tmp_path):
    some_rows("kdd99", 250)
    names = dataset("kdd99", data_dir=tmp_path / "npz").feature_names
    assert [name for name in names if "protocol" in name] == [
        *("protocol_type=icmp", "protocol_type=tcp", "protocol_type=udp"),
    ]
    assert sum(name.startswith("flag=") for name in names) == 11
    assert "service" in names


@pytest.mark.parametrize("options", [{}, {"categorical": ["day"]}])
def test_electricity_is_the_same_from_arff(some_rows, tmp_path, options):
    arrays = some_rows("electricity", 10)
    text = electricity_arff(arrays["X"], arrays["y"])
    (tmp_path / "raw" / "electricity-normalized.arff").write_bytes(text)
    streams = both(tmp_path, "electricity", **options)
    # In the arrays, 58 decimals are not rounded to the nearest number.
    X, y = assert_same(*streams, last_digits=1)
    assert streams[0].class_names == ("DOWN", "UP")
    np.testing.assert_array_equal(y, arrays["y"])
    if not options:
        np.testing.assert_array_equal(X, arrays["X"])
    else:
        assert streams[0].feature_names[1:8] == tuple(f"day={day}" for day in range(1, 8))


def test_weather_is_the_same_from_csv(some_rows, tmp_path):
    arrays = some_rows("weather", 5)
    (tmp_path / "raw" / "weather.csv").write_bytes(weather_text(arrays["X"], arrays["y"]))
    streams = both(tmp_path, "weather")
    X, y = assert_same(*streams)
    assert streams[0].class_names == ("no rain", "rain")
    np.testing.assert_array_equal(X, arrays["X"])
    np.testing.assert_array_equal(y, arrays["y"])


def test_susy_is_the_same_from_csv(some_rows, tmp_path, change):
    arrays = some_rows("susy-30k", 10)
    os.rename(tmp_path / "npz" / "susy-30k.npz", tmp_path / "npz" / "susy.npz")
    change("susy", n_rows=len(arrays["y"]))
    text = susy_text(arrays["X"], arrays["y"])
    (tmp_path / "raw" / "SUSY.csv.gz").write_bytes(gzip.compress(text, 1))
    X, y = assert_same(*both(tmp_path, "susy"))
    np.testing.assert_array_equal(X, arrays["X"])
    np.testing.assert_array_equal(y, arrays["y"])


def test_the_columns_asked_for_are_the_same_from_any_file(some_rows, tmp_path, change):
    arrays = some_rows("susy-30k", 1000)
    os.rename(tmp_path / "npz" / "susy-30k.npz", tmp_path / "npz" / "susy.npz")
    change("susy", n_rows=len(arrays["y"]))
    (tmp_path / "raw" / "SUSY.csv").write_bytes(susy_text(arrays["X"], arrays["y"]))
    X, _ = assert_same(*both(tmp_path, "susy", ignore=["lepton_1_pT", "cos_theta_r1"]))
    np.testing.assert_array_equal(X, arrays["X"][:, 1:-1])


def test_covtype_counts_its_classes_from_0(tmp_path, change, rng):
    change("covtype", n_rows=700)
    X = rng.integers(0, 3000, (700, 54))
    y = np.tile(np.arange(1, 8), 100)
    text = "".join(",".join(map(str, row)) + "\n" for row in np.column_stack([X, y]).tolist())
    (tmp_path / "covtype.data.gz").write_bytes(gzip.compress(text.encode()))
    stream = dataset("covtype", data_dir=tmp_path)
    read_X, read_y = gathered(stream)
    np.testing.assert_array_equal(read_X, X)
    np.testing.assert_array_equal(read_y, y - 1)
    assert stream.class_names[6] == "Krummholz"


def test_electricity_is_downloaded_and_read(arrays_of, tmp_path, server, change):
    """The published file, byte for byte: size and checksum are those of the catalogue."""
    arrays = arrays_of("electricity")
    X, y = arrays["X"], arrays["y"]
    content = electricity_arff(X, y)
    published = DATA_SETS["electricity"].file
    assert hashlib.sha256(content).hexdigest() == published.sha256
    url = server.put("/electricity.arff", content, cuts=[1_000_000])
    change("electricity", file=dataclasses.replace(published, mirrors=(url,)))
    calls = []
    stream = dataset(
        "electricity", data_dir=tmp_path, progress=lambda *numbers: calls.append(numbers)
    )
    assert calls[-1] == (published.n_bytes, published.n_bytes)
    read_X, read_y = gathered(stream)
    np.testing.assert_array_max_ulp(read_X, X, 1)
    np.testing.assert_array_equal(read_y, y)
    assert [each.name for each in tmp_path.iterdir()] == ["electricity-normalized.arff"]
    dataset("electricity", data_dir=tmp_path)
    assert len(server.asked) == 2


# From here on no data are needed: small files of the same layout.


def small_weather(rng, n_rows=50):
    X = np.round(rng.normal(50, 10, (n_rows, 8)), 1)
    return X, rng.integers(0, 2, n_rows)


@pytest.fixture
def weather(tmp_path, change, rng):
    """A small file of the layout of weather."""
    change("weather", n_rows=50)
    X, y = small_weather(rng)
    path = tmp_path / "weather.csv"
    path.write_bytes(weather_text(X, y))
    return path


def test_a_data_set_downloads_to_the_cache(server, change, rng):
    X, y = small_weather(rng)
    content = weather_text(X, y)
    url = server.put("/weather.csv", content)
    file = dataclasses.replace(DATA_SETS["weather"].file, mirrors=(url,), sha256=None)
    data_set = change("weather", n_rows=50, file=file)
    np.testing.assert_array_equal(gathered(dataset("weather"))[0], X)
    assert locate(data_set).path == pathlib.Path(os.environ["DEVFNN_CACHE"]) / "weather.csv"


def test_a_stream_starts_anew_when_iterated_again(weather):
    stream = dataset("weather", data_dir=weather.parent, chunk_rows=20)
    assert [len(chunk.y) for chunk in stream] == [20, 20, 10]
    np.testing.assert_array_equal(gathered(stream)[0], gathered(stream)[0])


def test_rows_that_end_early_are_noticed(weather):
    lines = weather.read_bytes().splitlines(keepends=True)
    weather.write_bytes(b"".join(lines[:-1]))
    stream = dataset("weather", data_dir=weather.parent)
    with pytest.raises(DataError, match="ends after 49 of the 50 rows of weather; remove it"):
        gathered(stream)
    assert len(gathered(stream.take(40))[1]) == 40


def test_too_many_rows_are_noticed(weather):
    lines = weather.read_bytes().splitlines(keepends=True)
    weather.write_bytes(b"".join([*lines, lines[-1]]))
    with pytest.raises(DataError, match="has more rows than the 50 of weather"):
        gathered(dataset("weather", data_dir=weather.parent))


def test_bad_rows_may_be_left_out(weather):
    lines = weather.read_bytes().splitlines(keepends=True)
    weather.write_bytes(b"".join([*lines[:-1], b"1,2,3\n"]))
    stream = dataset("weather", data_dir=weather.parent, on_bad_row="count")
    assert len(gathered(stream)[1]) == 49
    assert stream.bad_rows.n_rows == 1
    assert stream.n_rows is None


def test_a_label_that_is_none_is_noticed(weather):
    weather.write_bytes(weather.read_bytes()[:-2] + b"7\n")
    with pytest.raises(DataError, match="label 7, which is none of 0, 1"):
        gathered(dataset("weather", data_dir=weather.parent))


def test_a_missing_label_is_noticed(weather):
    weather.write_bytes(weather.read_bytes()[:-2] + b"\n")
    with pytest.raises(DataError, match="label None, which is none of 0, 1"):
        gathered(dataset("weather", data_dir=weather.parent))


def test_a_file_with_other_columns_is_refused(weather):
    weather.write_text("a,b,c\n1,2,0\n")
    with pytest.raises(DataError, match="9 names for 3 columns"):
        dataset("weather", data_dir=weather.parent)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"X": np.zeros((50, 7)), "feature_names": list("abcdefg")}, "it has the columns a, b"),
        ({"feature_names": list("abcdefgh")}, "it has the columns a, b"),
        ({"class_names": ["rain", "no rain"]}, "it has the classes rain, no rain, not no rain"),
        ({"X": np.zeros((40, 8)), "y": np.zeros(40, int)}, "it has the rows 40, not 50"),
        ({"y": None}, "there is no column 'y'"),
    ],
)
def test_arrays_of_something_else_are_refused(tmp_path, change, changes, reason):
    data_set = change("weather", n_rows=50)
    arrays = {
        "X": np.zeros((50, 8)),
        "y": np.zeros(50, int),
        "feature_names": data_set.feature_names,
    } | changes
    known = {name: array for name, array in arrays.items() if array is not None}
    np.savez(tmp_path / "weather.npz", **known)
    with pytest.raises(DataError, match=f"is not weather: .*{reason}"):
        dataset("weather", data_dir=tmp_path)


@pytest.mark.parametrize("class_names", [["0", "1"], ["1", "2"], ["no rain", "rain"], None])
def test_arrays_may_number_the_classes(tmp_path, change, class_names):
    data_set = change("weather", n_rows=2)
    names = {} if class_names is None else {"class_names": class_names}
    np.savez(
        tmp_path / "weather.npz",
        X=np.zeros((2, 8)),
        y=np.array([1, 0]),
        feature_names=data_set.feature_names,
        **names,
    )
    stream = dataset("weather", data_dir=tmp_path)
    assert stream.class_names == ("no rain", "rain")
    assert gathered(stream)[1].tolist() == [1, 0]


def test_an_unknown_name_is_refused_with_a_guess():
    with pytest.raises(
        InputError, match=r"did you mean electricity\? Known: electricity, weather,"
    ):
        dataset("Elektricity")
    with pytest.raises(InputError, match="no data set 'x'; Known: electricity, weather,"):
        dataset("x")


def test_what_was_never_published_is_said():
    with pytest.raises(InputError, match=r"never published; rfid\(\) simulates one"):
        dataset("rfid")


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("weather", {"target": "binary"}, "target of weather must be one of class, not 'binary'"),
        ("kdd99", {"target": "x"}, "target of kdd99 must be one of attack, binary, family"),
        ("weather", {"label": "target"}, "label is not an option of a data set"),
        ("weather", {"names": ["a"]}, "names is not an option of a data set"),
        ("weather", {"ignore": "visibility"}, "ignore must be a list"),
        ("weather", {"ignore": ["target"]}, "weather has no feature 'target', only temp"),
        ("weather", {"ignore": [2]}, "weather has no feature 2"),
        ("weather", {"time": "when"}, "weather has no feature 'when'"),
        ("kdd99", {"numeric": ["service"]}, "service holds texts; with categories='codes'"),
        ("kdd99", {"categories": "x"}, "categories must be one of"),
        ("kdd99", {"chunk_rows": 0}, "chunk_rows must be a whole number"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_download(name, options, reason):
    with pytest.raises(InputError, match=reason):
        dataset(name, **options)


def test_a_feature_may_be_the_time(weather):
    stream = dataset("weather", data_dir=weather.parent, time="temperature")
    assert "temperature" not in stream.feature_names
    assert next(iter(stream)).times is not None


def test_without_a_download_the_error_says_what_to_do(tmp_path):
    with pytest.raises(DataError) as error:
        dataset("covtype", data_dir=tmp_path, download=False)
    address = DATA_SETS["covtype"].file.mirrors[0]
    assert f"covtype is not in {tmp_path}" in str(error.value)
    assert f"download {address}, and put it as covtype.data.gz into {tmp_path}" in str(error.value)


def test_offline_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("DEVFNN_OFFLINE", "1")
    with pytest.raises(DataError, match=r"DEVFNN_OFFLINE is set; download https://.*SUSY\.csv\.gz"):
        dataset("susy", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sea-paper", r"NSE collection.*sea\(\) generates such a stream.*put sea-paper\.npz"),
        ("hyperplane-paper", r"pENsemblePlus.*hyperplane\(\) generates.*hyperplane-paper\.npz"),
        ("susy-30k", r"dataset\('susy'\).*put susy-30k\.npz"),
    ],
)
def test_what_cannot_be_downloaded_is_said(name, hint, tmp_path):
    with pytest.raises(DataError, match=hint):
        dataset(name, data_dir=tmp_path)


@pytest.fixture
def small_susy(tmp_path, change, rng):
    """A file of the layout of susy with 5000 rows, of which 300 are drawn."""
    change("susy", n_rows=5000)
    change("susy-30k", n_rows=300)
    X, y = rng.normal(size=(5000, 18)), rng.integers(0, 2, 5000)
    (tmp_path / "SUSY.csv.gz").write_bytes(gzip.compress(susy_text(X, y), 1))
    return X, y


def test_a_subset_is_drawn_once_and_kept(small_susy, tmp_path):
    X, y = small_susy
    rows = drawn_rows(5000, 300)
    for _ in range(2):
        drawn_X, drawn_y = gathered(dataset("susy-30k", data_dir=tmp_path))
        np.testing.assert_array_equal(drawn_X, X[rows])
        np.testing.assert_array_equal(drawn_y, y[rows])
        (tmp_path / "SUSY.csv.gz").unlink(missing_ok=True)
    located = locate(DATA_SETS["susy-30k"], tmp_path)
    assert located.origin == "drawn"
    with np.load(located.path, allow_pickle=False) as file:
        assert str(file["about"]) == "drawn from susy with seed 30000"
    assert [path.name for path in tmp_path.iterdir()] == ["susy-30k-drawn.npz"]


def test_rows_drawn_are_in_order_and_always_the_same():
    rows = drawn_rows(5_000_000, 30_000)
    assert len(rows) == 30_000
    assert (np.diff(rows) > 0).all()
    assert rows[0] >= 0 and rows[-1] < 5_000_000
    assert hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest()[:16] == "7be3baad3a5f1f03"


def test_nothing_is_drawn_from_a_file_that_is_cut_off(small_susy, tmp_path, change):
    change("susy", n_rows=5001)
    with pytest.raises(DataError, match="ends after 5000 of the 5001 rows"):
        dataset("susy-30k", data_dir=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["SUSY.csv.gz"]


def test_a_large_file_is_read_in_bounded_memory(tmp_path, rng):
    block = gzip.compress(susy_text(rng.normal(size=(5000, 18)), rng.integers(0, 2, 5000)), 1)
    with (tmp_path / "SUSY.csv.gz").open("wb") as file:
        for _ in range(30):
            file.write(block)
    code = (
        "import dataclasses, resource\n"
        "from devfnn.streams import dataset\n"
        "from devfnn.streams.datasets.catalogue import DATA_SETS\n"
        "DATA_SETS['susy'] = dataclasses.replace(DATA_SETS['susy'], n_rows=150_000)\n"
        "n_rows = 0\n"
        f"for chunk in dataset('susy', data_dir={str(tmp_path)!r}):\n"
        "    n_rows += len(chunk.y)\n"
        "    if n_rows in (25_000, 150_000):\n"
        "        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(devfnn.__file__).parents[1])}
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert finished.returncode == 0, finished.stderr
    early, late = map(int, finished.stdout.split())
    # All rows kept as numbers would be 19 megabytes more.
    assert late - early < 10_000 * (1024 if sys.platform == "darwin" else 1)


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


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs knows")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"XDG_CACHE_HOME": "/x"}, "/x/devfnn"),
        ({}, "/home/me/.cache/devfnn"),
        ({"DEVFNN_CACHE": "~/mine"}, "/home/me/mine"),
    ],
)
def test_the_cache_is_where_the_system_has_it(monkeypatch, variables, expected):
    for name in ("DEVFNN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == pathlib.Path(expected)
