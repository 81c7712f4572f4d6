"""The runs of the tables."""

import pytest

from devfnn.baselines import MODELS
from devfnn.experiments.published import PUBLISHED
from devfnn.experiments.table_runs import (
    PAPER_MODELS,
    PAPER_STREAMS,
    PEER_MODELS,
    PEER_STREAMS,
    table_cells,
)


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
    assert [cell.model for cell in cells] == ["devfnn", "pnn"]
    assert dict(cells[1].settings.changes) == {}
