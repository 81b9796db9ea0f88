"""From files to what there is to cluster: numbers, ids, links, views."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from linkshift._core.text import counted, listed
from linkshift.cli.reading import columns
from linkshift.cli.reading.links import named_conflict, read_link_file, require_rows
from linkshift.cli.reading.sparse import SparseTable
from linkshift.cli.reading.tables import Table, read_table
from linkshift.cli.reading.views import Views, find_views
from linkshift.cli.talking import Console, InputError
from linkshift.links import Links

if TYPE_CHECKING:
    from linkshift.tables.preparing import Preparation


@dataclass(frozen=True)
class Source:
    """Where the data and what is known of it are."""

    data: Path
    links: Path | None = None
    columns: str | None = None
    id_column: str | None = None
    labels_column: str | None = None
    header: bool | None = None
    prepare: bool = False
    pca: int | None = None
    scale: str | None = None  # None where it was not asked for
    apart_within: tuple[str, ...] = ()
    together_within: tuple[str, ...] = ()
    show: str | None = None  # column to be shown beside rows
    weights: str | None = None

    @property
    def grouped(self) -> tuple[str, ...]:
        """Columns that group rows."""
        return (*self.apart_within, *self.together_within)


@dataclass(frozen=True, eq=False)
class Problem:
    """What there is to cluster."""

    X: NDArray[Any]
    names: tuple[str, ...]
    ids: list[Any] | None
    links: Links | None  # those of the labels included
    file_links: Links | None  # those of columns that group rows included
    labels: list[Any] | None  # None where unknown
    views: Views | None
    recipe: Preparation | None = None  # what X was made by
    shown: list[Any] | None = None  # what rows are, in a column
    weights: NDArray[Any] | None = None


def read_problem(
    source: Source,
    console: Console,
    *,
    views: tuple[str, ...] = (),
    takes_views: bool | None = False,
) -> Problem:
    """Read all that a command needs.

    ``takes_views`` is None where the data decides: a file that holds several matrices has views.
    Conflicts among links are left to be counted by `count_conflicts`.
    """
    id_column, labels_column = source.id_column, source.labels_column
    _refuse_one_for_two(source)
    table = read_table(source.data, console, header=source.header, id_column=id_column)
    if takes_views is None:
        takes_views = bool(table.views)
    if not takes_views:
        refuse_views(table)
    ids = None if id_column is None else columns.sample_ids(table, id_column)
    weights = None if source.weights is None else columns.row_weights(table, source.weights)
    every = (id_column, labels_column, source.weights, *source.grouped)
    reserved = [name for name in every if name is not None]
    shown = None
    if source.show is not None:
        shown = columns.shown_values(table, source.show)
        # What is there to be read is not made into numbers, unless that is asked for.
        if source.columns is None and table.kind(source.show) == "text":
            reserved.append(source.show)
    labels = None
    if labels_column is not None:
        labels = columns.partial_labels(table, labels_column)
        _check_labels(labels, labels_column, console)
    # Read before the features: a wrong link is found before a long list of columns is told.
    file_links = None
    if source.links is not None:
        with console.warnings():  # answers that differ
            file = read_link_file(source.links, n_rows=table.n_rows, ids=ids)
        for remark in file.remarks:
            console.say(remark)
        file_links = file.links
        require_rows(file_links, source.links, table)
        if not table.sorted_by_row and ids is None and len(file_links):
            console.warn(
                f"{source.links}: links count rows from 0, and {source.data} has an index that "
                "says otherwise. Is the table sorted as when you answered? With the ids in a "
                "column, --id-column finds rows in any order."
            )
        if file.repeats:
            times, again = counted(len(file.repeats), "link"), file.repeats[0]
            console.warn(
                f"{source.links}: {times} given again, and counted once; "
                f"first: {again.place} repeats {again.first}."
            )
    file_links = _with_groups(source, table, file_links, console)
    features, recipe = table_features(source, table, reserved, console, takes_views=takes_views)
    found = None
    if takes_views:
        found = find_views(views, table, features.names)
        shown_views = (f"{name} ({counted(len(c), 'column')})" for name, c in found.items())
        console.say(f"Views: {listed(shown_views)}.")
    links = None
    if file_links is not None or labels is not None:
        from linkshift.estimators._base import closed_links  # takes a second

        links = closed_links(file_links, labels, table.n_rows, counted=True).links
        sources = [str(source.links)] if source.links is not None else []
        sources += [f"the column {name!r}" for name in source.grouped]
        sources += [f"the labels in {labels_column!r}"] if labels is not None else []
        kinds = (len(links.must), "must"), (len(links.cannot), "cannot")
        told = [f"{n:,} {kind}" for n, kind in kinds if n]
        if links.apart:
            rows = sum(map(len, links.apart))
            told.append(f"{counted(len(links.apart), 'group')} of {rows:,} rows apart")
        console.say(f"Links: {listed(told) or 'none'}, from {' and '.join(sources)}.")
    given = (features.X, features.names, ids, links, file_links, labels, found)
    return Problem(*given, recipe, shown, weights)


def refuse_views(table: Table) -> None:
    """Refuse several matrices where one is needed."""
    if table.views:
        raise InputError(
            f"{table.path} holds several matrices ({listed(table.views)}). One is needed: call it "
            "X. Several are views for --method groups of linkshift cluster."
        )


def _refuse_one_for_two(source: Source) -> None:
    """Refuse a column that is named for two things."""
    options = {"--id-column": source.id_column, "--labels-column": source.labels_column}
    seen: dict[str, str] = {}
    for option, name in (options | {"--weights": source.weights}).items():
        if name is not None and (other := seen.setdefault(name, option)) != option:
            raise InputError(f"{other} and {option} both name {name!r}. Name two.")


def table_features(
    source: Source, table: Table, reserved: list[str], console: Console, *, takes_views: bool
) -> tuple[columns.Features, Preparation | None]:
    """Take columns as they are, or prepare them where that is asked for.

    Those in ``reserved`` are there for another purpose.
    """
    given: Any = {"columns": source.columns, "reserved": reserved}
    is_sparse = isinstance(table, SparseTable)
    if is_sparse and source.scale not in (None, "none"):
        raise InputError(f"--scale would fill the sparse matrix {table.path}; leave it out.")
    if not source.prepare and source.pca is None and not is_sparse:
        return columns.features(table, console, **given), None
    if takes_views:
        option = "--prepare" if source.prepare else "--pca"
        if is_sparse:
            raise InputError(f"{table.path} is a sparse matrix, and has no views. Leave them out.")
        raise InputError(
            f"{option} makes new columns of all, and views would be mixed. Leave it out, or leave "
            "out the views."
        )
    if source.weights is not None and not is_sparse:
        option = "--prepare" if source.prepare else "--pca"
        raise InputError(
            f"{option} goes by rows that all count the same, and --weights says otherwise. Leave "
            "one of them out."
        )
    from linkshift.cli.reading.preparing import prepared_features
    from linkshift.tables.preparing import Preparation

    # By itself --pca only adds components to what is done without it.
    scale: Any = source.scale or "auto"
    if scale == "auto" and (source.prepare or is_sparse):
        scale = "standard" if source.prepare else "none"
    pca: Any = source.pca if source.pca is not None else "auto"
    recipe = Preparation(log=source.prepare, scale=scale, pca=pca)
    return prepared_features(
        table, console, **given, recipe=recipe, any_kind=source.prepare
    ), recipe


def _with_groups(source: Source, table: Any, links: Links | None, console: Console) -> Links | None:
    """Add what columns that group rows say."""
    ways: list[tuple[str, tuple[str, ...], Callable[[Any], Links]]] = [
        ("--apart-within", source.apart_within, Links.apart_within),
        ("--together-within", source.together_within, Links.together_within),
    ]
    for option, names, make in ways:
        for name in names:
            more = make(columns.group_entries(table, name, option))
            if not more:
                console.warn(f"{option} {name} says nothing: no two rows have the same entry.")
            links = more if links is None else links + more
    return links


def _check_labels(labels: list[Any], column: str, console: Console) -> None:
    try:
        says_something = bool(Links.from_labels(labels))
    except ValueError as error:
        raise InputError(f"--labels-column {column}: {error}.") from error
    if not says_something:
        console.warn(
            f"--labels-column {column} says nothing: it takes two known labels to make a link."
        )
    known = [label for label in labels if label is not None]
    if len(known) >= 20 and len(set(known)) > len(known) / 2:
        console.warn(
            f"--labels-column {column} has {len(set(known)):,} different labels in "
            f"{len(known):,} rows. Is it rather the --id-column?"
        )


def count_conflicts(source: Source, problem: Problem, console: Console) -> int:
    """Count contradictions, and warn of them: the method at hand will weigh links."""
    conflicts = () if problem.links is None else problem.links.conflicts()
    if not conflicts:
        return 0
    check = f"linkshift links check {shlex.quote(str(source.links))}"
    if source.links is None:
        names = [*source.grouped, *([source.labels_column] if source.labels_column else [])]
        remedy = f"Check {listed(repr(name) for name in names)}."
    elif source.labels_column is None:
        remedy = f"See all, and what to remove, with: {check}"
    else:
        remedy = (
            f"See those in the file with: {check}; and check them against the labels in "
            f"{source.labels_column!r}."
        )
    console.warn(
        f"the links contradict each other in {counted(len(conflicts), 'place')}, "
        f"first: {named_conflict(conflicts[0], problem.ids)}. "
        f"Going on: links are weighed, not obeyed, and some will be broken. {remedy}"
    )
    return len(conflicts)
