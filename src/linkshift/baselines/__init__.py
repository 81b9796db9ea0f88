"""Rival methods under the same contract: links in, labels out."""

from linkshift.baselines.cdbscan import CDBSCAN
from linkshift.baselines.copkmeans import COPKMeans
from linkshift.baselines.mpckmeans import MPCKMeans
from linkshift.baselines.pckmeans import PCKMeans
from linkshift.baselines.seeded_kmeans import SeededKMeans

__all__ = ["CDBSCAN", "COPKMeans", "MPCKMeans", "PCKMeans", "SeededKMeans"]
