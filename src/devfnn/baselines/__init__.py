"""Other models by name, to compare with."""

from devfnn.baselines.chunks import Majority, NoChange
from devfnn.baselines.registry import MODELS, ModelEntry, is_random, make_model

__all__ = ["MODELS", "Majority", "ModelEntry", "NoChange", "is_random", "make_model"]
