"""The parameters of DSSCN, checked once."""

import dataclasses
import math
from collections.abc import Iterable

from devfnn.baselines.checks import check_count, check_flags, check_number
from devfnn.errors import InputError


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that can be set; the defaults are those of our description of the network."""

    n_candidates: int = 50
    """Random nodes drawn for each scope."""
    scopes: tuple[float, ...] = (0.5, 1.0, 3.0, 5.0, 7.0, 9.0, 15.0, 25.0, 50.0)
    """Ranges of the random numbers, tried in order (λ)."""
    rates: tuple[float, ...] = (0.9,)
    """Shares of the error that may remain, tried in order (r)."""
    slack: float = 1.0
    """How much the share is loosened while nodes are few; 0 turns it off (μ)."""
    half_width: float = 0.05
    """Of the interval around the centre of a node."""
    upper_share: float = 0.5
    """Weight of the upper firing against the lower one, at the start (q)."""
    share_rate: float = 0.0
    """Step of the gradient of that weight; 0 leaves it as it is."""
    growth: int = 1
    """Nodes that may be added with one chunk."""
    min_rows: int = 20
    """A chunk with fewer rows trains weights only: any node explains so few, any means move."""
    max_nodes: int = 60
    """Of one layer."""
    max_layers: int = 50
    """Layers at most; after a drift at full depth, the top layer learns on."""
    shift: float = 0.001
    """How far the output of a layer moves the input of the next (α)."""
    covariance: float = 1000.0
    """Of the weights of a new node, on the diagonal."""
    decay: float = 1e-15
    """How fast weights fade (ϖ)."""
    merging: bool = True
    """Whether layers that say the same are merged."""
    merge_threshold: float = 0.005
    """Two layers say the same if the compression index of every class is below it."""
    drift_cap: float = 0.09
    """Largest significance of a drift."""
    warning_cap: float = 0.1
    """Largest significance of a warning."""
    horizon: float = 200.0
    """Chunks over which the significance rises (T)."""
    cut_confidence: float = 0.001
    """Significance of the search for the cut."""
    compat: bool = False
    """Whether the cut may come after one row, as in the authors' program."""
    max_buffer: int = 10000
    """Rows kept after warnings; the oldest go first."""
    feature_weighting: bool = False
    """Whether features that repeat others count less."""

    def __post_init__(self) -> None:
        for name in ("scopes", "rates"):
            _check_sequence(name, getattr(self, name))
            object.__setattr__(self, name, tuple(map(float, getattr(self, name))))
        for name, (low, high) in _RANGES.items():
            check_number(name, getattr(self, name), low, high)
        for name in _WHOLE:
            check_count(name, getattr(self, name), least=0)
        check_flags(self)
        if max(self.rates) >= 1.0:
            raise InputError("rates must lie between 0 and 1")


_RANGES = {
    "n_candidates": (1, 100000),
    "slack": (0.0, 1.0),
    "half_width": (0.0, 1e6),
    "upper_share": (0.0, 1.0),
    "share_rate": (0.0, 1e3),
    "growth": (0, 1000),
    "min_rows": (1, 10**9),
    "max_nodes": (1, 100000),
    "max_layers": (1, 1000),
    "shift": (0.0, 1e3),
    "covariance": (1e-9, 1e12),
    "decay": (0.0, 1e-3),
    "merge_threshold": (0.0, 1e6),
    "drift_cap": (1e-12, 0.999),
    "warning_cap": (1e-12, 0.999),
    "horizon": (2.0, 1e12),
    "cut_confidence": (1e-12, 0.999),
    "max_buffer": (1, 10**9),
}
_WHOLE = ("n_candidates", "growth", "min_rows", "max_nodes", "max_layers", "max_buffer")


def _check_sequence(name: str, values: Iterable[object]) -> None:
    numbers = list(values)
    if not numbers or not all(
        isinstance(number, int | float) and 0.0 < number < math.inf for number in numbers
    ):
        raise InputError(f"{name} must be positive numbers, at least one")
    if sorted(numbers) != numbers:  # type: ignore[type-var]
        raise InputError(f"{name} must rise")
