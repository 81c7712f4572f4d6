"""The stacked network of the paper, as DEVFNN uses it."""

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np

from devfnn.events import Event
from devfnn.kernels.state import (
    ACTIVE,
    ASKED_FOR,
    GONE_BY,
    OFFERED,
    UNLABELLED,
    Batch,
    Flags,
    Floats,
    Ints,
)
from devfnn.model import chunkwise, rowwise, voting
from devfnn.model.config import Config
from devfnn.model.explaining import LayerReasons
from devfnn.model.growth import forward
from devfnn.model.inputs import scaled, switch_inputs
from devfnn.model.intake import exploration_draws
from devfnn.model.label_budget import in_budget, is_bounded
from devfnn.model.network import Network, Rows
from devfnn.model.rules import Rule
from devfnn.model.stacked_explaining import reasons_of
from devfnn.model.stacked_rules import rules_of
from devfnn.model.state import parameter_count


@dataclasses.dataclass
class StackedEngine(Network):
    """A stacked network with everything that can be asked of it."""

    @classmethod
    def empty(cls, n_features: int, n_classes: int, config: Config) -> "StackedEngine":
        """A network that has learned nothing."""
        network = cls(**vars(Network.empty(n_features, n_classes, config)))
        switch_inputs(network, config)
        return network

    # ---- what there is

    @property
    def n_features(self) -> int:
        """Features of a row."""
        return self.shape.features

    @property
    def n_layers(self) -> int:
        """Layers, merged ones included."""
        return self.shape.layers

    @property
    def n_live_layers(self) -> int:
        """Layers that vote."""
        return int(np.count_nonzero(~self.layers.is_merged))

    @property
    def n_rules(self) -> int:
        """Active rules of the live layers."""
        return int(np.count_nonzero(self.layers.status[~self.layers.is_merged] == ACTIVE))

    @property
    def n_parameters(self) -> int:
        """Numbers that define the live rules."""
        return parameter_count(self.layers)

    def voting_weights(self, config: Config) -> Floats:
        """Voting weight of every layer; 0 for merged ones."""
        return np.where(self.layers.is_merged, 0.0, self.layers.voting_weights)

    def used_features(self, config: Config) -> Flags:
        """Which features are in use."""
        return self.layers.input_mask[0, : self.shape.features].copy()

    def rules(
        self, labels: Sequence[Hashable], names: Sequence[str], config: Config, archived: bool
    ) -> list[Rule]:
        """The rules in the user's units."""
        return rules_of(self, labels, names, config, archived)

    def reasons(
        self, X: Floats, labels: Sequence[Hashable], names: Sequence[str], config: Config
    ) -> list[LayerReasons]:
        """What every layer says of the only row of X, and why."""
        return reasons_of(self, X, labels, names, config)

    # ---- predict

    def probabilities(self, X: Floats, config: Config) -> Floats:
        """Class probabilities of rows."""
        outputs, _ = forward(self, scaled(self, X, config), config)
        return voting.vote(self.layers, outputs, config)

    def wanted(self, X: Floats, config: Config, spend: bool) -> Flags:
        """Which rows the winning layer asks for; `spend`: it really does, and spends the budget."""
        purse = self.purse if spend else self.purse.copy()
        return in_budget(self._worth(X, config), purse, config)

    def _worth(self, X: Floats, config: Config) -> Flags:
        """Which rows the winning layer would ask for, were there no budget; all before learning."""
        from devfnn.kernels.layers import choose_rows

        if not self.n_rows:
            return np.ones(X.shape[0], np.bool_)
        _, stacked = forward(self, scaled(self, X, config), config)
        wanted = np.zeros(X.shape[0], np.bool_)
        settings = config.kernel_settings(self.shape.inputs)
        draws = exploration_draws(config.seed, int(self.purse[GONE_BY]), X.shape[0])
        batch = Batch(stacked, np.zeros(0, np.int64), np.zeros(0), draws, np.zeros(0, np.int64))
        layer = voting.winner(self.layers)
        choose_rows(self.layers, layer, settings, batch, self.scratch, wanted)
        return wanted

    # ---- learn

    def learn_chunk(
        self, rows: Rows, labelled: Ints, names: list[str], config: Config
    ) -> list[Event]:
        """Learn a chunk (paper: Algorithm 1)."""
        self._let_by(labelled)
        return chunkwise.learn_chunk(self, rows, labelled, names, config)

    def learn_rows(
        self, rows: Rows, labelled: Ints, names: list[str], config: Config
    ) -> list[Event]:
        """Learn row by row. With a budget, the winner of the moment chooses."""
        if not (is_bounded(config) and (labelled == OFFERED).any()):
            self._let_by(labelled)
            return rowwise.learn_rows(self, rows, labelled, names, config)
        events: list[Event] = []
        for row in range(len(rows)):
            one = rows.part(row, row + 1)
            is_taken = in_budget(self._worth(one.X, config), self.purse, config)
            chosen = np.where(is_taken, ASKED_FOR, UNLABELLED)
            events += rowwise.learn_rows(self, one, chosen, names, config)
        return events

    def _let_by(self, labelled: Ints) -> None:
        """Count rows whose labels were chosen before, or are all to be had."""
        from devfnn.kernels.purse import note_rows

        note_rows(self.purse, labelled, labelled != UNLABELLED)

    def close(self, names: list[str], config: Config) -> list[Event]:
        """Run the structural steps on rows that were learned one by one."""
        return rowwise.close_gathered(self, names, config)

    def widen(self, n_features: int, n_classes: int, config: Config) -> None:
        """Make room for more features or classes."""
        shape = dataclasses.replace(self.shape, features=n_features, classes=n_classes)
        self.resize(shape, config)
        switch_inputs(self, config)
