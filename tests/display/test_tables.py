"""Text shown as it is."""

import io

import pytest
import rich.console

from devfnn.display.tables import literal, title


@pytest.mark.parametrize(
    "text", ["[/x]", "speed [m/s]", "[bold]", ":smile:", "[", "a\nb", "ä 日本"]
)
@pytest.mark.parametrize("made", [literal, title])
def test_a_text_is_shown_as_it_is(made, text):
    console = rich.console.Console(file=io.StringIO(), width=80)
    console.print(made(text))
    assert console.file.getvalue() == f"{text}\n"


def test_control_characters_are_shown_and_not_obeyed():
    assert literal("a\x1b[2J\tb\r").plain == r"a\x1b[2J\tb\r"
