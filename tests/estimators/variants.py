"""Every estimator and baseline in small: what the walks over all of them start from.

``VARIANTS`` has each kind of each estimator, for data of :func:`two_blobs` in any number of
columns. They are quick, and seeded where chance comes in.
"""

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

import linkshift
from linkshift import (
    SCML,
    ConsensusClustering,
    ConstrainedMeanShift,
    GraphMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    KMeans,
    Links,
    MeanShift,
    MetricMeanShift,
    RefinedClustering,
)
from linkshift.baselines import (
    CDBSCAN,
    ConstrainedSpectral,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
)

PER_BLOB = 20
# Links that the blobs bear out, and from which a metric can be learned.
TRUE = Links(must=[(5, 6), (25, 26)], cannot=[(5, 25)])


def two_blobs(d, dtype=np.float64):
    """Two blobs far apart along the first column, and a bandwidth that tells them apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * PER_BLOB, d))
    X[PER_BLOB:, 0] += 12.0 * np.sqrt(d)
    return X.astype(dtype), 3.0 * np.sqrt(d)


class Variant(NamedTuple):
    """An estimator to walk over.

    ``make`` takes a bandwidth and the number of columns. ``uses`` are the links that it does
    something with: "none", "must" or "all"; ``needs`` some to fit at all. ``table`` makes what
    is passed for rows from the rows and the training rows, for estimators of matrices.
    """

    make: Callable[[float, int], Any]
    uses: str = "all"
    needs: bool = False
    table: Callable[[Any, Any], Any] = lambda rows, training: rows

    def usable(self, links):
        """The links of the kinds that the variant uses, or None."""
        return {"none": None, "must": Links(must=links.must), "all": links}[self.uses]


def quiet_fit(model, X, **given):
    """Fit without a word; arguments that are None are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **{name: value for name, value in given.items() if value is not None})


def mean_shift_by_links(**parameters):
    """Mean shift whose bandwidth is chosen by links."""
    return linkshift.PathMeanShift(**parameters)


def gaussian_kernel(A, B, width=8.0):
    """Kernel that is a function."""
    return rbf_kernel(A, B, gamma=0.5 / width**2)


def quick_scml(kind="global", **parameters):
    """SCML that learns little."""
    sizes = {"embedding_dimension": 5} if kind == "local" else {}
    return SCML(kind, **{"n_bases": 10, "max_iter": 6, **sizes, **parameters})


# What comes out of a fit. Left out is what repeats the arguments: links_, link_report_, sigma_ ...
ATTRIBUTES = (
    "labels_",
    "labels_before_",
    "cluster_centers_",
    "shifted_",
    "history_",
    "paths_",
    "embedding_",
    "bandwidth_",
    "metrics_",
    "objectives_",
    "view_importances_",
    "loss_",
    "n_iter_",
    "inertia_",
    "seeds_",
    "beta_",
)
METHODS = ("predict", "transform", "metric_at", "score_samples")


def outcome(variant, model, X, new):
    """What users see of a fit: labels, where rows went, and what becomes of new rows."""
    seen = {}
    for name in ATTRIBUTES:
        value = getattr(model, name, None)
        if isinstance(value, list):
            value = np.concatenate(value) if isinstance(value[0], np.ndarray) else None
        if isinstance(value, np.ndarray | int | float):
            seen[name] = np.asarray(value, dtype=np.float64)
    for name in METHODS:
        if hasattr(model, name):
            seen[name] = getattr(model, name)(variant.table(new, X))
    return seen


def differ(one, other):
    """Whether anything differs by more than rounding."""
    return one.keys() != other.keys() or any(
        one[name].shape != other[name].shape
        or not np.allclose(one[name], other[name], rtol=1e-6, atol=1e-9)
        for name in one
    )


def says_what_to_do(error):
    """Whether a message names a remedy: something to give, set, drop or use instead."""
    advice = r"\b(give|set|drop|use|take|write|pass|leave|keep|add|call|needs?|remove|only)\b|="
    return re.search(advice, str(error), flags=re.IGNORECASE) is not None


_ONE = {"n_jobs": 1}  # threads cost more than they save here
_STEPS = {"scale_features": False, "max_iter": 15, **_ONE}
_GROUPS = {"n_init": 2, "max_iter": 2, "n_folds": 3, "n_candidates": 4, "random_state": 0, **_ONE}
_KMEANS = {"n_init": 2, "random_state": 0}


def _mean_shift(factor, **parameters):
    return Variant(lambda h, d: MeanShift(bandwidth=factor * h, **_ONE, **parameters), "none")


def _constrained(**parameters):
    return Variant(lambda h, d: ConstrainedMeanShift(bandwidth=h, **_STEPS, **parameters))


def _kernel(uses="must", **parameters):
    return Variant(
        lambda h, d: KernelMeanShift(n_neighbors=8, random_state=0, **_ONE, **parameters), uses
    )


def _metric(metric=None, **parameters):
    options = {"n_neighbors": 8, "random_state": 0, **_ONE, **parameters}
    return Variant(
        lambda h, d: MetricMeanShift(np.eye(d) if metric is None else metric, **options),
        "none" if metric is None else "all",
        needs=metric is not None,
    )


def _graph(**parameters):
    return Variant(lambda h, d: GraphMeanShift(n_neighbors=8, **_ONE, **parameters), "none")


def _groups(**parameters):
    return Variant(lambda h, d: GroupFeatureClustering(2, **_GROUPS, **parameters))


def _refined(make):
    return Variant(lambda h, d: RefinedClustering(make(h), n_neighbors=5, penalty=50.0))


VARIANTS = {
    "MeanShift": _mean_shift(1.0),
    "MeanShift gaussian": _mean_shift(0.5, kernel="gaussian"),
    "MeanShift blurring": _mean_shift(0.25, blurring=True),
    "MeanShift bin_seeding": _mean_shift(1.0, bin_seeding=True),
    "MeanShift bin_size": _mean_shift(1.0, kernel="gaussian", bin_size=0.5),
    "MeanShift landmarks": _mean_shift(0.5, kernel="gaussian", landmarks=12),
    "MeanShift skipping": _mean_shift(0.5, kernel="gaussian", end_radius=1.0, path_radius=0.5),
    "MeanShift neighbours": Variant(
        lambda h, d: MeanShift(n_neighbors=12, kernel="truncated_gaussian", **_ONE), "none"
    ),
    "MeanShift by links": Variant(lambda h, d: mean_shift_by_links(**_ONE), needs=True),
    "CMS": _constrained(),
    "CMS growing": Variant(lambda h, d: ConstrainedMeanShift(**_STEPS)),
    "CMS refine=None": _constrained(refine=None),
    "CMS enforce=False": _constrained(enforce=False),
    "CMS of the paper": _constrained(refine=None, enforce=False),
    "CMS blurring, flat": _constrained(blurring=True, kernel="flat"),
    "Kernel": _kernel(),
    "Kernel learn": _kernel("all", use_links="learn"),
    "Kernel landmarks": _kernel(n_landmarks=15, max_points=30),
    "Kernel polynomial": _kernel(kernel="polynomial"),
    "Kernel linear": _kernel(kernel="linear"),
    "Kernel function": _kernel(kernel=gaussian_kernel),
    "Kernel precomputed": _kernel(kernel="precomputed")._replace(table=gaussian_kernel),
    "Metric matrix": _metric(),
    "Metric global": _metric(quick_scml()),
    "Metric local": _metric(quick_scml("local")),
    "Metric kernel": _metric(quick_scml(), kernel="gaussian"),
    "Groups": _groups(),
    "Groups, views": _groups(views={"a": [0], "b": slice(None)}),
    "Groups, distances": _groups(metric="precomputed")._replace(table=euclidean_distances),
    "Refined": _refined(lambda h: MeanShift(bandwidth=h, **_ONE)),
    "Refined k-means": _refined(lambda h: TheirKMeans(6, n_init=2, random_state=0)),
    "Refined by links": _refined(lambda h: mean_shift_by_links(**_ONE))._replace(needs=True),
    "Consensus": Variant(lambda h, d: ConsensusClustering(**_ONE)),
    "Graph": _graph(n_edges=6),
    "Graph smooth": _graph(coordinates="smooth"),
    "KMeans": Variant(lambda h, d: KMeans(2, **_KMEANS, **_ONE), "none"),
    "PCKMeans": Variant(lambda h, d: PCKMeans(2, weight=500.0, **_KMEANS)),
    "MPCKMeans": Variant(lambda h, d: MPCKMeans(2, **_KMEANS)),
    "MPCKMeans, one metric": Variant(lambda h, d: MPCKMeans(2, metric="single", **_KMEANS)),
    "COPKMeans": Variant(lambda h, d: COPKMeans(2, **_KMEANS)),
    "Seeded": Variant(lambda h, d: SeededKMeans(2, **_KMEANS)),
    "Seeded, constrained": Variant(lambda h, d: SeededKMeans(2, constrained=True, **_KMEANS)),
    "CDBSCAN": Variant(lambda h, d: CDBSCAN(0.8 * h, min_samples=3)),
    "CDBSCAN, leaves": Variant(lambda h, d: CDBSCAN(0.8 * h, min_samples=3, leaf_size=8)),
    "Spectral": Variant(lambda h, d: ConstrainedSpectral(2, **_KMEANS)),
    "Spectral, kth": Variant(lambda h, d: ConstrainedSpectral(2, beta="kth", **_KMEANS)),
    "SCML": Variant(lambda h, d: quick_scml(random_state=0), needs=True),
    "SCML local": Variant(lambda h, d: quick_scml("local", random_state=0), needs=True),
}
CLUSTERERS = {name: variant for name, variant in VARIANTS.items() if "SCML" not in name}
