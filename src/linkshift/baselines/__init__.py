"""Rival methods under the same contract: links in, labels out."""

from linkshift.baselines.mpckmeans import MPCKMeans
from linkshift.baselines.pckmeans import PCKMeans

__all__ = ["MPCKMeans", "PCKMeans"]
