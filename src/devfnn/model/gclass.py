"""GClass: one rule layer on its own (paper: section "gClass learning procedure")."""

from collections.abc import Sequence

from devfnn.model.config import Config
from devfnn.model.devfnn import DEVFNN


class GClass(DEVFNN):
    """A single layer of evolving fuzzy rules: DEVFNN without depth and feature mask.

    Parameters
    ----------
    config
        As for DEVFNN; the parameters of the network are set for a single layer.
    feature_names
        Names for events and rules.
    """

    def __init__(
        self, config: Config | None = None, feature_names: Sequence[str] | None = None
    ) -> None:
        config = config if config is not None else Config()
        alone = config.replace(
            network="stacked",
            initial_layers=1,
            max_layers=1,
            growing=False,
            merging=False,
            feature_mask=False,
        )
        super().__init__(alone, feature_names)
