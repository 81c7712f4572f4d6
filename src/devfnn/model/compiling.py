"""The first use on a machine compiles the kernels that are needed, and says so."""

import logging

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.model.config import Config, KeepLayers
from devfnn.model.layers import STORES

_ready: set[str] = set()
"""What this process need not look at again."""


def ensure_compiled(config: Config | str) -> None:
    """Compile once per machine, and tell the user why the first call is slow.

    Parameters
    ----------
    config
        The configuration of a network; "fleet" or "nodes" for the kernels of fleets and of DSSCN.
    """
    what = name_of(config)
    if what in _ready:
        return
    _ready.add(what)  # the model used below asks again
    from devfnn.kernels._jit import discard_stale_cache, write_stamp

    if discard_stale_cache(what):
        logging.getLogger("devfnn").warning(
            "devfnn: compiling its kernels (%s), once on this machine (about a minute) ...", what
        )
        use_kernels(config)
        write_stamp(what)


def everything() -> list[Config | str]:
    """All that can be compiled: the networks of the presets, fleets, nodes."""
    from devfnn.model import presets

    return [presets.default(), presets.stacked(), "fleet", "nodes"]


def name_of(config: Config | str) -> str:
    """What is compiled together: kernels for the kinds of layers that a network has, and no others.

    >>> name_of(Config())
    'pool+clouds'
    """
    if isinstance(config, str):
        return config
    return "+".join(store.NAME for store in STORES if config.has(*store.KINDS))


def use_kernels(config: Config | str) -> None:
    """Call the kernels on a few rows, so that Numba compiles and keeps them."""
    X = np.random.default_rng(0).random((200, 2))
    y = (X[:, 0] > 0.5).astype(np.int64)
    if isinstance(config, Config):
        _use_network(X, y, config)
    else:
        {"fleet": _use_fleet, "nodes": _use_nodes}[config](X, y)
    _score_a_chunk(y, np.stack([1.0 - X[:, 0], X[:, 0]], axis=1))


def _use_network(X: Floats, y: Ints, config: Config) -> None:
    """Compile what a network uses."""
    from devfnn.kernels import boxes, gaussian, labels, network, votes
    from devfnn.kernels.state import UNLABELLED
    from devfnn.model.devfnn import DEVFNN
    from devfnn.model.network import event_buffer

    model = DEVFNN(config.replace(lags=0, scaling="online", missing="error"))
    model.learn(X, y)
    model.learn(X + 10.0, y)  # leaves its range, so that the rules are rebased
    model.learn_rows(X, y)
    model.predict(X)
    model.wants_label(X)
    own = model._network
    assert own is not None
    shares, state, params = own.shares, own.state, own.params
    budget, unlabelled = own.budget.copy(), np.full(2, UNLABELLED)
    labels.count_rows(budget, unlabelled, np.zeros(2, np.bool_))
    labels.keep_to_budget(budget, 2, np.zeros(2, np.bool_))
    outputs = np.zeros((1, shares.size, 2))
    if state.pool is not None:
        network.say_again(state, np.zeros((1, 2)), 1, params, own.work, outputs)
        if isinstance(config.growing, KeepLayers):
            network.respond_to_drift(state, outputs, params, event_buffer(1, 1))
        if own.sizes.layers > len(config.layers):
            boxes.drop_layer(state.layers, state.pool, shares.size - 1)
    if state.gaussians is not None:
        votes.move_votes_by_rows(state, outputs, y[:1], np.zeros(1, np.bool_), 0, params)
        gaussian.decouple_input(state.gaussians, 0, 0, 0.1)


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


def _score_a_chunk(y: Ints, probabilities: Floats) -> None:
    """Compile the kernels that score predictions."""
    from devfnn.kernels import scoring

    levels = [scoring.empty_levels(2) for _ in range(3)]
    past = scoring.Past(np.zeros(2, np.int64), np.zeros(1, np.int64), *levels)
    rows = scoring.Scored(y, y, probabilities, np.arange(2))
    scoring.score_rows(rows, scoring.empty_sums(2), past, np.zeros(2))
    scoring.overall_area(past.total)
