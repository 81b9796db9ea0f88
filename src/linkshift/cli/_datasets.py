"""What `linkshift datasets` does: list what there is, or write one data set and links for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, is_number, listed
from linkshift.cli import _tables, _write
from linkshift.cli._console import Console, InputError, hint
from linkshift.datasets import MADE, REGISTRY, Dataset, available, load, make, paths

LINK_SUFFIXES = (".csv", ".json")


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    name: str | None
    output: Path | None
    rows: int | None
    seed: int | None
    links_output: Path | None
    n_links: int | None
    json: bool
    quiet: bool


def run(request: Request) -> None:
    """List, or write."""
    console = Console(request.quiet)
    if request.name is None:
        _refuse_without_name(request)
        _list(request, console)
    else:
        _check(request, request.name)
        _write_one(request, request.name, console)


# --- the list -----------------------------------------------------------------------------------


def _refuse_without_name(request: Request) -> None:
    for option, value in (
        ("--output", request.output),
        ("--rows", request.rows),
        ("--seed", request.seed),
        ("--links-output", request.links_output),
        ("--n-links", request.n_links),
    ):
        if value is not None:
            raise InputError(
                f"{option} is about one data set, and none is named. Name it, for example: "
                "linkshift datasets moons -o moons.csv"
            )


def _list(request: Request, console: Console) -> None:
    there = available()
    known = [_about(name, there) for name in (*MADE, *REGISTRY)]
    n_missing = sum(entry["kind"] == "missing" for entry in known)
    if n_missing:
        console.say(
            f"{counted(n_missing, 'set')} missing: to use one, set LINKSHIFT_DATA to a folder with "
            "NAME.npz. What it holds and where it is from: linkshift datasets NAME"
        )
    if request.json:
        _write.print_json({"datasets": known})
        return
    head = ("name", "rows", "columns", "classes", "kind", "about")
    rows = [[str(entry[title]) for title in head] for entry in known]
    _write.print_text(_tables.aligned(head, rows, right=("rows", "columns", "classes")))


def _about(name: str, there: dict[str, bool]) -> dict[str, Any]:
    """Say of a set what can be said without its file."""
    if name in MADE:
        recipe = MADE[name]
        size, classes = (recipe.n_samples, recipe.n_features), len(recipe.class_names)
        kind, about = "made", recipe.about
    else:
        source = REGISTRY[name]
        size, classes = (source.n_samples, source.n_features), source.n_classes
        kind = "file" if there[name] else "missing"
        about = f"{source.citation}; {source.origin}"
    return {
        "name": name,
        "rows": size[0],
        "columns": size[1],
        "classes": classes,
        "kind": kind,
        "about": about,
    }


# --- one of them --------------------------------------------------------------------------------


def _check(request: Request, name: str) -> None:
    if name not in MADE and name not in REGISTRY:
        known = (*MADE, *REGISTRY)
        raise InputError(
            f"no data set is called {name!r}.{hint(name, known)} All names: linkshift datasets"
        )
    if request.n_links is not None and request.links_output is None:
        raise InputError("--n-links has nowhere to write links: give --links-output links.csv.")
    if request.links_output is not None and request.n_links is None:
        raise InputError("--links-output needs to be told how many: give --n-links 50, say.")
    _write.check_targets(
        {
            "--output": (request.output, _tables.TABLE_SUFFIXES),
            "--links-output": (request.links_output, LINK_SUFFIXES),
        },
        [] if name in MADE else paths(name),
    )
    drawn = name in MADE or request.rows is not None or request.n_links is not None
    if request.seed is not None and not drawn:
        raise InputError(
            f"--seed has nothing to draw: {name} is read whole. Leave it out, or give --rows or "
            "--links-output."
        )


def _write_one(request: Request, name: str, console: Console) -> None:
    from linkshift.links import Links

    data = _get(name, request.rows, request.seed or 0)
    to_stdout = request.output is None and not request.json
    if data.views and (to_stdout or (request.output and request.output.suffix.lower() != ".npz")):
        raise InputError(
            f"{name} has {len(data.views)} views, and one table cannot hold them apart. Write it "
            f"to an .npz file: linkshift datasets {name} -o {name}.npz"
        )
    links = None
    if request.n_links is not None:
        try:
            links = Links.sample(data.y, request.n_links, random_state=request.seed or 0)
        except ValueError as error:
            raise InputError(f"--n-links: {error}.") from error
    if request.output is not None:
        _tables.write_table(request.output, _columns(data, request.output.suffix.lower()))
    if links is not None and request.links_output is not None:
        with _write.replacing(request.links_output) as temporary:
            if request.links_output.suffix.lower() == ".csv":
                links.to_csv(temporary)
            else:
                links.to_json(temporary)
    _tell(request, data, links, console)
    if request.json:
        _write.print_json(_report(request, data, links))
    elif to_stdout:
        _write.print_text(_tables.table_text(_columns(data, ".csv")))


def _get(name: str, rows: int | None, seed: int) -> Dataset:
    try:
        if name in MADE:
            return make(name, rows, random_state=seed)
        data = load(name)
    except (FileNotFoundError, ValueError) as error:
        # The library's refusals are written for people; only one name is another here.
        raise InputError(f"{str(error).replace('n_samples=', '--rows ').rstrip('.')}.") from error
    except OSError as error:
        raise InputError(f"{name}.npz cannot be read: {error.strerror or error}.") from error
    n = len(data.X)
    if rows is None:
        return data
    if rows > n:
        raise InputError(f"--rows is {rows:,}, but {name} has {n:,} rows; take fewer.")
    return data.take(np.sort(np.random.default_rng(seed).permutation(n)[:rows]))


def _columns(data: Dataset, suffix: str) -> dict[str, NDArray[Any]]:
    """Name the columns; an npz file has matrices instead."""
    classes = {"class": _class_names(data)}
    if suffix != ".npz":
        return {f"x{i}": column for i, column in enumerate(data.X.T)} | classes
    if data.views is None:
        return {"X": data.X, **classes}
    views = {f"X_view{i}": view for i, view in enumerate(data.views.values(), start=1)}
    return {**views, "view_names": np.array(list(data.views)), **classes}


def _class_names(data: Dataset) -> NDArray[Any]:
    """Name each row's class by a text that is no number; nothing for rows of no class."""
    names = [str(name) for name in (data.target_names or data.classes)]
    if any(is_number(name) for name in names):
        names = [f"c{name}" for name in names]
    return np.array([*names, ""])[data.y]  # -1 is the last


def _tell(request: Request, data: Dataset, links: Any, console: Console) -> None:
    n, d = data.X.shape
    told = f"{data.name}: {counted(n, 'row')}, {counted(d, 'column')}"
    told += f" in {len(data.views)} views" if data.views else ""
    console.say(f"{told}, {len(data.classes)} classes; {data.source}.")
    if links is not None:
        console.say(f"Links: {len(links.must):,} must, {len(links.cannot):,} cannot.")
    targets = (request.output, request.links_output)
    written = [str(path) for path in targets if path is not None]
    if written:
        console.say(f"Written: {listed(written)}.")
    if request.output is not None:
        more = f" --links {request.links_output}" if request.links_output is not None else ""
        more += f" --method groups --clusters {len(data.classes)}" if data.views else ""
        console.say(f"To cluster it: linkshift cluster {request.output}{more}")


def _report(request: Request, data: Dataset, links: Any) -> dict[str, Any]:
    labels, counts = np.unique(_class_names(data), return_counts=True)
    n, d = data.X.shape
    return {
        **_about(data.name, available()),
        "rows": n,
        "columns": d,
        "class_sizes": {str(k): int(v) for k, v in zip(labels, counts, strict=True) if k},
        "views": {k: int(v.shape[1]) for k, v in data.views.items()} if data.views else None,
        "seed": request.seed or 0,
        "output": None if request.output is None else str(request.output),
        "links": None
        if links is None
        else {
            "n_must": len(links.must),
            "n_cannot": len(links.cannot),
            "output": str(request.links_output),
        },
    }
