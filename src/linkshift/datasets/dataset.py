"""What all data sets are, made or read: features, classes, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled data set.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, d)
        Floating-point features; for a multi-view set, the views side by side.
    y : ndarray of shape (n,)
        Classes as 0, 1, ...; -1 for samples of no class, which only made sets have.
    classes : ndarray
        The label that each class has in the file.
    target_names : tuple of str or None
        A name for each class, where there are names.
    views : dict or None
        Name of the view -> its features, for a multi-view set.
    extras : dict
        The file's other arrays (other labellings, the light of a face, ...).
    source : str
        One line: who to cite, where it comes from.
    """

    name: str
    X: NDArray[np.floating]
    y: NDArray[np.int64]
    classes: NDArray[np.generic]
    target_names: tuple[str, ...] | None
    views: dict[str, NDArray[np.floating]] | None
    source: str
    extras: dict[str, NDArray[np.generic]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Sizes rather than the numbers."""
        n, d = self.X.shape
        views = "" if self.views is None else f", {len(self.views)} views"
        sizes = f"{n} samples, {d} features, {len(self.classes)} classes{views}"
        return f"Dataset({self.name!r}: {sizes})"

    def take(self, rows: ArrayLike) -> Dataset:
        """Give some rows, in the order asked for; classes keep their numbers.

        Extras that hold links (``must_05``, say) are left out: they name rows of the whole.

        Parameters
        ----------
        rows : array-like of int

        Returns
        -------
        Dataset

        Examples
        --------
        >>> from linkshift.datasets import make
        >>> make("moons", random_state=0).take([0, 1, 2])
        Dataset('moons': 3 samples, 2 features, 2 classes)
        """
        n, index = len(self.X), np.asarray(rows, dtype=np.int64)
        views = self.views and {name: view[index] for name, view in self.views.items()}
        kept = {k: a for k, a in self.extras.items() if not k.startswith(("must_", "cannot_"))}
        extras = {key: a[index] if len(a) == n else a for key, a in kept.items()}
        return replace(self, X=self.X[index], y=self.y[index], views=views, extras=extras)
