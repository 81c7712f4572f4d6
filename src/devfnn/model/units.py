"""Inputs of layers in the user's units."""

import itertools
from collections.abc import Hashable, Sequence

import numpy as np

from devfnn import formatting
from devfnn.arrays import Flags, Floats, Ints


class Units:
    """Names and affine maps of the features in use, and names of classes."""

    def __init__(
        self,
        labels: Sequence[Hashable],
        names: Sequence[str],
        used: Flags,
        maps: tuple[Floats, Floats],
    ) -> None:
        self.labels, self.all_names = labels, names
        self.used: Ints = np.flatnonzero(used)
        self.names = tuple(names[j] for j in self.used.tolist())
        self.all_lows, self.all_widths = maps
        self.lows, self.widths = maps[0][self.used], maps[1][self.used]

    def values(self, scaled: Floats) -> Floats:
        """Scaled values of all features as the user's, for those in use."""
        values: Floats = self.lows + self.widths * scaled[self.used]
        return values

    def covariance(self, variances: Floats) -> Floats:
        """Variances of scaled features as a covariance in the user's units."""
        return np.diag(np.maximum(variances[self.used], 1e-12) * self.widths**2)

    @property
    def ranges(self) -> Floats:
        """Range of each feature."""
        return np.stack([self.lows, self.lows + self.widths], axis=1)

    def input_names(self, n_inputs: int) -> list[str]:
        """Names of features, then of outputs of layers."""
        texts = formatting.distinct(self.labels) if n_inputs > len(self.all_names) else []
        said = (f"layer {layer} says {text}" for layer in itertools.count() for text in texts)
        return list(itertools.islice(itertools.chain(self.all_names, said), n_inputs))

    def input_maps(self, n_inputs: int) -> tuple[Floats, Floats]:
        """Affine maps of features, then of layers' outputs: value = low + width * scaled value."""
        lows, widths = np.zeros(n_inputs), np.ones(n_inputs)
        n_features = self.all_lows.size
        lows[:n_features], widths[:n_features] = self.all_lows, self.all_widths
        return lows, widths
