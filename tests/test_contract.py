"""Every classifier of the package keeps the contract."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from contract import CHECKS, ROWS, Factory
from devfnn import DEVFNN, Config, GClass
from devfnn.model import presets
from scenes import stacked


def factory(kind: type[DEVFNN], config: Config, **changes: Any) -> DEVFNN:
    """A fresh model."""
    return kind(config.replace(**changes))


MASKED = Config(feature_mask=True, active_learning=False, chunk_rows=ROWS)
CLASSIFIERS: dict[str, Factory] = {
    "default": functools.partial(factory, DEVFNN, presets.default()),
    "stacked": functools.partial(factory, DEVFNN, stacked()),
    "static": functools.partial(factory, DEVFNN, presets.static()),
    "fixed rules": functools.partial(factory, DEVFNN, presets.static().replace(rules="fixed")),
    "paper": functools.partial(factory, DEVFNN, presets.paper("sea")),
    "least squares": functools.partial(factory, DEVFNN, stacked(consequent="least_squares")),
    "unscaled": functools.partial(factory, DEVFNN, Config(scaling="none")),
    "unscaled stack": functools.partial(factory, DEVFNN, stacked(scaling="none")),
    "masked": functools.partial(factory, DEVFNN, MASKED),
    "never forgetting": functools.partial(factory, DEVFNN, Config(forgetting=False)),
    "only lines and boxes": functools.partial(factory, DEVFNN, Config(max_clouds=0)),
    "one layer": functools.partial(factory, GClass, Config()),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_classifier_keeps_the_contract(name: str, check: Callable[[Factory], None]) -> None:
    check(CLASSIFIERS[name])
