"""Rankings, against the worked example of Demšar (JMLR 7, 2006) and computations by hand."""

import dataclasses
import json
import math

import pytest

from devfnn.errors import InputError
from devfnn.evaluation.ranking import Ranking, critical_difference, holm, mean_ranks, rank

RANKS = {
    "C4.5": (4, 1, 4, 4, 4, 1, 3, 2.5, 4, 2.5, 4, 3, 4, 3),
    "C4.5+m": (3, 2, 1, 1, 2, 2.5, 2, 2.5, 3, 2.5, 2.5, 2, 1, 1),
    "C4.5+cf": (2, 3, 2, 3, 3, 4, 4, 4, 2, 2.5, 1, 4, 2, 4),
    "C4.5+m+cf": (1, 4, 3, 2, 1, 2.5, 1, 1, 1, 2.5, 2.5, 1, 3, 2),
}
"""Demšar's Table 6: ranks of four versions of C4.5 on fourteen data sets."""

SCORES = {model: [-each for each in ranks] for model, ranks in RANKS.items()}

ONE = (
    0.763,
    0.599,
    0.954,
    0.628,
    0.882,
    0.936,
    0.661,
    0.583,
    0.775,
    1.0,
    0.940,
    0.619,
    0.972,
    0.957,
)
OTHER = (
    0.768,
    0.591,
    0.971,
    0.661,
    0.888,
    0.931,
    0.668,
    0.583,
    0.838,
    1.0,
    0.962,
    0.666,
    0.981,
    0.978,
)
"""Demšar's Table 2: areas of C4.5 and C4.5+m."""


def test_mean_ranks_are_the_published_ones():
    ranking = rank(SCORES)
    assert ranking.models == tuple(RANKS)
    assert [round(each, 3) for each in ranking.mean_ranks] == [3.143, 2.0, 2.893, 1.964]
    assert ranking.n_streams == 14


def test_friedman_is_the_published_one_but_for_its_correction_for_ties():
    ranking = rank(SCORES)
    ties = 3 * (2**3 - 2) + (4**3 - 4)  # three pairs and a row where all four are equal
    share = ties / (14 * (4**3 - 4))
    assert ranking.friedman_statistic * (1 - share) == pytest.approx(9.28, abs=0.01)
    assert ranking.friedman_p < 0.05


def test_the_critical_difference_is_the_published_one():
    assert critical_difference(4, 14, 0.05) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=0.005)
    assert rank(SCORES).critical_difference == critical_difference(4, 14, 0.05)


PUBLISHED_VALUES = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)


@pytest.mark.parametrize(("n_models", "value"), list(enumerate(PUBLISHED_VALUES, start=2)))
def test_critical_values_are_those_of_published_tables(n_models, value):
    error = math.sqrt(n_models * (n_models + 1) / (6 * 20))
    assert critical_difference(n_models, 20) / error == pytest.approx(value, abs=0.0011)


def test_nemenyi_tells_apart_what_differs_by_more_than_the_critical_difference():
    ranking = rank(SCORES, significance=0.10)
    assert ranking.post_hoc == "nemenyi"
    ranks = dict(zip(ranking.models, ranking.mean_ranks, strict=True))
    for (one, other), p in ranking.p_values.items():
        is_apart = abs(ranks[one] - ranks[other]) > ranking.critical_difference
        assert (p < 0.10) == is_apart
    assert ranking.p_value("C4.5+m", "C4.5") < 0.10  # as in the paper: 3.143 - 2.000 > 1.12
    assert ranking.p_value("C4.5+cf", "C4.5") > 0.10
    assert ranking.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


def test_at_five_percent_the_published_example_has_one_group():
    assert rank(SCORES).groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)


def test_two_models_are_compared_by_the_signed_rank_test():
    ranking = rank({"C4.5": ONE, "C4.5+m": OTHER})
    assert ranking.friedman_statistic is None
    assert ranking.friedman_p is None
    assert ranking.critical_difference is None
    assert ranking.post_hoc == "wilcoxon-holm"
    # The sums are 93 and 12, zeros split: z = (12 - 52.5) / sqrt(14 * 15 * 29 / 24) = -2.54.
    assert ranking.p_value("C4.5", "C4.5+m") == pytest.approx(0.011, abs=0.002)
    assert ranking.groups == ()


def test_holm_is_what_one_computes_by_hand():
    pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    given = dict(zip(pairs, [0.004, 0.2, 0.009, 0.5, 0.0125, 0.011], strict=True))
    # Sorted: 0.004 x 6, 0.009 x 5, 0.011 x 4 (less than before), 0.0125 x 3 (less), 0.2 x 2, 0.5.
    expected = [0.024, 0.4, 0.045, 0.5, 0.045, 0.045]
    assert list(holm(given)) == pairs
    assert list(holm(given).values()) == pytest.approx(expected)


def test_no_adjusted_p_is_over_one():
    assert set(holm({("a", "b"): 0.7, ("a", "c"): 0.8, ("b", "c"): 0.9}).values()) == {1.0}


def test_groups_by_wilcoxon_hold_only_pairs_that_cannot_be_told_apart():
    scores = {
        "best": [0.9 + 0.001 * i for i in range(12)],
        "good": [0.8 + 0.0011 * i for i in range(12)],
        "same": [0.8 + 0.0011 * i + (0.001 if i % 2 else -0.001) for i in range(12)],
        "poor": [0.5 + 0.0012 * i for i in range(12)],
    }
    ranking = rank(scores, post_hoc="wilcoxon-holm")
    assert ranking.critical_difference is None
    assert ranking.friedman_p < 0.001
    assert ranking.groups == (("good", "same"),)
    # Exact test of 12 differences of one sign: 2 / 2 ** 12. Five such pairs come before the last.
    assert ranking.p_value("best", "poor") == pytest.approx(6 * 2 / 2**12)
    assert ranking.p_value("poor", "best") == ranking.p_value("best", "poor")


def test_a_group_inside_another_is_left_out():
    scores = {"a": [3, 1, 2, 3], "b": [2, 3, 1, 2], "c": [1, 2, 3, 1]}
    assert [len(group) for group in rank(scores).groups] == [3]


@pytest.mark.parametrize("post_hoc", ["nemenyi", "wilcoxon-holm"])
def test_equal_scores_cannot_be_told_apart(post_hoc):
    ranking = rank({name: [0.5, 0.7, 0.9] for name in "abc"}, post_hoc=post_hoc)
    assert ranking.mean_ranks == (2.0, 2.0, 2.0)
    assert (ranking.friedman_statistic, ranking.friedman_p) == (0.0, 1.0)
    assert set(ranking.p_values.values()) == {1.0}
    assert ranking.groups == (("a", "b", "c"),)


def test_two_equal_models_cannot_be_told_apart():
    ranking = rank({"a": [1, 2], "b": [1, 2]})
    assert list(ranking.p_values.values()) == [1.0]
    assert ranking.groups == (("a", "b"),)


def test_ties_share_the_mean_of_their_ranks():
    assert mean_ranks({"a": [1.0], "b": [3.0], "c": [1.0]}) == {"a": 2.5, "b": 1.0, "c": 2.5}


@pytest.mark.parametrize("post_hoc", ["nemenyi", "wilcoxon-holm"])
def test_a_ranking_comes_back_from_plain_data(post_hoc):
    ranking = rank(SCORES, post_hoc=post_hoc)
    again = Ranking.from_dict(json.loads(json.dumps(ranking.to_dict())))
    assert again == ranking
    assert {field.name for field in dataclasses.fields(Ranking)} == set(ranking.to_dict())


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ({"a": [1, 2]}, {}, "two models or more, not 1"),
        ({"a": [1], "b": [2]}, {}, "two streams or more, not 1"),
        ({"a": [1, 2], "b": [2]}, {}, "a score for every stream; there are a 2, b 1"),
        ({"a": [1, 2], "b": [2, math.nan]}, {}, "the score of b on stream 1 is nan"),
        ({"a": [1, None], "b": [2, 1]}, {}, "the score of a on stream 1 is None"),
        ({"a": [1, math.inf], "b": [2, 1]}, {}, "the score of a on stream 1 is inf"),
        ({"a": [1, 2], "b": [2, 1]}, {"significance": 0.0}, "significance must lie between"),
        ({"a": [1, 2], "b": [2, 1]}, {"post_hoc": "tukey"}, "post_hoc must be one of 'nemenyi'"),
    ],
)
def test_what_cannot_be_ranked_is_refused(scores, options, message):
    with pytest.raises(InputError, match=message):
        rank(scores, **options)


def test_a_pair_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no pair of a, b"):
        rank({"a": [1, 2], "b": [2, 1]}).p_value("a", "c")
