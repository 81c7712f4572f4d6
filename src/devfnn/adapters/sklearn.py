"""DEVFNN and GClass as classifiers of scikit-learn: `pip install 'devfnn[sklearn]'`."""

import contextlib
import functools
import inspect
import numbers
import os
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from devfnn.adapters.shared import ModelExplanations, flat_parameters, needs
from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.explanation import Explanation
from devfnn.model.gclass import GClass
from devfnn.model.rules import Rule
from devfnn.model.validation import check_values

with needs("scikit-learn 1.6 or newer", "sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["DEVFNNClassifier", "GClassClassifier"]

Estimator = TypeVar("Estimator", bound=Any)

_ROWS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
"""How scikit-learn converts rows; the model looks for NaN itself, and says where it is."""


def _with_parameters(estimator: Estimator) -> Estimator:
    """Give a class the parameters of its model, in its docstring and for scikit-learn to read."""
    known = flat_parameters(estimator._core().config)
    defaults = {"config": None} | {name: each.value for name, each in known.items()}
    kinds = {"config": Config | None} | {name: each.annotation for name, each in known.items()}
    keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    own = [keyword(name, default=defaults[name], annotation=kinds[name]) for name in defaults]
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([first, *own])

    def init(self: Any, **parameters: Any) -> None:
        given = signature.bind(self, **parameters)
        given.apply_defaults()
        # Each under its name and unchecked, as scikit-learn wants it.
        self.__dict__.update({name: given.arguments[name] for name in defaults})

    init.__signature__ = signature  # type: ignore[attr-defined]
    estimator.__init__, estimator._defaults = init, defaults
    lines = [f"{name} : default {p.value!r}\n        {p.meaning}" for name, p in known.items()]
    if estimator.__doc__:  # there is none with python -OO
        estimator.__doc__ = estimator.__doc__.replace("<parameters>", "\n    ".join(lines))
    return estimator


@_with_parameters
class DEVFNNClassifier(ModelExplanations, ClassifierMixin, BaseEstimator):
    """`devfnn.DEVFNN` with scikit-learn's interface.

    Rows are learned once, in the order given. `fit` starts anew and learns chunks of `chunk_rows`
    rows; `partial_fit` goes on and learns its rows as one chunk. Predictions are those of
    `devfnn.DEVFNN` after the same chunks.

    Parameters
    ----------
    config : Config, optional
        Where to start from, for other layers and mechanisms than those of the default:
        `presets.paper()`, `Config().replace(clouds=None)`. Parameters below that are not at their
        default are set on top of it.
    <parameters>

    Attributes
    ----------
    classes_ : ndarray
        All classes, sorted; also those that no row had so far.
    n_features_in_ : int
        Features of a row.
    feature_names_in_ : ndarray of str
        Their names; only there if rows came with names that are all text.
    model_ : DEVFNN
        The model itself, for its rules and its size.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(1000, random_state=0)
    >>> model = DEVFNNClassifier().fit(X[:800], y[:800])
    >>> model.score(X[800:], y[800:]) > 0.85
    True
    """

    _core: ClassVar[type[DEVFNN]] = DEVFNN

    _defaults: ClassVar[dict[str, Any]]

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; the two underscores of `drift__significance` are part of it."""
        for name in params:
            if name not in self._defaults:
                known = ", ".join(self._defaults)
                raise InputError(f"{type(self).__name__} has no {name!r}; there are {known}")
        self.__dict__.update(params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._missing() == "skip"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_") and bool(self.model_.classes)

    # ---- learn

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn the rows once, the oldest first, in chunks of `chunk_rows`.

        Sample weights are for `partial_fit`: scikit-learn promises that rows with weights, in any
        order, are the same as rows repeated, and what a stream teaches depends on its order.
        """
        with self._unchanged_if_refused():
            rows, labels = self._checked(X, y, reset=True)
            model = self._new_model()
            for first in range(0, len(rows), model.config.chunk_rows):
                chunk = slice(first, first + model.config.chunk_rows)
                model.learn(rows[chunk], labels[chunk])
            self.classes_, self.model_ = np.unique(labels), model
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one more chunk, the oldest rows first. A call that is refused changes nothing.

        `classes` are all labels that may ever come; they are needed in the first call.
        `sample_weight` says how strongly rows are learned, a number for each or one for all; rows
        of weight 0 are passed over.
        """
        is_first = not hasattr(self, "model_")
        with self._unchanged_if_refused():
            every = self._all_classes(classes)
            rows, labels = self._checked(X, y, reset=is_first)
            _check_labels(np.unique(labels).tolist(), every)
            model = self._new_model() if is_first else self._unchanged_model()
            if isinstance(sample_weight, numbers.Number):
                sample_weight = [sample_weight] * len(rows)
            model.learn(rows, labels, sample_weight)
            self.classes_, self.model_ = every, model
        return self

    # ---- predict

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, columns as in `classes_`; classes that no row had so far have 0."""
        known, columns = self._known_probabilities(X)
        probabilities = np.zeros((len(known), len(self.classes_)))
        probabilities[:, columns] = known
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable labels of rows; of equals the one seen first, as in `DEVFNN`."""
        known, columns = self._known_probabilities(X)
        return np.asarray(self.classes_[columns[known.argmax(axis=1)]])

    def decision_function(self, X: Any) -> Floats:
        """Logarithms of the probabilities; of two classes, the log odds of the second.

        All are finite: a probability of 0 counts as the least positive number.
        """
        logs: Floats = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    # ---- explain

    @property
    def rules_(self) -> list[Rule]:
        """The active rules, those of largest weight first."""
        return self.rules()

    def explain(self, x: Any) -> Explanation:
        """Why the model predicts what it does for one row: contributions of layers and features.

        The row is a vector or a matrix of one row; a table of one row if features have names.
        """
        model = self._core_model()
        row = x if hasattr(x, "columns") else np.atleast_2d(np.asarray(x))
        if len(row) != 1:
            raise InputError(f"one row is explained at a time, not {len(row)}")
        return model.explain(validate_data(self, row, reset=False, **_ROWS)[0])

    def _core_model(self) -> DEVFNN:
        """The model, once it has learned something."""
        check_is_fitted(self)
        model: DEVFNN = self.model_
        return model

    # ---- store

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of `devfnn`, which runs no code when it is read.

        Classes that no row had so far are not in the file: name them to `load`.
        """
        self._core_model().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], classes: Any = None) -> Self:
        """Read a file of `save`, or of the model's own; the classifier goes on learning.

        Name all classes if there are more than the model has seen.
        """
        model = cls._core.load(path)
        start = cls._core().config
        own = {name: each.value for name, each in flat_parameters(model.config).items()}
        is_usual = model.config.layers == start.layers and {"config", *own} == set(cls._defaults)
        loaded = cls(**own) if is_usual else cls(config=model.config)
        if model.classes:
            every = unique_labels(model.classes if classes is None else classes)
            _check_labels(model.classes, every)
            loaded.classes_, loaded.model_ = every, model
            loaded._parameters_at_start = loaded._parameters()
            loaded.n_features_in_ = len(model.feature_names)
            if model._names is not None:
                loaded.feature_names_in_ = np.array(model._names, object)
        return loaded

    # ---- checking what comes in

    def _new_model(self) -> DEVFNN:
        """A model that knows nothing yet; parameters that it cannot have are refused."""
        given, start = self._parameters(), self.config
        if start is not None and not isinstance(start, Config):
            raise InputError(f"config must be a devfnn.Config, not {start!r}")
        changes = {name: given[name] for name in given if given[name] != self._defaults[name]}
        changes.pop("config", None)
        config = (start or self._core().config).replace(**changes)
        self._parameters_at_start = given
        return self._core(config, getattr(self, "feature_names_in_", None))

    def _missing(self) -> str:
        """How missing values are treated; `config` may say it, too."""
        own: str = self.missing
        if own != self._defaults["missing"]:
            return own
        return str(getattr(self.config, "missing", own))

    def _unchanged_model(self) -> DEVFNN:
        """The model; parameters that were set since it began are refused, it is built on them."""
        model: DEVFNN = self.model_
        for name, value in self._parameters().items():
            if value != self._parameters_at_start[name]:
                raise InputError(f"{name} changed after learning began; start anew with fit")
        return model

    def _parameters(self) -> dict[str, Any]:
        """As `get_params`, which takes longer than learning a row."""
        return {name: getattr(self, name) for name in self._defaults}

    def _all_classes(self, classes: Any) -> npt.NDArray[Any]:
        """All classes, sorted, from the first call of `partial_fit` on."""
        known: Any = getattr(self, "classes_", None)
        if classes is None and known is None:
            raise InputError("classes must be passed on the first call to partial_fit")
        every: npt.NDArray[Any] = known if classes is None else unique_labels(classes)
        if known is not None and not np.array_equal(every, known):
            problem = f"classes are {every.tolist()}, but were {known.tolist()} before"
            raise InputError(f"{problem}; leave them out, or start anew with a clone")
        return every

    @contextlib.contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """Forget what scikit-learn noted about rows that were refused."""
        before = dict(self.__dict__)
        try:
            yield
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Floats, npt.NDArray[Any]]:
        """Rows and labels as arrays; with `reset` the features of the rows become the model's."""
        rows, labels = validate_data(self, X, y, reset=reset, **_ROWS)
        check_classification_targets(labels)
        check_values(rows, self._missing())
        return rows, labels

    def _known_probabilities(self, X: Any) -> tuple[Floats, Ints]:
        """Probabilities in the model's order of classes, and where these are in `classes_`."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, **_ROWS)
        place = {label: index for index, label in enumerate(self.classes_.tolist())}
        columns = np.array([place[label] for label in self.model_.classes])
        return self.model_.predict_proba(rows), columns


@_with_parameters
class GClassClassifier(DEVFNNClassifier):
    """One layer of evolving fuzzy rules, with scikit-learn's interface: `devfnn.GClass`.

    All is as in `DEVFNNClassifier`, for a network of one gaussian layer.

    Parameters
    ----------
    config : Config, optional
        Where to start from: `presets.paper()`, of which the first layer is taken. Parameters below
        that are not at their default are set on top of it.
    <parameters>
    """

    _core: ClassVar[type[DEVFNN]] = GClass


def _check_labels(labels: Iterable[Any], classes: npt.NDArray[Any]) -> None:
    """Refuse labels that are no class."""
    known = classes.tolist()
    if strange := [label for label in labels if label not in known]:
        problem = f"label {strange[0]!r} is not among the classes {known}"
        raise InputError(f"{problem}; name all classes at first, those that come later too")
