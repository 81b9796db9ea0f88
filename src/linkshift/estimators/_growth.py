r"""How far the bandwidth of constrained mean shift should grow: let the links say.

With many links the bandwidth can grow without end: links keep apart what must be apart. With few,
clusters that no link happens to separate are swallowed, and it is better to stop near the scale of
the density. Links that had no part in a shift tell which: half of them bend it, the other half are
asked, at each of a few bandwidths, whether they agree with the clusters, and the other way round.
Of many rows, those that links name and some more are enough to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift.bandwidth import default_bandwidth
from linkshift.estimators._mean_shift_landmarks import few_rows_bandwidth
from linkshift.links import ClosedLinks, Links
from linkshift.profiles import Profile
from linkshift.refinement import Neighbours, founded, voters
from linkshift.shift.constrained.runs import Run, extent_of, part_of
from linkshift.shift.neighbours import block_order

__all__ = [
    "best_stop",
    "grown",
    "halves",
    "rows_to_ask",
    "stops",
    "to_go_on",
    "unlinked",
    "worth_asking",
]


# Where growth may stop, in default Gaussian bandwidths: below two, clusters crumble; above four,
# stopping and going on differ little on the data of docs/constrained_mean_shift.md.
_STOPS = (2.0, 2.5, 3.0, 4.0)
_FEWEST = 10  # links, below which halves say nothing
_MOST = 2500  # links, from which on they hold the clusters by themselves
_MOST_ROWS = 2 * _MOST
_GRAIN = 1e-3  # of the data's extent: lengths are compared in such units


def grown(
    model: Any,
    state: Any,
    closed: ClosedLinks,
    neighbours: Neighbours,
    runs: dict[str, Run],
    *,
    keep: bool,
) -> tuple[Array, bool]:
    """Return the bandwidth of each iteration, and whether links were asked for the last."""
    points, schedule, links = state.points, state.schedule, closed.links
    weight, few = state.weight, state.by.rows is not None
    growing = model.bandwidth is None and model.growth == "links"
    if growing and not links.separates:
        return unlinked(points, schedule, weight, few_rows=few), False
    if not growing or not worth_asking(links, state.n_counted):
        return schedule, False
    rows = rows_to_ask(points, links, weight)
    whole = len(rows) == len(points)
    sample = points if whole else points[rows]
    some = weight if whole or weight is None else weight[rows]
    parts = halves(sample, links if whole else links.take(rows), some)
    used = [ClosedLinks(part, len(sample)) for part in parts]
    near = neighbours if whole else voters(sample, model.n_neighbors, some)
    sample_stops, shift = stops(sample, schedule, some), model._shift(sample, some)

    def labels_at_stops(part: int) -> list[Array]:
        name = f"half {part}"
        run, _ = shift.run(
            used[part],
            schedule,
            runs.get(name) if whole else None,
            keep=True,
            progress=part_of(model.progress, part, 3),
        )
        if keep and whole:
            runs[name] = run
        labels = []
        for stop in sample_stops:
            states, h = run.history[: stop + 2], float(schedule[stop])
            merged = shift.labels(states, run.bending, h, model._apart(used[part]))
            merged = founded(sample, merged, some)
            labels.append(model._labels(merged, used[part], near))
        return labels

    last = sample_stops
    if not whole:
        last = stops(points, schedule, weight, few_rows=few)
    return schedule[: last[best_stop(parts, labels_at_stops)] + 1], True


def worth_asking(links: Links, n_rows: float) -> bool:
    """Whether there are enough links to ask, and not so many that growth need not stop."""
    n_pairs = len(links.must) + len(links.cannot)  # groups are not asked: they bend both halves
    return len(links.cannot) > 0 and _FEWEST <= n_pairs < min(_MOST, n_rows / 2)


def rows_to_ask(points: Array, links: Links, weight: Array | None = None) -> Array:
    """All rows, or 5,000 of them: those that links name, and others evenly spread."""
    n = points.shape[0]
    if n <= _MOST_ROWS:
        return np.arange(n)
    named = np.unique(np.concatenate([links.must.ravel(), links.cannot.ravel()]))
    order = block_order(points)
    order = order if weight is None else order[weight[order] > 0]
    others = np.setdiff1d(order, named, assume_unique=True)
    most = min(len(others), _MOST_ROWS - len(named))
    spread = np.linspace(0, len(others) - 1, most).astype(np.intp)
    return np.sort(np.concatenate([named, others[spread]]))


def stops(
    points: Array, bandwidths: Array, weight: Array | None = None, *, few_rows: bool = False
) -> list[int]:
    """Return the iterations at which growth may stop, from the first on to the last."""
    last = len(bandwidths) - 1
    typical = _typical(points, weight, few_rows)
    found = np.searchsorted(bandwidths, typical * np.array(_STOPS))
    return [*np.minimum(found, last).tolist(), last]


def unlinked(
    points: Array, bandwidths: Array, weight: Array | None = None, *, few_rows: bool = False
) -> Array:
    """Bandwidths where nothing is held apart: they grow to the first stop, and stay there."""
    return np.minimum(bandwidths, _STOPS[0] * _typical(points, weight, few_rows))


def _typical(points: Array, weight: Array | None, few_rows: bool) -> float:
    """Scale of the density; of very many rows, a few tell it."""
    default = few_rows_bandwidth if few_rows else default_bandwidth
    return default(points, Profile("gaussian"), sample_weight=weight)


def to_go_on(run: Run | None, links: Links) -> Run | None:
    """Give an earlier run if its bandwidths grew as these: with something apart, or nothing."""
    if run is None or bool(len(run.bending[0])) != links.separates:
        return None
    return run


def halves(points: Array, links: Links, weight: Array | None = None) -> list[Links]:
    """Split links in two, each by whether its length is odd or even in thousandths of the extent.

    As good as a coin, but the same whatever the order of the rows, and whatever links are added or
    taken away.
    """
    extent = extent_of(points, weight)

    def odd(pairs: Array) -> Array:
        length = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        return np.round(length / (_GRAIN * extent)).astype(np.int64) % 2 == 1

    must, cannot = odd(links.must), odd(links.cannot)
    return [links.where(must == side, cannot == side) for side in (False, True)]


def best_stop(parts: Sequence[Links], labels_at_stops: Callable[[int], Sequence[Array]]) -> int:
    """Return the number of the stop at which links that were not used agree best with clusters.

    Agreement is the share of must-links inside a cluster and the share of cannot-links across,
    averaged, so that the rarer kind counts as much. Of equals, the last.

    Parameters
    ----------
    parts : sequence of two Links
        The halves.
    labels_at_stops : callable
        ``labels_at_stops(i)`` clusters with the links of part i and gives labels at each stop.
    """
    weight = np.zeros(2)
    agree: Array = np.zeros((1, 2))
    for i, asked in enumerate(reversed(parts)):
        weight += asked.must_confidence.sum(), asked.cannot_confidence.sum()
        agree = agree + [_agreement(labels, asked) for labels in labels_at_stops(i)]
    score = (agree / np.maximum(weight, np.finfo(np.float64).tiny)).sum(axis=1)
    return int(np.flatnonzero(score >= score.max() - 1e-9)[-1])


def _agreement(labels: Array, links: Links) -> tuple[float, float]:
    """Confidence of the must-links inside a cluster, and of the cannot-links across."""
    inside = labels[links.must[:, 0]] == labels[links.must[:, 1]]
    across = labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]]
    return (
        float(links.must_confidence[inside].sum()),
        float(links.cannot_confidence[across].sum()),
    )
