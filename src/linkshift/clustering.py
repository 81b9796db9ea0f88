"""One call for all methods: `cluster` picks one from what is given, and says which and why.

Nothing heavy is imported at the top: the command line reads the table of methods for its help.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from linkshift._core.arrays import Progress
from linkshift._core.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from linkshift.explain.explanation import Explanation
    from linkshift.links import Links
    from linkshift.metrics import LinkReport

__all__ = ["METHODS", "Choice", "Clustering", "Method", "MethodName", "choose", "cluster"]

SPACES = ("input", "kernel")
_MANY_LINKS = 10  # from so many on, links can bend the shift and say where to stop
_MANY_COLUMNS = 10  # from so many on, one bandwidth for all rows rarely finds the clusters
_KERNEL_ROWS = 1_000  # kernel mean shift takes seconds up to here, then minutes

MethodName = Literal["auto", "mean-shift", "cms", "kernel", "skms", "metric", "groups"]


class Method(NamedTuple):
    """A method by name.

    Attributes
    ----------
    name : str
    help : str
        What it does, in a line.
    uses : frozenset of str
        The parameters of `cluster` that it takes, besides those that all take.
    copes : bool
        Whether links may contradict each other.
    """

    name: str
    help: str
    uses: frozenset[str]
    copes: bool = False

    @property
    def takes_views(self) -> bool:
        """Whether the data is several tables."""
        return "n_clusters" in self.uses


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "mean-shift",
            "plain mean shift, then refine where there are links",
            frozenset({"bandwidth", "kernel", "n_neighbors", "space", "max_iter"}),
            copes=True,
        ),
        Method(
            "cms",
            "constrained mean shift, bent by cannot-links; finds the bandwidth itself",
            frozenset({"bandwidth", "max_iter"}),
        ),
        Method(
            "kernel",
            "mean shift in a kernel's space, projected by must-links",
            frozenset({"n_neighbors", "max_iter"}),
        ),
        Method(
            "skms",
            "mean shift in a kernel's space, learned from must-links and cannot-links",
            frozenset({"n_neighbors", "max_iter"}),
        ),
        Method(
            "metric",
            "mean shift under a metric learned from links or known labels",
            frozenset({"n_neighbors", "max_iter"}),
        ),
        Method(
            "groups",
            "clusters that each choose among several views of the data; needs their number",
            frozenset({"n_clusters", "max_iter"}),
        ),
    )
}


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
    labels : ndarray of shape (n,)
        Cluster of each row, -1 for noise.
    method : str
        Name of the method, as in `METHODS`.
    why : str
        Why this method, in a line.
    model : estimator
        The fitted model, for all that it knows beside the labels.
    links : Links
        All links, those of partial labels included.
    link_report : LinkReport
        Which links hold.
    """

    labels: NDArray[np.int64]
    method: str
    why: str
    model: Any
    links: Links
    link_report: LinkReport

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def done(self) -> str:
        """What was done, in a line."""
        return told(self.model)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Cluster of each row of new data, in the columns (or views) that were clustered."""
        found: NDArray[np.int64] = self.model.predict(X)
        return found

    def explain(self, row: int, **options: Any) -> Explanation:
        """Say why a row is in its cluster; see :meth:`ConstrainedMeanShift.explain`."""
        if not hasattr(self.model, "explain"):
            raise ValueError(
                f"With method={self.method!r} nothing moves, and there is no way to tell; "
                "model.view_importances_ says what each cluster goes by."
            )
        explanation: Explanation = self.model.explain(row, **options)
        return explanation

    def __repr__(self) -> str:
        clusters = "1 cluster" if self.n_clusters == 1 else f"{self.n_clusters} clusters"
        kept = f"; {self.link_report}" if len(self.links) else ""
        return f"<{clusters} of {len(self.labels):,} rows by {self.method}: {self.why}{kept}>"


def cluster(
    X: Any,
    links: Links | None = None,
    *,
    partial_labels: ArrayLike | None = None,
    method: MethodName = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **params: Any,
) -> Clustering:
    """Cluster data with whatever help there is.

    Parameters
    ----------
    X : array-like of shape (n, d), or a dict or list of such
        A table; several are views of the same rows. Columns are taken as they are: scale them
        first where their units differ.
    links : Links, default=None
        Pairs that belong together (must) and pairs that do not (cannot).
    partial_labels : array-like of shape (n,), default=None
        Known classes, -1 where unknown.
    method : {"auto", "mean-shift", "cms", "kernel", "skms", "metric", "groups"}, default="auto"
        "auto" is :func:`choose`. For the others see `METHODS`.
    random_state : int, RandomState or None
        For methods that draw at random (kernel, skms, metric, groups).
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    progress : callable, default=None
        Called with (done, total) now and then.
    **params
        ``bandwidth``, ``kernel``, ``n_neighbors``, ``max_iter`` or ``n_clusters``, for methods
        that take them, as their estimators do. ``space="kernel"`` lets "mean-shift" move rows in a
        Gaussian kernel's space (:class:`KernelMeanShift` without links) instead of the columns'
        own, "input". With "auto" parameters have a say in the choice.

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
    (2, 'cms')
    """
    from linkshift.estimators._common import joined_links
    from linkshift.links import Links
    from linkshift.metrics import link_satisfaction

    tables = _views(X)
    if tables is not None and len(tables) == 1 and method != "groups":
        X, tables = tables[0], None
    n_rows, n_columns = _shape(X if tables is None else tables[0])
    given = joined_links(Links.coerce(links), partial_labels, n_rows, counted=True)
    known = {name for m in METHODS.values() for name in m.uses}
    unknown = sorted(params.keys() - known)
    if unknown:
        close = get_close_matches(unknown[0], sorted(known | {"partial_labels", "links"}), n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise TypeError(
            f"cluster has no parameter {unknown[0]!r}.{meant} Those of one estimator alone are "
            "its own: build the estimator and call fit."
        )
    asked = {name: value for name, value in params.items() if value is not None}
    n_views = 1 if tables is None else len(tables)
    if method == "auto":
        choice = choose(
            given,
            n_rows,
            n_columns,
            labelled=partial_labels is not None and links is None,
            n_views=n_views,
            given=asked,
        )
    elif method in METHODS:
        choice = Choice(method, "as asked for", {})
    else:
        raise ValueError(f"method must be one of auto, {', '.join(METHODS)}; got {method!r}.")
    _check_params(METHODS[choice.method], asked, n_views)
    model = build(
        choice.method,
        given,
        n_rows=n_rows,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
        **{**choice.params, **asked},
    )
    fit(model, X, links, partial_labels)
    used: Links = getattr(model, "links_", given)
    report = link_satisfaction(model.labels_, used)
    return Clustering(model.labels_, choice.method, choice.why, model, used, report)


def _views(X: Any) -> list[Any] | None:
    """Several tables as a list; None for one table."""
    if isinstance(X, Mapping):
        if not X:
            raise ValueError("X holds no tables; give one, or one for each view.")
        return list(X.values())
    if isinstance(X, list | tuple) and X and getattr(X[0], "ndim", 0) == 2:
        return list(X)
    return None


def _shape(table: Any) -> tuple[int, int]:
    from sklearn.utils import check_array

    n_rows, n_columns = check_array(table, dtype=None, ensure_all_finite=False).shape
    return int(n_rows), int(n_columns)


def _check_params(method: Method, asked: Collection[str], n_views: int) -> None:
    for name in asked:
        if name not in method.uses:
            takers = [m.name for m in METHODS.values() if name in m.uses]
            raise ValueError(
                f"{name} has no meaning with method={method.name!r}; leave it out, or use "
                f"method={' or '.join(map(repr, takers))}."
            )
    if "n_clusters" in method.uses and "n_clusters" not in asked:
        raise ValueError(f"method={method.name!r} has to be told the number of clusters.")
    if n_views > 1 and not method.takes_views:
        raise ValueError(
            f"method={method.name!r} takes one table, and X is {n_views}; use method='groups', "
            "or put them side by side with numpy.hstack."
        )


def build(
    method: str,
    links: Links,
    *,
    n_rows: int,
    n_clusters: int | None = None,
    bandwidth: Any = None,
    kernel: Any = None,
    n_neighbors: int | None = None,
    space: str | None = None,
    max_iter: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Make the estimator of a method, not yet fitted; None leaves a parameter at its default."""
    from linkshift import estimators

    common: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    if max_iter is not None:
        common["max_iter"] = max_iter
    # About the square root of the rows, or clusters would grow in number with them.
    near = n_neighbors
    if near is None:
        near = min(max(20, isqrt(n_rows)), max(n_rows - 1, 1))
    if method == "mean-shift":
        model: Any = estimators.MeanShift(
            bandwidth=bandwidth,
            kernel="flat" if kernel is None else kernel,
            n_neighbors=n_neighbors,
            **common,
        )
        if _check_space(space, bandwidth, kernel) == "kernel":
            model = estimators.KernelMeanShift(
                n_neighbors=near, random_state=random_state, **common
            )
        return estimators.RefinedClustering(model) if len(links) else model
    if method == "cms":
        return estimators.ConstrainedMeanShift(bandwidth=bandwidth, **common)
    common["random_state"] = random_state
    if method == "groups":
        assert n_clusters is not None
        return estimators.GroupFeatureClustering(n_clusters, **common)
    common["n_neighbors"] = near
    if method == "metric":
        return estimators.MetricMeanShift(**common)
    use: Any = {"kernel": "project", "skms": "learn"}[method]
    return estimators.KernelMeanShift(use_links=use, **common)


def _check_space(space: str | None, bandwidth: Any, kernel: Any) -> str:
    if space not in (None, *SPACES):
        raise ValueError(f"space must be {' or '.join(map(repr, SPACES))}, got {space!r}.")
    if space == "kernel" and (bandwidth is not None or kernel is not None):
        raise ValueError(
            "bandwidth and kernel are for space='input': in a kernel's space rows see as far as "
            "n_neighbors says."
        )
    return "input" if space is None else space


def fit(model: Any, X: Any, links: Links | None, partial_labels: ArrayLike | None = None) -> None:
    """Fit a model that `build` made."""
    if type(model).__name__ == "MeanShift":
        model.fit(X)  # plain, where there are no links
    else:
        model.fit(X, links=links, partial_labels=partial_labels)


# --- which, and why -----------------------------------------------------------------------------


def choose(
    links: Links,
    n_rows: int,
    n_columns: int,
    *,
    labelled: bool = False,
    n_views: int = 1,
    given: Collection[str] = (),
) -> Choice:
    """Pick a method from what there is to go by.

    The first line that fits decides:

    =====================================================  =====================
    what there is                                          method
    =====================================================  =====================
    several views                                          groups
    ``bandwidth``, ``kernel``, ``n_neighbors``, ``space``  mean-shift
    links (or labels) that contradict each other           mean-shift, refined
    ten links or more, some of them cannot-links           cms
    other links                                            mean-shift, refined
    no links                                               mean-shift
    =====================================================  =====================

    Mean shift takes place in a Gaussian kernel's space where there are ten columns or more and at
    most 1,000 rows: one bandwidth for all rows finds little in many columns. Known labels count as
    the links between all of them. ``python -m benchmarks.run auto`` compares the methods case by
    case; skms is as good as cms for few rows and few links, but slow for more, and metric learning
    needs more links than the others.

    Parameters
    ----------
    links : Links
        All links; empty where there are none.
    n_rows, n_columns : int
        Shape of the data.
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
    >>> from linkshift.clustering import choose
    >>> choose(Links(must=[(0, 1)]), 300, 2).why
    '1 link settles what it finds'
    """
    if n_views > 1:
        return Choice("groups", f"with {n_views} views each cluster can choose its own", {})
    for name in ("bandwidth", "kernel", "n_neighbors", "space"):
        if name in given:
            return Choice("mean-shift", f"the method that {name} is for", {})
    what = "known labels" if labelled else counted(len(links), "link")
    torn = bool(len(links)) and bool(links.conflicts())
    if len(links.cannot) and len(links) >= _MANY_LINKS and not torn:
        cannot = what if labelled else counted(len(links.cannot), "cannot-link")
        hold = "holds" if cannot == "1 cannot-link" else "hold"
        return Choice("cms", f"{cannot} {hold} clusters apart while the bandwidth grows", {})
    why = "no links to go by"
    if torn:
        known = "known labels" if labelled else "links"
        why = f"{known} contradict each other, and it can weigh them"
    elif len(links):
        why = f"{what} {'settles' if what == '1 link' else 'settle'} what it finds"
        few = len(links.cannot) > 0
        why += f", too few to bend it (from {_MANY_LINKS} on)" if few else ""
    if n_columns < _MANY_COLUMNS or not 1 < n_rows <= _KERNEL_ROWS:
        return Choice("mean-shift", why, {})
    why += f"; in a kernel's space, as {n_columns} columns are many for one bandwidth"
    return Choice("mean-shift", why, {"space": "kernel"})


# --- in words -----------------------------------------------------------------------------------


def told(model: Any) -> str:
    """Say what a fitted model did, in a line."""
    links = getattr(model, "links_", None)
    many = 0 if links is None else len(links)
    name = type(model).__name__
    if name == "RefinedClustering":
        before = told(model.estimator_)[:-1]
        found = len(set(model.labels_before_.tolist()) - {-1})
        return (
            f"{before}; then refine with {counted(many, 'link')} "
            f"({found} clusters before, {model.n_clusters_} after)."
        )
    if name == "MeanShift":
        return f"Mean shift with the {_kernel(model)} kernel, {_bandwidth(model)}."
    if name == "ConstrainedMeanShift":
        low, high = float(model.bandwidth_[0]), float(model.bandwidth_[-1])
        grown = f"growing from {low:.4g} to {high:.4g}" if low < high else f"{low:.4g}"
        scaled = ", columns scaled to [0, 1]" if model.scale_features else ""
        return f"Constrained mean shift with {counted(many, 'link')}{scaled}, bandwidth {grown}."
    if name == "KernelMeanShift":
        how = {"project": "projected by", "learn": "learned from"}[model.use_links]
        by = f" {how} {counted(many, 'link')}" if many else ""
        return (
            f"Kernel mean shift, Gaussian kernel of width {model.sigma_:.4g}, {model.n_neighbors} "
            f"neighbours, {counted(model.rank_, 'dimension')}{by}."
        )
    if name == "MetricMeanShift":
        return (
            f"Mean shift under a metric learned from {counted(many, 'link')}, "
            f"{counted(len(model.metric_.components_), 'dimension')}, {model.n_neighbors} "
            "neighbours."
        )
    if name == "GroupFeatureClustering":
        low, high = model.size_bounds_
        by = f", {counted(many, 'link')}" if many else ""
        return (
            f"Group-dependent features: {counted(len(model.view_names_), 'view')}, "
            f"{model.n_clusters} clusters of {low:,} to {high:,} rows, "
            f"{counted(model.n_init, 'start')}{by}."
        )
    return f"{name}."


def _kernel(model: Any) -> str:
    return str(getattr(model.kernel, "name", model.kernel))


def _bandwidth(model: Any) -> str:
    h = model.bandwidth_
    if getattr(h, "ndim", 0):
        k = model.n_neighbors
        source = "" if k is None else f" (distance to neighbour {k})"
        return f"bandwidth {float(h.min()):.4g} to {float(h.max()):.4g}{source}"
    chosen = {"links": " (chosen by links)", None: " (from the data)"}
    is_name = model.bandwidth is None or isinstance(model.bandwidth, str)
    return f"bandwidth {h:.4g}{chosen[model.bandwidth] if is_name else ''}"
