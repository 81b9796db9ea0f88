"""How many rows are read and summarised at a time."""

from __future__ import annotations

__all__ = ["rows_of_a_chunk"]

_ENTRIES = 1 << 23  # 64 MB of float64
_PER_LANDMARK = 4  # of fewer rows, a summary would hardly be shorter


def rows_of_a_chunk(n_columns: int, landmarks: int = 0) -> int:
    """Rows of a chunk: as many as have 2^23 numbers, and at least four for each landmark.

    It goes by nothing else, so that summaries of a table depend on its rows and their order alone,
    and not on how a file or a cluster of machines holds them. Centres are trained on 16 rows for
    each landmark, whatever the chunk has: larger chunks cost less, and their landmarks are closer
    to the rows.

    Examples
    --------
    >>> from linkshift.scale.chunks import rows_of_a_chunk
    >>> rows_of_a_chunk(16, 8_000), rows_of_a_chunk(1024, 8_000)
    (524288, 32000)
    """
    return max(1, _ENTRIES // n_columns, _PER_LANDMARK * landmarks)
