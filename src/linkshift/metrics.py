"""How good a clustering is: against known classes, and against the links it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from linkshift._core.labels import NOISE, count_clusters, is_noise
from linkshift._core.markup import notebook, row
from linkshift._core.text import counted

if TYPE_CHECKING:
    from linkshift.links import Links

__all__ = [
    "HeldOut",
    "LabelledScore",
    "LinkReport",
    "ReconstructionScore",
    "clustering_accuracy",
    "labelled_score",
    "link_satisfaction",
    "n_clusters",
    "name_clusters",
    "reconstruction_score",
]

FEW = 10  # links held out, below which their share says little and its spread nothing


def clustering_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, *, noise: int | None = NOISE
) -> float:
    r"""Share of points that are right under the best one-to-one matching of clusters to classes.

    .. math:: \mathrm{ACC} = \frac{1}{n} \max_{\pi} \sum_{i=1}^{n} [\, y_i = \pi(c_i) \,]

    over the one-to-one maps :math:`\pi` of clusters to classes. With more clusters than classes,
    some clusters match nothing and their points are errors; with fewer, some classes are missed.
    Noise is a cluster of its own that matches only noise: a point called noise is right exactly
    when its class is noise too.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The classes.
    y_pred : array-like of shape (n,)
        The clusters; their numbers have no meaning.
    noise : int or None
        The label that means noise, in both. Pass None when -1 is a class like any other, as in
        labels of -1 and +1.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics
    Quarterly 2, 1955: the matching.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [7, 7, 3, 3])
    1.0
    >>> clustering_accuracy([0, 0, 1, 1], [0, 1, 2, 2])
    0.75
    >>> clustering_accuracy([0, 0, 1, -1], [1, 1, -1, -1])
    0.75
    """
    true, pred = _labels(y_true, "y_true"), _labels(y_pred, "y_pred")
    if len(true) != len(pred):
        raise ValueError(f"y_true has {len(true)} labels, y_pred has {len(pred)}")
    if len(true) == 0:
        raise ValueError("y_true and y_pred are empty: there is nothing to score")
    true_noise, pred_noise = is_noise(true, noise), is_noise(pred, noise)
    placed = ~true_noise & ~pred_noise
    right = int(np.sum(true_noise & pred_noise))
    if placed.any():
        counts = _contingency(true[placed], pred[placed])
        right += int(counts[linear_sum_assignment(counts, maximize=True)].sum())
    return right / len(true)


class ReconstructionScore(NamedTuple):
    """How well rows are told by the centres of their clusters.

    Attributes
    ----------
    error : float
        Mean squared distance of a row to the centre of its cluster.
    explained : float
        Share of the variance that the centres explain: 1 less the error over that of one cluster.
        From 0 to 1; 1 where all rows are the same.
    """

    error: float
    explained: float


def reconstruction_score(X: ArrayLike, labels: ArrayLike) -> ReconstructionScore:
    r"""Score labels by how well rows are reconstructed from their clusters (generative).

    .. math:: \mathrm{error} = \frac{1}{n} \sum_j \|x_j - c_{l_j}\|^2, \qquad
              \mathrm{explained} = 1 - \frac{\mathrm{error}}
                                           {\frac{1}{n} \sum_j \|x_j - \bar x\|^2},

    with the means c of the clusters. It needs no classes, and any labels can be compared by it
    that have as many clusters: splitting a cluster never makes it worse. Noise (-1) has no cluster,
    and is told by the mean of all rows, so that leaving rows out never helps.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows, in units in which distances mean something.
    labels : array-like of shape (n,)
        Cluster of each row, -1 for noise.

    Returns
    -------
    ReconstructionScore

    Examples
    --------
    >>> X = [[0.0], [2.0], [10.0], [12.0]]
    >>> score = reconstruction_score(X, [0, 0, 1, 1])
    >>> score.error, round(score.explained, 3)
    (1.0, 0.962)
    """
    rows, found = np.asarray(X, dtype=np.float64), _labels(labels, "labels")
    if rows.ndim != 2 or rows.shape[0] != len(found) or rows.size == 0:
        raise ValueError(
            f"X has shape {rows.shape} and there are {len(found)} labels; give a table of numbers "
            "with a row for each label."
        )
    if not np.isfinite(rows).all():
        raise ValueError("X has NaN or infinity in it; leave such rows out, or fill the gaps.")
    centred = rows - rows.mean(axis=0)
    total = float(np.einsum("ij,ij->", centred, centred)) / len(found)
    placed = ~is_noise(found)
    _, cluster = np.unique(found[placed], return_inverse=True)
    sums = np.zeros((int(cluster.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, cluster, centred[placed])
    sizes = np.bincount(cluster, minlength=len(sums))
    left = centred.copy()
    left[placed] -= (sums / np.maximum(sizes, 1)[:, None])[cluster]
    error = float(np.einsum("ij,ij->", left, left)) / len(found)
    return ReconstructionScore(error, 1.0 - error / total if total > 0 else 1.0)


def n_clusters(labels: ArrayLike) -> int:
    """Count the clusters; noise, -1, is none.

    Parameters
    ----------
    labels : array-like of shape (n,)

    Returns
    -------
    int

    Examples
    --------
    >>> n_clusters([0, 0, 4, -1])
    2
    """
    return count_clusters(_labels(labels, "labels"))


def name_clusters(clusters: ArrayLike, partial_labels: ArrayLike) -> NDArray[np.int64]:
    """Class of each row: that of most labelled members of its cluster.

    Ties go to the class that comes first. Rows of a cluster without a labelled member, and noise,
    get -1: nothing is known of them.

    Parameters
    ----------
    clusters : array-like of shape (n,)
        Cluster of each row.
    partial_labels : array-like of shape (n,)
        Known classes as whole numbers, -1 where unknown.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> name_clusters([0, 0, 0, 1, 1, 2], [5, 5, -1, 7, -1, -1])
    array([ 5,  5,  5,  7,  7, -1])
    """
    found, known = _labels(clusters, "clusters"), _labels(partial_labels, "partial_labels")
    if len(found) != len(known):
        raise ValueError(f"clusters has {len(found)} labels, partial_labels has {len(known)}")
    if known.dtype.kind not in "iu":
        raise ValueError(
            f"partial_labels must be whole numbers, -1 where unknown; got {known.dtype}. "
            "np.unique(names, return_inverse=True) turns names into numbers."
        )
    named = np.full(len(found), -1, dtype=np.int64)
    voters = (known != -1) & ~is_noise(found, NOISE)
    if voters.any():
        classes, clusters_seen = np.unique(known[voters]), np.unique(found[voters])
        winner = classes[_contingency(known[voters], found[voters]).argmax(axis=0)]
        place = np.minimum(np.searchsorted(clusters_seen, found), len(clusters_seen) - 1)
        reached = clusters_seen[place] == found
        named[reached] = winner[place[reached]]
    return named


@dataclass(frozen=True)
class LabelledScore:
    """How well clusters tell the class of rows whose label was hidden.

    Attributes
    ----------
    error : float
        Share of hidden rows with a wrong class, once clusters are named by labelled members;
        rows of a cluster without any count as wrong.
    ari : float
        Adjusted Rand index of the clusters of the hidden rows.
    labelled_ari : float
        That of their classes, as named: it does not see a class in several clusters.
    n_clusters : int
        Clusters of all rows.
    """

    error: float
    ari: float
    labelled_ari: float
    n_clusters: int


def labelled_score(y_true: ArrayLike, clusters: ArrayLike, labelled: ArrayLike) -> LabelledScore:
    """Name clusters by the labelled rows and score the others.

    The protocol of Cheema's thesis (2016): a metric learned from the training part, clusters
    labelled by their training members, errors counted on the rest.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes of all rows.
    clusters : array-like of shape (n,)
        Cluster of each row.
    labelled : array-like of shape (n,) of bool
        Rows whose class was known; at least one is not.

    Returns
    -------
    LabelledScore

    Examples
    --------
    >>> labelled_score([0, 0, 0, 1, 1, 1], [3, 3, 3, 4, 4, 3], [1, 0, 0, 1, 0, 0]).error
    0.25
    """
    from sklearn.metrics import adjusted_rand_score

    true, found = _labels(y_true, "y_true"), _labels(clusters, "clusters")
    known = _labels(labelled, "labelled").astype(bool)
    if not len(true) == len(found) == len(known):
        raise ValueError(
            f"y_true has {len(true)} entries, clusters {len(found)}, labelled {len(known)}"
        )
    if known.all():
        raise ValueError("All rows are labelled: there is none left to score")
    classes = np.unique(true, return_inverse=True)[1]
    named = name_clusters(found, np.where(known, classes, -1))
    hidden = ~known
    return LabelledScore(
        error=float(np.mean(named[hidden] != classes[hidden])),
        ari=float(adjusted_rand_score(classes[hidden], found[hidden])),
        labelled_ari=float(adjusted_rand_score(classes[hidden], named[hidden])),
        n_clusters=n_clusters(found),
    )


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
    values = _labels(labels, "labels")
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


def _labels(labels: ArrayLike, name: str) -> NDArray[np.generic]:
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {values.shape}")
    return values


def _contingency(true: NDArray[np.generic], pred: NDArray[np.generic]) -> NDArray[np.int64]:
    """Points of each class (row) in each cluster (column)."""
    from sklearn.metrics.cluster import contingency_matrix

    return np.asarray(contingency_matrix(true, pred))


def _share(kept: int, asked: int) -> float:
    return kept / asked if asked else 1.0


def _read_only(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    pairs.flags.writeable = False
    return pairs
