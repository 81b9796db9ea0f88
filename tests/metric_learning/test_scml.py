"""SCML as users meet it: the metric, labels and links, limits, every refusal."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference import scml as twin
from threadpoolctl import threadpool_limits

from linkshift import Links
from linkshift.links import ConflictError
from linkshift.metric_learning import SCML, measuring
from linkshift.metric_learning.triplets import link_triplets

KINDS = ["global", "local"]


def mixture(n=90, d=4, classes=3, seed=0, noise=8.0):
    """Classes differ in the first two columns; the others are noise of larger spread."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d))
    X[:, :2] += 3.0 * np.random.default_rng(99).normal(size=(classes, 2))[y]
    X[:, 2:] *= noise
    return X, y


def xor(n=200, seed=0):
    """Which column tells the classes apart depends on the side."""
    rng = np.random.default_rng(seed)
    side, y = rng.integers(2, size=n), rng.integers(2, size=n)
    X = 8.0 * rng.normal(size=(n, 2))
    X[side == 0, 0] = 1.2 * y[side == 0] + 0.2 * rng.normal(size=int((side == 0).sum()))
    X[side == 1, 1] = 1.2 * y[side == 1] + 0.2 * rng.normal(size=int((side == 1).sum()))
    return np.column_stack((X, 40.0 * side + 0.2 * rng.normal(size=n))), y


X, Y = mixture()
NEW, NEW_Y = mixture(seed=1)
LINKS = Links.sample(Y, 80, random_state=0)


def model(kind="global", **parameters):
    return SCML(kind, **{"n_bases": 60, "random_state": 0, "max_iter": 40, **parameters})


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    return model(request.param).fit(X, Y)


# The metric


def test_metric_and_components_are_those_of_the_bases():
    fitted = model().fit(X, Y)
    np.testing.assert_allclose(fitted.metric_, twin.metric(fitted.weights_, fitted.bases_))
    np.testing.assert_allclose(fitted.components_.T @ fitted.components_, fitted.metric_)
    assert (fitted.weights_ > 0).all()
    assert len(fitted.bases_) <= fitted.n_bases_ <= 60
    np.testing.assert_allclose(np.linalg.norm(fitted.bases_, axis=1), 1.0)
    np.testing.assert_allclose(fitted.transform(NEW), NEW @ fitted.components_.T)


def test_weights_and_metrics_at_rows_are_the_formula():
    local = model("local").fit(X, Y)
    Z = local.embedding_.transform(NEW - X.mean(axis=0))
    A, c = local.coefficients_[:, :-1], local.coefficients_[:, -1]
    for row, z, weights, metric in zip(
        NEW, Z, local.weights_at(NEW), local.metric_at(NEW), strict=True
    ):
        expected = [(a @ z + c_k) ** 2 for a, c_k in zip(A, c, strict=True)]
        np.testing.assert_allclose(weights, expected)
        np.testing.assert_allclose(metric, twin.metric(expected, local.bases_), atol=1e-12)
        np.testing.assert_allclose(local.metric_at(row[None])[0], metric, atol=1e-12)


def test_distances_are_by_the_metric_of_the_first_point(fitted):
    squared = fitted.distances(NEW[:8], X[:9])
    metrics = fitted.metric_at(NEW[:8])
    expected = [[twin.distance(x, y, M) for y in X[:9]] for x, M in zip(NEW, metrics, strict=False)]
    np.testing.assert_allclose(squared, expected, rtol=1e-9, atol=1e-9)
    assert (squared >= 0).all()
    assert np.abs(np.diag(fitted.distances(X[:5], X[:5]))).max() < 1e-9
    eigenvalues = np.linalg.eigvalsh(metrics)
    assert eigenvalues.min() > -1e-12 * eigenvalues.max()


def test_global_distances_are_those_after_transform():
    fitted = model().fit(X, Y)
    one, other = fitted.transform(NEW), fitted.transform(X)
    expected = ((one[:, None] - other) ** 2).sum(axis=2)
    np.testing.assert_allclose(fitted.distances(NEW, X), expected, atol=1e-9)


def test_chunks_do_not_show(fitted, monkeypatch):
    whole, score = fitted.distances(NEW, X), fitted.score(NEW, NEW_Y)
    monkeypatch.setattr(measuring, "_CHUNK", 200)
    np.testing.assert_allclose(fitted.distances(NEW, X), whole, atol=1e-9)
    assert fitted.score(NEW, NEW_Y) == score


@pytest.mark.parametrize("source", ["labels", "links", "unsure links"])
@pytest.mark.parametrize("kind", KINDS)
def test_objective_is_the_literal_one_and_no_higher_than_at_the_start(kind, source):
    weights = None
    if source == "labels":
        fitted = model(kind).fit(X, Y)
        triplets = twin.label_triplets(X, Y, 3, 10)
    else:
        links = LINKS
        if source == "unsure links":
            links = Links(LINKS.must, LINKS.cannot, must_confidence=[0.5] * len(LINKS.must))
        fitted = model(kind).fit(X, links=links)
        triplets = twin.link_triplets(X, links, 3, 10)
        _, weights = link_triplets(X, links).table()  # in the order of the literal ones
    metrics = dict(enumerate(fitted.metric_at(X)))
    if kind == "global":
        penalty = fitted.scale_**2 * fitted.weights_.sum()
    else:
        penalty = fitted.scale_ * np.linalg.norm(fitted.coefficients_, axis=1).sum()
    literal = twin.loss(X, triplets, metrics, weights) + fitted.beta * penalty
    assert fitted.objective_ == pytest.approx(literal, rel=1e-4)
    assert fitted.objective_ <= fitted.start_objective_
    assert fitted.n_triplets_ == len(triplets)


# What it is good for


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_learned_to_be_noise(kind):
    fitted = model(kind).fit(X, Y)
    metric = fitted.metric_at(X).mean(axis=0)
    assert np.diag(metric)[:2].min() > 5 * np.diag(metric)[2:].max()
    plain = KNeighborsClassifier(3).fit(X, Y).score(NEW, NEW_Y)
    assert fitted.score(NEW, NEW_Y) > plain + 0.05


def test_local_metrics_see_what_one_metric_cannot():
    X, y = xor()
    new, new_y = xor(seed=1)
    one = SCML(random_state=0).fit(X, y)
    local = SCML("local", random_state=0).fit(X, y)
    assert local.score(new, new_y) > one.score(new, new_y) + 0.02
    assert local.score(new, new_y) > 0.93
    first, second = (local.metric_at(new[(new[:, 2] > 20) == side]) for side in (False, True))
    assert np.median(first[:, 0, 0] / first[:, 1, 1]) > 3
    assert np.median(second[:, 1, 1] / second[:, 0, 0]) > 3


def test_score_is_the_accuracy_of_three_neighbours():
    fitted = model().fit(X, Y)
    vote = KNeighborsClassifier(3).fit(fitted.transform(X), Y)
    near = vote.kneighbors(fitted.transform(NEW), return_distance=False)
    expected = []
    for row in Y[near]:
        names, counts = np.unique(row, return_counts=True)
        expected.append(names[counts.argmax()] if counts.max() > 1 else row[0])
    assert fitted.score(NEW, NEW_Y) == np.mean(np.array(expected) == NEW_Y)


def test_score_of_links_is_the_share_of_triplets_that_hold(fitted):
    links = Links.sample(NEW_Y, 60, random_state=3)
    squared = fitted.distances(NEW, NEW)
    holds = [squared[i, j] < squared[i, k] for i, j, k in twin.link_triplets(NEW, links, 3, 10)]
    assert fitted.score(NEW, links=links) == pytest.approx(np.mean(holds), abs=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_links_teach_as_labels_do(kind):
    fitted = model(kind).fit(X, links=LINKS)
    metric = fitted.metric_at(X).mean(axis=0)
    assert np.diag(metric)[:2].min() > 2 * np.diag(metric)[2:].max()
    assert fitted.classes_ is None
    assert fitted.score(X, links=LINKS) > 0.9


def test_confidences_matter():
    sure = model().fit(X, links=LINKS)
    confidence = np.linspace(0.05, 1.0, len(LINKS.must))
    unsure = model().fit(X, links=Links(LINKS.must, LINKS.cannot, must_confidence=confidence))
    assert not np.allclose(sure.metric_, unsure.metric_)


def test_links_of_all_labels_have_the_triplets_of_labels():
    one, other = model().fit(X, Y), model().fit(X, links=Links.from_labels(Y))
    assert one.n_triplets_ == other.n_triplets_
    assert one.scale_ == pytest.approx(other.scale_)


# Laws


@pytest.mark.parametrize("kind", KINDS)
def test_the_unit_and_the_origin_of_the_data_do_not_matter(kind):
    one = model(kind).fit(X, Y)
    other = model(kind).fit(64.0 * X + 256.0, Y)
    np.testing.assert_allclose(other.objective_, one.objective_, rtol=0.02)
    assert abs(one.score(NEW, NEW_Y) - other.score(64.0 * NEW + 256.0, NEW_Y)) < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_metric_whatever_the_threads(kind):
    with threadpool_limits(limits=1):
        one = model(kind).fit(X, Y)
    with threadpool_limits(limits=2):
        other = model(kind).fit(X, Y)
    np.testing.assert_array_equal(one.bases_, other.bases_)
    assert one.objective_ == other.objective_
    np.testing.assert_array_equal(one.weights_at(NEW), other.weights_at(NEW))


def test_another_seed_is_another_run():
    one, other = (model(random_state=seed).fit(X, Y) for seed in (0, 1))
    assert one.objective_ != other.objective_
    assert one.objective_ == pytest.approx(other.objective_, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_fit_again_forgets(kind):
    estimator = model(kind).fit(NEW, links=Links.sample(NEW_Y, 50, random_state=1))
    again, fresh = estimator.fit(X, Y), model(kind).fit(X, Y)
    np.testing.assert_array_equal(again.weights_at(X), fresh.weights_at(X))
    assert again.score(NEW, NEW_Y) == fresh.score(NEW, NEW_Y)


def test_attributes_of_the_other_kind_go():
    estimator = model("global").fit(X, Y)
    assert not hasattr(estimator, "coefficients_")
    estimator.set_params(kind="local").fit(X, Y)
    assert not hasattr(estimator, "weights_")
    assert not hasattr(estimator, "metric_")
    estimator.set_params(kind="global").fit(X, Y)
    assert not hasattr(estimator, "embedding_")


# Limits


@pytest.mark.parametrize("kind", KINDS)
def test_float32(kind):
    fitted = model(kind).fit(X.astype(np.float32), Y)
    reference = model(kind).fit(X, Y)
    assert fitted.score(NEW.astype(np.float32), NEW_Y) == pytest.approx(
        reference.score(NEW, NEW_Y), abs=0.05
    )
    if kind == "global":
        assert fitted.transform(NEW.astype(np.float32)).dtype == np.float32
        assert fitted.transform(NEW).dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("data", "labels"),
    [
        (np.repeat(X[:20], 3, axis=0), np.repeat(Y[:20], 3)),
        (np.column_stack((X, np.full(90, 7.0))), Y),
        (np.column_stack((X, X[:, 0] + X[:, 1])), Y),
        (X[:7], Y[:7]),
        (X[:, :1], Y),
        (X, np.where(np.arange(90) == 0, 9, Y)),
        (X[:3], np.array([0, 0, 1])),
        (np.random.default_rng(0).normal(size=(12, 30)), np.arange(12) % 2),
    ],
    ids=[
        "duplicates",
        "constant column",
        "rank deficient",
        "few rows",
        "one column",
        "class of one row",
        "three rows",
        "more columns than rows",
    ],
)
def test_awkward_data(kind, data, labels):
    fitted = model(kind).fit(data, labels)
    assert np.isfinite(fitted.metric_at(data)).all()
    assert np.isfinite(fitted.distances(data, data)).all()
    assert 0 <= fitted.score(data, labels) <= 1
    assert fitted.objective_ <= fitted.start_objective_
    if kind == "global":
        assert fitted.transform(data).shape == (len(data), len(fitted.components_))
        assert len(fitted.components_) <= np.linalg.matrix_rank(fitted.bases_)


def test_constant_columns_do_not_count():
    fitted = model().fit(np.column_stack((X, np.full(90, 7.0))), Y)
    np.testing.assert_allclose(fitted.metric_[-1], 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_beta_that_leaves_nothing_warns(kind):
    with pytest.warns(UserWarning, match="smaller beta"):
        fitted = model(kind, beta=1e6).fit(X, Y)
    assert not fitted.metric_at(X).any()
    assert not fitted.distances(X, X).any()


def test_embedding_dimension_is_capped():
    fitted = model("local", embedding_dimension=500).fit(X[:30], Y[:30])
    assert fitted.coefficients_.shape[1] <= 30


def test_auto_number_of_bases():
    for columns, classes, expected in ((4, 2, 200), (4, 5, 400), (60, 5, 800)):
        data, labels = mixture(n=400, d=columns, classes=classes)
        estimator = SCML(random_state=0, max_iter=1).fit(data, labels)
        assert estimator._n_bases() == expected
        assert estimator.n_bases_ <= expected


# Refusals


def test_labels_or_links_but_not_both_and_not_neither():
    with pytest.raises(ValueError, match="requires y to be passed"):
        SCML().fit(X)
    with pytest.raises(ValueError, match="Both y and links"):
        SCML().fit(X, Y, links=LINKS)
    with pytest.raises(TypeError, match="write links="):
        SCML().fit(X, LINKS)


def test_continuous_labels_raise():
    with pytest.raises(ValueError, match="continuous"):
        SCML().fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("labels", "message"), [(np.zeros(20), "one class only"), (np.arange(20), "one row only")]
)
def test_labels_without_triplets(labels, message):
    with pytest.raises(ValueError, match=message):
        SCML().fit(X[:20], labels)


def test_links_without_triplets_out_of_range_or_in_conflict():
    with pytest.raises(ValueError, match="No row has both"):
        SCML().fit(X, links=Links(must=[(0, 1)], cannot=[(2, 3)]))
    with pytest.raises(IndexError):
        SCML().fit(X, links=Links(must=[(0, 1)], cannot=[(0, 90)]))
    with pytest.raises(ConflictError):
        SCML().fit(X, links=Links(must=[(0, 1)], cannot=[(0, 1)]))


def test_rows_that_are_all_alike_raise():
    with pytest.raises(ValueError, match="alike"):
        SCML().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("option", [{"embedding_dimension": 5}, {"embedding_sigma": 1.0}])
def test_options_of_the_other_kind_raise(option):
    with pytest.raises(ValueError, match="is for kind='local'"):
        SCML(**option).fit(X, Y)


@pytest.mark.parametrize(
    "option",
    [
        {"kind": "both"},
        {"n_bases": 0},
        {"n_targets": 0},
        {"n_impostors": 0},
        {"beta": -1.0},
        {"embedding_dimension": 0},
        {"embedding_sigma": 0.0},
        {"max_iter": 0},
        {"batch_size": "all"},
        {"tol": -1.0},
        {"progress": 3},
    ],
)
def test_options_out_of_range_raise(option):
    with pytest.raises(ValueError, match="parameter of SCML"):
        SCML(**option).fit(X, Y)


def test_a_local_metric_has_no_transform():
    fitted = model("local").fit(X, Y)
    for name in ("transform", "fit_transform", "get_feature_names_out", "set_output"):
        assert not hasattr(fitted, name)
    with pytest.raises(AttributeError, match="transform"):
        fitted.transform(X)


def test_scores_that_cannot_be():
    fitted = model().fit(X, links=LINKS)
    with pytest.raises(ValueError, match="learned from links"):
        fitted.score(X, Y)
    for arguments in ({}, {"y": Y, "links": LINKS}):
        with pytest.raises(ValueError, match="either y or links"):
            fitted.score(X, **arguments)
    with pytest.raises(ValueError, match="one class for each"):
        model().fit(X, Y).score(X, Y[:5])
    with pytest.raises(NotFittedError):
        SCML().distances(X, X)


# A scikit-learn estimator


def test_options_have_an_effect():
    plain = model("local").fit(X, Y)
    for option in (
        {"n_bases": 30},
        {"n_targets": 1},
        {"n_impostors": 2},
        {"beta": 1e-2},
        {"embedding_dimension": 3},
        {"embedding_sigma": 9.0},
        {"max_iter": 3},
        {"batch_size": 50},
    ):
        other = model("local", **option).fit(X, Y)
        assert other.objective_ != plain.objective_, option


def test_a_large_tolerance_ends_sooner():
    soon, late = (model(max_iter=300, tol=tol).fit(X, Y).n_iter_ for tol in (0.5, 0.0))
    assert soon < late == 300


@pytest.mark.parametrize("kind", KINDS)
def test_progress_is_told(kind):
    seen = []
    fitted = model(kind, progress=lambda *pair: seen.append(pair), max_iter=4, tol=0.0).fit(X, Y)
    total = 4 if kind == "global" else 8
    assert seen == [(done + 1, total) for done in range(total)] + [(total, total)]
    assert fitted.n_iter_ == total


def test_pipeline_names_and_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), model(), KNeighborsClassifier(3)).fit(frame, Y)
    assert pipeline.score(frame, Y) > 0.9
    fitted = model().set_output(transform="pandas").fit(frame, Y)
    names = [f"scml{i}" for i in range(len(fitted.components_))]
    assert list(fitted.get_feature_names_out()) == names
    assert list(fitted.transform(frame).columns) == names


def test_links_are_routed():
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model().set_fit_request(links=True))
        pipeline.fit(X, links=LINKS)
    expected = model().fit(StandardScaler().fit_transform(X), links=LINKS)
    np.testing.assert_array_equal(pipeline[-1].metric_, expected.metric_)


def test_clones_and_pickles(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.distances(NEW, X), fitted.distances(NEW, X))


def test_string_labels_and_minus_one():
    names = np.array(["x", "y", "z"])[Y]
    assert model().fit(X, names).score(NEW, np.array(["x", "y", "z"])[NEW_Y]) > 0.7
    assert list(model().fit(X, Y - 1).classes_) == [-1, 0, 1]
