import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import scml as twin

from linkshift import Links
from linkshift.links import ConflictError
from linkshift.metric_learning.triplets import label_triplets, link_triplets


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 40),
    classes=st.integers(2, 4),
    n_targets=st.integers(1, 5),
    n_impostors=st.integers(1, 12),
)
def test_triplets_of_labels_are_the_literal_ones(seed, n, classes, n_targets, n_impostors):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), np.arange(n) % classes
    if n <= classes:
        return
    triplets = label_triplets(X, y, n_targets=n_targets, n_impostors=n_impostors)
    rows, weights = triplets.table()
    expected = twin.label_triplets(X, y, n_targets, n_impostors)
    assert rows.tolist() == [list(map(int, t)) for t in expected]
    assert (weights == 1).all()
    assert len(triplets) == len(expected)
    assert triplets.mass.sum() == len(expected)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_links=st.integers(8, 40))
def test_triplets_of_links_are_the_literal_ones(seed, n_links):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 2)), rng.integers(3, size=25)
    links = Links.sample(y, n_links, random_state=seed)
    expected = twin.link_triplets(X, links, 2, 4)
    if not expected:
        return
    rows, _ = link_triplets(X, links, n_targets=2, n_impostors=4).table()
    assert rows.tolist() == [list(t) for t in expected]


def test_a_row_among_its_duplicates_is_not_its_own_target():
    X = np.zeros((6, 2))
    rows, _ = label_triplets(X, np.array([0, 0, 0, 1, 1, 1]), n_targets=2).table()
    assert (rows[:, 0] != rows[:, 1]).all()
    assert len(rows) == 6 * 2 * 3


def test_a_row_alone_in_its_class_is_an_impostor_only():
    X = np.array([[0.0], [1.0], [2.0]])
    rows, _ = label_triplets(X, np.array(["a", "a", "b"])).table()
    assert rows.tolist() == [[0, 1, 2], [1, 0, 2]]


def test_confidences_are_multiplied_and_implied_links_are_as_sure_as_the_least():
    X = np.array([[0.0], [1.0], [2.5], [9.0]])
    links = Links(
        must=[(0, 1), (1, 2)],
        cannot=[(0, 3)],
        must_confidence=[0.5, 0.8],
        cannot_confidence=[0.9],
    )
    rows, weights = link_triplets(X, links).table()
    got = {tuple(row): weight for row, weight in zip(rows.tolist(), weights, strict=True)}
    assert got == pytest.approx(
        {
            (0, 1, 3): 0.5 * 0.9,
            (0, 2, 3): 0.5 * 0.9,  # 0 - 2 is implied: the weaker of 0.5 and 0.8
            (1, 0, 3): 0.5 * 0.5,  # 1 - 3 is implied: no surer than what ties 1 to 0
            (1, 2, 3): 0.8 * 0.5,
            (2, 1, 3): 0.8 * 0.5,
            (2, 0, 3): 0.5 * 0.5,
        }
    )


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (Links(must=[(0, 1)]), "no cannot-links"),
        (Links(cannot=[(0, 1)]), "no must-links"),
        (Links(), "no must-links"),
        (Links(must=[(0, 1)], cannot=[(2, 3)]), "No row has both"),
    ],
)
def test_links_without_triplets_raise(links, message):
    with pytest.raises(ValueError, match=message):
        link_triplets(np.arange(8.0).reshape(4, 2), links)


def test_labels_without_triplets_raise():
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match="one class only"):
        label_triplets(X, np.zeros(3))
    with pytest.raises(ValueError, match="one row only"):
        label_triplets(X, np.arange(3))


def test_contradictions_raise():
    with pytest.raises(ConflictError):
        link_triplets(np.zeros((3, 1)), Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)]))


def test_confidences_next_to_zero_are_refused():
    links = Links(must=[(0, 1)], cannot=[(0, 2)], must_confidence=1e-320)
    with pytest.raises(ValueError, match="confidences next to zero"):
        link_triplets(np.arange(6.0).reshape(3, 2), links)
