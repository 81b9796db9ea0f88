"""Kernels, their coordinates, and how wide they should be."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils._testing import assert_allclose

from linkshift import Links
from linkshift.bandwidth import pair_mean
from linkshift.spaces.kernel import (
    Kernel,
    _eigen,
    _factor,
    kernel_space,
    participation_ratio,
    principal_axes,
    sigma_from_links,
    spread_dimension,
)

rng = np.random.default_rng(0)
X = rng.uniform(size=(60, 5))
NEW = rng.uniform(size=(7, 5))
KERNELS = {
    "gaussian": Kernel("gaussian", sigma=0.7),
    "chi2": Kernel("chi2"),
    "polynomial": Kernel("polynomial", degree=3, gamma=0.5, coef0=2.0),
    "linear": Kernel("linear"),
    "callable": Kernel(laplacian_kernel, params={"gamma": 0.3}),
}


def literal(name, x, y):
    if name == "gaussian":
        return np.exp(-np.sum((x - y) ** 2) / (2 * 0.7**2))
    if name == "chi2":
        return 2 * sum(a * b / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0)
    if name == "polynomial":
        return (0.5 * x @ y + 2.0) ** 3
    if name == "linear":
        return x @ y
    return np.exp(-0.3 * np.abs(x - y).sum())


# Kernel values


@pytest.mark.parametrize("name", KERNELS)
def test_values_are_the_formula(name):
    expected = [[literal(name, x, y) for y in X] for x in NEW]
    assert_allclose(KERNELS[name](NEW, X), expected, rtol=1e-12)
    assert_allclose(KERNELS[name](X), KERNELS[name](X, X), rtol=1e-12)


def test_chi2_of_empty_bins_is_nought():
    H = np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert_allclose(Kernel("chi2")(H), [[1, 2 / 3, 0], [2 / 3, 1, 0], [0, 0, 1]], atol=1e-15)


def test_a_far_origin_costs_no_digits():
    near = Kernel("gaussian", sigma=0.7)(X)
    assert_allclose(Kernel("gaussian", sigma=0.7)(X + 1e6), near, atol=1e-9)


def test_a_callable_of_the_wrong_shape_or_not_finite_raises():
    with pytest.raises(ValueError, match=r"\(60, 60\).*\(60,\)"):
        kernel_space(X, Kernel(lambda A, B: np.ones(len(A))))
    with pytest.raises(ValueError, match="not finite"):
        kernel_space(X, Kernel(lambda A, B: np.full((len(A), len(B)), np.nan)))


# Coordinates


@pytest.mark.parametrize("name", KERNELS)
def test_inner_products_of_coordinates_are_kernel_values(name):
    kernel = KERNELS[name]
    space, Z = kernel_space(X, kernel)
    gram = kernel(X) if name != "linear" else kernel(X - X.mean(axis=0))
    assert_allclose(Z @ Z.T, gram, atol=1e-10)
    assert_allclose(space.transform(X), Z, atol=1e-6)
    new = kernel(NEW, X) if name != "linear" else kernel(NEW - X.mean(axis=0), X - X.mean(axis=0))
    assert_allclose(space.transform(NEW) @ Z.T, new, atol=1e-6)
    assert space.exact


def test_a_precomputed_kernel_is_the_kernel():
    kernel = KERNELS["gaussian"]
    space, Z = kernel_space(X, kernel)
    given, same = kernel_space(kernel(X), Kernel("precomputed"))
    assert_allclose(same, Z, atol=1e-12)
    assert_allclose(given.transform(kernel(NEW, X)), space.transform(NEW), atol=1e-9)


@pytest.mark.parametrize("sigma", [2.0, 20.0, 30.0])
def test_both_ways_to_factor_agree(sigma):
    gram = Kernel("gaussian", sigma=sigma)(X[:, :2] * 10)
    values, Z = _factor(gram)
    expected, same = _eigen(gram)
    assert Z.shape[1] < 30 or sigma == 2.0  # of small rank: by Cholesky
    assert abs(len(values) - len(expected)) <= 1  # one may stand on the very cut-off
    k = min(len(values), len(expected)) - 1
    assert_allclose(values[:k], expected[:k], rtol=0.01)
    assert_allclose(Z @ Z.T, gram, atol=1e-12)
    assert_allclose(same @ same.T, gram, atol=1e-12)


def test_what_cholesky_leaves_out_is_looked_at():
    # Of rank two with eigenvalues of both signs: the pivots see only the positive one.
    a, b = np.eye(12)[:2]
    with pytest.raises(ValueError, match="positive semi-definite"):
        _factor(2.0 * np.outer(a, a) - np.outer(b, b))


def test_axes_are_sorted_and_uncorrelated():
    _, Z = kernel_space(X, KERNELS["gaussian"])
    products = Z.T @ Z
    lengths = np.diag(products)
    assert (np.diff(lengths) <= 0).all()
    assert np.abs(products - np.diag(lengths)).max() < 1e-10


@pytest.mark.parametrize(("degree", "rank"), [(1, 3), (2, 6), (3, 10)])
def test_the_rank_is_that_of_the_feature_map(degree, rank):
    # Polynomials of degree p in two variables have (p + 1)(p + 2) / 2 coefficients.
    Z = kernel_space(X[:, :2], Kernel("polynomial", degree=degree))[1]
    assert Z.shape[1] == rank


def test_linear_coordinates_do_not_depend_on_the_origin():
    _, Z = kernel_space(X, Kernel("linear"))
    _, moved = kernel_space(X + 100.0, Kernel("linear"))
    assert_allclose(moved, Z, atol=1e-12)
    wide = rng.normal(size=(6, 40))
    space, Z = kernel_space(wide, Kernel("linear"))
    assert Z.shape[1] <= 6
    assert_allclose(np.linalg.norm(Z[0] - Z[1]), np.linalg.norm(wide[0] - wide[1]))
    assert_allclose(space.transform(wide), Z, atol=1e-12)


def test_a_further_map_is_applied_on_the_way(monkeypatch):
    space, _ = kernel_space(X, KERNELS["gaussian"])
    turn = rng.normal(size=(space.map.shape[1], 3))
    whole = space.transform(NEW) @ turn
    monkeypatch.setattr("linkshift.spaces.kernel._CHUNK_PAIRS", 120)  # two rows at a time
    assert_allclose(space.transform(NEW, turn), whole, atol=1e-6)


def test_float32_and_twins_are_fine():
    doubled = np.vstack([X, X]).astype(np.float32)
    _, Z = kernel_space(doubled, KERNELS["gaussian"])
    assert Z.shape[1] <= 60
    assert Z.dtype == np.float64
    assert np.abs(Z[:60] - Z[60:]).max() < 1e-6


def test_all_noughts():
    space, Z = kernel_space(np.zeros((4, 2)), Kernel("linear"))
    assert not Z.any()
    space, Z = kernel_space(np.zeros((4, 2)), Kernel("chi2"))
    assert Z.shape == (4, 1)
    assert not Z.any()
    assert not space.transform(np.ones((2, 2))).any()


# Landmarks


@pytest.mark.parametrize("name", ["gaussian", "chi2", "polynomial", "callable"])
def test_all_rows_as_landmarks_are_exact(name):
    _, Z = kernel_space(X, KERNELS[name])
    space, same = kernel_space(X, KERNELS[name], n_landmarks=60, random_state=0)
    assert space.exact
    np.testing.assert_array_equal(same, Z)


def test_landmarks_reproduce_a_kernel_of_low_rank():
    kernel = Kernel("polynomial", degree=2)
    space, Z = kernel_space(X[:, :2], kernel, n_landmarks=12, random_state=0)
    assert not space.exact
    assert_allclose(Z @ Z.T, kernel(X[:, :2]), atol=1e-6)


def test_landmarks_are_seeded_and_of_the_number_asked_for():
    spaces = [
        kernel_space(X, KERNELS["gaussian"], n_landmarks=9, random_state=s)[0] for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(spaces[0].landmarks, spaces[1].landmarks)
    assert not np.array_equal(spaces[0].landmarks, spaces[2].landmarks)
    assert spaces[0].landmarks.shape == (9, 5)
    assert spaces[0].map.shape[1] <= 9


def test_landmarks_of_a_precomputed_kernel():
    gram = KERNELS["gaussian"](X)
    space, Z = kernel_space(gram, Kernel("precomputed"), n_landmarks=9, random_state=0)
    expected = kernel_space(X, KERNELS["gaussian"], n_landmarks=9, random_state=0)[1]
    assert_allclose(Z, expected, atol=1e-10)
    assert_allclose(space.transform(gram[:3]), Z[:3], atol=1e-12)


def test_many_rows_never_make_a_square_matrix():
    sizes = []

    def spy(A, B):
        sizes.append((len(A), len(B)))
        return np.exp(-np.abs(A - B.T))

    many = np.random.default_rng(0).normal(size=(3000, 1))
    kernel_space(many, Kernel(spy), n_landmarks=20, random_state=0)
    assert max(b for _, b in sizes) == 20


# Refusals


def test_what_is_no_kernel_raises():
    with pytest.raises(ValueError, match="positive semi-definite"):
        kernel_space(X, Kernel(lambda A, B: -A @ B.T))
    with pytest.raises(ValueError, match="square"):
        kernel_space(X, Kernel("precomputed"))
    lopsided = KERNELS["gaussian"](X)
    lopsided[0, 1] += 0.1
    with pytest.raises(ValueError, match="symmetric"):
        kernel_space(lopsided, Kernel("precomputed"))


def test_negative_histograms_raise_and_name_the_row():
    H = X.copy()
    H[4, 0] = -0.1
    with pytest.raises(ValueError, match=r"[Nn]egative.*row 4"):
        kernel_space(H, Kernel("chi2"))


def test_landmarks_that_make_no_sense_raise():
    with pytest.raises(ValueError, match="drop n_landmarks"):
        kernel_space(X, Kernel("linear"), n_landmarks=5)
    with pytest.raises(ValueError, match="at least 1"):
        kernel_space(X, Kernel("gaussian"), n_landmarks=0)


# Dimensions


def test_participation_ratio_by_hand():
    assert participation_ratio([1.0, 0.0]) == 1.0
    assert participation_ratio([3.0, 3.0, 3.0]) == 3.0
    assert participation_ratio([2.0, 1.0]) == pytest.approx(9 / 5)
    assert participation_ratio([0.0, 0.0]) == 1.0
    assert participation_ratio([1e200, 1e200]) == pytest.approx(2.0)


def test_spread_dimension_is_the_participation_ratio_of_the_covariance():
    for Z in (rng.normal(size=(30, 4)) + 9.0, rng.normal(size=(4, 30))):
        expected = participation_ratio(np.linalg.eigvalsh(np.cov(Z.T)))
        assert spread_dimension(Z) == pytest.approx(expected)
    assert spread_dimension(np.ones((5, 2))) == 1.0


def test_principal_axes():
    Z = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 7))
    axes = principal_axes(Z)
    assert axes.rank == 3
    turned = Z @ axes.map
    assert_allclose(turned @ turned.T, Z @ Z.T, atol=1e-10)
    assert_allclose(np.diag(turned.T @ turned), axes.eigenvalues, rtol=1e-9)
    nowhere = principal_axes(np.zeros((5, 2)))
    assert nowhere.rank == 0
    assert nowhere.map.shape == (2, 1)


# Width from links


def contrast(sigma, must, cannot):
    def mean(pairs):
        return np.mean([np.exp(-np.sum((X[a] - X[b]) ** 2) / (2 * sigma**2)) for a, b in pairs])

    return mean(must) - mean(cannot)


def test_sigma_from_links_maximises_the_contrast():
    far = np.linalg.norm(X[:, None] - X, axis=2)
    order = np.argsort(far, axis=None)
    pairs = np.stack(np.unravel_index(order, far.shape), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    must, cannot = pairs[:20:2], pairs[-20::2]
    sigma = sigma_from_links(X, Links(must=must, cannot=cannot))
    widths = pair_mean(X) * 2.0 ** np.arange(-4, 4.5, 0.5)
    assert sigma in widths
    assert contrast(sigma, must, cannot) == max(contrast(s, must, cannot) for s in widths)


def test_sigma_from_one_kind_of_links():
    blobs = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 20.0])
    must = Links(must=[(0, 1), (2, 3), (25, 26)])
    cannot = Links(cannot=[(0, 25), (3, 30)])
    for links in (must, cannot):
        assert 1.0 < sigma_from_links(blobs, links) < 20.0


def test_confidence_weighs_links():
    # One row's width against another's: the surer link decides.
    line = np.array([[0.0], [1.0], [0.0], [30.0], [100.0]])
    short = Links(must=[(0, 1), (2, 3)], must_confidence=[1.0, 0.01], cannot=[(0, 4)])
    long = Links(must=[(0, 1), (2, 3)], must_confidence=[0.01, 1.0], cannot=[(0, 4)])
    assert sigma_from_links(line, short) <= sigma_from_links(line, long)


def test_links_that_choose_no_width_warn():
    line = np.arange(10.0)[:, None]
    with pytest.warns(UserWarning, match="mean pair distance"):
        sigma = sigma_from_links(line, Links(must=[(0, 9)], cannot=[(4, 5)]))
    assert sigma == pair_mean(line)
    with pytest.raises(ValueError, match="needs links"):
        sigma_from_links(line, Links())
