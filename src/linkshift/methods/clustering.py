"""One call for all methods: `cluster` picks one from what is given, and says which and why."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from linkshift._core.lazy import refuse_dask
from linkshift._core.messages import Advice, Refusal
from linkshift._core.text import counted, near
from linkshift.methods.table import (
    METHODS,
    SCALES,
    ConflictsName,
    Given,
    Method,
    MethodName,
    Setting,
    check_params,
    check_takes_weights,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from linkshift._core.arrays import Progress
    from linkshift.links import Links
    from linkshift.methods.problem import Problem
    from linkshift.methods.result import Clustering
    from linkshift.metrics import HeldOut
    from linkshift.tables.preparing import Preparation
    from linkshift.tables.scaling import ScaleName

# Parameters that only methods that shift have a use for.
_OF_A_SHIFT = ("bandwidth", "kernel", "n_neighbors", "space", "max_iter")


class Choice(NamedTuple):
    """A method, why in a line, and parameters that go with it."""

    method: str
    why: str
    params: dict[str, Any]


def cluster(
    X: Any,
    links: Links | None = None,
    *,
    partial_labels: ArrayLike | None = None,
    method: MethodName = "auto",
    scale: ScaleName = "auto",
    conflicts: ConflictsName = "resolve",
    held_out: int = 0,
    labels_like: Any = None,
    sample_weight: ArrayLike | None = None,
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
    labels_like : Clustering, Series or array-like of shape (n,), default=None
        An earlier clustering, or its labels (-1 where unknown): clusters keep the numbers that
        they had there, by the rows that they have in common, and new ones get new numbers. Rows of
        a DataFrame are found by their index, and may be others than before.
    sample_weight : array-like of shape (n,), default=None
        Weights of rows, for "kmeans", "mean-shift" in the space "input" and "cms": a row of weight
        2 is the row twice, also for the scale of columns; one of weight zero follows and founds
        nothing.
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
        ``metric``, ``init`` (of "kmeans") or ``max_iter``, for methods that take them, as their
        estimators do.
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
    from linkshift.methods.answers import settled_answers
    from linkshift.methods.numbering import labels_before, numbers_like
    from linkshift.methods.problem import problem_of
    from linkshift.methods.result import Clustering
    from linkshift.metrics import link_satisfaction
    from linkshift.tables.reading import with_index

    asked = _asked(params)
    refuse_dask(X, "linkshift.cluster")
    of_rows = {"sample_weight": sample_weight, "partial_labels": partial_labels}
    problem = problem_of(X, scale, asked, one_view=method == "groups", **of_rows)
    links, reading = problem.by_row(links), problem.reading
    if labels_like is not None:  # what is wrong is said before the work
        before = labels_before(labels_like, reading.index, problem.n_rows)
    if held_out:
        _check_to_hold_out(links, held_out)
    answers = settled_answers(problem.tables, links, partial_labels, problem.n_rows, conflicts)
    joined = problem.joined(answers.links)
    labelled = partial_labels is not None and not len(links)
    choice = _chosen(method, joined, labelled, len(problem.tables), asked)
    row = METHODS[choice.method]
    views = {"views": problem.tables} if len(problem.tables) > 1 else {}
    check_params(row.name, asked | views)
    if sample_weight is not None:
        check_takes_weights(row.name, method, asked)
    row.check_given(Given(asked, joined, problem.n_rows))
    weighs = row.conflicts != "refused"  # others want links that are certain
    links = answers.used(weighs=weighs)
    if links is not answers.links:
        joined = problem.joined(links)
    answers.tell(weighs=weighs)
    if on_choice is not None:
        on_choice(choice)
    common = {"random_state": random_state, "n_jobs": n_jobs}
    bars = _bars(progress, 1 + held_out)
    fitted = partial(_fitted, row, problem, choice.params | asked, common, bars)
    start = time.perf_counter()
    model = fitted(links)
    seconds = time.perf_counter() - start
    report = link_satisfaction(model.labels_, joined)
    if held_out:
        report = replace(report, held_out=_held_out(fitted, links, problem, held_out))
    numbers = None
    if labels_like is not None:
        numbers = numbers_like(model.labels_, before, model.n_clusters_)
    told = (row.name, choice.why, model, joined, answers.set_aside, report, seconds)
    named = _columns(problem.X, reading.recipe)
    ids = None if reading.ids is None else list(reading.ids)
    found = Clustering(model.labels_, *told, problem.scalings, reading.recipe, *named, numbers, ids)
    return replace(found, labels=with_index(found.numbered(model.labels_), reading.index))


def _check_to_hold_out(links: Links, held_out: int) -> None:
    """Refuse to hold out what is not there."""
    if not len(links.must) + len(links.cannot):
        raise Refusal(
            "held_out is for links, and there are none to hold out; known labels are not.",
            "Leave it out, or give links.",
            command="Leave --held-out out, or give --links.",
            parameter="held_out",
            value=held_out,
        )


def _chosen(
    method: str, links: Links, labelled: bool, n_views: int, asked: Mapping[str, Any]
) -> Choice:
    """Give the method that is asked for, or the one that suits."""
    if method == "auto":
        return choose(links, labelled=labelled, n_views=n_views, given=asked)
    if method in METHODS:
        return Choice(method, "as asked for", {})
    raise Refusal(
        f"method must be one of auto, {', '.join(METHODS)}; got {method!r}.",
        parameter="method",
        value=method,
    )


def _fitted(
    row: Method,
    problem: Problem,
    params: Mapping[str, Any],
    common: Mapping[str, Any],
    bars: Iterator[Progress | None],
    links: Links,
) -> Any:
    """Fit the estimator of a method, with what all estimators take and its own parameters."""
    has_links = bool(len(problem.joined(links)))
    shared = {"n_jobs": common["n_jobs"], "progress": next(bars)}
    if "max_iter" in params:
        shared["max_iter"] = params["max_iter"]
    own = {name: value for name, value in params.items() if name != "max_iter"}
    setting = Setting(problem.n_rows, has_links, common["random_state"], shared)
    known = {"links": links, "partial_labels": problem.partial_labels} if has_links else {}
    known |= {} if problem.weight is None else {"sample_weight": problem.weight}
    return row.make(setting, **own).fit(problem.X, **known)


def _held_out(
    fitted: Callable[[Links], Any], links: Links, problem: Problem, n_parts: int
) -> HeldOut | None:
    """Fit without each part of the links in turn, and silently: the fit with all has said it."""
    from linkshift.links import Links
    from linkshift.methods.held_out import held_out_agreement

    def labels_of(some: Links) -> Any:
        return fitted(some).labels_

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        known = problem.joined(Links())
        return held_out_agreement(labels_of, links, known, problem.n_rows, n_parts)


def _columns(
    X: Any, recipe: Preparation | None
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]] | None]:
    """Names of the columns, none where they have none, and those of each view."""
    import numpy as np

    from linkshift.methods.result import views_of

    tables = views_of(X)
    if tables is None:
        made = None if recipe is None else recipe.get_feature_names_out()
        return tuple(map(str, made if made is not None else getattr(X, "columns", ()))), None
    names = X if isinstance(X, Mapping) else [f"view{v}" for v in range(len(tables))]
    views = {
        str(name): tuple(f"{name}_{j}" for j in range(np.shape(table)[1]))
        for name, table in zip(names, tables, strict=True)
    }
    return tuple(column for columns in views.values() for column in columns), views


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


def _asked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters that are set; refuse those that no method has."""
    known = frozenset().union(*(method.uses for method in METHODS.values())) - {"views"}
    unknown = sorted(params.keys() - known)
    if "id_column" in unknown:
        name = params["id_column"]
        raise TypeError(
            "cluster has no parameter 'id_column', which is of the command. Ids are the index of a "
            f"pandas DataFrame, table.set_index({name!r}); of other tables the links bring them: "
            f"Links(..., ids=table[{name!r}])."
        )
    if unknown:
        close = near(unknown[0], sorted(known | {"partial_labels", "links"}))
        meant = f" Did you mean {close!r}?" if close else ""
        raise TypeError(
            f"cluster has no parameter {unknown[0]!r}.{meant} Those of one estimator alone are "
            "its own: build the estimator and call fit."
        )
    return {name: value for name, value in params.items() if value is not None}


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
    n_pairs, n_groups = len(links.must) + len(links.cannot), len(links.apart)
    told = [counted(n_pairs, "link")] if n_pairs else []
    told += [f"{counted(n_groups, 'group')} of rows apart"] if n_groups else []
    what = "known labels" if labelled else " and ".join(told)
    help_ = "helps" if len(links) == 1 and not labelled else "help"
    return Choice("consensus", f"{what} {help_} to choose among partitions", {})
