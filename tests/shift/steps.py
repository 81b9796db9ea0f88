"""A step and the log density in the coordinates of the points, and starts for them."""

import numpy as np
import pytest
from tests.reference.problems import PROFILES

from linkshift._core.threads import threads
from linkshift.shift.density import build_density
from linkshift.shift.step import log_density, mean_step

DTYPES = [np.float32, np.float64]
every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)


def step(X, h, profile, starts=None, *, weight=None, n_threads=1, dimension=None):
    """One step in the coordinates of X."""
    density = build_density(X, h, profile, sample_weight=weight, dimension=dimension)
    with threads(n_threads) as pool:
        starts = X if starts is None else starts
        means, total = mean_step(density, density.to_working(starts), pool)
    return density.to_input(means), total


def logs(X, h, profile, at=None, *, weight=None):
    """Log density in the coordinates of X."""
    density = build_density(X, h, profile, sample_weight=weight)
    with threads(1) as pool:
        return log_density(density, density.to_working(X if at is None else at), pool)
