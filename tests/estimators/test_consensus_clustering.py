"""Consensus clustering: laws, awkward data, and the data that it was made for."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.estimators.consensus_rows import assert_held, clear, consensus, rough, seeds
from tests.helpers import blobs, linked_moons, same_partition, some_links

import linkshift
from linkshift import ConsensusClustering, Links, model_files
from linkshift._core.messages import Advice, Refusal
from linkshift.datasets import make_moons
from linkshift.estimators import consensus_clustering

# Units, order, threads ------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(seeds, st.integers(-20, 20), st.integers(5, 60), st.sampled_from([1, 2, 9, 20]))
def test_units_do_not_matter(seed, power, n, d):
    X = rough(seed, n, d)
    expected = consensus(X).labels_  # times a power of two there is no rounding
    np.testing.assert_array_equal(consensus(X * 2.0**power).labels_, expected)


@settings(max_examples=10, deadline=None)
@given(seeds, st.floats(1e-3, 1e3), st.floats(-50, 50), st.sampled_from([2, 9]), st.integers(0, 20))
def test_units_origin_and_order_do_not_matter(seed, scale, origin, d, m):
    X, y = clear(seed, d=d)
    rng = np.random.default_rng(seed)
    links = some_links(rng, len(X), m, classes=y)
    labels = consensus(X, links).labels_
    assert same_partition(labels, y)
    assert same_partition(consensus(scale * (X + origin), links).labels_, labels)
    assert same_partition(consensus(X[:, rng.permutation(d)], links).labels_, labels)
    order = rng.permutation(len(X))
    assert same_partition(consensus(X[order], links.take(order)).labels_, labels[order])


@pytest.mark.parametrize("n_links", [0, 25])
@pytest.mark.parametrize("d", [2, 30])
def test_any_number_of_threads_gives_the_same(d, n_links):
    X, y = blobs(200, d, std=3.0)
    links = Links.sample(y, n_links, random_state=0) if n_links else None
    one, two = (consensus(X, links, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.agreement_ == two.agreement_


def test_numbers_of_single_precision():
    X, y = clear(1, d=5)
    model = consensus(X.astype(np.float32), Links.sample(y, 10, random_state=0))
    assert same_partition(model.labels_, y)
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), model.labels_)
    assert same_partition(model.predict(X), y)


# Twins ----------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(seeds, st.integers(2, 60), st.integers(2, 20), st.booleans())
def test_twins_go_together(seed, n, m, linked):
    rng = np.random.default_rng(seed)
    distinct = rough(seed, m)
    which = rng.integers(0, m, size=n)
    links = some_links(rng, n, 6, classes=which % 3) if linked else None
    labels = consensus(distinct[which], links, max_rows=10).labels_
    for row in range(m):
        assert len(set(labels[which == row].tolist())) <= 1


@settings(max_examples=8, deadline=None)
@given(seeds, st.integers(1, 4))
def test_a_row_counts_once_however_often_it_is_there(seed, times):
    X = rough(seed, 40)
    labels = consensus(np.repeat(X, times, axis=0)).labels_
    assert same_partition(labels[::times], consensus(X).labels_)


def test_links_part_twins():
    X, y = clear(0)
    X = np.vstack([X, X[:10]])
    links = Links(cannot=[(i, 60 + i) for i in range(3)])
    model = consensus(X, links)
    assert_held(model.labels_, links)
    np.testing.assert_array_equal(model.labels_[3:10], model.labels_[63:])
    np.testing.assert_array_equal(model.predict(X[60:]), model.labels_[:10])  # that of the first
    assert adjusted_rand_score(np.r_[y, y[:10]], model.labels_) > 0.8


# Numbers of clusters --------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 30), st.integers(0, 10), st.data())
def test_the_number_of_clusters_is_kept(seed, n, n_twins, data):
    X = rough(seed, n)
    X[:n_twins] = X[0]
    k = data.draw(st.integers(1, len(np.unique(X, axis=0))))
    assert consensus(X, n_clusters=k).n_clusters_ == k
    assert consensus(X, max_clusters=k).n_clusters_ <= k


@settings(max_examples=12, deadline=None)
@given(seeds, st.integers(10, 40), st.integers(0, 30), st.integers(2, 5), st.booleans())
def test_the_number_of_clusters_is_kept_under_links(seed, n, m, n_classes, few_rows):
    # The classes are a way to keep all links in as many clusters.
    rng = np.random.default_rng(seed)
    classes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, size=n - n_classes)]
    links = some_links(rng, n, m, classes=classes)
    X = rough(seed, n)
    parameters = {"max_rows": 10} if few_rows else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = consensus(X, links, n_clusters=n_classes, **parameters).labels_
    assert_held(labels, links)
    told = any("remain" in str(warning.message) for warning in caught)
    assert (labels.max() + 1 == n_classes) != told


@pytest.mark.parametrize("k", [1, 2, 9, 15, 30])
def test_the_number_of_clusters_is_kept_where_not_all_rows_are_looked_at(k):
    X = rough(0, 30)
    assert consensus(X, n_clusters=k, max_rows=10).n_clusters_ == k
    assert consensus(X, max_clusters=k, max_rows=10).n_clusters_ <= k


def test_more_clusters_than_rows_are_refused():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    with pytest.raises(Refusal, match="make 3 groups"):
        consensus(X, n_clusters=4)
    assert consensus(X, max_clusters=4).n_clusters_ == 3
    with pytest.raises(Refusal, match="make 2 groups"):
        consensus(X, Links(must=[(0, 4)]), n_clusters=3)


def test_two_answers_to_one_question_are_refused():
    with pytest.raises(Refusal, match="Give one of them"):
        consensus(np.eye(6), n_clusters=2, max_clusters=3)
    for known in ({"n_clusters": 1}, {"max_clusters": 1}):
        with pytest.raises(Refusal, match="One cluster is too few"):
            consensus(np.eye(6), Links(cannot=[(0, 1)]), **known)


def test_of_two_clusters_two_cannot_links_make_a_must_link():
    X, y = clear(0, k=2)
    a, b = np.flatnonzero(y == 0)[:2]
    c = np.flatnonzero(y == 1)[0]
    labels = consensus(X, Links(cannot=[(a, b), (b, c)]), n_clusters=2).labels_
    assert labels[a] == labels[c] != labels[b]


# New rows, files, explanations ----------------------------------------------------------------


@settings(max_examples=8, deadline=None)
@given(seeds, st.integers(1, 50), st.booleans())
def test_training_rows_keep_their_labels(seed, n, few_rows):
    X = rough(seed, n)
    model = consensus(X, max_rows=10 if few_rows else 2500)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_new_rows_go_with_their_neighbours():
    X, y = clear(0, n=120, k=4)
    model = consensus(X[:80])
    assert same_partition(np.r_[model.labels_, model.predict(X[80:])], y)


@pytest.mark.parametrize("max_rows", [30, 2500])
def test_a_model_in_a_file(tmp_path, max_rows):
    X, y = blobs(70, 3, std=2.0)
    model = consensus(X, Links.sample(y, 15, random_state=0), max_rows=max_rows)
    model_files.save(model, tmp_path / "model.npz")
    again = model_files.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.predict(X + 0.3), model.predict(X + 0.3))
    assert again.agreement_ == model.agreement_
    assert again.n_candidates_ == model.n_candidates_
    assert again.explain(3).label == model.labels_[3]


def test_what_if_is_what_a_new_fit_says():
    X, y = make_moons(60, random_state=3)
    links = Links.sample(y, 6, random_state=0)
    model = consensus(X, links)
    for row in (0, 30):
        explanation = model.explain(row)
        assert explanation.label == model.labels_[row]
        assert explanation.path is None
        assert str(explanation)
    refit = model._evidence(0).refit
    for kind in ("must", "cannot"):
        for pair in getattr(links, kind):
            less = links.remove(**{kind: [pair]})
            np.testing.assert_array_equal(refit(less).labels, consensus(X, less).labels_)


@pytest.mark.parametrize(("n_links", "least"), [(0, 10), (8, 15)])
def test_progress_comes_to_its_end_in_many_steps(n_links, least):
    X, _, links = linked_moons(60, 8)
    calls = []
    consensus(X, links if n_links else None, progress=lambda *call: calls.append(call))
    shares = [done / total for done, total in calls]
    assert len(shares) >= least
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert np.diff([0, *shares]).max() < 0.25


# Some of the rows -----------------------------------------------------------------------------


def test_rows_that_were_not_looked_at_follow_the_others():
    X, y = clear(0, n=400, k=5)
    model = consensus(X, max_rows=100)
    assert same_partition(model.labels_, y)
    again = consensus(X, max_rows=100, random_state=0)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_the_seed_says_which_rows_are_looked_at():
    X = rough(0, 200, k=6)
    found = {consensus(X, max_rows=30, random_state=s).labels_.tobytes() for s in range(5)}
    assert len(found) > 1
    of_all = {consensus(X, random_state=s).labels_.tobytes() for s in range(3)}
    assert len(of_all) == 1


def test_more_linked_rows_than_rows_that_are_looked_at():
    X, y = blobs(100, 2, std=2.5)
    links = Links.sample(y, 150, random_state=0)
    model = consensus(X, links, max_rows=10)
    assert_held(model.labels_, links)


# Awkward data ---------------------------------------------------------------------------------


def test_one_row_and_two():
    assert consensus([[3.0, 4.0]]).labels_.tolist() == [0]
    assert consensus([[3.0], [4.0]]).labels_.tolist() == [0, 1]
    assert consensus([[3.0], [3.0]]).labels_.tolist() == [0, 0]
    assert consensus([[3.0], [4.0]], Links(must=[(0, 1)])).labels_.tolist() == [0, 0]
    assert consensus([[3.0], [3.0]], Links(cannot=[(0, 1)])).labels_.tolist() == [0, 1]
    assert consensus([[3.0], [4.0]], n_clusters=1).labels_.tolist() == [0, 0]
    assert consensus([[3.0], [4.0]]).predict([[3.9]]).tolist() == [1]


def test_a_hundred_noughts_and_a_hundred_ones():
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    assert same_partition(consensus(X).labels_, X[:, 0])
    X[0] = 0.5
    labels = consensus(X, Links(cannot=[(1, 2)])).labels_
    assert labels[1] != labels[2]


@pytest.mark.parametrize("n", [3, 30])
def test_all_rows_equal(n):
    X = np.ones((n, 4))
    assert (consensus(X).labels_ == 0).all()
    links = Links(cannot=[(0, 1), (1, 2), (0, 2)])
    assert_held(consensus(X, links).labels_, links)
    assert_held(consensus(X, links, enforce=False).labels_, Links())


def test_constant_columns_do_not_matter():
    X, y = clear(0, d=2)
    wide = np.hstack([X, np.full((60, 3), 7.0)])
    assert same_partition(consensus(wide).labels_, y)
    nearly = np.hstack([X, 7.0 + 1e-12 * np.random.default_rng(0).normal(size=(60, 3))])
    assert same_partition(consensus(nearly).labels_, y)


def test_one_column():
    X, y = clear(2, n=90, k=4, d=1)
    assert same_partition(consensus(X).labels_, y)


def test_two_thousand_columns():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 5
    X = rng.normal(size=(5, 2000))[y] + rng.normal(size=(150, 2000))
    assert same_partition(consensus(X).labels_, y)


@pytest.mark.parametrize("scale", [1e-120, 1e150])
def test_numbers_at_the_ends_of_the_range(scale):
    X, y = clear(0)
    assert same_partition(consensus(X * scale).labels_, y)


def test_heavy_tails():
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(200, 3)) ** 3
    labels = consensus(X).labels_
    assert_held(labels, Links())


# What it was made for -------------------------------------------------------------------------


def rings(n, seed):
    rng = np.random.default_rng(seed)
    y, angle = np.arange(n) % 3, rng.uniform(0, 2 * np.pi, size=n)
    radius = np.array([1.0, 2.5, 4.0])[y]
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return X + rng.normal(0, 0.12, size=(n, 2)), y


def fifty(n, seed):
    """Fifty round clusters in a square, none too close to another."""
    rng = np.random.default_rng(seed)
    centres = []
    while len(centres) < 50:
        new = rng.uniform(0, 10, size=2)
        if all(np.hypot(*(new - other)) > 1.05 for other in centres):
            centres.append(new)
    y = np.arange(n) % 50
    return np.array(centres)[y] + rng.normal(0, 0.24, size=(n, 2)), y


def embeddings(n, seed, k=12, d=384, inner=25):
    """Topics as sentences have them: few dimensions matter, sizes differ, rows have length one."""
    rng = np.random.default_rng(seed)
    y = rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0)))
    topics = 0.9 * rng.normal(size=(k, inner))[y] + rng.normal(0, 0.8, size=(n, inner))
    X = topics @ rng.normal(size=(inner, d)) / np.sqrt(inner)
    X = X + rng.normal(0, 0.8, size=(n, d)) + rng.normal(size=d)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("seed", range(3))
def test_moons(seed):
    X, y = make_moons(300, random_state=seed)
    assert adjusted_rand_score(y, consensus(X).labels_) > 0.95


@pytest.mark.parametrize("seed", range(2))
def test_rings_with_ten_links(seed):
    X, y = rings(500, seed)
    labels = consensus(X, Links.sample(y, 10, random_state=seed), n_jobs=2).labels_
    assert adjusted_rand_score(y, labels) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_fifty_clusters(seed):
    X, y = fifty(2000, seed)
    assert adjusted_rand_score(y, consensus(X, n_jobs=2).labels_) >= 0.9


@pytest.mark.parametrize("seed", range(2))
def test_embeddings(seed):
    X, y = embeddings(600, seed)
    assert adjusted_rand_score(y, consensus(X, n_jobs=2).labels_) >= 0.9
    by_angle = linkshift.cluster(X, metric="cosine").labels
    assert adjusted_rand_score(y, by_angle) >= 0.9


def test_explain_makes_what_links_have_no_part_in_once(monkeypatch):
    X, y = make_moons(120, random_state=0)
    links = Links.sample(y, 12, random_state=0)
    model = ConsensusClustering(n_jobs=1).fit(X, links=links)
    calls, made = [], ConsensusClustering._unlinked

    def counted(self, X, progress):
        calls.append(len(X))
        return made(self, X, progress)

    monkeypatch.setattr(ConsensusClustering, "_unlinked", counted)
    told = model.explain(int(links.cannot[0, 0]), max_counterfactuals=4)
    assert len(told.counterfactuals) == 4
    assert calls == [120]
    for case in told.counterfactuals:
        rest = links.remove(**{case.kind: [case.pair, *case.alike]})
        fresh = ConsensusClustering(n_jobs=1).fit(X, links=rest)
        assert case.n_clusters == fresh.n_clusters_
        assert case.size == (fresh.labels_ == fresh.labels_[told.row]).sum()


# --- very many rows -------------------------------------------------------------------------------


def test_many_rows_are_told_with_how_much_hangs_on_the_draw(monkeypatch):
    X, y = blobs(1200, 5, k=4, std=0.5, seed=0)
    model = ConsensusClustering(max_rows=200)
    quiet = model.fit(X).labels_  # a warning would be an error here
    assert not hasattr(model, "fidelity_")
    monkeypatch.setattr(consensus_clustering, "MANY_ROWS", 1000)
    with pytest.warns(Advice, match=r"1,200 rows were made of 200, .* is 1\.00"):
        found = ConsensusClustering(max_rows=200).fit(X)
    np.testing.assert_array_equal(found.labels_, quiet)
    assert found.fidelity_ == 1.0
    rng = np.random.default_rng(0)
    with pytest.warns(Advice):
        vague = ConsensusClustering(max_rows=200).fit(rng.normal(size=(1200, 5)))
    assert vague.fidelity_ < 0.8
    links = Links.sample(y, 600, random_state=0)  # all that are looked at have links
    assert not hasattr(ConsensusClustering(max_rows=200).fit(X, links=links), "fidelity_")
