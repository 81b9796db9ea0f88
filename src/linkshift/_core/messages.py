"""What is said to people: refusals and advice, with the remedy for where they are.

A message has parts, so that nobody cuts another's sentences: the problem, and a remedy in the
words of Python (parameters) and of the command line (options).
"""

from __future__ import annotations

import sys
import warnings
from numbers import Integral
from types import FrameType
from typing import Any

__all__ = ["Advice", "Refusal", "check_count", "warn"]

# Frames in which nobody wrote a call of linkshift: its own, and scikit-learn's around ``fit``.
_INSIDE = ("linkshift", "sklearn")


class _Message:
    """A problem and its remedies; ``str`` is the text for Python.

    ``problem`` says what is wrong in words that fit everywhere, ``python`` what to do about it in
    parameters and calls, ``command`` in options of the command line (None where the Python text
    serves): whole sentences. ``parameter`` is what it is about, ``value`` what that was.
    """

    def __init__(
        self,
        problem: str,
        python: str = "",
        *,
        command: str | None = None,
        parameter: str | None = None,
        value: Any = None,
    ) -> None:
        self.problem = problem
        self.remedies = {"python": python, "command": python if command is None else command}
        self.parameter = parameter
        self.value = value
        super().__init__(self.text("python"))  # type: ignore[call-arg]  # of Exception

    def text(self, place: str) -> str:
        """Return problem and remedy for one place: "python" or "command"."""
        return " ".join(part for part in (self.problem, self.remedies[place]) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from ``args``, which hold the joined text only.
        return _rebuild, (type(self), self.problem, self.remedies, self.parameter, self.value)


def _rebuild(
    kind: Any, problem: str, remedies: dict[str, str], parameter: str | None, value: Any
) -> _Message:
    message: _Message = kind(
        problem, remedies["python"], command=remedies["command"], parameter=parameter, value=value
    )
    return message


class Refusal(_Message, ValueError):
    """Input or a combination of parameters that cannot be served.

    Examples
    --------
    >>> from linkshift._core.messages import Refusal
    >>> refusal = Refusal("Nothing to do.", "Set n=2.", command="Add --n 2.", parameter="n")
    >>> print(refusal)
    Nothing to do. Set n=2.
    >>> refusal.text("command")
    'Nothing to do. Add --n 2.'
    """


class Advice(_Message, UserWarning):
    """A result that stands, and what its owner should know of it."""


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def warn(advice: Advice) -> None:
    """Warn at the line that called linkshift, however deep inside the reason was found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _package(frame) in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(advice, stacklevel=level)


def check_count(name: str, value: object) -> int:
    """Refuse what is not a whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}.")
    if value < 1:
        raise ValueError(f"{name}={value} must be at least 1.")
    return int(value)
