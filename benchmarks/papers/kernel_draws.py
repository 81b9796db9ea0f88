"""Data and links of the figures on kernel mean shift: one draw is what all methods are given."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import class_links
from linkshift import Links, datasets

Array = NDArray[Any]
OBJECTS = ("Faces", "Leopards", "Motorbikes", "car_side")


class Draw(NamedTuple):
    """What one repeat gives every method; rows of class -1 are not scored."""

    X: Array
    y: Array
    links: Links


def lines(seed: int, gap: float) -> Draw:
    """One link from end to end on one of the two lines of each orientation."""
    X, y = datasets.make_lines(gap=gap, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(y == 2 * o + rng.integers(2)) for o in range(3)]
    return Draw(X, y, Links(must=[(r[3], r[-4]) for r in rows]))


def circles(seed: int, layout: str) -> Draw:
    """Four links between five points of the middle circle."""
    X, y = datasets.make_circles(random_state=seed)
    rows = np.flatnonzero(y == 2)
    angle = np.arctan2(X[rows, 1], X[rows, 0])
    if layout == "even angles":
        wanted = 2 * np.pi * np.arange(5) / 5
        five = [rows[np.argmin(np.abs(np.angle(np.exp(1j * (angle - a)))))] for a in wanted]
    elif layout == "every eighth point":
        five = rows[np.argsort(angle)][::8][:5].tolist()
    else:
        five = np.random.default_rng(seed).choice(rows, 5, replace=False).tolist()
    return Draw(X, y, Links(must=[(five[0], other) for other in five[1:]]))


@cache
def loaded(name: str) -> datasets.Dataset:
    """Give a data set, read once."""
    return datasets.load(name)


def faces(seed: int, light: int, n_links: int, layout: str) -> Draw:
    """21 subjects under 21 lights; but for "random", the same lights are linked for each."""
    data = loaded("face_pie_pose27")
    rng = np.random.default_rng(seed)
    lit = data.extras["light"] == light
    rows: list[int] = []
    must: list[tuple[int, int]] = []
    for subject in rng.choice(len(data.classes), 21, replace=False):
        first = len(rows)
        rows += np.flatnonzero(lit & (data.y == subject)).tolist()
        shown = np.linspace(0, 20, 2 * n_links).round().astype(int)
        if layout == "far lights":
            pairs = np.stack([shown[:n_links], shown[n_links:]], axis=1)
        elif layout == "near lights":
            pairs = shown.reshape(-1, 2)
        elif layout == "chain":
            shown = np.linspace(0, 20, n_links + 1).round().astype(int)
            pairs = np.stack([shown[:-1], shown[1:]], axis=1)
        else:
            pairs = rng.permutation(21)[: 2 * n_links].reshape(-1, 2)
        must += [(first + int(a), first + int(b)) for a, b in pairs]
    return Draw(data.X[rows].astype(np.float64), data.y[rows], Links(must=must))


def histograms(seed: int, n_links: int) -> Draw:
    """100 images of each of four classes as LBP histograms, with random links within classes."""
    data = loaded("mv_caltech101_20_recomputed")
    assert data.views is not None
    assert data.target_names is not None
    rng = np.random.default_rng(seed)
    classes = [data.target_names.index(name) for name in OBJECTS]
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(data.y == c), 100, replace=False) for c in classes]
    )
    X = data.views["LBP928"][rows].astype(np.float64)
    y = data.y[rows]
    return Draw(X / X.sum(axis=1, keepdims=True), y, class_links(y, n_links, rng))


def table_rows(name: str, seed: int, n_links: int) -> Draw:
    """Columns of unit variance (digits as they are, 400 of them), links at random."""
    data = loaded(name)
    rng = np.random.default_rng(seed)
    X, y = data.X.astype(np.float64), data.y
    if name == "uci_digits8x8":
        rows = rng.choice(len(y), 400, replace=False)
        X, y = X[rows], y[rows]
    else:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Draw(X, y, class_links(y, n_links, rng))
