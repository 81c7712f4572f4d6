"""The concept network as DEVFNN uses it."""

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np

from devfnn.events import Event
from devfnn.kernels.concept_state import (
    BOXES,
    CLOUD_LAYER,
    CLOUDS,
    LINE,
    NO_LAYER,
    UNCERTAINTY,
)
from devfnn.kernels.state import GONE_BY, Flags, Floats, Ints
from devfnn.model.concepts import learning
from devfnn.model.concepts.explaining import reasons_of
from devfnn.model.concepts.inputs import layer_inputs, used_features
from devfnn.model.concepts.network import ConceptNetwork, empty_network
from devfnn.model.concepts.rules import rules_of
from devfnn.model.config import Config
from devfnn.model.explaining import LayerReasons
from devfnn.model.intake import exploration_draws
from devfnn.model.network import Rows
from devfnn.model.rules import Rule


@dataclasses.dataclass
class ConceptEngine(ConceptNetwork):
    """A concept network with everything that can be asked of it."""

    @classmethod
    def empty(cls, n_features: int, n_classes: int, config: Config) -> "ConceptEngine":
        """A network that has learned nothing."""
        return cls(**vars(empty_network(n_features, n_classes, config)))

    def __post_init__(self) -> None:
        self._said: tuple[Floats, Floats] | None = None

    # ---- what there is

    @property
    def n_layers(self) -> int:
        """Layers, resting ones included."""
        return int(np.count_nonzero(self.state.kinds != NO_LAYER))

    @property
    def n_live_layers(self) -> int:
        """Layers that vote."""
        return int(np.count_nonzero((self.state.kinds != NO_LAYER) & (self.state.rests == 0)))

    @property
    def n_rules(self) -> int:
        """Rules of the layers that vote."""
        count = int(self.state.n_members.sum())
        if self.state.kinds[CLOUD_LAYER] == CLOUDS and not self.state.rests[CLOUD_LAYER]:
            count += int(self.state.n_clouds[0])
        return count

    @property
    def n_parameters(self) -> int:
        """Numbers that define the rules of the layers that vote."""
        state, n, m = self.state, self.n_features, self.n_classes
        lines = int(state.n_members[state.kinds == LINE].sum())
        boxes = int(state.n_members[state.kinds == BOXES].sum())
        clouds = self.n_rules - lines - boxes
        return lines * (n + 1) * m + boxes * (2 * n + (2 * n + 1) * m) + clouds * (n + 3)

    @property
    def purse(self) -> Ints:
        """The label budget, see `kernels/purse.py`."""
        return self.state.purse

    def voting_weights(self, config: Config) -> Floats:
        """Voting weight of every layer; 0 for those that rest."""
        from devfnn.kernels import concepts

        shares = np.zeros(self.state.kinds.size)
        concepts.voting_shares(self.state, config.habits(), shares)
        kept: Floats = shares[self.state.kinds != NO_LAYER]
        return kept

    def used_features(self, config: Config) -> Flags:
        """Which features are in use."""
        return used_features(self, config)

    def rules(
        self, labels: Sequence[Hashable], names: Sequence[str], config: Config, archived: bool
    ) -> list[Rule]:
        """The rules in the user's units."""
        return rules_of(self, labels, names, config, archived)

    def reasons(
        self, X: Floats, labels: Sequence[Hashable], names: Sequence[str], config: Config
    ) -> list[LayerReasons]:
        """What every layer says of the only row of X, and why."""
        return reasons_of(self, X, names, config)

    # ---- predict

    def probabilities(self, X: Floats, config: Config) -> Floats:
        """Class probabilities of rows; what the layers said is kept for learning them."""
        inputs, said = layer_inputs(self, X, config), self._said
        if said is None or not np.array_equal(inputs, said[0], equal_nan=True):
            self._said = said = (inputs, learning.forward(self, inputs))
        return learning.vote(self, said[1], config)

    @property
    def usual_doubt(self) -> float:
        """How far from sure it was of late, from 0 to 0.5; see `Query.certainty`."""
        return 0.5 * float(self.state.course[UNCERTAINTY])

    def wanted(self, X: Floats, config: Config, spend: bool) -> Flags:
        """Which rows are worth a label; `spend`: they are asked for, and the budget is spent."""
        from devfnn.kernels import concepts

        state = self.state
        if not spend:
            state = state._replace(course=state.course.copy(), purse=state.purse.copy())
        draws = exploration_draws(config.seed, int(self.purse[GONE_BY]), X.shape[0])
        shares = self.probabilities(X, config)
        wanted = np.zeros(X.shape[0], np.bool_)
        concepts.choose(state, shares, draws, config.habits(), wanted)
        return wanted

    # ---- learn

    def learn_chunk(
        self, rows: Rows, labelled: Ints, names: list[str], config: Config
    ) -> list[Event]:
        """Learn a chunk."""
        said, self._said = self._said, None
        return learning.learn_chunk(self, rows, labelled, names, config, said)

    def learn_rows(
        self, rows: Rows, labelled: Ints, names: list[str], config: Config
    ) -> list[Event]:
        """Learn row by row."""
        self._said = None
        return learning.learn_rows(self, rows, labelled, names, config)

    def forget_said(self) -> None:
        """What was said before is of no use to learning any more."""
        self._said = None

    def close(self, names: list[str], config: Config) -> list[Event]:
        """Nothing is left open between rows."""
        return []

    def widen(self, n_features: int, n_classes: int, config: Config) -> None:
        """Make room for more features or classes."""
        self._said = None
        super().widen(n_features, n_classes, config)
