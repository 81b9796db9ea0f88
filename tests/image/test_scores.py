"""Scores of segmentations against their literal twins, by hand, by their laws, at the door."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import image_scores as twin

from linkshift.image import (
    probabilistic_rand_index,
    segmentation_covering,
    segmentation_scores,
    variation_of_information,
)

PAIRS = [
    (probabilistic_rand_index, twin.rand_index),
    (variation_of_information, twin.variation_of_information),
    (segmentation_covering, twin.covering),
]
EVERY = [ours for ours, _ in PAIRS]


def drawn(seed, people=3, shape=(4, 5)):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, size=people + 1)
    return [rng.integers(0, count, size=shape) for count in counts]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_same_as_the_twin(seed):
    segmentation, *humans = drawn(seed)
    for ours, literal in PAIRS:
        expected = np.mean([literal(segmentation, human) for human in humans])
        assert ours(segmentation, humans) == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    own = np.array([[0, 0, 1, 1]])
    human = np.array([[0, 0, 0, 1]])
    assert probabilistic_rand_index(own, human) == pytest.approx(3 / 6)
    # Human {0, 1, 2}: overlaps 2/3 and 1/4; human {3}: 1/2 with {2, 3}.
    assert segmentation_covering(own, human) == pytest.approx((3 * 2 / 3 + 1 * 1 / 2) / 4)
    joint = 0.5 + 2 * 0.25 * 2
    assert variation_of_information(own, human) == pytest.approx(
        2 * joint - 1.0 + (0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_numbers_of_labels_and_order_of_pixels_have_no_meaning(seed):
    segmentation, *humans = drawn(seed)
    rng = np.random.default_rng(seed)
    name = rng.permutation(10) * 7 - 20
    order = rng.permutation(segmentation.size)

    def moved(labels):
        return labels.ravel()[order].reshape(labels.shape)

    for score in EVERY:
        expected = pytest.approx(score(segmentation, humans), abs=1e-12)
        assert score(name[segmentation], [name[human] for human in humans]) == expected
        assert score(moved(segmentation), [moved(human) for human in humans]) == expected


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_best_is_the_same_and_all_are_bounded(seed):
    segmentation, human, *_ = drawn(seed)
    same = segmentation_scores(segmentation, segmentation)
    assert (same.rand_index, same.covering) == (1.0, 1.0)
    assert same.variation_of_information == pytest.approx(0.0, abs=1e-12)
    found = segmentation_scores(segmentation, human)
    assert 0.0 <= found.rand_index <= 1.0
    assert 0.0 < found.covering <= 1.0
    assert 0.0 <= found.variation_of_information <= np.log2(segmentation.size)
    # Rand index and variation of information do not ask which of the two is the human's.
    swapped = segmentation_scores(human, segmentation)
    assert swapped.rand_index == pytest.approx(found.rand_index)
    assert swapped.variation_of_information == pytest.approx(found.variation_of_information)


def test_all_at_once_is_each_alone():
    segmentation, *humans = drawn(5, shape=(7, 9))
    found = segmentation_scores(segmentation, np.stack(humans))
    assert found.rand_index == probabilistic_rand_index(segmentation, humans)
    assert found.variation_of_information == variation_of_information(segmentation, humans)
    assert found.covering == segmentation_covering(segmentation, humans)


def test_one_person_in_several_forms():
    segmentation, human = drawn(2, people=1)
    forms = [human, [human], human[None], human.tolist(), human.astype(np.uint16)]
    assert len({segmentation_covering(segmentation, form) for form in forms}) == 1


def test_one_pixel():
    found = segmentation_scores([[3]], [[[5]], [[0]]])
    assert found.rand_index == 1.0
    assert found.variation_of_information == 0.0
    assert found.covering == 1.0


def test_sizes_of_a_photograph_do_not_overflow():
    labels = np.zeros((3000, 2000), dtype=np.uint16)
    half = labels.copy()
    half[1500:] = 1
    found = segmentation_scores(labels, half)
    assert found.rand_index == pytest.approx(0.5, abs=1e-6)
    assert found.covering == pytest.approx(0.5)
    assert found.variation_of_information == pytest.approx(1.0)


@pytest.mark.parametrize("score", [*EVERY, segmentation_scores])
@pytest.mark.parametrize(
    ("segmentation", "humans", "error", "words"),
    [
        (np.zeros((2, 2)), np.zeros((2, 2), int), TypeError, "whole numbers"),
        (np.zeros((2, 2), int), np.zeros((2, 2)), TypeError, r"humans\[0\]"),
        (np.zeros((2, 2), int), np.zeros((2, 3), int), ValueError, "same image"),
        (np.zeros(4, int), np.zeros((2, 2), int), ValueError, r"\(h, w\)"),
        (np.zeros((0, 2), int), np.zeros((0, 2), int), ValueError, "at least one pixel"),
        (np.zeros((2, 2), int), [], ValueError, "at least one"),
    ],
)
def test_what_is_refused(score, segmentation, humans, error, words):
    with pytest.raises(error, match=words):
        score(segmentation, humans)
