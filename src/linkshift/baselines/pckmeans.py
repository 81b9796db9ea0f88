"""PCKMeans: k-means with a price on every violated link."""

from __future__ import annotations

import numpy as np

from linkshift._core.arrays import Array
from linkshift.baselines._estimator import LinkGraph, PenalisedKMeans, Run, means
from linkshift.baselines._loops import pck_objective, pck_sweep


class PCKMeans(PenalisedKMeans):
    r"""K-means with penalties for violated links (PCKMeans).

    Finds labels l and centres :math:`\mu` that make small

    .. math::

        J = \frac{1}{2} \sum_i s_i \|x_i - \mu_{l_i}\|^2
            + \sum_{(i, j) \in M} w_{ij} [l_i \ne l_j]
            + \sum_{(i, j) \in C} w_{ij} [l_i = l_j],

    where s are sample weights, one unless given. Rows are assigned one at a time, in random order,
    to the cluster that costs least given the labels of all others; then centres move to the means.
    J never rises. When no label changes, all rows are assigned afresh about the centres found, and
    again, as long as that lowers J.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    weight : float, default=1.0
        Price w of a violated link of confidence one, in squared units of X: scale the features.
        A high price holds rows to the labels of the first iteration; 0.03 is better than 1 on the
        image embeddings of the benchmark suite ``cms``.
    init : {"neighbourhoods", "k-means++"} or array-like, default="neighbourhoods"
        First centres: means of must-linked components by weighted farthest-first traversal, with
        k-means++ for the rest; k-means++ alone; or the centres themselves.
    n_init : int, default=10
        Number of runs; that of least J is kept.
    max_iter : int, default=300
        Most iterations of a run.
    random_state : int, RandomState or None, default=None
        The source of chance.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    n_clusters_ : int
        Number of clusters that have rows.
    objectives_ : ndarray
        J after each iteration of the kept run.
    n_iter_ : int
        Iterations of the kept run.
    link_report_ : LinkReport
        Which links hold.

    See Also
    --------
    MPCKMeans : learns the metric as well.
    linkshift.ConstrainedMeanShift : needs no number of clusters.

    Notes
    -----
    Certain links are closed first, and every pair of the closure has its price. As soon as one
    link has a confidence below one, none are closed, and each costs w times its confidence.

    The paper fills up missing centres with noise about the overall mean and has a rule for one
    cannot-linked row; k-means++ is at least as good a start.

    References
    ----------
    Basu, Banerjee, Mooney: Active Semi-Supervision for Pairwise Constrained Clustering, SDM 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.baselines import PCKMeans
    >>> X = np.array([[0.0], [0.1], [0.4], [0.6], [0.9], [1.0]])
    >>> labels = PCKMeans(2, random_state=0).fit_predict(X, links=Links(must=[(2, 5)]))
    >>> bool(labels[2] == labels[5] != labels[0])
    True
    """

    def _settled(
        self,
        X: Array,
        weight: Array,
        graph: LinkGraph,
        begin: Run,
        most: int,
        random: np.random.RandomState,
    ) -> Run:
        n, centres = X.shape[0], begin.centres
        labels = np.full(n, -1, dtype=np.int64)
        count = np.zeros((graph.n_components, len(centres)), dtype=np.int64)
        objectives: list[float] = []
        changed = n
        while changed and len(objectives) < most:
            changed = pck_sweep(X, weight, random.permutation(n), labels, centres, graph, count)
            centres = means(X, weight, labels, centres)
            objectives.append(pck_objective(X, weight, labels, centres, graph, count))
        return Run(labels, centres, begin.metric, np.array(objectives), len(objectives))
