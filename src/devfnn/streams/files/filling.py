"""Missing numbers replaced by the mean of those that came before."""

import numpy as np
import numpy.typing as npt


class MeanFiller:
    """Remembers sum and count of every feature. Before its first value a feature is 0."""

    def __init__(self) -> None:
        self._sums: npt.NDArray[np.float64] | None = None
        self._counts: npt.NDArray[np.int64] | None = None

    def fill(self, X: npt.NDArray[np.float64]) -> None:
        """Replace NaN, row by row, by what is known from the rows before. Changes X."""
        if self._sums is None or self._counts is None:
            self._sums, self._counts = np.zeros(X.shape[1]), np.zeros(X.shape[1], np.int64)
        missing = np.isnan(X)
        # Sums are taken row by row, so that they do not depend on how rows are cut into blocks.
        values = np.where(missing, 0.0, X)
        values[:1] += self._sums
        sums = np.cumsum(values, axis=0)
        for column in np.flatnonzero(missing.any(axis=0)):
            gaps = missing[:, column]
            counts = self._counts[column] + np.cumsum(~gaps)
            X[gaps, column] = (sums[:, column] / np.maximum(counts, 1))[gaps]
        if len(X):
            self._sums = sums[-1].copy()
        self._counts += (~missing).sum(axis=0)
