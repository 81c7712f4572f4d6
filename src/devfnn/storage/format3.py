"""Files of format 3, of devfnn 0.1.0, which had two networks: converted when they are read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from devfnn.errors import InputError, StorageError
from devfnn.kernels.state import BOXES, NO_LAYER
from devfnn.model.config import (
    DEFAULT_LAYERS,
    KINDS,
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
from devfnn.storage.container import Array, is_count, require
from devfnn.storage.layout import COUNTERS, unused_fields

FORMAT = 3

LIBRARY = "0.1.0"
"""The version that wrote such files."""

PARAMETERS = frozenset(
    (
        "network chunk_rows scaling missing lags seed forgetting quick_memory shortest_memory "
        "longest_memory prior prior_reach label_noise max_boxes max_pool split_evidence "
        "split_every crossings split_doubt max_clouds cloud_rate cloud_birth cloud_memory "
        "join_evidence max_kept merge_disagreement vote_rows vote_power consequent mixing "
        "normalisation initial_gain later_gain curvature_floor memory chunk_memory weight_decay "
        "local_forgetting density_memory active_learning conflict_threshold exploration "
        "threshold_step label_budget budget_window rule_growing rules max_rules "
        "first_precision vigilance width_floor coverage premise_tuning max_population "
        "pruning prune_margin potential_memory recall archive_size "
        "initial_layers max_layers plain_first training augmentation growing merging feature_mask "
        "voting_weights vote_memory vote_sharpness newborn newborn_doubt vote vote_step vote_floor "
        "initial_decay newborn_weight reset_winner feature_score feature_threshold merge_threshold "
        "statistics_memory drift_test drift_one_sided drift_significance warning_significance "
        "train_on_warning horizon buffer_rows"
    ).split()
)
"""All that a configuration had."""

SWITCHES = (
    "active_learning feature_mask forgetting growing merging plain_first pruning recall "
    "rule_growing"
).split()
"""Parameters that say whether there is something."""

HEADER = frozenset(
    "format library class config feature_names classes shape late absent counters notes".split()
)
"""All that a header had."""

MOST_LAYERS = 50

# ---- parameters: then in one list, half of them without effect


def config_from_flat(flat: Mapping[str, Any]) -> Config:
    """The configuration of a list of parameters as format 3 has it; unknown ones are refused."""
    if flat.keys() != PARAMETERS:
        name = min(flat.keys() ^ PARAMETERS)
        raise InputError(f"a configuration of format 3 has {len(PARAMETERS)} parameters: {name!r}")
    if not all(isinstance(flat[name], bool) for name in SWITCHES):
        raise InputError(f"{', '.join(SWITCHES)} must be true or false")
    make = {"stacked": _stacked_config, "concepts": _rival_config}[flat["network"]]
    return make(flat)


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
    if type(count) is not int or not 1 <= count <= MOST_LAYERS:
        raise InputError(f"initial_layers must be between 1 and {MOST_LAYERS}, not {count!r}")
    dropped = (old["mixing"], old["normalisation"], old["threshold_step"])
    if dropped != ("logits", "softmax", 0.0):
        raise InputError(f"mixing, normalisation and threshold_step are no more: {dropped}")
    has_plain = old["plain_first"] and count > 1
    layers = tuple(
        Layer("gaussian", name="rules", inputs=inputs, single_rule=has_plain and k == 0)  # type: ignore[arg-type]
        for k in range(count)
    )
    names = (
        "consequent initial_gain later_gain curvature_floor memory chunk_memory weight_decay "
        "local_forgetting density_memory rules max_rules first_precision vigilance width_floor "
        "coverage max_population pruning prune_margin potential_memory recall archive_size"
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
    """Header and arrays as this version has them; raises StorageError.

    Shapes, types and values are not checked here, but like those of any other file. So whatever the
    arrays hold, this makes no larger ones of them.
    """
    try:
        return _converted(data, tensors, target)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        message = f"a file of format {FORMAT} that cannot be read: {error}"
        raise StorageError(message) from None


def _converted(
    data: Mapping[str, Any], tensors: Mapping[str, Array], target: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    require(data.keys() == HEADER, "the header has other fields")
    config = config_from_flat(data["config"])
    if data["class"] == "GClass":
        config = GClass(config).config
    new = {key: data[key] for key in ("library", "class", "feature_names", "classes", "late")}
    new |= {"format": target, "config": config.to_dict(), "notes": _notes(data["notes"])}
    if data["shape"] is None:
        require(not tensors, "arrays of a model that has learned nothing")
        return new | {"shape": None, "counters": {}}, {}
    counters: dict[str, int] = data["counters"]
    require(all(map(is_count, counters.values())), "a counter is impossible")
    rename = _rivals if config.has("line") else _stack
    arrays, sizes = rename(tensors, counters, config)
    parts = ["scaler/"] + (["feature_stats/"] if config.feature_mask is not None else [])
    arrays |= {name: each for name, each in tensors.items() if name.startswith(tuple(parts))}
    arrays |= {name: tensors[name] for name in ("feature_mask", "recent")}
    arrays = {name: each for name, each in arrays.items() if name not in unused_fields(config)}
    first_rows = tensors["scaler/first_rows"]
    sizes |= {"features": first_rows.shape[1], "first_rows": len(first_rows)}
    kept = {name: counters[name] for name in (*COUNTERS, "scaler/n_first")}
    return new | {"shape": sizes, "counters": kept}, arrays


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


def _kept_rows(old: Mapping[str, Array], part: str, target: str, count: int) -> dict[str, Array]:
    """Rows that are kept, without the room that is left."""
    names = ("X", "labels", "weights")
    return {f"{target}/{name}": old[f"{part}/{name}"][:count] for name in names} if count else {}


def _rivals(
    old: Mapping[str, Array], counters: Mapping[str, int], config: Config
) -> tuple[dict[str, Array], dict[str, int]]:
    """The default network. It always had seven places for layers, then those of kept ones."""
    n, growing = len(config.layers), config.growing
    max_kept = growing.max_kept if isinstance(growing, KeepLayers) else 0
    places = np.r_[np.arange(n), np.arange(7, 7 + max_kept)]
    old_kinds = old["state/kinds"]
    configured = [0, 0, 0, 1, 1, 1, 2 if config.has("clouds") else NO_LAYER]
    require(np.array_equal(old_kinds[:7], configured), "state/kinds lacks a configured layer")
    kinds = old_kinds[places]
    require(bool((kinds[n:] <= 1).all()), "state/kinds holds kept clouds")
    kinds[:n] = [KINDS[layer.kind] for layer in config.layers]
    kinds[n:][kinds[n:] == 1] = BOXES
    arrays = {f"pool/{name}": old[f"state/{name}"] for name in _OF_RULES}
    arrays["pool/owners"] = _renumbered(old["state/owners"], places)
    arrays |= {f"pool/{name}": old[f"state/{name}"][places] for name in ("members", "n_members")}
    if config.has("clouds"):
        arrays |= {f"clouds/{name}": old[f"state/cloud_{name}"] for name in _OF_CLOUDS}
        arrays["clouds/count"] = old["state/n_clouds"]
    arrays |= {f"layers/{name}": old[f"state/{name}"][places] for name in _OF_LAYERS}
    pairs = np.ix_(places, places)
    arrays |= {f"layers/{name}": old[f"state/{name}"][pairs] for name in _OF_PAIRS}
    arrays["layers/kinds"] = kinds
    arrays |= {f"progress/{new}": old[f"state/{name}"] for name, new in _PROGRESS.items()}
    arrays["progress/lead"] = old["lead"]
    count = len(old["gathered/X"]) if config.feature_mask is not None else 0
    arrays |= _kept_rows(old, "gathered", "gathered", count)
    sizes = {"layers": places.size, "slots": 0, "classes": old["state/weights"].shape[1]}
    return arrays, sizes | {"buffer_rows": 0, "gathered_rows": count, "gathered_outputs": 0}


_OF_RULES = (
    "lows highs weights gains caps evidence crossings ages means variances class_counts".split()
)
_OF_CLOUDS = ("centers", "labels", "spreads", "masses", "heights")
_OF_LAYERS = ("scores", "rests", "last_wins")
_OF_PAIRS = ("disagreements", "compared")
_PROGRESS = {
    "track": "errors",
    "course": "signals",
    "label_shares": "label_shares",
    "purse": "budget",
    "clock": "counts",
}


def _renumbered(layers: Array, places: Array) -> Array:
    """Numbers of layers by their new places; those of places that are gone are no layer's."""
    moved = np.searchsorted(places, layers)
    is_known = places[np.minimum(moved, places.size - 1)] == layers
    numbers: Array = np.where(is_known | (layers < 0), np.where(layers < 0, layers, moved), LOST)
    return numbers


LOST = 2**40
"""The number of no layer."""


def _stack(
    old: Mapping[str, Array], counters: Mapping[str, int], config: Config
) -> tuple[dict[str, Array], dict[str, int]]:
    """The stacked network."""
    votes = ("voting_weights", "decays", "is_merged")
    own = {name.removeprefix("layers/"): old[name] for name in old if name.startswith("layers/")}
    arrays = {f"layers/{name}": own.pop(name) for name in votes}
    arrays |= {f"gaussians/{name}": array for name, array in own.items()}
    records = {"counts": "record_counts", "means": "record_means", "squares": "record_squares"}
    records["violations"] = "violations"
    arrays |= {f"gaussians/{new}": old[f"records/{name}"] for name, new in records.items()}
    track = [counters[f"track/{name}"] for name in ("rows", "errors", "cut_rows", "cut_errors")]
    arrays["progress/errors"] = np.array(track, np.int64)
    arrays["progress/budget"] = old["purse"]
    if config.merging is not None:
        arrays |= {name: old[name] for name in old if name.startswith("output_stats/")}
    count, n_buffer = counters.get("gathered/count", 0), len(old["buffer/X"])
    arrays |= _kept_rows(old, "buffer", "buffer", n_buffer)
    arrays |= _kept_rows(old, "gathered/rows", "gathered", count)
    if count:
        names = ("gathered/outputs", "gathered/errors")
        arrays |= {name: old[name][:count] for name in names}
    n_layers, n_slots = old["layers/status"].shape
    sizes = {"layers": n_layers, "slots": n_slots, "classes": own["class_weights"].shape[1]}
    return arrays, sizes | {
        "buffer_rows": n_buffer,
        "gathered_rows": count,
        "gathered_outputs": count,
    }
