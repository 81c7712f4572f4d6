"""Every kind of network keeps the contract."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from contract import CHECKS, ROWS, Factory
from devfnn import DEVFNN, Config, GClass
from devfnn.model import presets
from devfnn.model.config import Layer
from scenes import stacked, swift


def factory(kind: type[DEVFNN], config: Config, **changes: Any) -> DEVFNN:
    """A fresh model."""
    return kind(config.replace(**changes))


CONFIGS: dict[str, Config] = {
    "default": presets.default(),
    "stacked": stacked(),
    "static": presets.static(),
    "fixed rules": presets.static().replace(gaussian__rules="fixed"),
    "paper": presets.paper("sea"),
    "least squares": stacked(gaussian__consequent="least_squares"),
    "small window": presets.default().replace(window__rows=400),
    "unscaled": swift(scaling="none"),
    "unscaled stack": stacked(scaling="none"),
    "masked": swift(feature_mask={}, labels__choice="all", chunk_rows=ROWS),
    "balanced": swift(class_weights="balanced"),
    "never forgetting": swift(memory=None),
    "only lines and boxes": swift(clouds=None),
    "a single line": swift(layers=[Layer("line")], growing=None, drift=None, merging=None),
}
FACTORIES: dict[str, Factory] = {
    name: functools.partial(factory, DEVFNN, config) for name, config in CONFIGS.items()
} | {"one layer": functools.partial(factory, GClass, presets.stacked())}


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_classifier_keeps_the_contract(name: str, check: Callable[[Factory], None]) -> None:
    check(FACTORIES[name])
