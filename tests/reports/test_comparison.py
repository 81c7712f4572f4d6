"""The report of a comparison: who is better, whether it may be chance, at what cost."""

import copy

import pytest

from devfnn.evaluation.ranking import rank
from devfnn.reports import comparison_report
from reports.made_results import made_comparison, ranked
from reports.parsed import Page, outside_references


@pytest.fixture
def undrawn(monkeypatch):
    """Leave figures out, where only the words matter."""
    monkeypatch.setattr("devfnn.reports.page.picture", lambda title, *data, **how: {"title": title})


def test_the_page_is_well_formed_and_needs_nothing_else(comparison_page):
    assert comparison_page.mistakes == comparison_page.open == []
    assert comparison_page.count("h1") == 1
    assert len(comparison_page.ids()) == len(set(comparison_page.ids()))
    assert outside_references(comparison_page.rawdata_all) == []
    targets = [about["href"][1:] for tag, about in comparison_page.elements if tag == "a"]
    assert set(targets) <= set(comparison_page.ids())


def test_accuracies_have_their_spread_over_seeds_and_their_rank(comparison_page, comparison):
    words = comparison_page.section("Accuracy")
    values = [
        cell["accuracy_mean"]
        for cell in comparison["cells"]
        if (cell["model"], cell["stream"]) == ("devfnn", "sea")
    ]
    assert f"sea {100 * sum(values) / 3:.2f} % ± " in words
    assert "rank 1" in words
    assert "mean rank 1.00 2.00" in words
    best = comparison_page.rawdata_all.count('<td class="number"><b>')
    assert best == len(comparison["streams"])


def test_the_tests_are_put_into_words(comparison_page):
    words = comparison_page.section("Statistical tests")
    assert "Friedman test over 8 streams: p = " in words
    assert "mean ranks that differ by 2.67 or more differ significantly, at 0.05." in words
    assert (
        "Groups of models that do not differ significantly: devfnn, gclass, pensemble; gclass"
        in words
    )
    assert "Critical difference" in words


def test_pairs_that_are_told_apart_are_marked(comparison_page, comparison):
    apart = [pair for pair in comparison["ranking"]["p_values"] if pair["p"] <= 0.05]
    assert apart
    assert comparison_page.rawdata_all.count("<mark>") == 2 * len(apart)  # each pair stands twice


def test_costs_and_courses_are_there(comparison_page, comparison):
    assert "devfnn 2,000 3 s 7 s 90.0 kB 40.0 % 11.0 3.0" in comparison_page.section("Cost")
    assert "Accuracy against speed" in comparison_page.text
    courses = comparison_page.section("Accuracy over time")
    for stream in comparison["streams"]:
        assert f"{stream} Mean over the latest chunks and over seeds." in courses
    assert comparison_page.count("svg") == 2 + len(comparison["streams"])
    assert "Left out" not in comparison_page.text


def test_speed_counts_long_runs_by_their_length_and_the_size_is_the_largest(undrawn):
    data = made_comparison(models=("a",), streams=("sea", "rfid"), seeds=(0,))
    for cell, rows, size in zip(data["cells"], (1000, 9000), (10, 30), strict=True):
        cell |= {"rows": rows, "rows_per_second": float(rows), "model_bytes": size}
    assert "a 5,000 3 s 7 s 30 bytes" in Page(comparison_report(data)).section("Cost")
    for cell in data["cells"]:
        cell |= {"rows_per_second": None}
    assert "a - 3 s 7 s 30 bytes" in Page(comparison_report(data)).section("Cost")


def test_settings_that_all_runs_share_are_listed(comparison_page):
    settings = comparison_page.section("Settings")
    assert "models devfnn, gclass" in settings
    assert "seeds 0, 1, 2" in settings
    assert "chunk_rows 500" in settings


def test_without_single_runs_the_curves_are_left_out_with_a_word(comparison, undrawn):
    page = Page(comparison_report(comparison))
    assert "The results of the single runs are not in the folder of the comparison." in page.text


def test_without_a_ranking_the_report_says_what_it_takes(undrawn):
    page = Page(comparison_report(made_comparison(streams=("sea",))))
    assert "A ranking needs two models or more" in page.text
    assert "rank 1" in page.section("Accuracy")


def test_models_that_do_not_differ_are_said_not_to(undrawn):
    scores = {"a": [1.0, 2, 3], "b": [2.0, 3, 1], "c": [3.0, 1, 2]}
    data = made_comparison(models=("a", "b", "c")) | {"ranking": rank(scores).to_dict()}
    words = Page(comparison_report(data)).section("Statistical tests")
    assert "Friedman test over 3 streams: p = 1." in words
    assert "Groups of models that do not differ significantly: a, b, c." in words


def test_two_models_are_compared_directly(undrawn):
    page = Page(comparison_report(ranked(made_comparison(models=("a", "b")))))
    assert "Friedman" not in page.text
    assert "p-values of pairs, adjusted (signed ranks, corrected by Holm)" in page.text
    assert "All pairs differ significantly." in page.text


def test_a_missing_run_leaves_a_gap_and_is_remarked(undrawn):
    data = made_comparison(models=("a", "b"), streams=("sea", "rfid"), seeds=(0,))
    data["cells"] = data["cells"][1:]
    page = Page(comparison_report(data))
    assert "1 of the pairs of model and stream have no accuracy" in page.text
    assert "sea - " in page.section("Accuracy")


def test_text_from_the_data_is_never_markup():
    hostile = "<img src=x onerror=alert(1)>$"
    data = ranked(made_comparison(models=(hostile, "b", "c"), streams=(hostile, "sea", "rfid")))
    page = Page(comparison_report(data | {"command": hostile}))
    assert page.mistakes == []
    assert page.count("img") == 0
    assert hostile in page.text


def test_the_same_comparison_gives_the_same_page(comparison):
    assert comparison_report(comparison) == comparison_report(copy.deepcopy(comparison))
