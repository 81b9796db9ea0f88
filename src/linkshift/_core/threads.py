"""Threads: how many, a pool for the hot loops, and BLAS kept to one.

Work is split by fixed sizes, never by the number of threads: results are the same for any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

__all__ = ["n_threads", "one_blas_thread", "threads"]


def n_threads(n_jobs: int | None) -> int:
    """All cores for None; otherwise joblib's reading of ``n_jobs`` (-1: all, -2: all but one)."""
    return int(joblib.cpu_count() if n_jobs is None else joblib.effective_n_jobs(n_jobs))


class threads:
    """A pool for loops that release the interpreter lock: ``with threads(2) as pool``."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def __enter__(self) -> threads:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Any, *values: Any, told: Callable[[int], None] | None = None) -> None:
        """Call ``function`` on all values; the first error is raised.

        ``told`` hears, in the thread of the caller, how many calls are done.
        """
        results = (map if self._pool is None else self._pool.map)(function, *values)
        for done, _ in enumerate(results, start=1):
            if told is not None:
                told(done)


@cache
def _libraries() -> ThreadpoolController:
    """Thread pools of the loaded libraries; looking for them takes as long as a small step."""
    return ThreadpoolController()


_door, _inside = Lock(), list[Any]()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread: inside a pool of ours, and for sums that no count may change.

    The limit is one for the whole process: of fits at the same time, the last to leave lifts it.
    """
    with _door:
        if not _inside:
            _inside.append(_libraries().limit(limits=1, user_api="blas"))
        else:
            _inside.append(_inside[0])
    try:
        yield
    finally:
        with _door:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()
