r"""One boosted classifier for each cluster, from views of its own choice.

The classifier of cluster c adds up weak learners, dyadic hypercuts (eq. 8 of [1]_),

.. math:: f_c(x) = \sum_t h_t(x), \qquad
          h(x) = a \operatorname{sign}(k_m(x_p, x) - k_m(x_n, x) - \theta) + b,

with :math:`x_p` from the cluster and :math:`x_n` from the rest: "more like this one than like
that one, as view m sees it" (sign is -1 at zero). The loss is that of eq. 9,

.. math:: \sum_i \ln(1 + \exp(-\tilde y_{ic} f_c(x_i))), \qquad \tilde y_{ic} = \pm 1,

so that :math:`f_c` is the log-odds of belonging to c. LogitBoost [2]_ starts from zero and, with
:math:`p_i = 1 / (1 + e^{-f(x_i)})`, adds the h that fits the working response
:math:`z_i = (y_i - p_i) / w_i` best in squares weighted by :math:`w_i = p_i (1 - p_i)`. Here z is
held within 4 and w above 1e-5: a sample that looks mislabelled cannot pull hard.

With the exponential loss :math:`\sum_i \exp(-\tilde y_{ic} f_c(x_i))` instead (the paper's other
choice), :math:`f_c` is half the log-odds, and Newton's steps are those of Gentle AdaBoost [2]_:
:math:`w_i = \exp(-\tilde y_i f(x_i))` and :math:`z_i = \tilde y_i`.

Each round tries few fresh dyads, the same ones in every view, or all there are, as the paper does:
each member with each other sample. Projections
:math:`k_m(x_p, x) - k_m(x_n, x)` are put into 64 bins over the range that samples other than the
two ends have, and sums over bins tell the best cut. Of cuts that are equally good, which is common
when clusters are well apart, the one whose projections have the widest range counts, and then the
first: the first view, its first dyad, its lowest threshold. A round in which nothing can be cut
(constant kernels, all ends held out) adds a constant, a = 0.

Where the samples to learn from have no member of the cluster, or nothing but members, there is
nothing to learn, and the score is the constant

.. math:: \ln \frac{n_+ + 1/2}{n_- + 1/2},

counts being those of the samples to learn from: low, but finite, for an empty cluster. (Half of it
for the exponential loss.)

Random draws are seeded by a number from the random state and the cluster's first sample. Hence
numbering the clusters otherwise reorders the columns of the scores and changes nothing else; more
rounds begin with the same ones; neither the order of views nor the number of threads matters.

References
----------
.. [1] Y.-Y. Lin, T.-L. Liu, C.-S. Fuh, "Clustering Complex Data with Group-Dependent Feature
       Selection", ECCV 2010.
.. [2] J. Friedman, T. Hastie, R. Tibshirani, "Additive Logistic Regression: a Statistical View of
       Boosting", Annals of Statistics 28 (2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from linkshift._core.arrays import Array
from linkshift._core.messages import Refusal
from linkshift._core.threads import threads
from linkshift.groups._boosting_loops import boost
from linkshift.groups.views import Columns, KernelBank

Loss = Literal["log", "exp"]
Candidates = int | Literal["all"]

_CERTAIN = 15.0  # scores beyond this cost no more: exponentials must not swamp what others cost
_BLOCK_BYTES = 1 << 26  # of kernel columns computed at once, where the bank does not store them


@dataclass(frozen=True, eq=False)
class Classifiers:
    """Weak learners of every cluster: arrays of shape (n_clusters, n_rounds)."""

    view: Array  # m, the view that a weak learner looks at; -1 for a constant
    positive: Array  # training sample at this end of the dyad; -1 for a constant
    negative: Array
    threshold: Array  # see the formula at the top of this module
    a: Array
    b: Array
    gain: Array  # weighted squares of the response that the cut took away, beyond a constant
    start: Array  # (n_clusters,): zero, or the whole score of a cluster with nothing to learn from
    n_views: int

    @property
    def samples(self) -> Array:
        """Training samples whose kernel columns the scores need, in increasing order."""
        cuts = self.view >= 0
        return np.unique(np.concatenate([self.positive[cuts], self.negative[cuts]]))

    @property
    def view_importances(self) -> Array:
        r"""What each view has to say on each cluster, shape (n_clusters, n_views).

        A view's share in the sum of ``gain``; to second order, gain is twice what a weak learner
        takes off the loss. Rows sum to one; a cluster without any cut has equal shares.
        """
        sums = np.zeros((self.view.shape[0], self.n_views))
        for c in range(self.view.shape[0]):
            cuts = self.view[c] >= 0
            np.add.at(sums[c], self.view[c, cuts], self.gain[c, cuts])
        totals = sums.sum(axis=1, keepdims=True)
        even = np.full_like(sums, 1.0 / self.n_views)
        return np.divide(sums, totals, out=even, where=totals > 0)

    def scores(self, columns: Columns) -> Array:
        """Scores f_c of samples, shape (n, n_clusters).

        ``columns`` are ``bank.transform(new, samples=classifiers.samples)``, or, for the training
        samples, ``bank.columns(classifiers.samples)``.
        """
        values = columns.values
        out = np.tile(self.start, (values.shape[2], 1))
        for c, r in np.ndindex(*self.view.shape):
            m = self.view[c, r]
            if m < 0:
                out[:, c] += self.b[c, r]
                continue
            p, q = columns.positions([self.positive[c, r], self.negative[c, r]])
            above = values[m, p] - values[m, q] > self.threshold[c, r]
            out[:, c] += np.where(above, self.b[c, r] + self.a[c, r], self.b[c, r] - self.a[c, r])
        return out


def held_out_scores(
    bank: KernelBank,
    labels: ArrayLike,
    n_clusters: int,
    *,
    n_rounds: int,
    n_folds: int = 10,
    n_candidates: Candidates = 10,
    loss: Loss = "log",
    random_state: int | np.random.RandomState | None = None,
    n_threads: int = 1,
) -> Array:
    """Scores of samples by classifiers that were learned without them (section 4.3).

    Samples are dealt into folds anew at each call. A sample is scored by classifiers that have
    seen neither its label nor, as an end of a dyad, the sample itself; the other samples of its
    fold are left out with it. Only the ranges of the bins are taken from all samples.

    Parameters
    ----------
    bank : KernelBank
        Kernels of the n samples.
    labels : array-like of shape (n,)
        A cluster, 0 to n_clusters - 1, for each sample; some may be empty.
    n_clusters, n_rounds : int
        Number of clusters, C, and of weak learners in a classifier.
    n_folds : int, default=10
        Folds; no more than samples are made.
    n_candidates : int or "all", default=10
        Dyads tried in each round (in every view). All folds share them, and each leaves out those
        with an end in it: about a fifth of ten folds' dyads.
    loss : {"log", "exp"}, default="log"
        What the classifiers make small.
    random_state : int, RandomState or None, default=None
        Seed of folds and dyads.
    n_threads : int, default=1
        Clusters learned at once. Results do not depend on it.
    """
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {n_folds}: one holds out everything.")
    how = _How(n_rounds, n_candidates, loss)
    y = _check(bank, labels, how, n_clusters=n_clusters, n_threads=n_threads)
    random = check_random_state(random_state)
    n = y.size
    fold = random.permutation(n) % min(n_folds, n)
    seed = int(random.randint(np.iinfo(np.int32).max))
    out = np.empty((n, n_clusters))

    def one(c: int) -> None:
        scores = _learn(bank, y == c, fold, how, seed)[1]
        out[:, c] = scores[np.arange(n), fold]

    with threads(n_threads) as pool:  # each cluster writes to places of its own
        pool.map(one, range(n_clusters))
    return out


def fit_classifiers(
    bank: KernelBank,
    labels: ArrayLike,
    n_clusters: int,
    *,
    n_rounds: int,
    n_candidates: Candidates = 10,
    loss: Loss = "log",
    random_state: int | np.random.RandomState | None = None,
    n_threads: int = 1,
) -> Classifiers:
    """Learn the classifier of every cluster from all samples, to score new ones.

    On the samples that they were learned from, their scores are too good to be of use: for these
    see :func:`held_out_scores`, whose parameters mean the same.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift.groups.boosting import fit_classifiers
    >>> from linkshift.groups.views import kernel_bank
    >>> rng = np.random.RandomState(0)
    >>> y = np.repeat([0, 1], 30)
    >>> views = {"noise": rng.rand(60, 2), "signal": y[:, None] + rng.rand(60, 1)}
    >>> bank = kernel_bank(views)
    >>> classifiers = fit_classifiers(bank, y, 2, n_rounds=5, random_state=0)
    >>> classifiers.view_importances[:, 1] > 0.9
    array([ True,  True])
    >>> new = {"noise": np.zeros((2, 2)), "signal": np.array([[0.5], [1.5]])}
    >>> classifiers.scores(bank.transform(new, samples=classifiers.samples)).argmax(axis=1)
    array([0, 1])
    """
    how = _How(n_rounds, n_candidates, loss)
    y = _check(bank, labels, how, n_clusters=n_clusters, n_threads=n_threads)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    everyone = np.full(y.size, -1)  # in no fold: nobody is held out
    shape = (n_clusters, n_rounds)
    whole = np.full((3, *shape), -1, dtype=np.intp)
    real = np.zeros((4, *shape))
    start = np.zeros(n_clusters)

    def one(c: int) -> None:
        first, _, dyads, choice, cut = _learn(bank, y == c, everyone, how, seed)
        start[c] = first[0]
        view, dyad = choice[:, 0, 0], choice[:, 0, 1]
        cuts = np.flatnonzero(view >= 0)
        whole[0, c] = view
        whole[1:, c, cuts] = dyads[np.minimum(cuts, len(dyads) - 1), dyad[cuts]].T
        real[:, c] = cut[:, 0].T

    with threads(n_threads) as pool:  # each cluster writes to places of its own
        pool.map(one, range(n_clusters))
    view, positive, negative = whole
    threshold, a, b, gain = real
    return Classifiers(view, positive, negative, threshold, a, b, gain, start, bank.n_views)


def log_loss(scores: ArrayLike, labels: ArrayLike) -> Array:
    r"""Loss of each cluster's classifier (eq. 9), shape (n_clusters,).

    .. math:: \sum_i \ln(1 + \exp(-\tilde y_{ic} f_c(x_i)))

    Their sum is the objective of the method (eq. 2).
    """
    f = np.asarray(scores, dtype=np.float64)
    member = np.asarray(labels)[:, None] == np.arange(f.shape[1])
    return np.asarray(np.logaddexp(0.0, np.where(member, -f, f)).sum(axis=0))


def exp_loss(scores: ArrayLike, labels: ArrayLike) -> Array:
    r"""Exponential loss of each cluster's classifier, shape (n_clusters,).

    .. math:: \sum_i \exp(-\tilde y_{ic} f_c(x_i))

    Scores beyond 15 count as 15, here and in the costs of `assignment_costs`.
    """
    f = np.clip(np.asarray(scores, dtype=np.float64), -_CERTAIN, _CERTAIN)
    member = np.asarray(labels)[:, None] == np.arange(f.shape[1])
    return np.asarray(np.exp(np.where(member, -f, f)).sum(axis=0))


#: The loss of each cluster's classifier by name.
LOSSES = {"log": log_loss, "exp": exp_loss}


def assignment_costs(scores: Array, loss: Loss) -> Array:
    r"""Give the cost of each cluster for each sample (eq. 13), but for a constant a sample.

    It is the loss as a member less the loss as none: :math:`-f_c` for the loss of log-likelihood,
    :math:`e^{-f_c} - e^{f_c}` for the exponential one.
    """
    if loss == "log":
        return -scores
    return np.asarray(-2.0 * np.sinh(np.clip(scores, -_CERTAIN, _CERTAIN)))


class _How(NamedTuple):
    """What classifiers are made of."""

    n_rounds: int
    n_candidates: Candidates
    loss: Loss


def _learn(
    bank: KernelBank, member: Array, fold: Array, how: _How, seed: int
) -> tuple[Array, Array, Array, Array, Array]:
    """One cluster against the rest, in all folds.

    Gives constants to start from, scores (n, folds), dyads (rounds, candidates, 2), and what
    ``boost`` chose of them. Where all dyads are tried, they stand there once for all rounds.
    """
    n_rounds, n_candidates, exponential = how.n_rounds, how.n_candidates, how.loss == "exp"
    n_folds = max(int(fold.max()) + 1, 1)
    learning = fold[:, None] != np.arange(n_folds)
    inside = (learning & member[:, None]).sum(axis=0)
    outside = learning.sum(axis=0) - inside
    learns = (inside > 0) & (outside > 0)
    odds = np.log((inside + 0.5) / (outside + 0.5))
    start = np.where(learns, 0.0, 0.5 * odds if exponential else odds)
    scores = np.tile(start, (member.size, 1))
    choice = np.full((n_rounds, n_folds, 2), -1, dtype=np.int64)
    cut = np.zeros((n_rounds, n_folds, 4))
    if not learns.any():
        return start, scores, np.empty((0, 0, 2), dtype=np.int64), choice, cut
    given = (member.astype(np.float64), fold, learns, exponential)
    if n_candidates == "all":
        assert bank.values is not None  # _check has seen to it
        dyads = all_dyads(member)[None]
        boost(bank.values, dyads, dyads, *given, scores, choice, cut)
        return start, scores, dyads, choice, cut
    dyads = draw_dyads(member, n_rounds, n_candidates, seed)
    step = n_rounds
    if bank.values is None:
        step = max(1, _BLOCK_BYTES // (4 * bank.n_views * bank.n_samples * 2 * n_candidates))
    for first in range(0, n_rounds, step):
        part = slice(first, first + step)
        columns = bank.columns(dyads[part])
        ends = columns.positions(dyads[part])
        boost(columns.values, ends, dyads[part], *given, scores, choice[part], cut[part])
    return start, scores, dyads, choice, cut


def draw_dyads(member: Array, n_rounds: int, n_candidates: int, seed: int) -> Array:
    """Draw dyads: samples of the cluster and of the rest, shape (n_rounds, n_candidates, 2)."""
    inside, outside = np.flatnonzero(member), np.flatnonzero(~member)
    # The first sample names the cluster whatever its number; one more number for each draw keeps
    # the first rounds the same when there are more.
    random = np.random.RandomState([seed, int(inside[0])])
    share = random.random_sample((n_rounds, n_candidates, 2))
    towards = inside[(share[..., 0] * inside.size).astype(np.intp)]
    away = outside[(share[..., 1] * outside.size).astype(np.intp)]
    return np.stack([towards, away], axis=-1).astype(np.int64)


def all_dyads(member: Array) -> Array:
    """All samples of the cluster with all of the rest, shape (N+ N-, 2)."""
    inside, outside = np.flatnonzero(member), np.flatnonzero(~member)
    pairs = np.meshgrid(inside, outside, indexing="ij")
    return np.stack(pairs, axis=-1).reshape(-1, 2).astype(np.int64)


def _check(bank: KernelBank, labels: ArrayLike, how: _How, **counts: int) -> Array:
    """Labels as integers; refuse what makes no sense."""
    if how.loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {how.loss!r}.")
    counts |= {"n_rounds": how.n_rounds}
    if how.n_candidates != "all":
        counts |= {"n_candidates": how.n_candidates}
    elif bank.values is None:
        raise Refusal(
            f'n_candidates="all" needs the kernels of all pairs in memory, and those of '
            f"{bank.n_samples} samples in {bank.n_views} views are too large.",
            "Take a number of candidates, or fewer samples.",
            parameter="n_candidates",
            value="all",
        )
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    n_clusters = counts["n_clusters"]
    y = np.asarray(labels)
    if y.shape != (bank.n_samples,):
        raise ValueError(
            f"labels must hold one cluster for each of the {bank.n_samples} samples of the bank; "
            f"their shape is {y.shape}."
        )
    if y.dtype.kind not in "iu":
        raise TypeError(f"labels must be integers, 0 to n_clusters - 1; they are {y.dtype}.")
    if y.min() < 0 or y.max() >= n_clusters:
        raise ValueError(
            f"labels must lie between 0 and n_clusters - 1 = {n_clusters - 1}; they go from "
            f"{y.min()} to {y.max()}."
        )
    return y
