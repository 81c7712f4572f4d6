"""Any configuration, any order of calls: two models that get the same rows stay the same, sound."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

from devfnn import DEVFNN, Config, GClass, InputError
from devfnn.model import presets
from devfnn.storage import dump, parse
from scenes import count, fields_of
from sound import assert_sound

SMALL = {
    "seed": 1000,
    "chunk_rows": 120,
    "lags": 4,
    "boxes__max_rules": 9,
    "boxes__every": 60,
    "boxes__join_rows": 500,
    "clouds__max_rules": 12,
    "resting__steps": 6,
    "resting__grace_rows": 900,
    "resting__trial_rows": 300,
    "resting__max_steps": 12,
    "window__rows": 200,
    "boosted__depth": 4,
    "boosted__bins_every": 9,
    "boosted__max_features": 5,
    "neighbours__count": 9,
    "surface__max_features": 6,
    "growing__max_kept": 4,
    "growing__max_layers": 6,
    "growing__buffer_rows": 400,
    "rules__max_rules": 40,
    "drift__every": 90,
    "gaussian__max_rules": 8,
    "gaussian__archive_size": 5,
    "labels__window": 300,
}
"""Whole numbers that are drawn below this, so that a story stays short."""


def any_value(name: str, field: "dataclasses.Field[Any]", rng: np.random.Generator) -> Any:
    """A value inside the range of a parameter."""
    if name == "class_weights":
        return "balanced" if rng.integers(2) else {0: 3.0, "b": 0.1, "never": 10.0}
    if get_origin(field.type) is Literal:
        return str(rng.choice(get_args(field.type)))
    if field.type is bool:
        return bool(rng.integers(2))
    low, high = field.metadata["low"], field.metadata["high"]
    if field.type is int:
        return int(rng.integers(max(low, 7) if name == "rules__max_rules" else low, SMALL[name]))
    if low > 0.0 and high / low > 100.0:
        return float(np.clip(10.0 ** rng.uniform(np.log10(low), np.log10(high)), low, high))
    return float(rng.uniform(low, high))


def any_config(start: Config, rng: np.random.Generator) -> Config:
    """A configuration of which a quarter is drawn at random, as far as it is allowed."""
    config = start.replace(chunk_rows=int(rng.integers(5, 100)))
    if rng.random() < 0.5:
        config = config.replace(missing="skip")
    if rng.random() < 0.2:
        config = config.replace(feature_mask={"threshold": 0.9})
    for name, field in fields_of(config).items():
        if rng.random() < 0.25:
            with contextlib.suppress(InputError):  # what does not go together
                config = config.replace(**{name: any_value(name, field, rng)})
    return config


class Use:
    """Two models in use; the second gets rows in other batches and is stored in between."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.n_features = rng, int(rng.integers(1, 6))
        kind, start = (
            (DEVFNN, presets.default()),
            (DEVFNN, presets.stacked()),
            (DEVFNN, presets.paper()),
            (GClass, presets.stacked()),
        )[rng.integers(4)]
        config = any_config(start, rng)
        self.model, self.other = kind(config), kind(config)
        self.names = ["a", "b", "c", "d"][: int(rng.integers(1, 5))]
        self.units = 10.0 ** rng.integers(-6, 7, self.n_features)

    def rows(self) -> tuple[Any, list[str], Any, Any]:
        """Rows, labels, weights and chosen rows, with all that may happen to them."""
        rng, n_rows = self.rng, int(self.rng.choice([1, 2, 7, 40, 150, 300]))
        X = rng.random((n_rows, self.n_features))
        codes = np.minimum((X.mean(axis=1) * len(self.names)).astype(int), len(self.names) - 1)
        if rng.random() < 0.2:
            codes = codes[::-1]
        if rng.random() < 0.3:
            X[:, rng.integers(self.n_features)] = 0.5
        if rng.random() < 0.2:
            self.units = self.units * 10.0 ** rng.integers(-2, 3, self.n_features)
        if self.model.config.missing == "skip" and rng.random() < 0.5:
            X[rng.random(X.shape) < 0.2] = np.nan
        weights = rng.choice([0.0, 0.5, 1.0, 4.0], n_rows) if rng.random() < 0.3 else None
        chosen = rng.random(n_rows) < 0.5 if rng.random() < 0.3 else None
        return X * self.units, [self.names[code] for code in codes], weights, chosen

    def learn(self) -> None:
        """A chunk."""
        X, y, weights, chosen = self.rows()
        events = self.model.learn(X, y, weights, chosen=chosen)
        assert self.other.learn(X, y, weights, chosen=chosen) == events

    def learn_rows(self) -> None:
        """Rows at once, and in pieces."""
        X, y, weights, chosen = self.rows()
        events = self.model.learn_rows(X, y, weights, chosen=chosen)
        cuts = sorted(self.rng.integers(0, len(y) + 1, 3))
        pieces = []
        for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
            extra = [None if part is None else part[start:stop] for part in (weights, chosen)]
            pieces += self.other.learn_rows(X[start:stop], y[start:stop], extra[0], chosen=extra[1])
        assert pieces == events

    def ask(self) -> None:
        """Predictions, which change nothing."""
        X = self.rows()[0]
        if self.model.n_rows:
            state = dump(self.model)
            probabilities = self.model.predict_proba(X)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
            np.testing.assert_array_equal(self.other.predict_proba(X), probabilities)
            np.testing.assert_array_equal(self.other.wants_label(X), self.model.wants_label(X))
            assert dump(self.model) == state

    def store(self) -> None:
        """Only one of the two is stored and read again."""
        self.other = parse(dump(self.other))

    def add_feature(self) -> None:
        """A feature appears, if it may."""
        if self.model.config.missing == "skip" and self.model.n_rows and self.n_features < 7:
            for model in (self.model, self.other):
                model.add_features([f"late{self.n_features}"])
            self.n_features += 1
            self.units = np.append(self.units, 1.0)

    def step(self) -> None:
        """Something happens; then both are the same, and sound."""
        actions: list[Callable[[], None]] = [self.learn, self.learn_rows, self.ask, self.store]
        self.rng.choice([*actions, *actions, self.add_feature])()  # type: ignore[arg-type]
        assert dump(self.model) == dump(self.other)
        if self.model.n_rows:
            assert_sound(self.model)


@pytest.mark.parametrize("seed", range(count(20, 3)))
def test_any_use_is_safe(seed: int) -> None:
    rng = np.random.default_rng(seed)
    use = Use(rng)
    for _ in range(int(rng.integers(3, 15))):
        use.step()
