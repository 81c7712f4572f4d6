"""The classifiers, with every parameter of `Config` in their signature."""

import dataclasses
from typing import ClassVar, TypeVar

from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN
from devfnn.model.gclass import GClass
from devfnn.sklearn.base import StreamClassifier

Estimator = TypeVar("Estimator", bound=type)


def _with_parameters(estimator: Estimator) -> Estimator:
    """List the parameters in the docstring of a class, with the words of `Config`."""
    about = [
        f"{field.name} : default {field.default!r}\n        {field.metadata['meaning']}"
        for field in dataclasses.fields(Config)
    ]
    if estimator.__doc__:  # there is none with python -OO
        estimator.__doc__ = estimator.__doc__.replace("<parameters>", "\n    ".join(about))
    return estimator


@_with_parameters
class DEVFNNClassifier(StreamClassifier):
    """Deep evolving fuzzy neural network for streams that change, with scikit-learn's interface.

    Rows are learned once, in the order given. `fit` starts anew and learns chunks of `chunk_rows`
    rows; `partial_fit` goes on and learns its rows as one chunk. Predictions are those of
    `devfnn.DEVFNN` after the same chunks.

    Parameters
    ----------
    <parameters>

    Attributes
    ----------
    classes_ : ndarray
        All classes, sorted; also those that no row had so far.
    n_features_in_ : int
        Features of a row.
    feature_names_in_ : ndarray of str
        Their names; only there if rows came with names that are all text.
    model_ : DEVFNN
        The model itself, for its rules and its size.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(1000, random_state=0)
    >>> model = DEVFNNClassifier().fit(X[:800], y[:800])
    >>> model.score(X[800:], y[800:]) > 0.85
    True
    """

    _core: ClassVar[type[DEVFNN]] = DEVFNN

    def __init__(  # noqa: PLR0913 - every parameter of Config, in its order
        self,
        *,
        network: str = Config.network,
        chunk_rows: int = Config.chunk_rows,
        scaling: str = Config.scaling,
        missing: str = Config.missing,
        lags: int = Config.lags,
        seed: int = Config.seed,
        forgetting: bool = Config.forgetting,
        quick_memory: float = Config.quick_memory,
        shortest_memory: float = Config.shortest_memory,
        longest_memory: float = Config.longest_memory,
        prior: float = Config.prior,
        prior_reach: float = Config.prior_reach,
        label_noise: float = Config.label_noise,
        max_boxes: int = Config.max_boxes,
        max_pool: int = Config.max_pool,
        split_evidence: float = Config.split_evidence,
        split_every: int = Config.split_every,
        crossings: bool = Config.crossings,
        split_doubt: float = Config.split_doubt,
        max_clouds: int = Config.max_clouds,
        cloud_rate: float = Config.cloud_rate,
        cloud_birth: float = Config.cloud_birth,
        cloud_memory: float = Config.cloud_memory,
        join_evidence: float = Config.join_evidence,
        max_kept: int = Config.max_kept,
        merge_disagreement: float = Config.merge_disagreement,
        vote_rows: float = Config.vote_rows,
        vote_power: float = Config.vote_power,
        consequent: str = Config.consequent,
        mixing: str = Config.mixing,
        normalisation: str = Config.normalisation,
        initial_gain: float = Config.initial_gain,
        later_gain: float = Config.later_gain,
        curvature_floor: float = Config.curvature_floor,
        memory: float = Config.memory,
        chunk_memory: float = Config.chunk_memory,
        weight_decay: float = Config.weight_decay,
        local_forgetting: float = Config.local_forgetting,
        density_memory: float = Config.density_memory,
        active_learning: bool = Config.active_learning,
        conflict_threshold: float = Config.conflict_threshold,
        exploration: float = Config.exploration,
        threshold_step: float = Config.threshold_step,
        label_budget: float = Config.label_budget,
        budget_window: int = Config.budget_window,
        rule_growing: bool = Config.rule_growing,
        rules: str = Config.rules,
        max_rules: int = Config.max_rules,
        first_precision: float = Config.first_precision,
        vigilance: float = Config.vigilance,
        width_floor: float = Config.width_floor,
        coverage: float = Config.coverage,
        premise_tuning: str = Config.premise_tuning,
        max_population: float = Config.max_population,
        pruning: bool = Config.pruning,
        prune_margin: float = Config.prune_margin,
        potential_memory: float = Config.potential_memory,
        recall: bool = Config.recall,
        archive_size: int = Config.archive_size,
        initial_layers: int = Config.initial_layers,
        max_layers: int = Config.max_layers,
        plain_first: bool = Config.plain_first,
        training: str = Config.training,
        augmentation: str = Config.augmentation,
        growing: bool = Config.growing,
        merging: bool = Config.merging,
        feature_mask: bool = Config.feature_mask,
        voting_weights: str = Config.voting_weights,
        vote_memory: float = Config.vote_memory,
        vote_sharpness: float = Config.vote_sharpness,
        newborn: str = Config.newborn,
        newborn_doubt: float = Config.newborn_doubt,
        vote: str = Config.vote,
        vote_step: float = Config.vote_step,
        vote_floor: float = Config.vote_floor,
        initial_decay: float = Config.initial_decay,
        newborn_weight: float = Config.newborn_weight,
        reset_winner: bool = Config.reset_winner,
        feature_score: str = Config.feature_score,
        feature_threshold: float = Config.feature_threshold,
        merge_threshold: float = Config.merge_threshold,
        statistics_memory: float = Config.statistics_memory,
        drift_test: str = Config.drift_test,
        drift_one_sided: bool = Config.drift_one_sided,
        drift_significance: float = Config.drift_significance,
        warning_significance: float = Config.warning_significance,
        train_on_warning: bool = Config.train_on_warning,
        horizon: float = Config.horizon,
        buffer_rows: int = Config.buffer_rows,
    ) -> None:
        given = dict(locals())
        del given["self"]
        self.__dict__.update(given)  # each under its name and unchecked, as scikit-learn wants it


@_with_parameters
class GClassClassifier(DEVFNNClassifier):
    """One layer of evolving fuzzy rules, with scikit-learn's interface: `devfnn.GClass`.

    All is as in `DEVFNNClassifier`, but `network`, `initial_layers`, `max_layers`, `growing`,
    `merging` and `feature_mask` are those of a single layer, and parameters of the concept network
    have no effect.

    Parameters
    ----------
    <parameters>
    """

    _core: ClassVar[type[DEVFNN]] = GClass
    _fixed: ClassVar[frozenset[str]] = frozenset(
        {"network", "initial_layers", "max_layers", "growing", "merging", "feature_mask"}
    )
