"""Stream: what every source of rows is, whether generated, read or in memory."""

import dataclasses
import functools
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from devfnn.errors import DataError, InputError
from devfnn.streams import transforms
from devfnn.streams.arguments import finite_number, whole_number
from devfnn.streams.drift import Positions, moved_positions, positions_before, repeated_positions
from devfnn.streams.transforms import Span
from devfnn.types import Chunk, Position

Blocks = Callable[[], Iterator[Chunk]]
"""Starts a stream. Mostly a partial function, so that streams can be sent to other processes."""

BAD_ROW_EXAMPLES = 10
"""Bad rows that are remembered with their reasons."""

logger = logging.getLogger(__name__)


class BadRow(NamedTuple):
    """Position of a row, from 1 without the header, and what is wrong with it."""

    row: int
    reason: str


@dataclasses.dataclass
class BadRows:
    """Rows of a file that could not be used, in the latest pass over it."""

    policy: str
    """`error` refuses the first one; `skip` leaves them out; `count` leaves them out, counts them
    here and logs how many there were."""
    n_rows: int = 0
    examples: list[BadRow] = dataclasses.field(default_factory=list)

    def start(self) -> None:
        self.n_rows = 0
        self.examples.clear()

    def add(self, rows: Sequence[BadRow], file: str) -> None:
        """Handle bad rows by the policy."""
        if rows and self.policy == "error":
            raise DataError(
                f"{file}, row {rows[0].row}: {rows[0].reason} "
                "(on_bad_row='skip' or 'count' leaves such rows out)"
            )
        if self.policy == "count":
            self.n_rows += len(rows)
            self.examples.extend(rows[: BAD_ROW_EXAMPLES - len(self.examples)])

    def finish(self, file: str) -> None:
        if self.n_rows:
            message = "%s: %d bad rows were left out, the first is row %d: %s"
            logger.warning(message, file, self.n_rows, *self.examples[0])


@dataclasses.dataclass(frozen=True)
class Stream:
    """Rows with labels, in order, in chunks. Iterating starts it from its first row.

    Nothing is read or made before it is asked for, and nothing is kept. The methods that change a
    stream return a new one and can be put one after the other, in any order:
    `sea().take(10_000).hide_labels(0.5).delay_labels(rows=200).chunks(rows=100)`. Chunks are cut
    last, and labels delayed after that. Streams can be pickled, but for pipes
    and packed files that are read through a copy on disk.
    """

    feature_names: tuple[str, ...]
    """Names of the columns of every chunk."""
    classes: tuple[Hashable, ...]
    """Possible labels, as far as they are known."""
    blocks: Blocks = dataclasses.field(repr=False)
    """Starts the stream: rows in order, in pieces of any size."""
    n_rows: int | None = None
    """Rows of the whole stream; None if it is endless or unknown."""
    is_endless: bool = False
    drift_positions: Positions = ()
    """Rows with which a new concept begins, where that is known: a tuple, or for a stream that
    drifts without end something to iterate over."""
    class_names: tuple[str, ...] = ()
    """Display names of the classes, in their order, if they differ from the labels."""
    bad_rows: BadRows | None = None
    """Of a file: rows that could not be used."""
    is_open_to_classes: bool = False
    """Whether rows may have labels that are not in `classes`, which one pass over them finds. Of a
    pipe, which passes but once, `classes` has the labels of the first rows."""
    chunk_rows: int = 500
    chunk_span: Span | None = None
    label_delay: int | Span | None = None
    delay_in_rows: bool = True

    def __post_init__(self) -> None:
        whole_number("chunk_rows", self.chunk_rows, low=1)

    def __iter__(self) -> Iterator[Chunk]:
        if self.chunk_span is None:
            chunks = transforms.cut_by_rows(self.blocks(), self.chunk_rows)
        else:
            chunks = transforms.cut_by_time(self.blocks(), self.chunk_span)
        if self.label_delay is None:
            return chunks
        return transforms.delayed(chunks, self.label_delay, in_rows=self.delay_in_rows)

    def chunks(self, rows: int | None = None, *, every: Span | None = None) -> "Stream":
        """Cut into chunks of so many rows, or of all rows within a length of time.

        These begin at whole multiples: with one hour, at the full hour.
        """
        if (rows is None) == (every is None):
            raise InputError("chunks takes rows or every, one of them")
        if rows is not None:
            return self._with(chunk_rows=whole_number("rows", rows, low=1), chunk_span=None)
        transforms.check_span("every", every)
        return self._with(chunk_span=every)

    def take(self, n_rows: int) -> "Stream":
        """Only the first rows."""
        n_rows = whole_number("n_rows", n_rows, low=0)
        n_here = n_rows if self.is_endless else self.n_rows
        return self._with(
            blocks=self._through(transforms.taken, n_rows),
            n_rows=None if n_here is None else min(n_here, n_rows),
            is_endless=False,
            drift_positions=positions_before(self.drift_positions, n_rows),
        )

    def skip(self, n_rows: int) -> "Stream":
        """All but the first rows."""
        n_rows = whole_number("n_rows", n_rows, low=0)
        return self._with(
            blocks=self._through(transforms.skipped, n_rows),
            n_rows=None if self.n_rows is None else max(0, self.n_rows - n_rows),
            drift_positions=moved_positions(self.drift_positions, -n_rows),
        )

    def after(self, position: Position) -> "Stream":
        """All but the rows that a model has learned already, up to its position in this source.

        They are read again: DataError if they are others. Chunks are cut from there.

        >>> from devfnn.streams import sea
        >>> first = next(iter(sea(2000, rows_per_concept=1000)))
        >>> rest = sea(2000, rows_per_concept=1000).after(Position().after(first.X, first.y))
        >>> rest.n_rows, rest.drift_positions
        (1500, (500,))
        """
        return self._with(
            blocks=self._through(transforms.after, position),
            n_rows=None if self.n_rows is None else max(0, self.n_rows - position.rows),
            drift_positions=moved_positions(self.drift_positions, -position.rows),
        )

    def repeat(self, times: int | None = None) -> "Stream":
        """The same rows several times over, or for ever.

        If the stream drifts, each new start is a drift too.
        """
        if times is not None:
            times = whole_number("times", times, low=1)
        if self.is_endless or self.n_rows == 0:
            return self
        positions, n_rows = self.drift_positions, self.n_rows
        if n_rows is not None and positions:
            inside = positions_before(positions, n_rows)
            positions = repeated_positions((*inside, n_rows), n_rows)
            if times is not None:
                positions = positions_before(positions, n_rows * times)
        return self._with(
            blocks=functools.partial(transforms.repeated, self.blocks, times),
            n_rows=None if n_rows is None or times is None else n_rows * times,
            is_endless=times is None,
            drift_positions=positions,
        )

    def shuffle(self, buffer_rows: int, *, seed: int = 0) -> "Stream":
        """Rows in random order within each buffer of so many rows.

        Drift positions stay those before: a drift is spread over the buffer it falls in.
        """
        buffer_rows = whole_number("buffer_rows", buffer_rows, low=1)
        seed = whole_number("seed", seed, low=0)
        return self._with(blocks=self._through(transforms.shuffled, buffer_rows, seed))

    def select(self, names: Sequence[str]) -> "Stream":
        """Only these features, in this order."""
        if isinstance(names, str):
            raise InputError(f"select takes a list of names, not {names!r}")
        names = tuple(names)
        places = [self._place(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise InputError("select takes one or more names, each of them once")
        return self._with(blocks=self._through(transforms.selected, places), feature_names=names)

    def drop(self, names: Sequence[str]) -> "Stream":
        """All features but these."""
        dropped = {self._place(name) for name in names}
        kept = [name for place, name in enumerate(self.feature_names) if place not in dropped]
        if not kept:
            raise InputError("drop would leave no feature")
        return self.select(kept)

    def rename(self, names: Mapping[str, str]) -> "Stream":
        """Features by new names."""
        for name in names:
            self._place(name)
        renamed = tuple(names.get(name, name) for name in self.feature_names)
        if len(set(renamed)) < len(renamed):
            raise InputError("rename would give two features the same name")
        return self._with(feature_names=renamed)

    def relabel(self, names: Mapping[Any, Hashable] | Sequence[Hashable]) -> "Stream":
        """Labels by new names: a mapping, or one name for each class in order.

        None as a name makes labels unknown.
        """
        if not isinstance(names, Mapping) and len(names) != len(self.classes):
            raise InputError(f"relabel needs {len(self.classes)} names, not {len(names)}")
        pairs = names if isinstance(names, Mapping) else zip(self.classes, names, strict=True)
        renamed = dict(pairs)
        classes = dict.fromkeys(renamed.get(each, each) for each in self.classes)
        return self._with(
            blocks=self._through(transforms.relabelled, renamed),
            classes=tuple(each for each in classes if each is not None),
            class_names=(),
        )

    def with_all_classes(self) -> "Stream":
        """The same with every label that comes in `classes`, for models that must know them all.

        A file that does not declare its classes is read once for them, from its first row to its
        last. A stream without end stays as it is, and so does a pipe.
        """
        if self.is_endless or not self.is_open_to_classes:
            return self
        classes = dict.fromkeys(self.classes)
        for block in self.blocks():
            classes |= dict.fromkeys(block.y.tolist())
        known = tuple(label for label in classes if label is not None)
        return self._with(classes=known, is_open_to_classes=False)

    def hide_labels(self, rate: float, *, seed: int = 0) -> "Stream":
        """A share of the labels, drawn at random, may not be learned; all may be scored."""
        rate = finite_number("rate", rate, low=0, high=1)
        seed = whole_number("seed", seed, low=0)
        return self._with(blocks=self._through(transforms.hidden, rate, seed))

    def delay_labels(self, rows: int | None = None, *, time: Span | None = None) -> "Stream":
        """Labels come after so many more rows, or so much later.

        A chunk then says in `labelled` which of its labels have come by its end, and has those of
        earlier rows in `late`; `labelled_parts()` gives both. A label comes with its own row if the
        delay is 0, and with the next row if it is 1. A second delay replaces the first. A
        delay in time counts from the times of the rows; if these jump back, as when a stream with
        times is repeated, labels come at once.
        """
        if (rows is None) == (time is None):
            raise InputError("delay_labels takes rows or time, one of them")
        if rows is not None:
            return self._with(label_delay=whole_number("rows", rows, low=0), delay_in_rows=True)
        transforms.check_span("time", time, or_zero=True)
        return self._with(label_delay=time, delay_in_rows=False)

    def _through(self, transform: Callable[..., Iterator[Chunk]], *arguments: Any) -> Blocks:
        return functools.partial(_started, self.blocks, transform, *arguments)

    def _with(self, **changes: Any) -> "Stream":
        return dataclasses.replace(self, **changes)

    def _place(self, name: str) -> int:
        if name not in self.feature_names:
            known = ", ".join(self.feature_names)
            raise InputError(f"there is no feature {name!r}; the stream has {known}")
        return self.feature_names.index(name)


def _started(
    start: Blocks, transform: Callable[..., Iterator[Chunk]], *arguments: Any
) -> Iterator[Chunk]:
    return transform(start(), *arguments)


def from_arrays(
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    times: Any = None,
    chunk_rows: int = 500,
) -> Stream:
    """Arrays, or a table with named columns, as a stream.

    X holds numbers, (n_rows, n_features), y labels, (n_rows,), None for an unknown label, and
    times, (n_rows,), dates or numbers. Features are called as given, as the columns of a data
    frame, or x1, x2, ...

    >>> stream = from_arrays([[1.0, 2.0], [3.0, 4.0]], ["low", "high"])
    >>> stream.feature_names, stream.classes, stream.n_rows
    (('x1', 'x2'), ('low', 'high'), 2)
    """
    try:
        rows = np.ascontiguousarray(X, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must hold numbers: {error}") from None
    if rows.ndim != 2:
        raise InputError(f"X must be a matrix (rows x features), not of shape {rows.shape}")
    labels = np.asarray(y)
    if labels.dtype.kind not in "iub":
        labels = np.empty(len(y), object)
        labels[:] = list(y)
    known_times = None if times is None else np.asarray(times)
    for name, array in (("y", labels), ("times", known_times)):
        if array is not None and array.shape != (len(rows),):
            raise InputError(f"{name} must have one value for each of {len(rows)} rows of X")
    chunk = Chunk(rows, labels, known_times)
    is_known = chunk.is_known()
    chunk = chunk if is_known.all() else chunk._replace(labelled=is_known)
    if feature_names is None:
        numbered = [f"x{place}" for place in range(1, rows.shape[1] + 1)]
        feature_names = getattr(X, "columns", numbered)
    names = tuple(map(str, feature_names))
    if len(names) != rows.shape[1] or len(set(names)) < len(names):
        raise InputError(f"feature_names must be {rows.shape[1]} different names, not {names!r}")
    return Stream(
        feature_names=names,
        classes=tuple(dict.fromkeys(labels[is_known].tolist())),
        blocks=functools.partial(iter, (chunk,)),
        n_rows=len(rows),
        chunk_rows=chunk_rows,
    )
