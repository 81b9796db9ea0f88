"""Points, labels and links that are refined."""

import numpy as np
from hypothesis import strategies as st
from tests.helpers import some_links

from linkshift.refinement import nearest_rows

seeds = st.integers(0, 2**32 - 1)


def make(seed, n=30, n_labels=4, m=25, confidences=(1.0,), consistent=True, noise=False):
    """Points, labels, links and neighbours."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    labels = np.unique(rng.integers(0, n_labels, size=n), return_inverse=True)[1]
    if noise:
        labels[rng.uniform(size=n) < 0.3] = -1
        labels[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    classes = rng.integers(0, 3, size=n) if consistent else None
    links = some_links(rng, n, m, classes=classes, confidences=confidences)
    return X, labels, links, nearest_rows(X, int(rng.integers(1, 8)))


def assert_dense(labels):
    assert sorted(set(labels[labels >= 0].tolist())) == list(range(labels.max(initial=-1) + 1))
    assert (labels >= -1).all()
