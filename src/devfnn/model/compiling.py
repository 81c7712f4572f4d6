"""Compiles the kernels that are needed at the first use on a machine."""

import logging

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.model.config import Config
from devfnn.model.state import compiled_modules

_ready: set[str] = set()
"""What this process has compiled."""


def ensure_compiled(config: Config | str) -> None:
    """Compile once per machine, and log why the first call is slow.

    config: that of a network; "fleet" or "nodes" for the kernels of fleets and of DSSCN
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
    """What is compiled together: kernels for the kinds of layers that a network has.

    >>> name_of(Config())
    'window+pool+clouds+surface+prior+boosted+neighbours+stacked'
    """
    if isinstance(config, str):
        return config
    return "+".join(module.NAME for module in compiled_modules(config))


def use_kernels(config: Config | str) -> None:
    """Call the kernels on a few rows, so that Numba compiles and keeps them."""
    from devfnn.kernels import scoring
    from devfnn.kernels.dsscn import learn_nodes
    from devfnn.model.fleet import Fleet

    X = np.random.default_rng(0).random((200, 2))
    y = (X[:, 0] > 0.5).astype(np.int64)
    if isinstance(config, Config):
        _use_network(X, y, config)
    elif config == "fleet":
        fleet = Fleet(2, 2, [0, 1])
        fleet.learn(y, X, y)
        fleet.predict(y, X)
    else:  # nodes with weights of their own
        shares, targets = np.ones((len(X), 1)), y[:, None].astype(np.float64)
        learn_nodes(np.zeros((1, 1, 2)), np.eye(2)[None], X, shares, targets, 1e-15, np.empty(2))
    past = scoring.Past(
        np.zeros(2, np.int64), np.zeros(1, np.int64), *(scoring.empty_levels(2) for _ in range(3))
    )
    rows = scoring.Scored(y, y, np.stack([1.0 - X[:, 0], X[:, 0]], axis=1), np.arange(2))
    scoring.score_rows(rows, scoring.empty_sums(2), past, np.zeros(2))
    scoring.overall_area(past.total)


def _use_network(X: Floats, y: Ints, config: Config) -> None:
    """Compile what a network uses."""
    from devfnn.kernels import boxes, gaussian, labels, votes
    from devfnn.kernels.state import UNLABELLED
    from devfnn.model.devfnn import DEVFNN

    model = DEVFNN(config.replace(lags=0, scaling="online", missing="error"))
    model.learn(X, y)
    model.learn(X + 10.0, y)  # leaves its range, so that the rules are rebased
    model.learn_rows(X, y)
    model.predict(X)
    model.predict_proba_one(X[0])
    model.wants_label(X)
    own, nothing = model._known(), np.zeros(2, np.bool_)
    state, n_layers = own.state, own.sizes.layers
    labels.count_rows(own.budget.copy(), np.full(2, UNLABELLED), nothing)
    labels.keep_to_budget(own.budget.copy(), 2, nothing)
    outputs = np.zeros((1, own.shares.size, 2))
    if state.pool is not None and n_layers > len(config.layers):
        boxes.drop_layer(state.layers, state.pool, n_layers - 1)
    if state.gaussians is not None:
        votes.move_votes_by_rows(*own.held()[:2], outputs, y[:1], nothing[:1])
        gaussian.decouple_input(state.gaussians, 0, 0, 0.1)
