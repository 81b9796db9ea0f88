"""Tables as `linkshift.cluster` is given them: index, ids, lists, gaps."""

import warnings

import numpy as np
import pandas as pd
import pytest

import linkshift
from linkshift import Links
from linkshift._core.messages import Advice, Refusal
from linkshift.tables.reading import read_given

N = 60


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.repeat([(0.0, 0.0), (5.0, 0.0), (0.0, 5.0)], N // 3, axis=0) + rng.normal(
        scale=0.3, size=(N, 2)
    )


@pytest.fixture
def frame(X):
    return pd.DataFrame(X, columns=["x", "y"], index=[f"s{i}" for i in range(N)])


def test_labels_have_the_index(frame):
    found = linkshift.cluster(frame)
    expected = linkshift.cluster(frame.to_numpy()).labels
    assert isinstance(expected, np.ndarray)
    pd.testing.assert_series_equal(
        found.labels, pd.Series(expected, index=frame.index, name="cluster")
    )
    pd.testing.assert_series_equal(found.predict(frame[10:30]), found.labels[10:30])
    assert found.n_clusters == 3
    assert "3 clusters of 60 rows" in repr(found)
    assert found.explain(0).label == found.labels.iloc[0]


def test_the_index_names_rows_for_links(frame):
    """Whatever the order of the table, links by id say the same."""
    links = Links(must=[("s0", "s1"), ("s20", "s40")], cannot=[("s0", "s59")])
    found = linkshift.cluster(frame, links)
    assert found.labels["s20"] == found.labels["s40"]
    mixed = frame.sample(frac=1, random_state=0)
    again = linkshift.cluster(mixed, links)
    assert again.links.must.tolist() != found.links.must.tolist()
    assert again.labels["s20"] == again.labels["s40"]
    with pytest.raises(ValueError, match="'zoe' is not among"):
        linkshift.cluster(frame, Links(must=[("s0", "zoe")]))
    with pytest.raises(Refusal, match=r"such as 's0'.*set_index"):
        linkshift.cluster(frame.to_numpy(), links)
    with pytest.raises(Refusal, match="the data have no ids"):
        linkshift.cluster(frame.reset_index(drop=True), links)


def test_groups_of_a_column_are_found_by_the_index():
    """A table in another order has other rows in these places."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(4.0), 10)[:, None] * [9, 4] + rng.normal(size=(40, 2))
    frame = pd.DataFrame(X, columns=["x", "y"], index=np.arange(40) * 7 + 3)
    frame["photo"] = np.arange(40) % 10
    links = Links.apart_within(frame["photo"])
    moved = frame.sample(frac=1, random_state=0)
    found = linkshift.cluster(moved[["x", "y"]], links)
    photo = moved["photo"].to_numpy()
    assert found.links == Links.apart_within(photo)
    assert not pd.DataFrame({"p": photo, "c": found.labels}).duplicated().any()
    with pytest.raises(Refusal, match=r"keyed by id, such as 3.*apart_within\(column.to_numpy"):
        linkshift.cluster(X, links)


def test_links_by_row_of_a_table_with_another_index(frame):
    links = Links(must=[(0, 1)])
    with pytest.warns(Advice, match="sorted as when you answered"):
        linkshift.cluster(frame, links)
    with pytest.warns(Advice, match="sorted as when you answered"):
        linkshift.cluster(frame.reset_index(drop=True)[5:], {"must": [(0, 1)]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linkshift.cluster(frame.reset_index(drop=True), links)
        linkshift.cluster(frame, Links(must=[(0, 1)], n_samples=N))
        linkshift.cluster(frame, Links(must=[("s0", "s1")], ids=frame.index))
        linkshift.cluster(frame, Links())
        nothing = Links(must=[("s0", "s1")]).remove(must=[("s0", "s1")])
        linkshift.cluster(frame, nothing)


def test_ids_in_a_column(frame, X):
    numbers = np.random.default_rng(1).permutation(9000)[:N]
    table = frame.reset_index(drop=True).assign(customer_id=numbers)
    with pytest.warns(Advice, match="'customer_id' names rows and is left out"):
        found = linkshift.cluster(table)
    np.testing.assert_array_equal(found.labels, linkshift.cluster(X).labels)
    np.testing.assert_array_equal(found.predict(table), found.labels)
    links = Links(must=[(int(numbers[20]), int(numbers[40]))], ids=numbers)
    with pytest.warns(Advice, match="names rows"):
        found = linkshift.cluster(table, links)
    assert found.labels[20] == found.labels[40]
    assert read_given(table["x"]).recipe is None
    with pytest.warns(Advice, match="names rows"), pytest.raises(Refusal, match="column of ids"):
        linkshift.cluster(table, Links(must=[(0, 8999)]))
    with pytest.raises(Refusal, match=r"ids=...\) with table.index"):
        linkshift.cluster(table.set_index("customer_id"), Links(must=[(0, 8999)]))


def test_lists(X):
    table = pd.DataFrame({"id": np.arange(N) * 3, "text": "a", "embedding": list(X)})
    expected = linkshift.cluster(X).labels
    found = linkshift.cluster(table)
    np.testing.assert_array_equal(found.labels, expected)
    np.testing.assert_array_equal(found.predict(table), expected)
    np.testing.assert_array_equal(linkshift.cluster(table["embedding"]).labels, expected)
    with pytest.warns(Advice, match="left out: year"):
        linkshift.cluster(table.assign(year=2000))
    with pytest.raises(Refusal, match="Several columns hold lists"):
        linkshift.cluster(table.assign(more=list(X)))
    with pytest.raises(Refusal, match=r"1 of 60 rows without a list.*row 0\."):
        linkshift.cluster(table.assign(embedding=[None, *X[1:]]))
    with pytest.raises(Refusal, match=r"1 of 60 rows without a list.*row 0\."):
        linkshift.cluster(table.assign(embedding=[[None, None], *X[1:]]))
    with pytest.raises(Refusal, match=r"1 value missing .* in column embedding; first in row 0"):
        linkshift.cluster(table.assign(embedding=[[None, 1.0], *X[1:]]))
    with pytest.raises(Refusal, match=r"another length: 1, not 2, in row 0\."):
        linkshift.cluster(table.assign(embedding=[[1.0], *X[1:]]))
    with pytest.raises(Refusal, match=r"another length: 1, not 2, in row 0\."):
        linkshift.prepare(table.assign(embedding=[[1.0], *X[1:]]))


def test_gaps_are_named_by_their_columns(frame):
    """By number, the first column would be the one with the ids, which is left out."""
    frame = frame.assign(x=[None, *frame.x[1:]])
    told = r"1 value missing .* in column x; first in row 0"
    with pytest.raises(Refusal, match=told):
        linkshift.cluster(frame)
    frame.insert(0, "id", np.arange(N) * 3)
    with pytest.warns(Advice, match="'id' names rows"), pytest.raises(Refusal, match=told):
        linkshift.cluster(frame)
    with pytest.raises(Refusal, match="in columns 0, 1; first in row 2"):
        linkshift.cluster(np.where(np.eye(N, 2)[::-1] > 0, np.nan, 1.0)[N - 4 :])


def test_polars(X):
    pl = pytest.importorskip("polars")
    expected = linkshift.cluster(X).labels
    names = [f"s{i}" for i in range(N)]
    for dtype in (pl.List(pl.Float64), pl.Array(pl.Float64, 2)):
        column = pl.Series("embedding", X.tolist(), dtype=dtype)
        table = pl.DataFrame({"id": np.arange(N) * 3, "name": names, "embedding": column})
        found = linkshift.cluster(table)
        np.testing.assert_array_equal(found.labels, expected)
        np.testing.assert_array_equal(found.predict(table), expected)
        np.testing.assert_array_equal(linkshift.cluster(column).labels, expected)
    numbers = pl.DataFrame({"x": X[:, 0], "y": X[:, 1]})
    np.testing.assert_array_equal(linkshift.cluster(numbers).labels, expected)
    with pytest.raises(Refusal, match=r"name \(text\)"):
        linkshift.cluster(table.drop("embedding"))


@pytest.mark.parametrize("form", ["frame", "array", "list"])
def test_gaps_name_the_remedy(frame, form):
    frame.iloc[7, 1] = None
    table = {"frame": frame, "array": frame.to_numpy(), "list": frame.to_numpy().tolist()}[form]
    with pytest.raises(Refusal, match=r"column [1y]; first in row 7.*linkshift.prepare\(table\)"):
        linkshift.cluster(table)
    assert linkshift.cluster(linkshift.prepare(table)).n_clusters >= 1


def test_text_names_the_remedy(frame):
    table = frame.assign(colour="red", day=pd.Timestamp("2020-01-01"))
    with pytest.raises(Refusal, match=r"2 columns.*colour \(text\), day \(date\).*prepare"):
        linkshift.cluster(table)
    with pytest.raises(Refusal, match="text among its numbers"):
        linkshift.cluster([["a", 1.0], ["b", 2.0]])


def test_a_frame_of_sparse_columns_is_sparse(X):
    from scipy import sparse

    matrix = sparse.random(N, 40, 0.2, format="csr", random_state=0)
    names = [f"s{i}" for i in range(N)]
    frame = pd.DataFrame.sparse.from_spmatrix(matrix, index=names)
    with pytest.warns(Advice, match="truncated singular value"):
        found = linkshift.cluster(frame, Links(must=[("s0", "s1")]), n_clusters=2)
    with pytest.warns(Advice, match="truncated singular value"):
        expected = linkshift.cluster(matrix, Links(must=[(0, 1)]), n_clusters=2)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.labels.index.tolist() == names
    np.testing.assert_array_equal(found.predict(frame), found.labels)
    mixed = pd.DataFrame({"x": X[:, 0], "y": pd.arrays.SparseArray(X[:, 1])})
    np.testing.assert_allclose(linkshift.prepare(mixed, scale="none").X, X)


@pytest.mark.parametrize("form", [list, np.array, pd.Series, lambda t: np.array(t, dtype=object)])
def test_texts_are_to_be_embedded_first(form):
    with pytest.raises(Refusal, match=r"list of texts.*TfidfVectorizer.*texts_and_cells"):
        linkshift.cluster(form([f"a text, number {i}" for i in range(60)]))
    with pytest.raises(Refusal, match=r"Nothing is left.*TfidfVectorizer.*texts_and_cells"):
        linkshift.prepare(pd.DataFrame({"text": [f"a text, number {i}" for i in range(60)]}))


def test_ids_of_a_table_without_index(frame):
    polars = pytest.importorskip("polars")
    links = Links(must=[("s0", "s1")], cannot=[("s0", "s30")])
    table = polars.DataFrame({"name": frame.index.tolist(), "x": frame["x"], "y": frame["y"]})
    with pytest.raises(Refusal, match=r"table.drop\('name'\), Links\(\.\.\., ids=table"):
        linkshift.cluster(table, links)
    with pytest.raises(Refusal, match="If it names rows") as refused:
        linkshift.cluster(table.to_pandas(), links)
    assert "table.set_index('name')" in str(refused.value)
    with pytest.raises(Refusal, match=r"Give Links\(\.\.\., ids=table\['id'\]\)") as refused:
        linkshift.cluster(table.drop("name"), links)
    assert "set_index" not in str(refused.value)
    with pytest.raises(TypeError, match=r"of the command.*Links\(\.\.\., ids=table\['name'\]\)"):
        linkshift.cluster(table, links, id_column="name")
    # What is advised works.
    by_id = Links(must=[("s0", "s1")], cannot=[("s0", "s30")], ids=table["name"])
    found = linkshift.cluster(table.drop("name"), by_id, n_clusters=3)
    again = linkshift.cluster(table.drop("name"), links.resolve(table["name"]), n_clusters=3)
    np.testing.assert_array_equal(found.labels, again.labels)


def test_lists_of_another_length_as_text(X):
    cells = [str(row.tolist()) for row in X]
    cells[5], cells[9] = "[1, 2, 3]", "[1]"
    table = pd.DataFrame({"embedding": cells})
    with pytest.raises(Refusal, match=r"another length than 2: rows 5, 9\. Correct") as told:
        linkshift.cluster(table)
    assert "prepare" not in str(told.value)
