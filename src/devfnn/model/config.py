"""Every parameter of the model, once: its range, its meaning and its symbol in the paper."""

import dataclasses
import functools
import math
import statistics
from typing import Any, Literal

import numpy as np

from devfnn.errors import InputError
from devfnn.kernels.concept_state import Habits
from devfnn.kernels.state import Settings
from devfnn.parameters import check_names, check_parameters, choice, number


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """All parameters of DEVFNN. The defaults are one configuration for all streams.

    >>> Config().replace(growing=False).growing
    False
    >>> Config(vote_step=2.0)
    Traceback (most recent call last):
    ...
    devfnn.errors.InputError: vote_step must be between 0 and 1, not 2.0
    """

    network: Literal["concepts", "stacked"] = choice(
        "concepts", "rival layers, one kept per concept; or stacked rule layers, as the paper has"
    )

    # Rows
    chunk_rows: int = number(500, 2, 10**7, "rows between structural steps in row-wise learning")
    scaling: Literal["online", "none"] = choice(
        "online", "scale inside the model without look-ahead, or expect inputs in [0, 1]"
    )
    missing: Literal["error", "skip"] = choice(
        "error", "refuse NaN, or treat it as an absent feature"
    )
    lags: int = number(
        0, 0, 100, "last labels that are inputs too; for streams that go on as before"
    )
    seed: int = number(0, 0, 2**63 - 1, "seed of the exploration share")

    # The concept network
    forgetting: bool = choice(True, "let the past fade; off keeps all of it")
    quick_memory: float = number(300.0, 2.0, 1e9, "rows that the line of short memory rests on")
    shortest_memory: float = number(2000.0, 8.0, 1e9, "rows of memory after a drift, at least")
    longest_memory: float = number(20000.0, 2.0, 1e12, "rows of memory in a calm, at most")
    prior: float = number(5.0, 1e-6, 1e8, "variance of the weights of a rule before any row")
    prior_reach: float = number(25.0, 1.0, 1e4, "most by which it widens for a narrow feature")
    label_noise: float = number(0.1, 0.0, 0.9, "share of wrong labels that steady lines expect")
    max_boxes: int = number(20, 1, 1000, "rules in the layer of boxes, and in each kept layer")
    max_pool: int = number(32, 6, 10**5, "rules in all lines and boxes together, kept ones too")
    split_evidence: float = number(20.0, 0.0, 1e9, "gain in likelihood for which a rule splits")
    split_every: int = number(100, 1, 10**7, "learned rows of a rule between two looks at that")
    crossings: bool = choice(True, "let rules also split where two features cross their means")
    split_doubt: float = number(10.0, 1.0, 1e9, "factor on the gain of both halves of a rule")
    max_clouds: int = number(100, 0, 10**5, "rules in the layer of clouds; 0 does without it")
    cloud_rate: float = number(0.2, 0.0, 1.0, "step of a cloud towards a row of its own")
    cloud_birth: float = number(0.1, 0.0, 1.0, "probability of its class below which a row founds")
    cloud_memory: float = number(0.999, 0.5, 1.0, "share of the mass of clouds kept per row")
    join_evidence: float = number(0.5, 0.0, 1e9, "difference per weight below which rules join")
    max_kept: int = number(5, 0, 50, "layers kept for concepts that may return")
    merge_disagreement: float = number(0.01, 0.0, 1.0, "share of rows below which layers merge")
    vote_rows: float = number(1000.0, 1.0, 1e9, "rows over which right predictions are counted")
    vote_power: float = number(0.15, 0.0, 100.0, "log odds for every row more that was right")

    # The THEN part of a rule
    consequent: Literal["logistic", "least_squares"] = choice(
        "logistic", "recursive logistic regression, or the paper's FWGRLS"
    )
    mixing: Literal["logits", "probabilities"] = choice(
        "logits", "what the rules of a logistic layer average"
    )
    normalisation: Literal["softmax", "floor"] = choice(
        "softmax", "of firing strengths; floor reads a total under 0.001 as 1, as the authors do"
    )
    initial_gain: float = number(5.0, 1e-6, 1e8, "start and cap of the gain, in first units", "Ω")
    later_gain: float = number(1.0, 1e-6, 1e8, "start of the gain matrix of later rules", "Ω")
    curvature_floor: float = number(0.01, 1e-6, 0.25, "least curvature of the logistic update")
    memory: float = number(0.9995, 0.5, 1.0, "share of the past kept per row")
    chunk_memory: float = number(1.0, 0.0, 1.0, "share kept per chunk; 0 starts the gain anew")
    weight_decay: float = number(0.0, 0.0, 1.0, "strength of the pull towards 0", "ϖ")
    local_forgetting: float = number(
        0.0, 0.0, 0.5, "most a moving local density may cut the memory; 0 is off"
    )
    density_memory: float = number(0.99, 0.5, 1.0, "share of the local density kept per row")

    # What to learn
    active_learning: bool = choice(True, "learn only rows that are worth their label")
    conflict_threshold: float = number(0.99, 0.0, 1.0, "certainty below which to learn", "k_prune")
    exploration: float = number(0.1, 0.0, 1.0, "share of rows learned whatever the certainty")
    threshold_step: float = number(0.0, 0.0, 0.5, "speed of a varying threshold; 0 is off")
    label_budget: float = number(1.0, 0.0, 1.0, "most labels per row over any window; 1 is off")
    budget_window: int = number(100, 1, 10**7, "rows in a row over which it is never exceeded")

    # The IF part of a rule
    rule_growing: bool = choice(True, "let rows found new rules")
    rules: Literal["evolving", "fixed"] = choice(
        "evolving", "rules come and go; or a stacked layer has one for each feature, for good"
    )
    max_rules: int = number(10, 1, 1000, "active rules in a layer")
    first_precision: float = number(2.0, 1e-6, 1e6, "inverse variance of a first rule", "k_fs")
    vigilance: float = number(0.9, 0.0, 1.0, "volume share of the winner for growth", "Vig")
    width_floor: float = number(0.02, 1e-6, 1.0, "least width of a rule, inputs in [0, 1]")
    coverage: float = number(0.9, 0.5, 0.9999, "share of a Gaussian that counts as inside")
    premise_tuning: Literal["covered", "published", "off"] = choice(
        "covered", "rows that move the winner's premise"
    )
    max_population: float = number(1e4, 2.0, 1e12, "rows a premise rests on at most")
    pruning: bool = choice(True, "drop rules without significance or potential")
    prune_margin: float = number(1.0, 0.0, 100.0, "standard deviations below a rule's own mean")
    potential_memory: float = number(0.998, 0.5, 1.0, "share of the potential kept per row")
    recall: bool = choice(True, "keep obsolete rules and call them back")
    archive_size: int = number(10, 0, 1000, "obsolete rules kept in a layer")

    # The network
    initial_layers: int = number(2, 1, 50, "layers at the start")
    max_layers: int = number(6, 1, 50, "layers at most, merged ones included")
    plain_first: bool = choice(
        True, "of several initial layers, the first keeps a single rule: the simplest rival"
    )
    training: Literal["winner", "winner_and_initial", "all"] = choice(
        "winner_and_initial", "layers trained on a chunk; initial layers never rest"
    )
    augmentation: Literal["all", "settled", "off"] = choice(
        "settled", "outputs that later layers take in: all, all but of layers that never rest, none"
    )
    growing: bool = choice(True, "add a layer on drift")
    merging: bool = choice(True, "leave out layers that repeat another")
    feature_mask: bool = choice(False, "leave out features that say nothing")
    voting_weights: Literal["likelihood", "reward", "equal"] = choice(
        "likelihood", "fading likelihood of the labels, reward and punishment as printed, or none"
    )
    vote_memory: float = number(0.9995, 0.0, 1.0, "share of the likelihood kept per row")
    vote_sharpness: float = number(0.03, 0.0, 10.0, "power of the likelihood of one row")
    newborn: Literal["winner", "scratch"] = choice(
        "winner", "a new layer starts as a copy of the winner, or knows nothing"
    )
    newborn_doubt: float = number(5.0, 1.0, 1e6, "factor on the gain that a copy inherits")
    vote: Literal["hard", "soft"] = choice("soft", "layers vote for a class or with probabilities")
    vote_step: float = number(0.01, 0.0, 1.0, "step of the decay factor", "π")
    vote_floor: float = number(1e-6, 1e-300, 0.1, "least voting weight of a live layer")
    initial_decay: float = number(1.0, 0.0, 1.0, "decay factor of a new layer", "ρ")
    newborn_weight: float = number(1.0, 1e-6, 1.0, "voting weight of a new layer", "χ")
    reset_winner: bool = choice(False, "give a trained layer its initial weight and decay again")
    feature_score: Literal["standardised", "variance"] = choice(
        "standardised", "compression index of unit-variance inputs, or as printed"
    )
    feature_threshold: float = number(0.99, 0.0, 1.0, "score from which a feature is off", "δ1")
    merge_threshold: float = number(0.001, 0.0, 1.0, "index below which layers merge", "δ2")
    statistics_memory: float = number(0.95, 0.0, 1.0, "share of such statistics kept per chunk")
    drift_test: Literal["stream", "chunk"] = choice(
        "stream", "errors since the last drift, or the printed test inside one chunk"
    )
    drift_one_sided: bool = choice(True, "only a rising error rate is drift")
    drift_significance: float = number(1e-4, 1e-300, 0.5, "cap of the level of drift", "α_D")
    warning_significance: float = number(1e-3, 1e-300, 0.5, "cap of the level of warning", "α_W")
    train_on_warning: bool = choice(True, "train on chunks of the warning phase too")
    horizon: float = number(200.0, 1e-9, 1e12, "chunks over which the levels rise", "T")
    buffer_rows: int = number(5000, 0, 10**7, "rows kept in the warning phase")

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.label_budget > 0.0 and self.label_budget * self.budget_window < 1.0 - 1e-9:
            enough = math.ceil(1.0 / self.label_budget)
            raise InputError(
                f"label_budget {self.label_budget:g} of budget_window {self.budget_window} rows is "
                f"less than one label; a budget_window of {enough} rows has room for one"
            )

    def replace(self, **changes: Any) -> "Config":
        """A copy with some parameters changed."""
        check_names(self, changes)
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """All parameters as plain data."""
        return dataclasses.asdict(self)

    @functools.lru_cache(maxsize=64)  # noqa: B019 - frozen, small, and asked for on every call
    def kernel_settings(self, n_inputs: int) -> Settings:
        """The numbers that kernels need, for layers of at most `n_inputs` inputs."""
        return Settings(
            logistic=self.consequent == "logistic",
            mix_logits=self.mixing == "logits",
            firing_floor=self.normalisation == "floor",
            initial_gain=float(self.initial_gain),
            later_gain=float(self.later_gain),
            curvature_floor=float(self.curvature_floor),
            memory=float(self.memory),
            weight_decay=float(self.weight_decay),
            local_forgetting=float(self.local_forgetting),
            density_memory=float(self.density_memory),
            potential_memory=float(self.potential_memory),
            active_learning=bool(self.active_learning),
            conflict_threshold=float(self.conflict_threshold),
            exploration=float(self.exploration),
            threshold_step=float(self.threshold_step),
            label_budget=float(self.label_budget),
            grow_rules=self.rule_growing and self.rules == "evolving",
            recall_rules=self.recall and self.pruning and self.rules == "evolving",
            max_rules=int(self.max_rules),
            first_precision=float(self.first_precision),
            log_vigilance=math.log(max(self.vigilance, 1e-300)),
            width_floor=float(self.width_floor),
            tuning=["off", "covered", "published"].index(self.premise_tuning),
            max_population=float(self.max_population),
            coverage=chi_square_radii(self.coverage, n_inputs),
            adapt_votes=["equal", "reward", "likelihood"].index(self.voting_weights),
            vote_memory=float(self.vote_memory),
            vote_sharpness=float(self.vote_sharpness),
            soft_vote=self.vote == "soft",
            vote_step=float(self.vote_step),
            vote_floor=float(self.vote_floor),
            training=["winner", "winner_and_initial", "all"].index(self.training),
            initial_layers=int(self.initial_layers),
            plain_first=bool(self.plain_first and self.initial_layers > 1),
        )

    @functools.lru_cache(maxsize=64)  # noqa: B019 - frozen, small, and asked for on every call
    def habits(self) -> Habits:
        """The numbers that the kernels of a concept network need."""
        return Habits(
            quick_rows=float(self.quick_memory),
            shortest_rows=float(self.shortest_memory),
            longest_rows=float(max(self.longest_memory, self.shortest_memory)),
            forgetting=bool(self.forgetting),
            prior=float(self.prior),
            prior_reach=float(self.prior_reach),
            label_noise=float(self.label_noise),
            rule_growing=bool(self.rule_growing),
            split_evidence=float(self.split_evidence),
            split_every=int(self.split_every),
            split_doubt=float(self.split_doubt),
            cloud_rate=float(self.cloud_rate),
            cloud_birth=float(self.cloud_birth),
            cloud_memory=float(self.cloud_memory) if self.forgetting else 1.0,
            active_learning=bool(self.active_learning),
            conflict_threshold=float(self.conflict_threshold),
            exploration=float(self.exploration),
            label_budget=float(self.label_budget),
            budget_window=int(self.budget_window),
            vote_rows=float(self.vote_rows),
            vote_sharpness=float(self.vote_power),
            growing=bool(self.growing),
            recall=bool(self.recall),
            drift_significance=float(self.drift_significance),
            chunk_rows=int(self.chunk_rows),
        )


def chi_square_radii(share: float, n_inputs: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Squared radius that holds `share` of a Gaussian, for 0 to `n_inputs` dimensions.

    Wilson and Hilferty's approximation, good to three percent.

    >>> chi_square_radii(0.9, 4).round(2).tolist()
    [0.0, 2.64, 4.56, 6.21, 7.75]
    """
    dimensions = np.arange(1, n_inputs + 1)
    spread = 2.0 / (9.0 * dimensions)
    z = statistics.NormalDist().inv_cdf(share)
    radii = dimensions * (1.0 - spread + z * np.sqrt(spread)) ** 3
    return np.concatenate([[0.0], radii])
