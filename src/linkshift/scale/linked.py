"""Constrained mean shift on a summary whose linked rows are whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.estimators.constrained_mean_shift import ConstrainedMeanShift
from linkshift.links import ClosedLinks, Links
from linkshift.links._conflicts import conflict_error
from linkshift.metrics import LinkReport
from linkshift.profiles import Profile
from linkshift.refinement import neighbours_vote
from linkshift.summaries import Summary

__all__ = ["LinkedModel", "check_links", "fit_linked"]

_DEFAULTS = {"bandwidth": None, "kernel": Profile("gaussian"), "max_iter": 300, "tol": 1e-3}
_ROWS = 1 << 16  # that vote at a time


@dataclass(frozen=True)
class LinkedModel:
    """Landmarks with labels that links have settled.

    Attributes
    ----------
    points, weights : ndarray of shape (m, d), (m,)
        Landmarks, rows that were kept whole first, and what they stand for, one on average.
    labels : ndarray of shape (m,)
        Cluster of each landmark.
    kept : ndarray of shape (k,)
        Numbers of the rows that were kept whole, in the order of the first k landmarks.
    link_report : LinkReport
        Which links hold; pairs that do not, by the numbers of their rows in the table.
    n_neighbors : int
        Landmarks that have a vote in `predict`.
    """

    points: Array
    weights: Array
    labels: Array
    kept: Array
    link_report: LinkReport
    n_neighbors: int

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.labels.max()) + 1

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return int(self.points.shape[1])

    def label(self, rows: Array, first: int | None, n_threads: int) -> Array:  # noqa: ARG002
        """Cluster of each row: that of the nearest landmarks, or its own where it was kept."""
        labels = np.empty(len(rows), dtype=np.int64)
        known = self.points, self.labels, self.n_neighbors, self.weights
        for start in range(0, len(rows), _ROWS):
            part = slice(start, start + _ROWS)
            labels[part] = neighbours_vote(rows[part].astype(self.points.dtype), *known)
        if first is not None:
            here = np.flatnonzero((self.kept >= first) & (self.kept < first + len(rows)))
            labels[self.kept[here] - first] = self.labels[here]
        return labels


def check_links(links: Links, settings: Mapping[str, Any]) -> None:
    """Refuse links that contradict each other, and settings that would not be looked at."""
    certain = links.where(links.must_confidence == 1.0, links.cannot_confidence == 1.0)
    if conflicts := certain.conflicts():
        raise conflict_error(conflicts)
    for name, value in settings.items():
        if value != _DEFAULTS[name]:
            raise Refusal(
                f"With links, {name}={getattr(value, 'name', value)} is not used: the bandwidth "
                "grows until only links keep landmarks apart.",
                f"Leave out {name}, or the links.",
                command=f"Leave out --{name.replace('_', '-')}, or --links.",
                parameter=name,
            )


def fit_linked(summary: Summary, links: Links, *, n_jobs: int | None) -> LinkedModel:
    """Cluster the landmarks of a summary under links between rows that were kept whole."""
    own = _between_landmarks(summary, links)
    # As many rows as there are landmarks: a landmark that stood for twenty rows and more would
    # otherwise be all of its twenty neighbours itself.
    weights = summary.weights / summary.weights.mean()
    model = ConstrainedMeanShift(landmarks=None, scale_features=False, n_jobs=n_jobs)
    model.fit(summary.points, links=own, sample_weight=weights)
    report = model.link_report_
    report = replace(
        report,
        violated_must=summary.kept[report.violated_must],
        violated_cannot=summary.kept[report.violated_cannot],
    )
    return LinkedModel(
        summary.points, weights, model.labels_, summary.kept, report, model.n_neighbors
    )


def _between_landmarks(summary: Summary, links: Links) -> Links:
    """Links between rows of the table as links between landmarks."""
    if links.keyed_by_id:
        raise Refusal(
            "Links are keyed by id, and landmarks know numbers of rows.",
            "Call links.resolve(ids) first.",
            parameter="links",
        )
    named = ClosedLinks(
        links, links.n_samples or 0
    ).linked_rows  # which are the same for any number
    lost = np.setdiff1d(named, summary.kept)
    if lost.size:
        raise Refusal(
            f"Row {lost[0]} has a link, and the summary has not kept it whole.",
            "Name all rows that have links in keep=... of summarise.",
            parameter="links",
        )
    return Links._make(links.take(summary.kept)._pairs, len(summary.points))
