"""The first use on a machine compiles all kernels, and says so."""

import logging
from typing import Any

import numpy as np

from devfnn.kernels.state import Floats, Ints

_state = {"is_ready": False}


def ensure_compiled() -> None:
    """Compile every kernel once per machine, and tell the user why the first call is slow."""
    if _state["is_ready"]:
        return
    _state["is_ready"] = True  # the model used below asks again
    from devfnn.kernels._jit import discard_stale_cache, write_stamp

    if discard_stale_cache():
        logging.getLogger("devfnn").warning(
            "devfnn: compiling its kernels, once on this machine (about a minute) ..."
        )
        use_every_kernel()
        write_stamp()


def use_every_kernel() -> None:
    """Call every kernel on a few rows, so that Numba compiles and keeps it."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X[:, 0] > 0.5).astype(np.int64)
    for network in ("concepts", "stacked"):
        _use_network(X, y, network)
    _use_fleet(X, y)
    _score_a_chunk(y, np.stack([1.0 - X[:, 0], X[:, 0]], axis=1))


def _use_network(X: Floats, y: Ints, network: Any) -> None:
    """Compile the kernels of one kind of network."""
    from devfnn.kernels.concept_state import FIRST_KEPT
    from devfnn.kernels.layers import decouple_input
    from devfnn.kernels.pool import drop_layer
    from devfnn.model.concepts.network import ConceptNetwork
    from devfnn.model.config import Config
    from devfnn.model.devfnn import DEVFNN
    from devfnn.model.network import Network

    model = DEVFNN(Config(network=network))
    model.learn(X, y)
    model.learn(X + 10.0, y)  # leaves its range, so that the rules are rebased
    model.learn_rows(X, y)
    model.predict(X)
    model.wants_label(X)
    match model._network:
        case Network() as stack:
            decouple_input(stack.layers, 0, 0, model.config.width_floor)
        case ConceptNetwork() as rivals:
            _ = model.voting_weights
            drop_layer(rivals.state, FIRST_KEPT)


def _use_fleet(X: Floats, y: Ints) -> None:
    """Compile the kernels of many models at once."""
    from devfnn.model.fleet import Fleet

    fleet = Fleet(2, 2, [0, 1])
    fleet.learn(y, X, y)
    fleet.predict(y, X)


def _score_a_chunk(y: Ints, probabilities: Floats) -> None:
    """Compile the kernels that score predictions."""
    from devfnn.kernels import scoring

    levels = [scoring.empty_levels(2) for _ in range(3)]
    past = scoring.Past(np.zeros(2, np.int64), np.zeros(1, np.int64), *levels)
    rows = scoring.Scored(y, y, probabilities, np.arange(2), np.zeros(0, np.int64))
    scoring.score_rows(rows, scoring.empty_sums(2), past, np.zeros(2))
    scoring.overall_area(past.total)
