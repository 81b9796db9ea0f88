"""How well a clustering meets links that it has not seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.labels import together_by_chance
from linkshift._core.messages import Refusal
from linkshift.links import Links
from linkshift.links._closure import components
from linkshift.metrics.links import FEW, HeldOut

__all__ = ["held_out_agreement"]


def held_out_agreement(
    fit: Callable[[Links], Array], links: Links, known: Links, n: int, n_folds: int
) -> HeldOut | None:
    r"""Cluster without a part of the links, and see whether these hold; each part in turn.

    Links that others imply along chains would hold without any data, and are not counted. The
    agreement is the mean of the share of must-links and the share of cannot-links that hold, for
    which 0.5 is chance. Where there is but one kind, it is its share, and chance is
    :math:`\sum_c (n_c / n)^2` for must-links, the share of all pairs that are in one cluster, or
    the rest for cannot-links.

    Parameters
    ----------
    fit : callable
        Gives labels for some links.
    links : Links
        What is held out, part by part.
    known : Links
        What is never held out, as that of known labels.
    n : int
        Number of rows.
    n_folds : int
        Number of parts, at least two.

    Returns
    -------
    HeldOut or None
        None where there is no link that others do not imply, or the method refuses to do without.
    """
    if n_folds < 2:
        raise Refusal(
            f"held_out must be 0 or the number of parts, at least 2; got {n_folds}.",
            parameter="held_out",
            value=n_folds,
        )
    rng = np.random.default_rng(0)
    part_of_must, part_of_cannot = (
        rng.permutation(np.arange(len(pairs)) % n_folds) for pairs in (links.must, links.cannot)
    )
    kept: list[tuple[Array, Array]] = []  # of each part: which must-links hold, which cannot-links
    by_chance = []
    for part in range(n_folds):
        must, cannot = part_of_must == part, part_of_cannot == part
        if not (must.any() or cannot.any()):
            continue
        rest = links.where(~must, ~cannot)
        try:
            labels = fit(rest)
        except ValueError:  # there are methods that cannot do without some links
            continue
        asked = _not_implied(links.where(must, cannot), rest + known, n)
        same_must, same_cannot = (
            (labels[a] == labels[b]) & (labels[a] >= 0) for a, b in (asked.must.T, asked.cannot.T)
        )
        kept.append((same_must, ~same_cannot))
        by_chance.append(together_by_chance(labels))
    if not kept:
        return None
    musts, cannots = (np.concatenate([one[kind] for one in kept]) for kind in (0, 1))
    if not len(musts) and not len(cannots):
        return None
    agreement = _balanced(musts, cannots)
    parts = [_balanced(*one) for one in kept if all(map(len, one)) or not _both(musts, cannots)]
    parts = [one for one in parts if not np.isnan(one)]
    spread = len(parts) > 1 and len(musts) + len(cannots) >= FEW
    error = float(np.std(parts, ddof=1) / np.sqrt(len(parts))) if spread else np.nan
    chance = 0.5
    if not _both(musts, cannots):
        chance = float(np.mean(by_chance)) if len(musts) else 1 - float(np.mean(by_chance))
    return HeldOut(agreement, error, chance, len(musts) + len(cannots))


def _not_implied(asked: Links, given: Links, n: int) -> Links:
    """Leave out the links that follow from those given."""
    component = components(given.must, n)
    apart = np.sort(component[given.cannot], axis=1)
    apart = np.unique(apart[:, 0] * n + apart[:, 1])

    def new(pairs: Array) -> Array:
        ends = np.sort(component[pairs], axis=1)
        follows = (ends[:, 0] == ends[:, 1]) | np.isin(ends[:, 0] * n + ends[:, 1], apart)
        return ~follows

    return asked.where(new(asked.must), new(asked.cannot))


def _both(musts: Array, cannots: Array) -> bool:
    return len(musts) > 0 and len(cannots) > 0


def _balanced(musts: Array, cannots: Array) -> float:
    shares = [float(one.mean()) for one in (musts, cannots) if len(one)]
    return float(np.mean(shares)) if shares else np.nan
