"""Numbers and lists of names as text: the same in rules, on terminals, in figures and reports."""

import collections
import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

NO_VALUE = "-"
"""Stands for what was not measured."""


def printable(text: str, keeps: str = "") -> str:
    """Text that does nothing to a terminal: control characters and the like are told, not sent.

    So are line ends, and characters that turn the direction of writing. keeps: letters left alone

    >>> print(printable("speed \\x1b[2J"), printable("a\\nb"), printable("a\\u202eb"))
    speed \\x1b[2J a\\nb a\\u202eb
    """
    return "".join(
        each if each.isprintable() or each in keeps else repr(each)[1:-1] for each in text
    )


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


def standing(state: str, steps: int = 0) -> str:
    """What a layer does now. steps: structural steps that it still rests

    >>> standing("votes"), standing("on trial"), standing("rests", 12), standing("rests", 1)
    ('works', 'on trial', 'rests, 12 steps', 'rests, 1 step')
    """
    if state == "rests" and steps:
        return f"rests, {plural(steps, 'step')}"
    return "works" if state == "votes" else state


def counts(share: float, is_stacked: bool, has_stack: bool) -> str:
    """What a layer counts: stacked layers give the answer, and those below count in theirs.

    >>> counts(0.25, False, False), counts(0.25, True, True), counts(0.25, False, True)
    ('has 25 % of the vote', 'has 25 % of the answer', 'counts 25 % in the answer')
    """
    if has_stack and not is_stacked:
        return f"counts {percent(share, 0)} in the answer"
    return f"has {percent(share, 0)} of the {'answer' if is_stacked else 'vote'}"


def worth(value: float | None) -> str:
    """What answers gain by a layer; both signs, since it may also be a loss.

    >>> worth(0.01234), worth(-0.0001), worth(None)
    ('+0.0123', '-0.0001', '-')
    """
    return NO_VALUE if value is None else f"{value:+.4f}"


def count(number: float | None) -> str:
    """A whole number with thousands separators.

    >>> count(1234567), count(None)
    ('1,234,567', '-')
    """
    return NO_VALUE if number is None else f"{number:,.0f}"


def plural(number: float, noun: str) -> str:
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


def listed(names: Sequence[str], most: int = 30) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"], 3), listed(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def detection_line(detection: Mapping[str, Any]) -> str:
    """How well drift was found, in a sentence."""
    found = f"Of {count(detection['drifts'])} true drifts {count(detection['found'])} were found"
    if detection.get("delay_mean") is not None:
        found += f", after {count(detection['delay_mean'])} rows on average"
    return f"{found}; {count(detection['false_alarms'])} false alarms."


def change_text(name: str, value: Any) -> str:
    """A parameter or a section that was set, much as the command line takes it.

    >>> change_text("drift__every", 20), change_text("clouds", None)
    ('drift.every=20', 'clouds=none')
    >>> change_text("voting", {"form": "equal", "ballots": "hard"})
    'voting=equal(ballots=hard)'
    """
    return f"{name.replace('__', '.')}={_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value_text, value))}]"
    if not isinstance(value, dict):
        return "none" if value is None else str(value)
    head = value.get("form", value.get("kind", "" if value else "on"))
    inner = {name: each for name, each in value.items() if name not in ("form", "kind")}
    texts = ", ".join(itertools.starmap(change_text, inner.items()))
    return f"{head}({texts})" if texts else str(head)


def flat_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as plain data, with the parameters of sections as SECTION.PARAMETER.

    >>> flat_names({"seed": 3, "drift": None, "labels": {"budget": 0.1}})
    {'seed': 3, 'drift': None, 'labels.budget': 0.1}
    """
    found: dict[str, Any] = {}
    for name, value in config.items():
        is_section = isinstance(value, dict)
        found |= {f"{name}.{key}": value[key] for key in value} if is_section else {name: value}
    return found


# ---- numbers and labels of rules

LARGE, MOST_DECIMALS = 1e7, 6
"""Numbers of more digits than that are written with a power of ten."""

PLAIN = str.maketrans("", "", "-,.")
"""What stands between the digits of a number."""


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


def alike(values: Sequence[float], spread: float) -> list[str]:
    """Values as `about` writes them, all with as many decimals.

    >>> alike((54.0, 48.0, 60.0), 6.0), alike((0.9, 0.7, 1.0), 0.2)
    (['54', '48', '60'], ['0.90', '0.70', '1.00'])
    """
    texts = [about(value, spread)[0] for value in values]
    n_decimals = max(len(text.partition(".")[2]) for text in texts)
    is_plain = all(text.translate(PLAIN).isdigit() for text in texts)
    if not (n_decimals and is_plain):
        return texts
    return [text if "." in text else f"{text}.{'0' * n_decimals}" for text in texts]


def share(value: float) -> str:
    """A probability with two decimals, but for none and all.

    >>> share(0.814), share(0.001), share(0.9999), share(1.0)
    ('0.81', '< 0.01', '> 0.99', '1.00')
    """
    rounded = f"{value:.2f}"
    if rounded == "0.00" and value > 0.0:
        return "< 0.01"
    return "> 0.99" if rounded == "1.00" and value < 1.0 else rounded


def named(label: Hashable) -> str:
    return label if isinstance(label, str) else f"class {label}"


def distinct(labels: Sequence[Hashable]) -> list[str]:
    """Labels as texts of which no two are the same.

    >>> distinct(["up", "down"]), distinct([1, "1"]), distinct([1, "1", "'1'"])
    (['up', 'down'], ['1', "'1'"], ['1', "'1'", "'1' (2)"])
    """
    counts = collections.Counter(map(str, labels))
    found: dict[str, None] = {}
    for label in labels:
        text = str(label) if counts[str(label)] == 1 else repr(label)
        others = (f"{text} ({number})" for number in itertools.count(2))
        found[next(each for each in itertools.chain([text], others) if each not in found)] = None
    return list(found)


def rows(n_rows: float) -> str:
    """A number of rows, which a file may have made one without end.

    >>> rows(1.2), rows(math.inf)
    ('1 row', 'inf rows')
    """
    return plural(round(n_rows) if math.isfinite(n_rows) else n_rows, "row")


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
