"""SeededKMeans: k-means that begins with what is known."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift._core.text import counted
from linkshift.baselines._estimator import (
    LinkedKMeans,
    Run,
    apart_components,
    means,
    refuse_uncertain,
)
from linkshift.baselines._initial import component_means, seed_components, top_up
from linkshift.links import ClosedLinks


class _Seeds(NamedTuple):
    """First clusters: which each row is a seed of (-1: none), and their means."""

    labels: Array
    centres: Array


class SeededKMeans(LinkedKMeans):
    r"""K-means whose first centres are the means of known rows (Seeded- and Constrained-KMeans).

    Of the rows :math:`S_h` known to begin cluster h, the first centre is

    .. math:: \mu_h = \frac{1}{|S_h|} \sum_{x \in S_h} x,

    by sample weights where there are some.
    Then k-means goes on as ever; with ``constrained`` seeds keep their clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    constrained : bool, default=False
        Whether seeds stay where they are (Constrained-KMeans): for seeds that are surely right.
        Otherwise they say where to begin and no more (Seeded-KMeans).
    n_init : int, default=10
        Number of runs, where centres without seeds are drawn by k-means++; that of least J is
        kept. With a seed for each cluster all runs are the same.
    max_iter, random_state
        As for :class:`PCKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, n_clusters_, objectives_, n_iter_, link_report_
        As for :class:`PCKMeans`.
    seeds_ : ndarray of shape (n_samples,)
        Cluster that each row is a seed of, -1 where it is none.

    See Also
    --------
    COPKMeans : holds every link.
    PCKMeans : has a price on every link.

    Notes
    -----
    Seeds are given as ``partial_labels``, as in the paper, or follow from links: rows that
    must-links join begin a cluster together, the largest first, then by size times distance
    (weighted farthest-first traversal), and those that cannot-links hold apart from all chosen
    ones before others. A link that neither joins the rows of a seed nor parts two seeds has no
    say here, and a warning counts such links; links of a confidence below one are refused.

    References
    ----------
    Basu, Banerjee, Mooney: Semi-supervised Clustering by Seeding, ICML 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.baselines import SeededKMeans
    >>> X = np.array([[0.0], [0.1], [0.4], [0.6], [0.9], [1.0]])
    >>> known = [0, -1, -1, 1, -1, 0]
    >>> model = SeededKMeans(2, constrained=True).fit(X, partial_labels=known)
    >>> model.seeds_
    array([ 0, -1, -1,  1, -1,  0])
    >>> bool(model.labels_[0] == model.labels_[5] != model.labels_[3])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in LinkedKMeans._parameter_constraints.items() if k != "init"},
        "constrained": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        constrained: bool = False,
        n_init: int = 10,
        max_iter: int = 300,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.constrained = constrained
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _prepared(self, X: Array, weight: Array, closed: ClosedLinks) -> _Seeds:
        refuse_uncertain(closed, "SeededKMeans")
        closure = closed.closure
        sizes, centres = component_means(X, weight, closure.component)
        apart = apart_components(closed)
        chosen = seed_components(centres, sizes, closure.sizes, apart, self.n_clusters)
        number = np.full(closure.n_components, -1)
        number[chosen] = np.arange(len(chosen))
        labels = number[closure.component]
        _tell_unused(closed, labels)
        return _Seeds(labels, centres[chosen])

    def _more(self, prepared: _Seeds) -> dict[str, Any]:
        return {"seeds_": prepared.labels}

    def _first_centres(
        self,
        X: Array,
        weight: Array,
        prepared: _Seeds,
        origin: Array,  # noqa: ARG002
        closed: ClosedLinks,  # noqa: ARG002
        random: np.random.RandomState,
    ) -> Array:
        centres = prepared.centres
        enough = len(centres) == self.n_clusters
        return centres if enough else top_up(X, weight, centres, self.n_clusters, random)

    def _run(
        self,
        X: Array,
        weight: Array,
        prepared: _Seeds,
        centres: Array,
        random: np.random.RandomState,  # noqa: ARG002
    ) -> Run:
        fixed = prepared.labels >= 0 if self.constrained else np.zeros(len(X), dtype=bool)
        labels = np.full(len(X), -1)
        objectives: list[float] = []
        while len(objectives) < self.max_iter:
            found = _nearest(X, centres)
            found[fixed] = prepared.labels[fixed]
            same = np.array_equal(found, labels)
            labels = found
            centres = means(X, weight, labels, centres)
            squares = weight[:, None] * (X - centres[labels]) ** 2
            objectives.append(0.5 * float(squares.sum()))
            if same:
                break
        return Run(labels, centres, np.ones_like(centres), np.array(objectives), len(objectives))


def _nearest(X: Array, centres: Array) -> Array:
    """Nearest centre of each row."""
    distance = np.stack([((X - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
    return distance.argmin(axis=1)


def _tell_unused(closed: ClosedLinks, seeds: Array) -> None:
    """Count the links that say nothing of seeds."""
    pairs = np.concatenate([closed.links.must, closed.links.cannot])
    unused = int((seeds[pairs] < 0).any(axis=1).sum())
    if unused:
        warn(
            Advice(
                f"{counted(unused, 'link')} of {len(pairs):,} neither join the rows of a seed nor "
                "part two seeds, and have no say.",
                "Use COPKMeans or PCKMeans for links between rows that begin no cluster.",
                parameter="links",
            )
        )
