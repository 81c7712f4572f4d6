"""DEVFNN: predict, then learn, one chunk or one row at a time."""

import dataclasses
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from devfnn import formatting
from devfnn.arrays import Flags, Floats, Ints
from devfnn.errors import InputError, NotLearnedError, StorageError
from devfnn.events import ClassAdded, Event
from devfnn.kernels.state import ANSWERED, OWED, UNLABELLED
from devfnn.model import class_weights, description, lags
from devfnn.model.access import Access, HasAccess, Learned, Part, changes, reads
from devfnn.model.compiling import ensure_compiled
from devfnn.model.config import Config
from devfnn.model.explanation import Explanation, plain
from devfnn.model.history import History, Logbook
from devfnn.model.label_budget import budget_size, in_budget
from devfnn.model.names import announced, checked_names, checked_positions
from devfnn.model.network import Network
from devfnn.model.queries import Query, queries_of
from devfnn.model.rows import Rows
from devfnn.model.rules import Rule
from devfnn.model.single_rows import SingleRows, as_row
from devfnn.model.validation import (
    Labels,
    as_labelled,
    as_labels,
    as_rows,
    as_weights,
)
from devfnn.types import Position, Standing

MOST_RULES = 10
"""Rules of a layer that a description lists by default."""

ClassNames = Mapping[Hashable, str]
"""Display names for numeric labels."""


class DEVFNN(HasAccess):
    """Classifier for streams that change: layers of readable rules, and a stack on top.

    The default is our own design, not the paper's network: layers of different kinds side by side,
    of which the best is kept at every drift, and stacked layers that weigh them. It holds up to
    5,000 of the rows that it learned, also in files; `DEVFNN(presets.swift())` holds none. The
    published network, gaussian layers stacked by feature augmentation and grown on drift, is
    `DEVFNN(presets.paper())`.

    Parameters
    ----------
    config
        All parameters; the default if not given.
    feature_names
        Names for events and rules; taken from the columns of the first table if not given.
    classes
        Labels that are known to come, if any are: they have a probability from the first row on.
        Others may come at any time.

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
        self,
        config: Config | None = None,
        feature_names: Sequence[str] | None = None,
        classes: Iterable[Hashable] = (),
    ) -> None:
        self.config = config if config is not None else Config()
        names = checked_names(feature_names) if feature_names is not None else None
        if names is not None and len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"feature {twice!r} is named more than once")
        self._access = Access(Learned(names, Labels(announced(classes))))
        self._rows: SingleRows | None = None  # made when needed, never saved
        self._is_compiled = False

    _names = Part[list[str] | None]()
    _labels = Part[Labels]()
    _network = Part[Network | None]()
    _logbook = Part[Logbook]()
    _query_log = Part[Logbook]()
    _early_budget = Part[Ints | None]()
    _late = Part[tuple[int, ...]]()
    _positions = Part[dict[str, Position]]()

    # ---- what a user may look at

    @property
    def positions(self) -> dict[str, Position]:
        """How far the model has come in sources of rows, by their names; saved with it.

        `learn` and `learn_rows` take what is new of it, so that no file holds rows without their
        position. Learning does not look at it.
        """
        return dict(self._positions)

    @positions.setter
    def positions(self, positions: Mapping[str, Position]) -> None:
        found = checked_positions(positions)
        with self._access.lock:
            try:
                self._access.begin_in_place().positions = found
            finally:
                self._access.end_in_place()

    @property
    def classes(self) -> list[Hashable]:
        """Labels announced or seen so far, in the order of the columns of `predict_proba`."""
        return list(self._labels.classes)

    @property
    @reads
    def feature_names(self) -> list[str]:
        """Names of the features, x0, x1, ... if none were given."""
        if self._names is not None:
            return list(self._names)
        return [f"x{index}" for index in range(self._n_features() or 0)]

    @property
    def n_layers(self) -> int:
        """Layers, merged ones included."""
        return self._network.n_layers if self._network is not None else 0

    @property
    def n_live_layers(self) -> int:
        """Layers that vote."""
        return len(self._network.live_layers) if self._network is not None else 0

    @property
    def n_rules(self) -> int:
        """Active rules of the live layers."""
        return self._network.n_rules if self._network is not None else 0

    @property
    def n_parameters(self) -> int:
        """Numbers that define the live rules."""
        return self._network.n_parameters if self._network is not None else 0

    @property
    def n_rows(self) -> int:
        """Rows offered for learning so far."""
        return self._network.n_rows if self._network is not None else 0

    @property
    def n_labels_used(self) -> int:
        """Labels that at least one layer was trained with."""
        return self._network.n_labels if self._network is not None else 0

    @reads
    def standings(self) -> list[Standing]:
        """What every layer does, counts in the answer, is worth and costs; none before learning."""
        return [] if self._network is None else description.standings_of(self._known())

    @property
    @reads
    def voting_weights(self) -> Floats:
        """Voting weight of every layer; 0 for merged and resting ones."""
        return self._known().voting_weights

    @property
    @reads
    def feature_mask(self) -> Flags:
        """Which features are in use."""
        network = self._known()
        columns = lags.columns_of(network.n_features, len(self.feature_names), self._late)
        return network.used_features[columns.features]

    # ---- predict: nothing here changes the model

    @reads
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of rows; the columns follow `classes`."""
        return self._known().probabilities(self._columns(X))

    @reads
    def predict(self, X: Any) -> "np.ndarray[Any, np.dtype[Any]]":
        """Labels of rows."""
        return self._labels.decode(self.predict_proba(X).argmax(axis=1))

    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Class probabilities of one row, by label."""
        found = self._single_rows().by_label(x)
        if not found:
            self._known()  # raises if nothing was learned yet
        return found

    def predict_one(self, x: Any) -> Hashable:
        """Label of one row."""
        found = self._single_rows().likeliest(x)
        if found is None:
            self._known()
        return found

    # ---- learn

    @changes
    def learn(
        self,
        X: Any,
        y: Any,
        weights: Any = None,
        *,
        chosen: Any = None,
        positions: Mapping[str, Position] | None = None,
    ) -> list[Event]:
        """Learn a chunk and return what changed in the structure (paper: Algorithm 1).

        Parameters
        ----------
        X, y
            Rows and their labels. New labels open new classes. A chunk of which all that layers
            say takes more than 256 MB is learned in parts, one after the other.
        weights
            Weight of every row in training, 1 if not given; rows of weight 0 are passed over. For
            votes, drift and forgetting, every other row is one row. `Config.class_weights` are on
            top of it.
        chosen
            Mask of the rows that `wants_label` picked, or True for all: they are learned in any
            case, the others have no label. By default all have one, and the model takes its pick.
        positions
            How far sources have come with these rows; see `positions`.
        """
        if positions is not None:
            self._positions = checked_positions(positions, self._positions)
        if chosen is None and self.config.labels.budget < 1.0:
            chosen = self._picked(X, weights)
        rows, labelled, fresh = self._checked(X, y, weights, chosen)
        if not rows.labels.size:
            return []
        network, events = self._ready(rows, fresh)
        names = self._column_names(network)
        events += network.close(names)
        rows = self._weighted(network, rows, labelled)
        if self.config.lags:
            rows.X = lags.at_once(network, rows.X, self._late)
        n_rows = rows.labels.size
        for span in network.parts(n_rows):
            is_whole = span.stop - span.start == n_rows
            part = rows if is_whole else rows.part(span.start, span.stop)
            events += network.learn_chunk(part, labelled[span], names)
        if self.config.lags:
            lags.remember(network, rows.labels, labelled)
        self._logbook.note(events, network.n_rows)
        return events

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> list[Event]:
        """Learn one row at once; structural steps follow every `chunk_rows` rows."""
        return self._single_rows().learn(x, y, weight)

    @changes
    def learn_rows(
        self,
        X: Any,
        y: Any,
        weights: Any = None,
        *,
        chosen: Any = None,
        positions: Mapping[str, Position] | None = None,
    ) -> list[Event]:
        """The same, bit for bit, as `learn_one` in a loop over the rows."""
        if positions is not None:
            self._positions = checked_positions(positions, self._positions)
        rows, labelled, fresh = self._checked(X, y, weights, chosen)
        if chosen is None and self.config.is_budgeted and (fresh or self._reads_labels):
            return self._learn_sparingly(rows, [*self._labels.classes, *fresh])
        return self._learn_row_by_row(rows, labelled, fresh)

    def _learn_row_by_row(self, rows: Rows, labelled: Ints, fresh: list[Hashable]) -> list[Event]:
        """Learn rows that were checked."""
        events: list[Event] = []
        codes = range(len(self._labels), len(self._labels) + len(fresh))
        starts = [int(np.argmax(rows.labels == code)) for code in codes]
        parts = zip(
            [0, *starts], [*starts, len(rows)], [[], *([label] for label in fresh)], strict=True
        )
        for start, stop, labels in parts:  # each from where a new class first appears
            if start == stop:
                continue
            part, known = rows.part(start, stop), labelled[start:stop]
            network, new = self._ready(part, labels)
            part = self._weighted(network, part, known)
            if self.config.lags:
                seen = lags.one_by_one(network, part, known, self._late)
                new += network.learn_rows(seen, known, self._column_names(network))
                lags.remember(network, part.labels, known)
            else:
                new += network.learn_rows(part, known, self.feature_names)
            self._logbook.note(new, network.n_rows)
            events += new
        return events

    @property
    def _reads_labels(self) -> bool:
        """Whether labels are kept on the way to the network, so that none may be read in vain."""
        return bool(self.config.lags or self.config.balances)

    def _weighted(self, network: Network, rows: Rows, labelled: Ints) -> Rows:
        """Rows with the weights of their classes, if these have weights."""
        if self.config.class_weights is None:
            return rows
        weights = class_weights.weighted(network, rows, labelled, self._labels)
        return dataclasses.replace(rows, weights=weights)

    def _column_names(
        self, network: Network, labels: Sequence[Hashable] | None = None
    ) -> list[str]:
        """Names of all columns: features, and the last labels if they are inputs."""
        called = labels if labels is not None else self._labels.classes
        if not self.config.lags:
            return self.feature_names
        return lags.names_of(network, self.feature_names, called, self._late)

    @changes
    def add_features(self, names: Sequence[str]) -> None:
        """Add features that appear later; earlier rows count as not having them.

        Needs `missing="skip"`, since a row without a feature must be allowed.
        """
        network = self._known()
        known = self.feature_names
        fresh = checked_names(names, known)
        if self.config.missing != "skip":
            raise InputError('features may appear later only with missing="skip"')
        if repeated := sorted({name for name in fresh if [*known, *fresh].count(name) > 1}):
            raise InputError(f"the model has a feature {repeated[0]!r} already")
        n_columns = network.n_features
        network.widen(n_columns + len(fresh), len(self._labels))
        if self.config.lags:
            self._late += tuple(range(n_columns, n_columns + len(fresh)))
        self._names = known + fresh

    # ---- ask for labels

    asks_before_learning = True
    """Whether `wants_label` can be called before anything was learned."""

    @reads
    def wants_label(self, X: Any) -> Flags:
        """Which rows are worth labelling, as the model stands; nothing is changed.

        Without active learning, all of them; never more than the label budget allows. Then call
        `learn(X, y, chosen=wanted)`: labels of the other rows are not read, and the budget counts
        on. If labels come later than the next rows, `ask` instead.
        """
        return self._wanted(X, spend=False)

    @changes
    def ask(self, X: Any) -> Flags:
        """Which rows to label: as `wants_label`, but charges the budget and logs the queries.

        When labels come, in any order, `answer` with them.

        Examples
        --------
        >>> import numpy as np
        >>> from devfnn import Config, DEVFNN
        >>> X = np.random.default_rng(0).random((1000, 2))
        >>> y = X[:, 0] > X[:, 1]
        >>> model = DEVFNN(Config().replace(labels__budget=0.1, labels__window=100))
        >>> for start in range(0, 1000, 100):
        ...     rows = slice(start, start + 100)
        ...     asked = model.ask(X[rows])
        ...     events = model.answer(X[rows][asked], y[rows][asked])
        >>> int(model.n_labels_used) <= 100, model.n_labels_owed
        (True, 0)
        >>> model.queries()[0].reason
        'nothing known yet'
        """
        rows, before = self._as_rows(X), self._budget.copy()
        if self._network is None and self._early_budget is None:
            self._early_budget = before.copy()
        wanted = self._wanted(rows, spend=True)
        seen = self._columns(rows) if self._network is not None else rows
        queries = queries_of(self._network, seen, wanted, before, self.config)
        self._query_log.note(queries, self.n_rows)
        self._budget[OWED] += int(np.count_nonzero(wanted))
        return wanted

    @changes
    def answer(self, X: Any, y: Any, weights: Any = None) -> list[Event]:
        """Learn labels that `ask` asked for, row by row, and return what changed in the structure.

        The budget was charged by `ask`. Labels may come in any order; others go to `learn`.
        """
        n_answers = len(self._as_rows(X))
        if n_answers > self.n_labels_owed:
            raise InputError(
                f"{n_answers} answers, but {self.n_labels_owed} labels are owed; ask(X) first, or "
                "learn(X, y, chosen=True) other labels"
            )
        rows, labelled, fresh = self._checked(X, y, weights, True)
        self._budget[OWED] -= n_answers
        labelled[:] = ANSWERED
        return self._learn_row_by_row(rows, labelled, fresh)

    def queries(self) -> list[Query]:
        """Labels that `ask` asked for, the newest 1,000, the oldest first. They are saved."""
        return list(self._query_log.newest)

    @property
    @reads
    def n_labels_owed(self) -> int:
        """Labels that `ask` requested and that were not answered yet."""
        return int(self._budget[OWED])

    @property
    def _budget(self) -> Ints:
        """The label budget; before there is a network, a separate one."""
        if self._network is not None:
            return self._network.budget
        if self._early_budget is not None:
            return self._early_budget
        return np.zeros(budget_size(self.config), np.int64)

    def _wanted(self, X: Any, spend: bool) -> Flags:
        """Which rows are worth a label, within the budget; `spend` charges it."""
        if self._network is not None:
            return self._known().wanted(self._columns(X), spend)
        self._compile()
        budget = self._budget if spend else self._budget.copy()
        return in_budget(np.ones(len(self._as_rows(X)), np.bool_), budget, self.config)

    def _picked(self, X: Any, weights: Any) -> Flags:
        """The rows of a chunk that the model takes within its budget, before any label is read."""
        rows = self._as_rows(X)
        picked = as_weights(weights, rows.shape[0]) > 0.0
        picked[picked] = self.wants_label(rows[picked])
        return picked

    def _learn_sparingly(self, rows: Rows, labels: list[Hashable]) -> list[Event]:
        """Row by row inside a budget: what is not taken opens no class, and is no lag of others.

        So rows of classes that are new, and all rows if there are lags or labels are counted, are
        asked about first.
        """
        events: list[Event] = []
        for row, label in enumerate([labels[code] for code in rows.labels.tolist()]):
            one, index = rows.part(row, row + 1), self._labels.index_of(label)
            if index is None or self._reads_labels:
                chosen = self.wants_label(one.X)
                events += self.learn_rows(one.X, [label], one.weights, chosen=chosen)
            else:
                one.labels[0] = index
                events += self._learn_row_by_row(one, as_labelled(None, 1), [])
        return events

    # ---- explain: nothing here changes the model

    @reads
    def rules(self, archived: bool = False, class_names: ClassNames | None = None) -> list[Rule]:
        """The active rules of all live layers in the user's units, the weightiest first.

        With `archived` also those that wait to be recalled, after the others. None before learning.
        `class_names` says what labels are called, where they are but numbers.
        """
        if self._network is None:
            return []
        network, labels = self._known(), _called(self.classes, class_names)
        found = description.rules_of(network, labels, self._column_names(network, labels))
        return [rule for rule in found if archived or not rule.is_archived]

    @reads
    def rules_table(
        self, archived: bool = False, class_names: ClassNames | None = None
    ) -> dict[str, list[Any]]:
        """The rules as columns, one entry for each rule: as pandas, polars and CSV files take it.

        An input that a rule does not have leaves None.
        """
        return description.table_of(self.rules(archived, class_names))

    @reads
    def describe(
        self,
        terms: bool = False,
        class_names: ClassNames | None = None,
        most: int | None = MOST_RULES,
    ) -> str:
        """All layers and their rules as text, the weightiest layer first.

        Then what was merged, as far as `history` knows, and which features are left out. With
        `terms` it says low, medium and high, the thirds of the known range of an input, not
        numbers. Of a layer the `most` weightiest rules are named, the others counted; None: all.
        """
        if self._network is None:
            return "The model has not learned anything yet."
        network, labels = self._known(), _called(self.classes, class_names)
        names, rules = self._column_names(network, labels), self.rules(True, class_names)
        return description.described(network, rules, names, self._logbook.newest, terms, most)

    @reads
    def to_dict(
        self, archived: bool = True, class_names: ClassNames | None = None
    ) -> dict[str, Any]:
        """The whole model as plain data, for JSON: what `describe` tells, in numbers.

        Labels are written such that their types are known, as in `Rule.to_dict`; a number that is
        not finite is None.
        """
        network, rules = self._network, self.rules(True, class_names)
        classes = _called(self.classes, class_names)
        data = {
            "class": type(self).__name__,
            "config": self.config.to_dict(),
            "features": description.features_of(network, self.feature_names, self._late),
            "classes": [formatting.label_to_json(label) for label in classes],
            "rows": self.n_rows,
            "labels_used": self.n_labels_used,
            "layers": description.layers_of(network, rules) if network is not None else [],
            "parameters": self.n_parameters,
            "bytes": self.nbytes,
            "rules": [rule.to_dict() for rule in rules if archived or not rule.is_archived],
            "history": self.history().to_dict(),
            "queries": [query._asdict() for query in self._query_log.newest],
        }
        return dict(plain(data))

    @reads
    def explain(self, x: Any, class_names: ClassNames | None = None) -> Explanation:
        """Explain the prediction for one row: what layers, rules and features contribute.

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
        network, labels = self._known(), _called(self.classes, class_names)
        names, row = self._column_names(network, labels), self._columns(as_row(x))
        return description.explanation_of(network, row, labels, names)

    @reads
    def history(self) -> History:
        """Structural events with the numbers that caused them, the newest 1,000. They are saved."""
        return self._logbook.history(self.n_rows)

    # ---- taking rows in

    def _known(self) -> Network:
        """The network, or an error that says what to do."""
        if self._network is None:
            raise NotLearnedError("the model has not learned anything yet; call learn first")
        self._compile()
        return self._network

    def _compile(self) -> None:
        """Compile the kernels at the first use."""
        if not self._is_compiled:
            ensure_compiled(self.config)
            self._is_compiled = True

    def _n_features(self) -> int | None:
        """Number of features, if known."""
        if self._network is not None:
            return self._network.sizes.features - self.config.lags * len(self._labels.classes)
        return len(self._names) if self._names is not None else None

    def _single_rows(self) -> SingleRows:
        """Fast path for single rows; holds no state of its own."""
        self._rows = self._rows or SingleRows(self)
        return self._rows

    def _as_rows(self, X: Any) -> Floats:
        """Rows as a matrix of the model's features; raises InputError."""
        return as_rows(X, self._names, self._n_features(), self.config.missing)

    def _columns(self, X: Any) -> Floats:
        """Rows as the network takes them: with the labels known by now, if they are inputs."""
        network, rows = self._known(), self._as_rows(X)
        return lags.at_once(network, rows, self._late) if self.config.lags else rows

    def _checked(
        self, X: Any, y: Any, weights: Any, chosen: Any
    ) -> tuple[Rows, Ints, list[Hashable]]:
        """Rows but those of weight 0, what is known of their labels, and new labels."""
        names, matrix = self._names, self._as_rows(X)
        row_weights = as_weights(weights, matrix.shape[0])
        labelled = as_labelled(chosen, matrix.shape[0])
        labels = as_labels(y, matrix.shape[0])
        is_used = row_weights > 0.0
        has_label = is_used & (labelled != UNLABELLED)
        known = labels if has_label.all() else list(itertools.compress(labels, has_label))
        codes, fresh = self._labels.encode(known)
        if codes.size < len(labels):
            given, codes = codes, np.zeros(len(labels), np.int64)
            codes[has_label] = given
        if self._network is None:  # nothing can be done with rows before the first label
            is_used &= np.arange(len(labels)) >= (np.argmax(has_label) if known else len(labels))
        if self._network is None and names is None and hasattr(X, "columns") and is_used.any():
            self._names = [str(column) for column in X.columns]
        rows = Rows(matrix, codes, row_weights)
        if is_used.all():
            return rows, labelled, fresh
        return rows.where(is_used), labelled[is_used], fresh

    def _ready(self, rows: Rows, fresh: list[Hashable]) -> tuple[Network, list[Event]]:
        """A network wide enough for the rows' features and classes; new classes as events."""
        self._compile()
        n_classes = len(self._labels.classes) + len(fresh)
        n_columns = rows.X.shape[1] + self.config.lags * n_classes
        if self._network is None:
            self._network = Network.empty(n_columns, n_classes, self.config)
            if self._early_budget is not None:
                self._network.budget[:] = self._early_budget
                self._early_budget = None
        elif fresh:
            lags.widen(self._network, n_columns, n_classes)
        first, row = len(self._labels), self._network.n_rows
        self._logbook.begin(row)
        if fresh:
            self._labels = self._labels.copy()
            self._labels.add(fresh)
        events = [ClassAdded(row, str(label), i) for i, label in enumerate(fresh, first)]
        return self._network, [*events]

    # ---- storing

    @property
    @reads
    def nbytes(self) -> int:
        """Size of the learned arrays in bytes."""
        from devfnn.storage import state_bytes

        return state_bytes(self._network)

    def save(self, path: Any) -> None:
        """Write the model to a file, atomically; see `devfnn.storage`."""
        from devfnn.storage import save

        save(self, path)

    @classmethod
    def load(cls, path: Any, **limits: int) -> "DEVFNN":
        """Read a model that `save` wrote; a file of another class is refused.

        Limits are `max_bytes` and `max_memory`, as of `devfnn.load`.
        """
        from devfnn.storage import load

        model = load(path, **limits)
        if not isinstance(model, cls):
            raise StorageError(f"{path}: holds a {type(model).__name__}, not a {cls.__name__}")
        return model

    @reads
    def __getstate__(self) -> bytes:
        from devfnn.storage import dump

        return dump(self)

    def __setstate__(self, state: bytes) -> None:
        from devfnn.storage import UNLIMITED, parse

        self.__dict__.update(parse(state, **UNLIMITED).__dict__)


def _called(classes: Sequence[Hashable], class_names: ClassNames | None) -> list[Hashable]:
    """Display names of classes; raises InputError if two have the same name."""
    labels: list[Hashable] = [(class_names or {}).get(label, label) for label in classes]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"class_names calls two classes {twice!r}; give each a name of its own")
    return labels
