"""Mean shift of Dask arrays and data frames: extra ``dask``.

The four functions of :mod:`linkshift.scale` as a graph of tasks: chunks of rows are summarised
where they are, summaries are merged pair by pair, one worker fits, and each labels its rows.
"""

from __future__ import annotations

import warnings
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
from linkshift._core.messages import Advice, Refusal, warn
from linkshift._core.threads import one_blas_thread
from linkshift.profiles import Profile, ProfileName
from linkshift.scale.chunks import rows_of_a_chunk
from linkshift.scale.linked import LinkedModel
from linkshift.scale.model import Model, fit, predict
from linkshift.summaries import Summary, merge, summarise

__all__ = ["MeanShift"]


class MeanShift(ClusterMixin, BaseEstimator):
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
            Links are refused: they are between rows, and landmarks stand for these.

        Returns
        -------
        self
        """
        del y
        dask = _import_dask()
        if links is not None:
            raise Refusal(
                "Landmarks on a cluster of machines take no links: these are between rows.",
                "Use ConstrainedMeanShift, which takes links, on rows in memory.",
                parameter="links",
            )
        rows = _known(_rows_of(X))
        model, told = dask.compute(self._task(rows, sample_weight))[0]
        for advice in told:
            warn(advice)
        self.model_: Model = model
        self.cluster_centers_ = model.modes.centers
        self.n_clusters_ = int(model.modes.centers.shape[0])
        self.bandwidth_ = model.bandwidth
        self.n_features_in_ = int(rows.shape[1])
        if (names := _names_of(X)) is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.labels_ = self.predict(X if _is_frame(X) else rows)
        return self

    def _task(self, rows: Any, sample_weight: Any) -> Any:
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
            weights = _weights_of(sample_weight, n).rechunk(size, method="tasks").to_delayed()
        seed = _seed(self.random_state)
        level = [
            delayed(_summarised)(block, self.landmarks, seed, weight, first)
            for block, weight, first in zip(blocks, weights, range(0, n, size), strict=True)
        ]
        while True:  # at least once, as `merge` does
            pairs = (level[i : i + 2] for i in range(0, len(level), 2))
            level = [delayed(_merged)(pair, self.landmarks) for pair in pairs]
            if len(level) == 1:
                break
        options = {"bandwidth": self.bandwidth, "kernel": self.kernel, "n_jobs": self.n_jobs}
        return delayed(_fitted)(level[0], options | {"max_iter": self.max_iter, "tol": self.tol})

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

        rows = _rows_of(X)
        self._check_columns(X, rows)
        model = delayed(self.model_, traverse=False)
        if _is_frame(X):
            empty = X._meta.iloc[:0, 0].astype(np.int64).rename("labels")
            return X.map_partitions(_frame_labels, model, str(rows.dtype), meta=empty)
        rows = rows.rechunk({1: -1})
        none = np.empty(0, dtype=np.int64)
        return rows.map_blocks(_labels, model, drop_axis=1, dtype=np.int64, meta=none)

    def _check_columns(self, X: Any, rows: Any) -> None:
        """Refuse columns that are not those of the fit."""
        names, known = _names_of(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise Refusal(
                "The columns of X are not those of the fit, in their order.",
                "Give X[clustering.feature_names_in_].",
                parameter="X",
            )
        if rows.shape[1] != self.n_features_in_:
            raise Refusal(
                f"X has {rows.shape[1]} columns, and the fit was of {self.n_features_in_}.",
                "Give the columns that were fitted.",
                parameter="X",
            )


# --- what was given -------------------------------------------------------------------------------


def _import_dask() -> Any:
    try:
        import dask
        import dask.array
        import dask.dataframe
    except ImportError as error:
        message = 'linkshift.scale.dask needs Dask: pip install "linkshift[dask]"'
        raise ImportError(message) from error
    return dask


def _is_frame(X: Any) -> bool:
    import dask.dataframe

    return isinstance(X, dask.dataframe.DataFrame)


def _rows_of(X: Any) -> Any:
    """Give X as a Dask array of numbers; lengths of blocks may be unknown."""
    import dask.array

    if _is_frame(X):
        from pandas.api.types import is_complex_dtype, is_numeric_dtype

        kinds = X.dtypes
        wrong = [
            name
            for name, kind in kinds.items()
            if is_complex_dtype(kind) or not is_numeric_dtype(kind)
        ]
        if wrong or not len(kinds):
            raise Refusal(
                f"Column {wrong[0]!r} is not of numbers." if wrong else "X has no columns.",
                "Choose columns of numbers: X[[...]].",
                parameter="X",
            )
        narrow = all(kind == np.float32 for kind in kinds)
        return X.astype(np.float32 if narrow else np.float64).to_dask_array()
    if not isinstance(X, dask.array.Array):
        raise Refusal(
            f"X is neither a Dask array nor a Dask DataFrame, but {type(X).__name__}.",
            "Rows in memory are for linkshift.MeanShift; dask.array.from_array(X) cuts an array "
            "into blocks, and a delayed table or a bag becomes one by dask.dataframe.from_delayed "
            "or .to_dataframe().",
            parameter="X",
        )
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.shape[1] > 0:
        raise Refusal(
            f"X must be a table of numbers with a row for each sample; it is of shape {X.shape} "
            f"and type {X.dtype}.",
            "X.reshape(-1, 1) makes a table of one column, X.astype(float) numbers, and a number "
            "of columns that is not known is made so by X.compute_chunk_sizes().",
            parameter="X",
        )
    return X


def _known(rows: Any) -> Any:
    """Count the rows of blocks, where their lengths are not known; X itself stays as it is."""
    return rows.copy().compute_chunk_sizes() if any(map(np.isnan, rows.shape)) else rows


def _weights_of(sample_weight: Any, n: int) -> Any:
    """One weight for each row, as a Dask array."""
    import dask.array

    if hasattr(sample_weight, "to_dask_array"):
        sample_weight = sample_weight.to_dask_array()
    weights = _known(dask.array.asarray(sample_weight))
    if weights.shape != (n,):
        raise Refusal(
            f"sample_weight is of shape {weights.shape}, and X has {n:,} rows.",
            "Give one weight for each row.",
            parameter="sample_weight",
        )
    return weights


def _names_of(X: Any) -> Array | None:
    """Names of columns, where all are strings, as scikit-learn has it."""
    names = list(getattr(X, "columns", ()))
    return np.array(names, dtype=object) if names and all(type(n) is str for n in names) else None


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


# --- tasks; BLAS has one thread, as the number of threads must not tell in a sum ------------------


def _summarised(
    rows: Array, m: int, seed: int, weight: ArrayLike | None, first: int
) -> Summary | None:
    """Summarise a chunk; None where no row has a weight."""
    if weight is not None and not np.any(weight):
        return None
    try:
        with one_blas_thread():
            return summarise(rows, m, seed, sample_weight=weight, first=first, n_jobs=1)
    except Refusal as refusal:
        raise Refusal(
            f"In the chunk from row {first} of X on: {refusal.problem}",
            refusal.remedies["python"],
            parameter=refusal.parameter,
        ) from refusal


def _merged(pair: list[Summary | None], m: int) -> Summary | None:
    found = [summary for summary in pair if summary is not None]
    with one_blas_thread():
        return merge(found, m, n_jobs=1) if found else None


def _fitted(
    summary: Summary | None, options: dict[str, Any]
) -> tuple[Model | LinkedModel, list[Any]]:
    """Fit, and bring along what would be told here, where nobody listens."""
    if summary is None:
        raise Refusal(
            "Every sample weight is zero: there is nothing to summarise.",
            "Give some rows a weight.",
            parameter="sample_weight",
        )
    with warnings.catch_warnings(record=True) as told, one_blas_thread():
        warnings.simplefilter("always")
        model = fit(summary, **options)
    return model, [one.message for one in told if isinstance(one.message, Advice)]


def _labels(rows: Array, model: Model) -> Array:
    return predict(model, rows, n_jobs=1)


def _frame_labels(part: Any, model: Model, dtype: str) -> Any:
    import pandas as pd

    rows = part.astype(dtype).to_numpy()
    return pd.Series(_labels(rows, model), index=part.index, name="labels")
