"""Numbers that clusters keep from one run to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from linkshift._core.messages import Refusal
from linkshift._core.text import counted

__all__ = ["labels_before", "numbers_like"]


def numbers_like(
    labels: NDArray[np.int64], previous: NDArray[np.int64], n_clusters: int
) -> NDArray[np.int64]:
    """Give each cluster the number of the earlier one that it has most rows in common with.

    Each number is given once, such that as many rows as possible keep theirs (Kuhn's Hungarian
    method, 1955). Clusters without one get numbers that were not there before, in their order.

    Parameters
    ----------
    labels, previous : ndarray of shape (n,)
        Clusters now, from 0, and before; negative where noise or unknown.
    n_clusters : int
        Clusters now.

    Returns
    -------
    ndarray of shape (n_clusters,)

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.methods.numbering import numbers_like
    >>> numbers_like(np.array([0, 0, 1, 2, 2]), np.array([4, 4, 4, 1, 1]), 3)
    array([4, 5, 1])
    """
    both = (labels >= 0) & (previous >= 0)
    before, code = np.unique(previous[both], return_inverse=True)
    shape = (n_clusters, len(before))
    counts = sparse.csr_matrix((np.ones(len(code)), (labels[both], code)), shape=shape)
    numbers = np.full(n_clusters, -1, dtype=np.int64)
    # Clusters that have no rows in common, directly or by others, are matched apart: thousands of
    # clusters would make too large a problem.
    joined = sparse.block_array([[None, counts], [counts.T, None]], format="csr")
    part = connected_components(joined, directed=False)[1] if min(shape) else np.zeros(0)
    for rows, columns in _parts(part, n_clusters):
        if len(rows) == len(columns) == 1:  # most of thousands: nothing to choose
            numbers[rows[0]] = before[columns[0]]
            continue
        block = counts[rows][:, columns].toarray()
        for i, j in zip(*linear_sum_assignment(block, maximize=True), strict=True):
            if block[i, j] > 0:
                numbers[rows[i]] = before[columns[j]]
    new = np.flatnonzero(numbers < 0)
    numbers[new] = max(int(previous.max(initial=-1)), -1) + 1 + np.arange(len(new))
    return numbers


def _parts(part: NDArray[Any], n_clusters: int) -> Any:
    """Clusters now, and those before, of each part that holds both."""
    order = np.argsort(part, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        now = members[members < n_clusters]
        then = members[members >= n_clusters] - n_clusters
        if len(now) and len(then):
            yield now, then


def labels_before(previous: Any, index: Any, n_rows: int) -> NDArray[np.int64]:
    """Earlier labels of the rows at hand, -1 where there are none.

    Rows are found by the index, where the earlier labels are a Series and the table has an index
    that is no mere count; else by their places.
    """
    previous = getattr(previous, "labels", previous)  # of a Clustering
    before = getattr(previous, "index", None) if hasattr(previous, "iloc") else None
    values = np.asarray(previous)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or (values != np.floor(values)).any():
        raise Refusal(
            f"labels_like takes whole numbers, one for each row; it is {values.dtype} of shape "
            f"{values.shape}.",
            "Give the labels of an earlier run, or what cluster has found then.",
            command="Give the file that an earlier linkshift cluster -o has written.",
            parameter="labels_like",
        )
    values = values.astype(np.int64)
    if before is not None and index is not None:
        if not before.is_unique:
            raise Refusal(
                "The index of labels_like names some rows twice.",
                "Give each row a name of its own.",
                parameter="labels_like",
            )
        place = before.get_indexer(index)
        if (place < 0).all():
            raise Refusal(
                "labels_like has none of the rows of the table in its index.",
                "Give both the same index, or the labels as an array in the order of the rows.",
                parameter="labels_like",
            )
        return np.where(place < 0, -1, values[place])
    if len(values) != n_rows:
        raise Refusal(
            f"labels_like has {counted(len(values), 'label')} for {n_rows:,} rows.",
            "Give tables with an index, by which rows are found, or -1 for rows that are new.",
            parameter="labels_like",
        )
    return values
