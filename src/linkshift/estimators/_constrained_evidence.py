"""What explains a row of constrained mean shift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from linkshift.estimators import _constrained_checks as checks
from linkshift.explain import Evidence, Refit
from linkshift.explain.link_shares import Bending
from linkshift.links import ClosedLinks, Links

__all__ = ["evidence_of"]

_BY_LANDMARKS = "Landmarks stood for rows: the path is that of the nearest landmark or linked row."


def evidence_of(model: Any, row: int) -> Evidence:
    """Give the path of a row's centre, what bent it, and fits under other links."""
    state, by, n = model._state, model._state.by, len(model._fit_X)
    points, closed = state.points, model._closed(ClosedLinks(model.links_, n))
    runs, shift, own = dict(state.runs), model._shift(by.points, by.weight), by.closed(closed)
    if "all" not in runs:
        runs["all"], _ = shift.run(own, model.bandwidth_, None, keep=True)
    run, (pairs, confidence) = runs["all"], runs["all"].bending
    h, dtype, history = float(model.bandwidth_[-1]), model._fit_X.dtype, by.history(run.history)
    bending = Bending(
        by.pairs(pairs),
        confidence,
        history=history,
        bandwidths=model.bandwidth_,
        points=points,
        kernel=shift.kernel,
        weight=state.weight,
        enforced=model.enforce,
        **shift.options,
    )
    return Evidence(
        points,
        _refits(model, replace(state, runs=runs)),
        path=np.stack([centres[group[row]] for centres, group in history]),
        shown=lambda positions: state.unscaled(positions).astype(dtype),
        bending=bending,
        before_links=by.spread(shift.labels(run.history, run.bending, h, model._apart(own))),
        notes=() if by.rows is None else (_BY_LANDMARKS,),
    )


def _refits(model: Any, state: Any) -> Callable[[Links], Refit]:
    """Give a function that clusters under other links, from the history of this fit."""
    runs = dict(state.runs)
    silent = clone(model).set_params(progress=None)

    def refit(links: Links) -> Refit:
        closed = ClosedLinks(links, len(state.points))
        checks.check_usable(closed, refine=model.refine, enforce=model.enforce)
        other = silent._cluster(replace(state, runs=runs), closed, np.float64, keep=True)
        for name, run in other.state.runs.items():
            runs.setdefault(name, run)  # halves that were not there serve the next
        then, now = other.attributes["bandwidth_"], model.bandwidth_
        note = f"its bandwidth then grows to {then[-1]:.3g} instead of {now[-1]:.3g}"
        return Refit(other.labels, note if len(then) != len(now) else "")

    return refit
