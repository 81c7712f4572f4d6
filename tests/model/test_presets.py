"""The named configurations: each is what it says, and every switch of `paper` is at work."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.arrays import Floats, Ints
from devfnn.cli.run import Preset
from devfnn.events import Event, FeatureOff, FeatureOn, LayerAdded
from devfnn.model import presets
from devfnn.model.config import AddLayers, ByCompression, ByLikelihood, Drift, Layer
from devfnn.model.layers.gaussian import Gaussian
from devfnn.model.mechanisms.feature_mask import empty_stats, feature_scores, updated_stats
from scenes import CHUNK, chunks, fields_of, flipped, noisy, of_kind, run, sloped

STREAMS = ("sea", "hyperplane", "weather", "electricity", "susy", "kdd", "rfid")


def test_the_default_is_the_default() -> None:
    assert presets.default() == Config() == DEVFNN().config


@pytest.mark.parametrize("preset", [presets.static, presets.paper_static])
def test_a_static_network_never_changes_its_depth(preset: Any) -> None:
    model = DEVFNN(preset())
    kinds = {event.kind for event in run(model, *flipped(10))}
    assert (model.n_layers, model.n_live_layers) == (3, 3)
    assert not kinds & {"LayerAdded", "LayersMerged", "DriftFound"}


def test_all_layers_of_the_static_network_learn() -> None:
    model = DEVFNN(presets.static())
    run(model, *flipped(10))
    assert (model._known().state.gaussians.counters[:, 0] == 10 * CHUNK).all()


# ---- the paper's parameters


@pytest.mark.parametrize("stream", ["", *STREAMS])
def test_there_is_a_preset_for_every_stream_of_the_paper_and_for_others(stream: str) -> None:
    config = presets.paper(stream)
    assert config.gaussian.consequent == "least_squares" and config.gaussian.chunk_memory == 0.0
    assert (len(config.layers), config.training, config.voting.ballots) == (1, "leader", "hard")
    model = DEVFNN(config)
    X = np.random.default_rng(0).random((400, 3))
    y = (X[:, 0] > 0.5).astype(int)
    model.learn(X, y)
    model.learn(X, y)
    assert (model.predict(X) == y).mean() > 0.9


@pytest.mark.parametrize(
    ("stream", "values"),
    [
        ("sea", (0.1, 0.1, 0.9, 0.5, 0.9, 0.08, 0.1, 1.0, 200)),
        ("hyperplane", (0.1, 0.1, 0.9, 0.1, 0.9999, 0.08, 0.1, 1.0, 240)),
        ("weather", (0.01, 0.01, 0.9, 0.9, 0.9, 0.09, 0.1, 1.0, 36)),
        ("electricity", (0.05, 0.05, 0.9, 0.01, 0.9, 0.01, 0.1, 1.0, 91)),
        ("", (0.01, 0.1, 0.9, 0.01, 0.9, 0.08, 0.1, 1.0, 240)),  # the most common of seven
    ],
)
def test_the_parameters_are_those_of_the_authors(stream: str, values: tuple[float, ...]) -> None:
    config = presets.paper(stream)
    assert values == (
        config.voting.step,
        config.merging.threshold,
        config.labels.certainty,
        config.gaussian.first_precision,
        config.gaussian.vigilance,
        config.drift.significance,
        config.drift.warning,
        config.voting.decay,
        config.drift.horizon,
    )
    assert config.feature_mask.threshold == 0.8


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("sea-paper", "sea"),
        ("hyperplane-paper", "hyperplane"),
        ("kdd99", "kdd"),
        ("susy-30k", "susy"),
    ],
)
def test_the_names_of_data_sets_will_do(name: str, stream: str) -> None:
    assert presets.paper(name) == presets.paper(stream)


@pytest.mark.parametrize("stream", ["", "sea"])
def test_static_devfnn_as_printed_differs_by_its_fixed_depth_and_rules(stream: str) -> None:
    static, printed = presets.paper_static(stream), presets.paper(stream)
    assert (static.layers, static.gaussian.rules) == (3 * printed.layers, "fixed")
    assert (static.drift, static.growing, static.merging) == (None, None, None)
    changed = {"layers", "drift", "growing", "merging", "gaussian__rules"}
    assert static.changes(printed).keys() == {*changed, "gaussian__max_rules"}  # has no effect now


# ---- the paper, true to the paper


def bursts(n_chunks: int = 40) -> tuple[Floats, Ints]:
    """Every chunk begins with some flipped labels: drift, as the paper's test sees it."""
    X, y = sloped(n_chunks)
    rng = np.random.default_rng(3)
    n_flipped = np.repeat(rng.integers(0, 60, n_chunks), CHUNK)
    return X, np.where(np.arange(len(y)) % CHUNK < n_flipped, 1 - y, noisy(y, 0.05))


def weak_bursts(n_chunks: int = 60) -> tuple[Floats, Ints]:
    """Every chunk begins with a few flipped labels: some are worth a warning only."""
    X, y = sloped(n_chunks)
    rng = np.random.default_rng(3)
    is_early = np.arange(len(y)) % CHUNK < 40
    is_flipped = rng.random(len(y)) < np.repeat(0.8 * rng.random(n_chunks), CHUNK)
    return X, np.where(is_early & is_flipped, 1 - y, noisy(y, 0.05))


def visits(n_chunks: int = 40) -> tuple[Floats, Ints]:
    """Every chunk lies in a place of its own, so that rules are many."""
    rng = np.random.default_rng(0)
    offsets = 0.03 * rng.standard_normal((n_chunks * CHUNK, 5))
    middles = np.repeat(rng.random((n_chunks, 5)), CHUNK, axis=0)
    is_turned = np.repeat(np.arange(n_chunks) % 2 == 1, CHUNK)
    return middles + offsets, ((offsets[:, 0] > 0.0) ^ is_turned).astype(np.int64)


def returns(n_chunks: int = 12) -> tuple[Floats, Ints]:
    """A place has most rows for eight chunks, then the next has; others are never quite left."""
    rng, row = np.random.default_rng(23), np.arange(n_chunks * CHUNK)
    place = np.where(rng.random(row.size) < 0.3, rng.integers(0, 6, row.size), row // (8 * CHUNK))
    offsets = 0.1 * rng.standard_normal((row.size, 5))
    is_turned = place % 2 == 1
    return rng.random((6, 5))[place] + offsets, ((offsets[:, 0] > 0.0) ^ is_turned).astype(np.int64)


def changing_relevance() -> tuple[Floats, Ints]:
    """The third feature is noise for half of the stream, then takes the place of the second."""
    X, y = sloped(40)
    half = len(y) // 2
    y[half:] = X[half:, 0] + X[half:, 2] > 1.0
    return X, y


Outcome = tuple[list[Event], Floats]


def outcomes(config: Config, X: Floats, y: Ints) -> Iterator[Outcome]:
    """Events of every chunk, and what is predicted of it once it is learned."""
    model = DEVFNN(config)
    for rows, labels in chunks(X, y):
        yield model.learn(rows, labels), model.predict_proba(rows)


MASKED = presets.paper_masked()
"""The printed network with a feature mask that can act, see below."""
OURS = presets.stacked().replace(feature_mask={"threshold": 0.93})
SCENES = {
    "bursts": (presets.paper(), bursts()),
    "warnings": (presets.paper("electricity"), weak_bursts()),
    "places": (presets.paper(), visits()),
    "returns": (presets.paper("rfid"), returns()),
    "noise": (MASKED, changing_relevance()),
}


@functools.cache
def as_printed(scene: str) -> list[Outcome]:
    """Outcomes of the network of a scene as it is."""
    config, stream = SCENES[scene]
    return list(outcomes(config, *stream))


def events_of(scene: str) -> list[Event]:
    """All events of a scene as it is."""
    return [event for events, _ in as_printed(scene) for event in events]


def changes_something(**changes: Any) -> bool:
    """Whether predictions or events differ in a scene; all run side by side until then."""
    pairs = [
        zip(outcomes(config.replace(**changes), *stream), as_printed(scene), strict=True)
        for scene, (config, stream) in SCENES.items()
    ]
    return any(
        own[0] != printed[0] or not np.array_equal(own[1], printed[1])
        for chunk in itertools.zip_longest(*pairs)
        for own, printed in filter(None, chunk)
    )


def test_on_streams_made_for_them_all_mechanisms_of_the_paper_are_at_work() -> None:
    kinds = {event.kind for scene in SCENES for event in events_of(scene)}
    assert kinds >= {
        "RuleBorn",
        "RulePruned",
        "RuleRecalled",
        "DriftWarned",
        "DriftFound",
        "LayerAdded",
        "LayersMerged",
        "FeatureOff",
        "FeatureOn",
    }


def test_paper_and_stacked_differ_in_this_and_nothing_else() -> None:
    """Written out, so that no switch of `paper` can be flipped and its case below go with it."""
    layer = {"kind": "gaussian", "name": "rules"}
    assert presets.paper().changes(presets.stacked()) == {
        "layers": [layer | {"inputs": "all"}],
        "training": "leader",
        "gaussian__consequent": "least_squares",
        "gaussian__initial_gain": 100.0,
        "gaussian__later_gain": 100.0,
        "gaussian__memory": 1.0,
        "gaussian__chunk_memory": 0.0,
        "gaussian__weight_decay": 0.001,
        "gaussian__local_forgetting": 0.1,
        "gaussian__density_memory": 0.9995,
        "gaussian__max_rules": 30,
        "gaussian__first_precision": 0.01,
        "labels__certainty": 0.9,
        "voting": {
            "form": "reward",
            "ballots": "hard",
            "newborn_weight": 1.0,
            "reset_winner": True,
            "step": 0.01,
            "decay": 1.0,
            "floor": 1e-6,
        },
        "drift__test": "chunk",
        "drift__significance": 0.08,
        "drift__warning": 0.1,
        "drift__horizon": 240.0,
        "drift__one_sided": False,
        "growing__max_layers": 50,
        "growing__inputs": "all",
        "growing__newborn": "scratch",
        "growing__train_on_warning": False,
        "merging__threshold": 0.1,
        "merging__memory": 1.0,
        "feature_mask": {"score": "variance", "threshold": 0.8, "memory": 1.0},
    }
    stacked = presets.stacked()
    assert stacked.gaussian == Gaussian() and stacked.voting == ByLikelihood()
    assert stacked.changes().keys() == {
        *("layers", "gaussian", "labels__choice"),
        *("voting", "drift__warning", "drift__horizon", "drift__repeats", "growing", "merging"),
    }
    assert (stacked.growing, stacked.merging) == (AddLayers(), ByCompression())
    assert stacked.drift == Drift(warning=1e-3, horizon=200.0, repeats=False)
    assert stacked.layers[0] == Layer(**layer, inputs="settled", single_rule=True)
    assert stacked.layers[1:] == (Layer(**layer, inputs="settled"),)


def flips() -> dict[str, dict[str, Any]]:
    """Every parameter that `paper` has set otherwise than `stacked`, as it is there, and switches
    of gaussian layers that both have.

    Mechanisms of another form are flipped as a whole. The first layer takes in features whatever
    its parameter says, and while only the leader learns all layers are settled: what layers take in
    is flipped to features alone, for all of them.
    """
    ours = presets.stacked().replace(feature_mask={})
    found: dict[str, dict[str, Any]] = {
        "layers": {"layers": ours.layers},
        "voting": {"voting": ours.voting},
        "no mask": {"feature_mask": None},
        "augmentation": {"layers__inputs": "features", "growing__inputs": "features"},
        "no rule growing": {"gaussian__growing": False},
        "no pruning": {"gaussian__pruning": False},
        "no recall": {"gaussian__recall": False},
        "no tuning": {"gaussian__tuning": "off"},
        "published tuning": {"gaussian__tuning": "published"},
    }
    for theirs, _ in SCENES.values():
        for name in fields_of(theirs).keys() & fields_of(ours).keys() - {"growing__inputs"}:
            section, _, own = name.partition("__")
            pair = [getattr(config, section) for config in (ours, theirs)]
            first, second = [getattr(each, own) for each in pair] if own else pair
            if first != second:
                found[name] = {name: first}
    return found


FLIPS = flips()


@pytest.mark.parametrize("name", sorted(FLIPS))
def test_no_switch_of_the_paper_can_be_flipped_unnoticed(name: str) -> None:
    assert changes_something(**FLIPS[name])


def test_layers_of_the_paper_take_in_what_the_layers_before_say() -> None:
    model = DEVFNN(presets.paper().replace(merging=None))
    added = of_kind(run(model, *bursts(12)), LayerAdded)
    assert [event.n_inputs for event in added] == [3 + 2 * k for k in range(1, len(added) + 1)]
    own = model._known().state.gaussians
    assert own is not None and own.input_mask[: len(added)].all()
    before = model._known().forward(np.full((1, 3), 0.5))[0][0, len(added)]
    own.consequents[0] *= -1.0
    after = model._known().forward(np.full((1, 3), 0.5))[0][0, len(added)]
    assert np.abs(after - before).max() > 1e-6


@pytest.mark.parametrize("newborn", ["scratch", "winner"])
def test_a_new_layer_of_the_paper_knows_nothing_but_what_it_was_trained_on(newborn: str) -> None:
    assert presets.paper().growing.newborn == "scratch"
    model, (X, y) = DEVFNN(presets.paper().replace(growing__newborn=newborn)), bursts()
    for rows, labels in chunks(X, y):
        if added := of_kind(model.learn(rows, labels), LayerAdded):
            break
    own = model._known().state.gaussians
    assert own is not None
    assert (own.class_counts[1].sum() <= added[0].trained_rows) == (newborn == "scratch")


def test_the_masked_paper_differs_by_the_score_of_its_mask() -> None:
    changed = {"feature_mask__score": "standardised"}
    assert presets.paper_masked("sea").changes(presets.paper("sea")) == changed
    assert presets.by_name("paper_masked", "sea") == presets.paper_masked("sea")


def test_the_command_line_knows_all_presets() -> None:
    assert get_args(Preset) == tuple(presets.PRESETS)
    assert presets.by_name("paper_static", "sea") == presets.paper_static("sea")
    assert presets.by_name("static") == presets.static()


@pytest.mark.parametrize("config", [MASKED, OURS])
def test_the_feature_mask_leaves_noise_out_until_it_becomes_relevant(config: Config) -> None:
    events = run(DEVFNN(config.replace(labels__choice="all")), *changing_relevance())
    assert [event.feature for event in of_kind(events, FeatureOff)][:1] == ["x2"]
    assert "x2" in {event.feature for event in of_kind(events, FeatureOn)}


def test_as_printed_the_feature_mask_never_acts(rng: np.random.Generator) -> None:
    """The score is the smaller eigenvalue of the covariance of a feature and a class indicator.

    So it is at most the smaller of the two variances, and that of an indicator is p (1 - p), at
    most 1/4, whatever the feature: it cannot reach 0.8.
    """
    mask = presets.paper().feature_mask
    assert mask is not None and (mask.score, mask.threshold) == ("variance", 0.8)
    for spread in (0.1, 1.0, 1e3, 1e6):
        rows, labels = spread * rng.standard_normal((500, 3)), rng.integers(0, 2, 500)
        scores = feature_scores(updated_stats(empty_stats(3, 2), rows, labels, 1.0), mask.score)
        assert (scores <= 0.25).all()
    events = events_of("bursts")
    assert not of_kind(events, FeatureOff)
