"""The command line as a user calls it."""

import pytest
from typer.testing import CliRunner

from devfnn.cli import app


@pytest.fixture
def invoke():
    """Call the command line in a window of a fixed width."""
    runner = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})
    return lambda *arguments, **others: runner.invoke(app, [*map(str, arguments)], **others)
