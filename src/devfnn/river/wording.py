"""What a model makes of a row, as text."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from devfnn.model.devfnn import DEVFNN
from devfnn.model.explaining import IN_USE, MISSING
from devfnn.model.wording import percent
from devfnn.river.features import Features

MOST_RULES = 5
"""Rules that are shown."""


def debug_text(model: DEVFNN, features: Features, x: Mapping[Any, Any]) -> str:
    """The row as the model sees it, what it predicts and why, and the rules that fired."""
    if not model.classes:
        return "The model has not learned anything yet."
    why = model.explain(np.array(features.row(x), np.float64))
    lines = ["Features"]
    for key, value, state in zip(features.keys, why.values, why.states, strict=False):
        shown = "missing" if np.isnan(value) else f"{value:g}"
        lines.append(f"  {key}: {shown}" + ("" if state in (IN_USE, MISSING) else f" ({state})"))
    lines += [f"  {key!r}: never seen, ignored" for key in x if features.are_new([key])]
    lines.append("Probabilities")
    ordered = sorted(zip(why.labels, why.probabilities.tolist(), strict=True), key=lambda e: -e[1])
    lines += [f"  {label}: {percent(share)}" for label, share in ordered]
    lines.append("Why")
    lines += [f"  {line}" for line in why.text().splitlines()[1:]]
    fired = {(layer.layer, rule.rule) for layer in why.layers for rule in layer.fired}
    shown_rules = [rule for rule in model.rules() if (rule.layer, rule.rule) in fired][:MOST_RULES]
    lines.append(f"Rules that fired ({model.n_rules} in {model.n_live_layers} layers)")
    lines += [f"  {rule.text()}  {rule.remark()}" for rule in shown_rules]
    return "\n".join(lines)
