"""The paper's table as data."""

import collections

from devfnn.experiments.published import PAPER_FOLDS, PUBLISHED, SYSTEMS


def test_every_stream_has_all_six_systems_in_the_order_of_the_paper():
    assert {tuple(systems) for systems in PUBLISHED.values()} == {SYSTEMS}


def test_cells_are_the_printed_ones():
    values = (0.917, 0.05, 4.36, 1.08, 0.95, 0.92, 1.01, 0.1)
    assert tuple(PUBLISHED["sea-paper"]["DEVFNN"].values()) == values
    assert PUBLISHED["hyperplane-paper"]["SDEVFNN"]["accuracy_std"] == 0.142
    assert PUBLISHED["weather"]["HAT"]["paper_precision"] == 0.008
    assert PUBLISHED["weather"]["DEN"]["paper_recall"] == 0.0
    assert PUBLISHED["electricity"]["DSSCN"]["layers_mean"] == 3.58
    assert PUBLISHED["kdd99"]["PNN"]["rules_mean"] == 375
    assert PUBLISHED["kdd99"]["SDEVFNN"]["accuracy_std"] == 0.00005
    assert PUBLISHED["susy"] == PUBLISHED["susy-30k"]


def test_what_the_paper_leaves_out_is_none():
    lines = [
        line
        for name, systems in PUBLISHED.items()
        if name != "susy-30k"
        for line in systems.values()
    ]
    missing = collections.Counter(
        name for line in lines for name, value in line.items() if value is None
    )
    assert missing == {
        "paper_precision": 6,  # RFID has four classes
        "paper_recall": 6,
        "rules_std": 31,
        "layers_std": 34,
    }
    assert len(lines) == 42


def test_rates_are_shares():
    rates = [line["accuracy_mean"] for systems in PUBLISHED.values() for line in systems.values()]
    assert min(rates) == 0.442
    assert max(rates) == 0.99


def test_chunks_of_susy_have_500_rows_in_both_sizes():
    assert 5_000_000 // PAPER_FOLDS["susy"] == 30_000 // PAPER_FOLDS["susy-30k"] == 500
