"""What models look like on a screen."""

import numpy as np

from devfnn import presets
from devfnn.display.models import MOST_FEATURES, model_tables, rules_table
from devfnn.model.rules import Rule
from display import made


def shown(*things):
    """What a console shows, without line breaks."""
    return " ".join(made.shown(*things).split())


def layer(number, is_merged=False):
    """A layer as plain data."""
    return {
        "layer": number,
        "kind": "rules",
        "state": "merged" if is_merged else "votes",
        "is_merged": is_merged,
        "vote": 0.0 if is_merged else 0.5,
        "steps": 0,
        "worth": None,
        "cost": 0.0 if is_merged else 0.25,
        "rules": 3,
        "archived": 2,
        "features": 7,
        "inputs_from_layers": 4,
    }


def about(**changes):
    """A model as plain data."""
    return {
        "file": "x.model",
        "class": "GClass",
        "preset": "stacked",
        "changed": {},
        "features": [{"name": "a", "low": 0.5, "high": 1234567.0, "state": "in use"}],
        "classes": ["up", "down"],
        "rows": 1234,
        "labels_used": 567,
        "layers": [layer(0), layer(1, is_merged=True), layer(2)],
        "parameters": 4321,
        "bytes": 9999,
        "file_bytes": 12_000,
    } | changes


def rule(**changes):
    """A rule of one feature."""
    fields = {
        "layer": 1,
        "rule": 0,
        "inputs": ("a",),
        "n_features": 1,
        "center": np.array([1.0]),
        "covariance": np.array([[0.25]]),
        "probabilities": {"up": 1.0},
        "n_rows": 10.0,
        "is_archived": False,
        "voting_weight": 1.0,
    }
    return Rule(**(fields | changes))


def test_a_model_is_shown_in_facts_and_tables():
    text = shown(*model_tables(about()))
    for part in (
        "x.model model GClass, preset stacked parameters changed none",
        "learned 1,234 rows, 567 labels used classes 2: up, down layers 2, and 1 merged",
        "rules 6, and 4 archived numbers in rules 4,321",
        "size 10.0 kB of arrays, 12.0 kB on disk",
        "a 0.5 1.235e+06 in use",
        "0 rules works 50.0 % 25.0 % 3 2 4 1 rules merged - - 3 2 4 2 rules works 50.0 % 25.0 %",
    ):
        assert part in text


def test_layers_are_called_by_what_they_are():
    layers = [
        layer(0) | {"kind": "quick line"},
        layer(4) | {"kind": "clouds", "state": "rests", "steps": 12, "worth": -0.00123, "rules": 0},
        layer(5) | {"kind": "kept boxes", "state": "waits"},
        layer(6) | {"kind": "short trees", "state": "on trial", "worth": 0.0456},
    ]
    text = shown(*model_tables(about(layers=layers)))
    assert "0 quick line works 50.0 % 25.0 % 3 2 4" in text
    assert "4 clouds rests, 12 steps - - -0.0012 2 4" in text
    assert "5 kept boxes waits 50.0 % 25.0 % 3 2 4" in text
    assert "6 short trees on trial 50.0 % 25.0 % +0.0456 3 2 4" in text
    assert "costs: of the time of all layers, by estimate" in text


def test_the_layers_of_the_default_fit_a_terminal_of_80_columns():
    layers = [layer(k) | {"kind": each.name} for k, each in enumerate(presets.default().layers)]
    layers[6] |= {"state": "rests", "steps": 64, "worth": -0.0123, "rules": 0, "archived": 1234}
    tables = made.shown(*model_tables(about(layers=layers)), width=80)
    lines = tables[tables.index("Layers") :].splitlines()
    named = [line.split()[0] for line in lines if line.strip()[:1].isdigit()]
    assert named == [str(each["layer"]) for each in layers]  # nothing is folded
    assert all(each["kind"] in tables for each in layers)


def test_parameters_that_differ_are_named():
    assert "memory=0.9, vote=hard" in shown(
        *model_tables(about(changed={"memory": 0.9, "vote": "hard"}))
    )


def test_a_model_that_knows_nothing_has_no_tables():
    tables = list(model_tables(about(features=[], layers=[], classes=[])))
    assert len(tables) == 1
    assert "classes none yet" in shown(*tables)


def test_of_many_features_those_not_in_use_come_first():
    features = [
        {"name": f"f{place}", "low": None, "high": None, "state": "in use"} for place in range(500)
    ]
    features[400]["state"] = "masked"
    text = shown(*model_tables(about(features=features)))
    assert "f400 masked f0 in use f1 in use" in text
    assert text.count("in use") == MOST_FEATURES - 1
    assert f"{500 - MOST_FEATURES} more" in text


def test_of_many_classes_the_rest_is_counted():
    text = shown(*model_tables(about(classes=list(range(100)))))
    assert "100: 0, 1, 2, 3," in text
    assert "29 and 70 more" in text


def test_rules_are_shown_as_text_and_the_rest_is_counted():
    rules = [rule(rule=number) for number in range(5)]
    text = shown(rules_table(rules, 2))
    assert "1 IF a is about 1.00 (0.50-1.50) THEN up 1.00 [layer 1, rule 0, 10 rows]" in text
    assert text.count("THEN") == 2
    assert "3 more: --rules 5" in text
    assert "more" not in shown(rules_table(rules, 5))


def test_the_conclusion_has_a_line_of_its_own():
    lines = [line.strip() for line in made.shown(rules_table([rule()], 1)).splitlines()]
    assert "THEN up 1.00  [layer 1, rule 0, 10 rows]" in lines


def test_names_and_labels_are_shown_as_they_are():
    hostile = "[red]\x1b[2J:smile:"
    escaped = "[red]\\x1b[2J:smile:"
    feature = {"name": hostile, "low": 0.0, "high": 1.0, "state": "in use"}
    text = shown(*model_tables(about(features=[feature], classes=[hostile], file=hostile)))
    assert text.count(escaped) == 3
    assert escaped in shown(rules_table([rule(inputs=(hostile,))], 1))
    assert escaped in shown(rules_table([rule(probabilities={hostile: 1.0})], 1))
