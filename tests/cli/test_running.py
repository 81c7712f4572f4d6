"""The command that was typed, as it can be typed again."""

import shlex

import pytest
import typer.main

from devfnn.cli import app
from devfnn.cli.running import typed_command


def typed(name, *words, **how):
    """What comes back of a command that was typed; it is not run."""
    command = typer.main.get_command(app).commands[name]
    return typed_command(command.make_context(f"devfnn {name}", list(words)), **how)


def test_what_was_typed_comes_back_less_the_defaults():
    assert typed("run") == "devfnn run"
    assert typed("run", "led", "--seed", "0") == "devfnn run led --seed 0"
    assert typed("run", "--by-row", "led") == "devfnn run led --by-row"
    assert typed("compare", "--models", "rls,logistic") == "devfnn compare --models rls,logistic"


def test_values_come_back_as_they_can_be_typed():
    words = ["--preset", "static", "--hide-labels", "0.25", "--holdout", "3", "--data-dir", "."]
    assert shlex.split(typed("run", "sea", *words)) == [
        *("devfnn", "run", "sea", "--preset", "static", "--data-dir", "."),
        *("--hide-labels", "0.25", "--holdout", "3"),
    ]


def test_options_that_are_repeated_come_back_all():
    words = ["--set", "max_rules=2", "--set", "vote=hard", "--with", "noise=0.1"]
    assert typed("run", *words) == "devfnn run --with noise=0.1 --set max_rules=2 --set vote=hard"


@pytest.mark.parametrize("name", ["my file.csv", "it's.csv", "a$b.csv", "größe;rm.csv", "*"])
def test_odd_names_are_quoted_for_the_shell(name):
    command = typed("run", name, "--with", f"delimiter= {name}")
    assert shlex.split(command) == ["devfnn", "run", name, "--with", f"delimiter= {name}"]


@pytest.mark.parametrize("name", ["-x.csv", "--rows"])
def test_a_name_that_looks_like_an_option_comes_last(name):
    command = typed("run", "--rows", "5", "--", name, flags=("--resume",))
    assert command == f"devfnn run --rows 5 --resume -- {name}"
    assert typed(*shlex.split(command)[1:]) == f"devfnn run --rows 5 -- {name}"


def test_a_pipe_is_named_where_it_was():
    assert typed("run", "-", "--rows", "5") == "devfnn run - --rows 5"


OUTPUTS = [
    *("--json", "a b.json", "--csv", "b.csv", "--report", "c.html", "--save", "d.model"),
    *("--checkpoint", "e", "--resume", "--quiet"),
]


def test_outputs_are_left_out_since_the_result_does_not_depend_on_them():
    assert typed("run", "sea", *OUTPUTS, "--seed", "3") == "devfnn run sea --seed 3"
    words = ["--output", "folder", "--json", "a.json", "--csv", "b.csv", "--quiet"]
    assert typed("compare", *words, "--seeds", "2") == "devfnn compare --seeds 2"


def test_outputs_are_kept_to_go_on():
    command = typed("run", "sea", *OUTPUTS, with_outputs=True)
    assert sorted(shlex.split(command)) == sorted(["devfnn", "run", "sea", *OUTPUTS])


def test_flags_are_added_once():
    for words in (["--checkpoint", "x"], ["--checkpoint", "x", "--resume"], ["--resume"]):
        command = typed("run", *words, "--json", "y", with_outputs=True, flags=("--resume",))
        assert shlex.split(command).count("--resume") == 1


def test_what_comes_back_can_be_typed_and_comes_back_again():
    first = typed("run", "my file.csv", *OUTPUTS, "--set", "vote=hard", with_outputs=True)
    assert typed(*shlex.split(first)[1:], with_outputs=True) == first
