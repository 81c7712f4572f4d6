"""Sources of rows: iterables of chunks that know nothing of models."""

from devfnn.streams.concatenation import concatenate
from devfnn.streams.datasets.loading import dataset
from devfnn.streams.describing import describe
from devfnn.streams.exporting import export_parquet
from devfnn.streams.files.reading import read
from devfnn.streams.generators.agrawal import Agrawal, agrawal
from devfnn.streams.generators.concept import Concept
from devfnn.streams.generators.drifting import drifting
from devfnn.streams.generators.functions import LED, Mixed, Sine, Stagger, led, mixed, sine, stagger
from devfnn.streams.generators.hyperplane import Hyperplane, hyperplane
from devfnn.streams.generators.rbf import RandomRBF, rbf
from devfnn.streams.generators.rfid import RFID, rfid
from devfnn.streams.generators.sea import SEA, imbalanced_sea, sea
from devfnn.streams.opening import open_stream
from devfnn.streams.stream import Stream, from_arrays

__all__ = [
    "LED",
    "RFID",
    "SEA",
    "Agrawal",
    "Concept",
    "Hyperplane",
    "Mixed",
    "RandomRBF",
    "Sine",
    "Stagger",
    "Stream",
    "agrawal",
    "concatenate",
    "dataset",
    "describe",
    "drifting",
    "export_parquet",
    "from_arrays",
    "hyperplane",
    "imbalanced_sea",
    "led",
    "mixed",
    "open_stream",
    "rbf",
    "read",
    "rfid",
    "sea",
    "sine",
    "stagger",
]
