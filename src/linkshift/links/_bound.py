"""Links bound to an estimator, for libraries that call ``fit(X)`` and nothing else."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from linkshift._core.messages import Refusal
from linkshift._core.text import short
from linkshift.links._links import Links
from linkshift.links._parse import index_names


class BindsLinks:
    """Lets an estimator carry its links; comes before scikit-learn's classes among the bases."""

    # Whether ``fit`` takes links.
    _takes_links: ClassVar[bool] = True

    _bound_links: Links | None = None

    def with_links(self, links: Any) -> Self:
        """Give an unfitted copy whose ``fit(X)`` uses these links.

        For pipelines without metadata routing, and for libraries that call ``fit(X)``, such as
        BERTopic. Bound links are no parameter: `get_params` does not list them, but copies
        (``sklearn.clone``), pickles and model files keep them. Links given to ``fit`` beside them
        are refused, unless they are the same.

        Parameters
        ----------
        links : Links or None
            Links for the data that ``fit`` will see; what ``fit(X, links=...)`` takes.
            With their number of rows (``Links(..., n_samples=n)``) they are refused for a part of
            the data, as cross-validation makes it. None takes bound links away.

        Returns
        -------
        estimator
            Of the same class and parameters.

        Examples
        --------
        >>> import numpy as np
        >>> from linkshift import ConstrainedMeanShift, Links
        >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
        >>> model = ConstrainedMeanShift().with_links(Links(cannot=[(0, 3)]))
        >>> model.fit(X).labels_
        array([0, 0, 1, 1])
        """
        from sklearn.base import clone

        if not self._takes_links and links is not None:
            name = type(self).__name__
            raise Refusal(
                f"{name} does not use links.",
                f"Bind them to ConstrainedMeanShift, or to RefinedClustering({name}()).",
                parameter="links",
            )
        other: Self = clone(self)
        other._bound_links = None if links is None else Links.coerce(links)
        return other

    def __sklearn_clone__(self) -> Self:
        other: Self = super().__sklearn_clone__()  # type: ignore[misc]
        if self._bound_links is not None:
            other._bound_links = self._bound_links
        return other

    def __repr__(self, **options: Any) -> str:
        text = super().__repr__(**options)
        bound = self._bound_links
        return text if bound is None else f"{text}.with_links({bound!r})"

    def _links_for_fit(self, links: Any, X: Any) -> Any:
        """Give the links that ``fit`` was given, or else those that are bound, by row."""
        bound = self._bound_links
        if links is None or bound is None:
            return _by_row(bound if links is None else links, X)
        if Links.coerce(links) != bound:
            raise Refusal(
                "There are links in fit and others that with_links has bound.",
                "Give them in one place; with_links(None) takes the bound ones away.",
                parameter="links",
            )
        return _by_row(links, X)


def _by_row(links: Any, X: Any) -> Any:
    """Find the rows of links that are keyed by id in the index of a DataFrame."""
    if links is None or not isinstance(links, Links | dict | tuple):
        return links
    found = Links.coerce(links)
    if not found.keyed_by_id:
        return links
    names = index_names(X)
    if names is None:
        assert found._pairs.names is not None
        raise Refusal(
            f"The links are keyed by id, such as {short(found._pairs.names[0])}, and X has no "
            "index that names its rows.",
            "Give a pandas DataFrame that has the ids for its index, table.set_index('name'), or "
            "call links.resolve(ids) with the ids in the order of rows, as table['id'].",
            parameter="links",
        )
    return found.resolve(names)
