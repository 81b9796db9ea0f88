"""What a session's rows are shown as: columns, a table, texts, pictures or sounds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkshift._core.messages import Refusal
from linkshift._core.text import counted
from linkshift.web.items import MOST_COLUMNS, Items
from linkshift.web.material import Material

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["items_of", "material_of"]

_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_SOUNDS = (".wav", ".mp3", ".ogg", ".oga", ".flac", ".m4a")


def material_of(session: Session, items: Any, title: str) -> Material:
    """Give the rows of a session, and what is shown of them."""
    found = items_of(items, session._X, session.ids)
    notes = tuple(found.notes())
    columns = tuple(map(str, range(session._X.shape[1])))
    return Material(session._X, found, title=title, columns=columns, notes=notes)


def items_of(items: Any, X: Any, ids: list[Any] | None) -> Items:
    """Make what is shown: of a table, texts, paths of images or sounds, or images themselves."""
    if isinstance(items, Items):
        return items
    if items is None:
        n = X.shape[1]
        note = f"Shown of each row: the first {MOST_COLUMNS} of its {n:,} columns."
        cells = {str(j): X[:, j].tolist() for j in range(min(n, MOST_COLUMNS))}
        return Items("table", cells, ids, note=note if n > MOST_COLUMNS else "")
    if hasattr(items, "columns"):
        table = {str(name): _values(items[name]) for name in items.columns}
        _check_length(len(items), len(X))
        return Items("table", table, ids)
    if isinstance(items, np.ndarray) and items.ndim == 3:
        _check_length(len(items), len(X))
        flat: Any = items.reshape(len(items), -1)
        return Items("image", {"image": flat}, ids, "image", pixels=items.shape[1:])
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise Refusal(
            f"items is {type(items).__name__}.",
            "Give a table, a list of texts, or a list of paths of images or sounds, one for each "
            "row; None shows the columns.",
            parameter="items",
        )
    values = _values(items)
    _check_length(len(values), len(X))
    paths = [os.fspath(one) if isinstance(one, os.PathLike) else one for one in values]
    kinds = {Path(one).suffix.lower() if isinstance(one, str) else "" for one in paths if one}
    for kind, suffixes in (("image", _IMAGES), ("audio", _SOUNDS)):
        if kinds and kinds <= set(suffixes):
            return Items(kind, {kind: paths}, ids, kind)  # type: ignore[arg-type]
    return Items("text", {"text": paths}, ids)


def _values(column: Any) -> list[Any]:
    """Give cells as plain values, None where one is empty."""
    if hasattr(column, "notna"):
        column = column.astype(object).where(column.notna(), None)
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in column]


def _check_length(n: int, n_rows: int) -> None:
    if n != n_rows:
        raise Refusal(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'item')} to show, and the session has "
            f"{n_rows:,} rows.",
            "Give one for each row, in their order.",
            parameter="items",
        )
