"""Results and comparisons that no run made: plain data of the right form, the same every time."""

from typing import Any

import numpy as np

from devfnn.evaluation.ranking import rank
from devfnn.events import Event
from devfnn.model.config import Config
from devfnn.reports.comparison import standing_values
from devfnn.types import Standing

MEASURES = (
    *("precision", "recall", "f1", "kappa", "kappa_m", "kappa_temporal", "g_mean"),
    *("balanced_accuracy", "log_loss", "brier", "calibration_error", "auc"),
    *("paper_precision", "paper_recall"),
)
MODELS = ("devfnn", "gclass", "pensemble", "arf", "naive_bayes", "no_change")
STREAMS = ("sea", "hyperplane", "electricity", "weather", "rfid", "kdd99", "susy", "stagger")


STANDINGS = (
    Standing(0, "quick line", "votes", 0.123, cost=0.1),
    Standing(1, "clouds", "rests", 0.0, 12, -0.00123),
    Standing(2, "short trees", "on trial", 0.877, 0, 0.0456, 0.9),
)


def made_result(
    *, n_classes: int = 2, n_chunks: int = 200, n_features: int = 5, n_events: int = 300, seed=0
) -> dict[str, Any]:
    """A run over chunks of 500 rows with three drifts."""
    random = np.random.default_rng(seed)
    chunk_rows, n_rows = 500, 500 * n_chunks
    drifts = [n_rows // 4, n_rows // 2, 3 * n_rows // 4]
    since = np.arange(n_chunks) % max(n_chunks // 4, 1)
    accuracy = 0.93 - 0.25 * np.exp(-since / 3.0) + random.normal(0, 0.012, n_chunks)
    features = [f"feature {place}" for place in range(n_features)]
    layers = np.minimum(2 + np.arange(n_chunks) * 4 // n_chunks, 5)
    per_chunk: dict[str, Any] = {
        "rows": (chunk_rows * np.arange(1, n_chunks + 1)).tolist(),
        "chunk_rows": [chunk_rows] * n_chunks,
        "accuracy": [None, *accuracy[1:].round(4).tolist()],
        "rules": (layers * 4 + random.integers(-2, 3, n_chunks)).tolist(),
        "layers": layers.tolist(),
        "layers_total": (layers + 1).tolist(),
        "parameters": (layers * 200).tolist(),
        "labels": random.integers(120, 500, n_chunks).tolist(),
        "seconds_predict": random.uniform(0.001, 0.002, n_chunks).tolist(),
        "seconds_learn": random.uniform(0.004, 0.009, n_chunks).tolist(),
        "model_bytes": (layers * 20_000).tolist(),
        "voting_weights": [_weights(random, int(count)) for count in layers],
        "layer_states": [["votes", "rests" if chunk >= n_chunks // 2 else "votes", "on trial"]
                         for chunk in range(n_chunks)],
        "feature_mask": [[int(place != 3 or chunk % 50 > 20) for place in range(n_features)]
                         for chunk in range(n_chunks)],
    }  # fmt: skip
    for measure in MEASURES:
        series = np.clip(accuracy - 0.02 + random.normal(0, 0.01, n_chunks), 0.0, 1.0)
        per_chunk[measure] = [None, *series[1:].round(4).tolist()]
    confusion = _confusion(random, n_classes, n_rows - chunk_rows)
    events = _events(random, n_events, chunk_rows, drifts, n_chunks)
    config = Config().replace(boxes__max_rules=12, labels__exploration=0.2).to_dict()
    result: dict[str, Any] = {
        "format": 1,
        "version": "0.1.0",
        "versions": {"python": "3.11.2", "numpy": "2.2.1", "numba": "0.61.0"},
        "stream": "sea",
        "model": "devfnn",
        "preset": "default",
        "scaling": "online",
        "seed": seed,
        "settings": {"rows": n_rows, "chunk_rows": 500, "stream": {"noise": 0.1}, "label": None},
        "command": f"devfnn run sea --rows {n_rows} --seed {seed} --set boxes.max_rules=12",
        "config": config,
        "feature_names": features,
        "classes": list(range(n_classes)),
        "class_names": [f"class {place}" for place in range(n_classes)],
        "rows": n_rows,
        "rows_left_out": 85,
        "chunks": n_chunks,
        "chunk_rows": chunk_rows,
        "is_complete": True,
        "accuracy_mean": float(np.mean(accuracy[1:])),
        "accuracy_std": float(np.std(accuracy[1:], ddof=1)),
        "accuracy_overall": float(np.mean(accuracy[1:])),
        "per_class": [
            {
                "label": place,
                "name": f"class {place}",
                "precision": 0.9 - 0.01 * place,
                "recall": 0.88 - 0.01 * place,
                "f1": 0.89 - 0.01 * place,
                "support": int(confusion[place].sum()),
            }
            for place in range(n_classes)
        ],
        "confusion": confusion.tolist(),
        "calibration": {
            "edges": [place / 10 for place in range(11)],
            "rows": [0, 0, 0, 10, 200, 900, 1500, 2500, 9000, 50_000],
            "confidence": [None, None, None, 0.36, 0.46, 0.55, 0.65, 0.76, 0.86, 0.96],
            "accuracy": [None, None, None, 0.4, 0.44, 0.52, 0.63, 0.7, 0.84, 0.95],
        },
        "rules_mean": 14.2,
        "layers_mean": 3.4,
        "layers_total_mean": 4.4,
        "parameters_mean": 712.0,
        "labels_used": int(sum(per_chunk["labels"])),
        "label_fraction": sum(per_chunk["labels"]) / n_rows,
        "seconds_predict": 0.3,
        "seconds_learn": 1.31,
        "rows_per_second": 61_234.5,
        "model_bytes": 104_857,
        "events": {kind: sum(event["kind"] == kind for event in events)
                   for kind in sorted({event["kind"] for event in events})},
        "event_log": events,
        "drift_positions": drifts,
        "drift_detection": {
            "drifts": 3, "found": 2, "missed": 1, "false_alarms": 4,
            "delay_mean": 750.0, "delays": [500, None, 1000],
        },
        "per_chunk": per_chunk,
        "windowed": {"chunks": 10}
        | {key: _windowed(per_chunk[key], 10) for key in ("accuracy", *MEASURES)},
        "standings": [each._asdict() for each in STANDINGS],
        "rules": made_rules(features),
    }  # fmt: skip
    for measure in (*MEASURES, "precision_weighted", "recall_weighted", "f1_weighted"):
        result[measure] = 0.87
    return result


def made_rules(features: list[str]) -> list[dict[str, Any]]:
    """Rules of two layers; the second takes in what the first says."""
    rules = []
    for layer in range(2):
        inputs = [*features, *(["layer 0 says class 0", "layer 0 says class 1"] * (layer > 0))]
        for rule in range(3):
            center = [1.5 * rule * (place % 3) + 0.3 for place in range(len(inputs))]
            covariance = np.diag(np.linspace(0.4, 1.2, len(inputs)))
            covariance[0, 1] = covariance[1, 0] = 0.2
            rules.append(
                {
                    "layer": layer,
                    "rule": rule,
                    "inputs": inputs,
                    "n_features": len(features),
                    "center": center,
                    "covariance": covariance.tolist(),
                    "probabilities": [[0, 0.2 + 0.3 * rule], [1, 0.8 - 0.3 * rule]],
                    "n_rows": 1000.0 * (rule + 1),
                    "is_archived": rule == 2 and layer == 0,
                    "voting_weight": 0.5,
                }
            )
    return rules


def made_comparison(
    *, models=MODELS, streams=STREAMS, seeds=(0, 1, 2), ranking: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Accuracies that fall from model to model, and differ a little between seeds."""
    random = np.random.default_rng(7)
    cells = [
        {
            "model": model,
            "stream": stream,
            "seed": seed,
            "accuracy_mean": round(
                0.92 - 0.02 * place - 0.03 * (column % 3) + float(random.normal(0, 0.01)), 5
            ),
            "accuracy_std": 0.03,
            "accuracy_overall": 0.9,
            "f1": 0.88,
            "kappa": 0.7,
            "rows": 20_000,
            "chunks": 40,
            "rows_per_second": 2_000.0 * 3**place,
            "model_bytes": 90_000 // (place + 1),
            "label_fraction": 0.4 if model == "devfnn" else 1.0,
            "seconds_predict": 3.0 / 3**place,
            "seconds_learn": 7.0 / 3**place,
            "rules_mean": 11.0 if model in ("devfnn", "gclass") else None,
            "layers_mean": 3.0 if model == "devfnn" else None,
            "file": f"results/{model}-{stream}-{seed}.json",
        }
        for place, model in enumerate(models)
        for column, stream in enumerate(streams)
        for seed in seeds
    ]
    return {
        "format": 1,
        "models": list(models),
        "streams": list(streams),
        "seeds": list(seeds),
        "cells": cells,
        "ranking": ranking,
    }


def ranked(comparison: dict[str, Any]) -> dict[str, Any]:
    """The comparison with its ranking."""
    scores: dict[str, list[float]] = {}
    for row in standing_values(comparison):
        scores.setdefault(row["model"], []).append(row["mean"])
    return comparison | {"ranking": rank(scores).to_dict()}


def made_results_of(comparison: dict[str, Any], n_chunks: int = 40) -> list[dict[str, Any]]:
    """A result for each cell of a comparison."""
    results = []
    for cell in comparison["cells"]:
        seed = 100 * comparison["models"].index(cell["model"]) + cell["seed"]
        seed += 1000 * comparison["streams"].index(cell["stream"])
        result = made_result(n_chunks=n_chunks, n_events=5, seed=seed)
        results.append(result | {key: cell[key] for key in ("model", "stream", "seed")})
    return results


def _weights(random: np.random.Generator, count: int) -> list[float]:
    weights = random.dirichlet(np.linspace(1.0, 4.0, count))
    return [float(weight) for weight in weights.round(4)]


def _confusion(random: np.random.Generator, n_classes: int, n_rows: int) -> Any:
    shares = np.full((n_classes, n_classes), 0.1 / n_classes) + 0.9 * np.eye(n_classes)
    sizes = random.dirichlet(np.ones(n_classes))
    return np.floor(n_rows * sizes[:, None] * shares).astype(int)


def _windowed(series: list[float | None], n_chunks: int) -> list[float | None]:
    """The mean over the last chunks."""
    means: list[float | None] = []
    for end in range(1, len(series) + 1):
        known = [value for value in series[max(0, end - n_chunks) : end] if value is not None]
        means.append(sum(known) / len(known) if known else None)
    return means


def _events(random, n_events: int, chunk_rows: int, drifts: list[int], n_chunks: int) -> list:
    """Events of all kinds, in the order of rows."""
    makers = (
        lambda: {"kind": "RuleBorn", "layer": 0, "rule": 2, "data_quality": 0.81,
                 "quality_bound": 0.78, "log_volume": -3.2, "winner_distance": 4.4},
        lambda: {"kind": "RulePruned", "layer": 1, "rule": 0, "reason": "significance",
                 "value": 0.01, "limit": 0.02, "utility": 0.4,
                 "merged_into": -1},
        lambda: {"kind": "RuleRecalled", "layer": 0, "rule": 1, "data_quality": 0.7,
                 "quality_bound": 0.6, "log_volume": -1.0, "winner_distance": 2.0},
        lambda: {"kind": "FeatureOff", "feature": "feature 3", "score": 0.995, "threshold": 0.99},
        lambda: {"kind": "FeatureOn", "feature": "feature 3", "score": 0.95, "threshold": 0.99},
        lambda: {"kind": "RangeChanged", "feature": "feature 1", "low": -1.0, "high": 12.5},
        lambda: {"kind": "LayersMerged", "kept": 1, "dropped": 0, "compression_index": 0.0004,
                 "threshold": 0.001},
        lambda: {"kind": "DriftWarned", "error_before": 0.1, "error_after": 0.13, "bound": 0.02,
                 "kept_rows": 500, "dropped_rows": 0},
    )  # fmt: skip
    events = []
    for _ in range(n_events):
        event = makers[int(random.choice(len(makers), p=[0.4, 0.3, 0.05, 0.05, 0.05, 0.05, 0.05,
                                                         0.05]))]()  # fmt: skip
        chunk = int(random.integers(1, n_chunks))
        events.append(event | {"row": (chunk + 1) * chunk_rows, "chunk": chunk})
    for drift in drifts[::2]:
        found = {"kind": "DriftFound", "error_before": 0.1, "error_after": 0.34, "bound": 0.12,
                 "cut": 300}  # fmt: skip
        row = drift + chunk_rows
        events.append(found | {"row": row, "chunk": row // chunk_rows - 1})
        added = {"kind": "LayerAdded", "layer": 2, "n_inputs": 7, "trained_rows": 500}
        events.append(added | {"row": row, "chunk": row // chunk_rows - 1})
    return [_explained(event) for event in sorted(events, key=lambda event: event["row"])]


def _explained(event: dict[str, Any]) -> dict[str, Any]:
    """The event with its explanation, as runs write it."""
    fields = {name: value for name, value in event.items() if name != "chunk"}
    return event | {"explanation": Event.from_dict(fields).explanation}
