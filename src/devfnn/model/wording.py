"""Numbers and labels of rules as text, and labels as JSON can hold them."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

LARGE, MOST_DECIMALS = 1e7, 6
"""Numbers of more digits than that are written with a power of ten."""


def about(center: float, spread: float) -> tuple[str, str]:
    """A value and its spread, with two digits of the spread.

    >>> about(230.02, 3.08), about(0.12345, 0.0104), about(1.5e9, 2.4e6)
    (('230', '3.1'), ('0.123', '0.010'), ('1.5e+09', '2.4e+06'))
    >>> about(123456.7, 1234.5), about(0.502, 0.13)
    (('123,500', '1,200'), ('0.50', '0.13'))
    """
    if not (spread > 0.0 and math.isfinite(spread) and math.isfinite(center)):
        return f"{center:g}", f"{spread:g}"
    decimals = 1 - math.floor(math.log10(spread))
    if max(abs(center), spread) >= LARGE or decimals > MOST_DECIMALS:
        size = math.floor(math.log10(abs(center))) if center else 0
        digits = min(max(size + 1 + decimals, 1), 15)
        return f"{center:.{digits}g}", f"{spread:.2g}"
    shown = max(decimals, 0)
    value, reach = round(center, decimals), round(spread, decimals)
    n_decimals = 0 if value == round(value) else shown
    return f"{value + 0.0:,.{n_decimals}f}", f"{reach:,.{shown}f}"  # + 0.0: no negative zero


def percent(share: float) -> str:
    """A share in whole percent, but for none and all.

    >>> percent(0.834), percent(0.001), percent(0.9999), percent(1.0)
    ('83 %', '< 1 %', '> 99 %', '100 %')
    """
    rounded = round(100.0 * share)
    if rounded == 0 and share > 0.0:
        return "< 1 %"
    if rounded == 100 and share < 1.0:
        return "> 99 %"
    return f"{rounded:,} %"


def named(label: Hashable) -> str:
    return label if isinstance(label, str) else f"class {label}"


def rows(n_rows: float) -> str:
    return "1 row" if round(n_rows) == 1 else f"{n_rows:,.0f} rows"


def label_to_json(label: Any) -> Any:
    """A label as JSON can hold it, such that its type is known."""
    plain = label.item() if isinstance(label, np.generic) else label
    match plain:
        case bool() | int() | str():
            return plain
        case float():
            return plain if math.isfinite(plain) else {"float": repr(plain)}
        case bytes():
            return {"bytes": plain.hex()}
        case tuple():
            return {"tuple": [label_to_json(item) for item in plain]}
    return str(plain)


def label_from_json(plain: Any) -> Hashable:
    """The label that `label_to_json` wrote."""
    match plain:
        case {"float": str() as text}:
            return float(text)
        case {"bytes": str() as text}:
            return bytes.fromhex(text)
        case {"tuple": [*items]}:
            return tuple(label_from_json(item) for item in items)
    label: Hashable = plain
    return label
