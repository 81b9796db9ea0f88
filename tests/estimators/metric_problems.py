"""Problems and metrics for the tests of MetricMeanShift."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkshift import Links, MetricMeanShift
from linkshift.metric_learning import SCML
from linkshift.profiles import Profile

KINDS = ["global", "local"]
KERNELS = [None, "gaussian"]
EDGE = 1.0 + 1e-9  # the k-th neighbour, whose distance is the bandwidth, is in
QUICK = {"n_bases": 30, "max_iter": 20, "random_state": 0}

# A hair beyond the k-th neighbour, where rounding does not decide.
OFF_EDGE = Profile("truncated_gaussian", reach=1.0 + 1e-6)

every_kind = pytest.mark.parametrize("kind", KINDS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
on_and_off_the_edge = pytest.mark.parametrize(
    "profile", ["truncated_gaussian", OFF_EDGE], ids=["default", "off_edge"]
)


def stripes(n=90, d=3, noise=2.0, seed=0):
    """Three classes along the first column; the others are noise of larger spread."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = noise * rng.normal(size=(n, d))
    X[:, 0] = 2.0 * y + 0.2 * rng.normal(size=n)
    return X, y


def sides(n=200, seed=0):
    """Which column tells two classes apart depends on the side, which the last column tells."""
    rng = np.random.default_rng(seed)
    side, y = rng.integers(2, size=n), rng.integers(2, size=n)
    X = 3.0 * rng.normal(size=(n, 3))
    X[np.arange(n), side] = 2.0 * y + 0.2 * rng.normal(size=n)
    X[:, 2] = 15.0 * side + 0.2 * rng.normal(size=n)
    return X, y


def some_of(y, share=0.5, seed=0):
    """Labels of which the rest is unknown."""
    return np.where(np.random.default_rng(seed).random(len(y)) < share, y, -1)


def scml(kind="global", **parameters):
    return SCML(kind, **{**QUICK, **parameters})


def model(metric="global", **parameters):
    metric = scml(metric) if isinstance(metric, str) else metric
    return MetricMeanShift(metric, **{"random_state": 0, **parameters})


BLOBS, BLOB = make_blobs(
    90, centers=[[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], cluster_std=1.0, random_state=1
)
STRIPES, STRIPE = stripes()
KNOWN = some_of(STRIPE)
LINKS = Links.sample(STRIPE, 90, random_state=0)
EYE = np.eye(2)
