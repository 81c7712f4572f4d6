"""Events of a run in words: what happened, and by which numbers."""

from collections.abc import Mapping
from typing import Any

from devfnn.reports.page import percent, plain, sentence

KINDS = {
    "RuleBorn": "rule born",
    "RuleRecalled": "rule recalled",
    "RulePruned": "rule pruned",
    "FeatureOff": "feature off",
    "FeatureOn": "feature on",
    "RangeChanged": "range changed",
    "FeatureAsleep": "feature asleep",
    "FeatureAwake": "feature awake",
    "LayersMerged": "layers merged",
    "DriftWarned": "drift warning",
    "DriftFound": "drift found",
    "LayerAdded": "layer added",
    "RuleSplit": "rule split",
    "CloudsChanged": "clouds changed",
    "LayerKept": "layer kept",
    "LayerRecalled": "layer recalled",
    "LayerDropped": "layer dropped",
    "ClassAdded": "class added",
    "NodeAdded": "node added",
    "MeansMoved": "means moved",
    "TaskStarted": "task started",
    "MaskSaturated": "mask saturated",
    "GatesRedrawn": "gates redrawn",
    "UnitsSelected": "units selected",
    "UnitsAdded": "units added",
    "UnitSplit": "unit split",
}
"""Kinds of events as they are called on a page."""

_SENTENCES = {
    "RuleBorn": "A row founded rule {rule} of layer {layer}: its quality {data_quality} is beyond "
    "the bound {quality_bound}, and the nearest rule is {winner_distance} away.",
    "RuleRecalled": "Archived rule {rule} of layer {layer} fits better than a new one would: its "
    "quality {data_quality} is beyond the bound {quality_bound}.",
    "FeatureOff": "{feature} says too little about the classes: score {score}, and {threshold} is "
    "the threshold.",
    "FeatureOn": "{feature} is used again: score {score}, and {threshold} is the threshold.",
    "RangeChanged": "{feature} left its range, which is now {low} to {high}.",
    "FeatureAsleep": "{feature} behaves like a clock: it left its range {escapes} times on one "
    "side.",
    "FeatureAwake": "{feature} has something to say now: it goes from {low} to {high}.",
    "LayersMerged": "Layers {kept} and {dropped} said the same (index {compression_index}, below "
    "{threshold}); layer {dropped} is left out.",
    "DriftWarned": "The error rate moved from {error_before} to {error_after}, not yet enough for "
    "a drift (bound {bound}); {kept_rows} rows were kept.",
    "DriftFound": "The error rate moved from {error_before} to {error_after}, more than chance "
    "explains (bound {bound}).",
    "LayerAdded": "Layer {layer} was put on top: {n_inputs} inputs, trained on {trained_rows} "
    "rows.",
    "RuleSplit": "Rule {rule} of layer {layer} became two, {rule} and {sibling}, below and above "
    "{feature} = {value}: evidence {evidence}, and {needed} is needed.",
    "CloudsChanged": "Layer {layer} went from {before} to {after} clouds: rows that none of them "
    "explained founded new ones.",
    "LayerKept": "Layer {source} was kept as layer {layer} for the day its concept returns: "
    "{n_rules} rules from {learned_rows} rows, with a share of {score} right.",
    "LayerRecalled": "Kept layer {layer} is the best again: it has a share of {score} right, the "
    "steady line {line_score}, the boxes {box_score}.",
    "LayerDropped": "Kept layer {layer} is no longer needed and was dropped: {value}, and {limit} "
    "is the limit.",
    "ClassAdded": "Label {label} was never seen before.",
    "NodeAdded": "Node {node} of layer {layer}, drawn with scope {scope}, explained {score} more "
    "of the squared error than it must.",
    "MeansMoved": "The feature means moved by {gap} at row {cut} of the chunk: {level}, and "
    "{limit} is the limit.",
    "TaskStarted": "Task {task} began, by {policy}; there are {n_nodes} nodes now.",
    "MaskSaturated": "Earlier tasks left {free} units free: task {task} learns only its gates and "
    "outputs.",
    "GatesRedrawn": "Task {task} had shut every gate of layer {layer}, so that nothing passed; "
    "they were drawn anew.",
    "UnitsSelected": "With outputs shrunk by {shrinkage} a step, task {task} needs {selected} of "
    "{units} units; only these are learned further.",
    "UnitsAdded": "The loss of task {task} is {loss}, and {limit} is the limit; of {added} units "
    "added, {kept} proved useful and were kept.",
    "UnitSplit": "Unit {unit} of layer {layer} moved by {drift}, and {limit} is the limit: it got "
    "its old weights back, and unit {copy} goes on with the new ones for task {task}.",
}
_PRUNED = {
    "significance": "Rule {rule} of layer {layer} lost its significance and was deleted: {value}, "
    "below its limit {limit}.",
    "potential": "Rule {rule} of layer {layer} lost its potential and was archived: {value}, below "
    "its limit {limit}.",
}
_RATES = ("error_before", "error_after", "bound")
"""Fields that are shown in percent."""


def kind_in_words(kind: str) -> str:
    """A kind of event as it is called on a page."""
    return KINDS.get(kind, kind)


def reason_of(event: Mapping[str, Any]) -> str:
    """Why an event happened: as the event says, or from its numbers.

    >>> reason_of({"kind": "ClassAdded", "label": "up"})
    'Label up was never seen before.'
    """
    said = event.get("reason") or ""
    if " " in said.strip():
        return sentence(said)
    template = _SENTENCES.get(event["kind"]) or _PRUNED.get(said, "")
    # Not every event has the fields that the sentence asks for: the file may be of anyone.
    values = {name: _short(value, name) for name, value in event.items()}
    try:
        text = template.format_map(values)
    except (KeyError, IndexError, ValueError):
        text = ""
    return text or _fields(event)


def _fields(event: Mapping[str, Any]) -> str:
    """All numbers of an event, named."""
    about = [
        f"{name.replace('_', ' ')} {_short(value, name)}"
        for name, value in event.items()
        if name not in ("kind", "row", "chunk")
    ]
    return sentence(", ".join(about))


def _short(value: object, name: str) -> str:
    if isinstance(value, float):
        return percent(value, 1) if name in _RATES else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(value)
