"""Mean shift on a summary, and labels of rows that need not be in memory together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.arrays import Array
from linkshift._core.convergence import warn_if_moving
from linkshift._core.messages import Refusal
from linkshift._core.threads import n_threads
from linkshift.bandwidth import default_bandwidth
from linkshift.links import Links
from linkshift.modes import Modes, basin_labels, merge_ends, merging_share
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.scale.linked import LinkedModel, check_links, fit_linked
from linkshift.shift._checks import check_points
from linkshift.shift.engine import ascend
from linkshift.summaries import Landmarks, Summary, landmark_density, place_landmarks

__all__ = ["Model", "fit", "predict"]

_DRAWN = 20_000  # rows that stand for those of a summary, when a bandwidth is sought


@dataclass(frozen=True)
class Model:
    """Landmarks with labels.

    Attributes
    ----------
    landmarks : Landmarks
        The density of the summary; ``landmarks.labels`` has the cluster of each landmark, rows
        that were kept whole first.
    modes : Modes
        ``modes.centers`` are the clusters' centres, the densest first.
    bandwidth : float
        Bandwidth of rows.
    """

    landmarks: Landmarks
    modes: Modes
    bandwidth: float

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.modes.centers)

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return int(self.modes.centers.shape[1])

    def label(self, rows: Array, first: int | None, n_threads: int) -> Array:  # noqa: ARG002
        """Mode of each row; whose number does not matter."""
        return self.landmarks.label(rows, n_threads=n_threads)


def fit(
    summary: Summary,
    links: Links | None = None,
    *,
    bandwidth: float | None = None,
    kernel: ProfileName | Profile = "gaussian",
    max_iter: int = 300,
    tol: float = 1e-3,
    n_jobs: int | None = None,
) -> Model | LinkedModel:
    r"""Mean shift on the landmarks of a summary, constrained where there are links.

    Every landmark climbs the density of all, with kernels widened by their spreads:

    .. math:: f(x) = \sum_j w_j h_j^{-d}\, k\!\left(\|x - p_j\|^2 / h_j^2\right), \qquad
              h_j^2 = h^2 + s_j / \sigma^2,

    where :math:`\sigma` is 1 for the Gaussian and :math:`1 / \sqrt{d + 2}` for the flat kernel, see
    :meth:`linkshift.profiles.Profile.spread`. Of a summary that has all rows, this is mean shift.

    Parameters
    ----------
    summary : Summary
        From :func:`summarise` or :func:`merge`.
    links : Links, default=None
        Between rows of the whole table, by their numbers. `summarise` must have kept these rows
        whole. Landmarks are then clustered by :class:`linkshift.ConstrainedMeanShift` with its
        defaults, but for ``scale_features``: columns count as they are. A landmark's weight is
        what it stands for, one on average. Other settings of this function are for mean shift
        alone, and refused.
    bandwidth : float, default=None
        Bandwidth h of rows. ``None`` takes it from 20,000 rows drawn from the summary, as normal
        about the landmarks, by :func:`linkshift.bandwidth.default_bandwidth`.
    kernel : str or Profile, default="gaussian"
        Kernel profile, see :mod:`linkshift.profiles`. Take a smooth one: those with a sharp end
        see whole landmarks come and go, and find modes that rows do not have.
    max_iter : int, default=300
        Largest number of steps.
    tol : float, default=1e-3
        A landmark has arrived when it moves by at most this many bandwidths.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.

    Returns
    -------
    Model or LinkedModel

    Notes
    -----
    Time grows like m^1.7 d; memory is O(m d).

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.scale import fit, predict, summarise
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 1.0, size=(500, 4)) for c in (0, 10)])
    >>> model = fit(summarise(X, 100))
    >>> labels = predict(model, X)
    >>> len(model.modes.centers), np.unique(labels[:500]).size, np.unique(labels[500:]).size
    (2, 1, 1)
    """
    profile = get_profile(kernel)
    if links is not None and links:
        settings = {"bandwidth": bandwidth, "kernel": profile, "max_iter": max_iter, "tol": tol}
        check_links(links, settings)
        return fit_linked(summary, links, n_jobs=n_jobs)
    if bandwidth is None:
        bandwidth = _bandwidth(summary, profile)
    density = landmark_density(summary, float(bandwidth), profile)
    ascent = ascend(
        density, summary.points, max_iter=max_iter, tol=tol, n_threads=n_threads(n_jobs)
    )
    warn_if_moving(ascent.converged, max_iter, "landmarks")
    modes = merge_ends(ascent.ends, ascent.total, merging_share(profile) * float(bandwidth))
    return Model(
        place_landmarks(density, basin_labels(ascent.ends, modes)), modes, float(bandwidth)
    )


def predict(
    model: Model | LinkedModel,
    chunk: ArrayLike,
    *,
    first: int | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Cluster of each row of a chunk, as near as landmarks tell.

    A row that is a landmark, as those that were kept whole, has its label. Another one makes a few
    steps on the density of the landmarks around it, and goes with the nearest of them; after a fit
    with links, the nearest landmarks vote (:func:`linkshift.refinement.neighbours_vote`).

    Parameters
    ----------
    model : Model or LinkedModel
        From :func:`fit`.
    chunk : array-like of shape (n, d)
        Rows.
    first : int, default=None
        Number of the chunk's first row in the whole table, after a fit with links: of equal rows,
        each that has links then gets the label of its own. ``None`` where these are other rows.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.

    Returns
    -------
    ndarray of shape (n,)
    """
    rows = np.asarray(chunk)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not rows.shape[0]:
        return np.empty(0, dtype=np.int64)
    check_points(rows, "chunk")
    d = model.n_features
    if rows.shape[1] != d:
        raise Refusal(
            f"The chunk has {rows.shape[1]} columns, and the model is of {d}.",
            "Give rows with the columns that were summarised.",
            parameter="chunk",
        )
    return model.label(rows, first, n_threads(n_jobs))


def _bandwidth(summary: Summary, profile: Profile) -> float:
    """Find the default bandwidth of the rows that a summary stands for."""
    weights, rng = summary.weights, np.random.default_rng(0)
    points: Array = summary.points
    if not summary.spread.any():
        return default_bandwidth(points, profile, sample_weight=weights)
    total = float(weights.sum())
    size = int(np.clip(total, 2, _DRAWN))
    which = np.sort(rng.choice(len(weights), size=size, p=weights / total))
    noise = rng.normal(size=(size, points.shape[1]))
    drawn = points[which] + noise * np.sqrt(summary.spread[which])[:, None]
    return default_bandwidth(drawn.astype(points.dtype), profile, stands_for=max(total / size, 1.0))
