"""The hot loops: weighted means of points, for many starts at once.

Layout. Starts are taken ``LANES`` at a time and turned on their side, so that the innermost loop
runs over starts: one point's coordinates are broadcast, every lane has its own sums, and no sum
is ever reordered. Points come in blocks of ``BLOCK`` neighbours (see ``neighbours``); a block
that no lane can reach is skipped, and a block that every lane holds whole (flat kernel) adds its
ready-made sums. Sums run in the working precision inside a block and in float64 across blocks.

Weights. ``t = offset + slope * squared_distance`` is all that the profiles need: the exponent of
two for the Gaussians, the weight itself for Epanechnikov. Beyond ``limit`` (squared) the weight
is zero: the kernel's reach, or where a Gaussian has fallen below what the precision can see.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.exp2 import exp2
from linkshift._core.jit import jit, jit_inline

LANES = 64
BLOCK = 64

FLAT = 0
LINEAR = 1  # max(t, 0): the Epanechnikov weight, the shadow of flat
EXPONENTIAL = 2  # 2**t
SQUARE = 3  # max(t, 0)**2: the shadow of Epanechnikov


@jit_inline
def _squared_distances(lanes, points, j, out):  # type: ignore[no-untyped-def]
    """out[q, b] = squared distance of lane b to point j + q, four points at a time."""
    d = lanes.shape[0]
    x0, x1, x2, x3 = points[j, 0], points[j + 1, 0], points[j + 2, 0], points[j + 3, 0]
    for b in range(LANES):
        s = lanes[0, b]
        out[0, b] = (s - x0) * (s - x0)
        out[1, b] = (s - x1) * (s - x1)
        out[2, b] = (s - x2) * (s - x2)
        out[3, b] = (s - x3) * (s - x3)
    k = 1
    while k + 1 < d:  # two coordinates at a time halve the traffic on ``out``
        x0, x1, x2, x3 = points[j, k], points[j + 1, k], points[j + 2, k], points[j + 3, k]
        k1 = k + 1
        y0, y1, y2, y3 = points[j, k1], points[j + 1, k1], points[j + 2, k1], points[j + 3, k1]
        for b in range(LANES):
            s, r = lanes[k, b], lanes[k1, b]
            out[0, b] += (s - x0) * (s - x0) + (r - y0) * (r - y0)
            out[1, b] += (s - x1) * (s - x1) + (r - y1) * (r - y1)
            out[2, b] += (s - x2) * (s - x2) + (r - y2) * (r - y2)
            out[3, b] += (s - x3) * (s - x3) + (r - y3) * (r - y3)
        k += 2
    if k < d:
        x0, x1, x2, x3 = points[j, k], points[j + 1, k], points[j + 2, k], points[j + 3, k]
        for b in range(LANES):
            s = lanes[k, b]
            out[0, b] += (s - x0) * (s - x0)
            out[1, b] += (s - x1) * (s - x1)
            out[2, b] += (s - x2) * (s - x2)
            out[3, b] += (s - x3) * (s - x3)


@jit_inline
def _weights(kind, distance, offset, slope, limit, j, zero, out):  # type: ignore[no-untyped-def]
    """out[q, b] = weight of point j + q for lane b, from the squared distances."""
    for q in range(4):
        a, c, end = offset[j + q], slope[j + q], limit[j + q]
        if kind == FLAT:
            for b in range(LANES):
                out[q, b] = a if distance[q, b] <= end else zero
        elif kind == EXPONENTIAL:
            for b in range(LANES):
                u = distance[q, b]
                w = exp2(a + c * u)
                out[q, b] = w if u <= end else zero
        else:
            for b in range(LANES):
                u = distance[q, b]
                t = a + c * u
                out[q, b] = t if u <= end and t > zero else zero
            if kind == SQUARE:
                for b in range(LANES):
                    out[q, b] *= out[q, b]


@jit_inline
def _add_means(weight, points, j, sums, total):  # type: ignore[no-untyped-def]
    """Add four weighted points to each lane's sums."""
    d = sums.shape[0]
    for b in range(LANES):
        total[b] += (weight[0, b] + weight[1, b]) + (weight[2, b] + weight[3, b])
    k = 0
    while k + 1 < d:
        x0, x1, x2, x3 = points[j, k], points[j + 1, k], points[j + 2, k], points[j + 3, k]
        k1 = k + 1
        y0, y1, y2, y3 = points[j, k1], points[j + 1, k1], points[j + 2, k1], points[j + 3, k1]
        for b in range(LANES):
            w0, w1, w2, w3 = weight[0, b], weight[1, b], weight[2, b], weight[3, b]
            sums[k, b] += (w0 * x0 + w1 * x1) + (w2 * x2 + w3 * x3)
            sums[k1, b] += (w0 * y0 + w1 * y1) + (w2 * y2 + w3 * y3)
        k += 2
    if k < d:
        x0, x1, x2, x3 = points[j, k], points[j + 1, k], points[j + 2, k], points[j + 3, k]
        for b in range(LANES):
            w0, w1, w2, w3 = weight[0, b], weight[1, b], weight[2, b], weight[3, b]
            sums[k, b] += (w0 * x0 + w1 * x1) + (w2 * x2 + w3 * x3)


@jit_inline
def _box_distances(low, high, box_low, box_high, i):  # type: ignore[no-untyped-def]
    """Least and greatest squared distance between the lanes' box and the box of block i."""
    least = low[0] * 0
    greatest = low[0] * 0
    for k in range(low.shape[0]):
        gap = max(box_low[i, k] - high[k], low[k] - box_high[i, k])
        if gap > 0:
            least += gap * gap
        span = max(box_high[i, k] - low[k], high[k] - box_low[i, k])
        greatest += span * span
    return least, greatest


@jit
def block_sums(points, offset, sums, total):  # type: ignore[no-untyped-def]
    """Flat-kernel sums of each block taken whole, with the very operations of the lanes.

    A start that holds a block whole then gets the same bits whether the block's points were
    tested one by one or not, and starts with the same neighbours land on the same spot.
    """
    d = points.shape[1]
    one = np.empty((4, LANES), points.dtype)
    block = np.empty((d, LANES), points.dtype)
    block_total = np.empty(LANES, points.dtype)
    for i in range(sums.shape[0]):
        block[:] = 0
        block_total[:] = 0
        for j in range(i * BLOCK, (i + 1) * BLOCK, 4):
            for q in range(4):
                one[q, :] = offset[j + q]
            _add_means(one, points, j, block, block_total)
        total[i] = block_total[0]
        for k in range(d):
            sums[i, k] = block[k, 0]


@jit
def weighted_sums(  # type: ignore[no-untyped-def]
    terms, blocks, starts, slack, first, last, sums_out, total_out
):
    """Weighted sums of the points and of the weights, for starts ``first`` to ``last``.

    ``terms.block_reach`` is the greatest limit in a block, ``terms.block_inner`` the least (flat
    kernel; negative elsewhere, so that no block counts as held whole). ``slack`` covers the
    rounding of the box distances.
    """
    points, box_low, box_high = blocks
    kind, offset, slope, limit = terms.kind, terms.offset, terms.slope, terms.limit
    d = starts.shape[1]
    zero = points.dtype.type(0)
    lanes = np.empty((d, LANES), points.dtype)
    low = np.empty(d, points.dtype)
    high = np.empty(d, points.dtype)
    distance = np.empty((4, LANES), points.dtype)
    weight = np.empty((4, LANES), points.dtype)
    block = np.empty((d, LANES), points.dtype)
    block_total = np.empty(LANES, points.dtype)
    sums = np.empty((d, LANES), np.float64)
    total = np.empty(LANES, np.float64)
    for start in range(first, last, LANES):
        used = min(LANES, last - start)
        for b in range(LANES):
            row = start + min(b, used - 1)  # idle lanes repeat the last start
            for k in range(d):
                lanes[k, b] = starts[row, k]
        for k in range(d):
            low[k] = high[k] = starts[start, k]
            for b in range(1, used):  # not min() and max(), which take half a second to compile
                low[k] = min(low[k], starts[start + b, k])
                high[k] = max(high[k], starts[start + b, k])
        sums[:] = 0
        total[:] = 0
        for i in range(box_low.shape[0]):
            least, greatest = _box_distances(low, high, box_low, box_high, i)
            if least > terms.block_reach[i] * slack:
                continue
            if greatest * slack <= terms.block_inner[i]:
                for b in range(LANES):
                    total[b] += terms.whole_total[i]
                for k in range(d):
                    for b in range(LANES):
                        sums[k, b] += terms.whole_sums[i, k]
                continue
            block[:] = 0
            block_total[:] = 0
            for j in range(i * BLOCK, (i + 1) * BLOCK, 4):
                _squared_distances(lanes, points, j, distance)
                _weights(kind, distance, offset, slope, limit, j, zero, weight)
                _add_means(weight, points, j, block, block_total)
            for b in range(LANES):
                total[b] += block_total[b]
            for k in range(d):
                for b in range(LANES):
                    sums[k, b] += block[k, b]
        for b in range(used):
            total_out[start + b] = total[b]
            for k in range(d):
                sums_out[start + b, k] = sums[k, b]


@jit
def weights_from_products(products, start_norms, point_norms, offset, slope, limit):  # type: ignore[no-untyped-def]
    """Turn inner products into Gaussian weights, in place: |s - x|^2 = |s|^2 + |x|^2 - 2 s.x."""
    zero = products.dtype.type(0)
    two = products.dtype.type(2)
    n_points = products.shape[1]
    for i in range(products.shape[0]):
        own = start_norms[i]
        for j in range(n_points):
            u = max(own + point_norms[j] - two * products[i, j], zero)
            w = exp2(offset[j] + slope[j] * u)
            products[i, j] = w if u <= limit[j] else zero
