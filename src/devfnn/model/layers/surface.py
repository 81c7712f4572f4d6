"""The surface: parameters, layout, how it is re-based, its rule and its reasons.

In an explanation a product of two features falls to both in halves: each gets the mean of what it
adds when it comes first and when it comes second.
"""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.kernels.state import SURFACE, State, SurfaceParams, SurfaceState
from devfnn.model.costs import Cost
from devfnn.model.explanation import LOGITS, FiredRule, Said, softmax, within_reason
from devfnn.model.layers.pool import cost_of_rule, moved_halves, packed, unpacked
from devfnn.model.layout import LEAST, Field, numbers_for, present
from devfnn.model.rules import Rule
from devfnn.model.scaling import CLIP, WIDEST_PRIOR, Change, chebyshev_basis
from devfnn.model.units import Units
from devfnn.parameters import Section, number

if TYPE_CHECKING:
    from devfnn.model.config import Config
    from devfnn.model.state import Sizes

NAME = "surface"
ARRAYS = SurfaceState
PARAMS = "surface"
KINDS = {"surface": SURFACE}
TAKES: set[str] = set()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Surface(Section):
    """Recursive logistic regression on features, their squares and the products of pairs."""

    memory: float = number(5000.0, 2.0, 1e12, "rows that it rests on")
    prior: float = number(5.0, 1e-6, 1e8, "variance of its weights before any row")
    max_features: int = number(16, 0, 200, "features up to which it has squares and products")


SECTIONS: dict[str, tuple[type[Section], tuple[str, ...], bool]] = {
    "surface": (Surface, ("surface",), True),
}

LAYOUT = {
    "weights": Field("F m s", 0.0),
    "gains": Field("F t", 0.0),
    "caps": Field("s", 1.0, LEAST),
    "ages": Field("F", 0),
    "means": Field("F n", 0.5),
    "variances": Field("F n", 0.0, 0.0),
    "class_counts": Field("F m", 0.0, 0.0),
}


def n_terms(n_features: int, config: "Config") -> int:
    """Terms of its log odds; 0 if there is none."""
    if config.surface is None:
        return 0
    if n_features > config.surface.max_features:
        return 1 + n_features
    return 1 + 2 * n_features + n_features * (n_features - 1) // 2


def lengths(sizes: "Sizes", config: "Config") -> dict[str, int]:
    """Lengths of the axes that only it has."""
    size = n_terms(sizes.features, config)
    return {"F": int(size > 0), "s": size, "t": size * (size + 1) // 2}


def start(state: State, config: "Config") -> None:
    """Nothing is known."""
    own = present(state.surface)
    own.caps[:] = config.surface.prior
    own.gains[0] = packed(np.diag(own.caps))


def moved_terms(n_old: int, n_new: int, config: "Config") -> dict[str, Ints]:
    """Where terms, and pairs of them, stand when there are more features; nothing if it becomes a
    line, which starts anew.
    """
    most = config.surface.max_features
    if n_old <= most < n_new:
        return {}
    blocks = [np.arange(1 + n_old)]
    if n_new <= most:
        n_pairs = n_old * (n_old - 1) // 2
        blocks += [1 + n_new + np.arange(n_old), 1 + 2 * n_new + np.arange(n_pairs)]
    places = np.concatenate(blocks)
    return {"s": places, "t": moved_halves(places)}


def start_widened(fresh: State, old: State, config: "Config") -> None:
    """New terms have weight 0; a class never seen is as unlikely as one unseen row."""
    own, before = present(fresh.surface), present(old.surface)
    n_old, n_new = before.means.shape[1], own.means.shape[1]
    if not moved_terms(n_old, n_new, config):
        own.ages[:], own.class_counts[:] = 0, 0.0
    own.weights[:, before.class_counts.shape[1] :, 0] = -np.log1p(own.class_counts.sum())


# ---- a new scaling map


def rebase(state: State, change: Change, used: Flags, is_settled: bool, config: "Config") -> None:
    """Rewrite weights and gains such that every output stays what it was."""
    own, prior = present(state.surface), config.surface.prior
    if (wild := change.features[change.is_wild]).size:
        _restart_features(own, wild, prior)
    change = change.without_wild()
    if change.features.size:
        basis = _basis(change, used, own.caps.size)
        own.weights[:] = own.weights @ basis.T
        own.gains[0] = packed(basis @ unpacked(own.gains[0]) @ basis.T)
        explained = (np.abs(basis) @ np.sqrt(own.caps)) ** 2
        own.caps[:] = np.clip(explained, prior, WIDEST_PRIOR * prior)
        own.means[:, change.features] -= change.shifts
        own.means[:, change.features] /= change.factors
        own.variances[:, change.features] /= change.factors**2
    if not is_settled:  # the map is still made from the first rows: all is still to be learned
        own.caps[:] = prior
        own.gains[0] = packed(np.diag(own.caps))


def _basis(change: Change, used: Flags, size: int) -> Floats:
    """The matrix (s, s) with terms(old) = terms(new) @ basis."""
    n = used.size
    lines = 1 + np.arange(n)
    if size == 1 + n:
        return chebyshev_basis(change, used, lines, lines + n)[:size, :size]
    basis = np.eye(size)
    curves = slice(1 + 2 * n)
    basis[curves, curves] = chebyshev_basis(change, used, lines, lines + n)
    factors, shifts = np.diag(basis)[lines], basis[0, lines]
    first, second = np.tril_indices(n, -1)
    pairs = 1 + 2 * n + np.arange(first.size)
    basis[pairs, pairs] = factors[first] * factors[second]
    basis[1 + first, pairs] = factors[first] * shifts[second]
    basis[1 + second, pairs] = shifts[first] * factors[second]
    basis[0, pairs] = shifts[first] * shifts[second]
    return basis


def _restart_features(own: SurfaceState, features: Ints, prior: float) -> None:
    """Start anew on features whose old ranges say nothing about the new ones."""
    size, n = own.caps.size, own.means.shape[1]
    is_new = np.isin(np.arange(1, n + 1), 1 + features)
    flags = [np.array([False]), is_new]
    if size > 1 + n:
        first, second = np.tril_indices(n, -1)
        flags += [is_new, is_new[first] | is_new[second]]
    places = np.flatnonzero(np.concatenate(flags))
    gains = unpacked(own.gains[0])
    gains[places], gains[:, places] = 0.0, 0.0
    gains[places, places] = prior
    own.gains[0], own.caps[places], own.weights[:, :, places] = packed(gains), prior, 0.0
    own.means[:, features], own.variances[:, features] = 0.5, 0.0


# ---- what there is


def counts_of(state: State, layer: int) -> tuple[int, int]:
    """One rule, and a number for each term and class."""
    return 1, present(state.surface).weights.size


def cost_of(state: State, layer: int, config: "Config") -> Cost:
    """Its terms are multiplied, then it is a rule like those of curves."""
    own = present(state.surface)
    return full_cost(layer, (own.means.shape[1], own.class_counts.shape[1]), config)


def full_cost(layer: int, sizes: tuple[int, int], config: "Config") -> Cost:
    """The same: it costs from the first row on what it costs at last. sizes: features, classes"""
    return cost_of_rule(n_terms(sizes[0], config), sizes[1])


def _slopes(own: SurfaceState, place: Floats, is_there: Flags) -> Floats:
    """By how much its logits rise with each feature at a place, (n, m). place: (n,) in [-1, 1]"""
    n, weights = place.size, own.weights[0]
    slopes = weights[:, 1 : 1 + n].copy()
    if own.caps.size > 1 + n:
        slopes += 4.0 * weights[:, 1 + n : 1 + 2 * n] * place
        slopes += _products(own) @ np.where(is_there, place, 0.0)
    found: Floats = slopes.T
    return found


def _products(own: SurfaceState) -> Floats:
    """Weights of the products of pairs as symmetric matrices, (m, n, n)."""
    n, m = own.means.shape[1], own.class_counts.shape[1]
    matrices = np.zeros((m, n, n))
    first, second = np.tril_indices(n, -1)
    matrices[:, first, second] = matrices[:, second, first] = own.weights[0][:, 1 + 2 * n :]
    return matrices


def _usual(own: SurfaceState) -> Floats:
    """The mean of its rows in [-1, 1] units, (n,)."""
    usual: Floats = 2.0 * np.clip(own.means[0], -CLIP, 1.0 + CLIP) - 1.0
    return usual


def _bias(own: SurfaceState, place: Floats, is_there: Flags) -> Floats:
    """Its logits (m,) at a place in [-1, 1]; absent features say nothing."""
    here = np.where(is_there, place, 0.0)
    terms = [np.ones(1), here]
    if own.caps.size > 1 + here.size:
        first, second = np.tril_indices(here.size, -1)
        terms += [np.where(is_there, 2.0 * here * here - 1.0, 0.0), here[first] * here[second]]
    logits: Floats = own.weights[0] @ np.concatenate(terms)
    return logits


def rules_of(state: State, layer: int, units: Units, config: "Config") -> Iterator[Rule]:
    """Its only rule, with the slopes at the mean of its rows."""
    own = present(state.surface)
    is_used = np.isin(np.arange(own.means.shape[1]), units.used)
    shares, n_used = softmax(_bias(own, _usual(own), is_used)), len(units.names)
    yield Rule(
        layer=layer,
        rule=0,
        inputs=units.names,
        n_features=n_used,
        center=units.values(own.means[0]),
        covariance=units.covariance(own.variances[0]),
        probabilities=dict(zip(units.labels, shares.tolist(), strict=True)),
        n_rows=float(own.class_counts.sum()),
        ranges=units.ranges,
        bounds=np.tile([-np.inf, np.inf], (n_used, 1)),
        age=int(own.ages[0]),
        firing_share=1.0,
        slopes=2.0 * _slopes(own, _usual(own), is_used)[units.used],
    )


# ---- why


def reasons_of(
    state: State, layer: int, row: Floats, inputs: Floats, config: "Config"
) -> tuple[Said, Floats]:
    """What it says of a row, and why.

    Of second order, it rises from the mean of its rows to the row as if along the slope half way.
    """
    own, is_there = present(state.surface), ~np.isnan(row)
    usual = _usual(own)
    here = np.where(is_there, 2.0 * row - 1.0, usual)
    bias = _bias(own, usual, is_there)
    slopes = _slopes(own, 0.5 * (here + usual), is_there)
    contributions = np.where(is_there, here - usual, 0.0)[:, None] * slopes
    bias, contributions = within_reason(bias, contributions)
    shares = softmax(bias + contributions.sum(axis=0))
    return Said(LOGITS, bias, contributions, (FiredRule(0, 1.0),), shares, shares), shares


def problems_of(state: State, config: "Config") -> Iterator[tuple[Any, str]]:
    """What must hold, and what is wrong otherwise."""
    own = present(state.surface)
    places = np.arange(own.caps.size)
    variances = own.gains[:, places * (places + 3) // 2]
    yield (variances > 0.0).all(), "surface/gains holds a variance that is not positive"


def params(config: "Config", n_inputs: int) -> SurfaceParams:
    """What kernels need; of a network without a surface they use nothing."""
    numbers: SurfaceParams = numbers_for(SurfaceParams, (config.surface or Surface(),))
    return numbers
