# mypy: disable-error-code="no-untyped-def"
"""Jit loops of boosting: one cluster against the rest, all folds side by side.

They trust their input. Sums run over samples in their order, so that results are the same
whichever thread does the work.
"""

from __future__ import annotations

import numpy as np

from linkshift.shift._jit import jit

BINS = 64
FLOOR = 1e-5  # least weight of a sample
CLIP = 4.0  # largest working response
BETTER = 1e-9  # gains that differ by this share are equal: rounding must not choose
NARROW = 1e-30  # projections within this are equal


@jit
def boost(table, ends, samples, member, fold, learns, scores, choice, cut):
    """Add a weak learner to the classifier of every fold, round after round.

    ``table`` (M, s, n) float32 holds kernel columns, ``ends`` (R, K, 2) where the end points of
    round r's dyads stand in it, and ``samples`` (R, K, 2) which samples these are. ``member`` (n,)
    is 1.0 in the cluster, 0.0 outside. Fold j learns from samples i with ``fold[i] != j``, with
    dyads whose ends are such samples, if ``learns[j]``.

    ``scores`` (n, F) are updated. ``choice`` (R, F, 2) receives view and dyad, -1 for none, and
    ``cut`` (R, F, 4) threshold, a, b and gain.
    """
    n, n_folds = scores.shape
    work = np.zeros((n, 2 * n_folds))
    total = np.empty(2 * n_folds)
    histogram = np.empty((BINS, 2 * n_folds))
    bins = np.empty(n, np.uint8)
    best = np.empty(n_folds)
    best_bin = np.empty(n_folds, np.int64)
    best_range = np.empty((n_folds, 2), np.float32)
    for r in range(ends.shape[0]):
        _respond(scores, member, fold, learns, work, total)
        best[:] = 0.0
        best_range[:] = 0.0
        choice[r] = -1
        for m in range(table.shape[0]):
            for k in range(ends.shape[1]):
                p, q = samples[r, k, 0], samples[r, k, 1]
                towards, away = table[m, ends[r, k, 0]], table[m, ends[r, k, 1]]
                low, scale = _range(towards, away, p, q)
                if scale == 0.0:
                    continue
                _bin(towards, away, low, scale, bins)
                _count(bins, work, histogram)
                for j in range(n_folds):
                    if not learns[j] or fold[p] == j or fold[q] == j:
                        continue
                    gain, at = _best_cut(histogram, total, j, n_folds)
                    # Well apart clusters are parted by many cuts alike, and views that come first
                    # must not have them all: the wider spread counts.
                    alike = gain > best[j] * (1.0 - BETTER) and scale < best_range[j, 1]
                    if gain > best[j] * (1.0 + BETTER) or alike:
                        best[j] = gain
                        best_bin[j] = at
                        best_range[j, 0], best_range[j, 1] = low, scale
                        choice[r, j, 0], choice[r, j, 1] = m, k
        for j in range(n_folds):
            if not learns[j]:
                continue
            if choice[r, j, 0] < 0:
                # Nothing to cut: a constant step, towards the prior.
                step = total[n_folds + j] / total[j]
                cut[r, j, 0], cut[r, j, 1], cut[r, j, 2], cut[r, j, 3] = 0.0, 0.0, step, 0.0
                for i in range(n):
                    scores[i, j] += step
                continue
            m, k = choice[r, j, 0], choice[r, j, 1]
            towards, away = table[m, ends[r, k, 0]], table[m, ends[r, k, 1]]
            low, scale = best_range[j, 0], best_range[j, 1]
            cut[r, j, 3] = best[j]
            _add(towards, away, low, scale, best_bin[j], work, fold, j, scores, cut[r, j])


@jit
def _respond(scores, member, fold, learns, work, total):
    """Weights (first half of a row of ``work``) and weighted working responses (second half)."""
    n, n_folds = scores.shape
    total[:] = 0.0
    for i in range(n):
        for j in range(n_folds):
            if fold[i] == j or not learns[j]:
                continue
            p = 1.0 / (1.0 + np.exp(-scores[i, j]))
            weight = max(p * (1.0 - p), FLOOR)
            z = min(max((member[i] - p) / weight, -CLIP), CLIP)
            work[i, j] = weight
            work[i, n_folds + j] = weight * z
            total[j] += weight
            total[n_folds + j] += weight * z


@jit
def _range(towards, away, p, q):
    """Least projection and bins per unit; nought bins when projections are all equal.

    The end points lie far out, each being next to itself: the range is that of the others, unless
    these are all equal.
    """
    low, high = np.float32(np.inf), np.float32(-np.inf)
    for i in range(towards.shape[0]):
        value = towards[i] - away[i]
        if i != p and i != q:
            low, high = min(low, value), max(high, value)
    if not high - low > NARROW:
        low, high = min(low, towards[p] - away[p]), max(high, towards[p] - away[p])
        low, high = min(low, towards[q] - away[q]), max(high, towards[q] - away[q])
        if not high - low > NARROW:
            return low, np.float32(0.0)
    return low, np.float32(BINS) / (high - low)


@jit
def _bin(towards, away, low, scale, bins):
    """Bins of all projections; what lies outside goes to the outermost bins."""
    for i in range(bins.shape[0]):
        place = (towards[i] - away[i] - low) * scale
        bins[i] = np.uint8(min(max(place, np.float32(0.0)), np.float32(BINS - 1)))


@jit
def _count(bins, work, histogram):
    """Add up the rows of ``work`` in each bin: one pass serves all folds."""
    histogram[:] = 0.0
    for i in range(bins.shape[0]):
        here, row = histogram[bins[i]], work[i]
        for c in range(row.shape[0]):
            here[c] += row[c]


@jit
def _best_cut(histogram, total, j, n_folds):
    """Cut of fold j that takes most off the weighted squares, beyond what a constant does.

    A cut after bin b with weights W and responses S to its left gains
    (S W_all - S_all W)^2 / (W W' W_all), W' being the weight to its right.
    """
    all_weight, all_response = total[j], total[n_folds + j]
    weight, response, best, at = 0.0, 0.0, 0.0, -1
    for b in range(BINS - 1):
        weight += histogram[b, j]
        response += histogram[b, n_folds + j]
        rest = all_weight - weight
        if weight < 0.5 * FLOOR or rest < 0.5 * FLOOR:  # no sample on that side
            continue
        lever = response * all_weight - all_response * weight
        gain = lever * lever / (weight * rest * all_weight)
        if gain > best * (1.0 + BETTER):
            best, at = gain, b
    return best, at


@jit
def _add(towards, away, low, scale, at, work, fold, j, scores, cut):
    """Make the cut of fold j a weak learner and add it to the scores of all samples.

    The threshold lies half-way between the learning samples to either side of it, so that what
    was learned on bins holds for the projections themselves, and held-out samples are judged as
    new ones would be.
    """
    n, n_folds = scores.shape
    left, right = np.float32(-np.inf), np.float32(np.inf)
    weight, response = np.zeros(2), np.zeros(2)
    for i in range(n):
        if fold[i] == j:
            continue
        value = towards[i] - away[i]
        place = min(max((value - low) * scale, np.float32(0.0)), np.float32(BINS - 1))
        side = 1 if np.uint8(place) > at else 0
        if side == 1:
            right = min(right, value)
        else:
            left = max(left, value)
        weight[side] += work[i, j]
        response[side] += work[i, n_folds + j]
    low_step, high_step = response[0] / weight[0], response[1] / weight[1]
    threshold = 0.5 * (np.float64(left) + np.float64(right))
    a, b = 0.5 * (high_step - low_step), 0.5 * (high_step + low_step)
    cut[0], cut[1], cut[2] = threshold, a, b
    for i in range(n):
        value = np.float64(towards[i] - away[i])
        scores[i, j] += b + a if value > threshold else b - a
