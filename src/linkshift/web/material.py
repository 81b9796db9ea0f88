"""What a page is about: rows as they are clustered, as they were read, and as they are shown."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift.web.items import Items

__all__ = ["Material"]


@dataclass(frozen=True, eq=False)
class Material:
    """Rows of a table.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        As they are clustered, scaled.
    items : Items
        As they are shown.
    raw : ndarray of shape (n, d), default=None
        As they were read: what the fingerprint goes by. None: ``X``.
    title : str
        What the page is called.
    id_column : str, default=None
        What the column of ids is called in files.
    columns : tuple of str
        Names of the columns of ``raw``, where they have any.
    recipe : object, default=None
        What made ``raw`` of the table, for the model that is saved.
    scaling : object, default=None
        What made ``X`` of ``raw``.
    notes : tuple of str
        What those who look should know.
    """

    X: Array
    items: Items
    raw: Any = None
    title: str = "linkshift"
    id_column: str | None = None
    columns: tuple[str, ...] = ()
    recipe: Any = None
    scaling: Any = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.items.cells:
            raise Refusal("There is nothing to show of a row.", "Name columns to show.")

    @property
    def ids(self) -> list[Hashable] | None:
        """What rows are called."""
        return self.items.ids

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return len(self.X)

    @property
    def read(self) -> Any:
        """Rows as they were read."""
        return self.X if self.raw is None else np.asarray(self.raw)
