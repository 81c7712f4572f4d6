"""The runs of the tables."""

import pytest

from devfnn.baselines import MODELS
from devfnn.experiments.published import PUBLISHED
from devfnn.experiments.table_runs import (
    ABLATIONS,
    PAPER_ABLATIONS,
    PAPER_MODELS,
    PAPER_STREAMS,
    PEER_MODELS,
    PEER_STREAMS,
    STACKED_ABLATIONS,
    ablation_cells,
    table_cells,
)
from devfnn.model import presets
from devfnn.model.config import Config


def test_all_systems_and_streams_of_the_paper_are_run():
    assert {"devfnn", "sdevfnn", "dsscn", "pnn", "den", "hat"} <= set(PAPER_MODELS)
    assert set(PAPER_STREAMS) == set(PUBLISHED) - {"susy"}
    cells = table_cells(PAPER_MODELS, PAPER_STREAMS, 1)
    assert len(cells) == len(PAPER_MODELS) * len(PAPER_STREAMS)


def test_every_model_of_the_registry_is_in_the_table_of_peers():
    assert {name.split("@")[0] for name in PEER_MODELS} == set(MODELS) - {"gclass"}
    assert set(PEER_STREAMS) <= set(PAPER_STREAMS)


@pytest.mark.parametrize(("stream", "name"), [("sea-paper", "sea"), ("kdd99", "kdd")])
def test_networks_have_the_sizes_of_the_table(stream, name):
    cells = table_cells(["pnn", "den", "hat", "dsscn"], [stream], 1)
    changes = [dict(cell.settings.changes) for cell in cells]
    assert changes == [{"stream": name}] * 3 + [{}]


def test_only_what_is_drawn_has_several_seeds():
    cells = table_cells(["pnn", "majority"], ["weather"], 3)
    assert [(cell.model, cell.seed) for cell in cells] == [
        *(("pnn", seed) for seed in range(3)),
        ("majority", 0),
    ]
    assert [cell.seed for cell in table_cells(["pnn"], ["kdd99"], 3)] == [0]


def test_streams_are_those_of_the_paper():
    (cell,) = table_cells(["majority"], ["kdd99"], 1, rows=500, data_dir="data")
    stream = cell.settings.stream
    assert (stream.options, stream.rows, stream.data_dir) == ({"target": "binary"}, 500, "data")


def test_streams_that_the_paper_does_not_have_can_be_run_too():
    cells = table_cells(["devfnn", "devfnn@paper", "pnn"], ["sine"], 1)
    assert [cell.model for cell in cells] == ["devfnn", "devfnn@paper", "pnn"]
    assert dict(cells[2].settings.changes) == {}


def test_every_ablation_changes_its_configuration():
    for changes in ABLATIONS.values():
        assert Config().replace(**changes) != Config()
    paper = presets.paper("weather")
    for changes in PAPER_ABLATIONS.values():
        assert paper.replace(**changes) != paper


def test_depth_merging_features_and_labels_are_among_them():
    fields = {"growing", "merging", "feature_mask", "labels__choice"}
    for ablations in (ABLATIONS, PAPER_ABLATIONS):
        assert fields <= {field for changes in ablations.values() for field in changes}


def test_runs_of_ablations_have_names_of_their_own():
    cells = ablation_cells(["weather", "electricity"], 2, rows=300)
    assert len({cell.name for cell in cells}) == len(cells)
    assert len(cells) == 2 * 2 * (len(ABLATIONS) + len(PAPER_ABLATIONS) + 2 + 2)
    (off,) = [cell for cell in cells if cell.name == "devfnn@paper, growing off__weather__1"]
    assert off.settings.preset == "paper"
    assert dict(off.settings.changes) == {"growing": None, "drift": None}
    assert off.settings.stream.rows == 300
    assert {cell.settings.preset for cell in ablation_cells(["sine"], 1)} == {
        *(None, "stacked", "paper")
    }
    assert {cell.seed for cell in ablation_cells(["kdd99"], 3)} == {0}


def test_the_stacked_network_is_run_with_its_own_levels():
    cells = [cell for cell in ablation_cells(["sine"], 1) if cell.settings.preset == "stacked"]
    default, (levels, *others) = presets.stacked(), STACKED_ABLATIONS.values()
    assert [cell.settings.config() for cell in cells] == [default, default.replace(**levels)]
    assert levels == {"labels__certainty": 0.95, "drift__significance": 1e-8} and not others
