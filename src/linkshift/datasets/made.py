"""Data sets that need no file: points in the plane that plain mean shift gets wrong, and digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from linkshift.datasets.dataset import Dataset

Points = NDArray[np.float64]
Labels = NDArray[np.int64]
Seed = int | np.random.RandomState | None


def make_moons(
    n_samples: int = 500, *, noise: float = 0.05, random_state: Seed = None
) -> tuple[Points, Labels]:
    """Two interleaved half circles, by default as in the constrained mean shift paper.

    Parameters
    ----------
    n_samples : int
        Number of points, half of them on each moon.
    noise : float
        Standard deviation of the normal noise added to both coordinates.
    random_state : int, RandomState or None
        Seed of all that is drawn at random.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 for the upper moon, 1 for the lower.

    Notes
    -----
    The points are scikit-learn's; the paper also scales each feature to [0, 1], which is left to
    the caller.

    References
    ----------
    M. Schier, C. Reinders, B. Rosenhahn, "Constrained Mean Shift Clustering", SDM 2022.

    Examples
    --------
    >>> X, y = make_moons(random_state=0)
    >>> X.shape, [int(n) for n in np.bincount(y)]
    ((500, 2), [250, 250])
    """
    _check_least(0, noise=noise)
    X, y = sklearn.datasets.make_moons(n_samples, noise=noise, random_state=random_state)
    return X.astype(np.float64, copy=False), y.astype(np.int64, copy=False)


def make_lines(
    n_per_line: int = 40,
    *,
    gap: float = 2.0,
    length: float = 5.0,
    start: float = 2.0,
    noise: float = 0.1,
    random_state: Seed = None,
) -> tuple[Points, Labels]:
    r"""Six noisy lines in three orientations, two parallel lines for each.

    Three arms leave the origin in the directions
    :math:`d_o = (\cos \frac{2 \pi o}{3}, \sin \frac{2 \pi o}{3})`, with normals :math:`n_o`.
    Arm :math:`o` has two lines, :math:`s = \pm 1`:

    .. math:: x = t\,d_o + s\,\tfrac{\text{gap}}{2}\,n_o + \varepsilon, \quad
        t \sim U(\text{start}, \text{start} + \text{length}), \quad
        \varepsilon \sim N(0, \text{noise}^2 I).

    Points of one line are far apart and points of two lines can be close, so that plain mean shift
    cuts the lines to pieces. One must-link on a line of each orientation tells what to ignore.

    Parameters
    ----------
    n_per_line : int
        Points on each line; the paper has 240 points in all.
    gap : float
        Distance between the two lines of one orientation.
    length : float
        Length of each line.
    start : float
        Distance of the arms' near end from the origin.
    noise, random_state : as in `make_moons`

    Returns
    -------
    X : ndarray of shape (6 * n_per_line, 2)
        Line after line; the rows of a line run from its near end to its far end.
    y : ndarray of shape (6 * n_per_line,)
        0 to 5; lines 2o and 2o + 1 are the two of orientation o.

    Notes
    -----
    The paper gives the number of points, lines and orientations and the noise, not the coordinates.
    In this layout the published result comes out (six lines from three links, one for each
    orientation, at kernel width 5 and k = 20) when the bandwidths are weighted as in d = 2
    dimensions; with lines that cross at the origin it does not. The mean pairwise distance is
    about 6, where the paper has about 5.

    References
    ----------
    O. Tuzel, F. Porikli, P. Meer, "Kernel Methods for Weakly Supervised Mean Shift Clustering",
    ICCV 2009, section 6.1 and figure 3.

    Examples
    --------
    >>> X, y = make_lines(random_state=0)
    >>> X.shape, [int(n) for n in np.bincount(y)]
    ((240, 2), [40, 40, 40, 40, 40, 40])
    """
    _check_least(1, n_per_line=n_per_line)
    _check_least(0, noise=noise)
    if not length > 0:
        raise ValueError(f"length must be above 0, got {length!r}")
    random = check_random_state(random_state)
    lines = []
    for angle in 2.0 * np.pi * np.arange(3) / 3.0:
        direction = np.array([np.cos(angle), np.sin(angle)])
        normal = np.array([-direction[1], direction[0]])
        for side in (-0.5, 0.5):
            along = start + length * np.sort(random.uniform(size=n_per_line))
            lines.append(along[:, None] * direction + side * gap * normal)
    X = np.vstack(lines)
    X += noise * random.standard_normal(X.shape)
    return X, np.repeat(np.arange(6, dtype=np.int64), n_per_line)


def make_circles(
    n_per_circle: int = 40,
    *,
    radii: Sequence[float] = (1.0, 2.0, 3.0, 4.0, 5.0),
    noise: float = 0.1,
    n_outliers: int = 80,
    random_state: Seed = None,
) -> tuple[Points, Labels]:
    r"""Concentric noisy circles among outliers, labelled -1.

    .. math:: x = r_c\,(\cos a, \sin a) + \varepsilon, \quad a \sim U(0, 2 \pi), \quad
        \varepsilon \sim N(0, \text{noise}^2 I).

    The outliers are uniform on a square a tenth wider than the largest circle.

    Parameters
    ----------
    n_per_circle : int
        Points on each circle; the paper has 200 points on five circles.
    radii : sequence of float
        One radius for each circle.
    n_outliers : int
        Number of points that belong to no circle.
    noise, random_state : as in `make_moons`

    Returns
    -------
    X : ndarray of shape (n, 2), where n is n_per_circle * len(radii) + n_outliers
        Circle after circle, each counter-clockwise, then the outliers.
    y : ndarray of shape (n,)
        Position of the circle in `radii`; -1 for outliers.

    Notes
    -----
    The paper does not print the radii nor where the outliers fall; 1 to 5 and the square are ours.

    References
    ----------
    The paper of `make_lines` (Tuzel, Porikli, Meer, ICCV 2009), section 6.1 and figure 4.

    Examples
    --------
    >>> X, y = make_circles(random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((280, 2), 80)
    """
    _check_least(1, n_per_circle=n_per_circle)
    _check_least(0, noise=noise, n_outliers=n_outliers)
    radius = np.asarray(radii, dtype=np.float64)
    if radius.ndim != 1 or radius.size == 0 or not np.all(radius > 0):
        raise ValueError(f"radii must be one or more positive numbers, got {radii!r}")
    random = check_random_state(random_state)
    angle = np.sort(random.uniform(0.0, 2.0 * np.pi, size=(radius.size, n_per_circle)), axis=1)
    circles = radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    on_circle = circles.reshape(-1, 2)
    on_circle += noise * random.standard_normal(on_circle.shape)
    half_side = 1.1 * radius.max()
    outliers = random.uniform(-half_side, half_side, size=(n_outliers, 2))
    y = np.repeat(np.arange(radius.size, dtype=np.int64), n_per_circle)
    return np.vstack([on_circle, outliers]), np.append(y, np.full(n_outliers, -1))


def make_shapes(n_samples: int = 800, *, random_state: Seed = None) -> tuple[Points, Labels]:
    """Two moons, a wide blob, and two small ones that touch its edge: the set of the demo.

    No bandwidth suits all of them: plain mean shift cuts the moons and the wide blob to pieces, or
    merges the near ones.

    Parameters
    ----------
    n_samples : int
        Number of points, at least 5: a quarter on each moon, three eighths in the wide blob, a
        sixteenth in each small one.
    random_state : int, RandomState or None
        Seed of the points.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Both moons in random order, then blob after blob.
    y : ndarray of shape (n_samples,)
        0 and 1 for the moons, 2 for the wide blob, 3 and 4 for the upper and lower small one.

    Examples
    --------
    >>> X, y = make_shapes(random_state=0)
    >>> X.shape, [int(n) for n in np.bincount(y)]
    ((800, 2), [200, 200, 300, 50, 50])
    """
    _check_least(5, n_samples=n_samples)
    small, wide = max(n_samples // 16, 1), 3 * n_samples // 8
    X, y = make_moons(n_samples - wide - 2 * small, noise=0.06, random_state=random_state)
    if isinstance(random_state, np.random.RandomState):
        random = np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    else:
        random = np.random.default_rng(random_state)
    blobs = [
        random.normal(centre, spread, (size, 2))
        for centre, spread, size in (
            ([3.5, 0.3], [0.45, 0.4], wide),
            ([2.45, 1.0], [0.09, 0.09], small),
            ([2.4, -0.5], [0.09, 0.09], small),
        )
    ]
    blob = np.repeat(np.arange(2, 5, dtype=np.int64), [wide, small, small])
    return np.vstack([X, *blobs]), np.concatenate([y, blob])


def _check_least(least: int, **given: float) -> None:
    for name, value in given.items():
        if not value >= least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")


@dataclass(frozen=True)
class MadeSet:
    """A data set that a function gives.

    Attributes
    ----------
    about : str
        One line: what it is.
    class_names : tuple of str
        A name for each class; points of none are labelled -1.
    n_samples : int
        Number of points, unless another is asked for.
    points : callable
        ``points(n_samples, random_state)`` gives X and y, with at least ``n_samples`` rows.
    n_features : int
        Number of columns.
    most : int or None
        No more rows than these can be had; None: any number.
    """

    about: str
    class_names: tuple[str, ...]
    n_samples: int
    points: Callable[[int, Seed], tuple[Points, Labels]]
    n_features: int = 2
    most: int | None = None

    @property
    def kind(self) -> str:
        """``"made"`` in any size, or ``"bundled"``: there are so many rows, and no more."""
        return "made" if self.most is None else "bundled"


def _circles(n_samples: int, seed: Seed) -> tuple[Points, Labels]:
    each = -(-n_samples // 7)  # two sevenths are outliers, as by default
    return make_circles(each, n_outliers=2 * each, random_state=seed)


def _digits(n_samples: int, seed: Seed) -> tuple[Points, Labels]:
    X, y = sklearn.datasets.load_digits(return_X_y=True)
    rows = np.arange(len(X))
    if n_samples < len(X):
        rows = check_random_state(seed).permutation(len(X))
    return X[rows].astype(np.float64, copy=False), y[rows].astype(np.int64, copy=False)


#: Every name that `make` knows.
MADE = MappingProxyType(
    {
        "moons": MadeSet(
            "two interleaved half circles",
            ("upper", "lower"),
            500,
            lambda n_samples, seed: make_moons(n_samples, random_state=seed),
        ),
        "shapes": MadeSet(
            "two moons, a wide blob and two small ones at its edge: the set of the demo",
            ("upper_moon", "lower_moon", "wide_blob", "upper_blob", "lower_blob"),
            800,
            lambda n_samples, seed: make_shapes(n_samples, random_state=seed),
        ),
        "lines": MadeSet(
            "six lines in three orientations, two parallel ones for each",
            tuple(f"line{i}" for i in range(6)),
            240,
            lambda n_samples, seed: make_lines(-(-n_samples // 6), random_state=seed),
        ),
        "circles": MadeSet(
            "five circles with one centre, among outliers that have no class",
            tuple(f"circle{i}" for i in range(5)),
            280,
            _circles,
        ),
        "digits": MadeSet(
            "handwritten digits of 8 x 8 pixels, which come with scikit-learn",
            tuple(f"digit{i}" for i in range(10)),
            1797,
            _digits,
            n_features=64,
            most=1797,
        ),
    }
)


def make(name: str, n_samples: int | None = None, *, random_state: Seed = None) -> Dataset:
    """Make a named data set.

    Parameters
    ----------
    name : str
        A key of `MADE`, such as ``"moons"``.
    n_samples : int or None
        Number of rows, one for each class at least; None takes the set's own. Of ``"digits"``,
        which are not made but come with scikit-learn, fewer are drawn.
    random_state : int, RandomState or None
        Seed of the points, or of the draw.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> circles = make("circles", 300, random_state=0)
    >>> circles
    Dataset('circles': 300 samples, 2 features, 5 classes)
    >>> circles.target_names[circles.y[0]]
    'circle0'
    """
    if name not in MADE:
        raise ValueError(f"no made data set is called {name!r}; there are {', '.join(MADE)}")
    recipe = MADE[name]
    n_samples = recipe.n_samples if n_samples is None else n_samples
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool):
        raise TypeError(f"n_samples must be a whole number, got {n_samples!r}")
    least = len(recipe.class_names)
    if n_samples < least:
        raise ValueError(
            f"n_samples={n_samples} is too few: {name!r} has {least} classes, and each needs a row"
        )
    if recipe.most is not None and n_samples > recipe.most:
        raise ValueError(f"n_samples={n_samples} is too many: {name!r} has {recipe.most} rows")
    X, y = recipe.points(int(n_samples), random_state)
    made = Dataset(name, X, y, np.arange(least), recipe.class_names, None, recipe.about)
    # Lines and circles come in equal numbers: leave out the last of the larger classes.
    rank = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y):
        rank[y == label] = np.arange(np.count_nonzero(y == label))
    return made.take(np.sort(np.argsort(rank, kind="stable")[:n_samples]))
