"""Runs the learning kernel as plain Python on numbers that count what is done with them.

A process of its own, since Numba must be off: NUMBA_DISABLE_JIT=1 python flops_facts.py FILE. FILE
is a pickled list of (state, batch, outputs, codes, params, work); prints the facts and the
operations by part, per learned row, as JSON. Rows with a drift or a split are an error.
"""

import collections
import json
import operator
import pathlib
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from devfnn.kernels import boxes, clouds, drift, labels, network, recursive, votes
from devfnn.kernels.state import LINE, NO_LAYER
from devfnn.model.network import event_buffer

MODULES = (boxes, clouds, drift, labels, network, recursive, votes)

PARTS = {
    "expand_blocks": "expansion",
    "class_shares": "outputs",
    "gain_of": "gain product",
    "implicit_output": "implicit step",
    "learn_logistic": "update",
    "hold_under_caps": "caps",
    "note_row": "row notes",
    "gather_evidence": "evidence",
    "split_rule": "split checks",
    "say_clouds": "clouds",
    "learn_clouds": "clouds",
    "move_clouds": "clouds",
    "found_cloud": "clouds",
    "fade_clouds": "clouds",
    "learn_rules": "row weights",
    "combine_votes": "votes",
    "choose_label": "votes",
    "note_error": "votes",
    "watch_label": "votes",
    "score_layers": "scores",
}
"""Functions of the kernels, and the parts to which what they do is added."""

DONE: collections.Counter[tuple[str, str]] = collections.Counter()
"""Operations by part, and by kind: any, exp, log."""

FACTS: collections.Counter[str] = collections.Counter()

_doing = ["rest"]


def _done(kind: str) -> None:
    DONE[_doing[-1], kind] += 1


class Counted(float):
    """A number that counts what is done with it; adding a whole number is no operation."""

    __slots__ = ()

    def __neg__(self) -> "Counted":
        return Counted(float(self).__neg__())

    def __abs__(self) -> "Counted":
        return Counted(abs(float(self)))


def _counting(operation: Callable[[float, float], float], is_sum: bool, swap: bool) -> Any:
    def method(self: Counted, other: float) -> Counted:
        if not (is_sum and isinstance(other, int | np.integer)):
            _done("any")
        pair = (float(other), float(self)) if swap else (float(self), float(other))
        return Counted(operation(*pair))

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    for _swap in (False, True):
        _method = _counting(getattr(operator, _name), _name in ("add", "sub"), _swap)
        setattr(Counted, f"__{'r' if _swap else ''}{_name}__", _method)


def _counting_choice(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`max` or `min` for kernels: a plain number that wins counts from then on."""

    def chosen(first: Any, second: Any) -> Any:
        found = choose(first, second)
        return Counted(found) if isinstance(found, float) else found

    return chosen


class CountedArray(np.ndarray):
    """An array of numbers that count, also those that are written as plain ones."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, Counted(value) if isinstance(value, float) else value)


class CountingNumPy:
    """NumPy, as far as the kernels use it, with functions that count."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def exp(self, value: float) -> Counted:
        _done("any")
        _done("exp")
        return Counted(np.exp(float(value)))

    def log(self, value: float) -> Counted:
        _done("any")
        _done("log")
        return Counted(np.log(float(value)))

    def sqrt(self, value: float) -> Counted:
        _done("any")
        _done("sqrt")
        return Counted(np.sqrt(float(value)))


def _note_facts(name: str, args: tuple[Any, ...]) -> None:
    """What a call says about the layers."""
    own = args[0]
    if name == "learn_rules":
        layer, params = args[2], args[5].pool
        origin, is_line = own.layers.origins[layer], own.layers.kinds[layer] == LINE
        FACTS["lines"] += is_line
        FACTS["curves"] += not is_line
        FACTS["wary"] += params.label_noises[origin] > 0.0
        FACTS["adaptive"] += params.memories[origin] == 0.0
    elif name == "say_clouds":
        FACTS["clouds"] += own.count[0]
    elif name == "move_clouds":
        FACTS["own"] += np.count_nonzero(own.labels[: own.count[0]] == args[2][0])
    elif name == "found_cloud":
        FACTS["orphans"] += args[2] not in own.labels[: own.count[0]]
    elif name == "fade_clouds" and own is not None and args[1] % clouds.REFRESH_ROWS == 0:
        FACTS["fadings"] += 1
        FACTS["faded"] += own.count[0]
    elif name == "score_layers":
        is_voter = (own.layers.kinds != NO_LAYER) & (own.layers.rests == 0)
        kept = np.count_nonzero(is_voter[args[3].n_configured :])
        FACTS["voters"] += np.count_nonzero(is_voter)
        FACTS["pairs"] += kept * (kept - 1) // 2


CALLS = {
    "score_layers": "rows",
    "gather_evidence": "boxes",
    "split_rule": "split_checks",
    "say_clouds": "cloud_layers",
    "found_cloud": "founded",
    "note_error": "tested",
}
"""Facts that are the number of calls."""


def _watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*args: Any) -> Any:
        _note_facts(name, args)
        if name in CALLS:
            FACTS[CALLS[name]] += 1
        _doing.append(PARTS[name])
        roots = DONE["caps", "sqrt"]
        result = function(*args)
        if name == "hold_under_caps":
            FACTS["capped_sizes"] += (DONE["caps", "sqrt"] - roots) * args[1]
        elif name == "implicit_output" and len(args[0]) == 2:
            # A label that was the less likely starts from a plain 0.5, used in two differences.
            DONE["implicit step", "any"] += 2 * int(args[0][args[1]] < args[0][1 - args[1]])
        elif name == "say_clouds":
            densities = args[3].heights[: args[0].count[0]]
            # Plain zeros were added to a plain zero up to the first cloud within reach.
            DONE["clouds", "any"] += int(np.argmax(densities > 0.0)) if len(densities) else 0
        _doing.pop()
        return result

    return watched


def watch_kernels() -> None:
    """Let the kernels, as plain Python, call what counts."""
    wrapped: dict[int, Callable[..., Any]] = {}
    for module in MODULES:
        for name in PARTS:
            function = getattr(module, name, None)
            if function is not None:
                known = wrapped.setdefault(id(function), _watched(name, function))
                setattr(module, name, known)
        if hasattr(module, "np"):
            module.np = CountingNumPy()
        module.max, module.min = _counting_choice(max), _counting_choice(min)


def counted(values: Any) -> Any:
    """Numbers that count, in place of an array of floats or a float; also inside named tuples."""
    if isinstance(values, tuple):
        return values._make(map(counted, values))
    if isinstance(values, float):
        return Counted(values)
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return values
    made = np.empty(values.shape, object)
    made.ravel()[:] = [Counted(value) for value in values.ravel()]
    return made.view(CountedArray)


def run_chunk(state: Any, batch: Any, outputs: Any, codes: Any, params: Any, work: Any) -> None:
    """The kernels on one chunk; whole numbers that are divided count, too."""
    pool = state.pool._replace(ages=state.pool.ages.astype(float))
    progress = state.progress._replace(
        errors=state.progress.errors.astype(float), counts=state.progress.counts.astype(float)
    )
    state = counted(state._replace(pool=pool, progress=progress))
    batch, work, params, outputs = map(counted, (batch, work, params, outputs))
    n_rows = len(batch.labels)
    events = event_buffer(n_rows, n_rows + 64)
    _, n_taken, lead = network.assess_chunk(state, params, work, batch, events, outputs)
    step = (0, n_rows, batch.rows.shape[1], 0, False, n_taken, lead)
    network.learn_chunk(state, params, work, batch, events, outputs, codes, step)
    if events.count[0] or not events.taken.all():
        raise ValueError("a drift, a split, or a row whose label was not taken")


def facts_of(n_classes: int) -> dict[str, float]:
    """All facts, per learned row."""
    facts = dict(FACTS)
    rows = facts.pop("rows")
    steps, exps = DONE["implicit step", "log"], DONE["implicit step", "exp"]
    facts["rounds"] = exps if n_classes == 2 else exps / n_classes - steps
    facts["capped"] = DONE["caps", "sqrt"]
    facts["reached"] = DONE["clouds", "exp"]
    heights = DONE["clouds", "log"] // 2
    facts["moved"] = heights - facts.get("founded", 0) - facts.get("faded", 0)
    for name in ("boxes", "split_checks", "tested"):
        facts.setdefault(name, 0)
    return {name: float(value) / rows for name, value in facts.items()}


def done_by_part() -> dict[str, tuple[float, float]]:
    """Operations per learned row, and how many of them are exponentials or logarithms."""
    return {
        part: (
            DONE[part, "any"] / FACTS["rows"],
            (DONE[part, "exp"] + DONE[part, "log"]) / FACTS["rows"],
        )
        for part in dict.fromkeys(PARTS.values())
    }


def main(file: pathlib.Path) -> None:
    """Count and print."""
    chunks: Sequence[tuple[Any, ...]] = pickle.loads(file.read_bytes())
    watch_kernels()
    for chunk in chunks:
        run_chunk(*chunk)
    n_classes = chunks[0][2].shape[2]
    print(json.dumps({"facts": facts_of(n_classes), "done": done_by_part()}))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
