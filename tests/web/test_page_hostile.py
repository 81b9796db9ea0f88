"""Data that would rather be code: nothing of it runs, and all of it is shown as it stands."""

import re
import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest
from tests.web.hostile import FILE_NAME, HOSTILE, WHO, Watch
from tests.web.screen import Command, Screen

from linkshift.tables.cells import cell_text
from linkshift.web.items import shown

EMPTY = "\u2013"
ID = "\"><img src=x onerror=window.ran=1 id='name'>"
COLUMNS = ("__proto__", "constructor", "<script>window.ran=1</script>", "=1+1", "javascript:ran=1")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="such files have no such names")


def hostile_table():
    n = len(HOSTILE)
    rng = np.random.default_rng(0)
    heap = np.arange(n) % 4
    X = np.stack([heap % 2, heap // 2], axis=1) * 9.0 + rng.normal(scale=0.5, size=(n, 2))
    table = {ID: HOSTILE, "x": X[:, 0], "y": X[:, 1]}
    for j, name in enumerate(COLUMNS):
        table[name] = [*HOSTILE[7 * j + 1 :], *HOSTILE[: 7 * j + 1]]
    return pd.DataFrame(table)


@pytest.fixture(scope="module")
def table():
    return hostile_table()


@pytest.fixture(scope="module")
def command(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("hostile")
    table.to_parquet(folder / "a.parquet")
    (folder / "a.parquet").rename(folder / FILE_NAME)
    show = ("--id-column", ID, "--columns", "x,y", "--as", WHO)
    with Command(folder, FILE_NAME, *show) as command:
        yield command


@pytest.fixture
def watch(page, command):
    return Watch(page, f"http://127.0.0.1:{command.port}")


@pytest.fixture
def screen(command, page, watch):
    screen = Screen(page, command.address)
    screen.settled()
    return screen


def text_of(screen, selector):
    return screen.page.eval_on_selector_all(selector, "(all) => all.map((one) => one.textContent)")


def seen(text):
    """What a page makes of a text: half a letter is shown as the sign for what cannot be."""
    return text.encode("utf-8", "replace").decode().replace("?", "\ufffd") if broken(text) else text


def broken(text):
    return bool(re.search("[\ud800-\udfff]", text))


def test_there_are_enough_of_them():
    assert len(set(HOSTILE)) == len(HOSTILE) >= 200


def test_a_watch_sees_what_runs(page, command, page_errors):
    """Or the tests below would show nothing."""
    watch = Watch(page, f"http://127.0.0.1:{command.port}")
    Screen(page, command.address).settled()
    watch.check()
    page.evaluate("""() => {
        const box = document.createElement("div");
        box.innerHTML = "<img src=x onerror=window.ran=1><img src=http://127.0.0.2:1/x>";
        document.body.append(box);
    }""")
    page.wait_for_function("() => window.violations.length >= 2")
    page.evaluate("window.ran = 1; alert(2)")
    with pytest.raises(AssertionError, match=r"something ran(.|\n)*dialog 2"):
        watch.check()
    page_errors.told.clear()


def test_asked_and_answered(screen, watch, table):
    for key in "sduz":
        a, b, _ = screen.question
        heads = text_of(screen, "[data-part=pair] .ls-item-id")
        assert heads == [cell_text(table[ID][row]) for row in (a, b)]
        names = text_of(screen, "[data-part=pair] tbody th")
        assert [name.removesuffix(" (differs)") for name in names[2:]] == list(COLUMNS)
        cells = text_of(screen, "[data-part=pair] tbody td")[4:]
        said = [shown(table[name][row]) for name in COLUMNS for row in (a, b)]
        assert cells == [text or EMPTY for text in said]
        screen.press("?")
        watch.check()
        if key != "z":
            screen.answer(key)
        else:
            screen.press(key)
            screen.counts(2)
    watch.check()
    title = screen.at("h1").text_content()
    assert title[:-9] == FILE_NAME[:-9]  # its last letter is none
    assert screen.page.title().startswith("<img src=x onerror=window.ran=1>")
    screen.press(",")
    assert screen.wait("[data-part=who]").text_content() == WHO
    watch.check()
    screen.press("Escape", "h")
    screen.wait("[data-sheet=help]")
    watch.check()


NAMED = [
    "<img src=x onerror=window.ran=1>",
    "</span><script>window.ran=1</script>",
    '" autofocus onfocus="window.ran=1',
    "__proto__",
    "=cmd|' /C calc'!A0",
    "\u202egnp.exe",
    "javascript:window.ran=1",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
]


def test_in_clusters_that_are_named_so(screen, watch, table):
    ks = [one["k"] for one in screen.state()["clusters"]]
    found = {}
    for i, name in enumerate(NAMED):
        screen.open_cluster(ks[i % len(ks)])
        screen.press("n")
        screen.page.keyboard.insert_text(name)
        screen.press("Enter")
        screen.until(
            "(name) => document.querySelector('.ls-one-cluster h2')?.textContent === name", name
        )
        watch.check()
    for k in ks:
        screen.open_cluster(k)
        size = int(screen.at(".ls-one-cluster .ls-soft").first.text_content().split()[0])
        while screen.at("[data-part=members] [data-row]").count() < size:
            screen.at(".ls-grid-end").scroll_into_view_if_needed()
            screen.press("ArrowDown")
        found |= screen.page.eval_on_selector_all(
            "[data-part=members] [data-row]",
            "(all) => Object.fromEntries(all.map((one) =>"
            " [one.dataset.row, one.querySelector('.ls-id').textContent]))",
        )
        watch.check()
    assert {int(row): text for row, text in found.items()} == {
        row: cell_text(text) for row, text in enumerate(table[ID])
    }
    screen.press("m")
    screen.wait("[data-sheet=pick] [data-pick]")
    watch.check()
    screen.press("Enter")
    screen.plan()
    watch.check()
    screen.press("Escape")
    screen.closed()


def test_searched_and_explained(screen, watch, table):
    for text in (HOSTILE[0], HOSTILE[29], "__proto__", "javascript:", "\u202e", "%00", "=1+1", "'"):
        screen.press("Escape", "/")
        screen.page.evaluate("document.querySelector('[data-why]')?.remove()")  # of the last one
        screen.at("[data-field=search]").fill(text)
        screen.press("Enter")
        row = int(screen.wait("[data-why]").get_attribute("data-why"))
        screen.wait("[data-part=why]")
        head, *_ = text_of(screen, "[data-why] .ls-item-id")
        assert head == cell_text(table[ID][row])
        cells = text_of(screen, "[data-why] td")[2:]
        assert cells == [shown(table[name][row]) or EMPTY for name in COLUMNS]
        watch.check()


def test_on_the_map(screen, watch, table):
    screen.go("map")
    screen.press("0")
    canvas = screen.at("[data-part=map] canvas").first
    box = canvas.bounding_box()
    heads = set()
    for share in np.linspace(0.03, 0.97, 24):
        for other in (0.06, 0.94):
            screen.page.mouse.move(
                box["x"] + share * box["width"], box["y"] + other * box["height"]
            )
            screen.page.wait_for_timeout(10)
    canvas.focus()
    for _ in range(4):
        screen.press("Shift+ArrowRight", "Enter")
        heads.add(screen.wait("[data-part=chosen] .ls-item-id").text_content())
        watch.check()
    assert heads <= {cell_text(text) for text in table[ID]}


def test_at_the_doctor(screen, watch, table, command):
    visitor = command.visitor()
    rows = [HOSTILE.index(text) for text in ("__proto__", HOSTILE[0], HOSTILE[30])]
    for a, b, word in ((0, 1, "same"), (1, 2, "same"), (0, 2, "different")):
        visitor.post("/api/answer", a=rows[a], b=rows[b], word=word)
    screen.go("doctor")
    screen.wait("[data-contradiction]")
    assert WHO in text_of(screen, "[data-contradiction] [dir=auto]")
    heads = text_of(screen, "[data-contradiction] .ls-id")
    assert set(heads) == {cell_text(HOSTILE[row]) for row in rows}
    watch.check()


def test_taken_along(screen, watch, table, page, tmp_path):
    screen.go("out")
    labels = pd.read_csv(screen.download("labels.csv"), keep_default_na=False, dtype=str)
    assert len(labels) == len(HOSTILE)
    report = tmp_path / "report.html"
    report.write_bytes(screen.download("report.html").read_bytes())
    watch.check()
    page.goto("about:blank")
    elsewhere = []
    page.context.on("request", lambda request: elsewhere.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_timeout(200)
    assert page.evaluate("'ran' in window") is False
    assert elsewhere == [report.as_uri()]
    assert [told for told in watch.seen if "report.html" not in told] == []
    assert unescape(report.read_text(encoding="utf-8")).count("__proto__") > 0
