# mypy: disable-error-code="no-untyped-def"
"""Jit loops of boosting: one cluster against the rest, all folds side by side.

They trust their input. Sums run over samples in their order, so that results are the same
whichever thread does the work.

Folds lie side by side in memory, in a row for each sample or bin: the weights of all folds, then
their responses. Inner loops run over folds, which is what the compiler vectorises.
"""

from __future__ import annotations

import numpy as np

from linkshift._core.exp2 import exp2
from linkshift._core.jit import jit

BINS = 64
LANES = 16  # folds whose cuts are sought at once
FLOOR = 1e-5  # least weight of a sample
FEW = 0.5 * FLOOR  # less weight than this is that of no sample
CLIP = 4.0  # largest working response
BETTER = 1e-9  # gains that differ by this share are equal: rounding must not choose
NARROW = 1e-30  # projections within this are equal
STEEP = 700.0  # scores beyond this are as good as certain; exponentials of this are finite
LOG2_E = 1.4426950408889634


@jit
def boost(table, ends, samples, member, fold, learns, exponential, scores, choice, cut):
    """Add a weak learner to the classifier of every fold, round after round.

    ``table`` (M, s, n) float32 holds kernel columns, ``ends`` (R, K, 2) where the end points of
    round r's dyads stand in it, and ``samples`` (R, K, 2) which samples these are; (1, K, 2) if all
    rounds have the same. ``member`` (n,) is 1.0 in the cluster, 0.0 outside. Fold j learns from
    samples i with ``fold[i] != j``, with dyads whose ends are such samples, if ``learns[j]``.
    ``exponential`` tells which loss falls: the exponential one, or that of log-likelihood.

    ``scores`` (n, F) are updated. ``choice`` (R, F, 2) receives view and dyad, -1 for none, and
    ``cut`` (R, F, 4) threshold, a, b and gain.
    """
    n, n_folds = scores.shape
    work = np.empty((n, 2 * n_folds))
    total = np.empty(2 * n_folds)
    histogram = np.empty((BINS, 2 * n_folds))
    values = np.empty(n, np.float32)
    bins = np.empty(n, np.uint8)
    gains = np.empty(n_folds)
    cuts = np.empty(n_folds, np.int64)
    best = np.empty(n_folds)
    best_bin = np.empty(n_folds, np.int64)
    best_range = np.empty((n_folds, 2), np.float32)
    for r in range(choice.shape[0]):
        here = min(r, ends.shape[0] - 1)
        _respond(scores, member, fold, exponential, work, total)
        best[:] = 0.0
        best_range[:] = 0.0
        choice[r] = -1
        for m in range(table.shape[0]):
            for k in range(ends.shape[1]):
                p, q = samples[here, k, 0], samples[here, k, 1]
                _project(table[m, ends[here, k, 0]], table[m, ends[here, k, 1]], values)
                low, scale = _range(values, p, q)
                if scale == 0.0:
                    continue
                _bin(values, low, scale, bins)
                _count(bins, work, histogram)
                _best_cuts(histogram, total, gains, cuts)
                for j in range(n_folds):
                    if not learns[j] or fold[p] == j or fold[q] == j:
                        continue
                    gain = gains[j]
                    # Well apart clusters are parted by many cuts alike, and views that come first
                    # must not have them all: the wider spread counts.
                    alike = gain > best[j] * (1.0 - BETTER) and scale < best_range[j, 1]
                    if gain > best[j] * (1.0 + BETTER) or alike:
                        best[j] = gain
                        best_bin[j] = cuts[j]
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
            _project(table[m, ends[here, k, 0]], table[m, ends[here, k, 1]], values)
            _bin(values, best_range[j, 0], best_range[j, 1], bins)
            cut[r, j, 3] = best[j]
            _learn(values, bins, best_bin[j], work, fold, j, scores, cut[r, j])


@jit
def _respond(scores, member, fold, exponential, work, total):
    """Weights, then weighted working responses, of all folds in each row of ``work``.

    With z clipped to c, w z is y - p clipped to c w. For the exponential loss z is 1 in the cluster
    and -1 outside.
    """
    n, n_folds = scores.shape
    total[:] = 0.0
    for i in range(n):
        weights, responses = work[i, :n_folds], work[i, n_folds:]
        for j in range(n_folds):
            score = min(max(scores[i, j], -STEEP), STEEP)
            if exponential:
                sign = 2.0 * member[i] - 1.0
                weights[j] = max(exp2(-LOG2_E * sign * score), FLOOR)
                responses[j] = sign * weights[j]
                continue
            p = 1.0 / (1.0 + exp2(-LOG2_E * score))
            weight = max(p * (1.0 - p), FLOOR)
            most = CLIP * weight
            weights[j] = weight
            responses[j] = max(min(member[i] - p, most), -most)
        if fold[i] >= 0:
            weights[fold[i]] = 0.0
            responses[fold[i]] = 0.0
        for c in range(2 * n_folds):
            total[c] += work[i, c]


@jit
def _project(towards, away, values):
    """Projections of all samples."""
    for i in range(values.shape[0]):
        values[i] = towards[i] - away[i]


@jit
def _turn(bits):
    """Make the bits of a float32 a whole number in the same order; or back.

    Extremes of whole numbers are found many at a time, those of floats one by one.
    """
    return np.int32(bits ^ (np.int32(bits >> np.int32(31)) & np.int32(2147483647)))


@jit
def _range(values, p, q):
    """Least projection and bins per unit; zero bins when projections are all equal.

    The end points lie far out, each being next to itself: the range is that of the others, unless
    these are all equal.
    """
    bits = values.view(np.int32)
    least = _turn(np.float32(np.inf).view(np.int32))
    most = _turn(np.float32(-np.inf).view(np.int32))
    first, last = min(p, q), max(p, q)
    for part in (bits[:first], bits[first + 1 : last], bits[last + 1 :]):
        for i in range(part.shape[0]):
            key = _turn(part[i])
            least, most = min(least, key), max(most, key)
    low = np.int32(_turn(least)).view(np.float32)
    high = np.int32(_turn(most)).view(np.float32)
    if not high - low > NARROW:
        low, high = min(low, values[p]), max(high, values[p])
        low, high = min(low, values[q]), max(high, values[q])
        if not high - low > NARROW:
            return low, np.float32(0.0)
    return low, np.float32(BINS) / (high - low)


@jit
def _bin(values, low, scale, bins):
    """Bins of all projections; what lies outside goes to the outermost bins."""
    for i in range(bins.shape[0]):
        place = (values[i] - low) * scale
        bins[i] = np.uint8(min(max(place, np.float32(0.0)), np.float32(BINS - 1)))


@jit
def _count(bins, work, histogram):
    """Add up the rows of ``work`` in each bin: one pass serves all folds."""
    histogram[:] = 0.0
    for i in range(bins.shape[0]):
        here = bins[i]
        for c in range(work.shape[1]):
            histogram[here, c] += work[i, c]


@jit
def _best_cuts(histogram, total, gains, cuts):
    """Cut of each fold that takes most off the weighted squares, beyond what a constant does.

    A cut after bin b with weights W and responses S to its left gains
    (S W_all - S_all W)^2 / (W W' W_all), W' being the weight to its right. Fractions are compared
    by cross multiplication; ``mark`` is the best one's numerator times 1 + ``BETTER``.
    """
    n_folds = gains.shape[0]
    # Rows of one array of known shape: the compiler sees that they do not overlap.
    best = np.empty((5, LANES))
    weight, response, mark, base, at = best[0], best[1], best[2], best[3], best[4]
    for first in range(0, n_folds, LANES):
        weight[:], response[:], mark[:], base[:], at[:] = 0.0, 0.0, 0.0, 1.0, -1.0
        all_weight, all_response = total[first:n_folds], total[n_folds + first :]
        lanes = min(LANES, n_folds - first)
        for b in range(BINS - 1):
            weights, responses = histogram[b, first:n_folds], histogram[b, n_folds + first :]
            for j in range(lanes):
                weight[j] += weights[j]
                response[j] += responses[j]
                rest = all_weight[j] - weight[j]
                lever = response[j] * all_weight[j] - all_response[j] * weight[j]
                empty = weight[j] < FEW or rest < FEW  # no sample on one side: no gain
                top = 0.0 if empty else lever * lever
                bottom = 1.0 if empty else weight[j] * rest
                better = top * base[j] > mark[j] * bottom
                mark[j] = top * (1.0 + BETTER) if better else mark[j]
                base[j] = bottom if better else base[j]
                at[j] = b if better else at[j]
        for j in range(lanes):
            gains[first + j] = mark[j] / ((1.0 + BETTER) * base[j] * all_weight[j])
            cuts[first + j] = np.int64(at[j])


@jit
def _learn(values, bins, at, work, fold, j, scores, cut):
    """Make the cut of fold j a weak learner and add it to the scores of all samples.

    The threshold lies half-way between the learning samples to either side of it, so that what
    was learned on bins holds for the projections themselves, and held-out samples are judged as
    new ones would be.
    """
    n, n_folds = scores.shape
    left, right = np.float32(-np.inf), np.float32(np.inf)
    for i in range(n):
        if fold[i] != j:
            if bins[i] > at:
                right = min(right, values[i])
            else:
                left = max(left, values[i])
    low_weight, low_response, high_weight, high_response = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        weight, response = work[i, j], work[i, n_folds + j]
        above = bins[i] > at
        low_weight += 0.0 if above else weight
        low_response += 0.0 if above else response
        high_weight += weight if above else 0.0
        high_response += response if above else 0.0
    low_step, high_step = low_response / low_weight, high_response / high_weight
    threshold = 0.5 * (np.float64(left) + np.float64(right))
    a, b = 0.5 * (high_step - low_step), 0.5 * (high_step + low_step)
    cut[0], cut[1], cut[2] = threshold, a, b
    for i in range(n):
        scores[i, j] += b + a if np.float64(values[i]) > threshold else b - a
