"""KernelMeanShift and its links: projected or learned from."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tests.estimators.kernel_problems import BLOB, BLOBS, LINES, LINKS, PAPER, lines_model

from linkshift import KernelMeanShift, Links, datasets

# Links


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 40),
    st.integers(1, 4),
    st.sampled_from(["links", None]),
    st.sampled_from(["gaussian", "linear", "polynomial"]),
    st.booleans(),
)
def test_must_links_always_share_a_label(seed, n, d, how, kernel, lattice):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, d)).astype(float) if lattice else rng.normal(size=(n, d))
    pairs = rng.integers(0, n, size=(int(rng.integers(1, n)), 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    links = Links(must=pairs)
    model = KernelMeanShift(kernel, refine=how, n_neighbors=int(rng.integers(1, n)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of links that take most dimensions
        model.fit(X, links=links)
    assert (model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]).all()
    assert model.link_report_.share == 1.0
    if not lattice:
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_redundant_links_change_nothing():
    chain = Links(must=[(3, 16), (16, 10), (43, 56)])
    more = Links(must=[(3, 10), (3, 16), (10, 16), (43, 56)])
    one = lines_model(**PAPER).fit(LINES, links=chain)
    other = lines_model(**PAPER).fit(LINES, links=more)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)


def test_links_between_twins_change_nothing():
    X = np.vstack([LINES, LINES[:1]])
    plain = lines_model(**PAPER).fit(X)
    linked = lines_model(**PAPER).fit(X, links=Links(must=[(0, len(LINES))]))
    np.testing.assert_array_equal(plain.labels_, linked.labels_)


def test_all_rows_linked_are_one_cluster():
    links = Links(must=[(i, i + 1) for i in range(len(LINES) - 1)])
    model = lines_model().fit(LINES, links=links)
    assert model.n_clusters_ == 1
    np.testing.assert_array_equal(model.bandwidth_, np.full(len(LINES), model.bandwidth_scale_))
    assert (model.predict(LINES + 1.0) == 0).all()


def test_more_links_than_dimensions_are_one_cluster_with_a_warning():
    links = Links(must=[(0, 50), (10, 80), (20, 70)])
    with pytest.warns(UserWarning, match="span all 2 dimensions"):
        model = KernelMeanShift("linear").fit(BLOBS, links=links)
    assert model.n_clusters_ == 1
    assert model.rank_ == 0
    assert (model.predict(BLOBS + 1.0) == 0).all()


def test_many_links_warn():
    X, y = datasets.make_circles(random_state=0)
    rows = np.flatnonzero(y == 2)[:11]
    with pytest.warns(UserWarning, match="perhaps what tells the clusters apart"):
        KernelMeanShift(sigma=30.0).fit(X, links=Links(must=[(rows[0], r) for r in rows[1:]]))


def test_linked_rows_beyond_k_have_the_least_bandwidth_of_the_others():
    links = Links(must=[(i, i + 1) for i in range(14)])  # 15 rows on one spot, k = 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = lines_model().fit(LINES, links=links)
    assert (model.bandwidth_[:15] == model.bandwidth_[15:].min()).all()
    assert np.isfinite(model.embedding_).all()


def test_rows_that_coincide_but_for_rounding_have_no_bandwidth_of_their_own():
    X = np.vstack([BLOBS, np.repeat(BLOBS[:1], 30, axis=0)])
    model = KernelMeanShift(n_neighbors=20).fit(X)
    rest = np.r_[1:90]
    assert model.bandwidth_[90:].min() >= model.bandwidth_[rest].min()
    assert len(set(model.labels_[[0, *range(90, 120)]].tolist())) == 1


def test_all_rows_equal():
    model = KernelMeanShift(n_neighbors=3).fit(np.ones((6, 2)))
    assert model.n_clusters_ == 1
    np.testing.assert_array_equal(model.predict([[1.0, 1.0], [3.0, 4.0]]), [0, 0])


def test_cannot_links_and_doubts_need_a_learned_kernel():
    with pytest.raises(ValueError, match="use_links='learn'"):
        lines_model().fit(LINES, links=Links(cannot=[(0, 1)]))
    with pytest.raises(ValueError, match="use_links='learn'"):
        lines_model().fit(LINES, links=Links(must=[(0, 1)], must_confidence=0.5))
    known = np.full(len(LINES), -1)
    known[[0, 5, 60]] = [0, 0, 1]
    with pytest.raises(ValueError, match="partial labels"):
        lines_model().fit(LINES, partial_labels=known)
    known[60] = 0
    model = lines_model().fit(LINES, partial_labels=known)
    assert len(set(model.labels_[[0, 5, 60]].tolist())) == 1
    with pytest.raises(ValueError, match="one for each row"):
        lines_model().fit(LINES, partial_labels=known[:5])


def test_refinement_gathers_splinters_and_keeps_must_links():
    raw = lines_model(bandwidth_scale=0.2, **PAPER).fit(LINES, links=LINKS)
    refined = lines_model(bandwidth_scale=0.2).fit(LINES, links=LINKS)
    assert refined.n_clusters_ < raw.n_clusters_
    assert refined.link_report_.share == 1.0
    np.testing.assert_array_equal(refined.predict(LINES), refined.labels_)


# Learning


def blob_links(seed=0, n_links=12):
    return Links.sample(BLOB, n_links, random_state=seed)


def test_a_learned_kernel_uses_both_kinds():
    close = BLOBS * [1.0, 1.0]
    plain = KernelMeanShift(**PAPER).fit(close)
    links = blob_links()
    learned = KernelMeanShift(use_links="learn", **PAPER).fit(close, links=links)
    must_only = KernelMeanShift(use_links="learn", **PAPER).fit(close, links=Links(links.must))
    assert not np.allclose(learned.embedding_[:, :2], plain.embedding_[:, :2])
    assert not np.allclose(learned.embedding_[:, :2], must_only.embedding_[:, :2])
    assert adjusted_rand_score(BLOB, learned.labels_) > 0.9
    np.testing.assert_array_equal(learned.predict(close), learned.labels_)


def test_learning_without_links_is_the_plain_kernel():
    plain = KernelMeanShift().fit(BLOBS)
    learned = KernelMeanShift(use_links="learn").fit(BLOBS)
    np.testing.assert_array_equal(plain.labels_, learned.labels_)


def test_certain_links_hold_after_learning_and_refinement():
    links = Links(must=[(0, 1), (5, 9)], cannot=[(0, 5)])
    model = KernelMeanShift(use_links="learn").fit(BLOBS, links=links)
    assert model.link_report_.share == 1.0


def test_bandwidths_weigh_with_d_one_after_learning_only():
    links = blob_links()
    learned = KernelMeanShift(use_links="learn").fit(BLOBS, links=links)
    assert learned.dimension_ == 1.0
    for model in (
        KernelMeanShift(use_links="learn").fit(BLOBS),
        KernelMeanShift().fit(BLOBS, links=Links(must=[(0, 1)])),
        KernelMeanShift(use_links="learn", dimension="effective").fit(BLOBS, links=links),
    ):
        assert model.dimension_ == model.effective_dimension_ != 1.0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bandwidth_scale": 5.0}, r"0 of 1 must-links and 1 of 1 cannot-links.*below 5 .*apart\."),
        ({"bandwidth_scale": 5.0, "refine": None}, "below 5 .*refine='links' settles"),
        ({"bandwidth_scale": 0.05, "refine": None}, r"1 of 1 must-links and 0 of 1.*above 0.05"),
    ],
)
def test_links_that_do_not_hold_are_told(parameters, words):
    rows = [np.flatnonzero(c == BLOB) for c in range(2)]
    # Refinement holds certain links.
    links = Links(
        must=[(rows[0][0], rows[0][1])],
        cannot=[(rows[0][2], rows[1][0])],
        cannot_confidence=1.0 if "refine" in parameters else 0.5,
    )
    model = KernelMeanShift(use_links="learn", learn_params={"gamma": 1e-6}, **parameters)
    with pytest.warns(UserWarning, match=words):
        model.fit(BLOBS, links=links)
    assert model.link_report_.share < 1.0


def test_a_width_from_links_brings_must_links_near_and_puts_cannot_links_far():
    # Classes of radius one, ten apart, and a far outlier that spoils the mean pair distance.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = np.vstack([rng.normal(size=(60, 2)) + 10.0 * y[:, None], [[2000.0, 0.0]]])
    links = Links.sample(y, 20, random_state=0)
    wide = KernelMeanShift(use_links="learn").fit(X, links=links)
    fitting = KernelMeanShift(use_links="learn", sigma="links").fit(X, links=links)
    assert 1.0 < fitting.sigma_ < 20.0 < wide.sigma_


def test_learn_params_reach_the_learner():
    links = blob_links()
    one = KernelMeanShift(use_links="learn").fit(BLOBS, links=links)
    other = KernelMeanShift(use_links="learn", learn_params={"gamma": 0.1}).fit(BLOBS, links=links)
    assert one.effective_dimension_ != other.effective_dimension_
    with pytest.warns(ConvergenceWarning, match="learn_params"):
        KernelMeanShift(use_links="learn", learn_params={"max_iter": 1, "tol": 1e-12}).fit(
            BLOBS, links=links
        )
