"""The configuration: every parameter once, with its range, its meaning and an effect."""

import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from contract import rows
from devfnn import DEVFNN, Config, InputError
from devfnn.adapters.shared import flat_parameters
from devfnn.arrays import Floats
from devfnn.model import presets
from devfnn.model.config import (
    SECTIONS,
    AddLayers,
    Drift,
    KeepLayers,
    Labels,
    Layer,
    idle_parameters,
)
from devfnn.model.layers.gaussian import Gaussian, chi_square_radii
from devfnn.model.layers.pool import Memory
from devfnn.model.state import kernel_params
from devfnn.parameters import check_names
from devfnn.storage import dump, parse
from scenes import NETWORKS, config_of, fields_of, stack_of, stacked, swift
from sound import assert_sound

OWNERS: list[Any] = [Config, *(kind for kinds in SECTIONS.values() for kind in kinds)]
FIELDS: dict[str, tuple[Any, Any]] = {
    f"{owner.__name__}.{field.name}": (owner, field)
    for owner in OWNERS
    for field in dataclasses.fields(owner)
    if field.metadata
}
KIND_OF_FIELD = {
    **dict.fromkeys(("inputs", "single_rule"), "gaussian"),
    **dict.fromkeys(("trees", "max_trees", "rate", "tree_memory"), "boosted"),
    "ridge": "stacked",
}
for _field in dataclasses.fields(Layer):
    if _field.metadata:
        _kind = KIND_OF_FIELD.get(_field.name, "line")
        FIELDS[f"Layer.{_field.name}"] = (functools.partial(Layer, _kind), _field)


def kinds_of(field: Any) -> tuple[Any, ...]:
    """The types that a parameter may have."""
    is_union = get_origin(field.type) in (types.UnionType, Union)
    return get_args(field.type) if is_union else (field.type,)


def names_of(is_one: Any) -> list[str]:
    """The parameters of a sort."""
    return [name for name, (_, field) in FIELDS.items() if is_one(field)]


NUMBERS = names_of(lambda field: "low" in field.metadata)
WHOLE = names_of(lambda field: field.type is int)
SWITCHES = names_of(lambda field: field.type is bool)
CHOICES = names_of(lambda field: get_origin(kinds_of(field)[0]) is Literal)
CASES = [
    pytest.param(network, name, id=f"{network}-{name}")
    for network, config in NETWORKS.items()
    for name in fields_of(config)
]


def refused(name: str, value: Any, message: str) -> None:
    """A value of a parameter is refused for this reason."""
    owner, field = FIELDS[name]
    with pytest.raises(InputError, match=f"{field.name} must be {message}"):
        owner(**{field.name: value})


# ---- ranges


def test_every_field_is_a_number_a_switch_or_a_choice() -> None:
    assert sorted([*NUMBERS, *SWITCHES, *CHOICES]) == sorted(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_every_parameter_says_what_it_means(name: str) -> None:
    meaning = FIELDS[name][1].metadata["meaning"]
    assert len(meaning) > 10 and not meaning.endswith(".")


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_kept_inside_their_range(name: str) -> None:
    owner, field = FIELDS[name]
    low, high = field.metadata["low"], field.metadata["high"]
    for fine in (low, high):
        assert getattr(owner(**{field.name: fine}), field.name) == fine
    refused(name, high + 1 if name in WHOLE else math.nextafter(high, math.inf), "between")
    refused(name, low - 1 if name in WHOLE else math.nextafter(low, -math.inf), "between")
    refused(name, math.nan, "")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("wrong", ["1", None, True, [1], 1j], ids=repr)
def test_what_is_no_number_is_refused(name: str, wrong: Any) -> None:
    owner, field = FIELDS[name]
    if wrong is None and types.NoneType in kinds_of(field):
        assert getattr(owner(**{field.name: None}), field.name) is None
    else:
        refused(name, wrong, "a")


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_whole(name: str) -> None:
    refused(name, 2.5, "a whole number, not 2.5")


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("wrong", [1, 0, "yes", None], ids=repr)
def test_switches_are_true_or_false(name: str, wrong: Any) -> None:
    refused(name, wrong, "True or False")


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_listed_when_one_is_wrong(name: str) -> None:
    owner, field = FIELDS[name]
    for choice in get_args(kinds_of(field)[0]):
        assert getattr(owner(**{field.name: choice}), field.name) == choice
    refused(name, "nonsense", "one of '.*', not 'nonsense'")
    refused(name, ["a"], "one of")


# ---- the whole


def test_a_configuration_cannot_be_changed_and_is_equal_to_its_like() -> None:
    config = Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.lags = 1  # type: ignore[misc]
    assert config == Config() != Config(lags=1)
    assert hash(config) == hash(Config())
    for each in (config, presets.stacked(), presets.static(), presets.paper("sea")):
        assert Config.from_dict(each.to_dict()) == each


def test_numbers_of_numpy_are_as_good_as_those_of_python() -> None:
    given = stacked(
        chunk_rows=np.int64(50),
        gaussian__memory=np.float64(0.99),
        gaussian__initial_gain=np.float32(2.0),
        gaussian__pruning=np.bool_(True),
    )
    plain = stacked(chunk_rows=50, gaussian__memory=0.99, gaussian__initial_gain=2.0)
    assert given == plain
    model = DEVFNN(given)
    model.learn(*rows(60))
    assert parse(dump(model)).config == plain


REFUSED: dict[str, tuple[Config, dict[str, Any], str]] = {
    "unknown": (
        swift(),
        {"memmory": 0.9},
        "no parameter is called 'memmory'; there are .*memory",
    ),
    "unknown section": (
        swift(),
        {"memmory__x": 0.9},
        "no section is called 'memmory'; there are",
    ),
    "unknown in section": (swift(), {"drift__x": 1}, "drift=Drift has no parameter 'x'; it has"),
    "gaussian": (
        swift(),
        {"gaussian__vigilance": 0.5},
        r'the network has no gaussian; add Layer\("gaussian"\) to layers',
    ),
    "boxes": (stacked(), {"boxes__evidence": 1.0}, r'no boxes; add Layer\("boxes"\) to layers'),
    "lines": (stacked(), {"rules__prior": 1.0}, r'add Layer\("line"\) or Layer\("curve"\) or'),
    "clouds": (swift(clouds=None), {"clouds__rate": 0.1}, r'add Layer\("clouds"\) to layers'),
    "memory": (swift(memory=None), {"memory__shortest": 9.0}, "no memory; set memory=Memory"),
    "mask": (swift(), {"feature_mask__threshold": 0.5}, "set feature_mask=FeatureMask"),
    "drift": (presets.static(), {"drift__significance": 0.1}, "no drift; set drift=Drift"),
    "step": (swift(), {"voting__step": 0.1}, r"there is voting=ByReward\(step=...\)"),
    "power": (stacked(), {"voting__power": 1.0}, r"and voting=ByAccuracy\(power=...\)"),
    "newborn": (swift(), {"growing__newborn": "winner"}, r"growing=AddLayers\(newborn=...\)"),
    "max_kept": (stacked(), {"growing__max_kept": 1}, r"growing=KeepLayers\(max_kept=...\)"),
    "threshold": (
        swift(),
        {"merging__threshold": 0.1},
        r"merging=ByCompression\(threshold=...\)",
    ),
    "unused section": (swift(), {"gaussian": Gaussian()}, "gaussian is set, but the network has"),
    "no form": (
        swift(),
        {"voting": {"form": "luck"}},
        "voting has no form 'luck'; there are acc",
    ),
    "no section": (swift(), {"voting": 3}, "voting must be one of ByAccuracy, ByReward"),
    "nobody votes": (swift(), {"voting": None}, "voting must be one of"),
    "no layers": (swift(), {"layers": ()}, "layers must be one or more of Layer"),
    "two boxes": (swift(), {"layers": [Layer("boxes")] * 2}, "at most one layer of boxes"),
    "resting": (swift(), {"merging": {"form": "compression"}}, "layers that never rest"),
    "only drift": (swift(), {"growing": None, "merging": None}, "set drift=None too"),
    "only growing": (swift(), {"drift": None}, r"set drift=Drift\(\), or growing=None"),
    "adding": (swift(merging=None), {"growing": AddLayers()}, r"or use KeepLayers\(\)"),
    "fixed": (swift(), {"layers": [Layer("line", memory=9.0)]}, "layers of the adaptive memory"),
    "keeping": (stacked(), {"growing": KeepLayers()}, r"there are none; use AddLayers\(\)"),
    "votes": (swift(), {"voting": {"form": "equal"}}, r"KeepLayers needs voting=ByAccuracy\(\)"),
    "two levels": (swift(), {"drift": Drift(warning=0.1)}, "warning=None, horizon=None"),
    "two sides": (swift(), {"drift__one_sided": False}, "one_sided=True"),
    "merging": (stacked(), {"merging": {"form": "disagreement"}}, r"use ByCompression\(\), or"),
    "too deep": (stacked(), {"layers": stack_of(9)}, "growing.max_layers must be at least 9"),
    "few rules": (swift(), {"rules__max_rules": 5}, "rules.max_rules must be at least 6"),
    "choice": (swift(), {"labels": Labels(choice="layer")}, r'use Labels\(choice="vote"\)'),
    "budget": (swift(), {"labels__budget": 1e-3}, "a window of 1000 rows has room for one"),
}
"""What a network cannot have; every message says what to set instead."""


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_network_does_not_have_is_refused_with_what_to_set_instead(case: str) -> None:
    config, changes, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        config.replace(**changes)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (
            "cube",
            {},
            "boxes, clouds, surface, gaussian, prior, boosted, neighbours, stacked, not 'cube'",
        ),
        ("line", {"inputs": "all"}, "a layer of line has no 'inputs': it has label_noise, memory"),
        ("gaussian", {"memory": 9.0}, "a layer of gaussian has no 'memory': it has inputs"),
        ("clouds", {"memory": 9.0}, "a layer of clouds has no 'memory': it is set in the section"),
        ("line", {"memory": 1.0}, "memory must be 0 or at least 2 rows"),
    ],
)
def test_a_layer_has_only_what_its_kind_has(kind: str, changes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Layer(kind, **changes)


def test_sections_come_and_go_with_their_layers() -> None:
    assert swift(clouds=None).clouds is None and len(swift(clouds=None).layers) == 6
    lines = swift(layers=[Layer("line")])
    assert (lines.boxes, lines.clouds, lines.resting) == (None, None, None)
    assert lines.replace(layers=Config().layers).boxes == Config().boxes
    assert Config().with_layer("quick line", memory=50.0).layers[0].memory == 50.0
    with pytest.raises(InputError, match="no layer is called 'nobody'; there are quick line"):
        Config().with_layer("nobody", memory=50.0)


# ---- all values can learn


def learns(network: str, name: str, value: Any) -> None:
    """A network with this value learns and predicts, or is refused."""
    X, y = rows(6 if name == "lags" else 120)  # the most lags are many features: slow
    others: dict[str, Any] = {"chunk_rows": 4 if name == "lags" else 30}
    if name in ("lags", "rules__max_rules"):  # so many weights are slow to carry over to a new map
        others["scaling"] = "none"
    try:
        model = DEVFNN(config_of(network, **others).replace(**{name: value}))
    except InputError as error:
        assert "must be between" not in str(error)
        return
    model.learn(X, y)
    model.learn(X, 1 - y)
    if name != "chunk_rows" or value < 1000:
        model.learn_rows(X, y)
    if name == "labels__budget" and value == 0.0:
        assert model.n_labels_used == 0  # no label is taken, so nothing is learned
        return
    assert np.isfinite(model.predict_proba(X)).all()
    assert_sound(model)


@pytest.mark.parametrize(("network", "name"), CASES)
def test_all_choices_and_the_ends_of_all_ranges_can_learn_and_predict(
    network: str, name: str
) -> None:
    field = fields_of(NETWORKS[network])[name]
    values: tuple[Any, ...] = (True, False)
    if "low" in field.metadata:
        values = field.metadata["low"], field.metadata["high"]
    elif get_origin(field.type) is Literal:
        values = get_args(field.type)
    for value in values:
        learns(network, name, value)


def test_parameters_of_kernels_follow_the_configuration() -> None:
    config = stacked(gaussian__vigilance=0.5, gaussian__tuning="off", voting__ballots="hard")
    params = kernel_params(config, 4, (3, 2))
    assert params.gaussian is not None and params.gaussian.log_vigilance == math.log(0.5)
    assert (params.gaussian.tuning, params.soft_votes) == (0, False)
    assert params.gaussian.coverage.shape == (5,)
    assert params.gaussian.singles.tolist() == [True, False]
    unpruned = kernel_params(stacked(gaussian__pruning=False), 4, (3, 2)).gaussian
    assert unpruned is not None and not unpruned.recall_rules
    assert kernel_params(Config(), 4, (3, 2)).gaussian is None


def test_radii_hold_the_share_of_a_gaussian_they_should() -> None:
    for share in (0.5, 0.9, 0.99):
        exact = stats.chi2.ppf(share, np.arange(1, 61))
        np.testing.assert_allclose(chi_square_radii(share, 60)[1:], exact, rtol=0.06)
        assert chi_square_radii(share, 60)[0] == 0.0


# ---- every parameter of the default has an effect

BRISK = presets.swift().replace(
    chunk_rows=100,
    rules__max_rules=14,
    memory__shortest=100.0,
    memory__longest=1000.0,
    boxes__max_rules=6,
    boxes__every=20,
    boxes__evidence=2.0,
    boxes__join_rows=100,
    clouds__max_rules=12,
    resting__share=0.05,
    resting__grace_rows=200,
    labels__budget=0.6,
    voting__rows=50.0,
    voting__power=1.0,
    growing__max_kept=2,
    merging__share=0.1,
)
"""`swift` with all mechanisms at work in few rows."""
DEEP = presets.default().replace(
    chunk_rows=100,
    window__rows=150,
    boosted__step_rows=50.0,
    boosted__max_features=2,
    resting__trial_rows=40,
    resting__steps=1,
    resting__worth=0.02,
    resting__worth_rows=100.0,
    resting__max_steps=4,
)
"""The same for the layers of a window, the stack, and rest by worth."""
INERT = {
    "drift__test": "chunk",
    "drift__warning": 0.1,
    "drift__horizon": 9.0,
    "drift__one_sided": False,
}
"""Parameters of mechanisms that the default does not have: other values are refused."""


def turns(n_rows: int = 1600) -> tuple[Floats, Any]:
    """Bands of three classes that turn round and back, with wrong labels, gaps and wide rows."""
    rng, row = np.random.default_rng(8), np.arange(n_rows)
    X = rng.random((n_rows, 3))
    y = (3.0 * X[:, 0]).astype(np.int64) ^ (X[:, 1] > 0.6)
    y = np.where(row // 400 % 2 == 1, (y + 1) % 3, y % 3)
    y = np.where(rng.random(n_rows) < 0.05, rng.integers(0, 3, n_rows), y)
    X[row > 900, 2] *= 30.0
    return X, y


def stays(n_rows: int = 1600) -> tuple[Floats, Any]:
    """Labels that come in runs."""
    rng = np.random.default_rng(9)
    y = np.repeat(rng.integers(0, 2, n_rows), rng.integers(5, 40, n_rows))[:n_rows]
    return rng.normal(size=(n_rows, 2)) + 0.8 * y[:, None], y


def story(config: Config) -> Iterator[str]:
    """What comes of a network: its events, predictions, labels and size."""
    for X, y in (turns(), stays()):
        model = DEVFNN(config)
        for place, start in enumerate(range(0, len(y), 200)):
            part = slice(start, start + 200)
            learn = model.learn_rows if place % 2 else model.learn
            yield str(learn(X[part], y[part]))
            yield str(model.predict_proba(X[::16]).tobytes())
        yield str((model.n_labels_used, model.nbytes))


@functools.cache
def as_it_is(base: Config) -> list[str]:
    """The story of a network as it is."""
    return list(story(base))


def acts(base: Config, name: str) -> bool:
    """Whether another value of a parameter makes another story, which is told until then."""
    for value in others(base, name):
        with contextlib.suppress(InputError):  # what does not go together
            told = story(base.replace(**{name: value}))
            if any(own != usual for own, usual in zip(told, as_it_is(base), strict=True)):
                return True
    return False


def others(base: Config, name: str) -> Iterator[Any]:
    """Other values of a parameter."""
    about = fields_of(base)[name]
    section, _, own = name.partition("__")
    now = getattr(getattr(base, section), own) if own else getattr(base, section)
    if about.type is bool:
        yield not now
    elif get_origin(kinds_of(about)[0]) is Literal:
        yield from (value for value in get_args(kinds_of(about)[0]) if value != now)
    else:
        low, high = about.metadata["low"], about.metadata["high"]
        for factor in (0.25, 4.0, 0.0):
            value = type(now)(min(max(factor * now, low), high))
            if value != now:
                yield value
        yield type(now)(min(now + 1, high)) if now < high else low


LATE = {
    "boxes__joining",
    "boxes__join_evidence",
    "labels__certainty",
    "voting__rows_per_weight",
    "drift__repeats",
    "drift__every",
    "merging__share",
}
"""Parameters that act after more rows than a story has; tests of their mechanisms show it."""

IDLE = idle_parameters(Config())
ACTING = [name for name in flat_parameters(Config()) if name not in {*INERT, *LATE, *IDLE}]
OF_WINDOW = ("window", "surface", "prior", "boosted", "neighbours", "stacked", "resting")


@pytest.mark.parametrize("name", ACTING)
def test_every_parameter_of_the_default_acts(name: str) -> None:
    if name == "missing":
        X, y = rows(20)
        X[3, 1] = np.nan
        DEVFNN(swift(missing="skip")).learn(X, y)
        with pytest.raises(InputError, match="is NaN"):
            DEVFNN(swift()).learn(X, y)
        return
    assert acts(DEEP if name.startswith(OF_WINDOW) else BRISK, name)


GAUSSIAN = stacked(
    chunk_rows=100, drift__significance=0.3, drift__warning=0.45, growing__max_layers=3
)
LATE_GAUSSIAN = {
    "missing",
    "gaussian__recall_margin",
    "drift__horizon",
    "drift__one_sided",
    "drift__warning",
    "growing__buffer_rows",
    "growing__train_on_warning",
    "merging__threshold",
    "merging__memory",
}
"""As LATE, of stacked layers."""


@pytest.mark.parametrize("name", [n for n in flat_parameters(GAUSSIAN) if n not in LATE_GAUSSIAN])
def test_every_parameter_of_stacked_layers_acts_or_is_refused(name: str) -> None:
    if name in IDLE:
        for value in others(GAUSSIAN, name):
            with pytest.raises(InputError, match=f"{name} has no effect with this {IDLE[name]}"):
                GAUSSIAN.replace(**{name: value})
    else:
        assert acts(GAUSSIAN, name)


IDLE = {
    "gaussian__density_memory": "gaussian__local_forgetting",
    "labels__window": "labels__budget",
    "drift__repeats": "growing",
    "drift__every": "growing",
}
"""Parameters that do nothing in these layers as they are, and what would make them act."""


# ---- a parameter that cannot act holds its default

PLAIN = BRISK.replace(growing=None, drift=None, merging=None)
LINES = (Layer("line", name="short", memory_share=0.5, label_noise=0.1), Layer("line"))
STACKED = {
    "layers": stack_of(2),
    "growing": AddLayers(),
    "merging": None,
    "voting": {"form": "reward"},
    "labels": {"choice": "layer"},
}
MAKES_IDLE: dict[str, tuple[Config, dict[str, Any], str]] = {
    "all labels": (
        BRISK.replace(labels__budget=1.0),
        {"labels__choice": "all"},
        "labels__certainty labels__exploration",
    ),
    "a budget": (BRISK.replace(labels__budget=1.0), {"labels__budget": 0.6}, "labels__certainty"),
    "no budget": (BRISK, {"labels__budget": 1.0}, "labels__window"),
    "no splitting": (
        BRISK,
        {"boxes__splitting": False},
        "boxes__evidence boxes__evidence_per_contrast boxes__every boxes__least_variance "
        "boxes__doubt boxes__joining boxes__join_evidence boxes__join_rows",
    ),
    "no joining": (BRISK, {"boxes__joining": False}, "boxes__join_evidence boxes__join_rows"),
    "one kept": (BRISK, {"growing__max_kept": 1}, "merging__share"),
    "none kept": (BRISK, {"growing__max_kept": 0}, "merging__share"),
    "no forgetting": (BRISK, {"memory": None}, "clouds__memory"),
    "no repeats": (BRISK, {"drift__repeats": False}, "voting__rows_per_weight"),
    "no noise": (BRISK, {"layers__label_noise": 0.0}, "rules__least_trust"),
    "no curve": (BRISK, {"layers": LINES}, "rules__prior_reach voting__rows_per_weight"),
    "one line": (
        BRISK,
        {"layers": (Layer("line", label_noise=0.1), Layer("curve", memory=300.0))},
        "memory__referee_memory memory__shortening",
    ),
    "fixed memories": (
        PLAIN,
        {"layers": (Layer("line", memory=50.0, label_noise=0.1), Layer("curve", memory=300.0))},
        "memory__shortest memory__longest memory__lengthening memory__referee_memory "
        "memory__shortening",
    ),
    "added layers": (
        BRISK,
        STACKED,
        "drift__repeats drift__every growing__buffer_rows growing__train_on_warning "
        "gaussian__density_memory labels__window",
    ),
    "no warning": (
        GAUSSIAN,
        {"drift__warning": None},
        "growing__buffer_rows growing__train_on_warning",
    ),
    "from scratch": (GAUSSIAN, {"growing__newborn": "scratch"}, "growing__newborn_doubt"),
    "equal votes": (
        GAUSSIAN,
        {"voting": {"form": "equal"}},
        "voting__newborn_weight voting__reset_winner",
    ),
    "least squares": (
        GAUSSIAN,
        {"gaussian__consequent": "least_squares"},
        "gaussian__curvature_floor",
    ),
    "no local forgetting": (
        GAUSSIAN.replace(gaussian__local_forgetting=0.1),
        {"gaussian__local_forgetting": 0.0},
        "gaussian__density_memory",
    ),
    "no recall": (
        GAUSSIAN,
        {"gaussian__recall": False},
        "gaussian__recall_margin gaussian__archive_size",
    ),
    "no pruning": (
        GAUSSIAN,
        {"gaussian__pruning": False},
        "gaussian__prune_margin gaussian__recall gaussian__recall_margin gaussian__archive_size",
    ),
    "fixed rules": (
        GAUSSIAN,
        {"gaussian__rules": "fixed"},
        "gaussian__max_rules gaussian__pruning gaussian__prune_margin gaussian__recall "
        "gaussian__recall_margin gaussian__archive_size",
    ),
    "no rule growing": (
        GAUSSIAN,
        {"gaussian__growing": False},
        "gaussian__max_rules gaussian__vigilance gaussian__pruning gaussian__prune_margin "
        "gaussian__recall gaussian__recall_margin gaussian__archive_size",
    ),
    "no tuning": (GAUSSIAN, {"gaussian__tuning": "off"}, "gaussian__max_population"),
    "still rules": (
        GAUSSIAN.replace(gaussian__growing=False),
        {"gaussian__tuning": "off"},
        "gaussian__max_population gaussian__coverage",
    ),
}
"""A network, what is changed, and the parameters that cannot act from then on."""


def forced(config: Config, values: dict[str, Any]) -> Config:
    """A configuration with values that it would refuse."""
    made = copy.copy(config)
    for path, value in values.items():
        section, _, name = path.partition("__")
        own = dataclasses.replace(getattr(made, section), **{name: value})
        object.__setattr__(made, section, own)
    return made


@pytest.mark.parametrize("case", MAKES_IDLE)
def test_these_parameters_cannot_act_then(case: str) -> None:
    base, off, names = MAKES_IDLE[case]
    config = base.replace(**off)
    assert idle_parameters(config).keys() - idle_parameters(base).keys() == set(names.split())
    other = {name: next(others(config, name)) for name in names.split()}
    for usual, same in itertools.zip_longest(story(config), story(forced(config, other))):
        assert usual == same


@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case in MAKES_IDLE for name in MAKES_IDLE[case][2].split()]
)
def test_a_parameter_that_cannot_act_is_refused_or_reset(case: str, name: str) -> None:
    base, off, _ = MAKES_IDLE[case]
    config = base.replace(**off)
    value, message = next(others(config, name)), f"^{name} has no effect with this "
    section, _, own = name.partition("__")
    if name == "drift__repeats":  # its default is on, and off is what comes of it
        assert dataclasses.replace(forced(config, {name: True})) == config
    else:
        with pytest.raises(InputError, match=message):
            dataclasses.replace(forced(config, {name: value}))
    with pytest.raises(InputError, match=message):
        config.replace(**{name: value})
    if name in fields_of(base) and section not in off:
        assert base.replace(**{name: value}).replace(**off) == config
        with pytest.raises(InputError, match=message):
            base.replace(**off, **{name: value})
    assert config.replace(**{name: getattr(getattr(config, section), own)}) == config
    data = forced(config, {name: value}).to_dict()
    assert Config.from_dict(data) == config  # as older versions saved it


def test_a_parameter_says_what_keeps_it_from_acting() -> None:
    with pytest.raises(
        InputError, match="labels__certainty has no effect with this labels__choice"
    ):
        Config(labels=Labels(choice="all", certainty=0.5))
    with pytest.raises(InputError, match="shortest has no effect with this list of layers"):
        Config(layers=(Layer("curve", memory=9.0),), memory=Memory(shortest=9.0), **STILL)


STILL: dict[str, Any] = {"drift": None, "growing": None, "merging": None}


def test_every_table_ofidle_parameters_is_tested() -> None:
    owners = {owner for base, off, _ in MAKES_IDLE.values() for owner in off}
    for section, kinds in SECTIONS.items():
        for kind in kinds:
            for (owner, _), names in kind.idle.items():
                assert f"{section}__{owner}" in owners
                check_names(kind, [owner, *names.split()])


def test_a_layer_of_fixed_memory_has_no_share_of_the_adaptive_one() -> None:
    with pytest.raises(InputError, match="a share of the adaptive memory"):
        Layer("line", memory=300.0, memory_share=0.5)


def test_gaussian_layers_choose_rows_themselves() -> None:
    with pytest.raises(InputError, match='use Labels\\(choice="layer"\\), or "all"'):
        stacked(labels__choice="vote")


@pytest.mark.parametrize("name", INERT)
def test_what_would_do_nothing_in_the_default_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="one level"):
        swift(**{name: INERT[name]})
