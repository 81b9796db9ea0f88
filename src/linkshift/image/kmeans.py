"""How many clusters the pixels of an image have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from linkshift._core.messages import check_count
from linkshift.image.features import FeatureSpaces, pixel_features
from linkshift.kmeans import Elbow, StartName
from linkshift.kmeans import kmeans_elbow as elbow_of_rows
from linkshift.kmeans.elbow import Seed

KMEANS_FEATURES = {"lab": 1.0, "position": 0.1}


def kmeans_elbow(
    image: ArrayLike,
    n_segments: Iterable[int] = range(1, 13),
    *,
    features: FeatureSpaces | None = None,
    held_out: int = 0,
    init: StartName = "k-means++",
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> Elbow:
    """Run k-means of pixels for several numbers of clusters, and suggest one.

    Parameters
    ----------
    image : array-like
        As in :func:`segment`. Of more than 20,000 pixels as many are drawn at random.
    n_segments : iterable of int, default=range(1, 13)
        Numbers of clusters, at least one.
    features : str or mapping, default=None
        As in :func:`pixel_features`; None takes ``{"lab": 1.0, "position": 0.1}``.
    held_out, init
        As in :func:`linkshift.kmeans_elbow`. Pixels that are held out have neighbours that are
        not, which are much like them.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The result does not depend on it.
    random_state : int, RandomState or None
        Of draws and starts.

    Returns
    -------
    Elbow

    See Also
    --------
    linkshift.kmeans_elbow : the same for rows of any table, with the rules.
    linkshift.pictures.plot.elbow : draw it.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image import kmeans_elbow
    >>> image = np.repeat(np.array([[0, 120, 255]], dtype=np.uint8), 20, axis=0)
    >>> curve = kmeans_elbow(image, range(1, 7), features="intensity", random_state=0)
    >>> curve.suggested
    3
    """
    points = pixel_features(image, KMEANS_FEATURES if features is None else features)
    points = points.reshape(-1, points.shape[2])
    counts = [check_count("n_segments", k) for k in n_segments]
    run: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
    return elbow_of_rows(points, counts, held_out=held_out, init=init, **run)
