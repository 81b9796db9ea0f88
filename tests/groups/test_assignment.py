"""Assignment: against every labelling there is, and against the paper's own programme."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import assignment as twin

from linkshift import Links
from linkshift.groups import _assignment_problem, _assignment_programme, _assignment_solver
from linkshift.groups.assignment import assign
from linkshift.links import ClosedLinks, ConflictError

seeds = st.integers(0, 2**32 - 1)


def draw(seed, n, n_clusters, m, confidences, *, whole_costs=False, infinite=0.0):
    """Costs, size bounds and links without certain contradictions."""
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(n, n_clusters)) * rng.choice([1e-3, 1.0, 1e3])
    if whole_costs:  # ties
        costs = rng.integers(0, 3, size=(n, n_clusters)).astype(float)
    costs[rng.uniform(size=costs.shape) < infinite] = np.inf
    costs[np.isinf(costs).all(axis=1), 0] = 0.0
    least = int(rng.integers(0, n // n_clusters + 1))
    most = int(rng.integers(-(-n // n_clusters), n + 1))
    classes = rng.integers(0, n_clusters + 1, size=n)
    pairs = np.stack(np.triu_indices(n, k=1), axis=1)
    pairs = pairs[rng.permutation(len(pairs))[:m]]
    sure = rng.choice(confidences, size=len(pairs))
    together = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    together = np.where(sure < 1, rng.uniform(size=len(pairs)) < 0.5, together)
    links = Links(
        pairs[together],
        pairs[~together],
        must_confidence=sure[together],
        cannot_confidence=sure[~together],
    )
    return costs, (least, most), links


def agrees(costs, bounds, links, link_weight=1.0):
    """Whether assign finds what the search through all labels finds, or an error where it must."""
    best = twin.cheapest(costs, bounds, links, link_weight)
    if best == np.inf:
        with pytest.raises(ValueError):
            assign(costs, size_bounds=bounds, links=links, link_weight=link_weight)
        return
    result = assign(costs, size_bounds=bounds, links=links, link_weight=link_weight)
    scale = np.abs(costs[np.isfinite(costs)]).max() + 1 + link_weight
    cost = twin.cost_of(result.labels, costs, bounds, links, link_weight)
    assert cost == pytest.approx(best, abs=1e-6 * scale)
    assert result.cost == pytest.approx(cost, abs=1e-9 * scale)
    assert result.optimal
    assert result.gap <= 2e-6


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 6), st.integers(1, 3), st.integers(0, 7), st.booleans())
def test_certain_links_and_sizes_against_every_labelling(seed, n, n_clusters, m, ties):
    costs, bounds, links = draw(seed, n, n_clusters, m, [1.0], whole_costs=ties)
    agrees(costs, bounds, links)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 6), st.integers(2, 3), st.integers(1, 9), st.floats(0, 3))
def test_uncertain_links_against_every_labelling(seed, n, n_clusters, m, link_weight):
    costs, bounds, links = draw(seed, n, n_clusters, m, [0.1, 0.5, 0.9, 0.999, 1.0])
    agrees(costs, bounds, links, link_weight)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6), st.integers(1, 3), st.integers(0, 5))
def test_forbidden_clusters_against_every_labelling(seed, n, n_clusters, m):
    costs, bounds, links = draw(seed, n, n_clusters, m, [0.7, 1.0], infinite=0.3)
    agrees(costs, bounds, links)


@pytest.mark.parametrize("seed", range(8))
def test_against_the_paper_s_p_and_q(seed):
    rng = np.random.default_rng(seed)
    n, n_clusters = 18, 3
    costs = rng.normal(size=(n, n_clusters))
    links = Links.sample(rng.permutation(np.arange(n) % n_clusters), 14, random_state=seed)
    expected = twin.cheapest_by_p_and_q(costs, (5, 7), links.must, links.cannot)
    result = assign(costs, size_bounds=(5, 7), links=links)
    assert result.cost == pytest.approx(expected, abs=1e-6)
    assert twin.cost_of(result.labels, costs, (5, 7), links) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_more_clusters_than_the_first_few_against_all_rows_at_once(seed):
    rng = np.random.default_rng(seed)
    n, n_clusters = 18, 6
    costs = rng.normal(size=(n, n_clusters)) + np.arange(n_clusters)
    links = Links.sample(rng.permutation(np.arange(n) % n_clusters), 18, random_state=seed)
    expected = twin.cheapest_by_pairs(costs, (2, 4), links.must, links.cannot)
    result = assign(costs, size_bounds=(2, 4), links=links)
    assert twin.cost_of(result.labels, costs, (2, 4), links) == pytest.approx(expected, abs=1e-6)


def test_by_hand():
    # Samples 0 and 1 are one node of cost (1, 3), samples 2 and 3 stay out of its cluster.
    costs = [[0, 1], [1, 2], [0, 4], [0, 6]]
    result = assign(costs, links=Links(must=[(0, 1)], cannot=[(0, 2), (1, 3)]))
    assert result.labels.tolist() == [1, 1, 0, 0]
    assert result.labels.dtype == np.int64
    assert result.cost == 3.0


# How it is solved ----------------------------------------------------------------------------


def test_nothing_to_respect_is_argmin_and_calls_no_solver():
    costs = np.random.default_rng(0).normal(size=(50, 4))
    with patch.object(_assignment_programme, "linprog", side_effect=AssertionError):
        result = assign(costs)
        loose = assign(
            costs,
            size_bounds=(0, 50),
            links=Links(cannot=[(0, 1)], cannot_confidence=0.5)
            if result.labels[0] != result.labels[1]
            else None,
        )
    assert result.how == loose.how == "argmin"
    assert np.array_equal(result.labels, costs.argmin(axis=1))
    assert result.cost == pytest.approx(costs.min(axis=1).sum())
    assert result.optimal
    assert result.gap == 0.0


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(2, 6))
def test_sizes_alone_are_a_linear_programme_with_whole_solutions(seed, n_clusters):
    rng = np.random.default_rng(seed)
    n = 30
    costs = rng.normal(size=(n, n_clusters)) + 3 * np.arange(n_clusters)
    least, most = n // n_clusters, -(-n // n_clusters)
    result = assign(costs, size_bounds=(least, most))
    assert result.how == "linear programme"
    counts = np.bincount(result.labels, minlength=n_clusters)
    assert counts.min() >= least
    assert counts.max() <= most


def test_a_fractional_solution_is_finished_by_branch_and_bound():
    # An odd ring of cannot-links between three clusters that all prefer 0 and 1: each half, half.
    ring = [(i, (i + 1) % 5) for i in range(5)]
    costs = np.tile([0.0, 0.0, 1.0], (5, 1))
    result = assign(costs, links=Links(cannot=ring))
    assert result.how == "integer programme"
    assert result.cost == 1.0
    assert result.optimal


@pytest.mark.parametrize("seed", range(6))
def test_few_columns_to_begin_with_give_the_optimum_of_all(seed):
    rng = np.random.default_rng(seed)
    links = Links.sample(rng.integers(0, 5, size=80), 100, random_state=seed)
    links = Links(
        links.must, links.cannot, cannot_confidence=rng.choice([0.9, 1.0], len(links.cannot))
    )
    costs = rng.normal(size=(80, 5))
    cost = []
    for columns in (0.0, 1.5, 5.0):
        with patch.object(_assignment_solver, "_CORE", columns):
            result = assign(costs, size_bounds=(16, 16), links=links)
        assert result.optimal
        cost.append(result.cost)
    assert cost == pytest.approx([cost[0]] * 3, abs=1e-5)
    assert result.how == "integer programme"


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 3), st.integers(0, 25))
def test_few_clusters_to_begin_with_give_the_linear_programme_of_all(seed, first, m):
    costs, bounds, links = draw(seed, 14, 6, m, [0.5, 0.9, 1.0], infinite=0.2)
    try:
        problem, component, _ = _assignment_problem.contracted(
            costs, *bounds, ClosedLinks(links, len(costs)), 1.0
        )
        cliques = _assignment_problem.clique_cover(problem, component)
    except ValueError:
        return  # told before there is a programme
    programme = _assignment_programme.programme_of(
        replace(problem, cliques=cliques), _assignment_solver._scale(problem)
    )
    rows = programme.objective, programme.matrix, programme.low, programme.high, programme.allowed
    with patch.object(_assignment_programme, "_FIRST", first):
        linear = programme.linear()
    expected = twin.linear_value(*rows)
    if expected == np.inf:
        assert linear.status == _assignment_programme.IMPOSSIBLE
        return
    assert linear.value == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert programme.objective @ linear.x == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert linear.reduced[programme.allowed].min() >= -1e-6
    for j in np.flatnonzero(programme.allowed[: programme.n_y])[seed % 7 :: 7]:
        least = expected + linear.reduced[j]
        assert twin.linear_value(*rows, used=j) >= least - 1e-6 * (1 + abs(least))


def test_labels_within_the_gap_of_the_linear_programme_are_enough():
    rng = np.random.default_rng(6)
    links = Links.sample(rng.integers(0, 5, size=80), 100, random_state=6)
    costs = rng.normal(size=(80, 5))
    whole, results = _assignment_programme.Programme.whole, {}
    for gap in (1e-6, 0.5):
        with (
            patch.object(_assignment_solver, "_CORE", 1.5),
            patch.object(
                _assignment_programme.Programme, "whole", autospec=True, side_effect=whole
            ) as solver,
        ):
            results[gap] = assign(costs, size_bounds=(16, 16), links=links, gap=gap)
        assert solver.call_count == (1 if gap == 0.5 else 2)
    assert results[1e-6].cost < results[0.5].cost
    assert results[0.5].gap <= 0.5


def test_a_clique_is_one_row_for_each_cluster():
    # Three nodes apart, two cheap clusters: pairs of rows would let each be half in both.
    costs = np.tile([0.0, 0.0, 1.0], (3, 1))
    result = assign(costs, links=Links(cannot=[(0, 1), (1, 2), (0, 2)]))
    assert result.how == "linear programme"
    assert result.cost == 1.0


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 12), st.integers(1, 40))
def test_cliques_cover_the_links_and_nothing_else(seed, n, m):
    costs, _, links = draw(seed, n, 13, m, [1.0])
    problem, component, _ = _assignment_problem.contracted(costs, 0, n, ClosedLinks(links, n), 1.0)
    cliques = _assignment_problem.clique_cover(problem, component)
    pairs = {(a, b) for clique in cliques for a in clique for b in clique if a < b}
    assert pairs == set(map(tuple, problem.apart.tolist()))


def test_same_labels_every_time():
    rng = np.random.default_rng(3)
    costs = rng.integers(0, 3, size=(60, 4)).astype(float)  # many optima
    links = Links.sample(rng.integers(0, 4, size=60), 40, random_state=1)
    first = assign(costs, size_bounds=(12, 18), links=links)
    second = assign(costs.copy(), size_bounds=(12, 18), links=links)
    assert np.array_equal(first.labels, second.labels)


def test_a_wide_gap_is_admitted():
    rng = np.random.default_rng(0)
    links = Links.sample(rng.integers(0, 5, size=80), 100, random_state=0)
    costs = rng.normal(size=(80, 5))
    exact = assign(costs, size_bounds=(16, 16), links=links)
    loose = assign(costs, size_bounds=(16, 16), links=links, gap=0.5)
    assert exact.how == loose.how == "integer programme"
    assert exact.optimal
    assert not loose.optimal
    assert 1e-6 < loose.gap <= 0.5
    excess = exact.cost - costs.min(axis=1).sum()
    assert loose.cost - exact.cost <= loose.gap / (1 - loose.gap) * excess


def test_gap_zero_finds_small_savings_beside_large_prices():
    # Unavoidable prices of 12.8 million, and costs of 0 to 2: once 4 too much were paid here.
    costs, bounds, links = draw(
        1529119306, 5, 3, 9, [0.01, 0.3, 0.6, 0.9, 0.9999, 1.0, 1.0], whole_costs=True, infinite=0.2
    )
    best = twin.cheapest(costs, bounds, links, 1e6)
    result = assign(costs, size_bounds=bounds, links=links, link_weight=1e6)
    assert best <= result.cost + 1e-3
    assert result.cost * (1 - result.gap) <= best
    result = assign(costs, size_bounds=bounds, links=links, link_weight=1e6, gap=0.0)
    assert result.cost == pytest.approx(best, abs=1e-3)


def test_no_nodes():
    """A limit by work, the same however busy the machine; where it is too low, it is told."""
    links = Links(cannot=[(i, (i + 1) % 5) for i in range(5)])  # which take branch and bound
    costs = np.tile([0.0, 0.0, 1.0], (5, 1))
    assert assign(costs, links=links, max_nodes=1).cost == 1.0
    with pytest.raises(RuntimeError, match="within max_nodes=0 nodes"):
        assign(costs, links=links, max_nodes=0)


# Confidences ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_a_link_holds_when_its_price_is_above_what_it_costs_to_hold(kind):
    costs = [[0.0, 2.0], [2.0, 0.0]] if kind == "must" else [[0.0, 2.0], [0.0, 2.0]]
    links = Links(**{kind: [(0, 1)], f"{kind}_confidence": 0.5})
    limit = 2.0 / np.log(3)

    def together(result):
        return bool(result.labels[0] == result.labels[1])

    high = assign(costs, links=links, link_weight=1.01 * limit)
    low = assign(costs, links=links, link_weight=0.99 * limit)
    assert together(high) == (kind == "must")
    assert together(low) == (kind == "cannot")
    assert high.cost == pytest.approx(2.0)
    assert low.cost == pytest.approx(0.99 * 2.0)


def test_the_price_grows_with_confidence():
    costs = [[0.0, 3.0], [3.0, 0.0]]
    holds = [
        len(set(assign(costs, links=Links([(0, 1)], must_confidence=p)).labels.tolist())) == 1
        for p in (0.1, 0.5, 0.9, 0.91, 0.99, 1.0)
    ]
    assert holds == [False, False, False, True, True, True]  # log(19) = 2.94, log(21.2) = 3.05


def test_uncertain_links_may_contradict():
    links = Links(must=[(0, 1)], cannot=[(0, 1)], must_confidence=0.9, cannot_confidence=0.6)
    result = assign(np.zeros((2, 2)), links=links)
    assert result.labels[0] == result.labels[1]
    assert result.cost == pytest.approx(twin.price(0.6))


def test_uncertain_links_that_certain_ones_decide_are_paid_for():
    links = Links(
        must=[(0, 1), (0, 2)],
        cannot=[(1, 2), (0, 1)],
        must_confidence=[1.0, 0.5],
        cannot_confidence=[1.0, 0.8],
    )
    result = assign(np.zeros((3, 2)), links=links)
    assert result.labels[0] == result.labels[1] != result.labels[2]
    assert result.cost == pytest.approx(twin.price(0.5) + twin.price(0.8))


# Edges ---------------------------------------------------------------------------------------


def test_one_cluster():
    result = assign([[1.0], [2.0]], size_bounds=(2, 2), links=Links(must=[(0, 1)]))
    assert result.labels.tolist() == [0, 0]
    assert result.cost == 3.0


def test_one_sample():
    assert assign([[3.0, 1.0, 2.0]], size_bounds=(0, 1)).labels.tolist() == [1]


def test_more_clusters_than_samples():
    result = assign(np.zeros((2, 5)), size_bounds=(0, 1), links=Links(cannot=[(0, 1)]))
    assert result.labels[0] != result.labels[1]


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@pytest.mark.parametrize("offset", [0.0, -3.0])
def test_the_unit_of_the_costs_does_not_matter(factor, offset):
    rng = np.random.default_rng(5)
    costs = rng.normal(size=(40, 4))
    links = Links.sample(rng.integers(0, 4, size=40), 30, random_state=2)
    one = assign(costs, size_bounds=(8, 12), links=links)
    other = assign((costs + offset) * factor, size_bounds=(8, 12), links=links)
    assert np.array_equal(one.labels, other.labels)
    assert other.cost == pytest.approx((one.cost + 40 * offset) * factor)


def test_one_huge_cost_does_not_drown_the_rest():
    costs = np.array([[0.0, 1.0], [0.0, 1.1], [0.0, 1e12], [0.0, 1.2]])
    assert assign(costs, size_bounds=(2, 2)).labels.tolist() == [1, 1, 0, 0]


def test_single_precision_and_integers():
    costs = np.array([[0, 5], [0, 1]])
    for dtype in (np.float32, np.int64):
        assert assign(costs.astype(dtype), size_bounds=(1, 1)).labels.tolist() == [0, 1]


# What cannot be ------------------------------------------------------------------------------


def triangle_free_with_four_colours():
    """Mycielski's graph on eleven nodes: no triangle, and three colours do not suffice."""
    ring = [(i, (i + 1) % 5) for i in range(5)]
    return (
        ring
        + [(5 + i, j) for i in range(5) for j in ((i + 1) % 5, (i - 1) % 5)]
        + [(10, 5 + i) for i in range(5)]
    )


@pytest.mark.parametrize(
    ("shape", "arguments", "reason"),
    [
        ((5, 2), {"size_bounds": (3, 5)}, "at least 3 need 6 samples, and there are 5"),
        ((5, 2), {"size_bounds": (0, 2)}, "at most 2 hold 4 samples, and there are 5"),
        (
            (5, 2),
            {"size_bounds": (0, 3), "links": Links(must=[(0, 1), (1, 2), (2, 4)])},
            "4 samples are must-linked .* a cluster's 3: 0, 1, 2, 4",
        ),
        (
            (5, 2),
            {"links": Links(must=[(0, 4)], cannot=[(0, 1), (1, 3), (3, 4)])},
            "3 samples are cannot-linked .* 2 clusters: 0, 1, 3",
        ),
        ((2, 1), {"links": Links(cannot=[(0, 1)])}, "there is 1 cluster"),
        (
            (5, 2),
            {"links": Links(cannot=[(i, (i + 1) % 5) for i in range(5)])},
            "cannot-links need more than 2 clusters",
        ),
        (
            (11, 3),
            {"links": Links(cannot=triangle_free_with_four_colours()), "size_bounds": (1, 8)},
            "cannot-links need more than 3 clusters",
        ),
        (
            (4, 2),
            {"size_bounds": (2, 2), "links": Links(cannot=[(0, 1), (0, 2), (0, 3)])},
            "satisfy all of: sizes from 2 to 2; 3 cannot-links$",
        ),
        (
            (6, 2),
            {"size_bounds": (3, 3), "links": Links(must=[(0, 1), (2, 3), (4, 5)])},
            r"sizes from 3 to 3; must-links \(3 groups of up to 2 samples\)$",
        ),
    ],
)
def test_reasons(shape, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        assign(np.random.default_rng(0).normal(size=shape), **arguments)


@pytest.mark.parametrize(
    ("costs", "arguments", "reason"),
    [
        ([[np.inf, np.inf], [0, 0]], {}, "every cluster to sample 0"),
        (
            [[np.inf, 0], [0, np.inf], [0, 0]],
            {"links": Links(must=[(0, 1)])},
            "must-linked samples 0, 1",
        ),
        (
            [[np.inf, 0], [np.inf, 0], [0, 0]],
            {"links": Links(cannot=[(0, 1)])},
            "all of: 1 cannot-links; infinite costs$",
        ),
        (
            [[np.inf, 0], [np.inf, 0], [0, 0]],
            {"size_bounds": (1, 1 + 1), "links": Links(must=[(1, 2)], cannot=[(0, 1)])},
            "infinite costs$",
        ),
        (
            [[np.inf, 0], [np.inf, 0], [np.inf, 0]],
            {"size_bounds": (1, 2)},
            "all of: sizes from 1 to 2; infinite costs$",
        ),
    ],
)
def test_reasons_with_forbidden_clusters(costs, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        assign(costs, **arguments)


def test_contradictory_links():
    with pytest.raises(ConflictError, match="0 - 1 - 2"):
        assign(np.zeros((3, 2)), links=Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)]))


@pytest.mark.parametrize(
    ("costs", "arguments", "reason"),
    [
        ([[0.0, np.nan]], {}, r"costs\[0, 1\] is NaN"),
        ([[0.0, -np.inf]], {}, "within 1e\\+100"),
        ([0.0, 1.0], {}, "shape"),
        (np.empty((0, 2)), {}, "shape"),
        ([[0.0, 1.0]], {"size_bounds": (1.5, 2)}, "whole numbers"),
        ([[0.0, 1.0]], {"size_bounds": (2, 1)}, "least <= greatest"),
        ([[0.0, 1.0]], {"size_bounds": (-1, 1)}, "least <= greatest"),
        ([[0.0, 1.0]], {"size_bounds": 3}, "whole numbers"),
        ([[0.0, 1.0]], {"link_weight": -1.0}, "link_weight"),
        ([[0.0, 1.0]], {"link_weight": np.inf}, "link_weight"),
        ([[0.0, 1.0]], {"max_nodes": -1}, "max_nodes"),
        ([[0.0, 1.0]], {"gap": np.nan}, "gap"),
        ([[0.0, 1.0]], {"links": Links(must=[(0, 1)])}, "row 1|sample"),
    ],
)
def test_bad_arguments(costs, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        assign(costs, **arguments)
