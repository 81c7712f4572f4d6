"""What a run says about each chunk."""

import dataclasses

from devfnn.evaluation.measures import Tally
from devfnn.events import Event


@dataclasses.dataclass(frozen=True, slots=True)
class ChunkResult:
    """One chunk, predicted and then learned. None stands for what was not measured."""

    index: int
    """Number of the chunk, from 0."""
    chunk_rows: int
    """Rows in the chunk."""
    n_rows: int
    """Rows so far, this chunk included."""
    n_correct: int | None
    """Rows predicted right; None if none was scored, as in the first chunk, which only trains."""
    n_scored: int
    """Rows that were predicted and whose labels are known."""
    events: tuple[Event, ...]
    """What learning the chunk changed in the structure of the model, by rows of the stream."""
    seconds_predict: float
    """Time to predict the chunk."""
    seconds_learn: float
    """Time to learn the chunk."""
    n_rules: int | None = None
    """Rules after learning, if the model counts them."""
    n_layers: int | None = None
    """Layers that vote after learning, if the model counts them."""
    n_labels: int | None = None
    """Labels the model has used so far in this run, or was given if it does not count them."""
    n_layers_total: int | None = None
    """Layers, those that were merged included."""
    n_parameters: int | None = None
    """Numbers that define the live rules."""
    n_bytes: int | None = None
    """Size of what was learned."""
    voting_weights: tuple[float, ...] | None = None
    """Voting weight of every layer."""
    feature_mask: tuple[bool, ...] | None = None
    """Which features are in use."""
    tally: Tally | None = dataclasses.field(default=None, compare=False)
    """From which all measures of the chunk follow; None if no row was scored."""
    auc_windowed: float | None = None
    """Area under the curve over the last chunks."""

    @property
    def accuracy(self) -> float | None:
        """Share of the scored rows predicted right."""
        return None if self.n_correct is None else self.n_correct / self.n_scored
