"""Rows one at a time, for callers that have no more than one: as fast as the kernels allow."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.events import Event
from devfnn.model.compiling import ensure_compiled
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.concepts.one_row import OneRow
from devfnn.model.intake import LARGEST_WEIGHT

if TYPE_CHECKING:
    from devfnn.model.devfnn import DEVFNN


def plain_row(x: Any) -> Sequence[float] | None:
    """A row as a list or tuple; None for what is neither that nor a vector."""
    if isinstance(x, list | tuple):
        return x
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "fiu":
        values: list[float] = x.tolist()
        return values
    return None


class SingleRows:
    """A model that is asked and taught one row after the other.

    Results are those of `DEVFNN.predict_proba` and `DEVFNN.learn_rows`, bit for bit, and so is what
    they refuse. The model may be used directly in between.

    Parameters
    ----------
    model
        The model.
    """

    def __init__(self, model: "DEVFNN") -> None:
        self.model = model
        config = model.config
        self._is_plain = not config.lags and not config.feature_mask
        self._fast: OneRow | None = None

    def probabilities(self, values: Sequence[float]) -> list[float]:
        """Class probabilities of a row, in the order of `classes`; none before learning."""
        if self.model._network is None:
            return []
        shares = self.quick_probabilities(values)
        return shares or self.model.predict_proba([values])[0].tolist()

    def quick_probabilities(self, values: Sequence[float]) -> list[float] | None:
        """The same; None if only the slow way can say it, or say what is wrong."""
        fast = self._fast_path()
        return fast.probabilities() if fast is not None and fast.takes(values) else None

    def learn(
        self, values: Sequence[float], label: Hashable, weight: float = 1.0, asked: bool = False
    ) -> list[Event]:
        """Learn a row at once; with `asked` the label is used in any case."""
        events = self.learn_quickly(values, label, weight, asked)
        if events is not None:
            return events
        chosen = True if asked else None
        return self.model.learn_rows([values], [label], [weight], chosen=chosen)

    def learn_quickly(
        self, values: Sequence[float], label: Hashable, weight: Any, asked: bool
    ) -> list[Event] | None:
        """The same; None if only the slow way can do it, or say what is wrong."""
        model = self.model
        is_weight = isinstance(weight, int | float) and 0.0 < weight <= LARGEST_WEIGHT
        try:
            index = model._labels.index_of(label) if is_weight else None
        except TypeError:  # no label; the slow way says so
            index = None
        fast = self._fast_path() if index is not None else None
        if fast is None or index is None or not fast.takes(values):
            return None
        events = fast.learn(index, weight, asked)
        if events:
            model._logbook.note(events, model.n_rows)
        return events

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
