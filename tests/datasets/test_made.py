"""Generators: their geometry; the same sets by name."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from linkshift.datasets import MADE, make, make_circles, make_lines, make_moons, make_shapes

GENERATORS = [make_moons, make_lines, make_circles, make_shapes]


@pytest.mark.parametrize("make", GENERATORS)
def test_same_seed_same_data(make):
    (X, y), (X_again, y_again) = make(random_state=3), make(random_state=3)
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, make(random_state=4)[0])
    assert X.dtype == np.float64
    assert y.dtype == np.int64


@pytest.mark.parametrize("make", GENERATORS)
def test_random_state_object_advances_and_global_state_is_left_alone(make):
    state = np.random.RandomState(0)
    assert not np.array_equal(make(random_state=state)[0], make(random_state=state)[0])
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(random_state=0)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_moons_lie_on_their_half_circles():
    X, y = make_moons(4000, noise=0.05, random_state=0)
    centre = np.array([[0.0, 0.0], [1.0, 0.5]])[y]
    off = np.linalg.norm(X - centre, axis=1) - 1.0
    assert np.std(off) == pytest.approx(0.05, rel=0.06)
    assert len(make_moons()[0]) == 500


def test_lines_are_the_papers_240_points_in_three_orientations():
    X, y = make_lines(random_state=0)
    assert X.shape == (240, 2)
    np.testing.assert_array_equal(np.bincount(y), np.full(6, 40))
    angle = []
    for line in range(6):
        points = X[y == line] - X[y == line].mean(axis=0)
        direction = np.linalg.svd(points, full_matrices=False)[2][0]
        angle.append(np.degrees(np.arctan2(direction[1], direction[0])) % 180)
    # Fitted orientations: each parallel pair agrees, the three are 60 degrees apart.
    expected = np.repeat([0.0, 120.0, 60.0], 2)
    gap = np.abs((np.array(angle) - expected + 90) % 180 - 90)
    assert gap.max() < 3


@pytest.mark.parametrize(("gap", "noise"), [(2.0, 0.1), (1.5, 0.3)])
def test_lines_distances_match_gap_and_noise(gap, noise):
    X, y = make_lines(3000, gap=gap, noise=noise, length=5.0, start=2.0, random_state=1)
    for orientation in range(3):
        angle = 2 * np.pi * orientation / 3
        direction = np.array([np.cos(angle), np.sin(angle)])
        normal = np.array([-np.sin(angle), np.cos(angle)])
        for side, line in ((-1, 2 * orientation), (1, 2 * orientation + 1)):
            across = X[y == line] @ normal
            assert across.mean() == pytest.approx(side * gap / 2, abs=5 * noise / 3000**0.5)
            assert across.std() == pytest.approx(noise, rel=0.06)
            along = X[y == line] @ direction
            assert along.mean() == pytest.approx(4.5, abs=0.15)
            assert along.std() == pytest.approx(np.hypot(5 / 12**0.5, noise), rel=0.05)


def test_lines_without_noise_run_along_the_rows():
    X, y = make_lines(20, noise=0, random_state=0)
    first = X[y == 0]
    assert np.ptp(first[:, 1]) == 0
    assert np.all(np.diff(first[:, 0]) >= 0)


def test_circles_are_the_papers_counts():
    X, y = make_circles(random_state=0)
    assert X.shape == (280, 2)
    assert np.sum(y == -1) == 80
    np.testing.assert_array_equal(np.bincount(y[y >= 0]), np.full(5, 40))


def test_circles_distances_match_radius_and_noise():
    radii = (2.0, 3.5, 7.0)
    X, y = make_circles(4000, radii=radii, noise=0.1, n_outliers=0, random_state=2)
    for circle, radius in enumerate(radii):
        from_centre = np.linalg.norm(X[y == circle], axis=1)
        # E|x| = r + noise^2 / 2r to second order: the tangential part lengthens a little.
        assert from_centre.mean() == pytest.approx(radius + 0.01 / (2 * radius), abs=0.008)
        assert from_centre.std() == pytest.approx(0.1, rel=0.06)
        angle = np.arctan2(*X[y == circle].T[::-1])
        quarters = np.histogram(angle, bins=4, range=(-np.pi, np.pi))[0]
        # Uniform angles: a quarter's count is binomial(4000, 1/4), five deviations wide.
        assert np.abs(quarters - 1000).max() < 5 * (4000 * 0.25 * 0.75) ** 0.5


def test_circle_outliers_fill_their_square():
    X, y = make_circles(1, n_outliers=4000, random_state=0)
    outliers = X[y == -1]
    assert np.abs(outliers).max() <= 5.5
    np.testing.assert_allclose(outliers.std(axis=0), 11 / 12**0.5, rtol=0.05)


def test_shapes_are_two_moons_and_three_blobs():
    X, y = make_shapes(16_000, random_state=0)
    np.testing.assert_array_equal(np.bincount(y), [4000, 4000, 6000, 1000, 1000])
    moon = y < 2
    centre = np.array([[0.0, 0.0], [1.0, 0.5]])[y[moon]]
    off = np.linalg.norm(X[moon] - centre, axis=1) - 1.0
    assert off.std() == pytest.approx(0.06, rel=0.06)
    for blob, centre, spread in (
        (2, (3.5, 0.3), (0.45, 0.4)),
        (3, (2.45, 1.0), (0.09, 0.09)),
        (4, (2.4, -0.5), (0.09, 0.09)),
    ):
        points = X[y == blob]
        # Five deviations of a mean, and of a spread.
        within = 5 * np.array(spread) / len(points) ** 0.5
        assert (np.abs(points.mean(axis=0) - centre) < within).all()
        np.testing.assert_allclose(points.std(axis=0), spread, rtol=0.12)
    for n in range(5, 40):
        X, y = make_shapes(n, random_state=0)
        assert len(X) == len(y) == n
        assert set(y) == set(range(5))


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (make_shapes, {"n_samples": 4}),
        (make_moons, {"noise": -1}),
        (make_lines, {"n_per_line": 0}),
        (make_lines, {"noise": -0.1}),
        (make_lines, {"length": 0}),
        (make_circles, {"n_per_circle": 0}),
        (make_circles, {"n_outliers": -1}),
        (make_circles, {"radii": ()}),
        (make_circles, {"radii": (1.0, -2.0)}),
        (make_circles, {"noise": -1}),
    ],
)
def test_generators_name_the_wrong_argument(make, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make(**wrong)


# --- by name ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(MADE))
def test_made_by_name_is_made_by_its_function(name):
    function = {
        "moons": make_moons,
        "lines": make_lines,
        "circles": make_circles,
        "shapes": make_shapes,
        "digits": lambda random_state: load_digits(return_X_y=True),
    }
    X, y = function[name](random_state=7)
    data = make(name, random_state=7)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert len(X) == MADE[name].n_samples
    assert X.shape[1] == MADE[name].n_features
    assert data.target_names == MADE[name].class_names
    np.testing.assert_array_equal(np.unique(y[y >= 0]), np.arange(len(data.target_names)))
    np.testing.assert_array_equal(data.classes, np.arange(len(data.target_names)))


@pytest.mark.parametrize("name", sorted(MADE))
def test_made_in_any_size_has_every_class(name):
    n_classes = len(MADE[name].class_names)
    for n in (n_classes, n_classes + 1, 20, 101):
        data = make(name, n, random_state=0)
        assert data.X.shape == (n, MADE[name].n_features)
        assert set(range(n_classes)) <= set(data.y.tolist())
        sizes = np.bincount(data.y[data.y >= 0])
        if name in ("lines", "circles"):
            assert np.ptp(sizes) <= 1


def test_digits_are_drawn_of_those_that_there_are():
    some, whole = make("digits", 50, random_state=3), make("digits")
    np.testing.assert_array_equal(some.X, make("digits", 50, random_state=3).X)
    assert not np.array_equal(some.X, make("digits", 50, random_state=4).X)
    rows = {tuple(row): label for row, label in zip(whole.X, whole.y, strict=True)}
    assert [rows[tuple(row)] for row in some.X] == some.y.tolist()
    assert MADE["digits"].kind == "bundled"


def test_made_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="no made data set is called 'mons'; there are moons"):
        make("mons")
    with pytest.raises(ValueError, match="n_samples=5 is too few: 'lines' has 6 classes"):
        make("lines", 5)
    with pytest.raises(ValueError, match="n_samples=1798 is too many: 'digits' has 1797 rows"):
        make("digits", 1798)
    with pytest.raises(TypeError, match=r"whole number, got 7\.5"):
        make("lines", 7.5)
