import numpy as np
import pytest
from tests.reference import scml as twin

from linkshift.metric_learning import solver as module
from linkshift.metric_learning.bases import label_bases
from linkshift.metric_learning.solver import (
    Plan,
    Problem,
    minimise_global,
    minimise_local,
)
from linkshift.metric_learning.triplets import Triplets, label_triplets


def setting(seed=0, n=60, d=3, classes=3, n_bases=20):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(classes, d))[y]
    X = (X - X.mean(axis=0)) / 2
    triplets = label_triplets(X, y, n_targets=2, n_impostors=4)
    bases = label_bases(X, y, n_bases, np.random.RandomState(seed))
    return X, triplets, bases, Problem.build(X, bases, triplets)


def test_three_points_by_hand():
    # Rows 0 and 1 should be near, row 2 far. Distances on the one basis: 1, and 4 or 1.
    X = np.array([[0.0], [1.0], [2.0]])
    triplets = label_triplets(X, np.array([0, 0, 1]))
    problem = Problem.build(X, np.ones((1, 1)), triplets)
    slope = np.zeros((1, 1), dtype=np.float32)
    weight = np.array([[0.25]], dtype=np.float32)
    loss, held = problem.hinge(weight, np.arange(2), slope)
    # (0, 1, 2): 1 + 0.25 - 1 = 0.25, holds. (1, 0, 2): 1 + 0.25 - 0.25 = 1, does not.
    assert loss == pytest.approx(1.25)
    assert held == 1.0
    assert slope[0, 0] == pytest.approx((1 - 4) + (1 - 1))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("local", [False, True])
def test_loss_is_the_literal_one(seed, local):
    X, triplets, bases, problem = setting(seed)
    rng = np.random.default_rng(seed)
    m = len(triplets.anchor)
    weights = rng.random((m if local else 1, len(bases)))
    rows, _ = triplets.table()
    each = np.broadcast_to(weights, (m, len(bases)))
    metrics = {i: twin.metric(w, bases) for i, w in zip(triplets.anchor, each, strict=True)}
    single = weights.astype(np.float32)
    loss, held = problem.measure(lambda batch: single[batch] if local else single)
    assert loss == pytest.approx(twin.loss(X, rows, metrics), rel=1e-5)
    share = np.mean(
        [
            twin.distance(X[i], X[j], metrics[i]) < twin.distance(X[i], X[k], metrics[i])
            for i, j, k in rows
        ]
    )
    assert held == pytest.approx(share)


def test_weights_of_triplets_count():
    X, t, bases, _ = setting()
    rng = np.random.default_rng(0)
    near, far = rng.random(len(t.target)), rng.random(len(t.impostor))
    weighed = Triplets(t.anchor, t.target, near, t.target_start, t.impostor, far, t.impostor_start)
    problem = Problem.build(X, bases, weighed)
    w = rng.random((1, len(bases)))
    rows, weights = weighed.table()
    metrics = dict.fromkeys(t.anchor.tolist(), twin.metric(w[0], bases))
    loss, _ = problem.measure(lambda batch: w.astype(np.float32))
    assert loss == pytest.approx(twin.loss(X, rows, metrics, weights), rel=1e-5)


@pytest.mark.parametrize("local", [False, True])
def test_gradient_is_the_slope_of_the_objective(local):
    X, triplets, bases, problem = setting()
    rng = np.random.default_rng(1)
    if local:
        Z = rng.normal(size=(len(X), 3))
        model = module._Local(problem, rng.random(len(bases)), Z, 0.0)
        x = model.start.copy()
        x[:, : len(bases)] += 0.3 * rng.random((4, len(bases))).astype(np.float32)
    else:
        model = module._Global(problem, 0.0)
        x = rng.random((1, problem.n_bases))
    gradient = model.gradient(x, np.arange(len(triplets.anchor)))
    direction = np.zeros_like(x)
    direction[:, : len(bases)] = rng.normal(size=(len(x), len(bases)))
    step = 1e-3
    slope = (model.objective(x + step * direction) - model.objective(x - step * direction)) / (
        2 * step
    )
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=2e-2)


@pytest.mark.parametrize("beta", [1e-3, 1e-2])
@pytest.mark.parametrize("seed", range(3))
def test_global_solution_is_close_to_the_linear_programme(seed, beta):
    X, triplets, bases, problem = setting(seed, n=40)
    rows, _ = triplets.table()
    _, lowest = twin.exact_weights(X, bases, rows, beta)
    plan = Plan(max_iter=400, tol=1e-4)
    solution = minimise_global(problem, beta, plan, np.random.RandomState(0))
    w = solution.coefficients[0]
    assert (w >= 0).all()
    assert lowest * (1 - 1e-5) <= solution.objective <= lowest * 1.03
    assert solution.objective <= solution.start
    metrics = dict.fromkeys(triplets.anchor.tolist(), twin.metric(w, bases))
    literal = twin.loss(X, rows, metrics) + beta * w.sum()
    assert solution.objective == pytest.approx(literal, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_iter", [1, 30])
@pytest.mark.parametrize("beta", [0.0, 1e-3, 10.0])
def test_local_never_ends_worse_than_it_starts(seed, max_iter, beta):
    X, triplets, bases, problem = setting(seed)
    weights = np.random.default_rng(seed).random(len(bases))
    Z = np.random.default_rng(seed).normal(size=(len(X), 5))
    plan = Plan(max_iter=max_iter)
    solution = minimise_local(problem, weights, Z, beta, plan, np.random.RandomState(0))
    assert solution.objective <= solution.start
    rows, _ = triplets.table()
    A = solution.coefficients
    roots = np.column_stack((Z, np.ones(len(Z)))) @ A
    metrics = {i: twin.metric(roots[i] ** 2, bases) for i in triplets.anchor.tolist()}
    literal = twin.loss(X, rows, metrics) + beta * np.linalg.norm(A, axis=0).sum()
    assert solution.objective == pytest.approx(literal, rel=1e-4)


def test_bases_without_weight_stay_without_and_a_large_beta_takes_all():
    X, _, bases, problem = setting()
    weights = np.ones(len(bases))
    weights[3:] = 0
    Z = np.random.default_rng(0).normal(size=(len(X), 2))
    random = np.random.RandomState(0)
    solution = minimise_local(problem, weights, Z, 1e-3, Plan(), random)
    assert not solution.coefficients[:, 3:].any()
    assert not minimise_global(problem, 1e6, Plan(), random).coefficients.any()


def test_larger_beta_keeps_fewer_bases():
    _, _, _, problem = setting(n=120, n_bases=60)
    used = [
        np.count_nonzero(
            minimise_global(problem, beta, Plan(), np.random.RandomState(0)).coefficients
        )
        for beta in (1e-4, 0.3)
    ]
    assert used[0] > used[1]


def test_batches_progress_and_passes():
    _, _, _, problem = setting()
    seen = []
    plan = Plan(max_iter=5, batch_size=7, tol=0.0, progress=seen.append)
    solution = minimise_global(problem, 1e-3, plan, np.random.RandomState(0))
    assert seen == [1, 2, 3, 4, 5]
    assert solution.n_iter == 5
    whole = Plan(max_iter=5, batch_size=10_000)
    assert minimise_global(problem, 1e-3, whole, np.random.RandomState(0)).objective > 0
