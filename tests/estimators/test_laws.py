"""What every estimator and baseline promises, whatever it does in between."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.variants import (
    CLUSTERERS,
    TRUE,
    VARIANTS,
    differ,
    outcome,
    quiet_fit,
    two_blobs,
)
from tests.helpers import blobs, same_partition

from linkshift import Links

every_clusterer = pytest.mark.parametrize("name", CLUSTERERS)
every_estimator = pytest.mark.parametrize("name", VARIANTS)
with_links = pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.uses != "none"])
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def rough(n=60, seed=0):
    """Blobs that overlap, a bandwidth, and links that they bear out."""
    X, y = blobs(n, 3, std=3.0, seed=seed)
    return X, 4.0, Links.sample(y, n // 3, random_state=seed)


def of_kind(name, links):
    """Links that the variant uses; so few must-links that a projection leaves something."""
    if VARIANTS[name].uses == "must":
        return Links(must=links.must[:1])
    return VARIANTS[name].usable(links)


def fitted(name, X, h, links, **parameters):
    variant = VARIANTS[name]
    model = variant.make(h, X.shape[1]).set_params(**parameters)
    return quiet_fit(model, variant.table(X, X), links=of_kind(name, links))


@cache
def model_of_rough_data(name, dtype=np.float64):
    """A fitted model that tests share; whoever changes it takes a copy."""
    X, h, links = rough()
    return fitted(name, X.astype(dtype), h, links)


# Labels ---------------------------------------------------------------------------------------


@both_dtypes
@every_clusterer
def test_training_rows_are_predicted_as_they_were_labelled(name, dtype):
    X = rough()[0].astype(dtype)
    model = model_of_rough_data(name, dtype)
    np.testing.assert_array_equal(model.predict(CLUSTERERS[name].table(X, X)), model.labels_)


@every_clusterer
def test_equal_rows_that_links_part_are_predicted_as_they_were_labelled(name):
    """All rows of the fit get its labels; a row by itself that of the first equal one."""
    X, h, _ = rough()
    X[1::2] = X[::2]
    links = Links(cannot=[(0, 1), (2, 3), (40, 41)])
    variant = CLUSTERERS[name]
    model = variant.make(h, X.shape[1])
    try:
        quiet_fit(model, variant.table(X, X), links=variant.usable(links))
    except ValueError:  # of what takes must-links only, or metrics of equal rows
        return
    np.testing.assert_array_equal(model.predict(variant.table(X, X)), model.labels_)
    if name not in OF_MATRICES:
        assert model.predict(X[1:2]) == model.labels_[0]


@every_estimator
def test_what_becomes_of_the_data_after_the_fit_does_not_matter(name):
    X, h, links = rough()
    variant, new = VARIANTS[name], rough(seed=1)[0]
    table = variant.table(X.copy(), X)
    model = quiet_fit(variant.make(h, X.shape[1]), table, links=of_kind(name, links))
    before = outcome(variant, model, X, new)
    table[:] = 17.0
    assert not differ(before, outcome(variant, model, X, new))


# Of distances and kernel values, those of equal rows differ by rounding.
OF_MATRICES = ["Kernel precomputed", "Groups, distances"]
OF_ROWS = [name for name in CLUSTERERS if name not in OF_MATRICES]


@both_dtypes
@pytest.mark.parametrize("name", OF_ROWS)
def test_a_row_is_known_whatever_the_sign_of_its_noughts(name, dtype):
    X, h, links = rough()
    X = X.astype(dtype)
    X[::4, 1] = 0.0
    X[::8, 1] = -0.0
    model = fitted(name, X, h, links)
    turned = np.where(X == 0.0, -X, X)
    assert (np.signbit(turned) != np.signbit(X)).any()
    np.testing.assert_array_equal(model.predict(turned), model.labels_)


@both_dtypes
@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_that_are_equal_are_predicted_alike(name, dtype):
    X, h, links = rough()
    X = X.astype(dtype)
    X[40:] = X[:20]
    first = links.take(np.arange(40))  # for 40 rows, and X has more
    model = fitted(name, X, h, Links(first.must, first.cannot))
    found = model.predict(X[:59])  # of all, equal rows that links part would get their own
    np.testing.assert_array_equal(found[40:], found[:19])
    np.testing.assert_array_equal(found[:40], model.labels_[:40])


@every_clusterer
def test_labels_are_numbers_without_gaps(name):
    model = model_of_rough_data(name)
    assert model.labels_.dtype == np.int64
    assert set(model.labels_.tolist()) - {-1} == set(range(model.n_clusters_))


BY_CHANCE = [
    name
    for name in CLUSTERERS
    if name.startswith(
        (
            *("Kernel landmarks", "Metric", "Groups", "KMeans", "PCK", "MPCK", "Refined k"),
            *("COPK", "Seeded", "Spectral"),
        )
    )
    and name != "Metric matrix"
]
# Where links settle labels, or make them hold, rows are visited one after the other.
ROW_BY_ROW = ["CMS", "CMS growing", "CMS refine=None", "CMS enforce=False", "CMS blurring, flat"]
ROW_BY_ROW += ["Refined", "Refined by links", "Kernel learn", "CDBSCAN", "CDBSCAN, leaves"]
ROW_BY_ROW += ["MeanShift skipping"]  # and where rows near the path of another take its mode


def assert_order_does_not_matter(name, X, h, links, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    here = fitted(name, X, h, links)
    there = fitted(name, X[order], h, links.take(order))
    assert same_partition(here.labels_[order], there.labels_)


@pytest.mark.parametrize("name", [n for n in CLUSTERERS if n not in BY_CHANCE + ROW_BY_ROW])
@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_rows_does_not_matter(name, seed):
    X, h, links = rough(seed=seed)
    if VARIANTS[name].uses == "must":
        links = Links(must=links.must[:1])
    assert_order_does_not_matter(name, X, h, links, seed)


@pytest.mark.parametrize("name", [n for n in CLUSTERERS if n not in BY_CHANCE])
def test_the_order_of_rows_does_not_matter_where_clusters_are_clear(name):
    X, h = two_blobs(3)
    assert_order_does_not_matter(name, X, h, TRUE, seed=0)


@pytest.mark.parametrize(
    "name", [n for n, v in CLUSTERERS.items() if "n_jobs" in v.make(1.0, 3).get_params()]
)
def test_any_number_of_threads_gives_the_same_labels(name):
    X, h, links = rough(120)
    one, two = (fitted(name, X, h, links, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    table = CLUSTERERS[name].table(X + 0.1, X)
    np.testing.assert_array_equal(one.predict(table), two.predict(table))
    for attribute in ("cluster_centers_", "shifted_", "bandwidth_"):
        if hasattr(one, attribute):
            np.testing.assert_array_equal(getattr(one, attribute), getattr(two, attribute))


@both_dtypes
@every_clusterer
def test_centres_have_the_type_of_the_data(name, dtype):
    model = model_of_rough_data(name, dtype)
    names = ["cluster_centers_"] + ["shifted_"] * name.startswith("CMS")
    for attribute in names:
        if hasattr(model, attribute):
            assert getattr(model, attribute).dtype == dtype


# State ----------------------------------------------------------------------------------------


def seen(name, model, X):
    """What users see of a fitted model."""
    found = outcome(VARIANTS[name], model, X, X + 0.1)
    return {**found, "n_features_in_": np.array(model.n_features_in_)}


def out_of_range(name):
    """A parameter with a value that it cannot have."""
    for beginning, change in {
        "Refined": {"penalty": -1.0},
        "SCML": {"beta": -1.0},
        "PCK": {"weight": -1.0},
        "MPCK": {"weight": -1.0},
        "Consensus": {"max_rows": 0},
        "CDBSCAN": {"eps": 0.0},
        "Spectral": {"n_init": 0},
    }.items():
        if name.startswith(beginning):
            return change
    return {"max_iter": 0}


@every_estimator
def test_a_bad_parameter_leaves_the_earlier_fit(name):
    X, model = rough()[0], deepcopy(model_of_rough_data(name))
    before, change, good = seen(name, model, X), out_of_range(name), model.get_params()
    other = X[:, :2]
    with pytest.raises(ValueError, match=f"'{next(iter(change))}' parameter"):
        model.set_params(**change).fit(VARIANTS[name].table(other, other))
    model.set_params(**{key: good[key] for key in change})
    assert not differ(seen(name, model, X), before)


CONTRADICTION = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)])
BEYOND = Links(must=[(0, 1000)], cannot=[(0, 5)])
WEIGH_LINKS = ["MeanShift by links", "Refined", "Refined k-means", "Refined by links"]


def assert_a_failed_fit_leaves_the_earlier_one(name, other, **given):
    X, model = rough()[0], deepcopy(model_of_rough_data(name))
    before = seen(name, model, X)
    with pytest.raises(ValueError, match=r"."):
        quiet_fit(model, VARIANTS[name].table(other, other), **given)
    assert not differ(seen(name, model, X), before)


@pytest.mark.parametrize("name", [n for n in VARIANTS if n not in WEIGH_LINKS])
def test_links_that_contradict_each_other_leave_the_earlier_fit(name):
    other = 2.0 * rough()[0][::-1] + 5.0
    assert_a_failed_fit_leaves_the_earlier_one(name, other, links=CONTRADICTION)


@every_estimator
def test_links_out_of_range_leave_the_earlier_fit(name):
    other = 2.0 * rough()[0][::-1] + 5.0
    assert_a_failed_fit_leaves_the_earlier_one(name, other, links=BEYOND)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_failed_fit_on_other_columns_leaves_the_earlier_one(name):
    other = rough()[0][:50, :2]
    assert_a_failed_fit_leaves_the_earlier_one(name, other, links=BEYOND)


@every_estimator
def test_fit_writes_to_no_parameter_and_a_clone_is_not_fitted(name):
    X, h, links = rough()
    model = VARIANTS[name].make(h, 3)
    before = model.get_params()
    quiet_fit(model, VARIANTS[name].table(X, X), links=of_kind(name, links))
    after = model.get_params()
    assert before.keys() == after.keys()
    assert all(before[key] is after[key] for key in before)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not [key for key in vars(copy) if key.endswith("_")]


@every_estimator
def test_a_copy_by_pickle_is_the_same_model(name):
    X, model = rough()[0], model_of_rough_data(name)
    copy = pickle.loads(pickle.dumps(model))
    assert not differ(seen(name, copy, X), seen(name, model, X))


@pytest.mark.filterwarnings("ignore")  # by one filter for all threads
@every_estimator
def test_two_fits_at_once_are_as_one_after_the_other(name):
    problems = [rough(80, seed=seed) for seed in range(2)]

    def fit(problem):
        X, h, links = problem
        model = VARIANTS[name].make(h, 3)
        links = of_kind(name, links)
        given = {} if links is None else {"links": links}
        return seen(name, model.fit(VARIANTS[name].table(X, X), **given), X)

    expected = [fit(problem) for problem in problems]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(fit, problems))
    for one, other in zip(found, expected, strict=True):
        assert not differ(one, other)


# Metadata routing -----------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def in_a_pipeline(name, X, h, **given):
    """Fit behind a scaler that knows nothing of links."""
    model = VARIANTS[name].make(h, X.shape[1]).set_fit_request(**dict.fromkeys(given, True))
    pipe = make_pipeline(StandardScaler(), model)
    return quiet_fit(pipe, X, **given)[-1]


def assert_as_by_hand(name, X, h, **given):
    scaled = StandardScaler().fit_transform(X)
    by_hand = quiet_fit(VARIANTS[name].make(h, X.shape[1]), scaled, **given)
    routed = in_a_pipeline(name, X, h, **given)
    assert not differ(seen(name, routed, scaled), seen(name, by_hand, scaled))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "name", [n for n, v in VARIANTS.items() if v.uses != "none" and n not in OF_MATRICES]
)
def test_links_reach_the_last_step_of_a_pipeline(name):
    X, _, links = rough()
    assert_as_by_hand(name, X, 1.0, links=of_kind(name, links))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "name", [n for n, v in CLUSTERERS.items() if v.uses == "all" and n not in OF_MATRICES]
)
def test_partial_labels_reach_the_last_step_of_a_pipeline(name):
    X, h = two_blobs(3)
    known = np.full(len(X), -1)
    known[:6], known[20:26] = 0, 1
    assert_as_by_hand(name, X, h / 10.0, partial_labels=known)


@pytest.mark.usefixtures("routing")
@with_links
def test_links_that_nobody_asked_for_do_not_get_lost(name):
    if name == "MeanShift by links":
        pytest.skip("asks for links by itself: without them there is nothing to do")
    X, h, links = rough()
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="links"):
        make_pipeline(StandardScaler(), VARIANTS[name].make(h, 3)).fit(X, links=links)
