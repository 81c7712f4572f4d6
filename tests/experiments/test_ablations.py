"""What each mechanism is worth, as a table."""

import pytest

from devfnn.experiments.ablations import (
    ABLATIONS,
    PAPER_ABLATIONS,
    RIVAL_VARIANTS,
    ablation_table,
)
from devfnn.experiments.table_runs import ablation_cells
from devfnn.model import presets
from devfnn.model.config import Config


def result(accuracy, stream="weather", changes=None, preset="default", seed=0):
    """The result of a run, as far as the table needs it."""
    return {
        "stream": stream,
        "model": "devfnn",
        "preset": preset,
        "seed": seed,
        "settings": {"changes": changes or {}},
        "config": {"seed": seed},
        "accuracy_mean": accuracy,
        "rules_mean": 4.0,
        "layers_mean": 2.0,
        "label_fraction": 0.5,
        "rows": 100,
        "chunks": 3,
    }


OFF = {"growing": False}


def test_differences_are_to_the_same_without_the_change():
    table = ablation_table(
        [
            result(0.8),
            result(0.9, "sea-paper"),
            result(0.75, changes=OFF),
            result(0.95, "sea-paper", changes=OFF),
            result(0.6, preset="paper"),
            result(0.7, preset="paper", changes=OFF),
            result(0.8, "sea-paper", preset="paper"),
        ]
    )
    plain, without, paper, paper_without = table.rows
    assert (plain["system"], plain["start"]) == ("DEVFNN (default)", "DEVFNN (default)")
    assert without["system"] == "DEVFNN (default, growing=False)"
    assert [row["change"] for row in table.rows] == ["as it is", "growing=False"] * 2
    assert without["difference:weather"] == pytest.approx(-0.05)
    assert without["difference:sea-paper"] == pytest.approx(0.05)
    assert without["difference"] == pytest.approx(0.0)
    assert plain["difference"] is None
    assert paper_without["start"] == paper["system"] == "DEVFNN (paper)"
    assert paper_without["difference:weather"] == pytest.approx(0.1)
    assert paper_without["accuracy"] is None  # not on all streams
    cells = [cell for section in table.lines() for line in section for cell in line]
    assert {"-5.00", "+5.00", "+10.00"} <= set(cells)


def test_seeds_are_averaged():
    table = ablation_table(
        [
            result(0.8),
            result(0.6, seed=1),
            result(0.6, changes=OFF),
            result(0.6, changes=OFF, seed=1),
        ]
    )
    assert table.rows[1]["difference"] == pytest.approx(-0.1)


def test_every_ablation_changes_its_configuration():
    for changes in ABLATIONS.values():
        assert Config().replace(**changes) != Config()
    paper = presets.paper("weather")
    for changes in PAPER_ABLATIONS.values():
        assert paper.replace(**changes) != paper


def test_depth_merging_features_and_labels_are_among_them():
    fields = {"growing", "merging", "feature_mask", "active_learning"}
    for ablations in (ABLATIONS, PAPER_ABLATIONS):
        assert fields <= {field for changes in ablations.values() for field in changes}


def test_runs_of_ablations_have_names_of_their_own():
    cells = ablation_cells(["weather", "electricity"], 2, rows=300)
    assert len({cell.name for cell in cells}) == len(cells)
    rivals = sum(1 + len(variants) for variants in RIVAL_VARIANTS.values())
    assert len(cells) == 2 * 2 * (len(ABLATIONS) + len(PAPER_ABLATIONS) + 2 + rivals)
    (five,) = [cell for cell in cells if cell.name == "den, five passes__weather__0"]
    assert dict(five.settings.changes) == {"stream": "weather", "epochs": 5}
    (off,) = [cell for cell in cells if cell.name == "devfnn@paper, growing off__weather__1"]
    assert off.settings.preset == "paper"
    assert dict(off.settings.changes) == {"growing": False}
    assert off.settings.stream.rows == 300
    assert {cell.settings.preset for cell in ablation_cells(["sine"], 1)} == {None}
    assert {cell.seed for cell in ablation_cells(["kdd99"], 3)} == {0}


def test_a_change_without_its_start_has_no_difference():
    (row,) = ablation_table([result(0.7, changes=OFF)]).rows
    assert (row["start"], row["accuracy"], row["difference"]) == ("DEVFNN (default)", 0.7, None)
