"""Random mean-shift problems for property tests: points, bandwidths, weights, starts."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from tests.reference import mean_shift as twin

from linkshift.profiles import Profile

PROFILES = [
    Profile("flat"),
    Profile("epanechnikov"),
    Profile("gaussian"),
    Profile("truncated_gaussian", reach=2.0),
]


class Problem(NamedTuple):
    """What a step needs."""

    X: np.ndarray
    h: float | np.ndarray
    profile: Profile
    weight: np.ndarray | None

    @property
    def args(self):
        """Arguments of the package: X, bandwidth, profile."""
        return self.X, self.h, self.profile

    @property
    def twin(self):
        """Keyword arguments of the twin, besides X, h and starts."""
        return {
            "kernel": self.profile.name,
            "sample_weight": self.weight,
            "reach": self.profile.reach,
        }


def make_problem(
    seed, n=100, d=2, profile=PROFILES[0], dtype=np.float64, own=False, weights=False, lattice=False
):
    """Draw a problem: clumps of points, or whole numbers with many duplicates."""
    rng = np.random.default_rng(seed)
    if lattice:
        X = rng.integers(-2, 3, size=(n, d)).astype(dtype)
    else:
        X = (rng.normal(size=(n, d)) + 3.0 * rng.integers(0, 3, size=(n, 1))).astype(dtype)
    # With sqrt(d) bandwidths grow as distances do. The odd digits keep ties away.
    h = rng.uniform(0.511, 1.537) * np.sqrt(d)
    if own:
        h = h * np.exp(rng.uniform(-0.5, 0.5, size=n))
    weight = None
    if weights:
        weight = rng.uniform(0.1, 3.0, size=n) * (rng.uniform(size=n) < 0.7)
        weight[rng.integers(n)] = 1.0
    return Problem(X, h, profile, weight)


@st.composite
def problems(draw, max_n=200, max_d=8, profiles=PROFILES, dtypes=(np.float32, np.float64)):
    """Problems of every kind."""
    return make_problem(
        seed=draw(st.integers(0, 2**32 - 1)),
        n=draw(st.integers(1, max_n)),
        d=draw(st.integers(1, max_d)),
        profile=draw(st.sampled_from(profiles)),
        dtype=draw(st.sampled_from(dtypes)),
        own=draw(st.booleans()),
        weights=draw(st.booleans()),
        lattice=draw(st.booleans()),
    )


def clear_of_edges(problem, starts):
    """Starts with no point so near the kernel's edge that rounding decides whether it counts."""
    h = np.broadcast_to(problem.h, (problem.X.shape[0],))
    u = twin.squared_distances(starts, problem.X) / h**2
    margin = 1e-3 if problem.X.dtype == np.float32 else 1e-9
    return (np.abs(u - problem.profile.squared_reach) > margin).all(axis=1)


def tolerance(problem):
    """How far a step may be from the twin's: rounding over the width of the data."""
    width = float(np.abs(problem.X).max()) + float(np.max(problem.h))
    return (1e-5 if problem.X.dtype == np.float32 else 1e-11) * width
