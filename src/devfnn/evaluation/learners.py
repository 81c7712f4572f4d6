"""One interface for models of four libraries: devfnn, scikit-learn, River and CapyMOA."""

import abc
import dataclasses
import inspect
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from devfnn.arrays import Flags, Floats
from devfnn.errors import InputError
from devfnn.events import Event
from devfnn.types import Labels


@dataclasses.dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions for rows."""

    labels: Sequence[Any] | Labels | None
    """A label for each row, None where it predicts nothing; None for the most probable labels."""
    probabilities: Floats | None = None
    """(n_rows, n_classes), NaN in a row without a prediction; None if the model gives none."""
    classes: Sequence[Hashable] = ()
    """Labels of the columns of the probabilities."""


class Learner(abc.ABC):
    """Any model, as the test-then-train loop uses it."""

    asks_itself = False
    """Whether it decides which labels it learns, so that it must be asked."""
    asks_early = False
    """Whether it can choose labels before it has learned anything."""
    answers_early = False
    """Whether it can predict before it has learned anything; it may then predict nothing."""
    can_ask = False
    """Whether it can choose labels."""

    @abc.abstractmethod
    def predict(self, X: Floats) -> Predictions:
        """Predict rows; the model does not change."""

    def wanted(self, X: Floats) -> Flags | None:
        """Rows whose labels the model chooses to have; None if it cannot choose."""
        return None

    @abc.abstractmethod
    def learn(self, X: Floats, y: Labels, chosen: Flags | None = None) -> Sequence[Event]:
        """Learn rows, all or those chosen."""


def adapted(
    model: Any, feature_names: Sequence[str], classes: Sequence[Hashable], *, by_row: bool
) -> Learner:
    """The model behind the common interface; its library is recognised by its methods.

    by_row: a model with `learn_rows` learns by that · feature_names: keys of rows for River ·
    classes: labels that may occur, which scikit-learn must know in advance
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


def must_know_classes(model: Any) -> bool:
    """Whether it must know all classes before it learns, and hears them from the loop."""
    others = ("learn", "learn_one", "train")
    return hasattr(model, "partial_fit") and not any(hasattr(model, name) for name in others)


class _Native(Learner):
    """A model with `learn`; with `classes` and `predict_proba`, or with `predict`."""

    def __init__(self, model: Any, by_row: bool) -> None:
        self._model = model
        self.can_ask = hasattr(model, "wants_label")
        self.asks_early = bool(getattr(model, "asks_before_learning", False))
        self._learn = model.learn_rows if by_row and hasattr(model, "learn_rows") else model.learn
        self._gives_probabilities = hasattr(model, "predict_proba") and hasattr(model, "classes")
        quick = ("learn_one", "predict_proba_one")  # the same for a single row, and faster
        self._by_one = by_row and all(hasattr(model, name) for name in quick)
        parameters = inspect.signature(self._learn).parameters.values()
        self._takes_chosen = any(
            each.name == "chosen" or each.kind is each.VAR_KEYWORD for each in parameters
        )

    def predict(self, X: Floats) -> Predictions:
        if self._by_one and len(X) == 1:
            said = self._model.predict_proba_one(X[0])
            return Predictions(None, np.array([list(said.values())]), list(said))
        if self._gives_probabilities:
            probabilities = np.asarray(self._model.predict_proba(X), np.float64)
            return Predictions(None, probabilities, list(self._model.classes))
        return Predictions(self._model.predict(X))

    def wanted(self, X: Floats) -> Flags | None:
        return np.asarray(self._model.wants_label(X), np.bool_) if self.can_ask else None

    def learn(self, X: Floats, y: Labels, chosen: Flags | None = None) -> Sequence[Event]:
        if chosen is None and self._by_one and len(y) == 1:
            return self._model.learn_one(X[0], y.tolist()[0]) or ()
        if chosen is None:
            return self._learn(X, y) or ()
        if self._takes_chosen:
            return self._learn(X, y, chosen=chosen) or ()
        return (self._learn(X[chosen], y[chosen]) or ()) if chosen.any() else ()


class _ScikitLearn(Learner):
    """A model with `partial_fit`."""

    def __init__(self, model: Any, classes: Sequence[Hashable]) -> None:
        self._model = model
        self._name = type(model).__name__
        self._classes = np.array(list(classes))
        self._known = set(classes)
        if not len(classes):
            raise InputError(f"{self._name} must know all classes in advance: the stream does not")

    def predict(self, X: Floats) -> Predictions:
        if hasattr(self._model, "predict_proba"):
            return Predictions(None, self._model.predict_proba(X), self._model.classes_.tolist())
        return Predictions(self._model.predict(X))

    def learn(self, X: Floats, y: Labels, chosen: Flags | None = None) -> Sequence[Event]:
        labels = y.tolist()
        if unknown := [each for each in labels if each not in self._known]:
            raise InputError(
                f"{self._name} cannot learn a class that was not announced: {unknown[0]!r}"
            )
        self._model.partial_fit(X, np.array(labels, self._classes.dtype), classes=self._classes)
        return ()


class _River(Learner):
    """A model with `learn_one` and `predict_proba_one`, or `predict_one`, for rows as dicts.

    An active learner says with each prediction whether it wants the label.
    """

    def __init__(self, model: Any, feature_names: Sequence[str]) -> None:
        self._model = model
        self._names = list(feature_names)
        self._columns: dict[Hashable, int] = {}  # of the probabilities
        last_step = model
        while hasattr(last_step, "steps"):  # a pipeline predicts as its last step does
            last_step = list(last_step.steps.values())[-1]
        self.asks_itself = self.can_ask = any(
            each.__name__ == "ActiveLearningClassifier" for each in type(last_step).__mro__
        )
        self.answers_early = not self.asks_itself
        # Probabilities where the labels follow from them; else labels.
        own = getattr(type(last_step), "predict_one", None)
        follows = own is None or own.__qualname__ == "Classifier.predict_one" or self.asks_itself
        self._predict = model.predict_proba_one if follows else model.predict_one
        self._asked: tuple[Floats, list[bool]] = (np.empty((0, 0)), [])

    def predict(self, X: Floats) -> Predictions:
        said = [self._predict(row) for row in self._rows(X)]
        if self.asks_itself:
            self._asked = X, [wish for _, wish in said]
            said = [answer for answer, _ in said]
        if not any(isinstance(answer, dict) for answer in said):
            return Predictions(said)
        labels = [max(answer, key=answer.get) if answer else None for answer in said]
        for label in (label for answer in said for label in answer):  # numbered as they come
            self._columns.setdefault(label, len(self._columns))
        columns = list(self._columns)
        nothing = dict.fromkeys(columns, np.nan)
        shares = [[(answer or nothing).get(label, 0.0) for label in columns] for answer in said]
        return Predictions(labels, np.array(shares, np.float64) if columns else None, columns)

    def wanted(self, X: Floats) -> Flags | None:
        if not self.asks_itself:
            return None
        predicted, asked = self._asked
        if predicted is not X and not np.array_equal(predicted, X, equal_nan=True):
            asked = [self._predict(row)[1] for row in self._rows(X)]
        return np.array(asked, np.bool_)

    def learn(self, X: Floats, y: Labels, chosen: Flags | None = None) -> Sequence[Event]:
        for place, (row, label) in enumerate(zip(self._rows(X), y.tolist(), strict=True)):
            if chosen is None or chosen[place]:
                self._model.learn_one(row, label)
        return ()

    def _rows(self, X: Floats) -> list[dict[str, float]]:
        if len(self._names) != X.shape[1]:
            self._names = [f"x{place}" for place in range(X.shape[1])]
        return [dict(zip(self._names, row, strict=True)) for row in X.tolist()]


class _CapyMOA(Learner):
    """A model with `train`, for instances of its schema."""

    answers_early = True

    def __init__(self, model: Any, classes: Sequence[Hashable]) -> None:
        from capymoa.core import Instance, LabeledInstance

        self._model = model
        self._schema = model.schema
        self._instance = Instance.from_array
        self._labelled = LabeledInstance.from_array
        texts = [str(text) for text in self._schema.get_label_values()]
        by_text: dict[str, Hashable] = {str(label): label for label in classes}
        if not classes:  # numbers, until a label tells otherwise
            by_text = {text: int(text) for text in texts if text.removeprefix("-").isdecimal()}
        self._classes: list[Hashable] = [by_text.get(text, text) for text in texts]
        self._places = {text: place for place, text in enumerate(texts)}

    def predict(self, X: Floats) -> Predictions:
        said = [self._model.predict_proba(self._instance(self._schema, row)) for row in X]
        labels = [None if each is None else self._classes[int(np.argmax(each))] for each in said]
        probabilities = np.full((len(said), len(self._classes)), np.nan)
        for place, each in enumerate(said):
            if each is not None:
                probabilities[place] = each
        return Predictions(labels, probabilities, list(self._classes))

    def learn(self, X: Floats, y: Labels, chosen: Flags | None = None) -> Sequence[Event]:
        for row, label in zip(X, y.tolist(), strict=True):
            place = self._places.get(str(label))
            if place is None:
                raise InputError(f"the schema of the CapyMOA model has no class {label!r}")
            self._classes[place] = label  # the schema has its text
            self._model.train(self._labelled(self._schema, row, place))
        return ()
