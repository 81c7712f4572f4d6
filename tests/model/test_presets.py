"""The named configurations."""

import numpy as np
import pytest

from devfnn import DEVFNN, Config, InputError
from devfnn.model import presets
from scenes import flipped, run

STREAMS = ("sea", "hyperplane", "weather", "electricity", "susy", "kdd", "rfid")


def test_the_default_is_the_default() -> None:
    assert presets.default() == Config() == DEVFNN().config


def test_the_static_network_never_changes_its_depth() -> None:
    model = DEVFNN(presets.static())
    kinds = {event.kind for event in run(model, *flipped(10))}
    assert (model.n_layers, model.n_live_layers) == (3, 3)
    assert not kinds & {"LayerAdded", "LayersMerged", "DriftFound"}
    assert (model._known().layers.counters[:, 0] == 2000).all()


@pytest.mark.parametrize("stream", STREAMS)
def test_there_is_a_preset_for_every_stream_of_the_paper(stream: str) -> None:
    config = presets.paper(stream)
    assert config.consequent == "least_squares" and config.chunk_memory == 0.0
    assert (config.initial_layers, config.training, config.vote) == (1, "winner", "hard")
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
    ],
)
def test_the_parameters_are_those_of_the_authors(stream: str, values: tuple[float, ...]) -> None:
    config = presets.paper(stream)
    assert values == (
        config.vote_step,
        config.merge_threshold,
        config.conflict_threshold,
        config.first_precision,
        config.vigilance,
        config.drift_significance,
        config.warning_significance,
        config.initial_decay,
        config.horizon,
    )
    assert config.feature_threshold == 0.8


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


def test_an_unknown_stream_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no preset for 'mnist'; there are sea, hyperplane"):
        presets.paper("mnist")


def test_for_any_other_stream_there_are_the_common_values_of_the_seven() -> None:
    config = presets.paper()
    common = (0.01, 0.1, 0.9, 0.01, 0.9, 0.08, 0.1, 1.0, 240)
    assert config == presets.paper("sea").replace(
        **dict(zip(presets._PAPER_FIELDS, common, strict=True))
    )
    assert DEVFNN(config).config.network == "stacked"


def test_static_devfnn_as_printed_differs_from_the_preset_by_its_fixed_depth_and_rules() -> None:
    fixed = {"initial_layers": 3, "max_layers": 3, "growing": False, "merging": False}
    for stream in (None, "sea"):
        config = presets.paper(stream).replace(**fixed, rules="fixed")
        assert presets.paper_static(stream) == config
