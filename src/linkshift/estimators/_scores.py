"""Log density of rows, for estimators that climb a plain kernel density."""

from __future__ import annotations

from abc import abstractmethod

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array
from linkshift._core.threads import n_threads, threads
from linkshift.estimators._base import LinkedClusterer
from linkshift.shift.density import Density
from linkshift.shift.step import log_density

__all__ = ["ScoresSamples"]


class ScoresSamples(LinkedClusterer):
    """A clusterer with a ``score_samples``."""

    n_jobs: int | None

    @abstractmethod
    def _scored_density(self) -> Density:
        """Return the density that scores."""

    def score_samples(self, X: ArrayLike) -> Array:
        """Log density of each row under the kernel density that the points climb.

        The density is that of the kernel's shadow (:mod:`linkshift.profiles`), normalised to
        integrate to one; minus infinity where no point reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "labels_")
        data, density = self._read(X, reset=False), self._scored_density()
        with threads(n_threads(self.n_jobs)) as pool:
            return log_density(density, density.to_working(data), pool)
