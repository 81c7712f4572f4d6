"""All models by name: DEVFNN, its parts, its rivals in the paper, and those of other libraries."""

import dataclasses
import difflib
import functools
import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any

from devfnn.baselines.chunks import Majority, NoChange
from devfnn.baselines.dsscn import DSSCN
from devfnn.baselines.peers import PEERS, Peer
from devfnn.errors import InputError
from devfnn.model import presets
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.gclass import GClass
from devfnn.streams.stream import Stream


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """A model that can be made for a stream."""

    name: str
    """What users call it."""
    description: str
    """What it is, in one line."""
    make: Callable[..., Any]
    """Called with a stream, a configuration or None, a seed, and options by name."""
    extra: str | None = None
    """The extra of this package that brings what it needs."""
    is_random: bool = False
    """Whether another seed gives another result."""
    takes_config: bool = False
    """Whether it has a `Config`; its options are then the parameters in it."""
    preset: str = "default"
    """The preset it starts from if none is named, if it has a `Config`."""
    needs_scaling: bool = False
    """Whether rows must be scaled for it: it neither does that itself nor does well without."""
    takes_gaps: bool = True
    """Whether it is given rows with missing values; what it does with them is its own affair."""


def make_model(
    name: str,
    stream: Stream,
    *,
    config: Config | None = None,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """A new model for a stream, as the library it comes from knows it.

    Parameters
    ----------
    name
        One of `MODELS`.
    stream
        Says the names of the features, the classes as far as they are known, and how many chunks
        there will be; a model that is to learn row by row gets `stream.chunks(rows=1)`.
    config
        Where DEVFNN and its parts start from; other models have none and leave it aside.
    seed
        Of the model, if it draws anything; by default that of the configuration, else 0.
    options
        Arguments of the constructor; for DEVFNN and its parts, parameters of `Config`.

    Examples
    --------
    >>> from devfnn.streams import sea
    >>> make_model("logistic", sea(100), options={"memory": 0.999}).config.memory
    0.999
    """
    if seed is None:
        seed = config.seed if config is not None else 0
    return _entry(name).make(stream, config, seed, **(options or {}))


def is_random(name: str) -> bool:
    """Whether another seed gives another result on the same rows.

    >>> is_random("river-arf"), is_random("majority")
    (True, False)
    """
    return _entry(name).is_random


def _entry(name: str) -> ModelEntry:
    if name not in MODELS:
        close = difflib.get_close_matches(name, MODELS, n=2)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise InputError(f"no model is called {name!r}; {hint}There are {', '.join(MODELS)}")
    return MODELS[name]


def _devfnn(
    kind: Callable[..., DEVFNN],
    preset: str,
    fixed: Mapping[str, Any],
    stream: Stream,
    config: Config | None,
    seed: int,
    /,
    **options: Any,
) -> DEVFNN:
    """DEVFNN or a part of it, from a configuration with some parameters set."""
    changes = dict(fixed) | {"seed": seed} | options
    start = config
    if start is None:
        start = presets.paper() if preset == "paper" else presets.default()
    return kind(start.replace(**changes), feature_names=stream.feature_names)


def _labels_only(name: str, stream: Stream, config: object, seed: int, /, **options: Any) -> Any:
    """A model that takes nothing."""
    for option in options:
        raise InputError(f"{name} has no option {option!r}; it has none")
    return Majority() if name == "majority" else NoChange()


def _dsscn(stream: Stream, config: object, seed: int, /, **options: Any) -> DSSCN:
    return DSSCN(seed, **options)


def _network(class_name: str, stream: Stream, config: object, seed: int, /, **options: Any) -> Any:
    """A network for tasks; where the length of the stream is known, tasks are equal parts of it."""
    try:
        module = importlib.import_module(f"devfnn.baselines.networks.{class_name.lower()}")
    except ImportError as error:
        raise InputError(
            f"{class_name} needs PyTorch: pip install 'devfnn[baselines]' ({error})"
        ) from error
    known: dict[str, Any] = {"classes": tuple(stream.classes)}
    if stream.n_rows and stream.chunk_span is None:
        known["n_chunks"] = math.ceil(stream.n_rows / stream.chunk_rows)
    return getattr(module, class_name)(seed, **known | options)


def _own(
    name: str, description: str, kind: Any, is_random: bool, preset: str = "default", **fixed: Any
) -> ModelEntry:
    make = functools.partial(_devfnn, kind, preset, fixed)
    return ModelEntry(
        name, description, make, is_random=is_random, takes_config=True, preset=preset
    )


def _one_rule(name: str, what: str, consequent: str) -> ModelEntry:
    description = f"one rule: recursive {what} on second-order features"
    fixed = {"rule_growing": False, "active_learning": False}
    return _own(name, description, GClass, False, "default", consequent=consequent, **fixed)


def _simple(name: str, description: str) -> ModelEntry:
    return ModelEntry(name, description, functools.partial(_labels_only, name))


def _rival(name: str, description: str) -> ModelEntry:
    """A system of the paper's table."""
    make = _dsscn if name == "dsscn" else functools.partial(_network, name.upper())
    extra = None if name == "dsscn" else "baselines"
    return ModelEntry(
        name, description, make, extra, is_random=True, needs_scaling=True, takes_gaps=False
    )


def _peer(name: str, peer: Peer) -> ModelEntry:
    return ModelEntry(
        name,
        peer.description,
        peer,
        extra="bench",
        is_random=peer.is_random,
        needs_scaling=peer.library == "scikit-learn",
        takes_gaps=peer.library == "CapyMOA",
    )


_ENTRIES = (
    _own("devfnn", "the deep evolving fuzzy neural network", DEVFNN, True),
    _own(
        "sdevfnn",
        "static DEVFNN as printed: three layers for good, in each as many rules as features",
        DEVFNN,
        True,
        preset="paper",
        **presets.FIXED_DEPTH | {"rules": "fixed"},
    ),
    _own(
        "sdevfnn-evolving",
        "static DEVFNN as printed, but rules come and go",
        DEVFNN,
        True,
        preset="paper",
        **presets.FIXED_DEPTH,
    ),
    _rival("dsscn", "deep stacked stochastic configuration network"),
    _rival("pnn", "progressive neural network: a column for each task"),
    _rival("den", "dynamically expandable network: units are added and split for each task"),
    _rival("hat", "hard attention to the task: a network with gates for each task"),
    _own("gclass", "one layer of it: evolving fuzzy rules without depth", GClass, True),
    _one_rule("rls", "least squares", "least_squares"),
    _one_rule("logistic", "logistic regression", "logistic"),
    _simple("majority", "the label that came most often so far"),
    _simple("no-change", "the last label learned"),
    *(_peer(name, peer) for name, peer in PEERS.items()),
)

MODELS: Mapping[str, ModelEntry] = {entry.name: entry for entry in _ENTRIES}
"""All models by the names users know them by."""
