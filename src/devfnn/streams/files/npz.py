"""NPZ: a matrix X and labels y, read row by row from the archive, never as a whole.

Further arrays say more: `feature_names`, `class_names` (and `<label>_names` for other labels),
`categorical` (columns of X that are codes) and `categories_json` (their values, by name).
"""

import contextlib
import json
import zipfile
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from devfnn.errors import DataError
from devfnn.streams.bad_rows import BadRow
from devfnn.streams.files.casting import fitted
from devfnn.streams.files.content import Content, reading
from devfnn.streams.files.notes import Note
from devfnn.streams.files.npy import Rows, archive_errors, headers, open_array
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import Column, Kind, Parsed, columns_of

ROWS_AT_A_TIME = 8192
BYTES_AT_A_TIME = 1 << 23

LONGEST_NOTE = 1 << 24
"""Bytes that an array of names may have."""

MATRIX, LABELS = "X", "y"
NOTES = ("feature_names", "class_names", "categorical", "categories_json")

Block = dict[str, npt.NDArray[Any]]


class NpzReader:
    """An archive with X (n_rows, n_features), y (n_rows,) and perhaps other labels."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        with self._archive() as archive:
            self._headers = headers(archive)
            shape = self._shape_of_matrix()
            self.n_rows: int | None = shape[0]
            self._labels = self._label_arrays(shape[0], options)
            self._names = self._feature_names(archive, shape[1])
            self._categories = self._read_categories(archive)
            codes = self._read_categorical(archive)
            class_names = self._read_class_names(archive, options)
        self.note = Note(tuple(self._labels), class_names=class_names)
        row_bytes = max(1, self._headers[MATRIX].row_bytes)
        self._block_rows = max(1, min(ROWS_AT_A_TIME, BYTES_AT_A_TIME // row_bytes))
        first = next(self._blocks(min(options.inspect_rows, self._block_rows)), None)
        if first is None:
            raise DataError(f"{content.name} has no rows")
        self.first_piece = first
        self.first = self._table(first, ())
        self.columns = [
            Column(each.name, Kind.text, self._categories.get(each.name), each.data_type)
            if each.name in codes or each.name in self._categories
            else each
            for each in columns_of(self.first)
        ]

    def pieces(self) -> Iterator[Block]:
        return self._blocks(self._block_rows)

    def parse(self, piece: Block, types: dict[str, pa.DataType]) -> Parsed:
        as_text = {name for name in types if pa.types.is_dictionary(types[name])}
        reasons = self._codes_without_value(piece, as_text)
        if not reasons:
            return fitted(self._table(piece, as_text), types)
        keep = np.ones(len(piece[MATRIX]), bool)
        keep[list(reasons)] = False
        parsed = fitted(self._table({name: piece[name][keep] for name in piece}, as_text), types)
        bad = [BadRow(row + 1, reason) for row, reason in reasons.items()]
        return parsed.among(np.flatnonzero(keep).tolist(), bad)

    @contextlib.contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        path = self._content.settle()
        with (
            reading(self._content.name),
            archive_errors(self._content.name),
            zipfile.ZipFile(path) as archive,
        ):
            yield archive

    def _shape_of_matrix(self) -> tuple[int, int]:
        header = self._headers.get(MATRIX)
        if header is None:
            raise DataError(f"{self._content.name} has no array {MATRIX!r} with the features")
        if len(header.shape) != 2:
            raise DataError(f"{MATRIX!r} must be a matrix, not of shape {header.shape}")
        if header.dtype.kind not in "biufUM":
            raise DataError(f"{MATRIX!r} must hold numbers, not {header.dtype}")
        return header.shape[0], header.shape[1]

    def _label_arrays(self, n_rows: int, options: ReadOptions) -> list[str]:
        """Arrays with a label for each row, the usual one first."""
        found = [
            name
            for name, header in self._headers.items()
            if header.shape == (n_rows,)
            and name not in (MATRIX, *NOTES)
            and not (name.endswith("_names") and name.removesuffix("_names") in self._headers)
        ]
        is_wanted = options.label == "auto" or (options.label == LABELS and LABELS in self._headers)
        if is_wanted and LABELS not in found:
            raise DataError(
                f"{self._content.name} has no array {LABELS!r} with a label for each row of "
                f"{MATRIX!r}; label=None if there are no labels"
            )
        return sorted(found, key=lambda name: name != LABELS)

    def _feature_names(self, archive: zipfile.ZipFile, n_features: int) -> list[str]:
        names = [f"x{place}" for place in range(1, n_features + 1)]
        if "feature_names" in self._headers:
            names = [str(name) for name in self._note(archive, "feature_names").ravel()]
        if len(names) != n_features or len({*names, *self._labels}) < n_features + len(
            self._labels
        ):
            raise DataError(
                f"{self._content.name}: feature_names must be {n_features} different names, and "
                "not those of labels"
            )
        return names

    def _read_categories(self, archive: zipfile.ZipFile) -> dict[str, tuple[str, ...]]:
        if "categories_json" not in self._headers:
            return {}
        if self._headers[MATRIX].dtype.kind not in "biuf":
            raise DataError(f"{self._content.name}: categories_json needs a matrix of numbers")
        text = str(self._note(archive, "categories_json"))
        try:
            values = {str(name): tuple(map(str, each)) for name, each in json.loads(text).items()}
        except (ValueError, AttributeError, TypeError, RecursionError):
            raise DataError(f"{self._content.name}: categories_json is not understood") from None
        return {name: values[name] for name in self._names if name in values}

    def _read_categorical(self, archive: zipfile.ZipFile) -> set[str]:
        """Columns that are codes, though nobody may know for what."""
        if "categorical" not in self._headers:
            return set()
        try:
            places = self._note(archive, "categorical").ravel()
            return {self._names[int(place)] for place in places}
        except (ValueError, IndexError, OverflowError):
            raise DataError(
                f"{self._content.name}: categorical must be places of columns"
            ) from None

    def _read_class_names(self, archive: zipfile.ZipFile, options: ReadOptions) -> tuple[str, ...]:
        """Names of the classes of the label that is wanted, if they are numbers."""
        label = LABELS if options.label == "auto" else options.label
        note = "class_names" if label == LABELS else f"{label}_names"
        if label not in self._labels or note not in self._headers:
            return ()
        if self._headers[str(label)].dtype.kind not in "iuf":
            return ()
        return tuple(str(name) for name in self._note(archive, note).ravel())

    def _note(self, archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
        """A small array, as a whole."""
        if self._headers[name].n_bytes > LONGEST_NOTE:
            raise DataError(f"{self._content.name}: {name} is too large")
        with open_array(archive, name) as member:
            return np.lib.format.read_array(member, allow_pickle=False)

    def _blocks(self, n_rows: int) -> Iterator[Block]:
        """Rows of the matrix and of all labels, side by side."""
        with self._archive() as archive, contextlib.ExitStack() as members:
            arrays = {
                name: Rows(members.enter_context(open_array(archive, name)), name)
                for name in (MATRIX, *self._labels)
            }
            assert self.n_rows is not None
            for start in range(0, self.n_rows, n_rows):
                n_wanted = min(n_rows, self.n_rows - start)
                yield {name: array.read(n_wanted) for name, array in arrays.items()}

    def _table(self, block: Block, as_text: Collection[str]) -> pa.Table:
        """Rows as a table; categories are their texts where asked for, else their codes."""
        columns: dict[str, Any] = {}
        for place, name in enumerate(self._names):
            column = block[MATRIX][:, place]
            if name in self._categories and name in as_text:
                columns[name] = _coded(column, self._categories[name])
            else:
                columns[name] = pa.array(np.ascontiguousarray(column))
        for name in self._labels:
            columns[name] = pa.array(block[name])
        return pa.table(columns)

    def _codes_without_value(self, block: Block, as_text: Collection[str]) -> dict[int, str]:
        """Rows with a code that stands for nothing, and what to say about them."""
        found: dict[int, str] = {}
        for place, name in enumerate(self._names):
            if name not in self._categories or name not in as_text:
                continue
            column = block[MATRIX][:, place]
            is_code = _are_codes(column, len(self._categories[name])) | np.isnan(column)
            for row in np.flatnonzero(~is_code).tolist():
                reason = f"{column[row]} in column {name!r} is no code of categories_json"
                found.setdefault(row, reason)
        return found


def _are_codes(column: npt.NDArray[Any], n_values: int) -> npt.NDArray[np.bool_]:
    return np.asarray((column >= 0) & (column < n_values) & (np.floor(column) == column))


def _coded(column: npt.NDArray[Any], values: tuple[str, ...]) -> Any:
    """A column of codes as texts."""
    is_known = _are_codes(column, len(values))
    codes = np.where(is_known, column, 0.0).astype(np.int32)
    indices = pa.array(codes, mask=~is_known)
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string()))
