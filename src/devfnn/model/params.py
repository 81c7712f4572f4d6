"""The configuration as the numbers that kernels take."""

import functools

from devfnn.kernels.state import (
    ALL_LABELS,
    BY_ACCURACY,
    BY_LAYER,
    BY_LIKELIHOOD,
    BY_REWARD,
    BY_VOTE,
    DRIFT_AT_STEPS,
    DRIFT_IN_STREAM,
    EQUAL,
    NO_DRIFT_TEST,
    Params,
)
from devfnn.model.config import ByAccuracy, ByLikelihood, ByReward, Config, KeepLayers, Weighted
from devfnn.model.kinds import STORES


@functools.lru_cache(maxsize=64)
def kernel_params(config: Config, n_inputs: int) -> Params:
    """The numbers that kernels need, for gaussian layers of at most `n_inputs` inputs."""
    labels, growing = config.labels, config.growing
    accuracy = config.voting if isinstance(config.voting, ByAccuracy) else ByAccuracy()
    likelihood = config.voting if isinstance(config.voting, ByLikelihood) else ByLikelihood()
    reward = config.voting if isinstance(config.voting, ByReward) else ByReward()
    own = {
        store.PARAMS: store.params(config, n_inputs) if config.has(*store.KINDS) else None
        for store in STORES
    }
    pool = own["pool"]
    drift_test = NO_DRIFT_TEST
    if config.drift is not None and growing is not None:
        drift_test = DRIFT_IN_STREAM if isinstance(growing, KeepLayers) else DRIFT_AT_STEPS
    votes = {"accuracy": BY_ACCURACY, "reward": BY_REWARD, "likelihood": BY_LIKELIHOOD}
    is_weighted = isinstance(config.voting, Weighted)
    choices = {"all": ALL_LABELS, "vote": BY_VOTE, "layer": BY_LAYER}
    all_gaussian = all(layer.kind == "gaussian" for layer in config.layers)
    choice = BY_LAYER if all_gaussian else choices[labels.choice]  # layers see all rows then
    return Params(
        n_configured=len(config.layers),
        chunk_rows=int(config.chunk_rows),
        stacks=config.has("gaussian"),
        first_leader=max(pool.long_line, 0) if pool is not None else 0,
        training=["leader", "configured", "all"].index(config.training),
        label_choice=choice,
        certainty=float(labels.certainty),
        exploration=float(labels.exploration),
        label_budget=float(labels.budget),
        budget_window=int(labels.window),
        votes=votes.get(config.voting.form, EQUAL),
        soft_votes=not is_weighted or config.voting.ballots == "soft",  # type: ignore[union-attr]
        vote_rows=float(accuracy.rows),
        vote_power=float(accuracy.power),
        vote_memory=float(likelihood.memory),
        vote_sharpness=float(likelihood.sharpness),
        vote_step=float(reward.step),
        vote_floor=float(getattr(config.voting, "floor", reward.floor)),
        rows_per_weight=float(accuracy.rows_per_weight),
        drift_test=drift_test,
        drift_significance=float(config.drift.significance) if config.drift is not None else 0.5,
        drift_every=int(config.drift.every) if config.drift is not None else 1,
        weighs_repeats=bool(pool is not None and (config.drift is None or config.drift.repeats)),
        keeps_layers=isinstance(growing, KeepLayers) and growing.max_kept > 0,
        **own,
    )
