"""MeanShift as users meet it: every parameter, every error, every promise."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.mean_shift_rows import KERNELS, TRUTH, X, every_kernel
from tests.helpers import blobs
from tests.reference import mean_shift as twin

from linkshift import Links, MeanShift
from linkshift.profiles import Profile

# What comes out


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
def test_attributes(kernel, blurring):
    model = MeanShift(bandwidth=2.0, kernel=kernel, blurring=blurring).fit(X)
    assert model.labels_.shape == (300,)
    assert model.n_clusters_ == len(model.cluster_centers_) == len(np.unique(model.labels_))
    assert model.cluster_centers_.shape == (model.n_clusters_, 2)
    assert model.bandwidth_ == 2.0
    assert 1 < model.n_iter_ <= 300
    assert model.n_features_in_ == 2
    assert not hasattr(model, "paths_")
    assert np.issubdtype(model.labels_.dtype, np.integer)


@every_kernel
def test_four_far_blobs_are_four_clusters_by_default(kernel):
    far, truth = make_blobs(400, 2, centers=[[0, 0], [20, 0], [0, 20], [20, 20]], random_state=0)
    model = MeanShift(kernel=kernel).fit(far)
    keep = adjusted_rand_score(truth, model.labels_)
    if kernel in ("flat", "gaussian"):
        assert keep == 1.0
    else:
        assert keep > 0.9


@every_kernel
def test_modes_are_modes_of_the_twins_density(kernel):
    model = MeanShift(bandwidth=2.0, kernel=kernel, tol=1e-8, max_iter=5000).fit(X)
    again, _ = twin.mean_step(X, 2.0, model.cluster_centers_, kernel)
    np.testing.assert_allclose(again, model.cluster_centers_, atol=1e-6)
    # The densest first, by the sum of the weights.
    total = twin.pair_weights(X, 2.0, model.cluster_centers_, kernel).sum(axis=1)
    assert (np.diff(total) <= 1e-6).all()


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
def test_rows_that_climb_together_share_a_label(kernel, blurring):
    model = MeanShift(bandwidth=2.0, kernel=kernel, blurring=blurring, assignment="basin").fit(X)
    if blurring:
        ends = twin.blur(X, 2.0, kernel)[::5]
    else:
        ends, _ = twin.ascend(X, 2.0, X[::5], kernel)
    labels = model.labels_[::5]
    share = 1.0 if kernel == "flat" else 0.5
    for i in range(0, 60, 3):
        near = np.linalg.norm(ends - ends[i], axis=1) < 1e-3 * share
        assert len(set(labels[near])) == 1
    centers = model.cluster_centers_[labels]
    assert (np.linalg.norm(ends - centers, axis=1) <= share * 2.0 + 1e-6).all()


COMBINATIONS = [
    pytest.param(
        kernel,
        assignment,
        blurring,
        bin_size,
        own,
        id=f"{kernel}-{assignment}-blurring={blurring}-bin_size={bin_size}-own={own}",
    )
    for kernel, assignment, blurring, bin_size, own in itertools.product(
        KERNELS, ["auto", "nearest", "basin"], [False, True], [None, 0.5], [False, True]
    )
    if not (blurring and assignment == "nearest") and not (own and bin_size)
]


@pytest.mark.parametrize(("kernel", "assignment", "blurring", "bin_size", "own"), COMBINATIONS)
@pytest.mark.parametrize("cluster_all", [True, False])
def test_predict_agrees_with_labels_on_the_training_data(
    kernel, assignment, blurring, bin_size, own, cluster_all
):
    rough, _ = blobs(1200, k=4, std=2.0, seed=1)
    model = MeanShift(
        bandwidth=None if own else 1.5,
        n_neighbors=60 if own else None,
        kernel=kernel,
        assignment=assignment,
        blurring=blurring,
        bin_size=bin_size,
        cluster_all=cluster_all,
    ).fit(rough)
    assert model.n_clusters_ > 1
    np.testing.assert_array_equal(model.predict(rough), model.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 70])
def test_predict_of_single_rows_agrees_with_labels(dtype, d):
    data = blobs(150, d, k=4, std=3.0)[0].astype(dtype)
    model = MeanShift(bandwidth=1.2 * np.sqrt(d), kernel="gaussian").fit(data)
    alone = [model.predict(data[i : i + 1])[0] for i in range(0, 150, 40)]
    np.testing.assert_array_equal(alone, model.labels_[::40])


def test_blurring_predicts_the_training_data_far_from_the_origin():
    data = blobs(150, 20, k=4, std=1.2)[0] + 1e9
    model = MeanShift(bandwidth=3.0, kernel="gaussian", blurring=True).fit(data)
    assert model.n_clusters_ == 4
    np.testing.assert_array_equal(model.predict(data), model.labels_)


def test_points_out_of_each_others_reach_are_two_clusters():
    model = MeanShift(bandwidth=1.0, kernel=Profile("truncated_gaussian", 0.1))
    assert model.fit([[0.0], [0.3]]).n_clusters_ == 2


def test_blurring_predicts_by_the_nearest_training_row():
    model = MeanShift(bandwidth=2.0, kernel="gaussian", blurring=True).fit(X)
    new = blobs(50, k=4, std=1.2, seed=5)[0]
    nearest = np.linalg.norm(new[:, None] - X[None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new), model.labels_[nearest])


@every_kernel
def test_cluster_all_false_marks_rows_beyond_the_radius(kernel):
    model = MeanShift(bandwidth=1.5, kernel=kernel, cluster_all=False).fit(X)
    full = MeanShift(bandwidth=1.5, kernel=kernel).fit(X)
    radius = 1.5 * (2.0 if kernel == "gaussian" else 1.0)  # sqrt(d + 2) = 2
    far = np.linalg.norm(X - full.cluster_centers_[full.labels_], axis=1) > radius
    assert far.any()
    np.testing.assert_array_equal(model.labels_, np.where(far, -1, full.labels_))


@every_kernel
def test_paths_climb_from_the_rows_to_the_modes(kernel):
    model = MeanShift(bandwidth=2.0, kernel=kernel, keep_paths=True, assignment="basin").fit(X)
    assert len(model.paths_) == 300
    for row, label, path in zip(X[::9], model.labels_[::9], model.paths_[::9], strict=True):
        np.testing.assert_allclose(path[0], row, atol=1e-12)
        gap = np.linalg.norm(path[-1] - model.cluster_centers_[label])
        assert gap <= (2.0 if kernel == "flat" else 1.0)
        logs = model.score_samples(path)
        assert (np.diff(logs) >= -1e-9).all()


def test_paths_are_those_of_the_last_fit():
    model = MeanShift(bandwidth=2.0, keep_paths=True).fit(X)
    assert hasattr(model, "paths_")
    model.set_params(keep_paths=False).fit(X[:50])
    assert not hasattr(model, "paths_")


@pytest.mark.parametrize("bin_size", [0.25, 0.5])
@every_kernel
def test_pooled_points_give_nearly_the_exact_clusters(kernel, bin_size):
    many, _ = make_blobs(5000, 2, centers=4, random_state=3)
    # Kernels of one bandwidth's reach need about twice the Gaussian's to smooth as much.
    bandwidth = 1.0 if kernel == "gaussian" else 2.0
    exact = MeanShift(bandwidth=bandwidth, kernel=kernel).fit(many)
    pooled = MeanShift(bandwidth=bandwidth, kernel=kernel, bin_size=bin_size).fit(many)
    assert exact.n_clusters_ > 1
    assert adjusted_rand_score(exact.labels_, pooled.labels_) > 0.98


def test_path_merge_gives_nearly_the_exact_clusters():
    exact = MeanShift(bandwidth=1.0, kernel="gaussian").fit(X)
    merged = MeanShift(bandwidth=1.0, kernel="gaussian", path_merge=0.1).fit(X)
    assert adjusted_rand_score(exact.labels_, merged.labels_) > 0.98
    np.testing.assert_array_equal(merged.predict(X), merged.labels_)


@pytest.mark.parametrize("radii", [{"end_radius": 0.5}, {"path_radius": 0.25}])
def test_rows_near_a_path_or_its_end_give_nearly_the_exact_clusters(radii):
    exact = MeanShift(bandwidth=1.0, kernel="gaussian").fit(X)
    model = MeanShift(bandwidth=1.0, kernel="gaussian", **radii).fit(X)
    assert adjusted_rand_score(exact.labels_, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    told = model.explain(0, max_counterfactuals=0)
    assert told.label == model.labels_[0]


# Precision, units, threads


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
def test_float32_stays_float32(kernel, blurring):
    single = X.astype(np.float32)
    model = MeanShift(bandwidth=2.0, kernel=kernel, blurring=blurring, keep_paths=True).fit(single)
    assert model.cluster_centers_.dtype == np.float32
    assert model.paths_[0].dtype == np.float32
    double = MeanShift(bandwidth=2.0, kernel=kernel, blurring=blurring).fit(X)
    assert adjusted_rand_score(model.labels_, double.labels_) > 0.95


@every_kernel
@pytest.mark.parametrize(
    ("dtype", "unit"),
    [
        (np.float64, 1e-200),
        (np.float64, 1e-100),
        (np.float64, 1e150),
        (np.float32, 1e-20),
        (np.float32, 1e18),
    ],
)
def test_the_unit_of_length_does_not_matter(kernel, dtype, unit):
    h = 1.0 if kernel == "gaussian" else 2.0
    here = MeanShift(bandwidth=h, kernel=kernel, cluster_all=False).fit(X.astype(dtype))
    scaled = (X * unit).astype(dtype)
    there = MeanShift(bandwidth=h * unit, kernel=kernel, cluster_all=False).fit(scaled)
    assert here.n_clusters_ > 1
    assert adjusted_rand_score(there.labels_, here.labels_) > (
        0.999 if dtype == np.float64 else 0.95
    )


@every_kernel
def test_a_large_offset_in_float32(kernel):
    lattice = (np.round(X * 16) / 16).astype(np.float32)
    here = MeanShift(bandwidth=2.0123, kernel=kernel).fit(lattice)
    moved = lattice + np.float32(1e5)  # resolves 1/128
    there = MeanShift(bandwidth=2.0123, kernel=kernel).fit(moved)
    np.testing.assert_allclose(
        there.cluster_centers_ - np.float32(1e5), here.cluster_centers_, atol=0.02
    )
    assert adjusted_rand_score(there.labels_, here.labels_) > 0.99


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
def test_labels_do_not_depend_on_threads(kernel, blurring):
    fits = [
        MeanShift(bandwidth=2.0, kernel=kernel, blurring=blurring, n_jobs=n_jobs).fit(X)
        for n_jobs in (1, 2, 3, 64, None, -1)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
        np.testing.assert_array_equal(other.cluster_centers_, fits[0].cluster_centers_)


@every_kernel
def test_the_order_of_the_rows_does_not_matter(kernel):
    shuffle = np.random.default_rng(0).permutation(300)
    here = MeanShift(bandwidth=2.0, kernel=kernel).fit(X)
    there = MeanShift(bandwidth=2.0, kernel=kernel).fit(X[shuffle])
    np.testing.assert_array_equal(there.labels_, here.labels_[shuffle])


# Weights


@every_kernel
@pytest.mark.parametrize("blurring", [False, True])
@pytest.mark.parametrize("how", [{"bandwidth": 2.0}, {"n_neighbors": 40}, {}], ids=str)
def test_a_weight_of_two_is_the_row_twice(kernel, blurring, how):
    count = np.random.default_rng(0).integers(1, 4, size=300)
    model = MeanShift(kernel=kernel, blurring=blurring, **how)
    by_weight = clone(model).fit(X, sample_weight=count)
    by_rows = clone(model).fit(np.repeat(X, count, axis=0))
    np.testing.assert_allclose(
        by_weight.cluster_centers_[np.lexsort(by_weight.cluster_centers_.T)],
        by_rows.cluster_centers_[np.lexsort(by_rows.cluster_centers_.T)],
        atol=1e-6,
    )
    assert adjusted_rand_score(np.repeat(by_weight.labels_, count), by_rows.labels_) == 1.0


@pytest.mark.parametrize(
    ("positions", "bandwidth"), [([0.0, 1.9, 0.95], 1.0), ([0.0, 1.0, 5.0, 6.0, 2.9], 2.2)]
)
def test_a_weight_of_nought_is_no_row(positions, bandwidth):
    data = np.array(positions)[:, None]
    weight = np.ones(len(data))
    weight[-1] = 0
    weighted = MeanShift(bandwidth=bandwidth).fit(data, sample_weight=weight)
    without = MeanShift(bandwidth=bandwidth).fit(data[:-1])
    np.testing.assert_array_equal(weighted.cluster_centers_, without.cluster_centers_)
    np.testing.assert_array_equal(weighted.labels_[:-1], without.labels_)


def test_equal_weights_of_modes_are_a_tie():
    data = np.array([0.0, 0.1, 0.2, 0.3, 10.0, 10.1, 10.2, 30.0])[:, None]
    weight = np.array([1, 1, 1, 3, 2, 2, 2, 7])
    by_weight = MeanShift(bandwidth=1.0).fit(data, sample_weight=weight)
    by_rows = MeanShift(bandwidth=1.0).fit(np.repeat(data, weight, axis=0))
    np.testing.assert_allclose(by_rows.cluster_centers_[:, 0], [30.0, 10.1, 0.2])
    np.testing.assert_allclose(by_weight.cluster_centers_, by_rows.cluster_centers_)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(300), "weight"),
        (-np.ones(300), "[Nn]egative"),
        (np.ones(299), "sample_weight"),
        (np.full(300, np.nan), "NaN"),
        (np.full(300, 1e-4), "bandwidth="),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        MeanShift().fit(X, sample_weight=weight)


# Citizenship


@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 2.0},
        {"kernel": Profile("truncated_gaussian", 2.0), "n_neighbors": 50},
        {"kernel": "gaussian", "blurring": True},
        {"bandwidth": np.full(300, 2.0), "kernel": "epanechnikov"},
    ],
    ids=["flat", "truncated", "blurring", "own"],
)
def test_copies_predict_the_same(parameters):
    model = MeanShift(**parameters).fit(X)
    new = blobs(40, k=4, std=1.2, seed=9)[0]
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict(new), model.predict(new))
        np.testing.assert_array_equal(other.score_samples(new), model.score_samples(new))
    fresh = clone(model)
    assert not hasattr(fresh, "labels_")
    np.testing.assert_array_equal(fresh.fit(X).labels_, model.labels_)


def test_fit_leaves_data_and_parameters_alone():
    data, h, weight = X.copy(), np.full(300, 2.0), np.ones(300)
    model = MeanShift(bandwidth=h, seeds=data[:5]).fit(data, sample_weight=weight)
    np.testing.assert_array_equal(data, X)
    assert model.bandwidth is h
    np.testing.assert_array_equal(h, 2.0)
    np.testing.assert_array_equal(weight, 1.0)


def test_lists_whole_numbers_and_memory_order():
    whole = np.round(X).astype(int)
    expected = MeanShift(bandwidth=2.0).fit(whole.astype(float)).labels_
    for data in (whole, whole.tolist(), np.asfortranarray(whole), whole[::-1][::-1]):
        np.testing.assert_array_equal(MeanShift(bandwidth=2.0).fit(data).labels_, expected)


def test_column_names_are_kept_and_checked():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = MeanShift(bandwidth=2.0).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a"]])


def test_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), MeanShift(bandwidth=0.6))
    scaled = StandardScaler().fit_transform(X)
    expected = MeanShift(bandwidth=0.6).fit_predict(scaled)
    np.testing.assert_array_equal(pipeline.fit_predict(X), expected)
    np.testing.assert_array_equal(pipeline.predict(X), expected)


def test_weights_are_routed_through_a_pipeline():
    weight = np.random.default_rng(0).integers(1, 5, size=300).astype(float)
    weight[TRUTH == 0] = 0
    with sklearn.config_context(enable_metadata_routing=True):
        step = MeanShift(bandwidth=1.0, kernel="gaussian").set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, step).fit(X, sample_weight=weight)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline(scaler, MeanShift(bandwidth=1.0)).fit(X, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    direct = MeanShift(bandwidth=1.0, kernel="gaussian").fit(scaled, sample_weight=weight)
    np.testing.assert_array_equal(pipeline[-1].cluster_centers_, direct.cluster_centers_)
    plain = MeanShift(bandwidth=1.0, kernel="gaussian").fit(scaled)
    assert not np.array_equal(plain.cluster_centers_, direct.cluster_centers_)


def test_links_can_be_requested_and_are_refused():
    with sklearn.config_context(enable_metadata_routing=True):
        step = MeanShift(bandwidth=1.0).set_fit_request(links=True)
        with pytest.raises(ValueError, match="does not use links"):
            make_pipeline(StandardScaler(), step).fit(X, links=Links(must=[(0, 1)]))


def test_y_is_ignored():
    plain = MeanShift(bandwidth=2.0).fit(X)
    np.testing.assert_array_equal(MeanShift(bandwidth=2.0).fit(X, TRUTH).labels_, plain.labels_)
    assert MeanShift(bandwidth=2.0).fit_predict(X, TRUTH).tolist() == plain.labels_.tolist()


# A number of clusters


@pytest.mark.parametrize("more", [{}, {"blurring": True}, {"bin_size": 1.0}, {"seeds": X[::4]}])
@pytest.mark.parametrize("asked", [{"n_clusters": 3}, {"max_clusters": 3}, {"n_clusters": 70}])
def test_a_number_of_clusters(asked, more):
    model = MeanShift(kernel="gaussian", bandwidth=0.5, **more, **asked).fit(X)
    (number,) = asked.values()
    assert model.n_clusters_ == number == len(model.cluster_centers_)
    assert sorted(set(model.labels_.tolist())) == list(range(number))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert (model.predict(X + 1e-7) == model.labels_).mean() > 0.95
    assert model.explain(3).label == model.labels_[3]


def test_modes_of_one_cluster_share_its_label():
    plain = MeanShift(kernel="gaussian", bandwidth=0.5).fit(X)
    told = MeanShift(kernel="gaussian", bandwidth=0.5, n_clusters=3).fit(X)
    assert plain.n_clusters_ > 3
    cluster = told.predict(plain.cluster_centers_)
    np.testing.assert_array_equal(told.labels_, cluster[plain.labels_])
    # The densest mode of each stands for it.
    first = [int(np.flatnonzero(cluster == c)[0]) for c in range(3)]
    np.testing.assert_array_equal(told.cluster_centers_, plain.cluster_centers_[first])
    same = MeanShift(kernel="gaussian", bandwidth=0.5, max_clusters=500).fit(X)
    np.testing.assert_array_equal(same.labels_, plain.labels_)
    np.testing.assert_array_equal(same.cluster_centers_, plain.cluster_centers_)


def test_noise_is_not_counted_as_a_cluster():
    X = np.vstack([blobs(60, 2, std=0.5, seed=0)[0], [[500.0, 500.0]]])
    model = MeanShift(bandwidth=3.0, seeds=X[:-1], cluster_all=False, n_clusters=2).fit(X)
    assert model.labels_[-1] == -1
    assert model.n_clusters_ == 2


def test_weights_count_in_mergers():
    X = np.array([[0.0], [4.0], [8.5]])
    weight = [1.0, 1.0, 0.1]
    told = {"bandwidth": 0.5, "kernel": "gaussian", "n_clusters": 2}
    plain, weighted = (MeanShift(**told).fit(X, sample_weight=w).labels_ for w in (None, weight))
    assert plain[0] == plain[1] != plain[2]
    assert weighted[0] != weighted[1] == weighted[2]


def test_more_clusters_than_rows_is_refused():
    with pytest.raises(ValueError, match="n_clusters of at most 2"):
        MeanShift(bandwidth=1.0, n_clusters=3).fit([[0.0], [0.0], [5.0]])
    with pytest.raises(ValueError, match="one of them"):
        MeanShift(n_clusters=3, max_clusters=3).fit([[0.0], [1.0]])
