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

__all__ = ["Prior", "beliefs", "left_out", "posterior", "prior"]

_STEPS = 50
_SETTLED = 1e-9
_SHORTEST = 1e-4  # of a Newton step
PAIR = 0.8  # weight of the score of a pair by other answers, where a slip is looked for
_BEFORE = (1.0, 40.0)  # slips and right answers, before any
_RATES = np.linspace(0.0025, 0.3975, 80)
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


def left_out(features: Array, same: Array, weight: Array, found: Array, before: Prior) -> Array:
    r"""Score of each pair that was answered, by the other answers alone.

    One Newton step from the weights found, without the answer, and shrunk for what is not known of
    the weights:

    .. math:: s_{-i} = \frac{s_i + w_i (p_i - y_i) \, v_i}{\sqrt{1 + \pi v_i / 8}}, \qquad
              v_i = \frac{h_i}{1 - w_i p_i (1 - p_i) h_i}, \quad h_i = \phi_i^\top H^{-1} \phi_i
    """
    score = features @ found
    chance = expit(score)
    bent = weight * chance * (1 - chance)
    bend = (features * bent[:, None]).T @ features + before.precision
    lever = (features * np.linalg.solve(bend, features.T).T).sum(axis=1)
    spread = lever / np.maximum(1 - bent * lever, 1e-6)
    alone: Array = score + weight * (chance - same) * spread
    return alone / np.sqrt(1 + np.pi * spread / 8)


def rate_of_slips(score: Array, times: Array, against: Array) -> float:
    """Estimate the share of slips among answers: the mean of its posterior.

    Parameters
    ----------
    score : (q,), of what was said, by the other answers
    times, against : (q,), how often it was said, and the opposite
    """
    fits = _BEFORE[0] * np.log(_RATES) + _BEFORE[1] * np.log1p(-_RATES)
    right, times, against = expit(PAIR * score)[:, None], times[:, None], against[:, None]
    fine = _RATES**against * (1 - _RATES) ** times
    slip = _RATES**times * (1 - _RATES) ** against
    fits = fits + np.log(right * fine + (1 - right) * slip).sum(axis=0)
    weight = np.exp(fits - fits.max())
    return float((weight * _RATES).sum() / weight.sum())


def beliefs(weights: Array, features: Array) -> Array:
    """Probabilities that pairs are the same; features come first, as `Look.of_pairs` has them."""
    f = len(features)
    score = weights.astype(np.float32) @ features.reshape(f, -1)
    found: Array = expit(score.astype(np.float64)).reshape(features.shape[1:])
    return found
