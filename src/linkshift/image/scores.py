"""How close a segmentation is to those that people drew: by regions, not by boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.cluster import contingency_matrix

from linkshift._core.arrays import Array


@dataclass(frozen=True)
class SegmentationScores:
    """A segmentation against those of several people, each score a mean over them.

    Attributes
    ----------
    rand_index : float
        Probabilistic Rand index, from 0 to 1; more is better.
    variation_of_information : float
        In bits; less is better.
    covering : float
        Covering of the people's regions, from 0 to 1; more is better.
    """

    rand_index: float
    variation_of_information: float
    covering: float


@dataclass(frozen=True)
class _Overlap:
    """Sizes of the regions of two segmentations, and of their intersections that are not empty."""

    n: int
    own: Array
    human: Array
    row: Array  # region of the segmentation, of each intersection
    column: Array  # region of the person
    common: Array


def segmentation_scores(
    segmentation: ArrayLike, humans: ArrayLike | Sequence[ArrayLike]
) -> SegmentationScores:
    """Score a segmentation against those that people drew of the same image.

    Parameters
    ----------
    segmentation : array-like of shape (h, w), of whole numbers
        Label of each pixel. Labels have no meaning but being the same or not; a region is all
        pixels of a label, connected or not.
    humans : array-like of shape (h, w) or (people, h, w), or a sequence of (h, w)
        One or several segmentations to compare with.

    Returns
    -------
    SegmentationScores
        What the three functions below give, of one pass.

    Examples
    --------
    >>> from linkshift.image import segmentation_scores
    >>> left_right = [[0, 0, 1, 1], [0, 0, 1, 1]]
    >>> segmentation_scores(left_right, [left_right, [[5, 5, 5, 5], [5, 5, 5, 5]]])
    SegmentationScores(rand_index=0.714..., variation_of_information=0.5, covering=0.75)
    """
    overlaps = list(_overlaps(segmentation, humans))
    return SegmentationScores(_mean(_rand, overlaps), _mean(_vi, overlaps), _mean(_cover, overlaps))


def probabilistic_rand_index(
    segmentation: ArrayLike, humans: ArrayLike | Sequence[ArrayLike]
) -> float:
    r"""Share of pairs of pixels on which the segmentation and a person agree.

    .. math:: \mathrm{PRI} = \binom{n}{2}^{-1} \sum_{i < j}
              \bigl( c_{ij} p_{ij} + (1 - c_{ij}) (1 - p_{ij}) \bigr),

    where :math:`c_{ij}` says whether pixels i and j are together and :math:`p_{ij}` is the share
    of people who put them together: the mean of the Rand index over people. A single pixel, of
    which there are no pairs, agrees.

    Parameters as in :func:`segmentation_scores`.

    References
    ----------
    R. Unnikrishnan, C. Pantofaru, M. Hebert: Toward Objective Evaluation of Image Segmentation
    Algorithms. IEEE TPAMI 29 (6), 2007. P. Arbelaez, M. Maire, C. Fowlkes, J. Malik: Contour
    Detection and Hierarchical Image Segmentation. IEEE TPAMI 33 (5), 2011, section 2.3.2.

    Examples
    --------
    >>> from linkshift.image import probabilistic_rand_index
    >>> probabilistic_rand_index([[0, 0, 1]], [[0, 1, 1]])
    0.333...
    """
    return _mean(_rand, list(_overlaps(segmentation, humans)))


def variation_of_information(
    segmentation: ArrayLike, humans: ArrayLike | Sequence[ArrayLike]
) -> float:
    r"""Information that the segmentation and a person's do not share, in bits.

    .. math:: \mathrm{VI}(S, G) = H(S) + H(G) - 2 I(S, G),

    with the entropies and the mutual information of the label of a random pixel; the mean over
    people. Zero where both are the same.

    Parameters as in :func:`segmentation_scores`.

    References
    ----------
    M. Meila: Comparing clusterings, an axiomatic view. ICML 2005. Arbelaez et al. 2011, section
    2.3.1.

    Examples
    --------
    >>> from linkshift.image import variation_of_information
    >>> variation_of_information([[0, 0, 1, 1]], [[0, 1, 0, 1]])
    2.0
    """
    return _mean(_vi, list(_overlaps(segmentation, humans)))


def segmentation_covering(
    segmentation: ArrayLike, humans: ArrayLike | Sequence[ArrayLike]
) -> float:
    r"""Overlap of each of a person's regions with the region that fits it best, by their sizes.

    .. math:: \mathcal{C}(S \to G) = \frac{1}{n} \sum_{R \in G} |R| \max_{R' \in S}
              \frac{|R \cap R'|}{|R \cup R'|},

    the mean over people.

    Parameters as in :func:`segmentation_scores`.

    References
    ----------
    Arbelaez et al. 2011, section 2.3.3 and equation 10: the covering of the human segmentations by
    the machine's.

    Examples
    --------
    >>> from linkshift.image import segmentation_covering
    >>> segmentation_covering([[0, 0, 0, 0]], [[0, 0, 0, 1]])
    0.625
    """
    return _mean(_cover, list(_overlaps(segmentation, humans)))


def _mean(score: Any, overlaps: list[_Overlap]) -> float:
    return float(np.mean([score(overlap) for overlap in overlaps]))


def _rand(overlap: _Overlap) -> float:
    if overlap.n == 1:
        return 1.0
    own, human, both = (
        float((sizes.astype(np.float64) ** 2).sum())
        for sizes in (overlap.own, overlap.human, overlap.common)
    )
    return 1.0 - (own + human - 2.0 * both) / (float(overlap.n) * (overlap.n - 1))


def _vi(overlap: _Overlap) -> float:
    def entropy(sizes: Array) -> float:
        share = sizes / overlap.n
        return -float((share * np.log2(share)).sum())

    # I = H(S) + H(G) - H(S, G)
    value = 2.0 * entropy(overlap.common) - entropy(overlap.own) - entropy(overlap.human)
    return max(value, 0.0)  # the same up to rounding


def _cover(overlap: _Overlap) -> float:
    union = overlap.own[overlap.row] + overlap.human[overlap.column] - overlap.common
    best = np.zeros(len(overlap.human))
    np.maximum.at(best, overlap.column, overlap.common / union)
    return float((overlap.human * best).sum() / overlap.n)


def _overlaps(
    segmentation: ArrayLike, humans: ArrayLike | Sequence[ArrayLike]
) -> Iterator[_Overlap]:
    labels = _check(segmentation, "segmentation")
    people: list[Any] = list(humans)  # type: ignore[arg-type]
    if people and np.ndim(people[0]) == 1:  # rows of the only one
        people = [humans]
    if not people:
        raise ValueError("humans holds no segmentation; give at least one of shape (h, w).")
    for i, person in enumerate(people):
        other = _check(person, f"humans[{i}]")
        if other.shape != labels.shape:
            raise ValueError(
                f"humans[{i}] has shape {other.shape} and segmentation {labels.shape}; they must "
                "be of the same image."
            )
        table = contingency_matrix(labels.ravel(), other.ravel(), sparse=True).tocoo()
        own, human = (np.asarray(table.sum(axis=axis)).ravel() for axis in (1, 0))
        yield _Overlap(labels.size, own, human, table.row, table.col, table.data)


def _check(labels: ArrayLike, name: str) -> Array:
    array = np.asarray(labels)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape}; it must be (h, w), with at least one pixel."
        )
    if array.dtype.kind not in "iub":
        raise TypeError(
            f"{name} is of dtype {array.dtype}; labels are whole numbers. Convert it, for example "
            "with labels.astype(np.int64)."
        )
    return array
