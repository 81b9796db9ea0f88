"""What constrained mean shift has to say about links before it uses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.messages import Advice, warn
from linkshift.links import ClosedLinks, Closure
from linkshift.refinement import check_count

__all__ = ["check_combinations", "check_usable", "warn_without_cannot"]


def check_combinations(model: Any) -> None:
    """Refuse parameters that would otherwise be ignored."""
    if model.truncation != 0.2 and model.kernel != "truncated_gaussian":
        raise ValueError("truncation is for kernel='truncated_gaussian' only.")
    check_count(model.n_clusters, model.max_clusters)
    if model.penalty != 4.0 and model.refine is None:
        raise ValueError("penalty is the price of a link in refinement: set refine='links'.")
    if model.merge_weight is not None and model.kernel == "flat" and model.merge_above != 0.99:
        raise ValueError(
            "With kernel='flat' and a merge_weight, centres within h are close; drop merge_above."
        )
    if model.bandwidth is None:
        return
    if model.schedule != "linear" or model.growth != "links":
        raise ValueError("schedule and growth say how h grows; they need bandwidth=None.")
    if np.ndim(model.bandwidth) and model.max_iter != 80:
        raise ValueError("An array of bandwidths says how many iterations; drop max_iter.")


def check_usable(closed: ClosedLinks, *, refine: str | None, enforce: bool) -> None:
    """Refuse links that nothing would look at, and contradictions among certain ones."""
    links = closed.links
    if refine is None and (links.must_confidence < 1.0).any():
        raise ValueError(
            "Must-links with a confidence below one act through refinement alone; set "
            "refine='links', or give them confidence one."
        )
    idle = refine is None and not enforce
    if idle and len(links.must) and not links.separates:
        raise ValueError(
            "With refine=None and enforce=False must-links only spread cannot-links, and there "
            "are none; set refine='links' or enforce=True."
        )
    closure = closed.closure  # raises on contradictions
    carriers = closure.component[links.must[:, 0]]
    if idle and len(carriers) and not np.isin(carriers, _apart(closure)).any():
        warn(
            Advice(
                "No must-link carries a cannot-link of confidence one to other rows, and with "
                "refine=None and enforce=False must-links do nothing else.",
                "Set refine='links' or enforce=True to use them.",
                parameter="links",
            )
        )


def _apart(closure: Closure) -> Array:
    """Components that are held apart from some other."""
    return np.union1d(closure.component_cannot, closure.groups.member)


def warn_without_cannot(closed: ClosedLinks, growth: str) -> None:
    """Tell what a growing bandwidth does when no link is in its way."""
    if closed.links.separates:
        return
    does = "and the growing bandwidth merges all rows into one cluster."
    if growth == "links":
        does = "and the bandwidth stops growing at the scale of the density."
    warn(
        Advice(
            f"Without cannot-links nothing keeps centres apart, {does}",
            "Give cannot-links, a fixed bandwidth, or use MeanShift.",
            command="Give cannot-links, or --bandwidth, or use --method mean-shift.",
            parameter="links",
        )
    )
