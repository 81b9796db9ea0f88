# mypy: disable-error-code="no-untyped-def"
"""The hot loop of summaries. It trusts its input."""

from __future__ import annotations

from linkshift._core.jit import jit


@jit
def add_up(rows, weight, inner, label, centres, total, sums, squares):
    """Add weighted rows to what is known of their cells, about the centres of these.

    ``inner`` is the scatter that a row, which may be a landmark itself, brings along. Differences
    to a centre nearby are small, so that sums of squares lose no digits.
    """
    d = rows.shape[1]
    for i in range(rows.shape[0]):
        cell, w = label[i], weight[i]
        apart = inner[i]
        for k in range(d):
            x = float(rows[i, k]) - centres[cell, k]
            sums[cell, k] += w * x
            apart += x * x
        total[cell] += w
        squares[cell] += w * apart
