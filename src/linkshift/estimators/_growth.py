r"""How far the bandwidth of constrained mean shift should grow: let the links say.

With many links the bandwidth can grow without end: links keep apart what must be apart. With few,
clusters that no link happens to separate are swallowed, and it is better to stop near the scale of
the density. Links that had no part in a shift tell which: half of them bend it, the other half are
asked, at each of a few bandwidths, whether they agree with the clusters, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.bandwidth import default_bandwidth
from linkshift.links import Links

__all__ = ["best_level", "halves", "levels"]

Array = NDArray[Any]

# Where growth may stop, in default Gaussian bandwidths: below two, clusters crumble; above four,
# stopping and going on differ little on the data of docs/constrained_mean_shift.md.
_STOPS = (2.0, 2.5, 3.0, 4.0)
_FEWEST = 10  # links, below which halves say nothing
_GRAIN = 1e-3  # of the data's extent: lengths are compared in such units


def levels(points: Array, bandwidths: Array, links: Links) -> list[int]:
    """Return the iterations at which growth may stop, the last one among them.

    Only the last when there are too few links to ask, or so many (one for two rows) that they hold
    the clusters by themselves.
    """
    last = len(bandwidths) - 1
    if not len(links.cannot) or not _FEWEST <= len(links) < points.shape[0] / 2:
        return [last]
    scale = default_bandwidth(points, "gaussian")
    stops = np.searchsorted(bandwidths, scale * np.array(_STOPS))
    return sorted({int(stop) for stop in stops if stop < last} | {last})


def halves(points: Array, links: Links) -> list[Links]:
    """Split links in two, each by whether its length is odd or even in thousandths of the extent.

    As good as a coin, but the same whatever the order of the rows, and whatever links are added or
    taken away.
    """
    extent = float(np.ptp(points, axis=0).max()) or 1.0

    def odd(pairs: Array) -> Array:
        length = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        return np.round(length / (_GRAIN * extent)).astype(np.int64) % 2 == 1

    must, cannot = odd(links.must), odd(links.cannot)
    return [
        Links(
            must=links.must[must == side],
            cannot=links.cannot[cannot == side],
            must_confidence=links.must_confidence[must == side],
            cannot_confidence=links.cannot_confidence[cannot == side],
        )
        for side in (False, True)
    ]


def best_level(
    stops: Sequence[int],
    parts: Sequence[Links],
    labels_at: Callable[[int, Sequence[int]], Sequence[Array]],
) -> int:
    """Return the stop at which links that were not used agree best with the clusters.

    Agreement is the share of must-links inside a cluster and the share of cannot-links across,
    averaged, so that the rarer kind counts as much. Of equals, the last.

    Parameters
    ----------
    stops : sequence of int
        Iterations to choose from.
    parts : sequence of two Links
        The halves.
    labels_at : callable
        ``labels_at(i, stops)`` clusters with the links of part i and gives labels at the stops.
    """
    agree = np.zeros((len(stops), 2))
    for i, asked in enumerate(reversed(parts)):
        for s, labels in enumerate(labels_at(i, stops)):
            for kind, (pairs, confidence) in enumerate(
                ((asked.must, asked.must_confidence), (asked.cannot, asked.cannot_confidence))
            ):
                same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
                agree[s, kind] += confidence[same == (kind == 0)].sum()
    weight = np.array(
        [
            sum(part.must_confidence.sum() for part in parts),
            sum(part.cannot_confidence.sum() for part in parts),
        ]
    )
    score = (agree / np.maximum(weight, 1e-300)).sum(axis=1)
    return stops[int(np.flatnonzero(score >= score.max() - 1e-9)[-1])]
