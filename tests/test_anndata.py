"""`linkshift.anndata.cluster`: what it goes by, and where it writes."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import linkshift
import linkshift.anndata
from linkshift import Links
from linkshift._core.messages import Advice, Refusal

N = 60
NAMES = [f"cell{i}" for i in range(N)]


@pytest.fixture(params=["stand-in", "anndata"])
def adata(request):
    """Three kinds of cells in 80 genes; the class itself where it is installed."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(N, 80)).astype(np.float32)
    for kind in range(3):
        X[kind * 20 : kind * 20 + 20, kind * 20 : kind * 20 + 20] += 4
    obs = pd.DataFrame({"batch": ["a", "b"] * 30}, index=NAMES)
    if request.param == "anndata":
        module = pytest.importorskip("anndata")
        return module.AnnData(sparse.csr_matrix(X), obs=obs)
    return SimpleNamespace(
        X=sparse.csr_matrix(X), obs=obs, obs_names=obs.index, obsm={}, uns={}, n_obs=N
    )


def groups_of(labels):
    return [len(set(labels[i : i + 20])) for i in (0, 20, 40)]


def test_counts(adata):
    with pytest.warns(Advice, match=r"adata.X holds counts.*use_rep"):
        found = linkshift.anndata.cluster(adata, n_clusters=3)
    assert groups_of(adata.obs["linkshift"]) == [1, 1, 1]
    assert adata.obs["linkshift"].cat.categories.tolist() == ["0", "1", "2"]
    assert found.labels.index.tolist() == NAMES
    told = adata.uns["linkshift"]
    assert (told["use_rep"], told["method"], told["n_clusters"]) == ("X", "consensus", 3)
    assert "truncated singular value decomposition" in told["prepared"][0]
    np.testing.assert_array_equal(found.predict(adata.X), found.labels)
    adata.X = adata.X.toarray()
    linkshift.anndata.cluster(adata, use_rep="X", n_clusters=3, key_added="dense")
    assert groups_of(adata.obs["dense"]) == [1, 1, 1]
    assert "principal components" in adata.uns["dense"]["prepared"][-1]


def test_a_representation(adata):
    rng = np.random.default_rng(1)
    adata.obsm["X_pca"] = np.repeat(np.eye(3) * 5, 20, axis=0) + rng.normal(scale=0.3, size=(N, 3))
    linkshift.anndata.cluster(adata)
    assert adata.uns["linkshift"]["use_rep"] == "X_pca"
    expected = linkshift.cluster(adata.obsm["X_pca"]).labels
    assert adata.obs["linkshift"].tolist() == [str(label) for label in expected]
    with pytest.raises(Refusal, match=r"no 'X_umap'.*It has X_pca"):
        linkshift.anndata.cluster(adata, use_rep="X_umap")


def test_links_and_labels(adata):
    adata.obsm["rep"] = np.repeat(np.eye(3) * 5, 20, axis=0) + np.arange(N)[:, None] * 1e-3
    links = Links(must=[("cell20", "cell40")], cannot=[("cell0", "cell20")])
    found = linkshift.anndata.cluster(adata, links, use_rep="rep", method="cms")
    assert found.labels["cell20"] == found.labels["cell40"] != found.labels["cell0"]
    assert adata.uns["linkshift"]["links"]["must_kept"] == 1
    with pytest.warns(Advice, match="sorted as when you answered"):
        linkshift.anndata.cluster(adata, Links(must=[(0, 1)]), use_rep="rep")
    adata.obs["known"] = pd.Categorical(["T"] * 2 + [None] * 38 + ["B"] * 2 + [None] * 18)
    found = linkshift.anndata.cluster(adata, use_rep="rep", partial_labels="known")
    assert len(found.links) == 6
    with pytest.raises(Refusal, match="no column 'type'"):
        linkshift.anndata.cluster(adata, partial_labels="type")


def test_what_is_no_anndata():
    with pytest.raises(TypeError, match="not an AnnData"):
        linkshift.anndata.cluster(np.eye(3))


def test_it_is_written_to_a_file(tmp_path):
    module = pytest.importorskip("anndata")
    adata = module.AnnData(np.repeat(np.eye(3) * 5, 20, axis=0), obs=pd.DataFrame(index=NAMES))
    linkshift.anndata.cluster(adata, Links(must=[("cell0", "cell1")]), use_rep="X")
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = module.read_h5ad(tmp_path / "a.h5ad")
    assert again.uns["linkshift"]["method"] == "consensus"
    assert again.obs["linkshift"].tolist() == adata.obs["linkshift"].tolist()


def test_a_view_gets_its_labels_without_a_warning():
    """Warnings are errors; what it is a view of stays as it was."""
    module = pytest.importorskip("anndata")
    X = np.repeat([0.0, 6.0], 20)[:, None] + np.random.default_rng(0).normal(size=(40, 3))
    whole = module.AnnData(X, obs=pd.DataFrame(index=[f"cell{i}" for i in range(40)]))
    part = whole[np.arange(40) % 2 == 0]
    assert part.is_view
    found = linkshift.anndata.cluster(part, n_clusters=2)
    assert part.obs["linkshift"].astype(int).tolist() == found.labels.tolist()
    assert part.uns["linkshift"]["n_clusters"] == 2
    assert "linkshift" not in whole.obs
    assert "linkshift" not in whole.uns


def test_new_rows_of_a_representation(adata):
    rng = np.random.default_rng(1)
    adata.obsm["X_my"] = rows = rng.normal(size=(N, 3))
    found = linkshift.anndata.cluster(adata, use_rep="X_my")
    assert found.columns == ("X_my_0", "X_my_1", "X_my_2")
    np.testing.assert_array_equal(found.predict(rows), found.labels)  # and no warning
    whole = SimpleNamespace(obs=adata.obs, var=None, obsm=adata.obsm)
    with pytest.raises(Refusal, match=r"AnnData object.*adata\.obsm\[key\]"):
        found.predict(whole)


def test_numbers_of_clusters_in_a_column(adata):
    linkshift.anndata.cluster(adata, use_rep="X", n_clusters=3)
    swapped = {"0": "2", "1": "0", "2": "1"}
    adata.obs["before"] = adata.obs["linkshift"].astype(str).map(swapped).astype("category")
    linkshift.anndata.cluster(adata, use_rep="X", n_clusters=3, labels_like="before")
    assert adata.obs["linkshift"].tolist() == adata.obs["before"].tolist()
    with pytest.raises(Refusal, match="holds other than numbers of clusters"):
        linkshift.anndata.cluster(adata, use_rep="X", labels_like="batch")
    with pytest.raises(Refusal, match="has no column 'befor'"):
        linkshift.anndata.cluster(adata, use_rep="X", labels_like="befor")
