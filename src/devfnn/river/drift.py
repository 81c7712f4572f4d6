"""The drift test of DEVFNN as a detector of River."""

import math

from devfnn.errors import InputError
from devfnn.model.drift import ErrorTrack, Level, Verdict
from devfnn.river.library import base


class HoeffdingErrorDrift(base.DriftAndWarningDetector):
    """Drift in the errors of a model: are they more frequent than when they were rarest?

    Errors since the last drift are cut where Hoeffding's bound on their rate was lowest. Drift is
    when the rate after the cut is higher than the one before by more than chance explains
    (Bernstein's inequality). Errors that become rarer are no drift: the cut moves on with them. It
    is the test with which DEVFNN decides to grow.

    Parameters
    ----------
    drift_significance
        Probability of a false alarm in one test.
    warning_significance
        The same for a warning.
    clock
        Values between two tests: the more tests, the more false alarms.

    Attributes
    ----------
    verdict
        Outcome of the last test, with the error before and after the cut, the bound and the cut.
    n_detections
        Drifts found so far.

    Examples
    --------
    >>> import random
    >>> rng = random.Random(0)
    >>> detector = HoeffdingErrorDrift()
    >>> for row in range(4000):
    ...     detector.update(rng.random() < (0.1 if row < 2000 else 0.3))
    ...     if detector.drift_detected:
    ...         print(f"drift at {row}, from {detector.verdict.error_before:.2f} errors")
    drift at 2111, from 0.11 errors
    """

    def __init__(
        self,
        drift_significance: float = 1e-4,
        warning_significance: float = 1e-3,
        clock: int = 32,
    ) -> None:
        super().__init__()
        for name, level in (("drift", drift_significance), ("warning", warning_significance)):
            if not 0.0 < level < 1.0:
                raise InputError(f"{name}_significance must be between 0 and 1, not {level!r}")
        if clock < 1:
            raise InputError(f"clock must be 1 or more, not {clock!r}")
        self.drift_significance = drift_significance
        self.warning_significance = warning_significance
        self.clock = clock
        self.n_detections = 0
        self._slack = math.sqrt(math.log(1.0 / drift_significance) / 2.0)
        self._reset()

    def _reset(self) -> None:
        super()._reset()
        self.verdict = Verdict(Level.STABLE)
        self._track = ErrorTrack()
        self._lowest = math.inf

    def update(self, x: int | float) -> None:
        """Take in whether the model was wrong.

        Parameters
        ----------
        x
            1 for an error, 0 for none; any loss between 0 and 1.
        """
        if not 0.0 <= x <= 1.0:
            raise InputError(f"an error is between 0 and 1, not {x!r}")
        if self._drift_detected:
            self._reset()
        track = self._track
        track.rows += 1
        track.errors += x  # type: ignore[assignment]  # a loss is a part of an error
        upper = track.errors / track.rows + self._slack / math.sqrt(track.rows)
        if upper <= self._lowest:
            self._lowest = upper
            track.cut_rows, track.cut_errors = track.rows, track.errors
        if track.rows % self.clock == 0:
            self._test()

    def _test(self) -> None:
        """Compare the errors after the cut with those before."""
        levels = self.drift_significance, self.warning_significance
        self.verdict = self._track.verdict(*levels, one_sided=True)
        self._warning_detected = self.verdict.level is Level.WARNING
        self._drift_detected = self.verdict.level is Level.DRIFT
        self.n_detections += self._drift_detected

    @property
    def _tags(self) -> set[str]:
        """River's checks ask for them."""
        return set()
