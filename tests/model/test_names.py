"""Labels and names that no file can hold are refused by every entrance, before anything changes."""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from devfnn import DEVFNN, Config, Fleet, GClass, InputError
from devfnn.model import names
from devfnn.model.config import Layer
from devfnn.model.names import MAX_LABEL_BITS, MAX_LENGTH, MOST_STORED, plain_label
from devfnn.storage import dump, parse
from scenes import swift

X = np.random.default_rng(0).random((4, 2))
HALF = "\ud800"
NAN = float("nan")


class Colour(enum.IntEnum):
    RED = 3


class Word(str):
    """A text that shows itself in another way."""

    def __str__(self) -> str:
        return "other"


class Pair(NamedTuple):
    first: Any
    second: Any


def nested(depth: int) -> Any:
    """Tuples in tuples."""
    label: Any = 1
    for _ in range(depth):
        label = (label,)
    return label


BAD_LABELS: dict[str, tuple[Any, str]] = {
    "a number without end": (10**5000, "more than 4,096 bits"),
    "a number just too large": (2**MAX_LABEL_BITS, "more than 4,096 bits"),
    "an object": (object(), "is a object, which cannot name a class"),
    "a set": (frozenset([1]), "is a frozenset, which cannot name a class"),
    "a megabyte of text": ("x" * 2**20, "valid text of at most 1,000 characters"),
    "a text just too long": ("x" * (MAX_LENGTH + 1), "valid text of at most 1,000"),
    "half of a character": (HALF, "valid text"),
    "a megabyte": (b"x" * 2**20, "longer than 1,000 bytes"),
    "a date": (np.datetime64("2024-01-01", "ns"), "is a datetime64, which cannot name"),
    "complex": (1j, "is a complex, which cannot name a class"),
    "missing in a tuple": (("a", None), "is a NoneType, which cannot name a class"),
    "NaN in a tuple": (("a", NAN), "tuple with NaN"),
    "half of a character in a tuple": (("a", HALF), "valid text"),
    "tuples in tuples": (nested(9), "nested too deeply"),
    "tuples without end": (nested(5000), "nested too deeply"),
    "a long tuple": (tuple(range(10**6)), "nested too deeply, or too long"),
    "a wide tuple": ((("x" * 600,), ("y" * 600,)), "too long"),
    "a tuple of numbers": ((2**4000, 2**4000), "too long"),
}


def taught() -> DEVFNN:
    """A model of two classes."""
    model = DEVFNN(swift(labels__budget=0.5, labels__window=10))
    model.learn(X, ["a", "b", "a", "b"], chosen=True)
    model.ask(X)
    return model


ENTRANCES: dict[str, Callable[[DEVFNN, Any], Any]] = {
    "learn": lambda model, label: model.learn(X[:2], ["a", label], chosen=True),
    "learn_rows": lambda model, label: model.learn_rows(X[:2], ["a", label]),
    "learn_one": lambda model, label: model.learn_one(X[0], label),
    "answer": lambda model, label: model.answer(X[:1], [label]),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("case", BAD_LABELS)
def test_labels_that_no_file_holds_are_refused_before_the_class_is_added(
    entrance: str, case: str
) -> None:
    label, message = BAD_LABELS[case]
    model = taught()
    before = dump(model)
    with pytest.raises(InputError, match=message):
        ENTRANCES[entrance](model, label)
    assert dump(model) == before


@pytest.mark.parametrize("case", BAD_LABELS)
def test_such_labels_cannot_be_announced(case: str) -> None:
    label, message = BAD_LABELS[case]
    makers: list[Callable[[list[Any]], Any]] = [
        lambda classes: DEVFNN(classes=classes),
        lambda classes: GClass(classes=classes),
        lambda classes: Fleet(2, 2, classes),
    ]
    for make in makers:
        with pytest.raises(InputError, match=message):
            make(["a", label])


def test_such_labels_have_no_class_weight() -> None:
    for label in (10**5000, HALF, "x" * 2000, float("inf"), NAN, b"a", (1,)):
        with pytest.raises(InputError, match="text or numbers as labels, not"):
            Config(class_weights={label: 2.0})


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        (Colour.RED, 3),
        (np.str_("high"), "high"),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (Word("word"), "word"),
        (Pair(Colour.RED, np.str_("a")), (3, "a")),
        (Pair(np.int64(3), np.bool_(False)), (3, False)),
        ((True, 1.5, b"a", ("x",)), (True, 1.5, b"a", ("x",))),
        ("x" * MAX_LENGTH, "x" * MAX_LENGTH),
        (2**MAX_LABEL_BITS - 1, 2**MAX_LABEL_BITS - 1),
        (nested(8), nested(8)),
        (float("-inf"), float("-inf")),
    ],
    ids=range(12),
)
def test_plain_values_are_kept_and_come_back(label: Any, plain: Any) -> None:
    model = DEVFNN(swift())
    model.learn(X, [label, "other", label, "other"])
    (kept, _), (read, _) = model.classes, parse(dump(model)).classes
    assert kept == read == plain == label
    assert type(kept) is type(read) is type(plain)
    assert repr(kept) == repr(plain)
    before = model.n_rows
    model.learn_one(X[0], label)  # the same class, whatever its type
    assert len(model.classes) == 2 and model.n_rows == before + 1


def test_all_labels_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    model = taught()
    before = dump(model)
    labels = [f"{number:04} {'x' * 900}" for number in range(MOST_STORED // 900)]
    with pytest.raises(InputError, match=r"the classes take .* a model has room for 2,097,152"):
        model.learn(np.zeros((len(labels), 2)), labels, chosen=True)
    with pytest.raises(InputError, match="the classes take"):
        DEVFNN(classes=labels)
    assert dump(model) == before
    monkeypatch.setattr(names, "MOST_STORED", 100)
    for label in ("class c", "class d", "class e"):
        model.learn_one(X[0], label)
    before = dump(model)
    with pytest.raises(InputError, match="the classes take"):
        model.learn_one(X[0], "x" * 60)
    assert dump(model) == before


BAD_NAMES: dict[str, tuple[Any, str]] = {
    "a megabyte": (["a", "x" * 2**20], "must be valid text of at most 1,000 characters"),
    "half of a character": (["a", HALF], "must be valid text"),
    "a number without end": (["a", 10**5000], "names of features must be texts"),
    "a text": ("ab", "must be a sequence of texts, not 'ab'"),
    "a number": (7, "must be a sequence of texts, not 7"),
    "no dimension": (np.array("a"), "names of features must be texts"),
}


@pytest.mark.parametrize("case", BAD_NAMES)
def test_names_that_no_file_holds_are_refused(case: str) -> None:
    bad, message = BAD_NAMES[case]
    model = DEVFNN(swift(missing="skip"))
    model.learn(X, [0, 1, 0, 1])
    before = dump(model)
    for call in (
        lambda: DEVFNN(feature_names=bad),
        lambda: Fleet(2, 2, [0, 1], feature_names=bad),
        lambda: model.add_features(bad),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert dump(model) == before


@pytest.mark.parametrize("name", ["x" * 2000, HALF, 10**5000], ids=["long", "half", "number"])
def test_columns_of_tables_are_held_to_the_same(name: Any) -> None:
    class Frame:
        columns = ("a", name)

        def __array__(self, *_: Any, **__: Any) -> Any:
            return X

    model, fleet = DEVFNN(swift()), Fleet(2, 2, [0, 1], swift())
    before = dump(model)
    for call in (
        lambda: model.learn(Frame(), [0, 1, 0, 1]),
        lambda: model.wants_label(Frame()),
        lambda: fleet.learn([0] * 4, Frame(), [0, 1, 0, 1]),
    ):
        with pytest.raises(InputError, match=r"names? of .*features? must be"):
            call()
    assert dump(model) == before


def test_all_names_together_have_a_bound() -> None:
    many = [f"{number:04} {'x' * 900}" for number in range(MOST_STORED // 900)]
    with pytest.raises(InputError, match=r"the names of features take .* room for 2,097,152"):
        DEVFNN(feature_names=many)


def test_a_network_has_at_most_a_hundred_layers_of_short_names() -> None:
    layer = Config().layers[0]
    with pytest.raises(InputError, match="101 layers; a network has at most 100"):
        Config(layers=(layer,) * 101)
    with pytest.raises(InputError, match="the name of a layer must be valid text"):
        Layer("line", name=HALF)


def test_masked_values_are_missing_ones() -> None:
    masked = np.ma.masked_array(X, mask=np.arange(8).reshape(4, 2) == 3)
    model = DEVFNN(swift())
    with pytest.raises(InputError, match="row 1, feature 1 is NaN"):
        model.learn(masked, [0, 1, 0, 1])
    with pytest.raises(InputError, match="weights must lie between"):
        model.learn(X, [0, 1, 0, 1], np.ma.masked_array(np.ones(4), mask=[0, 1, 0, 0]))


def test_dates_are_no_labels_even_where_their_list_is_of_numbers() -> None:
    dates = np.array(["2024-01-01"] * 4, "datetime64[ns]")
    with pytest.raises(InputError, match="labels must not be dates"):
        DEVFNN(swift()).learn(X, dates)


def test_a_plain_label_is_what_it_was() -> None:
    for label in ("a", 1, True, 0.5, b"a"):
        assert plain_label(label, 0) is label
