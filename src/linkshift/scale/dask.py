"""Clusters of Dask arrays and data frames: extra ``dask``.

The four functions of :mod:`linkshift.scale` as a graph of tasks: chunks of rows are summarised
where they are, summaries are merged pair by pair, one worker fits, and each labels its rows.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array
from linkshift._core.lazy import is_dask
from linkshift._core.messages import Refusal, warn
from linkshift.estimators._base import closed_links, refuse_links_as_y
from linkshift.links import Links
from linkshift.metrics import LinkReport, link_satisfaction
from linkshift.profiles import Profile, ProfileName
from linkshift.scale.chunks import rows_of_a_chunk
from linkshift.scale.dask_input import (
    check_columns,
    counted_parts,
    import_dask,
    is_frame,
    known,
    links_by_row,
    names_of,
    rows_of,
    weights_of,
)
from linkshift.scale.dask_tasks import array_labels, fitted, frame_labels, merged, summarised
from linkshift.scale.linked import LinkedModel, check_links
from linkshift.scale.model import Model, predict

__all__ = ["ConstrainedMeanShift", "MeanShift"]

_NONE = np.empty(0, dtype=np.int64)


class _ByLandmarks(ClusterMixin, BaseEstimator):
    """What estimators of Dask collections share: one graph up to the model, and lazy labels."""

    landmarks: int
    random_state: Any
    n_jobs: int | None

    def _fit_model(
        self,
        X: Any,
        rows: Any,
        sample_weight: Any,
        links: Links | None = None,
        linked: Array = _NONE,
        **options: Any,
    ) -> None:
        """Summarise, merge and fit; ``rows`` are those of X, of known lengths."""
        import dask

        task = self._task(rows, sample_weight, links, linked, options)
        model, told = dask.compute(task)[0]
        for advice in told:
            warn(advice)
        self.model_: Model | LinkedModel = model
        self.n_clusters_ = model.n_clusters
        self.n_features_in_ = int(rows.shape[1])
        if (names := names_of(X)) is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _task(
        self,
        rows: Any,
        sample_weight: Any,
        links: Links | None,
        linked: Array,
        options: dict[str, Any],
    ) -> Any:
        """Lay out the graph up to the fitted model."""
        from dask import delayed

        n, d = rows.shape
        if not n:
            raise Refusal("X has no rows.", "Give at least one.", parameter="X")
        size = rows_of_a_chunk(d, self.landmarks)
        # Not "p2p", which starts over when a worker is lost; mostly, blocks are cut and joined.
        rows = rows.rechunk({0: size, 1: -1}, method="tasks")
        blocks = rows.to_delayed().ravel()
        weights: Any = [None] * len(blocks)
        if sample_weight is not None:
            weights = weights_of(sample_weight, n).rechunk(size, method="tasks").to_delayed()
        seed = _seed(self.random_state)
        ends = np.searchsorted(linked, np.arange(0, n + size, size))
        level = [
            delayed(summarised)(
                block,
                self.landmarks,
                seed,
                weight,
                linked[ends[i] : ends[i + 1]] - i * size,
                i * size,
            )
            for i, (block, weight) in enumerate(zip(blocks, weights, strict=True))
        ]
        while True:  # at least once, as `merge` does
            pairs = (level[i : i + 2] for i in range(0, len(level), 2))
            level = [delayed(merged)(pair, self.landmarks) for pair in pairs]
            if len(level) == 1:
                break
        return delayed(fitted)(level[0], links, options | {"n_jobs": self.n_jobs})

    def predict(self, X: Any) -> Any:
        """Cluster of each row, as :func:`linkshift.scale.predict` tells it.

        Parameters
        ----------
        X : Dask array or DataFrame, or array-like, of shape (n_samples, n_features)
            New data.

        Returns
        -------
        Dask array, Dask Series or ndarray of shape (n_samples,)
            By the kind of X: of an array, an array with the same blocks; of a data frame, a Series
            with its index. They are lazy; rows in memory are labelled at once.
        """
        check_is_fitted(self, "model_")
        if not is_dask(X):
            return predict(self.model_, X, n_jobs=self.n_jobs)
        from dask import delayed

        rows = rows_of(X)
        check_columns(X, rows, getattr(self, "feature_names_in_", None), self.n_features_in_)
        if not is_frame(X):
            return self._array_labels(rows, numbered=False)
        model = delayed(self.model_, traverse=False)
        return X.map_partitions(frame_labels, model, str(rows.dtype), meta=_no_labels(X))

    def _array_labels(self, rows: Any, *, numbered: bool) -> Any:
        """Label an array; ``numbered`` rows are those of the fit, at the same places."""
        from dask import delayed

        return rows.rechunk({1: -1}).map_blocks(
            array_labels,
            delayed(self.model_, traverse=False),
            numbered,
            drop_axis=1,
            dtype=np.int64,
            meta=_NONE,
        )

    def _frame_labels(self, X: Any, parts: list[Any], rows: Any) -> Any:
        """Label the data frame of the fit by its partitions, whose lengths ``rows`` have."""
        import dask.dataframe
        from dask import delayed

        model = delayed(self.model_, traverse=False)
        firsts = np.cumsum([0, *rows.chunks[0]])[:-1].tolist()
        parts = [
            delayed(frame_labels)(part, model, str(rows.dtype), first)
            for part, first in zip(parts, firsts, strict=True)
        ]
        divisions = X.divisions if X.known_divisions and len(parts) == X.npartitions else None
        return dask.dataframe.from_delayed(
            parts, meta=_no_labels(X), divisions=divisions, verify_meta=False
        )


def _no_labels(X: Any) -> Any:
    return X._meta.iloc[:0, 0].astype(np.int64).rename("labels")


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


class MeanShift(_ByLandmarks):
    r"""Mean shift of a Dask array or data frame, by landmarks.

    Rows are cut into chunks of a fixed size, each of which is summarised by m landmarks; summaries
    are merged, neighbours first, :math:`((S_1 S_2)(S_3 S_4)) \dots`; landmarks that remain climb
    their density as :func:`linkshift.scale.fit` says, on one worker; and rows are labelled where
    they are, when their labels are asked for.

    Tasks run on the client of the context (:class:`dask.distributed.Client`), or else by Dask's
    local scheduler.

    Parameters
    ----------
    landmarks : int, default=8000
        Landmarks m of each chunk, and of all rows.
    bandwidth : float, default=None
        Bandwidth of rows. ``None`` takes it from the landmarks, see :func:`linkshift.scale.fit`.
    kernel : str or Profile, default="gaussian"
        Kernel profile, see :mod:`linkshift.profiles`.
    max_iter : int, default=300
        Largest number of steps.
    tol : float, default=1e-3
        A landmark has arrived when it moves by at most this many bandwidths.
    random_state : int, RandomState or None, default=0
        A whole number is the ``seed`` of :func:`linkshift.scale.summarise`; the others draw one.
    n_jobs : int, default=None
        Threads of the one fit. ``None`` takes all cores of the machine that it runs on. Other tasks
        take one thread each: Dask says how many run at a time. Labels do not depend on it.

    Attributes
    ----------
    labels_ : Dask array of shape (n_samples,), or Series with the index of X
        Cluster of each row, int64; computed when it is asked for.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Modes of the landmarks' density, the densest first.
    n_clusters_ : int
        How many there are.
    bandwidth_ : float
        Bandwidth used.
    model_ : Model
        What :func:`linkshift.scale.predict` takes.
    n_features_in_, feature_names_in_ : int, ndarray
        Columns, and their names in a data frame.

    See Also
    --------
    ConstrainedMeanShift : with links.
    linkshift.MeanShift : of rows in memory.

    Notes
    -----
    Centres depend on the rows and their order alone: not on workers, threads or scheduling, nor on
    blocks or partitions, because chunks have 2^23 numbers, and at least four rows for each
    landmark, wherever these end: landmarks are those of :func:`linkshift.scale.cluster`, of a
    table that is not scaled. Labels follow row by row; in other blocks a row that lies between two
    clusters to the last digit may go to the other one.

    ``fit`` reads X once, and ``labels_`` once more: ``X.persist()`` first, if the workers can hold
    it. Where lengths of blocks are not known, as in data frames, they are counted first; from
    Parquet that reads one column. A worker holds a chunk and the blocks that it is cut from, and
    what :func:`linkshift.scale.summarise` takes beside it: 16 m rows in float64, and more.

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from linkshift.scale.dask import MeanShift
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(c, 1.0, size=(500, 4)) for c in (0, 10)])
    >>> X = dask.array.from_array(rows, chunks=(300, 4))
    >>> clustering = MeanShift(landmarks=100, bandwidth=1.5).fit(X)
    >>> clustering.n_clusters_, clustering.labels_.chunks
    (2, ((300, 300, 300, 100),))
    >>> labels = clustering.labels_.compute()
    >>> np.unique(labels[:500]).size, np.unique(labels[500:]).size
    (1, 1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "landmarks": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [
            StrOptions({"flat", "epanechnikov", "gaussian", "truncated_gaussian"}),
            Profile,
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        landmarks: int = 8_000,
        bandwidth: float | None = None,
        kernel: ProfileName | Profile = "gaussian",
        max_iter: int = 300,
        tol: float = 1e-3,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: object = None, sample_weight: Any = None, *, links: None = None
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : Dask array or DataFrame of shape (n_samples, n_features)
            Numbers. Blocks may have any size, known or not.
        y : ignored
            For scikit-learn's conventions only.
        sample_weight : Dask array or Series, or array-like, of shape (n_samples,), default=None
            Non-negative; a weight of 2 equals the row twice.
        links : None
            Links are refused: :class:`ConstrainedMeanShift` takes them.

        Returns
        -------
        self
        """
        import_dask()
        refuse_links_as_y(y)
        if links is not None:
            raise Refusal(
                "MeanShift does not use links.",
                "Use linkshift.scale.dask.ConstrainedMeanShift.",
                parameter="links",
            )
        rows = known(rows_of(X))
        options = {name: getattr(self, name) for name in ("bandwidth", "kernel", "max_iter", "tol")}
        self._fit_model(X, rows, sample_weight, **options)
        assert isinstance(self.model_, Model)
        self.cluster_centers_ = self.model_.modes.centers
        self.bandwidth_ = self.model_.bandwidth
        self.labels_ = self.predict(X if is_frame(X) else rows)
        return self


class ConstrainedMeanShift(_ByLandmarks):
    """Constrained mean shift of a Dask array or data frame, by landmarks: every certain link holds.

    As :class:`MeanShift`, but rows that links name are kept whole, beside m landmarks for the
    others, and all of these are clustered by :class:`linkshift.ConstrainedMeanShift`, on one
    worker, as :func:`linkshift.scale.fit` says. Without links, it is mean shift.

    Parameters
    ----------
    landmarks : int, default=8000
        Landmarks m of each chunk, and of all rows, beside those that have links.
    random_state : int, RandomState or None, default=0
        A whole number is the ``seed`` of :func:`linkshift.scale.summarise`; the others draw one.
    n_jobs : int, default=None
        Threads of the one fit. ``None`` takes all cores of the machine that it runs on. Other tasks
        take one thread each: Dask says how many run at a time. Labels do not depend on it.

    Attributes
    ----------
    labels_ : Dask array of shape (n_samples,), or Series with the index of X
        Cluster of each row, int64; computed when it is asked for.
    n_clusters_ : int
        How many there are.
    links_, link_report_ : Links, LinkReport
        The links by row number, those of ``partial_labels`` included, and which of them hold.
    model_ : LinkedModel, or Model where there are no links
        What :func:`linkshift.scale.predict` takes.
    n_features_in_, feature_names_in_ : int, ndarray
        Columns, and their names in a data frame.

    See Also
    --------
    MeanShift : without links.
    linkshift.ConstrainedMeanShift : of rows in memory.
    linkshift.scale.cluster : of a table larger than memory, on one machine.

    Notes
    -----
    What :class:`MeanShift` says of workers, blocks, memory and the number of times that X is read
    holds here, too. The fit has m landmarks and k rows with links, and takes time like
    (m + k)^1.7: links are for thousands of rows, not for millions. Columns count as they are.

    ``labels_`` goes by the numbers of rows, so that links hold also between equal rows, of which
    ``predict`` knows but one. Of a data frame, ``labels_`` has the partitions that X has when Dask
    reads it alone: where divisions are not known, ``X.assign(label=labels_)`` is refused by Dask,
    and ``predict(X)`` serves.

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.scale.dask import ConstrainedMeanShift
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(c, 1.0, size=(500, 4)) for c in (0, 4, 8)])
    >>> X = dask.array.from_array(rows, chunks=(400, 4))
    >>> links = Links(must=[(0, 1), (500, 501)], cannot=[(0, 500), (0, 1000), (500, 1000)])
    >>> clustering = ConstrainedMeanShift(landmarks=100).fit(X, links=links)
    >>> labels = clustering.labels_.compute()
    >>> clustering.n_clusters_, clustering.link_report_.share
    (3, 1.0)
    >>> bool(labels[0] == labels[1]), bool(labels[0] == labels[500])
    (True, False)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: MeanShift._parameter_constraints[name]
        for name in ("landmarks", "random_state", "n_jobs")
    }

    def __init__(
        self, *, landmarks: int = 8_000, random_state: Any = 0, n_jobs: int | None = None
    ) -> None:
        self.landmarks = landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: Any = None,
        *,
        links: Links | None = None,
        partial_labels: ArrayLike | None = None,
    ) -> Self:
        """Cluster the rows of X under links.

        Parameters
        ----------
        X : Dask array or DataFrame of shape (n_samples, n_features)
            Numbers. Blocks may have any size, known or not.
        y : ignored
            For scikit-learn's conventions only; known classes enter by ``partial_labels``.
        sample_weight : Dask array or Series, or array-like, of shape (n_samples,), default=None
            Non-negative; a weight of 2 equals the row twice. Rows with links need one above zero.
        links : Links, default=None
            Must-links and cannot-links, by row number, or by id: these are looked for in the index
            of a data frame, which is read once more for it. Certain ones must not contradict each
            other.
        partial_labels : array-like, Dask array or Series of shape (n_samples,), default=None
            Known classes, -1 (or None, NaN) where unknown; they become links and join ``links``.
            They are brought into memory here.

        Returns
        -------
        self
        """
        dask = import_dask()
        refuse_links_as_y(y)
        given = Links.coerce(links)
        check_links(given, {})  # before anything is computed
        rows = rows_of(X)
        parts: list[Any] = []
        if is_frame(X):
            parts, rows = counted_parts(X, rows.dtype)
        rows = known(rows)
        (classes,) = dask.compute(partial_labels)
        closed = closed_links(links_by_row(given, X), classes, rows.shape[0], counted=True)
        check_links(closed.links, {})
        self._fit_model(X, rows, sample_weight, closed.links, closed.linked_rows)
        self.links_ = closed.links
        self.link_report_: LinkReport = (
            self.model_.link_report
            if isinstance(self.model_, LinkedModel)
            else link_satisfaction(_NONE, closed.links)
        )
        self.labels_ = (
            self._frame_labels(X, parts, rows)
            if is_frame(X)
            else self._array_labels(rows, numbered=True)
        )
        return self
