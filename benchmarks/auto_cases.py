"""What is given in each case of the benchmark ``auto``: rows of made and public sets, and links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.harness import Array
from linkshift import Links, datasets


@dataclass(frozen=True)
class Case:
    """What is given beside the rows: so many links of some kinds, or a share of the labels."""

    name: str
    must: int = 0
    cannot: int = 0
    both: int = 0
    labelled: float = 0.0
    wrong: float = 0.0
    scaled: bool = True

    @property
    def n_links(self) -> int:
        """How many links are asked for."""
        return self.must + self.cannot + self.both


CASES = (
    Case("nothing"),
    *(Case(f"{n} must", must=n) for n in (10, 50, 200)),
    *(Case(f"{n} cannot", cannot=n) for n in (10, 50, 200)),
    *(Case(f"{n} links", both=n) for n in (5, 10, 30, 100, 300, 1000)),
    *(Case(f"{share:.0%} labels", labelled=share) for share in (0.02, 0.05, 0.2)),
    Case("100 links, 10% wrong", both=100, wrong=0.1),
    Case("nothing, raw", scaled=False),
    Case("30 links, raw", both=30, scaled=False),
)
TINY_CASES = tuple(c for c in CASES if c.n_links <= 10 and c.labelled < 0.05 and c.scaled)


class Given(NamedTuple):
    """Rows, what is known of them, and the truth."""

    X: Array
    y: Array
    links: Links
    known: Array | None = None  # classes, -1 where unknown; links say the same


# --- data ---------------------------------------------------------------------------------------


def unequal_blobs(n: int, seed: int) -> tuple[Array, Array]:
    """Blobs of which one is eight times as wide as another."""
    X, y = make_blobs(n, 2, centers=5, cluster_std=[0.25, 0.5, 1.0, 1.5, 2.0], random_state=seed)
    return X, y


def shapes(n: int, seed: int) -> tuple[Array, Array]:
    """Two moons, a wide blob and two small ones at its edge, as in ``examples/demo.py``."""
    rng = np.random.default_rng(seed)
    moons, which = datasets.make_moons(n // 2, noise=0.06, random_state=seed)
    sizes = [n - n // 2 - 2 * (n // 16), n // 16, n // 16]
    centres, spreads = [[3.5, 0.3], [2.45, 1.0], [2.4, -0.5]], [0.42, 0.09, 0.09]
    blobs = [
        rng.normal(centre, spread, (size, 2))
        for centre, spread, size in zip(centres, spreads, sizes, strict=True)
    ]
    return np.vstack([moons, *blobs]), np.concatenate([which, np.repeat([2, 3, 4], sizes)])


def circles(n: int, seed: int) -> tuple[Array, Array]:
    """Three rings, without outliers."""
    return datasets.make_circles(n // 3, radii=(1, 2.5, 4), n_outliers=0, random_state=seed)


def moons(n: int, seed: int) -> tuple[Array, Array]:
    return datasets.make_moons(n, random_state=seed)


MADE: dict[str, Callable[[int, int], tuple[Array, Array]]] = {
    "moons": moons,
    "circles": circles,
    "unequal blobs": unequal_blobs,
    "shapes": shapes,
}
QUICK_SETS = ("uci_iris", "uci_wine", "uci_wdbc", "uci_ionosphere")
PUBLIC = (
    *QUICK_SETS,
    "uci_glass",
    "uci_ecoli",
    "uci_segment",
    "uci_digits8x8",
    "sipu_aggregation",
    "sipu_compound",
    "cms_dkm-mnist",
    "cms_dkm-fashion-mnist",
    "cms_dkm-gtsrb",
)


def data(name: str, most: int, seed: int) -> tuple[Array, Array]:
    """At most ``most`` rows of a set."""
    if name in MADE:
        return MADE[name](most, seed)
    stored = datasets.load(name)
    rows = np.random.default_rng(seed).permutation(len(stored.X))[:most]
    return stored.X[rows].astype(np.float64), stored.y[rows]


def given(X: Array, y: Array, case: Case, seed: int) -> Given:
    """Draw what the case says, from the true classes."""
    n = len(y)
    if case.labelled:
        known = some_labels(y, case.labelled, seed)
        return Given(X, y, Links.from_labels(known), known)
    if case.both:
        return Given(X, y, both_kinds(y, case.both, case.wrong, seed))
    i, j = np.triu_indices(n, 1)
    same, rng = y[i] == y[j], np.random.default_rng(seed)
    pairs = np.column_stack((i, j))
    must, cannot = (
        rng.choice(pairs[of], count, replace=False)
        for of, count in ((same, case.must), (~same, case.cannot))
    )
    return Given(X, y, Links(must, cannot, n_samples=n))


def both_kinds(y: Array, n_links: int, wrong: float, seed: int) -> Links:
    """`Links.sample`; half must-links and half cannot-links where these are too few for it."""
    classes = len(np.unique(y))
    if n_links >= classes * (classes - 1) // 2:
        return Links.sample(y, n_links, random_state=seed, error_rate=wrong)
    if wrong:
        raise ValueError(f"{n_links} links of {classes} classes: too few to get some wrong.")
    half = given(y[:, None], y, Case("", must=n_links // 2, cannot=n_links - n_links // 2), seed)
    return half.links


def some_labels(y: Array, share: float, seed: int) -> Array:
    """Labels of a share of the rows, at least three and of two classes; -1 elsewhere."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: max(3, round(share * len(y)))]
    if len(np.unique(y[rows])) == 1:
        rows[0] = rng.choice(np.flatnonzero(y != y[rows[0]]))
    known = np.full(len(y), -1, dtype=np.int64)
    known[rows] = y[rows]
    return known
