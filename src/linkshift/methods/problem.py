"""What there is to cluster: numbers, scaled, the links between their rows, and known classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_array

from linkshift._core.messages import Advice, warn
from linkshift.estimators._base import closed_links
from linkshift.links import ClosedLinks, Links
from linkshift.methods.answers import by_row
from linkshift.methods.clustering import scale_for
from linkshift.methods.result import scaled, views_of
from linkshift.refinement import checked_weights
from linkshift.tables.columns import index_of
from linkshift.tables.reading import Reading, is_made, read_given, refuse_gaps
from linkshift.tables.reducing import warn_of_zero_rows
from linkshift.tables.scaling import Scaling

__all__ = ["Problem", "problem_of"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows as a method takes them.

    Attributes
    ----------
    X : array-like or views
        The numbers, scaled.
    tables : list
        The tables that X is: several are views.
    reading : Reading
        How the numbers were made of what was given, and how rows are called.
    scalings : tuple of Scaling
        What was done to each table; empty where nothing was.
    weight : ndarray or None
        Weights of the rows.
    partial_labels : array-like or None
        Known classes, -1 where unknown.
    """

    X: Any
    tables: list[Any]
    reading: Reading
    scalings: tuple[Scaling, ...]
    weight: Any
    partial_labels: ArrayLike | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.tables[0])

    def by_row(self, links: Any) -> Links:
        """Give links as they are between these rows; a warning tells of those of fewer rows."""
        n_rows = self.n_rows
        found = ClosedLinks.coerce(by_row(links, self.reading), n_rows).links
        if found.n_samples is not None and found.n_samples < n_rows:
            warn(
                Advice(
                    f"The links are of {found.n_samples:,} rows, and the table has {n_rows:,}: "
                    "they are taken for its first rows.",
                    "links.resolve(ids) finds rows of another table by their ids.",
                    parameter="links",
                )
            )
        return found

    def joined(self, links: Links) -> Links:
        """Add the links that known classes are."""
        return closed_links(links, self.partial_labels, self.n_rows, counted=True).links


def problem_of(
    X: Any,
    scale: str,
    asked: Mapping[str, Any],
    *,
    one_view: bool,
    sample_weight: ArrayLike | None,
    partial_labels: ArrayLike | None,
) -> Problem:
    """Read a table, or several, and scale their columns; ``one_view`` keeps one that stands alone.

    What is no table of numbers is refused, with what to do.
    """
    views = views_of(X)
    if views is not None and len(views) == 1 and not one_view:
        X, views = views[0], None
    made = is_made(X)
    reading = read_given(X) if views is None else Reading(X, index_of(views[0]))
    tables = views or [reading.X]
    for one in tables:
        rows = check_array(one, dtype=None, ensure_all_finite=False)
        refuse_gaps(rows, getattr(one, "columns", None))
        if reading.recipe is None:  # which has told of them
            warn_of_zero_rows(rows)
    weight = None if sample_weight is None else checked_weights(sample_weight, tables[0])
    scalings: tuple[Scaling, ...] = ()
    if (kind := scale_for(scale, asked, made=made)) != "none":
        scalings = tuple(Scaling.of_table(one, kind, weight) for one in tables)
    X = scaled(reading.X, scalings)
    tables = [X] if views is None else views_of(X) or []
    return Problem(X, tables, reading, scalings, weight, partial_labels)
