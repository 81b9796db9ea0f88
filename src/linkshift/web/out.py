"""What leaves the page: labels, links, a model, a report. Made apart, so that no answer waits."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkshift._core.messages import Refusal
from linkshift.web.lines import as_csv, in_force, lines_of
from linkshift.web.process import Process
from linkshift.web.replies import Asked, Refused, Reply
from linkshift.web.state import names_of

if TYPE_CHECKING:
    from linkshift._core.arrays import Array
    from linkshift.web.desk import Desk
    from linkshift.web.fingerprint import Places
    from linkshift.web.material import Material
    from linkshift.web.record import Record

__all__ = ["export", "label_columns", "links_text"]

_BYTES = "application/octet-stream"
_KINDS = {
    "labels.csv": "text/csv; charset=utf-8",
    "labels.parquet": "application/vnd.apache.parquet",
    "links.csv": "text/csv; charset=utf-8",
    "model.npz": _BYTES,
    "report.html": "text/html; charset=utf-8",
}
_TAKEN = ("cluster", "name")


async def export(desk: Desk, asked: Asked) -> Reply:
    """Make a file, to be saved by the browser."""
    (name,) = asked.args
    if name not in _KINDS:
        raise Refused(404, f"There is no {name} to save.", f"There are {', '.join(_KINDS)}.")
    if name != "links.csv" and desk.engine.labels.version < 0:
        raise Refused(409, "There are no clusters yet.", "Wait a moment.")
    if name == "labels.csv":
        called, labels = names_of(desk), desk.engine.labels.labels  # of one moment
        data = await asyncio.to_thread(lambda: _csv(label_columns(desk.material, labels, called)))
    elif name == "links.csv":
        said = desk.ledger.record, desk.ledger.rows
        data = (await asyncio.to_thread(links_text, *said)).encode()
    else:
        data = await _made(desk, name)
    # Never shown by the browser: a report holds what rows hold.
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Reply(200, data, _KINDS[name] if name != "report.html" else _BYTES, headers)


def label_columns(
    material: Material, labels: Array, called: dict[int, str]
) -> dict[str, Sequence[Any]]:
    """Give the columns of the labels: ids, clusters as the page numbers them, and their names."""
    key = material.id_column or "id"
    if material.ids is None:
        key = "row"
    elif key in (*_TAKEN, "row"):
        key = "id"
    rows: Sequence[Any] = range(material.n_rows) if material.ids is None else material.ids
    clusters = labels.tolist()
    return {key: rows, "cluster": clusters, "name": [called.get(k, "") for k in clusters]}


def _csv(columns: dict[str, Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def links_text(record: Record, places: Places) -> str:
    """Give answers and links in force, as `linkshift links export` writes them."""
    return as_csv(in_force(lines_of(record, places).lines))


async def _made(desk: Desk, name: str) -> bytes:
    """Have a process of its own make a file: it takes seconds, and memory that is given back."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    process = Process("linkshift.web.making")

    def finish(message: Any) -> None:
        if not done.done():
            done.set_result(message)

    def heard(message: Any) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, message)

    process.send(*_order(desk, name))
    process.listen(heard)
    try:
        message = await done
    finally:
        await asyncio.to_thread(process.stop)
    if message is None:
        raise Refused(500, f"{name} could not be made.", process.last_words())
    head, arrays = message
    if "error" in head:
        raise Refusal(head["error"], head["remedy"])
    return bytes(arrays[0])


def _order(desk: Desk, name: str) -> tuple[dict[str, Any], list[Any]]:
    """Say what is to be made, and of what."""
    material, ledger = desk.material, desk.ledger
    head: dict[str, Any] = {"make": name}
    if name == "labels.parquet":
        columns = label_columns(material, desk.engine.labels.labels, names_of(desk))
        return {**head, "columns": {k: list(v) for k, v in columns.items()}}, []
    standing = [
        [put.a, put.b, put.word == "same", put.confidence]
        for put in ledger.last.values()
        if put.word != "unknown" and put.pair not in ledger.aside
    ]
    items, ids = material.items, material.ids
    head |= {
        "title": material.title,
        "links": standing,
        "columns": list(material.columns),
        "id_column": material.id_column,
        "ids": None if ids is None else [ledger.rows.key(row) for row in range(len(ids))],
        "names": {str(k): called for k, called in names_of(desk).items()},
    }
    if name == "report.html" and items.kind in ("text", "image") and items.pixels is None:
        cells = next(iter(items.cells.values()))
        head |= {"show": [None if cell is None else str(cell) for cell in cells]}
        head |= {"folder": str(items.folder)}
    if material.scaling is not None:
        head |= {"scaling": material.scaling.about()}
    if material.recipe is not None:
        head |= {"recipe": material.recipe.to_plain()}
    return head, [material.X, np.asarray(desk.engine.labels.labels)]
