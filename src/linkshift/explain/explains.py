"""The ``explain`` that estimators share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Refusal
from linkshift.explain.counterfactuals import counterfactuals, to_leave_out
from linkshift.explain.evidence import Evidence, Refit
from linkshift.explain.explanation import Explanation, LinkRole
from linkshift.explain.roles import link_roles
from linkshift.links import ClosedLinks, Links
from linkshift.links._groups import MOST_EXPANDED
from linkshift.shift.neighbours import nearest_neighbours

__all__ = ["Explains"]


class Explains:
    """Give a fitted estimator an ``explain``.

    It needs ``labels_``, ``links_`` (where it takes links) and training rows, in ``_fit_X`` unless
    it overrides ``_evidence``, which tells what else it knows of a row.
    """

    def explain(
        self,
        row: int,
        *,
        max_counterfactuals: int = 5,
        ids: Iterable[Hashable] | None = None,
        progress: Progress | None = None,
    ) -> Explanation:
        """Explain why a training row is in its cluster.

        Tells the row's path to its mode, the links that act on it, and for the strongest of them
        where the row would be without the link: the model is fitted again, on the side.

        Parameters
        ----------
        row : int
            A row of the data that the model was fitted on, from 0.
        max_counterfactuals : int, default=5
            Most links to leave out, one at a time. Each costs about a fit; 0 asks for none.
        ids : sequence, default=None
            Names of all rows, for the text.
        progress : callable, default=None
            Called with (counterfactuals made, counterfactuals).

        Returns
        -------
        Explanation
            ``print`` it for the text; ``to_dict()`` gives it for JSON.

        Examples
        --------
        >>> import numpy as np
        >>> from linkshift import ConstrainedMeanShift, Links
        >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
        >>> model = ConstrainedMeanShift().fit(X, links=Links(cannot=[(0, 5)]))
        >>> explanation = model.explain(1)
        >>> explanation.label, explanation.links[0].pair
        (0, (0, 5))
        >>> explanation.what_if(explanation.counterfactuals[0])
        'without cannot-link (0, 5) clusters 0 and 1 become one'
        """
        check_is_fitted(self, "labels_")
        labels: Array = self.labels_  # type: ignore[attr-defined]
        n = len(labels)
        row = _check_row(row, n)
        limit = _check_limit(max_counterfactuals)
        names = None if ids is None else _check_ids(ids, n)
        links = self._explained_links()
        evidence = self._evidence(row)
        closed = ClosedLinks(links, n)
        roles = link_roles(row, closed, labels, evidence.bending)
        wanted = to_leave_out(row, links, roles, evidence)[:limit]
        cases = counterfactuals(row, labels, links, wanted, evidence.refit, progress)
        path_rows, mode_row, mode = _along(evidence)
        shown = evidence.shown or np.asarray
        return Explanation(
            row=row,
            label=int(labels[row]),
            size=int((labels == labels[row]).sum()),
            space=evidence.space,
            path=None if evidence.path is None else shown(evidence.path),
            path_rows=path_rows,
            mode=None if mode is None else shown(mode[None])[0],
            mode_row=mode_row,
            links=tuple(roles),
            n_links=len(links),
            counterfactuals=tuple(cases),
            notes=_notes(row, labels, links, roles, evidence),
            ids=names,
        )

    def _explained_links(self) -> Links:
        links = getattr(self, "links_", None)
        if links is None and hasattr(self, "link_report_"):
            raise ValueError(
                "This model does not know its links: it was fitted by an earlier version. Fit it "
                "again."
            )
        if links is None:
            return Links()
        try:
            return links.expanded()  # one link is told of at a time
        except Refusal as error:
            raise Refusal(
                "An explanation goes through links one by one, and groups of rows that are apart "
                f"hold more than {MOST_EXPANDED:,} pairs.",
                "link_report_ says how many groups hold.",
                command="The report of linkshift cluster says how many groups hold.",
                parameter="links",
            ) from error

    def _evidence(self, row: int) -> Evidence:  # noqa: ARG002 (for those that override it)
        """Tell what the estimator knows of a row; without more, a fresh fit says what if."""
        points: Array = self._fit_X  # type: ignore[attr-defined]
        return Evidence(points, self._fresh_fit(points), others="after the clustering")

    def _fresh_fit(self, X: Array) -> Callable[[Links], Refit]:
        """Give a function that fits a clone on the training rows under other links."""

        def refit(links: Links) -> Refit:
            other: Any = clone(self)
            if getattr(other, "_bound_links", None) is not None:
                other = other.with_links(None)
            if "progress" in other.get_params(deep=False):
                other.set_params(progress=None)
            return Refit(other.fit(X, links=links).labels_)

        return refit


def _check_row(row: object, n: int) -> int:
    if not isinstance(row, Integral) or isinstance(row, bool | np.bool_):
        raise TypeError(f"row must be a whole number, got {row!r} ({type(row).__name__}).")
    row = int(row)
    if not 0 <= row < n:
        raise IndexError(f"row {row} is out of range: the model was fitted on rows 0 to {n - 1}.")
    return row


def _check_limit(limit: object) -> int:
    if not isinstance(limit, Integral) or isinstance(limit, bool | np.bool_):
        raise TypeError(f"max_counterfactuals must be a whole number, got {limit!r}.")
    limit = int(limit)
    if limit < 0:
        raise ValueError(f"max_counterfactuals must not be negative, got {limit}; 0 asks for none.")
    return limit


def _check_ids(ids: Iterable[Hashable], n: int) -> tuple[Hashable, ...]:
    if isinstance(ids, str | bytes):
        raise TypeError("ids must be a sequence with a name for each row, got text.")
    names = tuple(ids)
    if len(names) != n:
        raise ValueError(f"ids must name all {n} rows of the model, got {len(names)} names.")
    return names


def _along(evidence: Evidence) -> tuple[tuple[int, ...], int | None, Array | None]:
    """Rows nearest to a path, and the mode with the row nearest to it."""
    path = evidence.path
    if path is None:
        return (), None, None
    mode = path[-1] if evidence.mode is None else evidence.mode
    nearest = nearest_neighbours(evidence.points, 1, np.vstack([path, mode]))[1][:, 0].tolist()
    rows = tuple(row for row, _ in groupby(nearest[:-1]))
    return rows, nearest[-1], mode


def _notes(
    row: int, labels: Array, links: Links, roles: Sequence[LinkRole], evidence: Evidence
) -> tuple[str, ...]:
    notes = list(evidence.notes)
    before = evidence.before_links
    if before is not None and labels[row] != -1:
        company = (before == before[row]) & (np.arange(len(labels)) != row) & (labels != -1)
        if company.any():
            names, count = np.unique(labels[company], return_counts=True)
            if count[names == labels[row]].sum() < count.max():
                notes.append(
                    "Before links and neighbours settled it, it was with rows that are now mostly "
                    f"in cluster {names[np.argmax(count)]}."
                )
    n_others = len(links) - len(roles) - sum(len(role.alike) for role in roles)
    if evidence.others and n_others:
        which = "The other " if roles else "The "
        counted = "link acts" if n_others == 1 else f"{n_others:,} links act"
        notes.append(f"{which}{counted} {evidence.others}.")
    return tuple(notes)
