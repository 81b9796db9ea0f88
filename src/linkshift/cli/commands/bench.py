"""`linkshift bench`: time the methods on data of a few sizes, and tell."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
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

_SIZES, _QUICK_SIZES = [300, 2000, 8000], [200, 1000]
_PILOT = 100  # rows of a first run, which compiles
_LEAST, _MOST_QUICK = 10, 2000  # rows
_N_LINKS = 60  # of made data
_TWICE = 1.0  # seconds up to which a run is repeated
_MADE = "shapes"
_OURS, _PEER = "MeanShift, flat", "scikit-learn MeanShift"
# Rows up to which a method takes seconds, at most a minute; others have no limit.
_MOST = {
    "MeanShift, Gaussian": 20_000,
    "ConstrainedMeanShift": 20_000,
    "KernelMeanShift": 4_000,
    _PEER: 4_000,
    "scikit-learn HDBSCAN": 50_000,
}
_FORMATS = {"rows": ",", "method": "", "seconds": ".3f", "clusters": ",", "agreement": ".3f"}
HEAD = (*_FORMATS, "note")
_HELP = {
    "quick": "Fewer rows, and nothing that takes long.",
    "data": "Table to time on: .csv, .tsv, .parquet, .npz or .npy. Default: made data.",
    "rows": "So many rows: drawn at random from DATA, or made. Default: all of DATA; a few sizes "
    "of made data.",
}


def bench(
    data: Annotated[Path | None, opt.argument("[DATA]", _HELP["data"])] = None,
    links: opt.LinksFile = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "auto",
    rows: Annotated[int | None, opt.value("N", _HELP["rows"], min=_LEAST)] = None,
    quick: Annotated[bool, typer.Option("--quick", help=_HELP["quick"])] = False,
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Time the methods on this machine.

    With those of scikit-learn beside them. Each time is the better of two runs, without
    compilation; a long run is not repeated. Methods that are slow are left out where there are
    many rows, and said to be. The table goes to stdout.
    """
    console = Console(quiet)
    cut: Callable[[int], tuple[NDArray[Any], Links]] = _made
    sizes = _QUICK_SIZES if quick else _SIZES
    if data is not None:
        from linkshift.cli.reading.problem import Source

        cut, n = _own_data(Source(data, links, columns, id_column, None, header), scale, console)
        if rows is not None and rows > n:
            raise InputError(f"--rows is {rows:,}, but {data} has {n:,} rows; take fewer.")
        sizes = [min(n, _MOST_QUICK) if quick else n]
    else:
        given = {"links": links, "columns": columns, "id_column": id_column, "header": header}
        given["scale"] = None if scale == "auto" else scale
        opt.refuse("is about a table; give DATA too: linkshift bench DATA", **given)
        console.say(f"Made data ({_MADE}), {_N_LINKS} links.")
    sizes = sizes if rows is None else [rows]
    from threadpoolctl import threadpool_limits

    timed: list[dict[str, Any]] = []
    with threadpool_limits(limits=threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the results are of no matter here
        _time_all(*cut(min(_PILOT, sizes[0])), threads)
        for n in sizes:
            X, linked = cut(n)
            console.say(f"{n:,} rows, {counted(X.shape[1], 'column')} ...")
            timed += _time_all(X, linked, threads)
    if json:
        from joblib import cpu_count

        from linkshift._core.threads import n_threads

        about: dict[str, Any] = {"data": targets.name(data) or _MADE, "scale": scale}
        about |= {"links": targets.name(links), "cores": cpu_count()}
        about |= {"threads": n_threads(threads), "versions": targets.versions(), "results": timed}
        targets.print_json(about)
        return
    shown = [
        ["" if row[name] is None else format(row[name], _FORMATS.get(name, "")) for name in HEAD]
        for row in timed
    ]
    targets.print_text(aligned(HEAD, shown, right=("rows", "seconds", "clusters", "agreement")))
    console.say(
        "agreement: adjusted Rand index with the labels of scikit-learn's MeanShift, same bandwidth"
    )


def _made(n: int) -> tuple[NDArray[Any], Links]:
    from linkshift.datasets import make
    from linkshift.links import Links

    data = make(_MADE, n, random_state=0)
    return data.X, Links.sample(data.y, min(_N_LINKS, n * (n - 1) // 2), random_state=0)


def _own_data(source: Any, scale: str, console: Console) -> tuple[Any, int]:
    """Give what cuts so many rows from the data, with their links; and the number of all."""
    import numpy as np

    from linkshift.cli.reading.problem import read_problem
    from linkshift.links import Links
    from linkshift.tables.scaling import Scaling

    problem = read_problem(source, console)
    n = len(problem.X)
    if n < _LEAST:
        raise InputError(
            f"{source.data} has {counted(n, 'row')}; it takes {_LEAST} to time anything. Add "
            "rows, or leave DATA out to time on made data."
        )
    X = Scaling.of(problem.X, scale, problem.names).apply(problem.X)
    links = Links() if problem.links is None else problem.links

    def cut(size: int) -> tuple[NDArray[Any], Links]:
        kept = np.sort(np.random.default_rng(0).permutation(n)[:size])
        return X[kept], links.take(kept)

    return cut, n


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


def _time_all(X: NDArray[Any], links: Links, threads: int | None) -> list[dict[str, Any]]:
    """Time every method; a row of the table for each."""
    from sklearn.metrics import adjusted_rand_score

    rows, labels = {}, {}
    for name, fit in _methods(X, links, threads).items():
        row: dict[str, Any] = dict.fromkeys(HEAD) | {"rows": len(X), "method": name, "note": ""}
        rows[name] = row
        if len(X) > _MOST.get(name, len(X)):
            row["note"] = f"left out: for up to {_MOST[name]:,} rows here"
            continue
        if name == "ConstrainedMeanShift" and not len(links.cannot):
            row["note"] = "left out: needs cannot-links"
            continue
        try:
            labels[name], row["seconds"] = _better_of_two(fit)
        except ValueError as error:  # data that the method refuses, such as links with conflicts
            row["note"] = f"refused: {error.problem if isinstance(error, Refusal) else error}"
            continue
        row["clusters"] = len(set(labels[name].tolist()) - {-1})
    if {_OURS, _PEER} <= labels.keys():  # the same algorithm
        ratio = rows[_PEER]["seconds"] / rows[_OURS]["seconds"]
        rows[_OURS]["agreement"] = float(adjusted_rand_score(labels[_PEER], labels[_OURS]))
        rows[_OURS]["note"] = f"{ratio:,.1f} times as fast as scikit-learn's"
    return list(rows.values())


def _better_of_two(fit: Callable[[], Any]) -> tuple[NDArray[Any], float]:
    seconds: list[float] = []
    while len(seconds) < 2 and (not seconds or seconds[0] < _TWICE):
        start = time.perf_counter()
        labels: NDArray[Any] = fit().labels_
        seconds.append(time.perf_counter() - start)
    return labels, min(seconds)
