"""What the classifiers for scikit-learn share: everything but their parameters."""

import contextlib
import dataclasses
import numbers
import os
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.kernels.state import Floats, Ints
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.explaining import Explanation
from devfnn.model.intake import check_values
from devfnn.model.rules import Rule
from devfnn.model.telling import Telling

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "devfnn.sklearn needs scikit-learn 1.6 or newer: pip install 'devfnn[sklearn]'"
    ) from error

_ROWS: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
"""What scikit-learn makes of rows; the model looks for NaN itself, and says where it is."""


class StreamClassifier(Telling, ClassifierMixin, BaseEstimator):
    """A model of `devfnn` behind scikit-learn's interface; its parameters are those of `Config`."""

    _core: ClassVar[type[DEVFNN]]
    _fixed: ClassVar[frozenset[str]] = frozenset()  # parameters that the model sets itself

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "skip"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_") and bool(self.model_.classes)

    # ---- learn

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Forget everything and learn the rows once, in chunks of `chunk_rows`.

        There are no sample weights here: scikit-learn promises that rows with weights, in any other
        order, are the same as rows repeated, and what a stream teaches depends on its order.
        `partial_fit` takes weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, the oldest first.
        y : array-like of shape (n_samples,)
            Their labels.
        refused
            Nothing else; `sample_weight` is refused with a word on what to do.

        Returns
        -------
        DEVFNNClassifier
            The classifier itself.
        """
        _refuse(refused)
        with self._unchanged_if_refused():
            rows, labels = self._checked(X, y, reset=True)
            model = self._new_model()
            for first in range(0, len(rows), model.config.chunk_rows):
                chunk = slice(first, first + model.config.chunk_rows)
                model.learn(rows[chunk], labels[chunk])
            self.classes_, self.model_ = np.unique(labels), model
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one more chunk. A call that is refused changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, the oldest first.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), optional
            All labels that may ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,) or a number, optional
            How strongly each row is learned, 1 by default. Rows of weight 0 are passed over.

        Returns
        -------
        DEVFNNClassifier
            The classifier itself.
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
        """Class probabilities of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The columns follow `classes_`; 0 for classes that no row had so far.
        """
        known, columns = self._known_probabilities(X)
        probabilities = np.zeros((len(known), len(self.classes_)))
        probabilities[:, columns] = known
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The most probable labels; of equals the one that was seen first, as in `DEVFNN`.
        """
        known, columns = self._known_probabilities(X)
        labels: npt.NDArray[Any] = self.classes_[columns[known.argmax(axis=1)]]
        return labels

    def decision_function(self, X: Any) -> Floats:
        """Logarithms of the probabilities; of two classes, the log odds of the second.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Finite numbers: a probability of 0 counts as the least positive one.
        """
        logs: Floats = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    # ---- tell

    @property
    def rules_(self) -> list[Rule]:
        """The active rules, the weightiest first; `rules` is a parameter."""
        return self._teller().rules()

    def explain(self, x: Any) -> Explanation:
        """Why the model says what it says of one row: what layers, rules and features add to it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row; a table of one row if features have names.
        """
        model = self._teller()
        row = x if hasattr(x, "columns") else np.atleast_2d(np.asarray(x))
        if len(row) != 1:
            raise InputError(f"one row is explained at a time, not {len(row)}")
        return model.explain(validate_data(self, row, reset=False, **_ROWS)[0])

    def _teller(self) -> DEVFNN:
        """The model, once it has learned something."""
        check_is_fitted(self)
        model: DEVFNN = self.model_
        return model

    # ---- store

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of `devfnn`, which runs no code when it is read.

        Parameters
        ----------
        path
            Where to. Classes that no row had so far are not in the file: name them to `load`.
        """
        self._teller().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], classes: Any = None) -> Self:
        """Read a file that `save`, or the model's own `save`, has written.

        Parameters
        ----------
        path
            The file.
        classes : array-like of shape (n_classes,), optional
            All classes, if there are more than the model has seen.

        Returns
        -------
        DEVFNNClassifier
            A classifier that goes on learning as the saved one would have.
        """
        model = cls._core.load(path)
        loaded = cls(**model.config.to_dict())
        if model.classes:
            every = unique_labels(model.classes if classes is None else classes)
            _check_labels(model.classes, every)
            loaded.classes_, loaded.model_ = every, model
            loaded.n_features_in_ = len(model.feature_names)
            if model._names is not None:
                loaded.feature_names_in_ = np.array(model._names, object)
        return loaded

    # ---- taking rows in

    def _new_model(self) -> DEVFNN:
        """A model that knows nothing yet; parameters that it cannot have are refused."""
        given = self._parameters()
        names = getattr(self, "feature_names_in_", None)
        model = self._core(Config(**given), names)
        for name, value in model.config.to_dict().items():
            if given[name] not in (value, getattr(Config, name)):
                kind = type(self).__name__
                raise InputError(f"a {kind} always has {name}={value!r}; leave {name} out")
        return model

    def _unchanged_model(self) -> DEVFNN:
        """The model; parameters that were set since it began are refused, it is built on them."""
        model: DEVFNN = self.model_
        given = self._parameters()
        free = given.keys() - self._fixed
        if changed := [name for name in free if given[name] != getattr(model.config, name)]:
            raise InputError(
                f"{', '.join(sorted(changed))} changed after learning began; set parameters before "
                "the first call of partial_fit, or start anew with fit"
            )
        return model

    def _parameters(self) -> dict[str, Any]:
        """As `get_params`, which takes longer than learning a row."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(Config)}

    def _all_classes(self, classes: Any) -> npt.NDArray[Any]:
        """All classes, sorted, from the first call of `partial_fit` on."""
        known: npt.NDArray[Any] | None = getattr(self, "classes_", None)
        if classes is not None:
            every: npt.NDArray[Any] = unique_labels(classes)
        elif known is not None:
            every = known
        else:
            raise InputError(
                "classes must be passed on the first call to partial_fit: all labels that may come"
            )
        if known is not None and not np.array_equal(every, known):
            raise InputError(
                f"classes are {every.tolist()}, but were {known.tolist()} before; leave them out, "
                "or start anew with a clone"
            )
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
        check_values(rows, self.missing)
        return rows, labels

    def _known_probabilities(self, X: Any) -> tuple[Floats, Ints]:
        """Probabilities in the model's order of classes, and where these are in `classes_`."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, **_ROWS)
        place = {label: index for index, label in enumerate(self.classes_.tolist())}
        columns = np.array([place[label] for label in self.model_.classes])
        return self.model_.predict_proba(rows), columns


def _refuse(arguments: dict[str, Any]) -> None:
    """Refuse what `fit` does not take."""
    given = [name for name, value in arguments.items() if value is not None]
    if "sample_weight" in given:
        raise TypeError(
            "fit takes no sample_weight, since a stream depends on the order of its rows; use "
            "partial_fit(X, y, classes=..., sample_weight=...)"
        )
    if unknown := sorted(arguments.keys() - {"sample_weight"}):
        raise TypeError(f"fit takes no {unknown[0]}")


def _check_labels(labels: Iterable[Any], classes: npt.NDArray[Any]) -> None:
    """Refuse labels that are no class."""
    known = classes.tolist()
    if strange := [label for label in labels if label not in known]:
        raise InputError(
            f"label {strange[0]!r} is not among the classes {known}; name all classes at first, "
            "those that come later too"
        )
