"""What the faces for other libraries tell of their model, in the words of their user."""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from devfnn.events import ClassAdded, Event
from devfnn.model.history import History
from devfnn.model.rules import Rule
from devfnn.model.self_explaining import MOST_RULES

if TYPE_CHECKING:
    from devfnn.model.devfnn import DEVFNN


class Telling:
    """A face that tells what its model tells. Nothing here changes it."""

    if TYPE_CHECKING:

        def _teller(self) -> DEVFNN:
            """The model behind the face."""

    def _class_names(self) -> Mapping[Hashable, str] | None:
        """What labels of the model are called, where they are but numbers."""
        return None

    def describe(self, terms: bool = False, most: int | None = MOST_RULES) -> str:
        """All layers and their rules as text, the weightiest layer first.

        Parameters
        ----------
        terms
            Say low, medium and high, the thirds of the known range of an input, not numbers.
        most
            Rules to name in a layer, the weightiest; the others are counted. None: all.
        """
        return self._teller().describe(terms, self._class_names(), most)

    def history(self) -> History:
        """Every structural event so far, the newest 1,000; they are stored."""
        history, names = self._teller().history(), self._class_names()
        if names is None:
            return history
        called = {str(label): name for label, name in names.items()}
        events = tuple(_renamed(event, called) for event in history.events)
        return History(events, history.n_dropped, history.since_row)


class TellingRules(Telling):
    """A face with a `model` that is always there, and room for `rules`."""

    if TYPE_CHECKING:

        @property
        def model(self) -> DEVFNN:
            """The model itself."""

    def _teller(self) -> "DEVFNN":
        return self.model

    def rules(self, archived: bool = False) -> list[Rule]:
        """The active rules, the weightiest first; none before learning.

        Parameters
        ----------
        archived
            Also those that wait to be recalled, after the others.
        """
        return self.model.rules(archived, self._class_names())


def _renamed(event: Event, called: Mapping[str, str]) -> Event:
    """An event with the name of its class."""
    if isinstance(event, ClassAdded):
        return ClassAdded(event.row, called.get(event.label, event.label), event.index)
    return event
