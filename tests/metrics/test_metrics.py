"""Accuracy against brute force, link reports against a literal loop."""

from __future__ import annotations

import itertools
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkshift.links import Links
from linkshift.metrics import (
    clustering_accuracy,
    labelled_score,
    link_satisfaction,
    n_clusters,
    name_clusters,
    reconstruction_score,
)


def make_links(must=(), cannot=(), must_confidence=None, cannot_confidence=None):
    must = np.array(must, dtype=np.int64).reshape(-1, 2)
    cannot = np.array(cannot, dtype=np.int64).reshape(-1, 2)
    return SimpleNamespace(
        must=must,
        cannot=cannot,
        must_confidence=np.ones(len(must)) if must_confidence is None else must_confidence,
        cannot_confidence=np.ones(len(cannot)) if cannot_confidence is None else cannot_confidence,
    )


def brute_force_accuracy(true, pred):
    """Try every one-to-one map of clusters to classes; None is a class that nothing has."""
    classes, found = sorted(set(true)), sorted(set(pred))
    targets = classes + [None] * len(found)
    best = 0
    for images in itertools.permutations(targets, len(found)):
        match = dict(zip(found, images, strict=True))
        best = max(best, sum(t == match[p] for t, p in zip(true, pred, strict=True)))
    return best / len(true)


pairs_of_labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20)


@given(pairs_of_labels)
def test_accuracy_is_the_brute_force_maximum(rows):
    true, pred = zip(*rows, strict=True)
    assert clustering_accuracy(true, pred) == brute_force_accuracy(true, pred)


@given(pairs_of_labels, st.permutations(range(4)), st.permutations(range(4)))
def test_accuracy_ignores_the_names_of_clusters_and_classes(rows, rename_true, rename_pred):
    true, pred = np.array(rows).T
    renamed = clustering_accuracy(np.array(rename_true)[true], np.array(rename_pred)[pred])
    assert renamed == clustering_accuracy(true, pred)
    assert renamed == clustering_accuracy(pred, true)


@given(pairs_of_labels, st.randoms(use_true_random=False))
def test_accuracy_ignores_the_order_of_points(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert clustering_accuracy(*zip(*rows, strict=True)) == clustering_accuracy(
        *zip(*shuffled, strict=True)
    )


def test_accuracy_by_hand():
    # Six points, clusters a a b | b c c: the best matching takes a->0 and c->1.
    assert clustering_accuracy([0, 0, 0, 1, 1, 1], [5, 5, 6, 6, 7, 7]) == 4 / 6


def test_accuracy_extra_clusters_are_errors_and_missing_ones_too():
    assert clustering_accuracy([0] * 10, range(10)) == 0.1
    assert clustering_accuracy(range(10), [0] * 10) == 0.1


def test_accuracy_noise_matches_only_noise():
    assert clustering_accuracy([0, 0, 1, 1], [-1, -1, -1, -1]) == 0.0
    assert clustering_accuracy([0, 0, -1, -1], [3, 3, -1, -1]) == 1.0
    assert clustering_accuracy([0, 0, -1, -1], [3, 3, 4, 4]) == 0.5
    assert clustering_accuracy([-1, -1, 1, 1], [0, 0, 1, 1], noise=None) == 1.0


def test_accuracy_takes_names():
    assert clustering_accuracy(["cat", "cat", "dog"], [1, 1, 0]) == 1.0


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0], "y_true has 2 labels, y_pred has 1"),
        ([], [], "empty"),
        ([[0]], [0], "y_true must have one dimension"),
        ([0], [[0]], "y_pred must have one dimension"),
    ],
)
def test_accuracy_refuses(true, pred, message):
    with pytest.raises(ValueError, match=message):
        clustering_accuracy(true, pred)


def test_n_clusters_leaves_noise_out():
    assert n_clusters([0, 0, 7, -1, -1]) == 2
    assert n_clusters([-1, -1]) == 0
    assert n_clusters([]) == 0


# --- links --------------------------------------------------------------------------------------


@st.composite
def labelled_links(draw):
    labels = draw(st.lists(st.integers(-1, 3), min_size=2, max_size=12))
    index = st.integers(0, len(labels) - 1)
    pairs = st.lists(st.tuples(index, index), max_size=10)
    must, cannot = draw(pairs), draw(pairs)
    weight = st.floats(0.1, 1.0)
    return (
        np.array(labels),
        make_links(
            must,
            cannot,
            np.array(draw(st.lists(weight, min_size=len(must), max_size=len(must)))),
            np.array(draw(st.lists(weight, min_size=len(cannot), max_size=len(cannot)))),
        ),
    )


@given(labelled_links())
def test_report_is_the_literal_loop(case):
    labels, links = case
    bad_must, bad_cannot, kept_weight, weight = [], [], 0.0, 0.0
    for (a, b), w in zip(links.must.tolist(), links.must_confidence, strict=True):
        kept = labels[a] != -1 and labels[b] != -1 and labels[a] == labels[b]
        weight, kept_weight = weight + w, kept_weight + w * kept
        if not kept:
            bad_must.append([a, b])
    for (a, b), w in zip(links.cannot.tolist(), links.cannot_confidence, strict=True):
        kept = labels[a] == -1 or labels[b] == -1 or labels[a] != labels[b]
        weight, kept_weight = weight + w, kept_weight + w * kept
        if not kept:
            bad_cannot.append([a, b])

    report = link_satisfaction(labels, links)
    assert report.violated_must.tolist() == bad_must
    assert report.violated_cannot.tolist() == bad_cannot
    assert report.violated_must.shape == (len(bad_must), 2)
    n_must, n_cannot = len(links.must), len(links.cannot)
    assert (report.n_must, report.n_cannot) == (n_must, n_cannot)
    assert report.must_kept == n_must - len(bad_must)
    assert report.cannot_kept == n_cannot - len(bad_cannot)
    assert report.must_share == (report.must_kept / n_must if n_must else 1.0)
    assert report.cannot_share == (report.cannot_kept / n_cannot if n_cannot else 1.0)
    total = n_must + n_cannot
    kept_total = report.must_kept + report.cannot_kept
    assert report.share == (kept_total / total if total else 1.0)
    assert report.weighted_share == pytest.approx(kept_weight / weight if weight else 1.0)


@given(labelled_links())
def test_a_pair_is_either_together_or_apart(case):
    labels, links = case
    swapped = make_links(links.cannot, links.must)
    report, reverse = link_satisfaction(labels, links), link_satisfaction(labels, swapped)
    assert report.must_kept + reverse.cannot_kept == len(links.must)
    assert report.cannot_kept + reverse.must_kept == len(links.cannot)


def test_noise_by_hand():
    labels = [0, -1, -1]
    report = link_satisfaction(labels, make_links([(0, 1), (1, 2)], [(0, 1), (1, 2)]))
    assert (report.must_kept, report.cannot_kept) == (0, 2)


def test_confidence_weighs():
    links = make_links([(0, 1)], [(0, 1)], np.array([0.9]), np.array([0.1]))
    report = link_satisfaction([0, 0], links)
    assert report.share == 0.5
    assert report.weighted_share == pytest.approx(0.9)


def test_no_links_is_all_kept():
    report = link_satisfaction([0, 1], make_links())
    assert report.must_share == report.cannot_share == report.share == report.weighted_share == 1.0


def test_confidence_of_nothing_is_all_kept():
    report = link_satisfaction([0, 1], make_links([(0, 1)], (), np.zeros(1)))
    assert report.weighted_share == 1.0


def test_report_reads_as_a_sentence():
    report = link_satisfaction([0, 0, 1], make_links([(0, 1), (0, 2)], [(1, 2)]))
    assert str(report) == "must-links 1 of 2 kept, cannot-links 1 of 1 kept"


def test_report_cannot_be_changed():
    report = link_satisfaction([0, 1], make_links([(0, 1)]))
    with pytest.raises(AttributeError):
        report.n_must = 3
    with pytest.raises(ValueError, match="read-only"):
        report.violated_must[0, 0] = 5


@pytest.mark.parametrize("pair", [(0, 3), (-1, 0), (7, 1)])
@pytest.mark.parametrize("kind", ["must", "cannot"])
def test_link_outside_names_the_pair(pair, kind):
    with pytest.raises(ValueError, match=rf"{kind}-link \({pair[0]}, {pair[1]}\) points outside"):
        link_satisfaction([0, 0, 1], make_links(**{kind: [(0, 1), pair]}))


@pytest.mark.parametrize("module", ["metrics", "plot"])
def test_import_leaves_matplotlib_alone(module):
    code = f"import sys; from linkshift import {module}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Clusters named by labelled members


def named_literally(clusters, known):
    named = []
    for cluster in clusters:
        votes = [k for c, k in zip(clusters, known, strict=True) if c == cluster != -1 and k != -1]
        ranked = sorted(set(votes), key=lambda k: (-votes.count(k), k))
        named.append(ranked[0] if ranked else -1)
    return named


@given(
    st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 3)), min_size=1, max_size=30),
)
def test_clusters_are_named_by_most_of_their_labelled_members(rows):
    clusters, known = (list(column) for column in zip(*rows, strict=True))
    np.testing.assert_array_equal(name_clusters(clusters, known), named_literally(clusters, known))


@pytest.mark.parametrize(
    ("clusters", "known", "words"),
    [
        ([0, 1], [0], "2 labels"),
        ([0, 1], ["a", "b"], "whole numbers"),
        ([0, 1], [0.0, np.nan], "whole numbers"),
    ],
)
def test_naming_refuses_what_it_cannot_read(clusters, known, words):
    with pytest.raises(ValueError, match=words):
        name_clusters(clusters, known)


def test_only_hidden_rows_are_scored():
    y = np.array(["a", "a", "a", "b", "b", "b", "b"])
    clusters = np.array([0, 0, 1, 1, 1, 2, 3])
    labelled = np.array([1, 0, 0, 1, 0, 1, 0], dtype=bool)
    score = labelled_score(y, clusters, labelled)
    # Hidden: a in cluster 0 (a), a in 1 (b), b in 1 (b), b in 3, where nobody is labelled.
    assert score.error == 0.5
    assert score.n_clusters == 4
    assert score.ari < 1.0
    assert labelled_score(y, clusters, ~labelled).n_clusters == 4


def test_a_class_in_two_clusters_is_no_error_but_costs_the_raw_index():
    y = np.repeat([0, 1], 20)
    clusters = np.concatenate([np.zeros(20, int), np.repeat([1, 2], 10)])
    score = labelled_score(y, clusters, np.arange(40) % 2 == 0)
    assert score.error == 0.0
    assert score.labelled_ari == 1.0
    assert score.ari < 1.0


def test_nothing_left_to_score_raises():
    with pytest.raises(ValueError, match="none left"):
        labelled_score([0, 1], [0, 1], [True, True])
    with pytest.raises(ValueError, match="labelled 1"):
        labelled_score([0, 1], [0, 1], [True])


def test_a_link_report_tells_of_what_there_is():
    labels = [0, 1, 0, 1]
    apart = link_satisfaction(labels, Links.apart_within(["a", "a", "b", "b"]))
    assert str(apart) == "groups 2 of 2 apart"
    assert "groups apart" in apart._repr_html_()
    assert str(link_satisfaction(labels, Links(must=[(0, 1)]))) == "must-links 0 of 1 kept"
    assert str(link_satisfaction(labels, Links())) == "no links"


# --- reconstruction -------------------------------------------------------------------------------


def test_reconstruction_by_hand():
    X = [[0.0], [2.0], [10.0], [12.0]]
    assert reconstruction_score(X, [0, 0, 1, 1]) == (1.0, 1.0 - 1.0 / 26.0)
    assert reconstruction_score(X, [0, 0, 0, 0]) == (26.0, 0.0)
    assert reconstruction_score(X, [4, 7, 9, 2]) == (0.0, 1.0)
    # Noise is told by the mean of all, 6: (1 + 1 + 16 + 36) / 4.
    assert reconstruction_score(X, [0, 0, -1, -1]).error == 13.5
    assert reconstruction_score([[3.0], [3.0]], [0, 0]) == (0.0, 1.0)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_reconstruction_is_literal_and_splitting_never_hurts(seed, k):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(12, 2)) + 100.0, rng.integers(-1, k, size=12)
    left = 0.0
    for x, label in zip(X, labels, strict=True):
        own = X if label == -1 else X[labels == label]
        left += ((x - own.mean(axis=0)) ** 2).sum()
    score = reconstruction_score(X, labels)
    assert score.error == pytest.approx(left / 12)
    assert score.explained <= 1.0
    finer = np.where((labels == 0) & (np.arange(12) % 2 == 0), k, labels)
    assert reconstruction_score(X, finer).error <= score.error + 1e-12


@pytest.mark.parametrize(
    ("X", "labels"), [([[1.0]], [0, 1]), ([1.0, 2.0], [0, 1]), ([[np.nan]], [0]), ([[]], [0])]
)
def test_reconstruction_of_what_is_no_table(X, labels):
    with pytest.raises(ValueError, match="row"):
        reconstruction_score(X, labels)
