"""Clustering with a little help: mean shift that takes must-link and cannot-link pairs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the table below for editors and type checkers, which cannot follow it
    from linkshift import active as active
    from linkshift import anndata as anndata
    from linkshift import bandwidth as bandwidth
    from linkshift import baselines as baselines
    from linkshift import datasets as datasets
    from linkshift import embed as embed
    from linkshift import image as image
    from linkshift import metrics as metrics
    from linkshift import profiles as profiles
    from linkshift import scale as scale
    from linkshift.active import Session as Session
    from linkshift.bandwidth.path import bandwidth_path as bandwidth_path
    from linkshift.estimators.consensus_clustering import (
        ConsensusClustering as ConsensusClustering,
    )
    from linkshift.estimators.constrained_mean_shift import (
        ConstrainedMeanShift as ConstrainedMeanShift,
    )
    from linkshift.estimators.graph_mean_shift import GraphMeanShift as GraphMeanShift
    from linkshift.estimators.group_feature_clustering import (
        GroupFeatureClustering as GroupFeatureClustering,
    )
    from linkshift.estimators.kernel_mean_shift import KernelMeanShift as KernelMeanShift
    from linkshift.estimators.kmeans import KMeans as KMeans
    from linkshift.estimators.mean_shift import MeanShift as MeanShift
    from linkshift.estimators.metric_mean_shift import MetricMeanShift as MetricMeanShift
    from linkshift.estimators.path_mean_shift import PathMeanShift as PathMeanShift
    from linkshift.estimators.refined_clustering import RefinedClustering as RefinedClustering
    from linkshift.kmeans import kmeans_elbow as kmeans_elbow
    from linkshift.links import Closure as Closure
    from linkshift.links import ConflictError as ConflictError
    from linkshift.links import Conflicts as Conflicts
    from linkshift.links import Links as Links
    from linkshift.memberships import membership as membership
    from linkshift.methods import cluster as cluster
    from linkshift.methods import load as load
    from linkshift.metric_learning import SCML as SCML
    from linkshift.models import files as model_files  # noqa: F401
    from linkshift.pictures import page as report  # noqa: F401
    from linkshift.pictures import plot as plot
    from linkshift.refinement import refine as refine
    from linkshift.tables.preparing import Preparation as Preparation
    from linkshift.tables.preparing import prepare as prepare

__version__ = "0.1.0.dev0"

# Public names and where they are: a module, or "module:attribute". They are imported when first
# used, so that `import linkshift` and `linkshift --help` do not wait for scikit-learn and numba.
_PUBLIC = {
    "Closure": "links:Closure",
    "ConflictError": "links:ConflictError",
    "Conflicts": "links:Conflicts",
    "ConsensusClustering": "estimators.consensus_clustering:ConsensusClustering",
    "ConstrainedMeanShift": "estimators.constrained_mean_shift:ConstrainedMeanShift",
    "GraphMeanShift": "estimators.graph_mean_shift:GraphMeanShift",
    "GroupFeatureClustering": "estimators.group_feature_clustering:GroupFeatureClustering",
    "KMeans": "estimators.kmeans:KMeans",
    "KernelMeanShift": "estimators.kernel_mean_shift:KernelMeanShift",
    "Links": "links:Links",
    "MeanShift": "estimators.mean_shift:MeanShift",
    "MetricMeanShift": "estimators.metric_mean_shift:MetricMeanShift",
    "PathMeanShift": "estimators.path_mean_shift:PathMeanShift",
    "Preparation": "tables.preparing:Preparation",
    "RefinedClustering": "estimators.refined_clustering:RefinedClustering",
    "SCML": "metric_learning:SCML",
    "Session": "active:Session",
    "active": "active",
    "anndata": "anndata",
    "bandwidth": "bandwidth",
    "bandwidth_path": "bandwidth.path:bandwidth_path",
    "baselines": "baselines",
    "cluster": "methods:cluster",
    "datasets": "datasets",
    "embed": "embed",
    "image": "image",
    "kmeans_elbow": "kmeans:kmeans_elbow",
    "load": "methods:load",
    "membership": "memberships:membership",
    "metrics": "metrics",
    "model_files": "models.files",
    "plot": "pictures.plot",
    "prepare": "tables.preparing:prepare",
    "profiles": "profiles",
    "refine": "refinement:refine",
    "report": "pictures.page",
    "scale": "scale",
}

__all__ = list(_PUBLIC)

if not TYPE_CHECKING:  # there, a name that is not in the list above is an error

    def __getattr__(name: str) -> Any:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'linkshift' has no attribute {name!r}")
        module, _, attribute = _PUBLIC[name].partition(":")
        found = import_module(f"linkshift.{module}")
        return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return __all__
