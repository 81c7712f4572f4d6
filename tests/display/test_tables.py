"""What tables of results look like on a terminal."""

import io

import rich.console

from devfnn.display.tables import results_table, show_notes
from devfnn.experiments.rendering import Column, Table

COLUMNS = (
    Column("stream", "stream"),
    Column("system", "system"),
    Column("rate", "CR", spread="std", decimals=1, factor=100),
    Column("printed", "CR paper", factor=100, beside="rate"),
    Column("seeds", "± seeds"),
)


def shown(*rows, width=80, notes=()):
    """Lines that a console of this width shows, without empty ones."""
    table = Table("A table", COLUMNS, rows, notes=notes, section="stream")
    console = rich.console.Console(file=io.StringIO(), width=width)
    console.print(results_table(table))
    show_notes(table, console)
    return [line.strip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_published_values_stand_under_measured_ones():
    lines = shown(
        {"stream": "sea", "system": "ours", "rate": 0.917, "std": 0.05, "printed": 0.9},
        {"stream": "sea", "system": "theirs", "rate": None, "printed": 0.8},
        {"stream": "rbf", "system": "other", "rate": 0.5, "printed": None},
    )
    assert [line.split() for line in lines if "─" not in line] == [
        ["A", "table"],
        ["system", "CR"],
        ["sea"],
        ["ours", "91.7", "±", "5.0"],
        ["published", "90"],
        ["theirs,", "published", "80"],
        ["rbf"],
        ["other", "50.0"],
    ]


def test_details_are_left_out_where_there_is_little_room():
    columns = (Column("system", "system"), Column("rows", "rows", is_detail=True))
    table = Table("A table", columns, ({"system": "a", "rows": 7},))
    titles = [[each.header.plain for each in results_table(table, w).columns] for w in (80, 120)]
    assert titles == [["system"], ["system", "rows"]]


def test_a_column_is_shown_if_anything_is_in_it():
    assert "± seeds" in " ".join(shown({"stream": "sea", "system": "a", "rate": 1, "seeds": 2}))


def test_names_are_shown_as_they_are():
    lines = shown({"stream": "[/x]", "system": "[red]a", "rate": 1.0}, notes=["[b]note"])
    assert "[/x]" in lines
    assert any("[red]a" in line for line in lines)
    assert lines[-1] == "[b]note"


def test_on_a_narrow_terminal_numbers_fold_and_names_do_not():
    row = {"stream": "sea", "system": "a long name of a system", "rate": 0.9, "std": 0.1}
    lines = shown(row, width=34)
    assert any(line.startswith("a long name of a system") for line in lines)
    assert not any("90.0 ± 10.0" in line for line in lines)
