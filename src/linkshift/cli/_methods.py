"""The methods of `linkshift cluster`. A new one is one entry in `METHODS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from linkshift.cli._console import InputError, Progress, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkshift.links import Links

    Array = NDArray[Any]

# As in linkshift.profiles, which would take too long to import for --help; a test compares them.
KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")


@dataclass(frozen=True)
class Options:
    """What the user asked for; None where the method is to decide."""

    bandwidth: float | None = None
    kernel: str | None = None
    n_neighbors: int | None = None
    max_iter: int | None = None
    threads: int | None = None
    clusters: int | None = None
    view: tuple[str, ...] | None = None

    def given(self) -> list[str]:
        """Names of the options that the user set."""
        return [field.name for field in fields(self) if getattr(self, field.name) is not None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method found.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each row, -1 for noise.
    centres : ndarray of shape (n_clusters, d) or None
        Where the clusters' modes are, if they are in the data's own space.
    bandwidth : float, ndarray of shape (n,) or None
        Bandwidth used.
    done : str
        One line: what was done.
    view_importances : ndarray of shape (n_clusters, n_views) or None
        What each view has to say on each cluster, for a method that takes views.
    """

    labels: Array
    centres: Array | None
    bandwidth: float | Array | None
    done: str
    view_importances: Array | None = None


# The first argument is a table; for a method that takes views, a dict of tables.
Run = Callable[[Any, "Links | None", Options, "Progress | None"], Outcome]


@dataclass(frozen=True)
class Method:
    """A method by name, the options it takes and the function that runs it."""

    name: str
    help: str
    uses: frozenset[str]
    run: Run
    copes: bool = True  # with links that contradict each other

    @property
    def takes_views(self) -> bool:
        """Whether the columns are to be parted into views."""
        return "view" in self.uses


def mean_shift(
    X: Array, links: Links | None, options: Options, progress: Progress | None
) -> Outcome:
    """Plain mean shift; links are settled afterwards."""
    from linkshift.estimators.mean_shift import MeanShift
    from linkshift.refinement import refine

    kernel: Any = options.kernel or "flat"
    model = MeanShift(
        bandwidth=options.bandwidth,
        kernel=kernel,
        n_neighbors=options.n_neighbors,
        max_iter=options.max_iter or 300,
        n_jobs=options.threads,
        progress=progress,
    ).fit(X)
    done = f"Mean shift with the {kernel} kernel, {_bandwidth(model.bandwidth_, options)}"
    if not links:
        return Outcome(model.labels_, model.cluster_centers_, model.bandwidth_, done + ".")
    labels = refine(X, model.labels_, links)
    before, after = model.n_clusters_, len(set(labels[labels >= 0].tolist()))
    done += f"; then refine with {counted(len(links), 'link')} ({before} clusters before, "
    done += f"{after} after)."
    # Refining merges and reshapes clusters: the modes no longer stand for them.
    return Outcome(labels, None, model.bandwidth_, done)


def constrained_mean_shift(
    X: Array, links: Links | None, options: Options, progress: Progress | None
) -> Outcome:
    """Constrained mean shift (CMS) with refinement."""
    from linkshift.estimators.constrained_mean_shift import ConstrainedMeanShift

    if links is None or not len(links.cannot):
        raise InputError(
            "--method cms needs cannot-links: without them its growing bandwidth merges all rows. "
            "Give some with --links or --label-column, or use --method mean-shift."
        )
    model = ConstrainedMeanShift(
        bandwidth=options.bandwidth,
        max_iter=options.max_iter or 80,
        n_jobs=options.threads,
        progress=progress,
    )
    _fit(model, X, links, remedy=", give them confidences below 1")
    done = f"Constrained mean shift with {counted(len(links), 'link')}, columns scaled to [0, 1]"
    grown = options.bandwidth is None
    low, high = float(model.bandwidth_[0]), float(model.bandwidth_[-1])
    done += f", bandwidth growing from {low:.4g} to {high:.4g}." if grown else "."
    return Outcome(model.labels_, None, None if grown else low, done)


def kernel_mean_shift(
    X: Array, links: Links | None, options: Options, progress: Progress | None
) -> Outcome:
    """Kernel mean shift; must-links project its space."""
    if links is not None and len(links.cannot):
        raise InputError(
            "--method kernel takes must-links only, and there are cannot-links (known labels of "
            "two classes and more make some). Use --method skms, which takes both."
        )
    if links is not None and (links.must_confidence < 1).any():
        raise InputError(
            "--method kernel takes links that are certain, and some have a confidence below 1. Use "
            "--method skms, or drop them."
        )
    return _in_kernel_space(X, links, options, progress, "project")


def semi_supervised_kernel_mean_shift(
    X: Array, links: Links | None, options: Options, progress: Progress | None
) -> Outcome:
    """Kernel mean shift in a space learned from links (SKMS)."""
    return _in_kernel_space(X, links, options, progress, "learn")


def _in_kernel_space(
    X: Array, links: Links | None, options: Options, progress: Progress | None, use: Any
) -> Outcome:
    from linkshift.estimators.kernel_mean_shift import KernelMeanShift

    n_neighbors = min(options.n_neighbors or 20, X.shape[0] - 1)
    model = KernelMeanShift(
        n_neighbors=n_neighbors,
        use_links=use,
        max_iter=options.max_iter or 500,
        n_jobs=options.threads,
        random_state=0,
        progress=progress,
    )
    _fit(model, X, links)
    done = f"Kernel mean shift, Gaussian kernel of width {model.sigma_:.4g}, {n_neighbors} "
    done += f"neighbours, {counted(model.rank_, 'dimension')}"
    if links:
        how = {"project": "projected by", "learn": "learned from"}[use]
        done += f" {how} {counted(len(links), 'link')}"
    return Outcome(model.labels_, None, None, done + ".")


def metric_mean_shift(
    X: Array, links: Links | None, options: Options, progress: Progress | None
) -> Outcome:
    """Mean shift under a metric learned from links or known labels."""
    from linkshift.estimators.metric_mean_shift import MetricMeanShift

    if not links:
        raise InputError(
            "--method metric learns from links or known labels, and there are none. Give some with "
            "--links or --label-column, or use --method mean-shift."
        )
    n_neighbors = min(options.n_neighbors or 20, X.shape[0] - 1)
    model = MetricMeanShift(
        n_neighbors=n_neighbors,
        max_iter=options.max_iter or 300,
        n_jobs=options.threads,
        random_state=0,
        progress=progress,
    )
    try:
        _fit(model, X, links)
    except ValueError as error:  # no row has links of both kinds
        raise InputError(str(error)) from error
    done = f"Mean shift under a metric learned from {counted(len(links), 'link')}, "
    done += f"{counted(len(model.metric_.components_), 'dimension')}, {n_neighbors} neighbours."
    return Outcome(model.labels_, model.cluster_centers_, None, done)


def group_features(
    views: dict[str, Array], links: Links | None, options: Options, progress: Progress | None
) -> Outcome:
    """Clusters that each choose their own views."""
    from linkshift.estimators.group_feature_clustering import GroupFeatureClustering

    assert options.clusters is not None  # check_options
    model: Any = GroupFeatureClustering(
        options.clusters,
        max_iter=options.max_iter or 20,
        n_jobs=options.threads,
        random_state=0,
        progress=progress,
    )
    try:
        _fit(model, views, links, remedy=", give them confidences below 1")
    except ValueError as error:
        if error.__cause__ is None:
            raise
        # Clusters of such sizes cannot keep the links. The estimator's remedy names parameters.
        raise InputError(
            f"{error.__cause__}. With --clusters {options.clusters}, clusters have "
            "{} to {} rows; take another number, or remove links.".format(*model.size_bounds_)
        ) from error
    low, high = model.size_bounds_
    done = f"Group-dependent features: {counted(len(views), 'view')}, {options.clusters} clusters "
    done += f"of {low:,} to {high:,} rows, {counted(model.n_init, 'start')}"
    done += f", {counted(len(links), 'link')}." if links else "."
    return Outcome(model.labels_, None, None, done, model.view_importances_)


def _fit(model: Any, X: Any, links: Links | None, remedy: str = "") -> None:
    """Fit; links that contradict each other are the user's to correct."""
    from linkshift.links import ConflictError

    try:
        model.fit(X, links=links)
    except ConflictError as error:
        raise InputError(
            f"{error}\nCorrect the links (`linkshift links check` lists all conflicts){remedy}, or "
            "use --method mean-shift, which copes with contradictions."
        ) from error


def _bandwidth(bandwidth: Any, options: Options) -> str:
    if options.n_neighbors is not None:
        low, high = float(bandwidth.min()), float(bandwidth.max())
        return f"bandwidth {low:.4g} to {high:.4g} (distance to neighbour {options.n_neighbors})"
    return f"bandwidth {bandwidth:.4g}" + (" (from the data)" if options.bandwidth is None else "")


# The place to register a method: name, one line of help, the options it takes, the function.
METHODS = {
    method.name: method
    for method in (
        Method(
            "mean-shift",
            "plain mean shift, then refine where there are links",
            frozenset({"bandwidth", "kernel", "n_neighbors", "max_iter", "threads"}),
            mean_shift,
        ),
        Method(
            "cms",
            "constrained mean shift, bent by cannot-links; finds the bandwidth itself",
            frozenset({"bandwidth", "max_iter", "threads"}),
            constrained_mean_shift,
            copes=False,
        ),
        Method(
            "kernel",
            "mean shift in a kernel's space, projected by must-links",
            frozenset({"n_neighbors", "max_iter", "threads"}),
            kernel_mean_shift,
            copes=False,
        ),
        Method(
            "skms",
            "mean shift in a kernel's space, learned from must-links and cannot-links",
            frozenset({"n_neighbors", "max_iter", "threads"}),
            semi_supervised_kernel_mean_shift,
            copes=False,
        ),
        Method(
            "metric",
            "mean shift under a metric learned from links or known labels",
            frozenset({"n_neighbors", "max_iter", "threads"}),
            metric_mean_shift,
            copes=False,
        ),
        Method(
            "groups",
            "clusters that each choose among the --view groups of columns; needs --clusters",
            frozenset({"clusters", "view", "max_iter", "threads"}),
            group_features,
            copes=False,
        ),
    )
}


def check_options(method: Method, options: Options) -> None:
    """Refuse what the method would ignore, and numbers that make no sense."""
    for name in options.given():
        if name not in method.uses:
            takers = [other.name for other in METHODS.values() if name in other.uses]
            raise InputError(
                f"--{name.replace('_', '-')} has no meaning with --method {method.name}; "
                f"leave it out, or use --method {' or '.join(takers)}."
            )
    if "clusters" in method.uses and options.clusters is None:
        raise InputError(
            f"--method {method.name} has to be told the number of clusters: give --clusters K."
        )
    bandwidth, n_neighbors = options.bandwidth, options.n_neighbors
    if bandwidth is not None and not 0 < bandwidth < float("inf"):
        raise InputError(
            f"--bandwidth must be more than 0 and finite, and it is {bandwidth:g}. "
            "Leave it out to take it from the data."
        )
    if n_neighbors is not None and n_neighbors < 1:
        raise InputError(f"--n-neighbors must be at least 1, and it is {n_neighbors}.")
    if bandwidth is not None and n_neighbors is not None:
        raise InputError(
            "--bandwidth and --n-neighbors both say how far the kernel sees; give one of them."
        )


def check_rows(options: Options, n_rows: int) -> None:
    """Refuse more neighbours or clusters than there are rows for."""
    if options.clusters is not None and options.clusters > n_rows:
        raise InputError(
            f"--clusters is {options.clusters}, but there {'is' if n_rows == 1 else 'are'} only "
            f"{counted(n_rows, 'row')}; take fewer."
        )
    if options.n_neighbors is not None and options.n_neighbors >= n_rows:
        raise InputError(
            f"--n-neighbors is {options.n_neighbors}, but each row has only "
            f"{counted(n_rows - 1, 'other')}; take fewer."
        )
