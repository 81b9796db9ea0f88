r"""The cheapest labels under size bounds and links, as a linear or an integer programme.

Each sample i goes into one of C clusters, at the cost :math:`d_{ic}` [1]_:

.. math::

   \min_{Y \in \{0, 1\}^{n \times C}} \sum_{ic} d_{ic} y_{ic} \quad\text{so that}\quad
   \sum_c y_{ic} = 1, \qquad \ell \le \sum_i y_{ic} \le u,

with equal rows of Y for must-linked samples and different rows for cannot-linked ones (eq. 3 to
7 and 10). Here, other than in eq. 16:

- Samples joined by certain must-links are one node: costs and sizes add up.
- A certain cannot-link between the nodes a and b is :math:`y_{ac} + y_{bc} \le 1` for every c. For
  nodes that are all held apart from each other one row for each c, :math:`\sum_a y_{ac} \le 1`,
  says the same and more. The paper's p and q allow every fractional Y with
  :math:`C \ge 3`, so that a solver has nothing to go by.
- A link of confidence p < 1 may be violated, at the price :math:`w \log\frac{1 + p}{1 - p}`.

Without integrality the programme is fast, and often the solution is whole by itself: always when
there are only sizes and no links, for then the matrix is totally unimodular. It begins with the
few cheapest clusters of each sample, and takes others in as their reduced costs ask for it. Where
the solution is not whole, branch and bound finishes, on the few columns whose reduced costs leave
them a chance.

The price is a log-likelihood ratio. Let the author of a link know the truth with probability p
and toss a coin otherwise. Then the link is right with probability (1 + p) / 2, and labels that
violate it are less likely by the factor (1 - p) / (1 + p). This adds up with costs that are
negative log-likelihoods, such as the logistic losses of eq. 13, for w = 1. It is positive for
every p (log p / (1 - p) would turn a must-link with p < 1/2 into a cannot-link), about 2 p for
small p, and without limit as p comes to 1, where the link becomes a constraint.

References
----------
.. [1] Y.-Y. Lin, T.-L. Liu, C.-S. Fuh, "Clustering Complex Data with Group-Dependent Feature
   Selection", ECCV 2010, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift.groups._assignment_problem import clique_cover, contracted, refuse_large_component
from linkshift.groups._assignment_solver import How, solve
from linkshift.links import ClosedLinks, Links

_PROVED = 2e-6  # a relative gap below this is rounding; the default gap and a little more
_LARGEST_COST = 1e100


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels and what they cost.

    At most the share ``gap`` of the excess cost could be saved. The excess is what labels cost
    above the cheapest cluster of each sample, so that a constant added to the costs of a sample
    changes nothing. Branch and bound seldom proves less than the gap asked for. ``how`` is what was
    needed: the cheapest cluster of each sample (or must-linked samples) broke nothing; the linear
    programme had a whole solution; or branch and bound.
    """

    labels: NDArray[np.int64]  # 0 to C - 1
    cost: float  # sum of the costs, and of the prices of the violated links
    optimal: bool  # whether it is proved that no other labels cost less, but for rounding
    gap: float
    how: How


def assign(
    costs: ArrayLike,
    *,
    size_bounds: tuple[int, int] | None = None,
    links: Links | ClosedLinks | None = None,
    link_weight: float = 1.0,
    max_nodes: int = 10_000,
    gap: float = 1e-6,
) -> Assignment:
    """Find the cheapest labels that respect size bounds and links.

    The same input gives the same labels. Of several optima, the
    cheapest cluster with the lowest number is taken where nothing stands against it; otherwise
    it is the one that the solver (HiGHS) comes to first, which is fixed but follows no rule.

    Parameters
    ----------
    costs : array-like of shape (n, C)
        Cost of putting sample i into cluster c. Infinity forbids it.
    size_bounds : (int, int), default=None
        Least and greatest number of samples in every cluster. None: any, empty clusters too.
    links : Links, default=None
        Links of confidence 1 hold; others may be violated, at a price.
    link_weight : float, default=1.0
        The price of a violated link of confidence p < 1 is this times log((1 + p) / (1 - p)), in
        units of the costs. At 0 such links are free to violate.
    max_nodes : int, default=10_000
        Nodes that branch and bound may look at, each time it is called. When they are used up,
        the best labels so far, or an error if there are none. Not seconds: the same input gives
        the same labels on a busy machine.
    gap : float, default=1e-6
        Stop branch and bound when at most this share of the excess cost can be saved.

    Raises
    ------
    ConflictError
        If links of confidence 1 contradict each other.
    ValueError
        If no labels are possible; the message says why.
    RuntimeError
        If ``max_nodes`` was too low to find labels.

    Examples
    --------
    All four would rather be in cluster 0. Two must go, and those go that lose least by it.

    >>> from linkshift import Links
    >>> from linkshift.groups.assignment import assign
    >>> costs = [[0, 5], [0, 1], [0, 9], [0, 2]]
    >>> assign(costs).labels
    array([0, 0, 0, 0])
    >>> assign(costs, size_bounds=(2, 2)).labels
    array([0, 1, 0, 1])
    >>> result = assign(costs, size_bounds=(2, 2), links=Links(cannot=[(1, 3)]))
    >>> result.labels, result.cost, result.how
    (array([1, 1, 0, 0]), 6.0, 'linear programme')
    """
    d = _checked_costs(costs)
    n, n_clusters = d.shape
    least, most = _checked_sizes(size_bounds, n, n_clusters)
    for name, value in (("link_weight", link_weight), ("gap", gap), ("max_nodes", max_nodes)):
        if not 0.0 <= value < np.inf:
            raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
    link_weight, gap = float(link_weight), float(gap)
    closed = ClosedLinks.coerce(links, n).expanded()
    problem, component, constant = contracted(d, least, most, closed, link_weight)
    refuse_large_component(problem, component)
    problem = replace(problem, cliques=clique_cover(problem, component))
    labels, found_gap, how = solve(problem, int(max_nodes), gap)
    rows = labels[component]
    cost = float(d[np.arange(n), rows].sum()) + constant + problem.price(labels)
    return Assignment(rows, cost, found_gap <= _PROVED, found_gap, how)


# At the door ---------------------------------------------------------------------------------


def _checked_costs(costs: ArrayLike) -> NDArray[np.float64]:
    d = np.asarray(costs, dtype=np.float64)
    if d.ndim != 2 or not d.size:
        raise ValueError(
            f"costs must have a row for each sample and a column for each cluster, "
            f"at least one of both; got shape {d.shape}"
        )
    if np.isnan(d).any():
        i, c = np.argwhere(np.isnan(d))[0]
        raise ValueError(f"costs[{i}, {c}] is NaN; use infinity to forbid a cluster")
    finite = d[d != np.inf]
    if np.abs(finite).max(initial=0.0) > _LARGEST_COST:
        raise ValueError(f"costs must lie within {_LARGEST_COST:g} of zero, or be +infinity")
    nowhere = np.flatnonzero(np.isinf(d).all(axis=1))
    if len(nowhere):
        raise ValueError(f"infinite costs forbid every cluster to sample {nowhere[0]}")
    return d


def _checked_sizes(size_bounds: tuple[int, int] | None, n: int, n_clusters: int) -> tuple[int, int]:
    if size_bounds is None:
        return 0, n
    bounds = np.asarray(size_bounds)
    if bounds.shape != (2,) or bounds.dtype.kind not in "iu":
        raise ValueError(f"size_bounds must be two whole numbers or None, got {size_bounds!r}")
    least, most = int(bounds[0]), int(bounds[1])
    if not 0 <= least <= most:
        raise ValueError(f"size_bounds must be 0 <= least <= greatest, got {size_bounds!r}")
    if n < n_clusters * least:
        raise ValueError(
            f"{n_clusters} clusters of at least {least} need "
            f"{n_clusters * least} samples, and there are {n}"
        )
    if n > n_clusters * most:
        raise ValueError(
            f"{n_clusters} clusters of at most {most} hold "
            f"{n_clusters * most} samples, and there are {n}"
        )
    return least, most
