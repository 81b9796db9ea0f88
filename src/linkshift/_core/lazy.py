"""Data that are not in memory, and what must not pull them in unasked."""

from __future__ import annotations

import sys
from typing import Any

from linkshift._core.messages import Refusal

__all__ = ["is_dask", "refuse_dask"]


def is_dask(X: Any) -> bool:
    """Whether this is a collection of Dask; without importing Dask, which made it if it is."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(getattr(dask, "is_dask_collection", lambda _: False)(X))


def refuse_dask(X: Any, who: str) -> None:
    """Refuse a collection of Dask where all rows would be brought into memory without a word."""
    if is_dask(X):
        raise Refusal(
            f"X is a Dask {type(X).__name__}, and {who} needs all rows in memory.",
            "Cluster it where it is with linkshift.scale.dask.MeanShift, or with links by "
            "linkshift.scale.dask.ConstrainedMeanShift; or, if it fits into memory, give "
            "X.compute().",
            parameter="X",
        )
