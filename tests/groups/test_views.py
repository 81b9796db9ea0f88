import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from linkshift import datasets
from linkshift.groups.views import Columns, kernel_bank, median_gamma


def tables(seed=0, n=12, widths=(2, 3)):
    rng = np.random.RandomState(seed)
    return [rng.rand(n, d) for d in widths]


def chi2(X, Y):
    """Root of half the chi2 statistic, pair by pair."""
    out = np.zeros((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0]
            out[i, j] = np.sqrt(0.5 * sum(terms))
    return out


def cosine(X, Y):
    return cdist(
        X / np.linalg.norm(X, axis=1, keepdims=True), Y / np.linalg.norm(Y, axis=1, keepdims=True)
    )


DISTANCES = {"euclidean": cdist, "chi2": chi2, "cosine": cosine}


@pytest.mark.parametrize("max_bytes", [0, 1 << 30])
@pytest.mark.parametrize("metric", list(DISTANCES))
def test_kernel_is_equation_1(metric, max_bytes):
    A, B = tables()
    bank = kernel_bank([A, B], metric=metric, gamma=[0.7, "median"], max_bytes=max_bytes)
    assert (bank.values is None) == (max_bytes == 0)
    columns = bank.columns([7, 3, 3])
    at = columns.positions([3, 7])
    new = tables(1, n=5)
    fresh = bank.transform(new, samples=[7, 3])
    for m, (X, Z) in enumerate(zip((A, B), new, strict=True)):
        d = DISTANCES[metric](X, X)
        gamma = 0.7 if m == 0 else 1 / np.median(d[np.triu_indices(12, 1)] ** 2)
        assert bank.gammas[m] == pytest.approx(gamma)
        expected = np.exp(-gamma * d[[3, 7]] ** 2)
        np.testing.assert_allclose(columns.values[m, at], expected, rtol=1e-5)
        cross = np.exp(-gamma * DISTANCES[metric](X[[3, 7]], Z) ** 2)
        np.testing.assert_allclose(fresh.values[m], cross, rtol=1e-5)
    assert columns.values.dtype == np.float32


@pytest.mark.parametrize("max_bytes", [0, 1 << 30])
def test_all_forms_of_the_same_views_agree(max_bytes):
    A, B = tables()
    new = tables(1, n=4)
    X, Z = np.hstack([A, B]), np.hstack(new)
    frame = pd.DataFrame(X, columns=list("abcde"))
    shuffled = pd.DataFrame(Z, columns=list("abcde"))[list("edcba")]
    mask = np.array([True, True, False, False, False])
    numbered = pd.DataFrame(X)
    distances = [cdist(T, T) for T in (A, B)]
    crossed = [cdist(N, T) for N, T in zip(new, (A, B), strict=True)]
    plain = kernel_bank([A, B], max_bytes=max_bytes)
    gammas = plain.gammas
    kernels = [np.exp(-g * d**2) for g, d in zip(gammas, distances, strict=True)]
    crossed_kernels = [np.exp(-g * d**2) for g, d in zip(gammas, crossed, strict=True)]
    same = {"max_bytes": max_bytes}
    forms = [
        (plain, new),
        (kernel_bank({"u": A, "v": B}, **same), {"v": new[1], "u": new[0]}),
        (kernel_bank([A, B], names=["u", "v"], **same), new),
        (kernel_bank(X, groups={"u": [0, 1], "v": slice(2, 5)}, **same), Z),
        (kernel_bank(X, groups={"u": mask, "v": ~mask}, **same), Z),
        (kernel_bank(numbered, groups={"u": mask, "v": [2, 3, 4]}, **same), Z),
        (kernel_bank(frame, groups={"u": ["a", "b"], "v": ["c", "d", "e"]}, **same), shuffled),
        (kernel_bank(distances, metric="precomputed", **same), crossed),
        (kernel_bank([A, B], metric=cdist, **same), new),
        (kernel_bank(np.stack(kernels), metric="kernel", **same), crossed_kernels),
        (kernel_bank([A, kernels[1]], metric=["euclidean", "kernel"], **same), None),
    ]
    reference = plain.columns(range(12)).values, plain.transform(new).values
    for bank, fresh in forms:
        assert bank.n_samples == 12
        assert bank.n_views == 2
        np.testing.assert_allclose(bank.columns(range(12)).values, reference[0], rtol=1e-5)
        if fresh is not None:
            np.testing.assert_allclose(bank.transform(fresh).values, reference[1], rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    scale=st.floats(1e-4, 1e4),
    metric=st.sampled_from(["euclidean", "chi2", "cosine", cdist]),
)
def test_with_the_median_units_do_not_matter(seed, scale, metric):
    A, B = tables(seed)
    one = kernel_bank([A, B], metric=metric)
    other = kernel_bank([A * scale, B], metric=metric)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-4, atol=1e-6)


def test_median_by_hand_and_where_it_is_zero():
    # Distances 1, 3, 2: squares 1, 9, 4.
    assert kernel_bank([np.array([[0.0], [1.0], [3.0]])]).gammas[0] == pytest.approx(0.25)
    most = np.array([[0.0]] * 8 + [[2.0]])
    assert kernel_bank([most]).gammas[0] == pytest.approx(0.25)  # the mean of eight fours
    assert kernel_bank([np.ones((5, 2))]).gammas[0] == 1.0
    assert kernel_bank([np.ones((1, 2))]).gammas[0] == 1.0
    assert median_gamma([]) == 1.0
    far = np.full((6, 300), 1e3) + np.random.RandomState(0).rand(300)
    assert kernel_bank([far]).gammas[0] == 1.0  # equal rows, whatever rounding says


def test_equal_rows_have_kernel_one_far_from_the_origin():
    X = 1e6 + np.random.RandomState(0).rand(10, 50)
    bank = kernel_bank([np.vstack([X, X])])
    np.testing.assert_array_equal(np.diag(bank.values[0][:10, 10:]), 1.0)


def test_cosine_of_a_row_of_zeros():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    bank = kernel_bank([X], metric="cosine", gamma=1.0)
    expected = np.exp(-np.array([0.0, 0.0, 1.0, 1.0]))
    np.testing.assert_allclose(bank.values[0, 0], expected, rtol=1e-6)


def test_gamma_by_name_and_for_a_kernel():
    A, _ = tables()
    bank = kernel_bank({"u": A, "v": A @ A.T}, metric={"v": "kernel"}, gamma={"u": 2.0})
    assert bank.gammas[0] == 2.0
    assert np.isnan(bank.gammas[1])
    np.testing.assert_allclose(bank.values[1], A @ A.T, rtol=1e-6)
    assert bank.names == ("u", "v")


def test_columns_that_are_not_there_are_an_error():
    columns = Columns(np.zeros((1, 2, 3), np.float32), np.array([2, 5]))
    np.testing.assert_array_equal(columns.positions([[5, 2]]), [[1, 0]])
    with pytest.raises(ValueError, match="have no column here"):
        columns.positions([3])
    with pytest.raises(ValueError, match="have no column here"):
        columns.positions([6])


@pytest.mark.parametrize("max_bytes", [0, 1 << 30])
@pytest.mark.parametrize("metric", [*DISTANCES, cdist, "precomputed", "kernel"])
def test_no_training_samples_give_no_columns(metric, max_bytes):
    X = tables(n=6)[0]
    if metric in ("precomputed", "kernel"):
        X = cdist(X, X)
    bank = kernel_bank([X], metric=metric, max_bytes=max_bytes)
    columns = bank.transform([X[:4]], samples=[])
    assert columns.values.shape == (1, 0, 4)
    assert columns.values.dtype == np.float32
    assert columns.samples.shape == columns.positions([]).shape == (0,)
    assert bank.columns([]).positions([]).shape == (0,)
    with pytest.raises(ValueError, match="have no column here"):
        columns.positions([0])


def test_new_samples_are_checked_though_there_are_no_columns():
    X = tables(n=6)[0]
    bank = kernel_bank([X])
    with pytest.raises(ValueError, match="'view0': NaN or infinity in row 0"):
        bank.transform([np.full((3, 2), np.nan)], samples=[])
    with pytest.raises(ValueError, match="new samples have 1 columns"):
        bank.transform([X[:, :1]], samples=[])


A, B = tables()
NAN = A.copy()
NAN[3, 1] = np.nan
SQUARE = cdist(A, A)
TILTED = SQUARE.copy()
TILTED[0, 1] += 1.0


@pytest.mark.parametrize(
    ("views", "options", "message"),
    [
        ([], {}, "no views"),
        ({}, {}, "no views"),
        (A, {}, r"groups, or pass \[X\]"),
        ([A, B[:5]], {}, "'view1': 5 rows, but view 'view0' has 12"),
        ({"u": A, "v": NAN}, {}, "'v': NaN or infinity in row 3; impute"),
        ({"u": -A}, {"metric": "chi2"}, "'u': negative values in row 0; chi2 is for histograms"),
        ({"u": A}, {"metric": "precomputed"}, "'u': .*square.*for features take another metric"),
        ({"u": TILTED}, {"metric": "precomputed"}, r"'u': .*not symmetric; take \(A \+ A.T\)"),
        ({"u": -SQUARE}, {"metric": "precomputed"}, "'u': negative values .* metric='kernel'"),
        ({"u": np.exp(-SQUARE)}, {"metric": "precomputed"}, "'u': .*zero from themselves"),
        ({"u": A}, {"metric": "kernel"}, "'u': .*square"),
        ({"u": TILTED}, {"metric": "kernel"}, "'u': .*not symmetric"),
        ({"u": 1e31 * SQUARE}, {"metric": "kernel"}, "'u': .*float32; divide"),
        ({"u": SQUARE}, {"metric": "kernel", "gamma": 1.0}, "'u': .*has no gamma"),
        ({"u": A}, {"metric": "manhattan"}, "'u': unknown metric 'manhattan'; take one of"),
        ({"u": A}, {"gamma": -1.0}, "'u': gamma must be"),
        ({"u": A}, {"gamma": "mean"}, "'u': gamma must be"),
        ({"u": A}, {"gamma": {"w": 1.0}}, "gamma names views"),
        ([A, B], {"metric": ["euclidean"]}, "1 values of metric for 2 views"),
        ([A, B], {"names": ["u", "u"]}, "same name"),
        ([A, B], {"names": ["u"]}, "1 names for 2 views"),
        ({1: A, "1": B}, {}, "same name"),
        ({"u": A}, {"names": ["u"]}, "leave names out"),
        ({"u": A[:, 0]}, {}, r"'u': 1 dimensions instead of two; .*reshape\(-1, 1\)"),
        ({"u": A[:0]}, {}, r"'u': its shape is \(0, 2\)"),
        ({"u": csr_array(A)}, {}, "'u': sparse .*toarray"),
        ({"u": np.full((4, 2), "x")}, {}, "'u': not a table of numbers"),
        (A, {"groups": {}}, "groups is empty"),
        (A, {"groups": {"u": [0]}, "names": ["u"]}, "leave names out"),
        (A, {"groups": {"u": [0, 9]}}, "'u': no such columns"),
        (A, {"groups": {"u": ["red"]}}, "'u': no such columns"),
        (A, {"groups": {"u": slice(5, 9)}}, "'u': no columns"),
        ({"u": A}, {"metric": lambda X, Y: np.ones(3)}, "'u': metric.*must give a row"),
        ({"u": A}, {"metric": lambda X, Y: -cdist(X, Y)}, "'u': metric.*negative"),
        ({"u": A}, {"metric": lambda X, Y: cdist(X, Y) + X[:, :1]}, "'u': .*not symmetric"),
    ],
)
def test_errors_name_the_view_and_the_remedy(views, options, message):
    with pytest.raises(ValueError, match=message):
        kernel_bank(views, **options)


def test_groups_of_a_list_are_an_error():
    with pytest.raises(TypeError, match="groups parts one 2-D array"):
        kernel_bank([A, B], groups={"u": [0]})


def test_new_samples_must_be_like_the_old():
    bank = kernel_bank({"u": A, "v": B})
    with pytest.raises(ValueError, match="1 views are given, the bank has 2"):
        bank.transform([A])
    with pytest.raises(ValueError, match=r"called \['u', 'w'\]"):
        bank.transform({"u": A, "w": B})
    with pytest.raises(ValueError, match="'v': new samples have 2 columns"):
        bank.transform({"u": A, "v": B[:, :2]})
    with pytest.raises(ValueError, match="'u': NaN"):
        bank.transform({"u": NAN, "v": B})
    with pytest.raises(ValueError, match="numbered 0 to 11; samples go from -1 to 12"):
        bank.transform({"u": A, "v": B}, samples=[-1, 12])
    named = kernel_bank(pd.DataFrame(A, columns=["a", "b"]), groups={"u": ["a"]})
    with pytest.raises(ValueError, match=r"'u': no such columns.*DataFrame"):
        named.transform(A)
    given = kernel_bank([SQUARE], metric="precomputed")
    with pytest.raises(ValueError, match="one column for each"):
        given.transform([SQUARE[:, :4]])


def test_input_is_left_alone():
    before = A.copy()
    bank = kernel_bank([A])
    bank.transform([A])
    np.testing.assert_array_equal(A, before)


def test_views_of_a_data_set():
    if not datasets.available().get("mv_msrc_v1"):
        pytest.skip("mv_msrc_v1 is not here")
    data = datasets.load("mv_msrc_v1")
    bank = kernel_bank(data.views)
    assert bank.names == tuple(data.views)
    upper = np.triu_indices(bank.n_samples, 1)
    for kernel in bank.values:
        assert np.median(kernel[upper]) == pytest.approx(np.exp(-1), abs=1e-3)
