"""The table of methods: a row owns all that is particular to a method.

Nothing heavy is imported at the top: the command line reads the table for its help.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any, Literal, NamedTuple

import linkshift
from linkshift._core.messages import Refusal
from linkshift._core.text import counted
from linkshift.methods._checks import (
    COUNT,
    Given,
    Params,
    check_both_kinds,
    check_kmeans,
    check_links_to_choose_by,
    check_must_links,
    check_n_clusters,
    check_number,
    check_one_count,
    check_reach,
    check_rows,
    check_weighted,
    is_by_links,
)

DISTANCES = ("euclidean", "cosine")
SCALES = ("auto", "standard", "minmax", "none")
CONFLICTS = ("resolve", "refuse")
ConflictsName = Literal["resolve", "refuse"]
MethodName = Literal[
    "auto", "consensus", "kmeans", "mean-shift", "cms", "kernel", "skms", "metric", "groups"
]


class Setting(NamedTuple):
    """What an estimator is made for, besides the parameters of its method."""

    n_rows: int
    has_links: bool
    random_state: Any
    common: dict[str, Any]  # parameters that all estimators take

    def neighbours(self, n_neighbors: int | None) -> dict[str, Any]:
        """Give the number of neighbours asked for, else one for this many rows; and the seed.

        About the square root of the rows: with a fixed number, clusters would grow in number
        with the rows.
        """
        if n_neighbors is None:
            n_neighbors = min(max(20, isqrt(self.n_rows)), max(self.n_rows - 1, 1))
        return {"n_neighbors": n_neighbors, "random_state": self.random_state, **self.common}


def _make_consensus(setting: Setting, **params: Any) -> Any:
    seed = 0 if setting.random_state is None else setting.random_state
    return linkshift.ConsensusClustering(random_state=seed, **params, **setting.common)


def _describe_consensus(model: Any) -> str:
    by = f" and {counted(len(model.links_), 'link')}" if len(model.links_) else ""
    return (
        f"Consensus of {counted(model.n_candidates_, 'partition')}{by}{_by(model)}; other ways of "
        f"looking agree with it by {model.agreement_:.2f} (1 at most)."
    )


def _make_kmeans(setting: Setting, n_clusters: int, **params: Any) -> Any:
    seed = 0 if setting.random_state is None else setting.random_state
    model = linkshift.KMeans(n_clusters, random_state=seed, **params, **setting.common)
    refining: dict[str, Any] = {"n_clusters": n_clusters, "metric": model.metric}
    return linkshift.RefinedClustering(model, **refining) if setting.has_links else model


def _describe_kmeans(model: Any) -> str:
    by, inner = f"; then refine with {counted(len(model.links_), 'link')}", _inner(model)[0]
    starts = f"the best of up to {inner.n_init} starts ({inner.init})"
    size = counted(model.n_clusters_, "cluster")
    return f"K-means{_by(inner)}, {size}, {starts}{by if len(model.links_) else ''}."


def _make_mean_shift(
    setting: Setting,
    bandwidth: Any = None,
    kernel: Any = None,
    n_neighbors: int | None = None,
    space: str | None = None,
    metric: Any = "euclidean",
    **count: Any,
) -> Any:
    profile: Any = "flat" if kernel is None else kernel
    common = {"metric": metric, **setting.common}
    if space == "kernel":
        model: Any = _make_kernel("project", setting, n_neighbors, metric)
    elif space == "graph":
        model = linkshift.GraphMeanShift(n_neighbors=n_neighbors, **common)
    elif is_by_links(bandwidth):
        model = linkshift.PathMeanShift(kernel=profile, **common)
    else:
        model = linkshift.MeanShift(
            bandwidth=bandwidth, kernel=profile, n_neighbors=n_neighbors, **common
        )
    if setting.has_links or count:
        return linkshift.RefinedClustering(model, metric=metric, **count)
    return model


def _inner(model: Any) -> tuple[Any, str]:
    """Give the clusterer that was refined, or the model itself; and where rows moved."""
    inner = getattr(model, "estimator_", model)
    moved = "graph" if hasattr(inner, "embedding_") else "input"
    return inner, "kernel" if hasattr(inner, "rank_") else moved


def _describe_mean_shift(model: Any) -> str:
    inner, space = _inner(model)
    if space == "kernel":
        words = _describe_kernel("", inner)
    elif space == "graph":
        words = (
            f"Mean shift in {inner.coordinates} coordinates of the graph of neighbours"
            f"{_by(inner)}, {counted(inner.n_edges, 'edge')} a row, {_describe_bandwidth(inner)}."
        )
    else:
        kernel = getattr(inner.kernel, "name", inner.kernel)
        words = f"Mean shift with the {kernel} kernel{_by(inner)}, {_describe_bandwidth(inner)}."
    if inner is model:
        return words
    before = len(set(model.labels_before_.tolist()) - {-1})
    return (
        f"{words[:-1]}; then refine with {counted(len(model.links_), 'link')} "
        f"({before} clusters before, {model.n_clusters_} after)."
    )


def _by(model: Any) -> str:
    return ", by cosine" if model.metric == "cosine" else ""


def _describe_bandwidth(model: Any) -> str:
    h = model.bandwidth_
    if getattr(h, "ndim", 0):
        k = model.n_neighbors
        source = "" if k is None else f" (distance to neighbour {k})"
        return f"bandwidth {float(h.min()):.4g} to {float(h.max()):.4g}{source}"
    asked = getattr(model, "bandwidth", "links")
    chosen = " (chosen by links)" if is_by_links(asked) else ""
    return f"bandwidth {h:.4g}{' (from the data)' if asked is None else chosen}"


def _bandwidth_of_mean_shift(model: Any) -> Any:
    inner, space = _inner(model)
    return inner.bandwidth_ if space == "input" else None


def _make_constrained(setting: Setting, **params: Any) -> Any:
    # Columns have been scaled by one rule for all methods.
    return linkshift.ConstrainedMeanShift(scale_features=False, **params, **setting.common)


def _describe_constrained(model: Any) -> str:
    low, high = float(model.bandwidth_[0]), float(model.bandwidth_[-1])
    grown = f"growing from {low:.4g} to {high:.4g}" if low < high else f"{low:.4g}"
    links = counted(len(model.links_), "link")
    return f"Constrained mean shift with {links}{_by(model)}, bandwidth {grown}."


def _bandwidth_of_constrained(model: Any) -> Any:
    return None if model.bandwidth is None else float(model.bandwidth_[0])


def _make_kernel(
    use_links: Any,
    setting: Setting,
    n_neighbors: int | None = None,
    metric: Any = "euclidean",
) -> Any:
    params = {"use_links": use_links, "metric": metric, **setting.neighbours(n_neighbors)}
    return linkshift.KernelMeanShift(**params)


def _describe_kernel(verb: str, model: Any) -> str:
    by = f" {verb} {counted(len(model.links_), 'link')}" if len(model.links_) else ""
    return (
        f"Kernel mean shift{_by(model)}, Gaussian kernel of width {model.sigma_:.4g}, "
        f"{model.n_neighbors} neighbours, {counted(model.rank_, 'dimension')}{by}."
    )


def _make_metric(setting: Setting, n_neighbors: int | None = None) -> Any:
    return linkshift.MetricMeanShift(**setting.neighbours(n_neighbors))


def _describe_metric(model: Any) -> str:
    return (
        f"Mean shift under a metric learned from {counted(len(model.links_), 'link')}, "
        f"{counted(len(model.metric_.components_), 'dimension')}, {model.n_neighbors} neighbours."
    )


def _make_groups(setting: Setting, n_clusters: int) -> Any:
    return linkshift.GroupFeatureClustering(
        n_clusters, random_state=setting.random_state, **setting.common
    )


def _describe_groups(model: Any) -> str:
    low, high = model.size_bounds_
    links = getattr(model, "links_", ())
    by = f", {counted(len(links), 'link')}" if len(links) else ""
    return (
        f"Group-dependent features: {counted(len(model.view_names_), 'view')}, "
        f"{model.n_clusters} clusters of {low:,} to {high:,} rows, "
        f"{counted(model.n_init, 'start')}{by}."
    )


def _nothing(_: Any) -> None:
    """Refuse nothing; have nothing."""


@dataclass(frozen=True)
class Method:
    """A method by name, with all that is particular to it.

    Attributes
    ----------
    name : str
    help : str
        What it does, in a line.
    uses : frozenset of str
        The parameters of `cluster` that it takes, besides those that all take; "views" where X
        may be several tables.
    make : callable
        Makes the estimator, not yet fitted, from a setting and the parameters that it uses.
    describe : callable
        Says what a fitted model did, in a line.
    check_params, check_given : callable
        Refuse parameters that do not go together; links and rows that it cannot use.
    bandwidth : callable
        The bandwidth of a fitted model, in units of the columns; None where it has none.
    conflicts : {"weighed", "softened", "refused"}
        Links that contradict each other are weighed; or weighed where confidences are below one;
        or refused.
    takes_weights : bool
        Whether rows may have weights.
    """

    name: str
    help: str
    uses: frozenset[str]
    make: Callable[..., Any]
    describe: Callable[[Any], str]
    check_params: Callable[[Params], None] = _nothing
    check_given: Callable[[Given], None] = _nothing
    bandwidth: Callable[[Any], Any] = _nothing
    conflicts: Literal["weighed", "softened", "refused"] = "refused"
    takes_weights: bool = False

    @property
    def takes_views(self) -> bool:
        """Whether the data is several tables."""
        return "views" in self.uses


_ROWS = (
    Method(
        "consensus",
        "the partition that many ways of looking at neighbourhoods agree on, under links",
        frozenset({"n_neighbors", "metric", *COUNT}),
        make=_make_consensus,
        describe=_describe_consensus,
        check_params=check_one_count,
        conflicts="softened",
    ),
    Method(
        "kmeans",
        "k-means, for those who know the number of clusters; then refine where there are links",
        frozenset({"n_clusters", "init", "metric", "max_iter"}),
        make=_make_kmeans,
        describe=_describe_kmeans,
        check_params=check_kmeans,
        check_given=check_rows,
        conflicts="weighed",
        takes_weights=True,
    ),
    Method(
        "mean-shift",
        "plain mean shift, then refine where there are links",
        frozenset({"bandwidth", "kernel", "n_neighbors", "space", "metric", "max_iter", *COUNT}),
        make=_make_mean_shift,
        describe=_describe_mean_shift,
        check_params=check_reach,
        check_given=check_links_to_choose_by,
        bandwidth=_bandwidth_of_mean_shift,
        conflicts="weighed",
        takes_weights=True,
    ),
    Method(
        "cms",
        "constrained mean shift, bent by cannot-links; finds the bandwidth itself",
        frozenset({"bandwidth", "metric", "max_iter", *COUNT}),
        make=_make_constrained,
        describe=_describe_constrained,
        check_params=check_number,
        bandwidth=_bandwidth_of_constrained,
        conflicts="softened",
        takes_weights=True,
    ),
    Method(
        "kernel",
        "mean shift in a kernel's space, projected by must-links",
        frozenset({"n_neighbors", "metric", "max_iter"}),
        make=partial(_make_kernel, "project"),
        describe=partial(_describe_kernel, "projected by"),
        check_given=check_must_links,
    ),
    Method(
        "skms",
        "mean shift in a kernel's space, learned from must-links and cannot-links",
        frozenset({"n_neighbors", "metric", "max_iter"}),
        make=partial(_make_kernel, "learn"),
        describe=partial(_describe_kernel, "learned from"),
    ),
    Method(
        "metric",
        "mean shift under a metric learned from links or known labels",
        frozenset({"n_neighbors", "max_iter"}),
        make=_make_metric,
        describe=_describe_metric,
        check_given=check_both_kinds,
    ),
    Method(
        "groups",
        "clusters that each choose among several views of the data; needs their number",
        frozenset({"n_clusters", "views", "max_iter"}),
        make=_make_groups,
        describe=_describe_groups,
        check_params=partial(check_n_clusters, "groups"),
        check_given=check_rows,
        conflicts="softened",
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _ROWS}

# What parameters are called in a sentence; views are the tables of X.
_NAMES = {
    "bandwidth": "A bandwidth has",
    "kernel": "A kernel has",
    "n_neighbors": "A number of neighbours has",
    "space": "A space has",
    "n_clusters": "A number of clusters has",
    "max_clusters": "A largest number of clusters has",
    "max_iter": "A number of iterations has",
    "metric": "A choice of distance (metric) has",
    "init": "A way of choosing first centres (init) has",
    "views": "Views have",
}
_OPTIONS = {"n_clusters": "--clusters", "views": "--view"}  # where names differ


def check_params(method: str, params: Params) -> None:
    """Refuse what a method would ignore or lacks, and parameters that do not go together.

    Of "auto" all is taken that some method takes.
    """
    if method == "auto":
        check_reach(params)
        return
    row = METHODS[method]
    for name in (name for name in params if name not in row.uses):
        takers = [other.name for other in _ROWS if name in other.uses]
        option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        leave = "Leave it out" if name != "views" else "Put the tables side by side (numpy.hstack)"
        raise Refusal(
            f"{_NAMES[name]} no meaning with the method {method}.",
            f"{leave}, or use method={' or '.join(map(repr, takers))}.",
            command=f"Leave {option} out, or use --method {' or '.join(takers)}.",
            parameter=name,
            value=params[name],
        )
    row.check_params(params)


def check_takes_weights(method: str, asked: str, params: Params) -> None:
    """Refuse weights that a method would ignore; ``asked`` is what the user asked for."""
    if METHODS[method].takes_weights:
        check_weighted(params)
        return
    takers = [other.name for other in _ROWS if other.takes_weights]
    chosen = " that auto chose" if asked == "auto" else ""
    raise Refusal(
        f"The method {method}{chosen} does not take weights of rows.",
        f"Use method={' or '.join(map(repr, takers))}, or leave sample_weight out.",
        command=f"Use --method {' or '.join(takers)}, or leave --weights out.",
        parameter="sample_weight",
    )
