"""Segmentation of images: mean shift or k-means of pixels, and regions that make sense."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from linkshift._core.arrays import Array, Progress
from linkshift._core.labels import first_come
from linkshift._core.messages import Refusal, check_count
from linkshift.image._pixels import Pixels
from linkshift.image.features import FeatureSpaces, check_spaces, pixel_features, read_colours
from linkshift.image.filtering import mean_shift_modes
from linkshift.image.kmeans import KMEANS_FEATURES, kmeans_elbow
from linkshift.image.regions import (
    RegionGraph,
    Regions,
    connected_regions,
    least_size,
    merge_similar,
    merge_small,
    mode_regions,
    region_graph,
)
from linkshift.image.scribbles import check_scribbles, segment_scribbled
from linkshift.image.smoothing import smooth_assignments
from linkshift.kmeans import KMeansFit, fit_kmeans
from linkshift.kmeans.elbow import Seed
from linkshift.modes import merge_close

Method = Literal["mean_shift", "kmeans"]

_SPATIAL_BANDWIDTH = 12.0
_RANGE_BANDWIDTH = 6.5
_SCRIBBLE_RANGE_BANDWIDTH = 2.5  # strokes want smaller regions to choose from
_MERGE_BANDWIDTH = 10.0
_SPECK = 50  # pixels; smaller regions are taken for noise before means are compared
_MOST_SUGGESTED = 12  # clusters of k-means


def segment(
    image: ArrayLike,
    method: Method = "mean_shift",
    *,
    spatial_bandwidth: float | None = None,
    range_bandwidth: float | None = None,
    merge_bandwidth: float | None = None,
    n_segments: int | None = None,
    features: FeatureSpaces | None = None,
    smooth: float | None = None,
    min_size: int | None = None,
    connected: bool = True,
    scribbles: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: Progress | None = None,
) -> NDArray[np.int32]:
    r"""Divide an image into regions by clustering its pixels.

    "mean_shift" finds the mode of every pixel in the joint space of place and ``features``, such as
    CIE L*a*b* colour, and groups neighbouring pixels whose modes are within the bandwidths of each
    other, transitively: an over-segmentation. Regions of fewer than 50 pixels (or ``min_size``, if
    that is less) go to their most similar neighbours. Then neighbouring regions merge, the most
    similar first, until all neighbours are more than ``merge_bandwidth`` apart; what is smaller
    than ``min_size`` then goes to the most similar neighbour. The distance of two regions is that
    of their mean ``features``, times a factor that favours long common borders,

    .. math:: d_{ab} = \|m_a - m_b\| \,
              \Bigl(\frac{\sqrt{\min(n_a, n_b)}}{l_{ab}}\Bigr)^{1/4}

    for n pixels and l sides of pixels along the border (0.7 for a square within another region).

    "kmeans" clusters the ``features`` of the pixels by k-means, from the best of four starts by
    k-means++ (of 20,000 pixels drawn at random, where there are more); connected parts of clusters
    smaller than ``min_size`` go to the most similar neighbour. ``smooth`` makes neighbouring pixels
    agree on their clusters before.

    Parameters
    ----------
    image : array-like of shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA; uint8, uint16 or float from 0 to 1. Alpha has no say.
    method : {"mean_shift", "kmeans"}, default="mean_shift"
    spatial_bandwidth : float, default=None
        Of mean shift, in pixels; None takes 12.
    range_bandwidth : float, default=None
        Of mean shift, in units of ``features``; None takes 6.5, and 2.5 with ``scribbles``, which
        choose among finer regions.
    merge_bandwidth : float, default=None
        Of mean shift: distance up to which neighbouring regions merge; None takes 10, zero
        merges equal ones only.
    n_segments : int, default=None
        Of k-means: the number of clusters. None takes what :func:`kmeans_elbow` suggests.
    features : str or mapping of str to float, default=None
        Feature space as in :func:`pixel_features`, such as "lab+position" or ``{"lab": 1.0,
        "texture": 0.3}``: where modes are found, regions compared and pixels clustered. A weight w
        makes a bandwidth of mean shift :math:`1 / w` as large for its columns. None takes "lab",
        for k-means ``{"lab": 1.0, "position": 0.1}``.
    smooth : float, default=None
        Of k-means: what a neighbour in another cluster costs a pixel, in mean squared distances to
        the own centre (:func:`smooth_assignments`); 1 is usual. None lets each pixel go by itself.
    min_size : int, default=None
        Pixels that a region has at least, unless the image has fewer; None takes a three-hundredth
        of the image.
    connected : bool, default=True
        Whether every label is one connected region (over the sides of pixels). Otherwise, of
        k-means, parts of a cluster have the same label; of mean shift, regions that a chain of
        steps within ``merge_bandwidth`` connects have it, wherever they are.
    scribbles : array-like of shape (h, w), of whole numbers, default=None
        Strokes: 0 where there is none, otherwise their number. Pixels of the same number will be
        of one label, connected or not, of different numbers of different ones. Regions then merge
        by :func:`segment_scribbled`, whose ``bandwidth`` is ``merge_bandwidth`` (which may be
        infinite here), or its own default.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. The result does not depend on it.
    random_state : int, RandomState or None
        Of k-means. Mean shift has no chance in it.
    progress : callable, default=None
        Called with (rows done, rows) of the filter, by k-means once at the end.

    Returns
    -------
    ndarray of shape (h, w), int32
        Labels 0, 1, ... in the order of their first pixels, row by row. An image of one colour has
        one label.

    See Also
    --------
    mean_shift_filter : the smoothing alone.
    kmeans_elbow : how many clusters.

    Notes
    -----
    Time is that of the modes for the most part and grows with the number of pixels and the square
    of the spatial bandwidth. Memory is about 55 bytes for each pixel with mean shift in L*a*b*, up
    to 250 in mere noise, where every pixel is a region at first; each further feature takes 4.

    References
    ----------
    D. Comaniciu, P. Meer: Mean Shift: A Robust Approach Toward Feature Space Analysis. IEEE TPAMI
    24 (5), 2002, section 4.2. The merging of regions by their means is not in it.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.image import segment
    >>> image = np.full((6, 9, 3), 30, dtype=np.uint8)
    >>> image[2:5, 3:7] = (200, 60, 60)
    >>> segment(image)[3]
    array([0, 0, 0, 1, 1, 1, 1, 0, 0], dtype=int32)
    >>> segment(image, "kmeans", n_segments=2, features="rgb", random_state=0)[3]
    array([0, 0, 0, 1, 1, 1, 1, 0, 0], dtype=int32)
    """
    if not isinstance(connected, bool | np.bool_):
        raise TypeError(f"connected must be True or False, not {connected!r}.")
    if scribbles is not None and not connected:
        raise ValueError(
            "connected=False has no meaning with scribbles: strokes say what is joined across the "
            "image. Leave it out."
        )
    pixels = read_colours(image)
    h, w = pixels.size
    least = least_size(min_size, h * w)
    # Strokes have their say last, and are refused first.
    strokes = None if scribbles is None else check_scribbles(scribbles, (h, w))
    if method == "mean_shift":
        _refuse(method, n_segments=n_segments, random_state=random_state, smooth=smooth)
        radius = _check_merge_bandwidth(merge_bandwidth, strokes is not None)
        if range_bandwidth is None:
            range_bandwidth = _RANGE_BANDWIDTH if strokes is None else _SCRIBBLE_RANGE_BANDWIDTH
        over = _modes_of_pixels(
            image, pixels, spatial_bandwidth, range_bandwidth, features, least, n_jobs, progress
        )
        if strokes is not None:
            return _scribbled(over, strokes, merge_bandwidth, least)
        return _merged_by_means(over, radius, least, connected)
    if method != "kmeans":
        raise ValueError(f'method={method!r} is none of "mean_shift" and "kmeans".')
    widths = {"spatial_bandwidth": spatial_bandwidth, "range_bandwidth": range_bandwidth}
    _refuse(method, **widths, merge_bandwidth=merge_bandwidth)
    over = _parts_of_clusters(image, pixels, n_segments, features, smooth, n_jobs, random_state)
    if progress is not None:
        progress(h, h)
    if strokes is not None:
        return _scribbled(over, strokes, None, least)
    return _merged_by_clusters(over, least, connected)


@dataclass(frozen=True)
class _OverSegmentation:
    """More regions than there shall be."""

    regions: Regions
    features: Array
    graph: RegionGraph
    clusters: NDArray[np.int32]  # of each region, where there are clusters


def _modes_of_pixels(
    image: ArrayLike,
    pixels: Pixels,
    spatial_bandwidth: float | None,
    range_bandwidth: float,
    features: FeatureSpaces | None,
    least: int,
    n_jobs: int | None,
    progress: Progress | None,
) -> _OverSegmentation:
    """Group pixels by their modes; specks go to their neighbours."""
    spaces = check_spaces("lab" if features is None else features)
    values = pixel_features(image, spaces)
    h_s = _SPATIAL_BANDWIDTH if spatial_bandwidth is None else spatial_bandwidth
    run: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    if spaces != {"lab": 1.0}:
        modes = mean_shift_modes(image, h_s, range_bandwidth, features=spaces, **run)
    elif pixels.n_colours == 3:
        modes = mean_shift_modes(image, h_s, range_bandwidth, colour_space="lab", **run)
    else:
        lightness = pixel_features(image, "intensity")
        modes = mean_shift_modes(lightness, h_s, range_bandwidth, **run)
    fine = mode_regions(modes, h_s, range_bandwidth)
    graph, into = merge_small(region_graph(fine, values), min(_SPECK, least))
    own = np.arange(graph.counts.shape[0], dtype=np.int32)
    return _OverSegmentation(into[fine], values, graph, own)


def _merged_by_means(
    over: _OverSegmentation, radius: float, least: int, connected: bool
) -> NDArray[np.int32]:
    graph, into = merge_similar(over.graph, radius)
    graph, last = merge_small(graph, least)
    into = last[into]
    if not connected:
        into = first_come(merge_close(graph.means, radius), np.int32)[into]
    return into[over.regions]


def suggested_clusters(
    image: ArrayLike, features: FeatureSpaces | None, n_jobs: int | None, random: Seed
) -> int:
    """Give the number of clusters that k-means takes where none is asked for."""
    spaces = KMEANS_FEATURES if features is None else features
    h, w = np.shape(image)[:2]
    counts = range(1, min(_MOST_SUGGESTED, h * w) + 1)
    found = kmeans_elbow(image, counts, features=spaces, n_jobs=n_jobs, random_state=random)
    return found.suggested


def _parts_of_clusters(
    image: ArrayLike,
    pixels: Pixels,
    n_segments: int | None,
    features: FeatureSpaces | None,
    smooth: float | None,
    n_jobs: int | None,
    random_state: Seed,
) -> _OverSegmentation:
    """Cluster pixels by k-means, and split clusters into connected parts."""
    h, w = pixels.size
    spaces = KMEANS_FEATURES if features is None else features
    values = pixel_features(image, spaces)
    random = check_random_state(random_state)
    if n_segments is None:
        k = suggested_clusters(image, spaces, n_jobs, random)
    else:
        k = check_count("n_segments", n_segments)
    if k > h * w:
        raise Refusal(
            f"{k} segments are more than the {h * w} pixels.",
            "Take a smaller n_segments.",
            command="Take a smaller --segments.",
            parameter="n_segments",
            value=n_segments,
        )
    if (pixels.image == pixels.image[:1, :1])[..., : pixels.n_colours].all():
        k = 1  # where there is nothing to see, places alone would be clustered
    found = fit_kmeans(values.reshape(h * w, -1), k, n_jobs=n_jobs, random=random)
    labels = found.labels.reshape(h, w)
    if smooth is not None:
        labels = smooth_assignments(labels, _distances(values, found), weight=smooth)
    regions = connected_regions(labels)
    graph = region_graph(regions, values)
    clusters = np.empty(graph.counts.shape[0], dtype=np.int32)
    clusters[regions] = labels
    return _OverSegmentation(regions, values, graph, clusters)


def _distances(values: Array, found: KMeansFit) -> Array:
    """Squared distances of pixels to all centres, in those that they have on the whole."""
    n_pixels = values.shape[0] * values.shape[1]
    unit = found.inertia / n_pixels or 1.0
    costs = np.empty((*values.shape[:2], len(found.centres)), dtype=np.float32)
    for c, centre in enumerate(found.centres):
        apart = values - centre.astype(np.float32)
        costs[..., c] = np.einsum("ijk,ijk->ij", apart, apart) / unit
    return costs


def _merged_by_clusters(over: _OverSegmentation, least: int, connected: bool) -> NDArray[np.int32]:
    _, into = merge_small(over.graph, least)
    # The largest part of a region gives it its cluster; it may now touch others of the same.
    order = np.argsort(over.graph.counts, kind="stable")
    cluster_of = np.empty(int(into.max()) + 1, dtype=np.int32)
    cluster_of[into[order]] = over.clusters[order]
    if connected:
        return connected_regions(cluster_of[into][over.regions])
    return first_come(cluster_of, np.int32)[into][over.regions]


def _scribbled(
    over: _OverSegmentation, strokes: Array, merge_bandwidth: float | None, least: int
) -> NDArray[np.int32]:
    given = {} if merge_bandwidth is None else {"bandwidth": float(merge_bandwidth)}
    return segment_scribbled(over.regions, over.features, strokes, min_size=least, **given)


def _refuse(method: str, **given: Any) -> None:
    """Refuse arguments of the other method."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f'{name} has no meaning for method="{method}"; leave it out, or take the other '
                "method."
            )


def _check_merge_bandwidth(value: object, scribbled: bool) -> float:
    if value is None:
        return _MERGE_BANDWIDTH
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"merge_bandwidth must be a number, not {value!r}.")
    if scribbled and float(value) == math.inf:
        return math.inf  # no segments but those of the strokes
    if not 0.0 <= float(value) < math.inf:
        raise Refusal(
            f"The merge bandwidth is {value}, and must be finite and not negative (with scribbles "
            "it may be infinite).",
            "Give another merge_bandwidth.",
            command="Give another --merge-bandwidth.",
            parameter="merge_bandwidth",
            value=value,
        )
    return float(value)
