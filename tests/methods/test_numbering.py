"""Numbers of clusters that stay from run to run."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkshift
from linkshift._core.labels import first_come
from linkshift._core.messages import Refusal
from linkshift.methods.numbering import numbers_like


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4)), min_size=1, max_size=30))
def test_as_many_rows_as_possible_keep_their_numbers(pairs):
    labels, before = np.array(pairs).T
    labels = first_come(labels, np.int64)
    k = int(labels.max()) + 1
    numbers = numbers_like(labels, before, k)
    assert len(set(numbers)) == k
    kept = (numbers[labels] == before).sum()
    # All ways to give numbers, those of none among them.
    ways = permutations([*range(5), *range(-9, -9 + k)], k)
    assert kept == max((np.array(way)[labels] == before).sum() for way in ways)
    new = numbers[~np.isin(numbers, before)]
    assert new.tolist() == list(range(before.max() + 1, before.max() + 1 + len(new)))
    for number in numbers[np.isin(numbers, before)]:
        assert (before[numbers[labels] == number] == number).any()


def test_thousands_of_clusters():
    labels = np.repeat(np.arange(20_000), 2)
    before = np.random.default_rng(0).permutation(20_000)[labels]
    numbers = numbers_like(labels, before, 20_000)
    np.testing.assert_array_equal(numbers[labels], before)


@pytest.fixture
def table():
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 20, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape) * 0.3
    return pd.DataFrame(X, columns=["x", "y"], index=[f"r{i}" for i in range(60)])


def test_clusters_keep_their_numbers(table):
    found = linkshift.cluster(table, n_clusters=3)
    mixed = table.sample(frac=1.0, random_state=1)
    again = linkshift.cluster(mixed, n_clusters=3, labels_like=found)
    assert (again.labels[table.index] == found.labels).all()
    assert (again.predict(table) == found.labels).all()
    assert again.explain(0).label == again.labels.iloc[0]
    np.testing.assert_allclose(again.centers, found.centers)
    # One has gone, one is new, and its number is one that was not there.
    few = table.drop(found.labels.index[found.labels == 1])
    new = pd.DataFrame({"x": 20.0 + table.x[:20], "y": 20.0 + table.y[:20]})
    new.index = [f"n{i}" for i in range(20)]
    later = linkshift.cluster(pd.concat([new, few]), n_clusters=3, labels_like=found.labels)
    assert sorted(set(later.labels)) == [0, 2, 3]
    assert (later.labels[few.index] == found.labels[few.index]).all()
    assert (later.labels[new.index] == 3).all()
    assert later.n_clusters == 3


def test_numbers_are_saved(table, tmp_path):
    previous = np.repeat([7, 5, -1], 20)
    found = linkshift.cluster(table.to_numpy(), n_clusters=3, labels_like=previous)
    assert sorted(set(found.labels)) == [5, 7, 8]
    found.save(tmp_path / "m.npz")
    again = linkshift.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.labels, found.labels)
    np.testing.assert_array_equal(again.predict(table.to_numpy()), found.labels)


def test_importances_of_views_go_with_the_numbers(table):
    views = {"a": table[["x"]], "b": table[["y"]]}
    options = {"n_clusters": 3, "max_iter": 2, "random_state": 0}
    found = linkshift.cluster(views, **options)
    again = linkshift.cluster(views, labels_like=2 - found.labels, **options)
    assert (again.labels == 2 - found.labels).all()
    np.testing.assert_allclose(again.view_importances, found.view_importances[::-1])


@pytest.mark.parametrize(
    ("previous", "words"),
    [
        ([0, 1], "2 labels for 60 rows"),
        (["a"] * 60, "whole numbers"),
        ([0.5] * 60, "whole numbers"),
        (pd.Series([0, 1], index=["z1", "z2"]), "none of the rows"),
        (pd.Series([0, 1], index=["r1", "r1"]), "twice"),
    ],
)
def test_what_does_not_fit_is_refused(table, previous, words):
    with pytest.raises(Refusal, match=words):
        linkshift.cluster(table, labels_like=previous)
