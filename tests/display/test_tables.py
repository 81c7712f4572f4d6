"""Text shown as it is."""

import pytest

from devfnn.display.tables import literal, title
from display.made import shown


@pytest.mark.parametrize(
    "text", ["[/x]", "speed [m/s]", "[bold]", ":smile:", "[", "a\nb", "ä 日本"]
)
@pytest.mark.parametrize("made", [literal, title])
def test_a_text_is_shown_as_it_is(made, text):
    assert shown(made(text)) == f"{text}\n"


def test_control_characters_are_shown_and_not_obeyed():
    assert literal("a\x1b[2J\tb\r").plain == r"a\x1b[2J\tb\r"
