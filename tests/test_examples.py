"""The examples and the README's code run, and say what they promise."""

import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

Run = Callable[[str], str]


@pytest.fixture
def run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Run:
    """Run code by itself in an empty folder and return what it prints; warnings are errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")

    def runs(code: str) -> str:
        capsys.readouterr()
        exec(compile(code, "example", "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out

    return runs


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: pathlib.Path, run: Run) -> None:
    code = path.read_text()
    assert len(code.splitlines()) <= 40
    assert run(code)


def python_blocks(page: str) -> list[str]:
    """The Python code of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_the_code_of_the_readme_runs(tmp_path: pathlib.Path, run: Run) -> None:
    first, *others = python_blocks("README.md")
    assert "RuleSplit" in run(first)
    assert (tmp_path / "power.devfnn").is_file()
    for block in others:
        run(block)


def test_the_code_of_the_page_on_streams_runs(run: Run) -> None:
    blocks = [block for block in python_blocks("docs/streams.md") if "download=False" not in block]
    assert len(blocks) == 3
    run("\n".join(blocks))


def test_the_code_of_the_page_on_evaluation_runs(
    tmp_path: pathlib.Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the figures of the report, which the example on evaluation draws the same way."""
    monkeypatch.setattr("devfnn.reports.run_report", lambda result: f"a page of {result['stream']}")
    (block,) = python_blocks("docs/evaluation.md")
    assert run(block)
    assert (tmp_path / "run.png").is_file()
    assert (tmp_path / "run.html").read_text() == "a page of sea"


def test_the_rules_of_the_readme_are_those_of_the_page_they_come_from() -> None:
    shown = re.findall(r"^IF .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    page = (ROOT / "docs/explaining.md").read_text()
    assert len(shown) == 3
    assert "\n".join(shown) in page


def test_the_readme_names_the_commands_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    readme = (ROOT / "README.md").read_text()
    for verb in re.findall(r"make (\w+)", readme):
        assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb


PAGES = [
    "README.md",
    "docs/evaluation.md",
    "docs/extending.md",
    "docs/start.md",
    "docs/streams.md",
]
"""Pages with commands."""


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_the_options_that_exist(page: str) -> None:
    from typer.main import get_command

    from devfnn.cli import app

    commands = get_command(app).commands
    for line in re.findall(
        r"^(?:.*\| )?devfnn ([a-z].*?)(?:  #.*)?$", (ROOT / page).read_text(), re.MULTILINE
    ):
        words = line.split()
        command = commands[words[0]]
        if words[0] == "data":
            command = command.commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
