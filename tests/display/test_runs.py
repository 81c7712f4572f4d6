"""What a run comes to, in tables."""

import dataclasses
import io

import numpy as np
import pytest
import rich.console

from devfnn.display import detection_line, drift_table, result_table
from devfnn.display.runs import MOST_CONCEPTS
from devfnn.evaluation import ChunkResult
from devfnn.evaluation.measures import Tally
from devfnn.evaluation.record import run_record
from devfnn.events import DriftFound


def drift(row):
    """Drift that was found when so many rows had come."""
    return (DriftFound(row, 0.1, 0.3, 0.1, 50),)


def results(*drifting):
    """Ten chunks of 100 rows, all but the first predicted with 90 right."""
    return [
        ChunkResult(
            index=index,
            chunk_rows=100,
            n_rows=100 * (index + 1),
            n_correct=90 if index else None,
            n_scored=100 if index else 0,
            events=drift(100 * (index + 1)) if index in drifting else (),
            seconds_predict=0.01,
            seconds_learn=0.04,
            n_rules=3,
            n_layers=2,
            tally=tally() if index else None,
        )
        for index in range(10)
    ]


def tally(n_right=90, n_wrong=10):
    """Scores of a chunk without probabilities."""
    confusion = np.array([[n_right // 2, n_wrong], [0, n_right - n_right // 2]])
    return Tally(confusion, np.zeros(5), np.zeros((3, 10)))


def result_of(run, **others):
    """The result as plain data."""
    record = run_record(run, classes=["up", "down"])
    return record | {"model_bytes": 12_345} | others


def console():
    """A console that writes into memory."""
    return rich.console.Console(file=io.StringIO(), width=100)


def shown(thing):
    """What a console shows for something."""
    screen = console()
    screen.print(thing)
    return screen.file.getvalue()


def test_a_last_chunk_without_rows_changes_no_number():
    last = dataclasses.replace(
        results()[-1], index=10, chunk_rows=0, n_correct=None, n_scored=0, tally=None
    )
    assert "90.00 % ± 0.00 %" in shown(result_table(result_of([*results(), last]), "A run"))


def test_accuracy_is_shown_over_the_scored_rows():
    run = [
        dataclasses.replace(each, n_scored=200, tally=tally(90, 110)) if each.n_scored else each
        for each in results()
    ]
    text = shown(result_table(result_of(run), "A run"))
    assert "45.00 % ± 0.00 %" in text
    assert "90.00 %" not in text


def test_the_result_table_holds_the_numbers():
    text = shown(result_table(result_of(results(3, 4)), "A run"))
    for part in ("A run", "90.00 % ± 0.00 %", "3.00 (3)", "2.00 (2)", "DriftFound 2", "2,000"):
        assert part in text
    for part in ("kappa, kappa M", "precision, recall, F1", "balanced accuracy", "12.3 kB"):
        assert part in text
    assert "labels used" not in text or "0.00 %" in text
    assert "log-loss" not in text  # there were no probabilities


def test_labels_and_probabilities_are_shown_where_there_are_any():
    result = result_of(results(), labels_used=250, label_fraction=0.25)
    result |= {"log_loss": 0.25, "brier": 0.125, "calibration_error": 0.0625}
    text = shown(result_table(result, "A run"))
    assert "250 of 1,000, 25.00 %" in text
    assert "0.2500, 0.1250, 0.0625" in text


def test_a_model_without_rules_has_no_lines_for_them():
    run = [dataclasses.replace(each, n_rules=None, n_layers=None) for each in results()]
    text = shown(result_table(result_of(run, model_bytes=None), "A run"))
    for part in ("rules", "layers", "events"):
        assert part not in text
    assert "model size" in text


def test_a_run_of_one_chunk_has_no_accuracy():
    text = shown(result_table(result_of(results()[:1]), "A run"))
    line = next(line for line in text.splitlines() if "mean ± std" in line)
    assert line.strip("│ ").split("│")[1].strip() == "-"


def test_the_drift_table_puts_findings_under_their_concept():
    text = shown(drift_table(results(4, 5, 9), [450, 600], 1000))
    rows = [
        [cell.strip() for cell in line.strip("│\n").split("│")]
        for line in text.splitlines()
        if line.startswith("│")
    ]
    assert rows == [["0", "-"], ["450", "500, 600"], ["600", "1,000"]]


def test_drift_within_a_chunk_is_put_where_it_was_found():
    run = results()
    run[4] = dataclasses.replace(run[4], events=drift(410) + drift(470))
    text = shown(drift_table(run, [450], 1000))
    rows = [line.strip("│").split("│")[1].strip() for line in text.splitlines() if line[0] == "│"]
    assert rows == ["410", "470"]


def test_concepts_beyond_the_end_of_a_run_are_left_out():
    text = shown(drift_table(results(4), [450, 1000, 1500], 1000))
    assert "450" in text
    assert "1,500" not in text


def test_of_very_many_concepts_the_rest_is_counted():
    text = shown(drift_table(results(4, 8), range(10, 1000, 10), 1000))
    assert "60 more" in text
    assert "2 more" in text
    assert len(text.splitlines()) < MOST_CONCEPTS + 10


def test_the_title_of_a_run_is_shown_as_it_is():
    assert "on [/x].csv" in shown(result_table(result_of(results()), "on [/x].csv"))


def test_without_known_concepts_only_what_was_found_is_shown():
    text = shown(drift_table(results(3, 7), (), 1000))
    assert "new concept" not in text
    assert "400, 800" in text


@pytest.mark.parametrize(
    ("delay", "sentence"),
    [
        (430.4, "Of 1,200 true drifts 2 were found, after 430 rows on average; 4 false alarms."),
        (None, "Of 1,200 true drifts 2 were found; 4 false alarms."),
    ],
)
def test_how_well_drift_was_found_is_a_sentence(delay, sentence):
    found = {"drifts": 1200, "found": 2, "missed": 1, "false_alarms": 4, "delay_mean": delay}
    assert detection_line(found) == sentence
