"""K-means of pixels, and how many clusters to take."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from linkshift._core.arrays import Array
from linkshift._core.threads import n_threads
from linkshift.image._pixels import check_count
from linkshift.image.features import FeatureSpaces, pixel_features

Seed = int | np.random.RandomState | None

KMEANS_FEATURES = {"lab": 1.0, "position": 0.1}
_STARTS = 4
_SAMPLE = 20_000  # pixels that starts and elbows are taken from


@dataclass(frozen=True, eq=False)
class Elbow:
    """Sum of squared distances to the nearest centre, for several numbers of clusters.

    Attributes
    ----------
    n_segments : ndarray of shape (m,), int64
        Numbers of clusters, from few to many.
    inertia : ndarray of shape (m,)
        The sum for each.
    suggested : int
        The number at the elbow of the curve, by :func:`elbow_point`.
    """

    n_segments: NDArray[np.int64]
    inertia: NDArray[np.float64]
    suggested: int


def kmeans_elbow(
    image: ArrayLike,
    n_segments: Iterable[int] = range(1, 13),
    *,
    features: FeatureSpaces | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> Elbow:
    """Run k-means for several numbers of clusters, and suggest one.

    Parameters
    ----------
    image : array-like
        As in :func:`segment`. Of more than 20,000 pixels as many are drawn at random.
    n_segments : iterable of int, default=range(1, 13)
        Numbers of clusters, at least one.
    features : str or mapping, default=None
        As in :func:`pixel_features`; None takes ``{"lab": 1.0, "position": 0.1}``.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The result does not depend on it.
    random_state : int, RandomState or None
        Of the draw and of k-means++.

    Returns
    -------
    Elbow

    See Also
    --------
    linkshift.pictures.plot.elbow : draw it.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image import kmeans_elbow
    >>> image = np.repeat(np.array([[0, 120, 255]], dtype=np.uint8), 20, axis=0)
    >>> curve = kmeans_elbow(image, range(1, 7), features="intensity", random_state=0)
    >>> curve.suggested
    3
    """
    points = pixel_features(image, KMEANS_FEATURES if features is None else features)
    points = points.reshape(-1, points.shape[2])
    counts = sorted({check_count("n_segments", k) for k in n_segments})
    if not counts:
        raise ValueError("n_segments is empty; give numbers of clusters, such as range(1, 13).")
    random = check_random_state(random_state)
    points = _sample(points, random)
    inertia = np.array([fit_kmeans(points, k, n_jobs, random).inertia_ for k in counts])
    numbers = np.array(counts, dtype=np.int64)
    return Elbow(numbers, inertia, elbow_point(numbers, inertia))


def elbow_point(n_clusters: ArrayLike, inertia: ArrayLike) -> int:
    """Find the elbow of a falling curve: the point farthest below the chord of its ends.

    Both axes are scaled to run from 0 to 1, so that units are of no account; of several points,
    and where no point is below the chord, the least number of clusters is taken.

    References
    ----------
    V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan: Finding a "Kneedle" in a Haystack. ICDCS
    Workshops 2011.

    Examples
    --------
    >>> elbow_point([1, 2, 3, 4, 5], [100.0, 30.0, 25.0, 20.0, 18.0])
    2
    """
    k, y = np.asarray(n_clusters), np.asarray(inertia, dtype=np.float64)
    if k.ndim != 1 or k.shape != y.shape or k.size == 0 or (np.diff(k) <= 0).any():
        raise ValueError(
            f"n_clusters of shape {k.shape} and inertia of shape {y.shape} must be of one length, "
            "and n_clusters must increase."
        )
    fall = y[0] - y[-1]
    if k.size < 3 or not fall > 0.0:
        return int(k[0])
    below = (y[0] - y) / fall - (k - k[0]) / (k[-1] - k[0])
    return int(k[int(np.argmax(below))])


def fit_kmeans(points: Array, k: int, n_jobs: int | None, random: np.random.RandomState) -> KMeans:
    """Fit k-means from four starts by k-means++, and keep the best.

    Of more than 20,000 points as many are drawn for the starts, and k-means goes on from the best
    centres with all points. Starts are spread over threads, each on one, since sums over several
    threads differ in their last digits. Of fewer distinct points than ``k`` there are fewer
    clusters, which is as it should be: the warning is kept silent.
    """
    if k > points.shape[0]:
        raise ValueError(f"n_segments={k} is more than the {points.shape[0]} pixels; take fewer.")
    some = _sample(points, random) if k <= _SAMPLE else points
    seeds = random.randint(np.iinfo(np.int32).max, size=_STARTS if k > 1 else 1)

    def fit(seed: int) -> KMeans:
        with threadpool_limits(1):
            return KMeans(k, init="k-means++", n_init=1, random_state=seed).fit(some)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        with ThreadPoolExecutor(n_threads(n_jobs)) as pool:
            best = min(pool.map(fit, seeds), key=lambda model: float(model.inertia_))
        if some is points:
            return best
        with threadpool_limits(1):
            return KMeans(k, init=best.cluster_centers_, n_init=1).fit(points)


def _sample(points: Array, random: np.random.RandomState) -> Array:
    if points.shape[0] <= _SAMPLE:
        return points
    return points[np.sort(random.choice(points.shape[0], _SAMPLE, replace=False))]
