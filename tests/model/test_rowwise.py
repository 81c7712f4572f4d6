"""Learning row by row: `learn_rows` is a loop of `learn_one`, however the rows are cut."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devfnn import DEVFNN, Config, GClass
from devfnn.arrays import Floats
from devfnn.events import Event, LayerAdded
from devfnn.model.config import ByReward
from devfnn.storage import dump
from scenes import EAGER, count, eventful, stack_of, stacked, swift

N_ROWS = 480


@dataclasses.dataclass(frozen=True)
class Way:
    """A configuration, and how rows are fed to it."""

    config: Config
    kind: type[DEVFNN] = DEVFNN
    missing: bool = False
    weighted: bool = False
    asked: bool = False

    def parts(self) -> tuple[Floats, list[str], Floats, Any]:
        """Rows, labels, weights and the mask of chosen rows."""
        X, y = eventful(N_ROWS)
        rng = np.random.default_rng(5)
        if self.missing:
            X[rng.random(X.shape) < 0.15] = np.nan
            X[11] = np.nan
        weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(y)) if self.weighted else np.ones(len(y))
        return X, y, weights, rng.random(len(y)) < 0.4 if self.asked else None

    def fed(self, cuts: list[int]) -> tuple[DEVFNN, list[Event]]:
        """A model that learned the rows in batches that end at the cuts, and its events."""
        X, y, weights, chosen = self.parts()
        model, events = self.kind(self.config), list[Event]()
        for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
            part = slice(start, stop)
            mask = None if chosen is None else chosen[part]
            events += model.learn_rows(X[part], y[part], weights[part], chosen=mask)
        return model, events

    def looped(self) -> tuple[DEVFNN, list[Event]]:
        """The same row by row; rows that were not chosen cannot be given to `learn_one`."""
        X, y, weights, chosen = self.parts()
        if chosen is not None:
            return self.fed([*range(1, len(y))])
        model, events = self.kind(self.config), list[Event]()
        for x, label, weight in zip(X, y, weights, strict=True):
            events += model.learn_one(x, label, weight)
        return model, events


SMALL = stacked(chunk_rows=60, **EAGER)
RIVALS = swift(chunk_rows=60, boxes__every=40, boxes__evidence=5.0, drift__significance=1e-2)
WAYS = {
    "default": Way(Config()),
    "rivals": Way(RIVALS),
    "rivals, all learned": Way(RIVALS.replace(labels__choice="all")),
    "rivals, masked": Way(RIVALS.replace(feature_mask={}, feature_mask__threshold=0.9)),
    "rivals, few kept": Way(
        RIVALS.replace(growing__max_kept=2, merging__share=1.0, voting__rows=30.0)
    ),
    "rivals, never forgetting": Way(RIVALS.replace(memory=None)),
    "rivals, budget": Way(RIVALS.replace(labels__budget=0.3)),
    "rivals, missing": Way(RIVALS.replace(missing="skip"), missing=True),
    "rivals, weighted": Way(RIVALS, weighted=True),
    "rivals, asked for": Way(RIVALS, asked=True),
    "rivals, unscaled": Way(RIVALS.replace(scaling="none")),
    "rivals, last labels": Way(RIVALS.replace(lags=2)),
    "rivals, balanced": Way(RIVALS.replace(class_weights="balanced"), weighted=True),
    "rivals, balanced, budget": Way(RIVALS.replace(class_weights="balanced", labels__budget=0.3)),
    "rivals, balanced, asked for": Way(RIVALS.replace(class_weights="balanced"), asked=True),
    "rivals, a weighty class": Way(RIVALS.replace(class_weights={"low": 5.0})),
    "stacked": Way(stacked()),
    "small steps": Way(SMALL),
    "all learned": Way(SMALL.replace(labels__choice="all")),
    "least squares": Way(
        SMALL.replace(gaussian__consequent="least_squares", gaussian__memory=0.99)
    ),
    "deep": Way(SMALL.replace(training="all", layers=stack_of(3, plain_first=False))),
    "masked": Way(SMALL.replace(feature_mask={}, feature_mask__threshold=0.9)),
    "merged": Way(SMALL.replace(merging__threshold=1.0, training="leader", layers=stack_of(1))),
    "printed": Way(
        SMALL.replace(drift__test="chunk", growing__newborn="scratch", voting=ByReward())
    ),
    "fading": Way(
        SMALL.replace(
            gaussian__chunk_memory=0.5, gaussian__local_forgetting=0.2, gaussian__weight_decay=1e-3
        )
    ),
    "budget": Way(SMALL.replace(labels__budget=0.3)),
    "missing": Way(SMALL.replace(missing="skip"), missing=True),
    "weighted": Way(SMALL, weighted=True),
    "asked for": Way(SMALL, asked=True),
    "balanced": Way(SMALL.replace(class_weights="balanced")),
    "one layer": Way(SMALL, GClass),
}


@functools.cache
def at_once(name: str) -> tuple[list[Event], bytes]:
    """The events of a model that learned all rows in one batch, and all that it knows."""
    model, events = WAYS[name].fed([])
    return events, dump(model)


@pytest.mark.parametrize("name", WAYS)
def test_learn_rows_is_bit_for_bit_a_loop_of_learn_one(name: str) -> None:
    model, events = WAYS[name].looped()
    assert (events, dump(model)) == at_once(name)


@given(data=st.data())
@settings(max_examples=count(30, 2), deadline=None)
def test_it_does_not_matter_how_rows_are_cut_into_batches(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(WAYS)))
    cuts = data.draw(st.lists(st.integers(0, N_ROWS), max_size=8).map(sorted))
    model, events = WAYS[name].fed(cuts)
    assert (events, dump(model)) == at_once(name)


def test_the_eventful_rows_are_eventful() -> None:
    kinds = {event.kind for name in WAYS for event in at_once(name)[0]}
    assert kinds >= {
        "RuleBorn",
        "RangeChanged",
        "FeatureAsleep",
        "FeatureAwake",
        "DriftFound",
        "LayerAdded",
        "ClassAdded",
        "FeatureOff",
        "LayersMerged",
        "RuleSplit",
        "CloudsChanged",
        "LayerKept",
    }


def test_structural_steps_follow_every_chunk_rows_rows() -> None:
    model = DEVFNN(SMALL)
    X, y = eventful(N_ROWS)
    events, steps = list[Event](), []
    for row, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        before = model._network.n_chunks if model._network else 0
        events += model.learn_one(x, label)
        if model._known().n_chunks > before:
            steps.append(row)
    assert steps == [*range(60, len(y) + 1, 60)]
    layers = [event.row for event in events if isinstance(event, LayerAdded)]
    assert layers and all(row % 60 == 0 for row in layers)


def test_structural_steps_of_rivals_follow_every_chunk_rows_labels() -> None:
    model = DEVFNN(RIVALS)
    X, y = eventful(N_ROWS)
    steps = []
    for x, label in zip(X, y, strict=True):
        before = model._network.n_chunks if model._network else 0
        model.learn_one(x, label)
        if model._known().n_chunks > before:
            steps.append(model.n_labels_used)
    assert steps == [*range(60, model.n_labels_used + 1, 60)]
    assert model.n_labels_used < len(y)
