"""Rows as the network keeps them: raw, with class indices and weights."""

import dataclasses
from collections.abc import Iterable

import numpy as np

from devfnn.arrays import Flags, Floats, Ints


@dataclasses.dataclass
class Rows:
    """Raw rows with class indices and weights."""

    X: Floats  # (k, n)
    labels: Ints  # (k,) 0 where the row has no label
    weights: Floats  # (k,)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @staticmethod
    def none(n_features: int) -> "Rows":
        """No rows."""
        return Rows(np.empty((0, n_features)), np.empty(0, np.int64), np.empty(0))

    def where(self, mask: Flags) -> "Rows":
        """Some of the rows, copied."""
        return Rows(self.X[mask], self.labels[mask], self.weights[mask])

    def part(self, start: int, stop: int) -> "Rows":
        """Rows [start, stop), as views."""
        return Rows(self.X[start:stop], self.labels[start:stop], self.weights[start:stop])

    @staticmethod
    def joined(parts: Iterable["Rows"]) -> "Rows":
        """One after the other."""
        parts = list(parts)
        return Rows(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )

    def widen(self, n_features: int, gap: float = np.nan) -> None:
        """Room for features that these rows do not have."""
        added = n_features - self.X.shape[1]
        self.X = np.pad(self.X, ((0, 0), (0, added)), constant_values=gap)


@dataclasses.dataclass
class Gathered:
    """Rows learned one by one since the last structural step, with the layers' outputs before."""

    rows: Rows
    outputs: Floats  # (k, L, m); without rows if nothing needs them
    errors: Ints  # (k,) likewise

    @staticmethod
    def none(n_features: int, n_layers: int, n_classes: int) -> "Gathered":
        """No rows."""
        outputs = np.empty((0, n_layers, n_classes))
        return Gathered(Rows.none(n_features), outputs, np.empty(0, np.int64))

    def add(self, rows: Rows, outputs: Floats, errors: Ints) -> None:
        """Append rows."""
        self.rows = Rows.joined([self.rows, rows])
        self.outputs = np.concatenate([self.outputs, outputs])
        self.errors = np.concatenate([self.errors, errors])
