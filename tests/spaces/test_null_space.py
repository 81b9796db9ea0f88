"""Projection onto the null space of must-links: eq. 13 to 20, and its limits."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import kernel_mean_shift as twin

from linkshift import Links
from linkshift.spaces.null_space import component_means, null_space


def project(Z, pairs):
    component = Links(must=pairs).closure(len(Z)).component
    return Z @ null_space(Z, component).basis


def distances(Z):
    return np.linalg.norm(Z[:, None] - Z, axis=2)


def test_by_hand():
    Z = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, -1.0], [5.0, 5.0]])
    # Linked rows 0 and 1 differ along (1, 1): what is left is the way along (1, -1).
    np.testing.assert_allclose(
        np.abs(project(Z, [(0, 1)]))[:, 0], [0, 0, np.sqrt(2), 0], atol=1e-15
    )


@pytest.mark.parametrize("n_links", [1, 3, 6])
def test_it_is_the_projected_kernel_matrix_of_the_paper(n_links):
    rng = np.random.default_rng(n_links)
    Z = rng.normal(size=(30, 25))
    pairs = [(2 * i, 2 * i + 1) for i in range(n_links)]
    ours = project(Z, pairs)
    np.testing.assert_allclose(ours @ ours.T, twin.projected_kernel(Z @ Z.T, pairs), atol=1e-10)
    assert ours.shape[1] == 25 - n_links


def test_no_links_change_nothing():
    Z = np.random.default_rng(0).normal(size=(5, 3))
    space = null_space(Z, np.arange(5))
    assert space.n_removed == 0
    np.testing.assert_array_equal(space.basis, np.eye(3))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 25), st.integers(2, 12))
def test_linked_rows_coincide_and_other_directions_stay(seed, n, r):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, r)) * 10.0 ** rng.integers(-6, 6)
    component = rng.integers(0, n, size=n)
    component = np.unique(component, return_inverse=True)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about many links
        space = null_space(Z, component)
    projected = Z @ space.basis
    scale = np.abs(Z).max()
    for c in np.unique(component):
        rows = projected[component == c]
        assert np.abs(rows - rows[0]).max() < 1e-12 * scale
    differences = Z - np.array([Z[component == c].mean(axis=0) for c in component])
    if space.n_removed < r:
        np.testing.assert_allclose(
            space.basis.T @ space.basis, np.eye(r - space.n_removed), atol=1e-12
        )
        assert np.linalg.matrix_rank(differences) == space.n_removed
        # No direction is bent: what is removed and what is left make up the whole.
        removed = np.linalg.norm(Z, axis=1) ** 2 - np.linalg.norm(projected, axis=1) ** 2
        assert (removed > -1e-9 * scale**2).all()


def test_redundant_links_change_nothing():
    Z = np.random.default_rng(1).normal(size=(12, 9))
    tree = project(Z, [(0, 1), (1, 2)])
    full = project(Z, [(0, 1), (1, 2), (0, 2)])
    other = project(Z, [(0, 2), (2, 1)])
    np.testing.assert_array_equal(tree, full)
    np.testing.assert_array_equal(tree, other)


def test_links_between_twins_remove_nothing():
    Z = np.random.default_rng(2).normal(size=(6, 4))
    Z[1] = Z[0] + 1e-14
    space = null_space(Z, [0, 0, 1, 2, 3, 4])
    assert space.n_removed == 0


def test_rows_of_one_component_take_their_span_only():
    # Many linked rows in a plane take two directions, however many links there are.
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 10))
    Z[:40, 2:] = 0.0
    space = null_space(Z, np.r_[np.zeros(40, int), np.arange(1, 21)])
    assert space.n_removed == 2
    assert np.abs((Z @ space.basis)[:40]).max() < 1e-12


def test_more_links_than_dimensions_leave_one_spot_and_a_warning():
    Z = np.random.default_rng(4).normal(size=(9, 2))
    with pytest.warns(UserWarning, match=r"span all 2 dimensions.*use_links='learn'"):
        space = null_space(Z, [0, 0, 1, 1, 2, 2, 3, 3, 4])
    assert space.n_removed == 2
    np.testing.assert_array_equal(Z @ space.basis, np.zeros((9, 1)))


def test_many_links_warn_with_the_remedy():
    Z = np.random.default_rng(5).normal(size=(40, 20))
    pairs = [(2 * i, 2 * i + 1) for i in range(6)]
    with pytest.warns(UserWarning, match=r"take 6 of the 20.*fewer links"):
        project(Z, pairs)
    project(Z, pairs[:5])  # a quarter is no cause for alarm


def test_all_rows_linked_is_one_spot_without_a_warning():
    Z = np.random.default_rng(6).normal(size=(7, 3)) + 5.0
    projected = Z @ null_space(Z, np.zeros(7, int)).basis
    assert distances(projected).max() < 1e-12


def test_component_means_agree_to_the_last_bit():
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(50, 4))
    component = np.unique(rng.integers(0, 20, 50), return_inverse=True)[1]
    out = component_means(Z, component)
    for c in range(component.max() + 1):
        rows = out[component == c]
        assert (rows == rows[0]).all()
        np.testing.assert_allclose(rows[0], Z[component == c].mean(axis=0), atol=1e-14)
    assert not np.shares_memory(out, Z)
