"""The hot loops' parts, each against one line of NumPy."""

import numpy as np
import pytest
from numba.core.caching import NullCache

from linkshift._core.jit import jit
from linkshift.shift import _loops
from linkshift.shift._loops import BLOCK, LANES

DTYPES = [np.float32, np.float64]
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.__name__)


def _apply_exp2(values, out):
    for i in range(values.shape[0]):
        out[i] = _loops.exp2(values[i])


# Not cached: a cache beside this file would outlive changes of `_loops.exp2`.
apply_exp2 = jit(_apply_exp2)
apply_exp2._cache = NullCache()


@every_dtype
def test_exp2_over_its_full_range(dtype):
    end = {np.float32: 126, np.float64: 1022}[dtype]
    rng = np.random.default_rng(0)
    t = np.concatenate(
        [
            np.arange(-end, end + 1),  # whole numbers, exact
            np.arange(-end, end) + 0.5,  # the ties of rounding
            np.nextafter(np.arange(-end, end, dtype=dtype) + dtype(0.5), dtype(end)),
            np.linspace(-end, end, 200_001),
            rng.uniform(-1, 1, 200_000),
            rng.uniform(-1e-6, 1e-6, 1000),
        ]
    ).astype(dtype)
    out = np.empty_like(t)
    apply_exp2(t, out)
    exact = np.exp2(t.astype(np.longdouble))
    error = np.abs((out.astype(np.longdouble) - exact) / exact)
    assert error.max() <= 2 * np.finfo(dtype).eps
    whole = t == np.round(t)
    np.testing.assert_array_equal(out[whole], np.exp2(t[whole]))


@every_dtype
@pytest.mark.parametrize("d", [1, 2, 3, 6, 7])
def test_squared_distances(dtype, d):
    rng = np.random.default_rng(d)
    lanes = rng.normal(size=(d, LANES)).astype(dtype)
    points = rng.normal(size=(12, d)).astype(dtype)
    out = np.full((4, LANES), np.nan, dtype=dtype)
    _loops._squared_distances(lanes, points, 4, out)
    exact = ((lanes.T[None, :, :] - points[4:8, None, :]).astype(np.float64) ** 2).sum(axis=2)
    np.testing.assert_allclose(out, exact, rtol=(d + 1) * np.finfo(dtype).eps)


@every_dtype
def test_weights_of_each_kind(dtype):
    rng = np.random.default_rng(0)
    distance = rng.uniform(0, 2, size=(4, LANES)).astype(dtype)
    distance[0, 0], distance[3, 1] = 1.0, 0.0
    offset = np.array([9, 9, 1.0, 0.5, 2.0, 1.0], dtype=dtype)
    slope = np.array([9, 9, -1.0, -0.25, -1.0, -0.5], dtype=dtype)
    limit = np.array([9, 9, 1.0, 1.5, 1.2, -1.0], dtype=dtype)
    a, c, end = (values[2:, None].astype(np.float64) for values in (offset, slope, limit))
    t = a + c * distance
    inside = distance <= end
    expected = {
        _loops.FLAT: np.where(inside, a, 0),
        _loops.LINEAR: np.where(inside, np.maximum(t, 0), 0),
        _loops.EXPONENTIAL: np.where(inside, np.exp2(t), 0),
        _loops.SQUARE: np.where(inside, np.maximum(t, 0) ** 2, 0),
    }
    for kind, exact in expected.items():
        out = np.full((4, LANES), np.nan, dtype=dtype)
        _loops._weights(kind, distance, offset, slope, limit, 2, dtype(0), out)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(out, exact, rtol=8 * eps, atol=8 * eps)
        assert (out[~inside] == 0).all()
        assert (out[3] == 0).all()  # a negative limit: padding


@every_dtype
@pytest.mark.parametrize("d", [1, 2, 5])
def test_add_means_adds_to_what_is_there(dtype, d):
    rng = np.random.default_rng(d)
    weight = rng.uniform(size=(4, LANES)).astype(dtype)
    points = rng.normal(size=(8, d)).astype(dtype)
    sums = np.full((d, LANES), 3.0, dtype=dtype)
    total = np.full(LANES, 5.0, dtype=dtype)
    _loops._add_means(weight, points, 4, sums, total)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(total, 5.0 + weight.astype(float).sum(axis=0), rtol=4 * eps)
    np.testing.assert_allclose(
        sums, 3.0 + points[4:8].astype(float).T @ weight.astype(float), rtol=0, atol=40 * eps
    )


@pytest.mark.parametrize("d", [1, 2, 5])
def test_box_distances_are_the_least_and_greatest(d):
    rng = np.random.default_rng(d)
    for _ in range(50):
        corners = np.sort(rng.integers(-4, 5, size=(2, 2, d)).astype(float), axis=1)
        (low, high), (box_low, box_high) = corners
        least, greatest = _loops._box_distances(low, high, box_low[None], box_high[None], 0)
        # The nearest point of a box is found by clipping; the farthest pair are corners.
        grid = rng.uniform(low, high, size=(200, d))
        others = rng.uniform(box_low, box_high, size=(200, d))
        squared = ((grid - others) ** 2).sum(axis=1)
        assert (least <= squared + 1e-12).all()
        assert (greatest >= squared - 1e-12).all()
        gap = np.maximum(np.maximum(box_low - high, low - box_high), 0)
        span = np.maximum(np.abs(box_high - low), np.abs(high - box_low))
        assert least == (gap**2).sum()
        assert greatest == (span**2).sum()


@every_dtype
def test_block_sums_are_the_sums_of_the_blocks(dtype):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2 * BLOCK, 3)).astype(dtype)
    factor = rng.uniform(size=2 * BLOCK).astype(dtype)
    sums, total = np.empty((2, 3), dtype=dtype), np.empty(2, dtype=dtype)
    _loops.block_sums(points, factor, sums, total)
    for i in range(2):
        run = slice(i * BLOCK, (i + 1) * BLOCK)
        exact = factor[run].astype(float) @ points[run].astype(float)
        np.testing.assert_allclose(sums[i], exact, atol=100 * np.finfo(dtype).eps)
        np.testing.assert_allclose(total[i], factor[run].astype(float).sum(), rtol=1e-5)


@every_dtype
def test_weights_from_products(dtype):
    rng = np.random.default_rng(0)
    S, X = rng.normal(size=(5, 3)).astype(dtype), rng.normal(size=(7, 3)).astype(dtype)
    offset = rng.uniform(-3, 0, size=7).astype(dtype)
    slope = -rng.uniform(0.1, 1, size=7).astype(dtype)
    limit = np.full(7, 4.0, dtype=dtype)
    limit[3] = -1.0
    products = S @ X.T
    _loops.weights_from_products(
        products, (S**2).sum(axis=1), (X**2).sum(axis=1), offset, slope, limit
    )
    u = ((S[:, None].astype(float) - X[None].astype(float)) ** 2).sum(axis=2)
    exact = np.where(u <= limit, np.exp2(offset + slope * u), 0)
    np.testing.assert_allclose(products, exact, atol=50 * np.finfo(dtype).eps)
    assert (products[:, 3] == 0).all()
