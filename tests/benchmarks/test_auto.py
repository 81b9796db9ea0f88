"""The benchmark of the default rule: true draws, rivals as published, tables that add up."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import run
from benchmarks.auto import PARTS, draws, methods, parts, rivals, sets, tables
from benchmarks.auto.tables import Case, Key
from benchmarks.harness import Options
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import propagation as twin

from linkshift import Links, datasets

TINY = Options(size="tiny", repeats=2, seed=0)
NOTHING, TEN, FIFTY = Case("none", 0), Case("random", 10), Case("random", 50)


# --- sets ---------------------------------------------------------------------------------------


def test_no_set_is_seen_and_unseen():
    assert not set(sets.SEEN) & set(sets.UNSEEN)
    every = [*sets.SEEN, *sets.UNSEEN]
    assert len(set(every)) == len(every) == 58
    assert {*every, *sets.PCCC} - datasets.REGISTRY.keys() == sets.MADE.keys()
    assert len(sets.PCCC) == 8
    for smaller in (sets.QUICK, sets.TINY):
        for half, names in smaller.items():
            assert set(names) <= set(sets.HALVES[half])
    assert {name for name, *_ in tables.NAMED} <= set(every)


@pytest.mark.parametrize(
    ("name", "columns", "classes"),
    [
        ("chainlink", 3, 2),
        ("moons", 2, 2),
        ("embed", 384, 12),
        ("zigzag", 2, 3),
        ("rings", 2, 3),
        ("a3", 2, 50),
        ("unequal", 2, 5),
    ],
)
def test_made_sets(name, columns, classes):
    made = sets.load(name)
    assert made.X.shape == (sets.MOST_OF.get(name, 1000), columns)
    assert made.n_classes == classes
    np.testing.assert_allclose(made.X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(made.X.std(axis=0), 1.0)
    np.testing.assert_array_equal(made.X, sets.load(name).X)
    assert not np.array_equal(made.X, sets.load(name, 1).X)


def test_made_classes_hold_together():
    for name in ("chainlink", "rings", "a3", "zigzag"):
        X, y = sets.load(name)
        near = draws.neighbours(X)[:, 0]
        assert (y == y[near]).mean() > 0.97, name


def test_stored_sets_are_cut_and_standardised(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKSHIFT_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.normal(5, 3, 1500), np.full(1500, 7.0)))
    np.savez(tmp_path / "uci_yeast.npz", X=X, y=np.arange(1500) % 4 + 1)
    np.savez(tmp_path / "uci_letter.npz", X=X, y=np.arange(1500) % 4 + 1)
    cut = sets.load("uci_yeast")
    assert cut.X.shape == (1000, 2)
    np.testing.assert_array_equal(np.unique(cut.y), np.arange(4))
    assert cut.X[:, 0].std() == pytest.approx(1.0)
    assert not cut.X[:, 1].any()
    assert len(sets.load("uci_letter").y) == 1500
    assert len(sets.load("uci_letter", most=60).y) == 60
    views = {f"X_view{i}": np.full((3, i), 1.0) * np.arange(3)[:, None] for i in range(1, 7)}
    np.savez(tmp_path / "mv_caltech101_20_recomputed.npz", y=[0, 0, 1], **views)
    np.savez(tmp_path / "mv_100leaves.npz", y=[0, 0, 1], **views)
    assert sets.load("mv_caltech101_20_recomputed").X.shape == (3, 5)
    assert sets.load("mv_100leaves").X.shape == (3, 21)
    assert sets.is_here("uci_letter")
    assert sets.is_here("rings")
    assert not sets.is_here("uci_iris")


# --- draws --------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 60), st.integers(0, 100), st.integers(0, 5), st.booleans())
def test_draws_are_different_pairs_and_come_again(n, n_links, seed, nearby):
    near = draws.neighbours(np.random.default_rng(n).normal(size=(n, 2))) if nearby else None
    if near is not None and near.shape[1] < draws.NEAREST:
        near = None
    pairs = draws.draw_pairs(n, n_links, seed, near)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs) <= n_links
    np.testing.assert_array_equal(pairs, draws.draw_pairs(n, n_links, seed, near))
    more = draws.draw_pairs(n, n_links + 10, seed, near)
    np.testing.assert_array_equal(more[: len(pairs)], pairs)  # more links hold the fewer


def test_near_pairs_are_near():
    X, y = sets.load("moons", most=150)
    near = draws.neighbours(X)
    assert near.shape == (150, 40)
    assert not (near == np.arange(150)[:, None]).any()
    pairs = draws.draw_pairs(len(y), 300, 1, near)
    assert len(pairs) == 300
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)
    rank = apart.argsort(axis=1).argsort(axis=1)  # a row itself has rank 0
    first, second = rank[pairs[:, 0], pairs[:, 1]], rank[pairs[:, 1], pairs[:, 0]]
    fits = ((first >= 6) & (first <= 40)) | ((second >= 6) & (second <= 40))
    assert fits.all()
    assert not np.array_equal(pairs, draws.draw_pairs(len(y), 300, 2, near))


def test_duplicates_are_not_their_own_neighbours():
    near = draws.neighbours(np.zeros((50, 2)))
    assert not (near == np.arange(50)[:, None]).any()


@pytest.mark.parametrize("share", parts.SHARES)
def test_so_many_answers_are_wrong(share):
    y = np.arange(100) % 4
    pairs = draws.draw_pairs(100, 200, 0)
    links = draws.answered(pairs, y, wrong=share)
    wrong = (y[links.must[:, 0]] != y[links.must[:, 1]]).sum()
    wrong += (y[links.cannot[:, 0]] == y[links.cannot[:, 1]]).sum()
    assert (len(links), wrong) == (200, round(200 * share))
    assert methods.certain(links) == links


# --- rivals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_constraint_propagation_agrees_with_its_twin(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 2
    links = draws.answered(draws.draw_pairs(24, 12, seed), y)
    W = rivals.affinity(X)
    np.testing.assert_allclose(W, twin.affinity(X.tolist()), atol=1e-12)
    changed = rivals.propagated(W, rivals.propagator(W), links)
    slow = twin.propagated(W.tolist(), links.must.tolist(), links.cannot.tolist())
    np.testing.assert_allclose(changed, slow, atol=1e-9)
    assert changed.min() >= 0
    assert changed.max() <= 1
    np.testing.assert_allclose(changed, changed.T, atol=1e-12)


def test_no_links_change_no_similarity():
    X, _ = sets.load("rings", most=60)
    W = rivals.affinity(X)
    unchanged = rivals.propagated(W, rivals.propagator(W), Links())
    np.testing.assert_allclose(unchanged, W, rtol=0, atol=1e-15)
    assert np.isfinite(rivals.affinity(np.zeros((20, 2)))).all()


# UMAP is compiled anew in every process, which takes ten seconds and more.
SLOW = {"umap": pytest.mark.slow}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW.get(name, ())) for name in methods.METHODS]
)
def test_every_method_finds_what_is_plain(name):
    method = methods.METHODS[name]
    if method.absent:
        pytest.skip(f"{method.absent[0]} is not installed")
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    table = sets.table(12.0 * y[:, None] + rng.normal(size=(120, 2)), y)
    bases = methods.Bases(table)
    kind = method.kinds[0]
    links = draws.answered(draws.draw_pairs(120, 0 if kind == "none" else 40, 0), y)
    assert method.tried(kind, links)
    found = methods.score(lambda: method.labels(bases, links), y, links)
    assert not found.refused
    assert found.broken == 0
    if name not in ("leiden", "umap"):  # without links they halve what is round
        assert found.ari > 0.9
        assert found.log_ratio == 0.0


def test_what_no_link_changes_is_made_once(monkeypatch):
    calls = []
    monkeypatch.setattr(rivals, "k_means", lambda X, *_: calls.append(1) or np.arange(len(X)) % 2)
    bases = methods.Bases(sets.load("moons", most=60))
    for seed in range(3):
        links = draws.answered(draws.draw_pairs(60, 10, seed), bases.y)
        methods.METHODS["kmeans"].labels(bases, links)
    assert len(calls) == 1


def test_methods_are_tried_where_they_have_a_meaning():
    must, both = Links(must=[(0, 1)]), Links(must=[(0, 1)], cannot=[(0, 2)])
    assert methods.METHODS["cms"].tried("near", both)
    assert not methods.METHODS["cms"].tried("near", must)
    assert not methods.METHODS["e2cp"].tried("near", both)
    assert not methods.METHODS["spectral"].tried("random", both)
    assert methods.METHODS["auto"].tried("none", Links())


# --- scores and tables --------------------------------------------------------------------------


def test_score_counts_clusters_of_five_rows_and_broken_links():
    y = np.repeat([0, 1, 2], [10, 10, 2])
    labels = np.repeat([0, 1, 2, 3, -1], [5, 5, 6, 4, 2])
    links = Links(
        must=[(0, 1), (0, 9), (10, 20)],
        cannot=[(2, 3), (0, 12), (20, 21)],
        must_confidence=[1, 1, 0.5],
        cannot_confidence=[1, 1, 1],
    )
    found = methods.score(lambda: labels, y, links)
    assert found.log_ratio == pytest.approx(np.log2(3 / 2))
    assert (found.broken, found.certain) == (2, 5)
    nothing = methods.score(lambda: np.full(22, -1), y, Links())
    assert nothing.log_ratio == -1.0
    assert (nothing.ari, nothing.certain) == (0.0, 0)


def test_a_refusal_counts_as_one_cluster():
    def refuse():
        raise ValueError("no")

    found = methods.score(refuse, np.repeat([0, 1], 5), Links())
    assert found.refused
    assert found.ari == 0.0


def made(ari: float, ratio: float = 0.0, broken: int = 0, *, refused: bool = False):
    return methods.Score(ari, ratio, broken, 10, refused)


SCORES = {
    Key("one", NOTHING, 0, "auto"): made(0.5, 1.0),
    Key("two", NOTHING, 0, "auto"): made(0.3, -1.0),
    Key("one", TEN, 0, "auto"): made(0.4),
    Key("one", TEN, 1, "auto"): made(0.56, broken=1),
    Key("two", TEN, 0, "auto"): made(0.9),
    Key("two", TEN, 1, "auto"): made(0.7),
    Key("one", FIFTY, 0, "auto"): made(0.9),
    Key("two", FIFTY, 0, "auto"): made(0.5, refused=True),
    Key("one", TEN, 0, "leiden"): made(0.3),
    Key("two", TEN, 0, "leiden"): made(0.8),
}


def test_tables_by_hand():
    cases, both = [NOTHING, TEN, FIFTY], ["auto", "leiden"]
    lines = [
        row.cells for row in tables.summary("seen", SCORES, cases, both, {"one": 3, "two": 40})
    ]
    by_table: dict[str, list] = {}
    for line in lines:
        by_table.setdefault(line["table"], []).append(line)
    nothing, ten, fifty = by_table["ARI"]
    assert (ten["half"], ten["kind"], ten["links"]) == ("seen", "random", 10)
    assert ten["auto"] == pytest.approx(0.64)
    assert ten["± auto"] == pytest.approx(0.16)
    assert ten["leiden"] == pytest.approx(0.55)
    assert "leiden" not in nothing
    assert fifty["auto refused"] == 0.5
    (above,) = by_table["auto above"]
    assert above["leiden"] == pytest.approx(0.09)
    assert above["± leiden"] == pytest.approx(0.09)
    few, many = by_table["ARI by columns"]
    assert (few["columns"], few["auto"], few["± auto"]) == ("2 to 7", 0.5, None)
    assert (many["columns"], many["auto"]) == ("31 and more", 0.3)
    assert by_table["median log2(found / true)"][0]["auto"] == 0.0
    first, second = by_table["largest fall"]
    assert (first["worst set"], first["sets above 0.02"]) == ("one", 0)
    assert first["auto"] == pytest.approx(0.02)
    assert (second["worst set"], second["sets above 0.02"]) == ("two", 1)
    assert second["auto"] == pytest.approx(0.3)
    broken = {line["links"]: line["auto"] for line in by_table["share of certain links broken"]}
    assert broken == {0: 0.0, 10: 1 / 40, 50: 0.0}
    assert "named sets" not in by_table
    assert tables.refused_cells(SCORES, FIFTY, both) == {"auto refused": 0.5}
    assert tables.refused_cells(SCORES, TEN, both) == {}


def test_named_sets_have_what_is_wanted_beside_them():
    scores = {Key("a3", NOTHING, 0, "kmeans"): made(0.96)}
    (line,) = [
        row.cells
        for row in tables.summary("unseen", scores, [NOTHING], ["kmeans"], {"a3": 2})
        if row.cells["table"] == "named sets"
    ]
    assert (line["set"], line["links"], line["kmeans"], line["wanted"]) == ("a3", 0, 0.96, 0.9)


# --- parts --------------------------------------------------------------------------------------


def suite(monkeypatch, **variables) -> list[dict]:
    for name, value in variables.items():
        monkeypatch.setenv(f"LINKSHIFT_AUTO_{name.upper()}", value)
    record = run.run_suite("auto", TINY)
    assert record["error"] is None, record["error"]
    return [row["cells"] for row in record["rows"]]


def test_a_tiny_run_of_both_halves(monkeypatch, capsys):
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    lines = suite(monkeypatch, parts="seen,unseen")
    left_out = [line["what"] for line in lines if line["table"] == "left out"]
    assert left_out == ["leiden", "umap"]
    means = [line for line in lines if line["table"] == "ARI"]
    assert [(m["half"], m["kind"], m["links"]) for m in means] == [
        (half, *case)
        for half in ("seen", "unseen")
        for case in (("none", 0), ("random", 10), ("near", 10))
    ]
    assert means[1].keys() >= {"auto", "kmeans", "e2cp", "cms"}
    assert means[2].keys() & {"e2cp", "spectral"} == set()
    assert means[0].keys() >= {"auto", "kmeans", "spectral"}
    progress = capsys.readouterr().err
    assert "moons, 10 near, draw 0: auto" in progress
    assert lines == suite(monkeypatch, parts="seen,unseen")


def test_a_tiny_run_of_wrong_answers_and_of_speed(monkeypatch):
    lines = suite(monkeypatch, parts="wrong,speed", methods="auto")
    means = [line for line in lines if line["table"] == "ARI with wrong answers"]
    assert [line["kind"] for line in means] == 2 * [
        f"random, {share} wrong" for share in ("0%", "5%", "10%", "20%")
    ]
    assert all(-1 <= line["auto"] <= 1 and line["sets"] == 1 for line in means)
    seconds = [line for line in lines if line["table"] == "seconds"]
    assert [(line["rows"], line["links"]) for line in seconds] == [(100, 0), (100, 20)]


def test_published_links(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKSHIFT_DATA", str(tmp_path))
    (line,) = suite(monkeypatch, parts="pccc")
    assert (line["table"], line["what"]) == ("left out", "pccc_tae")
    X, y = sets.load("moons", most=80)
    links = draws.answered(draws.draw_pairs(80, 60, 0), y)
    np.savez(tmp_path / "pccc_tae.npz", X=X, y=y, must_05=links.must, cannot_05=links.cannot)
    one, mean = suite(monkeypatch, parts="pccc")
    assert (one["set"], mean["set"]) == ("pccc_tae", "all")
    assert one["size"] == "05 %"
    assert one["cms"] == mean["cms"] > 0.5
    assert one["auto broken"] == one["cms broken"] == 0
    assert {"auto, k", "auto, k refused"} & one.keys()


def test_sets_and_methods_can_be_named(monkeypatch):
    lines = suite(monkeypatch, parts="seen,unseen", sets="zigzag", methods="kmeans")
    assert {line["set"] for line in lines if line["table"] == "by set"} == {"zigzag"}
    assert all("auto" not in line for line in lines)
    for name in ("PARTS", "SETS", "METHODS"):
        with monkeypatch.context() as patched:
            patched.setenv(f"LINKSHIFT_AUTO_{name}", "nonsense")
            record = run.run_suite("auto", TINY)
        assert f"LINKSHIFT_AUTO_{name} names 'nonsense'" in record["error"]
    assert [*PARTS] == ["seen", "unseen", "wrong", "pccc", "scale", "speed"]
