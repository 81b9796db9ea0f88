"""Mean shift in coordinates of the graph of neighbours: twins, laws, new rows, special data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import blobs, same_partition

import linkshift
from linkshift import GraphMeanShift, Links, MeanShift, RefinedClustering
from linkshift._core.messages import Refusal
from linkshift.spaces.graph import graph_space

KINDS = ({}, {"coordinates": "smooth"})
both_kinds = pytest.mark.parametrize("kind", KINDS, ids=["diffusion", "smooth"])


def topics(n=90, d=100, seed=0):
    """Three clusters in many columns, of which three say something; and their numbers."""
    topic = np.arange(n) % 3
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 8.0 * np.eye(d)[topic], topic


def rough(n=60, d=3, seed=0):
    return blobs(n, d, std=2.0, seed=seed)[0]


# Twins ----------------------------------------------------------------------------------------


def literal_edges(x, rows, k, own=None):
    """Nearest rows of a place, their distances, and the place's own scale; one after the other."""
    length = [(float(np.sqrt(((x - row) ** 2).sum())), j) for j, row in enumerate(rows) if j != own]
    near = sorted(length)[:k]
    return near, near[min(7, k) - 1][0]


def literal_graph(rows, k):
    """Scales of rows and weights between them."""
    n = len(rows)
    edges = [literal_edges(rows[i], rows, k, own=i) for i in range(n)]
    least = 0.1 * np.median([scale for _, scale in edges])
    scale = [max(s, least) for _, s in edges]
    W = np.zeros((n, n))
    for i in range(n):
        for length, j in edges[i][0]:
            W[i, j] = W[j, i] = max(np.exp(-(length**2) / (scale[i] * scale[j])), 1e-4)
    return np.array(scale), least, W


def literal_extension(x, rows, k, coordinates, values):
    """Where eigenvectors go on to, at a place that is no row."""
    scale, least, _ = literal_graph(rows, k)
    near, own = literal_edges(x, rows, k)
    weight = {
        j: max(np.exp(-(length**2) / (max(own, least) * scale[j])), 1e-4) for length, j in near
    }
    found = []
    for axis, value in enumerate(values):
        total = sum(w * coordinates[j, axis] for j, w in weight.items()) / sum(weight.values())
        found.append(total / value if value > 1e-12 else 0.0)
    return found


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(10, 36), st.integers(1, 20))
def test_new_rows_are_where_eigenvectors_go_on_to(seed, k, n, d):
    rng = np.random.default_rng(seed)
    rows, new = rng.normal(size=(n, d)), 1.5 * rng.normal(size=(4, d))
    space = graph_space(rows, k, 8)
    found = space.transform(np.vstack([new, rows[:2]]))
    k = min(k, n - 1)
    for x, place in zip(new, found, strict=False):
        expected = literal_extension(x, rows, k, space.coordinates, space.values)
        np.testing.assert_allclose(place, expected, rtol=1e-7, atol=1e-11)
    np.testing.assert_array_equal(found[4:], space.coordinates[:2])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(10, 36))
def test_distances_are_those_between_walks(seed, k, n):
    # All axes are there. Those of negative eigenvalues are dropped, and odd walks know them.
    rows = np.random.default_rng(seed).normal(size=(n, 4))
    _, _, W = literal_graph(rows, min(k, n - 1))
    degree = W.sum(axis=1)
    P, t = W / degree[:, None], 5
    value, left = np.linalg.eigh(W / np.sqrt(np.outer(degree, degree)))
    root = np.sqrt(degree)
    kept = (left * np.maximum(value, 0.0) ** t) @ left.T
    there = kept * root[None, :] / root[:, None]  # P ** t, of its positive part
    if value.min() > 0:
        np.testing.assert_allclose(there, np.linalg.matrix_power(P, t), atol=1e-9)
    places = graph_space(rows, k, t).coordinates
    for i in range(n):
        for j in range(i):
            square = (degree.sum() / degree * (there[i] - there[j]) ** 2).sum()
            np.testing.assert_allclose(((places[i] - places[j]) ** 2).sum(), square, atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(10, 60))
def test_eigenvectors_go_on_to_the_rows_themselves(seed, k, n):
    rows = np.random.default_rng(seed).normal(size=(n, 4))
    space = graph_space(rows, k, 1)
    scale, _, W = literal_graph(rows, min(k, n - 1))
    np.testing.assert_allclose(space.scale, scale, rtol=1e-12)
    step = W @ space.coordinates / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(step, space.coordinates * np.maximum(space.values, 0), atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 40), st.integers(1, 20))
def test_new_rows_are_smoothed_as_others_are(seed, n, d):
    rng = np.random.default_rng(seed)
    rows, x = rng.normal(size=(n, d)), rng.normal(size=d)
    space = graph_space(rows, 10, None)
    near, _ = literal_edges(x, rows, min(15, n - 1))
    expected = np.mean([x, *(rows[j] for _, j in near)], axis=0)
    np.testing.assert_allclose(space.transform(x[None])[0], expected, rtol=1e-9, atol=1e-12)
    near, _ = literal_edges(rows[3], rows, min(15, n - 1), own=3)
    expected = np.mean([rows[3], *(rows[j] for _, j in near)], axis=0)
    np.testing.assert_allclose(space.transform(rows[[3]])[0], expected, rtol=1e-9, atol=1e-12)


@both_kinds
def test_it_is_mean_shift_in_the_coordinates(kind):
    X = np.random.default_rng(0).normal(size=(80, 3))  # one cloud: no bandwidth is lifted
    model = GraphMeanShift(n_neighbors=12, **kind).fit(X)
    shift = MeanShift(kernel="gaussian", n_neighbors=12).fit(model.embedding_)
    np.testing.assert_array_equal(model.labels_, shift.labels_)
    np.testing.assert_array_equal(model.bandwidth_, shift.bandwidth_)
    one = GraphMeanShift(bandwidth=0.5, **kind).fit(X)
    shift = MeanShift(kernel="gaussian", bandwidth=0.5).fit(model.embedding_)
    np.testing.assert_array_equal(one.labels_, shift.labels_)
    assert one.bandwidth_ == 0.5
    new = X[:20] + 0.3
    np.testing.assert_array_equal(one.predict(new), shift.predict(one.transform(new)))


# Laws -----------------------------------------------------------------------------------------


@both_kinds
@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 2**16),
    st.integers(-30, 30),
    st.floats(-20.0, 20.0),
    st.floats(0.01, 100.0),
)
def test_place_unit_and_order_do_not_matter(kind, seed, power, shift, factor):
    X = rough(seed=seed)
    model = GraphMeanShift(n_neighbors=8, **kind).fit(X)
    again = GraphMeanShift(n_neighbors=8, **kind).fit(X * 2.0**power)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    order = np.random.default_rng(seed).permutation(len(X))
    moved = GraphMeanShift(n_neighbors=8, **kind).fit(factor * X[order] + shift)
    assert same_partition(moved.labels_, model.labels_[order])


@pytest.mark.parametrize("d", [3, 40])
@both_kinds
def test_any_number_of_threads_gives_the_same(kind, d):
    X = rough(150, d)
    one, two = (GraphMeanShift(n_neighbors=10, n_jobs=k, **kind).fit(X) for k in (1, 2))
    for name in ("labels_", "embedding_", "bandwidth_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.predict(X + 0.1), two.predict(X + 0.1))


@both_kinds
def test_training_rows_stay_where_they_are(kind):
    X = np.vstack([rough(70), rough(70)[:9]])
    model = GraphMeanShift(n_neighbors=10, **kind).fit(X)
    np.testing.assert_array_equal(model.predict(X[::-1]), model.labels_[::-1])
    np.testing.assert_array_equal(model.transform(X[::-1]), model.embedding_[::-1])


@both_kinds
def test_every_row_twice_changes_nothing(kind):
    X = rough(70)
    once, twice = (GraphMeanShift(n_neighbors=10, **kind).fit(x) for x in (X, np.repeat(X, 2, 0)))
    np.testing.assert_array_equal(twice.embedding_[::2], once.embedding_)
    assert same_partition(twice.labels_[::2], once.labels_)


# What is found --------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 30, 400])
def test_clusters_in_few_columns_and_many(d):
    X, topic = topics(120, d)
    model = GraphMeanShift().fit(X)
    assert same_partition(model.labels_, topic)
    new, of_new = topics(60, d, seed=1)
    np.testing.assert_array_equal(model.predict(new), model.labels_[of_new])
    assert model.embedding_.shape == (120, 40)
    assert not hasattr(model, "cluster_centers_")


@pytest.mark.parametrize("n", [90, 700])
def test_clusters_far_apart_are_told_apart(n):
    # Walks cannot leave them and forget where they began: little is left within, or rounding.
    X, topic = topics(n, 5)
    X += 1e4 * np.eye(5)[topic]
    assert same_partition(GraphMeanShift().fit(X).labels_, topic)


def test_clusters_of_equal_means_are_told_apart():
    # Sixteen rows: each is the mean of all of them.
    X = np.random.default_rng(0).normal(size=(48, 3)) + 1e3 * np.repeat(np.eye(3), 16, axis=0)
    labels = GraphMeanShift(coordinates="smooth", n_neighbors=10).fit(X).labels_
    assert same_partition(labels, np.repeat([0, 1, 2], 16))


@both_kinds
@pytest.mark.parametrize("n", [1, 2, 4])
def test_few_distinct_rows_are_a_cluster_each(kind, n):
    places = 3.0 * np.arange(n, dtype=np.float64)[:, None] ** 2
    X = np.repeat(places, 50, axis=0)
    model = GraphMeanShift(**kind).fit(X)
    assert model.n_clusters_ == n
    assert same_partition(model.labels_, np.repeat(np.arange(n), 50))
    np.testing.assert_array_equal(model.predict(places + 0.4), model.labels_[::50])


@both_kinds
@pytest.mark.parametrize("n", [5, 6, 20])
def test_few_rows(kind, n):
    with pytest.warns(UserWarning, match="Take a smaller n_neighbors"):
        model = GraphMeanShift(n_neighbors=n, **kind).fit(rough(n))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(rough(n) + 1.0)).all()


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_very_small_and_very_large_units(unit):
    X, topic = topics(90, 5)
    model = GraphMeanShift().fit(X * unit)
    assert same_partition(model.labels_, topic)
    assert np.isfinite(model.transform((X + 0.1) * unit)).all()


def test_far_rows_go_somewhere():
    model = GraphMeanShift().fit(rough(90))
    far = model.transform([[1e6, 0.0, 0.0], [0.0, -1e9, 5.0]])
    assert np.isfinite(far).all()
    assert set(model.predict([[1e6, 0.0, 0.0]])) <= set(model.labels_)


# Doors ----------------------------------------------------------------------------------------


def test_links_are_for_others():
    X, _ = topics()
    for given_links in ({"links": Links(must=[(0, 3)])}, {"partial_labels": np.zeros(90)}):
        with pytest.raises(Refusal, match=r"RefinedClustering\(GraphMeanShift\(\)\)"):
            GraphMeanShift().fit(X, **given_links)
    links = Links(must=[(0, 1)], cannot=[(0, 2)])
    model = RefinedClustering(GraphMeanShift()).fit(X, links=links)
    assert model.link_report_.share == 1.0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bandwidth": 1.0, "n_neighbors": 5}, "give one of them"),
        ({"coordinates": "smooth", "time": 8}, "time has no meaning"),
        ({"coordinates": "smooth", "n_edges": 5}, "n_edges has no meaning"),
    ],
)
def test_what_would_be_ignored_is_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        GraphMeanShift(**parameters).fit(rough())


def test_rows_are_explained():
    model = GraphMeanShift().fit(topics()[0])
    explanation = model.explain(4)
    assert explanation.space == "graph"
    assert "in the graph's space" in str(explanation)
    np.testing.assert_allclose(explanation.path[0], model.embedding_[4], rtol=1e-12)
    assert model.labels_[explanation.mode_row] == model.labels_[4]


@pytest.mark.parametrize("links", [None, Links(must=[(0, 3)], cannot=[(0, 1)])])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_one_call(links, metric):
    X, topic = topics()
    found = linkshift.cluster(X, links, space="graph", metric=metric)
    assert found.method == "mean-shift"
    assert same_partition(found.labels, topic)
    inner = getattr(found.model, "estimator", found.model)
    assert isinstance(inner, GraphMeanShift)
    assert found.done.startswith("Mean shift in diffusion coordinates of the graph of neighbours")
    assert ("by cosine" in found.done) == (metric == "cosine")
    assert ("refine with 2 links" in found.done) == (links is not None)
    assert found.bandwidth is None
    assert linkshift.cluster(X, links, space="graph", n_clusters=2).n_clusters == 2


def test_one_call_with_few_rows_or_other_neighbours():
    assert linkshift.cluster(rough(12), space="graph").model.n_neighbors == 11
    asked = linkshift.cluster(rough(), space="graph", n_neighbors=7, max_iter=50)
    assert (asked.model.n_neighbors, asked.model.max_iter) == (7, 50)
    for other in ({"bandwidth": 1.0}, {"kernel": "flat"}, {"bandwidth": "links"}):
        with pytest.raises(Refusal, match="are for space='input'"):
            linkshift.cluster(rough(), space="graph", **other)
