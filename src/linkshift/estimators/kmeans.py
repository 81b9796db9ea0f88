"""K-means: for those who know the number of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from linkshift._core.arrays import Array, Progress, unit_rows
from linkshift._core.convergence import warn_if_moving
from linkshift._core.messages import Refusal
from linkshift.estimators._base import METRICS, Fitted, MetricName, WeightedClusterer
from linkshift.kmeans import STARTS, StartName, fit_kmeans, nearest_centres
from linkshift.kmeans.fitting import check_enough, check_squares
from linkshift.links import ClosedLinks

__all__ = ["KMeans", "KMeansCentres"]


@dataclass(frozen=True)
class KMeansCentres:
    """What new rows are measured by, in float64."""

    centres: Array


class KMeans(WeightedClusterer):
    r"""K-means clustering.

    Finds k centres c with the least sum of squared distances,

    .. math:: \mathrm{SSD} = \sum_j w_j \min_i \|x_j - c_i\|^2,

    where w are sample weights, one unless given:
    rows go to their nearest centres and centres to the means of their rows, in turn, until nothing
    changes; from several starts, of which the best is kept.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    init : {"k-means++", "random", "greedy"} or array-like of shape (k, d), default="k-means++"
        First centres. "random" draws k rows. "k-means++" draws rows one by one, those far from the
        others more often. "greedy" takes one by one the row that, as a centre, leaves the least sum
        of squared distances; of 1,000 rows that are drawn, where there are more (with fewer there
        is no chance in it, and one run). Or the centres themselves, and one run.
    n_init : int, default=10
        Number of runs; that of least SSD is kept.
    max_iter : int, default=300
        Largest number of steps of a run.
    tol : float, default=1e-4
        A run has arrived when the squared moves of all centres sum up to at most this many times
        the mean variance of the columns, or no row changes its cluster.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" divides rows and means by their lengths (spherical k-means): squared distances are
        then :math:`2 - 2 \cos`. A row of zeros has no direction, and raises.
    n_jobs : int, default=None
        Number of threads, one for each run. ``None`` takes all cores. Labels do not depend on it.
    random_state : int, RandomState or None, default=None
        Of draws and starts.
    progress : callable, default=None
        Called with (runs done, all runs).

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres; with "cosine", of length one.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters that have rows: fewer than k where rows are at fewer places.
    inertia_ : float
        The SSD of the kept run.
    n_iter_ : int
        Steps of the kept run.

    See Also
    --------
    linkshift.kmeans_elbow : how many clusters.
    linkshift.metrics.reconstruction_score : the same sum for any labels.
    linkshift.baselines.PCKMeans : under links, with a price on those that are broken.

    Notes
    -----
    New rows go to the nearest centre. Of more than 20,000 rows as many are drawn for the starts,
    and the best run goes on with all of them.

    References
    ----------
    D. Arthur, S. Vassilvitskii: k-means++: The Advantages of Careful Seeding. SODA 2007.
    I. S. Dhillon, D. S. Modha: Concept Decompositions for Large Sparse Text Data Using Clustering.
    Machine Learning 42, 2001: by directions.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import KMeans
    >>> X = np.array([[1.0, 0.1], [9.0, 1.0], [0.1, 1.0], [0.5, 4.0]])
    >>> KMeans(2, metric="cosine", init="greedy").fit_predict(X)
    array([1, 1, 0, 0])
    """

    _takes_links = False
    _instead_of_links = (
        "Use baselines.PCKMeans, or settle links after clustering with "
        "RefinedClustering(KMeans(k), n_clusters=k)."
    )
    _takes_cosine = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "metric": METRICS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "progress": [callable, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: StartName | ArrayLike = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        metric: MetricName = "euclidean",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def _fit(  # type: ignore[override]
        self,
        data: Array,
        closed: ClosedLinks,  # noqa: ARG002
        *,
        sample_weight: Array | None,
    ) -> Fitted:
        check_enough(data.shape[0], sample_weight, self.n_clusters)
        check_squares(data)
        found = fit_kmeans(
            data,
            self.n_clusters,
            weight=sample_weight,
            init=self._centres(data.shape[1]),
            n_init=self.n_init,
            spherical=self._is_cosine(),
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            random=check_random_state(self.random_state),
            progress=self.progress,
        )
        warn_if_moving(np.array([found.converged]), self.max_iter, "runs")
        attributes = {
            "cluster_centers_": found.centres.astype(data.dtype),
            "inertia_": found.inertia,
            "n_iter_": found.n_iter,
        }
        return Fitted(found.labels, KMeansCentres(found.centres), attributes)

    def _centres(self, d: int) -> Any:
        """Name of the starts, or the centres that were given."""
        if isinstance(self.init, str):
            return self.init
        centres = np.asarray(self.init, dtype=np.float64)
        if centres.shape != (self.n_clusters, d) or not np.isfinite(centres).all():
            raise Refusal(
                f"init has shape {centres.shape}; {self.n_clusters} centres with {d} features need "
                f"{(self.n_clusters, d)}, all finite.",
                "Give as many centres as n_clusters, or the name of a start.",
                parameter="init",
            )
        return unit_rows(centres, "Centre") if self._is_cosine() else centres

    def _check_combinations(self) -> None:
        if not isinstance(self.init, str) and self.n_init not in (1, 10):
            raise Refusal(
                f"n_init={self.n_init} runs from the same centres would all be the same.",
                "Leave n_init out, or give the name of a start.",
                parameter="n_init",
                value=self.n_init,
            )

    def _predict(self, data: Array) -> Array:
        return nearest_centres(data, self._state.centres)[0]
