"""GClass: one gaussian layer on its own (paper: section "gClass learning procedure")."""

from collections.abc import Hashable, Iterable, Sequence

from devfnn.errors import InputError
from devfnn.model import presets
from devfnn.model.config import Config, Layer
from devfnn.model.devfnn import DEVFNN


class GClass(DEVFNN):
    """A single layer of evolving fuzzy rules: DEVFNN without depth and feature mask.

    Parameters
    ----------
    config
        As for DEVFNN, with gaussian layers: `presets.stacked()` if not given. What concerns several
        layers is set for a single one.
    feature_names, classes
        As for DEVFNN.
    """

    def __init__(
        self,
        config: Config | None = None,
        feature_names: Sequence[str] | None = None,
        classes: Iterable[Hashable] = (),
    ) -> None:
        config = config if config is not None else presets.stacked()
        own = [layer for layer in config.layers if layer.kind == "gaussian"]
        if not own:
            raise InputError("GClass needs a gaussian layer; use presets.stacked() or paper()")
        alone = config.replace(
            layers=(Layer("gaussian", name=own[0].name),),
            drift=None,
            growing=None,
            merging=None,
            feature_mask=None,
        )
        super().__init__(alone, feature_names, classes)
