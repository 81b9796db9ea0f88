# mypy: disable-error-code="no-untyped-def"
"""The hot loops of the mean-shift filter: means over windows of pixels.

Layout. Channels are planes, one after the other in one flat array; ``grid`` is (flat, where the
second and the third plane begin, height, width, distance of rows). A window's row is contiguous,
and the innermost loop runs along it without a branch: what is outside adds zero. It reads whole
lanes, up to ``WHOLE_LANES - 1`` pixels beyond the row's end, by which rows are longer than wide. A
grey image has a second plane of zeros, which serves as its second and third channel.

Indices are unsigned: of signed ones numba asks whether they are negative, pixel for pixel, and the
loop is not vectorised.

Steps that were taken already. ``point`` is (x, y, and three channels). Paths of the flat kernel
meet: on a photograph four steps in ten begin where another path has been, to the last bit. A table
of the latest steps (``known``) has their ends. It answers for the very same point only, so that it
changes no result, however it is filled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import intrinsic

from linkshift._core.exp2 import exp2
from linkshift._core.jit import jit, jit_inline

LANES = 8
WHOLE_LANES = 16
KNOWN_BITS = 12
KNOWN_SHAPE = (1 << KNOWN_BITS, 10)  # beginning and end of a step


def _free_sum(typing: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    """Add a term to a sum whose order is free, so that it can be taken in several lanes at once.

    The order is that of the compiled code: the same for every pixel and number of threads.
    """

    def generate(context: Any, builder: Any, signature: Any, terms: Any) -> Any:  # noqa: ARG001
        return builder.fadd(terms[0], terms[1], flags=("reassoc", "nsz", "contract"))

    return a(a, b), generate


_add: Any = intrinsic(_free_sum)


@jit_inline
def _slot(point):
    """Place of a point in the table of known steps."""
    mixed = 0.8566748838545029 * point[0] + 0.733891856627126 * point[1]
    mixed += 0.6287067210378087 * point[2] + 0.5385972572236101 * point[3]
    mixed += 0.4613967838454165 * point[4]
    bits = np.float64(mixed).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(bits >> np.uint64(64 - KNOWN_BITS))


@jit_inline
def _is_known(known, slot, point):
    return (
        known[slot, 0] == point[0]
        and known[slot, 1] == point[1]
        and known[slot, 2] == point[2]
        and known[slot, 3] == point[3]
        and known[slot, 4] == point[4]
    )


@jit_inline
def _remember(known, slot, point, mean):
    row = known[slot]
    row[0], row[1], row[2], row[3], row[4] = point
    row[5], row[6], row[7], row[8], row[9] = mean


@jit_inline
def _keep(point, place, value):
    """Write down where a pixel has ended."""
    place[0], place[1] = point[0], point[1]
    value[0], value[1], value[2] = point[2], point[3], point[4]


@jit_inline
def _start(grid, i, j):
    """Colour of a pixel."""
    flat, plane1, plane2, _, _, pitch = grid
    at = i * pitch + j
    return flat[at], flat[at + plane1], flat[at + plane2]


@jit_inline
def _window(x, length, radius):
    """First and last whole number within radius of x, and from 0 to length - 1."""
    return max(int(np.ceil(x - radius)), 0), min(int(np.floor(x + radius)), length - 1)


@jit_inline
def _flat_mean(grid, radius, limit, point):
    """Mean of the pixels in the window whose squared distance in colour is within limit."""
    flat, plane1, plane2, h, w, pitch = grid
    x, y, c0, c1, c2 = point
    left, right = _window(x, w, radius)
    top, bottom = _window(y, h, radius)
    last = np.int32(right - left)
    length = (right - left + LANES) // LANES * LANES
    zero = np.float32(0.0)
    sum0 = sum1 = sum2 = 0.0
    count = sum_x = sum_y = 0
    for row in range(top, bottom + 1):
        first0 = np.uint64(row * pitch + left)
        first1 = first0 + np.uint64(plane1)
        first2 = first0 + np.uint64(plane2)
        row0 = row1 = row2 = zero
        row_count = row_x = np.int32(0)
        for k in range(length):
            t0 = flat[first0 + np.uint64(k)]
            t1 = flat[first1 + np.uint64(k)]
            t2 = flat[first2 + np.uint64(k)]
            d0, d1, d2 = t0 - c0, t1 - c1, t2 - c2
            inside = (d0 * d0 + d1 * d1 + d2 * d2 <= limit) & (np.int32(k) <= last)
            row0 = _add(row0, t0 if inside else zero)
            row1 = _add(row1, t1 if inside else zero)
            row2 = _add(row2, t2 if inside else zero)
            row_count = np.int32(row_count + np.int32(inside))
            row_x = np.int32(row_x + (np.int32(k) if inside else np.int32(0)))
        sum0 += float(row0)
        sum1 += float(row1)
        sum2 += float(row2)
        count += int(row_count)
        sum_x += int(row_x)
        sum_y += row * int(row_count)
    if count == 0:
        return point
    return (
        (sum_x + left * count) / count,
        sum_y / count,
        np.float32(sum0 / count),
        np.float32(sum1 / count),
        np.float32(sum2 / count),
    )


@jit_inline
def _gaussian_mean(grid, radius, limit, slopes, point):
    """Mean of the pixels that `_flat_mean` takes, weighted by 2**(slope * squared distance)."""
    flat, plane1, plane2, h, w, pitch = grid
    x, y, c0, c1, c2 = point
    left, right = _window(x, w, radius)
    top, bottom = _window(y, h, radius)
    last = np.int32(right - left)
    length = (right - left + LANES) // LANES * LANES
    place_slope, colour_slope = slopes
    x_in_row = np.float32(x - left)
    zero = np.float32(0.0)
    sum0 = sum1 = sum2 = total = sum_x = sum_y = 0.0
    for row in range(top, bottom + 1):
        first0 = np.uint64(row * pitch + left)
        first1 = first0 + np.uint64(plane1)
        first2 = first0 + np.uint64(plane2)
        row_exponent = np.float32(place_slope * (row - y) * (row - y))
        row0 = row1 = row2 = row_total = row_x = zero
        for k in range(length):
            t0 = flat[first0 + np.uint64(k)]
            t1 = flat[first1 + np.uint64(k)]
            t2 = flat[first2 + np.uint64(k)]
            d0, d1, d2 = t0 - c0, t1 - c1, t2 - c2
            distance = d0 * d0 + d1 * d1 + d2 * d2
            inside = (distance <= limit) & (np.int32(k) <= last)
            dx = np.float32(np.int32(k)) - x_in_row
            # Outside, this may be out of the exponential's range, and is not used.
            weight = exp2(row_exponent + place_slope * dx * dx + colour_slope * distance)
            weight = weight if inside else zero
            row0 = _add(row0, weight * t0)
            row1 = _add(row1, weight * t1)
            row2 = _add(row2, weight * t2)
            row_total = _add(row_total, weight)
            row_x = _add(row_x, weight * dx)
        sum0 += float(row0)
        sum1 += float(row1)
        sum2 += float(row2)
        total += float(row_total)
        sum_x += float(row_x)
        sum_y += (row - y) * float(row_total)
    if total == 0.0:
        return point
    return (
        x + sum_x / total,
        y + sum_y / total,
        np.float32(sum0 / total),
        np.float32(sum1 / total),
        np.float32(sum2 / total),
    )


@jit
def climb_rows(
    grid, radius, limit, gaussian, slopes, scales, tol, max_iter, begin, known, values, places
):
    """Run mean shift from the pixels of some rows until steps are short.

    ``scales`` are the bandwidths in which steps are measured: place, colour. A path that is back
    at its landmark, where it was after 1, 2, 4, 8, ... steps, goes in a circle and ends there.
    Returns the number of pixels that are still moving.
    """
    moving = 0
    known[:, 0] = -1.0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            c0, c1, c2 = _start(grid, begin + i, j)
            point = (float(j), float(begin + i), c0, c1, c2)
            landmark = (-1.0, -1.0, c0, c1, c2)
            moving += 1
            for step in range(max_iter):
                slot = _slot(point)
                if gaussian:  # its paths meet only at their ends
                    mean = _gaussian_mean(grid, radius, limit, slopes, point)
                elif step > 0 and _is_known(known, slot, point):
                    mean = (
                        known[slot, 5],
                        known[slot, 6],
                        np.float32(known[slot, 7]),
                        np.float32(known[slot, 8]),
                        np.float32(known[slot, 9]),
                    )
                else:
                    mean = _flat_mean(grid, radius, limit, point)
                    if step > 0:  # first steps begin at pixels, of which no two are the same
                        _remember(known, slot, point, mean)
                dx, dy = mean[0] - point[0], mean[1] - point[1]
                d0, d1, d2 = mean[2] - point[2], mean[3] - point[3], mean[4] - point[4]
                moved = (dx * dx + dy * dy) / (scales[0] * scales[0])
                moved += (d0 * d0 + d1 * d1 + d2 * d2) / (scales[1] * scales[1])
                point = mean
                if moved <= tol * tol or point == landmark:
                    moving -= 1
                    break
                if step & (step + 1) == 0:
                    landmark = point
            _keep(point, places[i, j], values[i, j])
    return moving


@jit_inline
def _whole_window(x, length, radius):
    """Find the ends of the window as OpenCV takes them: in float32, rounded half to even."""
    middle = np.float32(x)
    return max(int(np.rint(middle - radius)), 0), min(int(np.rint(middle + radius)), length - 1)


@jit_inline
def _whole_mean(grid, radius, limit, root, point):
    """Mean as OpenCV takes it: whole numbers throughout, rounded half to even.

    The sums are of differences from the point, which are small where pixels are inside, so that
    those of one row fit into 16 bits. ``root`` is the least number whose square is above limit:
    cut down to it, differences can be squared in 16 bits, and are still outside.
    """
    flat, plane1, plane2, h, w, pitch = grid
    x, y, c0, c1, c2 = point
    whole = flat.dtype.type
    left, right = _whole_window(x, w, radius)
    top, bottom = _whole_window(y, h, radius)
    last = whole(right - left)
    length = (right - left + WHOLE_LANES) // WHOLE_LANES * WHOLE_LANES
    sum0 = sum1 = sum2 = sum_x = sum_y = count = 0
    for row in range(top, bottom + 1):
        first0 = np.uint64(row * pitch + left)
        first1 = first0 + np.uint64(plane1)
        first2 = first0 + np.uint64(plane2)
        row0 = row1 = row2 = row_x = row_count = whole(0)
        for k in range(length):
            d0 = whole(flat[first0 + np.uint64(k)] - c0)
            d1 = whole(flat[first1 + np.uint64(k)] - c1)
            d2 = whole(flat[first2 + np.uint64(k)] - c2)
            e0 = min(whole(abs(d0)), root)
            e1 = min(whole(abs(d1)), root)
            e2 = min(whole(abs(d2)), root)
            near = whole(e0 * e0 + e1 * e1 + e2 * e2) <= limit
            inside = whole(-(near & (whole(k) <= last)))  # all bits, or none
            row0 = whole(row0 + (d0 & inside))
            row1 = whole(row1 + (d1 & inside))
            row2 = whole(row2 + (d2 & inside))
            row_x = whole(row_x + (whole(k) & inside))
            row_count = whole(row_count - inside)
        sum0 += int(row0)
        sum1 += int(row1)
        sum2 += int(row2)
        sum_x += int(row_x)
        count += int(row_count)
        sum_y += row * int(row_count)
    if count == 0:
        return point
    share = 1.0 / count
    return (
        int(np.rint((sum_x + left * count) * share)),
        int(np.rint(sum_y * share)),
        whole(np.rint((sum0 + c0 * count) * share)),
        whole(np.rint((sum1 + c1 * count) * share)),
        whole(np.rint((sum2 + c2 * count) * share)),
    )


@jit
def opencv_rows(grid, radius, limit, root, tol, max_iter, begin, known, values, places):
    """Run OpenCV's variant of mean shift from the pixels of some rows."""
    whole = grid[0].dtype.type
    known[:, 0] = -1.0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            c0, c1, c2 = _start(grid, begin + i, j)
            point = (j, begin + i, c0, c1, c2)
            for step in range(max_iter):
                slot = _slot(point)
                if step > 0 and _is_known(known, slot, point):
                    mean = (
                        int(known[slot, 5]),
                        int(known[slot, 6]),
                        whole(known[slot, 7]),
                        whole(known[slot, 8]),
                        whole(known[slot, 9]),
                    )
                else:
                    mean = _whole_mean(grid, radius, limit, root, point)
                    if step > 0:
                        _remember(known, slot, point, mean)
                dx, dy = mean[0] - point[0], mean[1] - point[1]
                d0, d1, d2 = mean[2] - point[2], mean[3] - point[3], mean[4] - point[4]
                moved = abs(dx) + abs(dy) + d0 * d0 + d1 * d1 + d2 * d2
                point = mean
                if (dx == 0 and dy == 0) or moved <= tol:
                    break
            _keep(point, places[i, j], values[i, j])
