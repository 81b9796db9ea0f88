import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import boosting as twin

from linkshift._core.messages import Refusal
from linkshift.groups import boosting as module
from linkshift.groups._boosting_loops import boost
from linkshift.groups.boosting import (
    LOSSES,
    assignment_costs,
    draw_dyads,
    exp_loss,
    fit_classifiers,
    held_out_scores,
    log_loss,
)
from linkshift.groups.views import kernel_bank


def setting(seed=0, n=60, n_clusters=3, n_views=2, apart=2.0, **options):
    rng = np.random.RandomState(seed)
    y = rng.permutation(n) % n_clusters
    views = [
        rng.normal(size=(n, 2)) + apart * rng.normal(size=(n_clusters, 2))[y]
        for _ in range(n_views)
    ]
    return kernel_bank(views, **options), y


def folds_and_seed(n, n_folds, random_state):
    random = np.random.RandomState(random_state)
    fold = random.permutation(n) % min(n_folds, n)
    return fold, int(random.randint(np.iinfo(np.int32).max))


def prior(y, n_clusters):
    """Loss of constant scores, the log-odds of each cluster's share."""
    share = np.bincount(y, minlength=n_clusters) / y.size
    return log_loss(np.tile(np.log(share / (1 - share)), (y.size, 1)), y)


@pytest.mark.parametrize("n_folds", [2, 3, 4, 5, 8, 10])  # with and without odd lanes
@pytest.mark.parametrize("seed", range(2))
def test_held_out_scores_are_the_literal_ones(seed, n_folds):
    bank, y = setting(seed, n=40)
    scores = held_out_scores(
        bank, y, 3, n_rounds=5, n_folds=n_folds, n_candidates=3, random_state=seed
    )
    fold, number = folds_and_seed(y.size, n_folds, seed)
    for c in range(3):
        dyads = draw_dyads(y == c, 5, 3, number)
        expected = twin.held_out(bank.values, y == c, fold, dyads)
        np.testing.assert_allclose(scores[:, c], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_classifiers_are_the_literal_ones(seed):
    bank, y = setting(seed, n=40)
    found = fit_classifiers(bank, y, 3, n_rounds=5, n_candidates=4, random_state=seed)
    number = int(np.random.RandomState(seed).randint(np.iinfo(np.int32).max))
    scores = found.scores(bank.columns(found.samples))
    for c in range(3):
        dyads = draw_dyads(y == c, 5, 4, number)
        expected, stumps = twin.boosted(bank.values, y == c, np.ones(40, bool), dyads)
        np.testing.assert_allclose(scores[:, c], expected, rtol=1e-8, atol=1e-8)
        fields = (found.view, found.positive, found.negative, found.threshold)
        fields += (found.a, found.b, found.gain)
        ours = np.array([field[c] for field in fields]).T
        np.testing.assert_allclose(ours, np.array(stumps), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["log", "exp"])
def test_all_candidates_are_the_literal_pool(loss):
    # Ten folds' classifiers of every member with every other sample: section 4 as printed.
    bank, y = setting(3, n=18)
    options = {"n_rounds": 3, "n_candidates": "all", "loss": loss, "random_state": 0}
    scores = held_out_scores(bank, y, 3, n_folds=4, **options)
    fold, _ = folds_and_seed(y.size, 4, 0)
    found = fit_classifiers(bank, y, 3, **options)
    whole = found.scores(bank.columns(found.samples))
    for c in range(3):
        dyads = [twin.every_dyad(y == c)] * 3
        expected = twin.held_out(bank.values, y == c, fold, dyads, loss)
        np.testing.assert_allclose(scores[:, c], expected, rtol=1e-8, atol=1e-8)
        expected, stumps = twin.boosted(bank.values, y == c, np.ones(18, bool), dyads, loss)
        np.testing.assert_allclose(whole[:, c], expected, rtol=1e-8, atol=1e-8)
        assert [tuple(s[:3]) for s in stumps] == list(
            zip(found.view[c], found.positive[c], found.negative[c], strict=True)
        )


def test_bins_seldom_miss_the_best_hypercut():
    ratios = []
    for seed in range(4):
        bank, y = setting(seed, n=24, apart=0.7)
        found = fit_classifiers(bank, y, 3, n_rounds=1, n_candidates="all", random_state=0)
        few = fit_classifiers(bank, y, 3, n_rounds=1, n_candidates=3, random_state=0)
        assert (few.gain <= found.gain * (1 + 1e-9)).all()
        for c in range(3):
            w, z = twin.working(y == c, np.zeros(24), "log")
            exact = twin.best_hypercut(bank.values, y == c, np.ones(24, bool), w, z)
            ratios.append(found.gain[c, 0] / exact)
    assert max(ratios) < 1 + 1e-9
    assert min(ratios) > 0.75
    assert np.median(ratios) > 1 - 1e-9


def test_the_exponential_loss_falls_and_has_costs_of_its_own():
    bank, y = setting(apart=3.0)
    losses = []
    for n_rounds in (1, 3, 9, 27):
        found = fit_classifiers(bank, y, 3, n_rounds=n_rounds, loss="exp", random_state=0)
        losses.append(exp_loss(found.scores(bank.columns(found.samples)), y).sum())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.05 * 3 * y.size
    scores = np.random.RandomState(0).normal(size=(y.size, 3))
    for loss, total in LOSSES.items():
        costs = assignment_costs(scores, loss)
        other = (y + 1) % 3
        rows = np.arange(y.size)
        assert total(scores, y).sum() - total(scores, other).sum() == pytest.approx(
            (costs[rows, y] - costs[rows, other]).sum()
        )


def test_all_candidates_need_all_kernels_in_memory():
    bank, y = setting(max_bytes=0)
    with pytest.raises(Refusal, match="Take a number of candidates"):
        fit_classifiers(bank, y, 3, n_rounds=1, n_candidates="all")


def test_five_points_by_hand():
    # Two members left, three others right. The first cut parts them: p = 1/2, w = 1/4, z = +-2.
    bank = kernel_bank([np.array([[0.0], [0.1], [5.0], [5.1], [5.2]])], gamma=1.0)
    y = np.array([0, 0, 1, 1, 1])
    found = fit_classifiers(bank, y, 2, n_rounds=1, random_state=0)
    scores = found.scores(bank.columns(found.samples))
    np.testing.assert_allclose(scores[:, 0], [2, 2, -2, -2, -2], rtol=1e-6)
    np.testing.assert_allclose(scores[:, 1], -scores[:, 0], rtol=1e-6)
    np.testing.assert_allclose(found.a, 2.0)
    np.testing.assert_allclose(found.b, 0.0, atol=1e-12)
    # Weighted squares about the mean -0.4: (2 * 2.4^2 + 3 * 1.6^2) / 4.
    np.testing.assert_allclose(found.gain, (2 * 2.4**2 + 3 * 1.6**2) / 4)


def test_loss_falls_on_the_samples_learned_from():
    bank, y = setting(apart=3.0)
    losses = []
    for n_rounds in (1, 3, 9, 27):
        found = fit_classifiers(bank, y, 3, n_rounds=n_rounds, random_state=0)
        losses.append(log_loss(found.scores(bank.columns(found.samples)), y).sum())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.05 * prior(y, 3).sum()


def test_held_out_scores_find_clusters_that_are_there():
    bank, y = setting(n=150, n_clusters=5, apart=6.0, seed=3)
    scores = held_out_scores(bank, y, 5, n_rounds=15, random_state=0)
    assert (scores.argmax(axis=1) == y).mean() > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_only_held_out_scores_see_that_labels_are_random(seed):
    bank, _ = setting(seed, n=200)
    y = np.random.RandomState(seed).permutation(200) % 4
    nothing = prior(y, 4).sum()
    found = fit_classifiers(bank, y, 4, n_rounds=30, random_state=seed)
    assert log_loss(found.scores(bank.columns(found.samples)), y).sum() < 0.8 * nothing
    held_out = held_out_scores(bank, y, 4, n_rounds=30, random_state=seed)
    assert log_loss(held_out, y).sum() > nothing


def test_no_end_of_a_dyad_is_scored_by_its_own_fold():
    # Every sample is alike to itself only: who is an end is known by its own score alone.
    n = 40
    bank = kernel_bank([np.eye(n)], metric="kernel")
    y = np.arange(n) % 2
    scores = held_out_scores(bank, y, 2, n_rounds=10, random_state=0)
    fold, _ = folds_and_seed(n, 10, 0)
    for j in range(10):
        for c in range(2):
            assert np.unique(scores[fold == j, c]).size == 1


@pytest.mark.parametrize("far", [-800.0, -1000.0])
def test_scores_beyond_doubt_are_alike(far):
    # Members that are taken for others pull with the same force, however far off they are.
    bank, y = setting()
    member = (y == 0).astype(float)
    dyads = draw_dyads(y == 0, 1, 5, 0)
    found = []
    for start in (-50.0, far):
        scores = np.where(member, start, -3.0)[:, None] * np.ones(2)
        choice, cut = np.zeros((1, 2, 2), int), np.zeros((1, 2, 4))
        fold, learns = np.arange(60) % 2, np.ones(2, bool)
        boost(bank.values, dyads, dyads, member, fold, learns, False, scores, choice, cut)
        found.append((choice, cut))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)
    assert (found[0][1][..., 3] > 0).any()


def test_threads_do_not_matter():
    bank, y = setting(n=80, n_clusters=4)
    one, two, many = (
        held_out_scores(bank, y, 4, n_rounds=5, random_state=1, n_threads=k) for k in (1, 2, 7)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, many)
    found = [fit_classifiers(bank, y, 4, n_rounds=5, random_state=1, n_threads=k) for k in (1, 3)]
    np.testing.assert_array_equal(found[0].threshold, found[1].threshold)


@pytest.mark.parametrize("block_bytes", [1, 1 << 26])
def test_a_bank_that_is_not_stored_gives_the_same(monkeypatch, block_bytes):
    monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
    stored, y = setting(n=50)
    computed, _ = setting(n=50, max_bytes=0)
    assert computed.values is None
    options = {"n_rounds": 7, "random_state": 2}
    np.testing.assert_allclose(
        held_out_scores(stored, y, 3, **options),
        held_out_scores(computed, y, 3, **options),
        rtol=1e-6,
    )
    a, b = (fit_classifiers(bank, y, 3, **options) for bank in (stored, computed))
    np.testing.assert_array_equal(a.positive, b.positive)
    np.testing.assert_allclose(
        a.scores(stored.columns(a.samples)), b.scores(computed.columns(b.samples)), rtol=1e-6
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(4)))
def test_numbering_clusters_otherwise_reorders_columns(seed, order):
    bank, y = setting(seed, n=40, n_clusters=4)
    order = np.array(order)
    options = {"n_rounds": 4, "n_candidates": 3, "random_state": seed}
    scores = held_out_scores(bank, y, 4, **options)
    other = held_out_scores(bank, order[y], 4, **options)
    np.testing.assert_array_equal(other[:, order], scores)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), order=st.permutations(range(3)))
def test_the_order_of_views_does_not_matter(seed, order):
    bank, y = setting(seed, n=40, n_views=3)
    kernels = list(bank.values.astype(np.float64))
    turned = kernel_bank([kernels[m] for m in order], metric="kernel")
    options = {"n_rounds": 4, "random_state": seed}
    np.testing.assert_allclose(
        held_out_scores(turned, y, 3, **options), held_out_scores(bank, y, 3, **options)
    )
    one, other = (fit_classifiers(b, y, 3, **options) for b in (bank, turned))
    np.testing.assert_allclose(
        other.view_importances, one.view_importances[:, list(order)], atol=1e-12
    )
    np.testing.assert_allclose(one.view_importances.sum(axis=1), 1.0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), fewer=st.integers(1, 6))
def test_more_rounds_begin_with_the_same(seed, fewer):
    bank, y = setting(seed, n=40)
    long, short = (fit_classifiers(bank, y, 3, n_rounds=r, random_state=seed) for r in (7, fewer))
    np.testing.assert_array_equal(long.threshold[:, :fewer], short.threshold)
    np.testing.assert_array_equal(long.view[:, :fewer], short.view)


def test_each_cluster_is_told_by_its_own_view():
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(3), 40)
    views = [rng.normal(size=(120, 2)) + 8.0 * (y == c)[:, None] for c in range(3)]
    found = fit_classifiers(kernel_bank(views), y, 3, n_rounds=10, random_state=0)
    np.testing.assert_array_equal(found.view_importances.argmax(axis=1), np.arange(3))


def test_new_samples_are_scored_as_old_ones():
    bank, y = setting()
    rng = np.random.RandomState(0)
    A, B = rng.rand(60, 2) + y[:, None], rng.rand(60, 3)
    bank = kernel_bank([A, B])
    found = fit_classifiers(bank, y, 3, n_rounds=8, random_state=0)
    old = found.scores(bank.columns(found.samples))
    new = found.scores(bank.transform([A, B], samples=found.samples))
    # Equal up to a sample whose projection is a rounding error away from a threshold.
    np.testing.assert_allclose(new, old)
    with pytest.raises(ValueError, match="have no column here"):
        found.scores(bank.transform([A, B], samples=found.samples[1:]))


def test_draws_are_from_the_cluster_and_from_the_rest_evenly():
    member = np.arange(50) % 5 == 0
    dyads = draw_dyads(member, 100, 100, 3)
    ends, counts = np.unique(dyads[..., 0], return_counts=True)
    np.testing.assert_array_equal(ends, np.flatnonzero(member))
    # 10,000 draws from 10: within five standard deviations of 1,000.
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(900)
    ends, counts = np.unique(dyads[..., 1], return_counts=True)
    np.testing.assert_array_equal(ends, np.flatnonzero(~member))
    assert np.abs(counts - 250).max() < 5 * np.sqrt(250)


def test_an_empty_cluster_scores_a_low_constant():
    bank, y = setting()
    scores = held_out_scores(bank, y, 4, n_rounds=5, random_state=0)
    np.testing.assert_allclose(scores[:, 3], np.log(0.5 / 54.5))  # 54 of 60 to learn from
    found = fit_classifiers(bank, y, 4, n_rounds=5, random_state=0)
    np.testing.assert_allclose(found.scores(bank.columns(found.samples))[:, 3], np.log(0.5 / 60.5))
    np.testing.assert_allclose(found.view_importances[3], 0.5)
    assert (found.view[3] == -1).all()


def test_the_only_sample_of_a_cluster_falls_back_to_the_prior():
    bank, y = setting()
    y = y.copy()
    y[7] = 3
    scores = held_out_scores(bank, y, 4, n_rounds=5, random_state=0)
    fold, _ = folds_and_seed(60, 10, 0)
    np.testing.assert_allclose(scores[fold == fold[7], 3], np.log(0.5 / 54.5))
    assert np.isfinite(scores).all()


def test_all_samples_in_one_cluster():
    bank, _ = setting()
    scores = held_out_scores(bank, np.zeros(60, int), 2, n_rounds=5, random_state=0)
    np.testing.assert_allclose(scores[:, 0], np.log(54.5 / 0.5))
    np.testing.assert_allclose(scores[:, 1], np.log(0.5 / 54.5))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_fewer_samples_than_folds(n):
    bank = kernel_bank([np.arange(n, dtype=float)[:, None]])
    y = np.arange(n) % 2
    scores = held_out_scores(bank, y, 2, n_rounds=3, random_state=0)
    assert scores.shape == (n, 2)
    assert np.isfinite(scores).all()
    if n == 1:
        np.testing.assert_array_equal(scores, 0.0)  # no sample to learn from: even odds
    fold, number = folds_and_seed(n, 10, 0)
    for c in range(min(n, 2) if n > 1 else 0):
        expected = twin.held_out(bank.values, y == c, fold, draw_dyads(y == c, 3, 10, number))
        np.testing.assert_allclose(scores[:, c], expected, atol=1e-8)


def test_constant_kernels_lead_to_the_prior():
    bank = kernel_bank([np.ones((60, 1)), np.ones((60, 60))], metric=["euclidean", "kernel"])
    y = np.repeat([0, 1], [15, 45])
    found = fit_classifiers(bank, y, 2, n_rounds=30, random_state=0)
    scores = found.scores(bank.columns(found.samples))
    np.testing.assert_allclose(scores[:, 0], np.log(15 / 45), rtol=1e-6)
    assert (found.view == -1).all()
    assert found.samples.size == 0
    np.testing.assert_allclose(found.view_importances, 0.5)
    held_out = held_out_scores(bank, y, 2, n_rounds=30, random_state=0)
    np.testing.assert_allclose(log_loss(held_out, y), prior(y, 2), rtol=0.1)


def test_of_equal_views_the_first_is_chosen():
    bank, y = setting(n_views=1)
    twice = kernel_bank([bank.values[0]] * 3, metric="kernel")
    found = fit_classifiers(twice, y, 3, n_rounds=5, random_state=0)
    assert (found.view == 0).all()


def test_of_equal_cuts_the_widest_is_chosen():
    # Both views part the clusters without a mistake; the second by far more.
    y = np.repeat([0, 1], 20)
    noise = np.random.RandomState(0).rand(40, 1)
    narrow, wide = (y[:, None] * width + noise * 0.1 for width in (0.2, 2.0))
    bank = kernel_bank([narrow, wide], gamma=0.5)
    found = fit_classifiers(bank, y, 2, n_rounds=1, random_state=0)
    np.testing.assert_array_equal(found.view, 1)


def test_kernels_of_two_values_only():
    y = np.arange(40) % 2
    kernel = (y[:, None] == y).astype(float)
    scores = held_out_scores(kernel_bank([kernel], metric="kernel"), y, 2, n_rounds=5)
    np.testing.assert_array_equal(scores.argmax(axis=1), y)


def test_draws_are_redone_at_each_call_of_one_random_state():
    bank, y = setting()
    random = np.random.RandomState(0)
    first, second = (held_out_scores(bank, y, 3, n_rounds=3, random_state=random) for _ in range(2))
    assert (first != second).any()
    np.testing.assert_array_equal(first, held_out_scores(bank, y, 3, n_rounds=3, random_state=0))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_folds": 1}, ValueError, "n_folds must be at least 2"),
        ({"n_rounds": 0}, ValueError, "n_rounds must be at least 1"),
        ({"n_candidates": 0}, ValueError, "n_candidates must be at least 1"),
        ({"loss": "hinge"}, ValueError, "loss must be one of log, exp"),
        ({"n_threads": 0}, ValueError, "n_threads must be at least 1"),
        ({"n_clusters": 0}, ValueError, "n_clusters must be at least 1"),
        ({"n_clusters": 2}, ValueError, "they go from 0 to 2"),
        ({"labels": np.zeros(5, int)}, ValueError, "each of the 60 samples"),
        ({"labels": np.zeros(60)}, TypeError, "must be integers"),
        ({"labels": np.full(60, -1)}, ValueError, "go from -1"),
    ],
)
def test_what_makes_no_sense_is_refused(change, error, message):
    bank, y = setting()
    options = {"labels": y, "n_clusters": 3, "n_rounds": 2} | change
    with pytest.raises(error, match=message):
        held_out_scores(bank, **options)
