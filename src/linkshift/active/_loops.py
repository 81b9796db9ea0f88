# mypy: allow-untyped-defs
"""Jit loop of the session: pieces joined by their average belief. It trusts its input."""

import numpy as np

from linkshift._core.jit import jit

__all__ = ["join"]


def join(belief, size, group, apart, least):
    """Join groups of items, the two of the largest average belief first.

    The average is over pairs of items, by their sizes; groups that are ``apart`` never join, nor do
    those that have joined them. Ends below ``least``. Of equal averages the first groups join.

    Parameters
    ----------
    belief : (m, m), symmetric
    size : (m,)
    group : (m,), from 0 without gaps
    apart : (g, g) of bool
    least : float

    Returns
    -------
    label : (g,), the first group of those that each is joined with
    first, second : (t,), groups that joined, in their order
    value : (t,), averages
    """
    g = int(group.max()) + 1 if group.size else 0
    member = np.zeros((g, len(group)))
    member[group, np.arange(len(group))] = size
    total = member @ belief @ member.T
    label, pairs, value = np.arange(g), np.empty((max(g - 1, 0), 2), np.int64), np.empty(max(g, 1))
    done = _join(total, member.sum(axis=1), apart.copy(), float(least), label, pairs, value)
    return label, pairs[:done, 0], pairs[:done, 1], value[:done]


@jit
def _join(total, weight, apart, least, label, pairs, value):
    """Fill in who joins whom; how many joins there are. ``label`` is in the end the first group."""
    g = total.shape[0]
    alive = np.ones(g, np.bool_)
    best = np.full(g, -1)
    best_value = np.full(g, -np.inf)
    for a in range(g):
        for b in range(g):
            if a != b and not apart[a, b]:
                found = total[a, b] / (weight[a] * weight[b])
                if found > best_value[a]:
                    best[a] = b
                    best_value[a] = found
    done = 0
    while True:
        a = -1
        most = -np.inf
        for c in range(g):
            if alive[c] and best_value[c] > most:
                a = c
                most = best_value[c]
        if a < 0 or most < least:
            break
        b = best[a]
        if b < a:
            a, b = b, a
        pairs[done, 0] = a
        pairs[done, 1] = b
        value[done] = most
        done += 1
        alive[b] = False
        best_value[b] = -np.inf
        weight[a] += weight[b]
        for c in range(g):
            if label[c] == b:
                label[c] = a
            if alive[c] and c != a:
                total[a, c] += total[b, c]
                total[c, a] = total[a, c]
                if apart[b, c]:
                    apart[a, c] = True
                    apart[c, a] = True
        _nearest(total, weight, apart, alive, a, best, best_value)
        for c in range(g):
            if not alive[c] or c == a:
                continue
            if best[c] == a or best[c] == b:
                _nearest(total, weight, apart, alive, c, best, best_value)
            elif not apart[a, c]:
                found = total[a, c] / (weight[a] * weight[c])
                if found > best_value[c]:
                    best[c] = a
                    best_value[c] = found
    return done


@jit
def _nearest(total, weight, apart, alive, a, best, best_value):
    best[a] = -1
    best_value[a] = -np.inf
    for b in range(total.shape[0]):
        if alive[b] and b != a and not apart[a, b]:
            found = total[a, b] / (weight[a] * weight[b])
            if found > best_value[a]:
                best[a] = b
                best_value[a] = found
