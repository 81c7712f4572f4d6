"""NPZ: a matrix X and labels y, loaded as a whole after their sizes were checked.

Further arrays say more: `feature_names`, `class_names` (and `<label>_names` for other labels),
`categorical` (columns of X that are codes) and `categories_json` (their values, by name).
"""

import dataclasses
import functools
import io
import json
import math
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from devfnn.errors import DataError
from devfnn.streams.files.columnar import ColumnarReader, batch_rows
from devfnn.streams.files.content import Content, reading
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import TEXT, Metadata, Parsed, Types, fitted

MOST_BYTES = 1 << 32
"""Bytes that the arrays of a file may have in memory."""

LONGEST_HEADER = 1 << 16
"""Bytes of the header of an array; one of a few columns has 128."""

LONGEST_ROW = 1 << 24
"""Bytes that a row may have, and an array of names."""

MATRIX, LABELS = "X", "y"
NAMES = ("feature_names", "class_names", "categorical", "categories_json")


class NpzReader(ColumnarReader):
    """An archive with X (n_rows, n_features), y (n_rows,) and perhaps other labels."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        self.n_rows = self._n_rows()
        self._labels = self._label_arrays(options)
        self._names = self._feature_names()
        self._categories = self._read_categories()
        self.metadata = Metadata(tuple(self._labels), class_names=self._class_names(options))
        super().__init__(content, options)
        codes = {*self._read_categorical(), *self._categories}
        self.columns = [
            dataclasses.replace(each, data_type=TEXT, values=self._categories.get(each.name))
            if each.name in codes
            else each
            for each in self.columns
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Without the arrays, which another process loads by itself."""
        return {name: value for name, value in vars(self).items() if name != "_arrays"}

    @functools.cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays, in the byte order of the machine."""
        name, path = self._content.name, self._content.settle()
        with reading(name):
            try:
                names = _checked_names(path)
                with np.load(path, allow_pickle=False) as file:
                    arrays = {each: file[f"{each}.npy"] for each in names}
            except (RuntimeError, KeyError, struct.error, OverflowError) as error:
                raise DataError(f"{name} is an archive that cannot be read: {error}") from None
        return {
            each: array.astype(array.dtype.newbyteorder("="), copy=False)
            for each, array in arrays.items()
        }

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Rows of the matrix and of all labels, side by side."""
        step = batch_rows(len(self._names) + len(self._labels))
        for start in range(0, self.n_rows or 0, step):
            rows = slice(start, start + step)
            features = np.asfortranarray(self._arrays[MATRIX][rows]).T
            columns = [*features, *(self._arrays[name][rows] for name in self._labels)]
            yield pa.record_batch(list(map(pa.array, columns)), [*self._names, *self._labels])

    def parse(self, piece: pa.RecordBatch | pa.Table, types: Types) -> Parsed:
        """The rows of a piece; a code that stands for nothing makes a bad row."""
        texts, bad = {}, {}
        for name, values in self._categories.items():
            if name in types and types[name] == TEXT:
                column = piece.column(name).to_numpy(zero_copy_only=False)
                is_code = (column >= 0) & (column < len(values)) & (np.floor(column) == column)
                for row in np.flatnonzero(~is_code & ~np.isnan(column)).tolist():
                    bad[row] = f"{column[row]} in column {name!r} is no code of categories_json"
                codes = pa.array(np.where(is_code, column, 0.0).astype(np.int32), mask=~is_code)
                texts[name] = pa.DictionaryArray.from_arrays(codes, pa.array(values, pa.string()))
        table = piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece])
        return fitted(Parsed.of(table).with_columns(texts).without(bad), types)

    def _n_rows(self) -> int:
        matrix = self._arrays.get(MATRIX)
        if matrix is None:
            raise DataError(f"{self._content.name} has no array {MATRIX!r} with the features")
        if matrix.ndim != 2:
            raise DataError(f"{MATRIX!r} must be a matrix, not of shape {matrix.shape}")
        if matrix.dtype.kind not in "biufUM":
            raise DataError(f"{MATRIX!r} must hold numbers, not {matrix.dtype}")
        return len(matrix)

    def _label_arrays(self, options: ReadOptions) -> list[str]:
        """Arrays with a label for each row, the usual one first."""
        found = [
            name
            for name, array in self._arrays.items()
            if array.shape == (self.n_rows,)
            and name not in NAMES
            and not (name.endswith("_names") and name.removesuffix("_names") in self._arrays)
        ]
        is_wanted = options.label == "auto" or (options.label == LABELS and LABELS in self._arrays)
        if is_wanted and LABELS not in found:
            raise DataError(
                f"{self._content.name} has no array {LABELS!r} with a label for each row of "
                f"{MATRIX!r}; label=None if there are no labels"
            )
        return sorted(found, key=lambda name: name != LABELS)

    def _feature_names(self) -> list[str]:
        n_features = self._arrays[MATRIX].shape[1]
        names = [f"x{place}" for place in range(1, n_features + 1)]
        if "feature_names" in self._arrays:
            names = [str(name) for name in self._arrays["feature_names"].ravel()]
        is_unique = len({*names, *self._labels}) == n_features + len(self._labels)
        if len(names) != n_features or not is_unique:
            raise DataError(
                f"{self._content.name}: feature_names must be {n_features} different names, and "
                "not those of labels"
            )
        return names

    def _read_categories(self) -> dict[str, tuple[str, ...]]:
        """Values of categories, by the names of their columns."""
        if "categories_json" not in self._arrays:
            return {}
        if self._arrays[MATRIX].dtype.kind not in "biuf":
            raise DataError(f"{self._content.name}: categories_json needs a matrix of numbers")
        try:
            declared = json.loads(str(self._arrays["categories_json"]))
            values = {str(name): tuple(map(str, each)) for name, each in declared.items()}
        except (ValueError, AttributeError, TypeError, RecursionError):
            raise DataError(f"{self._content.name}: categories_json is not understood") from None
        return {name: values[name] for name in self._names if name in values}

    def _read_categorical(self) -> set[str]:
        """Columns that are codes, though nobody may know for what."""
        try:
            places = self._arrays.get("categorical", np.array([])).ravel()
            return {self._names[int(place)] for place in places}
        except (ValueError, IndexError, OverflowError):
            message = f"{self._content.name}: categorical must be places of columns"
            raise DataError(message) from None

    def _class_names(self, options: ReadOptions) -> tuple[str, ...]:
        """Names of the classes of the label that is wanted, if they are numbers."""
        label = LABELS if options.label == "auto" else options.label
        names = self._arrays.get("class_names" if label == LABELS else f"{label}_names")
        if label not in self._labels or names is None:
            return ()
        is_number = self._arrays[str(label)].dtype.kind in "iuf"
        return tuple(str(name) for name in names.ravel()) if is_number else ()


def _checked_names(path: Any) -> list[str]:
    """The arrays of an archive, if they are what they say; nothing is allocated for them."""
    n_bytes: dict[str, int] = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                name = info.filename.removesuffix(".npy")
                with archive.open(info) as member:
                    n_bytes[name] = _checked_size(member.read(LONGEST_HEADER), info, name)
    if not n_bytes:
        raise DataError("a zip archive without .npy arrays is no NPZ; unpack it first")
    for name in NAMES:
        if n_bytes.get(name, 0) > LONGEST_ROW:
            raise DataError(f"{name} is too large")
    n_all = sum(n_bytes.values())
    if n_all > MOST_BYTES:
        raise DataError(
            f"the arrays have {n_all:,} bytes, more than the {MOST_BYTES:,} that are loaded; "
            "write them as Parquet, which is read in pieces"
        )
    return list(n_bytes)


def _checked_size(start: bytes, info: zipfile.ZipInfo, name: str) -> int:
    """Bytes of the values of an array, if its header, among the first bytes, is sound."""
    head, formats = io.BytesIO(start), np.lib.format
    try:
        is_first = formats.read_magic(head) == (1, 0)
        parse = formats.read_array_header_1_0 if is_first else formats.read_array_header_2_0
        shape, _, dtype = parse(head)
    except Exception as error:  # NumPy reads it as Python, so anything may be wrong with it
        raise DataError(f"array {name!r} is damaged: {error}") from None
    if dtype.hasobject:
        raise DataError(f"array {name!r} holds Python objects, which are not read from files")
    if min(shape, default=0) < 0 or math.prod(shape[1:]) * dtype.itemsize > LONGEST_ROW:
        raise DataError(f"array {name!r} has rows that are too long, or the shape {shape}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes != info.file_size - head.tell():
        raise DataError(f"array {name!r} is cut off, or not of the shape {shape}")
    return n_bytes
