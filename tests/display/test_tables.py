"""Text shown as it is."""

import pytest

from devfnn.display.tables import literal, text_table
from display.made import shown


@pytest.mark.parametrize(
    "text", ["[/x]", "speed [m/s]", "[bold]", ":smile:", "[", "a\nb", "ä 日本"]
)
def test_a_text_is_shown_as_it_is(text):
    assert shown(literal(text)) == f"{text}\n"


def test_control_characters_are_shown_and_not_obeyed():
    assert literal("a\x1b[2J\tb\r").plain == r"a\x1b[2J\tb\r"


def test_columns_of_numbers_are_at_the_right_and_empty_ones_left_out():
    lines = [("a [b]", "1,234", "", None), ("b", "< 0.1 %", "2.0 kB", None), ("c", "-", "+ 3", "")]
    table = text_table("Title [x]", ("name", "share", "size", "nothing"), lines)
    assert [column.justify for column in table.columns] == ["left", "right", "right"]
    assert "a [b]" in shown(table) and "Title [x]" in shown(table)
    assert "nothing" not in shown(table)
