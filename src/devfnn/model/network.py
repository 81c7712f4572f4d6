"""The network: a list of layers, everything it has learned, and how it learns.

What is here is saved, and nothing else. The order of a chunk is that of Algorithm 1 of the paper if
the network has gaussian layers: mask, merging, drift, growing, training, votes, pruning. Without
them the structural steps follow training, so that what was learned of a chunk counts for the next.
"""

import copy
import dataclasses
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.events import (
    CloudsChanged,
    CodeNoticed,
    Event,
    FeatureAsleep,
    FeatureAwake,
    RangeChanged,
    RangeMoved,
)
from devfnn.kernels import state as constants
from devfnn.kernels.state import Batch, EventBuffer, Params, State, Work
from devfnn.model import label_budget
from devfnn.model.config import AddLayers, ByCompression, Config, Weighted
from devfnn.model.layers import KIND_MODULES, gaussian
from devfnn.model.mechanisms import feature_mask as masking
from devfnn.model.mechanisms import merging
from devfnn.model.mechanisms.drift import Level
from devfnn.model.mechanisms.fixed_rules import fill_up, founding_params
from devfnn.model.mechanisms.growing import Reaction, layers_to_train, react_to_errors
from devfnn.model.mechanisms.pruning import join_rules, prune_rules
from devfnn.model.reported import events_of
from devfnn.model.rows import Gathered, Rows
from devfnn.model.scaling import CLIP, Change, OnlineScaler
from devfnn.model.state import (
    Sizes,
    empty_state,
    first_sizes,
    kernel_params,
    modules_of,
    resized_state,
    work_for,
)
from devfnn.model.validation import exploration_draws

ROWS_PER_CALL = 4096
"""Rows that are learned one by one in a call, so that room for their inputs and events is small."""

LINES_PER_CALL = 64
"""Lines of an event buffer on top of one for every row."""

BLOCK_BYTES, CHUNK_BYTES = 2**25, 2**28
"""Most memory for what layers take in and say of rows that are predicted, and learned, at once:
large enough that more would not be faster."""

MOST_THREADS = 64
"""Threads for which a network keeps what kernels take."""

NO_VOTE = -1
"""The row from which votes count, where they do not."""


class Plan(NamedTuple):
    """How layers learn a chunk."""

    codes: Ints  # (L,) which of them learn
    outputs: Floats  # (k, L, m) what they said before
    as_learned: bool  # whether the vote counts what they say just before they learn each row
    counted: int  # the row from which it counts
    events: list[Event]  # what was changed before


def copied(value: Any) -> Any:
    """A value with arrays of its own; what is never changed in place is shared."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(
            [each.copy() if type(each) is np.ndarray else copied(each) for each in value]
        )
    if isinstance(value, Rows | Gathered | OnlineScaler):
        own = copy.copy(value)
        vars(own).update({name: copied(each) for name, each in vars(value).items()})
        return own
    return value


def event_buffer(n_rows: int, n_lines: int) -> EventBuffer:
    """Room for what kernels report about rows."""
    return EventBuffer(
        taken=np.zeros(n_rows, np.int64),
        errors=np.zeros(n_rows, np.int64),
        lines=np.zeros((n_lines, 5), np.int64),
        numbers=np.zeros((n_lines, 4)),
        count=np.zeros(1, np.int64),
    )


@dataclasses.dataclass
class Network:
    """Everything a model has learned."""

    config: Config
    sizes: Sizes
    state: State
    scaler: OnlineScaler
    feature_mask: Flags
    feature_stats: masking.FeatureStats | None
    output_stats: merging.OutputStats | None
    buffer: Rows  # kept in the warning phase
    gathered: Gathered  # since the last structural step
    recent: Ints  # (lags,) last labels as class indices, the newest first; -1 before there was one
    label_counts: Ints | None  # (m,) labels of each class, old ones fading; if they are balanced
    n_rows: int = 0
    n_chunks: int = 0
    n_labels: int = 0

    def __post_init__(self) -> None:
        self.said: tuple[Floats, Floats, Floats] | None = None
        self._held: dict[Any, tuple[Any, Any]] = {}
        self.structure_first = self.config.has("gaussian")
        """Whether the structure changes before training, on all rows since the last time."""
        self._hides_unused = bool(
            self.state.pool or self.state.clouds
        )  # gaussian layers have masks
        self._fit_params()

    @staticmethod
    def empty(n_features: int, n_classes: int, config: Config) -> "Network":
        """A network that has learned nothing."""
        sizes = first_sizes(n_features, n_classes, config)
        is_masked, is_compared = config.feature_mask, isinstance(config.merging, ByCompression)
        depth = (sizes.layers, n_classes)
        network = Network(
            config=config,
            sizes=sizes,
            state=empty_state(sizes, config),
            scaler=OnlineScaler(n_features),
            feature_mask=np.ones(n_features, np.bool_),
            feature_stats=masking.empty_stats(n_features, n_classes) if is_masked else None,
            output_stats=merging.empty_output_stats(*depth) if is_compared else None,
            buffer=Rows.none(n_features),
            gathered=Gathered.none(n_features, sizes.layers, n_classes),
            recent=np.full(config.lags, -1, np.int64),
            label_counts=np.zeros(n_classes, np.int64) if config.balances else None,
        )
        network.switch_inputs()
        return network

    def copy(self) -> "Network":
        """The same, to be changed apart from this."""
        own = copy.copy(self)
        for field in dataclasses.fields(self):
            setattr(own, field.name, copied(getattr(self, field.name)))
        own.said, own._held = None, dict(self._held)
        for name in ("state", "ranges"):  # of other arrays, which it would keep alive
            own._held.pop(name, None)
        return own

    # ---- what there is

    @property
    def n_features(self) -> int:
        """Columns of a row."""
        return self.sizes.features

    @property
    def n_classes(self) -> int:
        """Classes seen so far."""
        return self.sizes.classes

    def _fit_params(self) -> None:
        """Parameters for kernels, which depend on how wide the deepest layer is."""
        self.lengths = self.sizes.lengths(self.config)
        self.params = kernel_params(
            self.config, self.lengths["i"], (self.n_features, self.n_classes)
        )
        self._n_always = self.config.n_always(self.sizes.layers)
        self._work_key = tuple(self.lengths.items())

    @property
    def work(self) -> Work:
        """Working memory for kernels; every thread has its own."""
        return work_for(self._work_key, threading.get_ident())

    def held(self, *more: Any, params: Params | None = None) -> tuple[Any, ...]:
        """State, parameters, working memory and `more` as kernels take them: unpacked once."""
        from devfnn.kernels._jit import held

        if len(self._held) > MOST_THREADS:  # most of them have ended
            self._held = {}
        found, thread = [], threading.get_ident()
        for name, each in (
            ("state", self.state),
            ("params", params or self.params),
            (thread, self.work),
        ):
            known = self._held.get(name)
            if known is None or known[0] is not each:
                self._held[name] = known = (each, held(each))
            found.append(known[1])
        return *found, *map(held, more)

    @property
    def budget(self) -> Ints:
        """The label budget, see `kernels/labels.py`."""
        return self.state.progress.budget

    @property
    def live_layers(self) -> list[int]:
        """Layers that vote."""
        layers = self.state.layers
        is_live = (layers.kinds != constants.NO_LAYER) & ~layers.is_merged & (layers.rests == 0)
        return np.flatnonzero(is_live).tolist()

    @property
    def n_layers(self) -> int:
        """Layers, merged and resting ones included."""
        return int(np.count_nonzero(self.state.layers.kinds != constants.NO_LAYER))

    @property
    def leader(self) -> int:
        """The layer with the most say."""
        return int(np.argmax(self.shares))

    def module_of(self, layer: int) -> Any:
        """The module of the kind of a layer."""
        kind = int(self.state.layers.kinds[layer])
        return next(module for module in KIND_MODULES if kind in module.KINDS.values())

    @property
    def n_rules(self) -> int:
        """Active rules of the layers that vote."""
        return sum(self.module_of(k).counts_of(self.state, k)[0] for k in self.live_layers)

    @property
    def n_parameters(self) -> int:
        """Numbers that define the rules of the layers that vote."""
        return sum(self.module_of(k).counts_of(self.state, k)[1] for k in self.live_layers)

    @property
    def shares(self) -> Floats:
        """Voting weights of all places for layers, 0 for idle ones."""
        from devfnn.kernels.votes import voting_shares

        shares = np.zeros(self.sizes.layers)
        voting_shares(*self.held()[:2], shares)
        return shares

    @property
    def says(self) -> Floats:
        """How much layers count in the answer; 0 for idle ones.

        Without a stack, shares of the vote. Of stacked layers, their shares of the answer; of a
        layer below, what its log odds count in theirs, by itself and by way of the vote.
        """
        shares, stacked = self.shares, self.state.stacked
        says: Floats = shares / shares.sum()
        if stacked is None or not len(stacked.weights):
            return says
        first = self.params.stacked.first  # type: ignore[union-attr]
        top = slice(first, first + len(stacked.weights))
        trusts = shares[top] @ stacked.weights
        says = trusts[-1] * shares
        says[:first] += trusts[:first] * (shares[:first] > 0.0)
        says[top] = shares[top]
        return says

    @property
    def costs(self) -> Floats:
        """What all places for layers cost a row, by estimate; 0 for idle ones."""
        costs = np.zeros(self.sizes.layers)
        label_share = self.n_labels / max(self.n_rows, 1)
        for layer in self.live_layers:
            cost = self.module_of(layer).cost_of(self.state, layer, self.config)
            costs[layer] = cost.row + label_share * cost.label
        return costs

    @property
    def voting_weights(self) -> Floats:
        """Voting weight of every layer; 0 for merged and resting ones."""
        weights: Floats = self.shares[self.state.layers.kinds != constants.NO_LAYER]
        return weights

    @property
    def used_features(self) -> Flags:
        """Features that are neither masked nor asleep."""
        used: Flags = self.feature_mask.copy()
        if self.config.scaling == "online":
            used &= self.scaler.awake
        return used

    @property
    def usual_doubt(self) -> float:
        """Recent mean uncertainty, from 0 to 0.5; see `Query.certainty`."""
        return 0.5 * float(self.state.progress.signals[constants.UNCERTAINTY])

    # ---- predict

    def all_inputs_of(self, X: Floats) -> Floats:
        """Scaled rows, with the features that are masked too."""
        if self.config.scaling == "none":
            return np.clip(X, -CLIP, 1.0 + CLIP)
        inputs = self.scaler.transform(X)
        if self._hides_unused and not self.scaler.awake.all():
            inputs[:, ~self.scaler.awake] = np.nan
        return inputs

    def inputs_of(self, X: Floats) -> Floats:
        """Rows as the layers see them: scaled, NaN where a feature is left out."""
        inputs = self.all_inputs_of(X)
        if self._hides_unused and not self.feature_mask.all():
            inputs[:, ~self.feature_mask] = np.nan
        return inputs

    def forward(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Outputs (k, L, m) of all layers, and the inputs (k, i) of the deepest one."""
        from devfnn.kernels import network as kernels

        outputs = np.empty((len(inputs), self.sizes.layers, self.n_classes))
        stacked = np.empty((len(inputs), self.lengths["i"])) if self.params.stacks else inputs
        kernels.forward(*self.held(), inputs, outputs, stacked)
        return outputs, stacked

    def probabilities(self, X: Floats) -> Floats:
        """Class probabilities of rows; what the layers said of few is kept for learning them."""
        from devfnn.kernels.votes import vote

        shares = np.empty((X.shape[0], self.n_classes))
        for rows in self._blocks(len(X)):
            outputs, _ = self._outputs_of(self.inputs_of(X[rows]))
            vote(*self.held()[:2], outputs, shares[rows])
        return shares

    def judged(self, X: Floats) -> Floats:
        """What labels of rows are chosen by: `probabilities`, or what stacked layers make them."""
        from devfnn.kernels.votes import judge_rows

        shares = self.probabilities(X)
        if self.config.has("stacked"):
            for rows in self._blocks(len(X)):
                outputs, _ = self._outputs_of(self.inputs_of(X[rows]))
                judge_rows(*self.held()[:2], outputs, shares[rows])
        return shares

    def parts(self, n_rows: int, n_bytes: int = CHUNK_BYTES) -> Iterator[slice]:
        """Parts of rows of which all that layers take in and say fits into so many bytes."""
        numbers = self.sizes.layers * self.n_classes + 2 * self.n_features + self.lengths["i"]
        size = max(1, n_bytes // (8 * numbers))
        for start in range(0, n_rows, size):
            yield slice(start, min(start + size, n_rows))

    def _blocks(self, n_rows: int) -> Iterator[slice]:
        """Rows that are predicted one block after the other; nothing is kept of many blocks."""
        blocks = [*self.parts(n_rows, BLOCK_BYTES)]
        yield from blocks
        if len(blocks) > 1:
            self.said = None

    def _outputs_of(self, inputs: Floats) -> tuple[Floats, Floats]:
        """What `forward` gives, from the last time if the rows are the same."""
        said = self.said
        if said is None or not np.array_equal(inputs, said[0], equal_nan=True):
            self.said = said = (inputs, *self.forward(inputs))
        return said[1], said[2]

    def wanted(self, X: Floats, spend: bool) -> Flags:
        """Which rows are worth a label; `spend`: they are asked for, and the budget is spent."""
        from devfnn.kernels.labels import choose_labels

        progress, wanted = self.state.progress, np.zeros(len(X), np.bool_)
        if not spend:
            signals, budget = progress.signals.copy(), progress.budget.copy()
            progress = progress._replace(signals=signals, budget=budget)
        draws = exploration_draws(self.config.seed, int(self.budget[constants.SEEN_ROWS]), len(X))
        if self.params.label_choice == constants.BY_LAYER:
            self._choose_by_leader(X, draws, wanted)
            return label_budget.in_budget(wanted, progress.budget, self.config)
        choose_labels(progress, self.judged(X), draws, self.params, wanted)
        return wanted

    def _choose_by_leader(self, X: Floats, draws: Floats, wanted: Flags) -> None:
        """Rows that the leading layer would ask for, were there no budget; all before learning."""
        from devfnn.kernels.gaussian import choose_rows

        if not self.n_rows:
            wanted[:] = True
            return
        _, stacked = self.forward(self.inputs_of(X))
        nothing, own = np.zeros(0, np.int64), (self.params.gaussian, self.work.gaussian)
        batch = Batch(stacked, nothing, np.zeros(0), draws, nothing)
        choose_rows(self.state.gaussians, self.leader, batch, *own, wanted)

    # ---- learn a chunk

    def learn_chunk(self, rows: Rows, labelled: Ints, names: list[str]) -> list[Event]:
        """Learn a chunk (paper: Algorithm 1)."""
        events, start, n_rows = list[Event](), 0, rows.labels.size
        while (due := self.absorb(rows.X, start)) < n_rows:  # features are known before labels
            events += self.change_map(names)
            start = due + 1
        inputs = self.inputs_of(rows.X)
        if self.structure_first and self.n_chunks == 0:
            events += self._found_layers(inputs, rows, labelled)
        else:
            outputs, stacked = self._outputs_of(inputs)
            batch = self._batch(stacked, rows, labelled)
            events += self._learn_batch(rows, batch, outputs, names)
        self.said = None
        self.n_rows += n_rows
        self.n_chunks += 1
        self._refit(n_rows)
        if not self.structure_first:
            events += self._change_structure(self._taken_gathered(), batch.draws, names).events
        return events

    def _learn_batch(
        self, rows: Rows, batch: Batch, outputs: Floats, names: list[str]
    ) -> list[Event]:
        """Choose labels, test for drift, train and move the votes; `outputs` were made before.

        After a drift, layers that have started anew are asked again when they have learned half of
        the chunk, and only the other half counts for the vote.
        """
        from devfnn.kernels import network as kernels

        n_rows, start = rows.labels.size, 0
        as_learned, buffer = self.params.votes == constants.BY_LIKELIHOOD, self._buffer_for(n_rows)
        plan, own = Plan(self._codes(), outputs, as_learned, 0, []), self.held(batch, buffer)
        is_drift, n_taken, lead = kernels.assess_chunk(*own, outputs)
        if self.structure_first:
            plan = self._change_structure_first(rows, batch, outputs, buffer, names)
            own = self.held(batch, buffer)
        if is_drift:
            start = n_rows // 2
            step = (0, start, self.sizes.features, NO_VOTE, False, n_taken, lead)
            kernels.learn_chunk(*own, outputs, plan.codes, step)
            n_configured = len(self.config.layers)
            later = np.ascontiguousarray(batch.rows[start:, : self.sizes.features])
            again, batch.rows[start:] = self.forward(later)
            outputs[start:, :n_configured] = again[:, :n_configured]
        counted = max(start, plan.counted)
        while True:
            step = (start, n_rows, self.sizes.features, counted, plan.as_learned, n_taken, lead)
            start = kernels.learn_chunk(*own, plan.outputs, plan.codes, step)
            if start == n_rows:
                break
            self.resize(slots=2 * self.sizes.slots)
            own = self.held(batch, buffer)
        self.n_labels += int(buffer.taken.sum())
        if self.structure_first:
            events = events_of(self, buffer, names, by_layer=True)
            labels = rows.labels[self._with_labels(batch, buffer)]
            return plan.events + events + self._finish_chunk(labels, batch, plan)
        if self.config.feature_mask is not None:
            taken = rows.where(buffer.taken == 1)
            self.gathered.rows = Rows.joined([self.gathered.rows, taken])
        return events_of(self, buffer, names) if buffer.count[0] else []

    def _change_structure(self, since: Gathered, draws: Floats, names: list[str]) -> Reaction:
        """The structural step between kernel calls, on the rows since the last one."""
        config, events = self.config, list[Event]()
        if config.feature_mask is not None:
            events += masking.mask_features(self, since.rows, names)
        events += self._cloud_events() + join_rules(self)
        n_rivals = 0 if self.structure_first else len(config.layers)  # side by side, never merged
        if config.merging is not None and self.n_layers > n_rivals + 1:
            events += merging.merge_layers(self, since.outputs)
        if config.drift is None or not isinstance(config.growing, AddLayers):
            return Reaction(Level.STABLE, events)
        reaction = react_to_errors(self, config.growing, since, draws)
        return reaction._replace(events=events + reaction.events)

    def _batch(self, inputs: Floats, rows: Rows, labelled: Ints) -> Batch:
        """Rows as kernels take them."""
        draws = exploration_draws(self.config.seed, self.n_rows, rows.labels.size)
        return Batch(inputs, rows.labels, rows.weights, draws, labelled)

    def _codes(self, trained: list[int] | None = None) -> Ints:
        """Which layers learn: these, or as in row-wise learning always or while they lead."""
        places = np.arange(self.sizes.layers)
        if trained is not None:
            return np.where(np.isin(places, trained), constants.ALWAYS, constants.NEVER)
        return np.where(places < self._n_always, constants.ALWAYS, constants.WHILE_LEADING)

    def _found_layers(self, inputs: Floats, rows: Rows, labelled: Ints) -> list[Event]:
        """The first chunk: train every layer in turn, each on what the ones before it say."""
        from devfnn.kernels import network as kernels

        self.switch_inputs()
        outputs, stacked = self.forward(inputs)
        batch, buffer = self._batch(stacked, rows, labelled), self._buffer_for(len(rows))
        kernels.assess_chunk(*self.held(batch, buffer), outputs)
        events, taken = list[Event](), buffer.taken
        for layer in self.live_layers:
            _, stacked = self.forward(inputs)
            new, _, own = self.train(batch._replace(rows=stacked), [layer], buffer.taken)
            fill_up(self, layer, stacked)
            taken = taken | own
            events += new
        self.n_labels += int(taken.sum())
        return events

    def _with_labels(self, batch: Batch, buffer: EventBuffer) -> Flags:
        """Rows whose labels the network has seen: those it took, or all if layers choose."""
        by_layer = self.params.label_choice == constants.BY_LAYER
        known: Flags = batch.labelled != constants.UNLABELLED if by_layer else buffer.taken == 1
        return known

    def _change_structure_first(
        self, rows: Rows, batch: Batch, outputs: Floats, buffer: EventBuffer, names: list[str]
    ) -> Plan:
        """Votes by reward, then the structural step, on a chunk that is still to be learned.

        Rows without a label only let time pass for the label budget.
        """
        from devfnn.kernels.votes import move_votes_by_rows

        known, by_reward = self._with_labels(batch, buffer), False
        reaction = Reaction(Level.STABLE, [])
        if known.any():
            by_reward = self.params.votes == constants.BY_REWARD
            if by_reward:
                move_votes_by_rows(*self.held()[:2], outputs, rows.labels, known)
            since = Gathered(rows.where(known), outputs[known], buffer.errors[known])
            reaction = self._change_structure(since, batch.draws[known], names)
        trained, voting = layers_to_train(self, reaction.level), self.config.voting
        if reaction.said is not None and reaction.taken is not None:  # a new layer
            outputs = np.append(outputs, np.full_like(outputs[:, :1], np.nan), axis=1)
            outputs[known, -1] = reaction.said
            buffer.taken[known] |= reaction.taken
        for layer in trained:
            self._refresh_gain(layer)
            if known.any() and isinstance(voting, Weighted) and voting.reset_winner:
                self.state.layers.voting_weights[layer] = voting.newborn_weight
                self.state.layers.decays[layer] = getattr(voting, "decay", 1.0)
        counted = len(rows) if by_reward else 0
        return Plan(self._codes(trained), outputs, True, counted, reaction.events)

    def _finish_chunk(self, labels: Ints, batch: Batch, plan: Plan) -> list[Event]:
        """The end of Algorithm 1: fixed rules are filled up, others pruned."""
        trained = np.flatnonzero(plan.codes == constants.ALWAYS).tolist()
        self.state.progress.n_open[0] = 0
        if not labels.size:
            return []
        for layer in trained:
            fill_up(self, layer, batch.rows)
        return prune_rules(self, trained, labels)

    def train(
        self, batch: Batch, trained: list[int], taken: Ints | int = 1
    ) -> tuple[list[Event], Floats, Ints]:
        """Train layers on rows: events, what they said of each row, labels they took.

        taken: 1 for the rows that the network has chosen; where layers choose, they see all rows
        """
        from devfnn.kernels import network as kernels

        n_rows, done = batch.rows.shape[0], 0
        for layer in trained:
            self._refresh_gain(layer)
        outputs, codes = np.empty((n_rows, *self.work.outputs.shape)), self._codes(trained)
        buffer = self._buffer_for(n_rows)
        if self.params.label_choice != constants.BY_LAYER:
            buffer.taken[:] = taken
        while True:
            own = self.held(batch, buffer, params=founding_params(self))
            step = (done, n_rows, self.sizes.features, NO_VOTE, True, 0, 0.0)
            done = kernels.learn_chunk(*own, outputs, codes, step)
            if done == n_rows:
                return events_of(self, buffer, [], by_layer=True), outputs, buffer.taken
            self.resize(slots=2 * self.sizes.slots)

    def _buffer_for(self, n_rows: int) -> EventBuffer:
        """Room for what kernels report; every gaussian layer may found a rule on each row."""
        n_layers = self.sizes.layers if self.structure_first else 1
        return event_buffer(n_rows, n_rows * n_layers + LINES_PER_CALL)

    def _refresh_gain(self, layer: int) -> None:
        """Let the memory of a gaussian layer fade by one chunk; without memory it starts anew."""
        from devfnn.kernels.gaussian import bound_gains

        own, params = self.state.gaussians, self.config.gaussian
        if own is None or params is None or params.chunk_memory == 1.0:
            return
        gains, caps = own.gain_covs[layer], own.gain_caps[layer]
        if params.chunk_memory == 0.0:
            gains[:] = np.diag(caps)
        else:
            gains /= params.chunk_memory
            bound_gains(own, caps, np.empty(caps.size))

    # ---- learn row by row

    def learn_rows(self, rows: Rows, labelled: Ints, names: list[str]) -> list[Event]:
        """Learn row by row. Where layers choose, the leading one of the moment keeps the budget."""
        self.said = None
        by_layer = self.params.label_choice == constants.BY_LAYER
        if not (by_layer and self.config.is_budgeted and (labelled == constants.OFFERED).any()):
            return self._learn_rows(rows, labelled, names)
        events: list[Event] = []
        codes = np.array([constants.UNLABELLED, constants.ASKED_FOR])
        for row in range(len(rows)):
            one = rows.part(row, row + 1)
            chosen = codes[self.wanted(one.X, spend=False).astype(np.int64)]
            events += self._learn_rows(one, chosen, names)
        return events

    def _learn_rows(self, rows: Rows, labelled: Ints, names: list[str]) -> list[Event]:
        """Learn rows in parts: up to the next structural step or change of the scaling map."""
        events: list[Event] = []
        learned = start = 0
        while learned < len(rows):
            due = self.absorb(rows.X, start)
            while learned < due:
                stop = min(due, learned + ROWS_PER_CALL)
                part = rows.part(learned, stop)
                count, new = self._learn_part(part, labelled[learned:stop], names)
                learned += count
                events += new
            if due < len(rows):
                events += self.change_map(names)
                start = due + 1
        return events

    def _learn_part(self, rows: Rows, labelled: Ints, names: list[str]) -> tuple[int, list[Event]]:
        """Rows under one scaling map, up to the end of a structural step; how many, and events."""
        from devfnn.kernels import network as kernels

        batch = self._batch(self.inputs_of(rows.X), rows, labelled)
        n_rows, buffer = len(rows), self._buffer_for(len(rows))
        kept = n_rows if self.structure_first else 0
        outputs = np.empty((kept, self.sizes.layers, self.n_classes))
        counts, done = self.state.progress.counts, 0
        steps = int(counts[constants.STEPS])
        while True:
            known = self.held(batch, buffer, params=founding_params(self))
            done = kernels.learn_rows(*known, outputs, done)
            has_closed = self.state.progress.counts[constants.STEPS] > steps
            if done == n_rows or has_closed:
                break
            self.resize(slots=2 * self.sizes.slots)
        events = events_of(self, buffer, names)
        is_kept = self._with_labels(batch, buffer)[:done]
        own = rows.part(0, done).where(is_kept)
        if self.structure_first:
            self.gathered.add(own, outputs[:done][is_kept], buffer.errors[:done][is_kept])
        elif self.config.feature_mask is not None:
            self.gathered.rows = Rows.joined([self.gathered.rows, own])
        self.n_rows += done
        self.n_labels += int(buffer.taken.sum())
        if has_closed:
            events += self.close_step(names)
        return done, events

    def close_step(self, names: list[str]) -> list[Event]:
        """The structural step on the rows since the last one."""
        since, self.said = self._taken_gathered(), None
        self._refit(self.config.chunk_rows)
        self.state.progress.n_open[0], rows = 0, since.rows
        draws = exploration_draws(self.config.seed + 2, self.n_rows, len(rows))
        events = self._change_structure(since, draws, names).events
        self.n_chunks += 1
        return events + self._tend_gaussians(rows) if self.structure_first else events

    def _tend_gaussians(self, rows: Rows) -> list[Event]:
        """The end of a structural step of gaussian layers that learned row by row."""
        events = prune_rules(self, layers_to_train(self, Level.STABLE), rows.labels)
        if self.config.gaussian.rules == "fixed":
            _, stacked = self.forward(self.inputs_of(rows.X))
            for layer in range(self.n_layers):
                fill_up(self, layer, stacked)
        for layer in self.live_layers:
            self._refresh_gain(layer)
        return events

    def close(self, names: list[str]) -> list[Event]:
        """Close a structural step that single rows have opened, before a chunk is learned."""
        if self.structure_first and len(self.gathered.rows):
            return self.close_step(names)
        return []

    def _cloud_events(self) -> list[Event]:
        """That the number of clouds has changed, if it has."""
        if self.state.clouds is None:
            return []
        counts, after = self.state.progress.counts, int(self.state.clouds.count[0])
        before, counts[constants.REPORTED_CLOUDS] = int(counts[constants.REPORTED_CLOUDS]), after
        layer = int(np.argmax(self.state.layers.kinds == constants.CLOUDS))
        return [CloudsChanged(self.n_rows, layer, before, after)] if after != before else []

    def _refit(self, n_new: int) -> None:
        """Fit the layers that rest on the window to it anew."""
        from devfnn.kernels import network as kernels

        if self.config.window is not None:
            kernels.refit(*self.held(), n_new)

    def _taken_gathered(self) -> Gathered:
        """What was gathered since the last structural step; gathering starts anew."""
        since = self.gathered
        if since.rows.labels.size:
            self.gathered = Gathered.none(self.n_features, self.sizes.layers, self.n_classes)
        return since

    # ---- scaling

    def absorb(self, X: Floats, start: int) -> int:
        """Let the scaler see rows; returns the first row before which the map must change."""
        from devfnn.kernels._jit import held

        scaler, known = self.scaler, self._held.get("ranges")
        if self.config.scaling == "none":
            return int(X.shape[0])
        if known is None or known[0] is not scaler.low:  # all arrays are replaced at once
            self._held["ranges"] = known = (scaler.low, held(scaler.ranges))
        return scaler.absorb(X, start, known[1])

    def change_map(self, names: list[str]) -> list[Event]:
        """Remake the scaling map and carry everything learned over to it.

        While the map is still being made from the first rows, its changes are no events.
        """
        scaler, used = self.scaler, self.used_features
        is_settled = not scaler.first_rows.size
        change = scaler.remake()
        if not (is_settled and change.is_empty):
            for module in modules_of(self.config):
                module.rebase(self.state, change, used, is_settled, self.config)
            if self.feature_stats is not None:
                self.feature_stats = masking.rebased_stats(self.feature_stats, change)
            self.switch_inputs()
        return self._told(change, names) if is_settled else []

    def _told(self, change: Change, names: list[str]) -> list[Event]:
        """A change of the scaling map, as events."""
        row, scaler, events = self.n_rows, self.scaler, list[Event]()
        lows, highs = scaler.low.tolist(), (scaler.low + scaler.width).tolist()
        for kind, features in ((RangeChanged, change.features), (RangeMoved, change.moved)):
            events += [kind(row, names[j], lows[j], highs[j]) for j in features]
        events += [CodeNoticed(row, names[j], float(scaler.code[j])) for j in change.codes]
        is_awake = scaler.awake[change.switched]
        for j in change.switched[~is_awake]:
            events.append(FeatureAsleep(row, names[j], int(scaler.escapes[:, j].max())))
        for j in change.switched[is_awake]:
            events.append(FeatureAwake(row, names[j], lows[j], highs[j]))
        return events

    def switch_inputs(self) -> None:
        """Let gaussian layers know which inputs are in use."""
        if self.state.gaussians is not None:
            self.said = None
            gaussian.switch_inputs(self.state, self.used_features, self.config)

    # ---- more room

    def widen(self, n_features: int, n_classes: int) -> None:
        """Make room for more features or classes; nothing learned is lost."""
        self.said = None
        self.resize(features=n_features, classes=n_classes)
        self.switch_inputs()

    def resize(self, **changes: int) -> None:
        """Make room for more layers, slots, features or classes."""
        old, new = self.sizes, dataclasses.replace(self.sizes, **changes)
        self.state = resized_state(self.state, old, new, self.config)
        self.sizes = new
        self._fit_params()
        if (outputs := self.output_stats) is not None:
            self.output_stats = merging.resized_output_stats(outputs, new.layers, new.classes)
        if (features := self.feature_stats) is not None:
            self.feature_stats = masking.resized_stats(features, new.features, new.classes)
        if new.features > old.features:
            self.scaler.widen_to(new.features)
            added = np.ones(new.features - old.features, np.bool_)
            self.feature_mask = np.append(self.feature_mask, added)
            self.buffer.widen(new.features)
            self.gathered.rows.widen(new.features)
        if self.label_counts is not None:
            self.label_counts = np.pad(self.label_counts, (0, new.classes - old.classes))
        grown = ((0, 0), (0, new.layers - old.layers), (0, new.classes - old.classes))
        self.gathered.outputs = np.pad(self.gathered.outputs, grown)
