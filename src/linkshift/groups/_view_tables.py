"""Reading of views: tables of numbers by name, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
from scipy.sparse import issparse

from linkshift._core.arrays import Array

MetricName = Literal["euclidean", "cosine", "chi2", "precomputed", "kernel"]
Metric = MetricName | Callable[[Any, Any], Any]
Views = Any  # a table, or a list or dict of tables: see kernel_bank

MATRICES = ("precomputed", "kernel")
_LARGEST = 1e30  # kernel value
_ASYMMETRY = 1e-6  # of the largest value


def tables(
    views: Views, groups: Mapping[str, Any] | None, names: Sequence[str] | None
) -> dict[str, Array]:
    """Tables of numbers by name, all with the same number of rows."""
    if groups is not None:
        if names is not None:
            raise ValueError("groups names the views already; leave names out.")
        if not groups:
            raise ValueError("groups is empty; name the columns of at least one view.")
        found = {name: _part(views, name, columns) for name, columns in groups.items()}
    elif isinstance(views, Mapping):
        if names is not None:
            raise ValueError("A dict names the views already; leave names out.")
        found = dict(views)
    elif hasattr(views, "columns") or issparse(views) or getattr(views, "ndim", 0) == 2:
        raise ValueError(
            "One table is no list of views: name the columns of each view in groups, or pass "
            "[X] to have it as the only view."
        )
    else:
        found = _named(list(views), names)
    if not found:
        raise ValueError("There are no views; give at least one.")
    if len({str(name) for name in found}) < len(found):
        raise ValueError(f"Two views have the same name: {[str(name) for name in found]}.")
    checked = {str(name): _table(str(name), table) for name, table in found.items()}
    first = next(iter(checked))
    for name, table in checked.items():
        if table.shape[0] != checked[first].shape[0]:
            refuse(
                name,
                f"{table.shape[0]} rows, but view {first!r} has {checked[first].shape[0]}; "
                "all views must describe the same samples in the same order.",
            )
    return checked


def _named(tables: list[Any], names: Sequence[str] | None) -> dict[str, Any]:
    if names is None:
        names = [f"view{m}" for m in range(len(tables))]
    if len(names) != len(tables):
        raise ValueError(f"{len(names)} names for {len(tables)} views; give one for each.")
    if len(set(names)) < len(names):
        raise ValueError(f"Two views have the same name: {list(names)}.")
    return dict(zip(names, tables, strict=True))


def tables_like(
    views: Views, groups: Mapping[str, Any] | None, names: tuple[str, ...]
) -> dict[str, Array]:
    """Tables of new samples, by the names and groups that the training samples had."""
    if groups is not None:
        return tables(views, groups, None)
    listed = not isinstance(views, Mapping)
    if listed and len(views) != len(names):
        raise ValueError(f"{len(views)} views are given, the bank has {len(names)}.")
    found = tables(views, None, names if listed else None)
    if set(found) != set(names):
        raise ValueError(
            f"The views are called {sorted(found)}, those of the bank {sorted(names)}; "
            "give the same."
        )
    return found


def _part(table: Any, name: str, columns: Any) -> Any:
    """Columns of a table that make up a view."""
    if isinstance(table, Mapping | list | tuple) or issparse(table):
        raise TypeError("groups parts one 2-D array or DataFrame; leave it out for other views.")
    frame = hasattr(table, "columns") and hasattr(table, "iloc")
    if isinstance(columns, str):
        columns = [columns]
    # A mask is no list of names, though True is found among columns that are called 0 and 1.
    listed = not isinstance(columns, slice) and np.asarray(columns).dtype != bool
    if frame and listed and all(c in table.columns for c in columns):
        part = table[list(columns)]
    else:
        values = np.asarray(table)
        if values.ndim != 2:
            raise ValueError(f"groups parts a 2-D table; this one has {values.ndim} dimensions.")
        try:
            part = values[:, columns if isinstance(columns, slice) else np.asarray(columns)]
        except IndexError as error:
            message = (
                f"no such columns, {columns!r}, in a table of {values.shape[1]}; give positions, "
                "or a DataFrame that has columns of these names."
            )
            refuse(name, message, error)
    if part.shape[1] == 0:
        refuse(name, "no columns; name at least one, or leave the view out.")
    return part


def _table(name: str, table: Any) -> Array:
    if issparse(table):
        refuse(name, "sparse tables are not supported; pass table.toarray().")
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        refuse(name, f"not a table of numbers ({error}); encode what is not.", error)
    if values.ndim != 2:
        refuse(
            name,
            f"{values.ndim} dimensions instead of two; one feature is a column: "
            "array.reshape(-1, 1).",
        )
    if 0 in values.shape:
        refuse(name, f"its shape is {values.shape}; at least one row and one column are needed.")
    return values


def check_values(name: str, metric: Metric, table: Array) -> None:
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        refuse(
            name,
            f"NaN or infinity in row {int(np.argmin(finite))}; impute missing values, or leave "
            "those samples out of all views.",
        )
    if metric == "kernel" and float(np.abs(table).max()) > _LARGEST:
        refuse(name, f"kernel values beyond {_LARGEST:g} do not fit float32; divide them all.")
    if metric in ("chi2", "precomputed") and (table < 0).any():
        row = int(np.argmax((table < 0).any(axis=1)))
        remedy = (
            "chi2 is for histograms; take metric='euclidean', or counts instead."
            if metric == "chi2"
            else "distances have none; pass kernel values with metric='kernel'."
        )
        refuse(name, f"negative values in row {row}; {remedy}")


def check_matrix(name: str, metric: Metric, matrix: Array) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        refuse(
            name,
            f"metric={metric!r} needs a square matrix over all samples, its shape is "
            f"{matrix.shape}; for features take another metric.",
        )
    largest = float(np.abs(matrix).max())
    if float(np.abs(matrix - matrix.T).max()) > _ASYMMETRY * largest:
        refuse(
            name, "the matrix of its values is not symmetric; take (A + A.T) / 2 if it should be."
        )
    if metric == "precomputed" and float(np.abs(np.diag(matrix)).max()) > _ASYMMETRY * largest:
        refuse(
            name,
            "samples are not at distance zero from themselves; pass kernel values with "
            "metric='kernel'.",
        )


def per_view(what: str, given: Any, tables: Mapping[str, Array], default: Any) -> dict[str, Any]:
    """One value for each view from one for all, a list or a dict."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if str(name) not in tables]
        if unknown:
            raise ValueError(f"{what} names views {unknown}; there are {list(tables)}.")
        return dict.fromkeys(tables, default) | {str(k): v for k, v in given.items()}
    if isinstance(given, list | tuple | np.ndarray):
        if len(given) != len(tables):
            raise ValueError(f"{len(given)} values of {what} for {len(tables)} views.")
        return dict(zip(tables, given, strict=True))
    return dict.fromkeys(tables, given)


def refuse(name: str, message: str, cause: Exception | None = None) -> NoReturn:
    raise ValueError(f"View {name!r}: {message}") from cause
