"""A process that makes one file for the page: labels in Parquet, a model, a report."""

from __future__ import annotations

import io
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkshift._core.messages import Refusal
from linkshift.web.process import taken_over
from linkshift.web.wire import read, write

__all__ = ["made", "main"]


def made(head: dict[str, Any], arrays: list[Any]) -> bytes:
    """Make what is asked for."""
    match head["make"]:
        case "labels.parquet":
            return _parquet(head["columns"])
        case "model.npz":
            return _model(head, *arrays)
        case "report.html":
            return _report(head, *arrays)
    raise Refusal(f"{head['make']} is nothing to make.")


def _parquet(columns: dict[str, Any]) -> bytes:
    import pandas as pd

    data = io.BytesIO()
    pd.DataFrame(columns).to_parquet(data, index=False)
    return data.getvalue()


def _links(head: dict[str, Any]) -> Any:
    from linkshift.links import Links

    pairs: dict[bool, list[Any]] = {True: [], False: []}
    sure: dict[bool, list[float]] = {True: [], False: []}
    for a, b, same, confidence in head["links"]:
        pairs[same].append((a, b))
        sure[same].append(confidence)
    if not head["links"]:
        return None
    return Links(
        pairs[True], pairs[False], must_confidence=sure[True], cannot_confidence=sure[False]
    )


def _model(head: dict[str, Any], X: Any, labels: Any) -> bytes:
    """Cluster by the links of the page, for a model that predicts; numbers are those of the page.

    It is what ``linkshift cluster --links`` makes of the same links: where rows are in doubt, it
    may decide otherwise than the page, and the file says how far both agree.
    """
    from sklearn.metrics import adjusted_rand_score

    import linkshift
    from linkshift.methods.saved import save
    from linkshift.tables.preparing import Preparation
    from linkshift.tables.scaling import Scaling

    found = linkshift.cluster(X, _links(head), scale="none", labels_like=labels)
    agreement = adjusted_rand_score(np.asarray(found.labels), labels)
    more: dict[str, Any] = {"columns": tuple(head["columns"]), "ids": head["ids"]}
    if "scaling" in head:
        more["scalings"] = (Scaling.from_about(head["scaling"]),)
    if "recipe" in head:
        more["recipe"] = Preparation.from_plain(head["recipe"])
    why = f"{found.why}; adjusted Rand index to the labels of the page: {agreement:.2f}"
    found = replace(found, **more, why=why)
    about = {"data": head["title"], "id_column": head["id_column"], "ids": head["ids"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        save(found, path, **about)
        return path.read_bytes()


def _report(head: dict[str, Any], X: Any, labels: Any) -> bytes:
    from linkshift.pictures import page
    from linkshift.tables.scaling import Scaling

    original = None
    if "scaling" in head:
        scaling = Scaling.from_about(head["scaling"])
        original = X * scaling.spread + scaling.shift
    folders = [Path(head["folder"])] if "folder" in head else []
    told = page.Report(
        X=X,
        labels=labels,
        title=head["title"],
        links=_links(head),
        ids=head["ids"],
        names=head["columns"] or None,
        method="session",
        why="answers on the labelling page",
        done=_named(head["names"]),
        show=head.get("show"),
        folders=folders,
        original=original,
    )
    return page.render(told).encode()


def _named(names: dict[str, str]) -> str:
    if not names:
        return ""
    return "Names: " + ", ".join(f"{k} is {called}" for k, called in names.items()) + "."


def main() -> None:
    """Read an order from stdin, and write what was made to stdout."""
    inward, outward = taken_over()
    message = read(inward)
    if message is None:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nobody reads them here
            data = made(*message)
        write(outward, {"made": len(data)}, [np.frombuffer(data, dtype=np.uint8)])
    except (Refusal, ValueError, OSError, MemoryError) as error:
        words = (error.problem, error.remedies["python"]) if isinstance(error, Refusal) else None
        what, remedy = words or (str(error) or type(error).__name__, "")
        write(outward, {"error": what, "remedy": remedy})


if __name__ == "__main__":
    main()
