"""All generated streams by name, for the command line."""

from collections.abc import Callable
from typing import NamedTuple

from devfnn.streams.generators.agrawal import agrawal
from devfnn.streams.generators.functions import led, mixed, sine, stagger
from devfnn.streams.generators.hyperplane import hyperplane
from devfnn.streams.generators.rbf import rbf
from devfnn.streams.generators.rfid import rfid
from devfnn.streams.generators.sea import imbalanced_sea, sea
from devfnn.streams.stream import Stream


class Generator(NamedTuple):
    """A stream that can be made."""

    make: Callable[..., Stream]
    """Called with the number of rows, or None for no end, and options as in `StreamOptions`."""
    citation: str
    """Where it comes from."""

    @property
    def summary(self) -> str:
        """What it is, in one line: the first of its docstring."""
        return (self.make.__doc__ or "").partition("\n")[0].removesuffix(".")


_GAMA = "Gama, Medas, Castillo and Rodrigues, SBIA 2004"
_RADIO = "log-distance model: Rappaport 1996; shadowing: Gudmundson, Electronics Letters 27, 1991"
_TREES = "Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984"

GENERATORS: dict[str, Generator] = {
    "sea": Generator(sea, "Street and Kim, KDD 2001"),
    "sea-imbalanced": Generator(imbalanced_sea, "Ditzler and Polikar, IEEE TKDE 25, 2013"),
    "hyperplane": Generator(hyperplane, "Hulten, Spencer and Domingos, KDD 2001"),
    "rfid": Generator(rfid, _RADIO),
    "agrawal": Generator(agrawal, "Agrawal, Imielinski and Swami, IEEE TKDE 5, 1993"),
    "led": Generator(led, _TREES),
    "rbf": Generator(rbf, "Bifet, Holmes, Kirkby and Pfahringer, JMLR 11, 2010"),
    "sine": Generator(sine, _GAMA),
    "stagger": Generator(stagger, "Schlimmer and Granger, Machine Learning 1, 1986"),
    "mixed": Generator(mixed, _GAMA),
}
"""Generated streams by the names users know them by."""
