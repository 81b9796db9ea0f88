"""The estimate beside a sum over all pairs of rows, and what audits are drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import blobs
from tests.reference import active as twin

from linkshift import Session
from linkshift.active import estimate as estimate_module
from linkshift.active import look as look_module
from linkshift.active.estimate import Audit, Figure, chances, draw, estimated
from linkshift.active.known import Told
from linkshift.active.look import look_at
from linkshift.active.state import Faces, state_of

seeds = st.integers(0, 2**32 - 1)


def state(n=26, n_told=0, seed=0, pieces=400):
    X, y = blobs(n, 2, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(look_module, "MOST_PIECES", pieces)
        look = look_at(X)
    rng = np.random.default_rng(seed)
    pairs = [rng.choice(n, 2, replace=False) for _ in range(n_told)]
    told = [Told(int(a), int(b), bool(y[a] == y[b]), 1.0, f"{a}, {b}") for a, b in pairs]
    return state_of(look, Faces(look), told)


def of_rows(found):
    """What the state believes of every two rows: of one item, that they are the same."""
    n = len(found.item)
    belief = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            i, j = found.item[a], found.item[b]
            if found.group[i] == found.group[j]:
                belief[a, b] = 1.0
            elif found.apart[found.group[i], found.group[j]]:
                belief[a, b] = 0.0
            else:
                belief[a, b] = found.belief[i, j]
    return belief, found.cluster[found.item]


audits = st.lists(
    st.tuples(st.floats(0.0005, 0.995), st.booleans(), st.booleans(), st.integers(0, 100)).map(
        lambda one: Audit(*one)
    ),
    max_size=8,
)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 3), st.integers(0, 8), st.sampled_from([6, 400]), audits)
def test_estimate_is_the_sum_over_pairs_of_rows(seed, n_told, pieces, some):
    found = state(20, n_told, seed, pieces)
    belief, labels = of_rows(found)
    if len(set(labels.tolist())) == 1:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate_module, "_HALF_LIFE", 100.0)  # the twin's
        result = estimated(found, some, 100)
    expected = twin.figures(belief, labels, some, 100)
    for name, figures in expected.items():
        # Beliefs are counted in bins, intervals rounded outwards, and the twin's grid is coarser.
        np.testing.assert_allclose(getattr(result, name), figures, atol=0.05, err_msg=name)
    assert result.n_audits == len(some)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.integers(0, 10), audits)
def test_figures_stand_in_their_intervals(seed, n_told, some):
    result = estimated(state(seed=seed, n_told=n_told), some, 100)
    for figure in (result.precision, result.recall, result.ari):
        assert figure.low <= figure.value <= figure.high
        assert figure.low >= (-1 if figure is result.ari else 0)
        assert figure.high <= 1


def test_audits_move_the_figures_their_way_and_narrow_them():
    found = state()
    none = estimated(found, [], 30)
    good = estimated(
        found, [Audit(0.9, True, True, 30)] * 12 + [Audit(0.05, False, False, 30)] * 12, 30
    )
    bad = estimated(
        found, [Audit(0.9, True, False, 30)] * 12 + [Audit(0.05, False, True, 30)] * 12, 30
    )
    for name in ("precision", "recall", "ari"):
        assert getattr(bad, name).value < getattr(none, name).value < getattr(good, name).value
    assert good.ari.high - good.ari.low < none.ari.high - none.ari.low
    one_sided = estimated(found, [Audit(0.9, True, False, 30)] * 12, 30)
    assert one_sided.precision.value < none.precision.value


def test_pairs_are_counted_once():
    found = state(30, 4, pieces=8)
    belief, pairs, together = chances(found)
    assert pairs.sum() == 30 * 29 / 2
    size = np.bincount(found.cluster, found.size)
    assert pairs[together].sum() == (size * (size - 1) / 2).sum()
    assert (belief > 0).all()
    assert (belief < 1).all()


@pytest.mark.parametrize("together", [True, False])
def test_audits_are_drawn_by_the_number_of_pairs(together):
    found = state(24, 3, pieces=6)
    belief, labels = of_rows(found)
    rng = np.random.default_rng(0)
    count = np.zeros((24, 24))
    for _ in range(4000):
        a, b = draw(found, together, rng)
        assert a != b
        count[min(a, b), max(a, b)] += 1
    both = np.triu(labels[:, None] == labels[None], 1)
    if together:
        weight = both
    else:  # beliefs are never below a faintest one
        weight = np.triu(labels[:, None] != labels[None], 1) * np.maximum(belief, 0.0005)
    assert not count[~both if together else both | np.tri(24, dtype=bool)].any()
    expected = 4000 * weight / weight.sum()
    often = expected > 20
    assert (np.abs(count - expected)[often] < 6 * np.sqrt(expected[often])).all()
    assert np.abs(count - expected).sum() / 4000 < 0.4


def test_there_may_be_no_pair_to_draw():
    look = look_at(np.array([[0.0], [1.0]]))
    rng = np.random.default_rng(0)
    for same in (True, False):
        found = state_of(look, Faces(look), [Told(0, 1, same, 1.0, "0, 1")])
        assert draw(found, not same, rng) is None
        assert sorted(draw(found, same, rng)) == [0, 1]


def test_it_prints_one_line():
    result = estimated(state(), [Audit(0.5, True, True, 30)], 30)
    assert "\n" not in str(result)
    assert str(result.ari) in str(result)
    assert str(Figure(0.5, 0.25, 0.75)) == "0.50 (0.25 to 0.75)"


def test_an_audit_that_was_missed_is_made_up_for():
    X, y = blobs(200, 4, seed=1)
    session, purposes = Session(X, n_jobs=1), []
    for row in range(0, 66, 2):  # by hand: of the 11th to the 33rd nobody was asked
        session.answer(bool(y[row] == y[row + 1]), pair=(row, row + 1))
    for _ in range(11):
        question = session.ask()
        purposes.append(question.purpose)
        session.answer(bool(y[question.a] == y[question.b]))
    assert [i for i, one in enumerate(purposes) if one == "audit"] == [0, 1, 6]


def test_without_audits_nobody_says_how_many_there_were():
    X = blobs(40, 2, seed=1)[0]
    told = str(Session(X, n_jobs=1).estimate())
    assert told.endswith("no pair drawn at random has been answered yet")
    assert "from 0 pairs" not in told
    session = Session(X, n_jobs=1)
    session.answer("same", pair=(0, 1), purpose="audit")
    assert str(session.estimate()).endswith("from 1 pair drawn at random")
