"""Groups of rows that are apart, in every estimator: they hold, or are refused with a way out."""

import numpy as np
import pytest
from tests.estimators.variants import quiet_fit

from linkshift import (
    ConsensusClustering,
    ConstrainedMeanShift,
    KernelMeanShift,
    Links,
    MeanShift,
    PathMeanShift,
    RefinedClustering,
    baselines,
    cluster,
)
from linkshift._core.messages import Refusal


def photos(n_photos=60, n_people=5, seed=0):
    """Faces: two to four people in each photo, once each."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=3.0, size=(n_people, 4))
    who, photo = [], []
    for p in range(n_photos):
        people = rng.choice(n_people, size=rng.integers(2, 5), replace=False)
        who += people.tolist()
        photo += [p] * len(people)
    return centres[who] + rng.normal(size=(len(who), 4)), np.array(who), np.array(photo)


X, WHO, PHOTO = photos()
LINKS = Links.apart_within(PHOTO)


def assert_apart(labels, column=PHOTO):
    for value in np.unique(column):
        inside = labels[column == value]
        assert len(set(inside[inside >= 0].tolist())) == (inside >= 0).sum()


@pytest.mark.parametrize(
    "model",
    [
        ConsensusClustering(random_state=0),
        ConsensusClustering(random_state=0, max_rows=60),
        ConsensusClustering(n_clusters=6, random_state=0),
        ConstrainedMeanShift(),
        ConstrainedMeanShift(refine=None),
        ConstrainedMeanShift(max_pairs=40),
        RefinedClustering(MeanShift()),
        PathMeanShift(),
    ],
    ids=lambda model: repr(model)[:60],
)
def test_groups_hold(model):
    fitted = quiet_fit(model, X, links=LINKS)
    if not isinstance(model, PathMeanShift):  # which weighs links
        assert_apart(fitted.labels_)
    report = fitted.link_report_
    assert report.n_apart == len(LINKS.apart)
    assert len(fitted.links_.apart) == len(LINKS.apart)
    if hasattr(fitted, "explain"):
        assert fitted.explain(0, max_counterfactuals=1).label == fitted.labels_[0]


def test_groups_help():
    from sklearn.metrics import adjusted_rand_score

    without = adjusted_rand_score(WHO, ConsensusClustering(random_state=0).fit(X).labels_)
    found = cluster(X, LINKS + Links.sample(WHO, 30, random_state=0), random_state=0)
    assert adjusted_rand_score(WHO, found.labels) >= max(without, 0.8)
    assert f"groups {len(LINKS.apart)} of {len(LINKS.apart)} apart" in repr(found)


def test_methods_that_go_by_pairs_take_few_and_refuse_many():
    many = Links.apart_within(np.zeros(300))
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 2))
    for model in (KernelMeanShift(), PathMeanShift(), baselines.PCKMeans(3, random_state=0)):
        with pytest.raises(Refusal, match=r"44,850 pairs, more than 30,000. Use ConsensusClust"):
            model.fit(table, links=many)
    fitted = quiet_fit(ConstrainedMeanShift(), table, links=many)
    with pytest.raises(Refusal, match="one by one"):
        fitted.explain(0)


def test_answers_against_groups_are_set_aside():
    same = [tuple(np.flatnonzero(p == PHOTO)[:2].tolist()) for p in range(3)]
    with pytest.warns(UserWarning, match="3 links are set aside"):
        found = cluster(X, LINKS.add(must=same), random_state=0)
    assert_apart(found.labels)
    assert {tuple(pair) for pair in found.set_aside.must.tolist()} == set(same)


def test_cross_validation_cuts_groups():
    half = LINKS.take(np.arange(0, len(X), 2))
    quiet_fit(ConstrainedMeanShift(), X[::2], links=half)
    assert_apart(ConstrainedMeanShift().fit(X[::2], links=half).labels_, PHOTO[::2])


def test_a_source_of_thousands():
    """Two sources of 1,500 records: a million pairs each, of which none is ever written."""
    rng = np.random.default_rng(0)
    records = np.tile(rng.normal(size=(1500, 3)), (2, 1)) + rng.normal(scale=1e-3, size=(3000, 3))
    source = np.repeat(["here", "there"], 1500)
    links = Links.apart_within(source)
    assert links.closure().groups.n_pairs == 2 * 1500 * 1499 // 2
    for model in (
        RefinedClustering(MeanShift(bandwidth=0.05)),
        ConsensusClustering(max_rows=500, random_state=0),
    ):
        fitted = quiet_fit(model, records, links=links)
        assert_apart(fitted.labels_, source)
