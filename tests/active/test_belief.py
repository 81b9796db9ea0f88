"""The model's weights beside a general minimiser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import active as twin

from linkshift.active.belief import Prior, beliefs, posterior, prior
from linkshift.active.look import N_FEATURES

seeds = st.integers(0, 2**32 - 1)


def problem(seed, q, f, scale=1.0):
    rng = np.random.default_rng(seed)
    features = scale * rng.normal(size=(q, f))
    root = rng.normal(size=(f + 2, f))
    before = Prior(rng.normal(size=f), root.T @ root / f + np.eye(f) / 4)
    return features, (rng.uniform(size=q) < 0.5) * 1.0, rng.uniform(0.05, 1.0, q), before


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(0, 30), st.integers(1, 6), st.sampled_from([0.3, 1.0, 6.0]))
def test_posterior_is_the_minimum_of_its_cost(seed, q, f, scale):
    features, same, weight, before = problem(seed, q, f, scale)
    found = posterior(features, same, weight, before)
    expected, cost = twin.most_probable_weights(features, same, weight, *before)
    assert cost(found) <= cost(expected) + 1e-8
    np.testing.assert_allclose(found, expected, atol=2e-3)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 20))
def test_the_slope_is_nothing_there(seed, q):
    rng = np.random.default_rng(seed)
    before = prior()
    features = np.concatenate([3 * rng.normal(size=(q, N_FEATURES - 2)), np.ones((q, 2))], axis=1)
    same = rng.integers(0, 2, q).astype(float)
    found = posterior(features, same, np.ones(q), before)
    chance = 1 / (1 + np.exp(-features @ found))
    slope = features.T @ (chance - same) + before.precision @ (found - before.mean)
    step = np.linalg.solve(before.precision, slope)  # at most: answers only add to the bend
    assert abs(step @ slope) < 1e-6


def test_no_answer_leaves_the_mean_and_two_of_half_weight_are_one():
    features, same, weight, before = problem(0, 6, 4)
    none = posterior(features[:0], same[:0], weight[:0], before)
    np.testing.assert_array_equal(none, before.mean)
    once = posterior(features, same, weight, before)
    twice = np.repeat(np.arange(6), 2)
    halves = posterior(features[twice], same[twice], weight[twice] / 2, before)
    np.testing.assert_allclose(once, halves, atol=1e-6)


def test_an_answer_makes_itself_more_probable():
    features, *_, before = problem(1, 1, 5)
    start = beliefs(before.mean, features.T[:, :, None])[0, 0]
    for word, sign in ((1.0, 1), (0.0, -1)):
        moved = [
            beliefs(
                posterior(features, np.array([word]), np.array([weight]), before),
                features.T[:, :, None],
            )[0, 0]
            for weight in (0.2, 0.5, 1.0)
        ]
        assert (np.diff([start, *moved]) * sign > 0).all()


def test_beliefs_are_the_logistic_function_of_scores():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(N_FEATURES, 3, 4)).astype(np.float32)
    weights = rng.normal(size=N_FEATURES)
    expected = [
        [twin.logistic(float(weights @ features[:, i, j])) for j in range(4)] for i in range(3)
    ]
    np.testing.assert_allclose(beliefs(weights, features), expected, rtol=1e-5)


def test_the_prior_is_a_normal_distribution_of_all_features():
    mean, precision = prior()
    assert mean.shape == (N_FEATURES,)
    assert precision.shape == (N_FEATURES, N_FEATURES)
    np.testing.assert_allclose(precision, precision.T, rtol=1e-6, atol=1e-9)
    assert (np.linalg.eigvalsh((precision + precision.T) / 2) > 0).all()


@pytest.mark.parametrize("same", [0.0, 1.0])
def test_answers_that_are_a_surprise_beyond_numbers(same):
    # Scores of thousands: exponentials must not overflow, and warnings are errors here.
    before = Prior(np.array([1.0, -1.0]), np.eye(2))
    features = np.array([[4000.0, -3000.0], [-4000.0, 3000.0]])
    found = posterior(features, np.full(2, same), np.ones(2), before)
    assert np.isfinite(found).all()
