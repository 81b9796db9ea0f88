"""The benchmark behind method="auto": true draws, methods that run, scores that add up."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import auto, auto_cases, run
from benchmarks.harness import Options

from linkshift import Links

CASES = {case.name: case for case in auto_cases.CASES}


def test_every_case_has_its_own_name():
    assert len(CASES) == len(auto_cases.CASES)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_classes", [2, 12])
def test_draws_are_true_and_as_many_as_said(name, n_classes):
    case = CASES[name]
    y = np.arange(240) % n_classes
    g = auto_cases.given(y[:, None].astype(float), y, case, 5)
    wrong = (y[g.links.must[:, 0]] != y[g.links.must[:, 1]]).sum()
    wrong += (y[g.links.cannot[:, 0]] == y[g.links.cannot[:, 1]]).sum()
    assert wrong == round(case.wrong * case.n_links)
    if case.labelled:
        assert (g.known >= 0).sum() == max(3, round(case.labelled * 240))
        assert len(g.links.must) > 0 or case.labelled < 0.05
        assert len(g.links.cannot) > 0
    else:
        assert g.known is None
        assert len(g.links) == case.n_links
        assert len(g.links.must) >= case.must
        assert len(g.links.cannot) >= case.cannot
        assert bool(len(g.links.must)) == bool(case.must or case.both)
        assert bool(len(g.links.cannot)) == bool(case.cannot or case.both)
    again = auto_cases.given(y[:, None].astype(float), y, case, 5)
    assert again.links == g.links


def test_few_links_are_of_both_kinds_or_refused():
    y = np.arange(60) % 20
    links = auto_cases.both_kinds(y, 5, 0.0, 0)
    assert (len(links.must), len(links.cannot)) == (2, 3)
    with pytest.raises(ValueError, match="too few"):
        auto_cases.both_kinds(y, 5, 0.2, 0)


def test_few_labels_are_of_two_classes():
    y = np.array([0] * 99 + [1])
    for seed in range(20):
        known = auto_cases.some_labels(y, 0.02, seed)
        assert set(known.tolist()) == {-1, 0, 1}
        assert (known[known >= 0] == y[known >= 0]).all()


@pytest.mark.parametrize("name", auto_cases.MADE)
def test_made_sets(name):
    X, y = auto_cases.data(name, 120, 0)
    assert X.shape == (120, 2)
    assert len(y) == 120
    assert len(np.unique(y)) == {"moons": 2, "circles": 3}.get(name, 5)
    other, _ = auto_cases.data(name, 120, 1)
    assert not np.array_equal(X, other)


def two_groups() -> auto_cases.Given:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = 12.0 * y[:, None] + rng.normal(size=(80, 2))
    return auto_cases.Given(X, y, Links.sample(y, 30, random_state=0))


@pytest.mark.parametrize("method", auto.CANDIDATES)
def test_every_method_finds_what_is_plain(method):
    g = two_groups()
    found = auto.score(auto.CANDIDATES[method], g, auto.Bases(g.X))
    assert not found.refused
    assert found.ari == pytest.approx(1.0)
    assert found.kept == pytest.approx(1.0)
    assert found.clusters == pytest.approx(1.0)


def test_bases_are_made_once_and_their_time_counts_always():
    g = two_groups()
    bases = auto.Bases(g.X)
    labels = bases.labels("flat")
    assert bases.labels("flat") is labels
    bases.seconds["flat"] = 1000.0
    assert auto.score(auto.CANDIDATES["flat+r"], g, bases).seconds > 1000.0
    assert auto.score(auto.CANDIDATES["gaussian+r"], g, bases).seconds < 1000.0


def test_a_refusal_counts_as_one_cluster():
    g = two_groups()._replace(links=Links([(0, 1), (1, 2)], [(0, 2)], n_samples=80))
    found = auto.score(auto.CANDIDATES["cms"], g, auto.Bases(g.X))
    assert found.refused
    assert found.ari == 0.0
    assert found.clusters == 0.5


def test_free_rows_are_those_without_links():
    g = two_groups()
    half = np.arange(80) % 2 == 1  # every other row wrong, and in a link
    links = Links(cannot=[(i, j) for i in range(1, 40, 2) for j in (41, 79)], n_samples=80)
    links += Links(cannot=[(1, j) for j in range(43, 79, 2)], n_samples=80)
    shuffled = np.where(half, 1 - g.y, g.y)
    candidate = auto.Candidate(lambda g, bases: shuffled)
    found = auto.score(candidate, g._replace(links=links), auto.Bases(g.X))
    assert found.free_ari == 1.0
    assert found.ari < 0.1
    many = Links(must=[(i, i + 1) for i in range(0, 78)], n_samples=80)
    assert np.isnan(auto.score(candidate, g._replace(links=many), auto.Bases(g.X)).free_ari)


def test_tables_by_hand():
    def made(ari: float, clusters: float) -> auto.Score:
        return auto.Score(ari, np.nan, clusters, 0.5, 1.0)

    scores = {
        ("c", "one", 0, "flat"): made(0.2, 4.0),
        ("c", "one", 0, "cms"): made(0.9, 1.0),
        ("c", "one", 0, "path"): made(0.9, 1.0),
        ("c", "two", 0, "flat"): made(0.4, 1.0),
        ("c", "two", 0, "cms"): made(0.3, 1.0),
        ("c", "two", 0, "path"): made(0.1, 1.0),
        ("d", "two", 0, "cms"): made(1.0, 1.0),
    }
    ranks = auto.rank_cells("c", scores)
    assert {m: ranks[m] for m in ("flat", "path", "cms")} == {
        "flat": 2.0,
        "path": 2.25,
        "cms": 1.75,
    }
    mean = auto.cells("ARI", auto.TABLES["ARI"], "all", "c", scores)
    assert mean["flat"] == pytest.approx(0.3)
    assert mean["cms"] == pytest.approx(0.6)
    assert auto.TABLES["clusters / classes"](
        [scores["c", name, 0, "flat"] for name in ("one", "two")]
    ) == pytest.approx(2.0)
    assert "flat" not in auto.cells("x", auto.TABLES["ARI, free rows"], "all", "c", scores)
    assert "flat" not in auto.cells("ARI", auto.TABLES["ARI"], "all", "d", scores)


def test_tiny_suite_has_all_tables():
    suite = run.run_suite("auto", Options(size="tiny", repeats=1, seed=0))
    assert suite["error"] is None
    lines = [row["cells"] for row in suite["rows"]]
    for table in ("rank", *auto.TABLES):
        means = [line for line in lines if (line["table"], line["set"]) == (table, "all")]
        assert [line["case"] for line in means] == [case.name for case in auto_cases.TINY_CASES]
