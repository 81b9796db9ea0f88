"""Links that constrained mean shift would not look at."""

from __future__ import annotations

import numpy as np

from linkshift._core.messages import Advice, warn
from linkshift.links import ClosedLinks

__all__ = ["refuse_idle"]


def refuse_idle(closed: ClosedLinks, *, refined: bool, enforced: bool) -> None:
    """Refuse links that nothing would look at, and contradictions among certain ones."""
    links, idle = closed.links, not refined and not enforced
    if not refined and (links.must_confidence < 1.0).any():
        raise ValueError(
            "Must-links with a confidence below one act through refinement alone; set "
            "refine='links', or give them confidence one."
        )
    if idle and len(links.must) and not len(links.cannot):
        raise ValueError(
            "With refine=None and enforce=False must-links only spread cannot-links, and there "
            "are none; set refine='links' or enforce=True."
        )
    closure = closed.closure  # raises on contradictions
    carriers = closure.component[links.must[:, 0]]
    if idle and len(carriers) and not np.isin(carriers, closure.component_cannot).any():
        warn(
            Advice(
                "No must-link carries a cannot-link of confidence one to other rows, and with "
                "refine=None and enforce=False must-links do nothing else.",
                "Set refine='links' or enforce=True to use them.",
                parameter="links",
            )
        )
