r"""The belief that two rows belong together, which starts with what data sets have in common.

.. math:: P(\text{same}) = \frac{1}{1 + e^{-w \cdot \phi(a, b)}}, \qquad w \sim N(\mu, \Sigma)

with the features :math:`\phi` of :mod:`linkshift.active.look`. The mean and covariance are those
of the weights over many data sets (``python -m benchmarks.active.prior`` fits them), so that the
model says something before the first answer, and each answer moves it as far as sets differ. The
weights are those of largest posterior probability, by Newton's method from the mean: they depend on
the answers, not on the way there.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from linkshift._core.arrays import Array

__all__ = ["Prior", "beliefs", "posterior", "prior"]

_STEPS = 50
_SETTLED = 1e-9
_SHORTEST = 1e-4  # of a Newton step
_NARROW = 2.0  # by which the precision over sets is multiplied: answers are few, and picked


class Prior(NamedTuple):
    """What is believed of the weights before any answer."""

    mean: Array
    precision: Array


@lru_cache(maxsize=1)
def prior() -> Prior:
    """Read what was fitted over many data sets."""
    found = json.loads(files("linkshift.active").joinpath("prior.json").read_text("utf-8"))
    half = np.array(found["covariance"])  # its lower triangle, row by row
    covariance = np.zeros((len(found["mean"]),) * 2)
    covariance[np.tril_indices(len(covariance))] = half
    covariance = covariance + np.tril(covariance, -1).T
    return Prior(np.array(found["mean"]), _NARROW * np.linalg.inv(covariance))


def posterior(features: Array, same: Array, weight: Array, before: Prior) -> Array:
    """Find the weights after answers, by damped Newton steps from the mean.

    Parameters
    ----------
    features : (q, f)
    same : (q,)
        1 for same, 0 for different.
    weight : (q,)
        How much each answer counts.
    before : Prior
    """
    mean, precision = before

    def cost(at: Array) -> float:
        score, off = features @ at, at - mean
        loss = weight * (np.logaddexp(0.0, score) - same * score)
        return float(loss.sum() + off @ precision @ off / 2)

    found, last = mean.copy(), cost(mean)
    for _ in range(_STEPS):
        chance = expit(features @ found)
        slope = features.T @ (weight * (chance - same)) + precision @ (found - mean)
        bend = (features * (weight * chance * (1 - chance))[:, None]).T @ features + precision
        step, length = np.linalg.solve(bend, slope), 1.0
        while cost(found - length * step) > last and length > _SHORTEST:
            length /= 2
        found = found - length * step
        now = cost(found)
        if last - now < _SETTLED:
            break
        last = now
    return found


def beliefs(weights: Array, features: Array) -> Array:
    """Probabilities that pairs are the same; features come first, as `Look.of_pairs` has them."""
    f = len(features)
    score = weights.astype(np.float32) @ features.reshape(f, -1)
    found: Array = expit(score.astype(np.float64)).reshape(features.shape[1:])
    return found
