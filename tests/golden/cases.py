"""What golden results are made of: streams, ways to learn them, and the table of models.

Every configuration and every name of an event that the golden results know is in this module, so
that a renamed parameter, event or field is one edit here. Results must not change with it.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from devfnn import DEVFNN, Config, GClass, presets
from devfnn.events import Event
from devfnn.streams import open_stream
from golden.flat import flat

# ---- events

KIND_NAMES: dict[str, str] = {}
"""Kind of an event today -> its name in the recorded results."""
FIELD_NAMES: dict[tuple[str, str], str] = {}
"""(recorded kind, field today) -> its name in the recorded results; "" leaves a new field out."""
EVERY_KIND = (
    "ClassAdded CloudsChanged DriftFound DriftWarned FeatureAsleep FeatureAwake FeatureOff "
    "FeatureOn LayerAdded LayerDropped LayerKept LayerOnTrial LayerRecalled LayerRested "
    "LayersMerged RangeChanged RuleBorn RulePruned RuleRecalled RuleSplit"
).split()
"""Recorded kinds that must occur somewhere in the results: every mechanism is at work."""


def canonical(event: Event) -> dict[str, Any]:
    """An event under its recorded names. What was merged into what was then part of the reason."""
    fields = event.to_dict()
    other = fields.pop("merged_into", -1)
    if other >= 0:
        is_rule = fields["kind"] == "RulePruned"
        words = "difference from rule {}" if is_rule else "differs from layer {} in too few rows"
        fields["reason"] = words.format(other)
    kind = KIND_NAMES.get(fields["kind"], fields["kind"])
    named = {FIELD_NAMES.get((kind, name), name): value for name, value in fields.items()}
    named.pop("", None)
    return named | {"kind": kind}


# ---- streams: rows and labels; the last HELD_OUT rows are only predicted

HELD_OUT = 100
Rows = tuple[Any, Any]


@functools.cache
def turning(n_rows: int = 2500, features: int = 3, every: int = 500, noise: float = 0.0) -> Rows:
    """Two features decide; the classes swap, and swap back, every so many rows."""
    rng = np.random.default_rng(11)
    X = rng.random((n_rows, features))
    y = (X[:, 0] + X[:, 1] > 1.0) ^ (np.arange(n_rows) // every % 2 == 1)
    return X, (y ^ (rng.random(n_rows) < noise)).astype(np.int64)


@functools.cache
def checkered(n_rows: int = 2000) -> Rows:
    """Squares of three classes that no line divides, in units far apart: rules must split."""
    rng = np.random.default_rng(12)
    X = rng.random((n_rows, 2))
    cells = np.floor(2.0 * X).astype(np.int64)
    y = (cells[:, 0] + 2 * cells[:, 1]) % 3
    y = np.where(np.arange(n_rows) < n_rows // 2, y, (y + 1) % 3)
    return X * [1e-3, 5e4] + [0.0, -1e4], y


@functools.cache
def eventful(n_rows: int = 2400, gaps: float = 0.0) -> Rows:
    """Features that widen, tick and wake up, labels that swap, and classes that come late."""
    rng, time = np.random.default_rng(13), np.arange(n_rows) / n_rows
    X = rng.random((n_rows, 5))
    y = np.where((X[:, 0] > 0.5) ^ (time > 0.5), "high", "low").astype(object)
    X[:, 1] *= np.where(time > 0.35, 40.0, 1.0)
    X[:, 2] = np.where(time < 0.6, time, 1.5 * (1.0 - time))
    X[:, 3] *= time > 0.55
    X[:, 4] = np.where(time > 0.7, X[:, 0], X[:, 4])
    y[(time > 0.2) & (rng.random(n_rows) < 0.05)] = "third"
    y[(time > 0.75) & (rng.random(n_rows) < 0.05)] = "fourth"
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


@functools.cache
def places(n_rows: int = 2400, turn: int = 400) -> Rows:
    """Two clusters far apart that take turns, then mix: rules are born, pruned and recalled."""
    rng = np.random.default_rng(14)
    row = np.arange(n_rows)
    is_upper = np.where(row < n_rows - turn, row // turn % 2, rng.integers(0, 2, n_rows)) == 1
    offsets = 0.04 * rng.standard_normal((n_rows, 2))
    y = (offsets[:, 0] > 0.0) ^ is_upper
    return np.where(is_upper[:, None], 0.85, 0.15) + offsets, y.astype(np.int64)


@functools.cache
def bursts(n_rows: int = 2400, features: int = 3) -> Rows:
    """Some parts of 200 rows begin with flipped labels: drift as the paper's test sees it."""
    X, y = turning(n_rows, features, n_rows)
    return X, np.where(np.arange(n_rows) % 600 < 90, 1 - y, y)


@functools.cache
def steps(n_rows: int = 6000) -> Rows:
    """Bands of one feature, so that boxes split, and join where they need not have."""
    X = np.random.default_rng(16).random((n_rows, 1))
    return X, (4.0 * X[:, 0]).astype(np.int64) % 2


@functools.cache
def runs(n_rows: int = 2000) -> Rows:
    """Labels that mostly stay as they were, which only lags can see."""
    rng = np.random.default_rng(15)
    X, y = rng.random((n_rows, 2)), np.zeros(n_rows, np.int64)
    for row in range(1, n_rows):
        y[row] = y[row - 1] if rng.random() < 0.9 else int(3 * X[row, 0])
    return X, np.array(["red", "green", "blue"])[y]


@functools.cache
def made(name: str, n_rows: int = 2000, **options: Any) -> Rows:
    """A stream of one of the package's generators."""
    stream = open_stream(name, options={"n_rows": n_rows, **options})
    parts = list(stream)
    return np.concatenate([each.X for each in parts]), np.concatenate([each.y for each in parts])


# ---- ways to learn a part of a stream; each returns the events

Part = tuple[int, Any, Any]
"""Number of the part, its rows, its labels."""


def by_chunks(model: DEVFNN, part: Part) -> list[Event]:
    return model.learn(part[1], part[2])


def by_rows(model: DEVFNN, part: Part) -> list[Event]:
    return model.learn_rows(part[1], part[2])


def one_by_one(model: DEVFNN, part: Part) -> list[Event]:
    pairs = zip(part[1].tolist(), part[2].tolist(), strict=True)
    return [event for x, y in pairs for event in model.learn_one(x, y)]


def mixed(model: DEVFNN, part: Part) -> list[Event]:
    """Chunks, rows and single rows in turns."""
    return (by_chunks, by_rows, one_by_one)[part[0] % 3](model, part)


def weighted(model: DEVFNN, part: Part) -> list[Event]:
    """Rows of several weights, some of 0; chunks and rows in turns."""
    weights = np.random.default_rng(part[0]).choice([0.0, 0.5, 1.0, 3.0], len(part[2]))
    learn = model.learn_rows if part[0] % 2 else model.learn
    return learn(part[1], part[2], weights)


def hidden(model: DEVFNN, part: Part) -> list[Event]:
    """Only labels that the model wants are shown, others at random; chunks and rows in turns."""
    chosen = model.wants_label(part[1])
    chosen |= np.random.default_rng(part[0]).random(len(chosen)) < 0.05
    learn = model.learn_rows if part[0] % 2 else model.learn
    return learn(part[1], part[2], chosen=chosen)


def asked(model: DEVFNN, part: Part) -> list[Event]:
    """Labels are asked for, and answered in reverse order."""
    wanted = np.flatnonzero(model.ask(part[1]))[::-1]
    return model.answer(part[1][wanted], part[2][wanted])


def widening(model: DEVFNN, part: Part) -> list[Event]:
    """The last feature appears with the fourth part."""
    if part[0] == 4:
        model.add_features(["late feature"])
    return mixed(model, (part[0], seen_by(model, part[1]), part[2]))


def seen_by(model: DEVFNN, X: Any) -> Any:
    """The columns that a model knows."""
    return X[:, : len(model.feature_names)]


# ---- the models

Learn = Callable[[DEVFNN, Part], list[Event]]


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, the stream it learns, and how."""

    make: Callable[[], DEVFNN]
    stream: Callable[[], Rows]
    learn: Learn = by_chunks
    part_rows: int = 200

    def parts(self) -> list[Part]:
        """The stream but for the rows that are held out."""
        X, y = self.stream()
        starts = range(0, len(X) - HELD_OUT, self.part_rows)
        stops = [min(start + self.part_rows, len(X) - HELD_OUT) for start in starts]
        cuts = enumerate(zip(starts, stops, strict=True))
        return [(number, X[start:stop], y[start:stop]) for number, (start, stop) in cuts]

    def held_out(self) -> Any:
        """Rows that are never learned."""
        return self.stream()[0][-HELD_OUT:]


def brisk(**changes: Any) -> DEVFNN:
    """A concept network that splits, keeps and recalls soon."""
    sizes = {"max_boxes": 6, "max_clouds": 12, "max_kept": 3}
    memory = {"quick_memory": 50.0, "shortest_memory": 100.0, "longest_memory": 1000.0}
    votes = {"vote_rows": 50.0, "vote_power": 1.0, "drift_significance": 1e-4}
    rows = {"split_every": 20, "split_evidence": 2.0, "label_noise": 0.05, "chunk_rows": 150}
    config = flat(**{"network": "concepts", **sizes, **memory, **votes, **rows, **changes})
    return DEVFNN(config)


def stacked(**changes: Any) -> DEVFNN:
    """A stacked network that grows soon."""
    levels = {"drift_significance": 1e-3, "warning_significance": 1e-1, "horizon": 1.0}
    return DEVFNN(flat(**{"network": "stacked", "chunk_rows": 150, **levels, **changes}))


def preset(config: Config, **changes: Any) -> DEVFNN:
    """A model of a preset."""
    return DEVFNN(config.replace(**changes))


def default(**changes: Any) -> DEVFNN:
    """The default with a short window, whose layers rest soon."""
    rests = {"resting__trial_rows": 150, "resting__steps": 1}
    small = {"window__rows": 400, "boosted__step_rows": 200.0, "chunk_rows": 150}
    return preset(presets.default(), **small | rests | changes)


def narrow(**changes: Any) -> DEVFNN:
    """A brisk network that lacks the last of five features."""
    config = brisk(missing="skip", **changes).config
    return DEVFNN(config, ["a", "b", "c", "d"])


P = functools.partial
FORGETFUL = flat(
    network="stacked",
    scaling="none",
    prune_margin=0.0,
    potential_memory=0.995,
    vigilance=0.5,
    conflict_threshold=0.95,
    chunk_rows=200,
)
STATIC, FIXED = presets.static(), presets.static().replace(gaussian__rules="fixed")

CASES: dict[str, Case] = {
    # presets
    "default": Case(default, P(turning, 3000, 3, 1000)),
    "default, rows": Case(default, P(made, "sea", 2000), by_rows),
    "default, eventful": Case(P(default, missing="skip"), P(eventful, 2400, 0.05), mixed),
    "default, budget": Case(P(default, labels__budget=0.3), checkered),
    "swift": Case(P(preset, presets.swift()), P(turning, 3000, 3, 1000)),
    "swift, checkered": Case(P(preset, presets.swift()), checkered, part_rows=500),
    "swift, rows": Case(P(preset, presets.swift()), P(made, "sea", 3000), by_rows),
    "swift, eventful": Case(P(preset, presets.swift()), eventful, mixed),
    "swift, one by one": Case(P(preset, presets.swift()), P(checkered, 900), one_by_one),
    "static": Case(P(preset, STATIC), P(turning, 2000)),
    "static, rows": Case(P(preset, STATIC, chunk_rows=150), P(eventful, 1500), mixed),
    "fixed": Case(P(preset, FIXED), P(turning, 1500)),
    "fixed, rows": Case(P(preset, FIXED, chunk_rows=150), P(checkered, 1000), mixed),
    "paper sea": Case(
        P(preset, presets.paper("sea")), P(made, "sea", 3000, rows_per_concept=700, noise=0.0)
    ),
    "paper sea, bursts": Case(P(preset, presets.paper("sea")), P(bursts, 3000)),
    "paper weather": Case(P(preset, presets.paper("weather")), P(bursts, 3000, 4)),
    "paper kdd": Case(P(preset, presets.paper("kdd")), P(eventful, 2000)),
    "paper rfid, rows": Case(P(preset, presets.paper("rfid"), chunk_rows=150), places, by_rows),
    "paper hyperplane, unscaled": Case(
        P(preset, presets.paper("hyperplane"), scaling="none"), P(bursts, 2000), mixed
    ),
    "paper electricity": Case(P(preset, presets.paper("electricity")), P(eventful, 1500)),
    "paper susy": Case(P(preset, presets.paper("susy")), P(turning, 1500)),
    "paper, any stream": Case(P(preset, presets.paper()), P(bursts, 2000), mixed),
    "paper static": Case(P(preset, presets.paper_static("sea")), P(turning, 1500)),
    "stacked preset": Case(P(preset, presets.stacked()), P(turning, 2000)),
    "gclass": Case(GClass, places),
    "gclass, recalled": Case(P(GClass, FORGETFUL), P(places, 6000, 800)),
    "gclass, recalled, rows": Case(P(GClass, FORGETFUL), P(places, 6000, 800), by_rows),
    "gclass, eventful": Case(
        P(GClass, flat(network="stacked", chunk_rows=130)), P(eventful, 1500), mixed
    ),
    # the concept network
    "brisk": Case(brisk, turning),
    "brisk, rows": Case(brisk, turning, by_rows),
    "brisk, eventful": Case(brisk, eventful, mixed),
    "brisk, checkered": Case(P(brisk, max_boxes=20), checkered),
    "brisk, noisy": Case(P(brisk, max_kept=1), P(turning, 2500, 4, 400, 0.1), mixed),
    "brisk, merged": Case(P(brisk, vote_rows=20.0, merge_disagreement=1.0), turning),
    "brisk, joined": Case(
        P(brisk, join_evidence=1e9, split_evidence=1.0, active_learning=False), steps
    ),
    "brisk, small pool": Case(P(brisk, max_pool=8, max_boxes=4), turning),
    "brisk, masked": Case(
        P(brisk, feature_mask=True, feature_threshold=0.9, statistics_memory=0.5), eventful, mixed
    ),
    "brisk, missing": Case(P(brisk, missing="skip"), P(eventful, 1200, 0.1), mixed),
    "brisk, widening": Case(narrow, P(eventful, 2000), widening),
    "brisk, lags": Case(P(brisk, lags=2), runs, mixed),
    "brisk, lags, budget": Case(P(brisk, lags=2, label_budget=0.3), runs, mixed),
    "brisk, lags, widening": Case(P(narrow, lags=1), P(eventful, 1600), widening),
    "brisk, budget": Case(P(brisk, label_budget=0.2), turning),
    "brisk, budget, rows": Case(P(brisk, label_budget=0.2), P(eventful, 1600), by_rows),
    "brisk, asked": Case(P(brisk, label_budget=0.3), turning, asked),
    "brisk, hidden": Case(brisk, turning, hidden),
    "brisk, weighted": Case(brisk, turning, weighted),
    "brisk, all labels": Case(P(brisk, active_learning=False), turning),
    "brisk, unscaled": Case(P(brisk, scaling="none"), turning, mixed),
    "brisk, not growing": Case(P(brisk, growing=False), turning),
    "brisk, not recalling": Case(P(brisk, recall=False), turning),
    "brisk, not merging": Case(
        P(brisk, vote_rows=20.0, merge_disagreement=1.0, merging=False), turning
    ),
    "brisk, not joining": Case(
        P(brisk, join_evidence=1e9, split_evidence=1.0, active_learning=False, pruning=False), steps
    ),
    "brisk, no rule growing": Case(P(brisk, rule_growing=False), checkered, mixed),
    "brisk, no crossings": Case(P(brisk, crossings=False), checkered),
    "brisk, no forgetting": Case(P(brisk, forgetting=False), turning, mixed),
    "brisk, bare": Case(P(brisk, max_clouds=0, max_kept=0, rule_growing=False), turning),
    "brisk, another seed": Case(P(brisk, seed=5), turning),
    # the stacked network
    "stacked": Case(stacked, turning),
    "stacked, rows": Case(stacked, P(turning, 2000), by_rows),
    "stacked, eventful": Case(stacked, P(eventful, 2000), mixed),
    "stacked, places": Case(P(stacked, vigilance=0.5, prune_margin=0.3), places, mixed),
    "stacked, merged": Case(P(stacked, merge_threshold=1.0), P(turning, 1500)),
    "stacked, masked": Case(
        P(stacked, feature_mask=True, feature_threshold=0.9, statistics_memory=0.5),
        P(eventful, 2000),
    ),
    "stacked, warned": Case(
        P(stacked, warning_significance=0.5, drift_significance=1e-6, train_on_warning=False),
        P(turning, 2000, noise=0.1),
    ),
    "stacked, missing": Case(P(stacked, missing="skip"), P(eventful, 1500, 0.1), mixed),
    "stacked, lags": Case(P(stacked, lags=2), P(runs, 1200), mixed),
    "stacked, budget": Case(P(stacked, label_budget=0.2), P(turning, 1500), mixed),
    "stacked, weighted": Case(stacked, P(turning, 1500), weighted),
    "stacked, all labels": Case(P(stacked, active_learning=False), P(turning, 1200)),
    "stacked, unscaled": Case(P(stacked, scaling="none"), P(turning, 1200), mixed),
    "stacked, winner": Case(
        P(stacked, training="winner", initial_layers=1, augmentation="all"), P(turning, 1500)
    ),
    "stacked, all trained": Case(
        P(stacked, training="all", augmentation="off", initial_layers=3), P(turning, 1500)
    ),
    "stacked, from scratch": Case(
        P(stacked, newborn="scratch", newborn_weight=0.5, reset_winner=True), P(turning, 1500)
    ),
    "stacked, reward": Case(
        P(stacked, voting_weights="reward", vote="hard", plain_first=False), P(turning, 1500)
    ),
    "stacked, equal votes": Case(P(stacked, voting_weights="equal"), P(turning, 1200), mixed),
    "stacked, drift in a chunk": Case(
        P(stacked, drift_test="chunk", drift_one_sided=False), P(bursts, 2000)
    ),
    "stacked, least squares": Case(
        P(
            stacked,
            consequent="least_squares",
            chunk_memory=0.5,
            weight_decay=1e-3,
            local_forgetting=0.1,
        ),
        P(turning, 1500),
        mixed,
    ),
    "stacked, published tuning": Case(P(stacked, premise_tuning="published"), checkered),
    "stacked, no tuning": Case(
        P(stacked, premise_tuning="off", recall=False, feature_score="variance"), checkered
    ),
    "stacked, not growing": Case(P(stacked, growing=False, pruning=False), P(turning, 1200)),
    "stacked, no rule growing": Case(
        P(stacked, rule_growing=False, merging=False), P(turning, 900)
    ),
    # small enough for kernels as plain Python
    "small, default": Case(P(default, layers__max_trees=6), P(checkered, 300), mixed, 100),
    "small": Case(brisk, P(turning, 700, 2, 300), mixed, 100),
    "small, swift": Case(P(preset, presets.swift()), P(checkered, 400), mixed, 100),
    "small, stacked": Case(stacked, P(turning, 400, 2, 150), mixed, 100),
    "small, paper": Case(P(preset, presets.paper("sea")), P(turning, 400, 2, 150), part_rows=100),
}

PLAIN = [name for name in CASES if name.startswith("small")]
"""Cases that are also tested without compilation."""

FILES: dict[str, Case] = {
    "default": Case(
        P(
            default,
            window__rows=12,
            layers__max_trees=1,
            rules__max_rules=9,
            clouds__max_rules=20,
            growing__max_kept=1,
        ),
        P(turning, 700, 2, 300),
    ),
    "swift": Case(P(preset, presets.swift()), P(turning, 1400, 2, 600)),
    "brisk": Case(P(brisk, lags=1, feature_mask=True, max_pool=10), P(runs, 1000), mixed),
    "warned": Case(
        P(stacked, warning_significance=0.5, drift_significance=1e-12, train_on_warning=False),
        P(turning, 700, 2, 320, 0.1),
        part_rows=100,
    ),
    "static": Case(P(preset, STATIC), P(turning, 700, 2, 300), part_rows=100),
    "fixed": Case(P(preset, FIXED), P(turning, 700, 2, 300), part_rows=100),
    "paper": Case(P(preset, presets.paper("sea")), P(turning, 700, 2, 250), part_rows=100),
    "gclass": Case(
        P(GClass, flat(network="stacked", chunk_rows=130)), P(places, 900), by_rows, part_rows=100
    ),
}
"""Models saved as files after half of their parts."""
