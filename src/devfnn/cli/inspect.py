"""`devfnn inspect`: what a saved model is, and what it knows."""

import collections
import dataclasses
import pathlib
from collections.abc import Hashable, Sequence
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
from devfnn.kernels.concept_state import NO_LAYER
from devfnn.kernels.state import ACTIVE, ARCHIVED
from devfnn.model import lags
from devfnn.model.concepts.explaining import kind_of
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.network import Network
from devfnn.model.rules import Rule
from devfnn.model.wording import distinct, label_to_json


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
    return {
        "version": devfnn.__version__,
        "file": str(path),
        "class": type(model).__name__,
        "config": model.config.to_dict(),
        "changed": changed,
        "features": _features(model),
        "classes": [label_to_json(label) for label in model.classes],
        "rows": model.n_rows,
        "labels_used": model.n_labels_used,
        "layers": _layers(model),
        "parameters": model.n_parameters,
        "bytes": model.nbytes,
        "file_bytes": path.stat().st_size,
    }


def _features(model: devfnn.DEVFNN) -> list[dict[str, Any]]:
    """Every feature: its range as the model scales it, and whether it is in use."""
    network, names = model._network, model.feature_names
    if not isinstance(network, Network | ConceptNetwork):
        return [{"name": name, "low": None, "high": None, "state": "in use"} for name in names]
    columns = lags.columns_of(network.n_features, len(names), model._late).features
    scaler, is_scaled = network.scaler, model.config.scaling == "online"
    features: list[dict[str, Any]] = []
    for name, place in zip(names, columns.tolist(), strict=True):
        low, width = float(scaler.low[place]), float(scaler.width[place])
        state = "in use" if network.feature_mask[place] else "masked"
        if is_scaled and not scaler.awake[place]:
            state = "asleep: like a clock" if scaler.is_clock[place] else "asleep: constant"
        ends = (low, low + width) if is_scaled and width > 0.0 else (None, None)
        features.append({"name": name, "low": ends[0], "high": ends[1], "state": state})
    return features


def _layers(model: devfnn.DEVFNN) -> list[dict[str, Any]]:
    """Every layer: what it is, its say, its rules, its inputs in use."""
    match model._network:
        case Network() as network:
            return _stacked_layers(network)
        case ConceptNetwork() as network:
            return _rival_layers(model, network)
    return []


def _rival_layers(model: devfnn.DEVFNN, network: ConceptNetwork) -> list[dict[str, Any]]:
    """The layers of a concept network; rules of those that wait or rest count as archived."""
    kinds = network.state.kinds
    counts = collections.Counter((rule.layer, rule.is_archived) for rule in model.rules(True))
    n_features = int(np.count_nonzero(model._known().used_features(model.config)))
    places = np.flatnonzero(kinds != NO_LAYER).tolist()
    found = []
    for place, vote in zip(places, model.voting_weights.tolist(), strict=True):
        state = "votes" if counts[place, False] or not counts[place, True] else "waits"
        found.append(
            {
                "layer": place,
                "kind": kind_of(network.state, place),
                "state": "rests" if network.state.rests[place] else state,
                "is_merged": False,
                "vote": vote,
                "rules": counts[place, False],
                "archived": counts[place, True],
                "features": n_features,
                "inputs_from_layers": 0,
            }
        )
    return found


def _stacked_layers(network: Network) -> list[dict[str, Any]]:
    """The layers of a stacked network."""
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
                "kind": "rules",
                "state": "merged" if layers.is_merged[layer] else "votes",
                "is_merged": bool(layers.is_merged[layer]),
                "vote": float(votes[layer]),
                "rules": int(np.count_nonzero(layers.status[layer] == ACTIVE)),
                "archived": int(np.count_nonzero(layers.status[layer] == ARCHIVED)),
                "features": n_features,
                "inputs_from_layers": int(used.size) - n_features,
            }
        )
    return found


def _write_rules(table: CsvFile, rules: Sequence[Rule], classes: Sequence[Hashable]) -> None:
    """A line for each rule; an input that a rule does not have leaves its cells empty."""
    inputs = list(dict.fromkeys(name for rule in rules for name in rule.inputs))
    shares = [f"probability of {text}" for text in distinct(classes)]
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
