"""Files of concept networks: kernels trust indices, so each must be one that a model can have."""

from typing import Any

import numpy as np
import pytest

from devfnn.kernels.concept_state import (
    BOX_LAYER,
    BOXES,
    CALM_CURVE,
    CLOUD_LAYER,
    CLOUDS,
    FIRST_KEPT,
    INDEPENDENCE,
    LAST_LABEL,
    LINE,
    LIVELY_CURVE,
    NEAR_CHANGES,
    NO_LAYER,
    NO_OWNER,
    SCORED,
    STEADY_LINE,
    WATCHED,
)
from devfnn.kernels.repeats import LEAST
from devfnn.storage import dump, parse
from devfnn.storage.concepts import LEAST_WORTH
from stored import Change, Tensors, concept_file, forged, opened, refused

MOST = 10**9


def poke(name: str, value: Any, index: Any = 0) -> Change:
    """Set some numbers of an array of the layers."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        tensors[f"state/{name}"][index] = value

    return change


def put(*keys: str, value: Any) -> Change:
    """Set one entry of the header."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


def test_the_file_has_every_part_of_a_state() -> None:
    header, tensors = opened(concept_file())
    state = {name.removeprefix("state/"): array for name, array in tensors.items()}
    assert (state["kinds"][FIRST_KEPT:] != NO_LAYER).any()
    assert state["n_members"][BOX_LAYER] > 1 and state["n_clouds"][0] > 1
    assert (state["owners"] == NO_OWNER).any()
    assert header["late"] and header["config"]["lags"] and header["shape"]["gathered_rows"]
    assert dump(parse(concept_file())) == concept_file()


def a_free_slot() -> int:
    """A slot of the file without a rule."""
    return int(np.flatnonzero(opened(concept_file())[1]["state/owners"] == NO_OWNER)[0])


def the_kept() -> int:
    """A kept layer of the file."""
    kinds = opened(concept_file())[1]["state/kinds"]
    return FIRST_KEPT + int(np.flatnonzero(kinds[FIRST_KEPT:] != NO_LAYER)[0])


STATES: dict[str, tuple[Change, str]] = {
    # which layers there are
    "a line is gone": (poke("kinds", NO_LAYER, STEADY_LINE), "lacks a layer that is always there"),
    "the boxes are a line": (poke("kinds", LINE, BOX_LAYER), "lacks a layer that is always there"),
    "the lively curve is gone": (poke("kinds", NO_LAYER, LIVELY_CURVE), "lacks a layer that is"),
    "the lively curve is a line": (poke("kinds", LINE, LIVELY_CURVE), "lacks a layer that is"),
    "a lively curve without a rule": (poke("n_members", 0, LIVELY_CURVE), "does not fit the kind"),
    "the calm curve is gone": (poke("kinds", NO_LAYER, CALM_CURVE), "lacks a layer that is always"),
    "the calm curve is a line": (poke("kinds", LINE, CALM_CURVE), "lacks a layer that is always"),
    "the calm curve is clouds": (poke("kinds", CLOUDS, CALM_CURVE), "lacks a layer that is always"),
    "a line with curves": (poke("kinds", BOXES, STEADY_LINE), "lacks a layer that is always there"),
    "the clouds are gone": (poke("kinds", NO_LAYER, CLOUD_LAYER), "lacks a layer that is always"),
    "an unknown kind": (poke("kinds", CLOUDS + 1, BOX_LAYER), "state/kinds holds 3"),
    "kept clouds": (poke("kinds", CLOUDS, the_kept()), "clouds are never kept"),
    "a line that rests": (poke("rests", 1, STEADY_LINE), "rests lets a layer rest"),
    "a calm curve that rests": (poke("rests", 1, CALM_CURVE), "rests lets a layer rest"),
    "a rest below 0": (poke("rests", -1, CLOUD_LAYER), "state/rests holds -1"),
    # which rules they have
    "more members than room": (poke("n_members", 7, BOX_LAYER), "n_members holds more than there"),
    "members beyond all": (poke("n_members", MOST, BOX_LAYER), "n_members holds more than there"),
    "no boxes": (poke("n_members", 0, BOX_LAYER), "n_members does not fit the kind"),
    "a line of two": (poke("n_members", 2, STEADY_LINE), "n_members does not fit the kind"),
    "a calm curve without a rule": (poke("n_members", 0, CALM_CURVE), "n_members does not fit the"),
    "a calm curve of two rules": (
        lambda header, tensors: [
            poke("n_members", 2, CALM_CURVE)(header, tensors),
            poke("members", a_free_slot(), (CALM_CURVE, 1))(header, tensors),
            poke("owners", CALM_CURVE, a_free_slot())(header, tensors),
            poke("gains", 1.0, a_free_slot())(header, tensors),
        ],
        "n_members does not fit the kind",
    ),
    "the rule of another layer as calm curve": (
        poke("members", STEADY_LINE, (CALM_CURVE, 0)),
        "that another layer owns",
    ),
    "members of clouds": (poke("n_members", 1, CLOUD_LAYER), "n_members does not fit the kind"),
    "a rule beyond the pool": (poke("members", MOST, (BOX_LAYER, 0)), "rule that is not there"),
    "an unused place beyond the pool": (poke("members", MOST, (0, -1)), "rule that is not there"),
    "a rule below 0": (poke("members", -1, (BOX_LAYER, 0)), "state/members holds -1"),
    "a rule of another layer": (poke("members", 0, (BOX_LAYER, 0)), "that another layer owns"),
    "a rule without owner": (poke("owners", NO_OWNER, STEADY_LINE), "that another layer owns"),
    "an owner that is not there": (poke("owners", MOST, a_free_slot()), "owners holds no layer"),
    "an owner below all": (poke("owners", -2), "state/owners holds -2"),
    "a rule without place": (poke("owners", BOX_LAYER, a_free_slot()), "contradict each other"),
    # what the rules are
    "a low that is infinite": (poke("lows", np.inf, (0, 0)), "state/lows holds inf"),
    "a high that is infinite": (poke("highs", -np.inf, (0, 0)), "state/highs holds -inf"),
    "a low that is NaN": (poke("lows", np.nan, (0, 0)), "holds NaN"),
    "a high that is NaN": (poke("highs", np.nan, (0, 0)), "holds NaN"),
    "a box inside out": (
        lambda header, tensors: [
            poke("lows", 0.6, (0, 0))(header, tensors),
            poke("highs", 0.4, (0, 0))(header, tensors),
        ],
        "a bound above that in state/highs",
    ),
    "weights of infinity": (poke("weights", np.inf, (0, 0, 0)), "state/weights holds NaN or inf"),
    "a variance of 0": (poke("gains", 0.0, (0, 0)), "gains holds a variance that is not positive"),
    "a variance below 0": (poke("gains", -1.0, (0, 2)), "variance that is not positive"),
    "the last variance below 0": (poke("gains", -1.0, (0, -1)), "variance that is not positive"),
    "a cap of 0": (poke("caps", 0.0), "state/caps holds 0.0"),
    "a cap below the prior": (poke("caps", 1e-300), "bound that does not fit the prior"),
    "a cap beyond all": (poke("caps", 1e300), "bound that does not fit the prior"),
    "crossings of infinity": (poke("crossings", np.inf, (0, 0, 0)), "state/crossings holds NaN"),
    "crossings beyond the rows": (poke("crossings", 1e30, (0, 0, 0)), "than so many rows can"),
    "evidence of infinity": (poke("evidence", np.inf, (0, 0, 0, 0, 0)), "state/evidence holds NaN"),
    "evidence below 0": (poke("evidence", -1.0, (0, 0, 0, 0, 1)), "evidence holds a variance"),
    "an age below 0": (poke("ages", -1), "state/ages holds -1"),
    "an age beyond all": (poke("ages", 2**62 + 1), "state/ages holds"),
    "a spread below 0": (poke("variances", -1.0, (0, 0)), "state/variances holds -1.0"),
    "a count below 0": (poke("class_counts", -1.0, (0, 0)), "state/class_counts holds -1.0"),
    "a mean that is NaN": (poke("means", np.nan, (0, 0)), "state/means holds NaN"),
    # how good they were
    "a score over 1": (poke("scores", 1.5), "state/scores holds 1.5"),
    "a score below 0": (poke("scores", -0.5), "state/scores holds -0.5"),
    "a win in the future": (poke("last_wins", 10**6), "counters of the network contradict"),
    "a disagreement over 1": (poke("disagreements", 2.0, (0, 0)), "disagreements holds 2.0"),
    "a comparison below 0": (poke("compared", -1.0, (0, 0)), "compared holds -1.0"),
    # clouds
    "more clouds than room": (poke("n_clouds", 9), "n_clouds holds more than there is room"),
    "clouds beyond all": (poke("n_clouds", MOST), "n_clouds holds more than there is room"),
    "a cloud of no class": (poke("cloud_labels", 3), "cloud_labels holds a class that is not"),
    "a cloud of a class below 0": (poke("cloud_labels", -1), "state/cloud_labels holds -1"),
    "a cloud without mass": (poke("cloud_masses", 0.0), "a cloud without mass"),
    "a cloud without spread": (poke("cloud_spreads", 0.0), "state/cloud_spreads holds 0.0"),
    "a cloud that is nowhere": (poke("cloud_centers", np.nan, (0, 0)), "cloud_centers holds NaN"),
    "a height of infinity": (poke("cloud_heights", np.inf), "cloud_heights holds NaN or inf"),
    # time
    "a memory below all": (poke("course", 1.0, 0), "memory in state/course does not fit"),
    "a memory of infinity": (poke("course", np.inf, 0), "state/course holds NaN or infinity"),
    "a memory beyond the longest": (poke("course", 1001.0, 0), "memory in state/course does not"),
    "an uncertainty over 1": (poke("course", 1.5, 2), "course holds a share that is none"),
    "a label rate below 0": (poke("course", -0.5, 3), "course holds a share that is none"),
    "rows worth nothing": (poke("course", 0.0, INDEPENDENCE), "rows are worth next to nothing"),
    "rows worth too little": (poke("course", 1e-308, INDEPENDENCE), "worth next to nothing"),
    "rows worth less than the least": (poke("course", 0.099, INDEPENDENCE), "next to nothing"),
    "rows worth less": (poke("course", -0.5, INDEPENDENCE), "course holds a share that is none"),
    "rows worth more": (poke("course", 1.5, INDEPENDENCE), "course holds a share that is none"),
    "near changes over 1": (poke("course", 1.5, NEAR_CHANGES), "course holds a share that is none"),
    "near changes below 0": (poke("course", -0.5, NEAR_CHANGES), "holds a share that is none"),
    "changes that are NaN": (poke("course", np.nan, NEAR_CHANGES), "course holds NaN or infinity"),
    "half a label watched": (poke("course", 7.5, WATCHED), "course counts labels in fractions"),
    "labels watched below 0": (poke("course", -1.0, WATCHED), "course counts labels in fractions"),
    "labels watched without end": (poke("course", np.inf, WATCHED), "holds NaN or infinity"),
    "a last label beyond all": (poke("course", 3.0, LAST_LABEL), "course holds a label that is"),
    "half a last label": (poke("course", 0.5, LAST_LABEL), "course holds a label that is none"),
    "a last label below 0": (poke("course", -1.0, LAST_LABEL), "course holds a label that is none"),
    "a class share below 0": (poke("label_shares", -1e-9), "label_shares holds shares that are"),
    "a class share over 1": (
        poke("label_shares", (0.0, 1.0 + 1e-9, 0.0), slice(None)),
        "label_shares holds shares that are",
    ),
    "class shares over 1": (
        poke("label_shares", (0.5, 0.3, 0.2 + 2e-6), slice(None)),
        "label_shares holds shares that are",
    ),
    "class shares without end": (poke("label_shares", np.inf), "label_shares holds NaN or inf"),
    "a class share that is NaN": (poke("label_shares", np.nan), "label_shares holds NaN or inf"),
    "more errors than rows": (poke("track", 10**6, 1), "error track contradict"),
    "a cut in the future": (poke("track", 10**6, 2), "error track contradict"),
    "errors below 0": (poke("track", -1, 1), "state/track holds -1"),
    "a clock below 0": (poke("clock", -1, 1), "state/clock holds -1"),
    "a clock ahead": (poke("clock", 10**6, 0), "counters of the network contradict"),
    "more rows scored than learned": (
        poke("clock", 10**6, SCORED),
        "counters of the network contradict",
    ),
    "steps ahead": (poke("clock", 10**6, 1), "counters of the network contradict"),
    "more labels than rows": (
        put("counters", "n_labels", value=10**6),
        "of the network contradict",
    ),
    "fewer labels than learned": (
        put("counters", "n_labels", value=3),
        "of the network contradict",
    ),
    "fewer rows than kept": (put("counters", "scaler/n_first", value=1), "more rows than it has"),
    # the header
    "no rules": (put("shape", "rules", value=0), "size of 0"),
    "a size of a stacked network": (put("shape", "layers", value=1), "unknown field 'layers'"),
    "gathered rows declared absent": (put("absent", value=["gathered"]), "that every model has"),
    "other rules": (
        put("shape", "rules", value=5),
        r"tensor 'state/owners' is I64 \[\d+\], not I64",
    ),
    "another room for boxes": (
        put("config", "max_boxes", value=9),
        "tensor 'state/members' is I64",
    ),
    "another room for clouds": (put("config", "max_clouds", value=9), "tensor 'state/cloud_cent"),
    "another room for layers": (put("config", "max_kept", value=9), "tensor 'state/kinds' is"),
    "no clouds": (put("config", "rule_growing", value=False), "tensor 'state/cloud_centers' is"),
    "another number of lags": (put("config", "lags", value=1), "does not fit the shape"),
    "a late column that is not there": (put("late", value=[10]), "no columns of the shape"),
    "a late column among the first": (put("late", value=[2]), "no columns of the shape"),
    "a late column twice": (
        lambda header, tensors: header.update(late=[8, 8], feature_names=list("abcd")),
        "no columns of the shape",
    ),
    "a stacked network": (put("config", "network", value="stacked"), "shape .* unknown field"),
}


@pytest.mark.parametrize("name", STATES)
def test_states_that_no_concept_network_has(name: str) -> None:
    change, message = STATES[name]
    refused(forged(change, of=concept_file()), message)


def set_recent(value: int) -> bytes:
    """The file with another last label."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        tensors["recent"][0] = value

    return forged(change, of=concept_file())


def test_the_last_labels_are_classes_or_none() -> None:
    refused(set_recent(-2), "recent holds -2")
    refused(set_recent(3), "recent holds a class that is not there")
    assert parse(set_recent(-1))._known().recent[0] == -1
    assert parse(set_recent(2))._known().recent[0] == 2


def set_row(name: str, value: float) -> bytes:
    """The file with another number in its gathered rows."""

    def change(header: dict[str, Any], tensors: Tensors) -> None:
        tensors[f"gathered/{name}"].reshape(-1)[0] = value

    return forged(change, of=concept_file())


def test_gathered_rows_are_rows_of_known_classes() -> None:
    refused(set_row("labels", 3), "gathered holds rows of a class that is not there")
    refused(set_row("labels", -1), "gathered/labels holds -1")
    refused(set_row("weights", -1.0), "gathered/weights holds -1.0")
    refused(set_row("X", np.inf), "gathered/X holds NaN or infinity")
    assert np.isnan(parse(set_row("X", np.nan))._known().gathered.X[0, 0])


def test_open_boxes_and_boxes_that_hold_nothing_are_legal() -> None:
    def change(header: dict[str, Any], tensors: Tensors) -> None:
        tensors["state/lows"][0] = -np.inf
        tensors["state/highs"][0] = np.inf
        tensors["state/lows"][0, 1] = tensors["state/highs"][0, 1] = 0.5

    parse(forged(change, of=concept_file()))


def test_slots_without_a_rule_may_hold_any_gains() -> None:
    parse(forged(poke("gains", -1.0, (a_free_slot(), 0)), of=concept_file()))


@pytest.mark.parametrize("shares", [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.3, 0.2 + 5e-7)])
def test_class_shares_may_be_none_or_all_and_are_rounded(shares: tuple[float, ...]) -> None:
    parse(forged(poke("label_shares", shares, slice(None)), of=concept_file()))


def test_rows_may_be_worth_the_least_that_there_is() -> None:
    parse(forged(poke("course", LEAST, INDEPENDENCE), of=concept_file()))
    assert LEAST_WORTH == LEAST  # storage does without the kernels
