"""How many rows are summarised at a time."""

from __future__ import annotations

__all__ = ["rows_of_a_chunk"]

# Sixteen rows for each of 8,000 landmarks; and 64 MB of numbers in float64.
_ROWS = 1 << 17
_ENTRIES = 1 << 23


def rows_of_a_chunk(n_columns: int) -> int:
    """Rows of a chunk: 131,072, and beyond 64 columns as many as have 8,388,608 entries.

    It goes by nothing else, so that summaries of a table depend on its rows and their order alone,
    and not on how a file or a cluster of machines holds them.

    Examples
    --------
    >>> from linkshift.scale.chunks import rows_of_a_chunk
    >>> rows_of_a_chunk(16), rows_of_a_chunk(1024)
    (131072, 8192)
    """
    return max(1, min(_ROWS, _ENTRIES // n_columns))
