r"""Option values: `--set NAME=VALUE`, `--with NAME=VALUE`, and names between commas.

Parameters of `--set` have the plainest type that fits, and the model checks them: drift.every=20,
clouds=none. Options of `--with` have the types of the stream's own signature: a text is a text, and
`\t` a tab; `none` is None. Lists are written a,b and mappings a:1,b:2. Inside of them other signs
are used: pairs in a list 2.2:0,2.5:-4, a range in a mapping 1:0.05..0.25, a list in a mapping
colour:red|green. Quotes keep a comma: ignore='"a,b",c'.
"""

import contextlib
import csv
import math
import types
import typing
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from devfnn.baselines.registry import MODELS
from devfnn.errors import InputError
from devfnn.model.config import SECTIONS

UNIONS = (types.UnionType, typing.Union)
"""Origins of both ways to write a union."""

FORMS = {
    int: "INTEGER",
    float: "NUMBER",
    bool: "true or false",
    str: "TEXT",
    Hashable: "LABEL",
    types.NoneType: "none",
}
"""How simple values are named in messages."""


# ---- names and pairs


def parse_names(text: str) -> list[str]:
    """Names between commas.

    >>> parse_names("sea, led,")
    ['sea', 'led']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("at least one model and one stream are needed")
    return names


def parse_pair(text: str) -> tuple[str, str]:
    """The texts before and after =, without blanks around them, unless there is nothing else.

    >>> parse_pair("noise = 0.1"), parse_pair("delimiter= ")
    (('noise', '0.1'), ('delimiter', ' '))
    """
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value):
        raise InputError(f"NAME=VALUE is needed, not {text!r}")
    return name.strip(), value.strip() or value


def pairs_by_name(texts: Iterable[str], names: Sequence[str], what: str) -> dict[str, list[str]]:
    """NAME=VALUE pairs by the model or stream before them, whose name may contain colons.

    >>> pairs_by_name(["rls:memory=1", "a:b:x=2"], ["rls", "a:b"], "MODEL")
    {'rls': ['memory=1'], 'a:b': ['x=2']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name = next((name for name in names if text.startswith(f"{name}:")), None)
        if name is None:
            known = ", ".join(names)
            raise InputError(f"{what}:NAME=VALUE is needed, with one of {known}, not {text!r}")
        found.setdefault(name, []).append(text.removeprefix(f"{name}:"))
    return found


# ---- parameters of models: --set


def parse_parameters(texts: Iterable[str] | None, model: str = "devfnn") -> dict[str, Any]:
    """NAME=VALUE pairs with values of the plainest type that fits, for a model of this name.

    For DEVFNN and its parts they are as `Config.replace` takes them: a parameter of a section is
    SECTION.PARAMETER or SECTION__PARAMETER, and a whole section may be none, or the name of one of
    its forms; true is the first of them.

    >>> parse_parameters(["boxes.max_rules=1e2", "training=all", "scaling=none"])
    {'boxes__max_rules': 100, 'training': 'all', 'scaling': 'none'}
    >>> parse_parameters(["drift.warning=none", "clouds=none", "voting=equal", "feature_mask=true"])
    {'drift__warning': None, 'clouds': None, 'voting': {'form': 'equal'}, 'feature_mask': {}}
    """
    pairs = [parse_pair(text) for text in texts or ()]
    entry = MODELS.get(model.partition("@")[0])
    if entry is not None and not entry.takes_config:
        return {name: parse_plain(value) for name, value in pairs}
    pairs = [(name.replace(".", "__"), value) for name, value in pairs]
    return {name: _parse_parameter(name, value) for name, value in pairs}


def _parse_parameter(name: str, text: str) -> Any:
    is_none = text.lower() == "none"
    if name == "class_weights":
        return parse_class_weights(text)
    if name not in SECTIONS:
        return None if is_none and "__" in name else parse_plain(text)
    value = parse_plain(text)
    if is_none or value is False:
        return None
    if value is True:
        return {}
    return {"form": value} if isinstance(value, str) and len(SECTIONS[name]) > 1 else value


def parse_class_weights(text: str) -> str | list[tuple[Hashable, float]] | None:
    """Class weights: balanced, none, or LABEL=WEIGHT pairs; a whole number is a label as such.

    >>> parse_class_weights("fraud=10,3=0.5")
    [('fraud', 10.0), (3, 0.5)]
    """
    if "=" not in text:
        return None if text.lower() == "none" else text
    try:
        pairs = [pair.rsplit("=", 1) for pair in _split(text, ",")]
        found = [(_parse_simple(label.strip(), Hashable), float(own)) for label, own in pairs]
    except ValueError:
        raise InputError(
            f"class weights are balanced, or LABEL=WEIGHT between commas, not {text!r}"
        ) from None
    return found


def parse_plain(text: str) -> bool | int | float | str:
    """A text as a truth value, a number, or itself.

    >>> [parse_plain(text) for text in ("1e2", "false", "soft", "nan")]
    [100, False, 'soft', 'nan']
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        number = float(text)
        if math.isfinite(number):  # no parameter may be infinite: the text is refused later
            return int(number) if number.is_integer() else number
    return text


# ---- options of streams: --with


def parse_options(texts: Iterable[str], hints: Mapping[str, Any]) -> dict[str, Any]:
    """NAME=VALUE pairs by the type hints of their names; a list may be given in several pairs.

    Names without a hint keep their text, and are checked elsewhere.

    >>> hints = {"names": Sequence[str], "shares": Mapping[Hashable, float | tuple[float, float]]}
    >>> parse_options(["names=a", "names=b,1", "shares=1:0.05..0.25,x:0.5"], hints)
    {'names': ['a', 'b', '1'], 'shares': {1: (0.05, 0.25), 'x': 0.5}}
    """
    options: dict[str, Any] = {}
    for name, text in map(parse_pair, texts):
        hint = hints.get(name, str)
        try:
            value = _parse(text, hint)
        except ValueError:
            raise InputError(f"{name} takes {form(hint)}, not {text!r}") from None
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
    return " or ".join(_forms(hint))


def _forms(hint: Any, is_in_mapping: bool = False) -> list[str]:
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind in UNIONS:
        if str in parts:  # a column's name or position
            parts = tuple(part for part in parts if part is not int)
        return [form for part in parts for form in _forms(part, is_in_mapping)]
    if kind is Mapping:
        key, values = form(parts[0]), _forms(parts[1], is_in_mapping=True)
        return [f"{key}:{value},..." for value in values]
    if kind is Sequence:
        return [f"{form(parts[0])}{'|' if is_in_mapping else ','}..."]
    if kind is tuple:
        return [(".." if is_in_mapping else ":").join(map(form, parts))]
    return [FORMS[hint]]


def _parse(text: str, hint: Any, is_in_mapping: bool = False) -> Any:
    """The text as the hint says; ValueError if it does not fit."""
    kind, parts = typing.get_origin(hint), typing.get_args(hint)
    if kind in UNIONS:
        return _parse_union(text, parts, is_in_mapping)
    if kind is Mapping:
        pairs = (pair.split(":", 1) for pair in _split(text, ","))
        return {_parse(key, parts[0]): _parse(value, parts[1], True) for key, value in pairs}
    if kind is Sequence:
        return [_parse(each, parts[0]) for each in _split(text, "|" if is_in_mapping else ",")]
    if kind is tuple:
        split = text.split(".." if is_in_mapping else ":")
        return tuple(_parse(each, part) for each, part in zip(split, parts, strict=True))
    return _parse_simple(text, hint)


def _parse_union(text: str, hints: Sequence[Any], is_in_mapping: bool) -> Any:
    """The text as the first of several types that it fits; any text is a text, so that is last."""
    lists = [hint for hint in hints if typing.get_origin(hint) in (Sequence, Mapping)]
    if str in hints and "," not in text:
        hints = [hint for hint in hints if hint not in lists]
    for hint in sorted(hints, key=lambda hint: (hint is str, hint in lists)):
        with contextlib.suppress(ValueError):
            return _parse(text, hint, is_in_mapping)
    raise ValueError


def _split(text: str, separator: str) -> list[str]:
    """Parts of a text; one in quotes may contain the separator."""
    parts = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    return [part.strip() for part in parts]


def _parse_simple(text: str, kind: Any) -> Any:
    value = parse_plain(text)
    if kind is Hashable:  # a class
        return value if type(value) is int else text
    if kind is str:
        return "\t" if text == r"\t" else text
    if kind is types.NoneType and text.lower() == "none":
        return None
    accepted = (int, float) if kind is float else (kind,)
    if type(value) not in accepted or (kind is int and abs(int(value)) >= 2**63):
        raise ValueError
    return value
