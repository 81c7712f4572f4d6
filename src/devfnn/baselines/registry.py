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
from devfnn.baselines.peers import LIBRARIES, make_peer
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
    """Its name for users."""
    description: str
    """What it is, in one line."""
    make: Callable[..., Any]
    """Called with a stream, a configuration or None, a seed, and options by name."""
    extra: str | None = None
    """The extra of this package that brings what it needs."""
    is_random: bool = False
    """Whether another seed gives another result."""
    takes_config: bool = False
    """Whether it has a `Config`; its options are then changes of it."""
    preset: str = "default"
    """The preset it starts from if none is named, if it has a `Config`."""
    needs_scaling: bool = False
    """Whether rows must be scaled for it: it neither does that itself nor does well without."""
    takes_gaps: bool = True
    """Whether it is given rows with missing values."""
    needs_classes: bool = False
    """Whether it must know all classes before it learns; a file is then read once for them."""


def make_model(
    name: str,
    stream: Stream,
    *,
    config: Config | None = None,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """A new model for a stream, as the library it comes from knows it. name: one of `MODELS`

    The stream says the names of the features, the classes as far as they are known, and how many
    chunks there will be; a model that is to learn row by row gets `stream.chunks(rows=1)`. DEVFNN
    and its parts start from `config`; other models leave it aside. The seed is by default that of
    the configuration, else 0. Options are arguments of the constructor; for DEVFNN and its parts,
    changes as of `Config.replace`.

    >>> from devfnn.streams import sea
    >>> make_model("logistic", sea(100), options={"gaussian__memory": 0.999}).config.gaussian.memory
    0.999
    """
    if seed is None:
        seed = config.seed if config is not None else 0
    entry = _entry(name)
    known = stream.with_all_classes() if entry.needs_classes else stream
    return entry.make(known, config, seed, **(options or {}))


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


def _devfnn(start: Any, stream: Stream, config: Config | None, seed: int, /, **options: Any) -> Any:
    """DEVFNN or a part of it, from a configuration or a preset with some parameters set.

    start: the class, the name of its preset, and the parameters that are set
    """
    kind, preset, fixed = start
    config = config if config is not None else presets.by_name(preset)
    config = config.replace(**fixed | {"seed": seed} | options)
    return kind(_weighted_by_label(config, stream), stream.feature_names, stream.classes)


def _weighted_by_label(config: Config, stream: Stream) -> Config:
    """The same with weights of classes by label, which may be named as the stream names them."""
    if not config.weight_of:
        return config
    named = dict(zip(stream.class_names, stream.classes, strict=False))
    named = {str(label): label for label in stream.classes} | named
    pairs = [
        (label if label in stream.classes else named.get(str(label), label), weight)
        for label, weight in config.weight_of.items()
    ]
    return config.replace(class_weights=pairs)


def _labels_only(name: str, stream: Stream, config: object, seed: int, /, **options: Any) -> Any:
    """A model without options."""
    for option in options:
        raise InputError(f"{name} has no option {option!r}; it has none")
    return Majority() if name == "majority" else NoChange()


def _rival(name: str, stream: Stream, config: object, seed: int, /, **options: Any) -> Any:
    """A system of the paper's table; where the length of the stream is known, tasks are equal."""
    if name == "DSSCN":
        return DSSCN(seed, **options)
    try:
        module = importlib.import_module(f"devfnn.baselines.networks.{name.lower()}")
    except ImportError as error:
        raise InputError(
            f"{name} needs PyTorch: pip install 'devfnn[baselines]' ({error})"
        ) from error
    known: dict[str, Any] = {"classes": tuple(stream.classes)}
    if stream.n_rows and stream.chunk_span is None:
        known["n_chunks"] = math.ceil(stream.n_rows / stream.chunk_rows)
    return getattr(module, name)(seed, **known | options)


def _own(
    name: str, what: str, kind: Any = DEVFNN, preset: str = "default", **fixed: Any
) -> ModelEntry:
    """A model of ours: a preset, and what makes it this model."""
    make = functools.partial(_devfnn, (kind, preset, fixed))
    is_random = fixed.get("labels__choice") != "all"  # which labels are learned is drawn
    return ModelEntry(name, what, make, is_random=is_random, takes_config=True, preset=preset)


def _one_rule(name: str, what: str, consequent: str) -> ModelEntry:
    description = f"one rule: recursive {what} on second-order features"
    fixed = {"gaussian__consequent": consequent, "gaussian__growing": False}
    return _own(name, description, GClass, "stacked", **fixed, labels__choice="all")


def _of_table(name: str, what: str) -> ModelEntry:
    make, extra = functools.partial(_rival, name.upper()), None if name == "dsscn" else "baselines"
    return ModelEntry(name, what, make, extra, is_random=True, needs_scaling=True, takes_gaps=False)


def _simple(name: str, description: str) -> ModelEntry:
    return ModelEntry(name, description, functools.partial(_labels_only, name))


def _peer(name: str, path: str, what: str, is_random: bool = True) -> ModelEntry:
    """A model of another library, which its name begins with; `path` is that of its class."""
    package = name.split("-")[0]
    home = "capymoa.classifier" if package == "capymoa" else package
    return ModelEntry(
        name,
        f"{LIBRARIES[package]}: {what}",
        functools.partial(make_peer, f"{home}.{path}"),
        extra="bench",
        is_random=is_random,
        needs_scaling=package == "sklearn",
        takes_gaps=package == "capymoa",
        needs_classes=package != "river" or path == "linear_model.LogisticRegression",
    )


_ENTRIES = (
    _own(
        "devfnn",
        "our own default: layers of different kinds, and a stack; as published: devfnn@paper",
    ),
    _own(
        "sdevfnn",
        "static DEVFNN as printed: three layers for good, in each as many rules as features",
        preset="paper",
        **presets.FIXED_DEPTH,
        gaussian__rules="fixed",
    ),
    _own(
        "sdevfnn-evolving",
        "static DEVFNN as printed, but rules come and go",
        preset="paper",
        **presets.FIXED_DEPTH,
    ),
    _of_table("dsscn", "deep stacked stochastic configuration network"),
    _of_table("pnn", "progressive neural network: a column for each task"),
    _of_table("den", "dynamically expandable network: units are added and split for each task"),
    _of_table("hat", "hard attention to the task: a network with gates for each task"),
    _own("gclass", "one layer of the paper's kind: evolving fuzzy rules", GClass, "stacked"),
    _one_rule("rls", "least squares", "least_squares"),
    _one_rule("logistic", "logistic regression", "logistic"),
    _simple("majority", "the label that came most often so far"),
    _simple("no-change", "the last label learned"),
    _peer("river-gaussian-nb", "naive_bayes.GaussianNB", "Gaussian naive Bayes", is_random=False),
    _peer(
        "river-hoeffding-tree", "tree.HoeffdingTreeClassifier", "Hoeffding tree", is_random=False
    ),
    _peer(
        "river-hoeffding-adaptive-tree",
        "tree.HoeffdingAdaptiveTreeClassifier",
        "Hoeffding adaptive tree",
    ),
    _peer("river-arf", "forest.ARFClassifier", "adaptive random forest, 10 trees"),
    _peer("river-srp", "ensemble.SRPClassifier", "streaming random patches, 10 trees"),
    _peer(
        "river-leveraging-bagging",
        "ensemble.LeveragingBaggingClassifier",
        "leveraging bagging of 10 Hoeffding trees",
    ),
    _peer(
        "river-logistic",
        "linear_model.LogisticRegression",
        "standard scaling, then logistic regression by gradient steps",
        is_random=False,
    ),
    _peer(
        "river-knn",
        "neighbors.KNNClassifier",
        "standard scaling, then 5 nearest neighbours of 1000 rows",
    ),
    _peer("capymoa-naive-bayes", "NaiveBayes", "naive Bayes", is_random=False),
    _peer("capymoa-hoeffding-tree", "HoeffdingTree", "Hoeffding tree", is_random=False),
    _peer("capymoa-hat", "HoeffdingAdaptiveTree", "Hoeffding adaptive tree", is_random=False),
    _peer("capymoa-arf", "AdaptiveRandomForestClassifier", "adaptive random forest, 100 trees"),
    _peer("capymoa-srp", "StreamingRandomPatches", "streaming random patches, 100 trees"),
    _peer(
        "capymoa-sgbt",
        "StreamingGradientBoostedTrees",
        "streaming gradient boosted trees, 100 steps",
    ),
    _peer("capymoa-leveraging-bagging", "LeveragingBagging", "leveraging bagging of 100 trees"),
    _peer(
        "sklearn-sgd", "linear_model.SGDClassifier", "logistic regression by stochastic gradients"
    ),
    _peer(
        "sklearn-mlp", "neural_network.MLPClassifier", "multi-layer perceptron, 100 hidden units"
    ),
    _peer("sklearn-gaussian-nb", "naive_bayes.GaussianNB", "Gaussian naive Bayes", is_random=False),
)

MODELS: Mapping[str, ModelEntry] = {entry.name: entry for entry in _ENTRIES}
"""All models by the names users know them by."""
