"""The numbers of a comparison, and what makes it weaker than it looks."""

import pytest

from devfnn.evaluation.ranking import rank
from devfnn.reports.comparison import remarks, standing_values
from reports.made_results import made_comparison, made_results_of

PAIR = {"models": ("a", "b"), "streams": ("sea", "rfid")}


def said(comparison, results=()):
    return " ".join(remarks(comparison, results))


def test_ties_share_the_mean_of_their_ranks():
    comparison = made_comparison(models=("a", "b", "c"), streams=("sea",), seeds=(0,))
    for cell, score in zip(comparison["cells"], (0.7, 0.9, 0.9), strict=True):
        cell["accuracy_mean"] = score
    assert [row["rank"] for row in standing_values(comparison)] == [3.0, 1.5, 1.5]


def test_a_stream_with_a_gap_has_no_ranks():
    comparison = made_comparison(**PAIR, seeds=(0,))
    comparison["cells"][0]["accuracy_mean"] = None
    by_place = {(row["stream"], row["model"]): row for row in standing_values(comparison)}
    assert by_place["sea", "a"]["mean"] is by_place["sea", "b"]["rank"] is None
    assert by_place["rfid", "b"]["rank"] == 2.0
    assert "1 of the pairs of model and stream have no accuracy" in said(comparison)


def test_a_fair_comparison_has_no_remarks():
    comparison = made_comparison(models=("gclass", "arf"))
    assert said(comparison, made_results_of(comparison, n_chunks=4)) == ""


def test_one_seed_is_remarked():
    assert "only one seed" in said(made_comparison(**PAIR, seeds=(4,)))


@pytest.mark.parametrize("key", ["rows", "chunks"])
def test_runs_of_different_length_are_remarked(key):
    comparison = made_comparison(**PAIR)
    comparison["cells"][0][key] += 1
    assert f"Runs on sea differ in their number of {key}" in said(comparison)


def test_different_shares_of_labels_are_remarked():
    assert "shares of the labels, 40 % to 100 %" in said(made_comparison())


def test_streams_too_few_for_the_tests_are_remarked():
    few = {"a": [3.0, 3], "b": [2.0, 2], "c": [1.0, 1]}
    comparison = made_comparison(models=tuple(few))
    hopeless = said(comparison | {"ranking": rank(few).to_dict()})
    assert "With 2 streams no pair can differ significantly" in hopeless
    five = {name: [*scores, *scores, scores[0]] for name, scores in few.items()}
    signed = rank(five, post_hoc="wilcoxon-holm")
    assert min(signed.p_values.values()) > 0.05
    assert "With 5 streams no pair can differ significantly" in said(
        comparison | {"ranking": signed.to_dict()}
    )
    weak = said(comparison | {"ranking": rank(five).to_dict()})
    assert "With 5 streams the tests find only large differences" in weak
    many = {name: scores * 5 for name, scores in few.items()}
    assert "streams the tests" not in said(comparison | {"ranking": rank(many).to_dict()})


def test_runs_that_were_made_differently_are_remarked():
    comparison = made_comparison(**PAIR, seeds=(0,))
    results = made_results_of(comparison, n_chunks=4)
    results[2]["settings"] = results[2]["settings"] | {"hide_labels": 0.5}
    results[0]["settings"] = results[0]["settings"] | {"hide_labels": 0.0}
    text = said(comparison, results)
    assert "same stream and seed differ in their settings: hide_labels." in text


def test_ranks_are_by_the_measure_of_the_comparison():
    comparison = made_comparison(models=("a", "b", "c"), streams=("sea",), seeds=(0,))
    for cell, loss, kappa in zip(
        comparison["cells"], (0.4, 0.2, 0.3), (0.1, 0.3, 0.2), strict=True
    ):
        cell |= {"log_loss": loss, "kappa": kappa}
    for measure in ("log_loss", "kappa"):
        rows = standing_values(comparison | {"measure": measure})
        assert [row["rank"] for row in rows] == [3.0, 1.0, 2.0]
        assert [row["mean"] for row in rows] == [cell[measure] for cell in comparison["cells"]]
    comparison["cells"][0]["log_loss"] = None
    assert "have no log loss" in said(comparison | {"measure": "log_loss"})
