"""Questions: answers are what they claim, rivals keep to their budget, tables are those of hand."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import run
from benchmarks.active import (
    curves,
    methods,
    neighbourhoods,
    rivals_explore,
    rivals_npu,
    running,
    sets,
    speed,
    strategies,
    tables,
)
from benchmarks.active.methods import METHODS, OURS, SESSIONS
from benchmarks.active.oracle import Bound, Case, Oracle
from benchmarks.active.rivals_random import links_of
from benchmarks.active.running import Score, Scored, Task
from benchmarks.compare.journal import Journal
from benchmarks.harness import Options
from sklearn.metrics import adjusted_rand_score

from linkshift import Links

COUNTS = (0, 10, 30)


@pytest.fixture
def plain():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [30, 25, 25])
    corners = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
    return corners[y] + rng.normal(size=(80, 2)), y


# --- sets and answers ---------------------------------------------------------------------------


def test_no_set_is_of_both_halves():
    assert (len(sets.SEEN), len(sets.UNSEEN)) == (15, 10)
    assert not set(sets.SEEN) & set(sets.UNSEEN)
    assert [sets.half(name) for name in ("moons", "uci_vowel")] == ["seen", "unseen"]


def test_rows_are_drawn_by_the_seed():
    X, y = sets.load("moons", 1)
    assert X.shape == (500, 2)
    again, _ = sets.load("moons", 1)
    other, _ = sets.load("moons", 2)
    np.testing.assert_array_equal(again, X)
    assert (other != X).any()
    assert len(sets.load("moons", 1, most=40).y) == 40
    assert set(y) == {0, 1}


def test_columns_are_scaled_as_cluster_does(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKSHIFT_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    alike = rng.normal(size=(60, 3))
    for name, X in (("uci_wine", alike * [1, 1, 100]), ("uci_ecoli", alike)):
        np.savez(tmp_path / f"{name}.npz", X=X, y=np.arange(60) % 2 + 4)
    scaled, y = sets.load("uci_wine", 0, most=50)
    assert scaled.shape == (50, 3)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    assert set(y) == {0, 1}
    np.testing.assert_array_equal(sets.load("uci_ecoli").X, alike)


@pytest.mark.parametrize(
    ("case", "wrong", "unknown"),
    [(Case(), 0, 0), (Case(wrong=0.1), 0.1, 0), (Case(unknown=0.2), 0, 0.2)],
)
def test_shares_of_answers(case, wrong, unknown):
    y = np.random.default_rng(0).integers(4, size=100)
    oracle = Oracle(y, case, 5)
    pairs = [(a, b) for a in range(99, -1, -1) for b in range(a)]
    answers = [oracle(*pair) for pair in pairs]
    known = [(p, said) for p, said in zip(pairs, answers, strict=True) if said is not None]
    errors = sum(said != (y[a] == y[b]) for (a, b), said in known)
    assert errors / len(known) == pytest.approx(wrong, abs=0.02)
    assert 1 - len(known) / len(pairs) == pytest.approx(unknown, abs=0.02)
    assert [Oracle(y, case, 5)(b, a) for a, b in pairs] == answers
    assert len(oracle.asked) == len(pairs)
    if wrong:
        assert [Oracle(y, case, 6)(b, a) for a, b in pairs] != answers


def test_a_slip_does_not_repeat():
    y = np.random.default_rng(0).integers(4, size=100)
    pairs = [(a, b) for a in range(100) for b in range(a)]
    truth = np.array([y[a] == y[b] for a, b in pairs])
    oracle = Oracle(y, Case(wrong=0.1), 5)
    slips = np.array([[oracle(*pair) for pair in pairs] for _ in range(3)]) != truth
    np.testing.assert_allclose(slips.mean(axis=1), 0.1, atol=0.02)
    for one, other in ((0, 1), (0, 2), (1, 2)):  # among the slips as many as among all
        assert slips[one][slips[other]].mean() == pytest.approx(0.1, abs=0.04)
    assert oracle.times[1, 0] == 0
    assert oracle.times[0, 1] == 3
    assert len(oracle.asked) == 3 * len(pairs)
    turned = Oracle(y, Case(wrong=0.1), 5)  # asked three times at once, from the other side
    again = truth != np.array([[turned(b, a) for _ in range(3)] for a, b in pairs]).T
    np.testing.assert_array_equal(again, slips)


def test_what_nobody_knows_remains_unknown():
    oracle = Oracle(np.zeros(40, dtype=int), Case(wrong=0.5, unknown=0.3), 1)
    pairs = [(a, b) for a in range(40) for b in range(a)]
    first, again = ([oracle(*pair) is None for pair in pairs] for _ in range(2))
    assert first == again
    assert 0.25 < np.mean(first) < 0.35


def test_nobody_is_asked_about_one_row():
    with pytest.raises(ValueError, match="Row 3 was asked about with itself"):
        Oracle(np.zeros(5, dtype=int))(3, 3)


def test_links_of_answers():
    pairs = np.array([(0, 1), (1, 2), (2, 3)])
    assert links_of(pairs, [True, None, False], 4) == Links(must=[(0, 1)], cannot=[(2, 3)])
    assert len(links_of(pairs[:0], [], 4)) == 0


# --- strategies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [Case(), Case(wrong=0.1, unknown=0.2)], ids=lambda c: c.text)
@pytest.mark.parametrize("name", METHODS)
def test_every_strategy_keeps_to_its_budget(name, case, plain, monkeypatch):
    monkeypatch.setattr(rivals_npu, "TREES", 8)
    if METHODS[name].absent:
        pytest.skip(f"no {METHODS[name].absent[0]}")
    X, y = plain
    oracles = [Oracle(y, case, 0) for _ in range(2)]
    first, again = (METHODS[name].run(X, oracle, COUNTS, 0) for oracle in oracles)
    assert list(first) == list(COUNTS)
    assert 0 < len(oracles[0].asked) <= max(COUNTS)
    assert oracles[0].asked == oracles[1].asked
    for count in COUNTS:
        assert first[count].shape == (80,)
        np.testing.assert_array_equal(again[count], first[count])
    if case == Case():
        assert adjusted_rand_score(y, first[30]) > 0.9


class Asks:
    """A session that asks about each row and the first one; it has no further questions."""

    def __init__(self, X, *, random_state, audit=0.2):
        self._audit = audit
        self.labels_ = np.zeros(len(X), dtype=np.int64)
        self._asked, self._said = 0, []

    def ask(self):
        self._asked += 1
        if self._asked == len(self.labels_):
            return None
        audit = self._audit and self._asked % 5 == 0
        return SimpleNamespace(a=0, b=self._asked, purpose="audit" if audit else "learn")

    def answer(self, said):
        assert said in ("same", "different", "unknown")
        self._said.append(said)
        self.labels_ = self.labels_.copy()
        self.labels_[len(self._said)] = said == "different"

    @property
    def links(self):
        same = np.array([said == "same" for said in self._said], dtype=bool)
        rows = np.column_stack((np.zeros(len(same), dtype=int), np.arange(1, len(same) + 1)))
        return Links(must=rows[same], cannot=rows[~same])

    def estimate(self):
        return SimpleNamespace(ari=SimpleNamespace(value=0.5, low=0.4, high=0.6))

    def run(self, oracle, budget):
        for _ in range(budget):
            question = self.ask()
            self.answer("same" if oracle(question.a, question.b) else "different")


@pytest.fixture
def fake(monkeypatch):
    strategies._compile.cache_clear()
    monkeypatch.setattr(strategies, "import_module", lambda name: SimpleNamespace(Session=Asks))
    yield
    strategies._compile.cache_clear()


@pytest.mark.usefixtures("fake")
def test_a_session_is_asked_until_it_has_no_questions():
    y = np.repeat([0, 1], [4, 8])
    oracle = Oracle(y)
    found = METHODS[OURS].run(np.zeros((12, 2)), oracle, (0, 5, 20), 0)
    assert oracle.asked == [(0, row) for row in range(1, 12)]
    assert [adjusted_rand_score(y, found[count]) == 1 for count in (0, 5, 20)] == [0, 0, 1]
    assert oracle.estimates == {5: Bound(0.5, 0.4, 0.6)}
    assert len(oracle.seconds) == 11
    assert oracle.purposes == {"learn": 9, "audit": 2}


@pytest.mark.usefixtures("fake")
def test_a_session_without_audits():
    oracle = Oracle(np.repeat([0, 1], [4, 8]))
    METHODS["session without audits"].run(np.zeros((12, 2)), oracle, (0, 20), 0)
    assert oracle.purposes == {"learn": 11}
    assert SESSIONS == (OURS, "session + one of five", "session without audits", "session + auto")


@pytest.mark.usefixtures("fake")
def test_labels_of_auto_hold_the_links_of_a_session(plain):
    X, y = plain
    found = METHODS["session + auto"].run(X, Oracle(y), (0, 79), 0)
    assert adjusted_rand_score(y, found[79]) > 0.9
    assert (y[found[79] == found[79][0]] == y[0]).all()


@pytest.mark.usefixtures("fake")
def test_seconds_by_rows(monkeypatch):
    monkeypatch.setattr("benchmarks.active.methods.find_spec", lambda name: "here")
    (row,) = speed.run(Options(size="tiny"))
    assert (row.cells["rows"], row.cells["questions"]) == (200, 5)
    assert 0 <= row.cells["median ms"] <= row.cells["95 % ms"] <= row.cells["worst ms"]
    assert len(row.raw["questions"].wall) == 5


def asking(y, limit=100):
    return neighbourhoods.Asking(Oracle(y), (0, limit), lambda links: np.arange(len(y)))


def test_a_row_finds_its_neighbourhood_or_founds_one():
    y = np.array([0, 1, 1, 2, 0])
    ask, known = asking(y), neighbourhoods.Neighbourhoods(0, 5)
    known.settle(1, [0], ask)
    known.settle(2, [0, 1], ask)
    known.settle(4, [1, 0], ask, may_found=False)  # the last one need not be asked
    assert known.groups == [[0, 4], [1, 2]]
    assert ask.count == 4
    known.settle(3, [0, 1], ask)
    assert known.groups == [[0, 4], [1, 2], [3]]
    assert not known.free.any()
    assert ask.links == Links(must=[(2, 1)], cannot=[(1, 0), (2, 0), (4, 1), (3, 0), (3, 1)])


def test_a_row_that_nobody_knows_is_left_alone():
    known = neighbourhoods.Neighbourhoods(0, 2)
    ask = neighbourhoods.Asking(
        Oracle(np.array([0, 1]), Case(unknown=1.0)), (0, 9), lambda links: np.zeros(2)
    )
    known.settle(1, [0], ask)
    assert known.groups == [[0]]
    assert not known.free.any()
    assert list(ask.finish()) == [0, 9]


def test_questions_end_with_the_budget():
    ask = asking(np.arange(9), limit=2)
    with pytest.raises(neighbourhoods.Spent):
        neighbourhoods.Neighbourhoods(0, 9).settle(1, [0, 0, 0], ask)
    assert ask.count == 2


def test_exploring_finds_every_cluster_first(plain):
    X, y = plain
    oracle = Oracle(y)
    rivals_explore.explore(X, oracle, (0, 3), 0)
    assert len({y[row] for pair in oracle.asked for row in pair}) == 3


def test_npu_asks_about_a_row_between_its_neighbourhoods():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [2.5]])
    labels = np.array([0, 0, 0, 1, 1, 1, 1])
    known = neighbourhoods.Neighbourhoods(0, 7)
    known.groups.append([5])
    known.free[5] = False
    row, order = rivals_npu._most_informative(X, labels, known, np.random.default_rng(0))
    assert row == 6
    chance = rivals_npu._memberships(X, labels, known, np.array([1, 4]), 0)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    assert chance[0, 0] > 0.7 < chance[1, 1]
    assert sorted(order) == [0, 1]


# --- runs and tables ----------------------------------------------------------------------------


def made(name, method, aris, draw=0, case=None, **more):
    score = Score([0, 20, 50], aris, [1, 2, 3], 50, 60, 3, 1.5, **more)
    return Scored(Task(name, case or Case(), draw, 0), method, score)


def lines(found, table):
    return [row.cells for row in tables.summary(found) if row.cells["table"] == table]


def test_tables_by_hand():
    found = [
        made("moons", OURS, [0.1, 0.5, 0.8]),
        made("moons", OURS, [0.3, 0.7, 1.0], draw=1),
        made("uci_wine", OURS, [0.2, 0.4, 0.5]),
        made("moons", "cobras", [0.0, 0.2, 0.7]),
        made("uci_wine", "cobras", [0.0, 0.5, 0.6]),
        made("uci_vowel", OURS, [0.0, 0.3, 0.4]),
        made("uci_vowel", "cobras", [0.0, 0.1, 0.35]),
    ]
    seen, rival, unseen, _ = lines(found, "mean ARI")
    assert (seen["method"], seen["sets"], seen["draws"]) == (OURS, 2, 1)
    assert (seen["0"], seen["50"]) == (pytest.approx(0.2), pytest.approx(0.7))
    assert seen["± 50"] == pytest.approx(0.2)
    assert (rival["method"], unseen["half"], unseen["± 50"]) == ("cobras", "unseen", None)
    twenty, fifty, *_ = lines(found, f"{OURS} above its rivals")
    assert (twenty["rival"], twenty["questions"], twenty["ahead on"]) == ("cobras", 20, 1)
    assert twenty["by"] == pytest.approx(0.15)
    assert (fifty["there"], fifty["least"]) == ("uci_wine", pytest.approx(-0.1))
    held = {line["what"]: line for line in lines(found, "what must hold")}
    assert held["mean ARI, seen, 50 questions"]["ok"] is False
    assert held["sets ahead of cobras, seen, 50 questions"]["got"] == 1
    assert held["above cobras, unseen, 20 questions"]["ok"] is True
    assert held["above cobras, unseen, 50 questions"]["ok"] is False
    assert not [what for what in held if "wrong" in what or "auto" in what]


def test_what_wrong_answers_cost():
    found = []
    for case, ari in ((Case(), 0.8), (Case(wrong=0.05), 0.7)):
        score = Score([0, 100], [0.1, ari], [1, 2], 100, 60, 3, 1.5)
        found.append(Scored(Task("moons", case, 0, 0), OURS, score))
    (line,) = [one for one in lines(found, "what must hold") if "wrong" in one["what"]]
    assert (line["got"], line["ok"]) == (pytest.approx(0.1), False)


def test_how_often_an_estimate_covers():
    found = [
        made("moons", OURS, [0, 0.5, ari], draw, estimates={"50": [0.6, 0.5, 0.7]})
        for draw, ari in enumerate((0.55, 0.65, 0.4, 0.9))
    ]
    (line,) = lines(found, "estimate of the ARI, 90 %")
    assert (line["runs"], line["covers"]) == (4, 0.5)
    assert (line["too high"], line["too low"]) == (0.25, 0.25)
    assert (line["width"], line["error"]) == (pytest.approx(0.2), pytest.approx(0.15))


def test_questions_by_purpose():
    found = [
        made("moons", OURS, [0, 0, 0], purposes={"learn": 40, "audit": 10}),
        made("uci_wine", OURS, [0, 0, 0], purposes={"learn": 38, "audit": 9, "confirm": 3}),
        made("moons", "cobras", [0, 0, 0]),
    ]
    (line,) = lines(found, "questions by purpose")
    assert (line["method"], line["runs"]) == (OURS, 2)
    assert (line["learn"], line["audit"], line["confirm"]) == (39, 9.5, 1.5)
    assert found[1].cells()["confirm"] == 3


def test_seconds_of_questions():
    slow = [0.01, 0.2, 0.3]
    found = [
        made("moons", OURS, [0, 0, 0], start=0.5, wall=[0.01, 0.02, 0.03]),
        made("uci_wine", OURS, [0, 0, 0], start=1.5, wall=slow),
    ]
    (line,) = lines(found, "seconds")
    assert (line["start s, worst"], line["95 % ms, worst set"]) == (1.5, pytest.approx(200))


def test_a_strategy_is_judged(monkeypatch):
    def run_three(X, oracle, checkpoints, seed):
        for b in (1, 2, 3):
            oracle(0, b)
        oracle.seconds = [0.1, 0.2, 0.3]
        oracle.purposes.update(["learn", "audit", "learn"])
        oracle.estimates[10] = Bound(0.5, 0.4, 0.6)
        return {0: np.zeros(len(X)), 10: oracle.y}

    def refuse(*_):
        raise ValueError("no such rows")

    strategy = METHODS["random + auto"]
    monkeypatch.setitem(METHODS, "three", type(strategy)(run_three, ()))
    monkeypatch.setitem(METHODS, "refuse", type(strategy)(refuse, ()))
    task = Task("moons", Case(), 0, 0, 60, (0, 10, 20))
    score = running.run(task, "three").score
    assert (score.ari, score.asked, score.clusters) == ([0.0, 1.0, 1.0], 3, [1, 2, 2])
    assert (score.wall[0], score.estimates) == (0.2, {"10": [0.5, 0.4, 0.6]})
    assert score.purposes == {"learn": 2, "audit": 1}
    assert running.run(task, "refuse").score.refused == "no such rows"
    with pytest.raises(RuntimeError, match="3 questions, and 2 allowed"):
        running.run(task._replace(checkpoints=(0, 2)), "three")


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "cpu_count", lambda: 1)
    file = tmp_path / "active.jsonl"

    def journal(source):
        return Journal.beside_results(
            {"explore + pckmeans": source}, kept=True, file=file, variable="LINKSHIFT_ACTIVE_REUSE"
        )

    task = Task("moons", Case(), 0, 0, 60, (0, 10))
    (first,) = running.scores([task], ["explore + pckmeans"], journal("now"))
    monkeypatch.setattr(running, "run", None)  # would fail if it were called
    assert list(running.scores([task], ["explore + pckmeans"], journal("now"))) == [first]
    assert not journal("other sources").done
    monkeypatch.setenv("LINKSHIFT_ACTIVE_REUSE", "any")
    assert journal("other sources").done
    assert json.loads(file.read_text())["source"] == "now"


def test_of_methods_that_are_not_run_the_journal_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "cpu_count", lambda: 1)
    monkeypatch.setattr("benchmarks.active.methods.find_spec", lambda name: None)
    monkeypatch.setattr(curves, "FILE", tmp_path / "compare.jsonl")
    monkeypatch.setattr(curves, "CHECKPOINTS", (0, 10))
    score = {"questions": [0, 10], "ari": [0.0, 0.5], "clusters": [1, 2], "asked": 10}
    score |= {"rows": 500, "classes": 2, "cpu": 1.0}
    key = Task("moons", Case(), 0, 0, None, (0, 10)).key
    line = {"source": METHODS["cobras"].source, "task": key, "method": "cobras", "score": score}
    (tmp_path / "active.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.setenv("LINKSHIFT_ACTIVE_PARTS", "curves")
    monkeypatch.setenv("LINKSHIFT_ACTIVE_CASES", "right")
    monkeypatch.setenv("LINKSHIFT_ACTIVE_SETS", "moons")
    monkeypatch.setenv("LINKSHIFT_ACTIVE_METHODS", "cobras,npu,explore + pckmeans")
    monkeypatch.setenv("LINKSHIFT_ACTIVE_RUN", "explore + pckmeans")
    record = run.run_suite("active", Options(size="full", repeats=1))
    assert record["error"] is None, record["error"]
    cells = [row["cells"] for row in record["rows"]]
    assert not [c for c in cells if c["table"] == "left out"]  # although COBRAS is not installed
    means = {c["method"]: c["10"] for c in cells if c["table"] == "mean ARI"}
    assert list(means) == ["cobras", "explore + pckmeans"]
    assert means["cobras"] == 0.5
    monkeypatch.setenv("LINKSHIFT_ACTIVE_RUN", "session")
    record = run.run_suite("active", Options(size="full", repeats=1))
    assert "LINKSHIFT_ACTIVE_RUN names 'session'" in record["error"]


def test_marks_of_rivals_are_kept_when_sessions_change(tmp_path, monkeypatch):
    file = tmp_path / "active.jsonl"
    score = {"a score": 1}
    written = [
        json.dumps({"source": "before", "task": "a task", "method": name, "score": score})
        for name in METHODS
    ]
    file.write_text("\n".join(written) + "\n")

    def known(own):
        journal = Journal.beside_results(
            "now", kept=True, file=file, variable="LINKSHIFT_ACTIVE_REUSE", own=own
        )
        return {method for _, method in journal.done}

    assert not known(SESSIONS)
    monkeypatch.setenv("LINKSHIFT_ACTIVE_REUSE", "rivals")
    assert known(SESSIONS) == {*METHODS} - {*SESSIONS}
    with pytest.raises(ValueError, match="'same' or 'any', not 'rivals'"):
        known(())


def test_sources_are_those_of_the_strategy():
    found = {name: strategy.source for name, strategy in METHODS.items()}
    assert found["npu"] == found["npu + refine"] != found["cobras"]
    assert not [one for one in methods._AT_RANDOM if one.startswith("src/linkshift/active")]
    assert {"src/linkshift/methods", "src/linkshift/consensus"} < {*methods._AT_RANDOM}
    assert "src/linkshift/active/prior.json" in METHODS[OURS].uses  # no Python file


def test_a_tiny_run(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_ACTIVE_METHODS", "cobras,explore + pckmeans")
    monkeypatch.setenv("LINKSHIFT_ACTIVE_SETS", "moons,uci_wine")
    monkeypatch.setattr(running, "cpu_count", lambda: 1)
    monkeypatch.setattr(curves, "is_here", lambda name: name == "moons")
    monkeypatch.setattr("benchmarks.active.methods.find_spec", lambda name: None)
    record = run.run_suite("active", Options(size="tiny", repeats=1))
    assert record["error"] is None, record["error"]
    cells = [row["cells"] for row in record["rows"]]
    assert [c["what"] for c in cells if c["table"] == "left out"] == [
        "uci_wine",
        "cobras",
        "session, speed",
    ]
    (score,) = [c for c in cells if c["table"] == "scores"]
    assert (score["set"], score["method"]) == ("moons", "explore + pckmeans")
    assert {"0", "10", "20"} <= score.keys()


def test_halves_can_be_named(monkeypatch):
    monkeypatch.setenv("LINKSHIFT_ACTIVE_SETS", "unseen,moons")
    assert curves._sets(Options()) == [*sets.UNSEEN, "moons"]
    monkeypatch.setenv("LINKSHIFT_ACTIVE_SETS", "nonsense")
    record = run.run_suite("active", Options(size="tiny"))
    assert "LINKSHIFT_ACTIVE_SETS names 'nonsense'" in record["error"]
