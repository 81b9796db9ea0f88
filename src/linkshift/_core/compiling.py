"""Who is told when something has to be compiled; without numba, so that it costs no time to ask."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["compiling_starts", "tell_of_compiling"]

_waiting: list[Callable[[bool], None]] = []


def tell_of_compiling(tell: Callable[[bool], None] | None) -> None:
    """Call ``tell`` once, when a function is next compiled; it takes the place of an earlier one.

    It hears whether what is compiled is kept for later runs.

    Examples
    --------
    >>> from linkshift._core.compiling import compiling_starts, tell_of_compiling
    >>> tell_of_compiling(lambda kept: print("Compiling", "once" if kept else "again"))
    >>> compiling_starts(kept=True), compiling_starts(kept=True)
    Compiling once
    (None, None)
    """
    _waiting[:] = [] if tell is None else [tell]


def compiling_starts(*, kept: bool) -> None:
    """Tell who is waiting."""
    while _waiting:
        _waiting.pop()(kept)
