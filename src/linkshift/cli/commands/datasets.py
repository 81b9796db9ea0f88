"""`linkshift datasets`: list what there is, or write one data set and links for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkshift._core.text import counted, is_number
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, aligned, hint, passed_on
from linkshift.cli.writing import targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkshift.datasets import Dataset
    from linkshift.links import Links

_HELP = {
    "name": "Data set to write. Default: list all there are.",
    "n_links": "Number of links, one for each two classes or more.",
    "rows": "So many rows: made anew, or drawn at random from a file. Default: the set's own.",
    "links_output": "Also draw links from the classes, and write them here: .csv or .json.",
}


def datasets(
    name: Annotated[str | None, opt.argument("[NAME]", _HELP["name"])] = None,
    output: opt.TableOutput = None,
    rows: Annotated[int | None, opt.value("N", _HELP["rows"], min=1)] = None,
    seed: Annotated[int | None, opt.seed] = None,
    links_output: Annotated[Path | None, opt.value("FILE", _HELP["links_output"])] = None,
    n_links: Annotated[int | None, opt.value("N", _HELP["n_links"], min=1)] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """List data sets to try things on, or write one of them.

    Some are made or come with scikit-learn, others are read from files NAME.npz in the folder that
    the environment variable LINKSHIFT_DATA names. A table has the columns x0, x1, ... and class;
    the class is text, so that it is not clustered by mistake.
    """
    console = Console(quiet)
    written = {"output": output, "links_output": links_output}
    if name is None:
        why = "is about one data set, and none is named. Name it, for example: linkshift datasets"
        opt.refuse(f"{why} moons -o moons.csv", **written, rows=rows, seed=seed, n_links=n_links)
        _list(json, console)
        return
    from linkshift.cli.writing.tables import table_text, write_table
    from linkshift.links import Links

    _check(name, rows, seed, n_links, **written)
    data = _get(name, rows, seed or 0)
    to_stdout = output is None and not json
    if data.views and (to_stdout or (output is not None and output.suffix.lower() != ".npz")):
        raise InputError(
            f"{name} has {len(data.views)} views, and one table cannot hold them apart. Write it "
            f"to an .npz file: linkshift datasets {name} -o {name}.npz"
        )
    links = None
    if n_links is not None:
        try:
            links = Links.sample(data.y, n_links, random_state=seed or 0)
        except ValueError as error:
            raise InputError(f"--n-links: {error}.") from error
    if output is not None:
        write_table(output, _columns(data, output.suffix.lower()))
    if links is not None and links_output is not None:
        with targets.replacing(links_output) as temporary:
            write_links = links.to_csv if links_output.suffix.lower() == ".csv" else links.to_json
            write_links(temporary)
    _tell(data, links, console, **written)
    if json:
        report = {**_describe(data), "seed": seed or 0, "output": targets.name(output)}
        report["links"] = None
        if links is not None:
            counts = {"n_must": len(links.must), "n_cannot": len(links.cannot)}
            report["links"] = {**counts, "output": targets.name(links_output)}
        targets.print_json(report)
    elif to_stdout:
        targets.print_text(table_text(_columns(data, ".csv")))


def _list(json: bool, console: Console) -> None:
    from linkshift.datasets import MADE, REGISTRY

    known = [_about(name) for name in (*MADE, *REGISTRY)]
    n_missing = sum(entry["kind"] == "missing" for entry in known)
    if n_missing:
        console.say(
            f"{counted(n_missing, 'set')} missing: to use one, set LINKSHIFT_DATA to a folder with "
            "NAME.npz. What it holds and where it is from: linkshift datasets NAME"
        )
    if json:
        targets.print_json({"datasets": known})
        return
    head = ("name", "rows", "columns", "classes", "kind", "about")
    rows = [[str(entry[title]) for title in head] for entry in known]
    targets.print_text(aligned(head, rows, right=("rows", "columns", "classes")))


def _about(name: str) -> dict[str, Any]:
    """Say of a set what can be said without its file."""
    from linkshift.datasets import MADE, REGISTRY, available

    if name in MADE:
        known: Any = MADE[name]
        classes, kind, about = len(known.class_names), known.kind, known.about
    else:
        known = REGISTRY[name]
        classes, kind = known.n_classes, "file" if available()[name] else "missing"
        about = f"{known.citation}; {known.origin}"
    size = {"rows": known.n_samples, "columns": known.n_features, "classes": classes}
    return {"name": name, **size, "kind": kind, "about": about}


def _check(
    name: str, rows: int | None, seed: int | None, n_links: int | None, **written: Path | None
) -> None:
    from linkshift.datasets import MADE, REGISTRY, paths

    if name not in MADE and name not in REGISTRY:
        known = (*MADE, *REGISTRY)
        raise InputError(
            f"no data set is called {name!r}.{hint(name, known)} All names: linkshift datasets"
        )
    if n_links is not None and written["links_output"] is None:
        raise InputError("--n-links has nowhere to write links: give --links-output links.csv.")
    if written["links_output"] is not None and n_links is None:
        raise InputError("--links-output needs to be told how many: give --n-links 50, say.")
    targets.check_targets([] if name in MADE else paths(name), targets.TABLE_SUFFIXES, **written)
    made = MADE.get(name)
    any_size = made is not None and made.most is None
    if seed is not None and not any_size and rows is None and n_links is None:
        raise InputError(
            f"--seed has nothing to draw: {name} is read whole. Leave it out, or give --rows or "
            "--links-output."
        )
    if made is None or rows is None:
        return
    if rows < len(made.class_names):
        raise InputError(
            f"--rows is {rows}, but {name} has {len(made.class_names)} classes, and each "
            "needs a row; take more."
        )
    if made.most is not None and rows > made.most:
        raise InputError(_too_many(name, rows, made.most))


def _too_many(name: str, rows: int, n: int) -> str:
    return f"--rows is {rows:,}, but {name} has {n:,} rows; take fewer."


def _get(name: str, rows: int | None, seed: int) -> Dataset:
    import numpy as np

    from linkshift.datasets import MADE, load, make

    try:
        with passed_on():
            if name in MADE:
                return make(name, rows, random_state=seed)
            data = load(name)
    except FileNotFoundError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{name}.npz cannot be read: {error.strerror or error}.") from error
    n = len(data.X)
    if rows is None:
        return data
    if rows > n:
        raise InputError(_too_many(name, rows, n))
    return data.take(np.sort(np.random.default_rng(seed).permutation(n)[:rows]))


def _columns(data: Dataset, suffix: str) -> dict[str, NDArray[Any]]:
    """Name the columns; an npz file has matrices instead."""
    import numpy as np

    classes = {"class": _class_names(data)}
    if suffix != ".npz":
        return {f"x{i}": column for i, column in enumerate(data.X.T)} | classes
    if data.views is None:
        return {"X": data.X, **classes}
    views = {f"X_view{i}": view for i, view in enumerate(data.views.values(), start=1)}
    return {**views, "view_names": np.array(list(data.views)), **classes}


def _class_names(data: Dataset) -> NDArray[Any]:
    """Name each row's class by a text that is no number; nothing for rows of no class."""
    import numpy as np

    names = [str(name) for name in (data.target_names or data.classes)]
    if any(is_number(name) for name in names):
        names = [f"c{name}" for name in names]
    return np.array([*names, ""])[data.y]  # -1 is the last


def _tell(data: Dataset, links: Links | None, console: Console, **written: Path | None) -> None:
    n, d = data.X.shape
    views = f" in {len(data.views)} views" if data.views else ""
    console.say(
        f"{data.name}: {counted(n, 'row')}, {counted(d, 'column')}{views}, {len(data.classes)} "
        f"classes; {data.source}."
    )
    if links is not None:
        console.say(f"Links: {len(links.must):,} must, {len(links.cannot):,} cannot.")
    console.finish(None, *written.values())
    if (output := written["output"]) is not None:
        more = f" --links {written['links_output']}" if links is not None else ""
        more += f" --method groups --clusters {len(data.classes)}" if data.views else ""
        console.say(f"To cluster it: linkshift cluster {output}{more}")


def _describe(data: Dataset) -> dict[str, Any]:
    import numpy as np

    labels, counts = np.unique(_class_names(data), return_counts=True)
    n, d = data.X.shape
    sizes = {str(k): int(v) for k, v in zip(labels, counts, strict=True) if k}
    views = {k: int(v.shape[1]) for k, v in data.views.items()} if data.views else None
    about = {**_about(data.name), "rows": n, "columns": d}
    return {**about, "class_sizes": sizes, "views": views}
