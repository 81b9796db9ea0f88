"""The page in a notebook: the same page, whose requests go by messages."""

import base64
import queue
import time

import numpy as np
import pytest

from linkshift import Session

pytest.importorskip("anywidget", reason="of the extra 'notebook'")

from linkshift.web.widget import LabelWidget

PATIENCE = 60  # seconds

# What anywidget has in a notebook: messages one way and the other. Here they wait in Python.
MODEL = """
const ears = [];
const model = {
  get: () => 640,
  on: (what, ear) => ears.push(ear),
  off: (what, ear) => ears.splice(ears.indexOf(ear), 1),
  send: (message) => window.toPython(message),
};
setInterval(async () => {
  for (const { message, buffer } of await window.fromPython()) {
    const bytes = buffer && Uint8Array.from(atob(buffer), (letter) => letter.charCodeAt(0));
    for (const ear of [...ears]) ear(message, bytes ? [new DataView(bytes.buffer)] : []);
  }
}, 20);
const el = document.createElement("div");
document.body.append(el);
window.takeAway = widget.render({ model, el });
"""


def heaps(n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(centre, 0.7, (n, 2)) for centre in (0, 3, 6, 9)])
    return X, np.repeat([0, 1, 1, 2], n)


@pytest.fixture
def heard(monkeypatch):
    """What a widget says, in place of a notebook that would hear it."""
    said = queue.Queue()
    monkeypatch.setattr(
        LabelWidget, "send", lambda self, message, buffers=None: said.put((message, buffers))
    )
    return said


def reply(said, number):
    """Wait for the answer to a request; events are passed over."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        message, buffers = said.get(timeout=PATIENCE)
        if message.get("id") == number:
            return message, buffers
    raise TimeoutError(number)


def ask(widget, said, number, method, path, body=None):
    widget._asked(widget, {"id": number, "method": method, "path": path, "body": body}, [])
    return reply(said, number)


def test_a_mistake_of_ours_is_answered_too(heard, monkeypatch, capfd):
    widget = LabelWidget(Session(heaps()[0]))
    try:

        async def mistaken(*_, **__):
            raise KeyError("of ours")

        monkeypatch.setattr(widget.hosted.desk, "handle", mistaken)
        said, _ = ask(widget, heard, 1, "GET", "/api/state")
        assert (said["status"], said["json"]["error"]) == (500, "Something went wrong.")
        assert "of ours" in capfd.readouterr().err
    finally:
        widget.close()


def test_answers_by_messages_are_in_the_session(heard):
    X, _ = heaps()
    session = Session(X)
    widget = LabelWidget(session, who="ann")
    try:
        said, _ = ask(
            widget, heard, 1, "POST", "/api/answer", {"a": 0, "b": 79, "word": "different"}
        )
        assert said["status"] == 200
        assert [(one["a"], one["b"], one["word"]) for one in session.log] == [(0, 79, "different")]
        told, buffers = ask(widget, heard, 2, "GET", "/api/rows?rows=3,4")
        assert [one["row"] for one in told["json"]["rows"]] == [3, 4]
        assert buffers is None
        told, _ = ask(widget, heard, 3, "POST", "/api/answer", {"a": 0, "b": 0, "word": "same"})
        assert told["status"] == 400
        assert told["json"]["error"]
        told, _ = ask(widget, heard, 4, "DELETE", "/api/state")
        assert told["status"] == 405
        told, _ = ask(widget, heard, 5, "GET", "/etc/passwd")
        assert told["status"] == 404
    finally:
        widget.close()
    told, _ = ask(widget, heard, 6, "GET", "/api/state")
    assert told["status"] == 503


def test_numbers_come_as_bytes_and_changes_are_told(heard):
    X, _ = heaps()
    widget = LabelWidget(Session(X))
    try:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            message, _ = heard.get(timeout=PATIENCE)
            if message.get("event") == "changed" and "labels" in message["data"]["what"]:
                break
        told, buffers = ask(widget, heard, 1, "GET", "/api/labels")
        assert told["media_type"] == "application/octet-stream"
        assert len(np.frombuffer(buffers[0], "<i4")) == len(X)
    finally:
        widget.close()


def test_it_is_the_page_in_a_browser(page, heard):
    """Answer five pairs by keyboard in what a notebook would show."""
    X, truth = heaps()
    session = Session(X)
    widget = LabelWidget(session, who="ann")

    def fetched(_):
        found = []
        while not heard.empty():
            message, buffers = heard.get()
            buffer = base64.b64encode(buffers[0]).decode() if buffers else None
            found.append({"message": message, "buffer": buffer})
        return found

    try:
        page.expose_binding("toPython", lambda _, message: widget._asked(widget, message, []))
        page.expose_binding("fromPython", fetched)
        page.set_content("<!doctype html><title>notebook</title>")
        page.add_style_tag(content=LabelWidget._css)
        text = base64.b64encode(LabelWidget._esm.encode()).decode()
        page.add_script_tag(
            type="module",
            content=f'import widget from "data:text/javascript;base64,{text}";\n{MODEL}',
        )
        for i in range(5):
            shown = page.wait_for_selector("[data-pair]", timeout=1000 * PATIENCE)
            pair = shown.get_attribute("data-pair")
            a, b = map(int, pair.split("-")[:2])
            page.locator(".linkshift").press("s" if truth[a] == truth[b] else "d")
            page.wait_for_function(
                "(pair) => document.querySelector('[data-pair]')?.dataset.pair !== pair",
                arg=pair,
            )
            until = time.monotonic() + PATIENCE
            while len(session.log) <= i and time.monotonic() < until:
                page.wait_for_timeout(20)
        assert len(session.log) == 5
        assert all((truth[o["a"]] == truth[o["b"]]) == (o["word"] == "same") for o in session.log)
        page.evaluate("window.takeAway()")
    finally:
        widget.close()
