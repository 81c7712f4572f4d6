"""Whether the classes of a run are unequal, and in which words a run says that it is of little use.

Both are about a result as plain data, as `run_record` and `devfnn run --json` have it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from devfnn.formatting import count, listed, percent

BALANCE = '--class-weights balanced, in Python Config(class_weights="balanced")'
"""What to type."""

UNEQUAL = 2.0
"""Classes are unequal if one has so many times fewer or more rows than an equal share of all."""

RIVALS = {
    "kappa_m": "always predicting the most frequent class",
    "kappa_temporal": "repeating the label of the row before",
}
"""Rivals that know no features, by the measure that compares with them."""

MOST_NAMED = 5
"""Classes that a sentence names."""

Result = Mapping[str, Any]


def are_unequal(result: Result) -> bool:
    """Whether one class has less than half of an equal share of the rows, or more than twice it.

    An equal share is that of one of the classes that occurred among the scored rows.

    >>> are_unequal({"per_class": [{"support": 740}, {"support": 260}]})
    False
    >>> are_unequal({"per_class": [{"support": 760}, {"support": 240}]})
    True
    """
    rows = [each.get("support") or 0 for each in result.get("per_class") or ()]
    found = [number for number in rows if number]
    if len(found) < 2:
        return False
    equal = sum(found) / len(found)
    return min(found) * UNEQUAL < equal or max(found) > UNEQUAL * equal


def cautions(result: Result) -> list[str]:
    """What a user must know before trusting the figures of a run, and what to do; often nothing.

    Classes that occurred and were never predicted; accuracy that is no better than that of always
    predicting the most frequent class so far, or of repeating the label before.
    """
    return [*_never_predicted(result), *_no_better(result)]


def _never_predicted(result: Result) -> Iterator[str]:
    confusion, classes = result.get("confusion") or [], result.get("per_class") or []
    rows = [sum(line) for line in confusion]
    predicted = [sum(column) for column in zip(*confusion, strict=True)]
    missed = [
        (str(each.get("name")), own)
        for each, own, said in zip(classes, rows, predicted, strict=False)
        if own and not said
    ]
    if not missed:
        return
    names = listed([name for name, _ in missed], MOST_NAMED)
    which = f"Class {names} was" if len(missed) == 1 else f"Classes {names} were"
    n_rows = f"{count(sum(own for _, own in missed))} of {count(sum(rows))} rows"
    yield f"{which} never predicted, though {n_rows} have it. {_for_rare(result, missed[0][0])}"


def _for_rare(result: Result, name: str) -> str:
    """What to do for a class that is not learned."""
    config = result.get("config")
    if config is None:
        return "Compare this model with others."
    if config.get("class_weights") is None:
        return f"To let rare classes weigh more: {BALANCE}."
    return f"To let it weigh more: --class-weights {name}=WEIGHT."


def _no_better(result: Result) -> Iterator[str]:
    """That a rival which knows no features is as good; of two the one that is better."""
    accuracy, found = result.get("accuracy_overall"), []
    for key, rival in RIVALS.items():
        gain = result.get(key)  # the share of the rival's errors that was avoided
        if accuracy is not None and gain is not None and gain <= 0.0:
            found.append(((accuracy - gain) / (1.0 - gain), rival, key))
    if found:
        share, rival, key = max(found)
        yield (
            f"By accuracy the run is no better than {rival}, which has {percent(share)} of the "
            f"rows right, and the model {percent(accuracy)}. {_against(result, key)}"
        )


def _against(result: Result, rival: str) -> str:
    """What to do against a rival that is as good."""
    config = result.get("config") or {}
    if config.get("class_weights") is not None:
        return "That may be the price of class weights: see the recall of each class."
    if rival == "kappa_temporal" and config.get("lags") == 0:
        return "To let the model see the labels before: --by-row --set lags=3."
    if are_unequal(result):
        balance = f" Try {BALANCE}." if config else ""
        return f"Accuracy says little of unequal classes: see the recall of each.{balance}"
    return "The features may not tell the classes apart: compare other models and features."
