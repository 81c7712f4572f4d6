"""Configurations as one list of parameters, as they were when the golden results were recorded."""

from collections.abc import Mapping
from typing import Any

from devfnn import Config
from devfnn.model.config import (
    SWIFT_LAYERS,
    AddLayers,
    ByAccuracy,
    ByCompression,
    ByDisagreement,
    ByLikelihood,
    ByReward,
    Drift,
    Equal,
    FeatureMask,
    KeepLayers,
    Labels,
    Layer,
)
from devfnn.model.layers.clouds import Clouds
from devfnn.model.layers.gaussian import Gaussian
from devfnn.model.layers.pool import Boxes, Memory, Rules

FLAT: dict[str, Any] = {
    "network": "concepts",
    "chunk_rows": 500,
    "scaling": "online",
    "missing": "error",
    "lags": 0,
    "seed": 0,
    "forgetting": True,
    "quick_memory": 300.0,
    "shortest_memory": 2000.0,
    "longest_memory": 20000.0,
    "prior": 5.0,
    "prior_reach": 25.0,
    "label_noise": 0.1,
    "max_boxes": 20,
    "max_pool": 32,
    "split_evidence": 20.0,
    "split_every": 100,
    "crossings": True,
    "split_doubt": 10.0,
    "max_clouds": 100,
    "cloud_rate": 0.2,
    "cloud_birth": 0.1,
    "cloud_memory": 0.999,
    "join_evidence": 0.5,
    "max_kept": 5,
    "merge_disagreement": 0.01,
    "vote_rows": 1000.0,
    "vote_power": 0.15,
    "consequent": "logistic",
    "initial_gain": 5.0,
    "later_gain": 1.0,
    "curvature_floor": 0.01,
    "memory": 0.9995,
    "chunk_memory": 1.0,
    "weight_decay": 0.0,
    "local_forgetting": 0.0,
    "density_memory": 0.99,
    "active_learning": True,
    "conflict_threshold": 0.99,
    "exploration": 0.1,
    "label_budget": 1.0,
    "budget_window": 100,
    "rule_growing": True,
    "rules": "evolving",
    "max_rules": 10,
    "first_precision": 2.0,
    "vigilance": 0.9,
    "width_floor": 0.02,
    "coverage": 0.9,
    "premise_tuning": "covered",
    "max_population": 10000.0,
    "pruning": True,
    "prune_margin": 1.0,
    "potential_memory": 0.998,
    "recall": True,
    "archive_size": 10,
    "initial_layers": 2,
    "max_layers": 6,
    "plain_first": True,
    "training": "winner_and_initial",
    "augmentation": "settled",
    "growing": True,
    "merging": True,
    "feature_mask": False,
    "voting_weights": "likelihood",
    "vote_memory": 0.9995,
    "vote_sharpness": 0.03,
    "newborn": "winner",
    "newborn_doubt": 5.0,
    "vote": "soft",
    "vote_step": 0.01,
    "vote_floor": 1e-06,
    "initial_decay": 1.0,
    "newborn_weight": 1.0,
    "reset_winner": False,
    "feature_score": "standardised",
    "feature_threshold": 0.99,
    "merge_threshold": 0.001,
    "statistics_memory": 0.95,
    "drift_test": "stream",
    "drift_one_sided": True,
    "drift_significance": 0.0001,
    "warning_significance": 0.001,
    "train_on_warning": True,
    "horizon": 200.0,
    "buffer_rows": 5000,
}


def flat(**changes: Any) -> Config:
    """A configuration of such parameters."""
    assert changes.keys() <= FLAT.keys()
    old = FLAT | changes
    return {"stacked": _stacked_config, "concepts": _rival_config}[old["network"]](old)


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


def _config(**values: Any) -> Config:
    """A configuration, also with values that have no effect in it: the default replaces them."""
    return Config.from_dict(values)


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
        for index, layer in enumerate(SWIFT_LAYERS)
        if layer.kind != "clouds"
    ]
    has_clouds = old["rule_growing"] and old["max_clouds"] > 0
    grows = old["growing"]
    return _config(
        layers=[*layers, *(SWIFT_LAYERS[-1:] if has_clouds else ())],
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
    layers = [
        Layer("gaussian", name="rules", inputs=inputs, single_rule=has_plain and k == 0)  # type: ignore[arg-type]
        for k in range(count)
    ]
    names = (
        "consequent initial_gain later_gain curvature_floor memory "
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
    return _config(
        layers=layers,
        training=training[old["training"]],
        gaussian=own,
        labels=_labels(old, "layer"),
        voting=votes[old["voting_weights"]](),
        drift=Drift(
            test=old["drift_test"],
            significance=old["drift_significance"],
            warning=old["warning_significance"],
            horizon=old["horizon"],
            one_sided=old["drift_one_sided"],
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
