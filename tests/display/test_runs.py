"""What a run looks like, on a terminal and elsewhere."""

import dataclasses
import io

import pytest
import rich.console

from devfnn.display import drift_table, result_table, watched
from devfnn.display.runs import MOST_CONCEPTS
from devfnn.evaluation import ChunkResult
from devfnn.events import DriftFound

DRIFT = (DriftFound(100, 0.1, 0.3, 0.1, 50),)


def results(*drifting):
    """Ten chunks of 100 rows, all but the first predicted with 90 right."""
    return [
        ChunkResult(
            index=index,
            chunk_rows=100,
            n_rows=100 * (index + 1),
            n_correct=90 if index else None,
            n_scored=100 if index else 0,
            events=DRIFT if index in drifting else (),
            seconds_predict=0.01,
            seconds_learn=0.04,
            n_rules=3,
            n_layers=2,
        )
        for index in range(10)
    ]


def console(is_terminal=False):
    """A console that writes into memory."""
    return rich.console.Console(file=io.StringIO(), width=100, force_terminal=is_terminal)


def shown(console, thing):
    """What a console shows for something."""
    console.print(thing)
    return console.file.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_watching_passes_every_result_on(is_terminal):
    run = results()
    screen = console(is_terminal)
    assert list(watched(iter(run), 1000, screen)) == run
    text = screen.file.getvalue()
    assert "accuracy 90.00 %  layers 2  rules 3  drift -  2,000 rows/s" in text
    assert ("100%" in text) == is_terminal


def test_plain_lines_tell_the_last_drift():
    screen = console()
    list(watched(results(3), 1000, screen))
    lines = screen.file.getvalue().splitlines()
    assert len(lines) == 10
    assert "drift -" in lines[2]
    assert all("drift 400" in line for line in lines[3:])


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_last_chunk_without_rows_is_passed_on_and_changes_no_number(is_terminal):
    last = dataclasses.replace(
        results()[-1], index=10, chunk_rows=0, n_correct=None, n_scored=0, seconds_predict=0.0
    )
    screen = console(is_terminal)
    run = [*results(), last]
    assert list(watched(iter(run), 1000, screen)) == run
    if not is_terminal:
        assert len(screen.file.getvalue().splitlines()) == 10
    assert "90.00 % ± 0.00 %" in shown(console(), result_table(run, "A run"))


def test_accuracy_is_shown_over_the_scored_rows():
    run = [dataclasses.replace(each, n_scored=each.n_scored * 2) for each in results()]
    text = shown(console(), result_table(run, "A run"))
    assert "45.00 % ± 0.00 %" in text
    assert "90.00 %" not in text


def test_the_result_table_holds_the_numbers():
    text = shown(console(), result_table(results(3, 4), "A run"))
    for part in ("A run", "90.00 % ± 0.00 %", "3.00 (3)", "2.00 (2)", "DriftFound 2", "2,000"):
        assert part in text
    assert "labels" not in text


def test_the_drift_table_puts_findings_under_their_concept():
    text = shown(console(), drift_table(results(4, 5, 9), [450, 600], 1000))
    rows = [
        [cell.strip() for cell in line.strip("│\n").split("│")]
        for line in text.splitlines()
        if line.startswith("│")
    ]
    assert rows == [["0", "-"], ["450", "500, 600"], ["600", "1,000"]]


def test_concepts_beyond_the_end_of_a_run_are_left_out():
    text = shown(console(), drift_table(results(4), [450, 1000, 1500], 1000))
    assert "450" in text
    assert "1,500" not in text


def test_of_very_many_concepts_the_rest_is_counted():
    text = shown(console(), drift_table(results(4, 8), range(10, 1000, 10), 1000))
    assert "60 more" in text
    assert "2 more" in text
    assert len(text.splitlines()) < MOST_CONCEPTS + 10


def test_without_a_known_length_rows_are_counted_on_a_terminal():
    screen = console(is_terminal=True)
    list(watched(results(), None, screen))
    assert "1,000 rows" in screen.file.getvalue()


def test_the_title_of_a_run_is_shown_as_it_is():
    assert "on [/x].csv" in shown(console(), result_table(results(), "on [/x].csv"))


def test_without_known_concepts_only_what_was_found_is_shown():
    console = rich.console.Console(file=io.StringIO(), width=80)
    console.print(drift_table(results(3, 7), (), 1000))
    shown = console.file.getvalue()
    assert "new concept" not in shown
    assert "400, 800" in shown


def test_a_slow_run_of_unknown_length_is_not_silent(monkeypatch):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("devfnn.display.runs.time.monotonic", lambda: next(clock))
    console = rich.console.Console(file=io.StringIO(), width=120)
    list(watched(iter(results()[:5]), None, console))
    assert console.file.getvalue().count("rows/s") >= 2
