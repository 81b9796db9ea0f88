"""Links are never silently dropped: every estimator, kind of link and dimension.

Some libraries drop constraints in many dimensions or with some option, without a word. Here each
combination must change the outcome, or raise.
"""

import numpy as np
import pytest

from linkshift import ConstrainedMeanShift, Links, MeanShift

PER_BLOB = 20
KINDS = {
    "none": None,
    "must": Links(must=[(0, 25)]),
    "cannot": Links(cannot=[(3, 11)]),
    "both": Links(must=[(0, 25)], cannot=[(3, 11)]),
    "must, low confidence": Links(must=[(0, 25)], must_confidence=0.05),
    "cannot, low confidence": Links(cannot=[(3, 11)], cannot_confidence=0.05),
    "both, low confidence": Links(
        must=[(0, 25)], cannot=[(3, 11)], must_confidence=0.05, cannot_confidence=0.05
    ),
}
FEW_STEPS = {"scale_features": False, "max_iter": 15}
ESTIMATORS = {
    "MeanShift": lambda h: MeanShift(bandwidth=h),
    "MeanShift blurring": lambda h: MeanShift(bandwidth=h / 4, kernel="flat", blurring=True),
    "CMS": lambda h: ConstrainedMeanShift(bandwidth=h, **FEW_STEPS),
    "CMS growing": lambda h: ConstrainedMeanShift(**FEW_STEPS),
    "CMS refine=None": lambda h: ConstrainedMeanShift(bandwidth=h, **FEW_STEPS, refine=None),
    "CMS enforce=False": lambda h: ConstrainedMeanShift(bandwidth=h, **FEW_STEPS, enforce=False),
    "CMS of the paper": lambda h: ConstrainedMeanShift(
        bandwidth=h, **FEW_STEPS, refine=None, enforce=False
    ),
    "CMS blurring, flat": lambda h: ConstrainedMeanShift(
        bandwidth=h, **FEW_STEPS, blurring=True, kernel="flat"
    ),
}
# Nothing would look at these: they raise, and say what would.
REFUSED = {
    ("CMS refine=None", "must, low confidence"),
    ("CMS refine=None", "both, low confidence"),
    ("CMS of the paper", "must"),
    ("CMS of the paper", "must, low confidence"),
    ("CMS of the paper", "both, low confidence"),
}


def two_blobs(d):
    """Two blobs far apart, and a bandwidth that tells them apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * PER_BLOB, d))
    X[PER_BLOB:, 0] += 12.0 * np.sqrt(d)
    return X, 3.0 * np.sqrt(d)


def outcome(model, X, links):
    """What users see of a fit: labels, and the way of the rows."""
    if "keep_history" in model.get_params():
        model.set_params(keep_history=True)
    model.fit(X, links=links)
    # All steps: a doubtful link bends the way even if rows meet in the end.
    return model.labels_, getattr(model, "history_", [])


def differ(one, other):
    (labels, steps), (labels_then, steps_then) = one, other
    if not np.array_equal(labels, labels_then) or len(steps) != len(steps_then):
        return True
    return any(np.abs(a - b).max() > 1e-6 for a, b in zip(steps, steps_then, strict=True))


def combinations():
    for name in ESTIMATORS:
        for kind in KINDS:
            for d in (1, 3, 40):
                yield pytest.param(name, kind, d, id=f"{name}-{kind}-{d}")


@pytest.mark.filterwarnings("ignore:Without cannot-links")
@pytest.mark.parametrize(("name", "kind", "d"), list(combinations()))
def test_links_have_an_effect_or_raise(name, kind, d):
    X, h = two_blobs(d)
    build, links = ESTIMATORS[name], KINDS[kind]
    if links is None:
        model = build(h)
        if name.startswith("MeanShift"):
            assert model.fit(X).n_clusters_ > 1
        elif name == "CMS growing":
            with pytest.warns(UserWarning, match="Without cannot-links"):
                model.fit(X)
            assert model.n_clusters_ == 1
        else:
            assert model.fit(X).n_clusters_ == 2
        return
    plain = outcome(build(h), X, None)
    if name.startswith("MeanShift"):
        with pytest.raises(ValueError, match="does not use links"):
            outcome(build(h), X, links)
        return
    if (name, kind) in REFUSED:
        with pytest.raises(ValueError, match="refine='links'"):
            outcome(build(h), X, links)
        return
    if name == "CMS growing" and not len(links.cannot):
        # All rows are in one cluster anyway: the must-link holds, and a warning tells the rest.
        with pytest.warns(UserWarning, match="Without cannot-links"):
            labels, _ = outcome(build(h), X, links)
        assert labels.max() == 0
        return
    assert differ(outcome(build(h), X, links), plain)


@pytest.mark.filterwarnings("ignore:Without cannot-links")
@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("kind", ["must", "cannot", "both"])
@pytest.mark.parametrize("name", ["CMS", "CMS growing", "CMS refine=None", "CMS blurring, flat"])
def test_certain_links_hold_in_any_dimension(name, kind, d):
    X, h = two_blobs(d)
    labels, _ = outcome(ESTIMATORS[name](h), X, KINDS[kind])
    for i, j in KINDS[kind].must:
        assert labels[i] == labels[j]
    for i, j in KINDS[kind].cannot:
        assert labels[i] != labels[j]


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if n.startswith("CMS")])
@pytest.mark.parametrize("alone", [True, False])
def test_each_link_counts_beside_others(name, alone):
    # A must-link next to a cannot-link: with certain links, the closure adds a pair to the shift.
    X, h = two_blobs(2)
    cannot = Links(cannot=[(3, 11)])
    both = Links(must=[(0, 3)], cannot=[(3, 11)]) if alone else cannot.add(cannot=[(0, 12)])
    before, after = outcome(ESTIMATORS[name](h), X, cannot), outcome(ESTIMATORS[name](h), X, both)
    assert differ(before, after)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_misspelt_arguments_raise(name):
    X, h = two_blobs(2)
    with pytest.raises(TypeError, match="unexpected keyword"):
        ESTIMATORS[name](h).fit(X, link=Links(cannot=[(0, 1)]))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_links_in_the_place_of_y_raise(name):
    X, h = two_blobs(2)
    with pytest.raises(TypeError, match="links="):
        ESTIMATORS[name](h).fit(X, KINDS["both"])
