"""Files of format 3, of devfnn 0.1.0, which had two networks: converted when they are read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from devfnn.errors import InputError, StorageError
from devfnn.kernels.state import BOXES, CLOUDS, CURVE, GAUSSIAN, NO_LAYER
from devfnn.model.config import (
    DEFAULT_LAYERS,
    AddLayers,
    ByAccuracy,
    ByCompression,
    ByDisagreement,
    ByLikelihood,
    ByReward,
    Config,
    Drift,
    Equal,
    FeatureMask,
    KeepLayers,
    Labels,
    Layer,
)
from devfnn.model.gclass import GClass
from devfnn.model.layers.clouds import Clouds
from devfnn.model.layers.gaussian import Gaussian
from devfnn.model.layers.pool import Boxes, Memory, Rules
from devfnn.storage.container import Array, require
from devfnn.storage.layout import unused_fields

FORMAT = 3

LIBRARY = "0.1.0"
"""The version that wrote such files."""


# ---- parameters: then in one list, half of them without effect


def config_from_flat(flat: Mapping[str, Any]) -> Config:
    """The configuration of a list of parameters as format 3 has it; unknown ones are refused."""
    old = dict(flat)
    is_stacked = old.pop("network") == "stacked"
    return _stacked_config(old) if is_stacked else _rival_config(old)


def _common(old: Mapping[str, Any]) -> dict[str, Any]:
    mask = FeatureMask(
        score=old["feature_score"],
        threshold=old["feature_threshold"],
        memory=old["statistics_memory"],
    )
    names = ("chunk_rows", "scaling", "missing", "lags", "seed")
    return {name: old[name] for name in names} | {
        "feature_mask": mask if old["feature_mask"] else None
    }


def _labels(old: Mapping[str, Any], choice: str) -> Labels:
    return Labels(
        choice=choice if old["active_learning"] else "all",  # type: ignore[arg-type]
        certainty=old["conflict_threshold"],
        exploration=old["exploration"],
        threshold_step=old["threshold_step"] if choice == "layer" else 0.0,
        budget=old["label_budget"],
        window=old["budget_window"],
    )


def _rival_config(old: Mapping[str, Any]) -> Config:
    """Of the default network: lines, curves, boxes and clouds."""
    longest = max(old["longest_memory"], old["shortest_memory"])
    memories = {0: old["quick_memory"], 3: old["shortest_memory"], 4: longest}
    layers = [
        Layer(
            layer.kind,
            name=layer.name,
            memory=memories.get(index, 0.0),
            memory_share=layer.memory_share,
            label_noise=old["label_noise"] if index in (1, 2) else 0.0,
        )
        for index, layer in enumerate(DEFAULT_LAYERS)
        if layer.kind != "clouds"
    ]
    has_clouds = old["rule_growing"] and old["max_clouds"] > 0
    grows = old["growing"]
    return Config(
        layers=tuple(layers) + (DEFAULT_LAYERS[-1:] if has_clouds else ()),
        rules=Rules(max_rules=old["max_pool"], prior=old["prior"], prior_reach=old["prior_reach"]),
        memory=Memory(shortest=old["shortest_memory"], longest=old["longest_memory"])
        if old["forgetting"]
        else None,
        boxes=Boxes(
            max_rules=old["max_boxes"],
            splitting=old["rule_growing"],
            evidence=old["split_evidence"],
            every=old["split_every"],
            doubt=old["split_doubt"],
            crossings=old["crossings"],
            joining=old["pruning"] and old["rule_growing"],
            join_evidence=old["join_evidence"],
        ),
        clouds=Clouds(
            max_rules=old["max_clouds"],
            rate=old["cloud_rate"],
            birth=old["cloud_birth"],
            memory=old["cloud_memory"],
        )
        if has_clouds
        else None,
        labels=_labels(old, "vote"),
        voting=ByAccuracy(rows=old["vote_rows"], power=old["vote_power"]),
        drift=Drift(significance=old["drift_significance"]) if grows else None,
        growing=KeepLayers(max_kept=old["max_kept"] if old["recall"] else 0) if grows else None,
        merging=ByDisagreement(share=old["merge_disagreement"])
        if old["merging"] and grows
        else None,
        **_common(old),
    )


def _stacked_config(old: Mapping[str, Any]) -> Config:
    """Of the stacked network: gaussian layers."""
    inputs = {"off": "features", "settled": "settled", "all": "all"}[old["augmentation"]]
    count, grows = old["initial_layers"], old["growing"]
    has_plain = old["plain_first"] and count > 1
    layers = tuple(
        Layer("gaussian", name="rules", inputs=inputs, single_rule=has_plain and k == 0)  # type: ignore[arg-type]
        for k in range(count)
    )
    names = (
        "consequent mixing normalisation initial_gain later_gain curvature_floor memory "
        "chunk_memory weight_decay local_forgetting density_memory rules max_rules "
        "first_precision vigilance width_floor coverage max_population pruning prune_margin "
        "potential_memory recall archive_size"
    ).split()
    own = Gaussian(
        growing=old["rule_growing"],
        tuning=old["premise_tuning"],
        **{name: old[name] for name in names},
    )
    shared = {
        "ballots": old["vote"],
        "newborn_weight": old["newborn_weight"],
        "reset_winner": old["reset_winner"],
    }
    votes: dict[str, Any] = {
        "likelihood": lambda: ByLikelihood(
            memory=old["vote_memory"],
            sharpness=old["vote_sharpness"],
            floor=old["vote_floor"],
            **shared,
        ),
        "reward": lambda: ByReward(
            step=old["vote_step"],
            decay=old["initial_decay"],
            floor=old["vote_floor"],
            **shared,
        ),
        "equal": lambda: Equal(**shared),
    }
    training = {"winner": "leader", "winner_and_initial": "configured", "all": "all"}
    return Config(
        layers=layers,
        training=training[old["training"]],  # type: ignore[arg-type]
        gaussian=own,
        labels=_labels(old, "layer"),
        voting=votes[old["voting_weights"]](),
        drift=Drift(
            test=old["drift_test"],
            significance=old["drift_significance"],
            warning=old["warning_significance"],
            horizon=old["horizon"],
            one_sided=old["drift_one_sided"],
            repeats=False,
        )
        if grows
        else None,
        growing=AddLayers(
            max_layers=max(old["max_layers"], count),
            inputs=inputs,  # type: ignore[arg-type]
            newborn=old["newborn"],
            newborn_doubt=old["newborn_doubt"],
            buffer_rows=old["buffer_rows"],
            train_on_warning=old["train_on_warning"],
        )
        if grows
        else None,
        merging=ByCompression(threshold=old["merge_threshold"], memory=old["statistics_memory"])
        if old["merging"]
        else None,
        **_common(old),
    )


# ---- arrays


def converted(
    data: Mapping[str, Any], tensors: Mapping[str, Array], target: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays as this version has them; raises StorageError."""
    try:
        config = config_from_flat(data["config"])
        if data["class"] == "GClass":
            config = GClass(config).config
        new = {key: data[key] for key in ("library", "class", "feature_names", "classes", "late")}
        new |= {"format": target, "config": config.to_dict(), "notes": _notes(data["notes"])}
        if data["shape"] is None:
            return new | {"shape": None, "counters": {}}, {}
        rename = _rivals if config.has("line") else _stack
        arrays, sizes = rename(dict(tensors), data, config)
    except (InputError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise StorageError(f"a file of format {FORMAT} that cannot be read: {error}") from None
    arrays = {name: array for name, array in arrays.items() if name not in unused_fields(config)}
    counters = {name: data["counters"].get(name) for name in ("n_rows", "n_chunks", "n_labels")}
    counters["scaler/n_first"] = data["counters"].get("scaler/n_first")
    return new | {"shape": sizes, "counters": counters}, arrays


def _notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    """History and queries: events that merge say into what, and not only in words."""
    events = []
    for event in notes["events"]:
        if event["kind"] in ("LayerDropped", "RulePruned"):
            words = str(event["reason"]).split()
            other = next((int(word) for word in words if word.isdigit()), -1)
            plain = {"differs": "differs in too few rows", "difference": "difference"}
            reason = plain.get(words[0], event["reason"]) if other >= 0 else event["reason"]
            event = event | {"reason": reason, "merged_into": other}
        events.append(event)
    rest = {key: value for key, value in notes.items() if key not in ("events", "purse")}
    return rest | {"events": events, "budget": notes["purse"]}


def _moved(old: Mapping[str, Array], names: Mapping[str, str]) -> dict[str, Array]:
    return {new: old[name] for name, new in names.items()}


def _kept_rows(old: Mapping[str, Array], part: str, target: str, count: int) -> dict[str, Array]:
    """Rows that are kept, without the room that is left."""
    names = ("X", "labels", "weights")
    return {f"{target}/{name}": old[f"{part}/{name}"][:count] for name in names} if count else {}


def _shared(old: Mapping[str, Array], config: Config) -> dict[str, Array]:
    """What both networks had."""
    parts = [name for name in old if name.startswith("scaler/")]
    if config.feature_mask is not None:
        parts += [name for name in old if name.startswith("feature_stats/")]
    return {name: old[name] for name in (*parts, "feature_mask", "recent")}


def _sizes(old: Mapping[str, Array], layers: int, slots: int, classes: int) -> dict[str, int]:
    first = old["scaler/first_rows"]
    return {
        "layers": layers,
        "slots": slots,
        "features": first.shape[1],
        "classes": classes,
        "first_rows": len(first),
    }


def _rivals(
    old: dict[str, Array], data: Mapping[str, Any], config: Config
) -> tuple[dict[str, Array], dict[str, int]]:
    """The default network."""
    n, wanted = len(config.layers), len(config.layers)
    growing = config.growing
    wanted += growing.max_kept if isinstance(growing, KeepLayers) else 0
    kinds = old["state/kinds"].copy()
    places = np.r_[np.arange(n), np.arange(7, 7 + wanted - n)]  # there were always seven, then kept
    kinds[np.isin(kinds, [1])] = BOXES
    kinds[[3, 4]] = CURVE
    kinds[6] = CLOUDS if config.has("clouds") else NO_LAYER
    origins = np.arange(kinds.size)
    origins[7:] = np.where(kinds[7:] == BOXES, 5, np.where(kinds[7:] == NO_LAYER, origins[7:], 2))
    require(places.max() < kinds.size, "a file of format 3 lacks places for layers")
    names = (
        "owners lows highs weights gains caps evidence crossings ages means variances class_counts"
    )
    arrays = _moved(old, {f"state/{name}": f"pool/{name}" for name in names.split()})
    arrays["pool/owners"] = _renumbered(arrays["pool/owners"], places)
    arrays["pool/members"] = old["state/members"][places]
    arrays["pool/n_members"] = old["state/n_members"][places]
    if config.has("clouds"):
        own = {f"state/cloud_{name}": f"clouds/{name}" for name in _CLOUDS}
        arrays |= _moved(old, own | {"state/n_clouds": "clouds/count"})
    arrays |= {f"layers/{name}": old[f"state/{name}"][places] for name in _BY_LAYER}
    for name in ("disagreements", "compared"):
        arrays[f"layers/{name}"] = old[f"state/{name}"][np.ix_(places, places)]
    arrays["layers/kinds"] = kinds[places]
    moved = _renumbered(origins[places], places)
    arrays["layers/origins"] = np.where(kinds[places] == NO_LAYER, np.arange(places.size), moved)
    arrays["layers/voting_weights"] = np.ones(places.size)
    arrays["layers/decays"] = np.ones(places.size)
    arrays["layers/is_merged"] = np.zeros(places.size, np.bool_)
    arrays |= _moved(
        old,
        {
            "state/track": "progress/errors",
            "state/course": "progress/signals",
            "state/label_shares": "progress/label_shares",
            "state/purse": "progress/budget",
            "lead": "progress/lead",
        },
    )
    arrays["progress/counts"] = old["state/clock"]
    if growing is None:
        arrays["progress/errors"] = np.zeros_like(arrays["progress/errors"])
    count = len(old["gathered/X"]) if config.feature_mask is not None else 0
    arrays |= _shared(old, config) | _kept_rows(old, "gathered", "gathered", count)
    sizes = _sizes(old, places.size, 0, old["state/weights"].shape[1])
    return arrays, sizes | {"buffer_rows": 0, "gathered_rows": count, "gathered_outputs": 0}


_CLOUDS = ("centers", "labels", "spreads", "masses", "heights")
_BY_LAYER = ("scores", "rests", "last_wins")


def _renumbered(layers: Array, places: Array) -> Array:
    """Numbers of layers when some places are gone; those below 0 stay."""
    new = np.full(max(int(places.max()), int(layers.max(initial=0))) + 1, -1)
    new[places] = np.arange(places.size)
    moved: Array = np.where(layers >= 0, new[np.maximum(layers, 0)], layers)
    return moved


def _stack(
    old: dict[str, Array], data: Mapping[str, Any], config: Config
) -> tuple[dict[str, Array], dict[str, int]]:
    """The stacked network."""
    votes = ("voting_weights", "decays", "is_merged")
    arrays = {
        f"gaussians/{name.removeprefix('layers/')}": array
        for name, array in old.items()
        if name.startswith("layers/") and name.removeprefix("layers/") not in votes
    }
    records = {"counts": "record_counts", "means": "record_means", "squares": "record_squares"}
    records["violations"] = "violations"
    arrays |= {f"gaussians/{new}": old[f"records/{name}"] for name, new in records.items()}
    arrays |= {f"layers/{name}": old[f"layers/{name}"] for name in votes}
    n_layers, n_slots = old["layers/status"].shape
    n_classes = old["layers/class_weights"].shape[1]
    arrays["layers/kinds"] = np.full(n_layers, GAUSSIAN)
    arrays["layers/origins"] = np.arange(n_layers)
    arrays |= {"layers/scores": np.zeros(n_layers)}
    arrays |= {f"layers/{name}": np.zeros(n_layers, np.int64) for name in ("rests", "last_wins")}
    for name in ("disagreements", "compared"):
        arrays[f"layers/{name}"] = np.zeros((n_layers, n_layers))
    counters = data["counters"]
    track = [counters[f"track/{name}"] for name in ("rows", "errors", "cut_rows", "cut_errors")]
    arrays["progress/errors"] = np.array(track, np.int64)
    arrays["progress/signals"] = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    arrays["progress/label_shares"] = np.zeros(n_classes)
    arrays["progress/lead"] = np.zeros(1)
    arrays["progress/budget"] = old["purse"]
    if config.merging is not None:
        arrays |= {name: old[name] for name in old if name.startswith("output_stats/")}
    count = int(counters.get("gathered/count") or 0)
    arrays["progress/counts"] = np.zeros(4, np.int64)
    n_buffer = len(old["buffer/X"])
    arrays |= _shared(old, config) | _kept_rows(old, "buffer", "buffer", n_buffer)
    arrays |= _kept_rows(old, "gathered/rows", "gathered", count)
    if count:
        arrays["gathered/outputs"] = old["gathered/outputs"][:count]
        arrays["gathered/errors"] = old["gathered/errors"][:count]
    sizes = _sizes(old, n_layers, n_slots, n_classes)
    more = {"buffer_rows": n_buffer, "gathered_rows": count, "gathered_outputs": count}
    return arrays, sizes | more
