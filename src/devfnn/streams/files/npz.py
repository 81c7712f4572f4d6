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
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from devfnn.errors import DataError
from devfnn.streams.files.content import Content, reading
from devfnn.streams.files.options import ReadOptions
from devfnn.streams.files.tables import Kind, Metadata, Parsed, Types, columns_of, fitted

ROWS_AT_A_TIME = 8192
BYTES_AT_A_TIME = 1 << 23

MOST_BYTES = 1 << 32
"""Bytes that the arrays of a file may have in memory."""

LONGEST_HEADER = 1 << 16
"""Bytes of the header of an array; one of a few columns has 128."""

LONGEST_ROW = 1 << 24
"""Bytes that a row may have, and an array of names."""

MATRIX, LABELS = "X", "y"
NAMES = ("feature_names", "class_names", "categorical", "categories_json")

Block = dict[str, npt.NDArray[Any]]


class NpzReader:
    """An archive with X (n_rows, n_features), y (n_rows,) and perhaps other labels."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self._content = content
        n_rows, n_features = self._shape_of_matrix()
        self.n_rows: int | None = n_rows
        self._labels = self._label_arrays(options)
        self._names = self._feature_names(n_features)
        self._categories = self._read_categories()
        self.metadata = Metadata(tuple(self._labels), class_names=self._class_names(options))
        if not n_rows:
            raise DataError(f"{content.name} has no rows")
        self.first_piece = next(self.pieces(options.inspect_rows))
        self.first = self._table(self.first_piece, ())
        codes = {*self._read_categorical(), *self._categories}
        self.columns = [
            dataclasses.replace(each, kind=Kind.text, values=self._categories.get(each.name))
            if each.name in codes
            else each
            for each in columns_of(self.first)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Without the arrays, which another process loads by itself."""
        return {name: value for name, value in vars(self).items() if name != "_arrays"}

    @functools.cached_property
    def _arrays(self) -> Block:
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

    def pieces(self, n_rows: int = BYTES_AT_A_TIME) -> Iterator[Block]:
        """Rows of the matrix and of all labels, side by side, as views."""
        row_bytes = max(1, self._arrays[MATRIX][:1].nbytes)
        step = max(1, min(n_rows, ROWS_AT_A_TIME, BYTES_AT_A_TIME // row_bytes))
        for start in range(0, self.n_rows or 0, step):
            names = (MATRIX, *self._labels)
            yield {name: self._arrays[name][start : start + step] for name in names}

    def parse(self, piece: Block, types: Types) -> Parsed:
        as_text = {name for name in types if pa.types.is_dictionary(types[name])}
        parsed = Parsed.of(self._table(piece, as_text))
        return fitted(parsed.without(self._codes_without_value(piece, as_text)), types)

    def _shape_of_matrix(self) -> tuple[int, int]:
        matrix = self._arrays.get(MATRIX)
        if matrix is None:
            raise DataError(f"{self._content.name} has no array {MATRIX!r} with the features")
        if matrix.ndim != 2:
            raise DataError(f"{MATRIX!r} must be a matrix, not of shape {matrix.shape}")
        if matrix.dtype.kind not in "biufUM":
            raise DataError(f"{MATRIX!r} must hold numbers, not {matrix.dtype}")
        return matrix.shape[0], matrix.shape[1]

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

    def _feature_names(self, n_features: int) -> list[str]:
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

    def _table(self, block: Block, as_text: Collection[str]) -> pa.Table:
        """Rows as a table; categories are their texts where asked for, else their codes."""
        columns: dict[str, Any] = {}
        for place, name in enumerate(self._names):
            column = block[MATRIX][:, place]
            if name in self._categories and name in as_text:
                columns[name] = _coded(column, self._categories[name])
            else:
                columns[name] = pa.array(np.ascontiguousarray(column))
        return pa.table(columns | {name: pa.array(block[name]) for name in self._labels})

    def _codes_without_value(self, block: Block, as_text: Collection[str]) -> dict[int, str]:
        """Rows with a code that stands for nothing, and what to say about them."""
        found: dict[int, str] = {}
        for name in self._categories.keys() & as_text:
            column = block[MATRIX][:, self._names.index(name)]
            is_code = _are_codes(column, len(self._categories[name])) | np.isnan(column)
            for row in np.flatnonzero(~is_code).tolist():
                found[row] = f"{column[row]} in column {name!r} is no code of categories_json"
        return found


def _are_codes(column: npt.NDArray[Any], n_values: int) -> npt.NDArray[np.bool_]:
    return np.asarray((column >= 0) & (column < n_values) & (np.floor(column) == column))


def _coded(column: npt.NDArray[Any], values: tuple[str, ...]) -> Any:
    """A column of codes as texts."""
    is_known = _are_codes(column, len(values))
    codes = np.where(is_known, column, 0.0).astype(np.int32)
    indices = pa.array(codes, mask=~is_known)
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string()))


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
    if sum(n_bytes.values()) > MOST_BYTES:
        raise DataError(
            f"the arrays have {sum(n_bytes.values()):,} bytes, more than the {MOST_BYTES:,} that "
            "are loaded; write them as Parquet, which is read in pieces"
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
    row_bytes = math.prod(shape[1:]) * dtype.itemsize
    if min(shape, default=0) < 0 or row_bytes > LONGEST_ROW:
        raise DataError(f"array {name!r} has rows that are too long, or the shape {shape}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes != info.file_size - head.tell():
        raise DataError(f"array {name!r} is cut off, or not of the shape {shape}")
    return n_bytes
