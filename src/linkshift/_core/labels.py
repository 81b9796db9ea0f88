"""Labels: numbered by first appearance or without gaps, counted, told from noise."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NOISE",
    "count_clusters",
    "dense",
    "first_come",
    "is_noise",
    "majority",
    "together_by_chance",
]

NOISE = -1

Number = TypeVar("Number", bound=np.integer[Any])


def first_come(groups: NDArray[np.integer[Any]], dtype: type[Number]) -> NDArray[Number]:
    """Give groups the numbers 0, 1, ... in the order in which they first appear.

    Groups are not negative. Takes time and memory in proportion to the entries and to the largest
    number.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift._core.labels import first_come
    >>> first_come(np.array([4, 1, 4, 0, 1]), np.int64)
    array([0, 1, 0, 2, 1])
    """
    flat = groups.ravel()
    first = np.full(int(flat.max(initial=-1)) + 1, flat.size)  # numbers without entries come last
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)  # the earliest entry has the last word
    rank = np.empty(len(first), dtype=dtype)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=dtype)
    return rank[groups]


def dense(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Labels from 0 without gaps, in the order they had; negative ones become -1."""
    labels = np.asarray(labels)
    out = np.full(labels.shape[0], NOISE, dtype=np.int64)
    clustered = labels >= 0
    out[clustered] = np.unique(labels[clustered], return_inverse=True)[1]
    return out


def majority(labels: NDArray[Any], weight: NDArray[Any] | None = None) -> int:
    """Return the label of most weight, the smallest of equals; -1 for none.

    Without weights, or where there is no weight, the most frequent one.
    """
    if not labels.size:
        return NOISE
    if weight is not None and weight.any():
        return int(np.bincount(labels, weight).argmax())
    return int(np.bincount(labels).argmax())


def is_noise(labels: NDArray[Any], noise: int | None = NOISE) -> NDArray[np.bool_]:
    """Which labels are noise; names of classes (text) never are."""
    if noise is None or labels.dtype.kind not in "iuf":
        return np.zeros(labels.shape, dtype=bool)
    return labels == noise


def count_clusters(labels: NDArray[Any]) -> int:
    """Count the clusters; noise is none."""
    return len(np.unique(labels[~is_noise(labels)]))


def together_by_chance(labels: NDArray[np.integer[Any]]) -> float:
    r"""How probable it is that two rows share a cluster, :math:`\sum_c (n_c / n)^2`.

    Rows of noise share theirs with none.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift._core.labels import together_by_chance
    >>> together_by_chance(np.array([0, 0, 1, -1]))
    0.3125
    """
    return float(((np.bincount(labels[labels >= 0]) / len(labels)) ** 2).sum())
