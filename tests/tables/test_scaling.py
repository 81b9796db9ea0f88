"""The scale of columns: the rule, what it says, there and back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import linkshift
from linkshift import Links
from linkshift._core.messages import Advice, Refusal
from linkshift.tables.scaling import Scaling

seeds = st.integers(0, 2**32 - 1)


def of_spreads(spreads, n=200, seed=0):
    """Columns of given spreads."""
    X = np.random.default_rng(seed).normal(size=(n, len(spreads)))
    return (X - X.mean(axis=0)) / X.std(axis=0) * spreads + 3


@pytest.mark.parametrize(
    ("spreads", "kind"),
    [
        ([1, 1], "none"),
        ([1, 9.9], "none"),
        ([1, 10.1], "standard"),
        ([1, 1, 1, 1, 1000], "standard"),
        ([1, 1, 1, 1, 0.001], "standard"),
        ([1] * 29 + [11], "standard"),
        ([5], "none"),
        ([1, 0, 0], "none"),  # constant columns have no unit
        ([1] * 60 + [1e-3] * 40, "none"),  # as pixels at the border
        ([1] * 40 + [1e-3] * 60, "standard"),
        ([1] * 99 + [1000], "standard"),
        ([1] * 30 + [0.05], "none"),
    ],
)
def test_columns_of_different_units_are_standardised(spreads, kind):
    found = Scaling.of(of_spreads(spreads), "auto")
    assert found.kind == kind
    assert found.why


def test_the_effective_number_of_many_columns_decides():
    rng = np.random.default_rng(0)
    for _ in range(50):
        spreads = np.exp(rng.normal(scale=rng.uniform(0, 2.5), size=int(rng.integers(31, 80))))
        effective = spreads.sum() ** 2 / (spreads**2).sum()
        kind = "standard" if effective < len(spreads) / 2 else "none"
        assert Scaling.of(of_spreads(spreads), "auto").kind == kind


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(["standard", "minmax"]), st.floats(1e-6, 1e6))
def test_it_is_what_scikit_learn_does(seed, kind, unit):
    X = np.random.default_rng(seed).normal(size=(20, 3)) * [1, 10, unit]
    X[:, 0] = 7.0
    found = Scaling.of(X, kind)
    other = {"standard": StandardScaler(), "minmax": MinMaxScaler()}[kind]
    np.testing.assert_allclose(found.apply(X), other.fit_transform(X), atol=1e-9)
    np.testing.assert_allclose(found.undo(found.apply(X)), X, rtol=1e-9, atol=1e-9 * unit)


@pytest.mark.parametrize("kind", ["auto", "standard", "minmax"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_left_out_with_a_word(kind, dtype):
    X = of_spreads([1, 1, 1e-20]).astype(dtype)
    X[:, 2] = np.random.default_rng(0).normal(size=len(X)) * 1e-20
    with pytest.warns(Advice, match=r"left out: c\."):
        found = Scaling.of(X, kind, ["a", "b", "c"])
    scaled = found.apply(X)
    assert np.abs(scaled[:, 2]).max() < 1e-15
    assert scaled.dtype == dtype
    assert np.ptp(scaled[:, 0]) > 0.9
    again = Scaling.from_about(found.about())
    np.testing.assert_array_equal(again.apply(X), scaled)
    assert Scaling.of(X, "none").apply(X) is X


def test_other_forms():
    X = of_spreads([1, 100])
    frame = pd.DataFrame(X, columns=["a", "b"], index=range(5, 205))
    found = Scaling.of_table(frame, "auto")
    assert "'b' varies 100 times as much as 'a'" in found.why
    scaled = found.apply(frame)
    assert list(scaled) == ["a", "b"]
    assert scaled.index.equals(frame.index)
    whole = Scaling.of(np.arange(12).reshape(6, 2) * [1, 100], "auto")
    assert whole.apply(np.arange(12).reshape(6, 2)).dtype == np.float64
    with np.errstate(all="raise"):
        assert Scaling.of(np.array([[1.0, np.inf], [0, 1]]), "standard").kind == "none"


# --- one rule for all methods ------------------------------------------------------------------


@pytest.fixture(scope="module")
def units():
    X, y = make_blobs(90, centers=[(0, 0), (6, 0), (0, 6)], random_state=0)
    return X * [1, 500] + [0, 9], y


@pytest.mark.parametrize("method", ["auto", "mean-shift", "cms", "skms", "metric"])
def test_every_method_sees_columns_by_the_rule(units, method):
    X, y = units
    how = {"method": method, "random_state": 0}
    links = Links.sample(y, 30, random_state=0)
    found = linkshift.cluster(X, links, **how)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    other = linkshift.cluster(standard, links, scale="none", **how)
    np.testing.assert_array_equal(found.labels, other.labels)
    assert not other.scalings
    assert found.scalings[0].kind == "standard"
    np.testing.assert_array_equal(found.predict(X), found.labels)
    assert "scale standard" in repr(found)


def test_what_was_said_in_units_of_columns_keeps_them(units):
    X, _ = units
    assert not linkshift.cluster(X, bandwidth=400.0).scalings
    assert not linkshift.cluster(X, metric="cosine").scalings
    assert not linkshift.cluster(linkshift.prepare(X)).scalings
    asked = linkshift.cluster(X, bandwidth=0.5, scale="minmax")
    assert asked.scalings[0].kind == "minmax"
    with pytest.raises(Refusal, match="scale must be one of auto, standard, minmax, none"):
        linkshift.cluster(X, scale="robust")


def test_each_view_by_itself(units):
    X, _ = units
    views = {"both": X, "one": X[:, :1]}
    found = linkshift.cluster(views, n_clusters=3, max_iter=2, random_state=0)
    assert [one.kind for one in found.scalings] == ["standard", "none"]
    assert found.predict(views).shape == (90,)


def test_explanations_are_in_the_units_of_columns(units):
    X, y = units
    found = linkshift.cluster(X, Links.sample(y, 30, random_state=0), method="cms")
    np.testing.assert_allclose(found.explain(4).path[0], X[4], rtol=1e-6)
