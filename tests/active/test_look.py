"""What is seen of rows before any answer: pieces, features, walks beside dense algebra."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.helpers import blobs
from tests.reference import active as twin

from linkshift.active import look as module
from linkshift.active.look import N_FEATURES, look_at

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(5, 40), st.integers(1, 12))
def test_walks_are_those_of_dense_algebra(seed, n, d):
    X = np.random.default_rng(seed).normal(size=(n, d))
    sight = look_at(X).sight
    rows = np.arange(n)
    for on, steps in ((0.8, 20), (0.97, 60)):
        expected = twin.walked(sight.weights.toarray(), on, steps)
        np.testing.assert_allclose(sight._walks(rows, rows, on, steps), expected, atol=2e-3)
        few = rows[:3]  # walks start where there are fewer rows
        np.testing.assert_allclose(sight._walks(few, rows, on, steps), expected[:3], atol=2e-3)
        np.testing.assert_allclose(sight._walks(rows, few, on, steps), expected[:, :3], atol=2e-3)


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(2, 40), st.integers(1, 9))
@example(0, 5, 9)  # smoothed, all are in one place but for rounding
def test_features_are_of_unordered_pairs_and_finite(seed, n, d):
    look = look_at(np.random.default_rng(seed).normal(size=(n, d)))
    assert look.features.shape == (N_FEATURES, len(look), len(look))
    assert np.isfinite(look.features).all()
    np.testing.assert_allclose(look.features, look.features.transpose(0, 2, 1), atol=1e-3)
    np.testing.assert_array_equal(look.of_pairs(look.row, look.row), look.features)


def test_features_by_hand():
    X, _ = blobs(60, 3, seed=1)
    look = look_at(X)
    sight, rows = look.sight, np.arange(60)
    assert look.features[22].min() == look.features[22].max() == 1.0
    found = look.of_pairs(rows, rows)
    labels = sight.partitions
    for feature, shares in zip((13, 14), sight.shares[3:], strict=True):
        assert shares.sum() == pytest.approx(1.0)
        together = sum(
            share * (one[:, None] == one[None]) for share, one in zip(shares, labels, strict=True)
        )
        np.testing.assert_allclose(found[feature], together, atol=1e-6)
    away = np.linalg.norm(sight.spaces[2][:, None] - sight.spaces[2][None], axis=2)
    expected = (-np.log(away + sight.unit[2]) - look.middle[6]) / look.spread[6]
    off = ~np.eye(60, dtype=bool)
    np.testing.assert_allclose(found[6][off], expected[off], atol=1e-3)
    count = sight.trees[0].clusters(rows[:, None], rows[None])
    np.testing.assert_allclose(found[15], np.log(count) - np.log(15), atol=1e-5)


def test_units_are_of_pairs_of_pieces():
    look = look_at(blobs(80, 4, seed=2)[0])
    one, other = np.triu_indices(len(look), 1)
    scaled = look.features[:13, one, other].astype(float)
    np.testing.assert_allclose(scaled.mean(axis=1), 0.0, atol=1e-4)
    spread = scaled.std(axis=1)
    assert np.isclose(spread, 1.0, atol=1e-4)[look.spread != 1.0].all()


@pytest.mark.parametrize(("d", "few"), [(7, 1.0), (8, 0.0)])
def test_few_columns_have_features_of_their_own(d, few):
    look = look_at(blobs(40, d, seed=0)[0])
    assert look.few_columns == bool(few)
    assert (look.features[23] == few).all()
    np.testing.assert_allclose(look.features[19:22], few * look.features[8:11])


def test_pieces_have_the_row_nearest_to_their_mean_for_a_heart(monkeypatch):
    monkeypatch.setattr(module, "MOST_PIECES", 12)
    look = look_at(blobs(70, 2, seed=3)[0])
    assert len(look) == 12
    assert look.size.sum() == 70
    points = look.sight.spaces[1]
    for p in range(12):
        members = np.flatnonzero(look.piece == p)
        assert look.size[p] == len(members)
        away = ((points[members] - points[members].mean(axis=0)) ** 2).sum(axis=1)
        assert look.row[p] in members
        assert away[members == look.row[p]] <= away.min() * (1 + 1e-9) + 1e-30


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_handful_of_rows_tells_nothing(n):
    look = look_at(np.arange(2.0 * n).reshape(n, 2))
    assert look.sight is None
    assert len(look) == n
    off = ~np.eye(n, dtype=bool)
    for feature in look.features:
        assert len(np.unique(feature[off])) <= 1


def test_threads_change_nothing():
    X, _ = blobs(60, 3)
    one, two = (look_at(X, n_threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.features, two.features)
    np.testing.assert_array_equal(one.piece, two.piece)
