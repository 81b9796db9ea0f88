"""KernelMeanShift as users meet it: the paper's algorithm, links, limits, every refusal."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from tests.estimators.kernel_problems import BLOBS, LINES, LINKS, PAPER, line_links, lines_model
from tests.helpers import same_partition
from tests.reference import kernel_mean_shift as twin

from linkshift import KernelMeanShift, Links, MeanShift, datasets
from linkshift.bandwidth import neighbour_bandwidth, pair_mean
from linkshift.links import ConflictError
from linkshift.spaces.kernel import participation_ratio, spread_dimension


def circle_links(X, y):
    """Four links between five points of the middle circle, evenly round it."""
    rows = np.flatnonzero(y == 2)
    angle = np.arctan2(X[rows, 1], X[rows, 0])
    wanted = 2 * np.pi * np.arange(5) / 5
    near = [rows[np.argmin(np.abs(np.angle(np.exp(1j * (angle - a)))))] for a in wanted]
    return Links(must=[(near[0], other) for other in near[1:]])


# The paper's algorithm


@pytest.mark.parametrize("dimension", ["rank", "effective", 2.0])
@pytest.mark.parametrize("links", [None, LINKS], ids=["plain", "linked"])
def test_labels_and_modes_are_those_of_the_paper(dimension, links):
    model = lines_model(dimension=dimension, **PAPER).fit(LINES, links=links)
    K = rbf_kernel(LINES, gamma=1 / (2 * 5.0**2))
    labels, alpha, projected = twin.kernel_mean_shift(
        K,
        [] if links is None else links.must,
        10,
        dimension=model.dimension_,
        scale=model.bandwidth_scale_,
    )
    assert same_partition(model.labels_, labels)
    assert model.n_clusters_ > 1
    # Modes, by their distances to all points: eq. 11 against coordinates.
    inner = alpha @ projected
    squared = np.sum(inner * alpha, axis=1)[:, None] + np.diag(projected) - 2 * inner
    ours = np.linalg.norm(model.shifted_[:, None] - model.embedding_, axis=2)
    h = np.median(model.bandwidth_)
    np.testing.assert_allclose(ours, np.sqrt(np.maximum(squared, 0)), atol=0.01 * h)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kernel", ["polynomial", "linear", "chi2"])
def test_other_kernels_are_the_papers_algorithm_too(kernel, seed):
    X = np.abs(make_blobs(100, 3, centers=4, random_state=seed)[0])
    links = Links(must=[(0, 50)])
    model = KernelMeanShift(kernel, n_neighbors=8, **PAPER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # three columns: a link takes a third
        model.fit(X, links=links)
    K = {
        "polynomial": lambda: polynomial_kernel(X, degree=2, gamma=1 / 3, coef0=1.0),
        "linear": lambda: X @ X.T,
        "chi2": lambda: 2 * (X[:, None] * X / (X[:, None] + X)).sum(axis=2),
    }[kernel]()
    labels, _, _ = twin.kernel_mean_shift(
        K, links.must, 8, dimension=model.dimension_, scale=model.bandwidth_scale_
    )
    assert same_partition(model.labels_, labels)


def test_the_linear_kernel_is_plain_mean_shift():
    model = KernelMeanShift("linear", bandwidth_scale=0.5, dimension=2.0).fit(BLOBS)
    plain = MeanShift(
        kernel="gaussian", bandwidth=0.5 * neighbour_bandwidth(BLOBS, 20), tol=1e-5
    ).fit(BLOBS)
    assert same_partition(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.bandwidth_, plain.bandwidth_, rtol=1e-10)


def test_literally_the_rank_swallows_what_the_effective_dimension_finds():
    X, y = datasets.make_lines(random_state=0)
    links = line_links(y)
    paper = KernelMeanShift(sigma=5.0, dimension="rank", bandwidth_scale=1.0, **PAPER)
    assert adjusted_rand_score(y, paper.fit(X, links=links).labels_) < 0.9
    ours = KernelMeanShift(sigma=5.0, **PAPER).fit(X, links=links)
    assert adjusted_rand_score(y, ours.labels_) == 1.0


# What must hold on the data of the paper


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1.5, 2.0])
def test_six_lines(gap):
    perfect, plain = 0, []
    for seed in range(20):
        X, y = datasets.make_lines(gap=gap, random_state=seed)
        model = KernelMeanShift(sigma=5.0, n_jobs=1)
        perfect += adjusted_rand_score(y, model.fit(X, links=line_links(y, seed)).labels_) == 1.0
        plain.append(model.fit(X).n_clusters_)
    assert perfect >= 19
    assert 3 <= np.mean(plain) <= 6.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("sigma", "k"), [(20.0, 20), (30.0, 15)])
def test_five_circles_among_outliers(sigma, k):
    scores, plain = [], []
    for seed in range(20):
        X, y = datasets.make_circles(random_state=seed)
        model = KernelMeanShift(sigma=sigma, n_neighbors=k, n_jobs=1)
        inlier = y >= 0
        linked = model.fit(X, links=circle_links(X, y)).labels_
        scores.append(adjusted_rand_score(y[inlier], linked[inlier]))
        plain.append(adjusted_rand_score(y[inlier], model.fit(X).labels_[inlier]))
    assert np.mean(scores) >= 0.97
    assert np.mean(plain) < 0.3


def faces(seed, light, n_links):
    """21 subjects; the same pairs of lights are linked for each."""
    data = datasets.load("face_pie_pose27")
    subjects = np.random.default_rng(seed).choice(len(data.classes), 21, replace=False)
    lit = data.extras["light"] == light
    rows = np.concatenate([np.flatnonzero(lit & (data.y == s)) for s in subjects])
    shown = np.linspace(0, 20, 2 * n_links).round().astype(int)
    must = [
        (21 * s + shown[j], 21 * s + shown[j + n_links]) for s in range(21) for j in range(n_links)
    ]
    return data.X[rows].astype(np.float64), data.y[rows], Links(must=must)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [3, 4])
def test_faces(seed):
    if not datasets.available()["face_pie_pose27"]:
        pytest.skip("the faces are not here")
    for light, n_links, least in ((0, 4, 1.0), (1, 4, 1.0), (1, 2, 0.85)):
        X, y, links = faces(seed, light, n_links)
        model = KernelMeanShift(sigma=3 * pair_mean(X)).fit(X, links=links)
        assert adjusted_rand_score(y, model.labels_) >= least
        assert model.n_clusters_ == 21
        plain = KernelMeanShift(sigma=3 * pair_mean(X)).fit(X)
        assert adjusted_rand_score(y, plain.labels_) < 0.5


# What comes out


def test_attributes():
    model = lines_model().fit(LINES, links=LINKS)
    n = len(LINES)
    assert model.labels_.shape == (n,)
    assert np.issubdtype(model.labels_.dtype, np.integer)
    assert sorted(set(model.labels_.tolist())) == list(range(model.n_clusters_))
    assert model.embedding_.shape == (n, model.rank_) == model.shifted_.shape
    assert model.bandwidth_.shape == (n,)
    np.testing.assert_array_equal(model.points_, np.arange(n))
    assert model.sigma_ == 5.0
    assert model.link_report_.share == 1.0
    assert 1 <= model.n_iter_ <= 500
    assert model.n_features_in_ == 2
    eigenvalues = np.linalg.eigvalsh(model.embedding_ @ model.embedding_.T)
    assert model.effective_dimension_ == pytest.approx(participation_ratio(eigenvalues))
    assert model.dimension_ == model.effective_dimension_
    spread = spread_dimension(model.embedding_)
    assert model.bandwidth_scale_ == pytest.approx(1.3 / np.sqrt(spread + 2))
    distance = neighbour_bandwidth(model.embedding_, 10)
    np.testing.assert_allclose(model.bandwidth_, model.bandwidth_scale_ * distance)
    far = np.linalg.norm(model.embedding_[LINKS.must[:, 0]] - model.embedding_[LINKS.must[:, 1]])
    assert far == 0.0


def test_the_multiplier_has_a_least_value():
    X = np.random.default_rng(0).normal(size=(60, 200))
    for k in (1, 5, 20):
        scale = KernelMeanShift("linear", n_neighbors=k).fit(X).bandwidth_scale_
        assert scale == pytest.approx(0.72 / np.sqrt(2 * np.log(max(k, 2))))


def test_sigma():
    assert KernelMeanShift().fit(BLOBS).sigma_ == pair_mean(BLOBS)
    links = Links(must=[(0, 1)])
    assert KernelMeanShift(sigma="links").fit(BLOBS, links=links).sigma_ > 0
    with pytest.raises(ValueError, match="needs links"):
        KernelMeanShift(sigma="links").fit(BLOBS)
    assert not hasattr(KernelMeanShift("linear").fit(BLOBS), "sigma_")
    model = KernelMeanShift().fit(BLOBS).set_params(kernel="linear").fit(BLOBS)
    assert not hasattr(model, "sigma_")


def test_dimension_and_scale_as_numbers():
    model = lines_model(dimension=3.5, bandwidth_scale=0.6).fit(LINES)
    assert model.dimension_ == 3.5
    assert model.bandwidth_scale_ == 0.6
    assert lines_model(dimension="rank").fit(LINES).dimension_ == model.rank_


def test_a_precomputed_kernel_gives_the_same():
    K = rbf_kernel(LINES, gamma=1 / (2 * 5.0**2))
    direct = lines_model().fit(LINES, links=LINKS)
    given_ = KernelMeanShift("precomputed", n_neighbors=10).fit(K, links=LINKS)
    callable_ = KernelMeanShift(rbf_kernel, kernel_params={"gamma": 0.02}, n_neighbors=10)
    assert same_partition(direct.labels_, given_.labels_)
    assert same_partition(direct.labels_, callable_.fit(LINES, links=LINKS).labels_)
    new = LINES + 0.01
    expected = direct.predict(new)
    np.testing.assert_array_equal(given_.predict(rbf_kernel(new, LINES, gamma=0.02)), expected)


def test_progress_is_called():
    seen = []
    lines_model(progress=lambda done, of: seen.append((done, of))).fit(LINES)
    assert seen[-1] == (len(LINES), len(LINES))


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        lines_model(max_iter=2).fit(LINES)


# Scale


def test_landmarks_and_a_part_of_the_rows_find_the_same_lines():
    X, y = datasets.make_lines(300, random_state=0)
    links = line_links(y)
    model = KernelMeanShift(
        sigma=5.0, n_neighbors=40, n_landmarks=150, max_points=500, random_state=0
    ).fit(X, links=links)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.points_.shape == model.bandwidth_.shape == (500,)
    assert model.embedding_.shape[0] == 1800
    assert model.shifted_.shape == model.embedding_.shape
    assert model.link_report_.share == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    new, truth = datasets.make_lines(50, random_state=9)
    assert adjusted_rand_score(truth, model.predict(new)) == 1.0
    again = clone(model).fit(X, links=links)
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_links_between_rows_that_were_not_shifted_hold_after_refinement():
    # Two overlapping groups; links on rows outside of the part that makes up the density.
    X, y = make_blobs(900, 2, centers=[[0, 0], [3.5, 0]], random_state=0)
    parameters = {"max_points": 200, "random_state": 0, "use_links": "learn"}
    part = KernelMeanShift(**parameters).fit(X).points_
    left = [np.setdiff1d(np.flatnonzero(y == c), part)[:6] for c in range(2)]
    links = Links(
        must=[(rows[0], other) for rows in left for other in rows[1:]],
        cannot=[(left[0][0], left[1][0])],
    )
    model = KernelMeanShift(**parameters).fit(X, links=links)
    np.testing.assert_array_equal(model.points_, part)
    assert model.link_report_.share == 1.0
    assert model.n_clusters_ == len(np.unique(model.labels_)) == 2
    assert adjusted_rand_score(y, model.labels_) > 0.6
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_auto_landmarks_come_with_many_rows(monkeypatch):
    monkeypatch.setattr("linkshift.estimators.kernel_mean_shift._EXACT_ROWS", 100)
    monkeypatch.setattr("linkshift.estimators.kernel_mean_shift._AUTO_LANDMARKS", 40)
    few, many = LINES[:100], LINES
    assert KernelMeanShift(sigma=0.5).fit(few)._state.space.landmarks.shape[0] == 100
    assert (
        KernelMeanShift(sigma=0.5, random_state=0).fit(many)._state.space.landmarks.shape[0] == 40
    )
    assert KernelMeanShift(sigma=0.5, n_landmarks=None).fit(many)._state.space.exact


def test_all_rows_as_landmarks_change_nothing():
    exact = lines_model().fit(LINES, links=LINKS)
    all_rows = lines_model(n_landmarks=len(LINES)).fit(LINES, links=LINKS)
    np.testing.assert_array_equal(exact.labels_, all_rows.labels_)


def test_climbing_in_company_finds_the_same(monkeypatch):
    alone = lines_model(**PAPER).fit(LINES, links=LINKS)
    monkeypatch.setattr("linkshift.shift.coalesce._LARGE", 0)
    together = lines_model(**PAPER).fit(LINES, links=LINKS)
    assert same_partition(alone.labels_, together.labels_)
    h = np.median(alone.bandwidth_)
    np.testing.assert_allclose(together.shifted_, alone.shifted_, atol=0.01 * h)


# Promises


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_matter(seed):
    order = np.random.default_rng(seed).permutation(len(LINES))
    one = lines_model(**PAPER).fit(LINES, links=LINKS)
    other = lines_model(**PAPER).fit(LINES[order], links=LINKS.take(order))
    assert same_partition(one.labels_[order], other.labels_)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads_gives_the_same_labels(n_jobs):
    one = lines_model(n_jobs=1).fit(LINES, links=LINKS)
    many = lines_model(n_jobs=n_jobs).fit(LINES, links=LINKS)
    np.testing.assert_array_equal(one.labels_, many.labels_)
    np.testing.assert_array_equal(one.shifted_, many.shifted_)


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
@pytest.mark.parametrize("links", [None, Links(must=[(0, 40)])], ids=["plain", "linked"])
def test_predict_agrees_with_labels_on_the_training_data(kernel, links):
    model = KernelMeanShift(kernel).fit(BLOBS, links=links)
    np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
    np.testing.assert_array_equal(model.predict(BLOBS[::-3]), model.labels_[::-3])


def test_new_rows_follow_their_basin():
    model = lines_model().fit(LINES, links=LINKS)
    rng = np.random.default_rng(0)
    near = LINES + 0.01 * rng.normal(size=LINES.shape)
    np.testing.assert_array_equal(model.predict(near), model.labels_)


def test_shifting_the_origin_changes_nothing():
    for kernel in ("gaussian", "linear"):
        one, other = KernelMeanShift(kernel).fit(BLOBS), KernelMeanShift(kernel).fit(BLOBS + 1000)
        assert same_partition(one.labels_, other.labels_)


def test_the_unit_of_length_does_not_matter():
    one = KernelMeanShift().fit(BLOBS)
    assert same_partition(one.labels_, KernelMeanShift().fit(BLOBS * 1e-9).labels_)
    assert same_partition(one.labels_, KernelMeanShift().fit(BLOBS * 1e9).labels_)


def test_float32_gives_the_same_labels():
    one, other = lines_model().fit(LINES), lines_model().fit(LINES.astype(np.float32))
    assert same_partition(one.labels_, other.labels_)


def test_fit_writes_to_no_parameter_and_pickles():
    model = lines_model()
    before = model.get_params()
    model.fit(LINES, links=LINKS)
    assert model.get_params() == before
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(LINES + 0.01), model.predict(LINES + 0.01))


# Refusals


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": "linear", "sigma": 1.0}, "sigma is the width"),
        ({"kernel": "chi2", "sigma": "links"}, "sigma is the width"),
        ({"degree": 3}, "polynomial"),
        ({"gamma": 0.5}, "polynomial"),
        ({"coef0": 0.0}, "polynomial"),
        ({"kernel_params": {"gamma": 1.0}}, "callable"),
        ({"learn_params": {"gamma": 1.0}}, "learn"),
        ({"kernel": "linear", "n_landmarks": 5}, "drop n_landmarks"),
        ({"kernel": "chi2"}, "[Nn]egative"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_what_would_be_ignored_raises(parameters, words):
    with pytest.raises(ValueError, match=words):
        KernelMeanShift(**parameters).fit(BLOBS)


def test_few_rows_take_fewer_neighbours_and_say_so():
    with pytest.warns(UserWarning, match="20 neighbours? asked for"):
        model = KernelMeanShift().fit(BLOBS[:7])
    assert model.labels_.shape == (7,)
    with pytest.raises(ValueError, match="minimum of 2"):
        KernelMeanShift().fit(BLOBS[:1])


def test_links_that_contradict_or_point_outside_raise():
    with pytest.raises(ConflictError):
        KernelMeanShift(use_links="learn").fit(BLOBS, links=Links([(0, 1)], [(0, 1)]))
    with pytest.raises(ValueError, match="90"):
        KernelMeanShift().fit(BLOBS, links=Links(must=[(0, 90)]))
    with pytest.raises(TypeError, match="links="):
        KernelMeanShift().fit(BLOBS, Links(must=[(0, 1)]))


def test_predict_before_fit_and_of_another_width():
    with pytest.raises(NotFittedError):
        KernelMeanShift().predict(BLOBS)
    with pytest.raises(ValueError, match="features"):
        KernelMeanShift().fit(BLOBS).predict(BLOBS[:, :1])
