"""Rows that ConsensusClustering is tried on."""

import numpy as np
from hypothesis import strategies as st
from tests.helpers import blobs

from linkshift import ConsensusClustering

seeds = st.integers(0, 2**32 - 1)


def consensus(X, links=None, **parameters):
    return ConsensusClustering(**{"n_jobs": 1, **parameters}).fit(X, links=links)


def assert_held(labels, links):
    """Every certain link holds, and labels count from 0 without gaps."""
    must = links.must[links.must_confidence == 1.0]
    cannot = links.cannot[links.cannot_confidence == 1.0]
    assert (labels[must[:, 0]] == labels[must[:, 1]]).all()
    assert (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all()
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))


def rough(seed, n, d=2, k=3):
    """Rows of overlapping clusters."""
    return blobs(n, d, k=k, std=2.0, seed=seed % 2**31)[0]


def clear(seed, n=60, k=3, d=2):
    """Rows of clusters that nobody could miss, in any order, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    centres = np.zeros((k, d))
    centres[:, 0] = 20.0 * np.arange(k)
    return centres[y] + rng.normal(size=(n, d)), y
