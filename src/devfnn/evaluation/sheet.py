"""The predictions of a chunk, gathered in one piece or row by row, and then scored."""

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.evaluation.learners import Predictions
from devfnn.evaluation.measures import Tally
from devfnn.evaluation.scorer import SILENT, UNSCORED, Scorer
from devfnn.types import Chunk


class Sheet:
    """The predictions of a chunk as they come, in one piece or row by row."""

    def __init__(self, scorer: Scorer, n_rows: int) -> None:
        self._scorer = scorer
        self._n_rows = n_rows
        self._done = 0
        self._whole: tuple[Ints, Floats, Ints] | None = None
        self._predicted: Ints = np.zeros(0, np.int64)
        self._probabilities: Floats = np.empty((0, 0))

    def write(self, said: Predictions, n_rows: int, *, may_be_silent: bool = False) -> None:
        """Write down what is said about the next rows.

        may_be_silent: rows of which nothing is said are not scored, whatever the procedure says
        """
        _check_shape(said, n_rows)
        predicted, probabilities, columns = self._scorer.encoded(said)
        if may_be_silent:
            predicted = np.where(predicted == SILENT, UNSCORED, predicted)
        if n_rows == self._n_rows:
            self._whole = predicted, probabilities, columns
            return
        if not len(predicted):
            predicted = columns[probabilities.argmax(axis=1)]
        self._make_room()
        part = slice(self._done, self._done + n_rows)
        self._predicted[part] = predicted
        if len(probabilities):
            self._probabilities[part] = np.where(np.isnan(probabilities[:, :1]), np.nan, 0.0)
            self._probabilities[part, columns] = probabilities
        self._done += n_rows

    def skip(self, n_rows: int) -> None:
        """Nothing is said about the next rows."""
        self._done += n_rows

    def scored(
        self, chunk: Chunk, unpredicted: str, is_tested: bool
    ) -> tuple[Tally | None, float | None]:
        """Compare with the truth."""
        if self._whole is not None and not len(self._whole[0]) and chunk.y.dtype == np.int64:
            return self._scorer.score_labels(chunk.y, *self._whole[1:])
        truth = self._truth(chunk)
        if self._whole is not None:
            predicted, probabilities, columns = self._whole
        else:
            self._make_room()
            predicted, probabilities = self._predicted, self._probabilities
            columns = np.arange(probabilities.shape[1])
            if np.isnan(probabilities).all():
                probabilities = probabilities[:0]
        if is_tested and len(predicted):
            predicted = self._without_silence(predicted, unpredicted, truth)
        return self._scorer.score(truth, predicted, probabilities, columns)

    def _truth(self, chunk: Chunk) -> Ints:
        if chunk.y.dtype != object:
            return self._scorer.codes.encode(chunk.y)
        known = chunk.is_known()
        truth: Ints = np.full(len(chunk.y), UNSCORED)
        truth[known] = self._scorer.codes.encode(chunk.y[known])
        return truth

    def _without_silence(self, predicted: Ints, unpredicted: str, truth: Ints) -> Ints:
        """Where nothing is said, what the procedure makes of it."""
        if unpredicted == "first":
            return np.maximum(predicted, 0)
        is_silent = (predicted == SILENT) & (truth != UNSCORED)
        if not is_silent.any():
            return predicted
        instead = self._scorer.codes.code(None) if unpredicted == "wrong" else UNSCORED
        return np.where(is_silent, instead, predicted)

    def _make_room(self) -> None:
        """Room for the predictions of all rows, for the classes known by now."""
        n_classes = max(1, len(self._scorer.codes.labels))
        if not len(self._predicted):
            self._predicted = np.full(self._n_rows, UNSCORED)
            self._probabilities = np.full((self._n_rows, n_classes), np.nan)
        elif n_classes > self._probabilities.shape[1]:
            more = n_classes - self._probabilities.shape[1]
            wider = np.pad(self._probabilities, ((0, 0), (0, more)))
            self._probabilities = np.where(np.isnan(wider[:, :1]), np.nan, wider)


def _check_shape(said: Predictions, n_rows: int) -> None:
    """Refuse predictions that do not belong to the rows."""
    if said.labels is not None:
        shape = np.shape(said.labels)
        if shape != (n_rows,):
            raise InputError(f"predictions have shape {shape}, labels {(n_rows,)}")
    if said.probabilities is not None:
        expected = (n_rows, len(said.classes))
        if said.probabilities.shape != expected:
            raise InputError(
                f"probabilities have shape {said.probabilities.shape}, rows and classes {expected}"
            )
