# mypy: disable-error-code="no-untyped-def"
"""The hot loop of smoothed assignments: one sweep over the pixels, row by row, in place."""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit


@jit
def settle(labels, costs, has_costs, weight, counts):
    """Give each pixel the label that costs least beside its neighbours; how many change.

    A label costs what ``costs`` says (nothing without), and ``weight`` for each of the up to eight
    neighbours that has another. A pixel keeps its label unless another is less; of equal ones the
    first is taken. Without costs, labels of neighbours are tried, else all. ``counts`` are zeros,
    one for each label.
    """
    h, w = labels.shape
    tried = np.empty(8, dtype=np.int64)
    changed = 0
    for i in range(h):
        for j in range(w):
            n = 0
            for k in range(max(i - 1, 0), min(i + 2, h)):
                for l in range(max(j - 1, 0), min(j + 2, w)):
                    if k != i or l != j:
                        tried[n] = labels[k, l]
                        counts[tried[n]] += 1
                        n += 1
            own = best = labels[i, j]
            least = -weight * counts[own]
            if has_costs:
                least += costs[i, j, own]
                for label in range(counts.shape[0]):
                    cost = costs[i, j, label] - weight * counts[label]
                    if cost < least:
                        best, least = label, cost
            else:
                for t in range(n):
                    label = tried[t]
                    cost = -weight * counts[label]
                    if cost < least or (cost == least and best != own and label < best):
                        best, least = label, cost
            for t in range(n):
                counts[tried[t]] = 0
            if best != own:
                labels[i, j] = best
                changed += 1
    return changed
