"""What adapters share: parameters by flat name, and the model's explanations."""

import dataclasses
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from devfnn.errors import InputError
from devfnn.events import ClassAdded, Event
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN, MOST_RULES
from devfnn.model.history import History
from devfnn.model.rules import Rule
from devfnn.parameters import Section


class Parameter(NamedTuple):
    """A parameter of a configuration, as the signature of an adapter lists it."""

    annotation: Any
    value: Any
    meaning: str


def flat_parameters(config: Config) -> dict[str, Parameter]:
    """Parameters of a configuration by flat name: those of a section as SECTION__PARAMETER.

    Layers and whole sections are no parameters of this kind; a configuration has them.
    """
    found: dict[str, Parameter] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, Section):
            for each in dataclasses.fields(value):  # type: ignore[arg-type]
                about = (each.type, getattr(value, each.name), each.metadata["meaning"])
                found[f"{field.name}__{each.name}"] = Parameter(*about)
        elif field.metadata:
            found[field.name] = Parameter(field.type, value, field.metadata["meaning"])
    return found


def check_is_core(model: object, what: str) -> None:
    """Refuse anything but a `DEVFNN`, for functions that take the model and not an adapter."""
    if not isinstance(model, DEVFNN):
        raise InputError(
            f"only a devfnn.DEVFNN can be {what}, not a {type(model).__name__}; the classifiers "
            "for River and CapyMOA have it as `model`, that for scikit-learn as `model_`"
        )


class ModelExplanations:
    """Mixin that exposes the model's explanations. Nothing here changes the model."""

    if TYPE_CHECKING:

        def _core_model(self) -> DEVFNN:
            """The model behind the adapter."""

    def _class_names(self) -> Mapping[Hashable, str] | None:
        """Names of the classes, where the model's labels are only their numbers."""
        return None

    def describe(self, terms: bool = False, most: int | None = MOST_RULES) -> str:
        """All layers and their rules as text, the layer with the largest weight first.

        With `terms` inputs are low, medium or high, the thirds of their known range, not numbers.
        At most `most` rules of each layer are named, None for all; the others are counted.
        """
        return self._core_model().describe(terms, self._class_names(), most)

    def history(self) -> History:
        """The newest 1,000 structural events; they are saved with the model."""
        history, names = self._core_model().history(), self._class_names()
        if names is None:
            return history
        by_text = {str(label): name for label, name in names.items()}
        events = tuple(_with_class_name(event, by_text) for event in history.events)
        return dataclasses.replace(history, events=events)


class ModelRules(ModelExplanations):
    """The same with `rules`, for adapters whose `model` is there from the start."""

    if TYPE_CHECKING:

        @property
        def model(self) -> DEVFNN:
            """The model itself."""

    def _core_model(self) -> DEVFNN:
        return self.model

    def rules(self, archived: bool = False) -> list[Rule]:
        """The active rules, those of largest weight first; none before learning.

        With `archived` also those that wait to be recalled, after the others.
        """
        return self.model.rules(archived, self._class_names())


def _with_class_name(event: Event, names: Mapping[str, str]) -> Event:
    if isinstance(event, ClassAdded):
        return dataclasses.replace(event, label=names.get(event.label, event.label))
    return event
