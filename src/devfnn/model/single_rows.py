"""Rows one at a time, for callers that have no more than one: as fast as the kernels allow."""

from collections.abc import Hashable, Sequence
from typing import Any

from devfnn.events import Event
from devfnn.model.compiling import ensure_compiled
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.concepts.one_row import OneRow
from devfnn.model.devfnn import DEVFNN
from devfnn.model.intake import LARGEST_WEIGHT


class SingleRows:
    """A model that is asked and taught one row after the other.

    Results are those of `DEVFNN.predict_proba` and `DEVFNN.learn_rows`, bit for bit, and so is what
    they refuse. The model may be used directly in between.

    Parameters
    ----------
    model
        The model.
    """

    def __init__(self, model: DEVFNN) -> None:
        self.model = model
        config = model.config
        self._is_plain = not config.lags and not config.feature_mask
        self._fast: OneRow | None = None

    def probabilities(self, values: Sequence[float]) -> list[float]:
        """Class probabilities of a row, in the order of `classes`; none before learning."""
        if self.model._network is None:
            return []
        fast = self._fast_path()
        if fast is not None and fast.takes(values):
            return fast.probabilities()
        shares: list[float] = self.model.predict_proba([values])[0].tolist()
        return shares

    def learn(
        self, values: Sequence[float], label: Hashable, weight: float = 1.0, asked: bool = False
    ) -> list[Event]:
        """Learn a row at once; with `asked` the label is used in any case."""
        model = self.model
        try:
            index = model._labels.index_of(label) if 0.0 < weight <= LARGEST_WEIGHT else None
        except TypeError:  # no label, or no weight; the slow way says so
            index = None
        if index is not None:
            fast = self._fast_path()
            if fast is not None and fast.takes(values):
                events = fast.learn(index, weight, asked)
                if events:
                    model._logbook.note(events, model.n_rows)
                return events
        return model.learn_rows([values], [label], [weight], chosen=True if asked else None)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_fast": None}

    def _fast_path(self) -> OneRow | None:
        """The quick way for the model as it stands, if there is one."""
        model, network = self.model, self.model._network
        fast = self._fast  # read once: another thread may put its own there meanwhile
        if fast is not None and fast.serves(network):
            return fast
        fast = None
        if self._is_plain and isinstance(network, ConceptEngine):
            ensure_compiled(model.config.network)
            model._logbook.begin(network.n_rows)
            fast = OneRow(network, model.feature_names, model.config)
        self._fast = fast
        return fast
