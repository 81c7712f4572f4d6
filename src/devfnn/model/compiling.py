"""The first use on a machine compiles the kernels that are needed, and says so."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from devfnn.kernels.state import Floats, Ints

_ready: set[str] = set()
"""What this process need not look at again."""


def ensure_compiled(what: str) -> None:
    """Compile once per machine, and tell the user why the first call is slow.

    Parameters
    ----------
    what
        A network as `Config.network` names it, "fleet", or the "nodes" of DSSCN.
    """
    if what in _ready:
        return
    _ready.add(what)  # the model used below asks again
    from devfnn.kernels._jit import discard_stale_cache, write_stamp

    if discard_stale_cache(what):
        logging.getLogger("devfnn").warning(
            "devfnn: compiling its kernels (%s), once on this machine (up to two minutes) ...", what
        )
        use_kernels(what)
        write_stamp(what)


def use_kernels(what: str) -> None:
    """Call the kernels on a few rows, so that Numba compiles and keeps them."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X[:, 0] > 0.5).astype(np.int64)
    PARTS[what](X, y)
    _score_a_chunk(y, np.stack([1.0 - X[:, 0], X[:, 0]], axis=1))


def _use_network(X: Floats, y: Ints, network: Any) -> Any:
    """Compile what both kinds of network use; returns the network."""
    from devfnn.model.config import Config
    from devfnn.model.devfnn import DEVFNN

    model = DEVFNN(Config(network=network))
    model.learn(X, y)
    model.learn(X + 10.0, y)  # leaves its range, so that the rules are rebased
    model.learn_rows(X, y)
    model.predict(X)
    model.wants_label(X)
    sparing = DEVFNN(Config(network=network, label_budget=0.5))
    asked = sparing.ask(X)
    sparing.answer(X[asked], y[asked])
    sparing.learn(X, y)
    sparing.ask(X)
    _ = model.voting_weights
    return model._network


def _use_concepts(X: Floats, y: Ints) -> None:
    """Compile the kernels of the concept network."""
    from devfnn.kernels.concept_state import FIRST_KEPT
    from devfnn.kernels.pool import drop_layer

    drop_layer(_use_network(X, y, "concepts").state, FIRST_KEPT)


def _use_stack(X: Floats, y: Ints) -> None:
    """Compile the kernels of the stacked network."""
    from devfnn.kernels.layers import decouple_input
    from devfnn.model.config import Config

    decouple_input(_use_network(X, y, "stacked").layers, 0, 0, Config().width_floor)


def _use_fleet(X: Floats, y: Ints) -> None:
    """Compile the kernels of many models at once."""
    from devfnn.model.fleet import Fleet

    fleet = Fleet(2, 2, [0, 1])
    fleet.learn(y, X, y)
    fleet.predict(y, X)


def _use_nodes(X: Floats, y: Ints) -> None:
    """Compile the kernel of nodes with weights of their own."""
    from devfnn.kernels.node_weights import learn_nodes

    shares, targets = np.ones((len(X), 1)), y[:, None].astype(np.float64)
    learn_nodes(np.zeros((1, 1, 2)), np.eye(2)[None], X, shares, targets, 1e-15, np.empty(2))


PARTS: dict[str, Callable[[Floats, Ints], None]] = {
    "concepts": _use_concepts,
    "stacked": _use_stack,
    "fleet": _use_fleet,
    "nodes": _use_nodes,
}
"""Kernels that are compiled together."""


def _score_a_chunk(y: Ints, probabilities: Floats) -> None:
    """Compile the kernels that score predictions."""
    from devfnn.kernels import scoring

    levels = [scoring.empty_levels(2) for _ in range(3)]
    past = scoring.Past(np.zeros(2, np.int64), np.zeros(1, np.int64), *levels)
    rows = scoring.Scored(y, y, probabilities, np.arange(2))
    scoring.score_rows(rows, scoring.empty_sums(2), past, np.zeros(2))
    scoring.overall_area(past.total)
