"""No argument is ignored in silence, by any estimator or baseline.

Some libraries drop constraints in many dimensions, or with some option, without a word. Here each
kind of link must change what comes out, in any number of columns, or raise and say what to do
instead. Parameters: see test_parameters.py.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter
from tests.estimators.variants import (
    CLUSTERERS,
    PER_BLOB,
    TRUE,
    VARIANTS,
    differ,
    outcome,
    quiet_fit,
    says_what_to_do,
    two_blobs,
)

from linkshift import ConflictError, Links
from linkshift._core.messages import Refusal

N = 2 * PER_BLOB

# Rows 0 to 19 are one blob, 20 to 39 the other: no clustering by distance holds these links.
CLASSES = np.full(N, -1)
CLASSES[[0, 25]], CLASSES[[3, 11]] = 0, 1
KINDS = {
    "none": {},
    "must": {"links": Links(must=[(0, 25)])},
    "cannot": {"links": Links(cannot=[(0, 11)])},
    "both": {"links": Links(must=[(0, 25)], cannot=[(0, 11)])},
    "both, apart": {"links": Links(must=[(0, 25)], cannot=[(3, 11)])},
    "must, soft": {"links": Links(must=[(0, 25)], must_confidence=0.95)},
    "cannot, soft": {"links": Links(cannot=[(0, 11)], cannot_confidence=0.95)},
    "both, soft": {
        "links": Links(
            must=[(0, 25)], cannot=[(0, 11)], must_confidence=0.95, cannot_confidence=0.95
        )
    },
    "partial labels": {"partial_labels": CLASSES},
    "groups": {"links": Links.apart_within(np.where(np.isin(np.arange(N), [0, 11]), 1, -1))},
}
ANY_LINKS = [kind for kind in KINDS if kind != "none"]
SOFT = ["must, soft", "cannot, soft", "both, soft"]

# Methods that hold links, or begin with them: uncertain ones are refused.
CERTAIN_ONLY = ["COPKMeans", "Seeded", "Seeded, constrained", "CDBSCAN", "CDBSCAN, leaves"]

# Which kinds are refused, and what the message names; all others must have an effect.
REFUSED = {
    **{
        name: (ANY_LINKS, "RefinedClustering")
        for name in VARIANTS
        if name.startswith("MeanShift") and name != "MeanShift by links"
    },
    **{
        name: (
            ["cannot", "both", "both, apart", *SOFT, "partial labels", "groups"],
            "use_links='learn'",
        )
        for name, variant in VARIANTS.items()
        if variant.uses == "must"
    },
    **{
        name: (
            ["must", "cannot", "both, apart", "must, soft", "cannot, soft", "groups"],
            r"Give|Add cannot-links",
        )
        for name in ("Metric global", "Metric local", "Metric kernel", "SCML", "SCML local")
    },
    **{name: (ANY_LINKS, "RefinedClustering") for name in ("Graph", "Graph smooth", "KMeans")},
    "Metric matrix": (ANY_LINKS, "metric='global'"),
    **{name: (SOFT, "PCKMeans") for name in CERTAIN_ONLY},
    "CMS refine=None": (["must, soft", "both, soft"], "refine='links'"),
    "CMS of the paper": (["must", "must, soft", "both, soft"], "refine='links'"),
}
# Other links, for those that need some: what comes out must depend on which.
REFERENCES = (TRUE, Links(must=[(0, 39), (5, 30)], cannot=[(0, 1)]))


def fitted(name, d, **given):
    """What comes out with these links; with histories, since a link may bend the way alone."""
    variant = VARIANTS[name]
    X, h = two_blobs(d)
    model = variant.make(h, d)
    if "keep_history" in model.get_params():
        model.set_params(keep_history=True)
    quiet_fit(model, variant.table(X, X), **given)
    return outcome(variant, model, X, X[::3] + 0.37)


@cache
def references(name, d):
    """What comes out without the links in question."""
    if VARIANTS[name].needs:
        return [fitted(name, d, links=links) for links in REFERENCES]
    return [fitted_kind(name, "none", d)]


@cache
def fitted_kind(name, kind, d):
    """What comes out with a kind of link."""
    return fitted(name, d, **KINDS[kind])


def takes(name, kind):
    """Whether ``fit`` has the arguments of a kind of link at all: SCML takes classes as y."""
    return not (name.startswith("SCML") and kind == "partial labels")


@pytest.mark.parametrize("d", [1, 2, 40])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VARIANTS)
def test_links_have_an_effect_or_raise(name, kind, d):
    if not takes(name, kind):
        with pytest.raises(TypeError, match="unexpected keyword"):
            fitted(name, d, **KINDS[kind])
        return
    refusals = {"none": "links="} if VARIANTS[name].needs else {}
    kinds, remedy = REFUSED.get(name, ((), ""))
    refusals.update(dict.fromkeys(kinds, remedy))
    if kind in refusals:
        with pytest.raises(ValueError, match=refusals[kind]) as refused:
            fitted(name, d, **KINDS[kind])
        assert says_what_to_do(refused.value)
        return
    found = fitted_kind(name, kind, d)
    if kind == "none":
        assert len(np.unique(found["labels_"])) > 1
    elif name == "CMS growing" and kind in ("must", "must, soft"):
        X, h = two_blobs(d)
        with pytest.warns(UserWarning, match="Without cannot-links"):
            labels = VARIANTS[name].make(h, d).fit_predict(X, **KINDS[kind])
        assert labels[0] == labels[25]
    elif name == "Refined" and kind == "cannot, soft":
        # All neighbours of both rows are in one cluster: weighed, left broken, and reported.
        X, h = two_blobs(d)
        model = VARIANTS[name].make(h, d).fit(X, **KINDS[kind])
        assert model.link_report_.violated_cannot.tolist() == [[0, 11]]
    elif name == "Consensus" and kind == "cannot, soft":
        # Weighed against the neighbours of both rows: honoured, or left broken and reported.
        X, h = two_blobs(d)
        report = VARIANTS[name].make(h, d).fit(X, **KINDS[kind]).link_report_
        assert differ(found, references(name, d)[0]) != (len(report.violated_cannot) == 1)
    else:
        assert any(differ(found, other) for other in references(name, d))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_arguments_give_the_same(name):
    # Otherwise chance would pass for an effect.
    links = VARIANTS[name].usable(TRUE)
    assert not differ(fitted(name, 2, links=links), fitted(name, 2, links=links))


@pytest.mark.parametrize("d", [1, 2, 40])
@pytest.mark.parametrize("kind", ["must", "cannot", "both", "both, apart"])
@pytest.mark.parametrize(
    "name",
    [
        *("CMS", "CMS growing", "CMS refine=None", "CMS blurring, flat", "Groups", "Consensus"),
        *("COPKMeans", "CDBSCAN", "CDBSCAN, leaves"),
    ],
)
def test_certain_links_hold_in_any_dimension(name, kind, d):
    labels, links = fitted_kind(name, kind, d)["labels_"], KINDS[kind]["links"]
    for i, j in links.must:
        assert labels[i] == labels[j]
    for i, j in links.cannot:
        assert labels[i] != labels[j]


@pytest.mark.parametrize("confidence", [1.0, 0.05])
@pytest.mark.parametrize("name", [n for n in VARIANTS if n.startswith("CMS")])
def test_the_least_confidence_bends_the_way(name, confidence):
    cannot = Links(cannot=[(3, 11)], cannot_confidence=confidence)
    assert differ(fitted(name, 2, links=cannot), references(name, 2)[0])


# Links to begin with, and more of one kind beside them.
BESIDE = {
    "must": (TRUE, {"must": [(6, 30), *((i, 39 - i) for i in range(5))]}),
    # Metrics are learned from rows that have links of both kinds: 5 and 25 have must-links.
    "cannot": (TRUE, {"cannot": [(5, 11), (25, 31), *((i, i + 1) for i in range(0, 12, 2))]}),
}
# The level that most links agree with; both kinds count half.
BESIDE_ON_A_PATH = {
    "must": (
        Links(must=[(1, 2)], cannot=[(5, 30), (0, 11)]),
        {"must": [(i, i + 20) for i in range(6, 15)]},
    ),
    "cannot": (Links(must=[(0, 25), (1, 2), (3, 4)]), {"cannot": [(5, 30)]}),
}


@pytest.mark.parametrize("d", [1, 2, 40])
@pytest.mark.parametrize("kind", BESIDE)
@pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.uses != "none"])
def test_each_kind_counts_beside_other_links(name, kind, d):
    variant = VARIANTS[name]
    if kind == "cannot" and variant.uses == "must":
        return  # refused: see above
    if name == "Kernel linear" and d < 3:
        return  # each must-link takes a column, and there are no more
    if name.startswith("Seeded") and kind == "cannot":
        # They say which rows begin other clusters, and those are known: a warning counts them.
        X, h = two_blobs(d)
        with pytest.warns(UserWarning, match="have no say"):
            variant.make(h, d).fit(X, links=TRUE.add(**BESIDE[kind][1]))
        return
    table = BESIDE_ON_A_PATH if name.endswith("by links") else BESIDE
    links, more = table[kind]
    before = variant.usable(links)
    assert differ(fitted(name, d, links=before), fitted(name, d, links=before.add(**more)))


UNSURE = Links(must=[(0, 39), (5, 6)], cannot=[(0, 1), (5, 30)])


@pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.uses == "all"])
def test_confidences_are_weighed(name):
    # What the blobs do not bear out is sure, and what they do is not; and the other way round.
    def sure(*confidences):
        return Links(
            UNSURE.must, UNSURE.cannot, must_confidence=confidences, cannot_confidence=confidences
        )

    if name in ("CMS refine=None", "CMS of the paper"):
        with pytest.raises(ValueError, match="refine='links'"):
            fitted(name, 2, links=sure(0.95, 0.05))
        return
    if name in CERTAIN_ONLY:
        with pytest.raises(ValueError, match="PCKMeans"):
            fitted(name, 2, links=sure(0.95, 0.05))
        return
    assert differ(fitted(name, 2, links=sure(0.95, 0.05)), fitted(name, 2, links=sure(0.05, 0.95)))


PAPER = {"refine": None, "enforce": False, "keep_history": True}
FREE = {"weight": 0.0, "init": "k-means++"}


@pytest.mark.parametrize(
    ("name", "changed", "before", "more"),
    [
        pytest.param(
            "CMS of the paper",
            PAPER,
            Links(cannot=[(3, 11)]),
            {"must": [(0, 25)]},
            id="must beside cannot",
        ),
        pytest.param(
            "CMS of the paper",
            PAPER,
            Links(cannot=[(3, 11)], cannot_confidence=0.5),
            {"must": [(3, 25)]},
            id="must beside soft cannot",
        ),
        pytest.param(
            "PCKMeans",
            FREE,
            None,
            {"must": [(0, 25)]},
            id="PCKMeans",
        ),
        pytest.param(
            "MPCKMeans",
            FREE,
            None,
            {"must": [(0, 25)]},
            id="MPCKMeans",
        ),
    ],
)
def test_links_that_nothing_looks_at_are_told(name, changed, before, more):
    X, h = two_blobs(2)
    seen = []
    for links in (before, (before or Links()).add(**more)):
        model = VARIANTS[name].make(h, 2).set_params(**changed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.fit(X, links=links)
            except ValueError as refused:
                seen.append(says_what_to_do(refused))
                break
        told = [w.message for w in caught if getattr(w.message, "parameter", "") == "links"]
        seen.append(bool(told) and all(message.remedies["python"] for message in told))
    assert seen == [False, True] or seen == [True]


CONTRADICTION = Links(must=[(0, 1), (1, 2)], cannot=[(0, 2)])


@pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.uses == "all"])
def test_certain_links_that_contradict_each_other_raise_or_are_reported(name):
    X, h = two_blobs(2)
    variant = VARIANTS[name]
    model = variant.make(h, 2)
    if "Refined" in name or name == "MeanShift by links":  # links are weighed there
        report = quiet_fit(model, X, links=CONTRADICTION).link_report_
        assert len(report.violated_must) + len(report.violated_cannot) > 0
        return
    with pytest.raises(ConflictError, match=r"0.*2.*0 - 1 - 2") as refused:
        model.fit(variant.table(X, X), links=CONTRADICTION)
    assert says_what_to_do(refused.value)


NAMES = [f"row {i}" for i in range(N)]


@pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.uses != "none"])
def test_links_by_id(name):
    variant = VARIANTS[name]
    by_row = variant.usable(TRUE)
    by_id = Links(
        *([[NAMES[i] for i in pair] for pair in pairs] for pairs in (by_row.must, by_row.cannot))
    )
    with pytest.raises(ValueError, match=r"resolve\(ids\)"):
        fitted(name, 2, links=by_id)
    assert not differ(fitted(name, 2, links=by_id.resolve(NAMES)), fitted(name, 2, links=by_row))


@pytest.mark.parametrize("kind", ["must", "cannot"])
@pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.uses != "none"])
def test_a_link_to_a_row_that_is_not_there_raises_and_is_named(name, kind):
    if kind == "cannot" and VARIANTS[name].uses == "must":
        return
    links = VARIANTS[name].usable(TRUE).add(**{kind: [(3, N)]})
    with pytest.raises(ValueError, match=rf"{kind}.*3, {N}"):
        fitted(name, 2, links=links)


@pytest.mark.parametrize("name", VARIANTS)
def test_links_in_the_place_of_y_raise(name):
    variant = VARIANTS[name]
    X, h = two_blobs(2)
    with pytest.raises(TypeError, match="links="):
        variant.make(h, 2).fit(variant.table(X, X), TRUE)


@pytest.mark.parametrize("name", VARIANTS)
def test_misspelt_arguments_raise(name):
    with pytest.raises(TypeError, match="unexpected keyword"):
        fitted(name, 2, link=TRUE)


@pytest.mark.parametrize("name", CLUSTERERS)
def test_classes_in_the_place_of_y_are_ignored(name):
    # As in every clusterer of scikit-learn: using them would leak the truth in a search.
    variant = CLUSTERERS[name]
    X, h = two_blobs(2)
    links = variant.usable(TRUE)
    plain, other = (
        quiet_fit(variant.make(h, 2), variant.table(X, X), y=y, links=links)
        for y in (None, np.arange(N) % 3)
    )
    assert not differ(outcome(variant, plain, X, X + 0.37), outcome(variant, other, X, X + 0.37))


@pytest.mark.parametrize("name", [n for n, v in CLUSTERERS.items() if v.uses == "all"])
@pytest.mark.parametrize(
    ("labels", "words"),
    [(CLASSES[:5], f"5 entries for {N} rows"), (CLASSES[:, None], "one label for each")],
)
def test_partial_labels_of_another_shape_raise(name, labels, words):
    with pytest.raises(ValueError, match=words):
        fitted(name, 2, partial_labels=labels)


def takes_weights(name):
    return has_fit_parameter(VARIANTS[name].make(1.0, 2), "sample_weight")


@pytest.mark.parametrize("name", [n for n in CLUSTERERS if takes_weights(n)])
def test_weights_of_rows_have_an_effect(name):
    weights = np.linspace(0.1, 5.0, N)
    weights[::7] = 0.0
    links = VARIANTS[name].usable(TRUE)
    if name == "Refined by links":
        with pytest.raises(Refusal, match="PathMeanShift does not take sample_weight") as caught:
            fitted(name, 2, links=links, sample_weight=weights)
        assert says_what_to_do(caught.value)
        return
    noisy = np.random.default_rng(0).normal(size=(N, 2)) @ [[4.0, 0.0], [0.0, 1.0]]
    X, h = two_blobs(2)
    X = X + noisy
    variant = VARIANTS[name]
    plain, weighted = (
        outcome(variant, quiet_fit(variant.make(h, 2), X, links=links, **more), X, X + 0.37)
        for more in ({}, {"sample_weight": weights})
    )
    assert differ(plain, weighted)


@pytest.mark.parametrize("name", [n for n in CLUSTERERS if not takes_weights(n)])
def test_weights_of_rows_are_refused_with_a_remedy(name):
    with pytest.raises(Refusal, match="does not take sample_weight") as caught:
        fitted(name, 2, links=VARIANTS[name].usable(TRUE), sample_weight=np.full(N, 2.0))
    assert says_what_to_do(caught.value)
