"""Predictions against the truth, chunk by chunk, for labels of any kind."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.errors import InputError
from devfnn.evaluation.learners import Predictions
from devfnn.evaluation.measures import WITH_PROBABILITIES, Tally
from devfnn.kernels.state import Flags, Floats, Ints

SMALL = 1024
"""Labels that are integers from 0 to below this are looked up in an array."""

UNSCORED, SILENT = -1, -2
"""In place of the code of a prediction: the row is not scored; the model said nothing."""

NOTHING: Ints = np.empty(0, np.int64)
FIRST: Ints = np.zeros(1, np.int64)
NO_PROBABILITIES: Floats = np.empty((0, 1))


class Codes:
    """Labels as numbers from 0, in the order in which they came.

    >>> codes = Codes(["up"])
    >>> codes.encode(np.array(["down", "up"])).tolist(), codes.labels
    ([1, 0], ['up', 'down'])
    """

    def __init__(self, labels: Iterable[Hashable] = ()) -> None:
        self.labels: list[Hashable] = []
        self._codes: dict[Hashable, int] = {}
        self._of_small: Ints = np.full(SMALL + 2, -1)  # by label + 1; the ends: all others
        for label in labels:
            self.code(label)

    def code(self, label: Hashable) -> int:
        """The number of a label, a new one if need be."""
        found = self._codes.setdefault(label, len(self.labels))
        if found == len(self.labels):
            self.labels.append(label)
            if isinstance(label, int) and 0 <= label < SMALL:
                self._of_small[int(label) + 1] = found
        return found

    def __contains__(self, label: Hashable) -> bool:
        return label in self._codes

    def encode(self, labels: Sequence[Any] | npt.NDArray[Any]) -> Ints:
        """Numbers of labels."""
        values: Sequence[Any]
        if isinstance(labels, np.ndarray):
            if labels.dtype == np.int64 and len(labels):
                codes: Ints = self._of_small.take(labels + 1, mode="clip")
                if codes.min() >= 0:
                    return codes
            values = labels.tolist()
        else:
            values = [each.item() if isinstance(each, np.generic) else each for each in labels]
        return np.array([self.code(label) for label in values], np.int64)


class Scorer:
    """Scores chunks, and keeps what measures of many chunks need.

    Parameters
    ----------
    classes
        Labels in the order in which they are to be counted, as far as they are known.
    window_chunks
        Scored chunks over which the windowed area under the curve is taken.
    """

    def __init__(self, classes: Iterable[Hashable], window_chunks: int) -> None:
        self.codes = Codes(classes)
        self._window_chunks = window_chunks
        self._n_scored_chunks = 0
        self._past: Any = None  # made when the number of classes is known
        self._ring: Ints = np.zeros((window_chunks, 0, 2, 0), np.int64)
        self._sums: Any = None
        self._areas: Floats = np.empty(2)
        self._rows: Any = None  # imported with the kernel, since that loads Numba
        self._score_rows: Any = None
        self._columns: tuple[list[Hashable], Ints] = ([], NOTHING)

    def encoded(self, said: Predictions) -> tuple[Ints, Floats, Ints]:
        """Codes of the predictions, the probabilities, and the codes of their columns.

        No codes if the most probable class is predicted. Where probabilities are not finite,
        nothing is said.
        """
        if said.probabilities is None or not said.classes:
            labels = said.labels
            if labels is None:
                labels = [None] * (0 if said.probabilities is None else len(said.probabilities))
            return self._predicted(labels), NO_PROBABILITIES, FIRST
        if self._columns[0] != said.classes:
            known = list(said.classes)
            self._columns = (known, self.codes.encode(known))
        predicted = NOTHING if said.labels is None else self._predicted(said.labels)
        probabilities, columns = said.probabilities, self._columns[1]
        if not math.isfinite(np.vdot(probabilities, probabilities)):
            is_silent: Flags = np.any(~np.isfinite(probabilities), axis=1)
            if said.labels is None:
                best = np.where(is_silent[:, None], 0.0, probabilities).argmax(axis=1)
                predicted = np.where(is_silent, SILENT, columns[best])
            probabilities = np.where(is_silent[:, None], np.nan, probabilities)
        return predicted, probabilities, columns

    def _predicted(self, labels: Sequence[Any] | npt.NDArray[Any]) -> Ints:
        """Codes of predicted labels, SILENT for None."""
        if isinstance(labels, np.ndarray) and labels.dtype != object:
            return self.codes.encode(labels)
        has_said = np.array([label is not None for label in labels], np.bool_)
        codes: Ints = np.full(len(labels), SILENT)
        codes[has_said] = self.codes.encode([label for label in labels if label is not None])
        return codes

    def score(
        self, truth: Ints, predicted: Ints, probabilities: Floats, columns: Ints
    ) -> tuple[Tally | None, float | None]:
        """What the predictions of a chunk come to, and the area under the curve of the window.

        truth, predicted: codes, -1 for rows that are not scored; None if no row is.
        """
        self._make_room(len(self.codes.labels))
        sums, areas = self._sums, self._areas
        if len(probabilities) and len(columns) < len(self.codes.labels):
            probabilities, columns = self._of_all_classes(probabilities, columns)
        if not probabilities.flags.carray or probabilities.dtype != np.float64:
            probabilities = np.array(probabilities, np.float64, order="C")  # else Numba compiles
        rows = self._rows(truth, predicted, probabilities, columns)
        past = self._past._replace(oldest=self._ring[self._n_scored_chunks % self._window_chunks])
        self._score_rows(rows, sums, past, areas)
        if not sums.confusion.any():
            return None, None
        self._n_scored_chunks += 1
        if not sums.totals[WITH_PROBABILITIES]:
            self._leave_behind(past)
        auc, windowed = (None if math.isnan(area) else area for area in areas.tolist())
        tally = Tally(
            sums.confusion.copy(),
            sums.totals.copy(),
            sums.calibration.copy(),
            auc,
            None in self.codes,
        )
        return tally, windowed

    def _of_all_classes(self, probabilities: Floats, columns: Ints) -> tuple[Floats, Ints]:
        """Probabilities with columns of zeros for the classes that the model does not know."""
        is_missing = np.ones(len(self.codes.labels), np.bool_)
        is_missing[columns] = False
        missing = np.flatnonzero(is_missing)
        nothing = np.zeros((len(probabilities), missing.size))
        return np.hstack([probabilities, nothing]), np.concatenate([columns, missing])

    def _leave_behind(self, past: Any) -> None:
        """Let the window move on by a chunk without probabilities."""
        from devfnn.kernels.scoring import overall_area

        past.window[:] -= past.oldest
        past.oldest[:] = 0
        self._areas[1] = overall_area(past.window)

    @property
    def auc(self) -> float | None:
        """Area under the curve over all rows scored so far."""
        from devfnn.kernels.scoring import overall_area

        self._make_room(len(self.codes.labels))
        area = float(overall_area(self._past.total))
        return None if math.isnan(area) else area

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """All that is known but the labels, for `restore`."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        self._make_room(len(self.codes.labels))
        return {
            "counts": self._past.counts,
            "last": self._past.last,
            "total": self._past.total,
            "ring": self._ring,
            "n_scored_chunks": np.array([self._n_scored_chunks]),
        }

    def restore(self, labels: Iterable[Hashable], state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on where another scorer stood."""
        self.codes = Codes(labels)
        self._past, self._columns = None, ([], NOTHING)
        mine = self._arrays()
        for name, array in mine.items():
            if name not in state or state[name].shape != array.shape:
                raise InputError("the stored scores do not fit the labels that go with them")
            array[:] = state[name]
        self._n_scored_chunks = int(mine["n_scored_chunks"][0])
        self._past.window[:] = self._ring.sum(axis=0)

    def _make_room(self, n_classes: int) -> None:
        """Widen everything to so many classes; for new ones, all earlier rows had nothing."""
        old, ring = self._past, self._ring
        if old is not None and n_classes == len(old.counts):
            return
        from devfnn.kernels.scoring import Past, Scored, empty_levels, empty_sums, score_rows

        levels = [empty_levels(n_classes) for _ in range(2)]
        counts = np.zeros(n_classes, np.int64)
        last = np.zeros(1, np.int64)  # before the first row, the first class, as MOA has it
        self._ring = np.zeros((self._window_chunks, *levels[0].shape), np.int64)
        if old is not None:
            n_old = len(old.counts)
            counts[:n_old], last[:] = old.counts, old.last
            levels[0][:n_old], levels[1][:n_old] = old.total, old.window
            self._ring[:, :n_old] = ring
            if n_old:
                levels[0][n_old:, 0, 0] = old.total[0].sum()
                levels[1][n_old:, 0, 0] = old.window[0].sum()
                self._ring[:, n_old:, 0, 0] = ring[:, 0].sum(axis=(1, 2))[:, None]
        self._past = Past(counts, last, levels[0], levels[1], self._ring[0])
        self._sums = empty_sums(n_classes)
        self._rows, self._score_rows = Scored, score_rows
