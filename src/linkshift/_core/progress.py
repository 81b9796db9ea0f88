"""Progress of work that has stages."""

from __future__ import annotations

from functools import partial
from itertools import accumulate, pairwise

from linkshift._core.arrays import Progress

__all__ = ["stages", "tell"]

_WHOLE = 1000


def tell(progress: Progress | None, done: int, total: int) -> None:
    """Tell of progress, if anyone listens."""
    if progress is not None:
        progress(done, total)


def stages(progress: Progress | None, *work: float) -> list[Progress | None]:
    """Give each stage a progress of its own, which counts as its share of the work.

    Examples
    --------
    >>> from linkshift._core.progress import stages
    >>> first, second = stages(lambda *told: print(told), 1, 3)
    >>> first(1, 2), second(1, 2), second(2, 2)
    (125, 1000)
    (625, 1000)
    (1000, 1000)
    (None, None, None)
    """
    if progress is None:
        return [None] * len(work)
    ends = [end / sum(work) for end in accumulate(work, initial=0.0)]
    return [partial(_tell_within, progress, begin, end) for begin, end in pairwise(ends)]


def _tell_within(progress: Progress, begin: float, end: float, done: int, total: int) -> None:
    progress(round(_WHOLE * (begin + (end - begin) * done / total)), _WHOLE)
