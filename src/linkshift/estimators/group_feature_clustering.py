"""Clusters that each choose their own features (Lin, Liu, Fuh 2010)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from linkshift._core.arrays import Array
from linkshift._core.labels import first_come
from linkshift._core.messages import Refusal
from linkshift._core.threads import n_threads
from linkshift.estimators._base import Fitted, LinkedClusterer
from linkshift.groups.alternation import (
    Alternation,
    alternate,
    random_partition,
    spectral_partition,
)
from linkshift.groups.boosting import LOSSES, Classifiers, fit_classifiers, held_out_scores
from linkshift.groups.consensus import consensus, loss_weights
from linkshift.groups.samples import Samples, column_positions, is_several, ordered_tables
from linkshift.groups.views import Gamma, KernelBank, Metric, kernel_bank
from linkshift.links import ClosedLinks, ConflictError

__all__ = ["GroupFeatureClustering", "starts_spectral"]


_SLACK = 0.2  # sizes may differ from n / C by this share
_MATRICES = ("precomputed", "kernel")
_LAST = 5  # iterations of each alternation that are heard
_EVERY = 4  # with init="both", one of so many partitions is spectral


class GroupFeatureClustering(LinkedClusterer):
    r"""Clustering in which every cluster selects the views that tell it from the rest.

    A cluster c is good when a classifier :math:`f_c` can tell its members from all other samples.
    Labels and classifiers are found together (eq. 2 to 9 of the paper),

    .. math:: \min_{Y, \{f_c\}} \sum_{c=1}^C \sum_{i=1}^n \ln(1 + \exp(-\tilde y_{ic} f_c(x_i)))
              \quad\text{so that}\quad \ell \le \sum_i y_{ic} \le u,

    with equal labels for must-linked samples and different ones for cannot-linked samples.
    :math:`\tilde y_{ic}` is 1 in the cluster and -1 outside. Classifiers are boosted from
    comparisons in one view at a time, "more like this sample than like that one", so that a
    cluster that holds together in one view only is found by that view. From several partitions,
    classifiers and labels are improved in turn (:mod:`linkshift.groups.alternation`), and what the
    partitions agree on are the clusters (:mod:`linkshift.groups.consensus`).

    Parameters
    ----------
    n_clusters : int
        Number of clusters, C.
    views : dict, default=None
        For one table X: name of each view to its columns, as positions, a slice, a mask or (of a
        DataFrame) names. None takes all columns as one view.
    metric : str, callable, or a list or dict of them, default="euclidean"
        Distance of each view: "euclidean", "cosine", "chi2", a callable, or "precomputed"
        (distances are given) or "kernel" (kernel values are given). See
        :mod:`linkshift.groups.views`.
    gamma : "median", float, or a list or dict of them, default="median"
        Width of the kernels :math:`\exp(-\gamma d^2)`; the median makes units irrelevant.
    base, step : int, default=5 and 2
        A classifier has base + t step weak learners in iteration t: labels are trusted more as
        they improve.
    size_bounds : "auto", (int, int) or None, default="auto"
        Least and greatest size of a cluster, :math:`\ell` and u. "auto" is 0.8 n / C and
        1.2 n / C, rounded outwards. Tight bounds are essential to the method: without any (None),
        a few clusters swallow the rest. Clusters of very unequal sizes are not its case.
    n_init : int, default=16
        Partitions to begin with.
    init : {"both", "random", "spectral"}, default="both"
        What these are: random ones, as in the paper; spectral clusterings of random mixtures of
        the kernels; or every fourth a spectral one and the others random, since on some data the
        one and on some the other leads to better clusters.
    max_iter : int, default=20
        Largest number of iterations from each.
    n_folds : int, default=10
        Scores of samples come from classifiers learned without their fold.
    n_candidates : int or "all", default=10
        Pairs of samples tried for each weak learner (in every view). "all" are those of every
        member with every other sample, as in the paper, and take many times as long.
    loss : {"log", "exp"}, default="log"
        What labels and classifiers make small: the logistic loss above, or the exponential one,
        :math:`\exp(-\tilde y_{ic} f_c(x_i))`. The paper has tried both and takes the first.
    stop : {"rest", "rise"}, default="rest"
        When to end before ``max_iter``: when labels do not change any more, or, as in the paper,
        when the loss does not fall.
    consensus : bool, default=True
        Whether the partitions are brought together, those of little loss counting more
        (:func:`linkshift.groups.consensus.loss_weights`). If not, the one of least loss is taken,
        which is seldom the best on real data.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the partitions, folds and candidates.
    progress : callable, default=None
        Called with (partitions done, ``n_init``).

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, numbered in the order in which they appear.
    n_clusters_ : int
        Number of clusters; less than ``n_clusters`` only where ``size_bounds`` lets clusters be
        empty.
    view_importances_ : ndarray of shape (`n_clusters_`, n_views)
        What each view has to say on each cluster; rows sum to one.
    view_names_ : tuple of str
        Names of the views.
    classifiers_ : Classifiers
        The classifier of each cluster, learned from all samples and their final labels.
    history_ : list of Alternation
        For each partition to begin with: labels, loss and share of changed labels in every
        iteration.
    loss_ : float
        The objective, for the final labels and held-out scores.
    size_bounds_ : (int, int) or None
        Size bounds that were used.
    links_ : Links
        The links, those of partial labels included.
    link_report_ : LinkReport
        Which of the links hold, those of ``partial_labels`` included.
    n_iter_ : int
        Iterations made from the partition that needed most.

    See Also
    --------
    linkshift.groups.views.kernel_bank : the forms that views may have.

    Notes
    -----
    Columns of a view should be on comparable scales (standardise them if they have different
    units); views need not.

    One partition leads to a fair result and many to a good one: of each alternation the
    last five partitions are heard, and a larger ``n_init`` helps before anything else. Going on
    with the alternation from the consensus does not.

    Memory is 4 M n^2 bytes for M views up to 1 GiB; above, kernel values are computed again and
    again. Time grows with n, C, M, ``n_candidates`` and the number of weak learners.

    ``X`` in ``fit`` and ``predict`` is one table, which ``views`` may part into views, or a list or
    dict with one table for each view, with the same samples in the same order. For the metrics
    "precomputed" and "kernel" a table has one column for each training sample. New samples go
    to the cluster whose classifier gives the highest score.

    Links of confidence one always hold. Others may be violated at a price that adds up with the
    loss (:func:`linkshift.groups.assignment.assign`); it is a log-likelihood, as the logistic loss.

    The paper's own algorithm is ``n_init=1, n_candidates="all", stop="rise"``, with 0.8 of the
    smallest and 1.2 of the largest class as ``size_bounds``.

    References
    ----------
    Y.-Y. Lin, T.-L. Liu, C.-S. Fuh: Clustering Complex Data with Group-Dependent Feature
    Selection. ECCV 2010.

    Examples
    --------
    Each of two clusters holds together in a view of its own; a third view is noise.

    >>> import numpy as np
    >>> from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
    >>> rng = np.random.default_rng(0)
    >>> shape, colour, noise = 3.0 * rng.normal(size=(3, 60, 4))
    >>> shape[:30] = 0.2 * rng.normal(size=(30, 4))
    >>> colour[30:] = 0.2 * rng.normal(size=(30, 4))
    >>> model = GroupFeatureClustering(2, n_init=2, random_state=0)
    >>> labels = model.fit_predict({"shape": shape, "colour": colour, "noise": noise})
    >>> np.bincount(labels[:30]), np.bincount(labels[30:])
    (array([30]), array([ 0, 30]))
    >>> "noise" in [model.view_names_[m] for m in model.view_importances_.argmax(axis=1)]
    False
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "views": [Mapping, None],
        "metric": [str, callable, list, tuple, Mapping],
        "gamma": "no_validation",  # type: ignore[dict-item]
        "base": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Integral, 0, None, closed="left")],
        "size_bounds": [StrOptions({"auto"}), "array-like", None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"both", "random", "spectral"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "loss": [StrOptions({"log", "exp"})],
        "stop": [StrOptions({"rest", "rise"})],
        "consensus": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "progress": [callable, None],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        views: Mapping[str, Any] | None = None,
        metric: Metric | Sequence[Metric] | Mapping[str, Metric] = "euclidean",
        gamma: Gamma | Sequence[Gamma] | Mapping[str, Gamma] = "median",
        base: int = 5,
        step: int = 2,
        size_bounds: tuple[int, int] | Literal["auto"] | None = "auto",
        n_init: int = 16,
        init: Literal["both", "random", "spectral"] = "both",
        max_iter: int = 20,
        n_folds: int = 10,
        n_candidates: int | Literal["all"] = 10,
        loss: Literal["log", "exp"] = "log",
        stop: Literal["rest", "rise"] = "rest",
        consensus: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.views = views
        self.metric = metric
        self.gamma = gamma
        self.base = base
        self.step = step
        self.size_bounds = size_bounds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.n_folds = n_folds
        self.n_candidates = n_candidates
        self.loss = loss
        self.stop = stop
        self.consensus = consensus
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric in _MATRICES
        return tags

    def _checked(self, X: Any, *, reset: bool) -> Samples:
        """Kernels of the views, and the tables that they were made from."""
        if not reset:
            return self._read_new(X)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # those of an earlier fit, of one table
        options: dict[str, Any] = {"metric": self.metric, "gamma": self.gamma}
        if is_several(X):
            if self.views is not None:
                raise ValueError(
                    "views parts the columns of one table, and X holds one table for each view "
                    "already; drop views, or pass the tables side by side in one."
                )
            bank = kernel_bank(X, **options)
            return Samples(bank, ordered_tables(X, bank))
        data: Array = validate_data(self, X, dtype=np.float64, copy=True)
        if self.views is None:
            return Samples(kernel_bank([data], **options), [data])
        groups = {name: column_positions(X, columns) for name, columns in self.views.items()}
        return Samples(kernel_bank(data, groups=groups, **options), [data])

    def _read_new(self, X: Any) -> Samples:
        bank = self._state
        if hasattr(self, "n_features_in_"):
            if is_several(X):
                raise ValueError(
                    "fit had one table, and X holds several views; pass one table with the same "
                    "columns."
                )
            data: Array = validate_data(self, X, dtype=np.float64, reset=False)
            return Samples(bank, [data])
        if not is_several(X):
            raise ValueError(
                f"fit had {bank.n_views} views, {', '.join(bank.names)}, and X "
                "is one table; pass a list or dict with a table for each view."
            )
        bank.transform(X, samples=[])  # raises what is wrong with them
        return Samples(bank, ordered_tables(X, bank))

    def _rows(self, data: Samples) -> Array:
        return data.side_by_side()

    def _fit(self, data: Samples, closed: ClosedLinks) -> Fitted:  # type: ignore[override]
        bank, n = data.bank, data.bank.n_samples
        if self.n_clusters > n:
            raise ValueError(
                f"n_clusters={self.n_clusters} clusters of n_samples={n} samples: take fewer "
                "clusters, at most one for each sample."
            )
        constraints: dict[str, Any] = {"size_bounds": self._sizes(n), "links": closed}
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=self.n_init + 3
        )
        starts = [self._start(bank, constraints, i, seed) for i, seed in enumerate(seeds[3:])]
        history = self._alternate(bank, starts, constraints)
        labels = first_come(self._join(history, constraints, int(seeds[0])), np.int64)
        n_iter = max(one.n_iter for one in history)
        loss, classifiers = self._judge(bank, labels, n_iter, seeds[1:3])
        attributes = {
            "history_": history,
            "n_iter_": n_iter,
            "size_bounds_": constraints["size_bounds"],
            "loss_": loss,
            "classifiers_": classifiers,
            "view_importances_": classifiers.view_importances,
            "view_names_": bank.names,
        }
        return Fitted(labels, bank, attributes)

    def _sizes(self, n: int) -> tuple[int, int] | None:
        if self.size_bounds is None:
            return None
        if isinstance(self.size_bounds, str):
            mean = n / self.n_clusters
            return int(np.floor((1.0 - _SLACK) * mean)), int(np.ceil((1.0 + _SLACK) * mean))
        return self.size_bounds  # assign checks them

    def _start(
        self, bank: KernelBank, constraints: dict[str, Any], i: int, seed: int
    ) -> tuple[NDArray[np.int64], np.random.RandomState]:
        """Draw partition i to begin with; with it, the random numbers to go on with."""
        random = np.random.RandomState(seed)
        try:
            if starts_spectral(self.init, i):
                labels = spectral_partition(
                    bank, self.n_clusters, random_state=random, **constraints
                )
            else:
                labels = random_partition(
                    bank.n_samples, self.n_clusters, random_state=random, **constraints
                )
        except ConflictError:
            raise
        except ValueError as error:
            bounds = constraints["size_bounds"]
            sizes = "" if bounds is None else f" of {bounds[0]} to {bounds[1]} samples"
            raise Refusal(
                f"{error}, and there are to be {self.n_clusters} clusters{sizes}.",
                "Take wider size_bounds or another n_clusters, or drop links.",
                command="Take another --clusters, or remove links.",
                parameter="size_bounds",
                value=self.size_bounds,
            ) from error
        return labels, random

    def _alternate(
        self,
        bank: KernelBank,
        starts: list[tuple[NDArray[np.int64], np.random.RandomState]],
        constraints: dict[str, Any],
    ) -> list[Alternation]:
        """Go on from every partition, several at a time."""
        threads = n_threads(self.n_jobs)
        at_once = min(threads, self.n_init)

        def one(start: tuple[NDArray[np.int64], np.random.RandomState]) -> Alternation:
            labels, random = start
            return alternate(
                bank,
                labels,
                self.n_clusters,
                base=self.base,
                step=self.step,
                max_iter=self.max_iter,
                n_folds=self.n_folds,
                n_candidates=self.n_candidates,
                loss=self.loss,
                stop=self.stop,
                n_threads=max(1, threads // at_once),
                random_state=random,
                **constraints,
            )

        found: list[Alternation] = []
        with ThreadPoolExecutor(at_once) as pool:
            for alternation in pool.map(one, starts):
                found.append(alternation)
                if self.progress is not None:
                    self.progress(len(found), self.n_init)
        return found

    def _join(
        self, history: list[Alternation], constraints: dict[str, Any], seed: int
    ) -> NDArray[np.int64]:
        """Labels that the last partitions have in common, or those of least loss."""
        if not self.consensus or self.n_init == 1:
            return min(history, key=lambda one: float(one.loss[-1])).labels
        loss = np.array([one.loss[-_LAST:].mean() for one in history])
        return consensus(
            np.concatenate([one.last(_LAST) for one in history]),
            self.n_clusters,
            weights=np.repeat(loss_weights(loss), _LAST),
            random_state=seed,
            **constraints,
        )

    def _judge(
        self, bank: KernelBank, labels: Array, n_iter: int, seeds: Array
    ) -> tuple[float, Classifiers]:
        """Learn the classifiers of the final labels, and what they lose."""
        last = n_iter if self.stop == "rise" else self.max_iter
        options: dict[str, Any] = {
            "n_rounds": self.base + (last - 1) * self.step,
            "n_candidates": self.n_candidates,
            "loss": self.loss,
            "n_threads": n_threads(self.n_jobs),
        }
        problem = (bank, labels, int(labels.max()) + 1)
        scores = held_out_scores(
            *problem, n_folds=self.n_folds, random_state=int(seeds[0]), **options
        )
        loss = float(LOSSES[self.loss](scores, labels).sum())
        return loss, fit_classifiers(*problem, random_state=int(seeds[1]), **options)

    def _predict(self, data: Samples) -> Array:
        columns = data.bank.transform(data.views, samples=self.classifiers_.samples)
        return self.classifiers_.scores(columns).argmax(axis=1)


def starts_spectral(init: Literal["both", "random", "spectral"], i: int) -> bool:
    """Tell whether partition i to begin with is a spectral one.

    Examples
    --------
    >>> from linkshift.estimators.group_feature_clustering import starts_spectral
    >>> [starts_spectral("both", i) for i in range(5)]
    [False, False, False, True, False]
    """
    return init == "spectral" or (init == "both" and i % _EVERY == _EVERY - 1)
