"""Strokes hold, always; regions merge as the definition says; refusals say what to do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import label as components
from tests.helpers import same_partition
from tests.reference import scribbles as reference

from linkshift.image import scribbles as module
from linkshift.image._scribble_loops import flood
from linkshift.image.scribbles import segment_scribbled


def blocks(shape, side):
    """Square regions."""
    rows, columns = (np.arange(n) // side for n in shape)
    return rows[:, None] * (columns[-1] + 1) + columns


def holds(labels, strokes):
    """Whether numbers and labels of marked pixels are one to one."""
    marked = strokes > 0
    pairs = {(int(s), int(l)) for s, l in zip(strokes[marked], labels[marked], strict=True)}
    numbers, found = zip(*pairs, strict=True)
    return len(set(numbers)) == len(pairs) == len(set(found))


def places(shape):
    """Rows and columns, where the longer side is ten."""
    return np.moveaxis(np.indices(shape), 0, 2) * (10.0 / max(shape))


def scene(rng, shape=(12, 14), n_regions=9, n_strokes=3, n_marked=8):
    """Random Voronoi regions, noisy features and scattered marks."""
    seeds = rng.integers(0, shape, size=(n_regions, 2))
    ys, xs = np.mgrid[: shape[0], : shape[1]]
    far = (ys[..., None] - seeds[:, 0]) ** 2 + (xs[..., None] - seeds[:, 1]) ** 2
    regions = np.unique(far.argmin(axis=2), return_inverse=True)[1].reshape(shape)
    colours = rng.normal(scale=20.0, size=(n_regions, 2))
    values = colours[regions] + rng.normal(scale=2.0, size=(*shape, 2))
    strokes = np.zeros(shape, dtype=np.int64)
    strokes[rng.integers(shape[0], size=n_marked), rng.integers(shape[1], size=n_marked)] = (
        rng.integers(1, n_strokes + 1, size=n_marked)
    )
    return regions, values, strokes


# --- laws ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_regions=st.integers(1, 12),
    n_strokes=st.integers(1, 6),
    n_marked=st.integers(1, 100),
    bandwidth=st.sampled_from([0.0, 5.0, 30.0, np.inf]),
)
def test_every_mark_is_honoured(seed, n_regions, n_strokes, n_marked, bandwidth):
    rng = np.random.default_rng(seed)
    regions, values, strokes = scene(
        rng, n_regions=n_regions, n_strokes=n_strokes, n_marked=n_marked
    )
    labels = segment_scribbled(regions, values, strokes, bandwidth=bandwidth)
    assert holds(labels, strokes)
    assert labels.dtype == np.int32
    first = np.unique(labels, return_index=True)[1]
    assert (np.diff(first) > 0).all()  # numbered by first pixels
    assert set(np.unique(labels)) == set(range(labels.max() + 1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("bandwidth", "min_size"), [(0.0, 1), (15.0, 1), (10.0, 20), (np.inf, 1)])
def test_merging_is_that_of_the_definition(seed, bandwidth, min_size):
    rng = np.random.default_rng(seed)
    regions, values, strokes = scene(rng)
    labels = segment_scribbled(regions, values, strokes, bandwidth=bandwidth, min_size=min_size)
    # Cut as the function does: the cut has a test of its own.
    pieces = module._cut(regions, values, strokes)
    expected = reference.merge(
        pieces, values, places(regions.shape), strokes, bandwidth, min_size, 0.25, 0.25
    )
    assert same_partition(labels, expected)


@pytest.mark.parametrize("seed", range(8))
def test_cuts_follow_the_nearest_stroke(seed):
    rng = np.random.default_rng(seed)
    regions, values, strokes = scene(rng, n_regions=3, n_marked=12)
    cut = np.array([True, False, True])[: regions.max() + 1]
    found = flood(regions, cut, values, 3.0, strokes)
    np.testing.assert_array_equal(found, reference.flood(regions, cut, values, 3.0, strokes))
    assert (found[strokes * cut[regions] > 0] == strokes[strokes * cut[regions] > 0]).all()


def test_numbers_of_regions_and_strokes_are_only_names():
    regions, values, strokes = scene(np.random.default_rng(3))
    plain = segment_scribbled(regions, values, strokes)
    names = np.array([0, 70, 3, 10**12])
    again = segment_scribbled(regions * 10**11 + 7, values, names[strokes])
    assert holds(again, strokes)
    few = segment_scribbled(regions.astype(np.uint8), values, strokes.astype(np.uint16))
    np.testing.assert_array_equal(plain, few)


# --- what users expect --------------------------------------------------------------------------


def two_halves(noise=0.0):
    """Dark left, light right, by squares of four pixels."""
    values = np.zeros((24, 32, 1))
    values[:, 16:] = 40.0
    return blocks((24, 32), 4), values + noise * np.random.default_rng(0).normal(size=values.shape)


def test_one_stroke_over_two_parts_joins_them():
    regions, values = two_halves()
    strokes = np.zeros((24, 32), dtype=int)
    strokes[10, 5] = 1
    apart = segment_scribbled(regions, values, strokes)
    assert len(np.unique(apart)) == 2
    strokes[10, 5:25] = 1
    assert len(np.unique(segment_scribbled(regions, values, strokes))) == 1


def test_two_strokes_part_one_object_between_them():
    regions = blocks((24, 32), 4)
    values = np.random.default_rng(0).normal(size=(24, 32, 1))
    strokes = np.zeros((24, 32), dtype=int)
    strokes[4:20, 2], strokes[4:20, 29] = 1, 2
    labels = segment_scribbled(regions, values, strokes)
    assert len(np.unique(labels)) == 2
    assert (labels[:, :4] == labels[0, 0]).all()
    assert (labels[:, -4:] == labels[0, -1]).all()


def test_strokes_find_the_edge():
    regions, values = two_halves(noise=3.0)
    strokes = np.zeros((24, 32), dtype=int)
    strokes[12, 2:5], strokes[12, 28:30] = 1, 2
    labels = segment_scribbled(regions, values, strokes)
    assert (labels[:, :16] == 0).all()
    assert (labels[:, 16:] == 1).all()


def test_the_edge_is_found_in_a_region_that_crosses_it():
    values = two_halves(noise=3.0)[1]
    strokes = np.zeros((24, 32), dtype=int)
    strokes[12, 2:5], strokes[12, 18:20] = 1, 2  # nearer to the second
    labels = segment_scribbled(np.zeros((24, 32), dtype=int), values, strokes)
    assert (labels[:, :16] == 0).mean() > 0.97
    assert (labels[:, 16:] == 1).mean() > 0.97


def test_what_is_far_from_strokes_keeps_segments_of_its_own():
    regions = blocks((24, 32), 4)
    values = np.zeros((24, 32, 1))
    values[:, 12:20], values[:, 20:] = 50.0, 100.0
    strokes = np.zeros((24, 32), dtype=int)
    strokes[10, 3] = 9
    assert len(np.unique(segment_scribbled(regions, values, strokes))) == 3
    joined = segment_scribbled(regions, values, strokes, bandwidth=np.inf)
    assert len(np.unique(joined)) == 1
    strokes[10, 30] = 4
    assert len(np.unique(segment_scribbled(regions, values, strokes, bandwidth=np.inf))) == 2


def test_small_segments_join_a_neighbour_unless_they_are_marked():
    regions = np.zeros((20, 20), dtype=int)
    regions[5:8, 5:8] = 1
    values = 90.0 * regions[..., None]
    strokes = np.zeros((20, 20), dtype=int)
    strokes[15, 15] = 1

    def count(**options):
        return len(np.unique(segment_scribbled(regions, values, strokes, **options)))

    assert count() == count(min_size=9) == 2
    assert count(min_size=10) == 1
    strokes[6, 6] = 2
    assert count(min_size=10) == 2


def test_a_stroke_of_two_colours_takes_both():
    """Means of a whole stroke would be like neither."""
    regions = blocks((24, 32), 4)
    values = np.zeros((24, 32, 1))
    values[:, 8:16], values[:, 16:24], values[:, 24:] = 40.0, 80.0, 120.0
    strokes = np.zeros((24, 32), dtype=int)
    strokes[12, 2:14], strokes[12, 18:30] = 1, 2
    labels = segment_scribbled(regions, values, strokes)
    assert (labels[:, :16] == 0).all()
    assert (labels[:, 16:] == 1).all()


# --- edges of the input -------------------------------------------------------------------------


def test_strokes_that_cover_everything():
    rng = np.random.default_rng(0)
    strokes = rng.integers(1, 4, size=(10, 10))
    labels = segment_scribbled(np.zeros((10, 10), dtype=int), np.zeros((10, 10, 1)), strokes)
    assert same_partition(labels, strokes)


def test_thousands_of_numbers():
    strokes = np.zeros((90, 90), dtype=int)
    strokes[::2, ::2] = np.arange(1, 2026).reshape(45, 45)
    values = np.random.default_rng(0).normal(size=(90, 90, 3))
    labels = segment_scribbled(blocks((90, 90), 9), values, strokes)
    assert holds(labels, strokes)
    assert labels.max() == 2024


def test_regions_in_several_pieces():
    regions = np.zeros((5, 9), dtype=int)
    regions[:, 3:6] = 1  # region 0 is on both sides of it
    strokes = np.zeros((5, 9), dtype=int)
    strokes[0, 0], strokes[4, 2] = 1, 2
    labels = segment_scribbled(regions, np.zeros((5, 9, 1)), strokes, bandwidth=np.inf)
    assert holds(labels, strokes)
    assert len(np.unique(labels)) == 2


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1)])
def test_thin_images(shape):
    strokes = np.zeros(shape, dtype=int)
    strokes.flat[0] = 3
    labels = segment_scribbled(np.zeros(shape, dtype=int), np.zeros((*shape, 1)), strokes)
    assert (labels == 0).all()


def test_segments_of_strokes_that_are_one_piece_stay_connected():
    rng = np.random.default_rng(2)
    values = rng.normal(scale=10.0, size=(30, 30, 3))
    strokes = np.zeros((30, 30), dtype=int)
    strokes[5, 3:9], strokes[22, 20:26] = 1, 2
    labels = segment_scribbled(blocks((30, 30), 3), values, strokes)
    for segment in range(labels.max() + 1):
        assert components(labels == segment)[1] == 1


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float32, np.float64])
def test_kinds_of_features(dtype):
    regions, values = two_halves()
    strokes = np.zeros((24, 32), dtype=int)
    strokes[12, 2:5], strokes[12, 28:30] = 1, 2
    labels = segment_scribbled(regions, values.astype(dtype), strokes)
    assert same_partition(labels, values[..., 0].astype(int))


def test_arguments_are_left_as_they_are():
    given = scene(np.random.default_rng(1))
    before = [array.copy() for array in given]
    segment_scribbled(*given)
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)


# --- refusals -----------------------------------------------------------------------------------

REGIONS = np.zeros((4, 5), dtype=int)
VALUES = np.zeros((4, 5, 2))
STROKES = np.eye(4, 5, dtype=int)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"regions": np.zeros((5, 4), int)}, ValueError, r"regions have shape \(5, 4\)"),
        ({"regions": REGIONS + 0.5}, TypeError, "whole numbers"),
        ({"regions": REGIONS - 1}, ValueError, "regions hold -1"),
        ({"features": VALUES[..., 0]}, ValueError, r"features\[..., None\]"),
        ({"features": VALUES + np.nan}, ValueError, "NaN"),
        ({"features": VALUES.astype(str)}, TypeError, "convert them to float"),
        ({"features": VALUES[..., :0]}, ValueError, "no feature"),
        ({"scribbles": STROKES[:, :3]}, ValueError, r"scribbles have shape \(4, 3\)"),
        ({"scribbles": STROKES * 1.0}, TypeError, "astype"),
        ({"scribbles": STROKES > 0}, TypeError, "astype"),
        ({"scribbles": -STROKES}, ValueError, "scribbles hold -1"),
        ({"scribbles": 0 * STROKES}, ValueError, "Mark pixels with 1, 2"),
        ({"bandwidth": -1.0}, ValueError, "bandwidth=-1.0"),
        ({"bandwidth": np.nan}, ValueError, "bandwidth=nan"),
        ({"bandwidth": "wide"}, TypeError, "bandwidth must be a number"),
        ({"min_size": 0}, ValueError, "min_size=0"),
        ({"min_size": 2.5}, TypeError, "min_size"),
    ],
)
def test_refusals(change, error, words):
    given = {"regions": REGIONS, "features": VALUES, "scribbles": STROKES} | change
    with pytest.raises(error, match=words):
        segment_scribbled(**given)
