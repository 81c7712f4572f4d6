"""Other models by name, to compare with."""

from devfnn.baselines.registry import MODELS, ModelEntry, is_random, make_model
from devfnn.baselines.simple import Majority, NoChange

__all__ = ["MODELS", "Majority", "ModelEntry", "NoChange", "is_random", "make_model"]
