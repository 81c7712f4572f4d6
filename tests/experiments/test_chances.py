"""Who is best on a stream, and by how much that may be chance."""

import numpy as np
import pytest
from scipy import stats

from devfnn.experiments.tables import cells_of_results, chances_against_best


def result(model, accuracies, stream="sea-paper", seed=0):
    """A result with these accuracies of chunks; the first chunk only trains."""
    return {
        "stream": stream,
        "model": model,
        "preset": "default" if model == "devfnn" else None,
        "seed": seed,
        "accuracy_mean": float(np.mean(accuracies)),
        "rows": 100,
        "chunks": len(accuracies) + 1,
        "per_chunk": {"accuracy": [None, *accuracies]},
    }


RNG = np.random.default_rng(0)
EVEN = 0.8 + 0.1 * RNG.random(30)
LIKE = (EVEN + RNG.normal(0.0, 0.02, 30)).tolist()
LIKE = (np.array(LIKE) + EVEN.mean() - np.mean(LIKE) + 1e-4).tolist()
WORSE = (EVEN - 0.05).tolist()
EVEN = EVEN.tolist()


def measured(*results):
    """Results by system, all of one stream."""
    return {system: seeds for (_, system), seeds in cells_of_results(results).items()}


def test_the_best_has_the_highest_mean_over_seeds():
    seeds = [result("pnn", [0.9, 0.9, 0.9]), result("pnn", [0.1, 0.1, 0.1], seed=1)]
    chances = chances_against_best(measured(*seeds, result("majority", [0.6, 0.6, 0.6])))
    assert chances["majority"] is None and chances["PNN"] is not None


def test_chances_are_those_of_wilcoxon_over_chunks():
    found = measured(result("pnn", EVEN), result("den", WORSE), result("hat", LIKE))
    chances = chances_against_best(found)
    assert chances["HAT"] is None  # the best
    gaps = np.subtract(LIKE, WORSE)
    assert chances["DEN"] == pytest.approx(stats.wilcoxon(gaps, zero_method="zsplit").pvalue)
    assert chances["PNN"] > 0.05 > chances["DEN"]


def test_chunks_are_means_over_seeds():
    seeds = [result("pnn", [0.4, 0.9, 0.2]), result("pnn", [0.6, 0.7, 0.4], seed=1)]
    one = measured(result("majority", [0.6, 0.9, 0.5]), *seeds)
    other = measured(result("majority", [0.6, 0.9, 0.5]), result("pnn", [0.5, 0.8, 0.3]))
    assert chances_against_best(one)["PNN"] == pytest.approx(chances_against_best(other)["PNN"])


@pytest.mark.parametrize("chunks", [{}, {"accuracy": []}, {"accuracy": [None, 0.1]}])
def test_chunks_that_cannot_be_compared_have_no_chance(chunks):
    odd = result("pnn", [0.1, 0.1, 0.1]) | {"per_chunk": chunks}
    assert chances_against_best(measured(odd, result("hat", [0.9, 0.8, 0.9])))["PNN"] is None
