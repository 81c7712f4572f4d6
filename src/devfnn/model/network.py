"""Everything a model knows, in one place: what is here is saved, and nothing else."""

import dataclasses
import threading
from collections.abc import Iterable

import numpy as np

from devfnn.kernels.state import Flags, Floats, Ints, Layers, Scratch
from devfnn.model.config import Config
from devfnn.model.drift import ErrorTrack
from devfnn.model.features import FeatureStats, empty_stats, resized_stats
from devfnn.model.label_budget import empty_purse
from devfnn.model.merging import OutputStats, empty_output_stats, resized_output_stats
from devfnn.model.pruning import RuleRecords, empty_records, resized_records
from devfnn.model.state import FIRST_SLOTS, Shape, empty_layers, reshaped, scratch_for
from devfnn.scaling import OnlineScaler


@dataclasses.dataclass
class Rows:
    """Raw rows with class indices and weights."""

    X: Floats  # (k, n)
    labels: Ints  # (k,) 0 where the row has no label
    weights: Floats  # (k,)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @staticmethod
    def none(n_features: int) -> "Rows":
        """No rows."""
        return Rows(np.empty((0, n_features)), np.empty(0, np.int64), np.empty(0))

    def where(self, mask: Flags) -> "Rows":
        """Some of the rows, copied."""
        return Rows(self.X[mask], self.labels[mask], self.weights[mask])

    def part(self, start: int, stop: int) -> "Rows":
        """Rows [start, stop), as views."""
        return Rows(self.X[start:stop], self.labels[start:stop], self.weights[start:stop])

    @staticmethod
    def joined(parts: Iterable["Rows"]) -> "Rows":
        """One after the other."""
        parts = list(parts)
        return Rows(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


@dataclasses.dataclass
class Gathered:
    """Rows learned one by one since the last structural step, with what the layers said before."""

    rows: Rows  # room for `chunk_rows` rows
    outputs: Floats  # (chunk_rows, L, m)
    errors: Ints  # (chunk_rows,)
    count: int = 0

    @staticmethod
    def room(n_rows: int, shape: Shape) -> "Gathered":
        """Room for the rows of one structural step."""
        X = np.zeros((n_rows, shape.features))
        rows = Rows(X, np.zeros(n_rows, np.int64), np.zeros(n_rows))
        outputs = np.zeros((n_rows, shape.layers, shape.classes))
        return Gathered(rows, outputs, np.zeros(n_rows, np.int64))


@dataclasses.dataclass
class Network:
    """The whole state of a model."""

    layers: Layers
    shape: Shape
    scaler: OnlineScaler
    feature_mask: Flags
    feature_stats: FeatureStats
    output_stats: OutputStats
    records: RuleRecords
    track: ErrorTrack
    buffer: Rows
    recent: Ints  # (lags,) last labels as class indices, the newest first; -1 before there was one
    purse: Ints  # the label budget, see `kernels/purse.py`
    gathered: Gathered | None = None
    n_rows: int = 0
    n_chunks: int = 0
    n_labels: int = 0

    @staticmethod
    def empty(n_features: int, n_classes: int, config: Config) -> "Network":
        """A network that has learned nothing."""
        shape = Shape(config.initial_layers, FIRST_SLOTS, n_features, n_classes)
        network = Network(
            layers=empty_layers(shape, config),
            shape=shape,
            scaler=OnlineScaler(n_features),
            feature_mask=np.ones(n_features, np.bool_),
            feature_stats=empty_stats(n_features, n_classes),
            output_stats=empty_output_stats(shape.layers, n_classes),
            records=empty_records(shape.layers, shape.slots),
            track=ErrorTrack(),
            buffer=Rows.none(n_features),
            recent=np.full(config.lags, -1, np.int64),
            purse=empty_purse(config),
        )
        return network

    @property
    def scratch(self) -> Scratch:
        """Working memory for kernels."""
        return scratch_for(self.shape, threading.get_ident())

    def resize(self, new: Shape, config: Config) -> None:
        """Make room for more layers, slots, features or classes."""
        old = self.shape
        self.layers = reshaped(self.layers, old, new, config)
        self.records = resized_records(self.records, new.layers, new.slots)
        self.output_stats = resized_output_stats(self.output_stats, new.layers, new.classes)
        self.feature_stats = resized_stats(self.feature_stats, new.features, new.classes)
        if new.features > old.features:
            self._widen_rows(new.features - old.features)
        if self.gathered is not None:
            outputs = np.zeros((len(self.gathered.rows), new.layers, new.classes))
            outputs[:, : old.layers, : old.classes] = self.gathered.outputs
            self.gathered.outputs = outputs
        self.shape = new

    def _widen_rows(self, features: int) -> None:
        """Room for new features outside the layers; rows of the past do not have them."""
        self.scaler.widen_to(self.feature_mask.size + features)
        self.feature_mask = np.append(self.feature_mask, np.ones(features, np.bool_))
        self.buffer.X = np.pad(self.buffer.X, ((0, 0), (0, features)), constant_values=np.nan)
        if self.gathered is not None:
            gaps = ((0, 0), (0, features))
            self.gathered.rows.X = np.pad(self.gathered.rows.X, gaps, constant_values=np.nan)
