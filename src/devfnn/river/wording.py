"""What a model makes of a row, as text."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from devfnn.model.devfnn import DEVFNN
from devfnn.model.wording import percent
from devfnn.river.features import Features

MOST_RULES = 5
"""Rules that are shown."""


def debug_text(model: DEVFNN, features: Features, x: Mapping[Any, Any]) -> str:
    """The row as the model sees it, what it predicts, and its weightiest rules."""
    if not model.classes:
        return "The model has not learned anything yet."
    row = np.array(features.row(x), np.float64)
    probabilities = model.predict_proba(row[None])[0]
    lines = ["Features"]
    for name, value, is_used in zip(model.feature_names, row, model.feature_mask, strict=True):
        shown = "missing" if np.isnan(value) else f"{value:g}"
        lines.append(f"  {name}: {shown}" + ("" if is_used else " (not in use)"))
    lines += [f"  {key!r}: never seen, ignored" for key in x if features.are_new([key])]
    lines.append("Probabilities")
    ordered = sorted(zip(model.classes, probabilities, strict=True), key=lambda each: -each[1])
    lines += [f"  {label}: {percent(float(share))}" for label, share in ordered]
    lines.append(f"Rules ({model.n_rules} in {model.n_live_layers} layers)")
    lines += [f"  {rule.text()}  {rule.remark()}" for rule in model.rules()[:MOST_RULES]]
    return "\n".join(lines)
