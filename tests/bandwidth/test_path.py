"""The bandwidth path: its literal twin, the laws of nested levels, the choice and the picture."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tests.reference import path as twin

from linkshift import Links, MeanShift, plot
from linkshift.bandwidth.path import bandwidth_path
from linkshift.profiles import Profile

mpl.use("Agg")

KERNELS = ["flat", "epanechnikov", "gaussian", Profile("truncated_gaussian", reach=2.0)]
cases = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    d=st.integers(1, 3),
    kernel=st.sampled_from(KERNELS),
    lattice=st.booleans(),
)


def draw(seed, n, d, lattice=False):
    rng = np.random.default_rng(seed)
    if lattice:
        X = rng.integers(0, 4, size=(n, d)).astype(float)
    else:
        X = rng.normal(size=(n, d)) + 4.0 * rng.integers(0, 3, size=(n, 1))
    y = rng.integers(0, 3, size=n)
    a, b = np.triu_indices(n, k=1)
    picks = rng.permutation(len(a))[:30]
    a, b = a[picks], b[picks]
    same = y[a] == y[b]
    return X, Links(np.c_[a, b][same], np.c_[a, b][~same])


def all_labels(path):
    return np.array([path.labels(t) for t in range(len(path.bandwidths))])


def quiet_path(*args, **options):
    """With time to arrive: a lattice has flat tops, on which steps are short."""
    return bandwidth_path(*args, max_iter=5000, n_jobs=1, **options)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 3), st.sampled_from(KERNELS))
def test_the_path_is_its_twin(seed, n, d, kernel):
    X, links = draw(seed, n, d)
    h = np.sqrt(d) * np.array([0.1037, 0.3119, 0.7071, 1.5391, 4.0123])
    path = bandwidth_path(X, links, bandwidths=h, kernel=kernel, n_jobs=1)
    name, reach = (kernel, 1.0) if isinstance(kernel, str) else (kernel.name, kernel.reach)
    where = twin.sweep(X, h, name, reach)
    expected = twin.labels(where)
    for t in range(len(h)):
        assert adjusted_rand_score(expected[t], path.labels(t)) == 1.0
        # Ends as dense but for rounding are within the tolerance of a step: either may lead. Where
        # two points are about to merge the ascent is slow, and short steps end some way off.
        np.testing.assert_allclose(path.centers[t][path.labels(t)], where[t], atol=5e-2 * h[t])
    must, cannot = twin.violated(expected, links.must, links.cannot)
    np.testing.assert_array_equal(path.violated_must, must)
    np.testing.assert_array_equal(path.violated_cannot, cannot)
    np.testing.assert_allclose(path.stability, twin.stability(expected, h), atol=1e-9)


@settings(max_examples=25, deadline=None)
@cases
def test_levels_are_nested_from_many_clusters_to_one(seed, n, d, kernel, lattice):
    X, links = draw(seed, n, d, lattice)
    path = quiet_path(X, links, kernel=kernel, n_bandwidths=7)
    labels = all_labels(path)
    joined = [twin.joined_pairs(level.tolist()) for level in labels]
    for fine, coarse in pairwise(joined):
        assert fine <= coarse
    assert (np.diff(path.n_clusters) <= 0).all()
    assert path.n_clusters[-1] == 1
    assert [len(set(level)) for level in labels.tolist()] == path.n_clusters.tolist()
    assert (np.diff(path.violated_must) <= 0).all()
    assert (np.diff(path.violated_cannot) >= 0).all()
    assert path.violated_must[-1] == 0
    assert path.violated_cannot[-1] == len(links.cannot)
    assert (np.diff(path.bandwidths) > 0).all()


@settings(max_examples=15, deadline=None)
@cases
def test_neither_the_order_of_rows_nor_threads_matter(seed, n, d, kernel, lattice):
    X, _ = draw(seed, n, d, lattice)
    shuffle = np.random.default_rng(seed).permutation(n)
    here = quiet_path(X, kernel=kernel, n_bandwidths=5)
    there = bandwidth_path(X[shuffle], kernel=kernel, n_bandwidths=5, max_iter=5000, n_jobs=2)
    np.testing.assert_array_equal(here.bandwidths, there.bandwidths)
    np.testing.assert_array_equal(all_labels(here)[:, shuffle], all_labels(there))
    for one, other in zip(here.centers, there.centers, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [1, 5])
def test_one_point_and_equal_points(kernel, n):
    path = bandwidth_path(np.full((n, 2), 3.0), kernel=kernel, n_bandwidths=4, n_jobs=1)
    np.testing.assert_array_equal(path.n_clusters, 1)
    np.testing.assert_array_equal(path.labels(0), np.zeros(n))
    np.testing.assert_array_equal(path.stability, 0.0)
    np.testing.assert_array_equal(path.centers[-1], [[3.0, 3.0]])
    assert path.best("stability") == 2  # all are equal: the middle, the upper of two


def test_equal_rows_weigh():
    X = np.array([[0.0], [3.0]])
    path = bandwidth_path(np.repeat(X, [1, 3], axis=0), bandwidths=[1.0, 4.0], kernel="flat")
    np.testing.assert_array_equal(path.centers[1], [[2.25]])
    minus = bandwidth_path(np.array([[0.0], [-0.0], [3.0]]), bandwidths=[1.0])
    np.testing.assert_array_equal(minus.n_clusters, [2])


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_the_unit_of_length_does_not_matter(unit):
    X, _ = draw(3, 30, 2)
    here, there = bandwidth_path(X, n_jobs=1), bandwidth_path(unit * X, n_jobs=1)
    np.testing.assert_allclose(there.bandwidths / unit, here.bandwidths)
    np.testing.assert_array_equal(here.n_clusters, there.n_clusters)


def test_float32_stays():
    X, _ = draw(0, 30, 2)
    path = bandwidth_path(X.astype(np.float32), n_jobs=1)
    assert path.centers[0].dtype == np.float32
    assert path.n_clusters[-1] == 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_first_level_is_mean_shift(kernel):
    X, _ = make_blobs(200, centers=3, random_state=1)
    model = MeanShift(bandwidth=0.7, kernel=kernel, assignment="basin").fit(X)
    path = bandwidth_path(X, bandwidths=[0.7], kernel=kernel)
    assert adjusted_rand_score(model.labels_, path.labels(0)) == 1.0
    np.testing.assert_allclose(path.centers[0], model.cluster_centers_, atol=1e-9)


def test_clear_clusters_are_found_by_links_and_by_stability():
    X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [30, 30]], random_state=0)
    path = bandwidth_path(X, Links.sample(y, 40, random_state=0))
    for by in ("links", "stability"):
        level = path.best(by)
        assert path.n_clusters[level] == 4
        assert adjusted_rand_score(y, path.labels(level)) == 1.0
    assert path.n_clusters[0] > 50


def test_links_find_the_moons():
    X, y = make_moons(400, noise=0.05, random_state=0)
    path = bandwidth_path(X, Links.sample(y, 60, random_state=1))
    assert adjusted_rand_score(y, path.labels(path.best())) == 1.0


LINE = np.array([[0.0], [1.0], [10.0], [11.0], [30.0]])
HEIGHTS = [0.25, 2.0, 4.0, 7.0, 20.0]  # 5, 3, 3, 2, 1 clusters


@pytest.mark.parametrize(
    ("links", "level"),
    [
        (Links(must=[(0, 1)], cannot=[(1, 2)]), 2),  # levels 1 and 2 keep both: the upper of two
        (Links(must=[(0, 2)]), 3),  # kept from level 3 on; one cluster has no stability
        (Links(cannot=[(0, 1)]), 0),
        (Links(cannot=[(3, 4)]), 2),  # kept up to level 3; 1 and 2 are stable
        # Three must-links weigh as much as one cannot-link: level 2 keeps 1/3 and 1, level 3
        # keeps 1 and 0.
        (Links(must=[(0, 1), (0, 2), (1, 3)], cannot=[(0, 3)]), 2),
        # The sure must-link counts more than the doubtful ones that ask for level 3.
        (
            Links(must=[(0, 1), (0, 2)], cannot=[(1, 2), (0, 3)], must_confidence=[1.0, 0.1]),
            2,
        ),
        (
            Links(must=[(0, 2)], cannot=[(1, 2), (3, 4)], cannot_confidence=[0.1, 1.0]),
            3,
        ),
    ],
)
def test_best_by_links_by_hand(links, level):
    path = bandwidth_path(LINE, links, bandwidths=HEIGHTS)
    np.testing.assert_array_equal(path.n_clusters, [5, 3, 3, 2, 1])
    assert path.best(by="links") == level


def test_stability_by_hand():
    path = bandwidth_path(LINE, bandwidths=HEIGHTS)
    x = np.log2(HEIGHTS)
    width = [(x[2] - x[0]) / 2, (x[3] - x[1]) / 2, (x[4] - x[2]) / 2]
    ari = adjusted_rand_score([0, 0, 1, 1, 2], [0, 0, 0, 0, 1])
    expected = [
        0.0,
        width[0] + width[1] + ari * width[2],
        width[0] + width[1] + ari * width[2],
        ari * (width[0] + width[1]) + width[2],
        0.0,
    ]
    np.testing.assert_allclose(path.stability, expected)
    assert path.best("stability") == 2


def test_progress_and_late_starts_are_told():
    seen = []
    bandwidth_path(LINE, bandwidths=HEIGHTS, progress=lambda *done: seen.append(done))
    assert seen == [(t, 5) for t in range(1, 6)]
    X, _ = make_moons(100, noise=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        bandwidth_path(X, bandwidths=[0.3, 0.5], max_iter=2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bandwidths": [1.0, 1.0]}, ValueError, "must grow"),
        ({"bandwidths": [0.0, 1.0]}, ValueError, "positive"),
        ({"bandwidths": [[1.0, 2.0]]}, ValueError, "list of numbers"),
        ({"bandwidths": [1.0, np.inf]}, ValueError, "infinity"),
        ({"bandwidths": [1.0], "n_bandwidths": 3}, ValueError, "give one of them"),
        ({"n_bandwidths": 1}, ValueError, "at least 2"),
        ({"n_bandwidths": 2.5}, TypeError, "whole number"),
        ({"kernel": 3}, TypeError, "kernel"),
        ({"links": Links(must=[(0, 9)])}, ValueError, "9"),
    ],
)
def test_what_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        bandwidth_path(LINE, **options)


def test_a_choice_needs_its_ground():
    path = bandwidth_path(LINE, bandwidths=HEIGHTS)
    with pytest.raises(ValueError, match="best\\(by='stability'\\)"):
        path.best()
    with pytest.raises(ValueError, match="'elbow'"):
        path.best("elbow")
    with pytest.raises(IndexError, match="5 levels"):
        path.labels(5)
    np.testing.assert_array_equal(path.labels(-1), path.labels(4))


# --- the picture ---------------------------------------------------------------------------------


@pytest.fixture
def _close():
    yield
    mpl.pyplot.close("all")


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines}


@pytest.mark.usefixtures("_close")
def test_picture_with_links():
    path = bandwidth_path(LINE, Links(must=[(0, 1)], cannot=[(1, 2)]), bandwidths=HEIGHTS)
    ax = plot.bandwidth_path(path, title="a line")
    _, below, lowest = ax.figure.axes
    np.testing.assert_array_equal(lines(ax)["clusters"], path.n_clusters)
    np.testing.assert_array_equal(lines(below)["stability"], path.stability)
    np.testing.assert_array_equal(lines(lowest)["must-links (of 1)"], path.violated_must)
    np.testing.assert_array_equal(lines(lowest)["cannot-links (of 1)"], path.violated_cannot)
    assert ax.texts[0].get_text() == "3 clusters at 4"
    assert ax.get_title(loc="left") == "a line"
    for panel in (ax, below, lowest):
        assert panel.get_xscale() == "log"
        assert panel.get_xlim() == ax.get_xlim()
        assert [x for line in panel.lines for x in line.get_xdata() if line.get_label() == "_best"]
    ax.figure.canvas.draw()


@pytest.mark.usefixtures("_close")
def test_picture_without_links_on_given_axes_and_of_one_level():
    _, ax = mpl.pyplot.subplots()
    assert plot.bandwidth_path(bandwidth_path(LINE, bandwidths=[2.0]), ax=ax) is ax
    assert len(ax.figure.axes) == 2
    assert ax.texts[0].get_text() == "3 clusters at 2"
    ax.figure.canvas.draw()


@pytest.mark.usefixtures("_close")
def test_picture_on_axes_put_by_hand_stays_in_their_place():
    ax = mpl.pyplot.figure().add_axes((0.2, 0.3, 0.5, 0.6))
    plot.bandwidth_path(bandwidth_path(LINE, bandwidths=HEIGHTS), ax=ax)
    upper, lower = (panel.get_position() for panel in ax.figure.axes)
    np.testing.assert_allclose([lower.x0, lower.y0, upper.x1, upper.y1], [0.2, 0.3, 0.7, 0.9])
    assert lower.y1 < upper.y0


def test_picture_of_something_else_is_refused():
    with pytest.raises(TypeError, match="bandwidth_path"):
        plot.bandwidth_path([1, 2])


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_under_other_links_is_the_path_of_these(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 2)), rng.integers(3, size=40)
    one, other = (Links.sample(y, 9, random_state=int(rng.integers(99))) for _ in range(2))
    made, found = bandwidth_path(X, one), bandwidth_path(X, other).under(one)
    for name in ("violated_must", "violated_cannot", "link_support", "bandwidths", "members"):
        np.testing.assert_array_equal(getattr(found, name), getattr(made, name))
    assert found.best(by="links") == made.best(by="links")
