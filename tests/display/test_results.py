"""Tables of results: a run, a comparison of models, the tables of the paper."""

import dataclasses
import re

import numpy as np
import pytest

from devfnn.display.results import (
    MOST_CLASSES,
    MOST_CONCEPTS,
    class_table,
    drift_table,
    ranking_lines,
    result_table,
    results_table,
)
from devfnn.evaluation.measures import Tally
from devfnn.evaluation.ranking import rank
from devfnn.evaluation.results import run_record
from devfnn.experiments.rendering import Column, Table
from devfnn.formatting import detection_line
from display import made
from display.made import drift, shown

# ---- a run


def tally(n_right=90, n_wrong=10):
    """Scores of a chunk without probabilities."""
    confusion = np.array([[n_right // 2, n_wrong], [0, n_right - n_right // 2]])
    return Tally(confusion, np.zeros(5), np.zeros((3, 10)))


def results(*drifting):
    """Ten chunks with their scores."""
    return made.results(*drifting, tally=tally())


def result_of(run, **others):
    """The result as plain data."""
    record = run_record(run, classes=["up", "down"])
    return record | {"model_bytes": 12_345} | others


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
    assert line.split()[-1] == "-"


def test_the_drift_table_puts_findings_under_their_concept():
    text = shown(drift_table(results(4, 5, 9), [450, 600], 1000))
    rows = [line.split(maxsplit=1) for line in text.splitlines() if re.match(r" *\d", line)]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["0", "-"],
        ["450", "500, 600"],
        ["600", "1,000"],
    ]


def test_drift_within_a_chunk_is_put_where_it_was_found():
    run = results()
    run[4] = dataclasses.replace(run[4], events=drift(410) + drift(470))
    text = shown(drift_table(run, [450], 1000))
    rows = [line.split() for line in text.splitlines() if re.match(r" *\d", line)]
    assert rows == [["0", "410"], ["450", "470"]]


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


def test_without_known_concepts_the_stream_is_one():
    text = shown(drift_table(results(3, 7), (), 1000))
    assert [line.split() for line in text.splitlines() if "400" in line] == [["0", "400,", "800"]]


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


# ---- a comparison of models


def test_too_few_for_ranks_is_told():
    assert "Ranks need two models or more" in ranking_lines({"ranking": None})[0]


def test_the_tests_are_told_in_sentences():
    scores = {"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.1, 0.2, 0.3]}
    text = " ".join(ranking_lines({"ranking": rank(scores).to_dict()}))
    assert "Friedman test over 3 streams: p = 0.0498" in text
    assert "Nemenyi: mean ranks that differ by 1.91 or more differ significantly, at 0.05" in text
    other = rank(scores, post_hoc="wilcoxon-holm").to_dict()
    text = " ".join(ranking_lines({"ranking": other}))
    assert "Friedman test" in text
    assert "Wilcoxon's test of all pairs" in text
    assert "Nemenyi" not in text


# ---- tables of experiments

COLUMNS = (
    Column("stream", "stream"),
    Column("system", "system"),
    Column("rate", "CR", spread="std", decimals=1, factor=100),
    Column("printed", "CR paper", factor=100, beside="rate"),
    Column("seeds", "± seeds"),
)


def lines_of_table(*rows, width=80):
    """Lines that a console of this width shows, without empty ones."""
    table = Table("A table", COLUMNS, rows, section="stream")
    text = shown(results_table(table), width=width)
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_published_values_stand_under_measured_ones():
    lines = lines_of_table(
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
    assert "± seeds" in " ".join(
        lines_of_table({"stream": "sea", "system": "a", "rate": 1, "seeds": 2})
    )


def test_names_in_tables_are_shown_as_they_are():
    lines = lines_of_table({"stream": "[/x]", "system": "[red]a", "rate": 1.0})
    assert "[/x]" in lines
    assert any("[red]a" in line for line in lines)


def test_on_a_narrow_terminal_numbers_fold_and_names_do_not():
    row = {"stream": "sea", "system": "a long name of a system", "rate": 0.9, "std": 0.1}
    lines = lines_of_table(row, width=34)
    assert any(line.startswith("a long name of a system") for line in lines)
    assert not any("90.0 ± 10.0" in line for line in lines)


# ---- classes


def classes(*rows):
    """Figures of classes of so many rows."""
    figures = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3}
    return [{"name": f"class {k}", "support": each} | figures for k, each in enumerate(rows)]


def test_classes_are_shown_with_the_rarest_first():
    text = shown(class_table({"per_class": classes(900, 0, 100)}))
    assert re.search(r"class 2 +50.00 % +25.00 % +33.33 % +100 *\n", text)
    assert text.index("class 2") < text.index("class 0")
    assert "class 1" not in text


def test_of_very_many_classes_the_rarest_are_shown():
    text = shown(class_table({"per_class": classes(*range(1, MOST_CLASSES + 4))}))
    assert "3 more, with more rows" in text
    assert f"class {MOST_CLASSES - 1} " in text
    assert f"class {MOST_CLASSES} " not in text


# ---- ranks by other measures


def test_what_ranks_are_by_is_said_unless_it_is_accuracy():
    found = rank({"a": [0.9, 0.8], "b": [0.7, 0.6], "c": [0.5, 0.4]}).to_dict()
    usual, other = (ranking_lines({"ranking": found, "measure": m}) for m in ("accuracy", "brier"))
    assert other == ["Ranks are by brier", *usual]
    (line,) = ranking_lines({"ranking": None, "measure": "log_loss"})
    assert line.endswith("all runs finished, with log_loss.")
