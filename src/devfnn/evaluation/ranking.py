"""Which models are better over several streams: ranks, Friedman's test, and what follows it.

The procedure is that of Demšar (JMLR 7, 2006): models are ranked on every stream, Friedman's test
asks whether they differ at all, and a post-hoc test which pairs do.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from devfnn.arrays import Floats
from devfnn.errors import InputError

PostHoc = Literal["nemenyi", "wilcoxon-holm"]
"""Tests of pairs."""

_Pairs = dict[tuple[str, str], float]


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Models compared over several streams."""

    models: tuple[str, ...]
    n_streams: int
    mean_ranks: tuple[float, ...]
    """Mean rank of every model; 1 is best, ties share the mean of their ranks."""
    friedman_statistic: float | None
    """Friedman's chi-square, corrected for ties; None for two models."""
    friedman_p: float | None
    """Probability of such a statistic if all models were alike; None for two models."""
    critical_difference: float | None
    """Nemenyi: mean ranks that differ by less do not differ significantly; else None."""
    significance: float
    post_hoc: PostHoc
    p_values: _Pairs
    """Adjusted p of every pair, each pair once, in the order of `models`."""
    groups: tuple[tuple[str, ...], ...]
    """Largest sets of neighbours by rank that do not differ significantly, best first."""

    def p_value(self, one: str, other: str) -> float:
        """Adjusted p of a pair, in either order."""
        pair = (one, other) if (one, other) in self.p_values else (other, one)
        if pair not in self.p_values:
            raise InputError(f"{one!r} and {other!r} are no pair of {', '.join(self.models)}")
        return self.p_values[pair]

    def sentences(self) -> list[str]:
        """Results of the tests as text."""
        lines = []
        if self.friedman_p is not None:
            lines.append(f"Friedman test over {self.n_streams} streams: p = {self.friedman_p:.3g}")
        if self.critical_difference is not None:
            lines.append(
                f"Nemenyi: mean ranks that differ by {self.critical_difference:.2f} or more "
                f"differ significantly, at {self.significance:g}"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain data."""
        pairs = [{"models": list(pair), "p": p} for pair, p in self.p_values.items()]
        return vars(self) | {
            "models": list(self.models),
            "mean_ranks": list(self.mean_ranks),
            "p_values": pairs,
            "groups": [list(group) for group in self.groups],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Ranking":
        """A ranking from plain data."""
        known = {field.name: data[field.name] for field in dataclasses.fields(cls)}
        known["p_values"] = {tuple(pair["models"]): pair["p"] for pair in data["p_values"]}
        known["groups"] = tuple(map(tuple, data["groups"]))
        for name in ("models", "mean_ranks"):
            known[name] = tuple(data[name])
        return cls(**known)


def rank(
    scores: Mapping[str, Sequence[float]],
    *,
    significance: float = 0.05,
    post_hoc: PostHoc = "nemenyi",
) -> Ranking:
    """Rank models by their scores on the same streams, and test which of them differ.

    Every model has one score for each stream, in the same order; higher is better. "nemenyi"
    compares mean ranks, all pairs at once. "wilcoxon-holm" compares the scores of every pair by the
    signed-rank test, with Holm's correction; what it says of two models does not depend on the
    ranks of the others. Two models are always compared this way.

    >>> ranking = rank({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.7, 0.6, 0.5]})
    >>> ranking.mean_ranks, ranking.groups
    ((1.0, 2.0, 3.0), (('a', 'b'), ('b', 'c')))
    """
    table = _as_table(scores)
    for what, number in (("models", len(scores)), ("streams", table.shape[-1])):
        if number < 2:
            raise InputError(f"a ranking needs two {what} or more, not {number}")
    if post_hoc not in get_args(PostHoc):
        choices = ", ".join(map(repr, get_args(PostHoc)))
        raise InputError(f"post_hoc must be one of {choices}, not {post_hoc!r}")
    if not 0.0 < significance < 1.0:
        raise InputError(f"significance must lie between 0 and 1, not {significance!r}")
    models, n_streams = tuple(scores), table.shape[1]
    ranks = mean_ranks(scores)
    statistic, p = _friedman(table)
    pairs = list(itertools.combinations(models, 2))
    if post_hoc == "nemenyi" and len(models) > 2:
        difference = critical_difference(len(models), n_streams, significance)
        p_values = _nemenyi(pairs, ranks, n_streams)
    else:
        post_hoc, difference = "wilcoxon-holm", None
        rows = dict(zip(models, table, strict=True))
        p_values = holm({pair: signed_rank_p(rows[pair[0]] - rows[pair[1]]) for pair in pairs})
    by_rank = sorted(models, key=lambda model: ranks[model])
    return Ranking(
        models=models,
        n_streams=n_streams,
        mean_ranks=tuple(ranks.values()),
        friedman_statistic=statistic,
        friedman_p=p,
        critical_difference=difference,
        significance=significance,
        post_hoc=post_hoc,
        p_values=p_values,
        groups=_groups(by_rank, p_values, significance),
    )


def mean_ranks(scores: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Mean rank of every model over the streams; 1 is best, ties share the mean of their ranks.

    >>> mean_ranks({"a": [0.9, 0.5], "b": [0.8, 0.5]})
    {'a': 1.25, 'b': 1.75}
    """
    from scipy import stats

    table = _as_table(scores)
    ranks = stats.rankdata(-table, axis=0).mean(axis=1)
    return dict(zip(scores, ranks.tolist(), strict=True))


def critical_difference(n_models: int, n_streams: int, significance: float = 0.05) -> float:
    """Nemenyi's critical difference of mean ranks.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy import stats

    quantile = stats.studentized_range.ppf(1.0 - significance, n_models, math.inf)
    return float(quantile) / math.sqrt(2.0) * _rank_error(n_models, n_streams)


def _as_table(scores: Mapping[str, Sequence[float | None]]) -> Floats:
    """Scores as a matrix (models x streams); all must be there."""
    lengths = {model: len(values) for model, values in scores.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{model} {length}" for model, length in lengths.items())
        raise InputError(f"every model needs a score for every stream; there are {counts}")
    for model, values in scores.items():
        for index, score in enumerate(values):
            if score is None or not math.isfinite(score):
                raise InputError(
                    f"the score of {model} on stream {index} is {score}; leave that stream out"
                )
    return np.array([list(values) for values in scores.values()], np.float64)


def _friedman(table: Floats) -> tuple[float | None, float | None]:
    """Statistic and p of Friedman's test; None for two models."""
    from scipy import stats

    if len(table) < 3:
        return None, None
    if (table == table[0]).all():  # nothing but ties, and the correction for them would divide by 0
        return 0.0, 1.0
    result = stats.friedmanchisquare(*table)
    return float(result.statistic), float(result.pvalue)


def _nemenyi(pairs: list[tuple[str, str]], ranks: Mapping[str, float], n_streams: int) -> _Pairs:
    """p of every pair, adjusted for all pairs by the studentized range."""
    from scipy import stats

    gaps = np.array([abs(ranks[one] - ranks[other]) for one, other in pairs])
    quantiles = gaps * math.sqrt(2.0) / _rank_error(len(ranks), n_streams)
    p_values = stats.studentized_range.sf(quantiles, len(ranks), math.inf)
    return dict(zip(pairs, p_values.clip(0.0, 1.0).tolist(), strict=True))


def _rank_error(n_models: int, n_streams: int) -> float:
    """Standard error of the difference of two mean ranks."""
    return math.sqrt(n_models * (n_models + 1) / (6.0 * n_streams))


def signed_rank_p(differences: Floats) -> float:
    """p of Wilcoxon's signed-rank test; zeros count half for either side, as Demšar has it."""
    from scipy import stats

    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="zsplit").pvalue)


def holm(p_values: _Pairs) -> _Pairs:
    """p of several tests, adjusted so that one of them is wrong no more often than the level says.

    >>> holm({("a", "b"): 0.01, ("a", "c"): 0.04, ("b", "c"): 0.03})
    {('a', 'b'): 0.03, ('a', 'c'): 0.06, ('b', 'c'): 0.06}
    """
    adjusted, largest = {}, 0.0
    for n_before, pair in enumerate(sorted(p_values, key=lambda pair: p_values[pair])):
        largest = max(largest, min(1.0, (len(p_values) - n_before) * p_values[pair]))
        adjusted[pair] = largest
    return {pair: adjusted[pair] for pair in p_values}


def _groups(
    by_rank: Sequence[str], p_values: _Pairs, significance: float
) -> tuple[tuple[str, ...], ...]:
    """Largest runs of neighbours none of whose pairs differ."""
    alike = {frozenset(pair) for pair, p in p_values.items() if p > significance}
    groups, last_end = [], 0
    for start in range(len(by_rank)):
        end = start + 1
        while end < len(by_rank) and all(
            frozenset((by_rank[end], member)) in alike for member in by_rank[start:end]
        ):
            end += 1
        if end > last_end and end - start > 1:  # else a part of the run before
            groups.append(tuple(by_rank[start:end]))
            last_end = end
    return tuple(groups)
