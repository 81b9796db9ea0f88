"""Smoothing out cluster assignments: neighbouring pixels agree on their labels."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal, check_count
from linkshift.image._smoothing_loops import settle


def smooth_assignments(
    labels: ArrayLike,
    costs: ArrayLike | None = None,
    *,
    weight: float = 1.0,
    max_iter: int = 100,
) -> NDArray[np.int32]:
    r"""Smooth out the labels of pixels, which clustering gave to each by itself.

    Makes small what labels cost and what borders cost,

    .. math:: E(l) = \sum_p u_p(l_p) + w \sum_{p \sim q} [l_p \ne l_q]

    over the pairs of pixels that share a side or a corner. Pixel by pixel, row by row, each takes
    the label that is least given those of its up to eight neighbours, and keeps its own unless
    another is less, in sweeps until none changes (iterated conditional modes): E never rises, and
    what is found is one of its local minima. Without costs, a pixel takes the label that most of
    its neighbours have.

    Parameters
    ----------
    labels : array-like of shape (h, w), of whole numbers not below zero
        Cluster or segment of each pixel.
    costs : array-like of shape (h, w, k), default=None
        What each of k labels costs each pixel, such as squared distances to k centres; ``labels``
        are then below k. None costs nothing.
    weight : float, default=1.0
        w, the price of a neighbour with another label, in units of the costs; more is smoother.
        Without costs any is the same.
    max_iter : int, default=100
        Largest number of sweeps.

    Returns
    -------
    ndarray of shape (h, w), int32
        Labels with the numbers that they had; some may be gone.

    See Also
    --------
    segment : ``smooth`` does this to the clusters of k-means, with distances to its centres.

    References
    ----------
    J. Besag: On the Statistical Analysis of Dirty Pictures. JRSS B 48 (3), 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image import smooth_assignments
    >>> labels = np.array([[0, 0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 1, 1]])
    >>> smooth_assignments(labels)[1]
    array([0, 0, 0, 1, 1], dtype=int32)
    """
    given = np.asarray(labels)
    if given.ndim != 2 or given.dtype.kind not in "iu" or given.size == 0:
        raise ValueError(
            f"labels have shape {given.shape} and dtype {given.dtype}; give an (h, w) array of "
            "whole numbers."
        )
    if given.min() < 0 or given.max() > np.iinfo(np.int32).max:
        raise ValueError(
            f"labels go from {given.min()} to {given.max()}; number them from 0 on, for example "
            "with np.unique(labels, return_inverse=True)."
        )
    prices = np.zeros((1, 1, 1), dtype=np.float32)
    n_labels = int(given.max()) + 1
    if costs is not None:
        prices = np.asarray(costs)
        n_labels = _check_costs(prices, given.shape, n_labels)
    price = _check_weight(weight)
    found = given.astype(np.int32)
    counts = np.zeros(n_labels, dtype=np.int64)
    for _ in range(check_count("max_iter", max_iter)):
        if not settle(found, prices, costs is not None, price, counts):
            break
    return found


def _check_costs(costs: Array, size: tuple[int, ...], n_labels: int) -> int:
    """Refuse costs of other pixels or fewer labels; how many labels there are."""
    if costs.ndim != 3 or costs.shape[:2] != size or costs.shape[2] < n_labels:
        raise ValueError(
            f"costs have shape {costs.shape}, and there are labels up to {n_labels - 1} on "
            f"{size[0]} x {size[1]} pixels; give a cost of each label to each pixel."
        )
    if costs.dtype.kind not in "fiu" or not np.isfinite(costs).all():
        raise ValueError("costs must be finite numbers; a label that cannot be may cost 1e9.")
    return int(costs.shape[2])


def _check_weight(weight: object) -> float:
    if isinstance(weight, bool) or not isinstance(weight, Real):
        raise TypeError(f"weight must be a number, not {weight!r}.")
    if not 0.0 < float(weight) < math.inf:
        raise Refusal(
            f"The weight of smoothing is {weight}, and must be positive and finite.",
            "Leave smoothing out, or give another weight.",
            command="Leave --smooth out, or give a positive number.",
            parameter="weight",
            value=weight,
        )
    return float(weight)
