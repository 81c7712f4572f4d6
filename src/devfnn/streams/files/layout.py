"""What each column of a file is for: feature, label, time, or nothing."""

import dataclasses
from collections.abc import Collection, Sequence

import pyarrow as pa

from devfnn.errors import DataError, InputError
from devfnn.streams.files.options import ColumnName, ReadOptions
from devfnn.streams.files.tables import Column, Kind

LABEL_NAMES = ("class", "label", "target", "y")
"""Names that say that a column is the label, in any case."""

AUTO = "auto"

TEXT_TYPE = pa.dictionary(pa.int32(), pa.string())

TYPES = {
    Kind.number: pa.float64(),
    Kind.boolean: pa.bool_(),
    Kind.text: TEXT_TYPE,
    Kind.time: pa.timestamp("us"),
}
"""How the columns of each kind are read."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns of a file by what they are for."""

    features: tuple[Column, ...]
    label: Column | None
    time: Column | None
    cyclic: frozenset[str]

    @classmethod
    def of(
        cls, columns: Sequence[Column], options: ReadOptions, labels: Sequence[str] = ()
    ) -> "Layout":
        """Decide by the options; raises InputError if they name what is not there.

        labels: columns that the file itself says are labels; none of them is a feature
        """
        names = [column.name for column in columns]
        time = None if options.time is None else _name(names, options.time, "time")
        ignored = {_name(names, each, "ignore") for each in options.ignore}
        usual = labels[0] if labels and options.label == AUTO else options.label
        label = _label_name(names, usual, ignored | {time})
        if label is not None and label in (time, *ignored):
            raise InputError(f"column {label!r} cannot be the label and be left out, or the time")
        ignored |= set(labels)
        kinds = _kinds(columns, options)
        declared = {
            _name(names, each, "category_values"): tuple(values)
            for each, values in options.category_values.items()
        }
        changed = {column.name: _changed(column, kinds, declared) for column in columns}
        features = [
            changed[name] for name in names if name not in ignored and name not in (label, time)
        ]
        cyclic = frozenset(_name(names, each, "cyclic") for each in options.cyclic)
        as_features = {column.name for column in features}
        features += [changed[name] for name in names if name in cyclic - as_features]
        if not features:
            raise DataError("no column is left for the features; has the file another delimiter?")
        layout = cls(
            tuple(features),
            None if label is None else changed[label],
            None if time is None else changed[time],
            cyclic,
        )
        layout._check()
        return layout

    def _check(self) -> None:
        """Refuse columns that are not what they are used for."""
        if self.label is not None and self.label.name in self.cyclic:
            raise InputError(f"the label {self.label.name!r} cannot be a feature, so not cyclic")
        for column in (*self.features, *filter(None, (self.label,))):
            if column.kind is Kind.other:
                what = column.data_type or "dates of a format that is not read here"
                raise DataError(
                    f"column {column.name!r} holds {what}, which is neither a feature nor a label; "
                    "leave it out with ignore"
                )
            if column.name in self.cyclic and column.kind is not Kind.time:
                raise InputError(
                    f"column {column.name!r} holds no timestamps, so it cannot be cyclic"
                )
        if self.time is not None and self.time.kind not in (Kind.time, Kind.number):
            raise InputError(f"column {self.time.name!r} holds neither timestamps nor numbers")

    def types(self, label_type: pa.DataType | None) -> dict[str, pa.DataType]:
        """The types in which columns are to be read."""
        wanted = {column.name: _type(column) for column in self.features}
        if self.time is not None:
            wanted[self.time.name] = _type(self.time)
        if self.label is not None and label_type is not None:
            wanted[self.label.name] = label_type
        return wanted


def _type(column: Column) -> pa.DataType:
    """How a column is read; timestamps with a zone, or finer than usual, stay so."""
    have = column.data_type
    if column.kind is Kind.time and have is not None and pa.types.is_timestamp(have):
        return pa.timestamp("ns" if have.unit == "ns" else "us", None if have.tz is None else "UTC")
    return TYPES[column.kind]


def _kinds(columns: Sequence[Column], options: ReadOptions) -> dict[str, Kind]:
    """Kinds that the options set."""
    names = [column.name for column in columns]
    texts = (*options.categorical, *options.category_values)
    kinds = {_name(names, each, "categorical"): Kind.text for each in texts}
    numbers = {_name(names, each, "numeric"): Kind.number for each in options.numeric}
    both = kinds.keys() & numbers.keys()
    if both:
        raise InputError(f"column {min(both)!r} cannot be both categorical and numeric")
    return kinds | numbers


def _changed(
    column: Column, kinds: dict[str, Kind], declared: dict[str, tuple[str, ...]]
) -> Column:
    kind = kinds.get(column.name, column.kind)
    if kind is Kind.number and column.kind is Kind.time:
        kind = Kind.time  # seconds since 1970
    values = declared.get(column.name, column.values) if kind is Kind.text else None
    return dataclasses.replace(column, kind=kind, values=values)


def _label_name(
    names: Sequence[str], label: ColumnName | None, taken: Collection[str | None]
) -> str | None:
    """The label's column; "auto" looks for a name that says so, else takes the last.

    taken: columns that "auto" does not mean
    """
    if label is None:
        return None
    if label != AUTO or AUTO in names:
        return _name(names, label, "label")
    free = [name for name in names if name not in taken]
    if not free:
        return None
    lower = {name.lower(): name for name in reversed(free)}
    return next((lower[known] for known in LABEL_NAMES if known in lower), free[-1])


def _name(names: Sequence[str], wanted: ColumnName, option: str) -> str:
    """A column by name or place."""
    if isinstance(wanted, str):
        if wanted not in names:
            raise InputError(f"{option}: there is no column {wanted!r}, only {', '.join(names)}")
        return wanted
    if not -len(names) <= wanted < len(names):
        raise InputError(f"{option}: there is no column {wanted}, only {len(names)} columns")
    return names[wanted]
