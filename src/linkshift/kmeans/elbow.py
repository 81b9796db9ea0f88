"""How many clusters k-means shall have: the elbow of a curve, and rows that are held out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from linkshift._core.arrays import Array, unit_rows
from linkshift._core.messages import Refusal, check_count
from linkshift._core.text import counted
from linkshift.kmeans.fitting import check_squares, drawn, fit_kmeans, nearest_centres
from linkshift.kmeans.starts import STARTS, StartName

Seed = int | np.random.RandomState | None


@dataclass(frozen=True, eq=False)
class Elbow:
    """Sum of squared distances to the nearest centre, for several numbers of clusters.

    Attributes
    ----------
    n_clusters : ndarray of shape (m,), int64
        Numbers of clusters, from few to many.
    inertia : ndarray of shape (m,)
        The sum for each, over the rows that the centres were fitted to.
    suggested : int
        The number at the elbow of ``inertia``, by :func:`elbow_point`; with rows held out, the
        number of the largest jump of ``held_out``, see :func:`linkshift.kmeans_elbow`.
    held_out : ndarray of shape (m,) or None
        The same sum, of rows whose part had no say in the centres.
    """

    n_clusters: NDArray[np.int64]
    inertia: NDArray[np.float64]
    suggested: int
    held_out: NDArray[np.float64] | None = None


def kmeans_elbow(
    X: ArrayLike,
    n_clusters: Iterable[int] = range(1, 13),
    *,
    held_out: int = 0,
    metric: str = "euclidean",
    init: StartName = "k-means++",
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> Elbow:
    r"""Run k-means for several numbers of clusters, and suggest one.

    By themselves the sums of squares S fall with every cluster more, and the suggestion is where
    their curve bends most (:func:`linkshift.kmeans.elbow_point`). With ``held_out`` parts, each
    part is held out once, and S(k) sums the squared distances of its rows to centres that were
    fitted to the others. That sum goes on falling, too, long after the clusters are found, so that
    its least is no choice; suggested is the number with the largest jump (Sugar and James 2003)

    .. math:: J(k) = S(k)^{-p/2} - S(k - 1)^{-p/2}, \qquad S(0)^{-p/2} = 0,

    where p is the effective number of columns, :math:`(\sum_i \lambda_i)^2 / \sum_i \lambda_i^2`
    for the eigenvalues of the covariance. One cluster may be suggested. Where numbers are left
    out, a jump is divided by the clusters that it adds; the first number has a jump if it is 1.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data. Of more than 20,000 rows as many are drawn at random.
    n_clusters : iterable of int, default=range(1, 13)
        Numbers of clusters, at least one; fewer than rows.
    held_out : int, default=0
        How many parts rows are cut into, each held out once; 0 holds none out. 5 takes about six
        times as long.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" goes by directions of rows: squared distances are :math:`2 - 2 \cos`.
    init : {"k-means++", "random", "greedy"}, default="k-means++"
        How starts are chosen, as in :class:`linkshift.KMeans`; the best of four is kept.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The result does not depend on it.
    random_state : int, RandomState or None
        Of draws and starts.

    Returns
    -------
    Elbow

    See Also
    --------
    linkshift.pictures.plot.elbow : draw it.
    linkshift.image.kmeans_elbow : the same for the pixels of an image.

    References
    ----------
    C. A. Sugar, G. M. James: Finding the Number of Clusters in a Dataset: An
    Information-Theoretic Approach. JASA 98, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import linkshift
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 1.0, size=(50, 2)) for c in (0, 8, 16, 24)])
    >>> curve = linkshift.kmeans_elbow(X, range(1, 9), held_out=5, random_state=0)
    >>> curve.suggested
    4
    """
    points = check_array(X, dtype=[np.float64, np.float32])
    counts = sorted({check_count("n_clusters", k) for k in n_clusters})
    if metric not in ("euclidean", "cosine"):
        raise ValueError(f'metric={metric!r} is none of "euclidean" and "cosine".')
    if init not in STARTS:
        raise ValueError(f"init={init!r} is none of {', '.join(STARTS)}.")
    check_squares(points)
    parts = 0 if held_out == 0 else check_count("held_out", held_out)
    points = unit_rows(points) if metric == "cosine" else points
    random = check_random_state(random_state)
    points = drawn(points, random)
    _check_rows(counts, parts, points.shape[0])
    options: dict[str, Any] = {"init": init, "spherical": metric == "cosine", "n_jobs": n_jobs}
    inertia = np.array([fit_kmeans(points, k, random=random, **options).inertia for k in counts])
    numbers = np.array(counts, dtype=np.int64)
    if not parts:
        return Elbow(numbers, inertia, elbow_point(numbers, inertia))
    part = random.permutation(points.shape[0]) % parts
    outside = np.zeros(numbers.size)
    for i, k in enumerate(counts):
        for p in range(parts):
            centres = fit_kmeans(points[part != p], k, random=random, **options).centres
            outside[i] += nearest_centres(points[part == p], centres)[1].sum()
    return Elbow(numbers, inertia, _largest_jump(numbers, outside, _spread(points)), outside)


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


def _check_rows(counts: list[int], parts: int, n: int) -> None:
    """Refuse what leaves a fit with fewer rows than clusters."""
    if not counts:
        raise ValueError("n_clusters is empty; give numbers of clusters, such as range(1, 13).")
    if parts == 1 or parts > n:
        raise Refusal(
            f"held_out={parts} is no number of parts of {counted(n, 'row')}.",
            "Give from 2 to as many as there are rows, or 0 to hold none out.",
            parameter="held_out",
            value=parts,
        )
    rows = n - (-(-n // parts) if parts else 0)
    if counts[-1] > rows:
        out = " that are not held out" if parts else ""
        raise Refusal(
            f"{counts[-1]} clusters are asked for, of {counted(rows, 'row')}{out}.",
            "Give fewer n_clusters.",
            parameter="n_clusters",
            value=counts[-1],
        )


def _spread(points: Array) -> float:
    """Effective number of columns: that of equal variances for which the ratio is the same."""
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    largest = float(np.abs(centred).max()) or 1.0
    n, d = centred.shape
    centred /= largest
    gram = centred.T @ centred if d <= n else centred @ centred.T  # the same eigenvalues
    squares = float((gram * gram).sum())
    return float(np.trace(gram)) ** 2 / squares if squares > 0 else 1.0


def _largest_jump(n_clusters: Array, outside: Array, spread: float) -> int:
    """Give the number of clusters with the largest jump; without a fall, the least."""
    least = float(outside.min())
    if least == 0.0:
        return int(n_clusters[np.argmax(outside == 0.0)])
    power = (least / outside) ** (0.5 * spread)  # from 0 to 1: no power overflows
    jump = np.diff(power) / np.diff(n_clusters)
    numbers = n_clusters[1:]
    if n_clusters[0] == 1 or n_clusters.size == 1:
        jump, numbers = np.concatenate([power[:1], jump]), n_clusters
    best = int(np.argmax(jump))
    return int(numbers[best] if jump[best] > 0 else n_clusters[0])
