"""How a file is read: every option once, checked."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from devfnn.errors import InputError
from devfnn.streams.arguments import whole_number

DELIMITERS = [chr(code) for code in range(1, 128) if chr(code) not in '"\r\n']
MISSING_VALUES = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")

CHOICES = {
    "format": ("csv", "arff", "jsonlines", "parquet", "arrow", "npz"),
    "categories": ("auto", "onehot", "hash", "frequency", "codes"),
    "missing": ("keep", "bad", "mean"),
    "on_bad_row": ("error", "skip", "count"),
}
"""Options that take one of a few texts."""

ColumnName = str | int
"""A column by its name, or by its place: from 0, or from the end with -1."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading a file. By default they are inferred from its content."""

    format: str | None = None
    """csv, arff, jsonlines, parquet, arrow or npz; None looks at the content, then the name."""
    label: ColumnName | None = "auto"
    """Column with the label. "auto": one called class, label, target or y, else the last one. None:
    the file has no labels."""
    time: ColumnName | None = None
    """Column that says when a row came, for chunks and delays by time. It is no feature."""
    ignore: Sequence[ColumnName] = ()
    """Columns that are left out."""
    categorical: Sequence[ColumnName] = ()
    """Columns that are categories though they look like numbers."""
    numeric: Sequence[ColumnName] = ()
    """Columns that are numbers though they look like categories."""
    cyclic: Sequence[ColumnName] = ()
    """Timestamps to be turned into sine and cosine of the time of day, week and year. Other
    timestamps become seconds since 1970."""
    category_values: Mapping[ColumnName, Sequence[str]] = dataclasses.field(default_factory=dict)
    """Columns that are categories, each with all its values, in the order of their one-hot columns
    or codes; as ARFF declares them."""
    categories: str = "auto"
    """How a category becomes numbers. `onehot`: a column for each value, as they appear; when
    `onehot_slots` are taken, later values share the column "other". `hash`: one of `hash_buckets`
    columns. `frequency`: the share of rows so far that had this value. `codes`: a number for each
    value. `auto`: one-hot if the first rows have few values, else frequency."""
    onehot_slots: int = 12
    hash_buckets: int = 16
    missing: str = "keep"
    """What to do with missing features. `keep`: NaN. `bad`: the row is bad. `mean`: the mean of the
    feature so far. A missing category has zeros in all its one-hot columns. A missing label is
    None, and not to be learned."""
    missing_values: Sequence[str] = MISSING_VALUES
    """Texts that stand for a missing value, instead of the usual ones. Nothing at all is always
    missing."""
    on_bad_row: str = "error"
    """`error`, `skip` or `count`: a row with too many or too few values, text in a column of
    numbers, an infinite value."""
    delimiter: str | None = None
    """What separates the values of a CSV file; None finds out. Spaces around values mean nothing; a
    decimal comma is recognised."""
    header: bool | None = None
    """Whether the first row of a CSV file holds names; None finds out."""
    names: Sequence[str] | None = None
    """Names of all columns, for a CSV file without a header or in place of it."""
    encoding: str = "utf8"
    """Of a CSV, ARFF or JSON file. Bytes that do not fit are an error, whatever on_bad_row says."""
    inspect_rows: int = 1000
    """Rows from which types, label values and categories are inferred."""
    chunk_rows: int = 500

    def __post_init__(self) -> None:
        for name in ("onehot_slots", "hash_buckets", "inspect_rows", "chunk_rows"):
            whole_number(name, getattr(self, name), low=1)
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices and (name != "format" or value is not None):
                raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if self.header not in (None, True, False):
            raise InputError(f"header must be True, False or None, not {self.header!r}")
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise InputError(f"delimiter must be one character, not {self.delimiter!r}")
        try:
            "".encode(self.encoding)
        except (LookupError, TypeError):
            raise InputError(f"encoding {self.encoding!r} is not known") from None
        self._check_columns()
        marks = tuple(dict.fromkeys(("", *self.missing_values)))
        object.__setattr__(self, "missing_values", marks)

    def _check_columns(self) -> None:
        for name in ("ignore", "categorical", "numeric", "cyclic"):
            _check_list(name, getattr(self, name), (str, int))
        for name in ("label", "time"):
            if type(getattr(self, name)) not in (str, int, type(None)):
                raise InputError(f"{name} takes a name or a place, not {getattr(self, name)!r}")
        if not isinstance(self.category_values, Mapping):
            raise InputError(f"category_values takes a mapping, not {self.category_values!r}")
        known = {f"category_values of {key!r}": each for key, each in self.category_values.items()}
        for name, values in {**known, "names": self.names or ()}.items():
            _check_list(name, values, (str,))
            if len(set(values)) < len(values):
                raise InputError(f"{name} must be different texts, not {values!r}")
        _check_list("missing_values", self.missing_values, (str,))


def _check_list(name: str, values: Any, kinds: tuple[type, ...]) -> None:
    is_list = isinstance(values, Sequence) and not isinstance(values, str)
    if not is_list or not all(type(value) in kinds for value in values):
        kinds_of = "texts" if kinds == (str,) else "names or places of columns"
        raise InputError(f"{name} must be a list of {kinds_of}, not {values!r}")
