"""One bound on memory, which work that grows with the square of the rows is held to beforehand."""

from __future__ import annotations

import os

from linkshift._core.messages import Refusal

__all__ = ["VARIABLE", "check_memory", "memory_bound"]

VARIABLE = "LINKSHIFT_MEMORY_GB"
_MOST_GB = 4.0


def check_memory(
    n_bytes: float, what: str, python: str, *, command: str | None = None, parameter: str = "X"
) -> None:
    """Refuse work that would take more memory than 4 GB, before any of it is taken.

    The environment variable LINKSHIFT_MEMORY_GB sets another bound.

    Parameters
    ----------
    n_bytes : float
        What the work takes at its peak.
    what : str
        What takes it, for the message: "An exact kernel space of 20,000 rows".
    python, command : str
        The remedy, as in `Refusal`: how to do with less.

    Examples
    --------
    >>> from linkshift._core.memory import check_memory
    >>> from linkshift._core.messages import Refusal
    >>> try:
    ...     check_memory(8e9, "A table of all pairs", "Take fewer rows.")
    ... except Refusal as refusal:
    ...     print(refusal.problem)
    A table of all pairs takes 8.0 GB of memory, and the bound is 4 GB.
    """
    most = memory_bound()
    if n_bytes <= most * 1e9:
        return
    more = (
        "On a machine that has the memory, set the environment variable "
        f"{VARIABLE}={int(n_bytes / 1e9) + 1} instead."
    )
    raise Refusal(
        f"{what} takes {n_bytes / 1e9:.1f} GB of memory, and the bound is {most:g} GB.",
        f"{python} {more}",
        command=f"{python if command is None else command} {more}",
        parameter=parameter,
    )


def memory_bound() -> float:
    """Give the bound in GB: 4, or what LINKSHIFT_MEMORY_GB says."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return _MOST_GB
    try:
        most = float(text)
    except ValueError:
        most = -1.0
    if not most > 0:
        raise Refusal(
            f"The environment variable {VARIABLE} is {text!r}, which is no number above 0.",
            f"Set it to gigabytes, such as {VARIABLE}=16, or unset it.",
        )
    return most
