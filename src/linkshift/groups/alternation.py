r"""Classifiers from labels and labels from classifiers, in turn, from one partition.

The method looks for labels that classifiers of their own can tell apart with the least loss [1]_,

.. math:: \min_{Y, \{f_c\}} \sum_{c=1}^C \sum_{i=1}^n \ln(1 + \exp(-\tilde y_{ic} f_c(x_i)))

over partitions Y that respect size bounds and links (eq. 2 to 9). In iteration t = 0, 1, ...

1. each cluster's classifier is learned from the labels, with base + t step weak learners, and
   scores all samples held out (:func:`linkshift.groups.boosting.held_out_scores`);
2. labels are the cheapest ones under the constraints (:func:`linkshift.groups.assignment.assign`).
   The cost of putting sample i into c (eq. 13) is

   .. math:: d_{ic} = \ln(1 + e^{-f_c}) + \sum_{c' \ne c} \ln(1 + e^{f_{c'}})
                    = -f_c(x_i) + \sum_{c'} \ln(1 + e^{f_{c'}(x_i)}),

   and the sum does not depend on c: labels maximise the sum of the scores.

The paper stops when the loss does not fall (``stop="rise"``). Here that is no reason to stop by
default: folds and weak learners are drawn anew in every iteration and the number of weak learners
grows, so that the loss goes up and down while labels still improve. For the same reason the labels
to take are the last ones: those of least loss among the last few are no better.

References
----------
.. [1] Y.-Y. Lin, T.-L. Liu, C.-S. Fuh, "Clustering Complex Data with Group-Dependent Feature
       Selection", ECCV 2010, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from linkshift.groups.assignment import assign
from linkshift.groups.boosting import LOSSES, Loss, assignment_costs, held_out_scores
from linkshift.groups.spectral import kernel_factor, spectral_clusters
from linkshift.groups.views import KernelBank
from linkshift.links import ClosedLinks, Links

Seed = int | np.random.RandomState | None

_AT_REST = 2  # iterations without any change, after which more are not expected
_ROUGH = 0.1  # gap of partitions to begin with: any does
_NEAR = 1e-3  # gap of labels in between, which the next iteration changes anyway
_LANDMARKS = 1000  # most samples that a spectral partition looks at


@dataclass(frozen=True, eq=False)
class Alternation:
    """The path from one partition to another."""

    partitions: NDArray[np.int64]  # (n_iter + 1, n): labels before the first iteration, after each
    loss: NDArray[np.float64]  # objective (eq. 2) of the new labels, on held-out scores
    changed: NDArray[np.float64]  # share of the samples that were given another label

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labels after the last iteration."""
        return self.partitions[-1]

    def last(self, count: int) -> NDArray[np.int64]:
        """Labels after each of the last iterations, up to ``count``, one row for each.

        An alternation that came to rest early stands for as many equal rows.
        """
        made = self.partitions[1:][-count:]
        return np.concatenate([made, np.repeat(made[-1:], count - len(made), 0)])

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return self.loss.size


def random_partition(
    n: int, n_clusters: int, *, random_state: Seed = None, **constraints: Any
) -> NDArray[np.int64]:
    """Draw a partition into clusters of similar sizes that breaks no certain link.

    Every sample wants to go somewhere else: costs are uniform. Links of confidence below one play
    no part yet. ``constraints`` are the ``size_bounds`` and ``links`` of `assign`, here and below.
    """
    costs = check_random_state(random_state).random_sample((n, n_clusters))
    return assign(costs, link_weight=0.0, gap=_ROUGH, **constraints).labels


def spectral_partition(
    bank: KernelBank, n_clusters: int, *, random_state: Seed = None, **constraints: Any
) -> NDArray[np.int64]:
    """Cluster a random mixture of the kernels, under size bounds and certain links.

    The weights of the kernels are uniform among those that sum to one, so that every call sees
    other views. With many samples, kernels are seen through a thousand landmarks. Links of
    confidence below one play no part yet.
    """
    random = check_random_state(random_state)
    n = bank.n_samples
    weights = random.dirichlet(np.ones(bank.n_views))
    landmarks = np.sort(random.permutation(n)[:_LANDMARKS])
    columns = bank.columns(landmarks)
    mixture = np.tensordot(weights, columns.values[:, columns.positions(landmarks)], axes=1).T
    factor = kernel_factor(mixture, landmarks)
    distances = spectral_clusters(factor, n_clusters, random_state=random)[1]
    # Bounds may want more clusters than there are different samples: then any sample may go.
    costs = distances / max(float(distances.mean()), np.finfo(np.float64).tiny)
    return assign(costs, link_weight=0.0, gap=_ROUGH, **constraints).labels


def alternate(
    bank: KernelBank,
    labels: ArrayLike,
    n_clusters: int,
    *,
    size_bounds: tuple[int, int] | None = None,
    links: Links | ClosedLinks | None = None,
    base: int = 5,
    step: int = 2,
    max_iter: int = 20,
    stop: Literal["rest", "rise"] = "rest",
    loss: Loss = "log",
    random_state: Seed = None,
    **boosting: Any,
) -> Alternation:
    """Learn classifiers and assign labels in turn, beginning with the given labels.

    Iteration t = 0, 1, ... has base + t step weak learners: later ones trust the labels more. Ends
    after ``max_iter`` iterations, or when two in a row have changed no label; with ``stop="rise"``
    also before the first iteration whose loss is not below the last one's, which is not kept.
    Links of confidence 1 hold in every iteration; others have a price. ``boosting`` are the other
    parameters of :func:`linkshift.groups.boosting.held_out_scores`, which takes ``loss`` too.

    Examples
    --------
    Two clusters; seven of twenty labels are wrong in the first, and ten in the second.

    >>> import numpy as np
    >>> from linkshift.groups.alternation import alternate
    >>> from linkshift.groups.views import kernel_bank
    >>> X = np.repeat([[0.0], [5.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    >>> start = np.arange(40) // 10 % 2
    >>> start[:3] = 1
    >>> path = alternate(kernel_bank([X]), start, 2, size_bounds=(18, 22), random_state=0)
    >>> path.labels
    array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0,
           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """
    random = check_random_state(random_state)
    partitions = [np.asarray(labels).astype(np.int64)]
    losses: list[float] = []
    changed: list[float] = []
    for t in range(max_iter):
        n_rounds = base + t * step
        scores = held_out_scores(
            bank,
            partitions[-1],
            n_clusters,
            n_rounds=n_rounds,
            loss=loss,
            random_state=random,
            **boosting,
        )
        costs = assignment_costs(scores, loss)
        found = assign(costs, size_bounds=size_bounds, links=links, gap=_NEAR).labels
        lost = float(LOSSES[loss](scores, found).sum())
        if stop == "rise" and losses and lost >= losses[-1]:
            break
        losses.append(lost)
        changed.append(float((found != partitions[-1]).mean()))
        partitions.append(found)
        if changed[-_AT_REST:] == [0.0] * _AT_REST:
            break
    return Alternation(np.array(partitions), np.array(losses), np.array(changed))
