"""Rows and links that KernelMeanShift is tried on."""

import numpy as np
from sklearn.datasets import make_blobs

from linkshift import KernelMeanShift, Links, datasets

PAPER = {"refine": None}


def line_links(y, seed=0):
    """One must-link on one of the two lines of each orientation, from end to end."""
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(y == 2 * o + rng.integers(2)) for o in range(3)]
    return Links(must=[(r[3], r[-4]) for r in rows])


LINES, LINE = datasets.make_lines(20, random_state=1)
LINKS = line_links(LINE)
BLOBS, BLOB = make_blobs(90, 2, centers=3, cluster_std=1.0, random_state=1)


def lines_model(**parameters):
    return KernelMeanShift(**{"sigma": 5.0, "n_neighbors": 10, **parameters})
