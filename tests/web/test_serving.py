"""The server as a whole: sessions in Python, two servers on one file, and what a kill leaves."""

import socket
import threading

import numpy as np
import pandas as pd
import pytest
from tests.web.pages import PATIENCE, Visitor

from linkshift import Links, Session
from linkshift.web.items import Items
from linkshift.web.serving import listening
from linkshift.web.showable import items_of
from linkshift.web.store import Store, StoreError


def heaps(n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(centre, 0.7, (n, 2)) for centre in (0, 3, 6, 9)])
    return X, np.repeat([0, 1, 1, 2], n)


def answer_by_truth(visitor, truth, n):
    """Answer the first of the questions, n times, as the page does."""
    for _ in range(n):
        questions = visitor.get("/api/next")["questions"]
        if not questions:
            visitor.ready()
            questions = visitor.get("/api/next")["questions"]
        a, b, why = (questions[0][key] for key in ("a", "b", "purpose"))
        word = "same" if truth[a] == truth[b] else "different"
        visitor.post("/api/answer", a=a, b=b, word=word, purpose=why)


def labels_of(visitor):
    visitor.ready()
    return np.frombuffer(visitor.raw("GET", "/api/labels")[2], "<i4")


def first_come(labels):
    """Number clusters by their first row."""
    seen = {}
    return [seen.setdefault(label, len(seen)) for label in np.asarray(labels).tolist()]


def test_answers_over_http_give_the_labels_of_the_session():
    X, truth = heaps(60)
    ids = [f"r{i}" for i in range(len(X))]
    session = Session(X, ids=ids)
    with session.serve(browser=False) as page:
        visitor = Visitor(page.address)
        visitor.ready()
        answer_by_truth(visitor, truth, 25)
        shown = labels_of(visitor)
    again = Session(X, ids=ids)
    for one in session.log:
        again.answer(one["word"], pair=(one["a"], one["b"]), purpose=one["purpose"])
    assert len(session.log) == 25
    assert first_come(shown) == again.labels_.tolist() == session.labels_.tolist()
    assert {one["purpose"] for one in session.log} >= {"learn", "audit"}


def test_what_a_session_knew_is_on_the_page_and_what_the_page_said_in_the_session():
    X, _ = heaps()
    session = Session(X, Links(must=[(0, 1)], cannot=[(0, 70)]))
    session.answer("same", pair=(2, 3))
    session.answer("unknown", pair=(4, 5), purpose="audit")
    with session.serve(browser=False) as page:
        visitor = Visitor(page.address)
        visitor.ready()
        assert len(visitor.get("/api/links")["links"]) == 4
        visitor.post("/api/answer", a=6, b=70, word="different", purpose="learn")
        assert [one["word"] for one in session.log] == ["same", "unknown", "different"]
        visitor.post("/api/undo")
        visitor.post("/api/undo")
        assert [one["word"] for one in session.log] == ["same"]
        assert len(session.links) == 3
        visitor.post("/api/undo")
        visitor.post("/api/undo")  # the links, as one
        assert len(session.links) == 0
        visitor.post("/api/answer", a=6, b=70, word="different")
    assert not page.running
    assert not page.path.exists()
    assert "closed" in page._repr_html_()
    assert [(one["a"], one["b"]) for one in session.log] == [(6, 70)]
    page.stop()  # once more does nothing


def test_a_named_store_goes_on_and_says_nothing_twice(tmp_path):
    X, _ = heaps()
    path = tmp_path / "a.linkshift"
    session = Session(X)
    session.answer("same", pair=(0, 1))
    session.answer("same", pair=(0, 1), purpose="confirm")
    for _ in range(2):
        with session.serve(store=path, browser=False, who="Anna"):
            pass
    assert len(session.log) == 2
    other = Session(X)
    with other.serve(store=path, browser=False, who="Ben") as page:
        assert other.log == session.log
        Visitor(page.address).post("/api/answer", a=5, b=70, word="different")
    with Store(path, read_only=True) as store:
        said = [(entry.kind, entry.who) for entry in store.entries() if entry.kind != "data"]
    assert said == [("answer", "Anna"), ("answer", "Anna"), ("answer", "Ben")]


def test_two_servers_on_one_store(tmp_path):
    X, _ = heaps()
    path = tmp_path / "a.linkshift"
    one, other = Session(X), Session(X)
    with (
        one.serve(store=path, browser=False, who="Anna") as first,
        other.serve(store=path, browser=False, who="Ben") as second,
    ):
        visitors = Visitor(first.address), Visitor(second.address)

        def say(visitor, start):
            for i in range(15):
                visitor.post("/api/answer", a=start, b=start + 1 + i, word="unknown")

        threads = [
            threading.Thread(target=say, args=(visitor, start))
            for visitor, start in zip(visitors, (0, 40), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        for visitor in visitors:
            visitor.post("/api/answer", a=30, b=31, word="same")  # takes in the other's
        logs = [visitor.get("/api/links")["links"] for visitor in visitors]
    assert sum(link["who"] == "Anna" for link in logs[1]) >= 15
    assert [link["seq"] for link in logs[1]] == sorted(link["seq"] for link in logs[1])
    with Store(path, read_only=True) as store:
        entries = [entry for entry in store.entries() if entry.kind == "answer"]
    assert len(entries) == 32
    assert other.log[-1]["a"] == 30


def test_a_notebook_shows_a_frame():
    X, _ = heaps()
    with Session(X).serve(browser=False) as page:
        shown = page._repr_html_()
        assert f'<iframe src="{page.address}"' in shown
        assert page.address.startswith("http://localhost:")
        assert repr(page) == f"<the labelling page at {page.address}>"
        _, headers, _ = Visitor(page.address).raw("GET", "/")
        assert "frame-ancestors http://localhost:*" in headers["content-security-policy"]


def test_the_browser_is_opened_unless_it_is_not_wanted(monkeypatch):
    opened = []
    monkeypatch.setattr("linkshift.web.sessions.show", opened.append)
    X, _ = heaps()
    for wanted, n in ((None, 1), (True, 2), (False, 2)):
        with Session(X).serve(browser=wanted) as page:
            assert len(opened) == n
    assert opened[0] != page.address
    monkeypatch.setattr("linkshift.web.sessions._in_notebook", lambda: True)
    with Session(X).serve():
        assert len(opened) == 2


def test_a_port_that_is_taken_is_refused_in_words():
    X, _ = heaps()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"Port {port} cannot be listened at.*none"):
            Session(X).serve(port=port, browser=False)
    with Session(X).serve(port=port, browser=False) as page:
        assert f":{port}/" in page.address


def test_only_this_machine_is_listened_to():
    for remote, host in ((False, "127.0.0.1"), (True, "0.0.0.0")):
        door = listening(remote=remote)
        assert door.socket.getsockname()[0] == host
        assert len(door.token) >= 43  # 32 bytes
        assert door.socket.proto == socket.IPPROTO_TCP  # what asyncio sends without delay
        door.socket.close()
    assert len({listening_token() for _ in range(20)}) == 20


def listening_token():
    door = listening()
    door.socket.close()
    return door.token


def test_a_page_that_cannot_be_opened_leaves_its_file_closed(tmp_path, monkeypatch):
    def nothing(*_):
        raise OSError("no more processes")

    monkeypatch.setattr("linkshift.web.engine.Process", nothing)
    X, _ = heaps()
    session = Session(X)
    with pytest.raises(OSError, match="no more processes"):
        session.serve(store=tmp_path / "a.linkshift", browser=False)
    assert [file.name for file in tmp_path.iterdir()] == ["a.linkshift"]  # no log beside it


def test_a_page_that_does_not_open_is_told_and_not_left_behind(monkeypatch):
    monkeypatch.setattr("linkshift.web.hosting._LONGEST", 0.0)
    X, _ = heaps()
    before = {thread.ident for thread in threading.enumerate()}
    with pytest.raises(ValueError, match="did not open within 0 seconds"):
        Session(X).serve(browser=False)
    for thread in threading.enumerate():
        if thread.ident not in before:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_a_store_that_is_none_is_refused_and_nothing_left_open(tmp_path):
    X, _ = heaps()
    path = tmp_path / "a.linkshift"
    path.write_text("something else")
    before = threading.active_count()
    with pytest.raises(StoreError, match="no file of answers"):
        Session(X).serve(store=path, browser=False)
    with pytest.raises(ValueError, match="names a row"):
        Session(X, ids=[(i, i) for i in range(len(X))]).serve(browser=False)
    assert threading.active_count() == before


def test_what_is_shown_of_rows():
    X = np.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, np.nan, 2]})
    assert items_of(frame, X, None).texts(1) == ["2", None, None]
    assert items_of(None, X, None).texts(1) == ["2", "3"]
    assert items_of(["one", "two", "three"], X, None).kind == "text"
    assert items_of(frame["b"], X, None).texts(1) == [None]
    assert items_of(["a.png", "b.JPG", None], X, None).kind == "image"
    assert items_of(["a.wav", "b.mp3", "c.flac"], X, None).kind == "audio"
    assert items_of(["a.wav", "b.png", "c.flac"], X, None).kind == "text"
    assert items_of(np.zeros((3, 4, 5)), X, None).pixels == (4, 5)
    wide = items_of(None, np.zeros((3, 30)), None)
    assert (len(wide.columns), "30" in wide.note) == (20, True)
    own = Items("text", {"t": ["a", "b", "c"]})
    assert items_of(own, X, None) is own
    for wrong in ("text", 3, ["only one"], frame[:2], np.zeros((2, 4, 4))):
        with pytest.raises(ValueError, match="one for each row"):
            items_of(wrong, X, None)


def test_questions_do_not_wait_for_a_refit():
    """A key is answered while the worker is at work: it is not asked, and the loop is free."""
    X, _ = heaps(60)
    with Session(X).serve(browser=False) as page:
        visitor = Visitor(page.address)
        # The worker still imports and looks; answers are taken all the same.
        said = visitor.post("/api/answer", a=0, b=1, word="same")
        assert said["state"]["phase"] == "looking"
        assert said["state"]["answers"] == 1
        assert visitor.ready()["n_clusters"] > 1
