# mypy: disable-error-code="no-untyped-def"
"""The hot loop of mean shift over pixels with any number of features.

As in `_filter_loops`, a window's row is contiguous in each plane, and innermost loops run along it
in whole lanes; what is outside has no weight. Distances of a row are gathered plane by plane.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.exp2 import exp2
from linkshift._core.jit import jit, jit_inline
from linkshift.image._filter_loops import LANES, _add, _window


@jit_inline
def _weigh(far, limit, last, x, across, slopes, gaussian, weight):
    """Fill the weights of a row of pixels; their sum, and that of their columns.

    Columns are whole numbers, so that the sums of a flat kernel are exact: a place that is off by
    the last bit may have another window.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    total = sum_x = zero
    for k in range(far.shape[0]):
        inside = (far[k] <= limit) & (np.int32(k) <= last)
        column = np.float32(np.int32(k))
        dx = column - x
        here = one
        if gaussian:  # outside, this may be out of the exponential's range, and is not used
            here = exp2(across + slopes[0] * dx * dx + slopes[1] * far[k])
        here = here if inside else zero
        weight[k] = here
        total = _add(total, here)
        sum_x = _add(sum_x, here * column)
    return total, sum_x


@jit
def feature_mean(planes, w, radius, limit, gaussian, slopes, point, far, weight, mean):
    """Fill ``mean`` with that of the window's pixels; False where there is none.

    ``point`` and ``mean`` are x, y and the features. ``far`` and ``weight`` have room for a row.
    """
    n, h, _ = planes.shape
    left, right = _window(point[0], w, radius)
    top, bottom = _window(point[1], h, radius)
    last = np.int32(right - left)
    length = (right - left + LANES) // LANES * LANES
    x = np.float32(point[0] - left)
    far, weight = far[:length], weight[:length]
    mean[:] = 0.0
    total = 0.0
    for row in range(top, bottom + 1):
        far[:] = np.float32(0.0)
        for c in range(n):
            line, value = planes[c, row, left : left + length], np.float32(point[2 + c])
            for k in range(length):
                apart = line[k] - value
                far[k] += apart * apart
        across = np.float32(slopes[0] * (row - point[1]) * (row - point[1]))
        here, sum_x = _weigh(far, limit, last, x, across, slopes, gaussian, weight)
        if here == np.float32(0.0):
            continue
        total += float(here)
        mean[0] += float(sum_x)
        mean[1] += row * float(here)
        for c in range(n):
            line, added = planes[c, row, left : left + length], np.float32(0.0)
            for k in range(length):
                added = _add(added, weight[k] * line[k])
            mean[2 + c] += float(added)
    if total == 0.0:
        return False
    mean[0] = (mean[0] + left * total) / total
    mean[1] = mean[1] / total
    for c in range(n):
        mean[2 + c] = np.float32(mean[2 + c] / total)
    return True


@jit
def climb_features(
    planes, w, radius, limit, gaussian, slopes, scales, tol, max_iter, begin, values, places
):
    """Run mean shift from the pixels of some rows until steps are short; how many still move.

    A path that is back where it was after 1, 2, 4, 8, ... steps goes in a circle and ends there.
    """
    n, _, pitch = planes.shape
    far, weight = np.empty(pitch, dtype=np.float32), np.empty(pitch, dtype=np.float32)
    point, mean, landmark = np.empty(n + 2), np.empty(n + 2), np.empty(n + 2)
    moving = 0
    for i in range(values.shape[0]):
        for j in range(w):
            point[0], point[1] = j, begin + i
            for c in range(n):
                point[2 + c] = planes[c, begin + i, j]
            landmark[0] = -1.0
            moving += 1
            for step in range(max_iter):
                reached = feature_mean(
                    planes, w, radius, limit, gaussian, slopes, point, far, weight, mean
                )
                place = feature = 0.0
                circles = True
                if reached:
                    for c in range(n + 2):
                        apart = mean[c] - point[c]
                        if c < 2:
                            place += apart * apart
                        else:
                            feature += apart * apart
                        circles &= mean[c] == landmark[c]
                        point[c] = mean[c]
                moved = place / (scales[0] * scales[0]) + feature / (scales[1] * scales[1])
                if circles or moved <= tol * tol:
                    moving -= 1
                    break
                if step & (step + 1) == 0:
                    landmark[:] = point
            places[i, j, 0], places[i, j, 1] = point[0], point[1]
            for c in range(n):
                values[i, j, c] = point[2 + c]
    return moving
