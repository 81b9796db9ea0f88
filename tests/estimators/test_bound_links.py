"""Links bound to an estimator: ``fit(X)`` uses them, copies and files keep them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.variants import VARIANTS, quiet_fit, two_blobs

import linkshift
from linkshift import ConstrainedMeanShift, Links, MeanShift, RefinedClustering, model_files
from linkshift._core.messages import Refusal

TRUE = Links(must=[(0, 7), (22, 31)], cannot=[(0, 22), (3, 33)], n_samples=40)
TAKES = [
    name
    for name, variant in VARIANTS.items()
    if variant.make(1.0, 2)._takes_links and variant.uses != "must" and name != "Metric matrix"
]


@pytest.mark.parametrize("name", TAKES)
def test_as_links_given_to_fit(name):
    variant = VARIANTS[name]
    X, h = two_blobs(2)
    table = variant.table(X, X)
    given = quiet_fit(variant.make(h, 2), table, links=TRUE)
    model = variant.make(h, 2).with_links(TRUE)
    bound = quiet_fit(model, table)
    for attribute in ("labels_", "components_"):
        if hasattr(given, attribute):
            np.testing.assert_array_equal(getattr(bound, attribute), getattr(given, attribute))
    assert repr(model.get_params()) == repr(variant.make(h, 2).get_params())
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copy._bound_links == TRUE
    assert clone(model.with_links(None))._bound_links is None


@pytest.mark.parametrize("model", [MeanShift(), linkshift.GraphMeanShift(), linkshift.KMeans()])
def test_those_that_take_none_bind_none(model):
    with pytest.raises(Refusal, match=r"does not use links. Bind them to ConstrainedMeanShift"):
        model.with_links(TRUE)


def test_a_copy_is_bound_and_says_so():
    model = ConstrainedMeanShift(n_neighbors=7)
    one, other = model.with_links(TRUE), model.with_links({"cannot": [(0, 1)]})
    assert model._bound_links is None
    assert other._bound_links == Links(cannot=[(0, 1)])
    assert repr(one) == f"ConstrainedMeanShift(n_neighbors=7).with_links({TRUE!r})"
    assert one.set_params(n_neighbors=5).n_neighbors == 5
    assert one._bound_links == TRUE


def test_links_in_two_places():
    X, _ = two_blobs(2)
    model = ConstrainedMeanShift().with_links(TRUE)
    model.fit(X, links=TRUE)
    with pytest.raises(Refusal, match=r"with_links has bound. Give them in one place"):
        model.fit(X, links=Links(cannot=[(0, 1)]))
    labelled = model.fit(X, partial_labels=np.repeat([0, 1], 20))
    assert len(labelled.links_) > len(TRUE)


def test_pipelines_without_routing():
    X, _ = two_blobs(2)
    pipeline = make_pipeline(StandardScaler(), ConstrainedMeanShift().with_links(TRUE))
    expected = ConstrainedMeanShift().fit(StandardScaler().fit_transform(X), links=TRUE).labels_
    np.testing.assert_array_equal(pipeline.fit_predict(X), expected)
    np.testing.assert_array_equal(clone(pipeline).fit_predict(X), expected)
    inner = RefinedClustering(ConstrainedMeanShift().with_links(TRUE))
    np.testing.assert_array_equal(inner.fit(X).estimator_.links_.must, TRUE.must)


def test_a_fold_is_refused():
    X, _ = two_blobs(2)
    model = ConstrainedMeanShift().with_links(TRUE)
    with pytest.raises(ValueError, match="or a subset of the data"):
        cross_validate(model, X, scoring=lambda *_: 0.0, cv=2, error_score="raise")


@pytest.mark.parametrize("groups", [False, True])
def test_model_files_keep_them(tmp_path, groups):
    X, _ = two_blobs(2)
    links = TRUE + Links.apart_within(np.arange(40) % 20) if groups else TRUE
    model = ConstrainedMeanShift().with_links(links).fit(X)
    model_files.save(model, tmp_path / "model.npz")
    loaded = model_files.load(tmp_path / "model.npz")
    assert loaded._bound_links == loaded.links_ == links
    assert loaded.link_report_.n_apart == len(links.apart)
    np.testing.assert_array_equal(clone(loaded).fit(X).labels_, model.labels_)
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)


def test_bertopic():
    bertopic = pytest.importorskip("bertopic")
    rng = np.random.default_rng(0)
    words = [["sea", "ship", "sail", "port"], ["bread", "oven", "flour", "crust"]]
    topic = np.repeat([0, 1], 40)
    texts = [" ".join(rng.choice(words[t], 6)) for t in topic]
    embeddings = np.eye(2)[topic] + rng.normal(scale=0.05, size=(80, 2))
    links = Links(must=[(0, 20), (41, 70)], cannot=[(0, 41), (5, 77)], n_samples=80)
    model = bertopic.BERTopic(
        embedding_model=bertopic.backend.BaseEmbedder(),
        umap_model=bertopic.dimensionality.BaseDimensionalityReduction(),
        hdbscan_model=ConstrainedMeanShift().with_links(links),
    )
    found, _ = model.fit_transform(texts, embeddings)
    assert len(set(found)) == 2
    assert all(len(set(np.array(found)[topic == t].tolist())) == 1 for t in (0, 1))


@pytest.mark.parametrize("how", ["fit", "bound", "dict"])
def test_links_by_id_are_found_in_the_index(how):
    """As `linkshift.cluster` finds them, whatever the order of the table."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(10, 2)), rng.normal(5, 1, size=(10, 2))])
    table = pd.DataFrame(X, index=[f"r{i}" for i in range(20)]).sample(frac=1, random_state=1)
    table.columns = ["x", "y"]
    links = Links(cannot=[("r0", "r19"), ("r1", "r2")], must=[("r0", "r5")])
    by_row = links.resolve(table.index)
    expected = ConstrainedMeanShift().fit(table.to_numpy(), links=by_row)
    model = ConstrainedMeanShift()
    if how == "bound":
        model = model.with_links(links).fit(table)
    elif how == "dict":
        given = {"must": links.must_ids, "cannot": links.cannot_ids}
        model = model.fit(table, links=given)
    else:
        model = model.fit(table, links=links)
    assert model.links_ == by_row
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_links_by_id_without_an_index_that_names_rows():
    links = Links(cannot=[("a", "b")])
    for X in (np.zeros((2, 1)), pd.DataFrame({"x": [0.0, 1.0]})):
        for model in (ConstrainedMeanShift(), ConstrainedMeanShift().with_links(links)):
            with pytest.raises(Refusal, match=r"keyed by id, such as 'a'.*set_index.*resolve"):
                model.fit(X, links=links)
    with pytest.raises(ValueError, match="'b' is not among the 2 sample ids"):
        ConstrainedMeanShift().fit(pd.DataFrame({"x": [0.0, 1.0]}, index=["a", "c"]), links=links)


@pytest.mark.parametrize("groups", [False, True])
def test_bound_links_by_id_in_files(groups, tmp_path):
    X, _ = two_blobs(2)
    table = pd.DataFrame(X, index=[f"r{i}" for i in range(len(X))], columns=["x", "y"])
    links = Links(cannot=[("r0", "r39")])
    if groups:
        links += Links.apart_within(pd.Series(np.arange(40) % 20, index=table.index))
    model = ConstrainedMeanShift().with_links(links).fit(table)
    model_files.save(model, tmp_path / "m.npz")
    again = model_files.load(tmp_path / "m.npz")
    assert again._bound_links == links
    np.testing.assert_array_equal(clone(again).fit(table).labels_, model.labels_)
