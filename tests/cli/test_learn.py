"""`devfnn learn`: a model goes on where it stood, or stays as it was."""

import collections
import csv
import functools
import json
import signal

import numpy as np
import pytest

from cli.shown import shown
from devfnn import DEVFNN, Config
from devfnn.cli import inputs
from devfnn.evaluation import ChunkResult, course
from devfnn.events import DriftFound
from devfnn.storage import dump
from devfnn.streams import sea


@pytest.fixture
def invoke(invoke):
    """Call `devfnn learn`."""
    return functools.partial(invoke, "learn")


def taught(stream, config=None):
    """A model that has learned a stream."""
    model = DEVFNN(config, feature_names=stream.feature_names)
    for chunk in stream:
        model.learn(chunk.X, chunk.y)
    return model


@pytest.fixture
def file(tmp_path):
    """A model that has learned the first 2,000 rows."""
    taught(sea(2000)).save(tmp_path / "sea.model")
    return tmp_path / "sea.model"


def test_a_new_model_learns_what_it_would_in_python(invoke, tmp_path):
    result = invoke(tmp_path / "sea.model", "sea", "--new", "--rows", 2000)
    assert result.exit_code == 0, result.output
    assert dump(DEVFNN.load(tmp_path / "sea.model")) == dump(taught(sea(2000)))
    assert "2,000" in shown(result)
    assert "rows learned 0 2,000" in shown(result)
    assert "ClassAdded 2" in shown(result)


def test_a_model_goes_on_where_it_stood(invoke, file):
    result = invoke(file, "sea", "--skip", 2000, "--rows", 1500)
    assert result.exit_code == 0, result.output
    assert dump(DEVFNN.load(file)) == dump(taught(sea().take(3500)))
    assert "rows learned 2,000 3,500" in shown(result)


def test_what_is_learned_without_end_is_written_as_it_comes(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr(course, "MOST_POINTS", 4)
    table, report = tmp_path / "out.csv", tmp_path / "out.json"
    options = ("--new", "--rows", 1000, "--chunk-rows", 50, "--csv", table, "--json", report)
    kept = []
    end = course.Course.append
    monkeypatch.setattr(course.Course, "append", lambda own, one: (end(own, one), kept.append(own)))
    result = invoke(tmp_path / "new.model", "sea", *options, "--set", "window=none")
    assert result.exit_code == 0, result.output
    data = json.loads(report.read_text())
    assert len(data["chunks"]) == len(table.read_text().splitlines()) - 1 == 20
    assert len(kept[-1]) == 3
    known = [chunk["accuracy"] for chunk in data["chunks"] if chunk["accuracy"] is not None]
    assert data["accuracy_mean"] == pytest.approx(np.mean(known))
    counts = [collections.Counter(chunk["events"]) for chunk in data["chunks"]]
    assert data["events"] == sum(counts, collections.Counter())


def test_the_result_is_written_by_chunks(invoke, file, tmp_path):
    table, report = tmp_path / "out.csv", tmp_path / "out.json"
    options = ("--skip", 2000, "--rows", 1200, "--chunk-rows", 400, "--csv", table)
    result = invoke(file, "sea", *options, "--json", report)
    assert result.exit_code == 0, result.output
    data = json.loads(report.read_text())
    with table.open(newline="") as lines:
        found = list(csv.DictReader(lines))
    assert [chunk["rows"] for chunk in data["chunks"]] == [400, 800, 1200]
    assert [int(line["rows"]) for line in found] == [400, 800, 1200]
    known = [chunk["accuracy"] for chunk in data["chunks"] if chunk["accuracy"] is not None]
    assert data["accuracy_mean"] == pytest.approx(np.mean(known))
    assert f"{100 * np.mean(known):.2f} %" in result.stdout
    assert [float(line["accuracy"]) for line in found if line["accuracy"]] == known
    assert data["is_interrupted"] is False
    assert data["before"]["rows_learned"] == 2000
    model = DEVFNN.load(file)
    assert data["after"] == {
        "rows_learned": 3200,
        "labels_used": model.n_labels_used,
        "classes": 2,
        "layers": model.n_live_layers,
        "rules": model.n_rules,
        "numbers_in_rules": model.n_parameters,
    }
    assert data["labels_used"] == model.n_labels_used - data["before"]["labels_used"]
    assert int(found[-1]["rules"]) == model.n_rules


def test_the_model_may_be_saved_elsewhere(invoke, file, tmp_path):
    before = file.read_bytes()
    result = invoke(file, "sea", "--rows", 500, "--output", tmp_path / "next.model")
    assert result.exit_code == 0, result.output
    assert file.read_bytes() == before
    assert DEVFNN.load(tmp_path / "next.model").n_rows == 2500


def test_a_file_is_learned_by_names_of_its_columns(invoke, tmp_path):
    X = np.random.default_rng(0).random((1200, 2))
    y = np.where(X[:, 0] > 0.5, "high", "low")
    rows = [f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), y, strict=True)]
    (tmp_path / "first.csv").write_text("a,b,kind\n" + "\n".join(rows[:600]) + "\n")
    other = [f"{b},7,{label},{a}" for (a, b), label in zip(X.tolist(), y, strict=True)]
    (tmp_path / "second.csv").write_text("b,other,kind,a\n" + "\n".join(other[600:]) + "\n")
    model = tmp_path / "x.model"
    result = invoke(model, tmp_path / "first.csv", "--new", "--set", "boxes.max_rules=3")
    assert result.exit_code == 0, result.output
    result = invoke(model, tmp_path / "second.csv", "--label", "kind")
    assert result.exit_code == 0, result.output
    expected = DEVFNN(Config().replace(boxes__max_rules=3), feature_names=["a", "b"])
    for start, stop in ((0, 500), (500, 600), (600, 1100), (1100, 1200)):
        expected.learn(X[start:stop], y[start:stop])
    assert dump(DEVFNN.load(model)) == dump(expected)
    result = invoke(model, tmp_path / "second.csv", "--label", "kind", "--with", "ignore=a")
    assert result.exit_code == 1
    assert "lacks the feature 'a'" in shown(result)
    assert dump(DEVFNN.load(model)) == dump(expected)


def test_quiet_shows_nothing(invoke, file):
    result = invoke(file, "sea", "--rows", 500, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert DEVFNN.load(file).n_rows == 2500


def test_events_are_counted(invoke, file, tmp_path, monkeypatch):
    def prequential(model, chunks):
        chunk = next(chunks)
        model.learn(chunk.X, chunk.y)
        yield ChunkResult(0, 500, 500, 250, 500, (DriftFound(500, 0.1, 0.3, 0.1, 50),), 0.1, 0.1)

    monkeypatch.setattr("devfnn.cli.learn.iter_prequential", prequential)
    result = invoke(file, "sea", "--json", tmp_path / "x.json", "--csv", tmp_path / "x.csv")
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "x.json").read_text())
    assert data["events"] == data["chunks"][0]["events"] == {"DriftFound": 1}
    assert "DriftFound 1" in (tmp_path / "x.csv").read_text()


# ---- what is refused leaves the model as it was


def test_a_refused_file_leaves_the_model_as_it_was(invoke, file, tmp_path):
    before = file.read_bytes()
    rows = "f1,f2,f3,kind\n" + "1,2,3,0\n4,5,6,1\n" * 600 + "oops,1,1,1\n"
    (tmp_path / "rows.csv").write_text(rows)
    options = ("--json", tmp_path / "x.json", "--csv", tmp_path / "x.csv")
    result = invoke(file, tmp_path / "rows.csv", *options)
    assert result.exit_code == 1
    assert "row 1201: 'oops'" in shown(result)
    assert file.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows.csv", "sea.model"]


def test_a_missing_value_is_named_with_what_to_type(invoke, file, tmp_path):
    (tmp_path / "rows.csv").write_text("f1,f2,f3,kind\n" + "1,2,3,0\n4,5,6,1\n,5,6,1\n")
    before = file.read_bytes()
    result = invoke(file, tmp_path / "rows.csv")
    assert result.exit_code == 1
    assert "row 3: 'f1' is missing. To replace it by the mean" in shown(result)
    assert file.read_bytes() == before
    result = invoke(tmp_path / "new.model", tmp_path / "rows.csv", "--new")
    assert "--set missing=skip" in shown(result)
    assert not (tmp_path / "new.model").exists()
    skip = ("--new", "--set", "missing=skip")
    assert invoke(tmp_path / "new.model", tmp_path / "rows.csv", *skip).exit_code == 0


def test_rows_without_labels_teach_nothing(invoke, file, tmp_path):
    (tmp_path / "rows.csv").write_text("f1,f2,f3,kind\n" + "1,2,3,?\n4,5,6,?\n" * 100)
    before = file.read_bytes()
    result = invoke(file, tmp_path / "rows.csv")
    assert result.exit_code == 1
    assert "nothing was learned" in shown(result)
    assert file.read_bytes() == before


def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    invoke, file, tmp_path, monkeypatch
):
    def began(*_):
        pytest.fail("the work began")

    monkeypatch.setattr("devfnn.cli.learn.iter_prequential", began)
    for output, message in (
        (tmp_path / "no" / "x.model", "does not exist"),
        ("/proc/x.model", "cannot write"),
        ("/dev/null", "is no file"),
    ):
        result = invoke(file, "sea", "--output", output)
        assert result.exit_code == 2, result.output
        assert message in shown(result)
    assert [each.name for each in tmp_path.iterdir()] == ["sea.model"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.model", "sea"], 1, "there is no model file 'no.model'; --new makes one"),
        (["sea.model", "sea", "--new"], 2, "exists: without --new it continues to learn"),
        (["sea.model", "sea", "--set", "boxes.max_rules=3"], 2, "--set is for a new model"),
        (["x.model", "sea", "--new", "--set", "colour=3"], 2, "no parameter is called 'colour'"),
        (["sea.model", "rows.csv", "--label", "none"], 2, "labels are needed to learn"),
        (["sea.model", "no.csv"], 2, "there is no file and no stream"),
        (["sea.model", "stagger"], 1, "stagger lacks the feature 'f1'"),
        (["rows.csv", "sea"], 1, "not a devfnn model"),
        (["sea.model", "empty.csv"], 1, ""),
        (["sea.model", "sea", "--json", "no/x.json"], 2, "does not exist"),
    ],
)
def test_what_is_wrong_is_said(invoke, file, monkeypatch, arguments, code, message):
    monkeypatch.chdir(file.parent)
    before = file.read_bytes()
    (file.parent / "rows.csv").write_text("f1,f2,f3,kind\n1,2,3,0\n")
    (file.parent / "empty.csv").write_text("f1,f2,f3,kind\n")
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    assert message in shown(result)
    assert "Traceback" not in result.output
    assert file.read_bytes() == before


def test_a_model_that_cannot_be_saved_is_said_to_be_so(invoke, file, monkeypatch):
    from devfnn.errors import StorageError

    def save(model, path):
        raise StorageError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(DEVFNN, "save", save)
    result = invoke(file, "sea", "--rows", 500)
    assert result.exit_code == 1
    assert "No space left on device" in shown(result)


# ---- Ctrl-C


def pressed_while_learning(monkeypatch, n_chunks):
    """Let Ctrl-C be pressed in the middle of learning a chunk."""
    whole, calls = DEVFNN.learn, []

    def learn(self, X, y, *others, **options):
        calls.append(len(y))
        if len(calls) == n_chunks:
            signal.raise_signal(signal.SIGINT)
        return whole(self, X, y, *others, **options)

    monkeypatch.setattr(DEVFNN, "learn", learn)


def test_ctrl_c_saves_what_was_learned_and_says_how_to_go_on(invoke, tmp_path, monkeypatch):
    model, report = tmp_path / "x.model", tmp_path / "x.json"
    expected = dump(taught(sea().take(1500)))
    with monkeypatch.context() as patched:
        pressed_while_learning(patched, 3)
        result = invoke(model, "sea", "--new", "--rows", 5000, "--json", report)
    assert result.exit_code == 130, result.output
    assert dump(DEVFNN.load(model)) == expected  # the third chunk was learned as a whole
    assert "Interrupted." in result.stderr
    assert "1,500 rows were learned and saved" in shown(result)
    assert "type the same with --skip 1500 --rows 3500" in shown(result)
    data = json.loads(report.read_text())
    assert (data["is_interrupted"], data["rows"]) == (True, 1500)
    result = invoke(model, "sea", "--skip", 1500, "--rows", 3500)
    assert dump(DEVFNN.load(model)) == dump(taught(sea().take(5000)))


def test_ctrl_c_counts_from_the_rows_that_were_skipped(invoke, file, monkeypatch):
    pressed_while_learning(monkeypatch, 1)
    result = invoke(file, "sea", "--skip", 2000)
    assert "type the same with --skip 2500" in shown(result)


def test_ctrl_c_while_a_pipe_says_nothing_saves_what_came(invoke, file, monkeypatch):
    def silent_after_one(*arguments):
        yield next(checked_chunks(*arguments))
        raise KeyboardInterrupt

    checked_chunks = inputs.checked_chunks
    monkeypatch.setattr(inputs, "checked_chunks", silent_after_one)
    rows = "f1,f2,f3,kind\n" + "1,2,3,0\n4,5,6,1\n" * 500
    result = invoke(file, "-", input=rows)
    assert result.exit_code == 130, result.output
    assert DEVFNN.load(file).n_rows == 2500
    assert "500 rows were learned and saved" in shown(result)
    assert "--skip" not in shown(result)


def test_ctrl_c_before_the_first_chunk_leaves_the_model_as_it_was(invoke, file, monkeypatch):
    def interrupted(stream):
        raise KeyboardInterrupt

    before = file.read_bytes()
    monkeypatch.setattr("devfnn.streams.stream.Stream.__iter__", interrupted)
    result = invoke(file, "sea", "--json", file.parent / "x.json")
    assert result.exit_code == 130, result.output
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == ["sea.model"]


def test_labels_that_the_model_never_saw_are_named(invoke, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for file, names in ((first, "01"), (second, ("no", "yes"))):
        rows = "".join(f"{k % 7},{k % 3},{names[int(k % 7 < 3)]}\n" for k in range(1000))
        file.write_text("a,b,class\n" + rows)
    model = tmp_path / "m.devfnn"
    assert "never seen" not in invoke(model, first, "--new").stdout
    result = invoke(model, second)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "Labels that the model had not seen before" in said
    assert "'no'" in said and "'yes'" in said
