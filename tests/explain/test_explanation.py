"""Explanations: shares and outcomes against their literal twins, counterfactuals against fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explain.cases import LINKS, MUST, Halves, X, check_counterfactuals, quiet_fit, y
from tests.helpers import some_links
from tests.reference import constrained as constrained_twin
from tests.reference import explanation as twin

from linkshift import ConstrainedMeanShift, KernelMeanShift, Links, MetricMeanShift, PathMeanShift
from linkshift.explain import CHANCE
from linkshift.explain.counterfactuals import where_it_goes
from linkshift.explain.explanation import LEAST_SHARE


def of_classes(rng, n, soft):
    """Of links that do not contradict each other."""
    return {
        "classes": rng.integers(0, 3, size=n),
        "confidences": (0.4, 1.0) if soft else (1.0,),
    }


# The shares of links -----------------------------------------------------------------------


def literal_shares(model, row):
    """Largest share along the path of each cannot-link, and where, by loops."""
    links, points = model.links_, model._state.points
    certain = links.must[links.must_confidence == 1.0].tolist()
    options = {
        "profile": constrained_twin.literal_kernel(model.kernel, model.truncation),
        "scale": model.constraint_scale,
        "floor": 1e-3 * np.ptp(points, axis=0).max(),
    }
    found = {}
    for link, c in zip(links.cannot.tolist(), links.cannot_confidence.tolist(), strict=True):
        pairs = twin.pairs_of_link(link, certain, len(points)) if c == 1.0 else [link]
        shares = [
            twin.share_taken(
                row,
                pairs,
                [c] * len(pairs),
                centres[group],
                centres[group] if model.blurring else points,
                h,
                **options,
            )
            for h, (centres, group) in zip(
                model.bandwidth_, model._state.runs["all"].history[:-1], strict=False
            )
        ]
        found[tuple(link)] = (max(shares), shares)
    return found


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(["truncated_gaussian", "gaussian", "flat"]),
    blurring=st.booleans(),
    soft=st.booleans(),
)
def test_shares_are_those_of_the_twin(seed, kernel, blurring, soft):
    rng = np.random.default_rng(seed)
    n = 14
    data = rng.normal(size=(n, 2)) + 3.0 * rng.integers(0, 3, size=(n, 1))
    model = ConstrainedMeanShift(
        kernel=kernel, blurring=blurring, keep_history=True, max_iter=9, enforce=False, n_jobs=1
    )
    quiet_fit(model, data, some_links(rng, n, 8, **of_classes(rng, n, soft)))
    row = int(rng.integers(n))
    expected = literal_shares(model, row)
    explanation = model.explain(row, max_counterfactuals=0)
    cannot = [role for role in explanation.links if role.kind == "cannot"]
    # Links that say the same take the same, and are listed once.
    roles = {pair: role for role in cannot for pair in (role.pair, *role.alike)}
    for pair, (largest, shares) in expected.items():
        if pair in roles:
            assert roles[pair].share == pytest.approx(largest, abs=1e-7)
            if largest >= 2 * LEAST_SHARE:
                assert shares[roles[pair].step] == pytest.approx(largest, abs=1e-7)
        else:
            assert largest < LEAST_SHARE + 1e-7
            assert row not in pair


def test_the_share_of_one_pair_by_hand():
    # Two rows a quarter apart, one bandwidth of 1, h_c = 0.125: each sees both samples, with
    # weights 1 and exp(-1/16), and the link takes all of the other and nothing of its own.
    data = np.array([[0.0], [0.25]])
    model = ConstrainedMeanShift(
        bandwidth=1.0, scale_features=False, max_iter=1, enforce=False, refine=None
    ).fit(data, links=Links(cannot=[(0, 1)]))
    role = model.explain(0).links[0]
    other = np.exp(-1 / 16)
    assert role.share == pytest.approx(other / (1 + other))
    assert (role.step, role.acts, role.through) == (0, "own", (0, 1))


def test_links_are_named_behind_a_closed_pair():
    # The link is between 4 and 9, must-linked to the rows that are near each other: 2 and 7.
    data = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [9.0], [0.5], [0.6], [9.2], [9.3]])
    links = Links(must=[(2, 4), (7, 9)], cannot=[(4, 9)])
    model = ConstrainedMeanShift(
        bandwidth=0.4, scale_features=False, max_iter=5, refine=None, growth="links"
    )
    role, *_ = quiet_fit(model, data, links).explain(1, max_counterfactuals=0).links
    assert (role.kind, role.pair, role.acts) == ("cannot", (4, 9), "density")
    assert role.through == (2, 4, 9, 7)
    assert role.share > 0.05
    text = str(model.explain(1, max_counterfactuals=0))
    assert "most of it as (2, 7), by 2 - 4 - 9 - 7" in text


def test_roles_of_links():
    data = np.array([[0.0], [0.1], [0.2], [0.3], [4.0], [4.1], [4.2], [4.3], [8.0], [8.1]])
    links = Links(
        must=[(0, 1), (1, 2)],
        cannot=[(0, 4), (2, 5), (1, 8), (5, 8), (3, 9)],
        cannot_confidence=[1, 1, 1, 1, 0.5],
    )
    explanation = ConstrainedMeanShift().fit(data, links=links).explain(0, max_counterfactuals=0)
    roles = {(role.kind, role.pair): role for role in explanation.links}
    assert roles["cannot", (0, 4)].acts == "own"
    assert roles["must", (0, 1)].acts == "own"
    assert roles["must", (0, 1)].share is None
    through = roles["cannot", (2, 5)]
    assert (through.acts, through.chain) == ("component", (0, 1, 2))
    assert roles["must", (1, 2)].chain == (0, 1)
    assert roles["cannot", (1, 8)].chain == (0, 1)
    # Uncertain, and too far to take weight: it is not among them.
    assert ("cannot", (3, 9)) not in roles
    assert ("cannot", (5, 8)) not in roles
    assert all(role.holds for role in explanation.links)
    # Own links come first.
    assert {role.pair for role in explanation.links[:2]} == {(0, 4), (0, 1)}
    assert explanation.n_links == 7


def test_links_that_say_the_same_are_named():
    links = Links(must=[(0, 1), (4, 5)], cannot=[(0, 4), (1, 5), (0, 3)])
    data = np.array([[0.0], [0.1], [0.2], [1.0], [4.0], [4.1]])
    model = quiet_fit(ConstrainedMeanShift(), data, links)
    explanation = model.explain(0)
    alike = {role.pair: role.alike for role in explanation.links if role.kind == "cannot"}
    assert alike == {(0, 4): ((1, 5),), (0, 3): ()}
    assert "(1, 5) says the same" in str(explanation)
    # Alone, leaving out either would change nothing: they go together.
    (case,) = (case for case in explanation.counterfactuals if case.pair == (0, 4))
    assert case.alike == ((1, 5),)
    assert "without cannot-link (0, 4) and the one that says the same, " in str(explanation)
    less = quiet_fit(ConstrainedMeanShift(), data, Links(must=links.must, cannot=[(0, 3)]))
    assert case.n_clusters == less.n_clusters_ != model.n_clusters_


def test_links_that_only_keep_modes_apart():
    data = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
    links = Links(cannot=[(0, 5)])
    (role,) = ConstrainedMeanShift().fit(data, links=links).explain(1).links
    assert (role.acts, role.share, role.step) == ("mode", 0.0, None)
    # Not enforced, growth goes on until the link has to take weight.
    (role,) = ConstrainedMeanShift(enforce=False).fit(data, links=links).explain(1).links
    assert role.acts == "density"
    assert role.share > 0.2


def test_a_violated_link_is_told():
    links = Links(must=[(0, 30)], cannot=[(0, 5)])
    labels = np.r_[np.zeros(30, int), np.ones(30, int)]
    model = Halves(np.arange(60)).fit(X, links=links)
    assert model.labels_.tolist() == labels.tolist()
    roles = model.explain(0, max_counterfactuals=0).links
    assert [role.holds for role in roles] == [False, False]


# Where a row goes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        ([0, 0, 0, 1, 1], [0, 0, 0, 1, 1], ("stays", (0,))),
        ([0, 0, 0, 1, 1], [5, 5, 5, 2, 2], ("stays", (0,))),
        ([0, 0, 0, 1, 1], [1, 0, 0, 1, 1], ("joins", (1,))),
        ([0, 0, 0, 1, 1], [0, 0, 0, 0, 0], ("merged", (0, 1))),
        ([0, 0, 0, 1, 1, 2, 2], [1, 0, 0, 1, 1, 1, 1], ("merged", (1, 2))),
        ([0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 1, 2], ("new", (0,))),
        ([0, 0, 0, 1, 1], [2, 0, 0, 1, 1], ("alone", ())),
        ([0, 0, 0, 1, 1], [-1, 0, 0, 1, 1], ("noise", ())),
        ([-1, 0, 0], [-1, 0, 0], ("stays", (-1,))),
        ([-1, 0, 0], [0, 0, 0], ("joins", (0,))),
        ([-1, -1, 0], [1, 1, 0], ("new", ())),
        ([0, 1, 1], [0, 1, 1], ("stays", (0,))),
        ([0], [0], ("stays", (0,))),
    ],
)
def test_where_the_first_row_goes(now, then, expected):
    assert where_it_goes(0, np.array(now), np.array(then)) == expected


labels = st.lists(st.integers(-1, 3), min_size=1, max_size=14)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_outcomes_are_those_of_the_twin(data):
    now = data.draw(labels)
    then = data.draw(st.lists(st.integers(-1, 4), min_size=len(now), max_size=len(now)))
    row = data.draw(st.integers(0, len(now) - 1))
    outcome, clusters = where_it_goes(row, np.array(now), np.array(then))
    assert (outcome, set(clusters)) == twin.where_it_goes(row, now, then)
    renamed = [label if label == -1 else 9 - label for label in then]
    assert where_it_goes(row, np.array(now), np.array(renamed)) == (outcome, clusters)


@pytest.mark.parametrize("keep_history", [False, True])
def test_without_a_link_constrained_mean_shift_is_fitted_again(keep_history):
    links = Links.sample(y, 6, random_state=0)
    model = ConstrainedMeanShift(keep_history=keep_history, n_jobs=1).fit(X, links=links)
    cases = [
        case
        for row in (0, 7, 31)
        for case in check_counterfactuals(model, X, row, max_counterfactuals=4).counterfactuals
    ]
    assert {case.outcome for case in cases} != {"stays"}  # or nothing was tested


@settings(max_examples=5, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_counterfactuals_are_fits_for_any_links(seed, soft):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(30, 2)) + 4.0 * rng.integers(0, 2, size=(30, 1))
    links = some_links(rng, 30, 12, **of_classes(rng, 30, soft))
    model = quiet_fit(ConstrainedMeanShift(max_iter=15, n_jobs=1), data, links)
    linked = np.unique(links.cannot)
    check_counterfactuals(model, data, int(rng.choice(linked)), max_counterfactuals=3)


def test_without_a_link_kernel_mean_shift_is_fitted_again():
    model = KernelMeanShift(n_neighbors=3, n_jobs=1).fit(X, links=MUST)
    explanation = check_counterfactuals(model, X, int(MUST.must[0, 0]), max_counterfactuals=3)
    assert explanation.counterfactuals[0].pair == explanation.links[0].pair
    cases = [*explanation.counterfactuals]
    for row in (3, 9):
        cases += check_counterfactuals(model, X, row, max_counterfactuals=3).counterfactuals
    assert {case.outcome for case in cases} != {"stays"}
    learned = quiet_fit(KernelMeanShift(use_links="learn", n_jobs=1), X, LINKS)
    check_counterfactuals(learned, X, 4, max_counterfactuals=2)


def test_without_a_link_metric_mean_shift_is_fitted_again():
    model = MetricMeanShift(n_neighbors=15, random_state=0, n_jobs=1).fit(X, links=LINKS)
    explanation = check_counterfactuals(model, X, 2, max_counterfactuals=2)
    assert CHANCE not in explanation.notes


def test_without_a_link_another_bandwidth_is_chosen():
    data, links = X[:20], Links.sample(y[:20], 4, random_state=2)
    model = PathMeanShift(n_jobs=1).fit(data, links=links)
    explanation = check_counterfactuals(model, data, 0, max_counterfactuals=9)
    assert len(explanation.counterfactuals) == len(links)
    assert any("bandwidth is then" in case.note for case in explanation.counterfactuals)
    last = PathMeanShift().fit(X, links=Links(cannot=[(0, 1)])).explain(0)
    assert [case.outcome for case in last.counterfactuals] == ["unfit"]


def test_a_fit_that_fails_is_told():
    links = Links(must=[(0, 1)], cannot=[(0, 2)])
    model = quiet_fit(MetricMeanShift(random_state=0, n_neighbors=10), X, links)
    cases = model.explain(0).counterfactuals
    assert {case.outcome for case in cases} == {"unfit"}
    assert all(case.note for case in cases)
    assert "there is no fit (" in str(model.explain(0))


def test_labels_that_were_learned_from_have_no_counterfactuals():
    known = np.where(np.arange(60) < 25, y, -1)
    model = MetricMeanShift(random_state=0).fit(X, partial_labels=known)
    explanation = model.explain(0)
    assert not explanation.counterfactuals
    assert explanation.links
    assert any("learned from labels" in note for note in explanation.notes)


def test_how_many_counterfactuals_and_their_progress():
    model = KernelMeanShift().fit(X, links=Links(must=MUST.must[:4]))
    told = []
    assert model.explain(0, max_counterfactuals=0, progress=told.append).counterfactuals == ()
    assert told == []
    calls = []
    explanation = model.explain(
        0, max_counterfactuals=9, progress=lambda done, total: calls.append((done, total))
    )
    assert len(explanation.counterfactuals) == 4
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_growth_that_stops_elsewhere_is_told():
    # With nine links instead of ten, links are not asked any more, and growth goes on.
    links = Links.sample(y, 10, random_state=2)
    model = ConstrainedMeanShift(n_jobs=1).fit(X, links=links)
    row = int(links.cannot[0, 0])
    other = quiet_fit(ConstrainedMeanShift(), X, links.remove(cannot=[links.cannot[0]]))
    assert len(other.bandwidth_) > len(model.bandwidth_)  # or there is nothing to tell
    notes = {case.pair: case.note for case in model.explain(row).counterfactuals}
    assert f"grows to {other.bandwidth_[-1]:.3g}" in notes[tuple(links.cannot[0].tolist())]


def test_chance_is_told():
    random = quiet_fit(KernelMeanShift(max_points=40), X, MUST)
    assert CHANCE in random.explain(0, max_counterfactuals=0).notes
    seeded = quiet_fit(KernelMeanShift(max_points=40, random_state=0), X, MUST)
    assert CHANCE not in seeded.explain(0, max_counterfactuals=0).notes
    assert CHANCE not in KernelMeanShift().fit(X).explain(0).notes
    learned = MetricMeanShift().fit(X, links=LINKS)
    assert CHANCE in learned.explain(0, max_counterfactuals=0).notes
