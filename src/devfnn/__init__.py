"""Learning from data streams that change: DEVFNN, the deep evolving fuzzy neural network."""

from devfnn.errors import InputError, NotLearnedError, StorageError
from devfnn.model import presets
from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.fleet import Fleet
from devfnn.model.gclass import GClass
from devfnn.storage import load

__all__ = [
    "DEVFNN",
    "Config",
    "Fleet",
    "GClass",
    "InputError",
    "NotLearnedError",
    "StorageError",
    "load",
    "presets",
]
__version__ = "0.1.0"
