"""Every classifier of the package keeps the contract."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from contract import CHECKS, Factory
from devfnn import DEVFNN, Config, GClass
from devfnn.model import presets


def factory(kind: type[DEVFNN], config: Config, **changes: Any) -> DEVFNN:
    """A fresh model."""
    return kind(config.replace(**changes))


CLASSIFIERS: dict[str, Factory] = {
    "default": functools.partial(factory, DEVFNN, presets.default()),
    "static": functools.partial(factory, DEVFNN, presets.static()),
    "paper": functools.partial(factory, DEVFNN, presets.paper("sea")),
    "least squares": functools.partial(factory, DEVFNN, Config(consequent="least_squares")),
    "unscaled": functools.partial(factory, DEVFNN, Config(scaling="none")),
    "one layer": functools.partial(factory, GClass, Config()),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_classifier_keeps_the_contract(name: str, check: Callable[[Factory], None]) -> None:
    check(CLASSIFIERS[name])
