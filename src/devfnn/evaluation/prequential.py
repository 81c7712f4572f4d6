"""The only test-then-train loop in the package."""

import dataclasses
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from devfnn.arrays import Floats, Ints
from devfnn.errors import InputError
from devfnn.evaluation.course import ChunkResult
from devfnn.evaluation.learners import adapted, must_know_classes
from devfnn.evaluation.procedure import Batch, Procedure, Step, skipped, turns
from devfnn.evaluation.scoring import ChunkPredictions, Scorer, Scores
from devfnn.events import ClassAdded, Event, RuleBorn, RuleRecalled, RuleSplit
from devfnn.types import Chunk, Standing

OF_ONE_ROW = (RuleBorn, RuleRecalled, RuleSplit, ClassAdded)
"""Kinds of events caused by a single row."""

SIZE_EVERY = 20
"""Chunks after which the size of a model is measured again, since that takes time."""

COUNTERS = ("n_chunks", "n_rows", "n_given", "n_offered", "n_own_rows", "n_labels_before")
"""Counts that are stored when a run is."""


def iter_prequential(
    model: Any, source: Iterable[Chunk], procedure: Procedure | None = None
) -> Iterator[ChunkResult]:
    """Test on every chunk, then train on it; the first chunk trains only.

    The loop runs as far as its results are asked for, so it can be watched, paused and stopped.
    Chunks with neither rows nor labels of earlier rows are passed over.

    Of a stream with hidden or delayed labels all rows are predicted and scored, and those whose
    labels have come are learned: `Chunk.labelled_parts`. Nothing is predicted before something was
    learned. A label that is None is neither scored nor learned.

    The model is changed by what it learns. It is DEVFNN, or anything with `learn` and `predict`; a
    model of River, CapyMOA, or of scikit-learn with `partial_fit`. If it has `n_rules`,
    `n_live_layers`, `n_labels_used`, ..., the results carry them.

    >>> from devfnn import DEVFNN
    >>> from devfnn.streams import sea
    >>> results = list(iter_prequential(DEVFNN(), sea(3000, rows_per_concept=3000, noise=0.0)))
    >>> [result.n_rows for result in results]
    [500, 1000, 1500, 2000, 2500, 3000]
    >>> results[0].accuracy is None, results[-1].accuracy > 0.9
    (True, True)
    """
    yield from Prequential(model, source, procedure)


class Prequential:
    """The loop as an object, to inspect it between chunks or to store it.

    Iterating goes on where it stands. Parameters as in `iter_prequential`.
    """

    def __init__(
        self, model: Any, source: Iterable[Chunk], procedure: Procedure | None = None
    ) -> None:
        self.model = model
        self.procedure = procedure or Procedure()
        if must_know_classes(model) and hasattr(source, "with_all_classes"):
            source = source.with_all_classes()
        self.source = source
        self.n_chunks = 0
        self.n_rows = 0
        self.is_between_chunks = True
        self._names: Sequence[str] = getattr(source, "feature_names", ())
        classes = getattr(source, "classes", ())
        self.scorer = Scorer(classes, self.procedure.window_chunks)
        self._learner = adapted(model, self._names, classes, by_row=self.procedure.by_row)
        if self.procedure.label_budget is not None and not self._learner.can_ask:
            raise InputError(
                f"{type(model).__name__} cannot say which labels it wants, so it has no use for a "
                "label budget; hide_labels of a stream withholds labels at random"
            )
        self.n_given = 0  # labels given to the model
        self.n_offered = 0  # labels it could have had
        self.n_own_rows = 0  # rows it learned
        self.n_labels_before = int(getattr(model, "n_labels_used", 0))
        self._has_learned = bool(getattr(model, "n_rows", 0))
        self._structure: dict[str, Any] = {}

    def __iter__(self) -> Iterator[ChunkResult]:
        planned = turns(self.source, self.procedure, self._names)
        for chunk, steps in skipped(planned, self.n_chunks):
            yield self._take(chunk, steps)

    # ---- storing

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """State of the loop without the model: plain data, and arrays."""
        labels = self.scorer.codes.labels
        plain = {name: getattr(self, name) for name in COUNTERS} | {
            "labels": [each.item() if isinstance(each, np.generic) else each for each in labels],
            "has_learned": self._has_learned,
            "structure": self._structure,
        }
        return plain, self.scorer.state()

    def restore(self, plain: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from the state of another loop over the same stream, with its model."""
        self.scorer.restore(plain["labels"], arrays)
        for name in COUNTERS:
            setattr(self, name, int(plain[name]))
        self._has_learned = bool(plain["has_learned"])
        self._structure = dict(plain["structure"])
        if mask := self._structure.get("feature_mask"):
            self._structure["feature_mask"] = tuple(mask)
        if known := self._structure.get("standings"):
            self._structure["standings"] = tuple(Standing(*each) for each in known)

    # ---- one chunk

    def _take(self, chunk: Chunk, steps: Iterator[Step]) -> ChunkResult:
        """Predict and learn a chunk."""
        self.is_between_chunks = False
        index, n_rows = self.n_chunks, len(chunk.y)
        is_tested, is_learned = self.procedure.is_tested(index), self.procedure.is_learned(index)
        answers_early = self.procedure.by_row and self._learner.answers_early
        predictions = ChunkPredictions(self.scorer)
        events: list[Event] = []
        seconds_predict = seconds_learn = 0.0
        for step in steps:
            start = time.perf_counter()
            if step.before:
                events += self._learn(step.before)
            middle = time.perf_counter()
            may_answer = is_tested and (self._has_learned or answers_early)
            said = self._learner.predict(step.rows.X) if may_answer and len(step.rows.y) else None
            predicted = time.perf_counter()
            if said is not None:
                predictions.add(said, len(step.rows.y), may_be_silent=not self._has_learned)
            else:
                predictions.skip(len(step.rows.y))
            resumed = time.perf_counter()
            if step.after and is_learned:
                events += self._learn(step.after)
            seconds_learn += (middle - start) + (time.perf_counter() - resumed)
            seconds_predict += predicted - middle
        self.n_chunks += 1
        self.n_rows += n_rows
        scores = predictions.scored(chunk, self.procedure.unpredicted, is_tested)
        self.is_between_chunks = True
        return self._result(n_rows, events, (seconds_predict, seconds_learn), scores)

    def _learn(self, batches: list[Batch]) -> list[Event]:
        """Learn what may be learned; events come back by rows of the stream."""
        found: list[Event] = []
        for rows, places in batches:
            n_before = getattr(self.model, "n_rows", self.n_own_rows)
            chosen = self._chosen(rows.X)
            self.n_given += len(rows.y) if chosen is None else int(np.count_nonzero(chosen))
            events = self._learner.learn(rows.X, rows.y, chosen)
            if events:
                found += _by_rows_of_the_stream(events, n_before, places)
            self.n_own_rows += len(rows.y)
            self._has_learned = True
        return found

    def _chosen(self, X: Floats) -> npt.NDArray[np.bool_] | None:
        """The rows whose labels the model gets, if it has to ask; all while it cannot ask yet."""
        budget = self.procedure.label_budget
        if budget is None and not self._learner.asks_itself:
            return None
        self.n_offered += len(X)
        may_ask = self._has_learned or self._learner.asks_early
        wanted = self._learner.wanted(X) if may_ask else np.ones(len(X), np.bool_)
        if budget is None or wanted is None:
            return wanted
        n_left = max(0, int(budget * self.n_offered) - self.n_given)
        if not self._has_learned:
            n_left = max(n_left, 1)
        return wanted & (np.cumsum(wanted) <= n_left)

    def _result(
        self, chunk_rows: int, events: list[Event], seconds: tuple[float, float], scores: Scores
    ) -> ChunkResult:
        tally, auc_windowed = scores
        is_due = not self._structure or self.n_chunks % SIZE_EVERY == 0
        if self._has_learned and (events or is_due):
            self._structure = self._measured(is_due)
        elif any(each.state != "votes" for each in self._structure.get("standings") or ()):
            self._structure["standings"] = self._standings()  # trials end without events
        used = getattr(self.model, "n_labels_used", None)
        return ChunkResult(
            index=self.n_chunks - 1,
            chunk_rows=chunk_rows,
            n_rows=self.n_rows,
            n_correct=None if tally is None else tally.n_correct,
            n_scored=0 if tally is None else tally.n_scored,
            events=tuple(events),
            seconds_predict=seconds[0],
            seconds_learn=seconds[1],
            n_labels=self.n_given if used is None else int(used) - self.n_labels_before,
            voting_weights=self._listed("voting_weights"),
            tally=tally,
            auc_windowed=auc_windowed,
            **self._structure,
        )

    def _measured(self, is_size_due: bool) -> dict[str, Any]:
        """The structure of the model. It changes only with events, so it is not read every time.

        The size is not part of the structure, and takes longest: measured now and then.
        """
        model = self.model
        n_layers = getattr(model, "n_layers", None)
        n_bytes = getattr(model, "nbytes", None) if is_size_due else self._structure["n_bytes"]
        return {
            "n_rules": getattr(model, "n_rules", None),
            "n_layers": getattr(model, "n_live_layers", n_layers),
            "n_layers_total": n_layers,
            "n_parameters": getattr(model, "n_parameters", None),
            "feature_mask": self._listed("feature_mask"),
            "standings": self._standings(),
            "n_bytes": n_bytes,
        }

    def _standings(self) -> tuple[Standing, ...] | None:
        """What the layers of the model do; None if it has none, or does not tell."""
        tell = getattr(self.model, "standings", None)
        return tuple(tell()) or None if callable(tell) else None

    def _listed(self, name: str) -> tuple[Any, ...] | None:
        """An array of the model; None if it has none, or has not learned."""
        values = getattr(self.model, name, None) if self._has_learned else None
        return None if values is None else tuple(np.asarray(values).tolist())


def _by_rows_of_the_stream(events: Sequence[Event], n_before: int, places: Ints) -> Iterator[Event]:
    """Events with rows of the stream in place of rows that the model has learned.

    Before the batch it had learned `n_before` rows. What a single row brought about stands at that
    row; what the whole batch did, after all rows that had come.
    """
    last = len(places) - 1
    for event in events:
        number = event.row - n_before if isinstance(event, OF_ONE_ROW) else last
        place = int(places[min(max(0, number), last)])
        yield event if place == event.row else dataclasses.replace(event, row=place)
