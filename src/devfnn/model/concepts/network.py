"""Everything a concept network knows, in one place: what is here is saved, and nothing else."""

import dataclasses

import numpy as np

from devfnn.kernels.concept_state import Concepts
from devfnn.kernels.state import Flags, Floats, Ints
from devfnn.model.concepts.state import empty_concepts, widened
from devfnn.model.config import Config
from devfnn.model.features import FeatureStats, empty_stats, resized_stats
from devfnn.model.network import Rows
from devfnn.scaling import OnlineScaler


@dataclasses.dataclass
class ConceptNetwork:
    """The whole state of a model of rival layers."""

    state: Concepts
    scaler: OnlineScaler
    feature_mask: Flags
    feature_stats: FeatureStats
    gathered: Rows  # learned since the last structural step; only for the feature mask
    lead: Floats  # (1,) rows on which the brisk line beat the steady one, since that step
    recent: Ints  # (lags,) last labels as class indices, the newest first; -1 before there was one
    n_rows: int = 0
    n_chunks: int = 0
    n_labels: int = 0

    @property
    def n_features(self) -> int:
        """Features of a row."""
        return int(self.state.lows.shape[1])

    @property
    def n_classes(self) -> int:
        """Classes seen so far."""
        return int(self.state.weights.shape[1])

    def widen(self, n_features: int, n_classes: int, config: Config) -> None:
        """Make room for more features or classes; nothing learned is lost."""
        added = n_features - self.n_features
        self.state = widened(self.state, n_features, n_classes, config)
        self.feature_stats = resized_stats(self.feature_stats, n_features, n_classes)
        if added:
            self.scaler.widen_to(n_features)
            self.feature_mask = np.append(self.feature_mask, np.ones(added, np.bool_))
            gaps = ((0, 0), (0, added))
            self.gathered.X = np.pad(self.gathered.X, gaps, constant_values=np.nan)


def empty_network(n_features: int, n_classes: int, config: Config) -> ConceptNetwork:
    """A network that has learned nothing."""
    return ConceptNetwork(
        state=empty_concepts(n_features, n_classes, config),
        scaler=OnlineScaler(n_features),
        feature_mask=np.ones(n_features, np.bool_),
        feature_stats=empty_stats(n_features, n_classes),
        gathered=Rows.none(n_features),
        lead=np.zeros(1),
        recent=np.full(config.lags, -1, np.int64),
    )
