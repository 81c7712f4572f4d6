"""DEVFNN inside River: `pip install 'devfnn[river]'`."""

from devfnn.river.active import ConflictSampler, Query
from devfnn.river.classifier import DEVFNNClassifier
from devfnn.river.drift import HoeffdingErrorDrift

__all__ = ["ConflictSampler", "DEVFNNClassifier", "HoeffdingErrorDrift", "Query"]
