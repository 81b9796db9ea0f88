"""scikit-learn's own checks, on every kind of every estimator and baseline.

The checks give neither links nor labels: estimators that cannot do without are given some, by
``Taught``, ``Linked`` and ``Chosen``. scikit-learn itself skips check_array_api_input unless
SCIPY_ARRAY_API is set.
"""

import warnings

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift import (
    SCML,
    ConsensusClustering,
    ConstrainedMeanShift,
    GraphMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    PathMeanShift,
    RefinedClustering,
)
from linkshift import KMeans as LinkshiftKMeans
from linkshift.baselines import (
    CDBSCAN,
    ConstrainedSpectral,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
)
from linkshift.baselines._estimator import LinkedKMeans


def halves(X):
    """Which half of the rows has the larger first column; None for what is no data."""
    if np.iscomplexobj(X):
        return None
    try:
        column = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)[:, 0]
    except (TypeError, ValueError, IndexError):
        return None  # the estimator shall say so itself
    labels = np.zeros(column.size, dtype=int)
    labels[np.argsort(column, kind="stable")[column.size // 2 :]] = 1
    return labels


def links_of_halves(X):
    labels = halves(X)
    return None if labels is None else Links.from_labels(labels)


class Taught(MetricMeanShift):
    """Learns which half of the rows has the larger first column."""

    def fit(self, X, y=None):
        return super().fit(X, y, partial_labels=halves(X))


class Linked(MetricMeanShift):
    """The same, said with links."""

    def fit(self, X, y=None):
        return super().fit(X, y, links=links_of_halves(X))


METRIC = {"n_bases": 20, "max_iter": 5}
GROUPS = {"n_init": 4, "max_iter": 3, "n_jobs": 1, "random_state": 0}

TYPICAL = [
    MeanShift(),
    MeanShift(kernel="gaussian"),
    MeanShift(kernel="truncated_gaussian", n_neighbors=7),
    MeanShift(kernel="gaussian", blurring=True),
    ConstrainedMeanShift(),
    ConstrainedMeanShift(bandwidth=0.2),
    KernelMeanShift(),
    KernelMeanShift(n_neighbors=5),
    KernelMeanShift("precomputed", n_neighbors=5),
    GraphMeanShift(n_neighbors=12),
    Taught(SCML(**METRIC), n_neighbors=12, random_state=0),
    Taught(SCML("local", embedding_dimension=5, **METRIC), n_neighbors=12, random_state=0),
    SCML(**METRIC),
    SCML("local", embedding_dimension=5, **METRIC),
    GroupFeatureClustering(2, **GROUPS),
    RefinedClustering(),
    RefinedClustering(KMeans(3, random_state=0)),
    ConsensusClustering(),
    LinkshiftKMeans(n_clusters=3, n_init=2),
    PCKMeans(n_clusters=3, n_init=2),
    MPCKMeans(n_clusters=3, n_init=2),
    MPCKMeans(n_clusters=3, n_init=2, metric="single"),
    COPKMeans(n_clusters=3, n_init=2),
    SeededKMeans(n_clusters=3, n_init=2),
    CDBSCAN(),
    ConstrainedSpectral(n_clusters=3, n_init=2),
]
RARER = [
    MeanShift(kernel="epanechnikov"),
    MeanShift(kernel="gaussian", path_merge=0.1),
    Taught(SCML(**METRIC), kernel="gaussian", n_neighbors=12, random_state=0),
    Linked(SCML(**METRIC), n_neighbors=12, random_state=0),
    GroupFeatureClustering(2, views={"first": [0], "all": slice(None)}, **GROUPS),
    GroupFeatureClustering(2, metric="cosine", consensus=False, size_bounds=None, **GROUPS),
    MeanShift(kernel="gaussian", end_radius=1.0, path_radius=0.25),
    LinkshiftKMeans(n_clusters=3, init="greedy", tol=0.0),
    MeanShift(bin_seeding=True),
    MeanShift(kernel="gaussian", bin_size=0.3),
    MeanShift(assignment="basin", cluster_all=False),
    ConstrainedMeanShift(bandwidth=0.15, kernel="flat", refine=None, enforce=False),
    ConstrainedMeanShift(kernel="gaussian", blurring=True, keep_history=True),
    ConstrainedMeanShift(schedule="geometric", scale_features=False, min_cluster_size=3),
    KernelMeanShift("linear", n_neighbors=5),
    KernelMeanShift("polynomial", dimension="rank", n_neighbors=5),
    KernelMeanShift("chi2", n_neighbors=5),
    KernelMeanShift(
        use_links="learn", n_landmarks=15, max_points=30, n_neighbors=5, random_state=0
    ),
    ConsensusClustering(max_rows=20, n_neighbors=5, enforce=False),
    GraphMeanShift(coordinates="smooth", n_neighbors=12),
    Taught(random_state=0),
    Taught("local", n_neighbors=12, random_state=0),
    Taught("local", kernel="gaussian", n_neighbors=12, random_state=0),
]


class Chosen(PathMeanShift):
    """Links of the halves choose the bandwidth."""

    def fit(self, X, y=None):
        return super().fit(X, y, links=links_of_halves(X))


TYPICAL += [Chosen()]
RARER += [Chosen(kernel="gaussian")]


def reasons(estimator):
    """Checks that an estimator does not pass, and why."""
    match estimator:
        case MeanShift(bin_seeding=True):
            return {
                "check_sample_weight_equivalence_on_dense_data": "in ten dimensions the centre of "
                "a cell lies up to sqrt(10) / 2 bandwidths from its rows: no row reaches any seed, "
                "which is an error, as in scikit-learn"
            }
        case ConstrainedMeanShift(bandwidth=float()):
            return {
                "check_sample_weight_equivalence_on_dense_data": "compares the numbers of "
                "clusters, which go by the order of rows; tests/estimators/test_weights.py "
                "compares clusters"
            }
        case LinkshiftKMeans() | LinkedKMeans() | RefinedClustering(estimator=KMeans()):
            return {
                "check_sample_weight_equivalence_on_dense_data": "of other rows others are drawn "
                "by chance, as in scikit-learn's own k-means; tests/estimators/test_weights.py "
                "begins both at the same centres"
            }
        case KernelMeanShift(kernel="precomputed"):
            no_gram = "gives rows of data where a square matrix of kernel values is due"
            return {
                "check_positive_only_tag_during_fit": no_gram,
                "check_estimators_dtypes": no_gram,
                "check_clustering": no_gram,
            }
        case KernelMeanShift(kernel="chi2"):
            return {"check_clustering": "round clusters of numbers are no histograms"}
        case KernelMeanShift(n_neighbors=20):
            return {"check_clustering": "asks for clusters of 17 rows: 20 neighbours reach beyond"}
    return {}


# Warnings that the data of the checks cause, with few rows and no links; they are tested elsewhere.
FEW_ROWS = r"n_neighbors=|.* neighbours? asked for"
EXPECTED = {
    MeanShift: "bin_size",
    ConstrainedMeanShift: "Without cannot-links",
    GraphMeanShift: FEW_ROWS,
    KernelMeanShift: FEW_ROWS,
    MetricMeanShift: FEW_ROWS,
}


def run(check, estimator):
    with warnings.catch_warnings():
        for kind, message in EXPECTED.items():
            if isinstance(estimator, kind):
                warnings.filterwarnings("ignore", message=message)
        check(estimator)


# The last first: test_arguments.py walks the same estimators at the same time, and where nothing is
# compiled yet, each compiles what the other has not come to.
@parametrize_with_checks(TYPICAL[::-1], expected_failed_checks=reasons)
def test_scikit_learns_checks(estimator, check):
    run(check, estimator)


@pytest.mark.slow
@parametrize_with_checks(RARER, expected_failed_checks=reasons)
def test_scikit_learns_checks_of_rarer_kinds(estimator, check):
    run(check, estimator)
