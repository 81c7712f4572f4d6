"""Names, labels and files from anywhere: what they hold is told, and does nothing to a terminal."""

import io
import json
import logging
import pathlib
import re
import shutil

import numpy as np
import pytest

from devfnn import DEVFNN, presets
from devfnn.cli.errors import shown_errors
from devfnn.cli.output import OutputFile
from devfnn.formatting import printable

NASTY = [
    *("r\x1b]0;owned\x07", "c\x9b31m", "left\u202eright"),
    *("del\x7f", "back\x08\rward", "two\nlines"),
]
"""Names that retitle a terminal, colour it, turn the direction of writing, ring, go back."""

LABELS = ["up\x1b[2J", "down\x9b2J", "side\u2066ways"]

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What no output may hold, of characters that do something to a terminal; line ends may."""

SENT = re.compile("\x1b\\]|[\x07\x08\x7f-\x9f\u202e\u2066]")
"""The same where colours of our own are allowed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with such names and labels, a model of them, and results of a run."""
    folder = tmp_path_factory.mktemp("nasty")
    rng = np.random.default_rng(3)
    X = rng.random((600, len(NASTY)))
    y = np.array(LABELS)[(X[:, 0] > 0.4).astype(int) + (X[:, 1] > 0.7)]
    quoted = [f'"{name}"' for name in (*NASTY, "kind\x1b[1m")]
    rows = ([*(f"{value:.4f}" for value in x), label] for x, label in zip(X, y, strict=True))
    lines = [",".join(row) for row in rows]
    text = "\n".join([",".join(quoted), *lines]) + "\n"
    (folder / "rows\x1b]0;file\x07.csv").write_text(text, encoding="utf-8", newline="")
    (folder / "rows.csv").write_text(text, encoding="utf-8", newline="")
    (folder / "odd\x9b.csv").write_text(text + "1,2\n" + "\x1b[2Jx," * 6 + "z\n", encoding="utf-8")
    model = DEVFNN(presets.swift(), feature_names=NASTY)
    model.learn(X, y)
    model.save(folder / "model\x1b]0;m\x07.devfnn")
    (folder / "broken\x1b]0;m\x07.devfnn").write_text("{\x1b")
    (folder / "broken\x1b]0;m\x07.json").write_text('{"per_chunk": {}, "format": "\x1b\x9b"}')
    return folder


MODEL, ROWS, ODD = "model\x1b]0;m\x07.devfnn", "rows\x1b]0;file\x07.csv", "odd\x9b.csv"
WITH = ("--label", "kind\x1b[1m")
BROKEN = "broken\x1b]0;m\x07.devfnn"
SWIFT = ("--preset", "swift", "--chunk-rows", "100")
COMMANDS = {
    "inspect": ("inspect", MODEL),
    "predict": ("predict", MODEL, ROWS, *WITH, "--csv", "t.csv"),
    "explain": ("explain", MODEL, ROWS, *WITH),
    "learn": ("learn", MODEL, ROWS, *WITH, "--output", "new\x1b]0;m\x07"),
    "run": ("run", ROWS, *WITH, *SWIFT, "--json", "r\x1b]0;m\x07.json", "--report", "page.html"),
    "compare": ("compare", "--models", "logistic,rls", "--streams", ROWS, *WITH, "--output", "cmp"),
    "info": ("data", "info", ROWS, *WITH),
    "head": ("data", "head", ROWS, *WITH),
    "describe": ("data", "describe", ROWS, *WITH),
    "export": ("data", "export", ROWS, "e\x1b]0;m\x07.parquet", *WITH),
    "odd rows": ("run", ODD, *WITH, *SWIFT),
    "bad rows": ("run", ODD, *WITH, *SWIFT, "--with", "on_bad_row=skip"),
    "model that is none": ("inspect", BROKEN),
    "predicting with none": ("predict", BROKEN, ROWS),
    "result that is none": ("report", "broken\x1b]0;m\x07.json"),
    "figure of none": ("plot", "broken\x1b]0;m\x07.json"),
    "no such file": ("inspect", "no\x1b]0;m\x07"),
    "no such stream": ("run", "no\x1b]0;m\x07"),
    "no such option": ("run", "sea", "--no\x1b]0;m\x07"),
    "no such command": ("no\x1b]0;m\x07",),
    "no number": ("run", "sea", "--rows", "\x1b]0;m\x07\x9b"),
    "no parameter": ("run", "sea", "--set", "a\x1b]0;m\x07=\x9b"),
    "no such label": ("run", ROWS, "--label", "a\x1b]0;m\x07"),
    "no such figure": ("plot", "rows.csv", "--figure", "a\x1b]0;m\x07"),
    "no such weight": ("run", ROWS, *WITH, "--class-weights", "a\x1b]0;m\x07=2"),
    "other features": ("predict", MODEL, "rows.csv", "--with", "header=false"),
    "folder that is none": ("run", "sea", "--json", "no\x1b]0;m\x07/x"),
}


WORK = list(COMMANDS)[: list(COMMANDS).index("odd rows")]
"""Those that succeed."""


@pytest.fixture
def here(folder, tmp_path, monkeypatch, in_one_process):
    """A copy of the folder to work in."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_sends_what_it_read_to_the_terminal(invoke, name):
    result = invoke(*COMMANDS[name])
    assert (result.exit_code == 0) == (name in WORK or name == "bad rows"), result.output
    assert isinstance(result.exception, SystemExit | None)
    assert result.output.strip()
    assert not UNSEEN.findall(result.output)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_gets_no_colours_but_ours(invoke, name):
    result = invoke(*COMMANDS[name], env={"FORCE_COLOR": "1", "NO_COLOR": None, "TERM": "xterm"})
    assert isinstance(result.exception, SystemExit | None)
    assert not SENT.findall(result.output)


@pytest.mark.usefixtures("here")
def test_what_was_wrong_is_still_told(invoke):
    assert r"\x1b]0;m\x07" in invoke("run", "no\x1b]0;m\x07").output
    assert r"broken\x1b]0;m\x07.devfnn" in invoke("inspect", BROKEN).output
    assert r"left\u202eright" in invoke("inspect", MODEL).output


@pytest.mark.usefixtures("here")
def test_results_and_pages_of_such_names_can_be_shown_too(invoke):
    assert invoke(*COMMANDS["run"]).exit_code == 0
    assert json.loads(pathlib.Path("r\x1b]0;m\x07.json").read_text())["feature_names"] == NASTY
    for command in ("report", "plot", "table"):
        result = invoke(command, "r\x1b]0;m\x07.json")
        assert not UNSEEN.findall(result.output)
        assert isinstance(result.exception, SystemExit | None)
    # Pages are no terminals, but these characters may not stand in them either.
    assert not UNSEEN.findall(pathlib.Path("page.html").read_text(encoding="utf-8"))


class Terminal(io.StringIO):
    """Standard output of someone who looks at it."""

    def isatty(self):
        return True


def test_a_table_is_exact_in_a_pipe_and_printable_on_a_terminal():
    pipe, terminal = io.StringIO(), Terminal()
    for file in (pipe, terminal):
        OutputFile(file).add_row([*LABELS, None, 0.5])
    assert pipe.getvalue() == ",".join(LABELS) + ",,0.5\n"
    assert terminal.getvalue() == "up\\x1b[2J,down\\x9b2J,side\\u2066ways,,0.5\n"


def test_warnings_of_the_library_are_printable_too(capsys):
    with shown_errors():
        logging.getLogger("devfnn.streams.files.delimited").warning("%s: odd", "a\x1b[2J.csv")
    assert capsys.readouterr().err == "a\\x1b[2J.csv: odd\n"


def test_text_of_any_language_stays_as_it_is():
    for text in ("größe", "температура", "温度", "حرارة", "🌡", "a b", "\\x1b"):
        assert printable(text) == text
