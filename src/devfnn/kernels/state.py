"""The state that kernels read and write: named tuples of plain arrays.

Axes: L layers, R rule slots, n inputs, m classes, p = 2n + 1 expanded inputs. A layer uses the
first `n_inputs` of the n inputs, so a deeper layer's inputs are the raw features followed by the
outputs of the layers before it. Fields of a named tuple cannot be rebound: a count is an array too.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FREE, ACTIVE, ARCHIVED = 0, 1, 2
"""What a rule slot holds: nothing, a rule that fires, a rule that waits to be recalled."""

SEEN, USED, GROWN, RECALLED, TUNED, CONSEQUENT_ONLY = 0, 1, 2, 3, 4, 5
"""Columns of `Layer.counters`, in rows."""

UNLABELLED, OFFERED, ASKED_FOR, ANSWERED = range(4)
"""A row's label: there is none; take it if it is worth it; it was asked for, so take it; the same,
but the row went by when it was asked about, and was paid for then."""

GONE_BY, BOUGHT, OWED, FIRST_PLACE = range(4)
"""Places in a purse: rows so far; labels so far; labels asked for ahead of learning that were not
learned yet; the first row of those with a label."""

LOG_LOSS, SQUARES, WITH_PROBABILITIES, MAJORITY, NO_CHANGE = range(5)
N_TOTALS = 5
"""Places of the sums over scored rows, and how many there are."""

N_BINS = 10
"""Bins of the confidence, for calibration."""

BORN_EVENT, RECALLED_EVENT = 0, 1
"""Kinds in `Journal.rule_events`."""


class Layer(NamedTuple):
    """One rule layer (paper: gClass)."""

    status: Ints  # (R,) FREE, ACTIVE or ARCHIVED
    centers: Floats  # (R, n)
    covs: Floats  # (R, n, n)
    inverse_covs: Floats  # (R, n, n)
    log_volumes: Floats  # (R,) half the log determinant of the covariance
    populations: Floats  # (R,) rows the premise rests on; shrinks when it forgets
    class_counts: Floats  # (R, m) rows won, by class
    consequents: Floats  # (R, m, p)
    gain_covs: Floats  # (R, p, p) symmetric positive definite
    gain_caps: Floats  # (p,) most variance a weight may have: the prior, in today's units
    densities: Floats  # (R, 3) windowed weight, windowed distance, last local density
    potentials: Floats  # (R, 2) windowed row count, windowed distance
    utilities: Floats  # (R,) windowed mean of the activation
    ages: Ints  # (R,) consequent updates since birth or recall
    premise_updates: Ints  # (R,) since birth
    n_inputs: Ints  # (1,)
    input_mask: Flags  # (n,) False: the input is left out for good, until it is switched on again
    density_weight: Floats  # (1,) sum of the weights behind the two fields below
    density_mean: Floats  # (n,)
    density_cov: Floats  # (n, n)
    class_weights: Floats  # (m,) rows of each class
    class_means: Floats  # (m, n)
    class_variances: Floats  # (m, n)
    threshold: Floats  # (1,) certainty below which a row is learned
    counters: Ints  # (6,) see SEEN ...


class Layers(NamedTuple):
    """All layers of a network: the fields of `Layer` with a leading layer axis, and the votes."""

    status: Ints
    centers: Floats
    covs: Floats
    inverse_covs: Floats
    log_volumes: Floats
    populations: Floats
    class_counts: Floats
    consequents: Floats
    gain_covs: Floats
    gain_caps: Floats
    densities: Floats
    potentials: Floats
    utilities: Floats
    ages: Ints
    premise_updates: Ints
    n_inputs: Ints
    input_mask: Flags
    density_weight: Floats
    density_mean: Floats
    density_cov: Floats
    class_weights: Floats
    class_means: Floats
    class_variances: Floats
    threshold: Floats
    counters: Ints
    voting_weights: Floats  # (L,)
    decays: Floats  # (L,)
    is_merged: Flags  # (L,)


class Settings(NamedTuple):
    """The part of the configuration that kernels need, as plain numbers."""

    logistic: bool
    mix_logits: bool
    firing_floor: bool
    initial_gain: float
    later_gain: float
    curvature_floor: float
    memory: float
    weight_decay: float
    local_forgetting: float
    density_memory: float
    potential_memory: float
    active_learning: bool
    conflict_threshold: float
    exploration: float
    threshold_step: float
    label_budget: float
    grow_rules: bool
    recall_rules: bool
    max_rules: int
    first_precision: float
    log_vigilance: float
    width_floor: float
    tuning: int  # 0 off, 1 rows inside the winner, 2 the published condition
    max_population: float
    coverage: Floats  # (n + 1,) squared radius that holds most of a rule, by dimension
    adapt_votes: int  # 0 off, 1 reward and punish, 2 likelihood
    vote_memory: float
    vote_sharpness: float
    soft_vote: bool
    vote_step: float
    vote_floor: float
    training: int  # 0 the winner, 1 also the initial layers, 2 all live layers
    initial_layers: int
    plain_first: bool


class Batch(NamedTuple):
    """Rows to learn. NaN in `rows` means that the input is absent."""

    rows: Floats  # (k, n)
    labels: Ints  # (k,)
    weights: Floats  # (k,)
    draws: Floats  # (k,) uniform random numbers, one a row
    labelled: Ints  # (k,) see UNLABELLED ...


class Journal(NamedTuple):
    """What kernels report about the rows they learned."""

    outputs: Floats  # (k, L, m) raw outputs of every layer, before the row was learned
    errors: Ints  # (k,) 1 where the network was wrong
    taken: Ints  # (k,) 1 where a layer was trained with the label
    rule_events: Ints  # (k, 4) row, kind, layer, rule
    rule_numbers: Floats  # (k, 4) data quality, its bound, log volume, squared distance
    n_events: Ints  # (1,)


class Scratch(NamedTuple):
    """Working memory of kernels: made once for a shape, never saved."""

    inputs: Floats  # (n + m,) the row and the outputs of the layers so far
    stacked: Floats  # (n + m,) a copy of the above that training may keep
    present: Flags  # (n,)
    n_present: Ints  # (1,)
    offsets: Floats  # (R, n) row minus centre, 0 where absent
    pulls: Floats  # (R, n) inverse covariance times offset
    distances: Floats  # (R,) squared Mahalanobis
    activations: Floats  # (R,) normalised firing
    expanded: Floats  # (p,)
    gain: Floats  # (p,)
    locals: Floats  # (R, m) outputs of the single rules
    output: Floats  # (m,)
    residuals: Floats  # (m,)
    candidate_center: Floats  # (n,)
    candidate_width: Floats  # (n,)
    factor: Floats  # (n, n)
    probabilities: Floats  # (m,)
