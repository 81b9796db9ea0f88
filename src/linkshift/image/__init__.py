"""Images: smoothing that keeps edges, segmentation, and scores of segmentations."""

from linkshift.image.features import pixel_features
from linkshift.image.filtering import ImageModes, mean_shift_filter, mean_shift_modes
from linkshift.image.kmeans import kmeans_elbow
from linkshift.image.scores import (
    SegmentationScores,
    probabilistic_rand_index,
    segmentation_covering,
    segmentation_scores,
    variation_of_information,
)
from linkshift.image.scribbles import segment_scribbled
from linkshift.image.segmentation import segment
from linkshift.image.smoothing import smooth_assignments

__all__ = [
    "ImageModes",
    "SegmentationScores",
    "kmeans_elbow",
    "mean_shift_filter",
    "mean_shift_modes",
    "pixel_features",
    "probabilistic_rand_index",
    "segment",
    "segment_scribbled",
    "segmentation_covering",
    "segmentation_scores",
    "smooth_assignments",
    "variation_of_information",
]
