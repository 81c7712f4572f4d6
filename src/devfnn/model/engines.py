"""The two networks that DEVFNN can be, what it asks of them, and which one it is."""

from collections.abc import Hashable, Sequence
from typing import Protocol

from devfnn.events import Event
from devfnn.kernels.state import Flags, Floats, Ints
from devfnn.model.concepts.engine import ConceptEngine
from devfnn.model.config import Config
from devfnn.model.explaining import LayerReasons
from devfnn.model.network import Rows
from devfnn.model.rules import Rule
from devfnn.model.stacked import StackedEngine
from devfnn.scaling import OnlineScaler


class Engine(Protocol):
    """A network that learns."""

    n_rows: int
    n_labels: int
    recent: Ints
    scaler: OnlineScaler
    feature_mask: Flags

    @property
    def purse(self) -> Ints: ...

    @property
    def n_features(self) -> int: ...
    @property
    def n_layers(self) -> int: ...
    @property
    def n_live_layers(self) -> int: ...
    @property
    def n_rules(self) -> int: ...
    @property
    def n_parameters(self) -> int: ...
    def voting_weights(self, config: Config) -> Floats: ...
    def used_features(self, config: Config) -> Flags: ...
    def rules(
        self, labels: Sequence[Hashable], names: Sequence[str], config: Config, archived: bool
    ) -> list[Rule]: ...
    def reasons(
        self, X: Floats, labels: Sequence[Hashable], names: Sequence[str], config: Config
    ) -> list[LayerReasons]: ...
    def probabilities(self, X: Floats, config: Config) -> Floats: ...
    def wanted(self, X: Floats, config: Config, spend: bool) -> Flags: ...
    def learn_chunk(
        self, rows: Rows, labelled: Ints, names: list[str], config: Config
    ) -> list[Event]: ...
    def learn_rows(
        self, rows: Rows, labelled: Ints, names: list[str], config: Config
    ) -> list[Event]: ...
    def close(self, names: list[str], config: Config) -> list[Event]: ...
    def widen(self, n_features: int, n_classes: int, config: Config) -> None: ...


class OfEngine(Protocol):
    """A model with an engine, as the parts of it see one another."""

    config: Config
    _names: list[str] | None
    _network: Engine | None
    _late: tuple[int, ...]

    def _known(self) -> Engine: ...
    def _n_features(self) -> int | None: ...


def empty_engine(n_features: int, n_classes: int, config: Config) -> Engine:
    """A network that has learned nothing, of the kind that is configured."""
    kind = StackedEngine if config.network == "stacked" else ConceptEngine
    return kind.empty(n_features, n_classes, config)
