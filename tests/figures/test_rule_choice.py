"""Which rules and features are drawn."""

import pytest

from devfnn.errors import InputError
from devfnn.figures.rules import (
    features_by_contrast,
    features_to_draw,
    rules_of,
    rules_to_draw,
)
from reports.made_results import made_result, made_rules


def result_of(rules):
    return {"rules": rules, "per_chunk": {}}


def test_rules_come_back_as_objects():
    rules = rules_of(made_result(n_chunks=4))
    assert [(rule.layer, rule.rule) for rule in rules[:2]] == [(0, 0), (0, 1)]


def test_no_rules_are_refused():
    for rules in (None, []):
        with pytest.raises(InputError, match="has no rules"):
            rules_of(result_of(rules))


def test_the_layer_with_most_votes_is_drawn_without_archived_rules():
    data = made_rules(["a", "b"])
    for rule in data:
        rule["voting_weight"] = 0.9 if rule["layer"] == 0 else 0.1
    drawn = rules_to_draw(rules_of(result_of(data)))
    assert [(rule.layer, rule.rule) for rule in drawn] == [(0, 0), (0, 1)]


def test_a_layer_of_one_rule_is_drawn_only_if_there_is_no_other():
    data = [rule for rule in made_rules(["a", "b"]) if rule["layer"] or not rule["rule"]]
    for rule in data:
        rule["voting_weight"] = 0.9 if rule["layer"] == 0 else 0.1
    assert {rule.layer for rule in rules_to_draw(rules_of(result_of(data)))} == {1}
    assert {rule.layer for rule in rules_to_draw(rules_of(result_of(data[:1])))} == {0}


def test_nothing_is_drawn_of_archived_rules_alone():
    data = [rule | {"is_archived": True} for rule in made_rules(["a", "b"])]
    with pytest.raises(InputError, match="archived"):
        rules_to_draw(rules_of(result_of(data)))


def test_features_that_tell_rules_apart_come_first_unless_they_are_hardly_used():
    names = ["same", "near", "far"]
    data = made_rules(names)[:2]
    rules = rules_of(result_of(data))
    assert features_by_contrast(rules, {"per_chunk": {}}) == ["far", "near", "same"]
    used = {"feature_names": names, "per_chunk": {"feature_mask": [[1, 1, 0], [1, 1, 1]]}}
    assert features_by_contrast(rules, used) == ["near", "same", "far"]


def test_curves_that_lie_upon_each_other_are_not_drawn_if_there_are_others():
    rules = rules_of(result_of(made_rules(["same", "near", "far"])[:2]))
    assert features_to_draw(rules, ["far", "near", "same"]) == ["far", "near"]
    assert features_to_draw(rules, ["same"]) == ["same"]
