"""From files to what there is to cluster: numbers, ids, links, views."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from linkshift.cli import _link_files, _read, _views
from linkshift.cli._console import Console, InputError, counted, listed
from linkshift.links import Links


@dataclass(frozen=True)
class Source:
    """Where the data and what is known of it are."""

    data: Path
    links: Path | None = None
    columns: str | None = None
    id_column: str | None = None
    labels_column: str | None = None
    header: bool | None = None

    @property
    def files(self) -> list[Path]:
        """Files that are read, and must not be written over."""
        return [path for path in (self.data, self.links) if path is not None]


@dataclass(frozen=True, eq=False)
class Problem:
    """What there is to cluster."""

    X: NDArray[Any]
    names: tuple[str, ...]
    ids: list[Any] | None
    links: Links | None  # those of the labels included
    file_links: Links | None
    labels: list[Any] | None  # None where unknown
    views: _views.Views | None

    def part(self, X: NDArray[Any], columns: tuple[str, ...]) -> NDArray[Any]:
        """Give some columns, by name, of data that has them all."""
        position = {name: i for i, name in enumerate(self.names)}
        return X[:, [position[column] for column in columns]]

    def tables(self, X: NDArray[Any]) -> Any:
        """Give data as a method takes it: one table, or those of the views by name."""
        if self.views is None:
            return X
        return {name: self.part(X, columns) for name, columns in self.views.items()}


def read_problem(
    source: Source,
    console: Console,
    *,
    views: tuple[str, ...] | None = None,
    takes_views: bool | None = False,
) -> Problem:
    """Read all that a command needs.

    ``takes_views`` is None where the data decides: a file that holds several matrices has views.
    Conflicts among links are left to be counted by `count_conflicts`.
    """
    id_column, labels_column = source.id_column, source.labels_column
    if id_column is not None and id_column == labels_column:
        raise InputError(f"--id-column and --labels-column both name {id_column!r}.")
    table = _read.read_table(source.data, header=source.header, id_column=id_column)
    if takes_views is None:
        takes_views = bool(table.views)
    if table.views and not takes_views:
        raise InputError(
            f"{source.data} holds several matrices ({listed(table.views)}). One is needed: call it "
            "X. Several are views for --method groups of linkshift cluster."
        )
    ids = None if id_column is None else _read.sample_ids(table, id_column)
    reserved = [name for name in (id_column, labels_column) if name is not None]
    labels, label_links = None, None
    if labels_column is not None:
        labels = _read.partial_labels(table, labels_column)
        label_links = _label_links(labels, labels_column, console)
    # Read before the features: a wrong link is found before a long list of columns is told.
    file_links = _file_links(source, table.n_rows, ids)
    features = _read.features(table, console, columns=source.columns, reserved=reserved)
    found = None
    if takes_views:
        found = _views.find_views(views, table, features.names)
        told = (f"{name} ({counted(len(c), 'column')})" for name, c in found.items())
        console.say(f"Views: {listed(told)}.")
    links = _joined(source, file_links, label_links, console)
    return Problem(features.X, features.names, ids, links, file_links, labels, found)


def _file_links(source: Source, n_rows: int, ids: list[Any] | None) -> Links | None:
    if source.links is None:
        return None
    links = _link_files.read_links(source.links, n_rows=n_rows, ids=ids)
    _link_files.require_rows(links, source.links)
    return links


def _label_links(labels: list[Any], column: str, console: Console) -> Links:
    links = _link_files.links_of_labels(labels, column)
    if not links:
        console.warn(
            f"--labels-column {column} says nothing: it takes two known labels to make a link."
        )
    known = [label for label in labels if label is not None]
    if len(known) >= 20 and len(set(known)) > len(known) / 2:
        console.warn(
            f"--labels-column {column} has {len(set(known)):,} different labels in "
            f"{len(known):,} rows. Is it rather the --id-column?"
        )
    return links


def _joined(
    source: Source, file_links: Links | None, label_links: Links | None, console: Console
) -> Links | None:
    """Join links from file and labels, and say how many."""
    given = [links for links in (file_links, label_links) if links is not None]
    if not given:
        return None
    links = given[0] if len(given) == 1 else given[0] + given[1]
    sources = [str(source.links)] if file_links is not None else []
    sources += [f"the labels in {source.labels_column!r}"] if label_links is not None else []
    console.say(
        f"Links: {len(links.must):,} must, {len(links.cannot):,} cannot, "
        f"from {' and '.join(sources)}."
    )
    return links


def count_conflicts(source: Source, problem: Problem, console: Console) -> int:
    """Count contradictions, and warn of them: the method at hand will weigh links."""
    if problem.links is None:
        return 0
    if source.links is None:
        remedy = f"Check the labels in {source.labels_column!r}."
    elif source.labels_column is None:
        remedy = f"See all, and what to remove, with: linkshift links check {source.links}"
    else:
        remedy = (
            f"See those in the file with: linkshift links check {source.links}; and check them "
            f"against the labels in {source.labels_column!r}."
        )
    return _link_files.warn_of_conflicts(console, problem.links, problem.ids, remedy)
