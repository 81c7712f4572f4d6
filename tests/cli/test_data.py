"""`devfnn data`: what it lists, shows, describes, fetches and exports."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli.shown import shown
from devfnn.display.streams import MOST_LINES
from devfnn.streams import read, rfid, sea
from devfnn.streams.datasets.catalogue import DATA_SETS
from devfnn.streams.describing import Overview
from devfnn.streams.generators.catalogue import GENERATORS


@pytest.fixture(autouse=True)
def _no_data(monkeypatch, tmp_path):
    """No data sets and no network, unless a test has some."""
    monkeypatch.setenv("DEVFNN_DATA", "")
    monkeypatch.setenv("DEVFNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DEVFNN_OFFLINE", "1")


@pytest.fixture
def weather_folder(tmp_path):
    """A folder with a file that looks like the weather data."""
    weather = DATA_SETS["weather"]
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    np.savez(
        folder / "weather.npz",
        X=rng.normal(size=(weather.n_rows, len(weather.feature_names))),
        y=rng.integers(0, 2, weather.n_rows),
        feature_names=np.array(weather.feature_names),
        class_names=np.array(weather.class_names),
    )
    return folder


def test_list_names_everything(invoke, tmp_path):
    result = invoke("data", "list", "--json", tmp_path / "list.json")
    assert result.exit_code == 0, result.output
    listed = json.loads((tmp_path / "list.json").read_text())
    assert [row["data set"] for row in listed["data_sets"]] == list(DATA_SETS)
    assert list(listed["generators"]) == list(GENERATORS)
    for name in (*DATA_SETS, *GENERATORS):
        assert name in result.stdout
    assert "CC BY 4.0" in result.stdout
    assert "5,000,000" in result.stdout
    assert listed["data_sets"][0] == {
        "data set": "electricity",
        "rows": 45_312,
        "features": 8,
        "classes": 2,
        "licence": DATA_SETS["electricity"].licence,
        "where": "to download, 3.1 MB",
    }


def test_list_says_what_is_here(invoke, weather_folder, tmp_path):
    invoke("data", "list", "--data-dir", weather_folder, "--json", tmp_path / "list.json")
    rows = json.loads((tmp_path / "list.json").read_text())["data_sets"]
    where = {row["data set"]: row["where"] for row in rows}
    assert where["weather"] == "here"
    assert where["covtype"].startswith("to download")
    assert where["susy-30k"] == "drawn from susy"
    assert where["sea-paper"] == "by hand"


@pytest.mark.parametrize("name", DATA_SETS)
def test_info_of_a_data_set_has_licence_citation_rows_and_classes(invoke, tmp_path, name):
    result = invoke("data", "info", name, "--json", tmp_path / "info.json")
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "info.json").read_text())
    assert facts["rows"] == DATA_SETS[name].n_rows
    assert facts["classes"] == list(DATA_SETS[name].class_names)
    assert facts["features"] == list(DATA_SETS[name].feature_names)
    assert f"{DATA_SETS[name].n_rows:,}" in result.stdout
    for fact in ("licence", "citation", "home page", "checked", "to get it"):
        assert facts[fact]
    assert facts["here"] is None


@pytest.mark.parametrize("name", GENERATORS)
def test_info_of_a_generator_has_its_options(invoke, name):
    result = invoke("data", "info", name)
    assert result.exit_code == 0, result.output
    for option in ("noise", "class_shares", "rows_per_concept", "endless"):
        assert option in shown(result)


def test_info_of_a_file_has_its_columns(invoke, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n")
    result = invoke("data", "info", tmp_path / "rows.csv")
    assert "2: a, b" in shown(result)
    assert "2: x, y" in shown(result)


def test_head_shows_the_first_rows(invoke):
    result = invoke("data", "head", "sea", "--rows", 3, "--seed", 4)
    assert result.exit_code == 0, result.output
    first = next(iter(sea(3, seed=4)))
    for value in first.X.ravel():
        assert f"{value:.4g}" in result.stdout


def test_head_of_many_features_has_a_line_for_each(invoke):
    result = invoke("data", "head", "led", "--rows", 2, env={"COLUMNS": "60"})
    lines = [line.split() for line in result.stdout.splitlines()]
    names = next(iter([GENERATORS["led"].make(1).feature_names]))
    assert [line[0] for line in lines if line and line[0] in names] == list(names)


def test_head_shows_the_names_of_classes(invoke, weather_folder):
    result = invoke("data", "head", "weather", "--data-dir", weather_folder)
    assert any(name in result.stdout for name in DATA_SETS["weather"].class_names)


def test_describe_shows_balance_ranges_and_missing_values(invoke, tmp_path):
    file = tmp_path / "rows.csv"
    rows = [f"{k},{'' if k % 4 == 0 else k / 2},{'yes' if k < 80 else 'no'}" for k in range(100)]
    file.write_text("a,b,rain\n" + "\n".join(rows) + "\n")
    report = tmp_path / "report.json"
    result = invoke("data", "describe", file, "--chunk-rows", 40, "--json", report)
    assert result.exit_code == 0, result.output
    assert "100 rows in 3 chunks" in result.stdout
    assert "yes 80.0 %" not in result.stdout  # chunks: all yes, all yes, all no
    assert "25 (25.0 %)" in result.stdout
    assert "0 .. 39" in result.stdout
    found = json.loads(report.read_text())
    assert found["overall"]["classes"] == {"yes": 80, "no": 20}
    assert [chunk["rows"] for chunk in found["chunks"]] == [40, 40, 20]
    assert found["chunks"][1]["features"]["a"]["min"] == 40


def test_describe_puts_chunks_together_and_marks_drift(invoke):
    options = ("--rows", 20_000, "--chunk-rows", 100, "--with", "rows_per_concept=5000")
    result = invoke("data", "describe", "sea", *options)
    assert "20,000 rows in 200 chunks" in result.stdout
    assert [f"{row:,}" in result.stdout for row in (5000, 10_000, 15_000)] == [True] * 3
    assert len(result.stdout.splitlines()) < 60


def test_describe_of_many_features_names_those_that_leave_their_range(invoke):
    result = invoke("data", "describe", "agrawal", "--rows", 2000, "--chunk-rows", 100)
    assert "new ranges" in result.stdout
    assert "salary" in result.stdout


def test_bad_rows_are_counted_and_shown(invoke, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n" + "1,0\n2,1\n" * 800 + "oops,1\n")
    result = invoke("data", "describe", file, "--with", "on_bad_row=count")
    assert result.exit_code == 0, result.output
    assert "row 1,601: 'oops' in column 'a' is no number" in shown(result)


def test_export_writes_what_can_be_read_again(invoke, tmp_path):
    file = tmp_path / "sea.parquet"
    result = invoke("data", "export", "sea", file, "--rows", 3000, "--label-name", "above")
    assert result.exit_code == 0, result.output
    assert "3,000 rows" in result.stdout
    assert pq.read_table(file).column_names == ["f1", "f2", "f3", "above"]
    np.testing.assert_array_equal(next(iter(read(file))).X, next(iter(sea(3000))).X)


def test_an_endless_stream_is_cut_off(invoke, tmp_path):
    result = invoke("data", "export", "stagger", tmp_path / "stagger.parquet")
    assert "100,000 rows" in result.stdout


def test_fetch_says_where_a_data_set_is(invoke, weather_folder):
    result = invoke("data", "fetch", "weather", "--data-dir", weather_folder)
    assert result.exit_code == 0, result.output
    assert str(weather_folder / "weather.npz") in result.stdout.replace("\n", "")


def test_fetch_offline_says_what_to_do(invoke, tmp_path):
    result = invoke("data", "fetch", "covtype")
    assert result.exit_code == 1
    for hint in (DATA_SETS["covtype"].file.mirrors[0], "covtype.data.gz", "cache"):
        assert hint in result.output.replace("\n", "")


def test_lists_can_have_one_value(invoke, tmp_path):
    (tmp_path / "rows.csv").write_text("id,a,b\n7,1,0\n8,3,1\n")
    result = invoke("data", "info", tmp_path / "rows.csv", "--with", "ignore=id")
    assert "1: a" in shown(result)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("header=x", "header takes true or false or none, not 'x'"),
        ("names=1,2", "there are 2 names for 3 columns"),
        ("category_values=x", "category_values takes TEXT:TEXT|...,..., not 'x'"),
        ("delimiter=xy", "delimiter must be one character, not 'xy'"),
    ],
)
def test_options_of_files_that_do_not_fit_are_refused(invoke, tmp_path, option, message):
    (tmp_path / "rows.csv").write_text("a,b,c\n1,2,x\n3,4,y\n")
    result = invoke("data", "head", tmp_path / "rows.csv", "--with", option)
    assert result.exit_code in (1, 2), result.output
    assert message in shown(result)
    assert "Traceback" not in result.output


def test_an_option_that_the_library_does_not_check_is_refused_all_the_same(invoke, monkeypatch):
    def make(n_rows, **options):
        raise TypeError("unsupported operand")

    monkeypatch.setattr("devfnn.experiments.settings.open_stream", make)
    result = invoke("data", "head", "sea", "--with", "noise=0.1")
    assert result.exit_code == 2
    assert "sea does not accept these options: unsupported operand" in shown(result)


@pytest.mark.parametrize(
    ("content", "option", "names"),
    [
        ("a,b,c\n1,2,x\n3,4,y\n", "delimiter=,", "2: a, b"),
        ("a\tb c\td\n1\t2\tx\n3\t4\ty\n", r"delimiter=\t", "2: a, b c"),
        ("a b,c d\n1 2 x\n3 4 y\n", "delimiter= ", "2: a, b,c"),
        ("1,2,x\n3,4,y\n", "names=1,2,3", "2: 1, 2"),
        ("a,b,c\n1,2,x\n3,4,y\n", "header=false", "x1=a"),
        ("a,b,c\n1,2,x\n3,4,y\n", "category_values=a:1|3,b:2|4|6", "5: a=1, a=3, b=2, b=4, b=6"),
    ],
)
def test_options_of_files_can_be_typed(invoke, tmp_path, content, option, names):
    (tmp_path / "rows.csv").write_text(content)
    result = invoke("data", "info", tmp_path / "rows.csv", "--with", option)
    assert result.exit_code == 0, result.output
    assert names in shown(result)


def test_shares_and_environments_of_a_generator_can_be_typed(invoke, tmp_path):
    def exported(name, option):
        file = tmp_path / "rows.parquet"
        result = invoke("data", "export", name, file, "--rows", 5000, "--with", option)
        assert result.exit_code == 0, result.output
        return next(iter(read(file).chunks(rows=5000)))

    even = exported("sea", "class_shares=1:0.05")
    swinging = exported("sea-imbalanced", "class_shares=1:0.05..0.4")
    np.testing.assert_array_equal(
        even.y, next(iter(sea(5000, class_shares={1: 0.05}).chunks(rows=5000))).y
    )
    assert 0.15 < (swinging.y == 1).mean() < 0.3
    walls = exported("rfid", "environments=2.2:0,2.6:3")
    expected = rfid(5000, environments=[(2.2, 0), (2.6, 3)])
    np.testing.assert_array_equal(walls.X, next(iter(expected.chunks(rows=5000))).X)


def test_info_applies_the_options(invoke, tmp_path, weather_folder):
    def facts(*arguments):
        file = tmp_path / "info.json"
        result = invoke("data", "info", *arguments, "--json", file)
        assert result.exit_code == 0, result.output
        return json.loads(file.read_text())

    assert facts("sea", "--with", "positions=70,90")["drift"] == [70, 90]
    assert facts("sea")["rows"] is None
    assert facts("sea")["endless"] is True
    assert facts("sea")["options"]["thresholds"] == "NUMBER,..."
    assert "seed" not in facts("sea")["options"]
    assert facts("kdd99", "--with", "target=binary")["classes"] == ["normal", "attack"]
    read_so = facts("weather", "--data-dir", weather_folder, "--with", "ignore=dew_point")
    assert read_so["features"] == [
        name for name in DATA_SETS["weather"].feature_names if name != "dew_point"
    ]
    assert read_so["here"] == str(weather_folder / "weather.npz")


ODD = "temp [/C],speed [m/s],:smile:\n1,2,[/x]\n3,4,[b]\n5,6,[/x]\n"


@pytest.mark.parametrize("command", ["info", "head", "describe"])
def test_names_and_labels_are_shown_as_they_are(invoke, tmp_path, command):
    folder = tmp_path / "x ["
    folder.mkdir()
    (folder / "red].csv").write_text(ODD)
    result = invoke("data", command, folder / "red].csv", env={"COLUMNS": "250"})
    assert result.exit_code == 0, result.output
    for text in ("temp [/C]", "speed [m/s]", "[/x]", "[b]"):
        assert text in result.stdout
    if command == "info":
        assert "x [/red].csv" in shown(result)


def test_paths_are_shown_as_they_are(invoke, tmp_path):
    file = tmp_path / "[bold]rows.parquet"
    result = invoke("data", "export", "sea", file, "--rows", 10)
    assert f"10 rows in {file}" in result.stdout.replace("\n", "")


def test_reasons_of_bad_rows_are_shown_as_they_are(invoke, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,0\n2,1\n" * 800 + "[/oops],1\n")
    result = invoke("data", "describe", tmp_path / "rows.csv", "--with", "on_bad_row=count")
    assert "'[/oops]' in column 'a' is no number" in shown(result)


def test_many_chunks_are_all_in_the_file_but_not_in_memory(invoke, tmp_path, monkeypatch):
    overviews = []

    class Watched(Overview):
        def add(self, description):
            super().add(description)
            overviews.append(len(self.parts))

    monkeypatch.setattr("devfnn.cli.data.Overview", Watched)
    file = tmp_path / "report.json"
    options = ("--rows", 5000, "--chunk-rows", 10, "--json", file)
    result = invoke("data", "describe", "sea", *options)
    assert "5,000 rows in 500 chunks" in result.stdout
    assert max(overviews) <= 2 * MOST_LINES
    report = json.loads(file.read_text())
    assert [chunk["rows"] for chunk in report["chunks"]] == [10] * 500
    assert report["overall"]["rows"] == 5000
    assert report["is_interrupted"] is False


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["head", "nothing"], 2, "there is no file and no stream called 'nothing'"),
        (["head", "agrawl"], 2, "did you mean agrawal?"),
        (["info", "nothing.csv"], 2, "there is no file"),
        (["fetch", "nothing"], 2, "there is no data set 'nothing'"),
        (["fetch", "electricty"], 2, "did you mean electricity?"),
        (["fetch", "sea"], 2, "sea is a generator"),
        (["info", "sea", "--with", "nois=3"], 2, "sea has no option 'nois'; did you mean noise?"),
        (["info", "sea", "--with", "noise=3"], 2, "noise must be between 0 and 1, not 3"),
        (["info", "sea", "--label", "f1"], 2, "--label is for files"),
        (["info", "kdd99", "--with", "target=foo"], 2, "must be one of attack, binary, family"),
        (["info", "kdd99", "--with", "noise=3"], 2, "kdd99 has no option 'noise'"),
        (["info", "kdd99", "--with", "ignore=colour"], 2, "kdd99 has no feature 'colour'"),
        (["export", "sea", "out.csv"], 2, "call the file out.parquet, not out.csv"),
        (["export", "sea", "-"], 2, "call the file sea.parquet, not -"),
        (["describe", "sea", "--json", "/proc/x.json"], 2, "cannot write '/proc/x.json'"),
        (["head", "sea", "--with", "thresholds=a,b"], 2, "thresholds takes NUMBER,..., not 'a,b'"),
        (["head", "sea", "--with", "thresholds=nan"], 2, "thresholds takes NUMBER,..., not 'nan'"),
        (["head", "rfid", "--with", "environments=2.2,0"], 2, "takes NUMBER:NUMBER,..., not"),
        (["head", "sea", "--with", "positions=1e300"], 2, "positions takes INTEGER,..., not"),
        (["head", "sea", "--with", "chunk_rows=10"], 2, "not for --with: use --chunk-rows"),
        (["head", "sea", "--with", "n_rows=10"], 2, "not for --with: use --rows"),
        (["head", "sea", "--with", "seed=10"], 2, "not for --with: use --seed"),
        (["head", "kdd99", "--with", "label=10"], 2, "not for --with: use --label"),
        (["describe", "sea", "--with", "colour=1"], 2, "sea has no option 'colour'"),
        (["head", "sea", "--rows", "0"], 2, "--rows"),
        (["describe", "sea", "--json", "no/folder/x.json"], 2, "does not exist"),
        (["export", "sea", "no/folder/x.parquet"], 2, "does not exist"),
        (["export", "sea", "x.parquet", "--label-name", "f1"], 2, "a feature is called 'f1'"),
        (["head", "weather"], 1, "DEVFNN_OFFLINE"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(
    invoke, tmp_path, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    result = invoke("data", *arguments)
    assert result.exit_code == code, result.output
    assert message in shown(result)
    assert "Traceback" not in result.output


def table_of(invoke, tmp_path, *arguments):
    """What a command writes with `--csv`, as a list of lines."""
    file = tmp_path / "table.csv"
    result = invoke("data", *arguments, "--csv", file)
    assert result.exit_code == 0, result.output
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_list_is_written_as_a_table(invoke, tmp_path):
    found = table_of(invoke, tmp_path, "list")
    assert [line["name"] for line in found] == [*DATA_SETS, *GENERATORS]
    assert {line["kind"] for line in found} == {"data set", "generator"}
    assert found[0]["rows"] == "45312"
    assert found[-1]["rows"] == ""
    assert all(line["what"] for line in found)


def test_facts_are_written_as_a_table(invoke, tmp_path):
    found = {line["fact"]: line["value"] for line in table_of(invoke, tmp_path, "info", "weather")}
    assert found["rows"] == str(DATA_SETS["weather"].n_rows)
    assert json.loads(found["features"]) == list(DATA_SETS["weather"].feature_names)
    assert found["here"] == ""


def test_the_first_rows_are_written(invoke, tmp_path):
    (tmp_path / "rows.csv").write_text("when,a,b,kind\n2024-01-01,1,2.5,x\n2024-01-02,,4,y\n")
    options = ("head", tmp_path / "rows.csv", "--with", "time=when", "--label", "kind")
    found = table_of(invoke, tmp_path, *options, "--json", tmp_path / "rows.json")
    assert [line["a"] for line in found] == ["1.0", ""]
    assert [line["label"] for line in found] == ["x", "y"]
    assert found[1]["time"].startswith("2024-01-02")
    data = json.loads((tmp_path / "rows.json").read_text())
    assert data["columns"] == ["time", "a", "b", "label"]
    assert data["rows"][1][1:] == [None, 4.0, "y"]
    assert list(table_of(invoke, tmp_path, "head", "sea")[0]) == ["f1", "f2", "f3", "label"]


def test_chunks_are_written_as_a_table(invoke, tmp_path):
    report = tmp_path / "report.json"
    options = ("describe", "sea", "--rows", 1200, "--json", report)
    found = table_of(invoke, tmp_path, *options)
    chunks = json.loads(report.read_text())["chunks"]
    assert [int(line["first row"]) for line in found] == [1, 501, 1001]
    assert [int(line["rows"]) for line in found] == [500, 500, 200]
    for line, chunk in zip(found, chunks, strict=True):
        assert json.loads(line["classes"]) == chunk["classes"]
        assert float(line["std of f2"]) == chunk["features"]["f2"]["std"]
        assert line["missing of f3"] == "0"


def test_no_table_is_left_by_work_that_fails(invoke, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,0\n2,1\n" * 800 + "oops,1\n")
    result = invoke("data", "describe", tmp_path / "rows.csv", "--csv", tmp_path / "table.csv")
    assert result.exit_code == 1, result.output
    assert [each.name for each in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(
    "command", [["list"], ["info", "sea"], ["head", "sea"], ["describe", "sea"]]
)
def test_a_table_that_cannot_be_written_is_refused(invoke, tmp_path, command):
    result = invoke("data", *command, "--csv", tmp_path / "no" / "table.csv")
    assert result.exit_code == 2
    assert "does not exist" in shown(result)
