"""Measuring how well a model follows a stream; knows protocols, not models."""

from devfnn.evaluation.prequential import ChunkResult, iter_prequential
from devfnn.evaluation.summary import Summary

__all__ = ["ChunkResult", "Summary", "iter_prequential"]
