"""The state of the concept network: named tuples of plain arrays.

Axes: C slots of the rule pool, L layers, R rules of a layer at most, n features, m classes,
p = 2n + 1 expanded features, h = p (p + 1) / 2, d = n (n - 1) / 2 pairs of features, B bins, Q
contrasts of classes, K clouds, S the purse. All
layers draw their rules from one pool, so that a network is as large as its rules are many.

Layers 0 to 6 are always there: lines with a short, a longer and a long memory; two single rules
with curves, one that forgets fast and one slowly, which never start anew; boxes; clouds. The layers
above them are kept ones: what was best when a concept ended, for the day it returns.
"""

from typing import NamedTuple

from devfnn.kernels.state import Floats, Ints, Singles

NO_LAYER, LINE, BOXES, CLOUDS = -1, 0, 1, 2
"""What a place for a layer holds."""

QUICK_LINE, BRISK_LINE, STEADY_LINE, LIVELY_CURVE, CALM_CURVE = range(5)
BOX_LAYER, CLOUD_LAYER, FIRST_KEPT = range(5, 8)
"""Numbers of the layers that are always there, and of the first that is kept."""

NO_OWNER = -1
"""The owner of a slot without a rule."""

TRACK_ROWS, TRACK_ERRORS, CUT_ROWS, CUT_ERRORS = range(4)
"""Places in `Concepts.track`: errors since the last drift, and up to where they were rarest."""

MEMORY, REFEREE, UNCERTAINTY, LABEL_RATE, INDEPENDENCE = range(5)
WATCHED, LAST_LABEL, NEAR_CHANGES = range(5, 8)
"""Places in `Concepts.course`."""

ROWS, STEPS, SCORED, TOLD = range(4)
"""Places in `Concepts.clock`: learned rows; structural steps; rows scored since the last drift; the
number of clouds that was last told in an event."""

SPLIT_LINE, DRIFT_LINE, KEPT_LINE, RECALLED_LINE, DROPPED_LINE = range(5)
"""Kinds of lines in a `Diary`."""

MOST_CONTRASTS = 3


class Concepts(NamedTuple):
    """Everything that the layers of a concept network know."""

    owners: Ints  # (C,) layer of a rule, or NO_OWNER
    lows: Floats  # (C, n) a rule holds for low < x <= high
    highs: Floats  # (C, n)
    weights: Floats  # (C, m, p) log odds of the classes, by expanded feature
    gains: Floats  # (C, h) what is still to be learned: lower half of a matrix (p, p), row by row
    caps: Floats  # (p,) most a variance in the gains may be: the prior, in today's units
    evidence: Singles  # (C, n, B, Q, 2) residuals and their variance, by bin: is a split worth it?
    crossings: Singles  # (C, d, Q) the same for pairs: do residuals turn where two features cross?
    ages: Ints  # (C,) rows learned since the rule began
    means: Floats  # (C, n) of the rows of a rule
    variances: Floats  # (C, n)
    class_counts: Floats  # (C, m) rows learned, by class
    kinds: Ints  # (L,) NO_LAYER, LINE, BOXES or CLOUDS
    members: Ints  # (L, R) slots of the rules of a layer
    n_members: Ints  # (L,)
    scores: Floats  # (L,) fading share of right predictions
    rests: Ints  # (L,) structural steps that a layer without a say still sits out
    last_wins: Ints  # (L,) structural step at which it was last the best
    disagreements: Floats  # (L, L) fading share of rows on which two kept layers differ
    compared: Floats  # (L, L) rows behind them
    cloud_centers: Floats  # (n, K) transposed, so that the distances to all clouds are one loop
    cloud_labels: Ints  # (K,)
    cloud_spreads: Floats  # (K,) variance per feature
    cloud_masses: Floats  # (K,) fading count of rows
    cloud_heights: Floats  # (K,) log density at the centre
    n_clouds: Ints  # (1,)
    track: Ints  # (4,)
    course: Floats  # (8,)
    label_shares: Floats  # (m,) fading, of each class among the labels taken
    clock: Ints  # (4,)
    purse: Ints  # (S,) the label budget, see `kernels/purse.py`


class Habits(NamedTuple):
    """The parameters of a concept network that kernels need."""

    quick_rows: float
    shortest_rows: float
    longest_rows: float
    forgetting: bool
    prior: float
    prior_reach: float
    label_noise: float
    rule_growing: bool
    split_evidence: float
    split_every: int
    split_doubt: float
    cloud_rate: float
    cloud_birth: float
    cloud_memory: float
    active_learning: bool
    conflict_threshold: float
    exploration: float
    label_budget: float
    budget_window: int
    vote_rows: float
    vote_sharpness: float
    growing: bool
    recall: bool
    drift_significance: float
    chunk_rows: int


class Lessons(NamedTuple):
    """Rows to learn, and what is known of their labels."""

    rows: Floats  # (k, n) scaled; NaN where a feature is left out
    labels: Ints  # (k,)
    weights: Floats  # (k,)
    draws: Floats  # (k,) one random number each
    labelled: Ints  # (k,) UNLABELLED, OFFERED or ASKED_FOR


class Diary(NamedTuple):
    """What kernels report: which labels they took, and what changed in the structure."""

    taken: Ints  # (k,)
    errors: Ints  # (k,) of the network, before it learned the row
    lines: Ints  # (e, 5) row, kind, layer, and two numbers more
    numbers: Floats  # (e, 4)
    n_lines: Ints  # (1,)


class Work(NamedTuple):
    """Working memory, made by the caller: a kernel's own arrays would be counted at every use."""

    expanded: Floats  # (p,)
    gain: Floats  # (p,)
    outputs: Floats  # (L, m)
    shares: Floats  # (L,)
    probabilities: Floats  # (m,)
    step: Floats  # (m,)
    learned: Floats  # (m,)
    heights: Floats  # (K,)
    distances: Floats  # (K,)
