"""Hostile calls: wrong arguments to every public method of models, fleets and the River adapter.

A call that is refused leaves a model as it was, byte for byte; one that is accepted leaves a model
that can be saved.
"""

import dataclasses
import datetime
import decimal
import enum
import fractions
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from fuzz_files import CONFIGS, Finding, fleet_file, model_file

from devfnn import DEVFNN, Fleet, InputError, NotLearnedError
from devfnn.adapters.river import DEVFNNClassifier
from devfnn.storage import dump, parse
from devfnn.storage.fleets import dump_fleet, parse_fleet

Make = Callable[[random.Random], Any]

MOST_CLASSES, MOST_FEATURES = 8, 6
"""A model that has more starts anew, so that calls stay cheap."""


NAMES = ["heat", "wind", "extra", *(f"more {number}" for number in range(20))]
"""Columns of tables."""


class Level(enum.IntEnum):
    LOW = 1


class Odd:
    """An object that is nothing."""

    def __repr__(self) -> str:
        raise ValueError("no name")


class Word(str):
    """A text of another type."""


def good_rows(rng: random.Random, k: int, n: int = 2) -> Any:
    """Rows as they should be, in one of many forms."""
    X = np.array([[rng.uniform(0.0, 12.0) for _ in range(n)] for _ in range(k)]).reshape(k, n)
    names = NAMES[:n]
    forms: list[Callable[[], Any]] = [
        lambda: X,
        lambda: X.tolist(),
        lambda: X.astype(np.float32),
        lambda: X.astype(int),
        lambda: np.asfortranarray(X),
        lambda: np.repeat(X, 2, axis=0)[::2],
        lambda: _read_only(X),
        lambda: X.astype(object),
        lambda: X.astype(">f8"),
        lambda: np.longdouble(1.0) * X,
        lambda: pd.DataFrame(X, columns=names),
        lambda: pd.DataFrame(X[:, ::-1], columns=names[::-1], index=[7] * k),
        lambda: tuple(map(tuple, X.tolist())),
        lambda: np.ma.masked_array(X),
        lambda: X > 5.0,
    ]
    return rng.choice(forms)()


def _read_only(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def _with(rng: random.Random, k: int, n: int, value: Any, kind: Any = float) -> Any:
    """Rows with one odd value."""
    X = np.array([[rng.uniform(0.0, 12.0) for _ in range(n)] for _ in range(max(k, 1))])
    X = X.astype(kind)
    with np.errstate(all="ignore"):
        X[rng.randrange(len(X)), rng.randrange(n)] = value
    return X


ODD_NUMBERS: tuple[Any, ...] = (
    np.nan,
    np.inf,
    -np.inf,
    1e101,
    -1e101,
    1e100,
    1e308,
    5e-324,
    np.float32("inf"),
    np.float32("nan"),
)
ODD_OBJECTS: tuple[Any, ...] = (
    None,
    "a",
    "1",
    b"1",
    10**400,
    -(10**400),
    10**5000,
    Odd(),
    1j,
    [1],
    (),
    {},
    pd.NA,
    pd.NaT,
    decimal.Decimal("1.5"),
    decimal.Decimal("NaN"),
    decimal.Decimal("sNaN"),
    decimal.Decimal("1e400"),
    fractions.Fraction(1, 3),
    datetime.date(2024, 1, 1),
    np.datetime64("2024-01-01"),
    np.array([1.0]),
    np.array(1.0),
    np.float16(1.0),
    np.longdouble("1e400"),
    True,
    Level.LOW,
    Word("1"),
    complex("nan"),
    range(2),
)


def odd_rows(rng: random.Random, k: int, n: int = 2) -> Any:
    """Rows as they should not be; some of them are good after all."""
    X = good_rows(random.Random(1), k, n)
    plain = np.array([[rng.uniform(0.0, 12.0) for _ in range(n)] for _ in range(k)]).reshape(k, n)
    frame = pd.DataFrame(plain, columns=NAMES[:n])
    forms: list[Callable[[], Any]] = [
        lambda: _with(rng, k, n, rng.choice(ODD_NUMBERS)),
        lambda: _with(rng, k, n, np.float32(rng.choice((np.inf, np.nan))), np.float32),
        lambda: _with(rng, k, n, rng.choice(ODD_NUMBERS), np.longdouble) * np.longdouble("1e300"),
        lambda: _object_rows(rng, k, n),
        lambda: _list_rows(rng, k, n),
        lambda: plain[:, :1],
        lambda: np.hstack([plain, plain]),
        lambda: plain[0] if k else plain,
        lambda: plain[None],
        lambda: np.array(1.0),
        lambda: np.empty((0, n)),
        lambda: np.empty((k, 0)),
        lambda: [],
        lambda: [[]],
        lambda: [[1.0] * n, [1.0] * (n + 1)],
        lambda: [[1.0], [[1.0]]],
        lambda: (row for row in plain.tolist()),
        lambda: iter(plain.tolist()),
        lambda: {"heat": 1.0, "wind": 2.0},
        lambda: {1.0, 2.0},
        lambda: "text",
        lambda: b"bytes",
        lambda: 7,
        lambda: 10**5000,
        lambda: None,
        lambda: Odd(),
        lambda: plain.astype(complex),
        lambda: plain.astype("M8[s]"),
        lambda: plain.astype("m8[s]"),
        lambda: plain.astype(str),
        lambda: np.zeros(k, [("heat", float), ("wind", float)]),
        lambda: np.ma.masked_array(plain, mask=plain > 6.0),
        lambda: np.ma.masked_all((k, n)),
        lambda: pd.DataFrame(plain, columns=["wind"] * n),
        lambda: frame.rename(columns={"heat": rng.choice(("cold", 7, "\ud800", "x" * 2000, None))}),
        lambda: frame.astype("Float64").where(frame > 6.0),
        lambda: frame.astype("category"),
        lambda: frame.astype(str),
        lambda: frame.assign(more=1.0),
        lambda: frame.iloc[:, :1],
        lambda: frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1),
        lambda: frame["heat"],
        lambda: frame.iloc[0] if k else frame,
        lambda: frame.T,
        lambda: frame.astype(complex),
        lambda: frame.assign(heat=pd.Timestamp("2024-01-01")),
        lambda: frame.assign(heat=pd.Series([None] * k, dtype=object)),
        lambda: frame.astype(object).where(frame > 3.0, None),
        lambda: frame.astype(pd.SparseDtype(float, 0.0)),
        lambda: X,
    ]
    return rng.choice(forms)()


def _object_rows(rng: random.Random, k: int, n: int) -> Any:
    rows = _with(rng, k, n, 1.0, object)
    rows[rng.randrange(len(rows)), rng.randrange(n)] = rng.choice(ODD_OBJECTS)
    return rows


def _list_rows(rng: random.Random, k: int, n: int) -> Any:
    rows = [[rng.uniform(0.0, 12.0) for _ in range(n)] for _ in range(max(k, 1))]
    rows[rng.randrange(len(rows))][rng.randrange(n)] = rng.choice(ODD_OBJECTS + ODD_NUMBERS)
    return rows


def good_labels(rng: random.Random, k: int) -> Any:
    """Labels that a model knows, in one of many forms."""
    labels = [rng.choice(("low", "high", "late")) for _ in range(k)]
    forms: list[Callable[[], Any]] = [
        lambda: labels,
        lambda: np.array(labels),
        lambda: np.array(labels, object),
        lambda: pd.Series(labels, dtype=object),
        lambda: pd.Series(labels).astype("category"),
        lambda: tuple(labels),
        lambda: iter(labels),
        lambda: [np.str_(label) for label in labels],
        lambda: [Word(label) for label in labels],
    ]
    return rng.choice(forms)()


ODD_LABELS: tuple[Any, ...] = (
    "new",
    "",
    "x" * 2000,
    "x" * 2**20,
    "\ud800",
    "[red]\x1b[2J",
    b"bytes",
    b"x" * 2**20,
    7,
    10**5000,
    2**4096,
    0.5,
    np.nan,
    np.inf,
    np.float32("inf"),
    -0.0,
    True,
    None,
    pd.NA,
    pd.NaT,
    np.datetime64("2024-01-01", "ns"),
    np.timedelta64(3, "s"),
    datetime.datetime(2024, 1, 1),
    decimal.Decimal("NaN"),
    decimal.Decimal(1),
    fractions.Fraction(1, 3),
    1j,
    Level.LOW,
    Word("low"),
    ("a", 1),
    ("a", np.nan),
    ("a", (1, (2,))),
    (((((((((1,),),),),),),),),),
    tuple(range(10**4)),
    [1],
    {"a"},
    frozenset([1]),
    {},
    Odd(),
    np.array(["low"]),
    np.array("low"),
    np.array([1, 2]),
    np.longdouble(1.5),
    np.void(b"x"),
    float,
    len,
)


def odd_labels(rng: random.Random, k: int) -> Any:
    """Labels as they should not be; some of them are good after all."""
    labels: list[Any] = [rng.choice(("low", "high", "late")) for _ in range(k)]
    odd = labels[:]
    if odd:
        odd[rng.randrange(k)] = rng.choice(ODD_LABELS)
    forms: list[Callable[[], Any]] = [
        lambda: odd,
        lambda: odd,
        lambda: odd,
        lambda: _objects(odd),
        lambda: [*labels, "low"],
        lambda: labels[:-1],
        lambda: "low",
        lambda: b"low",
        lambda: None,
        lambda: 7,
        lambda: Odd(),
        lambda: np.array("low"),
        lambda: np.array([labels]),
        lambda: np.array(labels)[:, None],
        lambda: np.array(["2024-01-01"] * k, "M8[ns]"),
        lambda: np.array([1.0, np.nan] * k)[:k],
        lambda: pd.Series(labels, dtype="string").where([i % 2 == 0 for i in range(k)]),
        lambda: pd.Series([pd.NA] * k, dtype="Int64"),
        lambda: pd.DataFrame({"y": labels}),
        lambda: {"y": 1},
        lambda: set(labels),
        lambda: (label for label in odd),
        lambda: np.ma.masked_array([1] * k, mask=[1] * k),
        lambda: np.zeros(k, [("a", int)]),
        lambda: np.array([1 + 1j] * k),
    ]
    return rng.choice(forms)()


def _objects(values: list[Any]) -> Any:
    array = np.empty(len(values), object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def weights_of(rng: random.Random, k: int) -> Any:
    """Weights, more of them wrong than not."""
    values = [rng.choice((1.0, 0.5, 0.0, 2)) for _ in range(k)]
    odd = values[:]
    if odd:
        odd[rng.randrange(k)] = rng.choice((*ODD_NUMBERS, *ODD_OBJECTS, -1.0, 1e6, 1e7, -0.0))
    forms: list[Callable[[], Any]] = [
        lambda: None,
        lambda: None,
        lambda: values,
        lambda: np.array(values),
        lambda: pd.Series(values, dtype=float),
        lambda: odd,
        lambda: odd,
        lambda: _objects(odd),
        lambda: [*values, 1.0],
        lambda: [values],
        lambda: 1.0,
        lambda: "1",
        lambda: iter(values),
        lambda: np.array(values) > 0.5,
        lambda: np.array(values, complex),
        lambda: np.ma.masked_array(values, mask=[1] * k),
        lambda: [0.0] * k,
    ]
    return rng.choice(forms)()


def chosen_of(rng: random.Random, k: int) -> Any:
    """Masks, some of them wrong."""
    mask = [rng.random() < 0.5 for _ in range(k)]
    forms: list[Callable[[], Any]] = [
        lambda: None,
        lambda: None,
        lambda: None,
        lambda: True,
        lambda: False,
        lambda: np.array(mask, bool),
        lambda: mask,
        lambda: pd.Series(mask, dtype=bool),
        lambda: [*mask, True],
        lambda: [1] * k,
        lambda: "yes",
        lambda: 1,
        lambda: np.True_,
        lambda: np.array([mask]),
        lambda: [[True], [True, False]],
        lambda: Odd(),
        lambda: iter(mask),
    ]
    return rng.choice(forms)()


def rows_for(rng: random.Random, k: int, n: int = 2) -> Any:
    return good_rows(rng, k, n) if rng.random() < 0.45 else odd_rows(rng, k, n)


def labels_for(rng: random.Random, k: int) -> Any:
    return good_labels(rng, k) if rng.random() < 0.55 else odd_labels(rng, k)


def row_for(rng: random.Random, n: int = 2) -> Any:
    """One row."""
    if rng.random() < 0.3:
        return rows_for(rng, 1, n)
    values: list[Any] = [rng.uniform(0.0, 12.0) for _ in range(n)]
    if rng.random() < 0.5:
        values[rng.randrange(n)] = rng.choice(ODD_NUMBERS + ODD_OBJECTS)
    forms: list[Callable[[], Any]] = [
        lambda: values,
        lambda: tuple(values),
        lambda: values[:-1],
        lambda: [*values, 1.0],
        lambda: pd.Series(values, index=NAMES[:n], dtype=object),
        lambda: pd.Series(values, dtype=object),
        lambda: _objects(values),
    ]
    return rng.choice(forms)()


def label_for(rng: random.Random) -> Any:
    return rng.choice(("low", "high", "late") if rng.random() < 0.4 else ODD_LABELS)


def mapping_for(rng: random.Random) -> Any:
    """A row of River."""
    if rng.random() < 0.1:
        return rows_for(rng, 1)
    keys: tuple[Any, ...] = (
        "heat",
        "wind",
        "heat",
        "wind",
        "extra",
        1,
        "1",
        (1, 2),
        None,
        "\ud800",
    )
    keys += (10**5000, "x" * 2000, 1.5, Level.LOW, "[red]")
    row = {"heat": rng.uniform(0.0, 12.0), "wind": rng.uniform(0.0, 12.0)}
    if rng.random() < 0.7:
        row[rng.choice(keys)] = rng.choice(ODD_NUMBERS + ODD_OBJECTS + (1.0, 2.0))
    if rng.random() < 0.2:
        row.pop("heat", None)
    return row


def names_for(rng: random.Random) -> Any:
    """Names of features."""
    pool = ("heat", "more", "", 7, 10**5000, "x" * 2000, "\ud800", None, Odd(), 1.5, b"x")
    names = [rng.choice(pool) for _ in range(rng.randrange(3))]
    return rng.choice((names, tuple(names), iter(names), "more", None, 7, np.array(["q"])))


def class_names_for(rng: random.Random) -> Any:
    """Display names."""
    return rng.choice((None, {}, {"low": "cold"}, {"low": "x", "high": "x"}, {"none": 1}))


# ---- targets


@dataclasses.dataclass
class Target:
    """Something to call, how to make it, and how to write down all that it is."""

    make: Callable[[], Any]
    written: Callable[[Any], bytes]
    call: Callable[[Any, random.Random], Any]
    is_large: Callable[[Any], bool]


def call_model(model: DEVFNN, rng: random.Random) -> Any:
    """One call of a public method."""
    k, n = rng.choice((0, 1, 1, 2, 5)), len(model.feature_names) or 2
    calls: tuple[Callable[[], Any], ...] = (
        lambda: model.learn(rows_for(rng, k, n), labels_for(rng, k), weights_of(rng, k)),
        lambda: model.learn(rows_for(rng, k, n), labels_for(rng, k), chosen=chosen_of(rng, k)),
        lambda: model.learn_rows(rows_for(rng, k, n), labels_for(rng, k), weights_of(rng, k)),
        lambda: model.learn_rows(rows_for(rng, k, n), labels_for(rng, k), chosen=chosen_of(rng, k)),
        lambda: model.learn_one(row_for(rng, n), label_for(rng), _weight(rng)),
        lambda: model.learn_one(row_for(rng, n), label_for(rng)),
        lambda: model.predict(rows_for(rng, k, n)),
        lambda: model.predict_proba(rows_for(rng, k, n)),
        lambda: model.predict_one(row_for(rng, n)),
        lambda: model.predict_proba_one(row_for(rng, n)),
        lambda: model.wants_label(rows_for(rng, k, n)),
        lambda: model.ask(rows_for(rng, k, n)),
        lambda: model.answer(rows_for(rng, k, n), labels_for(rng, k), weights_of(rng, k)),
        lambda: model.explain(row_for(rng, n), class_names_for(rng)),
        lambda: model.add_features(names_for(rng)),
        lambda: model.describe(class_names=class_names_for(rng)),
        lambda: model.rules(class_names=class_names_for(rng)),
        lambda: DEVFNN(model.config, names_for(rng), labels_for(rng, 3)),
    )
    return rng.choice(calls)()


def _weight(rng: random.Random) -> Any:
    return rng.choice((1.0, 0.0, 2, -1.0, 1e7, True, *ODD_NUMBERS, *ODD_OBJECTS))


def call_fleet(fleet: Fleet, rng: random.Random) -> Any:
    """The same of a fleet."""
    k = rng.choice((0, 1, 2, 5))
    calls: tuple[Callable[[], Any], ...] = (
        lambda: fleet.learn(ids_for(rng, k), rows_for(rng, k), labels_for(rng, k)),
        lambda: fleet.learn(
            ids_for(rng, k), rows_for(rng, k), labels_for(rng, k), weights_of(rng, k)
        ),
        lambda: fleet.predict(ids_for(rng, k), rows_for(rng, k)),
        lambda: fleet.predict_proba(ids_for(rng, k), rows_for(rng, k)),
        lambda: fleet.model(rng.choice((0, 2, -1, 3, 10**30, "a", None, 1.0, True, np.int8(1)))),
        lambda: Fleet(
            rng.choice((1, 2, 0, -1, 2.0, "a", None, 10**30, True, np.int64(2), 10**5000)),
            rng.choice((1, 2, 2, 0, -1, 2.0, "a", None, True, 10**5000)),
            labels_for(rng, 3),
            fleet.config,
            rng.choice((None, names_for(rng))),
        ),
    )
    return rng.choice(calls)()


def ids_for(rng: random.Random, k: int) -> Any:
    """Ids of models, some of them wrong."""
    ids = [rng.randrange(2) for _ in range(k)]
    odd: list[Any] = ids[:]
    if odd:
        odd[rng.randrange(k)] = rng.choice((-1, 3, 10**30, 2**63, *ODD_OBJECTS, 1.0, np.nan))
    forms: tuple[Callable[[], Any], ...] = (
        lambda: ids,
        lambda: ids,
        lambda: np.array(ids, np.int8),
        lambda: np.array(ids, np.uint64),
        lambda: pd.Series(ids, dtype=int),
        lambda: odd,
        lambda: _objects(odd),
        lambda: [*ids, 0],
        lambda: [ids],
        lambda: None,
        lambda: 0,
        lambda: "0",
        lambda: np.array(ids, float),
        lambda: np.array(ids, "M8[s]"),
        lambda: [[0], [0, 1]],
    )
    return rng.choice(forms)()


def call_river(model: DEVFNNClassifier, rng: random.Random) -> Any:
    """The same of the adapter for River."""
    k = rng.choice((0, 1, 2, 5))
    calls: tuple[Callable[[], Any], ...] = (
        lambda: model.learn_one(mapping_for(rng), label_for(rng)),
        lambda: model.learn_one(mapping_for(rng), label_for(rng), _weight(rng)),
        lambda: model.predict_one(mapping_for(rng)),
        lambda: model.predict_proba_one(mapping_for(rng)),
        lambda: model.explain_one(mapping_for(rng)),
        lambda: model.debug_one(mapping_for(rng)),
        lambda: model.learn_many(rows_for(rng, k), labels_for(rng, k)),
        lambda: model.learn_many(rows_for(rng, k), labels_for(rng, k), weights_of(rng, k)),
        lambda: model.predict_many(rows_for(rng, k)),
        lambda: model.predict_proba_many(rows_for(rng, k)),
    )
    return rng.choice(calls)()


def river_model() -> DEVFNNClassifier:
    """A classifier of River that has learned a few rows."""
    model = DEVFNNClassifier(CONFIGS["swift"]())
    rng = random.Random(0)
    for label in ("low", "high", "late") * 3:
        model.learn_one({"heat": rng.random(), "wind": rng.random()}, label)
    return model


def river_bytes(model: DEVFNNClassifier) -> bytes:
    """All that a classifier of River is."""
    features = model._features
    return dump(model.model) + repr((features._names, list(map(type, features.keys)))).encode()


def _has_grown(model: DEVFNN) -> bool:
    return len(model.classes) > MOST_CLASSES or len(model.feature_names) > MOST_FEATURES


def targets() -> dict[str, Target]:
    """Everything that is called."""
    found = {
        f"model {name}": Target(
            lambda name=name: parse(model_file(name)), dump, call_model, _has_grown
        )
        for name in (*CONFIGS, "gclass", "new")
    }
    found["fleet"] = Target(
        lambda: parse_fleet(fleet_file("swift")), dump_fleet, call_fleet, lambda each: False
    )
    found["river"] = Target(
        river_model, river_bytes, call_river, lambda each: _has_grown(each.model)
    )
    return found


class Caller:
    """Calls one target after another, and sees what became of them."""

    def __init__(self) -> None:
        self.targets = targets()
        self._alive: dict[str, tuple[Any, bytes]] = {}

    def restart(self) -> None:
        """Begin with fresh targets, so that what follows does not rest on calls before."""
        self._alive.clear()

    def judge(self, name: str, rng: random.Random) -> str:
        """What became of a call: "refused" or "accepted"; Finding for all else."""
        target = self.targets[name]
        if name not in self._alive:
            fresh = target.make()
            self._alive[name] = fresh, target.written(fresh)
        called, before = self._alive[name]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                target.call(called, rng)
            refusal = None
        except (InputError, NotLearnedError) as error:
            refusal = error
        except Exception as error:
            del self._alive[name]
            raise Finding(f"{type(error).__name__}: {error}") from error
        try:
            after = target.written(called)
        except Exception as error:
            del self._alive[name]
            raise Finding(f"cannot be saved, {type(error).__name__}: {error}") from error
        if refusal is not None and after != before:
            del self._alive[name]
            raise Finding(f"refused, but changed: {refusal}") from refusal
        self._alive[name] = called, after
        if target.is_large(called):
            del self._alive[name]
        return "accepted" if refusal is None else "refused"
