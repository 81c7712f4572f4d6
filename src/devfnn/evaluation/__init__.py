"""Measuring how well a model follows a stream; knows protocols, not models."""

from devfnn.evaluation.course import ChunkResult
from devfnn.evaluation.measures import MEASURES
from devfnn.evaluation.prequential import Prequential, iter_prequential
from devfnn.evaluation.procedure import Procedure
from devfnn.evaluation.results import Summary

__all__ = ["MEASURES", "ChunkResult", "Prequential", "Procedure", "Summary", "iter_prequential"]
