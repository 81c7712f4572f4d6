"""NAME=VALUE pairs of the command line."""

import contextlib
import math
from collections.abc import Iterable

from devfnn.errors import InputError

Plain = bool | int | float | str


def parsed_changes(changes: Iterable[str]) -> dict[str, Plain]:
    """NAME=VALUE pairs with values as the plainest type that fits.

    >>> parsed_changes(["max_rules=1e2", "vote=hard"])
    {'max_rules': 100, 'vote': 'hard'}
    """
    return {name: plainest(text) for name, text in map(name_and_text, changes)}


def name_and_text(change: str) -> tuple[str, str]:
    """What stands before and after =; blanks around them do not count, unless there are no others.

    >>> name_and_text("noise = 0.1"), name_and_text("delimiter= ")
    (('noise', '0.1'), ('delimiter', ' '))
    """
    name, equals, text = change.partition("=")
    if not (name.strip() and equals and text):
        raise InputError(f"NAME=VALUE is needed, not {change!r}")
    return name.strip(), text.strip() or text


def plainest(text: str) -> Plain:
    """A text as a truth value, a number, or itself.

    >>> [plainest(text) for text in ("1e2", "false", "soft", "nan")]
    [100, False, 'soft', 'nan']
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        number = float(text)
        if math.isfinite(number):  # no parameter may be anything else: the text is refused later
            return int(number) if number.is_integer() else number
    return text
