"""Links on summaries: linked rows whole, constrained mean shift on landmarks, every link holds."""

import pickle

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from tests.helpers import blobs

from linkshift import ConstrainedMeanShift, Links, scale
from linkshift._core.messages import Refusal
from linkshift.links import ClosedLinks, ConflictError
from linkshift.scale import LinkedModel, fit, merge, predict, summarise


def problem(n=2000, n_links=80, d=4, k=6, seed=1):
    X, y = blobs(n, d, k=k, std=1.0, seed=seed)
    return X, y, Links.sample(y, n_links, random_state=seed)


def summed_up(X, links, m, parts=1):
    """Summaries of parts of the rows, with those that have links whole, merged."""
    linked = ClosedLinks(links, len(X)).linked_rows
    leaves = []
    for rows in np.array_split(np.arange(len(X)), parts):
        here = linked[(linked >= rows[0]) & (linked <= rows[-1])] - rows[0]
        leaves.append(summarise(X[rows], m, keep=here, first=int(rows[0])))
    return merge(leaves, m)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parts", [1, 3])
def test_as_rows_in_memory(parts, dtype):
    X, y, links = problem()
    X = X.astype(dtype)
    model = fit(summed_up(X, links, 300, parts), links)
    labels = predict(model, X, first=0)
    exact = ConstrainedMeanShift(scale_features=False).fit(X, links=links)
    assert adjusted_rand_score(y, labels) > 0.95
    assert adjusted_rand_score(exact.labels_, labels) > 0.95
    assert model.n_clusters == len(np.unique(labels))
    assert model.link_report.share == 1.0


def test_of_all_rows_it_is_constrained_mean_shift():
    X, _, links = problem(400, 60)
    summary = summarise(X, 1000, keep=ClosedLinks(links, 400).linked_rows)
    model = fit(summary, links)
    exact = ConstrainedMeanShift(scale_features=False).fit(X, links=links)
    assert adjusted_rand_score(exact.labels_, predict(model, X, first=0)) == 1.0


@given(seed=st.integers(0, 30), m=st.integers(1, 40), n_links=st.integers(1, 30))
def test_every_link_holds_in_the_labels_of_rows(seed, m, n_links):
    X, y = blobs(150, 2, k=4, std=1.5, seed=seed)
    X = np.round(X)  # many twins: some of them cannot-linked
    pairs = np.random.default_rng(seed).choice(150, size=(n_links, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    links = Links(pairs[same], pairs[~same], duplicates="drop")
    if not len(links.cannot):
        return
    model = fit(summed_up(X, links, m, 2), links)
    labels = np.concatenate(
        [predict(model, X[part], first=part.start) for part in (slice(0, 90), slice(90, 150))]
    )
    assert (labels[links.must[:, 0]] == labels[links.must[:, 1]]).all()
    assert (labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]]).all()


def test_a_number_of_threads_or_a_pickle_changes_nothing():
    X, _, links = problem()
    summary = summed_up(X, links, 200)
    one, two = (fit(summary, links, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    back = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(predict(back, X), predict(two, X, n_jobs=2))
    assert isinstance(back, LinkedModel)


def test_no_links_are_mean_shift():
    X, _, _ = problem()
    summary = summarise(X, 200)
    plain, empty = fit(summary), fit(summary, Links())
    np.testing.assert_array_equal(predict(plain, X), predict(empty, X))


def test_refusals():
    X, _, links = problem()
    with pytest.raises(Refusal, match=r"Row \d+ has a link, and the summary has not kept it"):
        fit(summarise(X, 200), links)
    with pytest.raises(Refusal, match="keyed by id"):
        fit(summarise(X, 200), Links(must=[("a", "b")]))
    summary = summed_up(X, links, 200)
    for name, value in (("bandwidth", 1.0), ("kernel", "flat"), ("max_iter", 5), ("tol", 1e-6)):
        with pytest.raises(Refusal, match=f"With links, {name}="):
            fit(summary, links, **{name: value})
    with pytest.raises(Refusal, match="has 3 columns"):
        predict(fit(summary, links), X[:, :3])


def test_a_table(tmp_path):
    X, y, links = problem()
    target = tmp_path / "l.parquet"
    settings = {"landmarks": 200, "rows_per_chunk": 700, "scale": "none"}
    found = scale.cluster(X, links, output=target, **settings)
    labels = pq.read_table(target)["label"].to_numpy()
    assert adjusted_rand_score(y, labels) > 0.95
    assert found.link_report.share == 1.0
    assert found.sizes.tolist() == np.bincount(labels).tolist()
    assert (labels[links.must[:, 0]] == labels[links.must[:, 1]]).all()
    assert (labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]]).all()
    assert scale.cluster(X, output=target, **settings).link_report is None


def test_a_table_says_what_is_wrong_before_it_is_read(tmp_path, monkeypatch):
    X, _, links = problem(300)
    target = tmp_path / "l.parquet"
    monkeypatch.setattr("linkshift.scale.running.survey_table", lambda *_: pytest.fail("was read"))
    with pytest.raises(Refusal, match="With links, bandwidth=2"):
        scale.cluster(X, links, output=target, bandwidth=2.0)
    with pytest.raises(ConflictError):
        scale.cluster(X, Links([(0, 1)], [(0, 1)]), output=target)
    assert not list(tmp_path.iterdir())
