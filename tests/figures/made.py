"""Results, comparisons, rankings and rules made for figures, with the attributes of real ones."""

import itertools
import types

import numpy as np

MEASURES = ("accuracy", "f1", "kappa", "log_loss")
NEMENYI = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 8: 3.031, 15: 3.391}


def result(n_chunks=20, chunk_rows=100, n_classes=2, n_features=3, **changes):
    """A run with a drift in the middle, found one chunk later, that adds a layer."""
    rng = np.random.default_rng(n_chunks)
    ends = [chunk_rows * (chunk + 1) for chunk in range(n_chunks)]
    half = n_chunks // 2
    accuracy = 0.9 - 0.3 * np.exp(-(np.arange(n_chunks) - half) / 3.0) * (
        np.arange(n_chunks) >= half
    )
    accuracy = np.clip(accuracy + rng.normal(0.0, 0.02, n_chunks), 0.0, 1.0)
    scored = [None, *accuracy[1:].tolist()]
    windowed = [
        None,
        *(float(np.mean(accuracy[max(1, i - 9) : i + 1])) for i in range(1, n_chunks)),
    ]
    layers = [1 if chunk < half + 1 else 2 for chunk in range(n_chunks)]
    found = ends[half]
    counts = rng.integers(0, 30, (n_classes, n_classes)) + 400 * np.eye(n_classes, dtype=int)
    made = {
        "stream": "sea",
        "model": "devfnn",
        "rows": ends[-1],
        "chunks": n_chunks,
        "feature_names": [f"x{place}" for place in range(n_features)],
        "classes": list(range(n_classes)),
        "class_names": [f"class {place}" for place in range(n_classes)],
        "confusion": counts.tolist(),
        "calibration": {
            "edges": [place / 10 for place in range(11)],
            "rows": [0, 0, 0, 0, 0, 50, 80, 150, 320, 1400],
            "confidence": [None] * 5 + [0.56, 0.66, 0.75, 0.86, 0.97],
            "accuracy": [None] * 5 + [0.50, 0.58, 0.70, 0.80, 0.93],
        },
        "calibration_error": 0.045,
        "drift_positions": [chunk_rows * half],
        "event_log": [
            {"kind": "DriftFound", "row": found, "chunk": half},
            {"kind": "LayerAdded", "row": found, "chunk": half},
            {"kind": "RuleBorn", "row": 7, "chunk": 0},
        ],
        "per_chunk": {
            "rows": ends,
            "chunk_rows": [chunk_rows] * n_chunks,
            **{measure: list(scored) for measure in MEASURES},
            "auc": [None] * n_chunks,
            "rules": [3 + chunk // 4 for chunk in range(n_chunks)],
            "layers": layers,
            "layers_total": layers,
            "labels": [chunk_rows - chunk for chunk in range(n_chunks)],
            "model_bytes": [10_000 * each for each in layers],
            "voting_weights": [[1.0] if each == 1 else [0.5, 1.5] for each in layers],
            "feature_mask": [[1] * n_features for _ in ends],
        },
        "windowed": {"chunks": 10, **{measure: list(windowed) for measure in MEASURES}},
    }
    return made | changes


def without(made, name):
    """The same result, with one column of its chunks not measured."""
    nothing = [None] * len(made["per_chunk"]["rows"])
    return made | {"per_chunk": made["per_chunk"] | {name: nothing}}


def with_column(made, name, values):
    """The same result, with other values in one column of its chunks."""
    return made | {"per_chunk": made["per_chunk"] | {name: values}}


def ranking(mean_ranks, n_streams=20, post_hoc="nemenyi", groups=None, names=None):
    """Models called by letters; groups lie within the critical difference if none are given."""
    n_models = len(mean_ranks)
    models = tuple(names or (f"model {chr(97 + place)}" for place in range(n_models)))
    q = NEMENYI.get(n_models, 3.0)
    difference = q * np.sqrt(n_models * (n_models + 1) / (6.0 * n_streams))
    if groups is None:
        groups = _groups(models, mean_ranks, difference)
    return types.SimpleNamespace(
        models=models,
        n_streams=n_streams,
        mean_ranks=tuple(mean_ranks),
        friedman_statistic=30.0,
        friedman_p=0.00312,
        critical_difference=difference if post_hoc == "nemenyi" else None,
        significance=0.05,
        post_hoc=post_hoc,
        p_values={},
        groups=tuple(groups),
    )


def _groups(models, ranks, difference):
    order = sorted(range(len(models)), key=lambda place: ranks[place])
    spans = []
    for first in range(len(order)):
        last = max(
            place
            for place in range(first, len(order))
            if ranks[order[place]] - ranks[order[first]] <= difference
        )
        if last > first and not any(last <= end for _, end in spans):
            spans.append((first, last))
    return [tuple(models[place] for place in order[a : b + 1]) for a, b in spans]


def cells(standings, streams=("sea", "hyperplane"), seeds=(0, 1)):
    """Cells of a comparison from accuracy and speed of each model."""
    return [
        {
            "model": model,
            "stream": stream,
            "seed": seed,
            "accuracy_mean": rate,
            "rows_per_second": speed,
        }
        for (model, (rate, speed)), stream, seed in itertools.product(
            standings.items(), streams, seeds
        )
    ]


def rule(center, covariance, says="up", **changes):
    """A rule about two features and what an earlier layer says."""
    n_inputs = len(center)
    probabilities = {"up": 0.2, "down": 0.2} | {says: 0.8}
    made = {
        "layer": 0,
        "rule": 0,
        "inputs": ("price", "demand", "layer 0 says up")[:n_inputs],
        "n_features": min(n_inputs, 2),
        "center": np.array(center, float),
        "covariance": np.array(covariance, float),
        "probabilities": probabilities,
        "n_rows": 100.0,
        "is_archived": False,
        "voting_weight": 1.0,
    }
    return types.SimpleNamespace(**(made | changes))
