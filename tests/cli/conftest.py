"""The command line as a user calls it."""

import functools
from collections.abc import Iterator

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from devfnn.cli import app


@pytest.fixture(scope="session", autouse=True)
def _options_are_read_once() -> Iterator[None]:
    """Typer's runner would put all commands and their options together for every call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", functools.cache(get_command), raising=False)
        yield


@pytest.fixture
def invoke():
    """Call the command line in a window of a fixed width."""
    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})
    return lambda *arguments, **others: runner.invoke(app, [*map(str, arguments)], **others)
