r"""How far data and other links bear a link out: the probability that an answer is right.

Wrong answers seldom contradict others: among many classes nearly all pairs are cannot-links, few
chains close, and most must-links may be wrong without one contradiction. The data knows more. Let
:math:`K = (I - \alpha S)^{-1}` be the walks on the graph of nearest neighbours (S, normalised),
scaled to a diagonal of one. For a link between i and j there are two things to go by:

- :math:`K_{ij}`, how well the graph joins its ends;
- what other links say of pairs like it: :math:`\log (m_{ij} + p) / (c_{ij} + 1 - p)`, where
  :math:`m_{ij}` and :math:`c_{ij}` add :math:`K_{ia} K_{jb} + K_{ib} K_{ja}` over the must-links
  and the cannot-links (a, b) but this one, as constraints propagate [1]_, each weighted by the
  probability that it is right, and p is the share of must-links.

From these a logistic model tells s, the probability of "same". Answers are wrong at a rate e, so
that one is "must" with probability :math:`e + (1 - 2 e) s`, which is what the coefficients are
fitted to; a must-link is then right with probability
:math:`(1 - e) s / ((1 - e) s + e (1 - s))`. The rate is the likeliest one by the first feature
alone: what near links say of each other has its share of errors already.

References
----------
.. [1] Z. Lu, Y. Peng, "Exhaustive and Efficient Constraint Propagation: A Graph-Based Learning
   Approach and Its Applications", International Journal of Computer Vision 103, 2013.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array
from linkshift._core.threads import one_blas_thread
from linkshift.links import Links
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["Belief", "Contrast", "link_belief"]

_NEIGHBOURS = 10
_SCALE = 7  # the neighbour whose distance is the width of a row's kernel
_ALPHA = 0.97
_STEPS = 15  # of Chebyshev's iteration, which leave a fortieth of the error
_MOST_ROWS = 4_000  # in the graph: more would make it finer, not other
_MOST_LINKS = 2_000  # judged together; of more, each part by itself
_BLOCK = 256  # columns of walks at a time
_RATES = np.arange(41) / 100
_CLEAN = 0.02  # errors that the model sees in right answers, where classes have parts far apart
_MOST = 0.24  # a higher share of wrong answers is rather data that does not show the classes
_FEW_TWINS = 10  # links between equal rows, which say nothing of what data shows
_ROUNDS = 2
_ENOUGH_OF_ONE = 15  # must-links that can be compared with other pairs of their rows
_FEW_OF_A_KIND = 5  # links, which say nothing of whether data bears links out
_TINY = 1e-3


class Contrast(NamedTuple):
    """How much better the graph joins must-linked rows than cannot-linked ones.

    Attributes
    ----------
    auc : float
        Probability that it joins the rows of a must-link, drawn at random, better than those of a
        cannot-link: 0.5 is chance, as where links belong to other rows.
    p_value : float
        Probability of as large a value by chance (Mann and Whitney's test).
    """

    auc: float
    p_value: float


class Belief(NamedTuple):
    """Probabilities that links are right, and the share of wrong ones.

    Attributes
    ----------
    must, cannot : ndarray of shapes (n_must,) and (n_cannot,)
        Probability of each link to be right.
    error_rate : float
        Share of wrong answers, as far as data shows it; 0 where all may be right.
    contrast : Contrast or None
        Whether links go with the data at all; None where there are fewer than five of a kind, and
        fewer than fifteen must-links to be compared with other pairs of their own rows.
    """

    must: Array
    cannot: Array
    error_rate: float
    contrast: Contrast | None = None


def link_belief(X: Array, links: Links, *, least_rate: float = 0.0) -> Belief:
    """Ask the data how probable each link is.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows, finite.
    links : Links
        Links between them, which may contradict each other.
    least_rate : float, default=0
        Share of wrong answers to assume at least, as where some are known to be wrong.

    Returns
    -------
    Belief
        All ones where nothing speaks for wrong answers, or all links are of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.datasets import make_moons
    >>> from linkshift.spaces.belief import link_belief
    >>> X, y = make_moons(200, random_state=0)
    >>> links = Links.sample(y, 200, random_state=0, error_rate=0.1)
    >>> wrong = y[links.must[:, 0]] != y[links.must[:, 1]]
    >>> belief = link_belief(X, links)
    >>> bool(belief.must[wrong].mean() < 0.5 < belief.must[~wrong].mean())
    True
    """
    n_must = len(links.must)
    pairs = np.concatenate((links.must, links.cannot))
    is_must = np.arange(len(pairs)) < n_must
    right, joined, rates = np.ones(len(pairs)), np.zeros(len(pairs)), []
    parts = max(-(-len(pairs) // _MOST_LINKS), 1)
    with one_blas_thread():  # the solver's vectors of two entries would wake all threads
        for part in range(parts):
            chosen = np.arange(part, len(pairs), parts)
            told = _judged(X, pairs[chosen], is_must[chosen], least_rate)
            right[chosen], joined[chosen], rate = told
            rates.append(rate)
    contrast = _contrast(joined[:n_must], joined[n_must:])
    if contrast is None and n_must >= _ENOUGH_OF_ONE:
        contrast = _among_themselves(X, links.must[:_MOST_LINKS])
    return Belief(right[:n_must], right[n_must:], float(np.mean(rates)), contrast)


def _among_themselves(X: Array, must: Array) -> Contrast | None:
    """Compare must-links with pairs of their own ends, each with that of the link after next."""
    other = np.column_stack((must[:, 0], np.roll(must[:, 1], 2)))
    other = other[other[:, 0] != other[:, 1]]
    ends, codes = np.unique(np.concatenate((must, other)), return_inverse=True)
    codes = codes.reshape(-1, 2)
    joined = _walks(X, ends)[codes[:, 0], codes[:, 1]]
    return _contrast(joined[: len(must)], joined[len(must) :])


def _contrast(must: Array, cannot: Array) -> Contrast | None:
    from scipy.stats import mannwhitneyu

    if min(len(must), len(cannot)) < _FEW_OF_A_KIND:
        return None
    test = mannwhitneyu(must, cannot, alternative="greater", method="asymptotic")
    return Contrast(float(test.statistic) / (len(must) * len(cannot)), float(test.pvalue))


def _judged(
    X: Array, pairs: Array, is_must: NDArray[np.bool_], least_rate: float
) -> tuple[Array, Array, float]:
    """Probabilities of links judged together, how well the graph joins them, rate of errors."""
    everything = np.ones(len(pairs))
    if is_must.all() or not is_must.any():  # nothing to tell kinds apart by
        return everything, np.zeros(len(pairs)), 0.0
    ends, codes = np.unique(pairs, return_inverse=True)
    codes = codes.reshape(-1, 2)
    walks = _walks(X, ends)
    joined = np.log(walks[codes[:, 0], codes[:, 1]] + _TINY)
    seen = max(_likeliest_rate(joined[:, None], is_must) - _CLEAN, 0.0)
    if seen > _MOST or _twins_differ(X, pairs, is_must):
        seen = 0.0
    rate = max(seen, least_rate)
    if rate == 0:
        return everything, joined, 0.0
    right = everything
    for _ in range(_ROUNDS):
        said = _said_by_others(walks, codes, is_must, right)
        same, _ = _fitted(np.column_stack((joined, said)), is_must, rate)
        agreed = np.where(is_must, same, 1 - same)
        right = (1 - rate) * agreed / ((1 - rate) * agreed + rate * (1 - agreed))
    return right, joined, seen


def _twins_differ(X: Array, pairs: Array, is_must: NDArray[np.bool_]) -> bool:
    """Whether rows that are equal are told apart too often for slips: data has not what tells."""
    twins = (X[pairs[:, 0]] == X[pairs[:, 1]]).all(axis=1)
    return bool(twins.sum() >= _FEW_TWINS and 1 - is_must[twins].mean() > _MOST)


def _walks(X: Array, ends: Array) -> Array:
    """Give the walks between some rows on the graph of nearest neighbours, scaled."""
    rows = ends
    if len(X) > len(ends):
        others = np.setdiff1d(np.arange(len(X)), ends, assume_unique=True)
        most = max(_MOST_ROWS - len(ends), 0)
        if len(others) > most:
            others = others[np.arange(most) * len(others) // max(most, 1)]
        rows = np.concatenate((ends, others))
    graph = _normalised_graph(X[rows])
    found = np.empty((len(ends), len(ends)))
    for first in range(0, len(ends), _BLOCK):
        columns = np.arange(first, min(first + _BLOCK, len(ends)))
        start = np.zeros((len(rows), len(columns)))
        start[columns, columns - first] = 1.0
        found[:, columns] = _summed(graph, start)[: len(ends)]
    found = np.maximum(found, 0.0)  # rounding, and what the iteration leaves
    own = np.sqrt(np.diag(found))
    return found / own[:, None] / own


def _summed(graph: Any, start: Array) -> Array:
    """Solve (I - alpha S) x = start by Chebyshev's iteration: eigenvalues are within alpha of 1."""
    left, step, total = start, start, np.zeros_like(start)
    factor = _ALPHA
    for _ in range(_STEPS):
        total = total + step
        left = left - step + _ALPHA * (graph @ step)
        following = 1 / (2 / _ALPHA - factor)
        step = following * factor * step + 2 * following / _ALPHA * left
        factor = following
    return total


def _normalised_graph(X: Array) -> Any:
    """Weights of a Gaussian kernel whose width is local, between mutual or one-sided neighbours."""
    from scipy.sparse import csr_array, diags_array

    n = len(X)
    k = min(_NEIGHBOURS, n - 1)
    distance, rows = nearest_neighbours(X, k)
    width = distance[:, min(_SCALE, k) - 1]
    positive = width[width > 0]
    width = np.where(width > 0, width, positive.min() if len(positive) else 1.0)
    with np.errstate(over="ignore"):
        near, far = (np.minimum(distance / w, 1e100) for w in (width[:, None], width[rows]))
    weight = np.exp(-(near * far))
    graph = csr_array((weight.ravel(), (np.repeat(np.arange(n), k), rows.ravel())), shape=(n, n))
    graph = graph.maximum(graph.T)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1.0)))
    return (scale @ graph @ scale).tocsr()


def _said_by_others(walks: Array, codes: Array, is_must: NDArray[np.bool_], weight: Array) -> Array:
    """Log of must-links against cannot-links near each link, itself not counted."""
    share = float(np.clip((weight * is_must).sum() / weight.sum(), 0.02, 0.98))
    must = _near(walks, codes, weight * is_must)
    cannot = _near(walks, codes, weight * ~is_must)
    said: Array = np.log((must + share) / (cannot + 1 - share))
    return said


def _near(walks: Array, codes: Array, weight: Array) -> Array:
    """Weight of the other links near each link."""
    from scipy.sparse import csr_array

    a, b = codes.T
    entries = (np.tile(weight, 2), (np.concatenate((a, b)), np.concatenate((b, a))))
    spread = csr_array(entries, shape=walks.shape) @ walks  # walks are symmetric
    near = np.einsum("ij,ij->i", walks[a], spread.T[b])
    # The walk from a link to itself: there and back, or across.
    own = weight * (1.0 + walks[a, b] * walks[b, a])
    return np.maximum(near - own, 0.0)


def _likeliest_rate(features: Array, is_must: NDArray[np.bool_]) -> float:
    """Give the rate of errors of largest posterior, high ones being a little less likely before."""
    score = [_fitted(features, is_must, e)[1] + np.log1p(-2 * e) for e in _RATES]
    return float(_RATES[int(np.argmax(score))])


def _fitted(features: Array, is_must: NDArray[np.bool_], rate: float) -> tuple[Array, float]:
    """Fit "same" by features to answers that are wrong at a rate: probabilities, log likelihood."""
    from scipy.optimize import minimize

    design = np.column_stack((np.ones(len(features)), features))
    ridge = np.r_[0.0, np.ones(features.shape[1])]

    def loss(b: Array) -> tuple[float, Array]:
        same = _same(design, b)
        q = np.where(is_must, same, 1 - same) * (1 - 2 * rate) + rate
        q = np.maximum(q, 1e-12)
        slope = np.where(is_must, 1.0, -1.0) * (1 - 2 * rate) * same * (1 - same) / q
        gradient = -(design * slope[:, None]).sum(axis=0) + ridge * b
        return float(-np.log(q).sum() + 0.5 * (ridge * b * b).sum()), gradient

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B")
    return _same(design, found.x), -float(found.fun)


def _same(design: Array, b: Array) -> Array:
    from scipy.special import expit

    same: Array = expit((design * b).sum(axis=1))
    return same
