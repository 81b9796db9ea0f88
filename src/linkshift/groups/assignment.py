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
there are only sizes and no links, for then the matrix is totally unimodular. Where it is not
whole, branch and bound finishes, on the few columns whose reduced costs leave them a chance.

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

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack

from linkshift.links import Links

__all__ = ["Assignment", "assign"]

Array = NDArray[Any]
How = Literal["argmin", "linear programme", "integer programme"]

_WHOLE = 1e-6  # a solution is whole when no entry is farther from a whole number
_PROVED = 2e-6  # a relative gap below this is rounding; the default gap and a little more
_LARGEST_COST = 1e100
_WIDEST_RANGE = 1e8  # of the costs as the solver sees them: its tolerances are absolute
_CORE = 1.5  # columns for each node that branch and bound begins with, on average
_IMPOSSIBLE = 2  # SciPy's status
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels and what they cost.

    Attributes
    ----------
    labels : ndarray of shape (n,), int64
        The cluster of each sample, 0 to C - 1.
    cost : float
        Sum of the costs, and of the prices of the violated links.
    optimal : bool
        Whether it is proved that no other labels cost less (but for rounding).
    gap : float
        At most this share of the excess cost could be saved. The excess is what labels cost
        above the cheapest cluster of each sample, so that a constant added to the costs of a
        sample changes nothing. Branch and bound seldom proves less than the `gap` asked for.
    how : {"argmin", "linear programme", "integer programme"}
        What was needed: the cheapest cluster of each sample (or must-linked samples) broke
        nothing; the linear programme had a whole solution; or branch and bound.
    """

    labels: NDArray[np.int64]
    cost: float
    optimal: bool
    gap: float
    how: How


def assign(
    costs: ArrayLike,
    *,
    size_bounds: tuple[int, int] | None = None,
    links: Links | None = None,
    link_weight: float = 1.0,
    time_limit: float = 60.0,
    gap: float = 1e-6,
) -> Assignment:
    """Find the cheapest labels that respect size bounds and links.

    The same input gives the same labels, unless the time runs out. Of several optima, the
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
    time_limit : float, default=60.0
        Seconds for the solver. When they are over, the best labels so far, or an error if
        there are none.
    gap : float, default=1e-6
        Stop branch and bound when at most this share of the excess cost can be saved.

    Returns
    -------
    Assignment

    Raises
    ------
    ConflictError
        If links of confidence 1 contradict each other.
    ValueError
        If no labels are possible; the message says why.
    RuntimeError
        If the time was too short to find labels.

    References
    ----------
    .. [1] Y.-Y. Lin, T.-L. Liu, C.-S. Fuh, "Clustering Complex Data with Group-Dependent Feature
       Selection", ECCV 2010, eq. 10 to 16.

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
    link_weight = _checked_number("link_weight", link_weight, least=0.0)
    gap = _checked_number("gap", gap, least=0.0)
    deadline = time.monotonic() + _checked_number("time_limit", time_limit, least=0.0)
    links = Links.coerce(links).check(n)
    problem, component, constant = _contracted(d, least, most, links, link_weight)
    _refuse_large_component(problem, component)
    cliques = _clique_cover(problem, component)
    problem = replace(problem, cliques=cliques)

    labels, found_gap, how = _solve(problem, deadline, gap)
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
        raise ValueError(f"costs must lie within {_LARGEST_COST:g} of nought, or be +infinity")
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


def _checked_number(name: str, value: float, *, least: float) -> float:
    if not least <= value < np.inf:
        raise ValueError(f"{name} must be a finite number of at least {least:g}, got {value!r}")
    return float(value)


# The problem on nodes ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Problem:
    """What the solver is to solve: nodes are components of certain must-links."""

    excess: Array  # (nodes, C): cost above the cheapest cluster; 0 where forbidden
    forbidden: Array  # (nodes, C)
    sizes: Array  # samples in each node
    least: int
    most: int
    apart: Array  # (m, 2): pairs of nodes that cannot meet
    cliques: list[list[int]]  # cover `apart`
    soft: Array  # (k, 2): pairs of nodes with uncertain links
    weight: Array  # (k,): price for apart if positive; the negative price for together

    @property
    def bounded(self) -> bool:
        return self.least > 0 or self.most < self.sizes.sum()

    def breaks(self, labels: Array) -> bool:
        """Whether labels break a constraint."""
        nodes = np.arange(len(labels))
        counts = np.bincount(labels, weights=self.sizes, minlength=self.excess.shape[1])
        return bool(
            self.forbidden[nodes, labels].any()
            or counts.min() < self.least
            or counts.max() > self.most
            or (labels[self.apart[:, 0]] == labels[self.apart[:, 1]]).any()
        )

    def price(self, labels: Array) -> float:
        """Price of the uncertain links that labels violate."""
        together = labels[self.soft[:, 0]] == labels[self.soft[:, 1]]
        return float(np.abs(self.weight[together == (self.weight < 0)]).sum())

    def total(self, labels: Array) -> float:
        """Excess cost and price."""
        return float(self.excess[np.arange(len(labels)), labels].sum()) + self.price(labels)


def _contracted(
    d: Array, least: int, most: int, links: Links, link_weight: float
) -> tuple[_Problem, Array, float]:
    """Join certain must-links to nodes; give the problem, each row's node, and constant prices."""
    must, cannot = links.must_confidence == 1.0, links.cannot_confidence == 1.0
    closure = Links(links.must[must], links.cannot[cannot]).closure(len(d))
    component, n_nodes = closure.component, closure.n_components
    member = csr_array((np.ones(len(d)), (component, np.arange(len(d)))), shape=(n_nodes, len(d)))
    infinite = np.isinf(d)
    forbidden = (member @ infinite.astype(np.float64)) > 0
    nowhere = np.flatnonzero(forbidden.all(axis=1))
    if len(nowhere):
        raise ValueError(
            "infinite costs forbid every cluster to one or another of the must-linked samples "
            + _some(closure.members(int(nowhere[0])))
        )
    # The cheapest cluster of each row first: large costs that a row has in common would
    # otherwise swallow the digits of the rest.
    excess = member @ np.where(infinite, 0.0, d - d.min(axis=1, keepdims=True))
    excess -= np.where(forbidden, np.inf, excess).min(axis=1, keepdims=True)
    excess[forbidden] = 0.0

    apart = closure.component_cannot
    soft, weight, constant = _soft_pairs(links, component, apart, link_weight)
    problem = _Problem(excess, forbidden, closure.sizes, least, most, apart, [], soft, weight)
    return problem, component, constant


def _soft_pairs(
    links: Links, component: Array, apart: Array, link_weight: float
) -> tuple[Array, Array, float]:
    """Uncertain links between nodes, each pair once, and the prices that nothing can avoid.

    A must- and a cannot-link on the same pair, of prices v and w, cost min(v, w) in any case and
    the difference if the dearer one is violated.
    """
    soft_must, soft_cannot = links.must_confidence < 1.0, links.cannot_confidence < 1.0
    pairs = np.concatenate((links.must[soft_must], links.cannot[soft_cannot]))
    if not len(pairs) or link_weight == 0.0:
        return np.empty((0, 2), dtype=np.int64), np.empty(0), 0.0
    p = np.concatenate((links.must_confidence[soft_must], links.cannot_confidence[soft_cannot]))
    price = link_weight * (np.log1p(p) - np.log1p(-p))
    is_must = np.arange(len(p)) < soft_must.sum()

    nodes = np.sort(component[pairs], axis=1)
    n_nodes = int(component.max()) + 1
    key, where = np.unique(nodes @ np.array([n_nodes, 1]), return_inverse=True)
    v = np.bincount(where, weights=np.where(is_must, price, 0.0), minlength=len(key))
    w = np.bincount(where, weights=np.where(is_must, 0.0, price), minlength=len(key))
    left, right = np.divmod(key, n_nodes)
    joined, parted = left == right, np.isin(key, apart @ np.array([n_nodes, 1]))
    free = ~(joined | parted)
    constant = w[joined].sum() + v[parted].sum() + np.minimum(v, w)[free].sum()
    keep = free & (v != w)
    return np.column_stack((left, right))[keep], (v - w)[keep], float(constant)


def _refuse_large_component(problem: _Problem, component: Array) -> None:
    largest = int(problem.sizes.argmax())
    if problem.sizes[largest] > problem.most:
        raise ValueError(
            f"{problem.sizes[largest]} samples are must-linked to each other, more than a "
            f"cluster's {problem.most}: {_some(np.flatnonzero(component == largest))}"
        )


def _clique_cover(problem: _Problem, component: Array) -> list[list[int]]:
    """Cover the cannot-links between nodes by cliques, grown from each link not covered yet."""
    n_clusters = problem.excess.shape[1]
    near: dict[int, set[int]] = {}
    for a, b in problem.apart.tolist():
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    covered: set[tuple[int, int]] = set()
    cliques: list[list[int]] = []
    for a, b in problem.apart.tolist():
        if (a, b) in covered:
            continue
        clique, common = [a, b], near[a] & near[b]
        while common and len(clique) <= n_clusters:
            # Whoever is held apart from most others leaves most to go on with.
            node = min(common, key=lambda other: (-len(near[other]), other))
            clique.append(node)
            common &= near[node]
        if len(clique) > n_clusters:
            _, first = np.unique(component, return_index=True)
            raise ValueError(
                f"{len(clique)} samples are cannot-linked to each other (directly or through "
                f"must-links), and there {_clusters(n_clusters)}: {_some(first[np.sort(clique)])}"
            )
        clique.sort()
        covered.update((x, y) for i, x in enumerate(clique) for y in clique[i + 1 :])
        cliques.append(clique)
    return cliques


def _some(rows: Array) -> str:
    shown = ", ".join(str(row) for row in rows[:_SHOWN].tolist())
    return shown + (f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")


def _clusters(count: int) -> str:
    return "is 1 cluster" if count == 1 else f"are {count} clusters"


# Solving -------------------------------------------------------------------------------------


def _solve(problem: _Problem, deadline: float, gap: float) -> tuple[Array, float, How]:
    """Labels of the nodes, the relative gap, and what it took."""
    cheapest = np.where(problem.forbidden, np.inf, problem.excess).argmin(axis=1)
    if not problem.breaks(cheapest) and problem.price(cheapest) == 0.0:
        return cheapest, 0.0, "argmin"

    scale = _scale(problem)
    programme = _programme(problem, scale)
    linear = programme.linear(deadline)
    if linear.status == _IMPOSSIBLE:
        raise ValueError(_reason(problem, deadline))
    if linear.status == 0 and _is_whole(linear.x[: programme.n_y]):
        return _labels(problem, programme, linear.x), 0.0, "linear programme"
    x, bound = _finish(problem, programme, linear, deadline, gap)
    labels = _labels(problem, programme, x)
    total = problem.total(labels)
    if total <= 0.0:
        return labels, 0.0, "integer programme"
    # HiGHS leaves branches out that could save less than `gap`, and reports a bound as if they
    # could save nothing; the bound of the linear programme is free of that.
    found_gap = max((total - bound * scale) / total, gap)
    if linear.status == 0:
        found_gap = min(found_gap, max((total - linear.fun * scale) / total, 0.0))
    return labels, found_gap, "integer programme"


def _finish(
    problem: _Problem, programme: _Programme, linear: Any, deadline: float, gap: float
) -> tuple[Array, float]:
    """Whole solution and lower bound, by branch and bound on the columns that can matter.

    Let z be the value of the linear programme and r the reduced costs. A solution that uses
    column j costs at least z + r_j. So the best one with columns of r <= t is the best of all if
    it costs no more than z + t; if it costs more, that says which t is large enough.
    """
    reach, floor, reduced = np.inf, 0.0, np.zeros(programme.width)
    if linear.status == 0:
        floor, reduced[programme.allowed] = linear.fun, linear.lower.marginals
        reduced[programme.n_y :] = 0.0
        share = min(_CORE / problem.excess.shape[1], 1.0)
        reach = float(np.quantile(reduced[: programme.n_y], share))
    best, bound = None, floor
    while True:
        result = programme.whole(programme.allowed & (reduced <= reach), deadline, gap)
        if result.status == _IMPOSSIBLE and np.isinf(reach):
            raise ValueError(_reason(problem, deadline))
        if result.x is not None and (best is None or result.fun < best.fun):
            best = result
        in_time = result.status in (0, _IMPOSSIBLE)
        needed = np.inf if best is None else best.fun - floor
        if result.x is not None:
            bound = max(bound, min(result.mip_dual_bound, floor + reach))
        if not in_time or needed <= reach:
            break
        reach = needed + _WHOLE
    if best is None:
        raise RuntimeError(
            f"no labels found in the time given; raise time_limit. HiGHS says: {result.message}"
        )
    return best.x, bound


def _labels(problem: _Problem, programme: _Programme, x: Array) -> Array:
    labels = x[: programme.n_y].reshape(problem.excess.shape).argmax(axis=1)
    if problem.breaks(labels):
        raise RuntimeError(
            "the solver's labels break a constraint; the costs may differ by too many orders "
            "of magnitude"
        )
    return labels


def _is_whole(y: Array) -> bool:
    return bool(np.abs(y - np.round(y)).max() <= _WHOLE)


def _scale(problem: _Problem) -> float:
    """Typical excess, the unit for the solver: its tolerances suit numbers about 1.

    Prices do not count, unless there is nothing else: in units of large prices the differences
    between costs would be rounding.
    """
    excess, prices = problem.excess[problem.excess > 0.0], np.abs(problem.weight)
    if not len(excess) and not len(prices):
        return 1.0
    largest = max(float(excess.max(initial=0.0)), float(prices.max(initial=0.0)))
    return max(float(np.median(excess if len(excess) else prices)), largest / _WIDEST_RANGE)


@dataclass(frozen=True, eq=False)
class _Programme:
    """Minimise ``objective @ x`` for x in [0, 1] with ``low <= matrix @ x <= high``."""

    objective: Array
    matrix: Any
    low: Array
    high: Array
    allowed: Array  # which x may be other than 0
    n_y: int  # these first x are vec(Y); those behind are whole when Y is

    @property
    def width(self) -> int:
        return len(self.objective)

    def linear(self, deadline: float) -> Any:
        """Solve without integrality; x has all columns, the marginals only those allowed."""
        matrix = self.matrix[:, self.allowed].tocsr()
        equal = self.low == self.high
        below = ~equal & np.isfinite(self.high)
        above = ~equal & np.isfinite(self.low)
        result = linprog(
            self.objective[self.allowed],
            A_eq=matrix[equal],
            b_eq=self.low[equal],
            A_ub=vstack((matrix[below], -matrix[above]), format="csr"),
            b_ub=np.concatenate((self.high[below], -self.low[above])),
            bounds=(0, 1),
            options={"time_limit": _seconds(deadline)},
        )
        return self._spread(result, self.allowed)

    def whole(self, columns: Array, deadline: float, gap: float) -> Any:
        """Solve for whole Y on some of the columns."""
        result = milp(
            self.objective[columns],
            integrality=(np.arange(self.width) < self.n_y)[columns].astype(np.int64),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(self.matrix[:, columns], self.low, self.high),
            options={"time_limit": _seconds(deadline), "mip_rel_gap": gap},
        )
        return self._spread(result, columns)

    def _spread(self, result: Any, columns: Array) -> Any:
        """Put the solution back among all columns."""
        if result.x is not None:
            x = np.zeros(self.width)
            x[columns] = result.x
            result.x = x
        return result


def _seconds(deadline: float) -> float:
    return max(deadline - time.monotonic(), 1e-3)


def _programme(problem: _Problem, scale: float = 1.0) -> _Programme:
    matrix, low, high, prices = _rows(problem)
    allowed = np.concatenate((~problem.forbidden.ravel(), np.ones(len(prices), dtype=bool)))
    objective = np.concatenate((problem.excess.ravel(), prices)) / scale
    return _Programme(objective, matrix.tocsc(), low, high, allowed, problem.excess.size)


def _rows(problem: _Problem) -> tuple[Any, Array, Array, Array]:
    """Rows of the programme, their bounds, and the prices of the variables behind Y."""
    n_nodes, n_clusters = problem.excess.shape
    n_y = n_nodes * n_clusters
    must = problem.weight > 0
    k_must, k_cannot = int(must.sum()), int((~must).sum())
    width = n_y + k_must * n_clusters + k_cannot
    clusters = np.arange(n_clusters)
    y = np.arange(n_y).reshape(n_nodes, n_clusters)

    def block(columns: Array, values: Array, low: float, high: float) -> None:
        """Add one row for each row of `columns`."""
        count, entries = columns.shape
        start = np.arange(0, count * entries + 1, entries)
        data = np.broadcast_to(values, columns.shape).ravel().astype(np.float64)
        blocks.append(csr_array((data, columns.ravel(), start), shape=(count, width)))
        lows.append(np.full(count, low))
        highs.append(np.full(count, high))

    blocks: list[Any] = []
    lows: list[Array] = []
    highs: list[Array] = []
    block(y, np.ones(1), 1.0, 1.0)
    if problem.bounded:
        block(y.T, problem.sizes, problem.least, problem.most)
    for size in sorted({len(clique) for clique in problem.cliques}):
        same = np.array([clique for clique in problem.cliques if len(clique) == size])
        block(y[same].transpose(0, 2, 1).reshape(-1, size), np.ones(1), -np.inf, 1.0)
    if k_must:
        # y_ac - y_bc <= s_c, with the price on the sum of s: half the distance of the two rows.
        a, b = y[problem.soft[must, 0]], y[problem.soft[must, 1]]
        s = n_y + np.arange(k_must * n_clusters).reshape(k_must, n_clusters)
        block(np.stack((a, b, s), axis=2).reshape(-1, 3), np.array([1, -1, -1]), -np.inf, 0.0)
    if k_cannot:
        a, b = y[problem.soft[~must, 0]], y[problem.soft[~must, 1]]
        s = n_y + k_must * n_clusters + np.arange(k_cannot)
        s = np.broadcast_to(s[:, None], a.shape)
        block(np.stack((a, b, s), axis=2).reshape(-1, 3), np.array([1, 1, -1]), -np.inf, 1.0)
    prices = np.concatenate(
        (np.repeat(problem.weight[must], len(clusters)), -problem.weight[~must])
    )
    return vstack(blocks, format="csr"), np.concatenate(lows), np.concatenate(highs), prices


# Why not -------------------------------------------------------------------------------------


def _reason(problem: _Problem, deadline: float) -> str:
    """Say what makes the problem impossible: drop one kind of constraint after the other.

    What is dropped without making labels possible is not to blame, and stays dropped; what is
    left at the end is impossible by itself.
    """
    n_nodes, n_clusters = problem.excess.shape
    none = np.empty((0, 2), dtype=np.int64)
    problem = replace(problem, soft=none, weight=np.empty(0))
    without: list[tuple[str, dict[str, Any]]] = [
        ("forbidden", {"forbidden": np.zeros_like(problem.forbidden)}),
        ("sizes", {"least": 0, "most": int(problem.sizes.sum())}),
        ("cannot", {"apart": none, "cliques": []}),
    ]
    blamed = set()
    for kind, change in without:
        candidate = replace(problem, **change)
        programme = _programme(replace(candidate, excess=np.zeros_like(problem.excess)))
        if programme.whole(programme.allowed, deadline, 0.0).status == _IMPOSSIBLE:
            problem = candidate
        else:
            blamed.add(kind)
    if blamed == {"cannot"}:
        return (
            f"the cannot-links need more than {n_clusters} clusters: no labels of "
            f"{n_clusters} kinds keep all of them"
        )
    parts = {
        "sizes": f"sizes from {problem.least} to {problem.most}",
        "must": f"must-links ({n_nodes} groups of up to {problem.sizes.max()} samples)",
        "cannot": f"{len(problem.apart)} cannot-links between them",
        "forbidden": "infinite costs",
    }
    if problem.sizes.max() > 1:
        blamed.add("must")
    else:
        parts["cannot"] = f"{len(problem.apart)} cannot-links"
    named = [text for kind, text in parts.items() if kind in blamed]
    return f"no labels of {n_clusters} kinds satisfy all of: " + "; ".join(named)
