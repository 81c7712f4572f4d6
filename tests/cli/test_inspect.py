"""`devfnn inspect`: what a model file is, in tables, JSON and CSV."""

import csv
import functools
import json

import numpy as np
import pytest

from cli.shown import shown
from devfnn import DEVFNN, Config, Fleet, presets
from devfnn.model.gclass import GClass
from devfnn.model.rules import Rule
from devfnn.streams import sea
from devfnn.types import Position

SMALL = {"swift": {"boxes__max_rules": 5}, "stacked": {"gaussian__max_rules": 5}}
FIRST_KEPT = len(presets.swift().layers)


@pytest.fixture
def invoke(invoke):
    """Call `devfnn inspect`."""
    return functools.partial(invoke, "inspect")


@pytest.fixture(scope="module", params=SMALL)
def model(request):
    """A model that has learned a little."""
    stream = sea(3000)
    config = presets.by_name(request.param).replace(**SMALL[request.param])
    learned = DEVFNN(config, feature_names=stream.feature_names)
    for chunk in stream:
        learned.learn(chunk.X, chunk.y)
    return learned


@pytest.fixture
def file(model, tmp_path):
    """The same in a file."""
    model.save(tmp_path / "sea.model")
    return tmp_path / "sea.model"


def test_a_model_is_shown_with_features_layers_and_rules(invoke, file, model):
    result = invoke(file, "--rules", 500)
    assert result.exit_code == 0, result.output
    for text in (
        "model DEVFNN",
        ".max_rules=5",
        f"3,000 rows, {model.n_labels_used:,} labels used",
        "classes 2: ",
        f"numbers in rules {model.n_parameters:,}",
        "in use",
    ):
        assert text in shown(result)
    for rule in model.rules():
        assert " ".join(rule.text().split()) in shown(result)
    low = f"{model._network.scaler.low[0]:.4g}"
    assert low in result.stdout


def test_json_has_everything(invoke, file, model, tmp_path):
    result = invoke(file, "--json", tmp_path / "model.json", "--rules", 0)
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "model.json").read_text())
    assert data["class"] == "DEVFNN"
    assert data["preset"] == ("stacked" if model.config.has("gaussian") else "swift")
    assert data["changed"] == SMALL[data["preset"]]
    assert data["config"] == model.config.to_dict()
    assert [feature["name"] for feature in data["features"]] == ["f1", "f2", "f3"]
    assert {feature["state"] for feature in data["features"]} == {"in use"}
    assert data["classes"] == model.classes
    assert (data["rows"], data["labels_used"]) == (3000, model.n_labels_used)
    assert (data["parameters"], data["bytes"]) == (model.n_parameters, model.nbytes)
    assert data["file_bytes"] == file.stat().st_size
    assert sum(layer["vote"] for layer in data["layers"]) == pytest.approx(1.0)
    assert sum(layer["rules"] for layer in data["layers"]) == len(model.rules())
    archived = len(model.rules(archived=True)) - len(model.rules())
    assert sum(layer["archived"] for layer in data["layers"]) == archived
    assert [Rule.from_dict(rule) for rule in data["rules"]] == model.rules()
    saved = DEVFNN.load(file)
    own = json.loads(json.dumps(saved.to_dict(archived=False), allow_nan=False))
    assert {name: data[name] for name in own} == own


def test_csv_has_a_line_for_each_rule(invoke, file, model, tmp_path):
    invoke(file, "--csv", tmp_path / "rules.csv")
    with (tmp_path / "rules.csv").open(newline="") as lines:
        found = list(csv.DictReader(lines))
    for line, rule in zip(found, model.rules(), strict=True):
        assert (int(line["layer"]), int(line["rule"])) == (rule.layer, rule.rule)
        assert line["text"] == rule.text(most=None)
        assert float(line["center of f2"]) == rule.center[1]
        assert float(line["spread of f2"]) == rule.spreads[1]
        assert float(line["probability of 1"]) == rule.probabilities[1]


def test_so_many_rules_are_shown(invoke, file, model):
    n_rules = len(model.rules())
    assert n_rules > 2
    text = shown(invoke(file, "--rules", 1))
    assert text.count("THEN") == 1
    assert f"{n_rules - 1} more: --rules {n_rules}" in text


def test_the_layers_are_called_by_what_they_are(invoke, tmp_path):
    model = kept_model()
    model.save(tmp_path / "x.model")
    text = shown(invoke(tmp_path / "x.model", "--json", tmp_path / "x.json"))
    layers = json.loads((tmp_path / "x.json").read_text())["layers"]
    kinds = [layer["kind"] for layer in layers]
    lines = ["quick line", "brisk line", "steady line"]
    assert kinds[:FIRST_KEPT] == [*lines, "lively curve", "calm curve", "boxes", "clouds"]
    assert set(kinds[FIRST_KEPT:]) <= {"kept line", "kept boxes"}
    assert all(kind in text for kind in kinds)
    assert [layer["vote"] for layer in layers] == model.voting_weights.tolist()
    assert {layer["features"] for layer in layers} == {3}


def test_the_last_labels_are_no_features(invoke, tmp_path):
    for scaling in ("online", "none"):
        X = np.random.default_rng(0).random((300, 2))
        model = DEVFNN(Config(lags=2).replace(scaling=scaling), ["a", "b"])
        model.learn(X, X[:, 0] > 0.5)
        model.save(tmp_path / "x.model")
        invoke(tmp_path / "x.model", "--json", tmp_path / "x.json")
        data = json.loads((tmp_path / "x.json").read_text())
        assert [feature["name"] for feature in data["features"]] == ["a", "b"]
        assert [feature["state"] for feature in data["features"]] == ["in use", "in use"]


def kept_model():
    """A network that keeps a layer, which waits for its concept."""
    rng = np.random.default_rng(0)
    X = rng.random((8000, 3))
    y = (X[:, 0] + X[:, 1] > 1.0) ^ (np.arange(8000) > 4000)
    model = DEVFNN(presets.swift())
    for start in range(0, 8000, 200):
        model.learn(X[start : start + 200], y[start : start + 200])
    assert model.n_layers > FIRST_KEPT
    return model


def test_rules_of_a_layer_that_waits_are_shown_on_wish(invoke, tmp_path):
    kept_model().save(tmp_path / "x.model")
    assert "archived numbers in rules" in shown(invoke(tmp_path / "x.model"))
    assert ", archived]" not in shown(invoke(tmp_path / "x.model", "--rules", 500))
    text = shown(invoke(tmp_path / "x.model", "--rules", 500, "--archived"))
    assert ", archived]" in text and "waits" in text


def test_archived_rules_are_shown_on_wish(invoke, tmp_path):
    stream = sea(3000)
    copy = DEVFNN(presets.stacked().replace(gaussian__max_rules=5))
    for chunk in stream:
        copy.learn(chunk.X, chunk.y)
    rule = copy.rules()[0]
    copy._network.state.gaussians.status[rule.layer, rule.rule] = 2
    copy.save(tmp_path / "x.model")
    assert "and 1 archived" in shown(invoke(tmp_path / "x.model"))
    assert ", archived]" not in shown(invoke(tmp_path / "x.model"))
    assert ", archived]" in shown(invoke(tmp_path / "x.model", "--archived"))


def test_features_that_are_not_in_use_are_said_to_be_so(invoke, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((4000, 4))
    X[:, 1] = 3.0
    X[:, 2] = np.arange(4000)
    y = (X[:, 0] > 0.5).astype(int)
    model = DEVFNN(Config().replace(feature_mask={"threshold": 0.8}))
    for start in range(0, 4000, 200):
        model.learn(X[start : start + 200], y[start : start + 200])
    model.save(tmp_path / "x.model")
    invoke(tmp_path / "x.model", "--json", tmp_path / "x.json")
    features = json.loads((tmp_path / "x.json").read_text())["features"]
    assert [feature["state"] for feature in features] == [
        "in use",
        "asleep: constant",
        "asleep: like a clock",
        "masked",
    ]
    assert features[1]["low"] is None
    assert "asleep: like a clock" in shown(invoke(tmp_path / "x.model"))


def test_a_single_layer_without_scaling_is_compared_with_its_own_defaults(invoke, tmp_path):
    model = GClass(presets.stacked().replace(scaling="none"))
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    model.learn(X, np.where(X[:, 0] > 0.5, "high", "low"))
    model.save(tmp_path / "x.model")
    result = invoke(tmp_path / "x.model", "--json", tmp_path / "x.json")
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "x.json").read_text())
    assert data["changed"] == {"scaling": "none"}
    assert data["features"][0] == {"name": "x0", "low": None, "high": None, "state": "in use"}


def test_a_model_that_has_learned_nothing_can_be_shown(invoke, tmp_path):
    DEVFNN(feature_names=["a", "b"]).save(tmp_path / "x.model")
    result = invoke(tmp_path / "x.model", "--csv", tmp_path / "x.csv")
    assert result.exit_code == 0, result.output
    assert "0 rows" in shown(result)
    assert (tmp_path / "x.csv").read_text().startswith("layer,rule,")


def test_quiet_shows_nothing(invoke, file, tmp_path):
    result = invoke(file, "--quiet", "--json", tmp_path / "x.json")
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "x.json").exists()


def test_hostile_names_are_shown_as_they_are(invoke, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    names = ["[red]\x1b[2J", "\ud7ff"]
    model = DEVFNN(feature_names=names)
    model.learn(X, np.where(X[:, 0] > 0.5, "[/bold]", "\x1b]0;x\x07"))
    model.save(tmp_path / "x.model")
    result = invoke(tmp_path / "x.model", "--csv", tmp_path / "x.csv")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert "[red]\\x1b[2J" in shown(result)
    assert "[/bold]" in shown(result)
    assert "\ud7ff" in (tmp_path / "x.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"", b"no model", b"\xff" * 100])
def test_a_file_that_is_no_model_is_refused(invoke, tmp_path, content):
    (tmp_path / "x.model").write_bytes(content)
    result = invoke(tmp_path / "x.model", "--json", tmp_path / "x.json")
    assert result.exit_code == 1
    assert "x.model: " in shown(result)
    assert "Traceback" not in result.output
    assert not (tmp_path / "x.json").exists()


def test_a_damaged_model_is_refused(invoke, file):
    content = bytearray(file.read_bytes())
    content[-10] ^= 1
    file.write_bytes(bytes(content))
    result = invoke(file)
    assert result.exit_code == 1
    assert "damaged" in shown(result)


def test_a_missing_model_is_refused(invoke, tmp_path):
    result = invoke(tmp_path / "no.model")
    assert result.exit_code == 1
    assert "cannot read" in shown(result)
    (tmp_path / "file").write_text("")
    result = invoke(tmp_path / "file" / "x.model")
    assert result.exit_code == 1
    assert "cannot read" in shown(result)
    assert invoke(tmp_path).exit_code == 2
    assert invoke(tmp_path / "no.model", "--rules", -1).exit_code == 2


def test_how_far_a_model_has_come_is_shown(invoke, tmp_path):
    model = DEVFNN(feature_names=["a"])
    model.learn([[0.1], [0.9]] * 50, ["low", "high"] * 50)
    model.positions = {"log.csv": Position(1200), "a queue": Position(7)}
    model.save(tmp_path / "m.devfnn")
    result = invoke(tmp_path / "m.devfnn", "--json", tmp_path / "x.json")
    assert "Learned of log.csv: 1,200 rows" in result.stdout
    data = json.loads((tmp_path / "x.json").read_text())
    assert data["positions"] == {"log.csv": 1200, "a queue": 7}


# ---- fleets


@pytest.fixture
def fleet_file(tmp_path):
    """A fleet of three models, of which the last has learned nothing."""
    config = presets.swift().replace(rules__max_rules=9, boxes__max_rules=3, growing__max_kept=2)
    fleet = Fleet(3, 2, ["low", "[red]"], config, ["heat", "wind"])
    rng = np.random.default_rng(0)
    ids, X = rng.integers(0, 2, 100), rng.random((100, 2))
    fleet.learn(ids, X, np.array(fleet.classes)[(X[:, 0] > 0.5).astype(int)])
    fleet.save(tmp_path / "many.fleet")
    return tmp_path / "many.fleet"


def test_a_fleet_is_shown_by_what_its_models_have_learned(invoke, fleet_file, tmp_path):
    csv_file, json_file = tmp_path / "fleet.csv", tmp_path / "fleet.json"
    result = invoke(fleet_file, "--csv", csv_file, "--json", json_file)
    assert result.exit_code == 0, result.output
    fleet = Fleet.load(fleet_file)
    for text in (
        "fleet 3 models, preset swift",
        "rules.max_rules=9",
        f"100 rows by 2 of them, {fleet.n_labels_used.sum()} labels used",
        "features 2: heat, wind",
        "classes 2: low, [red]",
        "drifts 0, in 0 of them",
    ):
        assert text in shown(result)
    with csv_file.open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [int(line["rows"]) for line in lines] == fleet.n_rows.tolist()
    assert [int(line["rules"]) for line in lines] == fleet.n_rules.tolist()
    about = json.loads(json_file.read_text())
    assert about["class"] == "Fleet" and about["rows"] == fleet.n_rows.tolist()
    assert about["config"] == json.loads(json.dumps(fleet.config.to_dict()))


def test_a_fleet_is_no_model_to_predict_with(fleet_file, request):
    invoke = request.getfixturevalue("invoke").func
    result = invoke("predict", fleet_file, "sea", "--rows", 10)
    assert result.exit_code == 1
    assert "holds a Fleet; read it with Fleet.load" in shown(result)


def test_a_file_that_asks_for_too_much_is_refused_with_what_raises_the_limit(invoke, tmp_path):
    many = [f"x{index}" for index in range(20_000)]
    DEVFNN(feature_names=many).save(tmp_path / "wide.model")
    result = invoke(tmp_path / "wide.model")
    assert result.exit_code == 1
    assert "bytes of memory" in shown(result) and "max_memory" in shown(result)
