"""Groups numbered by first appearance: names that no order of the work can change."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["first_come"]

Number = TypeVar("Number", bound=np.integer[Any])


def first_come(groups: NDArray[np.integer[Any]], dtype: type[Number]) -> NDArray[Number]:
    """Give groups the numbers 0, 1, ... in the order in which they first appear.

    Takes time and memory in proportion to the entries and to the largest number.

    Parameters
    ----------
    groups : ndarray of any shape, of whole numbers
        Group of each entry, not negative.
    dtype : type
        Of the new numbers.

    Returns
    -------
    ndarray of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift._numbering import first_come
    >>> first_come(np.array([4, 1, 4, 0, 1]), np.int64)
    array([0, 1, 0, 2, 1])
    """
    flat = groups.ravel()
    first = np.full(int(flat.max(initial=-1)) + 1, flat.size)  # numbers without entries come last
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)  # the earliest entry has the last word
    rank = np.empty(len(first), dtype=dtype)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=dtype)
    return rank[groups]
