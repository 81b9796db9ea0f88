"""Preparation: what is done to a table, that it is said, and that it is done again."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import linkshift
from linkshift import Preparation, prepare
from linkshift._core.messages import Advice, Refusal

N = 90


@pytest.fixture
def table():
    """Three groups, in a table as people have it."""
    rng = np.random.default_rng(0)
    group = np.arange(N) % 3
    frame = pd.DataFrame(
        {
            "customer_id": rng.permutation(10 * N)[:N],
            "name": [f"person {i}" for i in range(N)],
            "age": 20.0 + 20 * group + rng.normal(size=N),
            "income": np.exp(8 + 2 * group + rng.normal(size=N)),
            "city": np.array(["Rome", "Oslo", "Bonn"])[group],
            "member": group == 1,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(group * 100, unit="D"),
            "unit": "cm",
            "nothing": None,
        },
        index=[f"r{i}" for i in range(N)],
    )
    frame.loc[["r3", "r8"], "age"] = None
    frame.loc["r5", "city"] = None
    return frame


def test_what_a_person_would_do(table):
    prepared = prepare(table)
    said = "\n".join(prepared.said)
    assert "customer_id: left out, it names rows" in said
    assert "name: left out, it has 90 different texts in 90 rows" in said
    assert "age: 2 missing, filled with the median" in said
    assert "income: logarithm" in said
    assert "city: a column for each of its 3 values; 1 missing, filled with the most" in said
    assert "unit: left out, it is 'cm' everywhere" in said
    assert "nothing: left out, it is empty" in said
    assert "3 columns of numbers scaled: mean 0, spread 1." in said
    assert prepared.columns[:4] == ["age", "age is missing", "income", "city=Oslo"]
    assert prepared.columns[-3:] == ["city is missing", "member", "since"]
    X = dict(zip(prepared.columns, prepared.X.T, strict=True))
    for name in ("age", "income", "since"):
        assert abs(X[name].mean()) < 1e-12
        assert abs(X[name].std() - 1) < 1e-12
    assert set(X["member"]) == {0.0, 1.0}
    assert np.flatnonzero(X["age is missing"] == 0.5).tolist() == [3, 8]
    assert set(X["age is missing"]) == set(X["city is missing"]) == {0.0, 0.5}
    assert X["city=Rome"].sum() + X["city=Oslo"].sum() + X["city=Bonn"].sum() == N
    assert repr(prepared).startswith("<prepared: 90 rows, 9 columns>\n")


def test_clustered_and_predicted(table):
    prepared = prepare(table)
    found = linkshift.cluster(prepared, n_clusters=3)
    assert found.labels.index.equals(table.index)
    assert found.labels.groupby(np.arange(N) % 3).nunique().tolist() == [1, 1, 1]
    again = found.predict(table.sample(frac=1, random_state=0))
    pd.testing.assert_series_equal(again.loc[table.index], found.labels)
    with pytest.raises(Refusal, match="the table itself"):
        found.predict(prepared)
    np.testing.assert_array_equal(np.asarray(prepared), prepared.X)


def test_ids_of_a_table_that_was_prepared(table):
    plain = table.reset_index(drop=True)
    ids = plain["customer_id"].tolist()
    rows = json.loads(linkshift.Links(must=[(0, 1)]).to_json())
    text = json.dumps(rows | {"keyed_by": "id", "must": [[ids[0], ids[1]]]})
    found = linkshift.cluster(prepare(plain), linkshift.Links.read_json(text))
    assert found.links.must.tolist() == [[0, 1]]
    assert prepare(plain).ids == ids
    by_name = linkshift.Links(must=[("r0", "r1")])
    assert linkshift.cluster(prepare(table), by_name).links.must.tolist() == [[0, 1]]


def test_the_recipe_as_plain_data(table):
    recipe = prepare(table, pca=4).recipe
    again = Preparation.from_plain(json.loads(json.dumps(recipe.to_plain(), allow_nan=False)))
    np.testing.assert_array_equal(again.transform(table), recipe.transform(table))
    assert again.get_params() == recipe.get_params()
    assert again.said_ == recipe.said_
    assert again.get_feature_names_out().tolist() == ["pc0", "pc1", "pc2", "pc3"]


def changed(plain, path, value):
    plain = json.loads(json.dumps(plain))
    *way, last = path
    inner = plain
    for key in way:
        inner = inner[key]
    if value == "left out":
        del inner[last]
    else:
        inner[last] = value
    return plain


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["parameters", "pca"], -1),
        (["parameters", "more"], 1),
        (["steps"], []),
        (["steps"], 3),
        (["steps", 0], {}),
        (["steps", 0, "kind"], "number in words"),
        (["steps", 0, "fill"], "x"),
        (["steps", 0, "fill"], 1),
        (["steps", 0, "spread"], 0.0),
        (["steps", 0, "spread"], float("nan")),
        (["steps", 0, "missing"], False),
        (["steps", 2, "levels"], []),
        (["steps", 2, "levels"], ["a", "a"]),
        (["steps", 2, "levels", 0], 3),
        (["reduction", "axes"], [[1.0]]),
        (["reduction", "axes"], [[1.0], [2.0, 3.0]]),
        (["reduction", "mean"], ["a"]),
        (["reduction"], 7),
        (["said"], [3]),
        (["columns"], "left out"),
        (["n_columns"], 1.5),
    ],
)
def test_recipes_that_were_changed(table, path, value):
    plain = changed(prepare(table, pca=4).recipe.to_plain(), path, value)
    with pytest.raises(Refusal, match="no recipe"):
        Preparation.from_plain(plain)
    with pytest.raises(Refusal, match="no recipe"):
        Preparation.from_plain(None)


CELLS = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "1", "2.5"]))
NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(2, 12))
def test_rows_do_not_depend_on_each_other(data, n):
    """Whatever was learned, a row comes out the same alone, again, and after the file."""
    columns = {
        "words": data.draw(st.lists(CELLS, min_size=n, max_size=n)),
        "numbers": data.draw(st.lists(NUMBERS, min_size=n, max_size=n)),
        "flag": data.draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        "one": [[float(i), 1.0] for i in range(n)],
    }
    table = pd.DataFrame(columns)
    pca = data.draw(st.sampled_from([None, 1, 2]))
    recipe = Preparation(
        max_levels=data.draw(st.integers(1, 3)),
        scale=data.draw(st.sampled_from(["standard", "minmax", "none"])),
        pca=pca,
    )
    X = recipe.fit_transform(table)
    assert np.isfinite(X).all()
    assert X.shape == (n, len(recipe.get_feature_names_out()))
    again = Preparation.from_plain(json.loads(json.dumps(recipe.to_plain(), allow_nan=False)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)  # of cells that were taken as missing
        for row in (0, n - 1):
            alone = again.transform(table.iloc[[row]])
            np.testing.assert_array_equal(alone[0], X[row])
        np.testing.assert_array_equal(recipe.transform(table), X)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(2, 130), st.integers(0, 1000))
def test_components_of_a_row_alone(n, d, seed):
    """To the last bit, as many rows as may come with it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 2, d))
    recipe = Preparation(pca=min(n + 2, d, 3)).fit(X)
    out = recipe.transform(X)
    for row in range(n):
        np.testing.assert_array_equal(recipe.transform(X[[row]])[0], out[row])


def test_principal_components_from_fifty_columns_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 60)) + 0.01 * rng.normal(size=(200, 60))
    assert prepare(X[:, :49]).X.shape[1] == 49
    prepared = prepare(X)
    assert prepared.X.shape[1] <= 5
    assert "60 columns became" in prepared.said[-1]
    assert prepare(X, pca=None).X.shape[1] == 60
    assert prepare(X, pca=7).X.shape[1] == 7
    with pytest.raises(Refusal, match="pca=60 or fewer"):
        prepare(X, pca=61)
    with pytest.raises(ValueError, match="'pca' parameter"):
        prepare(X, pca=0)


def test_sparse():
    dense = np.random.default_rng(0).poisson(0.2, size=(60, 300)).astype(float)
    dense[:30, :20] += 3
    X = sparse.csr_array(dense)
    prepared = prepare(X, pca=5)
    assert prepared.X.shape == (60, 5)
    assert "truncated singular value decomposition" in prepared.said[0]
    U, s, _ = np.linalg.svd(dense, full_matrices=False)
    np.testing.assert_allclose(np.abs(prepared.X[:, 0]), np.abs(U[:, 0] * s[0]), rtol=1e-6)
    np.testing.assert_array_equal(prepared.recipe.transform(X[[7]])[0], prepared.X[7])
    with pytest.warns(Advice, match="truncated singular value decomposition"):
        found = linkshift.cluster(X, n_clusters=2)
    assert len(set(found.labels[:30])) == len(set(found.labels[30:])) == 1
    np.testing.assert_array_equal(found.predict(sparse.coo_array(dense)), found.labels)
    with pytest.raises(Refusal, match="toarray"):
        prepare(X, pca=None)
    with pytest.raises(Refusal, match="learned from a sparse matrix"):
        prepared.recipe.transform(dense)
    with pytest.raises(Refusal, match="learned from a table"):
        prepare(dense).recipe.transform(X)
    with pytest.raises(Refusal, match="knows 300"):
        prepared.recipe.transform(X[:, :9])
    again = Preparation.from_plain(json.loads(json.dumps(prepared.recipe.to_plain())))
    np.testing.assert_array_equal(again.transform(X), prepared.X)


def test_levels_beyond_the_cap():
    words = ["a"] * 9 + ["b"] * 5 + ["c"] * 3 + ["d"]
    prepared = prepare(pd.DataFrame({"w": words}), max_levels=2)
    assert prepared.columns == ["w=a", "w=b", "w=(other)"]
    assert "2 most frequent of 4 values, and one for the others (4 rows)" in prepared.said[0]
    assert prepared.recipe.transform(pd.DataFrame({"w": ["new"]})).tolist() == [[0, 0, 1]]


def test_new_words_are_told():
    recipe = prepare(pd.DataFrame({"w": ["a", "b", "a"], "n": [1, 2, 4]})).recipe
    with pytest.warns(Advice, match="w: 1 cell with new values, such as 'z'"):
        X = recipe.transform(pd.DataFrame({"w": ["z", "a"], "n": ["4", None]}))
    assert X[0, :2].tolist() == [0, 0]
    assert X[1, 2] == recipe.transform(pd.DataFrame({"w": ["a"], "n": [2]}))[0, 2]  # the median


def test_text_that_is_mostly_numbers():
    cells = [str(i) for i in range(20)]
    cells[7] = "oops"
    prepared = prepare(pd.DataFrame({"x": cells}))
    assert prepared.columns == ["x", "x is missing"]
    assert "1 cell no number ('oops'), taken as missing" in prepared.said[0]


def test_infinite_numbers():
    prepared = prepare(np.array([[1.0], [2.0], [np.inf], [1e200]]))
    assert "2 values infinite or too large" in prepared.said[0]
    assert np.isfinite(prepared.X).all()


@pytest.mark.parametrize(
    ("values", "logged"),
    [
        (np.exp(np.random.default_rng(0).normal(size=500) * 1.5), True),
        (1e-6 * np.exp(np.random.default_rng(0).normal(size=500) * 1.5), True),
        (np.random.default_rng(0).normal(size=500), False),
        (np.random.default_rng(0).uniform(size=500), False),
        ((np.arange(500) < 5).astype(float), False),  # a flag
        (np.random.default_rng(0).standard_t(1.5, size=500), True),
    ],
)
def test_heavy_tails(values, logged):
    said = " ".join(prepare(values[:, None]).said)
    assert ("logarithm" in said) == logged
    assert "logarithm" not in " ".join(prepare(values[:, None], log=False).said)


def test_lists_have_one_unit():
    vectors = np.random.default_rng(0).normal(size=(30, 4)) * [1, 2, 3, 4]
    frame = pd.DataFrame({"e": list(vectors.astype(np.float32)), "n": np.arange(30) ** 0.5})
    alone = prepare(frame[["e"]])
    assert alone.X.dtype == np.float32
    ratio = vectors / alone.X
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-5)
    cells = list(vectors)
    cells[3] = None
    gaps = prepare(frame.assign(e=cells))
    assert gaps.columns == ["e_0", "e_1", "e_2", "e_3", "e is missing", "n"]
    with pytest.raises(Refusal, match="held lists of 4 numbers, now 2"):
        alone.recipe.transform(frame.assign(e=list(vectors[:, :2])))


def test_columns_that_are_others_now():
    recipe = prepare(pd.DataFrame({"x": [1.0, 2.0, 4.0], "f": [True, False, True]})).recipe
    with pytest.raises(Refusal, match="lacks 1 column: f"):
        recipe.transform(pd.DataFrame({"x": [1.0]}))
    with pytest.warns(Advice, match=r"x: 1 cell no number \('a'\), taken as missing"):
        recipe.transform(pd.DataFrame({"x": ["a"], "f": [True]}))
    with pytest.warns(Advice, match="1 value infinite"):
        recipe.transform(pd.DataFrame({"x": [np.inf], "f": [True]}))
    with pytest.raises(Refusal, match="'x' held numbers, and now holds numbers in lists"):
        recipe.transform(pd.DataFrame({"x": [[1.0]], "f": [True]}))
    assert recipe.transform(pd.DataFrame({"x": [1.0], "f": ["True"]}))[0, 1] == 1


def test_numbers_that_seem_ids_are_told():
    numbers = np.random.default_rng(0).permutation(900)[:90]
    said = prepare(pd.DataFrame({"customer": numbers, "x": np.arange(90) % 7})).said
    assert said[0].startswith("customer: it only holds whole numbers that all differ, as ids do")


def test_nothing_is_left():
    with pytest.raises(Refusal, match="Nothing is left"):
        prepare(pd.DataFrame({"x": [1.0, 1.0], "id": [3, 9]}))


def test_a_transformer_of_scikit_learn(table):
    recipe = clone(Preparation(pca=3)).set_output(transform="pandas")
    out = recipe.fit_transform(table)
    assert out.index.equals(table.index)
    assert out.columns.tolist() == ["pc0", "pc1", "pc2"]
    assert "steps_" not in vars(clone(recipe))
    pd.testing.assert_frame_equal(recipe.transform(table), out)


def test_any_number_of_threads(table):
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(400, 300)))
    wide.columns = wide.columns.astype(str)
    with threadpool_limits(1):
        one = prepare(wide).X
    np.testing.assert_array_equal(prepare(wide).X, one)


def test_rows_of_a_sparse_matrix_without_entries_are_told():
    """All are one point, which makes a cluster of its own."""
    rng = np.random.default_rng(0)
    X = sparse.lil_matrix((60, 30))
    for row in range(60):
        X[row, rng.choice(10, size=4, replace=False) + 10 * (row % 2)] = 1.0
    whole = X.tocsr()
    X[[4, 9, 17]] = 0.0
    X = X.tocsr()
    X.data[X.indptr[20] : X.indptr[21]] = 0.0  # entries that say zero are none
    match = r"4 of 60 rows without entries .*rows 4, 9, 17, 20\..*getnnz"
    with pytest.warns(Advice, match=match):
        prepare(X, pca=5)
    with pytest.warns(Advice) as told:
        found = linkshift.cluster(X, n_clusters=3)
    assert sum("without entries" in str(one.message) for one in told) == 1
    with pytest.warns(Advice, match=r"1 of 10 rows without entries .*row 7\."):
        found.predict(X[10:20])
    prepare(whole, pca=5)


def test_zero_rows_of_an_embedding_are_told():
    """As those of a sparse matrix; in few columns, or among many zeros, they are nothing odd."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 24)) + np.repeat([[0.0], [4.0]], 30, axis=0)
    X[[4, 40]] = 0.0
    match = r"2 of 60 rows without entries, zero in all 24 columns: rows 4, 40\."
    with pytest.warns(Advice, match=match):
        found = linkshift.cluster(X)
    with pytest.warns(Advice, match=r"1 of 1 row without entries"):
        found.predict(np.zeros((1, 24)))
    table = pd.DataFrame({"embedding": list(X)})
    with pytest.warns(Advice) as told:
        found = linkshift.cluster(table)
    assert sum("without entries" in str(one.message) for one in told) == 1
    with pytest.warns(Advice, match=r"1 of 5 rows without entries"):
        found.predict(table[:5])
    with pytest.warns(Advice, match=match):
        prepare(table)
    linkshift.cluster(X[:, :19])
    linkshift.cluster(np.where(rng.random(X.shape) < 0.3, 0.0, X))
