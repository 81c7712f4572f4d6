"""Golden results: what models of all kinds say, tell and save on small streams.

They pin what the models compute, whatever the code looks like. `python tests/golden/results.py`:

    --show NAME    print all that is recorded of a case, and its texts, for a comparison by eye
    --bits         name the cases whose probabilities are no longer the same bit for bit
    --write [NAME] record results anew, all or some: only when they are meant to change
    --write-files  save the models of the newest format anew: only before it is released

Numbers are recorded as sums over blocks, each value with a weight of its own, and compared with a
relative tolerance; whole numbers and texts by a digest.
"""

import argparse
import dataclasses
import functools
import hashlib
import json
import pathlib
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numba
import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from devfnn import DEVFNN, Fleet, load
from devfnn.events import Event
from devfnn.storage import dump, parse
from devfnn.storage.header import FORMAT, OLDEST_FORMAT
from golden.cases import CASES, FILES, Case, brisk, canonical, seen_by, turning

HERE = pathlib.Path(__file__).parent
RECORD = HERE / "golden.json"
TOLERANCE = 1e-6 if numba.config.DISABLE_JIT else 1e-9
"""Relative. Evidence for splits is kept in single precision, and plain Python adds up otherwise."""
BLOCKS = 20
"""Sums at most for one array."""
OLDEST_FLEETS = 7
"""The oldest format that has fleets."""
EXPLAINED = (0, 7, 50)
"""Held-out rows that are explained."""

# ---- writing numbers and texts down


def digest(*parts: Any) -> str:
    """A short digest of plain data or bytes."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(part if isinstance(part, bytes) else json.dumps(part).encode())
    return hashed.hexdigest()[:16]


def sums(values: Any, blocks: int = BLOCKS) -> list[float]:
    """Weighted sums of blocks of an array, then the mean size of a block: its scale.

    What is not finite counts as one number that no other is.
    """
    flat = np.array(values, np.float64).ravel()
    flat = np.where(np.isnan(flat), 0.1234, np.clip(flat, -1e30, 1e30))
    n_blocks = max(min(blocks, flat.size), 1)
    weighted = flat * (1.0 + 0.5 * np.sin(1.0 + np.arange(flat.size)))
    found = [float(block.sum()) for block in np.array_split(weighted, n_blocks)]
    return [float(f"{value:.12g}") for value in [*found, np.abs(flat).sum() / n_blocks]]


def told(events: Iterable[Event]) -> dict[str, Any]:
    """Events: how many of each kind, all but fractions as a digest, fractions as sums."""
    plain = [canonical(event) for event in events]
    exact = [{k: v for k, v in each.items() if not isinstance(v, float)} for each in plain]
    fractions: dict[str, list[float]] = {}
    for each in plain:
        for name, value in each.items():
            if isinstance(value, float):
                fractions.setdefault(f"{each['kind']}.{name}", []).append(value)
    return {
        "counts": dict(sorted(Counter(each["kind"] for each in plain).items())),
        "digest": digest(exact),
        "numbers": {name: sums(values, 2) for name, values in sorted(fractions.items())},
    }


def said(probabilities: list[Any]) -> dict[str, Any]:
    """Probabilities of parts of a stream."""
    found = [number for part in probabilities for number in sums(part, 1)[:1]]
    most_likely = [part.argmax(axis=1).tolist() for part in probabilities]
    whole = b"".join(np.ascontiguousarray(part).tobytes() for part in probabilities)
    scale = max((len(part) for part in probabilities), default=1)
    return {
        "bits": digest(whole),
        "digest": digest([list(part.shape) for part in probabilities], most_likely),
        "numbers": {"parts": [*found, float(scale)]},
    }


def by_name(pieces: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Plain data of like pieces: the numbers of each field as sums, the rest as a digest."""
    numbers: dict[str, list[Any]] = {}
    exact: list[Any] = []
    for piece in pieces:
        for name, value in sorted(piece.items()):
            if isinstance(value, float | np.ndarray):
                numbers.setdefault(name, []).append(np.ravel(value))
                exact.append([name, list(np.shape(value))])
            else:
                exact.append([name, value])
    joined = {name: sums(np.concatenate(each), 2) for name, each in sorted(numbers.items())}
    return {"digest": digest(exact), "numbers": joined}


def rules_of(model: DEVFNN) -> dict[str, Any]:
    """All rules, also archived ones."""
    pieces = []
    for rule in model.rules(archived=True):
        pieces.append(
            {
                "layer": rule.layer,
                "rule": rule.rule,
                "inputs": list(rule.inputs),
                "label": str(rule.label),
                "is_archived": rule.is_archived,
                "age": rule.age,
                "center": rule.center,
                "covariance": rule.covariance,
                "probabilities": np.array(list(rule.probabilities.values())),
                "n_rows": float(rule.n_rows),
                "voting_weight": float(rule.voting_weight),
                "ranges": rule.ranges,
                "bounds": rule.bounds,
                "firing_share": rule.firing_share,
                "slopes": rule.slopes,
            }
        )
    return by_name(pieces)


def reasons_of(model: DEVFNN, X: Any) -> dict[str, Any]:
    """Explanations of a few rows."""
    pieces: list[dict[str, Any]] = []
    for place in EXPLAINED:
        why = model.explain(seen_by(model, X)[place])
        pieces.append({"states": list(why.states), "probabilities": why.probabilities})
        pieces += [
            {
                "layer": layer.layer,
                "kind": layer.kind,
                "state": layer.state,
                "fired": [rule.rule for rule in layer.fired],
                "strengths": np.array([rule.strength for rule in layer.fired]),
                "output_is": layer.output_is,
                "voting_weight": float(layer.voting_weight),
                "bias": layer.bias,
                "contributions": layer.contributions,
                "output": layer.output,
                "votes": layer.votes,
            }
            for layer in why.layers
        ]
    return by_name(pieces)


def texts_of(model: DEVFNN, X: Any) -> dict[str, str]:
    """What a reader sees; only these change where only words change."""
    explained = [model.explain(seen_by(model, X)[place]).text() for place in EXPLAINED]
    return {
        "describe": model.describe(),
        "describe terms": model.describe(terms=True, most=None),
        "history": model.history().text(),
        "explain": "\n".join(explained),
    }


def sizes_of(model: DEVFNN) -> dict[str, Any]:
    """Properties that are whole numbers, and classes."""
    return {
        "classes": [str(label) for label in model.classes],
        "n_rows": model.n_rows,
        "n_labels_used": model.n_labels_used,
        "n_labels_owed": model.n_labels_owed,
        "n_layers": model.n_layers,
        "n_live_layers": model.n_live_layers,
        "n_rules": model.n_rules,
        "feature_mask": model.feature_mask.tolist(),
    }


# ---- running cases


@dataclasses.dataclass
class Run:
    """A model that learns a case part by part, and what it said and told meanwhile."""

    case: Case
    model: DEVFNN
    events: list[Event] = dataclasses.field(default_factory=list)
    probabilities: list[Any] = dataclasses.field(default_factory=list)
    n_right: int = 0

    def go_on(self, start: int, stop: int | None = None) -> None:
        """Predict and learn some of the parts."""
        for part in self.case.parts()[start:stop]:
            if self.model.n_rows:
                X = seen_by(self.model, part[1])
                self.probabilities.append(self.model.predict_proba(X))
                self.n_right += int(np.count_nonzero(self.model.predict(X) == part[2]))
            self.events += self.case.learn(self.model, part)

    def results(self) -> dict[str, Any]:
        """All that is recorded of it; `texts` in full."""
        model, X = self.model, seen_by(self.model, self.case.held_out())
        one = [list(model.predict_proba_one(x).values()) for x in X[:10].tolist()]
        queries = [tuple(q) for q in model.queries()]
        return {
            "sizes": sizes_of(model) | {"n_right": self.n_right},
            "events": told(self.events),
            "prequential": said(self.probabilities),
            "held out": said([*np.array_split(model.predict_proba(X), BLOCKS)]),
            "single rows": said([np.array(one)]),
            "votes": {"numbers": {"weights": sums(model.voting_weights)}},
            "queries": by_name({str(i): v for i, v in enumerate(query)} for query in queries),
            "rules": rules_of(model),
            "reasons": reasons_of(model, X),
            "texts": texts_of(model, X),
            "bytes": {"file": len(dump(model)), "arrays": model.nbytes},
        }


@functools.cache
def whole_run(name: str) -> tuple[Run, Run, bytes]:
    """A case from its first part to its last, and as it was half-way: the run and its file."""
    case = CASES[name]
    half = len(case.parts()) // 2
    run = Run(case, case.make())
    run.go_on(0, half)
    stored = dump(run.model)
    before = dataclasses.replace(run, events=[*run.events], probabilities=[*run.probabilities])
    run.go_on(half)
    return run, before, stored


def halves_differ(name: str) -> list[str]:
    """What differs if a model is saved and loaded after half of the parts; nothing should."""
    whole, before, stored = whole_run(name)
    later = Run(whole.case, parse(stored))
    found = [] if dump(later.model) == stored else ["a saved model, loaded and saved again"]
    later.go_on(len(whole.case.parts()) // 2)
    if whole.events[len(before.events) :] != later.events:
        found.append("events of a model that was saved and loaded")
    said_so = whole.probabilities[len(before.probabilities) :]
    pairs = zip(said_so, later.probabilities, strict=True)
    if not all(np.array_equal(one, other) for one, other in pairs):
        found.append("probabilities of a model that was saved and loaded")
    if dump(whole.model) != dump(later.model):
        found.append("the file of a model that was saved and loaded")
    return found


# ---- a fleet


def fleet_results() -> dict[str, Any]:
    """Five models in a fleet, each on a stream of its own, and two that are taken out of it."""
    X, y = turning(2600, 3, 300)
    ids = np.random.default_rng(21).integers(0, 5, len(X))
    X = X * np.where(np.arange(len(X)) < 1500, 1.0, 2.5)[:, None]
    y = y ^ (ids == 2)
    fleet = Fleet(5, 3, [0, 1], brisk().config)
    probabilities = []
    for start in range(0, 2400, 300):
        rows = slice(start, start + 300)
        probabilities.append(fleet.predict_proba(ids[rows], X[rows]))
        weights = np.where(np.arange(300) % 7 == 0, 0.0, 1.0) if start == 600 else None
        fleet.learn(ids[rows], X[rows], y[rows], weights)
    found: dict[str, Any] = {
        "sizes": {
            "n_rows": fleet.n_rows.tolist(),
            "n_labels_used": fleet.n_labels_used.tolist(),
            "n_drifts": fleet.n_drifts.tolist(),
            "n_rules": fleet.n_rules.tolist(),
        },
        "prequential": said(probabilities),
        "held out": said([fleet.predict_proba(ids[2400:], X[2400:])]),
        "bytes": {"arrays": fleet.nbytes},
    }
    for index in (1, 2):
        model = fleet.model(index)
        found[f"rules of {index}"] = rules_of(model)
        events = model.learn(X[2400:2500], y[2400:2500])
        found[f"events of {index}"] = told(events)
        found[f"held out of {index}"] = said([model.predict_proba(X[2500:])])
    return found


# ---- files of this format, and of those before it


def file_of(name: str, number: int = FORMAT) -> pathlib.Path:
    """The file of a model that was saved after half of its parts."""
    return HERE / f"format{number}" / f"{name}.devfnn"


def save_half(name: str) -> None:
    """Learn half of the parts and save."""
    case = FILES[name]
    run = Run(case, case.make())
    run.go_on(0, len(case.parts()) // 2)
    run.model.save(file_of(name))


def file_results(name: str) -> dict[str, Any]:
    """What a model from an old file says at once, and all that it comes to with other parts."""
    case = FILES[name]
    run = Run(case, load(file_of(name, OLDEST_FORMAT)))
    at_once = {
        "at once": said([run.model.predict_proba(case.held_out())]),
        "sizes at once": sizes_of(run.model),
        "rules at once": rules_of(run.model),
    }
    run.go_on(len(case.parts()) // 2)
    return at_once | run.results()


def half_of_a_fleet(half: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of three small models, and whose they are: the first half, or the second."""
    X, y = turning(1800, 3, 300)
    ids = np.random.default_rng(22).integers(0, 3, len(X))
    rows = slice(900 * half, 900 * (half + 1))
    return ids[rows], X[rows], y[rows] ^ (ids[rows] == 2)


def file_of_fleet(number: int = FORMAT) -> pathlib.Path:
    """The file of a fleet that was saved after half of its rows."""
    return HERE / f"format{number}" / "fleets" / "three.devfnn"


def save_half_fleet() -> None:
    """Learn half of the rows and save."""
    sizes = {"rules__max_rules": 10, "boxes__max_rules": 3, "clouds__max_rules": 4}
    config = brisk().config.replace(**sizes, growing__max_kept=1)
    fleet = Fleet(3, 3, ["low", "high"], config, ["u", "v", "w"])
    ids, X, y = half_of_a_fleet(0)
    fleet.learn(ids, X, np.array(["low", "high"])[y])
    file_of_fleet().parent.mkdir(exist_ok=True)
    fleet.save(file_of_fleet())


def fleet_file_results() -> dict[str, Any]:
    """What a fleet from a file says at once, and what it comes to with the other rows."""
    fleet, (ids, X, y) = Fleet.load(file_of_fleet(OLDEST_FLEETS)), half_of_a_fleet(1)
    at_once = said([fleet.predict_proba(ids, X)])
    fleet.learn(ids, X, np.array(fleet.classes)[y])
    counted = (fleet.n_rows, fleet.n_labels_used, fleet.n_drifts, fleet.n_rules)
    return {
        "at once": at_once,
        "sizes": {"counted": [each.tolist() for each in counted], "names": fleet.feature_names},
        "later": said([fleet.predict_proba(ids, X)]),
        "rules of 2": rules_of(fleet.model(2)),
    }


# ---- the record


def results_of(name: str) -> dict[str, Any]:
    """All results of a case, of the fleet, or of a file."""
    if name == "fleet":
        return fleet_results()
    if name == "file of a fleet":
        return fleet_file_results()
    if name.startswith("file "):
        return file_results(name.removeprefix("file "))
    return whole_run(name)[0].results()


NAMES = [*CASES, "fleet", "file of a fleet", *(f"file {name}" for name in FILES)]


def recorded(results: dict[str, Any]) -> dict[str, Any]:
    """Results as they are stored: texts as digests."""
    if "texts" not in results:
        return results
    return results | {"texts": {name: digest(text) for name, text in results["texts"].items()}}


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between recorded and new results, in words; nothing if all is well."""
    found = []
    for section, value in old.items():
        now = new.get(section, {})
        if section == "bytes":
            found += [
                f"{section}: {name} takes {now.get(name)} bytes, not at most {size}"
                for name, size in value.items()
                if not now.get(name, 0) <= size
            ]
            continue
        for name in sorted(set(value) | set(now)):
            one, other = value.get(name), now.get(name)
            if name == "numbers":
                found += [f"{section}: {text}" for text in _far(one or {}, other or {})]
            elif name != "bits" and one != other:
                found.append(f"{section}: {name} was {one}, is {other}")
    return found


def _far(old: dict[str, list[float]], new: dict[str, list[float]]) -> Iterable[str]:
    """Numbers that differ by more than rounding."""
    for name in sorted(set(old) | set(new)):
        one, other = np.array(old.get(name, [])), np.array(new.get(name, []))
        if one.shape != other.shape:
            yield f"{name} had {max(one.size - 1, 0)} sums, has {max(other.size - 1, 0)}"
        else:
            limit = TOLERANCE * np.maximum(np.abs(one), one[-1])
            if (is_far := np.abs(one - other) > limit).any():
                place = int(np.argmax(is_far))
                yield f"{name}, sum {place}, was {one[place]:.12g}, is {other[place]:.12g}"


def read() -> dict[str, Any]:
    """The recorded results by name."""
    found: dict[str, Any] = json.loads(RECORD.read_text())
    return found


def write(names: Iterable[str]) -> None:
    """Record the results of cases anew, a line for each section; others stay as they are."""
    cases, old = [], read()
    for name in NAMES:
        sections = (recorded(results_of(name)) if name in names else old[name]).items()
        lines = [f"  {json.dumps(title)}: {json.dumps(value)}" for title, value in sections]
        cases.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    RECORD.write_text("{\n" + ",\n".join(cases) + "\n}\n")


def changed_bits() -> Iterable[str]:
    """Cases and sections whose probabilities differ from the recorded ones in any bit."""
    old = read()
    for name in NAMES:
        new = results_of(name)
        for section, value in old[name].items():
            if value.get("bits") != new[section].get("bits"):
                yield f"{name}: {section}"


def shown(name: str) -> Iterable[str]:
    """All results of a case, texts in full."""
    for section, value in results_of(name).items():
        for title, part in value.items():
            yield f"{section}: {title}\n{part}"


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description="Golden results.")
    parser.add_argument("--show", choices=NAMES, metavar="NAME")
    parser.add_argument("--bits", action="store_true")
    parser.add_argument("--write", nargs="*", metavar="NAME")
    parser.add_argument("--write-files", action="store_true")
    given = parser.parse_args()
    if given.write_files:
        for name in FILES:
            save_half(name)
        save_half_fleet()
    if given.write is not None:
        write(given.write or NAMES)
    lines = [*(changed_bits() if given.bits else ()), *(shown(given.show) if given.show else ())]
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
