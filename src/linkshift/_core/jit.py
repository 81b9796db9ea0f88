"""The project's one jit decorator.

Compiled code is cached on disk, so that only the first call after an install pays for compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache

from linkshift._core.compiling import compiling_starts


class _QuietCache(FunctionCache):
    """An on-disk cache that costs time, never an error, when the disk misbehaves.

    Whatever loading or saving raises (files out of reach or cut short, a full disk), the function
    is compiled anew. Damaged files are replaced.
    """

    def load_overload(self, *args: Any, **kwargs: Any) -> Any:
        try:
            found = super().load_overload(*args, **kwargs)
        except Exception:
            found = None
            with suppress(Exception):
                self.flush()
        if found is None:
            compiling_starts(kept=True)
        return found

    def save_overload(self, *args: Any, **kwargs: Any) -> None:
        with suppress(Exception):
            super().save_overload(*args, **kwargs)


class _NoCache(NullCache):
    """No cache: everything is compiled."""

    def load_overload(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        compiling_starts(kept=False)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` without the interpreter lock, cached on disk where possible.

    Of the fast-math licences only fused multiply-adds are taken. Lanes run over starts, so no
    loop needs its sums reordered to be vectorised; leaving the order alone keeps results the
    same for any batch and number of threads, keeps NaN a NaN, and keeps the rounding by a magic
    number inside the exponential intact.
    """
    compiled = _compile(function)
    compiled._cache = _NoCache()
    with suppress(RuntimeError, OSError):  # no directory to cache in: compile in memory
        compiled._cache = _QuietCache(compiled.py_func)
    return compiled


def jit_inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile as ``jit`` does, into every caller: for the inner loops that callers are made of.

    Called for four points at a time, a function of its own costs more than a third of the time.
    """
    return _compile(function, inline="always")


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    return numba.njit(  # noqa: TID251
        nogil=True, fastmath={"contract"}, error_model="numpy", boundscheck=False, **options
    )(function)
