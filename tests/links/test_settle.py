"""Contradictions settled by weight: laws of what is set aside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.links_closure import cheapest_removal, contradicting

from linkshift.links import Links, _settle

N = 7
PAIR = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] < p[1])
PAIRS = st.lists(PAIR, unique=True, max_size=12)
FEW = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] < p[1]),
    unique=True,
    max_size=6,
)
WEIGHT = st.sampled_from([0.1, 0.5, 1.0, 3.0])


def weights(data, pairs):
    return data.draw(st.lists(WEIGHT, min_size=len(pairs), max_size=len(pairs)))


WAYS = pytest.mark.parametrize("way", [_settle.EXACT_CONFLICTS, 0], ids=["exact", "surest first"])


def settle(way, links, *given):
    """Settle either way: proven, or link by link."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_settle, "EXACT_CONFLICTS", way)
        return links.settle(*given)


@WAYS
@settings(deadline=None, max_examples=50)
@given(must=PAIRS, cannot=PAIRS, data=st.data())
def test_the_rest_agrees_and_nothing_is_lost(way, must, cannot, data):
    links = Links(must, cannot)
    settled = settle(way, links, weights(data, must), weights(data, cannot))
    assert not settled.links.conflicts()
    assert settled.links + settled.set_aside == links
    assert len(settled.links) + len(settled.set_aside) == len(links)
    assert settled.exact == (way > 0 or not links.conflicts())
    if not links.conflicts():
        assert not len(settled.set_aside)


@WAYS
@settings(deadline=None, max_examples=50)
@given(must=PAIRS, cannot=PAIRS, data=st.data())
def test_none_could_be_put_back(way, must, cannot, data):
    settled = settle(way, Links(must, cannot), weights(data, must), weights(data, cannot))
    rest, aside = settled.links, settled.set_aside
    rest_must, rest_cannot = map(list, (rest.must_ids, rest.cannot_ids))
    for pair in aside.must_ids:
        assert contradicting([*rest_must, pair], rest_cannot)
    for pair in aside.cannot_ids:
        assert contradicting(rest_must, [*rest_cannot, pair])


@settings(deadline=None, max_examples=60)
@given(FEW, FEW, st.data())
def test_least_total_weight(must, cannot, data):
    must_weight, cannot_weight = weights(data, must), weights(data, cannot)
    settled = Links(must, cannot).settle(must_weight, cannot_weight)
    of = dict(zip([("m", *p) for p in must], must_weight, strict=True))
    of |= dict(zip([("c", *p) for p in cannot], cannot_weight, strict=True))
    aside = settled.set_aside
    gone = [("m", *p) for p in aside.must_ids] + [("c", *p) for p in aside.cannot_ids]
    best = cheapest_removal(must, cannot, must_weight, cannot_weight)
    assert sum(of[link] for link in gone) == pytest.approx(best)


@WAYS
@settings(deadline=None, max_examples=50)
@given(must=PAIRS, cannot=PAIRS, data=st.data())
def test_a_link_heavier_than_all_others_together_stays(way, must, cannot, data):
    kind, pairs = data.draw(st.sampled_from([("must", must), ("cannot", cannot)]))
    if not pairs:
        return
    sure = {"must": np.ones(len(must)), "cannot": np.ones(len(cannot))}
    heavy = data.draw(st.integers(0, len(pairs) - 1))
    sure[kind][heavy] = 100.0
    settled = settle(way, Links(must, cannot), sure["must"], sure["cannot"])
    assert pairs[heavy] in getattr(settled.links, f"{kind}_ids")


@WAYS
@pytest.mark.parametrize(("must_weight", "gone"), [(0.9, "cannot"), (0.1, "must")])
def test_one_pair_answered_both_ways(way, must_weight, gone):
    links = Links(must=[(0, 1), (2, 3)], cannot=[(0, 1), (1, 2)])
    settled = settle(way, links, [must_weight, 1], [1 - must_weight, 1])
    assert getattr(settled.set_aside, gone).tolist() == [[0, 1]]
    assert len(settled.set_aside) == 1


def test_confidences_are_the_weights_unless_given():
    links = Links(must=[("a", "b")], cannot=[("a", "b")], must_confidence=0.4)
    assert links.settle().set_aside.must_ids == (("a", "b"),)
    assert links.settle(cannot_weight=[0.3]).set_aside.cannot_ids == (("a", "b"),)


@pytest.mark.parametrize("bad", [[0.0], [-1.0], [np.nan], [np.inf], [1.0, 1.0], 1.0])
def test_weights_are_checked(bad):
    with pytest.raises(ValueError, match="must_weight"):
        Links(must=[(0, 1)]).settle(must_weight=bad)


def test_many_contradictions_are_settled_at_once_and_always_the_same_way():
    y = np.random.default_rng(0).integers(0, 3, 1000)
    links = Links.sample(y, 2000, random_state=0, error_rate=0.2)
    settled = links.settle()
    assert not settled.exact
    assert not settled.links.conflicts()
    assert settled.set_aside == links.settle().set_aside
