"""Numbers as people read them."""

NO_VALUE = "-"


def percent(share: float | None) -> str:
    """A share in percent.

    >>> percent(0.9333), percent(None)
    ('93.33 %', '-')
    """
    return NO_VALUE if share is None else f"{100.0 * share:.2f} %"


def count(number: float | None) -> str:
    """A whole number, with its thousands set apart."""
    return NO_VALUE if number is None else f"{number:,.0f}"


def mean_and_last(mean: float | None, last: int | None) -> str:
    """A mean, and in brackets where it ended."""
    return NO_VALUE if mean is None else f"{mean:.2f} ({count(last)})"


def bytes_of(number: float | None) -> str:
    """A size.

    >>> bytes_of(52_300)
    '52.3 kB'
    """
    if number is None:
        return NO_VALUE
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f} bytes"


def seconds(number: float | None) -> str:
    """A stretch of time.

    >>> seconds(5.2), seconds(3723)
    ('5 s', '1:02:03')
    """
    if number is None:
        return NO_VALUE
    if round(number) < 60:
        return f"{number:.0f} s"
    hours, rest = divmod(round(number), 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02} min"
