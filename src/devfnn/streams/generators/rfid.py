"""RFID: where a tag is in a building, from the strength of its signal; a stand-in.

The DEVFNN paper runs on RFID data of indoor localisation, with 1 input, 4 classes and 566 chunks,
which was never published. This generator stands in for it. It is made from the log-distance
model of indoor radio (Rappaport, "Wireless Communications", 1996), with shadowing that fades as in
Gudmundson, "Correlation model for shadow fading in mobile radio systems", Electronics Letters 27,
1991. Only the shape of the problem is that of the paper's data: figures measured on this stream
cannot be compared with the paper's.
"""

import dataclasses
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.streams.arguments import finite_number
from devfnn.streams.generators.concept import Maker, normal_draws, picked
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream

DISTANCES = (1.0, 2.5, 6.25, 15.625)
"""Metres from the reader to the middle of each zone."""
WANDERING = 0.2
"""A tag in a zone is up to this share of the distance nearer or further."""
STRENGTH_AT_1_M = -40.0
"""Received signal strength in dBm, one metre from the reader."""
SHADOWING = 2.0
"""Standard deviation in dB of what stands between tag and reader."""
MEASURING_ERROR = 1.8
"""Standard deviation in dB of the reader's error, new with every row."""
MOVE_CHANCE = 0.05
"""Chance that a tag sets off to a neighbouring zone."""
CHANGE_CHANCE = 0.2
"""Chance that what stands between tag and reader changes; it does when the tag moves."""


@dataclasses.dataclass(frozen=True)
class RFID:
    """The zone of a tag that walks about, from one signal strength.

    The signal loses 10 times `exponent` dB with each tenfold distance. Shadowing stays for a while
    and then changes, so that its correlation falls off exponentially with time.
    """

    exponent: float = 2.2
    """How fast the signal fades with the distance: 2 in the open, more indoors."""
    offset: float = 0.0
    """Change of the transmitted power, in dB."""

    feature_names = ("signal_strength",)
    classes = (0, 1, 2, 3)
    class_names = ("zone 1", "zone 2", "zone 3", "zone 4")
    n_draws = 7

    def __post_init__(self) -> None:
        finite_number("exponent", self.exponent)
        finite_number("offset", self.offset)

    def situation(self) -> "_Walk":
        return _Walk()

    def start(self) -> Maker:
        return lambda walk: _received(walk, self.exponent, self.offset)

    def between(self, other: "RFID", shares: Floats) -> Maker:
        exponents = self.exponent + shares * (other.exponent - self.exponent)
        offsets = self.offset + shares * (other.offset - self.offset)
        return lambda walk: _received(walk, exponents, offsets)


def _received(
    walk: Floats, exponents: float | Floats, offsets: float | Floats
) -> tuple[Floats, Ints]:
    """Signal strengths and zones along a walk."""
    zones, distances, disturbances = walk.T
    strengths = STRENGTH_AT_1_M + offsets - 10.0 * exponents * np.log10(distances) + disturbances
    return strengths[:, None], zones.astype(np.int64)


class _Walk:
    """A tag that goes from zone to zone, in whatever environment."""

    def __init__(self) -> None:
        self.place = -1
        """Where the tag is on its way there and back, from 0 to 7; -1 before the first row."""
        self.shadow = 0.0

    def __call__(self, draws: Floats) -> Floats:
        """Zone, distance from the reader, and dB lost or won by chance, (n_rows, 3)."""
        is_first, n_places = self.place < 0, 2 * len(DISTANCES)
        if is_first:
            self.place = int(picked(draws[0, 1], n_places))
        # At the first and the last zone the tag stays as often as it leaves. Folding a walk that
        # goes round in a circle of 8 places does that, and makes all zones equally frequent.
        steps = np.where(draws[:, 1] < 0.5, -1, 1) * (draws[:, 0] < MOVE_CHANCE)
        places = (self.place + np.cumsum(steps)) % n_places
        zones = np.minimum(places, n_places - 1 - places)
        # Shadowing is a fresh one, or still that of the row before.
        normal = normal_draws(draws[:, 3:7])
        is_changed = draws[:, 0] < CHANGE_CHANCE
        is_changed[0] |= is_first
        latest = np.maximum.accumulate(np.where(is_changed, np.arange(len(draws)), -1))
        shadows = np.where(latest < 0, self.shadow, (SHADOWING * normal[:, 0])[latest])
        self.place, self.shadow = int(places[-1]), float(shadows[-1])
        distances = np.array(DISTANCES)[zones] * (1.0 + WANDERING * (2.0 * draws[:, 2] - 1.0))
        return np.stack([zones, distances, shadows + MEASURING_ERROR * normal[:, 1]], axis=1)


def rfid(
    n_rows: int | None = None,
    *,
    environments: Sequence[tuple[float, float]] = ((2.2, 0.0), (2.5, -4.0), (2.1, 5.0)),
    **options: Unpack[StreamOptions],
) -> Stream:
    """4 zones from one signal strength; a stand-in for the paper's data.

    A tag walks between the zones, in a building that changes. The paper's RFID data was never
    published: figures on this stream cannot be compared with the paper's. Where thresholds are set
    halfway between the zones, nine rows in ten are on the right side, as long as the environment
    stays the same. Each pair of exponent and offset is an environment, as in `RFID`, which lasts
    10,000 rows by default. All other options are in `StreamOptions`; with `class_shares` zones come
    as the shares draw them, and the tag no longer walks.
    """
    try:
        pairs = [(exponent, offset) for exponent, offset in environments]
    except (TypeError, ValueError):
        message = f"environments must be pairs of exponent and offset, not {environments!r}"
        raise InputError(message) from None
    concepts = [RFID(*pair) for pair in pairs]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))
