"""Jit loops of refinement: iterated conditional modes, and mergers. They trust their input."""

from math import inf, log

import numpy as np

from linkshift._core.jit import jit

__all__ = ["cheapest", "sweep"]

_LARGE = 5  # rows of a cluster that takes in a row by itself; of fewer, both may be small groups


@jit
def _slot(keys, key):  # type: ignore[no-untyped-def]
    """Place of a key in a table that is never more than half full, its own or a free one."""
    at = key % keys.shape[0]
    while keys[at] != key and keys[at] >= 0:
        at = at + 1 if at + 1 < keys.shape[0] else 0
    return at


@jit
def _count_members(keys, counts, unit_label, group, group_start, n_labels):  # type: ignore[no-untyped-def]
    """Count the units of each label in each group."""
    for at in range(keys.shape[0]):
        keys[at] = -1
        counts[at] = 0
    for u in range(unit_label.shape[0]):
        if unit_label[u] >= 0:
            for e in range(group_start[u], group_start[u + 1]):
                at = _slot(keys, group[e] * n_labels + unit_label[u])
                keys[at] = group[e] * n_labels + unit_label[u]
                counts[at] += 1


@jit
def _move_unit(keys, counts, group, group_start, u, old, new, n_labels):  # type: ignore[no-untyped-def]
    """Count a unit under another label in its groups; it may have had none."""
    for e in range(group_start[u], group_start[u + 1]):
        if old >= 0:
            counts[_slot(keys, group[e] * n_labels + old)] -= 1
        at = _slot(keys, group[e] * n_labels + new)
        keys[at] = group[e] * n_labels + new
        counts[at] += 1


@jit
def _is_linked(start, edge_start, weight, u):  # type: ignore[no-untyped-def]
    """Whether a must-link concerns a unit: within it, or to another one."""
    linked = start[u + 1] - start[u] > 1
    for e in range(edge_start[u], edge_start[u + 1]):
        linked = linked or weight[e] > 0
    return linked


@jit
def _add_sizes(size, labels, row_size):  # type: ignore[no-untyped-def]
    """Add up what rows add to the size of their clusters."""
    for c in range(size.shape[0]):
        size[c] = 0
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            size[labels[i]] += row_size[i]


def sweep(labels, neighbours, rows, units, n_labels, penalty, floor, by_share, max_sweeps):  # type: ignore[no-untyped-def]
    """Run iterated conditional modes over units, in place.

    ``neighbours`` are where those of each row begin, who they are, and their weights: with
    ``by_share`` weights of votes, else places that they take. ``rows`` are what each row adds to
    the size of its cluster, and its say in its unit.

    ``saved[c]`` is what label c saves against a label that nothing speaks for; only labels that
    something speaks for, or against, are touched, so a unit costs its neighbours and links. Groups
    speak against labels that are touched, and the unit's own, by the members that have them: how
    many is looked up, so that a group costs its members and not their pairs.
    """
    n_units, n_groups = units[2].shape[0] - 1, units[4].shape[0]
    # A unit changes once a sweep: members, and as many more, are all that is ever in the table.
    table = np.empty((2, 4 * n_groups + 1), np.int64)
    sums, touched = np.zeros((3, n_labels)), np.zeros(n_labels, np.int64)
    seen, unit_label = np.zeros(n_labels, np.bool_), np.full(n_units, -1)
    room = (*table, *sums, touched, seen, unit_label)
    _sweep(labels, neighbours, rows, units, room, n_labels, penalty, floor, by_share, max_sweeps)


@jit
def _sweep(labels, neighbours, rows, units, room, n_labels, penalty, floor, by_share, max_sweeps):  # type: ignore[no-untyped-def]
    """Do the sweeps, in room that is made outside: each kind of array takes time to compile."""
    near_start, near, near_weight = neighbours
    row_size, say = rows
    unit, member, start, edges, group, group_start = units
    edge, weight, edge_start = edges
    keys, counts, saved, count, size, touched, seen, unit_label = room
    n_units = start.shape[0] - 1
    for i in range(labels.shape[0]):
        if unit_label[unit[i]] < 0:
            unit_label[unit[i]] = labels[i]
    for _ in range(max_sweeps):
        changed = 0
        _count_members(keys, counts, unit_label, group, group_start, n_labels)
        _add_sizes(size, labels, row_size)
        for u in range(n_units):
            if unit_label[u] < 0 and not _is_linked(start, edge_start, weight, u):
                continue  # noise that no must-link concerns stays noise
            # Twenty neighbours would outvote every cluster of two rows.
            heard = max(size[unit_label[u]] - 1.0, 0.0) if unit_label[u] >= 0 else inf
            n_touched = 0
            for m in range(start[u], start[u + 1]):
                i = member[m]
                left = heard  # places
                if heard == 0 and near_start[i] < near_start[i + 1]:
                    c = labels[near[near_start[i]]]
                    if c >= 0 and size[c] >= _LARGE:  # a row by itself, at a large cluster
                        left = 1.0
                total = 0.0
                last = near_start[i]
                while last < near_start[i + 1] and left > 0:
                    q = last
                    last += 1
                    amount = near_weight[q] if by_share else min(near_weight[q], left)
                    left -= 1.0 if by_share else amount
                    c = labels[near[q]]
                    total += amount
                    if c >= 0 and amount > 0:
                        count[c] += amount
                        if not seen[c]:
                            seen[c] = True
                            touched[n_touched] = c
                            n_touched += 1
                for q in range(near_start[i], last):
                    c = labels[near[q]]
                    if c >= 0 and count[c] > 0:
                        if by_share:
                            saved[c] += log(1.0 + count[c] / (total * floor))
                        elif count[c] > floor:
                            saved[c] += say[i] * log(count[c] / floor)
                        count[c] = 0.0
            for e in range(edge_start[u], edge_start[u + 1]):
                c = unit_label[edge[e]]
                if c >= 0:
                    saved[c] += penalty * weight[e]
                    if not seen[c]:
                        seen[c] = True
                        touched[n_touched] = c
                        n_touched += 1
            if group_start[u] < group_start[u + 1]:
                own = unit_label[u]
                if own >= 0 and not seen[own]:
                    seen[own] = True
                    touched[n_touched] = own
                    n_touched += 1
                for t in range(n_touched):
                    c = touched[t]
                    for e in range(group_start[u], group_start[u + 1]):
                        others = counts[_slot(keys, group[e] * n_labels + c)]
                        saved[c] -= penalty * (others - 1 if c == own else others)
            best = unit_label[u]
            best_saved = saved[best] if best >= 0 else -inf
            for t in range(n_touched):
                c = touched[t]
                if saved[c] > best_saved + 1e-12:
                    best = c
                    best_saved = saved[c]
            for t in range(n_touched):
                saved[touched[t]] = 0.0
                seen[touched[t]] = False
            if best != unit_label[u]:
                _move_unit(keys, counts, group, group_start, u, unit_label[u], best, n_labels)
            unit_label[u] = best
            for m in range(start[u], start[u + 1]):
                if labels[member[m]] != best:
                    labels[member[m]] = best
                    changed += 1
        if changed == 0:
            break


@jit
def cheapest(mean, size, free, a):  # type: ignore[no-untyped-def]
    """Ward's cost of the cheapest merger of cluster a with one that is free for it, and which."""
    best, partner = np.inf, a
    for b in range(size.shape[0]):
        if free[b]:
            squared = 0.0
            for j in range(mean.shape[1]):
                squared += (mean[b, j] - mean[a, j]) ** 2
            cost = squared * size[a] * size[b] / (size[a] + size[b])
            if cost < best:
                best, partner = cost, b
    return best, partner
