"""What `linkshift bench` does: take data of a few sizes, time each method on it, tell."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted
from linkshift.cli import _tables, _write
from linkshift.cli._console import Console, InputError
from linkshift.cli._problem import Source, read_problem
from linkshift.cli._scale import Scaling
from linkshift.links import Links

_SIZES, _QUICK_SIZES = (300, 2000, 8000), (200, 1000)
_PILOT = 100  # rows of the first run, which compiles and tells how long others will take
_LEAST = 10  # rows
_N_LINKS = 60  # of made data
_MOST_KERNEL_ROWS = 4000
_MOST_QUICK_ROWS = 2000
_TWICE = 1.0  # seconds up to which a run is repeated
# Seconds that one run may take: of the user's own data, of made data, in a hurry.
_LIMIT, _MADE_LIMIT, _QUICK_LIMIT = 60.0, 15.0, 4.0
_MADE = "shapes"


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    data: Path | None
    links: Path | None
    columns: str | None
    id_column: str | None
    header: bool | None
    scale: str
    rows: int | None
    quick: bool
    threads: int | None
    json: bool
    quiet: bool


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is timed on."""

    X: NDArray[Any]
    links: Links
    bandwidth: float
    n_clusters: int  # that k-means is told
    threads: int | None


@dataclass(frozen=True, eq=False)
class Timed:
    """What came of one method on one task; ``note`` says why there are no seconds."""

    rows: int
    method: str
    seconds: float | None = None
    clusters: int | None = None
    agreement: float | None = None
    note: str = ""


class _LeftOut(Exception):
    """A method that does not apply, with the reason."""


def run(request: Request) -> None:
    """Time as requested."""
    console = Console(request.quiet)
    cut, sizes = _data(request, console)
    limit = _QUICK_LIMIT if request.quick else _MADE_LIMIT if request.data is None else _LIMIT
    with _threads(request.threads), console.progress("Timing") as progress:
        timed = _time_all(cut, sizes, limit, console, progress)
    if request.json:
        _write.print_json(_report(request, timed, limit))
        return
    head = ("rows", "method", "seconds", "clusters", "agreement", "note")
    rows = [_shown(row) for row in timed]
    _write.print_text(_tables.aligned(head, rows, right=("rows", *head[2:5])))
    console.say(
        "agreement: adjusted Rand index with the labels of scikit-learn's MeanShift, same bandwidth"
    )


# --- data ---------------------------------------------------------------------------------------

Cut = Callable[[int], Task]  # a task of so many rows


def _data(request: Request, console: Console) -> tuple[Cut, tuple[int, ...]]:
    if request.data is not None:
        return _own_data(request, request.data, console)
    for option, value in (
        ("--links", request.links),
        ("--columns", request.columns),
        ("--id-column", request.id_column),
        ("--header/--no-header", request.header),
        ("--scale", None if request.scale == "none" else request.scale),
    ):
        if value is not None:
            raise InputError(f"{option} is about a table; give DATA too: linkshift bench DATA")
    sizes = _QUICK_SIZES if request.quick else _SIZES
    console.say(f"Made data ({_MADE}), {_N_LINKS} links.")

    def cut(n: int) -> Task:
        from linkshift.datasets import make

        data = make(_MADE, n, random_state=0)
        n_links = min(_N_LINKS, n * (n - 1) // 2)
        return _task(data.X, Links.sample(data.y, n_links, random_state=0), request.threads)

    return cut, sizes if request.rows is None else (request.rows,)


def _own_data(request: Request, data: Path, console: Console) -> tuple[Cut, tuple[int, ...]]:
    source = Source(data, request.links, request.columns, request.id_column, None, request.header)
    problem = read_problem(source, console)
    n = len(problem.X)
    if n < _LEAST:
        raise InputError(
            f"{data} has {counted(n, 'row')}; it takes {_LEAST} to time anything. Add rows, or "
            "leave DATA out to time on made data."
        )
    if request.rows is not None and request.rows > n:
        raise InputError(f"--rows is {request.rows:,}, but {data} has {n:,} rows; take fewer.")
    X = Scaling.of(problem.X, request.scale).apply(problem.X)
    links = Links() if problem.links is None else problem.links

    def cut(size: int) -> Task:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:size])
        return _task(X[rows], links.take(rows), request.threads)

    largest = request.rows or (min(n, _MOST_QUICK_ROWS) if request.quick else n)
    # A quarter of the rows first: it tells how long all of them will take.
    return cut, (largest // 4, largest) if largest >= 1000 and not request.quick else (largest,)


def _task(X: NDArray[Any], links: Links, threads: int | None) -> Task:
    from linkshift.bandwidth import default_bandwidth
    from linkshift.estimators.mean_shift import MeanShift
    from linkshift.profiles import get_profile

    h = default_bandwidth(X, get_profile("flat"))
    n_clusters = MeanShift(bandwidth=h, n_jobs=threads).fit(X).n_clusters_
    return Task(X, links, h, n_clusters, threads)


# --- methods ------------------------------------------------------------------------------------


def _flat(task: Task) -> Any:
    from linkshift.estimators.mean_shift import MeanShift

    return MeanShift(bandwidth=task.bandwidth, n_jobs=task.threads).fit(task.X)


def _gaussian(task: Task) -> Any:
    from linkshift.estimators.mean_shift import MeanShift

    return MeanShift(kernel="gaussian", n_jobs=task.threads).fit(task.X)


def _constrained(task: Task) -> Any:
    from linkshift.estimators.constrained_mean_shift import ConstrainedMeanShift

    if not len(task.links.cannot):
        raise _LeftOut("needs cannot-links")
    return ConstrainedMeanShift(n_jobs=task.threads).fit(task.X, links=task.links)


def _kernel(task: Task) -> Any:
    from linkshift.estimators.kernel_mean_shift import KernelMeanShift

    n = len(task.X)
    if n > _MOST_KERNEL_ROWS:
        raise _LeftOut(f"for up to {_MOST_KERNEL_ROWS:,} rows here")
    model = KernelMeanShift(n_neighbors=min(20, n - 1), n_jobs=task.threads, random_state=0)
    return model.fit(task.X, links=Links(must=task.links.must))


def _peer(task: Task) -> Any:
    from sklearn.cluster import MeanShift

    return MeanShift(bandwidth=task.bandwidth).fit(task.X)


def _hdbscan(task: Task) -> Any:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN().fit(task.X)


def _kmeans(task: Task) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(task.n_clusters, random_state=0).fit(task.X)


_OURS, _PEER, _KMEANS = "MeanShift, flat", "scikit-learn MeanShift", "scikit-learn KMeans"
_METHODS: dict[str, Callable[[Task], Any]] = {
    _OURS: _flat,
    "MeanShift, Gaussian": _gaussian,
    "ConstrainedMeanShift": _constrained,
    "KernelMeanShift": _kernel,
    _PEER: _peer,
    "scikit-learn HDBSCAN": _hdbscan,
    _KMEANS: _kmeans,
}


# --- timing -------------------------------------------------------------------------------------


@dataclass
class Growth:
    """Seconds over rows, as measured so far."""

    points: list[tuple[int, float]] = field(default_factory=list)
    most: float = 2.0  # power of n

    def predict(self, n: int) -> float:
        """Seconds for n rows, by the power of n that the last two measures show, 1 or more.

        Methods that compare all rows with all grow as the square in the end, but as n while what
        they do for each row counts most. Between the two is what one measure has to be content
        with.
        """
        if not self.points:
            return 0.0
        m, seconds = self.points[-1]
        power = 1.5
        if len(self.points) > 1:
            m_before, before = self.points[-2]
            power = math.log(max(seconds, 1e-9) / max(before, 1e-9)) / math.log(m / m_before)
        return float(seconds * (n / m) ** min(max(power, 1.0), self.most))


def _time_all(
    cut: Cut, sizes: tuple[int, ...], limit: float, console: Console, progress: Any
) -> list[Timed]:
    """Time every method on every size; the pilot comes first, and is not told."""
    growth = {method: Growth() for method in _METHODS}
    growth[_KMEANS].most = 1.0  # it compares rows with k centres
    pilot = min(_PILOT, sizes[0])
    plan = [pilot, *sizes]
    timed: list[Timed] = []
    for i, n in enumerate(plan):
        task, labels = cut(n), {}
        if i and progress is None:  # a bar would be torn
            console.say(f"{n:,} rows, {counted(task.X.shape[1], 'column')} ...")
        rows = []
        for k, (method, fit) in enumerate(_METHODS.items()):
            row, labels[method] = _time_one(method, fit, task, growth[method], limit, pilot=not i)
            rows.append(row)
            if progress is not None:
                progress(i * len(_METHODS) + k + 1, len(plan) * len(_METHODS))
        if i:
            timed += [_compared(row, rows, labels) for row in rows]
    return timed


def _time_one(
    method: str,
    fit: Callable[[Task], Any],
    task: Task,
    growth: Growth,
    limit: float,
    *,
    pilot: bool,
) -> tuple[Timed, NDArray[Any] | None]:
    """Give the better of two runs, in a pilot the second; labels too."""
    n = len(task.X)
    expected = growth.predict(n)
    if expected > limit:
        return Timed(n, method, note=f"left out: would take about {expected:,.0f} s"), None
    seconds: list[float] = []
    try:
        while not seconds or (len(seconds) < 2 and (pilot or seconds[0] < _TWICE)):
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the result is of no matter here
                model = fit(task)
            seconds.append(time.perf_counter() - start)
    except _LeftOut as reason:
        return Timed(n, method, note=f"left out: {reason}"), None
    except ValueError as error:  # data that the method refuses, such as links with conflicts
        reason_given = str(error).split("\n")[0].split(". ")[0].rstrip(".")
        return Timed(n, method, note=f"refused: {reason_given}"), None
    if not growth.points or growth.points[-1][0] < n:
        growth.points.append((n, min(seconds)))
    labels = model.labels_
    return Timed(n, method, min(seconds), len(np.unique(labels[labels >= 0]))), labels


def _compared(row: Timed, rows: list[Timed], labels: dict[str, NDArray[Any] | None]) -> Timed:
    """Set our flat mean shift beside scikit-learn's: it is the same algorithm."""
    from sklearn.metrics import adjusted_rand_score

    peer = next(other for other in rows if other.method == _PEER)
    if row.method != _OURS or row.seconds is None or peer.seconds is None:
        return row
    agreement = float(adjusted_rand_score(labels[_PEER], labels[_OURS]))
    ratio = peer.seconds / row.seconds
    note = f"{ratio:,.1f} times as fast as scikit-learn's"
    return Timed(row.rows, row.method, row.seconds, row.clusters, agreement, note)


@contextmanager
def _threads(threads: int | None) -> Iterator[None]:
    """Hold the libraries below to the threads too."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads):
        yield


# --- out ----------------------------------------------------------------------------------------


def _shown(row: Timed) -> tuple[str, ...]:
    return (
        f"{row.rows:,}",
        row.method,
        "" if row.seconds is None else f"{row.seconds:.3f}",
        "" if row.clusters is None else f"{row.clusters:,}",
        "" if row.agreement is None else f"{row.agreement:.3f}",
        row.note,
    )


def _report(request: Request, timed: list[Timed], limit: float) -> dict[str, Any]:
    import joblib

    from linkshift._core.threads import n_threads

    return {
        "data": _MADE if request.data is None else str(request.data),
        "links": None if request.links is None else str(request.links),
        "scale": request.scale,
        "cores": joblib.cpu_count(),
        "threads": n_threads(request.threads),
        "limit_seconds": limit,
        "versions": _write.versions(),
        "results": [vars(row) for row in timed],
    }
