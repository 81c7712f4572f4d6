"""Small tables, written in every format by plain means, and what reading them has to give."""

import contextlib
import csv
import dataclasses
import datetime
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from devfnn.streams import Stream
from devfnn.streams.files import columnar, splitting
from devfnn.streams.transforms import joined
from devfnn.types import Chunk

LABEL = "label"
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns by name, each number, flag, text or time, and rows; None is a missing value."""

    kinds: dict[str, str]
    rows: list[Row]

    @property
    def names(self) -> list[str]:
        return [*self.kinds, LABEL]

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]

    def expected(self) -> tuple[list[list[float]], list[Any]]:
        """Rows as numbers, texts as codes in order of appearance, and labels: slow and plain."""
        codes: dict[str, dict[str, int]] = {name: {} for name in self.kinds}
        X = []
        for row in self.rows:
            numbers = []
            for name, kind in self.kinds.items():
                value = row[name]
                if value is None:
                    numbers.append(math.nan)
                elif kind == "text":
                    numbers.append(float(codes[name].setdefault(value, len(codes[name]))))
                elif kind == "time":
                    numbers.append((value - EPOCH) // MICROSECOND / 1e6)
                else:
                    numbers.append(float(value))
            X.append(numbers)
        return X, self.column(LABEL)


# ---- random tables

ODD = st.sampled_from(
    [",", ";", '"', "'", "\n", "\r\n", "|", "\t", " ", "{", "}", "%", "ü", "日", "\\"]
)
WORDS = st.lists(st.one_of(ODD, st.text("ab1.", max_size=2)), max_size=5).map("".join)
TEXTS = WORDS.map(lambda inner: f"t{inner}.")  # no number, nothing to be trimmed
LABELS = st.sampled_from(["yes", "no", 'say "no"', "a, b", "two\nlines", "ß"])
TIMES = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))
NUMBERS = st.one_of(st.floats(-1e300, 1e300), st.integers(-(2**60), 2**60), st.just(0))
VALUES = {"number": NUMBERS, "flag": st.booleans(), "text": TEXTS, "time": TIMES}


@st.composite
def tables(
    draw: st.DrawFn, kinds: Sequence[str] = tuple(VALUES), texts: st.SearchStrategy[str] = TEXTS
) -> Table:
    """Tables of a few columns of these kinds, with gaps."""
    chosen = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=4))
    named = {f"{kind}{place}": kind for place, kind in enumerate(chosen)}
    values = VALUES | {"text": texts}
    columns = {name: st.one_of(values[kind], st.none()) for name, kind in named.items()}
    labels = st.one_of(LABELS.filter(lambda label: texts is TEXTS or "\n" not in label), st.none())
    rows = draw(
        st.lists(st.fixed_dictionaries({**columns, LABEL: labels}), min_size=1, max_size=20)
    )
    return Table(named, rows)


# ---- formats


def plain_text(value: Any) -> str:
    """A value as it stands in a text file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return value if isinstance(value, str) else repr(value)


def csv_bytes(table: Table, delimiter: str = ",", line_end: str = "\n", **options: Any) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end, **options)
    writer.writerow(table.names)
    writer.writerows([plain_text(row[name]) for name in table.names] for row in table.rows)
    return out.getvalue().encode()


def jsonlines_bytes(table: Table) -> bytes:
    rows = [
        {
            name: plain_text(row[name]) if isinstance(row[name], datetime.datetime) else row[name]
            for name in table.names
        }
        for row in table.rows
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


ARROW_TYPES = {
    "number": pa.float64(),
    "flag": pa.bool_(),
    "text": pa.string(),
    "time": pa.timestamp("us"),
}


def arrow_table(table: Table) -> pa.Table:
    columns = {
        name: pa.array(
            [
                float(value) if kind == "number" and value is not None else value
                for value in table.column(name)
            ],
            ARROW_TYPES[kind],
        )
        for name, kind in table.kinds.items()
    }
    return pa.table({**columns, LABEL: pa.array(table.column(LABEL), pa.string())})


def parquet_bytes(table: Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(arrow_table(table), out, row_group_size=7)
    return out.getvalue()


def arrow_bytes(table: Table, is_file: bool = True) -> bytes:
    out = io.BytesIO()
    content = arrow_table(table)
    make = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with make(out, content.schema) as writer:
        writer.write_table(content, max_chunksize=7)
    return out.getvalue()


def arff_bytes(table: Table) -> bytes:
    types = {"number": "numeric", "text": "string", "time": 'date "yyyy-MM-dd HH:mm:ss"'}
    lines = ["@relation 'some rows'"]
    lines += [f"@attribute {name} {types[kind]}" for name, kind in table.kinds.items()]
    lines += [f"@ATTRIBUTE {LABEL} string", "", "@data"]
    for row in table.rows:
        lines.append(",".join(_arff_value(row[name]) for name in table.names))
    return ("\n".join(lines) + "\n").encode()


def _arff_value(value: Any) -> str:
    if value is None:
        return "?"
    text = plain_text(value)
    if isinstance(value, int | float):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def npz_bytes(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


# ---- reading


def whole(stream: Stream) -> Chunk:
    """All rows of a stream as one chunk."""
    return joined(list(stream))


def assert_reads(stream: Stream, table: Table) -> None:
    """The stream gives the rows of the table, each once and in order."""
    X, y = table.expected()
    rows = whole(stream)
    assert stream.feature_names == tuple(table.kinds)
    np.testing.assert_array_equal(rows.X, np.array(X, float).reshape(len(X), len(table.kinds)))
    assert rows.y.tolist() == y
    labelled = [True] * len(y) if rows.labelled is None else rows.labelled.tolist()
    assert labelled == [label is not None for label in y]


@contextlib.contextmanager
def cut_into(n_bytes: int, n_rows: int) -> Iterator[None]:
    """Files are read in pieces of so many bytes, or so many rows."""
    with (
        mock.patch.object(splitting, "PIECE_BYTES", n_bytes),
        mock.patch.object(columnar, "BATCH_ROWS", n_rows),
    ):
        yield
