"""`linkshift bench`: time the methods on data of a few sizes, and tell."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkshift._core.messages import Refusal
from linkshift._core.text import counted
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, aligned
from linkshift.cli.writing import targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkshift.links import Links

_SIZES: tuple[int, ...] = (300, 2000, 8000)
_QUICK_SIZES: tuple[int, ...] = (200, 1000)
_PILOT = 100  # rows of the first run, which compiles
_STEP, _SMALLEST = 4, 250  # own data: all rows, a quarter of them, ..., not less than so many
_LEAST = 10  # rows
_N_LINKS = 60  # of made data
_MOST_KERNEL_ROWS = 4000
_MOST_QUICK_ROWS = 2000
_TWICE = 1.0  # seconds up to which a run is repeated
_PATIENCE = 2.0  # seconds: what took longer is left out of larger sizes
_MADE = "shapes"
_OURS, _PEER = "MeanShift, flat", "scikit-learn MeanShift"
HEAD = ("rows", "method", "seconds", "clusters", "agreement", "note")


def bench(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Table to time on: .csv, .tsv, .parquet, .npz or .npy. Default: made data.",
        ),
    ] = None,
    links: opt.LinksFile = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "none",
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=_LEAST,
            help="So many rows: drawn at random from DATA, or made. Default: all of DATA; a few "
            "sizes of made data.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows, and nothing that takes long.")
    ] = False,
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Time the methods on this machine.

    With those of scikit-learn beside them. Each time is the better of two runs, without
    compilation; a long run is not repeated. A method that takes long is left out of larger sizes,
    and said to be. The table goes to stdout.
    """
    console = Console(quiet)
    if data is None:
        about = {
            "--links": links,
            "--columns": columns,
            "--id-column": id_column,
            "--header/--no-header": header,
            "--scale": None if scale == "none" else scale,
        }
        for option, value in about.items():
            if value is not None:
                raise InputError(f"{option} is about a table; give DATA too: linkshift bench DATA")
        console.say(f"Made data ({_MADE}), {_N_LINKS} links.")
        cut: Cut = _made
        sizes = (_QUICK_SIZES if quick else _SIZES) if rows is None else (rows,)
    else:
        from linkshift.cli.reading.problem import Source

        source = Source(data, links, columns, id_column, None, header)
        cut, n = _own_data(source, scale, rows, console)
        sizes = _steps(min(n, _MOST_QUICK_ROWS) if quick and rows is None else n, quick)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads), console.progress("Timing") as progress:
        timed = _time_all(cut, sizes, threads, console, progress)
    if json:
        from joblib import cpu_count

        from linkshift._core.threads import n_threads

        targets.print_json(
            {
                "data": _MADE if data is None else str(data),
                "links": None if links is None else str(links),
                "scale": scale,
                "cores": cpu_count(),
                "threads": n_threads(threads),
                "versions": targets.versions(),
                "results": timed,
            }
        )
        return
    formats = {"rows": ",", "seconds": ".3f", "clusters": ",", "agreement": ".3f"}
    shown = [
        ["" if row[name] is None else format(row[name], formats.get(name, "")) for name in HEAD]
        for row in timed
    ]
    targets.print_text(aligned(HEAD, shown, right=tuple(formats)))
    console.say(
        "agreement: adjusted Rand index with the labels of scikit-learn's MeanShift, same bandwidth"
    )


# --- data ---------------------------------------------------------------------------------------

Cut = Callable[[int], "tuple[NDArray[Any], Links]"]  # so many rows, and the links between them


def _made(n: int) -> tuple[NDArray[Any], Links]:
    from linkshift.datasets import make
    from linkshift.links import Links

    data = make(_MADE, n, random_state=0)
    return data.X, Links.sample(data.y, min(_N_LINKS, n * (n - 1) // 2), random_state=0)


def _own_data(source: Any, scale: str, rows: int | None, console: Console) -> tuple[Cut, int]:
    import numpy as np

    from linkshift.cli.reading.problem import read_problem
    from linkshift.cli.reading.scaling import Scaling
    from linkshift.links import Links

    problem = read_problem(source, console)
    n = len(problem.X)
    if n < _LEAST:
        raise InputError(
            f"{source.data} has {counted(n, 'row')}; it takes {_LEAST} to time anything. Add "
            "rows, or leave DATA out to time on made data."
        )
    if rows is not None and rows > n:
        raise InputError(f"--rows is {rows:,}, but {source.data} has {n:,} rows; take fewer.")
    X = Scaling.of(problem.X, scale).apply(problem.X)
    links = Links() if problem.links is None else problem.links

    def cut(size: int) -> tuple[NDArray[Any], Links]:
        kept = np.sort(np.random.default_rng(0).permutation(n)[:size])
        return X[kept], links.take(kept)

    return cut, n if rows is None else rows


def _steps(n: int, quick: bool) -> tuple[int, ...]:
    """Sizes up to all rows: smaller ones come first, and tell what takes long."""
    sizes = [n]
    while not quick and sizes[0] // _STEP >= _SMALLEST:
        sizes.insert(0, sizes[0] // _STEP)
    return tuple(sizes)


# --- timing -------------------------------------------------------------------------------------


def _methods(X: NDArray[Any], links: Links, threads: int | None) -> dict[str, Callable[[], Any]]:
    """Give the methods, each ready to fit."""
    from sklearn import cluster as peers

    from linkshift import ConstrainedMeanShift, KernelMeanShift, Links, MeanShift
    from linkshift.bandwidth import default_bandwidth
    from linkshift.profiles import get_profile

    h, must = default_bandwidth(X, get_profile("flat")), Links(must=links.must)
    flat = MeanShift(bandwidth=h, n_jobs=threads)
    k = flat.fit(X).n_clusters_
    kernel = KernelMeanShift(n_neighbors=min(20, len(X) - 1), n_jobs=threads, random_state=0)
    return {
        _OURS: lambda: flat.fit(X),
        "MeanShift, Gaussian": lambda: MeanShift(kernel="gaussian", n_jobs=threads).fit(X),
        "ConstrainedMeanShift": lambda: ConstrainedMeanShift(n_jobs=threads).fit(X, links=links),
        "KernelMeanShift": lambda: kernel.fit(X, links=must),
        _PEER: lambda: peers.MeanShift(bandwidth=h).fit(X),
        "scikit-learn HDBSCAN": lambda: peers.HDBSCAN().fit(X),
        "scikit-learn KMeans": lambda: peers.KMeans(k, random_state=0).fit(X),
    }


def _time_all(
    cut: Cut, sizes: Sequence[int], threads: int | None, console: Console, progress: Any
) -> list[dict[str, Any]]:
    """Time every method on every size."""
    from sklearn.metrics import adjusted_rand_score

    for fit in _methods(*cut(min(_PILOT, sizes[0])), threads).values():  # compiles
        _time(fit)
    timed: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}  # from here on, and why
    for i, n in enumerate(sizes):
        X, links = cut(n)
        if progress is None:  # a bar would be torn
            console.say(f"{n:,} rows, {counted(X.shape[1], 'column')} ...")
        if not len(links.cannot):
            left_out["ConstrainedMeanShift"] = "needs cannot-links"
        if n > _MOST_KERNEL_ROWS:
            left_out["KernelMeanShift"] = f"for up to {_MOST_KERNEL_ROWS:,} rows here"
        methods, labels, rows = _methods(X, links, threads), {}, {}
        for j, (name, fit) in enumerate(methods.items()):
            rows[name] = dict.fromkeys(HEAD) | {"rows": n, "method": name, "note": ""}
            if name in left_out:
                rows[name]["note"] = f"left out: {left_out[name]}"
            else:
                labels[name], result = _time(fit)
                rows[name] |= result
            if (rows[name]["seconds"] or 0.0) > _PATIENCE:
                left_out[name] = f"{n:,} rows took {rows[name]['seconds']:.1f} s"
            if progress is not None:
                progress(i * len(methods) + j + 1, len(sizes) * len(methods))
        ours, peer = rows[_OURS], rows[_PEER]
        if ours["seconds"] and peer["seconds"]:  # it is the same algorithm
            ratio = peer["seconds"] / ours["seconds"]
            ours["note"] = f"{ratio:,.1f} times as fast as scikit-learn's"
            ours["agreement"] = float(adjusted_rand_score(labels[_PEER], labels[_OURS]))
        timed += rows.values()
    return timed


def _time(fit: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Give the labels, and the better of two runs with the number of clusters."""
    seconds: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result is of no matter here
        try:
            while len(seconds) < 2 and (not seconds or seconds[0] < _TWICE):
                start = time.perf_counter()
                labels = fit().labels_
                seconds.append(time.perf_counter() - start)
        except ValueError as error:  # data that the method refuses, such as links with conflicts
            problem = error.problem if isinstance(error, Refusal) else error
            return None, {"note": f"refused: {problem}"}
    return labels, {"seconds": min(seconds), "clusters": len(set(labels.tolist()) - {-1})}
