"""The sets: those that constants of `linkshift.active` may be fitted on, and others."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_moons
from sklearn.preprocessing import normalize

from benchmarks.auto.sets import Table
from linkshift import datasets
from linkshift.tables.scaling import Scaling

#: Constants may be fitted on these.
SEEN = (
    "cms_dkm-mnist",
    "cms_dkm-fashion-mnist",
    "cms_dkm-gtsrb",
    "uci_pendigits",
    "usps_9298",
    "coil20_32",
    "uci_wine",
    "uci_wdbc",
    "uci_segment",
    "face_orl_32",
    "uci_letter",
    "moons",
    "sipu_aggregation",
    "sipu_s4",
    "mv_bbcsport",
)
#: No constant may see these: what is claimed is measured here.
UNSEEN = (
    "uci_optdigits",
    "uci_satimage",
    "uci_vehicle",
    "uci_vowel",
    "uci_ecoli",
    "face_umist_32",
    "face_yaleb_32",
    "sipu_d31",
    "mv_mfeat_digits",
    "fashion_mnist_t10k",
)
HALVES = {"seen": SEEN, "unseen": UNSEEN}
QUICK = ("moons", "uci_wine", "sipu_aggregation", "uci_ecoli")
TINY = ("moons",)
MOST = 2_000  # rows of a set
TEXTS = ("mv_bbcsport", "mv_3sources")
MADE = {"moons": 500}  # rows of what is made


def half(name: str) -> str:
    """Say which half a set is of."""
    return next(which for which, names in HALVES.items() if name in names)


def is_here(name: str) -> bool:
    """Whether the set is made, or its file is here."""
    return name in MADE or datasets.available()[name]


def load(name: str, seed: int = 0, most: int | None = None) -> Table:
    """Rows drawn by the seed, no more than 2,000 and ``most``, and their classes as 0, 1, ...

    Views are side by side; columns are scaled as ``linkshift.cluster(scale="auto")`` does it.
    Counts of words have length one in each row instead, for all methods alike.
    """
    limit = MOST if most is None else min(MOST, most)
    if name in MADE:
        X, y = make_moons(min(MADE[name], limit), noise=0.08, random_state=seed)
    else:
        stored = datasets.load(name)
        X, y = stored.X, stored.y
    if len(y) > limit:
        rows = np.random.default_rng(seed).permutation(len(y))[:limit]
        X, y = X[rows], y[rows]
    X = X.astype(np.float64)
    if name in TEXTS:
        return Table(normalize(X), np.unique(y, return_inverse=True)[1])
    return Table(Scaling.of(X, told=False).apply(X), np.unique(y, return_inverse=True)[1])
