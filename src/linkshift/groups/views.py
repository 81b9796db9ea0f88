r"""Views of the same samples, and the bank of kernels made from them.

A view describes all samples in one way: colours, shapes, words. Each has a distance
:math:`d_m`, and all are brought to one form by a kernel (eq. 1 of [1]_):

.. math:: k_m(x, y) = \exp(-\gamma_m d_m(x, y)^2)

What follows sees kernels only, so that views need not be vectors.

============= =====================================================================================
metric        squared distance
============= =====================================================================================
"euclidean"   :math:`\|x - y\|^2`
"cosine"      :math:`\|x / \|x\| - y / \|y\|\|^2 = 2 - 2 \cos(x, y)`; a row of zeros stays one
"chi2"        :math:`\frac12 \sum_i (x_i - y_i)^2 / (x_i + y_i)`, for histograms
a callable    the square of ``metric(X, Y)``, distances of shape (rows of X, rows of Y)
"precomputed" the square of the distance that is given
"kernel"      none: kernel values are given and taken as they are
============= =====================================================================================

The chi2 distance is the root of the usual chi2 statistic: it is a metric, and its kernel is the
usual exponential chi2 kernel.

References
----------
.. [1] Y.-Y. Lin, T.-L. Liu, C.-S. Fuh, "Clustering Complex Data with Group-Dependent Feature
       Selection", ECCV 2010.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances

from linkshift.groups._view_tables import (
    MATRICES,
    Array,
    Metric,
    Views,
    check_matrix,
    check_values,
    per_view,
    refuse,
    tables,
    tables_like,
)

Gamma = float | Literal["median"]

_NAMES = ("euclidean", "cosine", "chi2", "precomputed", "kernel")
_MOST_ROWS = 2000  # whose pairs tell the median
_CHUNK_PAIRS = 1 << 22
# Inner products lose the digits of a squared distance this small against the squared norms: rows
# that are equal must be at distance zero, or a median of zero would not be seen.
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Columns:
    r"""Kernel values of samples with some of the training samples.

    ``values[m, j, i]`` (float32) is :math:`k_m(x_{s_j}, x_i)`, ``samples`` are the training samples
    :math:`s_j`, in increasing order.
    """

    values: Array
    samples: Array

    def positions(self, samples: ArrayLike) -> Array:
        """Where training samples stand in ``values``; one that does not is an error."""
        wanted = np.asarray(samples, dtype=np.intp)
        at = np.minimum(np.searchsorted(self.samples, wanted), max(self.samples.size - 1, 0))
        if wanted.size and (not self.samples.size or (self.samples[at] != wanted).any()):
            raise ValueError(
                "Some training samples have no column here; ask transform or columns for "
                "those that the classifiers name in `samples`."
            )
        return at


@dataclass(frozen=True, eq=False)
class _View:
    """One view of the training samples, with all that is needed to meet new ones.

    ``data`` are the rows as the metric wants them (see ``_prepare``), or the matrix that was
    given; None for such a matrix once its kernel is stored.
    """

    name: str
    metric: Metric
    gamma: float
    n: int
    width: int
    origin: Array | None
    data: Array | None

    def kernel(self, rows: Array, samples: Array | slice) -> Array:
        """Kernel values, shape (rows, samples), of prepared rows with training samples."""
        if self.metric in MATRICES:
            squared = rows[:, samples]
            if self.metric == "kernel":
                return squared
            squared = squared**2
        else:
            assert self.data is not None
            squared = _squared_distances(self.name, self.metric, rows, self.data[samples])
        return np.exp(-self.gamma * squared)


@dataclass(frozen=True, eq=False)
class KernelBank:
    r"""Kernels of all views on the training samples; made by :func:`kernel_bank`.

    ``values`` (n_views, n, n), float32, are all kernel values, :math:`4 M n^2` bytes; None when
    that was too much and columns are computed when asked for.
    """

    views: tuple[_View, ...]
    values: Array | None
    groups: dict[str, Any] | None = None  # columns of each view, when views are parts of one table

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the views."""
        return tuple(view.name for view in self.views)

    @property
    def gammas(self) -> Array:
        """Width of each kernel; NaN where the kernel itself was given."""
        return np.array([view.gamma for view in self.views])

    @property
    def n_views(self) -> int:
        """Number of views, M."""
        return len(self.views)

    @property
    def n_samples(self) -> int:
        """Number of training samples, n."""
        return self.views[0].n

    def columns(self, samples: ArrayLike) -> Columns:
        """Kernel values of all training samples with (at least) the given ones.

        When everything is stored, everything is handed out, without a copy. Otherwise the
        columns are computed: 4 M n bytes for each.
        """
        wanted = self._existing(samples)
        if self.values is not None:
            return Columns(self.values, np.arange(self.n_samples))
        out = np.empty((self.n_views, wanted.size, self.n_samples), dtype=np.float32)
        for m, view in enumerate(self.views):
            assert view.data is not None
            # Kernels are symmetric: the chosen samples are the rows, the others the columns.
            _fill(out[m], view, view.data[wanted])
        return Columns(out, wanted)

    def transform(self, views: Views, samples: ArrayLike | None = None) -> Columns:
        """Kernel values of new samples with the given training samples (default: with all).

        New samples have the form that the training samples had. A view of given distances or kernel
        values has shape (n_new, n): one column for each training sample. Memory is 4 M n_new bytes
        for each of ``samples``; without any, new samples are checked, and there are no columns.
        """
        found = tables_like(views, self.groups, self.names)
        wanted = self._existing(np.arange(self.n_samples) if samples is None else samples)
        n_new = next(iter(found.values())).shape[0]
        out = np.empty((self.n_views, wanted.size, n_new), dtype=np.float32)
        rows = max(1, _CHUNK_PAIRS // max(wanted.size, 1))
        for m, view in enumerate(self.views):
            table = found[view.name]
            if table.shape[1] != view.width:
                expected = f"had {view.width}; give the same features."
                if view.metric in MATRICES:
                    expected = f"number {view.width}; give one column for each of them."
                message = f"new samples have {table.shape[1]} columns, the training samples "
                refuse(view.name, message + expected)
            check_values(view.name, view.metric, table)
            prepared = _prepare(view.metric, table, view.origin)
            for first in range(0, n_new, rows):
                block = view.kernel(prepared[first : first + rows], wanted)
                out[m, :, first : first + rows] = block.T
        return Columns(out, wanted)

    def _existing(self, samples: ArrayLike) -> Array:
        """Check and sort numbers of training samples."""
        wanted = np.unique(np.asarray(samples, dtype=np.intp))
        if wanted.size and (wanted[0] < 0 or wanted[-1] >= self.n_samples):
            raise ValueError(
                f"Training samples are numbered 0 to {self.n_samples - 1}; samples go from "
                f"{wanted[0]} to {wanted[-1]}."
            )
        return wanted


def kernel_bank(
    views: Views,
    *,
    groups: Mapping[str, Any] | None = None,
    names: Sequence[str] | None = None,
    metric: Metric | Sequence[Metric] | Mapping[str, Metric] = "euclidean",
    gamma: Gamma | Sequence[Gamma] | Mapping[str, Gamma] = "median",
    max_bytes: int = 1 << 30,
) -> KernelBank:
    r"""Make a bank of kernels from views.

    Parameters
    ----------
    views : table, list or dict
        A dict (names to tables) or list of tables with the same n rows, one for each view; or
        one table, whose columns ``groups`` parts into views. A table is a 2-D array or a
        DataFrame of numbers; for the metrics "precomputed" and "kernel" it is an (n, n) matrix.
    groups : dict, default=None
        For one table: name of each view to its columns, as a list of positions, a slice of
        positions, a mask, or, for a DataFrame, a list of column names.
    names : sequence of str, default=None
        For a list: names of the views; "view0", "view1", ... when not given.
    metric : str, callable, or a list or dict of them, default="euclidean"
        See the table at the top of this module. One for all views, one for each, or by name
        (views that a dict does not name are "euclidean").
    gamma : "median", float, or a list or dict of them, default="median"
        "median" is :func:`median_gamma` over pairs of samples (above 2,000 samples, of 2,000
        evenly spread ones): no unit of measurement then matters. A dict may leave views out.
    max_bytes : int, default=2**30
        Up to this size all kernel values are kept, :math:`4 M n^2` bytes; above it, columns are
        computed each time they are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.groups.views import kernel_bank
    >>> X = np.array([[0.0, 0.0, 7.0], [1.0, 0.0, 7.0], [0.0, 2.0, 5.0]])
    >>> bank = kernel_bank(X, groups={"place": [0, 1], "size": slice(2, 3)})
    >>> bank.names, bank.gammas
    (('place', 'size'), array([0.25, 0.25]))
    >>> bank.columns([0]).values[:, 0].round(3)
    array([[1.   , 0.779, 0.368],
           [1.   , 1.   , 0.368]], dtype=float32)
    >>> bank.transform(X[:2], samples=[2]).values.round(3)
    array([[[0.368, 0.287]],
    <BLANKLINE>
           [[0.368, 0.368]]], dtype=float32)
    """
    found = tables(views, groups, names)
    metrics = per_view("metric", metric, found, "euclidean")
    gammas = per_view("gamma", gamma, found, "median")
    n = next(iter(found.values())).shape[0]
    made = [_make_view(name, found[name], metrics[name], gammas[name]) for name in found]
    values = None
    if 4 * len(made) * n * n <= max_bytes:
        values = np.empty((len(made), n, n), dtype=np.float32)
        for m, view in enumerate(made):
            assert view.data is not None
            _fill(values[m], view, view.data)
        made = [replace(v, data=None) if v.metric in MATRICES else v for v in made]
    return KernelBank(tuple(made), values, dict(groups) if groups is not None else None)


def median_gamma(squared: ArrayLike) -> float:
    r"""Width of a kernel from squared distances of pairs: :math:`1 / \operatorname{median} d^2`.

    When most pairs coincide and the median is zero, the mean of the positive squares stands in
    for it; when all do, gamma is 1 (the kernel is constant for any).
    """
    values = np.asarray(squared, dtype=np.float64)
    positive = values[values > 0]
    if not positive.size:
        return 1.0
    return 1.0 / (float(np.median(values)) or float(positive.mean()))


def _make_view(name: str, table: Array, metric: Metric, gamma: Gamma) -> _View:
    """Check one view and settle its gamma."""
    if not callable(metric) and metric not in _NAMES:
        refuse(name, f"unknown metric {metric!r}; take one of {', '.join(_NAMES)}, or a callable.")
    if gamma != "median" and not (
        isinstance(gamma, int | float | np.number) and 0 < gamma < np.inf
    ):
        refuse(name, f"gamma must be 'median' or a positive number, got {gamma!r}.")
    check_values(name, metric, table)
    n = table.shape[0]
    if metric in MATRICES:
        check_matrix(name, metric, table)
    if metric == "kernel":
        if gamma != "median":
            refuse(name, "a kernel that is given has no gamma; leave it out, or give distances.")
        return _View(name, metric, np.nan, n, n, None, table)
    origin = table.mean(axis=0) if metric == "euclidean" else None
    data = _prepare(metric, table, origin)
    some = np.unique(np.linspace(0, n - 1, min(n, _MOST_ROWS)).astype(np.intp))
    if metric == "precomputed":
        squared = data[np.ix_(some, some)] ** 2
    else:
        squared = _squared_distances(name, metric, data[some], data[some])
    if callable(metric):
        check_matrix(name, metric, squared)
    width = median_gamma(squared[np.triu_indices(some.size, 1)]) if gamma == "median" else gamma
    return _View(name, metric, float(width), n, table.shape[1], origin, data)


def _fill(out: Array, view: _View, rows: Array) -> None:
    """Kernel values of prepared rows with all training samples, some rows at a time."""
    step = max(1, _CHUNK_PAIRS // max(view.n, 1))
    for first in range(0, rows.shape[0], step):
        out[first : first + step] = view.kernel(rows[first : first + step], slice(None))


def _prepare(metric: Metric, table: Array, origin: Array | None) -> Array:
    """Rows as ``_squared_distances`` wants them: about the mean, or of length one."""
    if origin is not None:
        return table - origin
    if metric == "cosine":
        norms = np.linalg.norm(table, axis=1, keepdims=True)
        return np.divide(table, norms, out=np.zeros_like(table), where=norms > 0)
    return table


def _squared_distances(name: str, metric: Metric, X: Array, Y: Array) -> Array:
    """Squared distances of prepared rows; the only place that knows the metrics."""
    if not X.shape[0] or not Y.shape[0]:  # which scikit-learn refuses
        return np.empty((X.shape[0], Y.shape[0]))
    if callable(metric):
        distances = np.asarray(metric(X, Y), dtype=np.float64)
        if distances.shape != (X.shape[0], Y.shape[0]):
            refuse(
                name,
                "metric(X, Y) must give a row for each row of X and a column for each row of "
                f"Y: {(X.shape[0], Y.shape[0])}, but its shape is {distances.shape}.",
            )
        if not np.isfinite(distances).all() or (distances < 0).any():
            refuse(name, "metric(X, Y) gave values that are negative or not finite.")
        return distances**2
    if metric == "chi2":
        return -0.5 * additive_chi2_kernel(X, Y)
    squared = euclidean_distances(X, Y, squared=True)
    norms = np.add.outer(np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y))
    squared[squared <= _EQUAL * norms] = 0.0
    return squared
