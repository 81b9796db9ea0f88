"""The comparison: a run that was stopped goes on, figures are those of hand, the page is whole."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from benchmarks.compare import page, running, tables
from benchmarks.compare.cases import NUMBERS, ONE_A_ROW, PUBLISHED, SETS, TIMED, WRONG, Case, given
from benchmarks.compare.journal import Journal
from benchmarks.compare.methods import METHODS
from benchmarks.compare.running import Score, Scored, Task

FEW = ["k-means", "k-means + refine"]


def made(name, case, method, ari, draw=0):
    score = Score(
        ari=ari,
        nmi=ari / 2,
        clusters=3,
        classes=3,
        rows=60,
        broken=0,
        links=case.n_links,
        seconds=0.5,
    )
    return Scored(Task(name, case, draw, 0, None), method, score)


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.compare.journal.FILE", tmp_path / "journal.jsonl")
    tasks = [Task("moons", Case(m), 0, 0, 60) for m in (0, 10)]
    first = list(running.scores(tasks[:1], FEW, Journal.beside_results("now", kept=True)))
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"source": "now", "ta')  # stopped while writing
        file.write("\n")
    ran = []
    monkeypatch.setattr(running, "_run", lambda task, methods: ran.append(task) or (task, {}))
    monkeypatch.setattr(running, "cpu_count", lambda: 1)
    again = list(running.scores(tasks, FEW, Journal.beside_results("now", kept=True)))
    assert again == first
    assert ran == tasks[1:]
    other = Journal.beside_results("other sources", kept=True)
    assert other.get(tasks[0].key, FEW[0]) is None
    monkeypatch.setenv("LINKSHIFT_COMPARE_REUSE", "any")
    other = Journal.beside_results("other sources", kept=True)
    assert other.get(tasks[0].key, FEW[0]) == asdict(first[0].score)


def test_the_same_links_are_run_once(monkeypatch):
    tasks = [Task("moons", Case(m), 0, 0, 50) for m in (50, ONE_A_ROW)]
    assert tasks[1].plain() == tasks[0]
    assert tasks[1]._replace(most=60).plain().case.n_links == ONE_A_ROW
    monkeypatch.setattr(running, "cpu_count", lambda: 1)
    found = list(running.scores(tasks, FEW[:1], Journal(None, "now")))
    assert [one.task for one in found] == tasks
    assert found[0].score == found[1].score


def test_wrong_answers_are_a_tenth():
    base, links = given("moons", Case(50, WRONG), 0, 0, 60)
    same = base.y[links.must[:, 0]] == base.y[links.must[:, 1]]
    different = base.y[links.cannot[:, 0]] != base.y[links.cannot[:, 1]]
    assert (~same).sum() + (~different).sum() == 5
    base, links = given("moons", Case(ONE_A_ROW), 0, 0, 60)
    assert len(links) == 60


def test_means_ranks_and_losses_by_hand():
    case = Case(50)
    figures = {"auto": [0.9, 0.5], "cms of the paper": [0.8, 0.6], "k-means": [0.7, 0.4]}
    found = [
        made(name, case, method, value + shift, draw)
        for method, values in figures.items()
        for name, value in zip(["moons", "uci_wine"], values, strict=True)
        for draw, shift in enumerate((-0.1, 0.1))
    ]
    of = tables.grid(found, "50")
    assert of.sets == ["moons", "uci_wine"]
    np.testing.assert_allclose(of.values, np.transpose(list(figures.values())))
    rank = tables.ranks(of)
    np.testing.assert_allclose(rank.mean, [1.5, 1.5, 3])
    # Nemenyi's q for three methods is 2.343 (Demsar 2006, table 5).
    assert rank.critical == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 2)), abs=2e-3)
    (lost,) = tables.losses(of)
    assert (lost.name, lost.rival) == ("uci_wine", "cms of the paper")


def test_the_page_is_whole(tmp_path):
    every = [Case(m, wrong) for wrong in (0.0, WRONG) for m in (*NUMBERS, ONE_A_ROW)]
    rng = np.random.default_rng(0)
    found = [
        made(name, case, method, float(rng.uniform()))
        for name in SETS
        for case in (Case(0), *every, *PUBLISHED)
        for method in METHODS
    ]
    found += [made("embed", case, method, 0.5) for case in TIMED for method in METHODS]
    refused = made("moons", Case(50), "auto", 0.0)
    score = replace(refused.score, refused="links differ:\n  (3, 4) | (5, 6)")
    found.append(Scored(refused.task, "auto", score))
    rows = [{"cells": {"table": "scores", **one.cells()}} for one in found]
    about = {"cpu": "one", "cores": 2, "python": "3.11", "versions": {"numpy": "2"}}
    record = {
        "started": "now",
        "environment": about,
        "options": {"size": "full", "repeats": 1, "seed": 0},
        "suites": [{"name": "compare", "rows": rows}],
    }
    (tmp_path / "result.json").write_text(json.dumps(record))
    page.main([str(tmp_path / "result.json"), "--docs", str(tmp_path)])
    text = (tmp_path / "compare.md").read_text()
    assert "@" not in text
    assert all(method in text for method in METHODS)
    assert "| links differ: (3, 4) / (5, 6) |" in text  # one line: tables have no others
    assert "| pccc_monk_2 " in text.partition("For four of them the paper prints")[2]
    pictures = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert pictures == ["compare_curves.png", "compare_ranks.png", "compare_times.png"]
