"""The worker: what is newest comes first, a log is followed whatever was before, numbers stay."""

import contextlib
import io
import os
import subprocess
import sys
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.helpers import blobs
from tests.reference import web_worker as twin

from linkshift import Session
from linkshift._core.labels import first_come
from linkshift.web.process import Inbox, Process
from linkshift.web.stable import Stable
from linkshift.web.wire import packed, read
from linkshift.web.worker import Unfit, Worker, _links

PARTS = ["questions", "labels", "clusters", "progress", "estimate"]


class Letters:
    """An inbox that has what a test puts into it; ``later`` is called at each look for a log."""

    def __init__(self, later=lambda: None):
        self.log, self.messages, self.later = None, deque(), later

    def newest(self):
        self.later()
        log, self.log = self.log, None
        return log

    def newer(self):
        return self.log is not None

    def message(self):
        return self.messages.popleft() if self.messages else None

    def again(self, message):
        self.messages.appendleft(message)

    def put(self, message):
        self.messages.append(message)

    def wait(self):
        raise StopIteration("nothing is left to do")


def opened(X, inbox=None, before=()):
    inbox = Letters() if inbox is None else inbox
    head = {"kind": "open", "audit": 0.2, "random_state": 0, "ids": None, "map": False}
    inbox.put((head, [X, *before]))
    return Worker(inbox, io.BytesIO()), inbox


def work(worker):
    """Let it work until nothing is left, and give what it said."""
    with contextlib.suppress(StopIteration):
        worker.run()
    worker._outward.seek(0)
    found = []
    while (message := read(worker._outward)) is not None:
        found.append(message)
    worker._outward.seek(0)
    worker._outward.truncate()
    return found


def log(version, answers=(), given_links=()):
    return {
        "kind": "log",
        "version": version,
        "answers": [list(one) for one in answers],
        "given": [list(one) for one in given_links],
    }


def rows(n=40, d=3):
    return blobs(n, d, seed=4)[0]


def test_links_that_stay_are_not_said_again():
    worker, inbox = opened(rows())
    links = [(0, 1, True, 1.0), (0, 9, False, 0.5)]
    inbox.log = log(1, given_links=links)
    work(worker)
    inbox.log = {**log(2, [(2, 3, "same", 1.0, "learn")]), "given": None}
    told = {head["kind"]: found for head, found in work(worker)}
    session = Session(rows(), _links(links), n_jobs=1)
    session.answer("same", pair=(2, 3))
    assert np.array_equal(first_come(told["labels"][0], np.int64), session.labels_)
    inbox.log = log(3)
    assert work(worker)[0][0]["version"] == 3
    assert len(worker._open_session.links) == 0


# The order of work --------------------------------------------------------------------------------


def test_all_parts_of_a_log_come_in_order_and_once():
    worker, inbox = opened(rows())
    inbox.log = log(3)
    said = [head for head, _ in work(worker)]
    assert [head["kind"] for head in said] == PARTS
    assert {head["version"] for head in said} == {3}


def test_rest_of_a_log_is_dropped_for_a_newer_one():
    worker, inbox = opened(rows())
    inbox.log = log(1)
    looks = []

    def later():
        looks.append(1)
        if len(looks) == 3:  # the first part of the first log is done
            inbox.log = log(2, [(0, 1, "same", 1.0, "learn")])

    inbox.later = later
    said = [(head["kind"], head["version"]) for head, _ in work(worker)]
    assert said == [("questions", 1), *((part, 2) for part in PARTS)] or said == [
        ("questions", 1),
        ("labels", 1),
        *((part, 2) for part in PARTS),
    ]


def test_request_is_seen_to_after_the_questions_and_before_the_rest():
    worker, inbox = opened(rows())
    inbox.log = log(1)
    inbox.put(({"kind": "why", "request": 7, "row": 5}, []))
    said = work(worker)
    kinds_said = [head["kind"] for head, _ in said]
    assert kinds_said == ["questions", "labels", "reply", *PARTS[2:]]
    reply = said[2][0]
    assert (reply["request"], reply["row"], reply["version"]) == (7, 5, 1)


def test_why_gives_way_to_a_newer_log_and_is_told_of_that():
    worker, inbox = opened(rows())
    answers = [(0, i, "same", 1.0, "learn") for i in range(1, 5)]
    inbox.log = log(1, answers)
    work(worker)
    inbox.put(({"kind": "why", "request": 1, "row": 0}, []))
    looks = []
    inbox.newer = lambda: (
        inbox.log is not None
        or (not looks and (looks.append(1), setattr(inbox, "log", log(2, answers[:2])))[0] is None)
    )
    said = [(head["kind"], head["version"]) for head, _ in work(worker)]
    assert said[:3] == [("questions", 2), ("labels", 2), ("reply", 2)]


def test_order_is_from_the_heart_and_in_stable_numbers():
    worker, inbox = opened(rows(), before=[np.repeat([5, 9], 20).astype(np.int32)])
    inbox.log = log(1)
    labels = next(found[0] for head, found in work(worker) if head["kind"] == "labels")
    k = int(labels[3])
    inbox.put(({"kind": "order", "request": 1, "cluster": k}, []))
    inbox.put(({"kind": "order", "request": 2, "cluster": 777}, []))
    (head, (order,)), (refused, _) = work(worker)
    assert sorted(order.tolist()) == np.flatnonzero(labels == k).tolist()
    assert (head["cluster"], head["names"]) == (k, ["rows"])
    assert refused["error"] == "There is no cluster 777."
    assert refused["remedy"]


def test_request_before_any_log_is_refused_and_one_that_is_none_does_no_harm():
    worker, inbox = opened(rows())
    for number, kind in enumerate(["order", "why", "plan", "burn"]):
        inbox.put(({"kind": kind, "request": number, "row": 1, "cluster": 0}, []))
    said = [head for head, _ in work(worker)]
    assert [head["request"] for head in said] == [0, 1, 2, 3]
    assert all(head["error"] for head in said)


def test_plan_is_what_the_action_says():
    worker, inbox = opened(rows())
    inbox.log = log(1, [(0, 1, "same", 1.0, "learn")])
    work(worker)
    inbox.put(({"kind": "plan", "request": 1, "do": "out", "about": {"row": 1}}, []))
    ((head, _),) = work(worker)
    assert {"a": 0, "b": 1, "word": "different"} in head["links"]
    assert "before" in head["note"]


@pytest.mark.parametrize(
    "wrong",
    [log(1, [(0, 0, "same", 1.0, "learn")]), log(1, [(0, 999, "same", 1.0, "learn")]),
     log(1, [], [(0, 999, True, 1.0)]), log(1, [(0, 1, "maybe", 1.0, "learn")])],
)  # fmt: skip
def test_log_that_is_none_is_said_to_be(wrong):
    worker, inbox = opened(rows())
    inbox.log = wrong
    with pytest.raises(Unfit):
        worker.run()


def test_data_that_are_none_are_said_to_be():
    X = rows()
    X[3, 1] = np.nan
    with pytest.raises(Unfit, match="NaN"):
        opened(X)[0].run()


# Following a log ----------------------------------------------------------------------------------

pairs = st.tuples(st.integers(0, 25), st.integers(0, 25)).filter(lambda pair: pair[0] != pair[1])
said = st.tuples(
    pairs,
    st.sampled_from(["same", "different", "unknown"]),
    st.sampled_from([1.0, 0.7]),
    st.sampled_from(["learn", "audit", "confirm"]),
).map(lambda one: [*one[0], *one[1:]])
links = st.lists(
    st.tuples(pairs, st.booleans()).map(lambda one: [*one[0], one[1], 1.0]),
    max_size=2,
    unique_by=lambda one: frozenset(one[:2]),
)
logs = st.lists(st.tuples(st.lists(said, max_size=8), links), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@given(logs, st.booleans())
def test_any_log_after_any_other_is_what_a_session_says_of_it(some, grow):
    X = rows(26)
    worker, inbox = opened(X)
    for version, (answers, given_links) in enumerate(some):
        if grow and version:  # most logs have much in common
            answers = [*some[0][0][:5], *answers]
        inbox.log = log(version, answers, given_links)
        told = {head["kind"]: (head, found) for head, found in work(worker)}
        session = Session(X, _links(given_links), n_jobs=1)
        before = session.labels_
        for i, (a, b, word, confidence, purpose) in enumerate(answers):
            if i == len(answers) - 10:
                before = session.labels_
            session.answer(word, confidence, pair=(a, b), purpose=purpose)
        head, (numbers,) = told["labels"]
        assert np.array_equal(first_come(numbers, np.int64), session.labels_)
        assert head["n_clusters"] == session.n_clusters_ == len(np.unique(numbers))
        shared = np.array(
            [[((session.labels_ == i) & (before == j)).sum() for j in range(26)] for i in range(26)]
        )
        moved = 1 - shared[linear_sum_assignment(shared, maximize=True)].sum() / len(X)
        assert head["moved_by_last_10"] == pytest.approx(moved)
        clashes = session.contradictions()
        assert [one["text"] for one in head["contradictions"]] == [str(one) for one in clashes]
        asked = [
            {"a": q.a, "b": q.b, "why": q.why, "at_stake": q.at_stake, "purpose": q.purpose}
            for q in session.ask(10)
        ]
        ahead = told["questions"][0]["questions"]
        for q in ahead:
            guess = q.pop("probability")
            if q["purpose"] == "learn":
                assert guess == session.probability(q["a"], q["b"])
            else:
                assert guess is None
        assert ahead[: len(asked)] == asked
        assert len({frozenset((q["a"], q["b"])) for q in ahead}) == len(ahead) <= 10
        assert told["progress"][0]["text"] == session.progress()
        assert told["estimate"][0]["text"] == str(session.estimate())


def test_questions_ahead_are_more_than_the_clusters():
    X = np.concatenate([rows(26), rows(26) + 40])
    worker, inbox = opened(X)
    inbox.log = log(0)
    questions = work(worker)[0][0]["questions"]
    assert len(Session(X, n_jobs=1).ask(10)) < 10
    assert len(questions) == 10


# Numbers ------------------------------------------------------------------------------------------

labelled = st.lists(st.integers(0, 3), min_size=7, max_size=7).map(
    lambda some: first_come(np.array(some), np.int64)
)


@given(st.lists(labelled, min_size=2, max_size=4))
def test_as_many_rows_as_can_be_keep_their_number(some):
    stable = Stable()
    assert np.array_equal(stable.follow(some[0]), some[0])
    for labels in some[1:]:
        before = stable.labels
        now = stable.follow(labels)
        assert now.dtype == np.int32
        assert np.array_equal(first_come(now, np.int64), labels)  # a renumbering
        assert (now == before).sum() == twin.most_kept(labels.tolist(), before.tolist())


@given(st.lists(labelled, min_size=1, max_size=3))
def test_what_did_not_change_keeps_all_numbers(some):
    stable = Stable()
    for labels in some:
        now = stable.follow(labels)
        assert np.array_equal(stable.follow(labels), now)


def test_cluster_that_comes_back_has_its_number():
    apart = np.repeat([0, 1, 2, 3], 10)
    merged = np.array([0, 1, 1, 2])[apart]
    stable = Stable()
    stable.follow(apart)
    assert set(stable.follow(merged)) == {0, 1, 3} or set(stable.labels) == {0, 2, 3}
    assert np.array_equal(stable.follow(apart), apart)


def test_labels_of_before_are_followed():
    before = np.repeat([7, 4, 2], 5).astype(np.int32)
    assert np.array_equal(Stable(before).follow(np.repeat([0, 1, 2], 5)), before)


# The inbox and the process ------------------------------------------------------------------------


def test_inbox_keeps_the_newest_log_and_all_else():
    there, here = os.pipe()
    with os.fdopen(there, "rb") as inward, os.fdopen(here, "wb", buffering=0) as outward:
        pipe = io.BytesIO()
        first = log(1, given_links=[(0, 1, True, 1.0)])
        second = {**log(2), "given": None}  # links as before, which nobody has looked at yet
        for head in (first, {"kind": "why", "row": 1}, second, {"kind": "why", "row": 2}):
            pipe.write(b"".join(packed(head)))
        # In a process of its own: where the stream ends, so does it.
        code = (
            "import os, sys, time\n"
            "from linkshift.web.process import Inbox\n"
            "inbox = Inbox(sys.stdin.buffer)\n"
            "while len(inbox._messages) < 2: time.sleep(0.01)\n"
            "newer, log = inbox.newer(), inbox.newest()\n"
            "print(newer, log['version'], log['given'], inbox.newest(), inbox.newer(),\n"
            "      [inbox.message()[0]['row'] for _ in '12'], inbox.message(), flush=True)\n"
            "while True: pass\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=inward, stdout=subprocess.PIPE
        )
        outward.write(pipe.getvalue())
        line = process.stdout.readline()
    assert line.split(b"\n")[0] == b"True 2 [[0, 1, True, 1.0]] None False [1, 2] None"
    assert process.wait(20) == 0
    process.stdout.close()


def test_last_words_of_a_process_are_heard():
    process = Process("linkshift.web.nothing_of_that_name")
    ends = []
    process.listen(ends.append)
    assert "nothing_of_that_name" in process.last_words()
    process.stop()
    assert ends == [None]


def test_inbox_is_what_worker_takes():
    assert all(hasattr(Inbox, name) for name in dir(Letters) if not name.startswith("_")
               and callable(getattr(Letters, name)))  # fmt: skip
