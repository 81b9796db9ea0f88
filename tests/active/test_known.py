"""What answers say together, beside the closure by brute force; chains that contradict."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import active as twin

from linkshift.active.known import Known, Told

N = 7
rows = st.integers(0, N - 1)
answers = st.lists(
    st.tuples(rows, rows, st.booleans()).filter(lambda one: one[0] != one[1]), max_size=14
)


def told_of(some):
    return [Told(a, b, same, 1.0, f"answer {i}") for i, (a, b, same) in enumerate(some)]


def known_of(some):
    told = told_of(some)
    return Known.of(told, [1.0] * len(told))


@settings(max_examples=150, deadline=None)
@given(answers, st.data())
def test_what_is_known_is_the_closure_of_what_is_taken(some, data):
    told = told_of(some)
    trust = data.draw(
        st.lists(st.sampled_from([0.2, 0.5, 1.0]), min_size=len(told), max_size=len(told))
    )
    known = Known.of(told, trust)
    taken, aside = twin.taken_by_trust(told, trust, N)
    assert known.taken == taken
    assert [one.against for one in known.contradictions] == aside
    same, different = twin.closure(taken, N)
    for a in range(N):
        for b in range(N):
            says = True if (a, b) in same else False if (a, b) in different else None
            assert known.says(a, b) is says
    assert known.rows == sorted({row for one in taken for row in one[:2]})


@settings(max_examples=100, deadline=None)
@given(answers)
def test_chains_contradict_and_have_nothing_needless(some):
    known = known_of(some)
    for one in known.contradictions:
        against, chain = one.against, one.chain
        same, different = twin.closure(chain, N)
        assert against[:2] in (different if against.same else same)
        assert set(chain) <= set(known.taken)
        assert sum(not link.same for link in chain) == (1 if against.same else 0)
        for left_out in chain:
            same, different = twin.closure([link for link in chain if link != left_out], N)
            assert against[:2] not in (different if against.same else same)
        at = against.a  # from one row to the other
        for link in chain:
            assert at in link[:2]
            at = link.b if at == link.a else link.a
        assert at == against.b


@settings(max_examples=60, deadline=None)
@given(answers)
def test_chains_are_as_short_as_can_be(some):
    known = known_of(some)
    for one in known.contradictions:
        number = int(one.against.name.split()[1])
        before = [told for told in known.taken if int(told.name.split()[1]) < number]
        for few in combinations(before, min(len(one.chain) - 1, 2)):
            same, different = twin.closure(few, N)
            assert one.against[:2] not in (different if one.against.same else same)


@settings(max_examples=60, deadline=None)
@given(answers, st.randoms(use_true_random=False))
def test_without_contradictions_the_order_of_answers_is_nothing(some, random):
    if known_of(some).contradictions:
        return
    other = list(some)
    random.shuffle(other)
    for a, b in combinations(range(N), 2):
        assert known_of(some).says(a, b) is known_of(other).says(a, b)


def test_the_less_trusted_answer_is_set_aside():
    told = told_of([(0, 1, True), (1, 2, True), (0, 2, False)])
    for weak in range(3):
        trust = [1.0, 1.0, 1.0]
        trust[weak] = 0.5
        (found,) = Known.of(told, trust).contradictions
        assert found.against == told[weak]
        assert set(found.chain) == set(told) - {told[weak]}
        assert f": answer {weak}." in str(found)


def test_rows_that_nobody_named_are_not_known():
    known = known_of([(0, 1, True), (2, 3, False)])
    assert known.says(4, 4) is True
    for a, b in ((4, 5), (0, 4), (0, 2), (1, 3)):
        assert known.says(a, b) is None
    assert known.rows == [0, 1, 2, 3]  # asking names no row
    assert Known().says(0, 1) is None


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_foes_go_along_when_groups_join(order):
    some = [(5, 6, True), (6, 4, False), (4, 3, True), (5, 0, True)]
    known = known_of([some[i] for i in order])
    assert known.says(0, 3) is False
    assert known.says(0, 6) is True
