"""What the page looks at: rows, images and sounds, labels and places, clusters, what is wrong."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from linkshift.web.items import Media, NoMedia
from linkshift.web.ledger import Put
from linkshift.web.replies import Asked, Refused, Reply, row_of, rows_of, whole
from linkshift.web.state import disagreeing, names_of

if TYPE_CHECKING:
    from linkshift.web.desk import Desk

__all__ = [
    "cluster",
    "doctor",
    "labels",
    "links",
    "media",
    "places",
    "rows",
    "search",
    "shown_row",
    "why",
]

_BYTES = "application/octet-stream"
_MOST_COUNT = 500
_SPAN = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)


async def rows(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Show rows."""
    given = asked.query.get("rows", "")
    return {
        "rows": [shown_row(desk, row) for row in rows_of(desk, given.split(",") if given else [])]
    }


def shown_row(desk: Desk, row: int) -> dict[str, Any]:
    """Give what the page shows of a row."""
    items, labels = desk.material.items, desk.engine.labels
    return {
        "row": row,
        "id": str(row) if items.ids is None else items.head(row),
        "cluster": int(labels.labels[row]) if labels.version >= 0 else None,
        "cells": items.texts(row),
    }


async def media(desk: Desk, asked: Asked) -> Reply:
    """Give an image or a sound, or the part of it that is wanted."""
    row, column = row_of(desk, asked.args[0]), whole(asked.args[1], "column")
    try:
        found = await asyncio.to_thread(desk.material.items.file, row, column)
        return await asyncio.to_thread(_cut, found, asked.span)
    except NoMedia as none:
        raise Refused(404, str(none)) from None


def _cut(found: Media, span: str | None) -> Reply:
    headers = {"Accept-Ranges": "bytes", "Content-Disposition": "inline"}
    match = _SPAN.fullmatch(span) if span else None
    if match is None or match.groups() == ("", ""):  # what is not understood is passed over
        return Reply(200, found.read(0, found.size), found.kind, headers)
    first, last = match.groups()
    start = int(first) if first else max(found.size - int(last), 0)
    end = min(int(last), found.size - 1) if first and last else found.size - 1
    if start > end or (not first and not int(last)):
        headers |= {"Content-Range": f"bytes */{found.size}"}
        return Reply(416, {"error": "There are no such bytes.", "remedy": ""}, headers=headers)
    headers |= {"Content-Range": f"bytes {start}-{end}/{found.size}"}
    return Reply(206, found.read(start, end - start + 1), found.kind, headers)


async def places(desk: Desk, _: Asked) -> Reply:
    """Give the map: x and y of each row."""
    found = desk.engine.places
    data = b"" if found is None else np.ascontiguousarray(found, dtype="<f4").tobytes()
    return Reply(200, data, _BYTES, {"X-Version": str(desk.engine.labels.version)})


async def labels(desk: Desk, _: Asked) -> Reply:
    """Give the cluster of each row; -1 for all before there are any."""
    version, found = desk.engine.labels[:2]
    shown = found if version >= 0 else np.full(desk.material.n_rows, -1)
    data = np.ascontiguousarray(shown, dtype="<i4").tobytes()
    return Reply(200, data, _BYTES, {"X-Version": str(version)})


async def links(desk: Desk, _: Asked) -> dict[str, Any]:
    """Give answers and links in force."""
    return {"links": [_link(put) for put in desk.ledger.last.values()]}


def _link(put: Put) -> dict[str, Any]:
    found = put._asdict()
    return {name: found[name] for name in _SHOWN_OF_LINKS}


_SHOWN_OF_LINKS = ("a", "b", "word", "confidence", "seq", "action", "who", "at", "by", "given")


async def cluster(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Give rows of a cluster, from its heart to its edge."""
    k = whole(asked.args[0], "cluster")
    start = whole(asked.query.get("start", "0"), "start")
    count = whole(asked.query.get("count", "60"), "count", 1, _MOST_COUNT + 1)
    found = await desk.engine.request("order", cluster=k)
    order = found["rows"]
    name, some = names_of(desk).get(k), order[start : start + count].tolist()
    return {"k": k, "n": len(order), "name": name, "rows": some, "version": found["version"]}


async def doctor(desk: Desk, _: Asked) -> dict[str, Any]:
    """Say what cannot all be right, and what refused to fit."""
    return {
        "contradictions": [
            {
                "against": (against := _blamed(desk, one["against"])),
                "chain": [_blamed(desk, link) for link in one["chain"]],
                "text": one["text"],
                "weakest": None if against["given"] else against["action"],
            }
            for one in desk.engine.contradictions
        ],
        "disagreements": [
            {
                "a": one.a,
                "b": one.b,
                "said": [
                    {"who": put.who, "word": put.word, "at": put.at, "action": put.action}
                    for put in one.said
                ],
            }
            for one in disagreeing(desk)
        ],
        "doubts": _doubts(desk),
    }


def _blamed(desk: Desk, one: dict[str, Any]) -> dict[str, Any]:
    """Add to an answer of a contradiction who gave it, and in which action."""
    put = desk.ledger.last.get((min(one["a"], one["b"]), max(one["a"], one["b"])))
    if put is None or put.word != one["word"]:  # taken back in the meantime, or said otherwise
        return {**one, "action": None, "who": "", "at": "", "given": one.get("given", False)}
    return {**one, "action": put.action, "who": put.who, "at": put.at, "given": put.given}


def _doubts(desk: Desk) -> list[dict[str, Any]]:
    """Give answers that the clusters go against, and that no chain contradicts."""
    version, found = desk.engine.labels[:2]
    if version < desk.ledger.told:
        return []
    told = desk.ledger.aside
    return [
        _link(put)
        for put in desk.ledger.last.values()
        if put.word != "unknown"
        and put.pair not in told
        and bool(found[put.a] == found[put.b]) != (put.word == "same")
    ]


async def why(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Say why a row is where it is."""
    return await desk.engine.request("why", row=row_of(desk, asked.args[0]))


async def search(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Find rows by what they are called, or show."""
    text = asked.query.get("text", "")[:1000]
    return {"rows": await asyncio.to_thread(desk.material.items.search, text)}
