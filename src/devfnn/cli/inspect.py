"""`devfnn inspect`: what a saved model is, and what it knows."""

import dataclasses
import pathlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
import rich.console
import typer

import devfnn
from devfnn.cli.models import ModelFile, opened_model
from devfnn.cli.refusals import refusing_bad_data
from devfnn.cli.results import (
    CsvFile,
    CsvPath,
    JsonFile,
    Quiet,
    check_outputs,
    csv_file,
    result_file,
)
from devfnn.display.models import model_tables, rules_table
from devfnn.kernels.state import ACTIVE, ARCHIVED
from devfnn.model.network import Network
from devfnn.model.rules import Rule, label_to_json


def inspect(
    model_file: ModelFile,
    rules: Annotated[int, typer.Option(min=0, metavar="N", help="Rules to show.")] = 20,
    archived: Annotated[
        bool, typer.Option("--archived", help="Also rules that wait to be recalled.")
    ] = False,
    json_file: JsonFile = None,
    csv_path: CsvPath = None,
    quiet: Quiet = False,
) -> None:
    """What is in a model file: its features, classes, layers and rules.

    The JSON file has everything, the CSV file a line for each rule.
    """
    with refusing_bad_data(), result_file(json_file) as result, csv_file(csv_path) as table:
        check_outputs({"MODEL": model_file}, json=json_file, csv=csv_path)
        model = opened_model(model_file)
        about, found = anatomy(model, model_file), model.rules(archived)
        result.write(about | {"rules": [rule.to_dict() for rule in found]})
        _write_rules(table, found, model.classes)
    screen = rich.console.Console(quiet=quiet)
    for part in model_tables(about):
        screen.print(part)
    if found:
        screen.print(rules_table(found, rules))


def anatomy(model: devfnn.DEVFNN, path: pathlib.Path) -> dict[str, Any]:
    """A model as plain data, but for its rules."""
    usual = type(model)().config
    changed = {
        field.name: getattr(model.config, field.name)
        for field in dataclasses.fields(model.config)
        if getattr(model.config, field.name) != getattr(usual, field.name)
    }
    network = model._network
    return {
        "version": devfnn.__version__,
        "file": str(path),
        "class": type(model).__name__,
        "config": model.config.to_dict(),
        "changed": changed,
        "features": _features(model, network),
        "classes": [label_to_json(label) for label in model.classes],
        "rows": model.n_rows,
        "labels_used": model.n_labels_used,
        "layers": [] if network is None else _layers(network),
        "parameters": model.n_parameters,
        "bytes": model.nbytes,
        "file_bytes": path.stat().st_size,
    }


def _features(model: devfnn.DEVFNN, network: Network | None) -> list[dict[str, Any]]:
    """Every feature: its range as the model scales it, and whether it is in use."""
    if network is None or model.config.scaling == "none":
        used = np.ones(len(model.feature_names)) if network is None else network.feature_mask
        states = ["in use" if is_used else "masked" for is_used in used]
        return [
            {"name": name, "low": None, "high": None, "state": state}
            for name, state in zip(model.feature_names, states, strict=True)
        ]
    scaler = network.scaler
    features: list[dict[str, Any]] = []
    for place, name in enumerate(model.feature_names):
        low, width = float(scaler.low[place]), float(scaler.width[place])
        state = "in use" if network.feature_mask[place] else "masked"
        if not scaler.awake[place]:
            state = "asleep: like a clock" if scaler.is_clock[place] else "asleep: constant"
        ends = (low, low + width) if width > 0.0 else (None, None)
        features.append({"name": name, "low": ends[0], "high": ends[1], "state": state})
    return features


def _layers(network: Network) -> list[dict[str, Any]]:
    """Every layer: its say, its rules, its inputs in use."""
    layers = network.layers
    votes = np.where(layers.is_merged, 0.0, layers.voting_weights)
    votes /= votes.sum()
    found = []
    for layer in range(network.shape.layers):
        used = np.flatnonzero(layers.input_mask[layer, : int(layers.n_inputs[layer, 0])])
        n_features = int(np.count_nonzero(used < network.shape.features))
        found.append(
            {
                "layer": layer,
                "is_merged": bool(layers.is_merged[layer]),
                "vote": float(votes[layer]),
                "rules": int(np.count_nonzero(layers.status[layer] == ACTIVE)),
                "archived": int(np.count_nonzero(layers.status[layer] == ARCHIVED)),
                "features": n_features,
                "inputs_from_layers": int(used.size) - n_features,
            }
        )
    return found


def _write_rules(table: CsvFile, rules: Sequence[Rule], classes: Iterable[Any]) -> None:
    """A line for each rule; an input that a rule does not have leaves its cells empty."""
    inputs = list(dict.fromkeys(name for rule in rules for name in rule.inputs))
    shares = [f"probability of {label}" for label in classes]
    places = [f"{what} of {name}" for name in inputs for what in ("center", "spread")]
    about = ["layer", "rule", "is_archived", "voting_weight", "rows"]
    table.add([*about, *shares, *places, "text"])
    for rule in rules:
        values = zip(rule.center.tolist(), rule.spreads.tolist(), strict=True)
        known = dict(zip(rule.inputs, values, strict=True))
        table.add(
            [
                *(rule.layer, rule.rule, rule.is_archived, rule.voting_weight, rule.n_rows),
                *rule.probabilities.values(),
                *(value for name in inputs for value in known.get(name, (None, None))),
                rule.text(most=None),
            ]
        )
