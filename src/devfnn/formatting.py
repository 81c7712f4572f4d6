"""Numbers and lists of names as text: the same in rules, on terminals, in figures and reports."""

from collections.abc import Sequence

NO_VALUE = "-"
"""Stands for what was not measured."""


def percent(share: float | None, digits: int = 2) -> str:
    """A share in percent. With less than two digits, almost none and almost all are bounds.

    >>> percent(0.9333), percent(0.25, 1), percent(1e-6, 1), percent(0.9999, 0), percent(None)
    ('93.33 %', '25.0 %', '< 0.1 %', '> 99 %', '-')
    """
    if share is None:
        return NO_VALUE
    text, step = f"{100.0 * share:.{digits}f}", 10.0**-digits
    if digits < 2 and float(text) == 0.0 < share:
        return f"< {step:g} %"
    if digits < 2 and float(text) == 100.0 > 100.0 * share:
        return f"> {100.0 - step:g} %"
    return f"{text} %"


def count(number: float | None) -> str:
    """A whole number with thousands separators.

    >>> count(1234567), count(None)
    ('1,234,567', '-')
    """
    return NO_VALUE if number is None else f"{number:,.0f}"


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "chunk"), plural(2000, "chunk")
    ('1 chunk', '2,000 chunks')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size(n_bytes: float | None) -> str:
    """Bytes in the unit that fits.

    >>> size(512), size(52_300), size(3e9)
    ('512 bytes', '52.3 kB', '3.0 GB')
    """
    if n_bytes is None:
        return NO_VALUE
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes:.0f} bytes"


def seconds(number: float | None) -> str:
    """A duration.

    >>> seconds(0.0234), seconds(5.2), seconds(59.4), seconds(83.2), seconds(3723)
    ('0.023 s', '5.2 s', '59 s', '1:23 min', '1:02:03')
    """
    if number is None:
        return NO_VALUE
    if round(number) < 60:
        return f"{number:.2g} s" if number < 10.0 else f"{number:.0f} s"
    hours, rest = divmod(round(number), 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02} min"


def listed(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"], 3), listed(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
