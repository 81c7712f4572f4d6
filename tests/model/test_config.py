"""The configuration: every parameter once, with its range, its meaning and an effect."""

import dataclasses
import math
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from contract import rows
from devfnn import DEVFNN, Config, InputError
from devfnn.model.config import chi_square_radii
from devfnn.storage import dump, parse
from scenes import config_of, each_network
from sound import assert_sound

FIELDS = {field.name: field for field in dataclasses.fields(Config)}
NUMBERS = [name for name, field in FIELDS.items() if "low" in field.metadata]
WHOLE = [name for name in NUMBERS if FIELDS[name].type is int]
SWITCHES = [name for name, field in FIELDS.items() if field.type is bool]
CHOICES = [name for name, field in FIELDS.items() if get_origin(field.type) is Literal]


def test_every_field_is_a_number_a_switch_or_a_choice() -> None:
    assert sorted([*NUMBERS, *SWITCHES, *CHOICES]) == sorted(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_every_parameter_says_what_it_means(name: str) -> None:
    meaning = FIELDS[name].metadata["meaning"]
    assert len(meaning) > 10 and not meaning.endswith(".")


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_kept_inside_their_range(name: str) -> None:
    about = FIELDS[name].metadata
    low, high = about["low"], about["high"]
    for fine in (low, high):
        assert getattr(Config().replace(**{name: fine}), name) == fine
    above = high + 1 if name in WHOLE else math.nextafter(high, math.inf)
    below = low - 1 if name in WHOLE else math.nextafter(low, -math.inf)
    for wrong in (above, below):
        with pytest.raises(InputError, match=f"{name} must be between"):
            Config().replace(**{name: wrong})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("wrong", ["1", None, True, [1], 1j], ids=repr)
def test_what_is_no_number_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be a"):
        Config().replace(**{name: wrong})


@pytest.mark.parametrize("name", NUMBERS)
def test_nan_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        Config().replace(**{name: math.nan})


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_whole(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be a whole number, not 2.5"):
        Config().replace(**{name: 2.5})


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("wrong", [1, 0, "yes", None], ids=repr)
def test_switches_are_true_or_false(name: str, wrong: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be True or False"):
        Config().replace(**{name: wrong})


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_listed_when_one_is_wrong(name: str) -> None:
    for choice in get_args(FIELDS[name].type):
        assert getattr(Config().replace(**{name: choice}), name) == choice
    with pytest.raises(InputError, match=f"{name} must be one of '.*', not 'nonsense'"):
        Config().replace(**{name: "nonsense"})
    with pytest.raises(InputError, match=f"{name} must be one of"):
        Config().replace(**{name: ["a"]})


def test_an_unknown_parameter_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no parameter is called 'memmory'; there are .*memory"):
        Config().replace(memmory=0.9)


def test_a_configuration_cannot_be_changed_and_is_equal_to_its_like() -> None:
    config = Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.memory = 0.5  # type: ignore[misc]
    assert config == Config() != default(gaussian__memory=0.9)
    assert hash(config) == hash(Config())
    assert Config(**config.to_dict()) == config


def test_numbers_of_numpy_are_as_good_as_those_of_python() -> None:
    given = Config(
        chunk_rows=np.int64(50),  # type: ignore[arg-type]
        gaussian__memory=np.float64(0.99),
        gaussian__initial_gain=np.float32(2.0),  # type: ignore[arg-type]
        growing=np.bool_(True),  # type: ignore[arg-type]
    )
    plain = default(chunk_rows=50, gaussian__memory=0.99, gaussian__initial_gain=2.0)
    assert given == plain
    model = DEVFNN(given)
    model.learn(*rows(60))
    assert parse(dump(model)).config == plain


@each_network
@pytest.mark.parametrize("name", SWITCHES + CHOICES)
def test_every_choice_can_learn_and_predict(network: str, name: str) -> None:
    X, y = rows(120)
    others = [True, False] if name in SWITCHES else get_args(FIELDS[name].type)
    for value in others:
        config = Config(chunk_rows=30).replace(**{"network": network, name: value})
        model = DEVFNN(config)
        model.learn(X, y)
        model.learn(X, y)
        model.learn_rows(X, y)
        assert np.isfinite(model.predict_proba(X)).all()


@each_network
@pytest.mark.parametrize("name", NUMBERS)
def test_the_ends_of_every_range_can_learn_and_predict(network: str, name: str) -> None:
    X, y = rows(35 if name == "lags" else 120)  # the most lags are many features: slow
    about = FIELDS[name].metadata
    for value in (about["low"], about["high"]):
        if name == "initial_layers":
            value = min(value, 6)  # fifty layers are allowed, but slow
        rows_between = {} if name == "chunk_rows" else {"chunk_rows": 30}
        model = DEVFNN(config_of(network, **{name: value, **rows_between}))
        model.learn(X, y)
        model.learn(X, 1 - y)
        if name != "chunk_rows" or value < 1000:
            model.learn_rows(X, y)
        if name == "label_budget" and value == 0.0:
            assert model.n_labels_used == 0  # no label is taken, so nothing is learned
            continue
        assert np.isfinite(model.predict_proba(X)).all()
        assert_sound(model)


def test_kernel_settings_follow_the_configuration() -> None:
    settings = default(
        gaussian__vigilance=0.5, gaussian__tuning="off", voting__ballots="hard"
    ).kernel_settings(4)
    assert settings.log_vigilance == math.log(0.5)
    assert (settings.tuning, settings.soft_vote) == (0, False)
    assert settings.coverage.shape == (5,)
    assert not Config(pruning=False).kernel_settings(4).recall_rules
    assert not Config(layers=stack_of(1)).kernel_settings(4).plain_first


def test_radii_hold_the_share_of_a_gaussian_they_should() -> None:
    for share in (0.5, 0.9, 0.99):
        exact = stats.chi2.ppf(share, np.arange(1, 61))
        np.testing.assert_allclose(chi_square_radii(share, 60)[1:], exact, rtol=0.06)
        assert chi_square_radii(share, 60)[0] == 0.0
