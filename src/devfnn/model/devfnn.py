"""DEVFNN: predict, then learn, one chunk or one row at a time. Reads like the paper's Algorithm 1."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from devfnn.errors import InputError, NotLearnedError
from devfnn.events import (
    ClassAdded,
    DriftFound,
    DriftWarned,
    Event,
    FeatureOff,
    FeatureOn,
    LayersMerged,
)
from devfnn.kernels.state import ACTIVE, Batch, Flags, Floats, Ints, Journal
from devfnn.model import voting
from devfnn.model.config import Config
from devfnn.model.drift import Level, Verdict, find_drift
from devfnn.model.features import feature_scores, updated_mask, updated_stats
from devfnn.model.growth import (
    add_layer,
    double_slots,
    empty_journal,
    forward,
    keep_for_later,
    refresh_gain,
    rule_events,
    train_layer,
)
from devfnn.model.inputs import absorb, absorb_chunk, change_map, scaled, switch_inputs
from devfnn.model.intake import Labels, as_rows, as_weights, exploration_draws
from devfnn.model.merging import redundant_pair, update_output_stats
from devfnn.model.network import Gathered, Network, Rows
from devfnn.model.pruning import prune_layers
from devfnn.model.state import Shape, parameter_count


class DEVFNN:
    """Deep evolving fuzzy neural network for streams that change.

    Parameters
    ----------
    config
        All parameters; the default is one configuration for all streams.
    feature_names
        Names for events and rules; taken from the columns of the first table if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from devfnn import DEVFNN
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> y = np.where(X.sum(axis=1) > 1, "high", "low")
    >>> model = DEVFNN()
    >>> events = model.learn(X[:500], y[:500])
    >>> bool((model.predict(X[500:]) == y[500:]).mean() > 0.95)
    True
    """

    def __init__(
        self, config: Config | None = None, feature_names: Sequence[str] | None = None
    ) -> None:
        self.config = config if config is not None else Config()
        self._names = [str(name) for name in feature_names] if feature_names is not None else None
        self._labels = Labels()
        self._network: Network | None = None

    # ---- what a user may look at

    @property
    def classes(self) -> list[Hashable]:
        """Labels seen so far, in the order of the columns of `predict_proba`."""
        return list(self._labels.classes)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, x0, x1, ... if none were given."""
        if self._names is not None:
            return list(self._names)
        count = self._network.shape.features if self._network is not None else 0
        return [f"x{index}" for index in range(count)]

    @property
    def n_layers(self) -> int:
        """Layers, merged ones included."""
        return self._network.shape.layers if self._network is not None else 0

    @property
    def n_live_layers(self) -> int:
        """Layers that vote."""
        return int(np.count_nonzero(~self._known().layers.is_merged)) if self._network else 0

    @property
    def n_rules(self) -> int:
        """Active rules of the live layers."""
        if self._network is None:
            return 0
        layers = self._network.layers
        return int(np.count_nonzero(layers.status[~layers.is_merged] == ACTIVE))

    @property
    def n_parameters(self) -> int:
        """Numbers that define the live rules."""
        return parameter_count(self._network.layers) if self._network is not None else 0

    @property
    def n_rows(self) -> int:
        """Rows offered for learning so far."""
        return self._network.n_rows if self._network is not None else 0

    @property
    def voting_weights(self) -> Floats:
        """Voting weight of every layer; 0 for merged ones."""
        layers = self._known().layers
        return np.where(layers.is_merged, 0.0, layers.voting_weights)

    @property
    def feature_mask(self) -> Flags:
        """Which features are in use."""
        return self._known().layers.input_mask[0, : self._known().shape.features].copy()

    # ---- predict: nothing here changes the model

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of rows; the columns follow `classes`."""
        network = self._known()
        rows = as_rows(X, self._names, network.shape.features, self.config.missing)
        outputs, _ = forward(network, scaled(network, rows, self.config), self.config)
        return voting.vote(network.layers, outputs, self.config)

    def predict(self, X: Any) -> "np.ndarray[Any, np.dtype[Any]]":
        """Labels of rows."""
        return self._labels.decode(self.predict_proba(X).argmax(axis=1))

    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Class probabilities of one row, by label."""
        probabilities = self.predict_proba(self._as_row(x))[0]
        return dict(zip(self._labels.classes, probabilities.tolist(), strict=True))

    def predict_one(self, x: Any) -> Hashable:
        """Label of one row."""
        return self._labels.classes[int(self.predict_proba(self._as_row(x))[0].argmax())]

    def wants_label(self, X: Any) -> Flags:
        """Which rows are worth labelling, as the winning layer stands; everything before learning.

        Pass the rows that were labelled for that reason to `learn` with `chosen=True`.
        """
        from devfnn.kernels.layers import choose_rows

        if self._network is None:
            rows = as_rows(X, self._names, None, self.config.missing)
            return np.ones(rows.shape[0], np.bool_)
        network = self._network
        rows = as_rows(X, self._names, network.shape.features, self.config.missing)
        _, stacked = forward(network, scaled(network, rows, self.config), self.config)
        wanted = np.zeros(rows.shape[0], np.bool_)
        settings = self.config.kernel_settings(network.shape.inputs)
        draws = exploration_draws(self.config.seed, network.n_rows, rows.shape[0])
        batch = Batch(stacked, np.zeros(0, np.int64), np.zeros(0), draws, False)
        layer = voting.winner(network.layers)
        choose_rows(network.layers, layer, settings, batch, network.scratch, wanted)
        return wanted

    # ---- learn, chunk by chunk

    def learn(
        self, X: Any, y: Any, weights: Any = None, *, chosen: bool = False
    ) -> list[Event]:
        """Learn a chunk and return what changed in the structure (paper: Algorithm 1).

        Parameters
        ----------
        X, y
            Rows and their labels. New labels open new classes.
        weights
            Weight of every row, 1 if not given; rows of weight 0 are passed over.
        chosen
            The rows were picked by `wants_label`: active learning takes all of them.
        """
        rows, fresh = self._checked(X, y, weights)
        if not len(rows):
            return []
        network = self._ready(rows, fresh)
        events = self._welcome(fresh) + self._close_gathered()
        events += absorb_chunk(network, rows.X, self.feature_names, self.config)
        inputs = scaled(network, rows.X, self.config)
        draws = exploration_draws(self.config.seed, network.n_rows, len(rows))
        if network.n_chunks == 0:
            events += self._found_layers(rows, inputs, draws, chosen)
        else:
            events += self._learn_chunk(rows, inputs, draws, chosen)
        network.n_rows += len(rows)
        network.n_chunks += 1
        return events

    def _found_layers(
        self, rows: Rows, inputs: Floats, draws: Floats, chosen: bool
    ) -> list[Event]:
        """The first chunk trains every layer in turn, each on what the ones before it say."""
        events: list[Event] = []
        switch_inputs(self._known(), self.config)
        for layer in range(self.n_layers):
            _, stacked = forward(self._known(), inputs, self.config)
            batch = Batch(stacked, rows.labels, rows.weights, draws, chosen)
            events += train_layer(self._known(), layer, batch, self.config)
        return events

    def _learn_chunk(
        self, rows: Rows, inputs: Floats, draws: Floats, chosen: bool
    ) -> list[Event]:
        """One chunk through all mechanisms, with the outputs made before anything changed."""
        network, config = self._known(), self.config
        outputs, stacked = forward(network, inputs, config)
        errors = self._errors(outputs, rows.labels)
        voting.reweigh(network.layers, outputs, rows.labels, config)
        events = self._mask_features(inputs, rows.labels) + self._merge(outputs)
        level, drift_events = self._react(rows, errors, draws)
        events += drift_events
        if level is Level.STABLE or (level is Level.WARNING and config.train_on_warning):
            batch = Batch(stacked, rows.labels, rows.weights, draws, chosen)
            events += self._train(batch)
        return events

    def _train(self, batch: Batch) -> list[Event]:
        """Train the winning layer, or all live ones, and prune their rules."""
        network, config = self._known(), self.config
        trained = self._trained_layers()
        events: list[Event] = []
        for layer in trained:
            events += train_layer(network, layer, batch, config)
            if config.reset_winner:
                voting.reset(network.layers, layer, config)
        return events + self._prune(trained, batch.labels)

    def _trained_layers(self) -> list[int]:
        """Layers that a stable chunk trains."""
        layers = self._known().layers
        if self.config.training == "all":
            return [int(layer) for layer in np.flatnonzero(~layers.is_merged)]
        return [voting.winner(layers)]

    def _errors(self, outputs: Floats, labels: Ints) -> Ints:
        """1 where the network is wrong."""
        probabilities = voting.vote(self._known().layers, outputs, self.config)
        errors: Ints = (probabilities.argmax(axis=1) != labels).astype(np.int64)
        return errors

    # ---- the structural steps, on a chunk or on gathered rows

    def _mask_features(self, inputs: Floats, labels: Ints) -> list[Event]:
        """Switch features off and on by their relevance to the classes."""
        network, config = self._known(), self.config
        if not config.feature_mask:
            return []
        memory = config.statistics_memory
        network.feature_stats = updated_stats(network.feature_stats, inputs, labels, memory)
        scores = feature_scores(network.feature_stats, config)
        mask = updated_mask(network.feature_mask, scores, config.feature_threshold)
        changed = np.flatnonzero(mask != network.feature_mask)
        if not changed.size:
            return []
        network.feature_mask = mask
        switch_inputs(network, config)
        names, limit = self.feature_names, config.feature_threshold
        return [
            (FeatureOn if mask[j] else FeatureOff)(network.n_rows, names[j], float(scores[j]), limit)
            for j in changed
        ]

    def _merge(self, outputs: Floats) -> list[Event]:
        """Leave out layers that repeat another one."""
        network, config = self._known(), self.config
        layers = network.layers
        if not config.merging or network.shape.layers == 1:
            return []
        stats = network.output_stats
        update_output_stats(stats, outputs, layers.is_merged, config.statistics_memory)
        events: list[Event] = []
        while pair := redundant_pair(stats, layers.is_merged, config.merge_threshold):
            first, second, index = pair
            weaker_first = layers.voting_weights[first] < layers.voting_weights[second]
            kept, dropped = (second, first) if weaker_first else (first, second)
            layers.is_merged[dropped] = True
            limit = config.merge_threshold
            events.append(LayersMerged(network.n_rows, kept, dropped, index, limit))
        if events:
            switch_inputs(network, config)
        return events

    def _react(self, rows: Rows, errors: Ints, draws: Floats) -> tuple[Level, list[Event]]:
        """Test for drift: grow, keep the rows for later, or go on."""
        network, config = self._known(), self.config
        if not config.growing:
            return Level.STABLE, []
        verdict = find_drift(errors, network.track, network.n_chunks, config)
        match verdict.level:
            case Level.DRIFT:
                return Level.DRIFT, self._grow(rows, verdict, draws)
            case Level.WARNING:
                dropped = keep_for_later(network, rows, config.buffer_rows)
                facts = (verdict.error_before, verdict.error_after, verdict.bound)
                kept = len(network.buffer)
                return Level.WARNING, [DriftWarned(network.n_rows, *facts, kept, dropped)]
        network.buffer = Rows.none(network.shape.features)
        return Level.STABLE, []

    def _grow(self, rows: Rows, verdict: Verdict, draws: Floats) -> list[Event]:
        """Add a layer for the new concept; at full depth the winner goes on instead."""
        network, config = self._known(), self.config
        facts = (verdict.error_before, verdict.error_after, verdict.bound, verdict.cut)
        events: list[Event] = [DriftFound(network.n_rows, *facts)]
        kept = Rows.joined([network.buffer, rows])
        network.buffer = Rows.none(network.shape.features)
        if network.shape.layers >= config.max_layers:
            return events
        lead = exploration_draws(config.seed + 1, network.n_rows, len(kept) - len(rows))
        return events + add_layer(network, kept, np.concatenate([lead, draws]), config)

    def _prune(self, trained: list[int], labels: Ints) -> list[Event]:
        """Drop rules that lost their significance or potential."""
        network, config = self._known(), self.config
        if not config.pruning:
            return []
        seen = np.bincount(labels, minlength=network.shape.classes) > 0
        return [*prune_layers(network.layers, network.records, trained, seen, network.n_rows, config)]

    # ---- learn, row by row

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> list[Event]:
        """Learn one row at once; structural steps follow every `chunk_rows` rows."""
        return self.learn_rows(self._as_row(x), [y], [weight])

    def learn_rows(
        self, X: Any, y: Any, weights: Any = None, *, chosen: bool = False
    ) -> list[Event]:
        """The same, bit for bit, as `learn_one` in a loop over the rows."""
        rows, fresh = self._checked(X, y, weights)
        if not len(rows):
            return []
        network = self._ready(rows, fresh)
        events = self._welcome(fresh)
        learned = start = 0
        while learned < len(rows):
            due = absorb(network, rows.X, start, self.config)
            while learned < due:
                room = self.config.chunk_rows - self._gathered().count
                stop = min(due, learned + room)
                events += self._learn_part(rows.part(learned, stop), chosen)
                learned = stop
                if self._gathered().count == self.config.chunk_rows:
                    events += self._close_gathered()
            if due < len(rows):
                events += change_map(network, self.feature_names, self.config)
                start = due + 1
        return events

    def _learn_part(self, rows: Rows, chosen: bool) -> list[Event]:
        """Rows under one scaling map and inside one structural step."""
        from devfnn.kernels import network as kernels

        network, gathered = self._known(), self._gathered()
        first, last = gathered.count, gathered.count + len(rows)
        gathered.rows.X[first:last] = rows.X
        gathered.rows.labels[first:last] = rows.labels
        gathered.rows.weights[first:last] = rows.weights
        draws = exploration_draws(self.config.seed, network.n_rows, len(rows))
        inputs = scaled(network, rows.X, self.config)
        batch = Batch(inputs, rows.labels, rows.weights, draws, chosen)
        lines = empty_journal(len(rows), network)
        events: list[Event] = []
        done = 0
        while True:
            journal = Journal(
                gathered.outputs[first:last],
                gathered.errors[first:last],
                lines.rule_events,
                lines.rule_numbers,
                lines.n_events,
            )
            settings = self.config.kernel_settings(network.shape.inputs)
            done = kernels.learn_rows(network.layers, settings, batch, journal, network.scratch, done)
            if done == len(rows):
                break
            double_slots(network, self.config)
        events = rule_events(network, journal)
        gathered.count = last
        network.n_rows += len(rows)
        return events

    def _close_gathered(self) -> list[Event]:
        """Run the structural steps on the rows gathered since the last time."""
        network, config = self._known(), self.config
        gathered = network.gathered
        if gathered is None or not gathered.count:
            return []
        network.gathered = None
        rows = gathered.rows.part(0, gathered.count)
        outputs, errors = gathered.outputs[: gathered.count], gathered.errors[: gathered.count]
        events = self._mask_features(scaled(network, rows.X, config), rows.labels)
        events += self._merge(outputs)
        draws = exploration_draws(config.seed + 2, network.n_rows, len(rows))
        level, drift_events = self._react(rows, errors, draws)
        events += drift_events + self._prune(self._trained_layers(), rows.labels)
        for layer in self._trained_layers():
            refresh_gain(network, layer, config)
        network.n_chunks += 1
        return events

    # ---- taking rows in

    def _known(self) -> Network:
        """The network, or an error that says what to do."""
        if self._network is None:
            raise NotLearnedError("the model has not learned anything yet; call learn first")
        return self._network

    def _gathered(self) -> Gathered:
        """Room for the rows of the current structural step."""
        network = self._known()
        if network.gathered is None:
            network.gathered = Gathered.room(self.config.chunk_rows, network.shape)
        return network.gathered

    def _as_row(self, x: Any) -> Floats:
        """One row as a matrix."""
        array = np.asarray(x)
        if array.ndim != 1:
            raise InputError(f"one row is a vector of features, not {array.ndim}-dimensional")
        return array[None, :]

    def _checked(self, X: Any, y: Any, weights: Any) -> tuple[Rows, list[Hashable]]:
        """Rows and labels as arrays, without rows of weight 0; the model is not touched."""
        names, n_features = self._names, None
        if self._network is not None:
            n_features = self._network.shape.features
        elif names is not None:
            n_features = len(names)
        matrix = as_rows(X, names, n_features, self.config.missing)
        row_weights = as_weights(weights, matrix.shape[0])
        codes, fresh = self._labels.encode(y, matrix.shape[0])
        rows = Rows(matrix, codes, row_weights)
        if not row_weights.all():
            kept = row_weights > 0.0
            labels = [label for label, keep in zip(list(y), kept, strict=True) if keep]
            codes, fresh = self._labels.encode(labels, len(labels))
            rows = Rows(matrix[kept], codes, row_weights[kept])
        if self._network is None and names is None and hasattr(X, "columns"):
            self._names = [str(column) for column in X.columns]
        return rows, fresh

    def _ready(self, rows: Rows, fresh: list[Hashable]) -> Network:
        """A network wide enough for the rows' features and classes."""
        from devfnn.kernels._jit import ensure_compiled

        ensure_compiled()
        n_features, n_classes = rows.X.shape[1], len(self._labels) + len(fresh)
        if self._network is None:
            self._network = Network.empty(n_features, n_classes, self.config)
            switch_inputs(self._network, self.config)
        elif fresh:
            old = self._network.shape
            new = Shape(old.layers, old.slots, old.features, n_classes)
            self._network.resize(new, self.config)
            switch_inputs(self._network, self.config)
        return self._network

    def _welcome(self, fresh: list[Hashable]) -> list[Event]:
        """Number new labels and say so."""
        first = len(self._labels)
        self._labels.add(fresh)
        row = self._known().n_rows
        return [ClassAdded(row, str(label), first + i) for i, label in enumerate(fresh)]
