"""Scikit-learn estimators: thin classes over links, bandwidth, shift and modes."""

from linkshift.estimators.constrained_mean_shift import ConstrainedMeanShift
from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
from linkshift.estimators.kernel_mean_shift import KernelMeanShift
from linkshift.estimators.mean_shift import MeanShift
from linkshift.estimators.metric_mean_shift import MetricMeanShift
from linkshift.estimators.refined_clustering import RefinedClustering

__all__ = [
    "ConstrainedMeanShift",
    "GroupFeatureClustering",
    "KernelMeanShift",
    "MeanShift",
    "MetricMeanShift",
    "RefinedClustering",
]
