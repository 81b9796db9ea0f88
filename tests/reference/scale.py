"""Summaries, widened mean shift and merges as the formulas say them, row by row."""

import math

import numpy as np


def summed(rows, weight, label, k):
    """Mean, weight and spread per column of each group of rows, by explicit sums."""
    n, d = rows.shape
    points, weights, spread = np.zeros((k, d)), np.zeros(k), np.zeros(k)
    for i in range(n):
        weights[label[i]] += weight[i]
        points[label[i]] += weight[i] * rows[i].astype(float)
    points /= weights[:, None]
    for i in range(n):
        apart = rows[i].astype(float) - points[label[i]]
        spread[label[i]] += weight[i] * float(apart @ apart)
    return points, weights, spread / (d * weights)


def totals(points, weights, spread):
    """Total weight, weighted mean and total scatter of landmarks; of rows, with spreads of 0."""
    points = np.asarray(points, dtype=float)
    total = float(np.sum(weights))
    mean = sum(w * p for w, p in zip(weights, points, strict=True)) / total
    scatter = 0.0
    for p, w, s in zip(points, weights, spread, strict=True):
        scatter += w * (float((p - mean) @ (p - mean)) + points.shape[1] * s)
    return total, mean, scatter


def widened(spread, bandwidth, profile, d):
    """Bandwidth of a kernel with the variance of the profile plus a spread."""
    variance = bandwidth**2 * profile.spread(d) ** 2 + spread
    return math.sqrt(variance) / profile.spread(d)


def climb(points, weights, spread, bandwidth, profile, start, n_steps=2000, tol=1e-10):
    """Mean shift of one start over landmarks, by the formula."""
    points, x = points.astype(float), np.array(start, dtype=float)
    d = points.shape[1]
    for _ in range(n_steps):
        top, bottom = np.zeros(d), 0.0
        for p, w, s in zip(points, weights, spread, strict=True):
            h = widened(s, bandwidth, profile, d)
            g = w * h ** -(d + 2) * float(profile.weight(float((x - p) @ (x - p)) / h**2))
            top, bottom = top + g * p, bottom + g
        if bottom == 0.0 or np.linalg.norm(top / bottom - x) <= tol:
            break
        x = top / bottom
    return x
