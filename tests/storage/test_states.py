"""Lines, boxes and clouds: kernels trust indices, so each must be one that a model can have."""

import json
from typing import Any

import numpy as np
import pytest

from devfnn.kernels.state import (
    BOXES,
    CLOUDS,
    CURVE,
    GAUSSIAN,
    INDEPENDENCE,
    LABEL_RATE,
    LAST_LABEL,
    LEAST_ROW_WEIGHT,
    LINE,
    MEMORY,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    ROWS,
    SCORED,
    STACKED,
    STEPS,
    UNCERTAINTY,
    WATCHED,
)
from devfnn.storage import dump, parse
from storage.stored import Change, both, forged, opened, poke, put, refused, rivals_file

MOST = 10**9

STEADY_LINE, LIVELY_CURVE, CALM_CURVE, BOX_LAYER, CLOUD_LAYER, FIRST_KEPT = range(2, 8)
"""Places of layers in the default network."""


def test_the_file_has_every_part_of_a_state() -> None:
    header, tensors = opened(rivals_file())
    assert (tensors["layers/kinds"][FIRST_KEPT:] != NO_LAYER).any()
    assert tensors["pool/n_members"][BOX_LAYER] > 1 and tensors["clouds/count"][0] > 1
    assert (tensors["pool/owners"] == NO_OWNER).any()
    assert header["late"] and header["config"]["lags"] and header["shape"]["gathered_rows"]
    assert dump(parse(rivals_file())) == rivals_file()


def a_free_slot() -> int:
    """A slot of the file without a rule."""
    return int(np.flatnonzero(opened(rivals_file())[1]["pool/owners"] == NO_OWNER)[0])


def the_kept() -> int:
    """A kept layer of the file."""
    kinds = opened(rivals_file())[1]["layers/kinds"]
    return FIRST_KEPT + int(np.flatnonzero(kinds[FIRST_KEPT:] != NO_LAYER)[0])


POKES: list[tuple[str, Any, Any, str]] = [
    # which layers there are
    ("layers/kinds", NO_LAYER, STEADY_LINE, "lacks a configured layer"),
    ("layers/kinds", LINE, BOX_LAYER, "lacks a configured layer"),
    ("layers/kinds", NO_LAYER, LIVELY_CURVE, "lacks a configured layer"),
    ("layers/kinds", LINE, LIVELY_CURVE, "lacks a configured layer"),
    ("pool/n_members", 0, LIVELY_CURVE, "does not fit the kind"),
    ("layers/kinds", NO_LAYER, CALM_CURVE, "lacks a configured layer"),
    ("layers/kinds", LINE, CALM_CURVE, "lacks a configured layer"),
    ("layers/kinds", CLOUDS, CALM_CURVE, "lacks a configured layer"),
    ("layers/kinds", BOXES, STEADY_LINE, "lacks a configured layer"),
    ("layers/kinds", NO_LAYER, CLOUD_LAYER, "lacks a configured layer"),
    ("layers/kinds", STACKED + 1, BOX_LAYER, "layers/kinds holds 10"),
    ("layers/kinds", CURVE, the_kept(), "never kept or added"),
    ("layers/kinds", GAUSSIAN, the_kept(), "never kept"),
    ("layers/kinds", CLOUDS, the_kept(), "never kept or added"),
    ("layers/rests", 1, STEADY_LINE, "rests lets a layer rest"),
    ("layers/rests", 1, CALM_CURVE, "rests lets a layer rest"),
    ("layers/rests", -1, CLOUD_LAYER, "layers/rests holds -1"),
    # which rules they have
    ("pool/n_members", 7, BOX_LAYER, "n_members holds more than there"),
    ("pool/n_members", MOST, BOX_LAYER, "n_members holds more than there"),
    ("pool/n_members", 0, BOX_LAYER, "n_members does not fit the kind"),
    ("pool/n_members", 2, STEADY_LINE, "n_members does not fit the kind"),
    ("pool/n_members", 0, CALM_CURVE, "n_members does not fit the"),
    ("pool/members", STEADY_LINE, (CALM_CURVE, 0), "that another layer owns"),
    ("pool/n_members", 1, CLOUD_LAYER, "n_members does not fit the kind"),
    ("pool/members", MOST, (BOX_LAYER, 0), "rule that is not there"),
    ("pool/members", MOST, (0, -1), "rule that is not there"),
    ("pool/members", -1, (BOX_LAYER, 0), "pool/members holds -1"),
    ("pool/members", 0, (BOX_LAYER, 0), "that another layer owns"),
    ("pool/owners", NO_OWNER, STEADY_LINE, "that another layer owns"),
    ("pool/owners", MOST, a_free_slot(), "owners holds no layer"),
    ("pool/owners", -2, 0, "pool/owners holds -2"),
    ("pool/owners", BOX_LAYER, a_free_slot(), "contradict each other"),
    # what the rules are
    ("pool/lows", np.inf, (0, 0), "pool/lows holds inf"),
    ("pool/highs", -np.inf, (0, 0), "pool/highs holds -inf"),
    ("pool/lows", np.nan, (0, 0), "holds NaN"),
    ("pool/highs", np.nan, (0, 0), "holds NaN"),
    ("pool/weights", np.inf, (0, 0, 0), "pool/weights holds NaN or inf"),
    ("pool/gains", 0.0, (0, 0), "gains holds a variance that is not positive"),
    ("pool/gains", -1.0, (0, 2), "variance that is not positive"),
    ("pool/gains", -1.0, (0, -1), "variance that is not positive"),
    ("pool/caps", 0.0, 0, "pool/caps holds 0.0"),
    ("pool/crossings", np.inf, (0, 0, 0), "pool/crossings holds NaN"),
    ("pool/evidence", np.inf, (0, 0, 0, 0, 0), "pool/evidence holds NaN"),
    ("pool/ages", -1, 0, "pool/ages holds -1"),
    ("pool/ages", 2**62 + 1, 0, "pool/ages holds"),
    ("pool/variances", -1.0, (0, 0), "pool/variances holds -1.0"),
    ("pool/class_counts", -1.0, (0, 0), "pool/class_counts holds -1.0"),
    ("pool/means", np.nan, (0, 0), "pool/means holds NaN"),
    # how good they were
    ("layers/scores", 1.5, 0, "layers/scores holds 1.5"),
    ("layers/scores", -0.5, 0, "layers/scores holds -0.5"),
    ("layers/last_wins", 10**6, 0, "counters of the network contradict"),
    ("layers/disagreements", 2.0, (0, 0), "disagreements holds 2.0"),
    ("layers/compared", -1.0, (0, 0), "compared holds -1.0"),
    # clouds
    ("clouds/count", 9, 0, "clouds/count holds more than there is room"),
    ("clouds/count", MOST, 0, "clouds/count holds more than there is room"),
    ("clouds/labels", 3, 0, "clouds/labels holds a class that is not"),
    ("clouds/labels", -1, 0, "clouds/labels holds -1"),
    ("clouds/masses", 0.0, 0, "a cloud without mass"),
    ("clouds/spreads", 0.0, 0, "clouds/spreads holds 0.0"),
    ("clouds/centers", np.nan, (0, 0), "clouds/centers holds NaN"),
    ("clouds/heights", np.inf, 0, "clouds/heights holds NaN or inf"),
    # time
    ("progress/signals", 1.0, MEMORY, "memory in progress/signals does not fit"),
    ("progress/signals", np.inf, MEMORY, "progress/signals holds NaN or infinity"),
    ("progress/signals", 1001.0, MEMORY, "memory in progress/signals does not"),
    ("progress/signals", 1.5, UNCERTAINTY, "progress/signals holds a share that is none"),
    ("progress/signals", -0.5, LABEL_RATE, "progress/signals holds a share that is none"),
    ("progress/signals", 0.0, INDEPENDENCE, "rows are worth next to nothing"),
    ("progress/signals", 1e-308, INDEPENDENCE, "worth next to nothing"),
    ("progress/signals", 0.099, INDEPENDENCE, "next to nothing"),
    ("progress/signals", -0.5, INDEPENDENCE, "progress/signals holds a share that is none"),
    ("progress/signals", 1.5, INDEPENDENCE, "progress/signals holds a share that is none"),
    ("progress/signals", 1.5, NEAR_CHANGES, "progress/signals holds a share that is none"),
    ("progress/signals", -0.5, NEAR_CHANGES, "holds a share that is none"),
    ("progress/signals", np.nan, NEAR_CHANGES, "progress/signals holds NaN or infinity"),
    ("progress/signals", 7.5, WATCHED, "progress/signals counts labels in fractions"),
    ("progress/signals", -1.0, WATCHED, "progress/signals counts labels in fractions"),
    ("progress/signals", np.inf, WATCHED, "holds NaN or infinity"),
    ("progress/signals", 3.0, LAST_LABEL, "progress/signals holds a label that is"),
    ("progress/signals", 0.5, LAST_LABEL, "progress/signals holds a label that is none"),
    ("progress/signals", -1.0, LAST_LABEL, "progress/signals holds a label that is none"),
    ("progress/label_shares", -1e-9, 0, "label_shares holds -1e-09"),
    (
        "progress/label_shares",
        (0.0, 1.0 + 1e-9, 0.0),
        slice(None),
        "label_shares holds 1.000000001",
    ),
    (
        "progress/label_shares",
        (0.5, 0.3, 0.2 + 2e-6),
        slice(None),
        "label_shares sum to more than 1",
    ),
    ("progress/label_shares", np.inf, 0, "label_shares holds NaN or inf"),
    ("progress/label_shares", np.nan, 0, "label_shares holds NaN or inf"),
    ("progress/errors", 10**6, 1, "counters of progress/errors contradict"),
    ("progress/errors", 10**6, 2, "counters of progress/errors contradict"),
    ("progress/errors", -1, 1, "progress/errors holds -1"),
    ("progress/counts", -1, STEPS, "progress/counts holds -1"),
    ("progress/counts", 10**6, ROWS, "counters of the network contradict"),
    ("progress/counts", 10**6, SCORED, "counters of the network contradict"),
    ("progress/counts", 10**6, STEPS, "counters of the network contradict"),
]
"""A tensor, what is put where, and why it is refused."""


@pytest.mark.parametrize(("name", "value", "index", "message"), POKES)
def test_numbers_that_no_network_has(name: str, value: Any, index: Any, message: str) -> None:
    refused(forged(poke(name, value, index), of=rivals_file()), message)


STATES: dict[str, tuple[Change, str]] = {
    "a calm curve of two rules": (
        both(
            poke("pool/n_members", 2, CALM_CURVE),
            poke("pool/members", a_free_slot(), (CALM_CURVE, 1)),
            poke("pool/owners", CALM_CURVE, a_free_slot()),
            poke("pool/gains", 1.0, a_free_slot()),
        ),
        "n_members does not fit the kind",
    ),
    "a box inside out": (
        both(
            poke("pool/lows", 0.6, (0, 0)),
            poke("pool/highs", 0.4, (0, 0)),
        ),
        "a bound above that in pool/highs",
    ),
    "more labels than rows": (
        put("counters", "n_labels", value=10**6),
        "of the network contradict",
    ),
    "fewer labels than learned": (
        put("counters", "n_labels", value=3),
        "of the network contradict",
    ),
    "fewer rows than kept": (put("counters", "scaler/n_first", value=1), "more rows than it has"),
    "another number of layers": (put("shape", "layers", value=1), "number of layers does not fit"),
    "slots of other layers": (put("shape", "slots", value=1), "number of slots does not fit"),
    "more gathered rows than a step has": (
        both(put("config", "chunk_rows", value=2), put("shape", "gathered_rows", value=2)),
        "gathered rows does not fit chunk_rows",
    ),
    "outputs of gathered rows": (
        put("shape", "gathered_outputs", value=1),
        "gathered outputs does not fit",
    ),
    "another pool": (
        put("config", "rules", "max_rules", value=9),
        r"tensor 'pool/owners' is I64 \[\d+\], not I64",
    ),
    "another room for boxes": (
        put("config", "boxes", "max_rules", value=9),
        "tensor 'pool/members' is I64",
    ),
    "another room for clouds": (
        put("config", "clouds", "max_rules", value=9),
        "tensor 'clouds/centers' is",
    ),
    "another room for layers": (
        put("config", "growing", "max_kept", value=9),
        "number of layers does not fit",
    ),
    "no clouds": (
        lambda header, tensors: (
            header["config"]["layers"].pop(CLOUD_LAYER),
            header["config"].update(clouds=None, resting=None),
            header["shape"].update(layers=8),
        ),
        "tensor .* does not belong|tensor .* is",
    ),
    "another number of lags": (put("config", "lags", value=1), "does not fit the shape"),
    "a late column that is not there": (put("late", value=[10]), "no columns of the shape"),
    "a late column among the first": (put("late", value=[2]), "no columns of the shape"),
    "a late column twice": (
        lambda header, tensors: header.update(late=[8, 8], feature_names=list("abcd")),
        "no columns of the shape",
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_states_that_no_network_has(name: str) -> None:
    change, message = STATES[name]
    refused(forged(change, of=rivals_file()), message)


def set_recent(value: int) -> bytes:
    """The file with another last label."""
    return forged(poke("recent", value), of=rivals_file())


def test_the_last_labels_are_classes_or_none() -> None:
    refused(set_recent(-2), "recent holds -2")
    refused(set_recent(3), "recent holds a class that is not there")
    assert parse(set_recent(-1))._known().recent[0] == -1
    assert parse(set_recent(2))._known().recent[0] == 2


def set_row(name: str, value: float) -> bytes:
    """The file with another number in its gathered rows."""
    return forged(poke(f"gathered/{name}", value), of=rivals_file())


def test_gathered_rows_are_rows_of_known_classes() -> None:
    refused(set_row("labels", 3), "gathered holds rows of a class that is not there")
    refused(set_row("labels", -1), "gathered/labels holds -1")
    refused(set_row("weights", -1.0), "gathered/weights holds -1.0")
    refused(set_row("X", np.inf), "gathered/X holds NaN or infinity")
    assert np.isnan(parse(set_row("X", np.nan))._known().gathered.rows.X[0, 0])


def test_open_boxes_and_boxes_that_hold_nothing_are_legal() -> None:
    opened_up = both(poke("pool/lows", -np.inf), poke("pool/highs", np.inf))
    nothing = both(poke("pool/lows", 0.5, (0, 1)), poke("pool/highs", 0.5, (0, 1)))
    parse(forged(both(opened_up, nothing), of=rivals_file()))


def test_slots_without_a_rule_may_hold_any_gains() -> None:
    parse(forged(poke("pool/gains", -1.0, (a_free_slot(), 0)), of=rivals_file()))


@pytest.mark.parametrize("shares", [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.3, 0.2 + 5e-7)])
def test_class_shares_may_be_none_or_all_and_are_rounded(shares: tuple[float, ...]) -> None:
    parse(forged(poke("progress/label_shares", shares, slice(None)), of=rivals_file()))


def test_rows_may_be_worth_the_least_that_there_is() -> None:
    parse(forged(poke("progress/signals", LEAST_ROW_WEIGHT, INDEPENDENCE), of=rivals_file()))


@pytest.mark.parametrize("name", ["pool/class_counts", "pool/weights", "clouds/masses"])
def test_numbers_are_of_a_size_whose_products_are_finite(name: str) -> None:
    for value in (1.1e101, np.finfo(float).max):
        refused(forged(poke(name, value, slice(None)), of=rivals_file()), f"{name} holds")
    model = parse(forged(poke(name, 1e101, slice(None)), of=rivals_file()))
    assert model.describe() and model.rules_table()
    assert all(rule.text() for rule in model.rules())
    assert json.dumps(model.to_dict(), allow_nan=False)
    assert model.history().text() and model.standings()
