"""Pictures of clusters, links, modes, shift and bandwidth paths, explanations, elbows and views.

Needs matplotlib (``pip install "linkshift[plot]"``), which is imported when a picture is drawn.
Every function draws on the axes that it is given, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkshift import _charts, _drawing
from linkshift._drawing import CANNOT, INK, MUST, NOISE_GREY, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from linkshift.bandwidth.path import BandwidthPath
    from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
    from linkshift.explain.explanation import Explanation
    from linkshift.image.kmeans import Elbow
    from linkshift.links import Links

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
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = clusters([[0, 0], [0, 1], [5, 5], [9, 0]], [0, 0, 1, -1], title="three and a half")
    >>> ax.get_title(loc="left")
    'three and a half'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    points, groups = _drawing.check_points(X), _drawing.check_labels(labels, X)
    plane = _drawing.Plane.of(points)
    flat = plane.project(points)
    marks = (
        None
        if modes is None
        else plane.project(_drawing.same_width(modes, points, "modes"), height=0.5)
    )
    # Checked before anything is drawn: a bad link must not leave half a picture.
    drawn = [] if links is None else _drawing.link_groups(groups, links)
    ax = _drawing.new_axes(ax, _drawing.figure_size(flat, with_legend=legend))
    area = _drawing.point_area(len(points)) if size is None else size

    _drawing.scatter(ax, flat, groups, area=area)
    n_links = sum(len(group.pairs) for group in drawn)
    for group in drawn:
        _drawing.draw_links(ax, flat, group, n_links=n_links, area=area)
    if marks is not None:
        _drawing.draw_modes(ax, marks, area=area)
    _drawing.finish(ax, plane, flat, title)
    if legend:
        _drawing.draw_legend(ax, groups, drawn, 0 if marks is None else len(marks))
    return ax


def paths(
    X: ArrayLike,
    paths: Sequence[ArrayLike],
    *,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    size: float | None = None,
) -> Axes:
    """Draw the way that each start takes to its mode.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points, drawn faintly; projected as in `clusters`.
    paths : sequence of array-like of shape (steps, d)
        Positions along each path, from its start to its end.
    labels : array-like of shape (n,) or None
        Cluster of each point. The points take the clusters' colours, and so do the paths when
        there is one for each point.
    ax : matplotlib Axes or None
        Where to draw; None makes a figure.
    title : str or None
    size : float or None
        Area of a point in square typographic points; None suits the number of points.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = paths([[0.0, 0.0], [2.0, 0.0]], [[[0, 0], [1, 0]], [[2, 0], [1.5, 0], [1, 0]]])
    >>> len(ax.collections[1].get_segments())
    2
    >>> matplotlib.pyplot.close(ax.figure)
    """
    points = _drawing.check_points(X)
    plane = _drawing.Plane.of(points)
    flat = plane.project(points)
    groups = None if labels is None else _drawing.check_labels(labels, X)
    steps = [_drawing.same_width(path, points, f"paths[{i}]") for i, path in enumerate(paths)]
    height = _drawing.spread(len(steps))
    ways = [
        plane.project(path, height=h) for path, h in zip(steps, height, strict=True) if len(path)
    ]
    ax = _drawing.new_axes(ax, _drawing.figure_size(flat, with_legend=False))
    area = _drawing.point_area(len(points)) if size is None else size

    if groups is None:
        ax.scatter(flat[:, 0], flat[:, 1], s=area, c="#C4C9D1", linewidths=0, zorder=1)
        colours: Any = "#3B6FB6"
    else:
        _drawing.scatter(ax, flat, groups, area=area, alpha=0.3)
        colours = _drawing.colours_of(groups) if len(ways) == len(groups) else INK
    _drawing.draw_paths(ax, ways, colours)
    _drawing.finish(ax, plane, np.vstack([flat, *ways]), title)
    return ax


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
    """Draw why a row is in its cluster: its way to the mode, and the links that act on it.

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
    ax : matplotlib Axes or None
        Where to draw; None makes a figure.
    title : str or None
        None says row and cluster.
    legend : bool
        Whether to say, right of the picture, what the lines mean.
    size : float or None
        Area of a point in square typographic points; None suits the number of points.
    max_links : int
        Most links to draw, the strongest first.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from linkshift import ConstrainedMeanShift, Links
    >>> X = [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]]
    >>> model = ConstrainedMeanShift().fit(X, links=Links(cannot=[(0, 3)]))
    >>> ax = explanation(model.explain(0), X, labels=model.labels_)
    >>> ax.get_title(loc="left")
    'Row 0 is in cluster 0'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if not hasattr(explained, "counterfactuals"):
        raise TypeError(
            "explained must be what model.explain(row) gives, got a " + type(explained).__name__
        )
    points = _drawing.check_points(X)
    groups = None if labels is None else _drawing.check_labels(labels, X)
    plane = _drawing.Plane.of(points)
    flat = plane.project(points)
    way, mode = _drawing.explained_way(explained, points)
    # On a line, points are spread out vertically: the way stays at the height of its row.
    height = float(flat[explained.row, 1])
    drawn = _drawing.role_groups(explained.links[:max_links])
    ax = _drawing.new_axes(ax, _drawing.figure_size(flat, with_legend=legend))
    area = _drawing.point_area(len(points)) if size is None else size

    if groups is None:
        ax.scatter(flat[:, 0], flat[:, 1], s=area, c="#C4C9D1", linewidths=0, zorder=1)
    else:
        _drawing.scatter(ax, flat, groups, area=area, alpha=0.3)
    n_links = sum(len(group.pairs) for group in drawn)
    for group in drawn:
        _drawing.draw_links(ax, flat, group, n_links=n_links, area=area)
    line = flat[[explained.row]] if way is None else plane.project(way, height=height)
    _drawing.draw_explained(ax, line, explained.space, area=area)
    if mode is not None:
        _drawing.draw_modes(ax, plane.project(mode, height=height), area=area)
    if title is None:
        cluster = "noise" if explained.label == -1 else f"in cluster {explained.label}"
        title = f"Row {explained.name(explained.row)} is {cluster}"
    _drawing.finish(ax, plane, np.vstack([flat, line]), title)
    if legend:
        _drawing.draw_explained_legend(ax, drawn, explained)
    return ax


def elbow(curve: Elbow, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the sum of squared distances against the number of clusters, and mark the elbow.

    The chord from the first to the last point is dashed; the suggested number is the one farthest
    below it.

    Parameters
    ----------
    curve : Elbow
        What `linkshift.image.kmeans_elbow` gives.
    ax : matplotlib Axes or None
        Where to draw; None makes a figure.
    title : str or None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from linkshift.image import Elbow
    >>> ax = elbow(Elbow(np.array([1, 2, 3, 4]), np.array([90.0, 20.0, 15.0, 12.0]), 2))
    >>> ax.texts[0].get_text()
    'k = 2'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if not hasattr(curve, "suggested"):
        raise TypeError(
            "curve must be what linkshift.image.kmeans_elbow gives, got a " + type(curve).__name__
        )
    ax = _drawing.new_axes(ax, (5.2, 3.4))
    _charts.draw_elbow(ax, curve.n_segments, curve.inertia, curve.suggested)
    _charts.finish_elbow(ax, title)
    return ax


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
        What `linkshift.bandwidth.path.bandwidth_path` gives.
    ax : matplotlib Axes or None
        Where to draw; they become the upper panel and make room for the others below. None makes
        a figure.
    title : str or None

    Returns
    -------
    matplotlib Axes
        Those of the number of clusters; the other panels follow in the figure's list of axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from linkshift.bandwidth.path import bandwidth_path as make_path
    >>> ax = bandwidth_path(make_path([[0.0], [1.0], [9.0]], bandwidths=[0.1, 1.0, 9.0]))
    >>> ax.texts[0].get_text()
    '2 clusters at 1'
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if not hasattr(path, "violated_cannot"):
        raise TypeError(
            "path must be what linkshift.bandwidth.path.bandwidth_path gives, got a "
            + type(path).__name__
        )
    has_links = bool(len(path.links.must) + len(path.links.cannot))
    ax = _drawing.new_axes(ax, (5.6, 5.2 if has_links else 4.2))
    _charts.draw_bandwidth_path(ax, path, "links" if has_links else "stability", title)
    return ax


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
    ax : matplotlib Axes or None
        Where to draw; None makes a figure.
    title : str or None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = view_importances([[0.9, 0.1], [0.3, 0.7]], view_names=["shape", "colour"])
    >>> [text.get_text() for text in ax.texts]
    ['0.90', '0.10', '0.30', '0.70']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    if hasattr(importances, "fit"):
        model = _charts.check_group_model(importances)
        importances = model.view_importances_
        view_names = model.view_names_ if view_names is None else view_names
        sizes = np.bincount(model.labels_).tolist() if sizes is None else sizes
    shares = _charts.check_shares(importances)
    n, m = shares.shape
    columns = [f"view{v}" for v in range(m)] if view_names is None else view_names
    columns = [str(name) for name in _charts.check_count(columns, m, "view_names", "view")]
    names = range(n) if cluster_names is None else cluster_names
    names = _charts.check_count(names, n, "cluster_names", "cluster")
    rows = [_drawing.cluster_name(name) for name in names]
    if sizes is not None:
        counts = _charts.check_count(sizes, n, "sizes", "cluster")
        rows = [f"{row} ({count})" for row, count in zip(rows, counts, strict=True)]
    ax = _drawing.new_axes(ax, _charts.heat_map_size((n, m), rows, columns))
    _charts.draw_heat_map(ax, shares, rows, columns, title)
    return ax
