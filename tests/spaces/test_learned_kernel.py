"""Kernel learning: against its literal twin and its optimality conditions, and at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from tests.reference import learned_kernel as twin

from linkshift import Links
from linkshift.bandwidth import pair_quantile
from linkshift.links import ConflictError
from linkshift.spaces.learned_kernel import learn_kernel

seeds = st.integers(0, 2**32 - 1)
LITERAL = {"trace": 1.0, "close": False}
TIGHT = {**LITERAL, "tol": 1e-10, "max_iter": 100_000}


def make(seed, n=24, r=5, m=8, sure=True):
    """Coordinates of three loose classes, and links that are true to them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    G = rng.normal(size=(n, r)) + 0.5 * rng.normal(size=(3, r))[y]
    pairs = np.stack(np.triu_indices(n, k=1), axis=1)
    pairs = pairs[rng.permutation(len(pairs))[:m]]
    together = y[pairs[:, 0]] == y[pairs[:, 1]]
    confidence = np.ones(m) if sure else rng.uniform(0.1, 1.0, size=m)
    return G, Links(
        pairs[together],
        pairs[~together],
        must_confidence=confidence[together],
        cannot_confidence=confidence[~together],
    )


def prices(links, gamma):
    confidence = np.concatenate((links.must_confidence, links.cannot_confidence))
    return 1.0 / (1.0 / gamma + (1.0 - confidence) / confidence)


def pairs_of(links):
    return np.concatenate((links.must, links.cannot))


# Against the equations ------------------------------------------------------------------------


@pytest.mark.parametrize("sure", [True, False], ids=["certain", "confidences"])
@pytest.mark.parametrize(("r", "m"), [(5, 3), (5, 12), (40, 12), (1, 2)])
@pytest.mark.parametrize("n_sweeps", [1, 7])
def test_every_round_is_that_of_the_full_kernel_matrix(r, m, sure, n_sweeps):
    G, links = make(r * m, r=r, m=m, sure=sure)
    learned = learn_kernel(G, links, gamma=3.0, tol=1e-300, max_iter=n_sweeps, **LITERAL)
    targets = learned.must_target, learned.cannot_target
    K, bounds = twin.learned_gram(
        G @ G.T,
        links.must,
        links.cannot,
        targets=targets,
        prices=prices(links, 3.0),
        n_sweeps=n_sweeps,
    )
    Z = learned.transform(G)
    np.testing.assert_allclose(Z @ Z.T, K, rtol=1e-8, atol=1e-10 * np.abs(K).max())
    ours = np.concatenate((learned.must_bound, learned.cannot_bound))
    np.testing.assert_allclose(ours, bounds, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 8), st.integers(1, 12), st.sampled_from([0.5, 5.0, 100.0]))
def test_the_solution_is_optimal(seed, r, m, gamma):
    """Stationary in W and in the slack, feasible, and multipliers only where a link is tight."""
    G, links = make(seed, r=r, m=m, sure=seed % 2 == 0)
    learned = learn_kernel(G, links, gamma=gamma, **TIGHT)
    assert learned.converged
    must = np.arange(m) < len(links.must)
    sign = np.where(must, 1.0, -1.0)
    target = np.where(must, learned.must_target, learned.cannot_target)
    bound = np.concatenate((learned.must_bound, learned.cannot_bound))
    squared = np.concatenate((learned.must_squared, learned.cannot_squared))
    # 1 / bound = 1 / target - sign * multiplier / price
    multiplier = sign * prices(links, gamma) * (1.0 / target - 1.0 / bound)
    assert (multiplier >= -1e-9 / target).all()
    assert (sign * (squared - bound) <= 1e-8 * bound).all()
    tight = multiplier > 1e-6 / target
    np.testing.assert_allclose(squared[tight], bound[tight], rtol=1e-8)
    x = G[pairs_of(links)[:, 0]] - G[pairs_of(links)[:, 1]]
    inverse = np.eye(r) + (x.T * (sign * multiplier)) @ x
    np.testing.assert_allclose(learned.map @ learned.map @ inverse, np.eye(r), atol=1e-6)


def test_the_inverse_is_made_of_links_only():
    G, links = make(3, r=4, m=6)
    learned = learn_kernel(G, links, **TIGHT)
    W = learned.map @ learned.map.T
    x = G[pairs_of(links)[:, 0]] - G[pairs_of(links)[:, 1]]
    sign = np.where(np.arange(6) < len(links.must), 1.0, -1.0)
    columns = np.stack([(s * np.outer(v, v)).ravel() for s, v in zip(sign, x, strict=True)], axis=1)
    least = lsq_linear(columns, (np.linalg.inv(W) - np.eye(4)).ravel(), (0, np.inf), tol=1e-14)
    assert np.linalg.norm(least.fun) < 1e-6


def test_nothing_that_holds_the_bounds_is_nearer():
    G, links = make(5, r=3, m=5)
    learned = learn_kernel(G, links, gamma=2.0, **TIGHT)
    W = learned.map @ learned.map.T
    x = G[pairs_of(links)[:, 0]] - G[pairs_of(links)[:, 1]]
    must = np.arange(5) < len(links.must)
    target = np.where(must, learned.must_target, learned.cannot_target)

    def cost(candidate):
        squared = np.einsum("ij,jk,ik->i", x, candidate, x)
        slack = np.where(must, np.maximum(squared, target), np.minimum(squared, target))
        ratio = slack / target
        missed = 2.0 * (ratio - np.log(ratio) - 1.0).sum()
        return twin.log_det_divergence(candidate, np.eye(3)) + missed

    best = cost(W)
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = rng.normal(size=(3, 3)) * rng.choice([1e-3, 1e-2, 1e-1])
        assert cost((np.eye(3) + step) @ W @ (np.eye(3) + step).T) >= best - 1e-9


@pytest.mark.parametrize("gamma", [0.1, 1.0, 100.0])
def test_one_link_by_hand(gamma):
    """The learned 1 / p is the mean of 1 / p and 1 / target with weights 1 and gamma."""
    G = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    must = learn_kernel(G, Links(must=[(0, 1)]), gamma=gamma, targets=(1.0, 9.0), **TIGHT)
    p = 1.0 / ((1 / 4 + gamma / 1) / (1 + gamma))
    np.testing.assert_allclose(must.map, np.diag([np.sqrt(p / 4), 1.0]))
    np.testing.assert_allclose(must.must_squared, p)
    np.testing.assert_allclose(must.must_bound, p)
    cannot = learn_kernel(G, Links(cannot=[(0, 2)]), gamma=gamma, targets=(1.0, 9.0), **TIGHT)
    p = 1.0 / ((1 / 1 + gamma / 9) / (1 + gamma))
    np.testing.assert_allclose(cannot.map, np.diag([1.0, np.sqrt(p)]))


def test_targets_are_quantiles_of_the_distances():
    G, links = make(0)
    learned = learn_kernel(G, links, quantiles=(0.1, 0.8), trace=1.0)
    assert learned.must_target == pair_quantile(G, 0.1) ** 2
    assert learned.cannot_target == pair_quantile(G, 0.8) ** 2


# Properties -------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 8), st.integers(1, 12))
def test_links_hold_up_to_their_slack(seed, r, m):
    G, links = make(seed, r=r, m=m)
    learned = learn_kernel(G, links, tol=1e-4, max_iter=100_000)
    assert learned.converged
    assert (learned.must_squared <= learned.must_bound * (1 + 1e-3)).all()
    assert (learned.cannot_squared >= learned.cannot_bound * (1 - 1e-3)).all()
    assert (learned.must_bound >= learned.must_target * (1 - 1e-12)).all()
    assert (learned.cannot_bound <= learned.cannot_target * (1 + 1e-12)).all()


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 8), st.integers(2, 12))
def test_neither_the_order_of_rows_nor_of_links_matters(seed, r, m):
    G, links = make(seed, r=r, m=m)
    learned = learn_kernel(G, links, **TIGHT)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(G))
    place = np.argsort(order)
    shuffled = Links(
        rng.permutation(place[links.must]).reshape(-1, 2),
        rng.permutation(place[links.cannot]).reshape(-1, 2),
    )
    again = learn_kernel(G[order], shuffled, **TIGHT)
    scale = np.abs(learned.map).max()
    np.testing.assert_allclose(again.map, learned.map, rtol=1e-5, atol=1e-6 * scale)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_turning_the_coordinates_turns_the_map(seed):
    G, links = make(seed, r=4, m=6)
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    learned = learn_kernel(G, links, **TIGHT)
    turned = learn_kernel(G @ turn + rng.normal(size=4), links, **TIGHT)
    scale = np.abs(learned.map).max()
    np.testing.assert_allclose(turned.map, turn.T @ learned.map @ turn, atol=1e-6 * scale)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e8])
def test_the_unit_of_the_coordinates_does_not_matter(unit):
    G, links = make(1)
    np.testing.assert_allclose(
        learn_kernel(unit * G, links).map, learn_kernel(G, links).map, rtol=1e-9, atol=1e-12
    )


def test_directions_without_links_stay():
    G, links = make(2, r=30, m=4)
    learned = learn_kernel(G, links, **LITERAL)
    x = G[pairs_of(links)[:, 0]] - G[pairs_of(links)[:, 1]]
    other = np.random.default_rng(0).normal(size=30)
    other -= np.linalg.pinv(x) @ (x @ other)
    np.testing.assert_allclose(other @ learned.map, other, atol=1e-10)
    np.testing.assert_allclose(learned.map, learned.map.T, atol=1e-12)


def test_a_less_certain_link_gives_way():
    G, _ = make(4)

    def squared(confidence):
        links = Links(must=[(0, 3)], must_confidence=confidence)
        return learn_kernel(G, links, targets=(0.1, 9.0)).must_squared[0]

    assert (np.diff([squared(c) for c in (1.0, 0.9, 0.5, 0.1, 1e-6)]) > 0).all()
    assert squared(1e-6) == pytest.approx(((G[0] - G[3]) ** 2).sum(), rel=1e-3)


def test_gamma_enforces():
    G, links = make(6, m=6)

    def missed(gamma):
        learned = learn_kernel(G, links, gamma=gamma, **TIGHT)
        return (
            np.abs(np.log(learned.must_bound / learned.must_target)).sum()
            + np.abs(np.log(learned.cannot_bound / learned.cannot_target)).sum()
        )

    assert missed(1e4) < missed(10.0) < missed(0.1)


# What links imply, and what is cut off ----------------------------------------------------------


def test_implied_links_are_used():
    G, _ = make(11)
    links = Links(must=[(0, 3), (3, 6)], cannot=[(0, 1), (4, 1)])
    used = learn_kernel(G, links).links
    closure = links.closure(len(G))
    assert used == Links(closure.must_pairs(), closure.cannot_pairs())
    assert learn_kernel(G, links, close=False).links == links


def test_closing_is_the_same_as_giving_the_closure():
    G, links = make(12, m=20)
    closure = links.closure(len(G))
    whole = Links(closure.must_pairs(), closure.cannot_pairs())
    tight = {"tol": 1e-9, "max_iter": 100_000}
    np.testing.assert_allclose(
        learn_kernel(G, links, **tight).map,
        learn_kernel(G, whole, close=False, **tight).map,
        atol=1e-5,
    )


def test_an_implied_link_is_as_sure_as_the_least_sure_of_its_groups():
    G, _ = make(11)
    links = Links(
        must=[(0, 3), (3, 6), (1, 4)],
        must_confidence=[0.9, 0.5, 0.8],
        cannot=[(0, 1), (6, 4)],
        cannot_confidence=[0.7, 0.3],
    )
    used = learn_kernel(G, links).links
    must = dict(zip(map(tuple, used.must.tolist()), used.must_confidence, strict=True))
    assert must == {(0, 3): 0.9, (3, 6): 0.5, (0, 6): 0.5, (1, 4): 0.8}
    cannot = dict(zip(map(tuple, used.cannot.tolist()), used.cannot_confidence, strict=True))
    # The surer cannot-link, but no surer than the must-links that carry it over.
    expected = {(a, b): 0.5 for a in (0, 3, 6) for b in (1, 4)}
    assert cannot == {tuple(sorted(pair)): c for pair, c in (expected | {(0, 1): 0.7}).items()}


@pytest.mark.parametrize("max_links", [0, 1, 50, 400])
def test_links_implied_are_limited(max_links):
    rng = np.random.default_rng(0)
    G, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    links = Links.from_labels(y)
    used = learn_kernel(G, links, max_links=max_links, max_iter=1).links
    assert len(used) <= len(links) + max_links
    assert used + links == used
    if max_links == 400:
        assert len(used) > 400
    closure = links.closure(60)
    component = closure.component
    assert (component[used.must[:, 0]] == component[used.must[:, 1]]).all()
    assert (component[used.cannot[:, 0]] != component[used.cannot[:, 1]]).all()


def test_the_shortest_axes_are_cut_off():
    G, links = make(13, r=3)
    G = G * [10.0, 1.0, 1e-3]
    learned = learn_kernel(G, links, trace=0.99999)
    values = np.linalg.eigvalsh(learned.map)
    assert abs(values[0]) < 1e-12
    assert (values[1:] > 1e-3).all()
    only = learn_kernel(G, Links(), trace=0.99999).map
    np.testing.assert_allclose(only @ only, only, atol=1e-12)
    np.testing.assert_allclose(G @ only, G, atol=1e-2)


# Edges ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", [Links(), None])
def test_without_links_nothing_is_learned(links):
    G, _ = make(0)
    learned = learn_kernel(G, links, trace=1.0)
    np.testing.assert_array_equal(learned.map, np.eye(5))
    assert learned.converged
    assert learned.n_iter == 0
    assert learned.must_bound.shape == learned.cannot_bound.shape == (0,)


def test_links_that_hold_already_change_nothing():
    G, links = make(0)
    learned = learn_kernel(G, links, targets=(1e3, 1e4), trace=1.0)
    only_must = learn_kernel(G, Links(must=links.must), targets=(1e3, 1e4), trace=1.0)
    np.testing.assert_array_equal(only_must.map, np.eye(5))
    assert not np.allclose(learned.map, np.eye(5))


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_one_kind_alone(kind):
    G, links = make(7, m=15)
    learned = learn_kernel(G, Links(**{kind: getattr(links, kind)}), **LITERAL)
    before = G[getattr(links, kind)]
    before = ((before[:, 0] - before[:, 1]) ** 2).sum(axis=1)
    after = getattr(learned, f"{kind}_squared")
    assert learned.converged
    assert (after < before).mean() > 0.8 if kind == "must" else (after > before).mean() > 0.8


def test_redundant_links():
    """Three rows in a ring, and rows that repeat others: one answer, no trouble."""
    G, _ = make(8)
    G[20] = G[0]
    links = Links(must=[(0, 3), (3, 6), (0, 6), (3, 20), (6, 20)])
    learned = learn_kernel(G, links, **TIGHT)
    assert learned.converged
    assert np.isfinite(learned.map).all()
    assert (np.linalg.eigvalsh(learned.map) > 0).all()


def test_must_linked_twins_hold_anyway():
    G, _ = make(9)
    G[1] = G[0]
    learned = learn_kernel(G, Links(must=[(0, 1)]), trace=1.0)
    np.testing.assert_array_equal(learned.map, np.eye(5))
    np.testing.assert_array_equal(learned.must_squared, [0.0])
    with_more = learn_kernel(G, Links(must=[(0, 1), (0, 3)]), **LITERAL)
    np.testing.assert_allclose(with_more.map, learn_kernel(G, Links(must=[(0, 3)]), **LITERAL).map)


def test_cannot_linked_twins_raise():
    G, _ = make(9)
    G[1] = G[0]
    with pytest.raises(ValueError, match=r"rows 0 and 1 are cannot-linked but have the same"):
        learn_kernel(G, Links(cannot=[(0, 1), (0, 2)]))
    with pytest.raises(ValueError, match="same coordinates"):
        learn_kernel(np.ones((4, 2)), Links(cannot=[(0, 1)]))


def test_rows_that_all_coincide():
    learned = learn_kernel(np.ones((4, 2)), Links(must=[(0, 1)]))
    np.testing.assert_allclose(learned.transform(np.ones((4, 2))), 1.0)
    np.testing.assert_array_equal(learn_kernel(np.zeros((4, 2)), None).map, np.eye(2))


def test_many_twins_leave_a_target():
    """With more than one pair in a hundred at distance nought, the first percentile is nought."""
    G = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 6, axis=0)
    learned = learn_kernel(G, Links(must=[(0, 6)], cannot=[(0, 12)]))
    assert learned.must_target == pytest.approx(1e-4 * learned.cannot_target)
    assert learned.converged
    assert learned.must_squared[0] == pytest.approx(learned.must_bound[0], rel=1e-2)


def test_one_dimension_finds_a_compromise():
    G = np.array([[0.0], [1.0], [2.0], [4.0]])
    learned = learn_kernel(G, Links(must=[(0, 1)], cannot=[(1, 2)]), targets=(0.1, 10.0), **TIGHT)
    assert learned.map.shape == (1, 1)
    # Both pairs are one apart: the must-link shrinks, the cannot-link stretches, by symmetry.
    assert learned.map[0, 0] == pytest.approx(np.sqrt(learned.must_bound[0]), rel=1e-6)
    assert learned.must_bound[0] == pytest.approx(learned.cannot_bound[0], rel=1e-6)
    assert 0.1 < learned.must_bound[0] < 10.0


def test_nearly_coincident_cannot_links_keep_their_digits():
    G, _ = make(10, r=3)
    G[1] = G[0] + [1e-5, 0.0, 0.0]
    learned = learn_kernel(G, Links(cannot=[(0, 1)], must=[(0, 3)]), **TIGHT)
    assert learned.converged
    np.testing.assert_allclose(learned.cannot_squared, learned.cannot_bound, rtol=1e-6)


def test_contradictions_raise():
    G, _ = make(0)
    with pytest.raises(ConflictError):
        learn_kernel(G, Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)]))


def test_too_few_rounds_are_reported():
    G, links = make(0, m=12)
    learned = learn_kernel(G, links, max_iter=1, tol=1e-8)
    assert not learned.converged
    assert learned.n_iter == 1
    assert learned.gap > 1e-8


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": np.inf}, "gamma"),
        ({"gamma": np.nan}, "gamma"),
        ({"trace": 0.0}, "trace"),
        ({"trace": 1.1}, "trace"),
        ({"max_links": -1}, "max_links"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"quantiles": (0.9, 0.1)}, "quantiles"),
        ({"quantiles": (-0.1, 0.1)}, "quantiles"),
        ({"targets": (2.0, 1.0)}, "targets"),
        ({"targets": (0.0, 1.0)}, "targets"),
    ],
)
def test_options_out_of_range(option, message):
    G, links = make(0)
    with pytest.raises(ValueError, match=message):
        learn_kernel(G, links, **option)


def test_rows_out_of_range():
    G, _ = make(0)
    with pytest.raises(ValueError, match="99"):
        learn_kernel(G, Links(must=[(0, 99)]))


def test_new_rows_and_single_precision():
    G, links = make(0)
    learned = learn_kernel(G.astype(np.float32), links)
    assert learned.map.dtype == np.float64
    new = np.random.default_rng(1).normal(size=(3, 5))
    np.testing.assert_array_equal(learned.transform(new), new @ learned.map)
