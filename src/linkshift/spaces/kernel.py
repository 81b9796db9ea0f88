r"""A kernel's feature space in explicit coordinates.

A kernel :math:`K(x, y) = \phi(x)^T \phi(y)` is an inner product in a space that is seldom seen.
The rows of the data span no more than n of its dimensions, and in these they have coordinates:
with landmarks :math:`l_1, \dots, l_m` and the eigendecomposition of their Gram matrix,

.. math:: K_{ll} = V \Lambda V^T, \qquad z(x) = \Lambda^{-1/2} V^T \, k_l(x), \qquad
          k_l(x) = (K(x, l_1), \dots, K(x, l_m)),

inner products of coordinates are kernel values: exactly, when all rows are landmarks, and in the
sense of Nystroem [1]_ when the landmarks are a part of them. Eigenvalues up to m times machine
epsilon times the largest count as zero. A new row is projected onto the span of the landmarks.

Nothing is centred, but for the linear kernel, whose coordinates are the rows about their mean:
distances are the same, and no result depends on the origin of the data.

References
----------
.. [1] C. Williams, M. Seeger, "Using the Nystroem Method to Speed Up Kernel Machines", NIPS 2000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances
from sklearn.utils import check_array, check_random_state

from linkshift._core.arrays import LEAST_SQUARE, Array
from linkshift._core.memory import check_memory
from linkshift._core.messages import Advice, warn
from linkshift.bandwidth import pair_distances
from linkshift.links import Links

KernelName = Literal["gaussian", "chi2", "polynomial", "linear", "precomputed"]
KernelFunction = Callable[..., Any]

_CHUNK_PAIRS = 1 << 22
_ROWS = 512
# Kernel widths that links choose from, in mean pair distances: half octaves from 1/16 to 16.
_WIDTHS = 2.0 ** np.arange(-4.0, 4.5, 0.5)
# Eigenvalues this far below zero, relative to the largest, are no rounding errors.
_INDEFINITE = 1e-8


@dataclass(frozen=True)
class Kernel:
    r"""A positive semi-definite kernel with its parameters.

    ============== ==========================================================================
    name           K(x, y)
    ============== ==========================================================================
    "gaussian"     :math:`\exp(-\|x - y\|^2 / (2 \sigma^2))`
    "chi2"         :math:`2 \sum_i x_i y_i / (x_i + y_i)`, for histograms (zero where both are)
    "polynomial"   :math:`(\gamma x^T y + c_0)^p`
    "linear"       :math:`x^T y`
    "precomputed"  rows are rows of a Gram matrix
    a callable     ``kernel(X, Y, **params)``, a matrix of shape (rows of X, rows of Y)
    ============== ==========================================================================

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.spaces.kernel import Kernel
    >>> X = np.array([[0.0, 1.0], [0.5, 0.5]])
    >>> Kernel("gaussian", sigma=0.5)(X).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    >>> Kernel("chi2")(X).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    name: KernelName | KernelFunction = "gaussian"
    sigma: float = 1.0
    degree: int = 2  # the p of the polynomial
    gamma: float = 1.0
    coef0: float = 1.0  # its c_0
    params: dict[str, Any] = field(default_factory=dict)

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Kernel values of each row of X with each row of Y (with X when not given)."""
        X = np.asarray(X, dtype=np.float64)
        Y = X if Y is None else np.asarray(Y, dtype=np.float64)
        if self.name == "gaussian":
            # About the mean, inner products lose no digits to a far origin.
            mean = Y.mean(axis=0)
            squared = euclidean_distances(X - mean, None if Y is X else Y - mean, squared=True)
            rate = 0.5 / max(self.sigma**2, LEAST_SQUARE)
            with np.errstate(over="ignore"):  # so far apart, the value is zero
                return np.exp(squared * -rate)
        if self.name == "chi2":
            # 2ab / (a + b) = (a + b) / 2 - (a - b)^2 / (2 (a + b))
            mass = np.add.outer(X.sum(axis=1), Y.sum(axis=1))
            return 0.5 * (mass + additive_chi2_kernel(X, Y))
        if self.name == "polynomial":
            return (self.gamma * (X @ Y.T) + self.coef0) ** self.degree
        if self.name == "linear":
            return X @ Y.T
        if callable(self.name):
            return self._of_function(self.name, X, Y)
        raise ValueError("A precomputed kernel has no formula: pass its values.")

    def _of_function(self, function: KernelFunction, X: Array, Y: Array) -> Array:
        values = np.asarray(function(X, Y, **self.params), dtype=np.float64)
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                "kernel(X, Y) must give a matrix with a row for each row of X and a column for "
                f"each row of Y: {(X.shape[0], Y.shape[0])}, but its shape is {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel(X, Y) gave values that are not finite.")
        return values


@dataclass(frozen=True, eq=False)
class KernelSpace:
    """A way from rows to coordinates."""

    kernel: Kernel
    # Rows whose kernel values are taken; of a precomputed kernel, their numbers; for the linear
    # kernel, the one row that is the origin.
    landmarks: Array
    map: Array  # (n_landmarks, r): from kernel values, of the linear kernel columns, to coordinates
    exact: bool  # whether inner products of the training rows' coordinates are kernel values

    @property
    def on_axes(self) -> bool:
        """Whether the training rows' coordinates run along their principal axes."""
        return self.exact and self.kernel.name != "linear"

    def transform(self, X: Array, then: Array | None = None) -> Array:
        """Coordinates of rows; of a precomputed kernel, rows hold values with all training rows.

        ``then`` is a further linear map of the coordinates, of shape (r, s). Rows are taken in
        chunks: memory is O(rows (r + s)).
        """
        last = self.map if then is None else self.map @ then
        out = np.empty((X.shape[0], last.shape[1]))
        rows = max(1, _CHUNK_PAIRS // max(self.landmarks.shape[0], 1))
        for first in range(0, X.shape[0], rows):
            out[first : first + rows] = self._values(X[first : first + rows]) @ last
        return out

    def _values(self, X: Array) -> Array:
        if self.kernel.name == "linear":
            return np.asarray(X, dtype=np.float64) - self.landmarks[0]
        if self.kernel.name == "precomputed":
            return np.asarray(X[:, self.landmarks], dtype=np.float64)
        return self.kernel(X, self.landmarks)


def space_bytes(n: int, n_landmarks: int | None = None) -> float:
    """Memory that `kernel_space` takes at its peak: six Gram matrices, and coordinates.

    Half of that where the rank is small; that it is not, shows when the memory is taken.
    """
    m = n if n_landmarks is None else min(n_landmarks, n)
    return 8.0 * (6 * m * m + (n * m if m < n else 0))


def kernel_space(
    X: ArrayLike,
    kernel: Kernel,
    *,
    n_landmarks: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[KernelSpace, Array]:
    r"""Find the way to the feature space of a kernel, and coordinates of the rows of X there.

    For a precomputed kernel, X is the Gram matrix. Without ``n_landmarks`` coordinates are exact,
    in O(n^2) memory and O(n^3) time, and along the principal axes, the longest first (but for the
    linear kernel, where they are the columns of X as far as these are no more than rows). A number
    m draws as many rows as landmarks: O(n m) memory and O(n m^2) time.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.spaces.kernel import Kernel, kernel_space
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> space, Z = kernel_space(X, Kernel("gaussian", sigma=1.0))
    >>> np.allclose(Z @ Z.T, Kernel("gaussian", sigma=1.0)(X))
    True
    >>> np.allclose(space.transform(X), Z)
    True
    """
    data: Array = check_array(X, dtype=[np.float64, np.float32])
    _check_rows(data, kernel)
    if n_landmarks is not None and n_landmarks < 1:
        raise ValueError(f"n_landmarks must be at least 1, got {n_landmarks}.")
    if kernel.name == "linear":
        if n_landmarks is not None:
            raise ValueError(
                "The linear kernel needs no landmarks, its coordinates are the rows themselves; "
                "drop n_landmarks."
            )
        return _linear_space(data, kernel)
    n = data.shape[0]
    exact = n_landmarks is None or n_landmarks >= n
    check_memory(
        space_bytes(n, n_landmarks),
        f"An exact kernel space of {n:,} rows" if exact else f"{n_landmarks:,} landmarks",
        "Give n_landmarks, such as n_landmarks=1000, or fewer rows.",
        parameter="n_landmarks",
    )
    rows = np.arange(n)
    if not exact:
        rows = np.sort(check_random_state(random_state).choice(n, n_landmarks, replace=False))
    if kernel.name == "precomputed":
        landmarks: Array = rows
        gram = np.array(data[np.ix_(rows, rows)], dtype=np.float64)
    else:
        landmarks = data[rows]
        gram = kernel(landmarks)
    values, coordinates = _factor(gram)
    space = KernelSpace(kernel, landmarks, coordinates / values, exact)
    return space, coordinates if exact else space.transform(data)


def _linear_space(X: Array, kernel: Kernel) -> tuple[KernelSpace, Array]:
    """Rows about their mean; in more columns than rows, turned into the span of the rows."""
    origin = X.mean(axis=0, dtype=np.float64)
    centred = X - origin
    turn = np.eye(X.shape[1])
    if X.shape[1] > X.shape[0]:
        turn = np.linalg.svd(centred, full_matrices=False)[2].T
    return KernelSpace(kernel, origin[None], turn, exact=True), centred @ turn


def _check_rows(X: Array, kernel: Kernel) -> None:
    """Refuse data that the kernel is not for."""
    if kernel.name == "chi2" and (X < 0).any():
        row = int(np.argmax((X < 0).any(axis=1)))
        raise ValueError(
            "Negative values in data passed to a chi2 kernel, which is for histograms; row "
            f"{row} has some. Take kernel='gaussian', or counts instead."
        )
    if kernel.name == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of kernel values; its shape is "
                f"{X.shape}."
            )
        largest = float(np.abs(X).max())
        if float(np.abs(X - X.T).max()) > 1e-6 * largest:
            raise ValueError(
                "A precomputed kernel must be symmetric: K[i, j] and K[j, i] are the same inner "
                "product. Take (K + K.T) / 2 if they should be."
            )


def _factor(gram: Array) -> tuple[Array, Array]:
    """Eigenvalues above the cut-off, the largest first, and coordinates Z with Z Z^T = gram.

    A smooth kernel has a small rank r. Cholesky with pivots then finds Z in O(n r^2), where an
    eigendecomposition takes O(n^3); turning Z to its principal axes gives the same coordinates.
    """
    n = gram.shape[0]
    lower, pivots, rank, _ = dpstrf(gram, lower=1)
    if 0 < rank <= n // 2:
        Z = np.zeros((n, rank))
        Z[pivots - 1] = np.tril(lower[:, :rank])
        largest = float(np.diag(gram).max())
        if all(
            float(np.abs(Z[i : i + _ROWS] @ Z.T - gram[i : i + _ROWS]).max())
            <= _INDEFINITE * largest
            for i in range(0, n, _ROWS)
        ):
            axes = principal_axes(Z)
            return axes.eigenvalues, Z @ axes.map
    return _eigen(gram)


def _eigen(gram: Array) -> tuple[Array, Array]:
    """As ``_factor``, for any rank; refuses what is no kernel."""
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = max(float(values[0]), -float(values[-1]))
    if float(values[-1]) < -_INDEFINITE * largest:
        raise ValueError(
            "The kernel is not positive semi-definite (eigenvalues from "
            f"{values[-1]:.3g} to {values[0]:.3g}), so that it is no inner product and distances "
            "are not defined. Take another kernel, or drop the negative eigenvalues first."
        )
    kept = values > gram.shape[0] * np.finfo(np.float64).eps * largest
    if not kept.any():  # the zero matrix: all rows at the origin
        return np.ones(1), np.zeros((gram.shape[0], 1))
    return values[kept], vectors[:, kept] * np.sqrt(values[kept])


@dataclass(frozen=True, eq=False)
class Axes:
    """Principal axes of coordinates, about the origin."""

    map: Array  # (r, rank): orthonormal columns, the longest axis first
    eigenvalues: Array  # of the Gram matrix of the coordinates

    @property
    def rank(self) -> int:
        """Numerical rank; zero when all rows are at the origin."""
        return int((self.eigenvalues > 0).sum())


def principal_axes(coordinates: Array) -> Axes:
    """Axes along which coordinates vary, to numerical rank (as in :func:`kernel_space`).

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.spaces.kernel import principal_axes
    >>> axes = principal_axes(np.array([[1.0, 1.0], [2.0, 2.0]]))
    >>> axes.rank, axes.eigenvalues.round(6)
    (1, array([10.]))
    """
    n, r = coordinates.shape
    values, vectors = np.linalg.eigh(coordinates.T @ coordinates)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > max(n, r) * np.finfo(np.float64).eps * max(float(values[0]), 0.0)
    if not kept.any():
        return Axes(vectors[:, :1], np.zeros(1))
    return Axes(vectors[:, kept], values[kept])


def participation_ratio(eigenvalues: ArrayLike) -> float:
    r"""How many eigenvalues take part: :math:`(\sum_i \lambda_i)^2 / \sum_i \lambda_i^2`.

    One when one eigenvalue is all there is, r when r are equal.

    Examples
    --------
    >>> from linkshift.spaces.kernel import participation_ratio
    >>> participation_ratio([2.0, 2.0, 2.0, 0.0])
    3.0
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    largest = float(values.max(initial=0.0))
    if largest <= 0:
        return 1.0
    values = values / largest
    return float(values.sum() ** 2 / (values**2).sum())


def spread_dimension(coordinates: Array) -> float:
    r"""Participation ratio of the eigenvalues of the covariance C.

    .. math:: (\operatorname{tr} C)^2 / \operatorname{tr} C^2

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.spaces.kernel import spread_dimension
    >>> round(spread_dimension(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])), 6)
    2.0
    """
    centred = coordinates - coordinates.mean(axis=0)
    largest = float(np.abs(centred).max(initial=0.0))
    if largest == 0:
        return 1.0
    centred /= largest
    scatter = centred.T @ centred if centred.shape[0] > centred.shape[1] else centred @ centred.T
    return float(np.trace(scatter) ** 2 / np.einsum("ij,ij->", scatter, scatter))


def sigma_from_links(X: ArrayLike, links: Links) -> float:
    r"""Width at which the Gaussian kernel tells must-links from cannot-links best.

    .. math:: \sigma = \operatorname{argmax}_\sigma \;
              \operatorname{mean}_{\text{must}} K_\sigma(x_a, x_b)
              - \operatorname{mean}_{\text{cannot}} K_\sigma(x_a, x_b)

    over half octaves from 1/16 to 16 mean pair distances, links weighed by their confidence. With
    one kind of links only, pairs of rows at large stand in for the other. A width that is too
    small takes must-linked rows apart, one that is too large brings cannot-linked rows together.

    Where must-linked rows are farther from each other than the others at every width, the
    criterion says nothing: the mean pair distance is taken, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Links
    >>> from linkshift.spaces.kernel import sigma_from_links
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> sigma_from_links(X, Links(must=[(0, 1)], cannot=[(1, 2)]))
    3.5
    """
    data: Array = check_array(X, dtype=[np.float64, np.float32])
    links = Links.coerce(links).check(data.shape[0]).expanded()
    if not len(links):
        raise ValueError("sigma='links' needs links; give some, or a number for sigma.")
    distances = pair_distances(data)
    scale = float(distances.mean()) or 1.0
    must = _squared_lengths(data, links.must)
    cannot = _squared_lengths(data, links.cannot)
    any_pair = distances**2
    contrast = np.array(
        [
            _mean_kernel(must, links.must_confidence, sigma, any_pair)
            - _mean_kernel(cannot, links.cannot_confidence, sigma, any_pair)
            for sigma in scale * _WIDTHS
        ]
    )
    best = int(np.argmax(contrast))
    if contrast[best] <= 0:
        warn(
            Advice(
                "Must-linked rows are farther apart than the others at every kernel width: links "
                f"do not choose one, and sigma is the mean pair distance, {scale:.3g}.",
                parameter="sigma",
                value="links",
            )
        )
        return scale
    return float(scale * _WIDTHS[best])


def _squared_lengths(X: Array, pairs: Array) -> Array:
    difference = X[pairs[:, 0]].astype(np.float64) - X[pairs[:, 1]]
    return np.einsum("ij,ij->i", difference, difference)


def _mean_kernel(squared: Array, confidence: Array, sigma: float, otherwise: Array) -> float:
    if not squared.size:
        return float(np.exp(otherwise * (-0.5 / sigma**2)).mean())
    return float(np.average(np.exp(squared * (-0.5 / sigma**2)), weights=confidence))
