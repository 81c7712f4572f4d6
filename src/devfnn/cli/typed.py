"""`--with NAME=VALUE`: texts as what the type hints of a stream's options say.

A text is a text, and `\\t` a tab; `none` is None. Lists are written a,b and mappings a:1,b:2. What
stands in them is written with other signs: pairs in a list 2.2:0,2.5:-4, a range in a mapping
1:0.05..0.25, a list in a mapping colour:red|green. Quotes keep a comma: ignore='"a,b",c'.
"""

import csv
import types
import typing
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from devfnn.cli.values import name_and_text, plainest
from devfnn.errors import InputError

SEPARATORS = {
    (Sequence, None): ",",
    (Sequence, Mapping): "|",
    (tuple, None): ":",
    (tuple, Sequence): ":",
    (tuple, Mapping): "..",
}
"""What stands between the values of a list or a tuple, by what it is itself in."""

FORMS = {
    int: "INTEGER",
    float: "NUMBER",
    bool: "true or false",
    str: "TEXT",
    Hashable: "LABEL",
    types.NoneType: "none",
}
"""How simple values are named in messages."""

LARGEST_INTEGER = 2**63 - 1
"""Rows are counted in 64 bits."""

ORDER = (types.NoneType, int, float, bool, Mapping, tuple, Sequence, str)
"""In which order the types of a union are tried; a text is always a text."""


class _MisfitError(ValueError):
    """A text does not fit a type."""


def parsed_options(changes: Iterable[str], hints: Mapping[str, Any]) -> dict[str, Any]:
    """NAME=VALUE pairs by the hints of their names; a list may be given in several pairs.

    Names without a hint are left to those who know what they may be.

    >>> hints = {"names": Sequence[str], "shares": Mapping[Hashable, float | tuple[float, float]]}
    >>> parsed_options(["names=a", "names=b,1", "shares=1:0.05..0.25,x:0.5"], hints)
    {'names': ['a', 'b', '1'], 'shares': {1: (0.05, 0.25), 'x': 0.5}}
    """
    options: dict[str, Any] = {}
    for name, text in map(name_and_text, changes):
        value = _typed(name, text, hints[name]) if name in hints else text
        if name not in options:
            options[name] = value
        elif isinstance(value, list) and isinstance(options[name], list):
            options[name] += value
        else:
            raise InputError(f"{name} is given twice")
    return options


def form(hint: Any) -> str:
    """How a value of a type is written.

    >>> form(int | Sequence[int] | None)
    'INTEGER or INTEGER,... or none'
    >>> form(Mapping[Hashable, float | tuple[float, float]])
    'LABEL:NUMBER,... or LABEL:NUMBER..NUMBER,...'
    """
    return " or ".join(_forms(hint, None))


def _forms(hint: Any, inside: Any) -> list[str]:
    kind, parts = _parts(hint)
    if kind is types.UnionType:
        found = [form for part in parts for form in _forms(part, inside)]
        if "TEXT" in found and "INTEGER" in found:  # a column's name or place
            found.remove("INTEGER")
        return found
    if kind is Mapping:
        (key,), values = _forms(parts[0], Mapping), _forms(parts[1], Mapping)
        return [f"{key}:{value},..." for value in values]
    if kind is Sequence:
        return [f"{each}{SEPARATORS[kind, inside]}..." for each in _forms(parts[0], Sequence)]
    if kind is tuple:
        return [SEPARATORS[kind, inside].join(_forms(part, tuple)[0] for part in parts)]
    return [FORMS.get(kind, "TEXT")]


def _typed(name: str, text: str, hint: Any) -> Any:
    try:
        return _value(text, hint, None)
    except _MisfitError:
        raise InputError(f"{name} takes {form(hint)}, not {text!r}") from None


def _value(text: str, hint: Any, inside: Any) -> Any:
    """The text as the hint says.

    inside: Sequence or Mapping if the text stands in one
    """
    kind, parts = _parts(hint)
    if kind is types.UnionType:
        return _first_fit(text, parts, inside)
    if kind is Mapping:
        return _mapping(text, *parts)
    if kind is Sequence:
        split = _split(text, SEPARATORS[kind, inside])
        return [_value(part, parts[0], Sequence) for part in split]
    if kind is tuple:
        split = text.split(SEPARATORS[kind, inside])
        _require(len(split) == len(parts))
        return tuple(_value(one, part, tuple) for one, part in zip(split, parts, strict=True))
    return _simple(text, kind)


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a hint is, and of what; both ways to write a union are one."""
    kind = typing.get_origin(hint) or hint
    return types.UnionType if kind is typing.Union else kind, typing.get_args(hint)


def _first_fit(text: str, hints: Sequence[Any], inside: Any) -> Any:
    """The text as the first of several types that it fits."""
    by_kind = {_parts(hint)[0]: hint for hint in hints}
    if str in by_kind and "," not in text:
        by_kind.pop(Sequence, None)
    for kind in ORDER:
        if kind in by_kind:
            try:
                return _value(text, by_kind[kind], inside)
            except _MisfitError:
                pass
    raise _MisfitError


def _mapping(text: str, key_hint: Any, value_hint: Any) -> dict[Any, Any]:
    found = {}
    for pair in _split(text, ","):
        key, colon, value = pair.partition(":")
        _require(bool(colon))
        found[_value(key, key_hint, Mapping)] = _value(value, value_hint, Mapping)
    return found


def _split(text: str, separator: str) -> list[str]:
    """Parts of a text; one in quotes may have the separator in it."""
    parts = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    return [part.strip() for part in parts]


def _simple(text: str, kind: Any) -> Any:
    if kind is types.NoneType:
        _require(text.lower() == "none")
        return None
    value = plainest(text)
    if kind is bool:
        _require(type(value) is bool)
        return value
    if kind is float:
        _require(type(value) in (int, float))
        return value
    if kind is int:
        _require(type(value) is int and abs(value) <= LARGEST_INTEGER)
        return value
    if kind is Hashable:  # a class
        return value if type(value) is int else text
    return "\t" if text == r"\t" else text


def _require(is_so: bool) -> None:
    if not is_so:
        raise _MisfitError
