"""Regions of an image: from modes, merged by similarity and by size.

Neighbours are pixels that share a side. Regions are numbered 0, 1, ... in the order of their first
pixels, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array
from linkshift._core.messages import check_count
from linkshift.image._pixels import needs_skimage
from linkshift.image._region_loops import add_up, border_pairs, join_modes, join_most_similar
from linkshift.image.filtering import ImageModes

Regions = NDArray[np.int32]

_LEVELS = 12
_FACTOR = 2.0**0.5
_SHARE = 300  # the least region is this part of the image


@dataclass(frozen=True)
class RegionGraph:
    """Regions as points, and which of them touch.

    ``pairs`` have a border in common: the lesser first, in lexical order, each pair once.
    """

    counts: NDArray[np.int64]  # pixels of each region
    sums: NDArray[np.float64]  # (r, d): sums of their features
    pairs: NDArray[np.int32]  # (e, 2)
    lengths: NDArray[np.int64]  # sides of pixels along their border

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean features of each region."""
        return self.sums / self.counts[:, None]

    def distances(self) -> NDArray[np.float64]:
        r"""Give the distance of each pair: of their means, more where they hardly touch.

        .. math:: d_{ab} = \|m_a - m_b\| \,
                  \Bigl(\frac{\sqrt{\min(n_a, n_b)}}{l_{ab}}\Bigr)^{1/4}

        with the means m, the counts n and the length l of the common border. The second factor has
        no unit: it is 0.7 for a square within another region, 1 for two equal squares side by side.
        """
        means = self.means
        first, second = self.pairs.T
        total = np.zeros(self.pairs.shape[0])
        for column in means.T:  # one at a time: differences of all would be many times larger
            difference = column[first] - column[second]
            total += difference * difference
        smaller = np.minimum(self.counts[first], self.counts[second])
        touching = np.sqrt(smaller) / self.lengths
        # Two roots are the same on any machine; a power need not be.
        return np.sqrt(total) * np.sqrt(np.sqrt(touching))

    def joined(self, into: NDArray[np.int32]) -> RegionGraph:
        """Give the graph of sets of regions: ``into`` has the set of each, from 0 without gaps."""
        n = int(into.max()) + 1
        counts = np.bincount(into, weights=self.counts, minlength=n).astype(np.int64)
        sums = np.empty((n, self.sums.shape[1]))
        for d, column in enumerate(self.sums.T):
            sums[:, d] = np.bincount(into, weights=column, minlength=n)
        return RegionGraph(counts, sums, *_once(into[self.pairs], self.lengths, n))


def mode_regions(modes: ImageModes, spatial_bandwidth: float, range_bandwidth: float) -> Regions:
    """Group pixels by their modes, transitively over neighbours.

    Two neighbouring pixels are of one region if their modes are within the bandwidths of each
    other, in place and in colour (Comaniciu and Meer 2002, section 4.2, step 2, over neighbours).
    """
    h, w = modes.values.shape[:2]
    parent = np.empty(h * w, dtype=np.int32)
    # Products, unlike powers, of large floats are infinite, which is as good a limit.
    colour, place = float(range_bandwidth), float(spatial_bandwidth)
    join_modes(modes.values, modes.positions, colour * colour, place * place, parent)
    return parent.reshape(h, w)


def connected_regions(labels: Array) -> Regions:
    """Split a label image into connected regions.

    Examples
    --------
    >>> import numpy as np
    >>> connected_regions(np.array([[5, 5, 7], [7, 5, 7]]))
    array([[0, 0, 1],
           [2, 0, 1]], dtype=int32)
    """
    with needs_skimage("connected regions need"):
        from skimage.measure import label
    labels = labels.astype(np.int64, copy=False)
    regions: Array = label(labels, background=int(labels.min()) - 1, connectivity=1)  # from 1
    return (regions - 1).astype(np.int32)


def region_graph(regions: Regions, features: Array) -> RegionGraph:
    """Sum up the features of regions numbered without gaps, and find out which regions touch."""
    n = int(regions.max()) + 1
    counts = np.zeros(n, dtype=np.int64)
    sums = np.zeros((n, features.shape[2]))
    add_up(regions, features, counts, sums)
    pieces = border_pairs(regions, np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32))
    pairs, lengths = np.empty((pieces, 2), dtype=np.int32), np.zeros(pieces, dtype=np.int32)
    border_pairs(regions, pairs, lengths)
    return RegionGraph(counts, sums, *_once(pairs, lengths, n))


def merge_similar(graph: RegionGraph, bandwidth: float) -> tuple[RegionGraph, NDArray[np.int32]]:
    r"""Merge neighbouring regions whose distance is within a bandwidth, the closest first.

    The limit goes up to the bandwidth in twelve levels, each a factor :math:`\sqrt 2` above the
    one before. At each, every region joins its nearest neighbour (by `RegionGraph.distances`) if
    that is within the limit; means are taken anew, and again, until no two neighbours are.
    Afterwards all neighbours are farther apart than the bandwidth. Rounds are few, where a queue
    would touch all neighbours of a large region for each that it takes in.

    Gives the graph of what is left, and the region that each has become a part of.
    """
    into = np.arange(graph.counts.shape[0], dtype=np.int32)
    for level in range(_LEVELS - 1, -1, -1):
        graph, into = _rounds(graph, into, bandwidth / _FACTOR**level, 0)
    return graph, into


def merge_small(graph: RegionGraph, min_size: int) -> tuple[RegionGraph, NDArray[np.int32]]:
    """Merge regions of fewer than ``min_size`` pixels into their most similar neighbours.

    In rounds, until every region is large enough or the only one. Gives what `merge_similar` does.
    """
    into = np.arange(graph.counts.shape[0], dtype=np.int32)
    return _rounds(graph, into, -1.0, min_size)


def least_size(min_size: int | None, n_pixels: int) -> int:
    """Pixels that a region has at least; None takes a three-hundredth of the image."""
    return max(n_pixels // _SHARE, 1) if min_size is None else check_count("min_size", min_size)


def _rounds(
    graph: RegionGraph, into: NDArray[np.int32], limit: float, min_size: int
) -> tuple[RegionGraph, NDArray[np.int32]]:
    while graph.pairs.shape[0]:
        r = graph.counts.shape[0]
        parent = np.empty(r, dtype=np.int32)
        small = graph.counts < min_size
        if join_most_similar(graph.pairs, graph.distances(), small, limit, parent) == r:
            break
        into = parent[into]
        graph = graph.joined(parent)
    return graph, into


def _once(pairs: Array, lengths: Array, n: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Sort pairs of numbers below n, each once and the lesser first, without those of equals.

    The lengths of the same pair are summed.
    """
    low, high = pairs.min(axis=1, initial=n), pairs.max(axis=1, initial=0)
    apart = low < high
    keys = low[apart].astype(np.int64) * n + high[apart]
    keys, inverse = np.unique(keys, return_inverse=True)
    total = np.bincount(inverse, weights=lengths[apart], minlength=keys.shape[0])
    return np.stack([keys // n, keys % n], axis=1).astype(np.int32), total.astype(np.int64)
