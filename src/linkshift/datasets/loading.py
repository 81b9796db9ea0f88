"""Public data sets, read from a folder of ``<name>.npz`` files that is not ours to ship."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import near
from linkshift.datasets.dataset import Dataset
from linkshift.datasets.registry import IMAGES, REGISTRY

FOLDER_VARIABLE = "LINKSHIFT_DATA"


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
    files = {name: paths(name, folder=folder) for name in REGISTRY}
    return {name: bool(found) and all(map(Path.is_file, found)) for name, found in files.items()}


def paths(name: str, *, folder: str | os.PathLike[str] | None = None) -> list[Path]:
    """Files that `load` reads, there or not; none where no folder is known.

    Parameters
    ----------
    name : str
        A key of `REGISTRY`.
    folder : path or None
        As in `load`.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> [path.name for path in paths("uci_wine", folder="somewhere")]
    ['uci_wine.npz']
    """
    where = _data_folder(folder)
    if where is None:
        return []
    larger = REGISTRY[name].rows_of if name in REGISTRY else None
    return [where / f"{file}.npz" for file in (name, larger) if file is not None]


def load(name: str, *, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Read a named public data set from ``<folder>/<name>.npz``.

    Parameters
    ----------
    name : str
        A key of `REGISTRY`, such as ``"sipu_aggregation"`` or ``"uci_wine"``.
    folder : path or None
        None means the folder named by the environment variable ``LINKSHIFT_DATA``.

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
    if name in IMAGES:
        raise ValueError(
            f"{name!r} is a set of images with human segmentations, not a table of samples: "
            "read it with datasets.load_images"
        )
    if name not in REGISTRY:
        close = near(name, REGISTRY)
        hint = f"did you mean {close!r}?"
        lists = "linkshift.datasets.available() lists the names"
        raise ValueError(f"no data set is called {name!r}; {hint if close else lists}")
    where = _data_folder(folder)
    arrays = _read(name, where)
    if (larger := REGISTRY[name].rows_of) is not None and "rows" in arrays:
        rows, whole = arrays.pop("rows"), _read(larger, where)
        arrays |= {key: value[rows] for key, value in whole.items() if key.startswith("X")}
        arrays["view_names"] = whole["view_names"]
    source, views = REGISTRY[name], _views(arrays)
    if "y" not in arrays or ("X" not in arrays and not views):
        raise ValueError(f"{name}.npz holds the arrays {sorted(arrays)}, expected {source.arrays}")
    X = np.hstack(list(views.values())) if views else _as_float(arrays.pop("X"))
    classes, y = np.unique(arrays.pop("y"), return_inverse=True)
    if len(X) != len(y):
        raise ValueError(f"{name}.npz has {len(X)} rows of X but {len(y)} labels")
    labels = arrays.pop("class_names", arrays.pop("label_names", None))
    names = None if labels is None else tuple(map(str, labels))
    cited, y = f"{source.citation}; {source.origin}", y.astype(np.int64, copy=False)
    return Dataset(name, X, y, classes, names, views or None, cited, extras=arrays)


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
    if name not in IMAGES:
        raise ValueError(f"no set of images is called {name!r}; there is {', '.join(IMAGES)}")
    arrays = _read(name, _data_folder(folder))
    try:
        return [
            AnnotatedImage(str(key), arrays[f"img_{key}"], arrays[f"gt_{key}"], str(split))  # type: ignore[arg-type]
            for key, split in zip(arrays["ids"], arrays["split"], strict=True)
        ]
    except KeyError as error:
        raise ValueError(
            f"{name}.npz has no array {error}; it should hold {IMAGES[name].arrays}"
        ) from error


def _data_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Where the files are; None when nothing says so."""
    if folder is not None:
        return Path(folder)
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else None


def _read(name: str, where: Path | None) -> dict[str, NDArray[np.generic]]:
    path = None if where is None else where / f"{name}.npz"
    if path is None or not path.is_file():
        source = IMAGES[name] if name in IMAGES else REGISTRY[name]
        problem = "no folder of data sets is known"
        if where is not None:
            problem = f"{path if where.is_dir() else f'the folder {where}'} does not exist"
        raise FileNotFoundError(
            f"{problem}. Set the environment variable {FOLDER_VARIABLE} to a folder that holds "
            f"{name}.npz with the arrays {source.arrays}. "
            f"The data: {source.citation}; from {source.origin}. linkshift does not ship it."
        )
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a whole npz file: {error}; get it anew") from error


def _views(arrays: dict[str, NDArray[np.generic]]) -> dict[str, NDArray[np.floating]]:
    """Take the views out of `arrays`, in their order, under their names where these exist."""
    keys = sorted((k for k in arrays if k.startswith("X_view")), key=lambda k: int(k[6:]))
    names = arrays.pop("view_names", None)
    called = [k.removeprefix("X_") for k in keys] if names is None else [str(n) for n in names]
    return {call: _as_float(arrays.pop(key)) for call, key in zip(called, keys, strict=True)}


def _as_float(X: NDArray[np.generic]) -> NDArray[np.floating]:
    """Floats, so that differences of uint8 pixels do not wrap and float16 does not overflow."""
    return X.astype(np.float64 if X.dtype == np.float64 else np.float32, copy=False)
