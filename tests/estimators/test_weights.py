"""Weights of rows: a row of weight 2 is the row twice, in every estimator that takes weights.

Copies stand side by side. Weights are of rows that no link names: what holds the copies of linked
rows together is tested stage by stage, in tests/refinement/test_places.py.
"""

import warnings

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers import repeated, same_partition, some_links
from tests.reference import baselines as twin

import linkshift
from linkshift import (
    ConstrainedMeanShift,
    Links,
    MeanShift,
    PathMeanShift,
    RefinedClustering,
    model_files,
)
from linkshift._core.messages import Refusal
from linkshift.baselines import CDBSCAN, COPKMeans, MPCKMeans, PCKMeans, SeededKMeans

seeds = st.integers(0, 2**32 - 1)
CENTRES = np.array([[0.0, 0.0], [2.5, 2.5], [5.0, 5.0]])
AT = {"init": CENTRES, "n_init": 1, "random_state": 0}
# By name: how to make it, and whether it takes links.
MODELS = {
    "CMS": (lambda: ConstrainedMeanShift(n_jobs=1), True),
    "CMS refine=None": (lambda: ConstrainedMeanShift(refine=None, n_jobs=1), True),
    "CMS fixed": (lambda: ConstrainedMeanShift(bandwidth=0.2, n_jobs=1), True),
    "CMS full": (lambda: ConstrainedMeanShift(growth="full", n_jobs=1), True),
    "CMS blurring": (lambda: ConstrainedMeanShift(bandwidth=0.2, blurring=True, n_jobs=1), True),
    "CMS dust": (
        lambda: ConstrainedMeanShift(bandwidth=0.1, min_cluster_size=5, n_jobs=1),
        True,
    ),
    "CMS told": (lambda: ConstrainedMeanShift(max_clusters=4, n_jobs=1), True),
    "CMS cosine": (lambda: ConstrainedMeanShift(metric="cosine", n_jobs=1), True),
    "Refined": (lambda: RefinedClustering(MeanShift(n_jobs=1)), True),
    "Refined k-means": (lambda: RefinedClustering(KMeans(3, init=CENTRES, n_init=1)), True),
    "KMeans": (lambda: linkshift.KMeans(3, init=CENTRES, n_jobs=1), False),
    "KMeans, empty": (lambda: linkshift.KMeans(3, init=np.add(CENTRES, [1, 9]), n_jobs=1), False),
    "KMeans cosine": (
        lambda: linkshift.KMeans(3, init=np.add(CENTRES, [0.1, 9]), metric="cosine", n_jobs=1),
        False,
    ),
    "PCKMeans": (lambda: PCKMeans(3, **AT), False),
    "MPCKMeans": (lambda: MPCKMeans(3, **AT), False),
    "MPCKMeans, one metric": (lambda: MPCKMeans(3, metric="single", **AT), False),
    "COPKMeans": (lambda: COPKMeans(3, **AT), False),
    "CDBSCAN": (lambda: CDBSCAN(0.6, min_samples=4), True),
}


def make(seed, n=50, m=8, least=1):
    """Rows of three clusters, links, and whole weights, one for rows that links name."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    y[:3] = range(3)
    X = rng.normal(size=(n, 2)) * 0.8 + CENTRES[y]
    links = some_links(rng, n, m, classes=y)
    weight = rng.integers(least, 4, size=n)
    weight[np.unique(np.concatenate([links.must, links.cannot]))] = 1
    return X, links, weight


def fit(model, X, links, **more):
    """Fit in silence: what is told does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **({"links": links} if links is not None else {}), **more)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_weight_two_is_the_row_twice(name, seed):
    model, linked = MODELS[name]
    X, links, weight = make(seed, least=seed % 2)
    links = links if linked else None
    copies, same = repeated(weight, links)
    ours = fit(model(), X, links, sample_weight=weight)
    theirs = fit(model(), X[copies], same)
    assert same_partition(ours.labels_[copies], theirs.labels_)
    new = np.random.default_rng(seed).normal(size=(20, 2)) * 2.0 + 2.5
    both = [
        np.r_[ours.labels_[copies], ours.predict(new)],
        np.r_[theirs.labels_, theirs.predict(new)],
    ]
    assert same_partition(*both)


@settings(max_examples=10, deadline=None)
@given(seeds, st.booleans(), st.sampled_from([{}, {"bandwidth": 0.15}, {"growth": "full"}]))
def test_the_constrained_shift_counts_a_row_of_weight_two_twice(seed, blurring, options):
    X, links, weight = make(seed, n=30)
    copies, same = repeated(weight, links)
    options = {"refine": None, "blurring": blurring, "n_jobs": 1, **options}
    ours = fit(ConstrainedMeanShift(**options), X, links, sample_weight=weight)
    theirs = fit(ConstrainedMeanShift(**options), X[copies], same)
    assert len(ours.bandwidth_) == len(theirs.bandwidth_)
    np.testing.assert_allclose(ours.bandwidth_, theirs.bandwidth_, rtol=1e-12)
    # Trajectories that meet within 1e-5 bandwidths go on as one: rounding says which.
    np.testing.assert_allclose(ours.shifted_[copies], theirs.shifted_, atol=2e-3)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_weights_are_copies_that_must_links_hold_to_linked_rows(seed):
    # Where all links hold, whatever they cost, copies of linked rows can be told by must-links.
    X, links, weight = make(seed, n=30, m=5)
    weight = np.random.default_rng(seed).integers(1, 4, size=30)
    copies, tied = repeated(weight, links)
    centres = X[:3]  # one of each cluster
    options = {"init": centres, "n_init": 1, "random_state": 0}
    ours = fit(COPKMeans(3, max_iter=1, **options), X, links, sample_weight=weight)
    theirs = fit(COPKMeans(3, max_iter=1, **options), X[copies], tied)
    for model, rows in ((ours, X), (theirs, X[copies])):
        assert model.link_report_.violated_must.size + model.link_report_.violated_cannot.size == 0
        assert len(rows) == len(model.labels_)
    free = ~np.isin(np.arange(30), np.concatenate([links.must, links.cannot]))
    assert (ours.labels_[copies] == theirs.labels_)[free[copies]].all()


@pytest.mark.parametrize("constrained", [False, True])
def test_seeds_are_means_by_weight(constrained):
    rng = np.random.default_rng(0)
    X, known = rng.normal(size=(60, 2)) + np.repeat(CENTRES, 20, axis=0), np.full(60, -1)
    known[[0, 1, 20, 21, 40, 41]] = [0, 0, 1, 1, 2, 2]
    weight = rng.integers(1, 5, size=60)
    copies = np.repeat(np.arange(60), weight)
    model = SeededKMeans(3, constrained=constrained).fit(
        X, partial_labels=known, sample_weight=weight
    )
    seeds_of_copies = model.seeds_[copies]
    expected, centres = twin.seeded_kmeans(X[copies], seeds_of_copies, 3, constrained)
    np.testing.assert_array_equal(model.labels_[copies], expected)
    np.testing.assert_allclose(model.cluster_centers_, centres, atol=1e-12)


ALL = {**MODELS, "Seeded": (lambda: SeededKMeans(3, random_state=0), True)}


@pytest.mark.parametrize("name", ALL)
def test_weights_of_one_change_no_bit(name):
    model, linked = ALL[name]
    X, links, _ = make(1)
    links = links if linked else None
    plain, ones = fit(model(), X, links), fit(model(), X, links, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(plain.labels_, ones.labels_)
    for attribute in ("shifted_", "cluster_centers_", "objectives_", "inertia_", "bandwidth_"):
        if hasattr(plain, attribute):
            np.testing.assert_array_equal(getattr(plain, attribute), getattr(ones, attribute))


@pytest.mark.parametrize("name", [name for name in MODELS if "cosine" not in name])
def test_a_row_without_weight_follows_and_founds_nothing(name):
    model, linked = MODELS[name]
    X, links, weight = make(2)
    links = links if linked else None
    far = np.array([[30.0, -20.0], [2.6, 2.4], [30.1, -20.0]])
    ours = fit(model(), np.r_[X, far], links, sample_weight=np.r_[weight, 0, 0, 0])
    theirs = fit(model(), X, links, sample_weight=weight)
    assert same_partition(ours.labels_[:-3], theirs.labels_)
    assert ours.n_clusters_ == theirs.n_clusters_
    assert np.isin(ours.labels_[-3:], [*ours.labels_[:-3], -1]).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_below_one_and_any_number_of_threads(name, dtype):
    model, linked = ALL[name]
    X, links, _ = make(3)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=len(X))
    fits = []
    for n_jobs in (1, 2):
        one = model()
        if "n_jobs" in one.get_params():
            one.set_params(n_jobs=n_jobs)
        fits.append(fit(one, X.astype(dtype), links if linked else None, sample_weight=weight))
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    for attribute in ("shifted_", "cluster_centers_"):
        if hasattr(fits[0], attribute):
            assert getattr(fits[0], attribute).dtype == dtype
    assert fits[0].link_report_.violated_must.size == 0 or "PCK" in name or "Seed" in name


def test_certain_links_of_rows_without_weight_hold():
    X, links, _ = make(4, m=20)
    weight = np.ones(len(X))
    weight[links.cannot[:3].ravel()] = 0.0
    weight[links.must[:2].ravel()] = 0.0
    for model in (ConstrainedMeanShift(n_jobs=1), RefinedClustering(MeanShift(n_jobs=1))):
        report = fit(model, X, links, sample_weight=weight).link_report_
        assert report.violated_must.size + report.violated_cannot.size == 0


def test_refit_and_model_files_keep_the_weights(tmp_path):
    X, links, _ = make(5, m=30)
    weight = np.random.default_rng(5).uniform(0.0, 3.0, size=len(X))
    model = ConstrainedMeanShift(keep_history=True, n_jobs=1)
    fit(model, X, links, sample_weight=weight)
    more = links + Links(cannot=[(0, 1), (1, 2)])
    fresh = fit(ConstrainedMeanShift(n_jobs=1), X, more, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.refit(links=more)
    np.testing.assert_array_equal(model.labels_, fresh.labels_)
    np.testing.assert_allclose(model.shifted_, fresh.shifted_, atol=1e-9)
    model_files.save(model, tmp_path / "model")
    again = model_files.load(tmp_path / "model")
    new = X + 0.21
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.refit(links=more).labels_, model.labels_)


def test_what_links_take_goes_by_weight():
    # Nearly all weight around row 0 is of row 1, which the link does not reach.
    X = np.array([[0.0], [0.05], [1.0], [0.9]])
    links, taken = Links(cannot=[(0, 2)]), []
    for weight in ([1, 1, 1, 1], [1, 50, 1, 1]):
        model = ConstrainedMeanShift(bandwidth=0.8, kernel="gaussian", max_iter=1, n_jobs=1)
        explained = fit(model, X, links, sample_weight=weight).explain(0)
        taken.append(explained.links[0].share)
    assert taken[1] < taken[0]


def test_weights_are_routed():
    X, _, weight = make(6)
    with sklearn.config_context(enable_metadata_routing=True):
        step = ConstrainedMeanShift(bandwidth=0.2, n_jobs=1).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        found = make_pipeline(scaler, step).fit(X, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    direct = ConstrainedMeanShift(bandwidth=0.2, n_jobs=1).fit(scaled, sample_weight=weight)
    np.testing.assert_array_equal(found[-1].labels_, direct.labels_)


def test_a_clusterer_that_takes_no_weights_is_refused():
    X, links, weight = make(7)
    for inner in (AgglomerativeClustering(3), PathMeanShift()):
        with pytest.raises(Refusal, match=r"does not take sample_weight.*refine"):
            fit(RefinedClustering(inner), X, links, sample_weight=weight)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(49), "sample_weight"),
        (np.full(50, -1.0), "[Nn]egative"),
        (np.zeros(50), "Every sample weight is zero"),
    ],
)
def test_weights_that_are_none_raise(name, weight, words):
    X, _, _ = make(0)
    with pytest.raises(ValueError, match=words):
        fit(ALL[name][0](), X, None, sample_weight=weight)


@pytest.mark.parametrize("make_model", [PCKMeans, COPKMeans, SeededKMeans, linkshift.KMeans])
def test_more_clusters_than_rows_with_weight_raise(make_model):
    X, _, _ = make(0)
    with pytest.raises(ValueError, match="n_samples=2 with a weight above zero"):
        make_model(3).fit(X, sample_weight=np.r_[1.0, 2.0, np.zeros(48)])


@pytest.mark.parametrize(
    ("method", "options"), [("kmeans", {"n_clusters": 3}), ("mean-shift", {}), ("cms", {})]
)
def test_cluster_passes_weights_on(method, options):
    X, links, weight = make(8)
    X = X * [1.0, 40.0]  # columns of two units: their spreads go by weight
    copies, same = repeated(weight, links)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = linkshift.cluster(X, links, method=method, sample_weight=weight, **options)
        theirs = linkshift.cluster(X[copies], same, method=method, **options)
    assert same_partition(ours.labels[copies], theirs.labels)
    np.testing.assert_allclose(ours.scalings[0].spread, theirs.scalings[0].spread, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "consensus"}, {"method": "kernel"}, {"method": "groups", "n_clusters": 2}],
)
def test_cluster_refuses_weights_and_names_the_methods_that_take_them(options):
    X, _, weight = make(9)
    with pytest.raises(Refusal, match="'kmeans' or 'mean-shift' or 'cms'") as caught:
        linkshift.cluster(X, sample_weight=weight, **options)
    assert caught.value.parameter == "sample_weight"
    with pytest.raises(Refusal, match="rows have no weights"):
        linkshift.cluster(X, method="mean-shift", space="graph", sample_weight=weight)
