"""Which pair to ask next: the loop that links come from."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkshift.active.among import Choice as Choice
    from linkshift.active.estimate import Estimate as Estimate
    from linkshift.active.estimate import Figure as Figure
    from linkshift.active.questions import Question as Question
    from linkshift.active.session import Session as Session

# Imported when first used: the labelling page closes answers without scikit-learn and numba.
_PUBLIC = {
    "Choice": "among",
    "Estimate": "estimate",
    "Figure": "estimate",
    "Question": "questions",
    "Session": "session",
}

__all__ = ["Choice", "Estimate", "Figure", "Question", "Session"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'linkshift.active' has no attribute {name!r}")
        return getattr(import_module(f"linkshift.active.{_PUBLIC[name]}"), name)
