"""Descriptors of whole images, and distances for them, to cluster photographs by several views."""

from linkshift.image.descriptors.biological import c2_features
from linkshift.image.descriptors.local import (
    LocalFeatures,
    geometric_blur,
    match_distances,
    self_similarity,
    sift,
)
from linkshift.image.descriptors.shape import phog
from linkshift.image.descriptors.words import intersection_distances, spatial_pyramids

__all__ = [
    "LocalFeatures",
    "c2_features",
    "geometric_blur",
    "intersection_distances",
    "match_distances",
    "phog",
    "self_similarity",
    "sift",
    "spatial_pyramids",
]
