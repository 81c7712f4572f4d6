"""All generated streams by name, for the command line."""

from collections.abc import Callable
from typing import NamedTuple

from devfnn.streams.generators.agrawal import agrawal
from devfnn.streams.generators.functions import mixed, sine, stagger
from devfnn.streams.generators.hyperplane import hyperplane
from devfnn.streams.generators.led import led
from devfnn.streams.generators.rbf import rbf
from devfnn.streams.generators.rfid import rfid
from devfnn.streams.generators.sea import imbalanced_sea, sea
from devfnn.streams.stream import Stream


class Generator(NamedTuple):
    """A stream that can be made."""

    make: Callable[..., Stream]
    """Called with the number of rows, or None for no end, and options as in `StreamOptions`."""
    summary: str
    """What it is, in one line."""
    citation: str
    """Where it comes from."""


_GAMA = "Gama, Medas, Castillo and Rodrigues, SBIA 2004"

GENERATORS: dict[str, Generator] = {
    "sea": Generator(
        sea,
        "2 of 3 features decide by a threshold that jumps and comes back",
        "Street and Kim, KDD 2001",
    ),
    "sea-imbalanced": Generator(
        imbalanced_sea,
        "SEA with 5 to 25 % of the rows below the threshold",
        "Ditzler and Polikar, IEEE TKDE 25, 2013",
    ),
    "hyperplane": Generator(
        hyperplane,
        "4 features on two sides of a plane that turns slowly",
        "Hulten, Spencer and Domingos, KDD 2001",
    ),
    "rfid": Generator(
        rfid,
        "4 zones from one signal strength; a stand-in for the paper's data",
        "log-distance model: Rappaport 1996; shadowing: Gudmundson, Electronics Letters 27, 1991",
    ),
    "agrawal": Generator(
        agrawal,
        "9 features of people who ask for a loan, up to 10 rules",
        "Agrawal, Imielinski and Swami, IEEE TKDE 5, 1993",
    ),
    "led": Generator(
        led,
        "10 digits on a display of 7 segments, among 17 useless features",
        "Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984",
    ),
    "rbf": Generator(
        rbf,
        "clouds of rows around centres that move slowly",
        "Bifet, Holmes, Kirkby and Pfahringer, JMLR 11, 2010",
    ),
    "sine": Generator(
        sine, "2 features above and below a sine, the sides exchanged by drift", _GAMA
    ),
    "stagger": Generator(
        stagger,
        "objects of 3 sizes, colours and shapes, 3 rules",
        "Schlimmer and Granger, Machine Learning 1, 1986",
    ),
    "mixed": Generator(mixed, "2 booleans and 2 numbers, the classes exchanged by drift", _GAMA),
}
"""Generated streams by the names users know them by."""
