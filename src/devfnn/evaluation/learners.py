"""Any model behind one face: ours, scikit-learn's, River's and CapyMOA's, told by their methods."""

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from devfnn.arrays import Floats
from devfnn.errors import InputError
from devfnn.events import Event


@dataclasses.dataclass(frozen=True, slots=True)
class Predictions:
    """What a model says about rows."""

    labels: Sequence[Any] | npt.NDArray[Any] | None
    """A label for each row, None where it says nothing; None for the most probable labels."""
    probabilities: Floats | None = None
    """(n_rows, n_classes), NaN in a row of which nothing is said; None if it gives none."""
    classes: Sequence[Hashable] = ()
    """Labels of the columns of the probabilities."""


class Learner(Protocol):
    """The one face of all models."""

    asks_itself: bool
    """Whether it decides which labels it learns, so that it must be asked."""
    asks_early: bool
    """Whether it can say which labels it would like to have before it has learned anything."""
    answers_early: bool
    """Whether it can be asked before it has learned anything; it may then say nothing."""
    can_ask: bool
    """Whether it can say which labels it would like to have."""

    def predict(self, X: Floats) -> Predictions:
        """What the model says; it stays as it is."""

    def wanted(self, X: Floats) -> npt.NDArray[np.bool_] | None:
        """Rows whose labels the model would like to have; None if it cannot say."""

    def learn(
        self, X: Floats, y: npt.NDArray[Any], chosen: npt.NDArray[np.bool_] | None = None
    ) -> Sequence[Event]:
        """Learn rows, all or those chosen."""


def adapted(
    model: Any, *, by_row: bool, feature_names: Sequence[str], classes: Sequence[Hashable]
) -> Learner:
    """The model behind the face it is found to have.

    Parameters
    ----------
    model
        Has `learn` and `predict` or `predict_proba`; or River's `learn_one`; or CapyMOA's `train`;
        or scikit-learn's `partial_fit`.
    by_row
        Whether it is given one row at a time; a model with `learn_rows` then learns by that.
    feature_names
        Keys of the rows that River's models see.
    classes
        Labels that may occur: scikit-learn's models must know them in advance.
    """
    if isinstance(model, type):
        raise InputError(f"a model is needed, not its class: {model.__name__}(...)")
    if callable(getattr(model, "learn", None)):
        return _Native(model, by_row)
    if callable(getattr(model, "learn_one", None)):
        return _River(model, feature_names)
    if callable(getattr(model, "train", None)) and hasattr(model, "schema"):
        return _CapyMOA(model, classes)
    if callable(getattr(model, "partial_fit", None)):
        return _ScikitLearn(model, classes)
    raise InputError(
        f"{type(model).__name__} cannot learn from a stream: it has neither learn, nor learn_one "
        "(River), nor train (CapyMOA), nor partial_fit (scikit-learn)"
    )


class _Native:
    """A model with `learn`; with `classes` and `predict_proba`, or with `predict`."""

    asks_itself = answers_early = False

    def __init__(self, model: Any, by_row: bool) -> None:
        self._model = model
        self.can_ask = hasattr(model, "wants_label")
        self.asks_early = bool(getattr(model, "asks_before_learning", False))
        self._learn = model.learn_rows if by_row and hasattr(model, "learn_rows") else model.learn
        self._gives_probabilities = hasattr(model, "predict_proba") and hasattr(model, "classes")
        self._takes_chosen = _takes(self._learn, "chosen")

    def predict(self, X: Floats) -> Predictions:
        if self._gives_probabilities:
            probabilities = np.asarray(self._model.predict_proba(X), np.float64)
            return Predictions(None, probabilities, list(self._model.classes))
        return Predictions(self._model.predict(X))

    def wanted(self, X: Floats) -> npt.NDArray[np.bool_] | None:
        return np.asarray(self._model.wants_label(X), np.bool_) if self.can_ask else None

    def learn(
        self, X: Floats, y: npt.NDArray[Any], chosen: npt.NDArray[np.bool_] | None = None
    ) -> Sequence[Event]:
        if chosen is None:
            return self._learn(X, y) or ()
        if self._takes_chosen:
            return self._learn(X, y, chosen=chosen) or ()
        return (self._learn(X[chosen], y[chosen]) or ()) if chosen.any() else ()


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name, or takes any."""
    parameters = inspect.signature(function).parameters.values()
    return any(each.name == name or each.kind is each.VAR_KEYWORD for each in parameters)


class _ScikitLearn:
    """A model with `partial_fit`."""

    asks_itself = can_ask = asks_early = answers_early = False

    def __init__(self, model: Any, classes: Sequence[Hashable]) -> None:
        self._model = model
        self._classes = np.array(list(classes))
        self._known = set(classes)
        if not len(classes):
            raise InputError(
                f"{type(model).__name__} must know all classes in advance, and the stream has none "
                "to tell: use a stream with classes"
            )
        self._gives_probabilities = hasattr(model, "predict_proba")

    def predict(self, X: Floats) -> Predictions:
        if self._gives_probabilities:
            return Predictions(None, self._model.predict_proba(X), self._model.classes_.tolist())
        return Predictions(self._model.predict(X))

    def wanted(self, X: Floats) -> npt.NDArray[np.bool_] | None:
        return None

    def learn(
        self, X: Floats, y: npt.NDArray[Any], chosen: npt.NDArray[np.bool_] | None = None
    ) -> Sequence[Event]:
        labels = y.tolist()
        if unknown := [label for label in labels if label not in self._known]:
            name = type(self._model).__name__
            raise InputError(f"{name} cannot learn a class it was not told of: {unknown[0]!r}")
        self._model.partial_fit(X, np.array(labels, self._classes.dtype), classes=self._classes)
        return ()


class _River:
    """A model with `learn_one` and `predict_proba_one`, or `predict_one`, for rows as dicts.

    An active learner says with each prediction whether it wants the label.
    """

    def __init__(self, model: Any, feature_names: Sequence[str]) -> None:
        self._model = model
        self._names = list(feature_names)
        self._classes: list[Hashable] = []
        self._columns: dict[Hashable, int] = {}
        self._predict = _river_predictor(model)
        self._asked: tuple[Floats, list[bool]] = (np.empty((0, 0)), [])
        self.asks_itself = self.can_ask = _is_active(model)
        self.asks_early = False
        self.answers_early = not self.asks_itself

    def predict(self, X: Floats) -> Predictions:
        said = [self._predict(row) for row in self._rows(X)]
        if self.asks_itself:
            self._asked = X, [wish for _, wish in said]
            said = [answer for answer, _ in said]
        if not any(isinstance(answer, dict) for answer in said):
            return Predictions(said)
        labels = [max(answer, key=answer.get) if answer else None for answer in said]
        probabilities = self._as_matrix(said)
        return Predictions(labels, probabilities if self._classes else None, self._classes)

    def _as_matrix(self, said: list[dict[Hashable, float]]) -> Floats:
        """Probabilities by rows and classes; classes are numbered as they come."""
        for label in (label for answer in said for label in answer):
            if label not in self._columns:
                self._columns[label] = len(self._classes)
                self._classes.append(label)
        probabilities = np.zeros((len(said), len(self._classes)))
        for place, answer in enumerate(said):
            for label, share in answer.items():
                probabilities[place, self._columns[label]] = share
            if not answer:
                probabilities[place] = np.nan
        return probabilities

    def wanted(self, X: Floats) -> npt.NDArray[np.bool_] | None:
        if not self.asks_itself:
            return None
        predicted, asked = self._asked
        if predicted is not X and not np.array_equal(predicted, X, equal_nan=True):
            asked = [self._predict(row)[1] for row in self._rows(X)]
        return np.array(asked, np.bool_)

    def learn(
        self, X: Floats, y: npt.NDArray[Any], chosen: npt.NDArray[np.bool_] | None = None
    ) -> Sequence[Event]:
        for place, (row, label) in enumerate(zip(self._rows(X), y.tolist(), strict=True)):
            if chosen is None or chosen[place]:
                self._model.learn_one(row, label)
        return ()

    def _rows(self, X: Floats) -> list[dict[str, float]]:
        if len(self._names) != X.shape[1]:
            self._names = [f"x{place}" for place in range(X.shape[1])]
        return [dict(zip(self._names, row, strict=True)) for row in X.tolist()]


def _is_active(model: Any) -> bool:
    mro = type(_last_step(model)).__mro__
    return any(each.__name__ == "ActiveLearningClassifier" for each in mro)


def _last_step(model: Any) -> Any:
    """The model itself, or the last step of a pipeline, which predicts as that does."""
    while hasattr(model, "steps"):
        model = list(model.steps.values())[-1]
    return model


def _river_predictor(model: Any) -> Callable[[dict[str, float]], Any]:
    """Probabilities where the labels follow from them; else labels."""
    own = getattr(type(_last_step(model)), "predict_one", None)
    follows = own is None or own.__qualname__ == "Classifier.predict_one" or _is_active(model)
    predict: Callable[[dict[str, float]], Any]
    predict = model.predict_proba_one if follows else model.predict_one
    return predict


class _CapyMOA:
    """A model with `train`, for instances of its schema."""

    asks_itself = can_ask = asks_early = False
    answers_early = True

    def __init__(self, model: Any, classes: Sequence[Hashable]) -> None:
        from capymoa.core import Instance, LabeledInstance

        self._model = model
        self._schema = model.schema
        self._instance = Instance.from_array
        self._labelled = LabeledInstance.from_array
        by_text = {str(label): label for label in classes}
        texts = [str(text) for text in self._schema.get_label_values()]
        self._classes = [by_text.get(text, text) for text in texts]
        self._index = {label: place for place, label in enumerate(self._classes)}
        self._may_be_numbers = not classes

    def predict(self, X: Floats) -> Predictions:
        said = [self._model.predict_proba(self._instance(self._schema, row)) for row in X]
        labels = [None if each is None else self._classes[int(np.argmax(each))] for each in said]
        probabilities = np.full((len(said), len(self._classes)), np.nan)
        for place, each in enumerate(said):
            if each is not None:
                probabilities[place] = each
        return Predictions(labels, probabilities, self._classes)

    def wanted(self, X: Floats) -> npt.NDArray[np.bool_] | None:
        return None

    def learn(
        self, X: Floats, y: npt.NDArray[Any], chosen: npt.NDArray[np.bool_] | None = None
    ) -> Sequence[Event]:
        for row, label in zip(X, y.tolist(), strict=True):
            self._model.train(self._labelled(self._schema, row, self._place(label)))
        return ()

    def _place(self, label: Hashable) -> int:
        """Number of a label in the schema, whose texts may stand for numbers."""
        if label not in self._index and self._may_be_numbers and isinstance(label, int):
            self._classes = [_as_number(text) for text in self._classes]
            self._index = {label: place for place, label in enumerate(self._classes)}
        if label not in self._index:
            raise InputError(f"the schema of the CapyMOA model has no class {label!r}")
        return self._index[label]


def _as_number(label: Any) -> Any:
    return int(label) if str(label).removeprefix("-").isdecimal() else label
