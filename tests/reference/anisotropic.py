"""Mean shift with a metric per point, straight from Cheema (2016): slow, literal, float64.

    z_ij = (s_i - x_j)' M_j (s_i - x_j) / h_j^2
    f(s_i) = sum_j a_j k(z_ij),  a_j = sqrt(det M_j) h_j^-d                         (4.7)
    s_i <- [sum_j B_j g(z_ij)]^-1 sum_j B_j g(z_ij) x_j,  B_j = a_j M_j / h_j^2     (4.8)

and a_j to the power of dimension / d where the volume of a kernel counts as in so many dimensions;
with one metric for all points

    s_i <- sum_j x_j h_j^-(d+2) g(z_ij) / sum_j h_j^-(d+2) g(z_ij)                  (4.5)
"""

import numpy as np
from tests.reference.mean_shift import shadow, weight


def with_ridge(metrics, ridge):
    """M_j + ridge (trace M_j / d) I."""
    d = metrics.shape[1]
    return np.array([M + ridge * np.trace(M) / d * np.eye(d) for M in metrics.astype(np.float64)])


def squared_distance(s, x, M, h):
    """z."""
    v = np.asarray(s, dtype=np.float64) - np.asarray(x, dtype=np.float64)
    return float(v @ M @ v) / h**2


def volume_factor(M, h, dimension=None):
    """(sqrt(det M) h^-d)^(dimension / d)."""
    d = M.shape[0]
    return (np.sqrt(np.linalg.det(M)) * h**-d) ** ((d if dimension is None else dimension) / d)


def composed(bases, weights):
    """sum_k w_jk b_k b_k'."""
    return np.array([sum(w * np.outer(b, b) for w, b in zip(row, bases, strict=True))
                     for row in weights])  # fmt: skip


def directions(metrics):
    """Bases and weights that compose these metrics: each has its own directions."""
    n, d, _ = metrics.shape
    values, vectors = np.linalg.eigh(metrics.astype(np.float64))
    roots = np.sqrt(np.maximum(values, 0.0))[:, :, None] * vectors.swapaxes(1, 2)
    return roots.reshape(n * d, d), np.kron(np.eye(n), np.ones(d))


def weights(points, metrics, h, s, kernel, reach=1.0, dimension=None):
    """a_j g(z_j) for all points."""
    return np.array(
        [
            volume_factor(M, hj, dimension) * weight(kernel, squared_distance(s, x, M, hj), reach)
            for x, M, hj in zip(points, metrics, h, strict=True)
        ]
    )


def density(points, metrics, h, s, kernel, reach=1.0, dimension=None):
    """f(s), eq. 4.7 without 1 / n."""
    return sum(
        volume_factor(M, hj, dimension) * shadow(kernel, squared_distance(s, x, M, hj), reach)
        for x, M, hj in zip(points, metrics, h, strict=True)
    )


def precision(points, metrics, h, s, kernel, reach=1.0, dimension=None):
    """Weighted mean of M_j / h_j^2; None where no point reaches."""
    w = weights(points, metrics, h, s, kernel, reach, dimension)
    if w.sum() == 0:
        return None
    return sum(wj * M / hj**2 for wj, M, hj in zip(w, metrics, h, strict=True)) / w.sum()


def step(points, metrics, h, s, kernel, reach=1.0, dimension=None):
    """One step of eq. 4.8; a start that no point reaches stays."""
    w = weights(points, metrics, h, s, kernel, reach, dimension)
    if w.sum() == 0:
        return np.asarray(s, dtype=np.float64)
    left = sum(wj * M / hj**2 for wj, M, hj in zip(w, metrics, h, strict=True))
    right = sum(wj * M @ x / hj**2 for wj, M, x, hj in zip(w, metrics, points, h, strict=True))
    return np.linalg.solve(left, right)


def step_global(points, M, h, s, kernel, reach=1.0, dimension=None):
    """One step of eq. 4.5."""
    d = points.shape[1] if dimension is None else dimension
    z = [squared_distance(s, x, M, hj) for x, hj in zip(points, h, strict=True)]
    w = h ** -(d + 2.0) * weight(kernel, np.array(z), reach)
    return w @ points / w.sum()


def climb(points, metrics, h, s, kernel, reach=1.0, dimension=None, max_iter=300, tol=1e-3):
    """Steps of eq. 4.8 until one is at most ``tol`` by the local precision: end and steps."""
    for n_iter in range(1, max_iter + 1):
        H = precision(points, metrics, h, s, kernel, reach, dimension)
        if H is None:
            return s, n_iter
        moved = step(points, metrics, h, s, kernel, reach, dimension)
        delta, s = moved - s, moved
        if delta @ H @ delta <= tol**2:
            break
    return s, n_iter


def local_bandwidth(points, metrics, k):
    """Eq. 4.6."""
    out = []
    for i, (x, M) in enumerate(zip(points, metrics, strict=True)):
        squared = [squared_distance(x, y, M, 1.0) for j, y in enumerate(points) if j != i]
        out.append(np.sqrt(sorted(squared)[k - 1]))
    return np.array(out)
