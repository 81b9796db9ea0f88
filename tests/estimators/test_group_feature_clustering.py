"""GroupFeatureClustering as users meet it: what it finds, its doors, its laws, every refusal."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.preprocessing import StandardScaler
from tests.helpers import real, same_partition

from linkshift import Links
from linkshift._core.labels import first_come
from linkshift.estimators import group_feature_clustering as module
from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
from linkshift.groups.alternation import random_partition, spectral_partition
from linkshift.groups.boosting import fit_classifiers, held_out_scores, log_loss
from linkshift.groups.consensus import consensus, loss_weights
from linkshift.groups.views import kernel_bank
from linkshift.links import ConflictError
from linkshift.metrics import clustering_accuracy

QUICK = {"n_init": 2, "max_iter": 4, "n_jobs": 1, "random_state": 0}


def one_view_each(n_views=2, per_view=2, size=15, seed=0):
    """Clusters that hold together in one view only; elsewhere their samples are anywhere."""
    rng = np.random.RandomState(seed)
    y = np.repeat(np.arange(n_views * per_view), size)
    views = {}
    for m in range(n_views):
        X = 2.0 * rng.normal(size=(y.size, 5))
        for c in range(per_view * m, per_view * (m + 1)):
            X[y == c] = 3.0 * rng.normal(size=5) + 0.3 * rng.normal(size=(size, 5))
        views[f"view{m}"] = X
    return views, y


def corners(n=36, n_clusters=3, seed=0, apart=8.0):
    """Clusters about points on the axes, one after the other along the rows."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % n_clusters
    return rng.normal(size=(n, 4)) + apart * np.eye(4)[y], y


# What it finds --------------------------------------------------------------------------------


def test_each_cluster_is_found_in_the_view_that_holds_it_together():
    views, y = one_view_each()
    model = GroupFeatureClustering(4, n_init=4, max_iter=12, n_jobs=1, random_state=0).fit(views)
    assert clustering_accuracy(y, model.labels_) >= 0.93
    for c in range(4):
        held = np.bincount(y[model.labels_ == c]).argmax() // 2
        assert model.view_importances_[c].argmax() == held


@pytest.mark.slow
def test_nine_clusters_in_three_views():
    views, y = one_view_each(3, 3, 30)
    model = GroupFeatureClustering(9, n_init=5, random_state=0).fit(views)
    assert clustering_accuracy(y, model.labels_) >= 0.93


@pytest.mark.slow
def test_msrc():
    data = real("mv_msrc_v1")
    views = {name: StandardScaler().fit_transform(X) for name, X in data.views.items()}
    found = [GroupFeatureClustering(7, random_state=s).fit(views).labels_ for s in (10, 11)]
    # The best rival has 0.74; the mean of ten draws is 0.84, their standard deviation 0.05.
    assert np.mean([clustering_accuracy(data.y, labels) for labels in found]) >= 0.76


@pytest.mark.slow
def test_digits():
    data = real("mv_mfeat_digits")
    rows = np.concatenate([np.flatnonzero(data.y == c)[:30] for c in data.classes])
    views = {name: StandardScaler().fit_transform(X[rows]) for name, X in data.views.items()}
    model = GroupFeatureClustering(10, n_init=6, random_state=10).fit(views)
    assert clustering_accuracy(data.y[rows], model.labels_) >= 0.9


def test_sizes_keep_to_the_bounds():
    X, _ = corners(40, 3)
    model = GroupFeatureClustering(3, **QUICK).fit(X)
    assert model.size_bounds_ == (10, 16)  # 0.8 and 1.2 times 13.3, rounded outwards
    assert np.bincount(model.labels_).min() >= 10
    model = GroupFeatureClustering(3, size_bounds=(13, 14), **QUICK).fit(X)
    assert sorted(np.bincount(model.labels_)) == [13, 13, 14]
    assert GroupFeatureClustering(3, size_bounds=None, **QUICK).fit(X).size_bounds_ is None


def test_attributes_say_what_was_done():
    X, _ = corners()
    model = GroupFeatureClustering(3, views={"a": [0, 1], "b": slice(2, 4)}, **QUICK).fit(X)
    assert model.n_clusters_ == 3
    assert model.view_names_ == ("a", "b")
    assert model.view_importances_.shape == (3, 2)
    np.testing.assert_allclose(model.view_importances_.sum(axis=1), 1.0)
    assert len(model.history_) == 2
    assert model.n_iter_ == max(len(way.loss) for way in model.history_)
    assert model.n_features_in_ == 4
    assert model.labels_[0] == 0
    bank = kernel_bank(X, groups={"a": [0, 1], "b": slice(2, 4)})
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=5)
    scores = held_out_scores(bank, model.labels_, 3, n_rounds=11, random_state=seeds[1])
    assert model.loss_ == pytest.approx(log_loss(scores, model.labels_).sum())
    found = fit_classifiers(bank, model.labels_, 3, n_rounds=11, random_state=seeds[2])
    np.testing.assert_array_equal(model.classifiers_.threshold, found.threshold)


def test_without_consensus_the_partition_of_least_loss_is_taken():
    X, _ = corners(apart=2.0)
    model = GroupFeatureClustering(3, consensus=False, **QUICK).fit(X)
    least = min(model.history_, key=lambda way: way.loss[-1])
    assert same_partition(model.labels_, least.labels)
    single = GroupFeatureClustering(3, **{**QUICK, "n_init": 1}).fit(X)
    assert same_partition(single.labels_, single.history_[0].labels)


@pytest.mark.parametrize("loss", ["log", "exp"])
def test_the_papers_own_algorithm(loss):
    views, y = one_view_each()
    options = {"n_init": 1, "n_candidates": "all", "stop": "rise", "size_bounds": (12, 18)}
    options |= {"loss": loss, "random_state": 0, "n_folds": 5}
    model = GroupFeatureClustering(4, n_jobs=1, **options).fit(views)
    (way,) = model.history_
    assert (np.diff(way.loss) < 0).all()
    assert same_partition(model.labels_, way.labels)
    assert model.classifiers_.view.shape == (4, 5 + 2 * (way.n_iter - 1))  # of the last iteration
    assert clustering_accuracy(y, model.labels_) > clustering_accuracy(y, way.partitions[0])
    np.testing.assert_array_equal(
        GroupFeatureClustering(4, n_jobs=2, **options).fit(views).labels_, model.labels_
    )


@pytest.mark.parametrize(
    ("init", "spectral"),
    [("random", []), ("spectral", [0, 1, 2, 3, 4]), ("both", [3])],
)
def test_init_says_what_to_begin_with(init, spectral):
    X, _ = corners()
    model = GroupFeatureClustering(3, init=init, **{**QUICK, "n_init": 5, "max_iter": 1}).fit(X)
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=8)[3:]
    for i, (way, seed) in enumerate(zip(model.history_, seeds, strict=True)):
        options = {"size_bounds": model.size_bounds_, "random_state": seed}
        if i in spectral:
            expected = spectral_partition(kernel_bank([X]), 3, **options)
        else:
            expected = random_partition(len(X), 3, **options)
        np.testing.assert_array_equal(way.partitions[0], expected)


def test_partitions_of_little_loss_count_more(monkeypatch):
    heard = {}

    def spy(partitions, n_clusters, *, weights, **options):
        heard["weights"] = weights
        return consensus(partitions, n_clusters, weights=weights, **options)

    monkeypatch.setattr(module, "consensus", spy)
    X, _ = corners(apart=2.0)
    model = GroupFeatureClustering(3, **{**QUICK, "n_init": 4, "max_iter": 7}).fit(X)
    loss = np.array([way.loss[-5:].mean() for way in model.history_])
    assert np.unique(loss).size > 1
    np.testing.assert_allclose(heard["weights"], np.repeat(loss_weights(loss), 5))


def test_labels_are_numbered_as_they_appear():
    np.testing.assert_array_equal(first_come(np.array([4, 1, 4, 0, 1]), np.int64), [0, 1, 0, 2, 1])
    X, _ = corners(n_clusters=4)
    labels = GroupFeatureClustering(4, **QUICK).fit_predict(X)
    np.testing.assert_array_equal(labels, first_come(labels, np.int64))


def test_one_sample():
    model = GroupFeatureClustering(1, **QUICK).fit([[1.0, 2.0]])
    assert model.predict([[1.0, 2.0], [3.0, 4.0]]).tolist() == [0, 0]


@pytest.mark.parametrize("n_clusters", [1, 6])
def test_one_cluster_and_as_many_as_samples(n_clusters):
    X, _ = corners(6)
    bounds = "auto" if n_clusters == 1 else (1, 1)
    model = GroupFeatureClustering(n_clusters, size_bounds=bounds, **QUICK).fit(X)
    assert model.n_clusters_ == n_clusters
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_clusters_may_be_empty_without_bounds():
    X = np.zeros((4, 2))
    model = GroupFeatureClustering(3, size_bounds=None, **QUICK).fit(X)
    assert model.n_clusters_ == np.unique(model.labels_).size == model.labels_.max() + 1
    assert model.view_importances_.shape[0] == model.n_clusters_


# Its doors ------------------------------------------------------------------------------------


def test_tables_lists_dicts_and_matrices_are_the_same_views():
    views, _ = one_view_each(size=8)
    a, b = views.values()
    expected = GroupFeatureClustering(4, **QUICK).fit(views)
    assert not hasattr(expected, "n_features_in_")
    model = GroupFeatureClustering(4, **QUICK).fit([a, b])
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    model = GroupFeatureClustering(4, views={"a": slice(0, 5), "b": range(5, 10)}, **QUICK)
    np.testing.assert_array_equal(model.fit_predict(np.hstack([a, b])), expected.labels_)
    far = [euclidean_distances(a), euclidean_distances(b)]
    model = GroupFeatureClustering(4, metric="precomputed", **QUICK).fit(far)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(far), expected.labels_)
    gammas = kernel_bank(views).gammas
    kernels = [rbf_kernel(a, gamma=gammas[0]), b]
    model = GroupFeatureClustering(4, metric=["kernel", "euclidean"], **QUICK).fit(kernels)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    model = GroupFeatureClustering(4, gamma={"view0": gammas[0]}, **QUICK).fit(views)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_one_table_is_one_view_also_as_a_list_of_rows():
    X, _ = corners()
    model = GroupFeatureClustering(3, **QUICK).fit(X)
    assert model.view_names_ == ("view0",)
    again = GroupFeatureClustering(3, **QUICK).fit(X.tolist())
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert again.n_features_in_ == 4


def test_columns_of_a_frame_by_name():
    pd = pytest.importorskip("pandas")
    X, _ = corners()
    frame = pd.DataFrame(X, columns=["p", "q", "r", "s"])
    model = GroupFeatureClustering(3, views={"a": ["q", "p"], "b": [2, 3]}, **QUICK).fit(frame)
    plain = GroupFeatureClustering(3, views={"a": [1, 0], "b": [2, 3]}, **QUICK).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.feature_names_in_.tolist() == ["p", "q", "r", "s"]
    new = frame + 0.1
    np.testing.assert_array_equal(model.predict(new), plain.predict(new.to_numpy()))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["q", "p", "r", "s"]])


def test_predict_agrees_with_labels_and_reads_new_samples():
    X, y = corners()
    model = GroupFeatureClustering(3, **{**QUICK, "n_init": 4}).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    new, y_new = corners(seed=1)
    names = np.array([model.labels_[y == c][0] for c in range(3)])
    assert (model.predict(new) == names[y_new]).mean() > 0.9


def test_predict_compares_all_views():
    views, _ = one_view_each(size=8)
    a, b = views.values()
    model = GroupFeatureClustering(4, **QUICK).fit(views)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(
        model.predict({"view1": b[::-1], "view0": a[::-1]}), model.labels_[::-1]
    )
    mixed = {"view0": a, "view1": np.roll(b, 5, axis=0)}  # no sample is known in both
    columns = model._state.transform(mixed, samples=model.classifiers_.samples)
    expected = model.classifiers_.scores(columns).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(mixed), expected)


# Links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", [True, False])
def test_certain_links_hold(combine):
    X, _ = corners()
    links = Links(must=[(0, 1), (5, 9)], cannot=[(2, 8), (3, 6)])
    model = GroupFeatureClustering(3, consensus=combine, **QUICK).fit(X, links=links)
    assert model.link_report_.must_share == model.link_report_.cannot_share == 1.0
    assert model.labels_[0] == model.labels_[1]
    assert model.labels_[2] != model.labels_[8]
    again = GroupFeatureClustering(3, consensus=combine, **QUICK).fit_predict(X, links=links)
    np.testing.assert_array_equal(again, model.labels_)


def test_partial_labels_are_links():
    X, y = corners(apart=0.0)
    known = np.where(np.arange(36) < 12, y, -1)
    model = GroupFeatureClustering(3, **QUICK).fit(X, partial_labels=known)
    linked = GroupFeatureClustering(3, **QUICK).fit(X, links=Links.from_labels(known))
    np.testing.assert_array_equal(model.labels_, linked.labels_)
    assert same_partition(model.labels_[:12], y[:12])
    both = GroupFeatureClustering(3, **QUICK)
    both.fit(X, links=Links(must=[(20, 21)]), partial_labels=known)
    assert both.labels_[20] == both.labels_[21]
    assert same_partition(both.labels_[:12], y[:12])


def test_uncertain_links_have_a_price():
    X, _ = corners()
    for confidence, kept in ((0.01, 0.0), (1 - 1e-12, 1.0)):
        links = Links(must=[(0, 1)], must_confidence=confidence)
        model = GroupFeatureClustering(3, **QUICK).fit(X, links=links)
        assert model.link_report_.must_share == kept


# Laws -----------------------------------------------------------------------------------------


def test_threads_and_repetition_change_nothing():
    views, _ = one_view_each(size=8)
    options = {**QUICK, "n_init": 3}
    one = GroupFeatureClustering(4, **options).fit(views)
    for jobs in (1, 2, 5):
        again = GroupFeatureClustering(4, **{**options, "n_jobs": jobs}).fit(views)
        np.testing.assert_array_equal(one.labels_, again.labels_)
        assert one.loss_ == again.loss_
        np.testing.assert_array_equal(one.view_importances_, again.view_importances_)
    other = GroupFeatureClustering(4, **{**options, "random_state": 1}).fit(views)
    assert other.loss_ != one.loss_


def test_more_starts_begin_with_the_same_ones():
    X, _ = corners()
    few = GroupFeatureClustering(3, **QUICK).fit(X)
    more = GroupFeatureClustering(3, **{**QUICK, "n_init": 3}).fit(X)
    for one, other in zip(few.history_, more.history_, strict=False):
        np.testing.assert_array_equal(one.partitions, other.partitions)


def test_y_is_ignored_and_inputs_are_left_alone():
    views, y = one_view_each(size=8)
    given = {name: X.copy() for name, X in views.items()}
    model = GroupFeatureClustering(4, **QUICK).fit(given, y)
    for name in views:
        np.testing.assert_array_equal(given[name], views[name])
    again = GroupFeatureClustering(4, **QUICK).fit(views)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_units_of_measurement_do_not_matter():
    views, _ = one_view_each(size=8)
    model = GroupFeatureClustering(4, **QUICK).fit(views)
    scaled = {name: 1024.0 * X for name, X in views.items()}
    again = GroupFeatureClustering(4, **QUICK).fit(scaled)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_progress_is_told_of_every_start():
    X, _ = corners()
    seen = []
    options = {**QUICK, "n_init": 3, "n_jobs": 2}
    GroupFeatureClustering(3, progress=lambda *at: seen.append(at), **options).fit(X)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_copies_and_pickles():
    X, _ = corners()
    model = GroupFeatureClustering(3, **QUICK).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X + 0.1), again.predict(X + 0.1))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_a_second_fit_forgets_the_first():
    X, _ = corners()
    model = GroupFeatureClustering(3, **QUICK).fit(X)
    model.fit([X, X])
    assert not hasattr(model, "n_features_in_")
    np.testing.assert_array_equal(model.predict([X, X]), model.labels_)


# Refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"n_clusters": 40}, {}, "n_clusters=40.*take fewer"),
        ({"size_bounds": (20, 30)}, {}, "at least 20 need 60.*wider size_bounds"),
        ({"size_bounds": (1, 2)}, {}, "at most 2 hold 6.*wider size_bounds"),
        ({"size_bounds": (1, 2, 3)}, {}, "size_bounds must be"),
        ({"size_bounds": (1.5, 20.5)}, {}, "size_bounds must be"),
        ({"size_bounds": "some"}, {}, "size_bounds"),
        ({"n_folds": 1}, {}, "n_folds"),
        ({"views": {}}, {}, "groups is empty"),
        ({"views": {"a": [9]}}, {}, "no such columns"),
        ({"metric": "far"}, {}, "unknown metric"),
        ({"gamma": -1.0}, {}, "gamma must be"),
        ({}, {"links": Links(must=[(0, k) for k in range(1, 20)])}, "must-linked.*drop links"),
        (
            {},
            {"links": Links(cannot=[(a, b) for b in range(4) for a in range(b)])},
            "cannot-linked.*another n_clusters",
        ),
        ({}, {"links": Links(must=[(0, 99)])}, "99"),
        ({}, {"partial_labels": [0, 1]}, "one for each row"),
    ],
)
def test_what_cannot_be_is_refused(parameters, data, message):
    X, _ = corners()
    with pytest.raises(ValueError, match=message):
        GroupFeatureClustering(**{"n_clusters": 3, **QUICK, **parameters}).fit(X, **data)


def test_contradictions_are_conflicts():
    X, _ = corners()
    with pytest.raises(ConflictError):
        GroupFeatureClustering(3, **QUICK).fit(X, links=Links(must=[(0, 1)], cannot=[(1, 0)]))


def test_links_as_y_are_refused():
    X, _ = corners()
    with pytest.raises(TypeError, match="links="):
        GroupFeatureClustering(3, **QUICK).fit(X, Links(must=[(0, 1)]))


def test_forms_are_not_mixed():
    X, _ = corners()
    with pytest.raises(ValueError, match="drop views"):
        GroupFeatureClustering(3, views={"a": [0]}, **QUICK).fit([X, X])
    single = GroupFeatureClustering(3, **QUICK).fit(X)
    with pytest.raises(ValueError, match="fit had one table"):
        single.predict([X, X])
    several = GroupFeatureClustering(3, **QUICK).fit({"p": X, "q": X})
    with pytest.raises(ValueError, match="fit had 2 views, p, q"):
        several.predict(X)
    with pytest.raises(ValueError, match="give the same"):
        several.predict({"p": X, "r": X})


def test_rows_of_unequal_lengths_are_no_table():
    with pytest.raises(ValueError):
        GroupFeatureClustering(2, **QUICK).fit([[1.0, 2.0], [3.0]])
