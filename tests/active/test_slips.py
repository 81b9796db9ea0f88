"""Slips: what is on the two sides of an answer, and how often they happen; links hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.active.sessions import KINDS, MOST, answers, begin, data, kinds, links_of, pairs_of
from tests.reference import active as twin

from linkshift.active import memory as module
from linkshift.active.belief import left_out, posterior, prior, rate_of_slips
from linkshift.active.look import N_FEATURES
from linkshift.active.slips import sides


@pytest.fixture(autouse=True, scope="module")
def few_rows_are_looked_at():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_ROWS", MOST)
        yield


def state_of(session):
    return session._memory.state(session._told)[1]


# Two sides ----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(kinds, answers(words=("same", "different"), sure=(1.0,), most=16))
def test_sides_are_those_of_a_walk_without_the_answer(kind, some):
    state = state_of(begin(kind, log=pairs_of(kind, some)))
    found, taken = sides(state), state.bending.taken
    for told in taken:
        expected = twin.sides_of(told, taken)
        if expected is None:
            if not told.same:  # of chains that close, all but one hold the tree together
                assert (told.a, told.b) not in found
            continue
        one, other = found[told.a, told.b][:2]
        assert one >= 0
        assert other >= 0
        belief = np.clip(
            [
                [state.belief[state.item[i], state.item[j]] for j in expected[1]]
                for i in expected[0]
            ],
            0.002,
            0.998,
        )
        if len(taken) == sum(twin.sides_of(each, taken) is not None for each in taken):
            score = np.log(belief / (1 - belief)).mean()
            assert found[told.a, told.b].across == pytest.approx(score, abs=1e-8)


@settings(max_examples=30, deadline=None)
@given(kinds, answers(words=("same", "different"), sure=(1.0,), most=10))
def test_both_sides_are_all_rows_that_go_with_their_groups(kind, some):
    state = state_of(begin(kind, log=pairs_of(kind, some)))
    groups = {}
    for told in state.bending.taken:
        if told.same and (told.a, told.b) in (found := sides(state)):
            one, other, _ = found[told.a, told.b]
            groups.setdefault(state.bending.root(told.a), set()).add(round(one + other, 6))
    assert all(len(sizes) == 1 for sizes in groups.values())


# How often ----------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(-6, 6), st.integers(1, 3), st.integers(0, 2)), max_size=12))
def test_the_share_of_slips_is_the_mean_of_its_posterior(some):
    columns = np.array(some, dtype=float).reshape(-1, 3).T
    assert rate_of_slips(*columns) == pytest.approx(twin.share_of_slips(*columns), abs=2e-3)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.15])
def test_the_share_of_slips_is_found_where_scores_are_what_they_say(share):
    rng = np.random.default_rng(0)
    score = 3 * rng.normal(size=1_500)
    same = rng.uniform(size=1_500) < 1 / (1 + np.exp(-0.8 * score))
    said = same != (rng.uniform(size=1_500) < share)
    once = np.ones(1_500)
    found = rate_of_slips(np.where(said, score, -score), once, 0 * once)
    assert found == pytest.approx(share, abs=0.025)


def test_confirmed_answers_are_fewer_slips_and_others_more():
    score, once = np.zeros(6), np.ones(6)
    usual = rate_of_slips(score, once, 0 * once)
    assert rate_of_slips(score, 2 * once, 0 * once) < usual < rate_of_slips(score, once, once)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_a_score_without_an_answer_is_near_that_of_a_fit_without_it(seed, q):
    rng = np.random.default_rng(seed)
    before = prior()
    features = np.concatenate([rng.normal(size=(q, N_FEATURES - 2)), np.ones((q, 2))], axis=1)
    same, weight = rng.integers(0, 2, q).astype(float), rng.uniform(0.3, 1.0, q)
    fitted = posterior(features, same, weight, before)
    found = left_out(features, same, weight, fitted, before)
    for i in range(q):
        others = np.arange(q) != i
        without = posterior(features[others], same[others], weight[others], before)
        chance = 1 / (1 + np.exp(-features[others] @ without))
        bend = (features[others] * (weight[others] * chance * (1 - chance))[:, None]).T
        spread = features[i] @ np.linalg.solve(
            bend @ features[others] + before.precision, features[i]
        )
        expected = features[i] @ without / np.sqrt(1 + np.pi * spread / 8)
        assert found[i] == pytest.approx(expected, abs=0.35 + 0.1 * abs(expected))


# Links that were given ----------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(kinds, answers(words=("same", "different"), sure=(1.0,), most=4), answers(most=12))
def test_certain_links_that_were_given_hold_whatever_is_answered(kind, links, some):
    given_links = links_of(kind, links)
    if given_links.conflicts():
        return
    session = begin(kind, given_links, pairs_of(kind, some))
    X, labels = data(kind)[0], session.labels_
    answered = {(min(a, b), max(a, b)) for a, b, word, _ in pairs_of(kind, some)}
    if len(np.unique(X, axis=0)) < KINDS[kind]:
        return  # equal rows are one, and may contradict links by themselves
    for pairs, same in ((given_links.must, True), (given_links.cannot, False)):
        for a, b in pairs.tolist():
            if (min(a, b), max(a, b)) not in answered:
                assert (labels[a] == labels[b]) == same
