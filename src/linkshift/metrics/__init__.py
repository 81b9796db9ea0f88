"""How good a clustering is: against known classes, and against the links it was given."""

from linkshift.metrics.classes import (
    LabelledScore,
    ReconstructionScore,
    clustering_accuracy,
    labelled_score,
    n_clusters,
    name_clusters,
    reconstruction_score,
)
from linkshift.metrics.links import HeldOut, LinkReport, link_satisfaction

__all__ = [
    "HeldOut",
    "LabelledScore",
    "LinkReport",
    "ReconstructionScore",
    "clustering_accuracy",
    "labelled_score",
    "link_satisfaction",
    "n_clusters",
    "name_clusters",
    "reconstruction_score",
]
