"""DEVFNN inside CapyMOA: `pip install 'devfnn[capymoa]'`."""

import dataclasses
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np

from devfnn.adapters.shared import OneByOne, needs
from devfnn.arrays import Floats
from devfnn.baselines.peers import provide_java
from devfnn.errors import InputError
from devfnn.events import ClassAdded
from devfnn.model import devfnn as core
from devfnn.model.config import Config
from devfnn.model.explanation import Explanation
from devfnn.model.history import History
from devfnn.model.single_rows import SingleRows

provide_java()
with needs("CapyMOA and Java", "capymoa"):
    from capymoa.base import Classifier
    from capymoa.stream import Schema

__all__ = ["DEVFNN"]

NO_LABEL = -1
"""The class index of an instance without a label."""


class DEVFNN(OneByOne, Classifier):
    """`devfnn.DEVFNN`: our own default, or `presets.paper()`, the published network.

    Instances are learned one by one. NaN is an absent value and left out. The labels of `model` are
    class indices.

    Parameters
    ----------
    schema
        Attributes and classes of the stream. A nominal attribute is taken as the number of its
        value, with a warning: its order means nothing.
    random_seed
        Of the share of labels that is learned whatever the certainty.
    config
        All parameters of the model but the seed, and how missing values are treated.
    parameters
        Changes of it, as `Config.replace` takes them: `drift__significance=1e-6`, `clouds=None`.
    """

    def __init__(
        self, schema: Any, random_seed: int = 1, config: Config | None = None, **parameters: Any
    ) -> None:
        super().__init__(schema=schema, random_seed=random_seed)
        if not schema.is_classification():
            raise InputError("DEVFNN is a classifier; the target of the schema is a number")
        self._about = _described(schema)
        self._labels: list[str] = self._about["categories"][self._about["target"]]
        nominal = [name for name in self._about["categories"] if name != self._about["target"]]
        if nominal:
            warnings.warn(f"attribute {nominal[0]!r} is nominal; encode it first", stacklevel=2)
        full = (config or Config()).replace(**parameters).replace(missing="skip", seed=random_seed)
        self._rows = SingleRows(core.DEVFNN(full, self._about["features"][:-1]))

    def __str__(self) -> str:
        return "DEVFNN"

    def get_params(self) -> dict[str, Any]:
        """Parameters other than the defaults, as plain data; `from_params` takes them back."""
        changes = self.model.config.changes()
        return {name: changes[name] for name in changes if name not in ("missing", "seed")}

    def train(self, instance: Any) -> None:
        """Learn an instance; one without a label changes nothing."""
        values = self._values(instance)
        index = int(getattr(instance, "y_index", NO_LABEL))
        if index >= len(self._labels):
            raise InputError(f"class {index} is not in the schema, which has {self._labels}")
        if index >= 0:
            self._rows.learn(values, index)

    def predict_proba(self, instance: Any) -> Floats | None:
        """Probabilities by class index; None before the first instance."""
        shares = self._rows.by_label(self._values(instance))
        if not shares:
            return None
        probabilities = np.zeros(len(self._labels))
        probabilities[np.array([*shares], np.int64)] = [*shares.values()]
        return probabilities

    # ---- explanations, with the names of the schema

    def explain(self, instance: Any) -> Explanation:
        """Why the model predicts what it does: contributions of layers, rules and attributes."""
        return self.model.explain(self._values(instance), self._class_names())

    def history(self) -> History:
        """The newest 1,000 structural events; they are saved with the model."""
        history, names = super().history(), self._labels
        events = list(history.events)
        for at, event in enumerate(events):
            if isinstance(event, ClassAdded):
                events[at] = dataclasses.replace(event, label=names[int(event.label)])
        return dataclasses.replace(history, events=tuple(events))

    def _class_names(self) -> dict[Hashable, str]:
        return dict(enumerate(self._labels))

    def _values(self, instance: Any) -> tuple[float, ...]:
        """The attributes of an instance."""
        if not hasattr(instance, "x"):
            kind = type(instance).__name__
            raise InputError(f"an instance of a stream of CapyMOA is needed, not {kind}")
        return tuple(np.asarray(instance.x, np.float64).tolist())

    # ---- storing: a schema is an object of Java, which cannot be pickled

    def __getstate__(self) -> dict[str, Any]:
        params = {key: value for key, value in self._params.items() if key != "schema"}
        return self.__dict__ | {"schema": None, "_params": params}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.schema = Schema.from_custom(**self._about)
        self._params["schema"] = self.schema


def _described(schema: Any) -> dict[str, Any]:
    """A schema as plain data, from which `Schema.from_custom` rebuilds it."""
    header = schema.get_moa_header()
    names = [str(header.attribute(place).name()) for place in range(header.numAttributes())]
    target = str(header.classAttribute().name())
    names.remove(target)
    nominal = dict(schema.get_nominal_attributes() or {})
    categories = {name: [str(each) for each in values] for name, values in nominal.items()}
    categories[target] = [str(label) for label in schema.get_label_values()]
    features, name = [*names, target], str(schema.dataset_name)
    return {"features": features, "target": target, "categories": categories, "name": name}
