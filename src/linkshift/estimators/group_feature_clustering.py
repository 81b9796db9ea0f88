"""Clusters that each choose their own features (Lin, Liu, Fuh 2010)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from linkshift._core.arrays import Array, first_of_equal_rows
from linkshift._core.labels import first_come
from linkshift._core.messages import Refusal
from linkshift._core.threads import n_threads
from linkshift.estimators._common import joined_links, refuse_links_as_y
from linkshift.groups.alternation import (
    Alternation,
    alternate,
    random_partition,
    spectral_partition,
)
from linkshift.groups.boosting import fit_classifiers, held_out_scores, log_loss
from linkshift.groups.consensus import consensus, loss_weights
from linkshift.groups.views import Gamma, KernelBank, Metric, kernel_bank
from linkshift.links import ConflictError, Links
from linkshift.metrics import link_satisfaction

__all__ = ["GroupFeatureClustering", "starts_spectral"]


_SLACK = 0.2  # sizes may differ from n / C by this share
_MATRICES = ("precomputed", "kernel")
_LAST = 5  # iterations of each alternation that are heard
_EVERY = 4  # with init="both", one of so many partitions is spectral


class GroupFeatureClustering(ClusterMixin, BaseEstimator):
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
    n_candidates : int, default=10
        Pairs of samples tried for each weak learner (in every view). More are not better: they
        fit noise.
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
    n_features_in_ : int
        Number of columns seen in ``fit`` (for one table only).
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when X has names.

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

    Links of confidence one always hold. Others may be violated at a price that adds up with the
    loss (:func:`linkshift.groups.assignment.assign`).

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
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
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
        n_candidates: int = 10,
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
        self.consensus = consensus
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric in _MATRICES
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: object = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
    ) -> GroupFeatureClustering:
        """Find clusters and the views that tell them apart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list or dict of tables
            One table, which ``views`` may part into views; or one table for each view, with the
            same samples in the same order. For the metrics "precomputed" and "kernel" a table is
            an (n_samples, n_samples) matrix.
        y : ignored
            For scikit-learn's conventions only; labels enter by ``partial_labels``.
        links : Links, default=None
            Pairs that belong together or do not.
        partial_labels : array-like of shape (n_samples,), default=None
            Known classes, -1 (or None, NaN) where unknown; they become links.

        Returns
        -------
        self
        """
        refuse_links_as_y(y)
        bank, tables = self._read(X)
        n = bank.n_samples
        if self.n_clusters > n:
            raise ValueError(
                f"n_clusters={self.n_clusters} clusters of n_samples={n} samples: take fewer "
                "clusters, at most one for each sample."
            )
        given = joined_links(links, partial_labels, n)
        self._bank, self._tables = bank, tables
        self.size_bounds_ = self._sizes(n)
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=self.n_init + 3
        )
        starts = [self._start(given, i, seed) for i, seed in enumerate(seeds[3:])]
        self.history_ = self._alternate(starts, given)
        self.n_iter_ = max(way.n_iter for way in self.history_)
        self.labels_ = first_come(self._join(given, int(seeds[0])), np.int64)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self._judge(int(seeds[1]), int(seeds[2]))
        self.links_ = given
        self.link_report_ = link_satisfaction(self.labels_, given)
        return self

    def _read(self, X: Any) -> tuple[KernelBank, list[Array]]:
        """Kernels of the views, and the tables that they were made from."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # those of an earlier fit
        options: dict[str, Any] = {"metric": self.metric, "gamma": self.gamma}
        if _is_several(X):
            if self.views is not None:
                raise ValueError(
                    "views parts the columns of one table, and X holds one table for each view "
                    "already; drop views, or pass the tables side by side in one."
                )
            bank = kernel_bank(X, **options)
            return bank, _tables(X, bank)
        data: Array = validate_data(self, X, dtype=np.float64)
        if self.views is None:
            return kernel_bank([data], **options), [data]
        groups = {name: _positions(X, columns) for name, columns in self.views.items()}
        return kernel_bank(data, groups=groups, **options), [data]

    def _sizes(self, n: int) -> tuple[int, int] | None:
        if self.size_bounds is None:
            return None
        if isinstance(self.size_bounds, str):
            mean = n / self.n_clusters
            return int(np.floor((1.0 - _SLACK) * mean)), int(np.ceil((1.0 + _SLACK) * mean))
        return self.size_bounds  # assign checks them

    def _start(
        self, links: Links, i: int, seed: int
    ) -> tuple[NDArray[np.int64], np.random.RandomState]:
        """Draw partition i to begin with; with it, the random numbers to go on with."""
        random = np.random.RandomState(seed)
        options: dict[str, Any] = {
            "size_bounds": self.size_bounds_,
            "links": links,
            "random_state": random,
        }
        try:
            if starts_spectral(self.init, i):
                labels = spectral_partition(self._bank, self.n_clusters, **options)
            else:
                labels = random_partition(self._bank.n_samples, self.n_clusters, **options)
        except ConflictError:
            raise
        except ValueError as error:
            bounds = self.size_bounds_
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
        self, starts: list[tuple[NDArray[np.int64], np.random.RandomState]], links: Links
    ) -> list[Alternation]:
        """Go on from every partition, several at a time."""
        threads = n_threads(self.n_jobs)
        at_once = min(threads, self.n_init)

        def one(start: tuple[NDArray[np.int64], np.random.RandomState]) -> Alternation:
            labels, random = start
            return alternate(
                self._bank,
                labels,
                self.n_clusters,
                size_bounds=self.size_bounds_,
                links=links,
                base=self.base,
                step=self.step,
                max_iter=self.max_iter,
                n_folds=self.n_folds,
                n_candidates=self.n_candidates,
                n_threads=max(1, threads // at_once),
                random_state=random,
            )

        found: list[Alternation] = []
        with ThreadPoolExecutor(at_once) as pool:
            for way in pool.map(one, starts):
                found.append(way)
                if self.progress is not None:
                    self.progress(len(found), self.n_init)
        return found

    def _join(self, links: Links, seed: int) -> NDArray[np.int64]:
        """Labels that the last partitions have in common, or those of least loss."""
        if not self.consensus or self.n_init == 1:
            return min(self.history_, key=lambda way: float(way.loss[-1])).labels
        loss = np.array([way.loss[-_LAST:].mean() for way in self.history_])
        return consensus(
            np.concatenate([way.last(_LAST) for way in self.history_]),
            self.n_clusters,
            weights=np.repeat(loss_weights(loss), _LAST),
            size_bounds=self.size_bounds_,
            links=links,
            random_state=seed,
        )

    def _judge(self, held_out_seed: int, seed: int) -> None:
        """Learn the classifiers of the final labels, and what they lose."""
        options: dict[str, Any] = {
            "n_rounds": self.base + (self.max_iter - 1) * self.step,
            "n_candidates": self.n_candidates,
            "n_threads": n_threads(self.n_jobs),
        }
        problem = (self._bank, self.labels_, self.n_clusters_)
        scores = held_out_scores(
            *problem, n_folds=self.n_folds, random_state=held_out_seed, **options
        )
        self.loss_ = float(log_loss(scores, self.labels_).sum())
        self.classifiers_ = fit_classifiers(*problem, random_state=seed, **options)
        self.view_importances_ = self.classifiers_.view_importances
        self.view_names_ = self._bank.names

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Cluster of each sample: the one whose classifier gives the highest score.

        Samples equal to a training sample in all views get its label (of several training
        samples that are equal, that of the first; bounds may have parted them).

        Parameters
        ----------
        X : array-like of shape (n_new, n_features), or list or dict of tables
            New samples, in the form that ``fit`` had. With the metrics "precomputed" and "kernel"
            a table has one column for each training sample.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        check_is_fitted(self, "labels_")
        if hasattr(self, "n_features_in_"):
            if _is_several(X):
                raise ValueError(
                    "fit had one table, and X holds several views; pass one table with the same "
                    "columns."
                )
            data: Array = validate_data(self, X, dtype=np.float64, reset=False)
            new: Any = data if self._bank.groups is not None else [data]
        else:
            if not _is_several(X):
                raise ValueError(
                    f"fit had {self._bank.n_views} views, {', '.join(self._bank.names)}, and X "
                    "is one table; pass a list or dict with a table for each view."
                )
            new = X
        columns = self._bank.transform(new, samples=self.classifiers_.samples)
        labels = self.classifiers_.scores(columns).argmax(axis=1).astype(np.int64)
        tables = [new] if self._bank.groups is not None else _tables(new, self._bank)
        first = _first_equal(self._tables, tables)
        known = first >= 0
        labels[known] = self.labels_[first[known]]
        return labels


def starts_spectral(init: Literal["both", "random", "spectral"], i: int) -> bool:
    """Tell whether partition i to begin with is a spectral one.

    Examples
    --------
    >>> from linkshift.estimators.group_feature_clustering import starts_spectral
    >>> [starts_spectral("both", i) for i in range(5)]
    [False, False, False, True, False]
    """
    return init == "spectral" or (init == "both" and i % _EVERY == _EVERY - 1)


def _is_several(X: Any) -> bool:
    """Whether X holds a table for each view; a list of rows is one table."""
    if isinstance(X, Mapping):
        return not issparse(X)  # some sparse matrices are dicts
    if not isinstance(X, list | tuple) or not X:
        return False
    return all(_dimensions(table) == 2 for table in X)


def _dimensions(table: Any) -> int:
    try:
        return int(table.ndim) if hasattr(table, "ndim") else np.ndim(table)
    except ValueError:  # rows of unequal lengths
        return 0


def _tables(X: Any, bank: KernelBank) -> list[Array]:
    """Make arrays of views that the bank has checked, in its order."""
    if isinstance(X, Mapping):
        by_name = {str(name): table for name, table in X.items()}
        X = [by_name[name] for name in bank.names]
    return [np.asarray(table, dtype=np.float64) for table in X]


def _positions(X: Any, columns: Any) -> Any:
    """Columns of a DataFrame that are named, as positions; anything else as it is."""
    if isinstance(columns, slice) or not hasattr(X, "columns"):
        return columns
    wanted = [columns] if isinstance(columns, str) else list(columns)
    # A mask is no list of names, though True is found among columns that are called 0 and 1.
    if np.asarray(wanted).dtype == bool or not all(name in X.columns for name in wanted):
        return columns
    return [i for name in wanted for i, other in enumerate(X.columns) if other == name]


def _first_equal(known: list[Array], new: list[Array]) -> NDArray[np.intp]:
    """For each new sample, the first known one that is equal to it in all tables, or -1."""
    n = known[0].shape[0]
    first = [
        first_of_equal_rows(np.concatenate([old, table]))
        for old, table in zip(known, new, strict=True)
    ]
    found = first_of_equal_rows(np.column_stack(first).astype(np.float64))[n:]
    return np.where(found < n, found, -1)
