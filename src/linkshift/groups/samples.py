"""Samples at the door: one table, or one for each view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from linkshift._core.arrays import Array
from linkshift.groups.views import KernelBank


@dataclass(frozen=True)
class Samples:
    """The same samples in one table or several, in the order of the bank that they belong to."""

    bank: KernelBank
    tables: list[Array]

    def __getitem__(self, rows: Array) -> Samples:
        """Give some of the samples."""
        return Samples(self.bank, [table[rows] for table in self.tables])

    @property
    def views(self) -> Any:
        """The samples in the form that the bank takes."""
        return self.tables if self.bank.groups is None else self.tables[0]

    def side_by_side(self) -> Array:
        """All tables as one: samples are equal when they are in all views."""
        return np.hstack(self.tables)


def is_several(X: Any) -> bool:
    """Whether X holds a table for each view; a list of rows is one table."""
    if isinstance(X, Mapping):
        return not issparse(X)  # some sparse matrices are dicts
    if not isinstance(X, list | tuple) or not X:
        return False
    return all(_dimensions(table) == 2 for table in X)


def _dimensions(table: Any) -> int:
    try:
        return int(table.ndim) if hasattr(table, "ndim") else np.ndim(table)
    except ValueError:  # rows of unequal lengths
        return 0


def ordered_tables(X: Any, bank: KernelBank) -> list[Array]:
    """Make arrays of views that the bank has checked, in its order."""
    if isinstance(X, Mapping):
        by_name = {str(name): table for name, table in X.items()}
        X = [by_name[name] for name in bank.names]
    return [np.asarray(table, dtype=np.float64) for table in X]


def column_positions(X: Any, columns: Any) -> Any:
    """Columns of a DataFrame that are named, as positions; anything else as it is."""
    if isinstance(columns, slice) or not hasattr(X, "columns"):
        return columns
    wanted = [columns] if isinstance(columns, str) else list(columns)
    # A mask is no list of names, though True is found among columns that are called 0 and 1.
    if np.asarray(wanted).dtype == bool or not all(name in X.columns for name in wanted):
        return columns
    return [i for name in wanted for i, other in enumerate(X.columns) if other == name]
