r"""Must-links as a projection: linked rows fall on one spot, and others follow.

Each must-link is a difference of coordinates, :math:`a_j = z_{c_{j1}} - z_{c_{j2}}`. On the null
space of these differences both ends of every link coincide, and distances at right angles to
them are kept [1]_:

.. math:: \hat z = P z, \qquad P = I - A^T (A A^T)^+ A, \qquad A = (a_1, \dots, a_m)^T.

With :math:`\hat K = \hat Z \hat Z^T` this is the projected kernel matrix of eq. 19 and 20. The
Gram form subtracts nearly equal matrices and leaves linked rows apart, the more links the more.
Here an orthonormal basis B of the null space is found by a singular value decomposition, and
:math:`\hat z = B^T z` has fewer columns instead of linear dependencies: the same distances.

The span of the differences of a component of linked rows is that of its rows about their mean.
Which links made the component, and how many more than it needs, does not matter.

References
----------
.. [1] O. Tuzel, F. Porikli, P. Meer, "Kernel Methods for Weakly Supervised Mean Shift Clustering",
   ICCV 2009, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn

__all__ = ["NullSpace", "component_means", "null_space"]


# A direction in which linked rows differ by less than this share of the data's radius is not
# worth removing: rounding in the coordinates chose it.
_NEGLIGIBLE = float(np.sqrt(np.finfo(np.float64).eps))
# Links that remove more than this share of all directions are likely to remove what tells the
# clusters apart (five circles, kernel of rank 21: 4 links 0.99, 6 links 0.9, 8 links 0.3).
_LARGE_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Directions in which linked rows do not differ."""

    # (r, s), orthonormal: projected coordinates are ``coordinates @ basis``. One column of zeros
    # when no direction is left.
    basis: Array
    n_removed: int  # dimensions that the links take


def null_space(coordinates: Array, component: ArrayLike) -> NullSpace:
    """Null space of the differences between linked rows.

    Warns when no direction is left, and when links take more than a quarter of all directions:
    they then tend to take what tells clusters apart, too. ``component`` is that of must-links, of
    each row.

    Examples
    --------
    Rows 0 and 1 differ in the first column only: the second one is left.

    >>> import numpy as np
    >>> from linkshift.spaces.null_space import null_space
    >>> Z = np.array([[0.0, 1.0], [3.0, 1.0], [2.0, 5.0]])
    >>> space = null_space(Z, [0, 0, 1])
    >>> space.n_removed, np.abs(Z @ space.basis).round(6).ravel()
    (1, array([1., 1., 5.]))
    """
    component = np.asarray(component)
    r = coordinates.shape[1]
    apart = _about_means(coordinates, component)
    if not apart.shape[0]:
        return NullSpace(np.eye(r), 0)
    if apart.shape[0] > r:
        apart = np.asarray(np.linalg.qr(apart, mode="r"))
    _, singular, right = np.linalg.svd(apart)
    radius = float(np.linalg.norm(coordinates - coordinates.mean(axis=0), axis=1).max())
    n_removed = int((singular > _NEGLIGIBLE * radius).sum())
    everything_linked = bool((component == component[0]).all())
    if n_removed == r:
        if not everything_linked:
            warn(
                Advice(
                    f"The must-links span all {r} dimensions of the space: every row falls on "
                    "the same spot, and there is one cluster.",
                    "Give fewer links, a kernel with more dimensions (a smaller sigma, a higher "
                    "degree), or use_links='learn'.",
                    command="Give fewer links, or take --method skms.",
                )
            )
        return NullSpace(np.zeros((r, 1)), r)
    if n_removed > max(_LARGE_SHARE * r, 1) and not everything_linked:
        warn(
            Advice(
                f"The must-links take {n_removed} of the {r} dimensions of the space, and perhaps "
                "what tells the clusters apart with them.",
                "Give fewer links, spread over the structure, a kernel with more dimensions (a "
                "smaller sigma), or use_links='learn'.",
                command="Give fewer links, spread over the structure, or take --method skms.",
            )
        )
    return NullSpace(right[n_removed:].T.copy(), n_removed)


def component_means(coordinates: Array, component: ArrayLike) -> Array:
    """Put the rows of each component on their mean.

    After the projection they stand together but for rounding; then they do to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.spaces.null_space import component_means
    >>> component_means(np.array([[0.0], [1.0], [5.0]]), [0, 0, 1]).ravel()
    array([0.5, 0.5, 5. ])
    """
    component = np.asarray(component)
    linked = np.flatnonzero(np.bincount(component)[component] > 1)
    out = coordinates.copy()
    out[linked] -= _about_means(coordinates, component)
    # Rounding may still differ between rows of a component: all take those of the first.
    _, first, group = np.unique(component[linked], return_index=True, return_inverse=True)
    out[linked] = out[linked[first]][group]
    return out


def _about_means(coordinates: Array, component: Array) -> Array:
    """Rows of components of two and more, about the mean of their component."""
    linked = np.flatnonzero(np.bincount(component)[component] > 1)
    _, group, size = np.unique(component[linked], return_inverse=True, return_counts=True)
    rows = coordinates[linked]
    sums = np.zeros((size.shape[0], coordinates.shape[1]))
    np.add.at(sums, group, rows)
    return rows - (sums / size[:, None])[group]
