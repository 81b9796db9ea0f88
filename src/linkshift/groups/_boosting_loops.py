# mypy: disable-error-code="no-untyped-def, import-untyped"
# ruff: noqa: ARG001 (numba tells intrinsics more than they need)
"""Jit loops of boosting: one cluster against the rest, all folds side by side.

They trust their input. Sums run over samples in their order, so that results are the same
whichever thread does the work.

Folds lie side by side in memory, in a row for each sample or bin: the weights of all folds, then
their responses. Four folds are worked at a time. Loops over so few are not vectorised by the
compiler, hence ``Lanes``; the last of them may reach beyond their row, where what they read is
not used and what they write is written over.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, overload, register_model

from linkshift._core.exp2 import exp2
from linkshift._core.jit import jit

BINS = 64
FLOOR = 1e-5  # least weight of a sample
CLIP = 4.0  # largest working response
BETTER = 1e-9  # gains that differ by this share are equal: rounding must not choose
NARROW = 1e-30  # projections within this are equal
LANES = 4
STEEP = 700.0  # scores beyond this are as good as certain; exponentials of this are finite
LOG2_E = 1.4426950408889634

intrinsic: Any = numba_intrinsic  # typed as if its functions were called as they are written


class Lanes(types.Type):
    """Four float64 in one register, with arithmetic; for jit functions only."""

    def __init__(self) -> None:
        super().__init__("Lanes")


_lanes = Lanes()
_vector = ir.VectorType(ir.DoubleType(), LANES)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _vector)


def _add_operator(symbol, instruction) -> None:
    @intrinsic
    def operate(_, x, y):
        def code(context, builder, signature, args):
            return getattr(builder, instruction)(*args)

        return _lanes(_lanes, _lanes), code

    @overload(symbol)
    def implement(x, y):
        if isinstance(x, Lanes) and isinstance(y, Lanes):
            return lambda x, y: operate(x, y)
        return None


_add_operator(operator.add, "fadd")
_add_operator(operator.sub, "fsub")
_add_operator(operator.mul, "fmul")
_add_operator(operator.truediv, "fdiv")


@intrinsic
def _choose(_, x, y, above, otherwise):
    """Lanes of ``above`` where x > y, else of ``otherwise``."""

    def code(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[2], args[3])

    return _lanes(_lanes, _lanes, _lanes, _lanes), code


@intrinsic
def _spread(_, number):
    """Four times the same number."""

    def code(context, builder, signature, args):
        value = ir.Constant(_vector, ir.Undefined)
        for lane in range(LANES):
            value = builder.insert_element(value, args[0], ir.Constant(ir.IntType(32), lane))
        return value

    return _lanes(types.float64), code


def _address(context, builder, kind, array, at):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _vector.as_pointer())


@intrinsic
def _load(_, array, at):
    """array[at : at + 4] of a flat float64 array."""

    def code(context, builder, signature, args):
        return builder.load(_address(context, builder, signature.args[0], *args), align=8)

    return _lanes(array, types.intp), code


@intrinsic
def _store(_, array, at, value):
    """array[at : at + 4] = value, in a flat float64 array."""

    def code(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes), code


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
    width = (2 * n_folds + LANES - 1) // LANES * LANES
    # Lanes of the last folds reach beyond the end.
    chance = np.zeros(n * n_folds + LANES)
    work = np.zeros(n * width + LANES)
    total = np.zeros(width + LANES)
    histogram = np.empty(BINS * width)
    values = np.empty(n, np.float32)
    bins = np.empty(n, np.uint8)
    gains = np.empty(n_folds + LANES)
    cuts = np.empty(n_folds + LANES)
    best = np.empty(n_folds)
    best_bin = np.empty(n_folds, np.int64)
    best_range = np.empty((n_folds, 2), np.float32)
    for r in range(ends.shape[0]):
        _respond(scores, member, fold, width, chance, work, total)
        best[:] = 0.0
        best_range[:] = 0.0
        choice[r] = -1
        for m in range(table.shape[0]):
            for k in range(ends.shape[1]):
                p, q = samples[r, k, 0], samples[r, k, 1]
                _project(table[m, ends[r, k, 0]], table[m, ends[r, k, 1]], values)
                low, scale = _range(values, p, q)
                if scale == 0.0:
                    continue
                _bin(values, low, scale, bins)
                _count(bins, width, work, histogram)
                _best_cuts(histogram, width, total, n_folds, gains, cuts)
                for j in range(n_folds):
                    if not learns[j] or fold[p] == j or fold[q] == j:
                        continue
                    gain = gains[j]
                    # Well apart clusters are parted by many cuts alike, and views that come first
                    # must not have them all: the wider spread counts.
                    alike = gain > best[j] * (1.0 - BETTER) and scale < best_range[j, 1]
                    if gain > best[j] * (1.0 + BETTER) or alike:
                        best[j] = gain
                        best_bin[j] = np.int64(cuts[j])
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
            _project(table[m, ends[r, k, 0]], table[m, ends[r, k, 1]], values)
            _bin(values, best_range[j, 0], best_range[j, 1], bins)
            cut[r, j, 3] = best[j]
            _learn(values, bins, best_bin[j], work, width, fold, j, scores, cut[r, j])


@jit
def _respond(scores, member, fold, width, chance, work, total):
    """Weights, then weighted working responses, of all folds in each row of ``work``.

    With z clipped to c, w z is y - p clipped to c w.
    """
    n, n_folds = scores.shape
    flat = scores.reshape(n * n_folds)
    for x in range(n * n_folds):
        score = min(max(flat[x], -STEEP), STEEP)
        chance[x] = 1.0 / (1.0 + exp2(-LOG2_E * score))
    one, floor, most, least = _spread(1.0), _spread(FLOOR), _spread(CLIP), _spread(-CLIP)
    total[:] = 0.0
    for i in range(n):
        y, row = _spread(member[i]), i * width
        # From the last lanes to the first: what the last weights write beyond their folds is
        # overwritten by the first responses.
        for j in range((n_folds - 1) // LANES * LANES, -1, -LANES):
            p = _load(chance, i * n_folds + j)
            weight, response = p * (one - p), y - p
            weight = _choose(weight, floor, weight, floor)
            response = _choose(response, most * weight, most * weight, response)
            response = _choose(least * weight, response, least * weight, response)
            _store(work, row + j, weight)
            _store(work, row + n_folds + j, response)
        if fold[i] >= 0:
            work[row + fold[i]] = 0.0
            work[row + n_folds + fold[i]] = 0.0
        for c in range(0, width, LANES):
            _store(total, c, _load(total, c) + _load(work, row + c))


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
    """Least projection and bins per unit; nought bins when projections are all equal.

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
def _count(bins, width, work, histogram):
    """Add up the rows of ``work`` in each bin: one pass serves all folds."""
    histogram[:] = 0.0
    for i in range(bins.shape[0]):
        here, row = np.intp(bins[i]) * width, i * width
        for c in range(0, width, LANES):
            _store(histogram, here + c, _load(histogram, here + c) + _load(work, row + c))


@jit
def _best_cuts(histogram, width, total, n_folds, gains, cuts):
    """Cut of each fold that takes most off the weighted squares, beyond what a constant does.

    A cut after bin b with weights W and responses S to its left gains
    (S W_all - S_all W)^2 / (W W' W_all), W' being the weight to its right. Fractions are compared
    by cross multiplication; ``mark`` is the best one's numerator times 1 + ``BETTER``.
    """
    zero, one, few, more = _spread(0.0), _spread(1.0), _spread(0.5 * FLOOR), _spread(1.0 + BETTER)
    for j in range(0, n_folds, LANES):
        all_weight, all_response = _load(total, j), _load(total, n_folds + j)
        weight, response, mark, base, at = zero, zero, zero, one, _spread(-1.0)
        for b in range(BINS - 1):
            weight = weight + _load(histogram, b * width + j)
            response = response + _load(histogram, b * width + n_folds + j)
            rest = all_weight - weight
            lever = response * all_weight - all_response * weight
            least = _choose(weight, rest, rest, weight)
            top = _choose(few, least, zero, lever * lever)  # no sample on one side: no gain
            bottom = _choose(few, least, one, weight * rest)
            new, old = top * base, mark * bottom
            mark = _choose(new, old, top * more, mark)
            base = _choose(new, old, bottom, base)
            at = _choose(new, old, _spread(np.float64(b)), at)
        _store(gains, j, mark / (more * base * all_weight))
        _store(cuts, j, at)


@jit
def _learn(values, bins, at, work, width, fold, j, scores, cut):
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
        weight, response = work[i * width + j], work[i * width + n_folds + j]
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
