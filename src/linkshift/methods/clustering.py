"""One call for all methods: `cluster` picks one from what is given, and says which and why."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from linkshift._core.messages import Advice, Refusal
from linkshift._core.text import counted
from linkshift.methods.table import (
    METHODS,
    SCALES,
    ConflictsName,
    Given,
    MethodName,
    Setting,
    check_params,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from linkshift._core.arrays import Progress
    from linkshift.explain.explanation import Explanation
    from linkshift.links import Links
    from linkshift.metrics import LinkReport
    from linkshift.tables.preparing import Preparation
    from linkshift.tables.scaling import ScaleName, Scaling

# Parameters that only methods that shift have a use for.
_OF_A_SHIFT = ("bandwidth", "kernel", "n_neighbors", "space", "max_iter")


class Choice(NamedTuple):
    """A method, why in a line, and parameters that go with it."""

    method: str
    why: str
    params: dict[str, Any]


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

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def done(self) -> str:
        """What was done, in a line."""
        return METHODS[self.method].describe(self.model)

    @property
    def bandwidth(self) -> Any:
        """The bandwidth, in units of the columns; None where there is no single one to name."""
        return METHODS[self.method].bandwidth(self.model)

    def predict(self, X: Any) -> Any:
        """Cluster of each row of new data, in the columns (or views) that were clustered.

        Rows of a table that was prepared are given as they are, and prepared in the same way. Those
        of a pandas DataFrame come back with its index.
        """
        from linkshift.tables.columns import index_of
        from linkshift.tables.preparing import Prepared
        from linkshift.tables.reading import with_index

        if isinstance(X, Prepared):
            raise Refusal(
                "New rows are prepared by the recipe of those that were clustered.",
                "Give the table itself.",
            )
        rows = X if self.recipe is None else self.recipe.transform(X)
        rows = _scaled(rows, self.scalings)
        return with_index(self.model.predict(rows), index_of(X))

    def explain(self, row: int, **options: Any) -> Explanation:
        """Say why a row is in its cluster; see :meth:`ConstrainedMeanShift.explain`."""
        if not hasattr(self.model, "explain"):
            raise Refusal(
                f"In the method {self.method} nothing moves, and there is no path to tell of.",
                "model.cluster_centers_ says where clusters are."
                if self.method == "kmeans"
                else "model.view_importances_ says what each cluster goes by.",
            )
        explanation: Explanation = self.model.explain(row, **options)
        if self.scalings and not self.model._is_cosine():  # rows of length one have no units
            explanation = explanation.moved(self.scalings[0].undo)
        return explanation

    def __repr__(self) -> str:
        clusters = "1 cluster" if self.n_clusters == 1 else f"{self.n_clusters} clusters"
        scale = next((f", scale {one.kind}" for one in self.scalings if one.kind != "none"), "")
        kept = f"; {self.link_report}" if len(self.links) else ""
        return (
            f"<{clusters} of {len(self.labels):,} rows by {self.method}{scale}: {self.why}{kept}>"
        )


def cluster(
    X: Any,
    links: Links | None = None,
    *,
    partial_labels: ArrayLike | None = None,
    method: MethodName = "auto",
    scale: ScaleName = "auto",
    conflicts: ConflictsName = "resolve",
    held_out: int = 0,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    on_choice: Callable[[Choice], None] | None = None,
    **params: Any,
) -> Clustering:
    """Cluster data with whatever help there is.

    Parameters
    ----------
    X : array-like of shape (n, d), or a dict or list of such
        A table; several are views of the same rows. Columns are taken as they are: scale them
        first where their units differ. A DataFrame (pandas, polars) with a column of lists is
        clustered by that column, and whole numbers that are called an id and all differ are left
        out. A sparse matrix is clustered by 100 columns of its truncated singular value
        decomposition; a warning says so. Tables with text or gaps go through
        :func:`linkshift.prepare` first.
    links : Links, default=None
        Pairs that belong together (must) and pairs that do not (cannot). Those that are keyed by id
        are found by the index of a DataFrame, or else by its column of ids.
    partial_labels : array-like of shape (n,), default=None
        Known classes, -1 where unknown.
    method : {"auto", "consensus", "kmeans", "mean-shift", "cms", "kernel", "skms", "metric", \
            "groups"}
        "auto" is :func:`choose`. For the others see `METHODS`.
    scale : {"auto", "standard", "minmax", "none"}, default="auto"
        What is done to columns first: "standard" gives each mean 0 and spread 1, "minmax" lets it
        go from 0 to 1, "none" takes it as it is. "auto" is "standard" where units differ: where
        spreads of up to 30 columns differ more than tenfold, or few of more columns outweigh the
        others; else, for ``metric="cosine"``, where the bandwidth is a number and for what
        :func:`prepare` has made, "none". Each view is scaled by itself.
    conflicts : {"resolve", "refuse"}, default="resolve"
        "resolve" sets links aside, the least probable by data and other links, until the rest
        agrees. Where many answers seem wrong, none is taken for certain: methods that weigh links
        get confidences of at most 0.9, less for those that are improbable. A warning tells of
        both. "refuse" takes links as they are: most methods raise `ConflictError` on
        contradictions.
    held_out : int, default=0
        How many parts links are cut into, each of which is held out once from another fit:
        ``link_report.held_out`` says how well these links hold, which tells more than that those
        hold that were used. 0 does without; 5 takes about six times as long.
    random_state : int, RandomState or None
        For methods that draw at random (kernel, skms, metric, groups; kmeans, and consensus from
        2,500 rows on, which take None for 0).
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    progress : callable, default=None
        Called with (done, total) now and then.
    on_choice : callable, default=None
        Called with the `Choice` of a method, once nothing speaks against it and before the work.
    **params
        ``n_clusters`` (exactly) or ``max_clusters``, ``bandwidth``, ``kernel``, ``n_neighbors``,
        ``metric`` or ``max_iter``, for methods that take them, as their estimators do.
        ``space="kernel"`` lets "mean-shift" move rows in a Gaussian kernel's space
        (:class:`KernelMeanShift` without links) instead of the columns' own, "input";
        ``space="graph"`` in diffusion coordinates of the graph of neighbours
        (:class:`GraphMeanShift`). ``metric="cosine"`` goes by the directions of rows instead of
        their places (text embeddings, counts); no method scales columns then. With "auto"
        parameters have a say in the choice.

    Returns
    -------
    Clustering

    Examples
    --------
    >>> import linkshift
    >>> from linkshift.datasets import make_moons
    >>> X, y = make_moons(200, random_state=0)
    >>> links = linkshift.Links.sample(y, 40, random_state=0)
    >>> found = linkshift.cluster(X, links)
    >>> found.n_clusters, found.method
    (2, 'consensus')
    """
    from sklearn.utils import check_array

    from linkshift.estimators._base import closed_links
    from linkshift.links import ClosedLinks, Links
    from linkshift.methods.answers import by_row, settled_answers
    from linkshift.methods.held_out import held_out_agreement
    from linkshift.metrics import link_satisfaction
    from linkshift.tables.columns import index_of
    from linkshift.tables.reading import Reading, is_made, read_given, refuse_gaps, with_index
    from linkshift.tables.scaling import Scaling

    tables = _views(X)
    if tables is not None and len(tables) == 1 and method != "groups":
        X, tables = tables[0], None
    made = is_made(X)
    reading = read_given(X) if tables is None else Reading(X, index_of(tables[0]))
    X = reading.X
    asked = _asked(params)
    scalings: tuple[Scaling, ...] = ()
    if (kind := scale_for(scale, asked, made=made)) != "none":
        scalings = tuple(Scaling.of_table(one, kind) for one in tables or [X])
    X = _scaled(X, scalings)
    tables = tables if tables is None else _views(X)
    table = X if tables is None else tables[0]
    array = check_array(table, dtype=None, ensure_all_finite=False)
    refuse_gaps(array)
    n_rows, n_views = len(array), 1 if tables is None else len(tables)
    links = ClosedLinks.coerce(by_row(links, reading), n_rows).links
    if held_out and not len(links):
        raise Refusal(
            "held_out is for links, and there are none to hold out; known labels are not.",
            "Leave it out, or give links.",
            command="Leave --held-out out, or give --links.",
            parameter="held_out",
            value=held_out,
        )
    answers = settled_answers(tables or [X], links, partial_labels, n_rows, conflicts)
    joined = closed_links(answers.links, partial_labels, n_rows, counted=True).links
    if method == "auto":
        labelled = partial_labels is not None and not len(links)
        choice = choose(joined, labelled=labelled, n_views=n_views, given=asked)
    elif method in METHODS:
        choice = Choice(method, "as asked for", {})
    else:
        raise Refusal(
            f"method must be one of auto, {', '.join(METHODS)}; got {method!r}.",
            parameter="method",
            value=method,
        )
    row = METHODS[choice.method]
    check_params(row.name, asked if n_views == 1 else {**asked, "views": tables})
    row.check_given(Given(asked, joined, n_rows))
    weighs = row.conflicts != "refused"  # others want links that are certain
    if weighs and answers.doubted is not None:
        joined = closed_links(answers.doubted, partial_labels, n_rows, counted=True).links
    links = answers.doubted if weighs and answers.doubted is not None else answers.links
    answers.tell(weighs=weighs)
    if on_choice is not None:
        on_choice(choice)
    all_params = {**choice.params, **asked}
    common = {"n_jobs": n_jobs}
    if "max_iter" in all_params:
        common["max_iter"] = all_params.pop("max_iter")
    bars = _bars(progress, 1 + held_out)

    def fitted(links: Links) -> Any:
        joined = closed_links(links, partial_labels, n_rows, counted=True).links
        setting = Setting(
            n_rows, bool(len(joined)), random_state, {**common, "progress": next(bars)}
        )
        known = {"links": links, "partial_labels": partial_labels} if len(joined) else {}
        return row.make(setting, **all_params).fit(X, **known)

    start = time.perf_counter()
    model = fitted(links)
    seconds = time.perf_counter() - start
    report = link_satisfaction(model.labels_, joined)
    if held_out:
        known = closed_links(Links(), partial_labels, n_rows, counted=True).links
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Advice)  # the fit with all links has said it
            agreed = held_out_agreement(
                lambda some: fitted(some).labels_, links, known, n_rows, held_out
            )
        report = replace(report, held_out=agreed)
    labels = with_index(model.labels_, reading.index)
    told = (row.name, choice.why, model, joined, answers.set_aside, report, seconds)
    return Clustering(labels, *told, scalings, reading.recipe)


def _bars(progress: Progress | None, n_fits: int) -> Iterator[Progress | None]:
    """Give each of several fits its share of one progress bar."""
    for fit in range(n_fits):
        if progress is None or n_fits == 1:
            yield progress
        else:
            yield partial(_shared, progress, fit, n_fits)


def _shared(progress: Progress, fit: int, n_fits: int, done: int, total: int) -> None:
    progress(fit * total + done, n_fits * total)


def scale_for(scale: str, asked: Mapping[str, Any], *, made: bool) -> str:
    """Take "auto" for "none" where a scale would change what was said or done on purpose."""
    if scale not in SCALES:
        raise Refusal(
            f"scale must be one of {', '.join(SCALES)}; got {scale!r}.",
            parameter="scale",
            value=scale,
        )
    by_angle, by_number = asked.get("metric") == "cosine", asked.get("bandwidth")
    keeps = made or by_angle or isinstance(by_number, Real)
    return "none" if scale == "auto" and keeps else scale


def _scaled(X: Any, scalings: Sequence[Scaling]) -> Any:
    """Scale a table, or each of several."""
    if not scalings:
        return X
    if isinstance(X, Mapping):
        return {
            name: one.apply(table) for (name, table), one in zip(X.items(), scalings, strict=True)
        }
    if (tables := _views(X)) is not None:
        return [one.apply(table) for table, one in zip(tables, scalings, strict=True)]
    return scalings[0].apply(X)


def _asked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters that are set; refuse those that no method has."""
    known = frozenset().union(*(method.uses for method in METHODS.values())) - {"views"}
    unknown = sorted(params.keys() - known)
    if unknown:
        close = get_close_matches(unknown[0], sorted(known | {"partial_labels", "links"}), n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise TypeError(
            f"cluster has no parameter {unknown[0]!r}.{meant} Those of one estimator alone are "
            "its own: build the estimator and call fit."
        )
    return {name: value for name, value in params.items() if value is not None}


def _views(X: Any) -> list[Any] | None:
    """Several tables as a list; None for one table."""
    if isinstance(X, Mapping):
        if not X:
            raise Refusal("X holds no tables; give one, or one for each view.")
        return list(X.values())
    if isinstance(X, list | tuple) and X and getattr(X[0], "ndim", 0) == 2:
        return list(X)
    return None


def choose(
    links: Links,
    *,
    labelled: bool = False,
    n_views: int = 1,
    given: Collection[str] = (),
) -> Choice:
    """Pick a method from what there is to go by.

    The first line that fits decides:

    ===================================================================  ==========
    what there is                                                        method
    ===================================================================  ==========
    several views                                                        groups
    ``bandwidth``, ``kernel``, ``n_neighbors``, ``space``, ``max_iter``  mean-shift
    anything else, with or without links                                 consensus
    ===================================================================  ==========

    Known labels count as the links between all of them. ``python -m benchmarks.run auto`` compares
    the methods on sets that had a part in finding the constants of "consensus" and on others that
    had none.

    Parameters
    ----------
    links : Links
        All links; empty where there are none.
    labelled : bool, default=False
        Whether links come from known labels; only the words differ.
    n_views : int, default=1
        Number of tables.
    given : collection of str
        Parameters that were given.

    Returns
    -------
    Choice
        Name of the method, and a line that says why.

    Examples
    --------
    >>> from linkshift import Links
    >>> from linkshift.methods import choose
    >>> choose(Links(must=[(0, 1)])).why
    '1 link helps to choose among partitions'
    """
    if n_views > 1:
        return Choice("groups", f"with {n_views} views each cluster can choose its own", {})
    for name in _OF_A_SHIFT:
        if name in given:
            return Choice("mean-shift", f"the method that {name} is for", {})
    if not len(links):
        return Choice("consensus", "no links to go by: the partition that most agree on", {})
    what = "known labels" if labelled else counted(len(links), "link")
    help_ = "helps" if what == "1 link" else "help"
    return Choice("consensus", f"{what} {help_} to choose among partitions", {})
