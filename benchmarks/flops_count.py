"""Floating point operations that one learned row costs a default network, part by part.

Every addition, subtraction, multiplication, division, power and root is one operation, and so is
every exponential and logarithm; these two are counted once more on their own. Comparisons, signs
and counting up whole numbers are none. What happens once per chunk is left out, and so is what
follows from a drift or a split.

n features, m classes, s expanded features of a layer: 1 + n of a line, 1 + 2 n of a curve.
`flops_facts.py` runs the kernels on numbers that count, to find the facts and to check the count.
"""

import dataclasses
from typing import NamedTuple

BINS = 8
"""Of the evidence for splits, per feature."""

MOST_CONTRASTS = 3


class Flops(NamedTuple):
    """Operations, and how many of them are exponentials or logarithms."""

    all: float
    slow: float = 0.0


@dataclasses.dataclass(frozen=True)
class Facts:
    """What depends on the stream: means per learned row."""

    lines: float = 3.0
    """Layers of lines that learn."""
    wary: float = 2.0
    """Those of them that doubt the label."""
    curves: float = 3.0
    """Layers with curves that learn, the boxes among them."""
    boxes: float = 1.0
    """Layers that gather evidence for splits."""
    tested: float = 1.0
    """Errors taken in by the drift test."""
    adaptive: float = 3.0
    """Layers of the adaptive memory."""
    split_checks: float = 0.01
    rounds: float = 10.0
    """Of Newton's method, over all layers."""
    capped: float = 0.0
    """Variances that were brought back to the prior, over all layers."""
    capped_sizes: float = 0.0
    """The same, each times the expanded features of its layer."""
    voters: float = 6.0
    """Layers that do not rest."""
    pairs: float = 0.0
    """Pairs of kept layers."""
    cloud_layers: float = 0.0
    """Layers of clouds that are awake."""
    clouds: float = 0.0
    """Clouds whose distance is measured."""
    reached: float = 0.0
    """Those near enough to have a density."""
    own: float = 0.0
    """Clouds of the row's class, when they are moved."""
    moved: float = 0.0
    founded: float = 0.0
    orphans: float = 0.0
    """Those founded when there was no cloud of their class."""
    fadings: float = 0.0
    """Times that all masses fade."""
    faded: float = 0.0


def n_contrasts(m: int) -> int:
    """Contrasts of classes in which evidence is gathered."""
    return max(1, min(MOST_CONTRASTS, (m - 1).bit_length()))


def pairs_of(n: int) -> int:
    """Pairs of features."""
    return n * (n - 1) // 2


def half(s: int) -> int:
    """Entries of a packed lower half."""
    return s * (s + 1) // 2


def expansion(n: int) -> Flops:
    """t = 2 x - 1 and 2 t t - 1 of every feature."""
    return Flops(5 * n)


def output(s: int, m: int) -> Flops:
    """Inner products of one layer, and their softmax: that of two classes has one exponential."""
    shares = Flops(5, 1) if m == 2 else Flops(4 * m, m)
    return Flops(2 * s * m + shares.all, shares.slow)


def gain_product(s: int) -> Flops:
    """A packed symmetric matrix times the row, and the variance of the row."""
    return Flops(2 * s * s + s)


def implicit_steps(m: int, steps: float, rounds: float) -> Flops:
    """Newton's method for the outputs after a step: of two classes, or of many."""
    if m == 2:
        return Flops(3 * steps + 15 * rounds, steps + rounds)
    each = (3 + 5 * m) * steps + (24 * m + 2) * rounds
    return Flops(each, (1 + m) * steps + m * rounds)


def update(s: int, m: int) -> Flops:
    """Curvature, weights, and gains less an outer product, over the memory."""
    curvature, weights = 2 + 4 * m, m * (2 + 2 * s)
    return Flops(curvature + weights + 4 + s + 3 * half(s))


def caps(capped: float, sizes: float) -> Flops:
    """A row and a column of the gains times a root, for every variance above the prior."""
    return Flops(3 * capped + sizes)


def row_notes(n: int) -> Flops:
    """Means and variances of a rule's rows, and their number by class."""
    return Flops(2 + 9 * n)


def evidence(n: int, m: int) -> Flops:
    """Residuals and variances into the bins of all features, and residuals to all pairs."""
    return Flops(n_contrasts(m) * (2 * m + 3 + 6 * n + pairs_of(n)))


def split_check(n: int, m: int) -> Flops:
    """The evidence of all cuts and of all pairs; where a pair would be cut is part of a split."""
    cuts = n * (BINS - 1) * n_contrasts(m) * (3 * BINS + 14)
    pairs = pairs_of(n) * n_contrasts(m) * (3 * BINS + 6)
    luck = Flops(2, 1) if n > 1 else Flops(0)
    return Flops(cuts + pairs + luck.all + 3, luck.slow)


def clouds(n: int, m: int, facts: Facts) -> Flops:
    """Distances, densities and shares of clouds; moving, founding and fading them."""
    say = facts.clouds * (3 * n + 6) + facts.reached + facts.cloud_layers * 5 * m
    learn = 2 * facts.own + facts.moved * (3 * n + 14) + facts.founded * 5 - facts.orphans
    fade = facts.fadings + facts.faded * 5
    heights = facts.moved + facts.founded + facts.faded
    return Flops(say + learn + fade, facts.reached + 2 * heights)


def row_weights(facts: Facts) -> Flops:
    """Memory of every layer, and what wary lines think of the label."""
    return Flops(2 * (facts.lines + facts.curves) + 6 * facts.wary + facts.adaptive)


def votes(m: int, facts: Facts) -> Flops:
    """The vote, the choice of labels, the test for drift, and labels that repeat each other."""
    chosen, tested, watched = 11, 11, 5 * m + 5
    return Flops(2 * m * facts.voters + chosen + facts.tested * tested + watched, facts.tested)


def scores(facts: Facts) -> Flops:
    """Shares of right predictions, and of kept layers that say the same."""
    return Flops(3 + 3 * facts.voters + 4 * facts.pairs)


def _times(count: float, each: Flops) -> Flops:
    return Flops(count * each.all, count * each.slow)


def _sum(*parts: Flops) -> Flops:
    return Flops(sum(part.all for part in parts), sum(part.slow for part in parts))


def row_flops(n: int, m: int, facts: Facts) -> dict[str, Flops]:
    """Operations of one learned row, by part.

    >>> round(sum(part.all for part in row_flops(3, 2, Facts()).values()), 2)
    1702.93
    """
    line, curve = 1 + n, 1 + 2 * n

    def both(part: "dict[int, Flops]") -> Flops:
        return _sum(_times(facts.lines, part[line]), _times(facts.curves, part[curve]))

    learners = facts.lines + facts.curves
    return {
        "expansion": expansion(n),
        "outputs": both({s: output(s, m) for s in (line, curve)}),
        "gain product": both({s: gain_product(s) for s in (line, curve)}),
        "implicit step": implicit_steps(m, learners, facts.rounds),
        "update": both({s: update(s, m) for s in (line, curve)}),
        "caps": caps(facts.capped, facts.capped_sizes),
        "row notes": _times(learners, row_notes(n)),
        "evidence": _times(facts.boxes, evidence(n, m)),
        "split checks": _times(facts.split_checks, split_check(n, m)),
        "clouds": clouds(n, m, facts),
        "row weights": row_weights(facts),
        "votes": votes(m, facts),
        "scores": scores(facts),
    }


def numbers_touched(n: int, m: int, facts: Facts) -> int:
    """Numbers of 8 bytes that a row reads or writes: state, row and working memory."""
    line, curve = 1 + n, 1 + 2 * n
    rule = 2 * n + m + 1
    total = facts.lines * (m * line + half(line) + rule)
    total += facts.curves * (m * curve + half(curve) + rule)
    total += facts.boxes * (2 * n + n * n_contrasts(m))  # bounds, and one bin of two singles each
    total += facts.boxes * pairs_of(n) * n_contrasts(m) / 2
    total += facts.clouds * (n + 6)
    total += 3 * curve + n + facts.voters * (m + 2) + 5 * m + 16
    return round(total)
