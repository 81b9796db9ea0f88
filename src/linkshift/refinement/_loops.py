"""Jit loop of refinement: iterated conditional modes over units. It trusts its input."""

import numpy as np

from linkshift._core.jit import jit

__all__ = ["sweep"]


@jit
def sweep(labels, neighbours, units, n_labels, penalty, floor, max_sweeps):  # type: ignore[no-untyped-def]
    """Run iterated conditional modes over units, in place.

    ``saved[c]`` is what label c saves against a label that nothing speaks for; only labels that
    something speaks for, or against, are touched, so a unit costs its neighbours and links.
    """
    unit, member, start, edges = units
    edge, weight, edge_start = edges
    k = neighbours.shape[1]
    n_units = start.shape[0] - 1
    saved = np.zeros(n_labels)
    count = np.zeros(n_labels, np.int64)
    seen = np.zeros(n_labels, np.bool_)
    touched = np.empty(n_labels, np.int64)
    unit_label = np.full(n_units, -1, np.int64)
    for i in range(labels.shape[0]):
        if unit_label[unit[i]] < 0:
            unit_label[unit[i]] = labels[i]
    for _ in range(max_sweeps):
        changed = 0
        for u in range(n_units):
            if unit_label[u] < 0:
                wanted = start[u + 1] - start[u] > 1
                for e in range(edge_start[u], edge_start[u + 1]):
                    wanted = wanted or weight[e] > 0
                if not wanted:
                    continue  # noise that no must-link concerns stays noise
            n_touched = 0
            for m in range(start[u], start[u + 1]):
                i = member[m]
                for q in range(k):
                    c = labels[neighbours[i, q]] if neighbours[i, q] >= 0 else -1
                    if c >= 0:
                        count[c] += 1
                        if not seen[c]:
                            seen[c] = True
                            touched[n_touched] = c
                            n_touched += 1
                for q in range(k):
                    c = labels[neighbours[i, q]] if neighbours[i, q] >= 0 else -1
                    if c >= 0 and count[c] > 0:
                        saved[c] += np.log(count[c] / floor)
                        count[c] = 0
            for e in range(edge_start[u], edge_start[u + 1]):
                c = unit_label[edge[e]]
                if c >= 0:
                    saved[c] += penalty * weight[e]
                    if not seen[c]:
                        seen[c] = True
                        touched[n_touched] = c
                        n_touched += 1
            best = unit_label[u]
            best_saved = saved[best] if best >= 0 else -np.inf
            for t in range(n_touched):
                c = touched[t]
                if saved[c] > best_saved + 1e-12:
                    best = c
                    best_saved = saved[c]
            for t in range(n_touched):
                saved[touched[t]] = 0.0
                seen[touched[t]] = False
            unit_label[u] = best
            for m in range(start[u], start[u + 1]):
                if labels[member[m]] != best:
                    labels[member[m]] = best
                    changed += 1
        if changed == 0:
            break
