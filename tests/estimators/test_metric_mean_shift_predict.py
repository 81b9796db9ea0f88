"""What comes out of MetricMeanShift: attributes, labels of training and new rows, edges."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.metric_problems import (
    BLOB,
    BLOBS,
    EYE,
    KINDS,
    KNOWN,
    LINKS,
    STRIPE,
    STRIPES,
    every_kernel,
    every_kind,
    model,
    scml,
    some_of,
)
from tests.helpers import same_partition

from linkshift import Links, MetricMeanShift
from linkshift.bandwidth import pair_mean
from linkshift.metric_learning import SCML

# In the space of a kernel


@every_kind
def test_coordinates_keep_the_share_of_the_trace_that_is_asked_for(kind):
    for variance in (0.5, 0.95, 0.999):
        fitted = model(kind, kernel="gaussian", variance=variance, sigma=2.0)
        fitted.fit(STRIPES, partial_labels=KNOWN)
        K = rbf_kernel(STRIPES, gamma=1 / 8.0)
        share = np.cumsum(np.linalg.eigvalsh(K)[::-1]) / np.trace(K)
        assert share[fitted.rank_ - 1] >= variance - 1e-12
        assert fitted.rank_ == 1 or share[fitted.rank_ - 2] < variance
        assert fitted.metric_.n_features_in_ == fitted.rank_


def test_all_of_the_trace_is_the_whole_rank():
    fitted = model(kernel="gaussian", variance=1.0, sigma=2.0).fit(STRIPES, partial_labels=KNOWN)
    assert 85 <= fitted.rank_ <= 90


@every_kind
def test_a_kernel_is_the_same_on_its_coordinates(kind):
    fitted = model(kind, kernel="gaussian", sigma=2.0).fit(STRIPES, partial_labels=KNOWN)
    values, vectors = np.linalg.eigh(rbf_kernel(STRIPES, gamma=1 / 8.0))  # eq. 4.10, 4.11
    coordinates = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, : fitted.rank_]
    metric = fitted.metric_
    by_hand = model(kind).fit(coordinates, partial_labels=KNOWN)
    if kind == "global":
        # The signs of the axes are free, and SCML's chance sees them: by its own matrix, then.
        sign = np.sign(np.einsum("ij,ij->j", coordinates, fitted_coordinates(fitted)))
        M = metric.metric_ * sign * sign[:, None]
        by_hand = MetricMeanShift(M).fit(coordinates)
        np.testing.assert_allclose(by_hand.bandwidth_, fitted.bandwidth_, rtol=1e-5)
        assert same_partition(by_hand.labels_, fitted.labels_)
    assert by_hand.rank_ == fitted.rank_


def fitted_coordinates(fitted):
    return fitted._state.space.transform(STRIPES)[:, : fitted.rank_]


def test_the_default_width_follows_the_mean_pair_distance():
    fitted = model(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    assert fitted.sigma_ == pytest.approx(pair_mean(STRIPES) / np.sqrt(2))
    given_ = model(kernel="gaussian", sigma=3).fit(STRIPES, partial_labels=KNOWN)
    assert given_.sigma_ == 3.0


@every_kind
def test_a_kernel_has_no_centers_but_predicts(kind):
    fitted = model(kind, kernel="gaussian", sigma=9.73).fit(BLOBS, partial_labels=BLOB)
    assert not hasattr(fitted, "cluster_centers_")
    assert same_partition(fitted.labels_, BLOB)
    np.testing.assert_array_equal(fitted.predict(BLOBS), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(BLOBS + 0.05), fitted.labels_)
    firsts = [fitted.labels_[c == BLOB][0] for c in range(3)]
    np.testing.assert_array_equal(fitted.predict([[0.5, 0.5], [12, 1], [1, 12]]), firsts)


@every_kind
def test_a_kernel_finds_what_no_line_separates(kind):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, 200), 1.0 + 3.0 * y + 0.1 * rng.normal(size=200)
    X = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
    given_ = {"partial_labels": some_of(y)}
    flat = model(n_neighbors=30).fit(X, **given_)
    bent = model(kind, kernel="gaussian", n_neighbors=70).fit(X, **given_)
    assert adjusted_rand_score(y, bent.labels_) > 0.9
    assert adjusted_rand_score(y, flat.labels_) < 0.5


# What comes out


@every_kind
@every_kernel
def test_attributes(kind, kernel):
    fitted = model(kind, kernel=kernel).fit(STRIPES, partial_labels=KNOWN)
    assert fitted.labels_.shape == (90,)
    assert np.issubdtype(fitted.labels_.dtype, np.integer)
    assert sorted(set(fitted.labels_.tolist())) == list(range(fitted.n_clusters_))
    assert fitted.bandwidth_.shape == (90,)
    assert isinstance(fitted.n_iter_, int)
    assert 1 <= fitted.n_iter_ <= 300
    assert fitted.n_features_in_ == 3
    assert isinstance(fitted.rank_, int)
    assert isinstance(fitted.dimension_, float)
    assert isinstance(fitted.n_clusters_, int)
    assert hasattr(fitted, "sigma_") == (kernel is not None)
    assert hasattr(fitted, "cluster_centers_") == (kernel is None)
    if kernel is None:
        assert fitted.rank_ == 3
        assert fitted.cluster_centers_.shape == (fitted.n_clusters_, 3)
    columns = model(kind, kernel=kernel, dimension="columns").fit(STRIPES, partial_labels=KNOWN)
    assert columns.dimension_ == columns.rank_


@every_kind
def test_centers_are_in_the_columns_of_the_data_and_among_their_members(kind):
    fitted = model(kind).fit(BLOBS, partial_labels=BLOB)
    assert same_partition(fitted.labels_, BLOB)
    for cluster, center in enumerate(fitted.cluster_centers_):
        members = BLOBS[fitted.labels_ == cluster]
        assert np.linalg.norm(center - members.mean(axis=0)) < 1.0
    np.testing.assert_array_equal(fitted.predict(fitted.cluster_centers_), [0, 1, 2])


@every_kind
@every_kernel
def test_single_precision_gives_the_same(kind, kernel):
    one = model(kind, kernel=kernel).fit(BLOBS, partial_labels=BLOB)
    other = model(kind, kernel=kernel).fit(BLOBS.astype(np.float32), partial_labels=BLOB)
    np.testing.assert_array_equal(other.predict(BLOBS.astype(np.float32)), other.labels_)
    assert same_partition(one.labels_, other.labels_)
    assert other.bandwidth_.dtype == np.float64
    if kernel is None:
        assert other.cluster_centers_.dtype == np.float32


def test_a_matrix_in_single_precision_data():
    one = MetricMeanShift(np.eye(3), n_neighbors=8).fit(STRIPES.astype(np.float32))
    other = MetricMeanShift(np.eye(3), n_neighbors=8).fit(
        STRIPES.astype(np.float32).astype(np.float64)
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)


@every_kind
@every_kernel
def test_the_number_of_threads_does_not_matter(kind, kernel):
    fits = [
        model(kind, kernel=kernel, n_jobs=n_jobs).fit(STRIPES, partial_labels=KNOWN)
        for n_jobs in (1, 2, 3, -1, None)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
        new = STRIPES + 0.1
        np.testing.assert_array_equal(other.predict(new), fits[0].predict(new))


@every_kind
@pytest.mark.parametrize("how", ["labels", "links"])
def test_a_seed_gives_the_same_again(kind, how):
    given_ = {"partial_labels": KNOWN} if how == "labels" else {"links": LINKS}
    metric = SCML(kind, n_bases=30, max_iter=5)
    fits = [
        MetricMeanShift(metric, random_state=seed).fit(STRIPES, **given_)
        for seed in (7, 7, np.random.RandomState(7))
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.bandwidth_, fits[0].bandwidth_)
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
    different = MetricMeanShift(metric, random_state=8).fit(STRIPES, **given_)
    assert not np.array_equal(different.bandwidth_, fits[0].bandwidth_)


@every_kind
@every_kernel
def test_training_rows_keep_their_labels_and_new_rows_climb(kind, kernel):
    fitted = model(kind, kernel=kernel).fit(STRIPES, partial_labels=KNOWN)
    np.testing.assert_array_equal(fitted.predict(STRIPES), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(STRIPES[[5, 3]]), fitted.labels_[[5, 3]])
    nudged = fitted.predict(STRIPES + 1e-9)
    assert (nudged == fitted.labels_).mean() > 0.97
    mixed = fitted.predict(np.vstack([STRIPES[:3] + 1e-3, STRIPES[:3]]))
    np.testing.assert_array_equal(mixed[3:], fitted.labels_[:3])


@every_kind
def test_new_rows_go_to_the_right_basin(kind):
    fitted = model(kind).fit(BLOBS, partial_labels=some_of(BLOB))
    new, y = make_blobs(
        60, centers=[[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]], cluster_std=1.0, random_state=2
    )
    firsts = np.array([fitted.labels_[c == BLOB][0] for c in range(3)])
    np.testing.assert_array_equal(fitted.predict(new), firsts[y])
    # Out of reach of every row: the nearest mode.
    np.testing.assert_array_equal(fitted.predict([[90.0, -1.0], [-1.0, 90.0]]), firsts[[1, 2]])


def test_predict_does_not_depend_on_parameters_set_after_fit():
    fitted = MetricMeanShift(EYE).fit(BLOBS)
    expected = fitted.predict(BLOBS + 0.1)
    fitted.set_params(kernel="gaussian")
    np.testing.assert_array_equal(fitted.predict(BLOBS + 0.1), expected)


def test_a_second_fit_leaves_nothing_of_the_first(learned):
    fitted = model(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    fitted.set_params(kernel=None).fit(BLOBS, partial_labels=BLOB)
    assert not hasattr(fitted, "sigma_")
    assert fitted.rank_ == fitted.n_features_in_ == 2
    assert fitted.cluster_centers_.shape == (fitted.n_clusters_, 2)
    fresh = model().fit(BLOBS, partial_labels=BLOB)
    np.testing.assert_array_equal(fitted.predict(BLOBS + 0.3), fresh.predict(BLOBS + 0.3))
    fitted.set_params(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    assert not hasattr(fitted, "cluster_centers_")
    fitted.set_params(kernel=None, metric=learned["local"]).fit(STRIPES)
    local = MetricMeanShift(learned["local"]).fit(STRIPES)
    np.testing.assert_array_equal(fitted.predict(STRIPES + 0.3), local.predict(STRIPES + 0.3))
    fitted.set_params(metric=learned["global"]).fit(STRIPES)
    flat = MetricMeanShift(learned["global"]).fit(STRIPES)
    np.testing.assert_array_equal(fitted.predict(STRIPES + 0.3), flat.predict(STRIPES + 0.3))
    public = {name for name in vars(fitted) if name.endswith("_") and name[0] != "_"}
    assert public == {name for name in vars(flat) if name.endswith("_") and name[0] != "_"}


def test_a_second_fit_frees_the_memory_of_the_first(learned):
    fitted = model(kernel="gaussian").fit(STRIPES, partial_labels=KNOWN)
    fitted.set_params(kernel=None, metric=learned["local"]).fit(STRIPES)
    fitted.set_params(metric=learned["global"]).fit(STRIPES)
    fresh = MetricMeanShift(learned["global"]).fit(STRIPES)
    assert set(vars(fitted)) == set(vars(fresh))


@every_kind
@every_kernel
def test_a_fit_can_be_stored(kind, kernel):
    fitted = model(kind, kernel=kernel).fit(STRIPES, partial_labels=KNOWN)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(STRIPES + 0.2), fitted.predict(STRIPES + 0.2))


@every_kind
def test_the_data_are_left_as_they_were(learned, kind):
    X, y = STRIPES.copy(), KNOWN.copy()
    X.flags.writeable = y.flags.writeable = False
    model(kind).fit(X, partial_labels=y)
    MetricMeanShift(learned[kind]).fit(X)
    np.testing.assert_array_equal(X, STRIPES)


@every_kind
def test_the_order_in_memory_does_not_matter(learned, kind):
    one = MetricMeanShift(learned[kind]).fit(STRIPES)
    other = MetricMeanShift(learned[kind]).fit(np.asfortranarray(STRIPES))
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_in_a_pipeline():
    pipe = make_pipeline(StandardScaler(), model(n_neighbors=25))
    labels = pipe.fit_predict(STRIPES, metricmeanshift__partial_labels=STRIPE)
    assert adjusted_rand_score(STRIPE, labels) > 0.9
    np.testing.assert_array_equal(pipe.predict(STRIPES), labels)


def test_in_a_grid_search(learned):
    def score(estimator, X, y):
        return adjusted_rand_score(y, estimator.predict(X))

    search = GridSearchCV(
        MetricMeanShift(FrozenEstimator(learned["global"])),
        {"n_neighbors": [3, 20]},
        scoring=score,
        cv=3,
    ).fit(STRIPES, STRIPE)
    assert search.best_params_ == {"n_neighbors": 20}


def test_labels_in_a_grid_search_are_split_with_the_rows():
    def score(estimator, X, y):
        return adjusted_rand_score(y, estimator.predict(X))

    search = GridSearchCV(model(), {"n_neighbors": [3, 20]}, scoring=score, cv=3)
    search.fit(STRIPES, STRIPE, partial_labels=KNOWN)
    assert search.best_params_ == {"n_neighbors": 20}


@every_kind
def test_names_of_columns(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(STRIPES, columns=["a", "b", "c"])
    fitted = model(kind).fit(frame, partial_labels=KNOWN)
    np.testing.assert_array_equal(fitted.feature_names_in_, ["a", "b", "c"])
    np.testing.assert_array_equal(fitted.predict(frame), fitted.labels_)
    series = pandas.Series(KNOWN, index=np.arange(90)[::-1])
    again = model(kind).fit(frame, partial_labels=series)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)


@every_kind
def test_a_metric_that_was_learned_from_names_takes_these_names(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(STRIPES, columns=["a", "b", "c"])
    metric = scml(kind).fit(frame, STRIPE)
    fitted = MetricMeanShift(metric).fit(frame)  # without a warning
    plain = MetricMeanShift(scml(kind).fit(STRIPES, STRIPE)).fit(STRIPES)
    np.testing.assert_array_equal(fitted.labels_, plain.labels_)


@every_kind
def test_a_metric_that_was_learned_from_names_refuses_others(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(STRIPES, columns=["a", "b", "c"])
    metric = scml(kind).fit(frame, STRIPE)
    with pytest.raises(ValueError, match="learned from columns"):
        MetricMeanShift(metric).fit(frame[["c", "b", "a"]])


# Edges


@every_kernel
@every_kind
def test_four_rows(kind, kernel):
    fitted = model(kind, kernel=kernel, n_neighbors=1)
    fitted.fit(BLOBS[[0, 1, 2, 3]], partial_labels=[0, 0, 1, 1])
    assert fitted.labels_.shape == (4,)


@pytest.mark.parametrize("metric", [EYE, np.diag([1.0, 0.0]), np.zeros((2, 2))], ids=range(3))
def test_two_rows(metric):
    fitted = MetricMeanShift(metric, n_neighbors=1).fit([[0.0, 0.0], [0.0, 5.0]])
    assert fitted.n_clusters_ == 1  # each is on the edge of the other's kernel
    np.testing.assert_allclose(fitted.cluster_centers_, [[0.0, 2.5]], atol=0.05)


def test_one_row_raises():
    with pytest.raises(ValueError, match="1 sample"):
        MetricMeanShift(EYE).fit([[0.0, 1.0]])


@every_kind
def test_too_many_neighbours_warn(learned, kind):
    with pytest.warns(UserWarning, match=r"90 neighbours .*there are only 89") as caught:
        fitted = MetricMeanShift(learned[kind], n_neighbors=90).fit(STRIPES)
    assert caught[0].filename == __file__
    whole = MetricMeanShift(learned[kind], n_neighbors=89).fit(STRIPES)
    np.testing.assert_array_equal(fitted.bandwidth_, whole.bandwidth_)


@every_kind
def test_all_rows_equal(learned, kind):
    fitted = MetricMeanShift(learned[kind], n_neighbors=3).fit(np.full((8, 3), 0.1))
    assert fitted.n_clusters_ == 1
    np.testing.assert_array_equal(fitted.bandwidth_, np.ones(8))
    np.testing.assert_allclose(fitted.cluster_centers_, [[0.1, 0.1, 0.1]])
    np.testing.assert_array_equal(fitted.predict([[0.1, 0.1, 0.1], [9.0, 8.0, 7.0]]), [0, 0])


@every_kind
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_more_duplicates_than_neighbours_take_the_least_bandwidth_of_the_others(kind, shift):
    rng = np.random.default_rng(0)
    metric = scml(kind).fit(STRIPES + shift, STRIPE)
    X = np.vstack([STRIPES, np.repeat(STRIPES[:1], 15, axis=0)])[rng.permutation(105)] + shift
    fitted = MetricMeanShift(metric, n_neighbors=10).fit(X)
    twins = (STRIPES[0] + shift == X).all(axis=1)
    assert twins.sum() == 16
    assert (fitted.bandwidth_[twins] == fitted.bandwidth_[~twins].min()).all()
    assert len(set(fitted.labels_[twins].tolist())) == 1


@every_kind
@every_kernel
def test_one_column(kind, kernel):
    X, y = BLOBS[:, :1] * 3.0, (BLOB == 1).astype(int)
    fitted = model(kind, kernel=kernel, n_neighbors=29).fit(X, partial_labels=y)
    assert fitted.n_clusters_ >= 2
    sides = [set(fitted.labels_[y == c].tolist()) for c in (0, 1)]
    assert not sides[0] & sides[1]


@every_kind
def test_a_constant_column_changes_nothing(kind):
    X = np.column_stack((BLOBS, np.full(90, 7.0)))
    fitted = model(kind).fit(X, partial_labels=BLOB)
    assert same_partition(fitted.labels_, BLOB)
    np.testing.assert_allclose(fitted.cluster_centers_[:, 2], 7.0)


@every_kind
@every_kernel
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_powers_of_bandwidths_do_not_underflow(kind, kernel, unit):
    width = {} if kernel is None else {"kernel": kernel, "sigma": 9.0 * unit}
    fitted = model(kind, **width, dimension=500).fit(unit * BLOBS, partial_labels=BLOB)
    assert fitted.dimension_ == 500.0
    assert same_partition(fitted.labels_, BLOB)
    assert np.isfinite(fitted.bandwidth_).all()
    np.testing.assert_array_equal(fitted.predict(unit * BLOBS), fitted.labels_)
    if kernel is None:
        assert np.isfinite(fitted.cluster_centers_).all()


def test_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    X[30:] += 2.0
    fitted = MetricMeanShift(np.eye(300), dimension="columns").fit(X)
    assert fitted.dimension_ == 300.0
    assert np.isfinite(fitted.cluster_centers_).all()
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


@every_kind
def test_too_few_steps_warn(learned, kind):
    with pytest.warns(ConvergenceWarning, match="after 1 step. Increase max_iter") as caught:
        fitted = MetricMeanShift(learned[kind], max_iter=1).fit(STRIPES)
    assert fitted.n_iter_ == 1
    assert caught[0].filename == __file__


@every_kind
@every_kernel
def test_progress_is_called(kind, kernel):
    seen = []
    fitted = model(kind, kernel=kernel, progress=lambda *call: seen.append(call))
    fitted.fit(STRIPES, partial_labels=KNOWN)
    assert seen[-1] == (90, 90)
    assert all(of == 90 for _, of in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    before = len(seen)
    fitted.predict(STRIPES + 0.1)
    assert len(seen) == before


@pytest.mark.parametrize("unit", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("how", ["matrix", *KINDS, "links", "kernel"])
def test_the_unit_does_not_matter(how, unit):
    given_ = {"partial_labels": BLOB}
    if how == "matrix":
        fitted, given_ = MetricMeanShift(EYE), {}
    elif how == "links":
        fitted, given_ = model(), {"links": Links.sample(BLOB, 60, random_state=0)}
    elif how == "kernel":
        fitted = model(kernel="gaussian", sigma=9.73 * unit)
    else:
        fitted = model(how)
    fitted.fit(unit * BLOBS, **given_)
    assert same_partition(fitted.labels_, BLOB)
    np.testing.assert_array_equal(fitted.predict(unit * (BLOBS + 0.1)), fitted.labels_)
    if how != "kernel":
        means = [BLOBS[fitted.labels_ == c].mean(axis=0) for c in range(3)]
        assert np.abs(fitted.cluster_centers_ / unit - means).max() < 1.0


@every_kind
@pytest.mark.parametrize("shift", [1e3, -1e6])
def test_the_origin_does_not_matter_to_learning(kind, shift):
    near = model(kind).fit(BLOBS, partial_labels=BLOB)
    far = model(kind).fit(BLOBS + shift, partial_labels=BLOB)
    assert same_partition(near.labels_, far.labels_)
    np.testing.assert_allclose(far.bandwidth_, near.bandwidth_, rtol=1e-2)
    np.testing.assert_allclose(
        np.sort(far.cluster_centers_ - shift, axis=0), np.sort(near.cluster_centers_, axis=0),
        atol=0.05,
    )  # fmt: skip


def test_a_wider_radius_merges_more():
    counts = [
        MetricMeanShift(EYE, n_neighbors=4, merge_radius=radius).fit(BLOBS).n_clusters_
        for radius in (1e-3, 0.3, 5.0, 1e6)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1
