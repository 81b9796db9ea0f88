"""Regions and their merging against the literal twins, and by their laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import image_regions as twin

from linkshift.image import ImageModes
from linkshift.image.regions import (
    connected_regions,
    merge_similar,
    merge_small,
    mode_regions,
    region_graph,
)

seeds = st.integers(0, 10**6)
shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))
quick = settings(max_examples=40, deadline=None)


def drawn(seed, shape, d=2):
    """Connected regions of some patches, and features of few distinct values."""
    rng = np.random.default_rng(seed)
    regions = connected_regions(rng.integers(0, rng.integers(2, 6), size=shape))
    return regions, rng.integers(0, 9, size=(*shape, d)).astype(np.float32)


@quick
@given(seeds, shapes)
def test_connected_regions_are_the_twin_s(seed, shape):
    labels = np.random.default_rng(seed).integers(-2, 2, size=shape)
    found = connected_regions(labels)
    np.testing.assert_array_equal(found, twin.connected_regions(labels))
    np.testing.assert_array_equal(
        connected_regions(labels[:, ::-1]),
        twin.flood(*shape, lambda p, q: labels[:, ::-1][p] == labels[:, ::-1][q]),
    )


@quick
@given(seeds, shapes, st.sampled_from([1, 3]))
def test_mode_regions_are_the_twin_s(seed, shape, colours):
    rng = np.random.default_rng(seed)
    modes = ImageModes(
        rng.integers(0, 4, size=(*shape, 2)).astype(np.float32),
        rng.integers(0, 4, size=(*shape, colours)).astype(np.float32),
    )
    found = mode_regions(modes, 2.0, 1.0)  # distances that are met exactly
    np.testing.assert_array_equal(found, twin.mode_regions(modes.values, modes.positions, 2.0, 1.0))


@quick
@given(seeds, shapes)
def test_the_graph_is_the_image_s(seed, shape):
    regions, features = drawn(seed, shape)
    graph = region_graph(regions, features)
    np.testing.assert_array_equal(graph.counts, np.bincount(regions.ravel()))
    for r in range(graph.counts.shape[0]):
        np.testing.assert_allclose(graph.means[r], features[regions == r].mean(axis=0))
    near = twin.neighbours(regions)
    expected = [(r, q) for r in sorted(near) for q in sorted(near[r]) if r < q]
    assert [tuple(pair) for pair in graph.pairs.tolist()] == expected
    assert graph.lengths.tolist() == [near[r][q] for r, q in expected]


@quick
@given(seeds, shapes, st.integers(1, 12))
def test_merging_small_regions_is_the_twin_s(seed, shape, min_size):
    regions, features = drawn(seed, shape)
    graph, into = merge_small(region_graph(regions, features), min_size)
    expected = twin.merge(regions, features.astype(np.float64), [-1.0], min_size)
    np.testing.assert_array_equal(into[regions], expected)
    assert graph.counts.min() >= min(min_size, regions.size)
    np.testing.assert_array_equal(graph.counts, np.bincount(expected.ravel()))


@quick
@given(seeds, shapes, st.floats(0.0, 6.0))
def test_merging_similar_regions_is_the_twin_s(seed, shape, bandwidth):
    regions, features = drawn(seed, shape)
    before = region_graph(regions, features)
    graph, into = merge_similar(before, bandwidth)
    limits = [bandwidth / 2.0 ** (level / 2) for level in range(11, -1, -1)]
    merged = twin.merge(regions, features.astype(np.float64), limits)
    np.testing.assert_array_equal(into[regions], merged)
    assert (graph.distances() > bandwidth).all()
    # Joined graphs are those of the joined image.
    anew = region_graph(into[regions], features)
    np.testing.assert_array_equal(anew.pairs, graph.pairs)
    np.testing.assert_array_equal(anew.counts, graph.counts)
    np.testing.assert_array_equal(anew.lengths, graph.lengths)
    np.testing.assert_allclose(anew.sums, graph.sums)


@quick
@given(seeds, st.tuples(st.integers(2, 8), st.integers(2, 8)))
def test_merged_regions_are_connected(seed, shape):
    regions, features = drawn(seed, shape)
    _, into = merge_small(region_graph(regions, features), 5)
    merged = into[regions]
    np.testing.assert_array_equal(connected_regions(merged), merged)


def test_distances_by_hand():
    """Two squares side by side, and a bar that they share a corner's side with."""
    regions = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 2, 1]], dtype=np.int32)
    features = np.array([0.0, 3.0, 7.0])[regions][..., None]
    graph = region_graph(regions, features)
    assert graph.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.lengths.tolist() == [2, 2, 2]
    np.testing.assert_allclose(graph.distances(), [3.0, 7.0 * 0.75**0.125, 4.0 * 0.75**0.125])


def test_the_closest_merge_first():
    """Of 0, 3, 5 the latter two join (mean 4), and 0 is too far from them; by hand."""
    regions = np.array([[0, 1, 2]], dtype=np.int32)
    features = np.array([[[0.0], [3.0], [5.0]]])
    graph, into = merge_similar(region_graph(regions, features), 3.5)
    assert into.tolist() == [0, 1, 1]
    np.testing.assert_allclose(graph.means.ravel(), [0.0, 4.0])


@pytest.mark.parametrize("n", [1, 5])
def test_one_region_stays(n):
    regions = np.zeros((1, n), dtype=np.int32)
    graph, into = merge_small(region_graph(regions, np.ones((1, n, 1))), 100)
    assert graph.counts.tolist() == [n]
    assert into.tolist() == [0]


def test_a_star_of_many_regions_takes_few_rounds():
    """Specks on a ground: a queue would look at all of them for each."""
    labels = np.zeros((400, 400), dtype=np.int64)
    labels[1::2, 1::2] = np.arange(1, 40001).reshape(200, 200)
    regions = connected_regions(labels)
    features = (regions > 0).astype(np.float32)[..., None]
    graph, _ = merge_similar(region_graph(regions, features), 2.0)
    assert graph.counts.tolist() == [160000]
