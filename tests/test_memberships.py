"""How rows stand in their clusters: by the literal twin, and by laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import memberships as literal

from linkshift._core.messages import Refusal
from linkshift.memberships import membership


@given(st.integers(2, 40), st.integers(1, 20), st.integers(1, 5), st.integers(0, 10**6))
def test_agrees_with_the_literal_twin(n, d, n_clusters, seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(n, d)), rng.integers(-1, n_clusters, n)
    found = membership(X, labels)
    np.testing.assert_allclose(found.probabilities, literal.probabilities(X, labels), atol=1e-9)
    np.testing.assert_allclose(found.outlier_scores, literal.outlier_scores(X), atol=1e-9)


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 10**6))
def test_laws_hold_with_twins(n, n_clusters, seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.integers(0, 3, (n, 2)).astype(float), rng.integers(-1, n_clusters, n)
    found = membership(X, labels)
    for share in (found.probabilities, found.outlier_scores):
        assert ((share >= 0) & (share <= 1)).all()
    assert (found.probabilities[labels < 0] == 0).all()
    assert (labels[found.exemplars] == found.clusters).all()
    assert (found.second != labels)[found.second >= 0].all()
    assert set(found.second) <= {-1, *labels}
    for c, center, exemplar in zip(found.clusters, found.centers, found.exemplars, strict=True):
        np.testing.assert_allclose(center, X[labels == c].mean(axis=0), atol=1e-12)
        away = np.linalg.norm(X - center, axis=1)
        assert away[exemplar] <= away[labels == c].min() + 1e-12
    # Numbers of clusters have no meaning.
    again = membership(X, np.where(labels < 0, -1, 7 - labels))
    assert again.probabilities.tolist() == found.probabilities.tolist()
    assert again.exemplars.tolist() == found.exemplars[::-1].tolist()


def test_pairs_are_sure_of_themselves_and_rows_between_are_not():
    rng = np.random.default_rng(0)
    people = rng.normal(size=(30, 5)) * 10
    records = np.repeat(people, 2, axis=0) + rng.normal(size=(60, 5)) * 0.01
    assert (membership(records, np.repeat(np.arange(30), 2)).probabilities == 1).all()

    line = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.7], [1.8], [1.9], [2.0]])
    found = membership(line, [0] * 5 + [1] * 4)
    assert found.probabilities.argmin() == 4
    assert found.second[4] == 1
    assert found.borderline(np.arange(5), 1).tolist() == [4]
    assert found.typical(np.arange(5), 1).tolist() == [found.exemplars[0]]


def test_a_row_far_out_has_the_highest_score():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(50, 2)), [[30.0, 0.0]]])
    scores = membership(X, np.zeros(51, dtype=int)).outlier_scores
    assert scores.argmax() == 50
    assert scores[50] > 0.9
    same = np.vstack([np.zeros((20, 2)), [[1.0, 0.0]]])
    assert membership(same, np.zeros(21, dtype=int)).outlier_scores[-1] == 1.0


def test_large_numbers_do_not_overflow():
    X = np.array([[1e300, 0.0], [0.9e300, 0.0], [-1e300, 0.0], [-0.9e300, 0.0]])
    found = membership(X, [0, 0, 1, 1])
    assert np.isfinite(found.centers).all()
    assert found.probabilities.tolist() == [1.0] * 4


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b", "c"], [0.5, 1, 2]])
def test_refuses_labels_that_are_none(labels):
    with pytest.raises(Refusal, match="labels must be a whole number"):
        membership([[0.0], [1.0], [2.0]], labels)
