"""Constrained mean shift against its equations, written out in tests/reference/constrained.py."""

from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.helpers import same_partition
from tests.reference import constrained as twin

from linkshift._core.messages import Refusal
from linkshift._core.threads import threads
from linkshift.modes import merge_close
from linkshift.shift.constrained import LinkKernel, ascent, constrained_ascend, near

KERNELS = ["truncated_gaussian", "gaussian", "flat"]
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
# Odd digits keep points off the edges of kernels, where rounding would decide.
SCALE = 0.48713


class Problem(NamedTuple):
    """What an ascent needs."""

    X: np.ndarray
    cannot: np.ndarray
    bandwidths: np.ndarray
    kernel: LinkKernel
    confidence: np.ndarray | None
    blurring: bool
    weight: np.ndarray | None = None


def some_pairs(rng, n, m):
    """Draw m different pairs of rows, or all there are."""
    pairs = np.stack(np.triu_indices(n, k=1), axis=1)
    return pairs[rng.permutation(len(pairs))[:m]]


def make_problem(
    seed,
    n=40,
    d=2,
    kernel="truncated_gaussian",
    m=10,
    layout="clumps",
    soft=False,
    blurring=False,
    weighted=False,
):
    """Draw a problem: clumps, whole numbers with many duplicates, or few spots."""
    rng = np.random.default_rng(seed)
    if layout == "lattice":
        X = rng.integers(0, 4, size=(n, d)).astype(float)
    elif layout == "spots":
        X = rng.normal(size=(max(1, n // 6), d))[rng.integers(max(1, n // 6), size=n)]
    else:
        X = rng.normal(size=(n, d)) + 3.0 * rng.integers(0, 3, size=(n, 1))
    cannot = some_pairs(rng, n, m)
    confidence = rng.choice([0.3, 0.8123, 1.0], size=len(cannot)) if soft else None
    widths = np.linspace(0.2113, rng.uniform(1.0, 4.0) * np.sqrt(d), int(rng.integers(1, 9)))
    truncation = float(rng.uniform(0.1, 0.5))
    weight = rng.choice([0.0, 0.3, 1.0, 2.7], size=n) if weighted else None
    return Problem(X, cannot, widths, LinkKernel(kernel, truncation), confidence, blurring, weight)


def twin_states(problem, **changes):
    """All states of the twin, and the smallest positive total weight on the way."""
    centres = problem.X.copy()
    profile = twin.literal_kernel(problem.kernel.name, problem.kernel.truncation)
    states, least = [centres], np.inf
    for h in problem.bandwidths:
        centres, total = twin.constrained_step(
            centres,
            centres if problem.blurring else problem.X,
            problem.cannot,
            h,
            profile=profile,
            scale=SCALE,
            confidence=problem.confidence,
            mass=1.0 if problem.weight is None else problem.weight,
            **changes,
        )
        states.append(centres)
        least = min(least, total[total > 0].min(initial=np.inf))
    return states, least


def ascend(problem, **changes):
    arguments = {
        "scale": SCALE,
        "confidence": problem.confidence,
        "weight": problem.weight,
        "blurring": problem.blurring,
        "merge_tol": 1e-12,
    }
    return constrained_ascend(
        problem.X, problem.cannot, problem.bandwidths, problem.kernel, **arguments | changes
    )


def positions(state):
    """Where each row is: of an ascent, or of an entry of its history."""
    centres, group = state if isinstance(state, tuple) else (state.centres, state.group)
    return centres[group]


def spots(at, tolerance=1e-6):
    """Label rows by spot: chains of steps below the tolerance."""
    return merge_close(np.asarray(at), tolerance)


def without_early_exit():
    return mock.patch.object(ascent, "_settled", return_value=False)


@st.composite
def problems(draw, max_n=60, layouts=("clumps", "lattice", "spots")):
    """Problems of every kind."""
    n = draw(st.integers(1, max_n))
    return make_problem(
        seed=draw(st.integers(0, 2**32 - 1)),
        n=n,
        d=draw(st.integers(1, 5)),
        kernel=draw(st.sampled_from(KERNELS)),
        m=draw(st.sampled_from([0, 1, 5, n, 4 * n])),
        layout=draw(st.sampled_from(layouts)),
        soft=draw(st.booleans()),
        blurring=draw(st.booleans()),
        weighted=draw(st.booleans()),
    )


# Against the twin


@settings(max_examples=80, deadline=None)
@given(problems(), st.sampled_from([0.0, 1e-12]))
def test_every_state_is_the_twins(problem, merge_tol):
    states, least = twin_states(problem)
    # Where links leave a centre next to nothing, what is left is rounding.
    assume(least > 1e-8)
    ours = ascend(problem, merge_tol=merge_tol, keep_history=True)
    assert len(ours.history) == ours.n_iter + 1 <= len(states)
    for state, expected in zip(ours.history, states, strict=False):
        np.testing.assert_allclose(positions(state), expected, rtol=0, atol=1e-7)
    assert same_partition(spots(positions(ours)), spots(states[ours.n_iter]))
    # Rows of one centre are together in the twin too.
    np.testing.assert_allclose(states[ours.n_iter], ours.centres[ours.group], rtol=0, atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_without_the_early_exit_every_bandwidth_is_used(problem):
    states, least = twin_states(problem)
    assume(least > 1e-8)
    with without_early_exit():
        ours = ascend(problem)
    assert ours.n_iter == len(problem.bandwidths)
    assert ours.bandwidth == problem.bandwidths[-1]
    np.testing.assert_allclose(positions(ours), states[-1], rtol=0, atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_at_the_default_merge_tolerance_one_step_is_the_twins(problem):
    short = problem._replace(bandwidths=problem.bandwidths[-1:])
    states, least = twin_states(short)
    assume(least > 1e-8)
    ours = ascend(short, merge_tol=1e-5)
    if ours.n_iter:
        atol = 2e-5 * short.bandwidths[0]
        np.testing.assert_allclose(positions(ours), states[-1], rtol=0, atol=atol)


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
@pytest.mark.parametrize("n", [64, 65, 150, 300])
def test_several_blocks_of_centres(kernel, blurring, n):
    problem = make_problem(n, n, 3, kernel, m=n, blurring=blurring, soft=n == 150)
    problem = problem._replace(bandwidths=np.array([0.4, 0.9137, 1.731]))
    ours = ascend(problem, keep_history=True)
    assert len(ours.history[1][0]) > n // 2
    states, _ = twin_states(problem)
    for state, expected in zip(ours.history, states, strict=True):
        np.testing.assert_allclose(positions(state), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["truncated_gaussian", "flat"])
def test_samples_far_from_their_centres(kernel):
    # A wide step draws centres in; then a narrow one sees samples whose own centres are far away.
    # Each link joins a row to the one whose sample lies where the row's centre went.
    X = np.sort(np.random.default_rng(0).uniform(0.0, 4.0, 400))[:, None]
    plain = Problem(X, np.empty((0, 2), int), [2.0], LinkKernel(kernel, 0.2), None, False)
    went = positions(ascend(plain)).ravel()
    rows = np.arange(0, 150, 5)
    problem = plain._replace(
        cannot=np.stack([rows, np.abs(X.ravel() - went[rows, None]).argmin(axis=1)], axis=1),
        confidence=np.full(len(rows), 0.02),
        bandwidths=np.array([2.0, 0.0317]),
    )
    states, _ = twin_states(problem)
    assert np.abs(states[1] - X).max() > 10 * 0.0317
    ours = ascend(problem, keep_history=True)
    assert len(ours.history[1][0]) > 128
    for state, expected in zip(ours.history, states, strict=True):
        np.testing.assert_allclose(positions(state), expected, rtol=0, atol=1e-9)


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
def test_many_links_between_the_same_two_spots(kernel, blurring):
    # Two spots of five and four twins and two rows between: twenty links become one pair of
    # centres, with multiplicity; k k is well below one for the rows between.
    X = np.array([[0.0, 0.0]] * 5 + [[2.0, 0.0]] * 4 + [[0.3, 0.1], [1.6, -0.1]])
    cannot = np.array([(i, j) for i in range(5) for j in range(5, 9)])
    problem = Problem(X, cannot, np.array([1.9, 2.1, 2.5]), LinkKernel(kernel, 0.2), None, blurring)
    with without_early_exit():
        ours = ascend(problem)
    states, _ = twin_states(problem)
    np.testing.assert_allclose(positions(ours), states[-1], rtol=0, atol=1e-9)
    once = ascend(problem._replace(cannot=cannot[:1], bandwidths=problem.bandwidths[:1]))
    if kernel != "flat":  # one link alone bends less: multiplicities matter
        assert np.abs(positions(once) - states[1]).max() > 1e-3


def test_links_of_one_pair_with_different_confidences_multiply():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [0.2]])
    cannot = np.array([(0, 2), (1, 3), (0, 3)])
    problem = Problem(
        X, cannot, np.array([1.3]), LinkKernel("gaussian"), np.array([0.5, 0.9, 0.5]), False
    )
    states, _ = twin_states(problem)
    np.testing.assert_allclose(positions(ascend(problem)), states[-1], rtol=0, atol=1e-12)


def test_links_whose_ends_coincide_use_the_floor():
    X = np.array([[0.0], [0.0], [0.05], [1.0]])
    problem = Problem(X, np.array([(0, 1)]), np.array([2.0]), LinkKernel("gaussian"), None, False)
    profile = twin.literal_kernel("gaussian")
    moved = {}
    for floor in (1e-3, 0.1, 1.0):
        expected, _ = twin.constrained_shift(
            X, problem.cannot, problem.bandwidths, profile=profile, scale=SCALE, floor=floor
        )
        moved[floor] = positions(ascend(problem, floor=floor))
        np.testing.assert_allclose(moved[floor], expected, rtol=0, atol=1e-12)
    assert np.abs(moved[1e-3] - moved[1.0]).max() > 1e-2


@pytest.mark.parametrize("truncation", [0.05, 0.2, 0.9])
def test_truncated_kernel_is_the_literal_one(truncation):
    u = np.linspace(0.0, 5.0, 1001)
    for name in KERNELS:
        np.testing.assert_allclose(
            LinkKernel(name, truncation)(u), twin.literal_kernel(name, truncation)(u), atol=1e-15
        )


# By hand


def test_by_hand_without_links():
    # exp(-1) < 0.5 at distance 1 = h: only within sqrt(log 2) = 0.83 bandwidths.
    X = np.array([[0.0], [1.0], [3.0]])
    alone = constrained_ascend(X, np.empty((0, 2), int), [1.0], LinkKernel(truncation=0.5))
    np.testing.assert_array_equal(positions(alone), X)
    pair = constrained_ascend(X, np.empty((0, 2), int), [1.0], LinkKernel("gaussian"))
    a, b, c = np.exp(-1.0), np.exp(-4.0), np.exp(-9.0)
    expected = [(a + 3 * c) / (1 + a + c), (1 + 3 * b) / (a + 1 + b), (3 + b) / (c + b + 1)]
    np.testing.assert_allclose(positions(pair).ravel(), expected, rtol=1e-12)


def test_by_hand_with_a_link():
    # Rows 0 and 1 apart, h = 2, flat: h_c = 0.5 reaches no third row at distance 1 or more, so
    # only rows 0 and 1 do without each other.
    X = np.array([[0.0], [1.0], [-1.5], [2.5]])
    ours = constrained_ascend(X, np.array([(0, 1)]), [2.0], LinkKernel("flat"))
    np.testing.assert_allclose(
        positions(ours).ravel(), [(0 - 1.5) / 2, (1 + 2.5) / 2, (0 - 1.5) / 2, (1 + 2.5) / 2]
    )
    # At confidence 0.25 each counts the other by three quarters.
    soft = constrained_ascend(
        X, np.array([(0, 1)]), [2.0], LinkKernel("flat"), confidence=np.array([0.25])
    )
    np.testing.assert_allclose(
        positions(soft).ravel()[:2], [(0.75 - 1.5) / 2.75, (1 + 2.5) / 2.75], rtol=1e-12
    )


def test_by_hand_the_scale_decides_how_far_a_link_bends():
    # Row 2 lies 0.3 from row 0. At lambda 0.5, h_c = 0.5 and row 2 is as good as row 0; at
    # lambda 0.2, h_c = 0.2 and it is not concerned.
    X = np.array([[0.0], [1.0], [0.3]])
    link = np.array([(0, 1)])
    wide = constrained_ascend(X, link, [5.0], LinkKernel("flat"), scale=0.5)
    np.testing.assert_allclose(positions(wide).ravel(), [0.15, 1.0, 0.15])
    narrow = constrained_ascend(X, link, [5.0], LinkKernel("flat"), scale=0.2)
    np.testing.assert_allclose(positions(narrow).ravel(), [0.15, 0.65, 1.3 / 3])


@every_kernel
def test_a_centre_that_loses_all_weight_stays_put(kernel):
    # Rows 0 and 1 coincide and are linked: each takes all weight from their common spot.
    X = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0], [5.1, 5.0]])
    cannot = np.array([(0, 1)])
    ours = constrained_ascend(X, cannot, [0.5], LinkKernel(kernel))
    np.testing.assert_array_equal(positions(ours)[:2], X[:2])
    np.testing.assert_allclose(positions(ours)[2:, 0].mean(), 5.05)
    _, total = twin.constrained_step(X, X, cannot, 0.5, profile=twin.literal_kernel("flat"))
    np.testing.assert_array_equal(total, [0, 0, 2, 2])


# What must not matter


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
def test_any_number_of_threads_gives_the_same_bits(kernel, blurring):
    problem = make_problem(7, 300, 4, kernel, m=300, blurring=blurring, soft=blurring)
    one = ascend(problem, merge_tol=1e-5, n_threads=1)
    for n_threads in (2, 5):
        more = ascend(problem, merge_tol=1e-5, n_threads=n_threads)
        np.testing.assert_array_equal(more.centres, one.centres)
        np.testing.assert_array_equal(more.group, one.group)


@every_kernel
@pytest.mark.parametrize("n_moved", [None, 70])
def test_panels_give_the_same_bits(kernel, n_moved, monkeypatch):
    """Where not all closeness fits into memory, it is worked out for some blocks at a time."""
    problem = make_problem(7, 500, 4, kernel, m=300, soft=True)
    levels, level = np.unique(problem.confidence, return_inverse=True)
    links = ascent._distinct_links(problem.cannot, level, levels, 500)
    state = ascent._State(problem.X, problem.X, np.arange(500), np.ones(500))
    seen = []

    def step():
        counted = near.Panels.pairs

        def pairs(self):
            seen.append((self._edges.tolist(), 12 * int(self._marks.rank[-1].sum())))
            return counted(self)

        with mock.patch.object(near.Panels, "pairs", pairs), threads(2) as pool:
            return ascent._step(state, links, problem.kernel, 1.3, SCALE, 1e-3, pool, n_moved)

    whole = step()
    for panel in (1, seen[0][1] // 3):
        monkeypatch.setattr(near, "_PANEL", panel)
        np.testing.assert_array_equal(step(), whole)
    edges = [found for found, _ in seen]
    assert edges[:2] == [[0, 8], list(range(9))]
    assert 3 <= len(edges[2]) <= 5


@settings(max_examples=20, deadline=None)
@given(problems())
def test_the_order_of_rows_and_links_does_not_matter(problem):
    assume(twin_states(problem)[1] > 1e-8)
    rng = np.random.default_rng(0)
    shuffle, links = rng.permutation(len(problem.X)), rng.permutation(len(problem.cannot))
    rank = np.argsort(shuffle)
    there = problem._replace(
        X=problem.X[shuffle],
        cannot=rank[problem.cannot[links]][:, ::-1].reshape(-1, 2),
        confidence=None if problem.confidence is None else problem.confidence[links],
        weight=None if problem.weight is None else problem.weight[shuffle],
    )
    one, other = ascend(problem), ascend(there)
    assert one.n_iter == other.n_iter
    np.testing.assert_allclose(positions(other), positions(one)[shuffle], rtol=0, atol=1e-7)


@settings(max_examples=20, deadline=None)
@given(problems(layouts=("clumps", "spots")), st.sampled_from([0.01, 0.5, 64.0, 1e4]))
def test_translation_and_scaling(problem, unit):
    assume(twin_states(problem)[1] > 1e-6)
    rng = np.random.default_rng(0)
    offset = rng.normal(size=problem.X.shape[1])
    there = problem._replace(X=(problem.X + offset) * unit, bandwidths=problem.bandwidths * unit)
    one, other = ascend(problem), ascend(there, floor=1e-3 * unit)
    assert one.n_iter == other.n_iter
    np.testing.assert_allclose(positions(other) / unit - offset, positions(one), rtol=0, atol=1e-6)


# Early exit


def classes(seed):
    """Points in two or three classes, everything known: the ascent ends early."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(18) % (2 + seed % 2))
    X = rng.normal(size=(18, 2)) * 0.3 + 2.0 * y[:, None]
    i, j = np.triu_indices(18, k=1)
    cannot = np.stack([i, j], axis=1)[y[i] != y[j]]
    return X, cannot, y


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_early_exit_changes_no_partition(kernel, blurring, seed):
    X, cannot, y = classes(seed)
    widths = np.linspace(0.05, 4.0, 40)
    arguments = (X, cannot, widths, LinkKernel(kernel))
    early = constrained_ascend(*arguments, blurring=blurring)
    with without_early_exit():
        late = constrained_ascend(*arguments, blurring=blurring)
    assert late.n_iter == 40
    assert early.n_iter < 40
    assert early.bandwidth == widths[early.n_iter - 1]
    assert same_partition(early.group, late.group)
    radius = widths[-1] * np.sqrt(-np.log(0.99))
    assert same_partition(
        merge_close(early.centres, radius)[early.group],
        merge_close(late.centres, radius)[late.group],
    )
    assert same_partition(early.group, y)


def test_links_below_full_confidence_do_not_end_the_ascent():
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    cannot = np.array([(0, 2), (0, 3), (1, 2), (1, 3)])
    widths = np.linspace(0.2, 3.0, 30)
    sure = constrained_ascend(X, cannot, widths, LinkKernel())
    assert sure.n_iter < 30
    assert len(sure.centres) == 2
    unsure = constrained_ascend(X, cannot, widths, LinkKernel(), confidence=np.full(4, 0.1))
    assert unsure.n_iter == 30
    assert np.ptp(unsure.centres) < 0.5 * np.ptp(sure.centres)


def test_one_centre_ends_the_ascent():
    X = np.array([[0.0], [0.1], [1.0]])
    ours = constrained_ascend(X, np.empty((0, 2), int), np.full(50, 3.0), LinkKernel())
    assert len(ours.centres) == 1
    assert ours.n_iter < 50
    np.testing.assert_allclose(ours.centres, [[X.mean()]], atol=0.05)


def test_on_request_settled_centres_go_on_to_the_last_bandwidth():
    # Held apart for good, the two centres still drift: only a full run shows where they end.
    X = np.array(
        [0, 4.5e-5, 0.00235, 0.010579, 0.025869, 0.029486, 0.032122, 0.231945, 1, 0.186498]
    )
    cannot = np.array([(i, 9) for i in range(9)])
    widths = np.linspace(4.5e-5, 1.0, 80)
    early = constrained_ascend(X[:, None], cannot, widths, LinkKernel())
    late = constrained_ascend(X[:, None], cannot, widths, LinkKernel(), until_settled=False)
    assert early.n_iter < late.n_iter == 80
    assert same_partition(early.group, late.group)
    expected, _ = twin.constrained_shift(X[:, None], cannot, widths, profile=LinkKernel())
    np.testing.assert_allclose(late.centres[late.group], expected, atol=1e-7)


# History and progress


@pytest.mark.parametrize("blurring", [False, True])
def test_history_begins_with_the_data_and_ends_with_the_result(blurring):
    problem = make_problem(3, 100, 2, m=50, blurring=blurring)
    ours = ascend(problem, keep_history=True, merge_tol=1e-5)
    assert len(ours.history) == ours.n_iter + 1
    np.testing.assert_array_equal(positions(ours.history[0]), problem.X)
    np.testing.assert_array_equal(positions(ours.history[-1]), positions(ours))
    quiet = ascend(problem, merge_tol=1e-5)
    assert quiet.history == []
    np.testing.assert_array_equal(positions(quiet), positions(ours))


@settings(max_examples=20, deadline=None)
@given(problems())
def test_trajectories_that_met_stay_together(problem):
    ours = ascend(problem, keep_history=True, merge_tol=1e-5)
    for (_, before), (_, after) in zip(ours.history[:-1], ours.history[1:], strict=True):
        for g in range(before.max() + 1):
            assert len(set(after[before == g].tolist())) == 1
    assert sorted(set(ours.group.tolist())) == list(range(len(ours.centres)))


def test_progress_is_called_after_each_iteration():
    problem = make_problem(1, 50)._replace(bandwidths=np.array([0.2, 0.3, 0.4]))
    calls = []
    ascend(problem, progress=lambda *made: calls.append(made))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_input_is_left_alone():
    problem = make_problem(1, 50)
    X, cannot = problem.X.copy(), problem.cannot.copy()
    ascend(problem)
    np.testing.assert_array_equal(problem.X, X)
    np.testing.assert_array_equal(problem.cannot, cannot)


def test_one_row():
    ours = constrained_ascend(np.array([[3.0, 4.0]]), np.empty((0, 2), int), [1.0], LinkKernel())
    np.testing.assert_array_equal(ours.centres, [[3.0, 4.0]])
    assert ours.n_iter == 0
    np.testing.assert_array_equal(ours.group, [0])


@pytest.mark.parametrize(("positions", "bandwidth"), [(1e160, 1e160), (1.0, 1e160), (1e120, 1.0)])
def test_numbers_that_padding_is_not_far_from_are_refused(positions, bandwidth):
    """They once ended the interpreter."""
    X = positions * np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(Refusal, match="up to 1e\\+100"):
        constrained_ascend(X, np.array([(0, 40)]), [bandwidth] * 3, LinkKernel())
