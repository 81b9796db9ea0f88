r"""Cluster ensembles: one partition from many, whatever made them.

Of T partitions, two rows are together in a share

.. math:: A_{ij} = \frac{1}{T} \sum_t [y^t_i = y^t_j],

their co-association. `cspa` takes it for a similarity to be cut, `evidence_accumulation` for one to
be linked. Noise, -1, is together with nobody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from linkshift._core.arrays import Array
from linkshift._core.labels import dense, first_come
from linkshift._core.memory import check_memory
from linkshift._core.messages import Refusal
from linkshift.groups.consensus import membership
from linkshift.groups.spectral import spectral_clusters

_LEAST_GAP = 1e-9  # of two heights that are not one


def cspa(
    labelings: ArrayLike,
    n_clusters: int,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.int64]:
    """Cut the co-association of partitions into clusters (CSPA, Strehl and Ghosh 2002).

    The original cuts with METIS, which wants clusters of about one size; here the cut is that of
    spectral clustering, which does not.

    Parameters
    ----------
    labelings : array-like of shape (n_partitions, n_samples)
        A row of labels for each partition; numbers of clusters may differ. -1 is noise.
    n_clusters : int
        Number of clusters.
    random_state : int, RandomState or None, default=None
        The source of chance, in k-means.

    Returns
    -------
    ndarray of shape (n_samples,)
        Cluster of each row.

    See Also
    --------
    evidence_accumulation : finds the number of clusters, too.
    linkshift.ConsensusClustering : makes partitions of its own, under links.

    References
    ----------
    Strehl, Ghosh: Cluster Ensembles: a Knowledge Reuse Framework for Combining Multiple Partitions,
    JMLR 3, 2002.

    Examples
    --------
    >>> from linkshift.baselines import cspa
    >>> cspa([[0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], [2, 2, 2, 0, 0, 1]], 2, random_state=0)
    array([0, 0, 0, 1, 1, 1])
    """
    codes = _codes(labelings)
    _check_count(n_clusters, codes)
    columns = int(sum(len(np.unique(labels)) for labels in codes))
    check_memory(
        24.0 * columns * codes.shape[1],
        f"CSPA of {codes.shape[1]:,} rows in {columns:,} clusters",
        "Give fewer partitions, or partitions with less noise.",
        parameter="labelings",
    )
    found = spectral_clusters(membership(codes), n_clusters, random_state=random_state)[0]
    return first_come(found, np.int64)


def evidence_accumulation(labelings: ArrayLike, n_clusters: int | None = None) -> NDArray[np.int64]:
    r"""Link rows by their co-association (evidence accumulation, Fred and Jain 2005).

    Average linkage of the distances :math:`1 - A_{ij}`. Without a number of clusters, the one that
    lasts longest: of all k, that for which the range of heights at which the tree has k clusters is
    the widest, in heights from 0 to 1.

    Parameters
    ----------
    labelings : array-like of shape (n_partitions, n_samples)
        A row of labels for each partition; numbers of clusters may differ. -1 is noise.
    n_clusters : int or None, default=None
        Number of clusters; None: the one that lasts longest.

    Returns
    -------
    ndarray of shape (n_samples,)
        Cluster of each row.

    See Also
    --------
    cspa : cuts the same similarity, with less memory.

    References
    ----------
    Fred, Jain: Combining Multiple Clusterings Using Evidence Accumulation, PAMI 27, 2005.

    Examples
    --------
    >>> from linkshift.baselines import evidence_accumulation
    >>> evidence_accumulation([[0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], [2, 2, 2, 0, 0, 1]])
    array([0, 0, 0, 1, 1, 1])
    """
    codes = _codes(labelings)
    n = codes.shape[1]
    _check_count(n_clusters, codes)
    if n == 1:
        return np.zeros(1, dtype=np.int64)
    check_memory(
        16.0 * n * n / 2.0,
        f"Evidence accumulation of {n:,} rows",
        "Take a part of the rows, or use cspa.",
        parameter="labelings",
    )
    tree = linkage(pdist(codes.T.astype(np.float64), "hamming"), method="average")
    k = _longest(tree[:, 2]) if n_clusters is None else n_clusters
    return first_come(fcluster(tree, k, criterion="maxclust") - 1, np.int64)


def _codes(labelings: ArrayLike) -> Array:
    """Labels as numbers from 0, each noise row a cluster of its own."""
    labels = np.asarray(labelings)
    if labels.ndim != 2 or 0 in labels.shape:
        raise Refusal(
            f"labelings has shape {labels.shape}; it must have a row of labels for each partition.",
            "Pass a list of label arrays of one length.",
            parameter="labelings",
        )
    codes = []
    for row in labels:
        code = dense(np.unique(row, return_inverse=True)[1] if row.dtype.kind not in "iu" else row)
        noise = code < 0
        code[noise] = code.max() + 1 + np.arange(noise.sum())
        codes.append(code)
    return np.stack(codes)


def _check_count(n_clusters: int | None, codes: Array) -> None:
    if n_clusters is not None and not 1 <= n_clusters <= codes.shape[1]:
        raise Refusal(
            f"n_clusters={n_clusters} for {codes.shape[1]:,} rows.",
            "Give a number from 1 to the number of rows.",
            parameter="n_clusters",
            value=n_clusters,
        )


def _longest(heights: Array) -> int:
    """Count the clusters of the widest range of heights; of equals the fewest."""
    ends = np.concatenate([[0.0], np.maximum.accumulate(heights), [1.0]])
    lasts = np.diff(ends)[::-1]  # of 1, 2, ..., n clusters
    return int(np.flatnonzero(lasts >= lasts.max() - _LEAST_GAP)[0]) + 1
