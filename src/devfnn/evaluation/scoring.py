"""Predictions compared with the truth, chunk by chunk, for labels of any kind."""

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
from devfnn.types import Chunk

SMALL = 1024
"""Labels that are integers from 0 to below this are looked up in an array."""

UNSCORED, SILENT = -1, -2
"""In place of the code of a prediction: the row is not scored; the model predicted nothing."""

NOTHING: Ints = np.empty(0, np.int64)
FIRST: Ints = np.zeros(1, np.int64)
NO_PROBABILITIES: Floats = np.empty((0, 1))

Encoded = tuple[Ints, Floats, Ints]
"""Codes of predictions, (0,) if the most probable class is predicted; probabilities, and the codes
of their columns."""

Scores = tuple[Tally | None, float | None]
"""The tally of a chunk and the area under the curve of the window; None if no row was scored."""


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
        """The number of a label, a new one if necessary."""
        found = self._codes.setdefault(label, len(self.labels))
        if found == len(self.labels):
            self.labels.append(label)
            if isinstance(label, int) and 0 <= label < SMALL:
                self.of_small[int(label) + 1] = found
        return found

    @property
    def silence(self) -> int | None:
        """The number that stands for no prediction, if there was none for some row."""
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

    Classes are counted in the order given, then as they come. The windowed area under the curve is
    taken over so many scored chunks.
    """

    def __init__(self, classes: Iterable[Hashable], window_chunks: int) -> None:
        self.codes = Codes(classes)
        self._n_scored_chunks = 0
        self._kernels: Any = None  # imported when they are needed, since that loads Numba
        self._past: Any = None  # made when the number of classes is known
        self._ring: Ints = np.zeros((window_chunks, 0, 2, 0), np.int64)
        self._levels: Ints = np.zeros((0, 2, 0), np.int64)
        self._areas: Floats = np.empty(2)
        self._columns: tuple[list[Hashable], Ints] = ([], NOTHING)

    def encoded(self, said: Predictions) -> Encoded:
        """Predictions in codes. A row with a probability that is not finite has no prediction."""
        if said.probabilities is None or not said.classes:
            labels = said.labels
            if labels is None:
                labels = [None] * (0 if said.probabilities is None else len(said.probabilities))
            return self.coded(labels, SILENT), NO_PROBABILITIES, FIRST
        if self._columns[0] != said.classes:
            known = list(said.classes)
            self._columns = (known, self.codes.encode(known))
        predicted = NOTHING if said.labels is None else self.coded(said.labels, SILENT)
        probabilities, columns = said.probabilities, self._columns[1]
        if not math.isfinite(np.vdot(probabilities, probabilities)):
            is_silent: Flags = np.any(~np.isfinite(probabilities), axis=1)
            if said.labels is None:
                best = np.where(is_silent[:, None], 0.0, probabilities).argmax(axis=1)
                predicted = np.where(is_silent, SILENT, columns[best])
            probabilities = np.where(is_silent[:, None], np.nan, probabilities)
        return predicted, probabilities, columns

    def coded(self, labels: Sequence[Any] | npt.NDArray[Any], missing: int) -> Ints:
        """Codes of labels, with another number in place of None."""
        if isinstance(labels, np.ndarray) and labels.dtype != object:
            return self.codes.encode(labels)
        is_known = np.array([label is not None for label in labels], np.bool_)
        codes: Ints = np.full(len(labels), missing)
        codes[is_known] = self.codes.encode([label for label in labels if label is not None])
        return codes

    def score(self, truth: Ints, predicted: Ints, probabilities: Floats, columns: Ints) -> Scores:
        """Score a chunk; truth and predictions are codes, -1 for rows that are not scored."""
        self._make_room()
        if len(probabilities) and len(columns) < len(self.codes.labels):
            missing = np.setdiff1d(np.arange(len(self.codes.labels)), columns)
            nothing = np.zeros((len(probabilities), missing.size))
            probabilities = np.hstack([probabilities, nothing])
            columns = np.concatenate([columns, missing])
        if not probabilities.flags.carray or probabilities.dtype != np.float64:
            probabilities = np.array(probabilities, np.float64, order="C")  # else Numba compiles
        past = self._past._replace(oldest=self._ring[self._n_scored_chunks % len(self._ring)])
        n_classes = len(past.counts)
        confusion = np.empty((n_classes, n_classes), np.int64)
        totals, calibration = np.empty(N_TOTALS), np.empty((3, N_BINS))
        rows = self._kernels.Scored(truth, predicted, probabilities, columns)
        sums = self._kernels.Sums(confusion, totals, calibration, self._levels)
        if not self._kernels.score_rows(rows, sums, past, self._areas):
            return None, None
        self._n_scored_chunks += 1
        if not totals[WITH_PROBABILITIES]:  # the window moves on all the same
            past.window[:] -= past.oldest
            past.oldest[:] = 0
            self._areas[1] = self._kernels.overall_area(past.window)
        auc, windowed = (None if math.isnan(area) else area for area in self._areas.tolist())
        return Tally(confusion, totals, calibration, auc, self.codes.silence), windowed

    @property
    def auc(self) -> float | None:
        """Area under the curve over all rows scored so far."""
        self._make_room()
        area = float(self._kernels.overall_area(self._past.total))
        return None if math.isnan(area) else area

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The state without the labels, for `restore`."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        self._make_room()
        return {
            "counts": self._past.counts,
            "last": self._past.last,
            "total": self._past.total,
            "ring": self._ring,
            "n_scored_chunks": np.array([self._n_scored_chunks]),
        }

    def restore(self, labels: Iterable[Hashable], state: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from the state of another scorer."""
        self.codes = Codes(labels)
        self._past, self._columns = None, ([], NOTHING)
        mine = self._arrays()
        for name, array in mine.items():
            if name not in state or state[name].shape != array.shape:
                raise InputError("the stored scores do not fit the labels that go with them")
            array[:] = state[name]
        self._n_scored_chunks = int(mine["n_scored_chunks"][0])
        self._past.window[:] = self._ring.sum(axis=0)

    def _make_room(self) -> None:
        """Widen everything to the classes known by now; of a new one, earlier rows had none."""
        old, ring, n_classes = self._past, self._ring, len(self.codes.labels)
        if old is not None and n_classes == len(old.counts):
            return
        from devfnn.kernels import scoring

        self._kernels = scoring
        total, window, self._levels = (scoring.empty_levels(n_classes) for _ in range(3))
        counts = np.zeros(n_classes, np.int64)
        last = np.zeros(1, np.int64)  # before the first row, the first class, as MOA has it
        self._ring = np.zeros((len(ring), *total.shape), np.int64)
        if old is not None:
            n_old = len(old.counts)
            counts[:n_old], last[:] = old.counts, old.last
            total[:n_old], window[:n_old], self._ring[:, :n_old] = old.total, old.window, ring
            if n_old:
                total[n_old:, 0, 0] = old.total[0].sum()
                window[n_old:, 0, 0] = old.window[0].sum()
                self._ring[:, n_old:, 0, 0] = ring[:, 0].sum(axis=(1, 2))[:, None]
        self._past = scoring.Past(counts, last, total, window, self._ring[0])


class ChunkPredictions:
    """The predictions of a chunk, in one part or row by row."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._parts: list[Encoded] = []

    def add(self, said: Predictions, n_rows: int, *, may_be_silent: bool = False) -> None:
        """Add the predictions of the next rows.

        may_be_silent: rows without a prediction are not scored, whatever the procedure says
        """
        if said.labels is not None and np.shape(said.labels) != (n_rows,):
            raise InputError(f"predictions have shape {np.shape(said.labels)}, labels {(n_rows,)}")
        shape = (n_rows, len(said.classes))
        if said.probabilities is not None and said.probabilities.shape != shape:
            found = said.probabilities.shape
            raise InputError(f"probabilities have shape {found}, rows and classes {shape}")
        predicted, probabilities, columns = self._scorer.encoded(said)
        if may_be_silent:
            predicted = np.where(predicted == SILENT, UNSCORED, predicted)
        self._parts.append((predicted, probabilities, columns))

    def skip(self, n_rows: int) -> None:
        """The next rows are not predicted."""
        self._parts.append((np.full(n_rows, UNSCORED), NO_PROBABILITIES, FIRST))

    def scored(self, chunk: Chunk, unpredicted: str, is_tested: bool) -> Scores:
        """Compare with the truth."""
        truth = self._scorer.coded(chunk.y, UNSCORED)
        predicted, probabilities, columns = self._joined()
        if is_tested and len(predicted):
            predicted = self._without_silence(predicted, unpredicted, truth)
        return self._scorer.score(truth, predicted, probabilities, columns)

    def _joined(self) -> Encoded:
        """All parts as one, with columns for all classes known by now."""
        if len(self._parts) == 1:
            return self._parts[0]
        n_classes = max(1, len(self._scorer.codes.labels))
        labels: list[Ints] = [NOTHING]
        shares: list[Floats] = [np.empty((0, n_classes))]
        for predicted, probabilities, columns in self._parts:
            labels.append(predicted if len(predicted) else columns[probabilities.argmax(axis=1)])
            wide = np.full((len(labels[-1]), n_classes), np.nan)
            if len(probabilities):
                wide[:] = np.where(np.isnan(probabilities[:, :1]), np.nan, 0.0)
                wide[:, columns] = probabilities
            shares.append(wide)
        joined = np.concatenate(shares)
        if np.isnan(joined).all():
            joined = joined[:0]
        return np.concatenate(labels), joined, np.arange(n_classes)

    def _without_silence(self, predicted: Ints, unpredicted: str, truth: Ints) -> Ints:
        """Treat rows without a prediction as the procedure says."""
        if unpredicted == "first":
            return np.maximum(predicted, 0)
        is_silent = (predicted == SILENT) & (truth != UNSCORED)
        if not is_silent.any():
            return predicted
        instead = self._scorer.codes.code(None) if unpredicted == "wrong" else UNSCORED
        return np.where(is_silent, instead, predicted)
