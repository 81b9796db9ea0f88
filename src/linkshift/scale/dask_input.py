"""What Dask hands over: arrays and data frames as rows of numbers, weights, names and ids."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.text import listed, short
from linkshift.links import Links
from linkshift.scale.dask_tasks import frame_numbers, rows_named

__all__ = [
    "check_columns",
    "counted_parts",
    "import_dask",
    "is_frame",
    "known",
    "links_by_row",
    "names_of",
    "rows_of",
    "weights_of",
]


def import_dask() -> Any:
    """Import Dask, or name the extra that has it."""
    try:
        import dask
        import dask.array
        import dask.dataframe
    except ImportError as error:
        message = 'linkshift.scale.dask needs Dask: pip install "linkshift[dask]"'
        raise ImportError(message) from error
    return dask


def is_frame(X: Any) -> bool:
    """Whether this is a data frame of Dask."""
    import dask.dataframe

    return isinstance(X, dask.dataframe.DataFrame)


def rows_of(X: Any) -> Any:
    """Give X as a Dask array of numbers; lengths of blocks may be unknown."""
    import dask.array

    if is_frame(X):
        from pandas.api.types import is_complex_dtype, is_numeric_dtype

        kinds = X.dtypes
        wrong = [
            name
            for name, kind in kinds.items()
            if is_complex_dtype(kind) or not is_numeric_dtype(kind)
        ]
        if wrong or not len(kinds):
            raise Refusal(
                f"Column {wrong[0]!r} is not of numbers." if wrong else "X has no columns.",
                "Choose columns of numbers: X[[...]].",
                parameter="X",
            )
        narrow = all(kind == np.float32 for kind in kinds)
        return X.astype(np.float32 if narrow else np.float64).to_dask_array()
    if not isinstance(X, dask.array.Array):
        raise Refusal(
            f"X is neither a Dask array nor a Dask DataFrame, but {type(X).__name__}.",
            "Rows in memory are for linkshift.MeanShift; dask.array.from_array(X) cuts an array "
            "into blocks, and a delayed table or a bag becomes one by dask.dataframe.from_delayed "
            "or .to_dataframe().",
            parameter="X",
        )
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.shape[1] > 0:
        raise Refusal(
            f"X must be a table of numbers with a row for each sample; it is of shape {X.shape} "
            f"and type {X.dtype}.",
            "X.reshape(-1, 1) makes a table of one column, X.astype(float) numbers, and a number "
            "of columns that is not known is made so by X.compute_chunk_sizes().",
            parameter="X",
        )
    return X


def known(rows: Any) -> Any:
    """Count the rows of blocks, where their lengths are not known; X itself stays as it is."""
    return rows.copy().compute_chunk_sizes() if any(map(np.isnan, rows.shape)) else rows


def weights_of(sample_weight: Any, n: int) -> Any:
    """One weight for each row, as a Dask array."""
    import dask.array

    if hasattr(sample_weight, "to_dask_array"):
        sample_weight = sample_weight.to_dask_array()
    weights = known(dask.array.asarray(sample_weight))
    if weights.shape != (n,):
        raise Refusal(
            f"sample_weight is of shape {weights.shape}, and X has {n:,} rows.",
            "Give one weight for each row.",
            parameter="sample_weight",
        )
    return weights


def names_of(X: Any) -> Array | None:
    """Names of columns, where all are strings, as scikit-learn has it."""
    names = list(getattr(X, "columns", ()))
    return np.array(names, dtype=object) if names and all(type(n) is str for n in names) else None


def check_columns(X: Any, rows: Any, known: Array | None, n_features: int) -> None:
    """Refuse columns that are not those of the fit."""
    names = names_of(X)
    if names is not None and known is not None and list(names) != list(known):
        raise Refusal(
            "The columns of X are not those of the fit, in their order.",
            "Give X[clustering.feature_names_in_].",
            parameter="X",
        )
    if rows.shape[1] != n_features:
        raise Refusal(
            f"X has {rows.shape[1]} columns, and the fit was of {n_features}.",
            "Give the columns that were fitted.",
            parameter="X",
        )


def counted_parts(X: Any, dtype: Any) -> tuple[list[Any], Any]:
    """Give the partitions of a data frame as they are now, and their rows, of known lengths.

    Dask reads several files as one partition where few of their columns are asked for, and what
    is asked for may change between `fit` and labels: the number of a partition would not tell
    which rows of the table it has.
    """
    import dask
    import dask.array

    parts = X.to_delayed()
    lengths = dask.compute(*map(dask.delayed(len), parts))
    numbers, d = dask.delayed(frame_numbers), len(X.columns)
    blocks = [
        dask.array.from_delayed(numbers(part, str(dtype)), shape=(length, d), dtype=dtype)
        for part, length in zip(parts, lengths, strict=True)
    ]
    return parts, dask.array.concatenate(blocks)


def links_by_row(links: Links, X: Any) -> Links:
    """Find the rows of links that are keyed by id in the index of a data frame."""
    if not links.keyed_by_id:
        return links
    names: Sequence[Hashable] = links._pairs.names or ()
    if not is_frame(X):
        raise Refusal(
            f"The links are keyed by id, such as {short(names[0])}, and X has no index.",
            "Give a Dask DataFrame that has the ids for its index, or call links.resolve(ids) "
            "with the ids in the order of rows.",
            parameter="links",
        )
    return links.resolve(_rows_of_ids(X, set(names)))


def _rows_of_ids(X: Any, wanted: set[Hashable]) -> dict[Hashable, int]:
    """Go over the index once: numbers of the rows that have these ids."""
    import dask

    found: dict[Hashable, int] = {}
    first = 0
    parts = [dask.delayed(rows_named)(part, wanted) for part in X.index.to_delayed()]
    for length, places in dask.compute(*parts):
        for name, place in places:
            if name in found:
                raise Refusal(
                    f"Rows {found[name]} and {first + place} of X have the same id, {short(name)}, "
                    "and links name it.",
                    "Ids must differ; choose another index.",
                    parameter="links",
                )
            found[name] = first + place
        first += length
    if lost := wanted - found.keys():
        raise Refusal(
            f"Links name {listed(sorted(map(short, lost)), 4)}, and the index of X has no such id.",
            "Correct the links, or give a DataFrame that has the ids for its index.",
            parameter="links",
        )
    return found
