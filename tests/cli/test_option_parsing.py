"""Options of streams as texts: each becomes what its type hint says, or is refused."""

from collections.abc import Hashable, Mapping, Sequence

import pytest

from devfnn.cli.option_parsing import form, parse_options, parse_parameters
from devfnn.errors import InputError
from devfnn.streams.generators.catalogue import GENERATORS
from devfnn.streams.opening import option_types

Column = str | int
Shares = Mapping[Hashable, float | tuple[float, float]] | None


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("drift.significance=1e-6", "drift__significance", 1e-6),
        ("drift__every=1e2", "drift__every", 100),
        ("drift.horizon=None", "drift__horizon", None),
        ("scaling=none", "scaling", "none"),
        ("clouds=none", "clouds", None),
        ("merging=false", "merging", None),
        ("feature_mask=true", "feature_mask", {}),
        ("voting=equal", "voting", {"form": "equal"}),
        ("clouds=many", "clouds", "many"),
    ],
)
def test_parameters_of_sections_may_have_a_dot(text, name, value):
    assert parse_parameters([text]) == parse_parameters([text], "devfnn@paper") == {name: value}


def test_parameters_of_other_models_are_theirs():
    assert parse_parameters(["merging=false", "a.b=none"], "dsscn") == {
        "merging": False,
        "a.b": "none",
    }


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (int, "1e3", 1000),
        (int, "-7", -7),
        (float, "2", 2),
        (float, ".5", 0.5),
        (bool, "True", True),
        (bool | None, "none", None),
        (str, "1,5", "1,5"),
        (str, "none", "none"),
        (str | None, "None", None),
        (str | None, ",", ","),
        (str | None, r"\t", "\t"),
        (str | None, " ", " "),
        (str | None, "true", "true"),
        (str | None, "2", "2"),
        (Column | None, "2", 2),
        (Column | None, "-1", -1),
        (Column | None, "when", "when"),
        (Column | None, "none", None),
        (int | Sequence[int], "5", 5),
        (int | Sequence[int], "5,6", [5, 6]),
        (str | Sequence[str], "gradual", "gradual"),
        (str | Sequence[str], "gradual,gradual", ["gradual", "gradual"]),
        (Sequence[float], "4", [4]),
        (Sequence[float], "4, 7.5", [4, 7.5]),
        (Sequence[str] | None, "1,true,x y", ["1", "true", "x y"]),
        (Sequence[str] | None, "none", None),
        (Sequence[str], '"a,b",c', ["a,b", "c"]),
        (Sequence[str], ",?", ["", "?"]),
        (Sequence[Column], "a,0", ["a", 0]),
        (Sequence[tuple[float, float]], "2.2:0,2.5:-4", [(2.2, 0), (2.5, -4)]),
        (Shares, "1:0.05", {1: 0.05}),
        (Shares, "1:0.05..0.25,x:.5", {1: (0.05, 0.25), "x": 0.5}),
        (Shares, "none", None),
        (Mapping[Column, Sequence[str]], "a:x|y,0:z", {"a": ["x", "y"], 0: ["z"]}),
        (Mapping[Column, Sequence[str]], "at:9:00|10:00", {"at": ["9:00", "10:00"]}),
    ],
)
def test_a_text_becomes_what_the_hint_says(hint, text, value):
    found = parse_options([f"option={text}"], {"option": hint})["option"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("hint", "text", "takes"),
    [
        (int, "2.5", "INTEGER"),
        (int, "true", "INTEGER"),
        (int, "1e30", "INTEGER"),
        (float, "inf", "NUMBER"),
        (bool | None, "1", "true or false or none"),
        (int | Sequence[int], "5,x", "INTEGER or INTEGER,..."),
        (Sequence[float], "4,,5", "NUMBER,..."),
        (Sequence[tuple[float, float]], "2.2:0:1", "NUMBER:NUMBER,..."),
        (Sequence[tuple[float, float]], "2.2", "NUMBER:NUMBER,..."),
        (Shares, "0.05", "LABEL:NUMBER,... or LABEL:NUMBER..NUMBER,... or none"),
        (Shares, "1:0.05..0.1..0.2", "LABEL:NUMBER,... or LABEL:NUMBER..NUMBER,... or none"),
        (Mapping[Column, Sequence[str]], "a", "TEXT:TEXT|...,..."),
    ],
)
def test_a_text_that_does_not_fit_is_refused_with_the_form(hint, text, takes):
    with pytest.raises(InputError) as caught:
        parse_options([f"option={text}"], {"option": hint})
    assert str(caught.value) == f"option takes {takes}, not {text!r}"


def test_lists_may_be_given_in_pieces_and_other_things_once():
    hints = {"names": Sequence[str], "noise": float}
    assert parse_options(["names=a", "names=b,c"], hints) == {"names": ["a", "b", "c"]}
    with pytest.raises(InputError, match="noise is given twice"):
        parse_options(["noise=0.1", "noise=0.1"], hints)


@pytest.mark.parametrize("name", [*GENERATORS, "kdd99", "-"])
def test_every_option_of_every_stream_has_a_form(name):
    for option, hint in option_types(name).items():
        assert form(hint), option
        assert "typing" not in form(hint)
