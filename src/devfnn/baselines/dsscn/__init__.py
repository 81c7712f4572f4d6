"""DSSCN, the deep stacked stochastic configuration network, to compare with."""

from devfnn.baselines.dsscn.layers import Settings
from devfnn.baselines.dsscn.model import DSSCN

__all__ = ["DSSCN", "Settings"]
