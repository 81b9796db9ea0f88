"""Data to try things on: three generators, and loaders of named public sets.

The generators need nothing. The public sets are not ours and are not shipped: `load` reads them
from a folder of ``<name>.npz`` files named by the environment variable ``LINKSHIFT_DATA``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from linkshift._data_sources import REGISTRY, DataSource

__all__ = [
    "REGISTRY",
    "AnnotatedImage",
    "DataSource",
    "Dataset",
    "available",
    "load",
    "load_images",
    "make_circles",
    "make_lines",
    "make_moons",
]

Points = NDArray[np.float64]
Labels = NDArray[np.int64]
Seed = int | np.random.RandomState | None

FOLDER_VARIABLE = "LINKSHIFT_DATA"


# --- generators ---------------------------------------------------------------------------------


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
        Seed of the noise and of the order of the points.

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
    _require(noise >= 0, f"noise must be at least 0, got {noise!r}")
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
    noise : float
        Standard deviation of the normal noise added to both coordinates.
    random_state : int, RandomState or None
        Seed of the positions and of the noise.

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
    _require(n_per_line >= 1, f"n_per_line must be at least 1, got {n_per_line!r}")
    _require(noise >= 0, f"noise must be at least 0, got {noise!r}")
    _require(length > 0, f"length must be above 0, got {length!r}")
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
    noise : float
        Standard deviation of the normal noise added to both coordinates.
    n_outliers : int
        Number of points that belong to no circle.
    random_state : int, RandomState or None
        Seed of the angles, the noise and the outliers.

    Returns
    -------
    X : ndarray of shape (n_per_circle * len(radii) + n_outliers, 2)
        Circle after circle, each counter-clockwise, then the outliers.
    y : ndarray of shape (n_per_circle * len(radii) + n_outliers,)
        Position of the circle in `radii`; -1 for outliers.

    Notes
    -----
    The paper does not print the radii nor where the outliers fall; 1 to 5 and the square are ours.

    References
    ----------
    O. Tuzel, F. Porikli, P. Meer, "Kernel Methods for Weakly Supervised Mean Shift Clustering",
    ICCV 2009, section 6.1 and figure 4.

    Examples
    --------
    >>> X, y = make_circles(random_state=0)
    >>> X.shape, int((y == -1).sum())
    ((280, 2), 80)
    """
    _require(n_per_circle >= 1, f"n_per_circle must be at least 1, got {n_per_circle!r}")
    _require(noise >= 0, f"noise must be at least 0, got {noise!r}")
    _require(n_outliers >= 0, f"n_outliers must be at least 0, got {n_outliers!r}")
    radius = np.asarray(radii, dtype=np.float64)
    _require(
        radius.ndim == 1 and radius.size > 0 and bool(np.all(radius > 0)),
        f"radii must be one or more positive numbers, got {radii!r}",
    )
    random = check_random_state(random_state)
    angle = np.sort(random.uniform(0.0, 2.0 * np.pi, size=(radius.size, n_per_circle)), axis=1)
    circles = radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    on_circle = circles.reshape(-1, 2)
    on_circle += noise * random.standard_normal(on_circle.shape)
    half_side = 1.1 * radius.max()
    outliers = random.uniform(-half_side, half_side, size=(n_outliers, 2))
    y = np.repeat(np.arange(radius.size, dtype=np.int64), n_per_circle)
    return (
        np.vstack([on_circle, outliers]),
        np.concatenate([y, np.full(n_outliers, -1, dtype=np.int64)]),
    )


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


# Beside the others, but a set of images with several segmentations each has no (X, y).
_IMAGES = {
    "bsds500_sample26": DataSource(
        "Arbelaez, Maire, Fowlkes, Malik 2011; Martin et al. 2001",
        "Berkeley BSDS500, 26 of its images: github.com/BIDS/BSDS500, images and groundTruth",
        "ids (26,), split (26,), img_<id> (h, w, 3), gt_<id> (people, h, w)",
    )
}


# --- public sets: loading -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled data set.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, d)
        Floating-point features; for a multi-view set, the views side by side.
    y : ndarray of shape (n,)
        Classes as 0, 1, ...
    classes : ndarray
        The label that each class has in the file.
    target_names : tuple of str or None
        A name for each class, where the file has them.
    views : dict or None
        Name of the view -> its features, for a multi-view set.
    extras : dict
        The file's other arrays (other labellings, the light of a face, ...).
    source : str
        One line: who to cite, where it comes from.
    """

    name: str
    X: NDArray[np.floating]
    y: Labels
    classes: NDArray[np.generic]
    target_names: tuple[str, ...] | None
    views: dict[str, NDArray[np.floating]] | None
    source: str
    extras: dict[str, NDArray[np.generic]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Sizes rather than the numbers."""
        n, d = self.X.shape
        views = "" if self.views is None else f", {len(self.views)} views"
        return (
            f"Dataset({self.name!r}: {n} samples, {d} features, {len(self.classes)} classes{views})"
        )


def available(*, folder: str | os.PathLike[str] | None = None) -> dict[str, bool]:
    """Names that `load` knows, each with whether its file is there.

    Parameters
    ----------
    folder : path or None
        Where to look; None looks where `load` does.

    Returns
    -------
    dict of str to bool

    Examples
    --------
    >>> available(folder="/nowhere")["uci_wine"]
    False
    """
    where = _data_folder(folder)
    return {
        name: where is not None and all((where / file).is_file() for file in _files(name))
        for name in REGISTRY
    }


def load(name: str, *, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Read a named public data set from ``<folder>/<name>.npz``.

    Parameters
    ----------
    name : str
        A key of `REGISTRY`, such as ``"sipu_aggregation"`` or ``"uci_wine"``.
    folder : path or None
        None means the folder named by the environment variable ``LINKSHIFT_DATA``; when that is
        unset, the nearest ``shared/data`` beside or above the working directory or this source.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        The name is not known, or the file is not laid out as it should be.
    FileNotFoundError
        The folder or the file is not there; the message says what to set and what is expected.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "uci_iris.npz", X=np.ones((3, 4)), y=[1, 2, 2])
    ...     iris = load("uci_iris", folder=folder)
    >>> iris
    Dataset('uci_iris': 3 samples, 4 features, 2 classes)
    >>> iris.y.tolist(), iris.classes.tolist()
    ([0, 1, 1], [1, 2])
    """
    _check_name(name)
    where = _data_folder(folder)
    arrays = _read(name, where)
    if "rows" in arrays:
        # The seven-class Caltech set is a list of rows of the twenty-class one.
        rows = arrays.pop("rows")
        whole = _read(_files(name)[1].removesuffix(".npz"), where)
        arrays |= {key: value[rows] for key, value in whole.items() if key.startswith("X")}
        arrays["view_names"] = whole["view_names"]
    return _assemble(name, arrays)


@dataclass(frozen=True, eq=False)
class AnnotatedImage:
    """An image and the segmentations that people drew of it.

    Attributes
    ----------
    name : str
    image : ndarray of shape (h, w, 3), uint8
    segmentations : ndarray of shape (people, h, w)
        Labels of the pixels, one segmentation for each person.
    split : str
        The part of the data set that it is from, such as "train".
    """

    name: str
    image: NDArray[np.uint8]
    segmentations: NDArray[np.integer]
    split: str


def load_images(
    name: str = "bsds500_sample26", *, folder: str | os.PathLike[str] | None = None
) -> list[AnnotatedImage]:
    """Read a named set of images with human segmentations from ``<folder>/<name>.npz``.

    Parameters
    ----------
    name : str
        ``"bsds500_sample26"``, the only one so far.
    folder : path or None
        As in `load`.

    Returns
    -------
    list of AnnotatedImage
        In the order of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     arrays = {"ids": ["7"], "split": ["val"], "img_7": np.zeros((2, 3, 3), np.uint8)}
    ...     np.savez(Path(folder) / "bsds500_sample26.npz", **arrays, gt_7=np.ones((5, 2, 3), int))
    ...     (one,) = load_images(folder=folder)
    >>> one.name, one.split, one.segmentations.shape
    ('7', 'val', (5, 2, 3))
    """
    if name not in _IMAGES:
        raise ValueError(f"no set of images is called {name!r}; there is {', '.join(_IMAGES)}")
    arrays = _read(name, _data_folder(folder))
    try:
        return [
            AnnotatedImage(str(key), arrays[f"img_{key}"], arrays[f"gt_{key}"], str(split))  # type: ignore[arg-type]
            for key, split in zip(arrays["ids"], arrays["split"], strict=True)
        ]
    except KeyError as error:
        raise ValueError(
            f"{name}.npz has no array {error}; it should hold {_IMAGES[name].arrays}"
        ) from error


def _check_name(name: str) -> None:
    if name in REGISTRY:
        return
    if name in _IMAGES:
        raise ValueError(
            f"{name!r} is a set of images with human segmentations, not a table of samples: "
            "read it with datasets.load_images"
        )
    close = difflib.get_close_matches(name, REGISTRY, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else "linkshift.datasets.available() lists the names"
    )
    raise ValueError(f"no data set is called {name!r}; {hint}")


def _files(name: str) -> tuple[str, ...]:
    if name == "mv_caltech101_7_index":
        return (f"{name}.npz", "mv_caltech101_20_recomputed.npz")
    return (f"{name}.npz",)


def _data_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Where the files are; None when nothing says so."""
    if folder is not None:
        return Path(folder)
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for parent in (start, *start.parents):
            candidate = parent / "shared" / "data"
            # Another project may have a shared/data of its own: ours holds a file that we know.
            if any((candidate / f"{name}.npz").is_file() for name in REGISTRY):
                return candidate
    return None


def _read(name: str, where: Path | None) -> dict[str, NDArray[np.generic]]:
    path = None if where is None else where / f"{name}.npz"
    if path is None or not path.is_file():
        source = _IMAGES[name] if name in _IMAGES else REGISTRY[name]
        problem = (
            "no folder of data sets is known"
            if where is None
            else f"{path} does not exist"
            if where.is_dir()
            else f"the folder {where} does not exist"
        )
        raise FileNotFoundError(
            f"{problem}. Set the environment variable {FOLDER_VARIABLE} to a folder that holds "
            f"{name}.npz with the arrays {source.arrays}. "
            f"The data: {source.citation}; from {source.origin}. linkshift does not ship it."
        )
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _assemble(name: str, arrays: dict[str, NDArray[np.generic]]) -> Dataset:
    source = REGISTRY[name]
    views = _views(arrays)
    if "y" not in arrays or ("X" not in arrays and not views):
        raise ValueError(f"{name}.npz holds the arrays {sorted(arrays)}, expected {source.arrays}")
    X = np.hstack(list(views.values())) if views else _as_float(arrays.pop("X"))
    classes, y = np.unique(arrays.pop("y"), return_inverse=True)
    if len(X) != len(y):
        raise ValueError(f"{name}.npz has {len(X)} rows of X but {len(y)} labels")
    names = arrays.pop("class_names", arrays.pop("label_names", None))
    return Dataset(
        name=name,
        X=X,
        y=y.astype(np.int64, copy=False),
        classes=classes,
        target_names=None if names is None else tuple(str(n) for n in names),
        views=views or None,
        source=f"{source.citation}; {source.origin}",
        extras=arrays,
    )


def _views(arrays: dict[str, NDArray[np.generic]]) -> dict[str, NDArray[np.floating]]:
    """Take the views out of `arrays`, in their order, under their names where these exist."""
    keys = sorted((k for k in arrays if k.startswith("X_view")), key=lambda k: int(k[6:]))
    names = arrays.pop("view_names", None)
    called = [k.removeprefix("X_") for k in keys] if names is None else [str(n) for n in names]
    return {call: _as_float(arrays.pop(key)) for call, key in zip(called, keys, strict=True)}


def _as_float(X: NDArray[np.generic]) -> NDArray[np.floating]:
    """Floats, so that differences of uint8 pixels do not wrap and float16 does not overflow."""
    return X.astype(np.float64 if X.dtype == np.float64 else np.float32, copy=False)
