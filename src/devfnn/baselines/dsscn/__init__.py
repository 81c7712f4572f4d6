"""DSSCN, the deep stacked stochastic configuration network, to compare with."""

from devfnn.baselines.dsscn.model import DSSCN
from devfnn.baselines.dsscn.settings import Settings

__all__ = ["DSSCN", "Settings"]
