"""The rules of a result: read back, and which of them and of their features are worth a figure."""

from collections.abc import Mapping, Sequence
from typing import Any

from devfnn.errors import InputError
from devfnn.model.rules import Rule

FEWEST_CURVES, MOST_CURVES = 2, 4
"""Features whose memberships are drawn."""

LEAST_CONTRAST = 0.05
"""Below this, the curves of all rules lie upon each other."""


def rules_in(result: Mapping[str, Any]) -> list[Rule]:
    """The rules that the model had at the end of a run.

    Raises
    ------
    InputError
        If the result has none, or what it has cannot be rules.
    """
    if not result.get("rules"):
        raise InputError("the result has no rules: its model has none, or they were not kept")
    try:
        rules = [Rule.from_dict(data) for data in result["rules"]]
    except (KeyError, TypeError, ValueError):
        raise InputError("the rules in the result cannot be read; run it again") from None
    if not all(_is_sound(rule) for rule in rules):
        raise InputError("the rules in the result cannot be read; run it again")
    return rules


def _is_sound(rule: Rule) -> bool:
    """Whether a rule has all its inputs, reaches somewhere and says something."""
    return bool(
        len(rule.center) == len(rule.inputs)
        and 0 <= rule.n_features <= len(rule.inputs)
        and (rule.covariance.diagonal() > 0.0).all()
        and rule.probabilities
    )


def rules_to_draw(rules: Sequence[Rule]) -> list[Rule]:
    """The active rules of one layer: of those with several rules the one with the most votes."""
    active = [rule for rule in rules if not rule.is_archived]
    sizes: dict[int, int] = {}
    for rule in active:
        sizes[rule.layer] = sizes.get(rule.layer, 0) + 1
    if not sizes:
        raise InputError("all rules of the result are archived")
    best = max(active, key=lambda rule: (sizes[rule.layer] > 1, rule.voting_weight, -rule.layer))
    return [rule for rule in active if rule.layer == best.layer]


def telling_features(rules: Sequence[Rule], result: Mapping[str, Any]) -> list[str]:
    """Features of the rules: the most used first, among equals those that tell rules apart best.

    A feature tells rules apart if their centres lie further from each other than they reach.
    """
    names = list(dict.fromkeys(name for rule in rules for name in rule.inputs[: rule.n_features]))
    used = _shares_in_use(result)
    return sorted(names, key=lambda name: (-used.get(name, 1.0), -_contrast(rules, name)))


def names_to_draw(rules: Sequence[Rule], names: Sequence[str]) -> list[str]:
    """The first of the features, as long as there is something to see."""
    return [
        name
        for place, name in enumerate(names[:MOST_CURVES])
        if place < FEWEST_CURVES or _contrast(rules, name) >= LEAST_CONTRAST
    ]


def _contrast(rules: Sequence[Rule], name: str) -> float:
    """Variance of the centres of rules over their own mean variance."""
    centers, variances, weights = [], [], []
    for rule in rules:
        if name in rule.inputs[: rule.n_features]:
            place = rule.inputs.index(name)
            centers.append(float(rule.center[place]))
            variances.append(float(rule.covariance[place, place]))
            weights.append(max(rule.n_rows, 1.0))
    total = sum(weights)
    middle = sum(w * c for w, c in zip(weights, centers, strict=True)) / total
    between = sum(w * (c - middle) ** 2 for w, c in zip(weights, centers, strict=True))
    return between / max(sum(w * v for w, v in zip(weights, variances, strict=True)), 1e-300)


def _shares_in_use(result: Mapping[str, Any]) -> dict[str, float]:
    """Share of chunks in which each feature was in use, if that is known."""
    masks = [mask for mask in result["per_chunk"].get("feature_mask") or [] if mask]
    if not masks:
        return {}
    sums = [sum(column) / len(masks) for column in zip(*masks, strict=True)]
    return dict(zip(result.get("feature_names") or [], sums, strict=False))
