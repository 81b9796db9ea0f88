# mypy: disable-error-code="no-untyped-def"
"""Jit loop of kernel learning: Bregman projections, one link after the other. It trusts its input.

The learned inner product is W = B B^T. A projection multiplies W by a rank-one matrix, and so it
does B: W then stays positive however long the loop runs, and short distances keep their digits.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit


@jit
def project_all(difference, sign, price, bound, multiplier, factor, tol, max_iter):
    """Project onto each link in turn until none is off its bound by more than ``tol`` of it.

    ``sign`` is 1 for a bound from above (must), -1 for one from below (cannot). ``bound``,
    ``multiplier`` and ``factor`` (B) are changed in place.

    Returns the number of sweeps and the largest relative gap met in the last.
    """
    m, q = difference.shape
    z, v = np.empty(q), np.empty(q)
    gap = 0.0
    for sweep in range(1, max_iter + 1):
        gap = 0.0
        for j in range(m):
            squared = _seen_by(factor, difference[j], z)
            share = price[j] / (price[j] + 1.0)
            step = min(multiplier[j], sign[j] * share * (1.0 / squared - 1.0 / bound[j]))
            if step == 0.0:
                continue
            gap = max(gap, abs(step) / share * min(squared, bound[j]))
            multiplier[j] -= step
            bound[j] *= price[j] / (price[j] + sign[j] * step * bound[j])
            growth = 1.0 / (1.0 - sign[j] * step * squared)  # of the squared distance
            _stretch(factor, z, (np.sqrt(growth) - 1.0) / squared, v)
        if gap <= tol:
            return sweep, gap
    return max_iter, gap


@jit
def _seen_by(factor, difference, z):
    """Fill z = B^T x; return its squared length, the learned squared distance."""
    np.dot(difference, factor, z)
    return np.dot(z, z)


@jit
def _stretch(factor, z, amount, v):
    """B <- B (I + amount z z^T), in place."""
    q = z.shape[0]
    np.dot(factor, z, v)
    for s in range(q):
        f = amount * v[s]
        for t in range(q):
            factor[s, t] += f * z[t]
