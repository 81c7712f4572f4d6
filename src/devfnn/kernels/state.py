"""What kernels read and write: named tuples of plain arrays, one for every kind of layer.

Axes: L layers, n features, m classes. Pool of lines, curves and boxes: C slots, R rules of a layer
at most, p = 2n + 1 expanded features, h = p (p + 1) / 2, d = n (n - 1) / 2 pairs of features, B
bins, Q contrasts of classes. K clouds. F surfaces, s terms of one, t = s (s + 1) / 2. Gaussian
layers: G rule slots, i inputs (features, then outputs of the layers before), q = 2i + 1 expanded
inputs. V rows of the window. D boosted layers, T trees, N inner nodes and E leaves of a tree. U
stacked layers, I inputs of one: layers below, then their vote. S numbers of the label budget.
Fields of a named tuple cannot be rebound: a count is an array too.

A kind that the network does not have is None, and what serves only that kind is not compiled.
"""

from typing import NamedTuple

from devfnn.arrays import Codes, Flags, Floats, Ints, Shorts, Singles

# ---- kinds of layers

NO_LAYER, LINE, CURVE, BOXES, CLOUDS, SURFACE, GAUSSIAN = range(-1, 6)
PRIOR, BOOSTED, NEIGHBOURS, STACKED = range(6, 10)
"""What a place for a layer holds. The numbers are stored in files."""

# ---- places in small arrays

MEMORY, REFEREE, UNCERTAINTY, LABEL_RATE, INDEPENDENCE, WATCHED, LAST_LABEL, NEAR_CHANGES = range(8)
"""Places in `Progress.signals`: rows of the adaptive memory; lead of the short memory over the long
one; recent mean uncertainty; recent share of labels taken; what one row is worth against one that
repeats nothing; labels behind that; the last label; how often labels differ from the one before."""

FIRST_LABELS = 1000
"""Labels before anybody can say how far rows repeat each other."""

LEAST_ROW_WEIGHT = 0.1
"""No row counts less than this, however much rows repeat each other: evidence is divided by it."""

ROWS, STEPS, SCORED, REPORTED_CLOUDS = range(4)
"""Places in `Progress.counts`: rows learned; structural steps; rows scored since the last drift;
the number of clouds that was last reported."""

TRACK_ROWS, TRACK_ERRORS, CUT_ROWS, CUT_ERRORS = range(4)
"""Places in `Progress.errors`: since the last drift, and up to where they were rarest."""

SEEN_ROWS, BOUGHT, OWED, FIRST_PLACE = range(4)
"""Places in `Progress.budget`: rows so far; labels so far; labels asked for ahead of learning that
were not learned yet; the first row of those with a label."""

UNLABELLED, OFFERED, ASKED_FOR, ANSWERED = range(4)
"""A row's label: there is none; take it if it is worth it; it was asked for, so take it; the same,
but the row was counted when it was asked about, and paid for then."""

FREE, ACTIVE, ARCHIVED = range(3)
"""What a slot of a gaussian layer holds: nothing, a rule that fires, one that may be recalled."""

SEEN, USED, GROWN, RECALLED, TUNED, CONSEQUENT_ONLY = range(6)
"""Columns of `GaussianState.counters`, in rows."""

N_EDGES = 31
"""Most edges between the bins of a feature, as boosted trees see it; one bin more is for rows
without it. Half as many bins cost accuracy, more cost time."""

NO_OWNER = -1
"""The owner of a slot of the pool without a rule."""

# ---- kinds of events in an `EventBuffer`

SPLIT_EVENT, DRIFT_EVENT, KEPT_EVENT, RECALLED_EVENT, DROPPED_EVENT = range(5)
RULE_BORN_EVENT, RULE_RECALLED_EVENT, RESTED_EVENT, WOKEN_EVENT = range(5, 9)

# ---- forms of mechanisms, as kernels know them

BY_ACCURACY, BY_REWARD, BY_LIKELIHOOD, EQUAL = range(4)
"""How voting weights move."""

ALL_LABELS, BY_VOTE, BY_LAYER = range(3)
"""Who chooses the rows that are learned: nobody, the network by its vote, every layer itself."""

NO_DRIFT_TEST, DRIFT_IN_STREAM, DRIFT_AT_STEPS = range(3)
"""Where drift is tested: nowhere, inside kernels, at structural steps."""

NEVER, ALWAYS, WHILE_LEADING = range(3)
"""Whether a layer learns."""


class Layers(NamedTuple):
    """What the network keeps of every layer, whatever its kind."""

    kinds: Ints  # (L,) NO_LAYER, LINE, ...
    origins: Ints  # (L,) the configured layer that a kept one is a copy of; else its own number
    scores: Floats  # (A,) fading share of right predictions; A is L where votes are by accuracy
    voting_weights: Floats  # (W,) W is L where they are not, so one of both is empty
    decays: Floats  # (W,)
    is_merged: Flags  # (L,)
    rests: Ints  # (L,) structural steps that a layer without a say still sits out
    naps: Ints  # (Z,) how often it has rested since it was last worth its cost; Z is L where
    # layers rest by their worth for a stack
    worths: Floats  # (Z,) what the answers would lose without it: log-loss, fading
    squares: Floats  # (Z,) the same squared, row by row
    watched: Floats  # (Z,) independent rows since it began or came back
    last_wins: Ints  # (L,) structural step at which it was last the best
    disagreements: Floats  # (A, A) fading share of rows on which two kept layers differ
    compared: Floats  # (A, A) rows behind them


class PoolState(NamedTuple):
    """The rules of all lines, curves and boxes: a network is as large as its rules are many."""

    owners: Ints  # (C,) layer of a rule, or NO_OWNER
    members: Ints  # (L, R) slots of the rules of a layer
    n_members: Ints  # (L,)
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


class CloudState(NamedTuple):
    """Round Gaussians of one class each."""

    centers: Floats  # (n, K) transposed, so that the distances to all clouds are one loop
    labels: Ints  # (K,)
    spreads: Floats  # (K,) variance per feature
    masses: Floats  # (K,) fading count of rows
    heights: Floats  # (K,) log density at the centre
    count: Ints  # type: ignore[assignment]  # (1,)


class SurfaceState(NamedTuple):
    """The rule of the surface, named as those of the pool."""

    weights: Floats  # (F, m, s) log odds of the classes, by term
    gains: Floats  # (F, t) lower half of a matrix (s, s), row by row
    caps: Floats  # (s,)
    ages: Ints  # (F,)
    means: Floats  # (F, n)
    variances: Floats  # (F, n)
    class_counts: Floats  # (F, m)


class GaussianState(NamedTuple):
    """Layers of Gaussian rules (paper: gClass). In kernels `view` gives one of them."""

    status: Ints  # (L, G) FREE, ACTIVE or ARCHIVED
    centers: Floats  # (L, G, i)
    covs: Floats  # (L, G, i, i)
    inverse_covs: Floats  # (L, G, i, i)
    log_volumes: Floats  # (L, G) half the log determinant of the covariance
    populations: Floats  # (L, G) rows the premise rests on; shrinks when it forgets
    class_counts: Floats  # (L, G, m) rows won, by class
    consequents: Floats  # (L, G, m, q)
    gain_covs: Floats  # (L, G, q, q) symmetric positive definite
    gain_caps: Floats  # (L, q) most variance a weight may have: the prior, in today's units
    densities: Floats  # (L, G, 3) windowed weight, windowed distance, last local density
    potentials: Floats  # (L, G, 2) windowed row count, windowed distance
    utilities: Floats  # (L, G) windowed mean of the activation
    ages: Ints  # (L, G) consequent updates since birth or recall
    premise_updates: Ints  # (L, G) since birth
    record_counts: Floats  # (L, G, 2) evaluations of a rule's significance (0) and potential (1)
    record_means: Floats  # (L, G, 2)
    record_squares: Floats  # (L, G, 2) sums of squared deviations
    violations: Floats  # (L, G, 2) how often running they were too low
    n_inputs: Ints  # (L, 1)
    input_mask: Flags  # (L, i) False: the input is left out until it is switched on again
    density_weight: Floats  # (L, 1) sum of the weights behind the two fields below
    density_mean: Floats  # (L, i)
    density_cov: Floats  # (L, i, i)
    class_weights: Floats  # (L, m) rows of each class
    class_means: Floats  # (L, m, i)
    class_variances: Floats  # (L, m, i)
    threshold: Floats  # (L, 1) certainty below which a row is learned
    counters: Ints  # (L, 6) see SEEN ...


class PriorState(NamedTuple):
    """How often classes came of late."""

    class_weights: Floats  # (m,) fading


class WindowState(NamedTuple):
    """The newest rows that were learned: a ring."""

    rows: Singles  # (n, V) scaled; NaN where a feature is absent
    gaps: Flags  # (V,) whether one is absent
    labels: Ints  # (V,)
    weights: Floats  # (V,)
    count: Ints  # type: ignore[assignment]  # (1,) rows so far; the next one goes to count % V
    waiting: Ints  # (1,) rows since layers were last fitted to it, with or without a label


class BoostedState(NamedTuple):
    """Trees of all boosted layers, those of one after those of the other."""

    owners: Codes  # (T,) which of the boosted layers a tree belongs to
    features: Shorts  # (T, N) feature of a node; see `kernels/boosted.py`
    thresholds: Singles  # (T, N) rows up to here go left
    lefts: Flags  # (T, N) whether rows without the feature go left
    leaves: Singles  # (T, E, m) log odds
    covers: Singles  # (T, E) weight of the rows that a leaf was fitted to
    scales: Floats  # (T,) what is left of a tree: all fade
    bases: Floats  # (D, m) log odds of a class that came late, before any tree knew it
    grown: Ints  # (D,) trees so far
    is_stale: Flags  # (D,) whether the scores are no longer what the trees say
    scores: Singles  # (D, V, m) log odds of the rows of the window
    edges: Singles  # (n, 31) between the bins of a feature; NaN where there are fewer
    codes: Codes  # (n, V) bins of the rows of the window
    coded: Ints  # (1,) rows of the window so far whose bins are known
    refits: Ints  # (1,)


class NeighbourState(NamedTuple):
    """How the rows of the window are compared."""

    scales: Singles  # (n,) what a squared difference counts
    gaps: Flags  # (n,) whether rows of the window lack the feature
    class_weights: Floats  # (m,) of the rows of the window
    weight: Floats  # (1,) of all


class StackedState(NamedTuple):
    """Stacked layers: one weight for each layer below, and one for their vote."""

    weights: Floats  # (U, I)
    information: Floats  # (U, I, I) about the weights, fading; the lower half
    slopes: Floats  # (U, I) gradient of the rows since the last step
    curvatures: Floats  # (U, I, I) the same, curvature
    unforeseen: Floats  # (1,) share of labels that no layer foresees; their classes are all alike


class Progress(NamedTuple):
    """What the network keeps of the stream as a whole."""

    errors: Ints  # (4,) see TRACK_ROWS ...
    signals: Floats  # (8,) see MEMORY ...
    label_shares: Floats  # (m,) fading, of each class among the labels taken
    counts: Ints  # (4,) see ROWS ...
    n_open: Ints  # (1,) labels since the last structural step
    lead: Floats  # (1,) rows on which the short memory beat the long one, since the last step
    budget: Ints  # (S,) the label budget, see `kernels/labels.py`


class State(NamedTuple):
    """All arrays of a network."""

    layers: Layers
    pool: PoolState | None
    clouds: CloudState | None
    surface: SurfaceState | None
    gaussians: GaussianState | None
    prior: PriorState | None
    window: WindowState | None
    boosted: BoostedState | None
    neighbours: NeighbourState | None
    stacked: StackedState | None
    progress: Progress


# ---- parameters


class PoolParams(NamedTuple):
    """Parameters of lines, curves and boxes; arrays are by configured layer."""

    memories: Floats  # (l,) rows; 0 is the adaptive memory
    memory_shares: Floats  # (l,) of the adaptive memory
    label_noises: Floats  # (l,) share of labels that a layer expects to be wrong
    splits: Flags  # (l,) whether its rules split
    head_starts: Flags  # (l,) whether its vote has a head start where rows repeat each other
    short_line: int  # the two lines whose lead moves the adaptive memory; -1 if there are none
    long_line: int
    reference: int  # the layer whose variances tell how far features spread; -1 if there is none
    shortest_memory: float
    longest_memory: float
    referee_memory: float
    shortening: float
    lengthening: float
    forgetting: bool
    prior: float
    prior_reach: float
    least_trust: float
    split_evidence: float
    evidence_per_contrast: float
    split_every: int
    split_doubt: float
    least_variance: float


class CloudParams(NamedTuple):
    """Parameters of clouds."""

    rate: float
    birth: float
    memory: float
    doubt: float
    first_spread: float
    first_mass: float
    row_mass: float


class SurfaceParams(NamedTuple):
    """Parameters of the surface."""

    memory: float


class GaussianParams(NamedTuple):
    """Parameters of gaussian layers."""

    logistic: bool
    initial_gain: float
    later_gain: float
    curvature_floor: float
    memory: float
    weight_decay: float
    local_forgetting: float
    density_memory: float
    potential_memory: float
    chooses_rows: bool
    certainty: float
    exploration: float
    grow_rules: bool
    recall_rules: bool
    recall_margin: float
    max_rules: int
    first_precision: float
    log_vigilance: float
    width_floor: float
    tuning: int  # 0 off, 1 rows inside the winner, 2 the published condition
    max_population: float
    coverage: Floats  # (i + 1,) squared radius that holds most of a rule, by dimension
    singles: Flags  # (l,) configured layers that keep a single rule


class PriorParams(NamedTuple):
    """Parameters of the prior."""

    rows: float
    doubt: float


class BoostedParams(NamedTuple):
    """Parameters of boosted layers; arrays are by boosted layer."""

    seed: int
    layers: Ints  # (D,) which layers of the network they are
    windows: Ints  # (D,) newest rows that a layer is fitted to
    trees: Floats  # (D,) grown per `step_rows` rows
    rates: Floats  # (D,)
    memories: Floats  # (D,) what is left of a tree after `step_rows` rows
    starts: Ints  # (D,) the first tree of a layer
    rooms: Ints  # (D,) how many it has at most
    first_trees: Floats  # (D,) up to which it grows faster
    depth: int
    first_factor: float
    step_rows: float
    first_refits: int
    bins_every: int
    row_share: float
    feature_share: float
    max_features: int
    least_gain: float
    least_curvature: float
    ridge: float


class NeighbourParams(NamedTuple):
    """Parameters of neighbours."""

    prior: float
    softness: float
    least_share: float


class StackedParams(NamedTuple):
    """Parameters of stacked layers; arrays are by stacked layer."""

    first: int  # the first of them among the layers; they are the last that are configured
    takes: Flags  # (U, I) what a layer takes in
    starts: Floats  # (U, I) weights to begin with
    lows: Floats  # (U, I) least weights
    ridges: Floats  # (U,)
    memory: float
    power: float
    unforeseen_rows: float


class Params(NamedTuple):
    """All parameters that kernels need."""

    n_configured: int  # layers of the configuration; those above them are kept or grown
    chunk_rows: int
    stacks: bool  # whether layers take in what others say
    first_leader: int  # the layer that leads among equals
    training: int  # 0 the leader, 1 also the configured layers, 2 all live layers
    label_choice: int
    certainty: float
    exploration: float
    label_budget: float
    budget_window: int
    votes: int
    soft_votes: bool
    vote_rows: float
    vote_power: float
    vote_memory: float
    vote_sharpness: float
    vote_step: float
    vote_floor: float
    rows_per_weight: float
    drift_test: int
    drift_significance: float
    drift_every: int
    weighs_repeats: bool
    keeps_layers: bool
    is_dear: Flags  # (l,) configured layers that may rest
    rest_share: float
    rest_steps: int
    most_rest_steps: int
    grace_rows: int
    least_worths: Floats  # (l,) of layers that may rest, by what they cost
    worth_rows: float
    worth_doubt: float
    trial_rows: int
    pool: PoolParams | None
    clouds: CloudParams | None
    surface: SurfaceParams | None
    gaussian: GaussianParams | None
    prior: PriorParams | None
    boosted: BoostedParams | None
    neighbours: NeighbourParams | None
    stacked: StackedParams | None


# ---- rows, events, working memory


class Batch(NamedTuple):
    """Rows to learn, and what is known of their labels. NaN in `rows`: the input is absent."""

    rows: Floats  # (k, n) or (k, i): scaled, then what the layers said if some take that in
    labels: Ints  # (k,)
    weights: Floats  # (k,)
    draws: Floats  # (k,) uniform random numbers, one a row
    labelled: Ints  # (k,) see UNLABELLED ...


class EventBuffer(NamedTuple):
    """What kernels report about rows: labels taken, errors, and what changed in the structure."""

    taken: Ints  # (k,) 1 where a layer was trained with the label
    errors: Ints  # (k,) 1 where the network was wrong before it learned the row
    lines: Ints  # (e, 5) row, kind, layer, and two numbers more
    numbers: Floats  # (e, 4)
    count: Ints  # type: ignore[assignment]  # (1,)


class GaussianWork(NamedTuple):
    """Working memory of gaussian layers."""

    present: Flags  # (i,)
    n_present: Ints  # (1,)
    offsets: Floats  # (G, i) row minus centre, 0 where absent
    pulls: Floats  # (G, i) inverse covariance times offset
    distances: Floats  # (G,) squared Mahalanobis
    activations: Floats  # (G,) normalised firing
    expanded: Floats  # (q,)
    gain: Floats  # (q,)
    locals: Floats  # (G, m) outputs of the single rules
    output: Floats  # (m,)
    residuals: Floats  # (m,)
    candidate_center: Floats  # (i,)
    candidate_width: Floats  # (i,)
    factor: Floats  # (i, i)


class BoostedWork(NamedTuple):
    """Working memory of boosted layers."""

    columns: Shorts  # (V,) rows of the window that a tree sees
    nodes: Codes  # (V,) where they are in the tree
    slopes: Singles  # (V, 2) gradient and curvature
    said: Singles  # (V, m) class probabilities
    features: Ints  # (n,) the first ones are those of a tree
    contrast: Floats  # (m,)
    bins: Singles  # (E, 33, 2)
    best: Floats  # (E, 4)
    cuts: Ints  # (E, 3)
    sums: Floats  # (E, m, 2)
    values: Singles  # (256,)
    row: Singles  # (n,)


class NeighbourWork(NamedTuple):
    """Working memory of neighbours."""

    distances: Singles  # (V,)
    lows: Singles  # (V,) the smallest distance of each block
    nearest: Ints  # (k,)
    means: Floats  # (m,)
    weights: Floats  # (m,)


class StackedWork(NamedTuple):
    """Working memory of stacked layers."""

    heard: Floats  # (I, m)
    vote: Floats  # (m,)
    asked: Floats  # (I,)
    found: Floats  # (I,)
    logits: Floats  # (U, m)
    answer: Floats  # (m,)
    judged: Floats  # (m,)
    without: Floats  # (m,) the answer without a layer
    spare: Floats  # (3, m)


class Work(NamedTuple):
    """Working memory, made by the caller: a kernel's own arrays would be counted at every use."""

    outputs: Floats  # (L, m)
    shares: Floats  # (L,)
    probabilities: Floats  # (m,)
    codes: Ints  # (L,) NEVER, ALWAYS or WHILE_LEADING
    inputs: Floats  # (i + m,) a row and what the layers say of it, if some take that in
    expanded: Floats  # (p,) or (s,), the longer one
    gain: Floats  # the same
    step: Floats  # (m,)
    learned: Floats  # (m,)
    heights: Floats  # (K,)
    distances: Floats  # (K,)
    gaussian: GaussianWork | None
    boosted: BoostedWork | None
    neighbours: NeighbourWork | None
    stacked: StackedWork | None


# ---- scored predictions

LOG_LOSS, SQUARES, WITH_PROBABILITIES, MAJORITY, NO_CHANGE = range(5)
N_TOTALS = 5
"""Places of the sums over scored rows, and how many there are."""

N_BINS = 10
"""Bins of the confidence, for calibration."""
