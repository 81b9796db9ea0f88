"""Pictures of clusters, links, modes, shift and bandwidth paths, explanations, elbows and views.

Public as ``linkshift.plot``. Needs matplotlib (``pip install "linkshift[plot]"``). Every function
draws on the axes that it is given, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkshift.pictures import scene
from linkshift.pictures.charts import HeatMap, PathChart
from linkshift.pictures.colours import CANNOT, INK, MUST, NOISE_GREY, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from linkshift import GroupFeatureClustering, Links
    from linkshift.bandwidth.path import BandwidthPath
    from linkshift.explain.explanation import Explanation
    from linkshift.kmeans import Elbow

__all__ = [
    "CANNOT",
    "INK",
    "MUST",
    "NOISE_GREY",
    "PALETTE",
    "bandwidth_path",
    "clusters",
    "elbow",
    "explanation",
    "paths",
    "view_importances",
]


def _artists() -> Any:
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'linkshift.plot needs matplotlib: pip install "linkshift[plot]"'
        ) from error
    from linkshift.pictures import _artists

    return _artists


def _expect(name: str, value: object, attribute: str, maker: str) -> None:
    if not hasattr(value, attribute):
        raise TypeError(f"{name} must be what {maker} gives, got a {type(value).__name__}")


def clusters(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    links: Links | None = None,
    modes: ArrayLike | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    legend: bool = True,
    size: float | None = None,
) -> Axes:
    """Draw clusters in colour, with their links and modes.

    Noise (-1) is drawn as grey crosses, must-links as solid green lines, cannot-links as dashed red
    lines. A link that `labels` does not keep is drawn thicker, with a cross at its middle.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points. More than two columns are projected on their first two principal components;
        a single column is drawn along the x axis, spread out vertically.
    labels : array-like of shape (n,)
        Cluster of each point, -1 for noise.
    links : Links or None
        Pairs to draw, by row of `X`.
    modes : array-like of shape (m, d) or None
        Points to mark with stars.
    ax : matplotlib Axes or None
        Where to draw; None makes a figure.
    title : str or None
    legend : bool
        Whether to say, right of the picture, what the colours and lines mean.
    size : float or None
        Area of a point in square typographic points; None suits the number of points.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> ax = clusters([[0, 0], [0, 1], [5, 5], [9, 0]], [0, 0, 1, -1], title="three and a half")
    >>> ax.get_title(loc="left")
    'three and a half'
    >>> plt.close()
    """
    found = scene.of_clusters(X, labels, links, modes)
    return _artists().draw_scene(found, ax, title, legend=legend, size=size)


def paths(
    X: ArrayLike,
    paths: Sequence[ArrayLike],
    *,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    size: float | None = None,
) -> Axes:
    """Draw the path that each start takes to its mode.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points, drawn faintly; projected as in `clusters`.
    paths : sequence of array-like of shape (steps, d)
        Positions along each path, from its start to its end.
    labels : array-like of shape (n,) or None
        Cluster of each point. The points take the clusters' colours, and so do the paths when
        there is one for each point.
    ax, title, size : as in `clusters`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> ax = paths([[0.0, 0.0], [2.0, 0.0]], [[[0, 0], [1, 0]], [[2, 0], [1.5, 0], [1, 0]]])
    >>> len(ax.collections[1].get_segments())
    2
    >>> plt.close()
    """
    found = scene.of_paths(X, paths, labels)
    return _artists().draw_scene(found, ax, title, legend=False, size=size)


def explanation(
    explained: Explanation,
    X: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    legend: bool = True,
    size: float | None = None,
    max_links: int = 12,
) -> Axes:
    """Draw why a row is in its cluster: its path to the mode, and the links that act on it.

    Links are drawn as in `clusters`. Where the row moved in another space than that of `X`, a
    dotted line goes through the rows that it came past, and the star is the row nearest to the
    mode.

    Parameters
    ----------
    explained : Explanation
        What ``model.explain(row)`` gives.
    X : array-like of shape (n, d)
        The points that the model was fitted on, drawn faintly; projected as in `clusters`.
    labels : array-like of shape (n,) or None
        Cluster of each point, for its colour.
    ax, title, legend, size
        As in `clusters`, but a title of None says row and cluster.
    max_links : int
        Most links to draw, the strongest first.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from linkshift import ConstrainedMeanShift, Links
    >>> from matplotlib import pyplot as plt
    >>> X = [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]]
    >>> model = ConstrainedMeanShift().fit(X, links=Links(cannot=[(0, 3)]))
    >>> ax = explanation(model.explain(0), X, labels=model.labels_)
    >>> ax.get_title(loc="left")
    'Row 0 is in cluster 0'
    >>> plt.close()
    """
    _expect("explained", explained, "counterfactuals", "model.explain(row)")
    found = scene.of_explanation(explained, X, labels, max_links)
    if title is None:
        cluster = "noise" if explained.label == -1 else f"in cluster {explained.label}"
        title = f"Row {explained.name(explained.row)} is {cluster}"
    return _artists().draw_scene(found, ax, title, legend=legend, size=size)


def elbow(curve: Elbow, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the sum of squared distances against the number of clusters, and mark the elbow.

    The chord from the first to the last point is dashed; the suggested number is the one farthest
    below it. With rows held out, their sum is drawn, too, and the number of its largest jump is
    marked (:func:`linkshift.kmeans_elbow`).

    Parameters
    ----------
    curve : Elbow
        What `linkshift.kmeans_elbow` and `linkshift.image.kmeans_elbow` give.
    ax, title : as in `clusters`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from linkshift.kmeans import Elbow
    >>> from matplotlib import pyplot as plt
    >>> ax = elbow(Elbow(np.array([1, 2, 3, 4]), np.array([90.0, 20.0, 15.0, 12.0]), 2))
    >>> ax.texts[0].get_text()
    'k = 2'
    >>> plt.close()
    """
    _expect("curve", curve, "suggested", "linkshift.kmeans_elbow")
    return _artists().draw_elbow(curve, ax, title)


def bandwidth_path(
    path: BandwidthPath, *, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw the number of clusters over the bandwidth, above their stability and violated links.

    Bandwidths and numbers of clusters are on logarithmic axes. A dotted line marks the level that
    `path.best` chooses: by the links if there are any, by stability otherwise. The panel of
    violated links is left out without links.

    Parameters
    ----------
    path : BandwidthPath
        What `linkshift.bandwidth_path` gives.
    ax, title
        As in `clusters`; the axes become the upper panel and make room for the others below.

    Returns
    -------
    matplotlib Axes
        Those of the number of clusters; the other panels follow in the figure's list of axes.

    Examples
    --------
    >>> import linkshift
    >>> from matplotlib import pyplot as plt
    >>> path = linkshift.bandwidth_path([[0.0], [1.0], [9.0]], bandwidths=[0.1, 1.0, 9.0])
    >>> ax = linkshift.plot.bandwidth_path(path)
    >>> ax.texts[0].get_text()
    '2 clusters at 1'
    >>> plt.close()
    """
    _expect("path", path, "violated_cannot", "linkshift.bandwidth_path")
    chart = PathChart.of(path, path.best("links" if path.links else "stability"))
    return _artists().draw_path_chart(chart, ax, title)


def view_importances(
    importances: GroupFeatureClustering | ArrayLike,
    *,
    view_names: Sequence[str] | None = None,
    cluster_names: Sequence[object] | None = None,
    sizes: Sequence[int] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw what each view has to say on each cluster, as a heat map.

    Clusters are rows, with their sizes, and views are columns. Darker is more; the darkest colour
    is the largest share in the picture. The share is written in each cell, that of a cluster's
    first view in bold. Where a cell is smaller than 22 by 11 typographic points (in a figure of
    its own: above about 50 clusters or 30 views) a colour bar takes the place of the numbers, and
    where names would overlap only every second, third, ... is written.

    Parameters
    ----------
    importances : GroupFeatureClustering or array-like of shape (n_clusters, n_views)
        A fitted model, or shares: not negative, with rows that sum to one.
    view_names : sequence of str or None
        Names of the columns; None takes those of the model, or ``view0``, ``view1``, ...
    cluster_names : sequence or None
        Names or numbers of the rows; None takes 0, 1, ...
    sizes : sequence of int or None
        Number of points in each cluster; None takes those of the model, or for a matrix writes
        none.
    ax, title : as in `clusters`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> ax = view_importances([[0.9, 0.1], [0.3, 0.7]], view_names=["shape", "colour"])
    >>> [text.get_text() for text in ax.texts]
    ['0.90', '0.10', '0.30', '0.70']
    >>> plt.close()
    """
    if hasattr(importances, "fit"):
        from sklearn.utils.validation import check_is_fitted

        from linkshift import GroupFeatureClustering

        model = importances
        if not isinstance(model, GroupFeatureClustering):
            raise TypeError(
                f"{type(model).__name__} has no views; pass a fitted GroupFeatureClustering or a "
                "matrix"
            )
        check_is_fitted(model, "view_importances_")
        importances = model.view_importances_
        view_names = model.view_names_ if view_names is None else view_names
        sizes = np.bincount(model.labels_).tolist() if sizes is None else sizes
    heat = HeatMap.of(importances, view_names, cluster_names, sizes)
    return _artists().draw_heat_map(heat, ax, title)
