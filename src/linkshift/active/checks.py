"""Arguments of a session, checked at the door."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from linkshift._core.messages import Refusal

__all__ = ["checked_ids", "checked_jobs", "checked_seed", "checked_share"]


def checked_ids(ids: Iterable[Hashable] | None, X: Any, n: int) -> list[Any] | None:
    """Take the names of rows, or those of the index of a data frame."""
    index = getattr(X, "index", None)
    if ids is None and index is not None and not callable(index):
        numbers = list(index)
        ids = None if numbers == list(range(n)) else numbers
    if ids is None:
        return None
    found = [name.item() if isinstance(name, np.generic) else name for name in ids]
    if len(found) != n:
        raise Refusal(
            f"There are {len(found)} ids and {n} rows.", "Give an id for each row.", parameter="ids"
        )
    if not all(isinstance(name, Hashable) for name in found):
        raise Refusal(
            "Ids are names that can be looked up, not lists.",
            "Give texts, numbers or tuples.",
            parameter="ids",
        )
    if len(set(found)) != n:
        twice = next(name for i, name in enumerate(found) if name in found[:i])
        raise Refusal(
            f"The id {twice!r} stands twice.", "Give each row an id of its own.", parameter="ids"
        )
    return found


def checked_share(audit: Any) -> float:
    """Take a share of the questions."""
    if not isinstance(audit, (int, float)) or isinstance(audit, bool) or not 0 <= audit < 1:
        raise Refusal(
            f"audit is {audit!r}.",
            "Give a share of the questions: 0 to less than 1.",
            parameter="audit",
        )
    return float(audit)


def checked_seed(random_state: Any) -> int:
    """Take a seed that can be kept with the log."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise Refusal(
            f"random_state is {random_state!r}.",
            "Give a whole number from 0 on: a session is replayed from its log.",
            parameter="random_state",
        )
    return int(random_state)


def checked_jobs(n_jobs: Any) -> int | None:
    """Take a number of threads, as joblib reads it."""
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise Refusal(
            f"n_jobs is {n_jobs!r}.",
            "Give a whole number of threads, -1 for one a core, or None.",
            parameter="n_jobs",
        )
    return None if n_jobs is None else int(n_jobs)
