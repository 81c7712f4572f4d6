"""What a label, and the name of a feature, may be: what a file can hold, checked before anything
changes.

A label is a number, text, bytes, or a tuple of these; of a subclass (`enum.IntEnum`, `np.str_`,
named tuples) the plain value is kept, which is equal to it. Sizes are bounded such that no model
can become too large for the header of a file.
"""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from devfnn.errors import InputError, shown
from devfnn.types import Position

MAX_LENGTH = 1000
"""Longest name, and largest label: characters of text, bytes, 8 for a number, 1 for each part."""

MAX_LABEL_BITS = 4096
"""Largest whole number as a label."""

MAX_LABEL_DEPTH = 8
"""How deep tuples in labels may be nested."""

MOST_STORED = 2 * 2**20
"""Bytes that all labels together, or all names, may take in a file: some 200 000 short ones."""

MAX_POSITIONS, MAX_SOURCE_NAME = 1000, 4096
"""Most sources that a model knows its position in, and characters of their names; a path has
fewer."""

_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (bool, bool),
    (int, int.__int__),
    (float, float.__float__),
    (str, str.__str__),
    (bytes, bytes.__bytes__),
)
"""Types of labels, and what makes a plain value of a subclass, whatever that overrides."""


# ---- text


def is_storable(text: str, most: float = MAX_LENGTH) -> bool:
    """Whether a text is valid Unicode and not too long.

    >>> is_storable("heat"), is_storable(1001 * "x"), is_storable(chr(0xD800))
    (True, False, False)
    """
    if len(text) > most:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a character
        return False
    return True


def check_text(text: str, what: str) -> None:
    """Refuse text that no file can hold."""
    if not is_storable(text):
        problem = f"{what} must be valid text of at most {MAX_LENGTH:,} characters"
        raise InputError(f"{problem}, not {shown(text)}")


def checked_names(names: Any, known: Iterable[str] = ()) -> list[str]:
    """Names of features as text; `known` are names that there are already. Raises InputError."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"names of features must be a sequence of texts, not {shown(names)}")
    try:
        found = [str(name) for name in names]
    except (TypeError, ValueError) as error:  # a number without end, an array of no dimension
        raise InputError(f"names of features must be texts: {error}") from None
    if max(map(len, found), default=0) > MAX_LENGTH or not is_storable("".join(found), math.inf):
        for name in found:
            check_text(name, "the name of a feature")
    check_room(stored_size([*known, *found]), "names of features")
    return found


def check_room(n_bytes: int, what: str) -> None:
    """Refuse more names than a file can hold."""
    if n_bytes > MOST_STORED:
        raise InputError(
            f"the {what} take {n_bytes:,} bytes together; a model has room for {MOST_STORED:,}"
        )


def stored_size(data: Any) -> int:
    """Bytes of JSON data in a file."""
    return len(json.dumps(data, separators=(",", ":"))) + 1


# ---- labels


def plain_label(label: Any, row: int) -> Hashable:
    """A label as a plain Python value; missing ones and what cannot be stored are refused."""
    if label is None or _is_missing(label):
        raise InputError(f"the label of row {row} is missing; leave such rows out")
    plain = _plain(label, row, 0)
    if _size(plain) > MAX_LENGTH:
        raise InputError(f"the label of row {row} is too long: {shown(plain)}")
    return plain


def _is_missing(value: Any) -> bool:
    """Whether a value of another library stands for a missing one: it is not itself."""
    if type(value).__hash__ is None or isinstance(value, np.ndarray | tuple):
        return False
    try:
        return bool(value != value)
    except Exception:  # pandas' NA is neither
        return type(value).__name__ == "NAType"


def _plain(label: Any, row: int, depth: int) -> Hashable:
    """A label of the types that can be stored."""
    if isinstance(label, np.generic) and label.dtype.kind not in "mM":  # else a date as a number
        label = label.item()
    for kind, make in _PLAIN:
        if isinstance(label, kind):
            plain = label if type(label) is kind else make(label)
            if problem := _problem(plain):
                raise InputError(f"the label of row {row} is {problem}")
            return plain
    if not isinstance(label, tuple):
        raise InputError(
            f"the label of row {row} is a {type(label).__name__}, which cannot name a class; "
            "labels are int, float, bool, str, bytes and tuples of these"
        )
    if depth == MAX_LABEL_DEPTH or tuple.__len__(label) > MAX_LENGTH:
        raise InputError(f"the label of row {row} is nested too deeply, or too long")
    parts = tuple.__getitem__(label, slice(None))
    return tuple(_plain(part, row, depth + 1) for part in parts)


def _problem(plain: Any) -> str:
    """Why a plain value cannot be a label, or part of one; nothing if it can."""
    if isinstance(plain, float) and plain != plain:
        return "a tuple with NaN, which is not equal to itself"
    if isinstance(plain, int) and plain.bit_length() > MAX_LABEL_BITS:
        return f"a number of more than {MAX_LABEL_BITS:,} bits"
    if isinstance(plain, bytes) and len(plain) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH:,} bytes"
    if isinstance(plain, str) and not is_storable(plain):
        return f"not valid text of at most {MAX_LENGTH:,} characters: {shown(plain)}"
    return ""


def _size(label: Any) -> int:
    """How large a label is."""
    if isinstance(label, tuple):
        return 1 + sum(1 + _size(part) for part in label)
    if isinstance(label, str | bytes):
        return len(label)
    return max(8, label.bit_length() // 8) if isinstance(label, int) else 8


def announced(classes: Any) -> list[Hashable]:
    """Labels that are known in advance, each once."""
    try:
        given = None if isinstance(classes, str | bytes) else list(classes)
    except TypeError:
        given = None
    if given is None:
        raise InputError(f"classes must be a sequence of labels, not {shown(classes)}")
    labels = [plain_label(label, place) for place, label in enumerate(given)]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"class {twice!r} is there more than once")
    check_room(sum(map(label_size, labels)), "classes")
    return labels


def label_size(label: Hashable) -> int:
    """Bytes of a label in a file."""
    return stored_size(encode_label(label))


def encode_label(label: Any) -> list[Any]:
    """A label with its type, as JSON data, so that it comes back as it was."""
    kind, value = type(label), label
    if kind is float or kind is bytes:
        value = label.hex()
    elif kind is tuple:
        value = [encode_label(part) for part in label]
    return [kind.__name__, value]


def decode_label(data: Any, depth: int = 0) -> Hashable:
    """A label from such a pair; other errors than InputError for what is none."""
    kind, value = data
    if kind == "tuple":
        if depth == MAX_LABEL_DEPTH:
            raise InputError("a label is nested too deeply")
        return tuple(decode_label(part, depth + 1) for part in value)
    read: dict[str, Any] = {"float": float.fromhex, "bytes": bytes.fromhex}
    label: Hashable = ({"bool": bool, "str": str, "int": int} | read)[kind](value)
    return label


# ---- positions in sources


def checked_positions(
    positions: Mapping[Any, Any], known: Mapping[str, Position] | None = None
) -> dict[str, Position]:
    """Positions on top of those that are known; raises InputError for what no file can hold."""
    if not isinstance(positions, Mapping):
        raise InputError(f"positions must be a dict of sources, not {shown(positions)}")
    for name, each in positions.items():
        is_sound = isinstance(name, str) and len(name) <= MAX_SOURCE_NAME
        is_sound = is_sound and isinstance(each, tuple) and len(each) == len(Position._fields)
        if not is_sound or not all(type(n) is int and 0 <= n < 2**62 for n in each):
            problem = "a position is the name of a source with a Position of two counts"
            raise InputError(f"{problem}, not {shown(name)} with {shown(each)}")
    found = {**(known or {}), **{name: Position(*each) for name, each in positions.items()}}
    if len(found) > MAX_POSITIONS:
        raise InputError(f"a model keeps the positions of at most {MAX_POSITIONS:,} sources")
    return found
