"""The rules of a concept network as objects: lines, boxes and clouds in the user's units."""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from devfnn.kernels.concept_state import BOXES, CLOUD_LAYER, CLOUDS, FIRST_KEPT, NO_LAYER
from devfnn.kernels.state import Floats, Ints
from devfnn.model.concepts.inputs import used_features
from devfnn.model.concepts.network import ConceptNetwork
from devfnn.model.config import Config
from devfnn.model.rules import Rule, rank_of_rule
from devfnn.scaling import CLIP

NO_SAY = 1e-3
"""Share of the vote below which a kept layer only waits for its concept."""


def rules_of(
    network: ConceptNetwork,
    labels: Sequence[Hashable],
    names: Sequence[str],
    config: Config,
    archived: bool = False,
) -> list[Rule]:
    """The rules of all layers that have a say; those of waiting layers if `archived`."""
    from devfnn.kernels import concepts

    state = network.state
    shares = np.zeros(state.kinds.size)
    concepts.voting_shares(state, config.habits(), shares)
    units = _Units(network, names, config)
    rules: list[Rule] = []
    for layer in np.flatnonzero(state.kinds != NO_LAYER).tolist():
        is_waiting = layer >= FIRST_KEPT and shares[layer] < NO_SAY
        waits = bool(state.rests[layer] or is_waiting)
        if waits and not archived:
            continue
        made = _clouds(network, units, labels) if layer == CLOUD_LAYER else None
        for rule in made or _boxes(network, layer, units, labels):
            rules.append(rule.with_vote(float(shares[layer]), waits))
    return sorted(rules, key=rank_of_rule)


class _Units:
    """Names and affine maps of the features in use."""

    def __init__(self, network: ConceptNetwork, names: Sequence[str], config: Config) -> None:
        self.used: Ints = np.flatnonzero(used_features(network, config))
        self.names = tuple(names[j] for j in self.used.tolist())
        lows, widths = np.zeros(network.n_features), np.ones(network.n_features)
        if config.scaling == "online":
            lows, widths = network.scaler.low, network.scaler.width
        self.lows, self.widths = lows[self.used], widths[self.used]

    def values(self, scaled: Floats) -> Floats:
        """Scaled values of all features as the user's, for those in use."""
        values: Floats = self.lows + self.widths * scaled[self.used]
        return values

    def covariance(self, variances: Floats) -> Floats:
        """Variances of scaled features as a covariance in the user's units."""
        return np.diag(np.maximum(variances[self.used], 1e-12) * self.widths**2)

    @property
    def ranges(self) -> Floats:
        """From where to where each feature goes."""
        return np.stack([self.lows, self.lows + self.widths], axis=1)


def _boxes(
    network: ConceptNetwork, layer: int, units: _Units, labels: Sequence[Hashable]
) -> Iterator[Rule]:
    """The rules of a layer of boxes, or the only one of a line."""
    state = network.state
    is_curved = bool(state.kinds[layer] == BOXES)
    n_rows = float(state.class_counts[state.members[layer, : state.n_members[layer]]].sum())
    for rule in state.members[layer, : state.n_members[layer]].tolist():
        shares = _said(network, rule, is_curved, units.used)
        bounds = np.stack([units.values(state.lows[rule]), units.values(state.highs[rule])], axis=1)
        yield Rule(
            layer=layer,
            rule=rule,
            inputs=units.names,
            n_features=len(units.names),
            center=units.values(state.means[rule]),
            covariance=units.covariance(state.variances[rule]),
            probabilities=dict(zip(labels, shares.tolist(), strict=True)),
            n_rows=float(state.class_counts[rule].sum()),
            is_archived=False,
            voting_weight=0.0,
            ranges=units.ranges,
            bounds=bounds,
            age=int(state.ages[rule]),
            firing_share=float(state.class_counts[rule].sum()) / n_rows if n_rows else None,
            slopes=2.0 * state.weights[rule][:, 1 + units.used].T,
        )


def _said(network: ConceptNetwork, rule: int, is_curved: bool, used: Ints) -> Floats:
    """Class probabilities of a rule at the mean of its rows."""
    state, n = network.state, network.n_features
    t = 2.0 * np.clip(state.means[rule, used], -CLIP, 1.0 + CLIP) - 1.0
    weights = state.weights[rule]
    logits = weights[:, 0] + weights[:, 1 + used] @ t
    if is_curved:
        logits += weights[:, 1 + n + used] @ (2.0 * t * t - 1.0)
    shares: Floats = np.exp(logits - logits.max())
    shares /= shares.sum()
    return shares


def _clouds(network: ConceptNetwork, units: _Units, labels: Sequence[Hashable]) -> list[Rule]:
    """The clouds, each sure of its own class."""
    state = network.state
    if state.kinds[CLOUD_LAYER] != CLOUDS:
        return []
    rules = []
    total = float(state.cloud_masses[: int(state.n_clouds[0])].sum())
    for cloud in range(int(state.n_clouds[0])):
        spread = np.full(network.n_features, state.cloud_spreads[cloud])
        own = int(state.cloud_labels[cloud])
        shares = {label: float(place == own) for place, label in enumerate(labels)}
        rules.append(
            Rule(
                layer=CLOUD_LAYER,
                rule=cloud,
                inputs=units.names,
                n_features=len(units.names),
                center=units.values(state.cloud_centers[:, cloud]),
                covariance=units.covariance(spread),
                probabilities=shares,
                n_rows=float(state.cloud_masses[cloud] / MASS_OF_ROW),
                is_archived=False,
                voting_weight=0.0,
                ranges=units.ranges,
                firing_share=float(state.cloud_masses[cloud]) / total,
            )
        )
    return rules


MASS_OF_ROW = 0.025
"""Mass that a cloud gains with a row, as in `kernels/clouds.py`."""
