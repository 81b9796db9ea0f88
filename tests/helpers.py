"""What tests of several rooms share: comparing partitions, and small problems with links."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from linkshift import Links
from linkshift.datasets import load, make_moons


def same_partition(one, other):
    """Whether two labelings put the same elements together, whatever their numbers are.

    For arrays of any shape (labels of rows, segments of an image) and any numbers, -1 included.
    """
    one, other = np.ravel(one), np.ravel(other)
    if one.shape != other.shape:
        return False
    pairs = np.unique(np.stack([one, other]), axis=1)
    return pairs.shape[1] == np.unique(one).size == np.unique(other).size


def blobs(n=90, d=2, *, k=3, std=1.5, seed=0):
    """Rows of ``k`` round clusters of one spread, in any order, and their classes."""
    return make_blobs(n, d, centers=k, cluster_std=std, random_state=seed)


def linked_moons(n, n_links, seed=0):
    """Two moons, their classes, and links between rows of known class."""
    X, y = make_moons(n, random_state=seed)
    return X, y, Links.sample(y, n_links, random_state=seed)


def some_links(rng, n, m, *, classes=None, confidences=(1.0,)):
    """Draw up to ``m`` links between ``n`` rows, no pair twice, with confidences of a list.

    Links are true to ``classes``, one for each row, so that they do not contradict each other;
    without classes their kinds are random, and they may.
    """
    pairs = np.stack(np.triu_indices(n, k=1), axis=1)
    pairs = pairs[rng.permutation(len(pairs))[:m]]
    if classes is None:
        together = rng.uniform(size=len(pairs)) < 0.5
    else:
        together = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    confidence = rng.choice(confidences, size=len(pairs))
    return Links(
        pairs[together],
        pairs[~together],
        must_confidence=confidence[together],
        cannot_confidence=confidence[~together],
    )


def random_metric(seed, d, rank=None):
    """Draw a symmetric matrix without negative eigenvalues, of full rank unless told otherwise."""
    rows = np.random.default_rng(seed).normal(size=(d + 1 if rank is None else rank, d))
    return rows.T @ rows


def real(name):
    """Load a real data set, or skip the test and say why."""
    try:
        return load(name)
    except FileNotFoundError as error:
        pytest.skip(str(error).splitlines()[0])


def repeated(weight, links=None):
    """Rows as often as their weight says, and links of the copies.

    Copies stand side by side. Links name the first one, and certain must-links hold to it the
    other copies of rows that links name.
    """
    copies = np.repeat(np.arange(len(weight)), weight)
    if links is None:
        return copies, None
    first = np.searchsorted(copies, np.arange(len(weight)))
    named = np.unique(np.concatenate([links.must, links.cannot]))
    ties = [(first[i], first[i] + c) for i in named.tolist() for c in range(1, int(weight[i]))]
    ties = np.array(ties, dtype=np.int64).reshape(-1, 2)
    return copies, Links(
        np.concatenate([first[links.must].reshape(-1, 2), ties]),
        first[links.cannot].reshape(-1, 2),
        must_confidence=np.concatenate([links.must_confidence, np.ones(len(ties))]),
        cannot_confidence=links.cannot_confidence,
    )


def make_verbs():
    """What can be made: targets of the Makefile that people call."""
    makefile = Path(__file__).parents[1] / "Makefile"
    return set(re.findall(r"^([a-z-]+):", makefile.read_text(), flags=re.MULTILINE))
