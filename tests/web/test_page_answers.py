"""Answers by keyboard: kept at once, taken back, and all there after a reload and a new start."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pandas as pd
import pytest
from tests.web.pages import PATIENCE
from tests.web.screen import BY_NAME, WORDS, Command, Screen, entries, heaps, same_heap
from tests.web.test_serving import first_come

from linkshift import Session


def told(screen, path):
    """What is to be the same before and after."""
    state = screen.settled()
    names = {one["k"]: one["name"] for one in state["clusters"]}
    keys = "answers", "implied", "unknown", "n_clusters", "undoable"
    links = screen.get("/api/links")["links"]
    said = [(one["a"], one["b"], one["word"], one["seq"], one["who"]) for one in links]
    return {key: state[key] for key in keys}, names, said, first_come(screen.labels())


def test_thirty_answers_five_taken_back_and_all_is_there_again(tmp_path, page, page_errors):
    path = heaps(tmp_path) / "data.linkshift"
    pressed = []
    with Command(tmp_path, *BY_NAME, "--as", "Anna") as command:
        screen = Screen(page, command.address)
        assert "token" not in page.url
        for i in range(30):
            a, b, _ = screen.question
            key = "u" if i == 7 else "s" if same_heap(a, b) else "d"
            asked = screen.answer(key)
            pressed.append((*asked, WORDS[key]))
            assert len(entries(path)) == i + 1  # on the disk by the time that the next is shown
        for i in range(5):
            screen.press("z")
            screen.counts(29 - i)
            a, b, purpose, _ = pressed[29 - i]
            screen.wait(f"[data-question='{a}-{b}-{purpose}']")  # asked once more
        screen.go("clusters")
        screen.press("ArrowDown", "n")
        page.keyboard.insert_text("The first")
        screen.press("Enter")
        screen.until("() => document.body.textContent.includes('Named “The first”')")
        screen.go("ask")
        before, asked = told(screen, path), screen.question
        page.reload()
        screen.wait_for_pair()
        assert screen.question == asked  # also the pair on the screen
        assert told(screen, path) == before
        assert screen.at("[data-part=trail] li").count() == len(before[2]) > 20
        command.leave()
        screen.wait("[data-banner=lost]")
        assert screen.at("[data-answer=same]").is_disabled()
        page.goto("about:blank")
    page_errors.told.clear()  # the server was gone

    log = entries(path)
    assert [entry.kind for entry in log] == ["answer"] * 30 + ["undo"] * 5 + ["name"]
    said = [(e.body["a"], e.body["b"], e.body["purpose"], e.body["word"]) for e in log[:30]]
    assert said == [(f"r{a:02d}", f"r{b:02d}", *rest) for a, b, *rest in pressed]
    assert {entry.who for entry in log} == {"Anna"}

    with Command(tmp_path, *BY_NAME, "--as", "Anna") as command:
        screen = Screen(page, command.address)
        assert told(screen, path) == before
        assert list(before[1].values()).count("The first") == 1
        page.goto("about:blank")
        command.leave()

    table = pd.read_csv(tmp_path / "data.csv")
    session = Session(table[["x", "y"]].to_numpy(), ids=table["name"].tolist())
    for a, b, purpose, word in pressed[:25]:
        session.answer(word, pair=(f"r{a:02d}", f"r{b:02d}"), purpose=purpose)
    assert before[3] == session.labels_.tolist()


def test_a_state_from_before_an_answer_is_not_shown_after_it(tmp_path, page):
    with Command(heaps(tmp_path), *BY_NAME) as command:
        screen = Screen(page, command.address)
        screen.settled()
        held = []

        def hold(route):
            if held:
                return route.continue_()
            return held.append((route, route.fetch()))

        page.route("**/api/state", hold)
        command.visitor().post("/api/name", cluster=0, name="First")  # so that the page looks anew
        while not held:
            page.wait_for_timeout(20)
        screen.press("d")
        screen.counts(1)
        late, reply = held[0]
        assert reply.json()["answers"] == 0
        page.evaluate("""() => {
            window.shown = [];
            new MutationObserver(() => {
                const { value } = document.querySelector("[data-figure=answers]").dataset;
                if (!window.shown.includes(value)) window.shown.push(value);
            }).observe(document.querySelector(".ls-progress"), { subtree: true, childList: true });
        }""")
        late.fulfill(response=reply)
        screen.answer("u")
        screen.settled()
        assert page.evaluate("window.shown.filter((one) => one !== '1').join()") == "2"
        page.goto("about:blank")


def children(pid):
    told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return list(map(int, told.stdout.split()))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux does")
def test_a_worker_that_dies_again_and_again_can_be_tried_again(tmp_path, page):
    path = heaps(tmp_path) / "data.linkshift"
    with Command(tmp_path, *BY_NAME) as command:
        screen = Screen(page, command.address)
        asked = screen.answer("d")
        screen.settled()
        end = time.monotonic() + PATIENCE
        while not screen.at("[data-part=failed]").count():
            assert time.monotonic() < end
            for worker in children(command.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            page.wait_for_timeout(50)
        told = screen.at("[data-part=failed]").text_content()
        assert "SIGKILL" in told  # why
        assert "Close what else takes memory, and try again; answers are kept." in told
        screen.press("s")  # no answer: there is no pair
        screen.press("r")
        screen.wait_for_pair()
        assert screen.settled()["answers"] == 1
        page.goto("about:blank")
    assert [(one.body["a"], one.body["b"]) for one in entries(path)] == [
        (f"r{asked[0]:02d}", f"r{asked[1]:02d}")
    ]
