"""Tasks that Dask runs: the four functions of `linkshift.scale`, each with one thread but the fit.

BLAS has one thread throughout, as the number of threads must not tell in a sum.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, Refusal
from linkshift._core.threads import one_blas_thread
from linkshift.links import Links
from linkshift.scale.linked import LinkedModel
from linkshift.scale.model import Model, fit, predict
from linkshift.summaries import Summary, merge, summarise

__all__ = [
    "array_labels",
    "fitted",
    "frame_labels",
    "frame_numbers",
    "merged",
    "rows_named",
    "summarised",
]


def summarised(
    rows: Array, m: int, seed: int, weight: Array | None, keep: Array, first: int
) -> Summary | None:
    """Summarise a chunk whose rows ``keep`` have links; None where no row has a weight."""
    if weight is not None:
        if not np.asarray(weight)[keep].all():
            row = first + keep[np.argmin(np.asarray(weight)[keep])]
            raise Refusal(
                f"Row {row} of X has links, and its sample weight is zero.",
                "Give it a weight, or leave out its links.",
                parameter="sample_weight",
            )
        if not np.any(weight):
            return None
    try:
        with one_blas_thread():
            return summarise(rows, m, seed, sample_weight=weight, keep=keep, first=first, n_jobs=1)
    except Refusal as refusal:
        raise Refusal(
            f"In the chunk from row {first} of X on: {refusal.problem}",
            refusal.remedies["python"],
            parameter=refusal.parameter,
        ) from refusal


def merged(pair: list[Summary | None], m: int) -> Summary | None:
    """Merge two neighbours, or bring one alone to m landmarks."""
    found = [summary for summary in pair if summary is not None]
    with one_blas_thread():
        return merge(found, m, n_jobs=1) if found else None


def fitted(
    summary: Summary | None, links: Links | None, options: dict[str, Any]
) -> tuple[Model | LinkedModel, list[Any]]:
    """Fit, and bring along what would be told here, where nobody listens."""
    if summary is None:
        raise Refusal(
            "Every sample weight is zero: there is nothing to summarise.",
            "Give some rows a weight.",
            parameter="sample_weight",
        )
    with warnings.catch_warnings(record=True) as told, one_blas_thread():
        warnings.simplefilter("always")
        model = fit(summary, links, **options)
    return model, [one.message for one in told if isinstance(one.message, Advice)]


def array_labels(
    rows: Array, model: Model | LinkedModel, numbered: bool, block_info: Any = None
) -> Array:
    """Label a block; ``numbered`` ones are of the rows that were fitted, at the same places."""
    first = block_info[0]["array-location"][0][0] if numbered and block_info else None
    with one_blas_thread():
        return predict(model, rows, first=first, n_jobs=1)


def frame_numbers(part: Any, dtype: str) -> Array:
    """Give the numbers of a partition."""
    numbers: Array = part.astype(dtype).to_numpy()
    return numbers


def frame_labels(
    part: Any, model: Model | LinkedModel, dtype: str, first: int | None = None
) -> Any:
    """Label a partition, whose first row has this number if it is of those that were fitted."""
    import pandas as pd

    with one_blas_thread():
        labels = predict(model, frame_numbers(part, dtype), first=first, n_jobs=1)
    return pd.Series(labels, index=part.index, name="labels")


def rows_named(index: Any, wanted: set[Hashable]) -> tuple[int, list[tuple[Hashable, int]]]:
    """Give the number of rows of a partition, and where in it the wanted ids are."""
    return len(index), [(name, row) for row, name in enumerate(index) if name in wanted]
