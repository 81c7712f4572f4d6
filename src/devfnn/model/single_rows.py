"""Rows one at a time, for callers that have no more than one: as fast as the kernels allow."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from devfnn.errors import InputError
from devfnn.events import Event
from devfnn.model.compiling import ensure_compiled
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.concepts.one_row import OneRow
from devfnn.model.devfnn import DEVFNN
from devfnn.model.intake import LARGEST, LARGEST_WEIGHT


def are_sound(values: Sequence[Any]) -> bool:
    """Whether all values are numbers of an allowed size; False too if there is a doubt.

    >>> are_sound((1, True, 2.5)), are_sound((1.0, float("nan"))), are_sound(("1", 2.0))
    (True, False, False)
    >>> are_sound((2e100, -2e100)), are_sound((None,)), are_sound(())
    (False, False, True)
    """
    try:
        return math.hypot(*values) <= LARGEST  # NaN is not, infinity neither
    except TypeError:  # text and the like
        return False


class SingleRows:
    """A model that is asked and taught one row after the other.

    Results are those of `DEVFNN.predict_proba` and `DEVFNN.learn_rows`, bit for bit. The model may
    be used directly in between.

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
        """Class probabilities of a row, in the order of `classes`; none before learning.

        Values must be sound, or NaN with `missing="skip"`.
        """
        if self.model._network is None:
            return []
        fast = self._fast_path()
        if fast is not None:
            return fast.probabilities(values)
        shares: list[float] = self.model.predict_proba(_as_rows(values))[0].tolist()
        return shares

    def learn(
        self, values: Sequence[float], label: Hashable, weight: float = 1.0, asked: bool = False
    ) -> list[Event]:
        """Learn a row at once; with `asked` the label is used in any case."""
        try:
            index = self.model._labels.index_of(label)
        except TypeError:  # cannot be hashed, so it is no label
            index = None
        if index is not None and 0.0 < weight <= LARGEST_WEIGHT:
            fast = self._fast_path()
            if fast is not None:
                events = fast.learn(values, index, weight, asked)
                if events:
                    self.model._logbook.note(events, self.model.n_rows)
                return events
        return self.model.learn_rows(
            _as_rows(values), [label], [weight], chosen=True if asked else None
        )

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


def _as_rows(values: Sequence[float]) -> "np.ndarray[Any, np.dtype[Any]]":
    """One row as a matrix."""
    try:
        return np.array([values], np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"features must be numbers: {error}") from None
