"""Sparse compositional metric learning (Shi, Bellet, Sha 2014), global and local."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from linkshift._core.arrays import Array
from linkshift._core.attributes import all_or_none
from linkshift._core.lazy import refuse_dask
from linkshift.links import BindsLinks, Links
from linkshift.metric_learning.bases import label_bases, link_bases
from linkshift.metric_learning.learning import Learned, learn
from linkshift.metric_learning.measuring import GlobalMetric, LocalMetric, blocks, root, votes
from linkshift.metric_learning.solver import Plan, Problem
from linkshift.metric_learning.triplets import Triplets, label_triplets, link_triplets

_FLOATS = [np.float64, np.float32]
_DIMENSION = 40
_OF_GLOBAL = ("weights_", "components_", "metric_", "_n_features_out")
_OF_LOCAL = ("coefficients_", "embedding_", "embedding_sigma_")


def _is_global(model: Any) -> bool:
    if model.kind != "global":
        raise AttributeError(
            "A local metric is none of a space, and SCML(kind='local') has no transform: take "
            "distances(X, Y) or metric_at(X), or kind='global'."
        )
    return True


class _Transforms(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """What a global metric can do: move rows into a space of its own."""

    def transform(self, X: ArrayLike) -> Array:
        """Rows in a space where Euclidean distances are those of the metric.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n, rank)
            ``X @ components_.T``, in float32 for data in float32.
        """
        data = self._checked(X)
        return data @ self.components_.T.astype(data.dtype)


class _OnlyGlobal:
    """The same for global metrics only.

    In a class apart from `_Transforms`, whose methods scikit-learn wraps for ``set_output`` when
    the class is made: wrapped after ``available_if``, they would look available always.
    """

    transform = available_if(_is_global)(_Transforms.transform)
    fit_transform = available_if(_is_global)(_Transforms.fit_transform)
    get_feature_names_out = available_if(_is_global)(_Transforms.get_feature_names_out)


class SCML(BindsLinks, _OnlyGlobal, _Transforms, BaseEstimator):
    r"""Sparse compositional metric learning: a metric put together from simple ones.

    The squared distance from x is measured by a matrix made of K directions :math:`b_k` that tell
    classes apart somewhere in the data (:mod:`linkshift.metric_learning.bases`),

    .. math:: d(x, y) = (x - y)^T T(x) (x - y), \qquad T(x) = \sum_k w_k(x) \, b_k b_k^T .

    For a *global* metric the weights :math:`w_k \ge 0` are the same everywhere. For a *local* one
    they follow the place, :math:`w_k(x) = (a_k^T z_x + c_k)^2`, with a smooth embedding
    :math:`z_x` of x (:mod:`linkshift.metric_learning.embedding`); the metric is that of the first
    point, so that d(x, y) and d(y, x) differ. Weights are learned from triplets (i, j, k), in
    which :math:`x_i` should be nearer to :math:`x_j` than to :math:`x_k` by a margin:

    .. math:: \min \; \frac{1}{|C|} \sum_{(i,j,k) \in C}
              [1 + d(x_i, x_j) - d(x_i, x_k)]_+ + \beta \, s^2 \sum_k w_k
              \quad\text{or}\quad \dots + \beta \, s \sum_k \|(a_k, c_k)\| .

    s is the root mean square distance between rows and their impostors: with it, the unit of the
    data does not matter. Many weights end at zero.

    Parameters
    ----------
    kind : {"global", "local"}, default="global"
        One metric, or one for each point. The local one is learned from the global one.
    n_bases : int or "auto", default="auto"
        How many directions to choose from. "auto" is 200 for 2 or 3 classes, else 400; 800 for
        more than 3 classes and 50 columns. For links 400.
    n_targets : int, default=3
        Rows of the same class (must-linked rows) in the triplets of each row: the nearest.
    n_impostors : int, default=10
        Rows of other classes (cannot-linked rows): the nearest. Each target meets each impostor.
    beta : float, default=1e-5
        Weight of the penalty. Larger values leave fewer bases and are safer with few rows.
    embedding_dimension : int, default=40
        Number of coordinates of z, at most the rank of the kernel matrix. For "local" only.
    embedding_sigma : float, default=None
        Width of the Gaussian kernel of the embedding. ``None`` is half the median distance
        between rows. For "local" only.
    max_iter : int, default=100
        Most passes over the rows (for "local": over the rows for the global metric, and as many
        again).
    batch_size : int or "auto", default="auto"
        Rows whose triplets make up a step. "auto" is a 16th of the rows, from 1 to 64.
    tol : float, default=1e-3
        Stop when the objective falls by no more than this share of it between checks, three times
        in a row. Checks are 320 steps apart, or a pass when that is longer.
    random_state : int, RandomState or None, default=None
        Seed of regions, batches and, above 2,000 rows, of the rows behind the embedding.
    progress : callable, default=None
        Called with (passes done, all passes) after each pass and at the end.

    Attributes
    ----------
    bases_ : ndarray of shape (K, n_features)
        The directions in use, of unit length.
    weights_ : ndarray of shape (K,)
        Their weights ("global").
    metric_ : ndarray of shape (n_features, n_features)
        The matrix T ("global").
    components_ : ndarray of shape (rank, n_features)
        A root of it to numerical rank, ``metric_ = components_.T @ components_``, the longest
        row first ("global").
    coefficients_ : ndarray of shape (K, r + 1)
        Rows :math:`(a_k, c_k)` ("local").
    embedding_ : Embedding
        From rows to z ("local").
    embedding_sigma_ : float
        Its width ("local").
    n_bases_ : int
        How many directions there were to choose from.
    n_triplets_ : int
        Triplets learned from.
    scale_ : float
        The s of the objective.
    objective_ : float
        The objective at the end.
    start_objective_ : float
        And at the start: for "global" of equal weights, for "local" of the global metric.
    n_iter_ : int
        Passes made; for "local" those of both stages.
    classes_ : ndarray or None
        Classes seen in ``fit``; None when it was given links.

    Notes
    -----
    Triplets are never written out and differences along bases are computed where they are needed:
    memory is O(n K). All steps are made in one thread, results do not depend on their number.

    A row that is alone in its class is nobody's target, but may be an impostor. Columns should be
    on comparable scales: triplets and regions are found by Euclidean distances.

    References
    ----------
    Shi, Bellet, Sha: Sparse Compositional Metric Learning, AAAI 2014.

    Examples
    --------
    The first column tells the classes apart, the second is noise.

    >>> import numpy as np
    >>> from linkshift.metric_learning import SCML
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.column_stack((y + 0.2 * rng.normal(size=100), rng.normal(size=100)))
    >>> model = SCML(random_state=0).fit(X, y)
    >>> bool(model.metric_[0, 0] > 10 * model.metric_[1, 1])
    True
    >>> model.score(X, y) > 0.95
    True

    Links in place of labels, and a metric for each point:

    >>> from linkshift import Links
    >>> links = Links.sample(y, 60, random_state=0)
    >>> local = SCML("local", random_state=0).fit(X, links=links)
    >>> local.metric_at(X[:3]).shape
    (3, 2, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions({"global", "local"})],
        "n_bases": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_targets": [Interval(Integral, 1, None, closed="left")],
        "n_impostors": [Interval(Integral, 1, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "embedding_dimension": [Interval(Integral, 1, None, closed="left")],
        "embedding_sigma": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "progress": [callable, None],
    }

    def __init__(
        self,
        kind: Literal["global", "local"] = "global",
        *,
        n_bases: int | Literal["auto"] = "auto",
        n_targets: int = 3,
        n_impostors: int = 10,
        beta: float = 1e-5,
        embedding_dimension: int = _DIMENSION,
        embedding_sigma: float | None = None,
        max_iter: int = 100,
        batch_size: int | Literal["auto"] = "auto",
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.kind = kind
        self.n_bases = n_bases
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.beta = beta
        self.embedding_dimension = embedding_dimension
        self.embedding_sigma = embedding_sigma
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.tol = tol
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.kind == "local":
            tags.transformer_tags = None
        else:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, links: Links | None = None) -> SCML:
        """Learn the metric from labels or from links.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,), default=None
            Classes. Every value is a class, -1 as well: for labels of which some are unknown, give
            ``links=Links.from_labels(y)``.
        links : Links, default=None
            In place of y. Rows that have both must-links and cannot-links, given or implied, are
            learned from. A triplet weighs as much as the confidences of its two links multiplied.

        Returns
        -------
        self
        """
        refuse_dask(X, type(self).__name__)
        links = self._links_for_fit(links, X)
        self._check_options(y, links)
        if links is not None:
            links = Links.coerce(links).expanded()
        with all_or_none(self), threadpool_limits(limits=1):
            random = check_random_state(self.random_state)
            data, triplets, bases = self._prepare(X, y, links, random)
            learned = learn(
                data,
                triplets,
                bases,
                random,
                local=self.kind == "local",
                beta=self.beta,
                plan=Plan(self.max_iter, self.batch_size, self.tol),
                embedding_dimension=self.embedding_dimension,
                embedding_sigma=self.embedding_sigma,
                progress=self.progress,
            )
        self._store(learned)
        self.n_bases_, self.n_triplets_ = bases.shape[0], len(triplets)
        return self

    def _check_options(self, y: object, links: object) -> None:
        """Refuse what would be ignored, and what cannot be done."""
        if isinstance(y, Links):
            raise TypeError("Links were given in the place of y; write links=...")
        if y is None and links is None:
            raise ValueError(
                "SCML requires y to be passed, but the target y is None: a metric is learned from "
                "labels, fit(X, y), or from links, fit(X, links=links)."
            )
        if y is not None and links is not None:
            raise ValueError(
                "Both y and links were given. Give one of them; Links.from_labels(y) + links makes "
                "links of both."
            )
        if self.kind == "global":
            for name, default in (("embedding_dimension", _DIMENSION), ("embedding_sigma", None)):
                if getattr(self, name) != default:
                    raise ValueError(
                        f"{name} is for kind='local': a global metric has no embedding. Leave it "
                        "out, or take kind='local'."
                    )

    def _prepare(
        self, X: ArrayLike, y: ArrayLike | None, links: Links | None, random: np.random.RandomState
    ) -> tuple[Array, Triplets, Array]:
        """Check the input; data about their mean, triplets and bases."""
        if y is not None:
            checked, labels = validate_data(self, X, y, dtype=_FLOATS, ensure_min_samples=2)
            check_classification_targets(labels)
            classes, rank = np.unique(labels, return_inverse=True)
            self.classes_: Array | None = classes
            self._fit_y: Array | None = rank
        else:
            checked = validate_data(self, X, dtype=_FLOATS, ensure_min_samples=2)
            given = Links.coerce(links).check(checked.shape[0])
            self.classes_ = self._fit_y = None
        self._fit_X = checked
        self._centre = checked.mean(axis=0, dtype=np.float64)
        data: Array = checked - self._centre
        wanted = {"n_targets": self.n_targets, "n_impostors": self.n_impostors}
        n_bases = self._n_bases()
        if self._fit_y is not None:
            triplets = label_triplets(data, self._fit_y, **wanted)
            bases = label_bases(data, self._fit_y, n_bases, random)
        else:
            triplets = link_triplets(data, given, **wanted)
            bases = link_bases(data, triplets, n_bases, random)
        return data, triplets, bases

    def _n_bases(self) -> int:
        if self.n_bases != "auto":
            return int(self.n_bases)
        if self.classes_ is None:
            return 400
        if self.classes_.size <= 3:
            return 200
        return 800 if self.n_features_in_ > 50 else 400

    def _store(self, learned: Learned) -> None:
        """Set attributes, in the units of the data; those of the other kind go."""
        for name in _OF_GLOBAL + _OF_LOCAL:
            self.__dict__.pop(name, None)
        self.bases_, self.scale_ = learned.bases, learned.scale
        self.objective_, self.start_objective_ = learned.objective, learned.start
        self.n_iter_ = learned.n_iter
        if learned.embedding is not None:
            self.coefficients_ = learned.coefficients.T / self.scale_
            self.embedding_, self.embedding_sigma_ = learned.embedding, learned.sigma
            return
        self.weights_ = learned.coefficients[0] / self.scale_**2
        self.components_ = root(np.sqrt(self.weights_)[:, None] * self.bases_)
        self.metric_ = self.components_.T @ self.components_
        self._n_features_out = self.components_.shape[0]

    def weights_at(self, X: ArrayLike) -> Array:
        """Weights of the bases at each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Data; a single point is an array with one row.

        Returns
        -------
        ndarray of shape (n, K)
        """
        return self._measure.weights(self._checked(X))

    def metric_at(self, X: ArrayLike) -> Array:
        """Matrices of the metric at rows of X, as in `weights_at`.

        Returns
        -------
        ndarray of shape (n, n_features, n_features)
            Symmetric, without negative eigenvalues.
        """
        weights = self.weights_at(X)
        return np.einsum("nk,ki,kj->nij", weights, self.bases_, self.bases_, optimize=True)

    def distances(self, X: ArrayLike, Y: ArrayLike) -> Array:
        """Squared distances from rows of X to rows of Y, by the metric at the row of X.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Where distances start.
        Y : array-like of shape (m, n_features)
            Where they end.

        Returns
        -------
        ndarray of shape (n, m)
            Besides it, memory is bounded.
        """
        start, end = self._checked(X), self._checked(Y)
        out = np.empty((start.shape[0], end.shape[0]))
        for rows, squared in blocks(self._measure, start, end):
            out[rows] = squared
        return out

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, *, links: Links | None = None
    ) -> float:
        """How good the metric is for rows with known labels, or with links.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Data.
        y : array-like of shape (n,), default=None
            Their classes. The score is the share of rows whose class is that of most of their 3
            nearest training rows; where all three differ, of the nearest. The metric must have
            been learned from labels.
        links : Links, default=None
            Links between rows of X. The score is the share of triplets that hold, by whatever
            margin; triplets are built as in ``fit``.

        Returns
        -------
        float
            From 0 to 1.
        """
        check_is_fitted(self)
        if (y is None) == (links is None):
            raise ValueError("score needs either y or links: score(X, y) or score(X, links=links).")
        data = self._checked(X)
        if links is not None:
            return self._share_held(data, Links.coerce(links).check(data.shape[0]).expanded())
        if self._fit_y is None or self.classes_ is None:
            raise ValueError(
                "The metric was learned from links, and no classes of training rows are known to "
                "vote for. Take score(X, links=Links.from_labels(y)), or fit with labels."
            )
        labels = np.asarray(y)
        if labels.shape != (data.shape[0],):
            raise ValueError(f"y must have one class for each of {data.shape[0]} rows.")
        voted = self.classes_[votes(self._measure, data, self._fit_X, self._fit_y)]
        return float(np.mean(voted == labels))

    def _share_held(self, data: Array, links: Links) -> float:
        centred, measure = data - self._centre, self._measure
        triplets = link_triplets(
            centred, links, n_targets=self.n_targets, n_impostors=self.n_impostors
        )
        problem = Problem.build(centred / self.scale_, self.bases_, triplets)

        def weights_of(batch: Array) -> Array:
            weights = measure.weights(data[triplets.anchor[batch]]) * self.scale_**2
            return weights.astype(np.float32)

        return problem.measure(weights_of)[1]

    def _checked(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        refuse_dask(X, type(self).__name__)
        return validate_data(self, X, dtype=_FLOATS, reset=False)

    @property
    def _measure(self) -> GlobalMetric | LocalMetric:
        if self.kind == "global":
            return GlobalMetric(self._centre, self.weights_, self.components_)
        return LocalMetric(self._centre, self.bases_, self.coefficients_, self.embedding_)
