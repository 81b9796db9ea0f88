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
    centres, samples, cannot_pairs, h, *, profile, scale=0.5, floor=1e-3, confidence=None
):
    """One iteration of eq. 3.1; a centre without weight stays. Also the total weight of each."""
    confidence = np.ones(len(cannot_pairs)) if confidence is None else confidence
    weight = constraint_weights(centres, cannot_pairs, h, profile, scale, floor, confidence)
    u = ((centres[:, None, :] - samples[None, :, :]) ** 2).sum(axis=2) / h**2
    kernel = profile(u) * weight
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


def closeness_components(centres, bandwidth):
    """Labels of the paper: rows whose centres a chain of kernel values above 0.99 connects."""
    u = ((centres[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2) / bandwidth**2
    near = np.exp(-u) > 0.99
    labels = np.full(len(centres), -1)
    for first in range(len(centres)):
        if labels[first] < 0:
            reached = np.zeros(len(centres), dtype=bool)
            reached[first] = True
            while True:
                wider = near[reached].any(axis=0) | reached
                if (wider == reached).all():
                    break
                reached = wider
            labels[reached] = labels.max() + 1
    return labels
