"""Links held out: what is counted, what chance is, and that links of other rows show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from tests.helpers import some_links

import linkshift
from linkshift import Links
from linkshift._core.messages import Refusal
from linkshift.methods.held_out import held_out_agreement

seeds = st.integers(0, 2**32 - 1)
NONE = Links()


def follows(pair, kind, rest, n):
    """Whether a link follows from others, by trying every chain."""
    group = list(range(n))
    for _ in range(n):
        for a, b in rest.must.tolist():
            low = min(group[a], group[b])
            group[a] = group[b] = low
    a, b = (group[end] for end in pair)
    apart = {frozenset((group[c], group[d])) for c, d in rest.cannot.tolist()}
    return a == b or frozenset((a, b)) in apart, kind


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(4, 14), st.integers(2, 16), st.integers(2, 5))
def test_what_is_asked_is_what_does_not_follow(seed, n, m, n_folds):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, size=n)
    links = some_links(rng, n, m, classes=classes)
    labels = rng.integers(0, 2, size=n)
    shown = []

    def fit(rest):
        shown.append(rest)
        return labels

    found = held_out_agreement(fit, links, NONE, n, n_folds)
    must, cannot = [], []
    for rest in shown:
        gone = links.remove(rest.must, rest.cannot)
        must += [
            labels[a] == labels[b]
            for a, b in gone.must.tolist()
            if not follows((a, b), "must", rest, n)[0]
        ]
        cannot += [
            labels[a] != labels[b]
            for a, b in gone.cannot.tolist()
            if not follows((a, b), "cannot", rest, n)[0]
        ]
    assert sum(len(links) - len(rest) for rest in shown) == len(links)  # each is out once
    if not must and not cannot:
        assert found is None
        return
    assert found.n_links == len(must) + len(cannot)
    shares = [np.mean(one) for one in (must, cannot) if one]
    assert found.agreement == pytest.approx(np.mean(shares))
    pairs = np.mean([[one == other for other in labels] for one in labels])
    chance = 0.5 if len(shares) == 2 else pairs if must else 1 - pairs
    assert found.chance == pytest.approx(chance)


def test_the_error_is_that_of_the_mean_over_parts():
    y = np.repeat([0, 1], 20)
    links = Links.sample(y, 60, random_state=0)
    wrong = iter([np.zeros(40, int), y, y])
    found = held_out_agreement(lambda _: next(wrong), links, NONE, 40, 3)
    assert 0.5 < found.agreement < 1
    assert 0 < found.error < 0.3


def test_right_links_hold_and_those_of_other_rows_do_not():
    X, y = make_blobs(150, centers=3, random_state=2)
    links = Links.sample(y, 60, random_state=0)
    seen = []
    found = linkshift.cluster(X, links, held_out=4, progress=lambda *now: seen.append(now))
    told = found.link_report.held_out
    assert told.agreement > 0.9
    assert told.chance == 0.5
    assert f"{told.agreement:.0%}" in repr(found)
    assert seen[-1][0] == seen[-1][1]
    assert sorted(done / total for done, total in seen) == [done / total for done, total in seen]
    np.testing.assert_array_equal(found.labels, linkshift.cluster(X, links).labels)
    order = np.random.default_rng(0).permutation(150)
    shuffled = Links(order[links.must], order[links.cannot])
    with pytest.warns(match="chance"):
        odd = linkshift.cluster(X, shuffled, held_out=4).link_report
    assert odd.share == 1.0  # all are kept, which says nothing
    assert odd.held_out.agreement < 0.65


def test_refusals():
    X, y = make_blobs(30, random_state=0)
    links = Links.sample(y, 20, random_state=0)
    with pytest.raises(Refusal, match="at least 2"):
        linkshift.cluster(X, links, held_out=1)
    with pytest.raises(Refusal, match="none to hold out"):
        linkshift.cluster(X, partial_labels=y, held_out=5)
    with pytest.raises(Refusal, match="none to hold out"):
        linkshift.cluster(X, held_out=5)
    assert linkshift.cluster(X, links).link_report.held_out is None


def test_few_links_make_no_figure():
    """Three links that hold, each in its turn, have no spread, and say next to nothing."""
    y = np.repeat([0, 1], 20)
    few = held_out_agreement(lambda _: y, Links.sample(y, 3, random_state=0), NONE, 40, 3)
    assert (few.n_links, few.agreement) == (3, 1.0)
    assert np.isnan(few.error)
    assert str(few) == "3 links held out, too few to say how well such links are met"
    many = held_out_agreement(lambda _: y, Links.sample(y, 20, random_state=0), NONE, 40, 3)
    assert str(many) == f"links held out are met by 100% ({many.n_links} asked, 50% is chance)"
