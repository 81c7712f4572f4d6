"""`devfnn predict`: rows in, labels and probabilities out, and nothing kept."""

import csv
import functools
import io
import json

import numpy as np
import pytest

from cli.shown import shown
from devfnn import DEVFNN, Config
from devfnn.cli import inputs
from devfnn.streams import sea


@pytest.fixture
def invoke(invoke):
    """Call `devfnn predict`."""
    return functools.partial(invoke, "predict")


def rows_of(text):
    """The lines of a table."""
    return list(csv.DictReader(io.StringIO(text)))


X = np.random.default_rng(3).uniform(-50.0, 50.0, (1500, 2)).round(3)
Y = np.where(X[:, 0] > X[:, 1], "high", "low")


@pytest.fixture(scope="module")
def model():
    """A model of two features and two classes."""
    learned = DEVFNN(feature_names=["a", "b"])
    for start in range(0, 1000, 250):
        learned.learn(X[start : start + 250], Y[start : start + 250])
    return learned


@pytest.fixture
def file(model, tmp_path):
    """The same in a file."""
    model.save(tmp_path / "x.model")
    return tmp_path / "x.model"


def lines(columns="id,b,kind,a", start=1000, stop=1500):
    """Rows as the text of a CSV file with more columns, in another order."""
    values = {"id": [f"n{k}" for k in range(1500)], "a": X[:, 0], "b": X[:, 1], "kind": Y}
    names = columns.split(",")
    body = ("".join(f"{values[n][k]}," for n in names)[:-1] for k in range(start, stop))
    return f"{columns}\n" + "\n".join(body) + "\n"


def test_predictions_go_to_standard_output_as_a_table(invoke, file, model, tmp_path):
    (tmp_path / "rows.csv").write_text(lines())
    result = invoke(file, tmp_path / "rows.csv", "--chunk-rows", 70)
    assert result.exit_code == 0, result.output
    found = rows_of(result.stdout)
    classes = model.classes
    assert list(found[0]) == ["row", "predicted", *(f"probability of {c}" for c in classes)]
    assert [int(line["row"]) for line in found] == list(range(1, 501))
    assert [line["predicted"] for line in found] == model.predict(X[1000:]).tolist()
    shares = [[float(line[f"probability of {c}"]) for c in classes] for line in found]
    np.testing.assert_allclose(shares, model.predict_proba(X[1000:]), rtol=1e-5)
    assert "500" in result.stderr
    assert "accuracy" not in result.stderr


def test_a_pipe_is_predicted(invoke, file, model):
    result = invoke(file, "-", "--quiet", input=lines())
    assert result.exit_code == 0, result.output
    assert [line["predicted"] for line in rows_of(result.stdout)] == model.predict(
        X[1000:]
    ).tolist()
    assert result.stderr == ""


def test_the_model_stays_as_it_is(invoke, file):
    before = file.read_bytes()
    invoke(file, "-", input=lines())
    assert file.read_bytes() == before


def test_with_a_label_the_accuracy_is_said(invoke, file, model, tmp_path):
    expected = (model.predict(X[1000:]) == Y[1000:]).mean()
    assert expected > 0.9
    (tmp_path / "rows.csv").write_text(lines())
    table, report = tmp_path / "out.csv", tmp_path / "out.json"
    options = ("--label", "kind", "--csv", table, "--json", report)
    result = invoke(file, tmp_path / "rows.csv", *options)
    assert result.exit_code == 0, result.output
    assert f"accuracy {100 * expected:.2f} %" in shown(result)
    assert [line["label"] for line in rows_of(table.read_text())] == Y[1000:].tolist()
    data = json.loads(report.read_text())
    assert data["accuracy"] == pytest.approx(expected)
    assert (data["rows"], data["scored"], data["is_interrupted"]) == (500, 500, False)
    assert data["classes"] == model.classes
    assert sum(data["predicted"]) == 500
    first = data["predictions"][0]
    assert first["label"] == Y[1000]
    assert first["probabilities"] == model.predict_proba(X[1000:])[0].tolist()


def test_labels_are_shown_as_they_are(invoke, tmp_path):
    hostile = DEVFNN(feature_names=["a", "b"])
    hostile.learn(X[:500], np.where(X[:500, 0] > X[:500, 1], "[red]\x1b", "low"))
    hostile.save(tmp_path / "x.model")
    result = invoke(tmp_path / "x.model", "-", "--csv", tmp_path / "out.csv", input=lines("a,b"))
    assert result.exit_code == 0, result.output
    assert "[red]\\x1b: " in shown(result)


def test_labels_that_nobody_knows_are_not_scored(invoke, file, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,kind\n40,-40,high\n-40,40,\n")
    report = tmp_path / "out.json"
    invoke(file, tmp_path / "rows.csv", "--label", "kind", "--json", report)
    data = json.loads(report.read_text())
    assert (data["scored"], data["accuracy"]) == (1, 1.0)
    assert data["predictions"][1]["label"] is None


def test_labels_of_other_classes_are_pointed_out(invoke, file, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,kind\n40,-40,1\n-40,40,0\n")
    result = invoke(file, tmp_path / "rows.csv", "--label", "kind", "--csv", tmp_path / "out.csv")
    assert "None of the labels is a class that the model knows" in shown(result)


def test_rows_may_be_skipped_and_taken(invoke, file):
    result = invoke(file, "-", "--skip", 10, "--rows", 5, input=lines())
    assert [int(line["row"]) for line in rows_of(result.stdout)] == [11, 12, 13, 14, 15]


def test_a_generator_knows_its_labels(invoke, tmp_path):
    stream = sea(2000, seed=1)
    model = DEVFNN(feature_names=stream.feature_names)
    for chunk in stream:
        model.learn(chunk.X, chunk.y)
    model.save(tmp_path / "sea.model")
    result = invoke(tmp_path / "sea.model", "sea", "--rows", 600, "--seed", 1, "--with", "noise=0")
    assert result.exit_code == 0, result.output
    expected = [label for chunk in sea(600, seed=1, noise=0.0) for label in chunk.y.tolist()]
    assert [int(line["label"]) for line in rows_of(result.stdout)] == expected
    assert "accuracy" in result.stderr


@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_rows_without_names_are_taken_in_order(invoke, tmp_path, names):
    model = DEVFNN(feature_names=names)
    model.learn(X[:500], Y[:500])
    model.save(tmp_path / "x.model")
    text = lines("a,b").removeprefix("a,b\n") if names else lines("a,b")
    result = invoke(tmp_path / "x.model", "-", input=text)
    assert result.exit_code == 0, result.output
    found = [line["predicted"] for line in rows_of(result.stdout)]
    assert found == model.predict(X[1000:]).tolist()


def test_a_missing_feature_is_named(invoke, file):
    result = invoke(file, "-", input="a,c\n1,2\n3,4\n")
    assert result.exit_code == 1
    assert "- lacks the feature 'b'; it has a, c, the model needs a, b" in shown(result)
    result = invoke(file, "-", input="c,d\n1,2\n3,4\n")
    assert "lacks the feature 'a' and 1 more" in shown(result)


def test_labels_among_rows_without_names_are_pointed_out(invoke, file):
    result = invoke(file, "-", input="1,2,0\n3,4,1\n")
    assert result.exit_code == 1
    assert "If x3 is the label, add --label x3" in shown(result)
    assert invoke(file, "-", "--label", "x3", input="1,2,0\n3,4,1\n").exit_code == 0


def test_a_missing_value_is_named_with_its_row(invoke, file):
    text = lines("a,b", 0, 900) + ",1\n"
    result = invoke(file, "-", "--skip", 100, input=text)
    assert result.exit_code == 1
    assert "-, row 901: 'a' is missing." in shown(result)
    assert invoke(file, "-", "--with", "missing=mean", input=text).exit_code == 0
    result = invoke(file, "-", input=lines("a,b", 0, 900) + "1e200,1\n")
    assert "row 901: 'a' is 1e+200; values beyond 1e+100" in shown(result)


def test_a_model_that_may_miss_values_predicts_without_them(invoke, tmp_path):
    model = DEVFNN(Config(missing="skip"), feature_names=["a", "b"])
    model.learn(X[:500], Y[:500])
    model.save(tmp_path / "x.model")
    result = invoke(tmp_path / "x.model", "-", input="a,b\n1,\n,2\n")
    assert len(rows_of(result.stdout)) == 2


@pytest.mark.parametrize("option", ["--csv", "--json"])
def test_nothing_is_left_behind_by_a_file_that_is_refused(invoke, file, tmp_path, option):
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,2\n" * 2000 + "oops,2\n")
    out = tmp_path / "out"
    result = invoke(file, tmp_path / "rows.csv", option, out)
    assert result.exit_code == 1
    assert "oops" in shown(result)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows.csv", "x.model"]


def test_ctrl_c_keeps_what_was_predicted(invoke, file, tmp_path, monkeypatch):
    def interrupted(*arguments):
        yield from list(checked_chunks(*arguments))[:2]
        raise KeyboardInterrupt

    checked_chunks = inputs.checked_chunks
    monkeypatch.setattr(inputs, "checked_chunks", interrupted)
    (tmp_path / "rows.csv").write_text(lines())
    table, report = tmp_path / "out.csv", tmp_path / "out.json"
    options = ("--chunk-rows", 100, "--csv", table, "--json", report)
    result = invoke(file, tmp_path / "rows.csv", *options)
    assert result.exit_code == 130
    assert "Interrupted." in result.stderr
    assert len(rows_of(table.read_text())) == 200
    assert json.loads(report.read_text())["is_interrupted"] is True


def test_labels_like_formulas_are_texts_in_a_table_and_exact_in_json(invoke, tmp_path):
    labels = ["=HYPERLINK(1)", "-1", "@home", "+up"]
    model = DEVFNN(feature_names=["a", "b"])
    X = np.eye(2)[[0, 1] * 20] + np.arange(40)[:, None]
    model.learn(X, np.array(labels * 10))
    model.save(tmp_path / "x.model")
    rows = "\n".join(f"{a},{b},{label}" for (a, b), label in zip(X, labels * 10, strict=True))
    (tmp_path / "rows.csv").write_text(f"a,b,kind\n{rows}\n")
    table, report = tmp_path / "out.csv", tmp_path / "out.json"
    files = ("--label", "kind", "--csv", table, "--json", report)
    result = invoke(tmp_path / "x.model", tmp_path / "rows.csv", *files)
    assert result.exit_code == 0, result.output
    found = {line["label"] for line in rows_of(table.read_text())}
    assert found == {"'=HYPERLINK(1)", "-1", "'@home", "'+up"}
    found = {line["label"] for line in json.loads(report.read_text())["predictions"]}
    assert found == set(labels)


@pytest.mark.parametrize(
    ("content", "message"),
    [("a,b\n", "no rows"), ("", "")],
)
def test_a_file_without_rows_is_refused(invoke, file, tmp_path, content, message):
    (tmp_path / "rows.csv").write_text(content)
    result = invoke(file, tmp_path / "rows.csv")
    assert result.exit_code == 1, result.output
    assert message in shown(result)
    assert "Traceback" not in result.output


def test_a_model_that_has_learned_nothing_predicts_nothing(invoke, tmp_path):
    DEVFNN().save(tmp_path / "x.model")
    result = invoke(tmp_path / "x.model", "sea")
    assert result.exit_code == 1
    assert "has learned nothing yet" in shown(result)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.model", "sea"], 1, "cannot read 'no.model'"),
        (["x.model", "no.csv"], 2, "there is no file and no stream called 'no.csv'"),
        (["x.model", "sea", "--label", "f1"], 2, "--label is for files"),
        (["x.model", "sea", "--rows", "0"], 2, "--rows"),
        (["x.model", "sea"], 1, "sea lacks the feature 'a'"),
        (["x.model", "-", "--csv", "no/out.csv"], 2, "does not exist"),
    ],
)
def test_what_is_wrong_is_said(invoke, file, monkeypatch, arguments, code, message):
    monkeypatch.chdir(file.parent)
    result = invoke(*arguments, input="a,b\n1,2\n")
    assert result.exit_code == code, result.output
    assert message in shown(result)
    assert "Traceback" not in result.output
