"""What a clustering gives: labels and all that people ask of them next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.labels import NOISE, count_clusters
from linkshift._core.messages import Refusal
from linkshift._core.text import counted, listed
from linkshift.methods.table import METHODS

if TYPE_CHECKING:
    from linkshift.explain.explanation import Explanation
    from linkshift.links import Links
    from linkshift.memberships import Membership
    from linkshift.metrics import LinkReport
    from linkshift.tables.preparing import Preparation
    from linkshift.tables.scaling import Scaling

__all__ = ["Clustering", "numbered", "scaled", "views_of"]

_NO_MATTER = ("progress", "n_jobs")  # to the result
_SHOWN = 12  # clusters, in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Clustering:
    """What `cluster` found; its text says how.

    Attributes
    ----------
    labels : ndarray of shape (n,), or Series
        Cluster of each row, -1 for noise; of a pandas DataFrame with its index.
    method : str
        Name of the method, as in `METHODS`.
    why : str
        Why this method, in a line.
    model : estimator
        The fitted model, for all that it knows beside the labels.
    links : Links
        All links that were used, those of partial labels included.
    set_aside : Links
        Links that were not, as they contradict others that are more probable.
    link_report : LinkReport
        Which links hold.
    seconds : float
        Time of the fit.
    scalings : tuple of Scaling
        What was done to the columns of the table, or of each view; empty where nothing was. The
        model knows columns as they are then, while ``predict`` and ``explain`` take and give them
        as they were.
    recipe : Preparation or None
        How the numbers were made of the table, which ``predict`` does again; None where they are
        those of the table.
    columns : tuple of str
        Names of the columns that were clustered; empty where they have none.
    views : dict of str to tuple of str, or None
        Columns of each view, where there are views.
    numbers : ndarray or None
        What each of the model's clusters is called in ``labels``, where an earlier clustering says
        so (``labels_like``); None where names are the model's own.
    ids : list or None
        Names of rows in the table's column of ids, where its index does not name them.
    """

    labels: Any
    method: str
    why: str
    model: Any
    links: Links
    set_aside: Links
    link_report: LinkReport
    seconds: float
    scalings: tuple[Scaling, ...] = ()
    recipe: Preparation | None = None
    columns: tuple[str, ...] = ()
    views: Mapping[str, tuple[str, ...]] | None = None
    numbers: NDArray[np.int64] | None = None
    ids: list[Any] | None = None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return count_clusters(np.asarray(self.labels))

    @property
    def done(self) -> str:
        """What was done, in a line."""
        return METHODS[self.method].describe(self.model)

    @property
    def bandwidth(self) -> Any:
        """The bandwidth, in units of the columns; None where there is no single one to name."""
        return METHODS[self.method].bandwidth(self.model)

    @cached_property
    def membership(self) -> Membership:
        """How rows stand in their clusters, by neighbours: :func:`linkshift.membership`.

        Worked out when first asked for, from rows as the method saw them.
        """
        from linkshift.memberships import membership

        return membership(self.model._fit_X, np.asarray(self.labels))

    @property
    def probabilities(self) -> Any:
        """How surely each row belongs to its cluster, from 0 to 1; noise has 0."""
        return self._by_row(self.membership.probabilities, "probability")

    @property
    def outlier_scores(self) -> Any:
        """How far out each row is among its neighbours, from 0 to 1."""
        return self._by_row(self.membership.outlier_scores, "outlier_score")

    @property
    def exemplars(self) -> NDArray[np.int64]:
        """The row of each cluster that is nearest to its centre, by ascending cluster."""
        return self.membership.exemplars

    @property
    def centers(self) -> NDArray[np.float64]:
        """Mean of each cluster in units of the columns, by ascending cluster.

        Columns of views are side by side; with ``metric="cosine"`` rows count by direction, and
        their means have no unit.
        """
        centers = self.membership.centers
        return centers if self._is_cosine() else self._undone(centers)

    @property
    def view_importances(self) -> NDArray[np.float64] | None:
        """What each view has to say on each cluster, by ascending cluster; None without views."""
        found: NDArray[np.float64] | None = getattr(self.model, "view_importances_", None)
        return found if found is None or self.numbers is None else found[np.argsort(self.numbers)]

    def predict(self, X: Any) -> Any:
        """Cluster of each row of new data, in the columns (or views) that were clustered.

        Rows of a table that was prepared are given as they are, and prepared in the same way. Those
        of a pandas DataFrame come back with its index. A warning tells of rows far outside what was
        clustered: farther from the nearest of those rows than three times the largest distance
        that any of them has from its own nearest neighbour.
        """
        from linkshift.methods.reach import warn_of_far
        from linkshift.tables.columns import index_of
        from linkshift.tables.preparing import Prepared
        from linkshift.tables.reading import refuse_anndata, with_index
        from linkshift.tables.reducing import warn_of_zero_rows

        if isinstance(X, Prepared):
            raise Refusal(
                "New rows are prepared by the recipe of those that were clustered.",
                "Give the table itself.",
            )
        refuse_anndata(X, "Give what was clustered, of the new rows: adata.obsm[key], or adata.X.")
        rows = self._new_rows(X) if self.recipe is None else self.recipe.transform(X)
        if self.recipe is None and views_of(X) is None:
            warn_of_zero_rows(rows, new=True)
        rows = scaled(rows, self.scalings)
        labels = self.numbered(self.model.predict(rows))
        warn_of_far(self.model, rows, self._reach)
        return with_index(labels, index_of(X))

    @cached_property
    def _reach(self) -> float:
        """How far neighbours are from each other at most."""
        from linkshift.methods.reach import reach_of

        return reach_of(self.model)

    def _new_rows(self, X: Any) -> Any:
        """Columns of new rows, by name where they have names, as many as were clustered."""
        from sklearn.utils import check_array

        from linkshift.tables.reading import refuse_gaps

        if views_of(X) is not None:
            return X
        names = getattr(self.model, "feature_names_in_", None)
        if names is not None and hasattr(X, "iloc"):
            absent = [str(name) for name in names if name not in X.columns]
            if absent:
                raise Refusal(
                    f"The new rows lack columns that were clustered: {listed(absent)}.",
                    f"Give all of {listed(map(str, names))}.",
                )
            X = X[list(names)]
        rows = check_array(X, dtype=None, ensure_all_finite=False)
        refuse_gaps(rows, getattr(X, "columns", None))
        n_columns = getattr(self.model, "n_features_in_", rows.shape[1])
        if rows.shape[1] != n_columns:
            raise Refusal(
                f"The new rows have {counted(rows.shape[1], 'column')}, and {n_columns} were "
                "clustered.",
                "Give the same columns in the same order.",
            )
        return X

    def numbered(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give labels of the model the numbers that its clusters have here."""
        return numbered(labels, self.numbers)

    def explain(self, row: Any, **options: Any) -> Explanation:
        """Say why a row is in its cluster; see :meth:`ConstrainedMeanShift.explain`.

        Parameters
        ----------
        row : int or id
            A row of the table that was clustered: its id where rows have ids, in the index or in a
            column of the table, else its number, from 0. Beside ids that are all text, a number is
            still that of a row.
        **options
            Those of the model's ``explain``; ``ids`` are names of all rows in the place of those.
        """
        if not hasattr(self.model, "explain"):
            raise Refusal(
                f"In the method {self.method} nothing moves, and there is no path to tell of.",
                "model.cluster_centers_ says where clusters are."
                if self.method == "kmeans"
                else "model.view_importances_ says what each cluster goes by.",
            )
        from linkshift.tables.ids import row_called

        names = self.row_names() if options.get("ids") is None else list(options["ids"])
        at = row_called(row, names, len(self.labels))
        explanation: Explanation = self.model.explain(at, **options | {"ids": names})
        if self.scalings and not self._is_cosine():  # rows of length one have no units
            explanation = explanation.moved(self.scalings[0].undo)
        return explanation.renumbered(self.numbers)

    def to_frame(self) -> Any:
        """Give what is known of each row as a DataFrame.

        Its columns are ``cluster``, ``probability``, ``second`` (the other cluster that is next to
        the row, -1 where there is none near) and ``outlier_score``.

        Examples
        --------
        >>> import linkshift
        >>> found = linkshift.cluster([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]], n_clusters=2)
        >>> found.to_frame().columns.tolist()
        ['cluster', 'probability', 'second', 'outlier_score']
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_frame needs pandas: pip install "linkshift[cli]"') from error
        held = self.membership
        columns = {"cluster": np.asarray(self.labels), "probability": held.probabilities}
        columns |= {"second": held.second, "outlier_score": held.outlier_scores}
        return pd.DataFrame(columns, index=getattr(self.labels, "index", None))

    def plot(self, **options: Any) -> Any:
        """Draw the clusters, their links and modes; options are those of `linkshift.plot.clusters`.

        Two columns are drawn in their own units, more of them as the method saw them.

        Returns
        -------
        matplotlib Axes
        """
        from linkshift.pictures import plot

        shown = self.shown()
        return plot.clusters(shown.pop("X"), shown.pop("labels"), **shown, **options)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Clusters",
        show: Sequence[Any] | None = None,
    ) -> None:
        """Write a page of HTML with all there is to see; it needs no network.

        Parameters
        ----------
        path : path
            Where to; an existing file is replaced.
        title : str
            Title of the page.
        show : sequence of length n, default=None
            What rows are, to be shown beside them: text, or paths of images, which are looked for
            from the folder of the page and embedded where they are small. A column of the table,
            such as ``table["title"]``, whose rows are found by its index.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import linkshift
        >>> found = linkshift.cluster([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]], n_clusters=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(Path(folder) / "page.html", show=["ant", "bee", "fly"] + 3 * ["elk"])
        ...     "elk" in (Path(folder) / "page.html").read_text(encoding="utf-8")
        True
        """
        from linkshift._core.files import replacing
        from linkshift.pictures import page
        from linkshift.tables.reading import by_index

        if isinstance(show, str):
            raise Refusal(
                "show takes what rows are, one for each, and the table is not kept.",
                f"Give the column itself: show=table[{show!r}].",
                parameter="show",
            )
        show = by_index(show, getattr(self.labels, "index", None), self.ids, "show")
        told = page.Report(**self.told(), title=title, show=show, folder=Path(path).parent)
        with replacing(path) as temporary:
            temporary.write_text(page.render(told), encoding="utf-8", newline="")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, for :func:`linkshift.load` and for the command.

        The file holds data only, no pickle (:func:`linkshift.model_files.save
        <linkshift.models.files.save>`). ``linkshift predict`` and ``linkshift explain`` take it as
        well.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import linkshift
        >>> found = linkshift.cluster([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]], n_clusters=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(Path(folder) / "model.npz")
        ...     again = linkshift.load(Path(folder) / "model.npz")
        >>> again.predict([[8.0]]) == found.predict([[8.0]])
        array([ True])
        """
        from linkshift.methods.saved import save

        save(self, path)

    def shown(self) -> dict[str, Any]:
        """Say what pictures show: rows, clusters, links, modes.

        Two columns are as they are, more as the method saw them: in their own units, one column or
        view would often be all there is to see. By cosine they are always as it saw them. Modes are
        there where the clusters still are theirs.
        """
        X = self.model._fit_X
        modes = getattr(self.model, "cluster_centers_", None)
        if X.shape[1] <= 2 and not self._is_cosine():
            X, modes = self._undone(X), None if modes is None else self._undone(modes)
        links = self.links if len(self.links) else None
        return {"X": X, "labels": np.asarray(self.labels), "links": links, "modes": modes}

    def told(self) -> dict[str, Any]:
        """Say what a page tells: fields of a report."""
        from linkshift.memberships import is_quick

        inner = getattr(self.model, "estimator_", self.model)
        params = {
            name: getattr(value, "name", value)
            for name, value in inner.get_params(deep=False).items()
            if name not in _NO_MATTER
            and (value is None or isinstance(value, bool | int | float | str))
        }
        return {
            **self.shown(),
            "ids": self.row_entries(),
            "names": self.columns or None,
            "method": self.method,
            "why": self.why,
            "done": self.done,
            "parameters": {"scale": self.scaling().kind, **params},
            "view_importances": self.view_importances,
            "view_names": None if self.views is None else tuple(self.views),
            "seconds": round(self.seconds, 2),
            "held_out": self.link_report.held_out,
            "original": self._original(),
            # Of very many rows it is told where it is known already.
            "membership": self.membership
            if "membership" in vars(self) or is_quick(*self.model._fit_X.shape)
            else None,
        }

    def row_names(self) -> list[Any] | None:
        """Ids of the rows, from the index or a column; None where there are none."""
        from linkshift.tables.reading import counts_rows

        index = getattr(self.labels, "index", None)
        if index is None or counts_rows(index) or not index.is_unique:
            return self.ids
        return list(index.tolist())

    def row_entries(self) -> list[Any] | None:
        """Ids of the rows, or else what the index has for them, which need not tell them apart."""
        index = getattr(self.labels, "index", None)
        return self.row_names() or (None if index is None else list(index.tolist()))

    def scaling(self) -> Scaling:
        """Say what was done to all columns, those of views side by side."""
        from linkshift.tables.scaling import Scaling

        if not self.scalings:
            d = self.model._fit_X.shape[1]
            return Scaling("none", np.zeros(d), np.ones(d))
        kinds = [one.kind for one in self.scalings if one.kind != "none"]
        shift, spread = (
            np.concatenate([getattr(one, name) for one in self.scalings])
            for name in ("shift", "spread")
        )
        return Scaling(kinds[0] if kinds else "none", shift, spread)

    def _undone(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Give rows, those of views side by side, in units of the columns."""
        return self.scaling().undo(rows)

    def _original(self) -> NDArray[Any] | None:
        """Rows in units of the columns; None where what was done cannot be undone."""
        recipe = self.recipe
        if recipe is not None and (recipe.log or recipe.scale != "none" or recipe.reduction_):
            return None
        return None if self._is_cosine() else self._undone(self.model._fit_X)

    def _is_cosine(self) -> bool:
        return bool(self.model._is_cosine())

    def _by_row(self, values: NDArray[Any], name: str) -> Any:
        """Give values with the index that labels have."""
        if not hasattr(self.labels, "index"):
            return values
        return type(self.labels)(values, index=self.labels.index, name=name)

    def _repr_html_(self) -> str:
        """List the clusters in a notebook, the largest first."""
        from linkshift._core.markup import notebook, row

        numbers, sizes = np.unique(np.asarray(self.labels), return_counts=True)
        order = np.argsort(-sizes, kind="stable")
        rows = [
            row(f"{sizes[i]:,}", f"{sizes[i] / sizes.sum():.1%}", name=_name(int(numbers[i])))
            for i in order[:_SHOWN]
        ]
        if (rest := order[_SHOWN:]).size:
            rest_size = int(sizes[rest].sum())
            share = f"{rest_size / sizes.sum():.1%}"
            rows.append(row(f"{rest_size:,}", share, name=f"{rest.size:,} more"))
        return notebook(repr(self)[1:-1], ("cluster", ">rows", ">share"), rows)

    def __repr__(self) -> str:
        clusters = "1 cluster" if self.n_clusters == 1 else f"{self.n_clusters} clusters"
        scale = next((f", scale {one.kind}" for one in self.scalings if one.kind != "none"), "")
        kept = f"; {self.link_report}" if len(self.links) else ""
        return (
            f"<{clusters} of {len(self.labels):,} rows by {self.method}{scale}: {self.why}{kept}>"
        )


def _name(number: int) -> str:
    return "noise" if number == NOISE else str(number)


def numbered(labels: NDArray[np.int64], numbers: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Call clusters by other numbers: that of each one, None where they stay."""
    if numbers is None:
        return labels
    return np.where(labels < 0, NOISE, numbers[np.maximum(labels, 0)]).astype(np.int64)


def scaled(X: Any, scalings: Sequence[Scaling]) -> Any:
    """Scale a table, or each of several."""
    if not scalings:
        return X
    if isinstance(X, Mapping):
        return {
            name: one.apply(table) for (name, table), one in zip(X.items(), scalings, strict=True)
        }
    if (tables := views_of(X)) is not None:
        return [one.apply(table) for table, one in zip(tables, scalings, strict=True)]
    return scalings[0].apply(X)


def views_of(X: Any) -> list[Any] | None:
    """Several tables as a list; None for one table."""
    if isinstance(X, Mapping):
        if not X:
            raise Refusal("X holds no tables; give one, or one for each view.")
        return list(X.values())
    if isinstance(X, list | tuple) and X and getattr(X[0], "ndim", 0) == 2:
        return list(X)
    return None
