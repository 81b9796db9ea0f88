"""Mean shift straight from the equations: slow, literal, float64, and nothing clever.

With u_ij = |s_i - x_j|^2 / h_j^2,

    m(s_i) = sum_j w_j h_j^-(d+2) g(u_ij) x_j / sum_j w_j h_j^-(d+2) g(u_ij)
    f(s_i) = sum_j w_j h_j^-d k(u_ij) / (sum_j w_j * integral of k(|x|^2) dx)

The profiles are written out once more here, so that the twin shares no line with the package.
"""

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln

KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")


def weight(kernel, u, reach=1.0):
    """g(u)."""
    u = np.asarray(u, dtype=np.float64)
    if kernel == "flat":
        return np.where(u <= 1.0, 1.0, 0.0)
    if kernel == "epanechnikov":
        return np.where(u <= 1.0, 1.0 - u, 0.0)
    if kernel == "gaussian":
        return np.exp(-u / 2.0)
    assert kernel == "truncated_gaussian"
    return np.where(u <= reach**2, np.exp(-u / 2.0), 0.0)


def shadow(kernel, u, reach=1.0):
    """k(u)."""
    u = np.asarray(u, dtype=np.float64)
    if kernel == "flat":
        return np.where(u <= 1.0, 1.0 - u, 0.0)
    if kernel == "epanechnikov":
        return np.where(u <= 1.0, (1.0 - u) ** 2 / 2.0, 0.0)
    if kernel == "gaussian":
        return 2.0 * np.exp(-u / 2.0)
    assert kernel == "truncated_gaussian"
    return np.where(u <= reach**2, 2.0 * (np.exp(-u / 2.0) - np.exp(-(reach**2) / 2.0)), 0.0)


def over_space(function, d, end):
    """Integrate function(r) over d-dimensional space, by shells of radius r up to ``end``."""
    log_surface = np.log(2.0) + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d)
    value, _ = quad(lambda r: function(r) * np.exp(log_surface) * r ** (d - 1), 0.0, end, limit=200)
    return value


def mass(kernel, d, reach=1.0):
    """Integral of k(|x|^2) over d-dimensional space."""
    end = {"flat": 1.0, "epanechnikov": 1.0, "gaussian": 40.0}.get(kernel, reach)
    return over_space(lambda r: float(shadow(kernel, r * r, reach)), d, end)


def squared_distances(starts, X):
    """|s_i - x_j|^2, coordinate by coordinate."""
    starts = np.asarray(starts, dtype=np.float64)
    X = np.asarray(X, dtype=np.float64)
    out = np.zeros((starts.shape[0], X.shape[0]))
    for k in range(X.shape[1]):
        out += (starts[:, k][:, None] - X[:, k][None, :]) ** 2
    return out


def _terms(X, h, sample_weight):
    X = np.asarray(X, dtype=np.float64)
    h = np.broadcast_to(np.asarray(h, dtype=np.float64), (X.shape[0],))
    w = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
    return X, h, w


def pair_weights(X, h, starts, kernel, sample_weight=None, reach=1.0):
    """w_j h_j^-(d+2) g(u_ij), h relative to its mean so that small cases do not overflow."""
    X, h, w = _terms(X, h, sample_weight)
    factor = w * (h / h.mean()) ** -(X.shape[1] + 2.0)
    return factor * weight(kernel, squared_distances(starts, X) / h**2, reach)


def mean_step(X, h, starts, kernel, sample_weight=None, reach=1.0):
    """One step; a start that no point reaches stays. Returns means and whether reached."""
    X, h, w = _terms(X, h, sample_weight)
    pairs = pair_weights(X, h, starts, kernel, w, reach)
    total = pairs.sum(axis=1)
    means = np.array(starts, dtype=np.float64)
    for i in range(means.shape[0]):
        if total[i] > 0:
            means[i] = (pairs[i][:, None] * X).sum(axis=0) / total[i]
    return means, total > 0


def ascend(X, h, starts, kernel, sample_weight=None, reach=1.0, max_iter=300, tol=1e-3):
    """All starts, one by one, until a step is at most tol typical bandwidths."""
    X, h, w = _terms(X, h, sample_weight)
    typical = np.exp((w * np.log(h)).sum() / w.sum())
    ends = np.array(starts, dtype=np.float64)
    paths = []
    for i in range(ends.shape[0]):
        path = [ends[i].copy()]
        for _ in range(max_iter):
            moved = mean_step(X, h, path[-1][None], kernel, w, reach)[0][0]
            step = np.linalg.norm(moved - path[-1])
            path.append(moved)
            if step <= tol * typical:
                break
        ends[i] = path[-1]
        paths.append(np.array(path))
    return ends, paths


def ascend_skipping(X, h, starts, order, kernel, end_radius, path_radius, first=64):
    """Ends of all starts, of which some take another's: near its path, or else near its end."""
    starts = np.asarray(starts, dtype=np.float64)
    ends, left, size = {}, list(order), first
    while left:
        batch, left, size = left[:size], left[size:], min(2 * size, 4096)
        climbed = {row: ascend(X, h, starts[[row]], kernel)[1][0] for row in batch}
        ends |= {row: path[-1] for row, path in climbed.items()}
        for row in list(left):
            near = [
                (np.linalg.norm(starts[row] - place), path[-1])
                for path in climbed.values()
                for place in path
            ]
            at_end = [
                (np.linalg.norm(starts[row] - path[-1]), path[-1]) for path in climbed.values()
            ]
            for candidates, radius in ((near, path_radius * h), (at_end, end_radius * h)):
                apart, end = min(candidates, key=lambda candidate: candidate[0])
                if apart <= radius and row in left:
                    ends[row] = end
                    left.remove(row)
    return np.array([ends[row] for row in range(len(starts))])


def blur(X, h, kernel, sample_weight=None, reach=1.0, max_iter=300, tol=1e-3):
    """Every point moves to its mean, all at once, until none moves far."""
    X, h, w = _terms(X, h, sample_weight)
    typical = np.exp((w * np.log(h)).sum() / w.sum())
    points = X.copy()
    for _ in range(max_iter):
        moved, _ = mean_step(points, h, points, kernel, w, reach)
        step = np.linalg.norm(moved - points, axis=1)
        points = moved
        if (step <= tol * typical).all():
            break
    return points


def log_density(X, h, starts, kernel, sample_weight=None, reach=1.0):
    """Log f, normalised to integrate to one."""
    X, h, w = _terms(X, h, sample_weight)
    d = X.shape[1]
    value = w * h**-d * shadow(kernel, squared_distances(starts, X) / h**2, reach)
    with np.errstate(divide="ignore"):
        return np.log(value.sum(axis=1)) - np.log(w.sum()) - np.log(mass(kernel, d, reach))


def merge_ends(ends, density, radius):
    """scikit-learn's rule: by density, then coordinates, both falling; strike out who is near."""
    ends = np.asarray(ends, dtype=np.float64)
    radius = np.broadcast_to(np.asarray(radius, dtype=np.float64), (ends.shape[0],))
    order = sorted(range(ends.shape[0]), key=lambda i: (density[i], tuple(ends[i])), reverse=True)
    modes = []
    for i in order:
        if all(np.linalg.norm(ends[i] - ends[j]) > radius[j] for j in modes):
            modes.append(i)
    return ends[modes]
