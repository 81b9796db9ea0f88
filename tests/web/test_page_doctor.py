"""Answers that do not fit together: shown with chain and people, and settled by keys."""

import pytest
from tests.web.screen import BY_NAME, Command, Screen, entries, heaps

CHAIN = ((0, 1, "same"), (1, 2, "same"), (0, 2, "different"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return heaps(tmp_path_factory.mktemp("doctor"))


@pytest.fixture(scope="module")
def command(folder):
    with Command(folder, *BY_NAME, "--as", "Anna") as command:
        yield command


@pytest.fixture
def path(folder):
    return folder / "data.linkshift"


@pytest.fixture
def screen(command, page):
    return Screen(page, command.address)


def said(screen):
    """What stands of the three pairs."""
    links = screen.get("/api/links")["links"]
    return {(one["a"], one["b"]): one["word"] for one in links}


def dropped_or_kept(screen, path, key):
    """Contradict what was said, go to the doctor, and press a key. Gives what is new in the log."""
    assert not screen.at("[data-badge=doctor]").count()
    for a, b, word in CHAIN:
        body = {"a": a, "b": b, "word": word}
        screen.page.evaluate(
            "(body) => fetch('/api/answer', {method: 'POST', body: JSON.stringify(body),"
            " headers: {'Content-Type': 'application/json'}})",
            body,
        )
    assert screen.wait("[data-badge=doctor]").text_content() == "1"
    screen.settled()
    screen.go("doctor")
    case = screen.wait("[data-contradiction]")
    links = screen.page.eval_on_selector_all(
        "[data-contradiction] [data-link]",
        "(all) => all.map((one) => [...one.dataset.link.split('-').map(Number), one.dataset.word])",
    )
    chain, against = links[:-1], links[-1]
    assert sorted(map(tuple, links)) == sorted(CHAIN)
    assert len(chain) == 2
    assert case.locator(".ls-chain [data-link]").count() == 2
    assert case.get_by_text("Anna", exact=True).count() == 3
    weak = case.locator("[data-link]", has_text="the weakest")
    assert weak.count() == 1
    assert weak.get_attribute("data-link") == "-".join(map(str, against[:2]))
    before = entries(path)
    assert str(before[-3 + list(CHAIN).index(tuple(against))].action) == case.get_attribute(
        "data-weakest"
    )
    screen.press("ArrowDown", key)
    screen.until(
        "(n) => fetch('/api/state').then((r) => r.json())"
        ".then((s) => s.version > n && !s.refitting)",
        before[-1].seq,
    )
    return tuple(against), entries(path)[len(before) :]


def test_the_weakest_answer_is_dropped(screen, path):
    against, new = dropped_or_kept(screen, path, "x")
    assert [one.kind for one in new] == ["undo"]
    screen.wait("[data-part=healthy]")
    screen.wait("[data-badge=doctor]", "detached")
    assert against[:2] not in said(screen)
    assert len(said(screen)) == 2
    state = screen.settled()
    assert (state["answers"], state["contradictions"]) == (2, 0)
    for n in (1, 0):  # also for the test below
        screen.press("z")
        screen.counts(n)
    screen.settled()


def test_the_weakest_answer_is_kept(screen, path):
    against, new = dropped_or_kept(screen, path, "k")
    (a, b, word) = against
    assert [(one.kind, one.body["a"], one.body["b"], one.body["word"]) for one in new] == [
        ("answer", f"r{a:02d}", f"r{b:02d}", word)
    ]
    assert new[0].body["purpose"] == "confirm"
    assert said(screen)[a, b] == word
    state = screen.settled()
    assert state["answers"] == 4
    assert state["contradictions"] == 1  # the others cannot both be right now
    labels = screen.labels()
    assert (labels[a] == labels[b]) is (word == "same")  # it holds
    for one in screen.get("/api/doctor")["contradictions"]:
        assert (one["against"]["a"], one["against"]["b"]) != (a, b)


def test_two_people_who_disagree(tmp_path, page):
    path = heaps(tmp_path) / "data.linkshift"
    with Command(tmp_path, *BY_NAME, "--as", "Anna") as command:
        command.visitor().post("/api/answer", a=3, b=20, word="same")
        command.leave()
    with Command(tmp_path, *BY_NAME, "--as", "Ben") as command:
        command.visitor().post("/api/answer", a=3, b=20, word="different", purpose="confirm")
        screen = Screen(page, command.address)
        screen.wait("[data-badge=doctor]")
        screen.go("doctor")
        case = screen.wait("[data-disagreement]")
        told = case.locator(".ls-said li").all_text_contents()
        assert [text.split(" ")[:3] for text in told] == [
            ["Anna", "said", "same"],
            ["Ben", "said", "different"],
        ]
        screen.press("ArrowDown", "s")
        screen.wait("[data-part=healthy]")
        screen.wait("[data-badge=doctor]", "detached")
        assert screen.settled()["disagreements"] == 0
        assert said(screen) == {(3, 20): "same"}
        page.goto("about:blank")
    assert [(one.who, one.body["word"]) for one in entries(path)] == [
        ("Anna", "same"),
        ("Ben", "different"),
        ("Ben", "same"),
    ]
