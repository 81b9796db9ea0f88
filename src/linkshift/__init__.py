"""Clustering with a little help: mean shift that takes must-link and cannot-link pairs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkshift import bandwidth, baselines, datasets, metrics, plot, profiles
    from linkshift.estimators.constrained_mean_shift import ConstrainedMeanShift
    from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
    from linkshift.estimators.kernel_mean_shift import KernelMeanShift
    from linkshift.estimators.mean_shift import MeanShift
    from linkshift.estimators.metric_mean_shift import MetricMeanShift
    from linkshift.estimators.refined_clustering import RefinedClustering
    from linkshift.links import Closure, ConflictError, Conflicts, Links
    from linkshift.methods import cluster
    from linkshift.metric_learning import SCML
    from linkshift.refinement import refine

__version__ = "0.1.0.dev0"

# Public names and their rooms. They are imported when first used, so that `import linkshift`
# and `linkshift --help` do not wait for scikit-learn and numba.
_ROOMS = {
    "Closure": "linkshift.links",
    "ConflictError": "linkshift.links",
    "Conflicts": "linkshift.links",
    "ConstrainedMeanShift": "linkshift.estimators.constrained_mean_shift",
    "GroupFeatureClustering": "linkshift.estimators.group_feature_clustering",
    "KernelMeanShift": "linkshift.estimators.kernel_mean_shift",
    "Links": "linkshift.links",
    "MeanShift": "linkshift.estimators.mean_shift",
    "MetricMeanShift": "linkshift.estimators.metric_mean_shift",
    "RefinedClustering": "linkshift.estimators.refined_clustering",
    "SCML": "linkshift.metric_learning",
    "bandwidth": "linkshift",
    "bandwidth_path": "linkshift.path",
    "baselines": "linkshift",
    "cluster": "linkshift.methods",
    "datasets": "linkshift",
    "image": "linkshift",
    "metrics": "linkshift",
    "model_files": "linkshift",
    "plot": "linkshift",
    "profiles": "linkshift",
    "refine": "linkshift.refinement",
    "report": "linkshift",
}

__all__ = [
    "SCML",
    "Closure",
    "ConflictError",
    "Conflicts",
    "ConstrainedMeanShift",
    "GroupFeatureClustering",
    "KernelMeanShift",
    "Links",
    "MeanShift",
    "MetricMeanShift",
    "RefinedClustering",
    "bandwidth",
    "bandwidth_path",
    "baselines",
    "cluster",
    "datasets",
    "image",
    "metrics",
    "model_files",
    "plot",
    "profiles",
    "refine",
    "report",
]


def __getattr__(name: str) -> Any:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module 'linkshift' has no attribute {name!r}")
    return (
        import_module(f"linkshift.{name}")
        if room == __name__
        else getattr(import_module(room), name)
    )


def __dir__() -> list[str]:
    return __all__
