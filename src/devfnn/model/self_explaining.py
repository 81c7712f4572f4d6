"""What a model tells about itself: rules, reasons and history, in the words of its user."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from devfnn.errors import InputError
from devfnn.kernels.state import Floats
from devfnn.model import describing, exporting, lags, wording
from devfnn.model.asking import QueryLog
from devfnn.model.engines import OfEngine
from devfnn.model.explaining import Explanation, states_of
from devfnn.model.history import History, Logbook
from devfnn.model.intake import as_rows
from devfnn.model.rules import Rule

MOST_RULES = 10
"""Rules that a description names in a layer unless told otherwise."""

ClassNames = Mapping[Hashable, str]
"""What labels are called, where they are but numbers."""


class _Model(OfEngine, Protocol):
    """What is asked of a model here."""

    _logbook: Logbook
    _query_log: QueryLog

    @property
    def classes(self) -> list[Hashable]: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_labels_used(self) -> int: ...
    @property
    def n_parameters(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def _as_row(self, x: Any) -> Floats: ...
    def rules(self, archived: bool = ..., class_names: ClassNames | None = ...) -> list[Rule]: ...


class SelfExplaining:
    """A model that can be read. Nothing here changes it."""

    def rules(
        self: _Model, archived: bool = False, class_names: ClassNames | None = None
    ) -> list[Rule]:
        """The active rules of all live layers in the user's units, the weightiest first.

        With `archived` also those that wait to be recalled, after the others. None before learning.
        `class_names` says what labels are called, where they are but numbers.
        """
        if self._network is None:
            return []
        labels = _called(self.classes, class_names)
        network = self._known()
        names = lags.names_of(network, self.feature_names, labels, self._late)
        return network.rules(labels, names, self.config, archived)

    def rules_table(
        self: _Model, archived: bool = False, class_names: ClassNames | None = None
    ) -> dict[str, list[Any]]:
        """The rules as columns, one entry for each rule: as pandas, polars and CSV files take it.

        An input that a rule does not have leaves None.
        """
        return describing.table_of(self.rules(archived, class_names))

    def simpful_rules(self: _Model, class_names: ClassNames | None = None) -> list[str]:
        """The rules in the grammar of simpful: IF (heat IS low) AND ... THEN (class IS rain).

        Terms are low, medium and high: the thirds of the known range of an input. Rules without
        any condition, as those of lines, are left out.
        """
        rules = self.rules(False, class_names)
        words = describing.Words.of(rules)
        return [text for rule in rules if (text := describing.in_simpful(rule, words))]

    def describe(
        self: _Model,
        terms: bool = False,
        class_names: ClassNames | None = None,
        most: int | None = MOST_RULES,
    ) -> str:
        """All layers and their rules as text, the weightiest layer first.

        Then what was merged, as far as `history` knows, and which features are left out.

        Parameters
        ----------
        terms
            Say low, medium and high, the thirds of the known range of an input, not numbers.
        class_names
            What labels are called.
        most
            Rules to name in a layer, the weightiest; the others are counted. None: all.
        """
        if self._network is None:
            return "The model has not learned anything yet."
        labels = _called(self.classes, class_names)
        network = self._known()
        names = lags.names_of(network, self.feature_names, labels, self._late)
        row = np.full((1, network.n_features), 0.5)
        reasons = network.reasons(row, labels, names, self.config)
        used, mask = network.used_features(self.config), network.feature_mask
        states = states_of(row[0], used, mask, network.scaler.is_clock)
        left_out = [(name, state) for name, state in zip(names, states, strict=True)]
        rules, history = self.rules(True, class_names), self._logbook.history(self.n_rows)
        subject = describing.Subject(reasons, rules, left_out, history)
        return describing.description(subject, terms, most)

    def to_dict(
        self: _Model, archived: bool = True, class_names: ClassNames | None = None
    ) -> dict[str, Any]:
        """The whole model as plain data, for JSON: what `describe` tells, in numbers.

        Parameters, features with ranges and states, classes, layers with their say, rules, events,
        labels asked for.
        Labels are written such that their types are known, as in `Rule.to_dict`; a number that is
        not finite is None.
        """
        rules = self.rules(True, class_names)
        network, layers = self._network, []
        if network is not None:
            layers = exporting.layers_of(network, rules, self.config)
        classes = _called(self.classes, class_names)
        names = self.feature_names
        data = {
            "class": type(self).__name__,
            "config": self.config.to_dict(),
            "features": exporting.features_of(network, names, self._late, self.config),
            "classes": [wording.label_to_json(label) for label in classes],
            "rows": self.n_rows,
            "labels_used": self.n_labels_used,
            "layers": layers,
            "parameters": self.n_parameters,
            "bytes": self.nbytes,
            "rules": [rule.to_dict() for rule in rules if archived or not rule.is_archived],
            "history": self._logbook.history(self.n_rows).to_dict(),
            "queries": [query._asdict() for query in self._query_log.newest],
        }
        plain: dict[str, Any] = exporting.finite(data)
        return plain

    def explain(self: _Model, x: Any, class_names: ClassNames | None = None) -> Explanation:
        """Why the model says what it says of one row: what layers, rules and features add to it.

        Examples
        --------
        >>> import numpy as np
        >>> from devfnn import DEVFNN
        >>> X = np.random.default_rng(0).random((1000, 2))
        >>> model = DEVFNN(feature_names=["heat", "wind"])
        >>> events = model.learn(X, np.where(X[:, 0] > 0.5, "high", "low"))
        >>> why = model.explain([0.9, 0.5])
        >>> why.label, next(iter(why.contributions()))
        ('high', 'heat')
        >>> layer = why.layers[0]
        >>> bool(np.allclose(layer.bias + layer.contributions.sum(axis=0), layer.output))
        True
        """
        network = self._known()
        rows = as_rows(self._as_row(x), self._names, self._n_features(), self.config.missing)
        rows = lags.at_once(network, rows, self._late)
        labels = _called(self.classes, class_names)
        names = lags.names_of(network, self.feature_names, labels, self._late)
        layers = network.reasons(rows, labels, names, self.config)
        probabilities = np.zeros(len(labels))
        for layer in layers:
            probabilities += layer.voting_weight * layer.votes
        used, mask = network.used_features(self.config), network.feature_mask
        return Explanation(
            labels=tuple(labels),
            probabilities=probabilities,
            features=tuple(names),
            values=rows[0],
            states=states_of(rows[0], used, mask, network.scaler.is_clock),
            layers=tuple(layers),
        )

    def history(self: _Model) -> History:
        """Every structural event so far with the numbers that caused it, the newest 1,000.

        They are saved with the model.
        """
        return self._logbook.history(self.n_rows)


def _called(classes: Sequence[Hashable], class_names: ClassNames | None) -> list[Hashable]:
    """What classes are called; raises InputError if two have one name."""
    labels: list[Hashable] = [(class_names or {}).get(label, label) for label in classes]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"class_names calls two classes {twice!r}; give each a name of its own")
    return labels
