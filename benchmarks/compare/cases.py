"""The sets that are compared on, and what is given beside their rows."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from benchmarks.auto.draws import answered, draw_pairs
from benchmarks.auto.methods import Bases
from benchmarks.auto.sets import PCCC, embed, load, table
from benchmarks.harness import Options
from linkshift import Links, datasets

#: Sets of the papers, and of the comparison with them.
PAPERS = (
    "moons",
    "sipu_aggregation",
    "sipu_jain",
    "sipu_s4",
    "cms_dkm-mnist",
    "cms_dkm-fashion-mnist",
    "cms_dkm-gtsrb",
)
OTHERS = (
    "uci_wine",
    "uci_wdbc",
    "uci_segment",
    "uci_pendigits",
    "usps_9298",
    "coil20_32",
    "face_orl_32",
    "uci_letter",
)
SETS = (*PAPERS, *OTHERS, *PCCC)
TINY = ("moons",)
NUMBERS = (10, 50, 200, 1_000)
ONE_A_ROW = -1  # as many links as rows
WRONG = 0.1  # share of wrong answers, where there are any


class Case(NamedTuple):
    """What is given beside the rows: a number of random links, or a size of published ones."""

    n_links: int  # 0: none; ONE_A_ROW
    wrong: float = 0.0
    published: str = ""  # "05": all pairs among so many rows in a hundred
    rows: int = 0  # of a made set of this size, where time is what counts

    @property
    def text(self) -> str:
        """What tables call it."""
        if self.published:
            return f"published {int(self.published)} %"
        if self.rows:
            return f"{self.rows:,} rows"
        many = "one a row" if self.n_links == ONE_A_ROW else f"{self.n_links:,}"
        return f"{many}, {self.wrong:.0%} wrong" if self.wrong else many


GROWING = "embed"  # the made set whose size grows
SIZES = (500, 1_000, 2_000, 4_000)
TIMED = tuple(Case(200, rows=n) for n in SIZES)
PUBLISHED = tuple(Case(1, published=size) for size in ("05", "10", "15", "20"))


def cases(name: str, options: Options) -> list[Case]:
    """All that is tried on a set."""
    if name == GROWING:
        return list(options.pick((), TIMED[:1], TIMED))
    numbers = options.pick(NUMBERS[:1], NUMBERS[:3], (*NUMBERS, ONE_A_ROW))
    found = [Case(0)]
    found += [
        Case(m, wrong) for wrong in options.pick((0.0,), (0.0,), (0.0, WRONG)) for m in numbers
    ]
    return [*found, *PUBLISHED] if name in PCCC and options.size == "full" else found


@lru_cache(maxsize=2)
def bases(name: str, seed: int, most: int | None) -> Bases:
    """Rows of a set, and what no link changes, kept while one set is worked on."""
    return Bases(load(name, seed, most), seed)


@lru_cache(maxsize=2)
def whole(name: str, seed: int) -> Bases:
    """All rows of a set, which its published links are of."""
    stored = datasets.load(name)
    return Bases(table(stored.X, stored.y), seed)


@lru_cache(maxsize=1)
def grown(n: int, seed: int) -> Bases:
    """Rows of the set that grows, 32 columns."""
    return Bases(table(*embed(n, seed, 32)), seed)


def given(name: str, case: Case, draw: int, seed: int, most: int | None) -> tuple[Bases, Links]:
    """Rows and links of a case."""
    if case.published:
        extras, size = datasets.load(name).extras, case.published
        must, cannot = (extras[f"{kind}_{size}"].astype(np.int64) for kind in ("must", "cannot"))
        base = whole(name, seed)
        return base, Links(must, cannot, n_samples=len(base.y))
    base = grown(case.rows, seed) if case.rows else bases(name, seed, most)
    n = len(base.y)
    n_links = n if case.n_links == ONE_A_ROW else case.n_links
    pairs = draw_pairs(n, n_links, seed + draw)
    return base, answered(pairs, base.y, wrong=case.wrong, seed=seed + draw)
