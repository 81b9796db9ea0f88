"""`linkshift.cluster`: which method, why, and that it is the estimator's own result."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import linked_moons

import linkshift
from linkshift import (
    ConstrainedMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    RefinedClustering,
)
from linkshift._core.messages import Refusal
from linkshift.methods import METHODS, choose

MUST = Links(must=[(0, 1)])
CANNOT = Links(cannot=[(0, i) for i in range(20, 30)])
BOTH = Links(must=[(0, 1)], cannot=[(0, i) for i in range(20, 29)])
FEW = Links(must=[(0, 1)], cannot=[(0, 20)])
TORN = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)])


@pytest.fixture(scope="module")
def moons():
    return linked_moons(80, 30)


@pytest.mark.parametrize(
    ("links", "shape", "options", "method", "word"),
    [
        (Links(), (300, 2), {}, "mean-shift", "no links"),
        (Links(), (1000, 10), {}, "mean-shift", "10 columns are many"),
        (MUST, (300, 2), {}, "mean-shift", "1 link settles"),
        (FEW, (300, 2), {}, "mean-shift", "too few"),
        (CANNOT, (300, 2), {}, "cms", "10 cannot-links"),
        (BOTH, (300, 2), {}, "cms", "9 cannot-links"),
        (BOTH, (300, 50), {}, "cms", "9 cannot-links"),
        (BOTH, (300, 2), {"labelled": True}, "cms", "known labels"),
        (TORN, (300, 2), {}, "mean-shift", "contradict"),
        (BOTH, (300, 2), {"given": {"bandwidth": 1.0}}, "mean-shift", "bandwidth"),
        (Links(), (300, 50), {"given": {"n_neighbors": 5}}, "mean-shift", "n_neighbors"),
        (Links(), (300, 2), {"n_views": 3}, "groups", "3 views"),
        (BOTH, (300, 2), {"n_views": 2}, "groups", "2 views"),
    ],
)
def test_the_method(links, shape, options, method, word):
    choice = choose(links, *shape, **options)
    assert choice.method == method
    assert word in choice.why
    assert "\n" not in choice.why


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(60, 3000),
    st.integers(1, 60),
    st.booleans(),
)
def test_the_choice_can_always_be_fitted(n_must, n_cannot, n_rows, n_columns, labelled):
    """No choice leads to a refusal: cms has cannot-links."""
    links = Links(
        must=[(0, i) for i in range(1, n_must + 1)],
        cannot=[(0, i) for i in range(31, 31 + n_cannot)],
    )
    method, why, params = choose(links, n_rows, n_columns, labelled=labelled)
    assert method in METHODS
    assert why
    assert params.keys() <= METHODS[method].uses
    assert (method == "cms") == (n_cannot > 0 and n_must + n_cannot >= 10)
    assert (params == {"space": "kernel"}) == (
        method != "cms" and n_columns >= 10 and n_rows <= 1000
    )


def test_without_links_it_is_mean_shift(moons):
    X, *_ = moons
    found = linkshift.cluster(X)
    assert isinstance(found.model, MeanShift)
    np.testing.assert_array_equal(found.labels, MeanShift().fit_predict(X))
    assert found.n_clusters == found.labels.max() + 1
    assert repr(found) == (
        f"<{found.n_clusters} clusters of 80 rows by mean-shift: no links to go by>"
    )


def test_with_links_it_is_constrained_mean_shift(moons):
    X, _, links = moons
    found = linkshift.cluster(X, links, n_jobs=1)
    np.testing.assert_array_equal(found.labels, ConstrainedMeanShift().fit(X, links=links).labels_)
    assert found.method == "cms"
    assert str(found.link_report) in repr(found)
    assert found.link_report.must_kept == found.link_report.n_must
    np.testing.assert_array_equal(found.predict(X), found.labels)


def test_partial_labels(moons):
    X, y, _ = moons
    known = np.where(np.arange(80) % 9 == 0, y, -1)
    found = linkshift.cluster(X, partial_labels=known)
    assert found.method == "cms"
    assert "known labels" in found.why
    expected = ConstrainedMeanShift().fit(X, partial_labels=known).labels_
    np.testing.assert_array_equal(found.labels, expected)
    n = int((known >= 0).sum())
    assert len(found.links) == n * (n - 1) // 2


def test_few_links_settle_mean_shift(moons):
    X, *_ = moons
    links = Links(must=[(0, 40)], cannot=[(0, 41)])
    found = linkshift.cluster(X, links)
    assert isinstance(found.model, RefinedClustering)
    np.testing.assert_array_equal(found.labels, RefinedClustering().fit(X, links=links).labels_)


def test_contradictions_are_weighed(moons):
    X, *_ = moons
    links = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    with pytest.warns(UserWarning, match="1 link of confidence one stays broken"):
        found = linkshift.cluster(X, links)
    assert "contradict" in found.why
    assert found.link_report.must_kept + found.link_report.cannot_kept < 3


def test_views(moons):
    X, *_ = moons
    views = {"x": X[:, :1], "y": X[:, 1:]}
    found = linkshift.cluster(views, n_clusters=2, max_iter=2, random_state=0)
    assert isinstance(found.model, GroupFeatureClustering)
    assert found.n_clusters == 2
    as_list = linkshift.cluster(list(views.values()), n_clusters=2, max_iter=2, random_state=0)
    np.testing.assert_array_equal(found.labels, as_list.labels)
    with pytest.raises(ValueError, match="number of clusters"):
        linkshift.cluster(views)
    with pytest.raises(ValueError, match=r"numpy\.hstack"):
        linkshift.cluster(views, method="cms")


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("mean-shift", RefinedClustering),
        ("cms", ConstrainedMeanShift),
        ("skms", KernelMeanShift),
        ("metric", MetricMeanShift),
    ],
)
def test_a_method_by_name(moons, method, kind):
    X, _, links = moons
    found = linkshift.cluster(X, links, method=method, random_state=0)
    assert type(found.model) is kind
    assert found.why == "as asked for"
    assert found.done == METHODS[method].describe(found.model)
    assert found.done.endswith(".")
    assert "link" in found.done


@pytest.mark.parametrize("links", [None, Links(must=[(0, 1)])])
def test_many_columns_move_in_a_kernels_space(links):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 12)) + 6 * np.repeat(np.eye(12)[:3], 30, axis=0)
    found = linkshift.cluster(X, links, random_state=0)
    assert found.method == "mean-shift"
    assert "12 columns" in found.why
    base = KernelMeanShift(n_neighbors=20, random_state=0)
    model = base if links is None else RefinedClustering(base)
    np.testing.assert_array_equal(found.labels, model.fit(X, links=links).labels_)
    asked = linkshift.cluster(X, links, space="kernel", random_state=0)
    np.testing.assert_array_equal(asked.labels, found.labels)
    plain = linkshift.cluster(X, links, space="input")
    assert not isinstance(getattr(plain.model, "estimator", plain.model), KernelMeanShift)


def test_bandwidth_by_links(moons):
    X, _, links = moons
    found = linkshift.cluster(X, links, bandwidth="links", kernel="gaussian")
    assert found.method == "mean-shift"
    assert "chosen by links" in found.done


def test_the_choice_is_told_before_the_work(moons):
    X, _, links = moons
    told = []
    found = linkshift.cluster(X, links, on_choice=told.append, progress=lambda *_: told.append(1))
    assert told[0] == (found.method, found.why, {})
    assert found.seconds > 0
    refused = []
    with pytest.raises(Refusal):
        linkshift.cluster(X, method="metric", on_choice=refused.append)
    assert refused == []


def test_the_bandwidth_in_units_of_the_columns(moons):
    X, _, links = moons
    assert linkshift.cluster(X, bandwidth=0.7).bandwidth == 0.7
    assert linkshift.cluster(X, links, bandwidth=0.7).bandwidth == 0.7
    assert linkshift.cluster(X, links, method="cms").bandwidth is None
    assert linkshift.cluster(X, links, method="cms", bandwidth=0.2).bandwidth == 0.2
    for options in ({"space": "kernel"}, {"method": "skms"}):
        assert linkshift.cluster(X, links, random_state=0, **options).bandwidth is None


def test_tables_of_pandas(moons):
    X, _, links = moons
    frame = pd.DataFrame(X, columns=["a", "b"])
    found = linkshift.cluster(frame, links)
    np.testing.assert_array_equal(found.labels, linkshift.cluster(X, links).labels)
    assert found.model.feature_names_in_.tolist() == ["a", "b"]


def test_rows_as_lists():
    found = linkshift.cluster([[0.0, 0.0], [0.1, 0.0], [9.0, 9.0]], bandwidth=1.0)
    assert found.n_clusters == 2
    assert found.explain(0).label == found.labels[0]


def test_what_has_no_meaning_is_refused(moons):
    X, _, links = moons
    with pytest.raises(ValueError, match="A bandwidth has no meaning with the method skms"):
        linkshift.cluster(X, links, method="skms", bandwidth=1.0)
    with pytest.raises(ValueError, match="A number of clusters has no meaning"):
        linkshift.cluster(X, n_clusters=3)
    with pytest.raises(TypeError, match="no parameter 'bandwith'"):
        linkshift.cluster(X, bandwith=3)
    with pytest.raises(ValueError, match="space must be 'input' or 'kernel'"):
        linkshift.cluster(X, space="metric")
    with pytest.raises(ValueError, match="are for space='input'"):
        linkshift.cluster(X, space="kernel", bandwidth=1.0)
    with pytest.raises(ValueError, match="must be one of auto, mean-shift"):
        linkshift.cluster(X, method="dbscan")
    with pytest.raises(IndexError, match="80"):
        linkshift.cluster(X, Links(must=[(0, 80)]))


def test_progress_is_told(moons):
    X, _, links = moons
    steps = []
    linkshift.cluster(X, links, progress=lambda *step: steps.append(step))
    assert steps[-1][0] == steps[-1][1]


def test_one_view_is_a_table(moons):
    X, *_ = moons
    labels = linkshift.cluster(X).labels
    np.testing.assert_array_equal(linkshift.cluster({"a": X}).labels, labels)
    np.testing.assert_array_equal(linkshift.cluster([X]).labels, labels)
    with pytest.raises(ValueError, match="holds no tables"):
        linkshift.cluster({})


def test_a_bandwidth_for_each_row_is_told(moons):
    X, *_ = moons
    found = linkshift.cluster(X, bandwidth=np.linspace(0.5, 1.0, len(X)))
    assert "bandwidth 0.5 to 1." in found.done


def test_wrong_numbers_of_neighbours_are_refused(moons):
    X, _, links = moons
    with pytest.raises(ValueError, match="n_neighbors"):
        linkshift.cluster(X, links, method="skms", n_neighbors=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        linkshift.cluster(X, links, method="skms", n_neighbors=1000, random_state=0)
    assert any("1,000 neighbours" in str(warning.message) for warning in caught)
    with pytest.raises(ValueError, match="kernel"):
        linkshift.cluster(X, kernel="")


def test_one_row_of_many_columns():
    assert linkshift.cluster(np.ones((1, 12))).labels.tolist() == [0]


@pytest.mark.parametrize("unknown", [None, "", " ", float("nan"), -1])
def test_unknown_labels(moons, unknown):
    X, y, _ = moons
    known = [["low", "high"][c] if i % 8 == 0 else unknown for i, c in enumerate(y.tolist())]
    expected = linkshift.cluster(X, partial_labels=np.where(np.arange(80) % 8 == 0, y, -1))
    found = linkshift.cluster(X, partial_labels=known)
    np.testing.assert_array_equal(found.labels, expected.labels)


def test_a_typo_gets_a_hint(moons):
    with pytest.raises(TypeError, match="Did you mean 'bandwidth'"):
        linkshift.cluster(moons[0], bandwith=1.0)


def test_groups_cannot_be_explained(moons):
    X, *_ = moons
    found = linkshift.cluster(
        {"x": X[:, :1], "y": X[:, 1:]}, n_clusters=2, max_iter=2, random_state=0
    )
    with pytest.raises(ValueError, match="view_importances_"):
        found.explain(0)
