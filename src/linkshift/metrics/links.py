"""How good a clustering is against the links it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkshift._core.labels import NOISE, is_noise
from linkshift._core.markup import notebook, row
from linkshift._core.text import counted
from linkshift.metrics._checks import checked_labels

if TYPE_CHECKING:
    from linkshift.links import Links

FEW = 10  # links held out, below which their share says little and its spread nothing


class HeldOut(NamedTuple):
    """How well links hold that a clustering has not seen.

    Attributes
    ----------
    agreement : float
        Mean of the share of must-links and of the share of cannot-links that hold; of one kind,
        its share.
    error : float
        Standard error of it, from the parts that were held out in turn; nan for one part, and for
        fewer than ten links.
    chance : float
        What chance would give: 0.5, where there are both kinds.
    n_links : int
        Links that were asked.
    """

    agreement: float
    error: float
    chance: float
    n_links: int

    def __str__(self) -> str:
        if self.n_links < FEW:
            asked = counted(self.n_links, "link")
            return f"{asked} held out, too few to say how well such links are met"
        # Parts that all agree have no spread, which does not mean that there is no error.
        error = f" \u00b1 {self.error:.0%}" if self.error >= 0.005 else ""
        return (
            f"links held out are met by {self.agreement:.0%}{error} ({self.n_links:,} asked, "
            f"{self.chance:.0%} is chance)"
        )


@dataclass(frozen=True, eq=False)
class LinkReport:
    """Which links a clustering keeps.

    Attributes
    ----------
    n_must, n_cannot : int
        Links asked for.
    must_kept, cannot_kept : int
        Links kept.
    violated_must, violated_cannot : ndarray of shape (k, 2)
        The pairs that are not kept, in the order of the links; read-only.
    weighted_share : float
        Kept share of the links' total confidence; 1.0 when there is nothing to keep.
    held_out : HeldOut or None
        How well links hold that were kept from the clustering, where that was asked for
        (``linkshift.cluster(..., held_out=5)``): links that are enforced always hold.
    n_apart, apart_kept : int
        Groups of rows that are all apart from each other, and those with no two rows in a cluster.
    """

    n_must: int
    n_cannot: int
    must_kept: int
    cannot_kept: int
    violated_must: NDArray[np.int64]
    violated_cannot: NDArray[np.int64]
    weighted_share: float
    held_out: HeldOut | None = None
    n_apart: int = 0
    apart_kept: int = 0

    @property
    def must_share(self) -> float:
        """Share of the must-links that are kept; 1.0 when there are none."""
        return _share(self.must_kept, self.n_must)

    @property
    def cannot_share(self) -> float:
        """Share of the cannot-links that are kept; 1.0 when there are none."""
        return _share(self.cannot_kept, self.n_cannot)

    @property
    def apart_share(self) -> float:
        """Share of the groups that are apart; 1.0 when there are none."""
        return _share(self.apart_kept, self.n_apart)

    @property
    def share(self) -> float:
        """Share of all links that are kept, a group counted as one; 1.0 when there are none."""
        kept = self.must_kept + self.cannot_kept + self.apart_kept
        return _share(kept, self.n_must + self.n_cannot + self.n_apart)

    def _repr_html_(self) -> str:
        """Count in a notebook what is kept."""
        rows = [
            row(f"{n:,}", f"{kept:,}", f"{n - kept:,}", name=f"{kind}-links")
            for kind, n, kept in (
                ("must", self.n_must, self.must_kept),
                ("cannot", self.n_cannot, self.cannot_kept),
            )
            if n
        ]
        if n := self.n_apart:
            kept = self.apart_kept
            rows.append(row(f"{n:,}", f"{kept:,}", f"{n - kept:,}", name="groups apart"))
        title = "Links" if self.held_out is None else f"Links; {self.held_out}"
        return notebook(title if rows else "No links", ("", ">given", ">kept", ">violated"), rows)

    def __str__(self) -> str:
        told = [
            f"{what} {kept} of {n} {held}"
            for what, kept, n, held in (
                ("must-links", self.must_kept, self.n_must, "kept"),
                ("cannot-links", self.cannot_kept, self.n_cannot, "kept"),
                ("groups", self.apart_kept, self.n_apart, "apart"),
            )
            if n
        ]
        held_out = "" if self.held_out is None else f"; {self.held_out}"
        return (", ".join(told) or "no links") + held_out


def link_satisfaction(labels: ArrayLike, links: Links) -> LinkReport:
    """Check each link against the labels.

    A must-link is kept when both ends are in one cluster, a cannot-link when they are not. A noise
    point, -1, is in no cluster: its must-links are violated and its cannot-links kept, also when
    both ends are noise.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Cluster of each point.
    links : Links
        The pairs, by row of `labels`.

    Returns
    -------
    LinkReport

    Raises
    ------
    ValueError
        A link points outside the labels.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> links = SimpleNamespace(
    ...     must=np.array([(0, 1), (2, 3)]), must_confidence=np.ones(2),
    ...     cannot=np.array([(0, 2)]), cannot_confidence=np.ones(1),
    ... )
    >>> report = link_satisfaction([0, 0, 1, -1], links)
    >>> print(report)
    must-links 1 of 2 kept, cannot-links 1 of 1 kept
    >>> report.violated_must.tolist()
    [[2, 3]]
    """
    values = checked_labels(labels, "labels")
    together_must = _together(values, links.must, "must")
    apart_cannot = ~_together(values, links.cannot, "cannot")
    whole = _whole_groups(values, links)
    kept = np.concatenate([together_must, apart_cannot, whole])
    confidence = np.concatenate(
        [links.must_confidence, links.cannot_confidence, np.ones(len(whole))]
    )
    total = float(confidence.sum())
    return LinkReport(
        n_must=len(together_must),
        n_cannot=len(apart_cannot),
        must_kept=int(together_must.sum()),
        cannot_kept=int(apart_cannot.sum()),
        violated_must=_read_only(links.must[~together_must]),
        violated_cannot=_read_only(links.cannot[~apart_cannot]),
        # Dividing by the larger of two equal sums could leave 0.999...: all kept is exactly 1.
        weighted_share=1.0 if kept.all() or total == 0 else float(confidence[kept].sum()) / total,
        n_apart=len(whole),
        apart_kept=int(whole.sum()),
    )


def _whole_groups(labels: NDArray[np.generic], links: Links) -> NDArray[np.bool_]:
    """Which groups of rows that are apart have no two rows in one cluster."""
    pairs = getattr(links, "_pairs", None)
    if pairs is None or not len(pairs.apart):
        return np.empty(0, dtype=bool)
    codes = np.where(is_noise(labels, NOISE), -1, np.unique(labels, return_inverse=True)[1])
    return np.asarray(~pairs.apart.broken(codes))


def _together(
    labels: NDArray[np.generic], pairs: NDArray[np.int64], kind: str
) -> NDArray[np.bool_]:
    """Whether the ends of each pair are in one cluster."""
    outside = np.flatnonzero(((pairs < 0) | (pairs >= len(labels))).any(axis=1))
    if outside.size:
        a, b = (int(i) for i in pairs[outside[0]])
        raise ValueError(
            f"{kind}-link ({a}, {b}) points outside the {len(labels)} labels "
            f"(rows 0 to {len(labels) - 1})"
        )
    first, second = labels[pairs[:, 0]], labels[pairs[:, 1]]
    return (first == second) & ~is_noise(first, NOISE)


def _share(kept: int, asked: int) -> float:
    return kept / asked if asked else 1.0


def _read_only(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    pairs.flags.writeable = False
    return pairs
