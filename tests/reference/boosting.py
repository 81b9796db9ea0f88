"""Boosting of dyadic hypercuts as printed: one cluster, one fold and one dyad at a time.

Dyads are handed in, and bins are those of the fast version, so that results agree to rounding.
"""

import numpy as np
from scipy.special import expit

BINS = 64


def projection(kernels, m, p, q):
    return kernels[m, p] - kernels[m, q]


def bin_range(values, p, q):
    """Range of the samples that are no ends; of all, if those are equal. None if all are."""
    others = np.delete(values, [p, q])
    for some in (others, values):
        if some.size and some.max() - some.min() > 1e-30:
            return some.min(), some.max()
    return None


def bins_of(values, low, high):
    place = (values - low) * (np.float32(BINS) / (high - low))
    return np.clip(place, 0, BINS - 1).astype(int)


def best_stump(values, p, q, learning, w, z):
    """Gain, spread, threshold, left and right value of the best cut; None if there is none."""
    found = bin_range(values, p, q)
    if found is None:
        return None
    bins = bins_of(values, *found)
    w, z, bins, values = w[learning], z[learning], bins[learning], values[learning]
    constant = np.average(z, weights=w)
    before = np.sum(w * (z - constant) ** 2)
    best = None
    for b in np.unique(bins)[:-1]:  # elsewhere a cut parts the samples in the same way
        right = bins > b
        low = np.average(z[~right], weights=w[~right])
        high = np.average(z[right], weights=w[right])
        gain = before - np.sum(w * (z - np.where(right, high, low)) ** 2)
        if gain > 1e-12 * before and (best is None or gain > best[0] * (1 + 1e-9)):
            threshold = (float(values[~right].max()) + float(values[right].min())) / 2
            best = (gain, found[1] - found[0], threshold, low, high)
    return best


def better(stump, best):
    """More gain; of equal gains the wider spread."""
    if abs(stump[0] - best[0]) <= 1e-9 * best[0]:
        return stump[1] > best[1]
    return stump[0] > best[0]


def every_dyad(member):
    """The pool of eq. 8: each member with each other sample."""
    return [(p, q) for p in np.flatnonzero(member) for q in np.flatnonzero(~member)]


def best_hypercut(kernels, member, learning, w, z):
    """Eq. 8 word by word: the largest gain over all x_p, x_n, k_m and thresholds.

    Thresholds are exact, not bins: the gain is at least that of the fast version.
    """
    constant = np.average(z[learning], weights=w[learning])
    before = np.sum(w[learning] * (z[learning] - constant) ** 2)
    best = 0.0
    for m in range(len(kernels)):
        for p, q in every_dyad(member):
            if not (learning[p] and learning[q]):
                continue
            values = projection(kernels, m, p, q)
            for theta in np.unique(values[learning])[:-1]:
                h = np.zeros(member.size)
                for side in (values <= theta, values > theta):
                    h[side] = np.average(z[side & learning], weights=w[side & learning])
                best = max(best, before - np.sum(w[learning] * (z - h)[learning] ** 2))
    return best


def working(member, scores, loss):
    """Weights and responses: LogitBoost's, or Gentle AdaBoost's for the exponential loss."""
    if loss == "exp":
        sign = np.where(member, 1.0, -1.0)
        return np.maximum(np.exp(-sign * scores), 1e-5), sign
    chance = expit(scores)
    w = np.maximum(chance * (1 - chance), 1e-5)
    return w, np.clip((member - chance) / w, -4, 4)


def boosted(kernels, member, learning, dyads, loss="log"):
    """Scores of all samples from those in ``learning``; and the weak learners."""
    n_in = int((member & learning).sum())
    n_out = int(learning.sum()) - n_in
    if n_in == 0 or n_out == 0:
        odds = np.log((n_in + 0.5) / (n_out + 0.5))
        return np.full(member.size, odds / 2 if loss == "exp" else odds), []
    scores = np.zeros(member.size)
    stumps = []
    for candidates in dyads:
        w, z = working(member, scores, loss)
        best = None
        for m in range(len(kernels)):
            for p, q in candidates:
                if not (learning[p] and learning[q]):
                    continue
                values = projection(kernels, m, p, q)
                stump = best_stump(values, p, q, learning, w, z)
                if stump and (best is None or better(stump, best)):
                    best = (*stump, m, p, q)
        if best is None:
            step = np.average(z[learning], weights=w[learning])
            scores += step
            stumps.append((-1, -1, -1, 0.0, 0.0, step, 0.0))
            continue
        gain, _, threshold, low, high, m, p, q = best
        scores += np.where(projection(kernels, m, p, q) > threshold, high, low)
        stumps.append((m, p, q, threshold, (high - low) / 2, (high + low) / 2, gain))
    return scores, stumps


def held_out(kernels, member, fold, dyads, loss="log"):
    """Scores of each sample by the classifier of its fold."""
    out = np.empty(member.size)
    for j in np.unique(fold):
        scores, _ = boosted(kernels, member, fold != j, dyads, loss)
        out[fold == j] = scores[fold == j]
    return out
