"""Unequal classes, and runs that say in words that they are of little use."""

from typing import Any

import numpy as np
import pytest

from devfnn import DEVFNN, Config
from devfnn.baselines.registry import make_model
from devfnn.evaluation.classes import are_unequal, cautions
from devfnn.experiments import evaluate
from devfnn.streams import from_arrays


def of_rows(*rows: int) -> dict[str, Any]:
    """A result with classes of so many rows."""
    return {"per_class": [{"support": number} for number in rows]}


@pytest.mark.parametrize(
    ("rows", "unequal"),
    [
        ((), False),
        ((10,), False),
        ((10, 0), False),  # one class never came
        ((50, 50), False),
        ((75, 25), False),
        ((76, 24), True),
        ((16, 42, 42), True),  # one has less than half of a third
        ((17, 41, 42), False),
        ((10, 10, 10, 10, 60), True),  # one has more than twice a fifth
        ((20, 20, 20, 40), False),
    ],
)
def test_classes_are_unequal_by_a_factor_of_two_from_an_equal_share(
    rows: tuple[int, ...], unequal: bool
) -> None:
    assert are_unequal(of_rows(*rows)) is unequal


def made(confusion: list[list[int]], **others: Any) -> dict[str, Any]:
    """A result with a confusion matrix, of a DEVFNN without class weights."""
    classes = [{"name": f"c{k}", "support": sum(row)} for k, row in enumerate(confusion)]
    config = {"class_weights": None, "lags": 0}
    good = {"accuracy_overall": 0.9, "kappa_m": 0.5, "kappa_temporal": 0.5}
    return {"confusion": confusion, "per_class": classes, "config": config} | good | others


def test_a_run_that_finds_all_classes_and_beats_its_rivals_has_no_cautions() -> None:
    assert cautions(made([[40, 10], [5, 45]])) == []
    assert cautions({}) == []


def test_a_class_that_is_never_predicted_is_named_with_what_to_type() -> None:
    (caution,) = cautions(made([[95, 0], [5, 0]]))
    assert caution.startswith("Class c1 was never predicted, though 5 of 100 rows have it.")
    assert "--class-weights balanced" in caution
    assert 'Config(class_weights="balanced")' in caution


def test_a_class_that_never_came_need_not_be_predicted() -> None:
    assert cautions(made([[40, 10, 0], [5, 45, 0], [0, 0, 0]])) == []


def test_many_classes_that_are_never_predicted_are_one_sentence() -> None:
    confusion = [[90 if k == 0 else 1, *[0] * 8] for k in range(9)]
    (caution,) = cautions(made(confusion))
    assert caution.startswith("Classes c1, c2, c3, c4, c5 and 3 more were never predicted")
    assert "8 of 98 rows" in caution


def test_with_class_weights_the_advice_is_another() -> None:
    weighted = {"class_weights": "balanced", "lags": 0}
    missed, behind = cautions(made([[95, 0], [5, 0]], config=weighted, kappa_m=-0.5))
    assert "--class-weights c1=WEIGHT" in missed
    assert "price of class weights" in behind


def test_other_models_are_not_told_of_class_weights() -> None:
    found = cautions(made([[95, 0], [5, 0]], config=None, kappa_m=0.0))
    assert len(found) == 2
    assert not any("--class-weights" in caution for caution in found)


def test_a_run_no_better_than_the_majority_says_so_with_both_figures() -> None:
    (caution,) = cautions(made([[90, 2], [7, 1]], accuracy_overall=0.91, kappa_m=-0.125))
    assert "no better than always predicting the most frequent class" in caution
    assert "92.00 % of the rows right, and the model 91.00 %" in caution
    assert "--class-weights balanced" in caution


def test_a_run_no_better_than_no_change_says_so_and_how_to_see_the_labels_before() -> None:
    found = made([[45, 5], [5, 45]], kappa_temporal=0.0)
    (caution,) = cautions(found)
    assert "no better than repeating the label of the row before" in caution
    assert "--set lags=3" in caution
    (caution,) = cautions(found | {"config": {"class_weights": None, "lags": 2}})
    assert "lags" not in caution


def test_of_two_rivals_the_better_one_is_named() -> None:
    (caution,) = cautions(made([[45, 5], [5, 45]], kappa_m=-0.1, kappa_temporal=-0.9))
    assert "repeating the label" in caution


# ---- runs


def rare(n_rows: int = 3000) -> Any:
    """A stream whose features do not tell the rare class apart."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n_rows) < 0.02, "rare", "usual")
    return from_arrays(rng.random((n_rows, 2)), y).chunks(rows=500)


def test_the_result_of_a_run_holds_its_cautions() -> None:
    missed, behind = evaluate(DEVFNN(), rare())["cautions"]
    assert "Class rare was never predicted" in missed
    assert "always predicting the most frequent class" in behind
    result = evaluate(DEVFNN(Config(class_weights="balanced")), rare())
    assert not any("never predicted" in caution for caution in result["cautions"])


def test_the_majority_is_no_better_than_the_majority() -> None:
    stream = rare()
    found = evaluate(make_model("majority", stream), stream)["cautions"]
    assert len(found) == 2
    assert "no better than always predicting the most frequent class" in found[1]
