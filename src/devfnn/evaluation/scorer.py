"""Predictions against the truth, chunk by chunk, for labels of any kind."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.arrays import Flags, Floats, Ints
from devfnn.errors import InputError
from devfnn.evaluation.learners import Predictions
from devfnn.evaluation.measures import Tally
from devfnn.kernels.state import N_BINS, N_TOTALS, WITH_PROBABILITIES

SMALL = 1024
"""Labels that are integers from 0 to below this are looked up in an array."""

UNSCORED, SILENT = -1, -2
"""In place of the code of a prediction: the row is not scored; the model said nothing."""

NOTHING: Ints = np.empty(0, np.int64)
FIRST: Ints = np.zeros(1, np.int64)
NO_PROBABILITIES: Floats = np.empty((0, 1))
NOT_SCORED: tuple[None, None] = (None, None)


class Codes:
    """Labels as numbers from 0, in the order in which they came.

    >>> codes = Codes(["up"])
    >>> codes.encode(np.array(["down", "up"])).tolist(), codes.labels
    ([1, 0], ['up', 'down'])
    """

    def __init__(self, labels: Iterable[Hashable] = ()) -> None:
        self.labels: list[Hashable] = []
        self._codes: dict[Hashable, int] = {}
        self.of_small: Ints = np.full(SMALL + 2, -1)  # by label + 1; the ends: all others
        for label in labels:
            self.code(label)

    def code(self, label: Hashable) -> int:
        """The number of a label, a new one if need be."""
        found = self._codes.setdefault(label, len(self.labels))
        if found == len(self.labels):
            self.labels.append(label)
            if isinstance(label, int) and 0 <= label < SMALL:
                self.of_small[int(label) + 1] = found
        return found

    @property
    def silence(self) -> int | None:
        """The number that stands for nothing said, if that has happened."""
        return self._codes.get(None)

    def encode(self, labels: Sequence[Any] | npt.NDArray[Any]) -> Ints:
        """Numbers of labels."""
        values: Sequence[Any]
        if isinstance(labels, np.ndarray):
            if labels.dtype == np.int64 and len(labels):
                codes: Ints = self.of_small.take(labels + 1, mode="clip")
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
        self._pasts: list[Any] = []  # the same for each chunk that may leave the window
        self._levels: Ints = np.zeros((0, 2, 0), np.int64)
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
        rows = self._rows_of(truth, predicted, probabilities, columns, NOTHING)
        return self._scored(rows) or NOT_SCORED

    def score_labels(
        self, labels: Ints, probabilities: Floats, columns: Ints
    ) -> tuple[Tally | None, float | None]:
        """The same for labels that are integers, where the most probable class is predicted."""
        if len(labels):
            rows = self._rows_of(labels, NOTHING, probabilities, columns, self.codes.of_small)
            found = self._scored(rows)
            if found is not None:
                return found
        return self.score(self.codes.encode(labels), NOTHING, probabilities, columns)

    def _rows_of(
        self, truth: Ints, predicted: Ints, probabilities: Floats, columns: Ints, codes: Ints
    ) -> Any:
        """Rows as the kernel takes them."""
        self._make_room(len(self.codes.labels))
        if len(probabilities) and len(columns) < len(self.codes.labels):
            probabilities, columns = self._of_all_classes(probabilities, columns)
        if not probabilities.flags.carray or probabilities.dtype != np.float64:
            probabilities = np.array(probabilities, np.float64, order="C")  # else Numba compiles
        return self._rows(truth, predicted, probabilities, columns, codes)

    def _scored(self, rows: Any) -> tuple[Tally | None, float | None] | None:
        """Tally and area of the window; None if a label has no code, and nothing was done."""
        place, n_classes = self._n_scored_chunks % self._window_chunks, len(self._past.counts)
        past, areas = self._pasts[place], self._areas
        confusion = np.empty((n_classes, n_classes), np.int64)
        totals, calibration = np.empty(N_TOTALS), np.empty((3, N_BINS))
        sums = self._sums(confusion, totals, calibration, self._levels)
        n_scored = self._score_rows(rows, sums, past, areas)
        if n_scored < 0:
            return None
        if not n_scored:
            return NOT_SCORED
        self._n_scored_chunks += 1
        if not totals[WITH_PROBABILITIES]:
            self._leave_behind(past)
        auc, windowed = areas.tolist()
        tally = Tally(
            confusion, totals, calibration, None if auc != auc else auc, self.codes.silence
        )
        return tally, None if windowed != windowed else windowed

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
        from devfnn.kernels.scoring import Past, Scored, Sums, empty_levels, score_rows

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
        self._pasts = [Past(counts, last, levels[0], levels[1], each) for each in self._ring]
        self._past, self._levels = self._pasts[0], empty_levels(n_classes)
        self._rows, self._sums, self._score_rows = Scored, Sums, score_rows
