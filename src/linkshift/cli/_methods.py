"""What of the methods the options of `linkshift cluster` need to know."""

from __future__ import annotations

from typing import Any

from linkshift._core.text import counted
from linkshift.cli._console import InputError
from linkshift.methods import METHODS

# As in linkshift.profiles, which would take too long to import for --help; a test compares them.
KERNELS = ("flat", "epanechnikov", "gaussian", "truncated_gaussian")

AUTO = "auto"
NAMES = (AUTO, *METHODS)


def bandwidth_option(text: str | None) -> float | str | None:
    """Read the value of --bandwidth."""
    if text is None or text == "links":
        return text
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"--bandwidth takes a number or the word links, not {text!r}.") from None
    if not 0 < number < float("inf"):
        raise InputError(
            f"--bandwidth must be more than 0 and finite, and it is {number:g}. "
            "Leave it out to take it from the data."
        )
    return number


def check_neighbours(n_neighbors: Any, n_rows: int) -> None:
    """Refuse more neighbours than there are rows for, where the library takes those there are."""
    if n_neighbors is not None and n_neighbors >= n_rows:
        raise InputError(
            f"--n-neighbors is {n_neighbors}, but each row has only "
            f"{counted(n_rows - 1, 'other')}; take fewer."
        )
