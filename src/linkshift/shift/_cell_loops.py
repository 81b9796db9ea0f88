# mypy: disable-error-code="no-untyped-def"
"""The hot loop of the search for nearest rows by cells (see ``cells``). It trusts its input."""

from __future__ import annotations

import numpy as np

from linkshift._core.jit import jit, jit_inline

RUN = 128  # rows of a cell that are measured at a time
_ROUNDING = 1e-12  # of squares in float64, with room for many columns
_SINGLE = 2.4e-7  # twice the spacing of float32 at one
_LEAST = 1e-37  # squares below are zero in single precision


@jit_inline
def _rough_squares(offset, run, width, out):
    """Squared distances of a run of ``width`` rows, in single precision."""
    d = offset.shape[0]
    block = run.reshape(d, width)
    for j in range(width):
        out[j] = 0.0
    f = 0
    while f + 3 < d:  # four columns at a time, for less traffic on ``out``
        a, b, c, e = offset[f], offset[f + 1], offset[f + 2], offset[f + 3]
        row_a, row_b, row_c, row_e = block[f], block[f + 1], block[f + 2], block[f + 3]
        for j in range(width):
            p, q, r, s = a - row_a[j], b - row_b[j], c - row_c[j], e - row_e[j]
            out[j] += (p * p + q * q) + (r * r + s * s)
        f += 4
    while f < d:
        a = offset[f]
        row_a = block[f]
        for j in range(width):
            p = a - row_a[j]
            out[j] += p * p
        f += 1


@jit_inline
def _insert(square, row, squares, rows, held):
    """Put a row at its place in a list sorted by square, then row; how many the list holds."""
    k = squares.shape[0]
    if held == k:
        last = squares[k - 1]
        if square > last or (square == last and row > rows[k - 1]):
            return held
        held -= 1
    i = held
    while i > 0 and (squares[i - 1] > square or (squares[i - 1] == square and rows[i - 1] > row)):
        squares[i] = squares[i - 1]
        rows[i] = rows[i - 1]
        i -= 1
    squares[i] = square
    rows[i] = row
    return held + 1


@jit_inline
def _within_reach(cells, x, other, here, gap, most, offset):
    """Whether a row of another cell may be near; ``offset`` is where x is in that cell.

    ``here`` is the squared distance of x from the centre of its own cell, ``gap`` that between the
    centres, and ``most`` the squared distance up to which rows are near. Rounding is on the side
    of looking.
    """
    if most == 0.0:
        return False  # equal rows are in one cell
    radius = cells.radii[other]
    reach, slack = np.sqrt(most), _ROUNDING * (here + radius * radius)
    if (0.5 * gap - np.sqrt(here) - reach) * gap > slack:
        return False  # the plane between the centres is that far at least
    there = _offset(cells, x, other, offset)
    slack += _ROUNDING * there
    if there - here - 2.0 * gap * reach > slack:
        return False  # the plane is
    return np.sqrt(there) * (1.0 - _ROUNDING) <= radius * (1.0 + _ROUNDING) + reach


@jit_inline
def _offset(cells, x, cell, offset):
    """Squared distance of x from the centre of a cell; ``offset`` is x from there, in the unit."""
    square = 0.0
    for f in range(x.shape[0]):
        away = x[f] - cells.centres[cell, f]
        offset[f] = away / cells.unit
        square += away * away
    return square


@jit_inline
def _look(cells, x, itself, cell, offset, rough, squares, found, held):
    """Take in what is near in one cell; how many near rows there are then."""
    d, k = offset.shape[0], squares.shape[0]
    length = 0.0
    for f in range(d):
        length += float(offset[f]) * float(offset[f])
    # Rounding to single precision moves rows by this much, and sums by some steps.
    blur = _SINGLE * (np.sqrt(length) + cells.radii[cell] / cells.unit)
    grain = 1.0 + _SINGLE * (d + 4)
    last = cells.starts[cell + 1]
    for run in range(cells.starts[cell], last, RUN):
        if squares[k - 1] == 0.0:
            break  # rows of a cell come in their order: of equal ones those before are known
        width = min(RUN, last - run)
        _rough_squares(offset, cells.packed[run * d : (run + width) * d], width, rough)
        bound = (np.sqrt(squares[k - 1]) / cells.unit + blur) * grain
        limit = np.float32(bound * bound + _LEAST)
        hits = 0
        for j in range(width):
            hits += rough[j] <= limit
        if hits == 0:
            continue
        for j in range(width):
            if rough[j] > limit:
                continue
            row = cells.order[run + j]
            if row == itself:
                continue
            square = 0.0
            for f in range(d):
                away = x[f] - cells.rows[row, f]
                square += away * away
            held = _insert(square, row, squares, found, held)
    return held


@jit
def nearest_in_cells(cells, a, by_gap, gaps, asked, first, last, itself, squares, found):
    """Find the nearest rows of the asked rows ``first`` to ``last``, which are all in cell a.

    ``by_gap`` are all cells, a first and then by the distance of their centres, ``gaps``.
    ``itself`` has the row that each asked row is, or -1. Returns how many rows were measured.
    """
    k = found.shape[1]
    offset = np.empty(asked.shape[1], dtype=np.float32)
    rough = np.empty(RUN, dtype=np.float32)
    here, held = np.empty(last - first), np.zeros(last - first, dtype=np.int64)
    measured = 0
    for rank in range(by_gap.shape[0]):
        b = by_gap[rank]
        size = cells.starts[b + 1] - cells.starts[b]
        for i in range(last - first):
            q = first + i
            most = squares[q, k - 1]
            if rank == 0:
                here[i] = _offset(cells, asked[q], a, offset)
            elif most == np.inf:
                _offset(cells, asked[q], b, offset)
            elif not _within_reach(cells, asked[q], b, here[i], gaps[rank], most, offset):
                continue
            measured += size
            held[i] = _look(
                cells, asked[q], itself[q], b, offset, rough, squares[q], found[q], held[i]
            )
    return measured
