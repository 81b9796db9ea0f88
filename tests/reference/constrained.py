"""Constrained mean shift, word for word: Schier, Reinders, Rosenhahn (SDM 2022), eq. 3.1 to 4.4.

Dense, slow and plain: n x n weights, one factor for each ordered cannot-link.
"""

from __future__ import annotations

import numpy as np


def literal_kernel(name, truncation=0.2):
    """Profile k of the paper: squared scaled distances to weights."""

    def profile(u):
        if name == "flat":
            return np.where(u < 1.0, 1.0, 0.0)
        value = np.exp(-u)
        return np.where(value > truncation, value, 0.0) if name == "truncated_gaussian" else value

    return profile


def constrained_shift(
    X, cannot_pairs, bandwidths, *, profile, scale=0.5, floor=1e-3, blurring=False, confidence=None
):
    """Final centres, and the centres after each iteration.

    ``profile`` maps squared scaled distances to weights; ``cannot_pairs`` are unordered, closed.
    """
    centres = X.astype(float).copy()
    history = [centres.copy()]
    for h in bandwidths:
        samples = centres if blurring else X.astype(float)
        centres, _ = constrained_step(
            centres,
            samples,
            cannot_pairs,
            h,
            profile=profile,
            scale=scale,
            floor=floor,
            confidence=confidence,
        )
        history.append(centres.copy())
    return centres, history


def constrained_step(
    centres, samples, cannot_pairs, h, *, profile, scale=0.5, floor=1e-3, confidence=None, mass=1.0
):
    """One iteration of eq. 3.1; a centre without weight stays. Also the total weight of each.

    ``mass`` is what each sample counts.
    """
    confidence = np.ones(len(cannot_pairs)) if confidence is None else confidence
    weight = constraint_weights(centres, cannot_pairs, h, profile, scale, floor, confidence)
    u = ((centres[:, None, :] - samples[None, :, :]) ** 2).sum(axis=2) / h**2
    kernel = profile(u) * weight * mass
    total = kernel.sum(axis=1)
    moved = centres.copy()
    for i in range(len(centres)):
        if total[i] > 0:
            moved[i] = kernel[i] @ samples / total[i]
    return moved, total


def constraint_weights(centres, cannot_pairs, h, profile, scale, floor, confidence):
    """w(t_i, s_j) of eq. 4.3: a product over ordered constraints of eq. 4.2."""
    weight = np.ones((len(centres), len(centres)))
    for (a, b), sure in zip(cannot_pairs, confidence, strict=True):
        length = np.linalg.norm(centres[a] - centres[b])
        h_c = max(floor, min(h, scale * length))  # eq. 4.4
        near_a = profile(((centres - centres[a]) ** 2).sum(axis=1) / h_c**2)
        near_b = profile(((centres - centres[b]) ** 2).sum(axis=1) / h_c**2)
        weight *= 1.0 - sure * np.outer(near_a, near_b)
        weight *= 1.0 - sure * np.outer(near_b, near_a)
    return weight


def closeness_components(centres, bandwidth, above=0.99):
    """Our labels: rows whose centres a chain of exponentials above 0.99 connects."""
    u = ((centres[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2) / bandwidth**2
    return components(np.exp(-u) > above)


def authors_labels(before, after, cannot_pairs, h, *, profile, above, weight_above, **weights):
    """Labels of the authors' code: a chain of kernel values and of weights above thresholds.

    Kernel values are of the final centres; weights of the centres that the last iteration, at
    bandwidth h, set out from.
    """
    ones = np.ones(len(cannot_pairs))
    options = {"scale": 0.5, "floor": 1e-3, "confidence": ones} | weights
    weight = constraint_weights(before, cannot_pairs, h, profile, **options)
    u = ((after[:, None, :] - after[None, :, :]) ** 2).sum(axis=2) / h**2
    return components((profile(u) > above) & (weight > weight_above))


def components(near):
    """Connected components of a symmetric relation, by first row."""
    labels = np.full(len(near), -1)
    for first in range(len(near)):
        if labels[first] < 0:
            reached = np.zeros(len(near), dtype=bool)
            reached[first] = True
            while True:
                wider = near[reached].any(axis=0) | reached
                if (wider == reached).all():
                    break
                reached = wider
            labels[reached] = labels.max() + 1
    return labels


def follow(
    starts,
    X,
    history,
    cannot_pairs,
    bandwidths,
    *,
    profile,
    scale=0.5,
    floor=1e-3,
    confidence=None,
    blurring=False,
    mass=1.0,
):
    """Ends of further centres, one at a time, beside centres of rows that moved as ``history``."""
    confidence = np.ones(len(cannot_pairs)) if confidence is None else confidence
    ends = starts.astype(float).copy()
    mass = np.broadcast_to(mass, len(X))
    for h, centres in zip(bandwidths, history[:-1], strict=True):
        samples = centres if blurring else X
        for i, here in enumerate(ends):
            weight = np.ones(len(X))
            for (a, b), sure in zip(cannot_pairs, confidence, strict=True):
                h_c = max(floor, min(h, scale * np.linalg.norm(centres[a] - centres[b])))
                for x, y in ((a, b), (b, a)):
                    own = profile(((centres[x] - here) ** 2).sum() / h_c**2)
                    others = profile(((centres - centres[y]) ** 2).sum(axis=1) / h_c**2)
                    weight *= 1.0 - sure * own * others
            kernel = profile(((samples - here) ** 2).sum(axis=1) / h**2) * weight * mass
            if kernel.sum() > 0:
                ends[i] = kernel @ samples / kernel.sum()
    return ends
