"""How good a clustering is against known classes, and against its own rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from linkshift._core.labels import NOISE, count_clusters, is_noise
from linkshift.metrics._checks import checked_labels


def clustering_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, *, noise: int | None = NOISE
) -> float:
    r"""Share of points that are right under the best one-to-one matching of clusters to classes.

    .. math:: \mathrm{ACC} = \frac{1}{n} \max_{\pi} \sum_{i=1}^{n} [\, y_i = \pi(c_i) \,]

    over the one-to-one maps :math:`\pi` of clusters to classes. With more clusters than classes,
    some clusters match nothing and their points are errors; with fewer, some classes are missed.
    Noise is a cluster of its own that matches only noise: a point called noise is right exactly
    when its class is noise too.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The classes.
    y_pred : array-like of shape (n,)
        The clusters; their numbers have no meaning.
    noise : int or None
        The label that means noise, in both. Pass None when -1 is a class like any other, as in
        labels of -1 and +1.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics
    Quarterly 2, 1955: the matching.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [7, 7, 3, 3])
    1.0
    >>> clustering_accuracy([0, 0, 1, 1], [0, 1, 2, 2])
    0.75
    >>> clustering_accuracy([0, 0, 1, -1], [1, 1, -1, -1])
    0.75
    """
    true, pred = checked_labels(y_true, "y_true"), checked_labels(y_pred, "y_pred")
    if len(true) != len(pred):
        raise ValueError(f"y_true has {len(true)} labels, y_pred has {len(pred)}")
    if len(true) == 0:
        raise ValueError("y_true and y_pred are empty: there is nothing to score")
    true_noise, pred_noise = is_noise(true, noise), is_noise(pred, noise)
    placed = ~true_noise & ~pred_noise
    right = int(np.sum(true_noise & pred_noise))
    if placed.any():
        counts = _contingency(true[placed], pred[placed])
        right += int(counts[linear_sum_assignment(counts, maximize=True)].sum())
    return right / len(true)


class ReconstructionScore(NamedTuple):
    """How well rows are told by the centres of their clusters.

    Attributes
    ----------
    error : float
        Mean squared distance of a row to the centre of its cluster.
    explained : float
        Share of the variance that the centres explain: 1 less the error over that of one cluster.
        From 0 to 1; 1 where all rows are the same.
    """

    error: float
    explained: float


def reconstruction_score(X: ArrayLike, labels: ArrayLike) -> ReconstructionScore:
    r"""Score labels by how well rows are reconstructed from their clusters (generative).

    .. math:: \mathrm{error} = \frac{1}{n} \sum_j \|x_j - c_{l_j}\|^2, \qquad
              \mathrm{explained} = 1 - \frac{\mathrm{error}}
                                           {\frac{1}{n} \sum_j \|x_j - \bar x\|^2},

    with the means c of the clusters. It needs no classes, and any labels can be compared by it
    that have as many clusters: splitting a cluster never makes it worse. Noise (-1) has no cluster,
    and is told by the mean of all rows, so that leaving rows out never helps.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows, in units in which distances mean something.
    labels : array-like of shape (n,)
        Cluster of each row, -1 for noise.

    Returns
    -------
    ReconstructionScore

    Examples
    --------
    >>> X = [[0.0], [2.0], [10.0], [12.0]]
    >>> score = reconstruction_score(X, [0, 0, 1, 1])
    >>> score.error, round(score.explained, 3)
    (1.0, 0.962)
    """
    rows, found = np.asarray(X, dtype=np.float64), checked_labels(labels, "labels")
    if rows.ndim != 2 or rows.shape[0] != len(found) or rows.size == 0:
        raise ValueError(
            f"X has shape {rows.shape} and there are {len(found)} labels; give a table of numbers "
            "with a row for each label."
        )
    if not np.isfinite(rows).all():
        raise ValueError("X has NaN or infinity in it; leave such rows out, or fill the gaps.")
    centred = rows - rows.mean(axis=0)
    total = float(np.einsum("ij,ij->", centred, centred)) / len(found)
    placed = ~is_noise(found)
    _, cluster = np.unique(found[placed], return_inverse=True)
    sums = np.zeros((int(cluster.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, cluster, centred[placed])
    sizes = np.bincount(cluster, minlength=len(sums))
    left = centred.copy()
    left[placed] -= (sums / np.maximum(sizes, 1)[:, None])[cluster]
    error = float(np.einsum("ij,ij->", left, left)) / len(found)
    return ReconstructionScore(error, 1.0 - error / total if total > 0 else 1.0)


def n_clusters(labels: ArrayLike) -> int:
    """Count the clusters; noise, -1, is none.

    Parameters
    ----------
    labels : array-like of shape (n,)

    Returns
    -------
    int

    Examples
    --------
    >>> n_clusters([0, 0, 4, -1])
    2
    """
    return count_clusters(checked_labels(labels, "labels"))


def name_clusters(clusters: ArrayLike, partial_labels: ArrayLike) -> NDArray[np.int64]:
    """Class of each row: that of most labelled members of its cluster.

    Ties go to the class that comes first. Rows of a cluster without a labelled member, and noise,
    get -1: nothing is known of them.

    Parameters
    ----------
    clusters : array-like of shape (n,)
        Cluster of each row.
    partial_labels : array-like of shape (n,)
        Known classes as whole numbers, -1 where unknown.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> name_clusters([0, 0, 0, 1, 1, 2], [5, 5, -1, 7, -1, -1])
    array([ 5,  5,  5,  7,  7, -1])
    """
    found, known = (
        checked_labels(clusters, "clusters"),
        checked_labels(partial_labels, "partial_labels"),
    )
    if len(found) != len(known):
        raise ValueError(f"clusters has {len(found)} labels, partial_labels has {len(known)}")
    if known.dtype.kind not in "iu":
        raise ValueError(
            f"partial_labels must be whole numbers, -1 where unknown; got {known.dtype}. "
            "np.unique(names, return_inverse=True) turns names into numbers."
        )
    named = np.full(len(found), -1, dtype=np.int64)
    voters = (known != -1) & ~is_noise(found, NOISE)
    if voters.any():
        classes, clusters_seen = np.unique(known[voters]), np.unique(found[voters])
        winner = classes[_contingency(known[voters], found[voters]).argmax(axis=0)]
        place = np.minimum(np.searchsorted(clusters_seen, found), len(clusters_seen) - 1)
        reached = clusters_seen[place] == found
        named[reached] = winner[place[reached]]
    return named


@dataclass(frozen=True)
class LabelledScore:
    """How well clusters tell the class of rows whose label was hidden.

    Attributes
    ----------
    error : float
        Share of hidden rows with a wrong class, once clusters are named by labelled members;
        rows of a cluster without any count as wrong.
    ari : float
        Adjusted Rand index of the clusters of the hidden rows.
    labelled_ari : float
        That of their classes, as named: it does not see a class in several clusters.
    n_clusters : int
        Clusters of all rows.
    """

    error: float
    ari: float
    labelled_ari: float
    n_clusters: int


def labelled_score(y_true: ArrayLike, clusters: ArrayLike, labelled: ArrayLike) -> LabelledScore:
    """Name clusters by the labelled rows and score the others.

    The protocol of Cheema's thesis (2016): a metric learned from the training part, clusters
    labelled by their training members, errors counted on the rest.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes of all rows.
    clusters : array-like of shape (n,)
        Cluster of each row.
    labelled : array-like of shape (n,) of bool
        Rows whose class was known; at least one is not.

    Returns
    -------
    LabelledScore

    Examples
    --------
    >>> labelled_score([0, 0, 0, 1, 1, 1], [3, 3, 3, 4, 4, 3], [1, 0, 0, 1, 0, 0]).error
    0.25
    """
    from sklearn.metrics import adjusted_rand_score

    true, found = checked_labels(y_true, "y_true"), checked_labels(clusters, "clusters")
    known = checked_labels(labelled, "labelled").astype(bool)
    if not len(true) == len(found) == len(known):
        raise ValueError(
            f"y_true has {len(true)} entries, clusters {len(found)}, labelled {len(known)}"
        )
    if known.all():
        raise ValueError("All rows are labelled: there is none left to score")
    classes = np.unique(true, return_inverse=True)[1]
    named = name_clusters(found, np.where(known, classes, -1))
    hidden = ~known
    return LabelledScore(
        error=float(np.mean(named[hidden] != classes[hidden])),
        ari=float(adjusted_rand_score(classes[hidden], found[hidden])),
        labelled_ari=float(adjusted_rand_score(classes[hidden], named[hidden])),
        n_clusters=n_clusters(found),
    )


def _contingency(true: NDArray[np.generic], pred: NDArray[np.generic]) -> NDArray[np.int64]:
    """Points of each class (row) in each cluster (column)."""
    from sklearn.metrics.cluster import contingency_matrix

    return np.asarray(contingency_matrix(true, pred))
