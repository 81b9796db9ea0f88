"""Rival methods under the same contract: links in, labels out."""

from linkshift.baselines.cdbscan import CDBSCAN
from linkshift.baselines.constrained_spectral import ConstrainedSpectral
from linkshift.baselines.copkmeans import COPKMeans
from linkshift.baselines.ensembles import cspa, evidence_accumulation
from linkshift.baselines.mpckmeans import MPCKMeans
from linkshift.baselines.pckmeans import PCKMeans
from linkshift.baselines.seeded_kmeans import SeededKMeans

__all__ = [
    "CDBSCAN",
    "COPKMeans",
    "ConstrainedSpectral",
    "MPCKMeans",
    "PCKMeans",
    "SeededKMeans",
    "cspa",
    "evidence_accumulation",
]
