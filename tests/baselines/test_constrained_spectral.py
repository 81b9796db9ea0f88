import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from tests.helpers import blobs
from tests.reference.baselines import feasible_vectors

from linkshift import ConflictError, Links
from linkshift.baselines import ConstrainedSpectral
from linkshift.baselines.constrained_spectral import _coordinates, _graph, _thresholds
from linkshift.links import ClosedLinks


def problem(seed, n=40, std=2.0, n_links=40):
    X, y = blobs(n, 2, std=std, seed=seed)
    links = Links.sample(y, n_links, random_state=seed)
    return X, y, links


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("beta", ["kth", 0.05])
def test_coordinates_are_those_of_the_general_solver(seed, beta):
    X, y, links = problem(seed)
    k = len(np.unique(y))
    graph = _graph(X, ClosedLinks(links, len(X)), None)
    (threshold,) = _thresholds(graph, k, beta)
    points = _coordinates(graph, threshold, k)
    cheapest = feasible_vectors(graph.laplacian, graph.constraints, threshold)[: k - 1]
    assert points.shape[1] == len(cheapest)
    for column, (cost, v) in zip(points.T, cheapest, strict=True):
        expected = graph.scale * v * (1.0 - cost)
        one, other = column / np.linalg.norm(column), expected / np.linalg.norm(expected)
        assert abs(one @ other) == pytest.approx(1.0, abs=1e-4)
        assert v @ (graph.constraints - threshold * np.eye(len(v))) @ v > 0  # feasible


def test_without_links_it_is_spectral_clustering():
    X, y, _ = problem(0, n=90, std=0.5)
    model = ConstrainedSpectral(len(np.unique(y)), random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.embedding_.shape == (90, len(np.unique(y)) - 1)


def test_few_links_a_row_make_the_original_threshold_look_at_few_rows():
    X, y, links = problem(1, n=150, std=1.5, n_links=150)
    k = len(np.unique(y))
    kth, auto = (
        ConstrainedSpectral(k, beta=beta, random_state=0).fit(X, links=links)
        for beta in ("kth", "auto")
    )
    assert auto.beta_ < kth.beta_
    assert adjusted_rand_score(y, auto.labels_) > adjusted_rand_score(y, kth.labels_)


def test_a_threshold_that_nothing_reaches_is_refused():
    X, _, links = problem(0)
    with pytest.raises(ValueError, match="no vector agrees with the links so far"):
        ConstrainedSpectral(2, beta=1e6).fit(X, links=links)


def test_contradictions_raise_and_one_cluster_is_one():
    X, _, _ = problem(0)
    with pytest.raises(ConflictError):
        ConstrainedSpectral(2).fit(X, links=Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)]))
    assert ConstrainedSpectral(1).fit(X).labels_.tolist() == [0] * len(X)


def test_equal_rows_and_far_rows_do_no_harm():
    X = np.concatenate([np.zeros((10, 2)), np.ones((10, 2)), [[1e6, 0.0]]])
    labels = ConstrainedSpectral(2, random_state=0).fit_predict(X, links=Links(cannot=[(0, 10)]))
    assert len(labels) == 21
    assert len(np.unique(labels[:10])) == len(np.unique(labels[10:20])) == 1


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_MEMORY_GB", "0.00001")
    with pytest.raises(ValueError, match="Constrained spectral clustering of 40 rows takes"):
        ConstrainedSpectral(2).fit(problem(0)[0])
