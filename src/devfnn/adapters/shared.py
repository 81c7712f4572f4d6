"""What adapters share: parameters by flat name, and the model's explanations."""

import abc
import contextlib
import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from devfnn.errors import InputError
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN, MOST_RULES
from devfnn.model.history import History
from devfnn.model.rules import Rule
from devfnn.model.single_rows import SingleRows
from devfnn.parameters import Section


@contextlib.contextmanager
def needs(library: str, extra: str) -> Iterator[None]:
    """Say what to install if a library is missing; CapyMOA starts Java when it is imported."""
    try:
        yield
    except (ImportError, RuntimeError, ValueError, OSError) as error:
        problem = f"devfnn.adapters.{extra} needs {library}: pip install 'devfnn[{extra}]'"
        raise ImportError(f"{problem} ({error})") from error


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


class ModelExplanations(abc.ABC):
    """Mixin that exposes the model's explanations. Nothing here changes the model."""

    @abc.abstractmethod
    def _core_model(self) -> DEVFNN:
        """The model behind the adapter."""

    def _class_names(self) -> Mapping[Hashable, str] | None:
        """Names of the classes, where the model's labels are only their numbers."""
        return None

    def rules(self, archived: bool = False) -> list[Rule]:
        """The active rules, those of largest weight first; none before learning.

        With `archived` also those that wait to be recalled, after the others.
        """
        return self._core_model().rules(archived, self._class_names())

    def describe(self, terms: bool = False, most: int | None = MOST_RULES) -> str:
        """All layers and their rules as text, the layer with the largest weight first.

        With `terms` inputs are low, medium or high, the thirds of their known range, not numbers.
        At most `most` rules of each layer are named, None for all; the others are counted.
        """
        return self._core_model().describe(terms, self._class_names(), most)

    def history(self) -> History:
        """The newest 1,000 structural events; they are saved with the model."""
        return self._core_model().history()


class OneByOne(ModelExplanations):
    """The same for adapters that use a model one row at a time."""

    _rows: SingleRows

    @property
    def model(self) -> DEVFNN:
        """The model itself, for its rules, its size and its files."""
        return self._rows.model

    def _core_model(self) -> DEVFNN:
        return self._rows.model
