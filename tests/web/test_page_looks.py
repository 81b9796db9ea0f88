"""The page for all: by keys alone, on a phone, by day and by night, and for those who listen."""

import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from tests.web.pages import PATIENCE
from tests.web.screen import BY_NAME, HEAP, Command, Screen, heaps, same_heap

from linkshift import Session

VIEWS = ("ask", "map", "clusters", "doctor", "why", "out")
# Of each text: its contrast with what is painted behind it, and its element where that is too low.
CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) =>
    [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => v / 255).map((v) =>
      v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backs = (node) => {
    const all = [];
    for (; node; node = node.parentElement) all.push(rgba(getComputedStyle(node).backgroundColor));
    return all.reverse().reduce((below, one) => over(one, below), [255, 255, 255, 1]);
  };
  const found = [];
  let n = 0;
  const modal = document.querySelector("dialog[open]");
  const walk = document.createTreeWalker(modal ?? document.body, NodeFilter.SHOW_TEXT);
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const node = text.parentElement;
    const style = getComputedStyle(node);
    const said = text.textContent.trim();
    if (!said || node.closest("script, noscript, .ls-hidden, :disabled")) continue;
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    let shown = 1;
    for (let up = node; up; up = up.parentElement) shown *= Number(getComputedStyle(up).opacity);
    const back = backs(node);
    const [r, g, b, a] = rgba(style.color);
    const [one, other] = [light(over([r, g, b, a * shown], back)), light(back)];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    n += 1;
    if (ratio < 4.5)
      found.push(`${ratio.toFixed(2)} ${node.className || node.tagName}: ${said.slice(0, 30)}`);
  }
  return { n, found };
}"""
# What sticks out of the window, or out of what holds it without a way to scroll there.
CUT = """() => {
  const found = [];
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) found.push("the page scrolls sideways");
  const modal = document.querySelector("dialog[open]");
  for (const node of (modal ?? document.body).querySelectorAll("*")) {
    const style = getComputedStyle(node);
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    if (node.closest("svg, .ls-hidden")) continue;
    const name = `${node.tagName} ${node.className} ${node.textContent.trim().slice(0, 30)}`;
    const box = node.getBoundingClientRect();
    const moves = node.parentElement.closest(".ls-tabs");
    if (box.width && (box.right > wide + 1 || box.left < -1) && !moves) found.push(`out: ${name}`);
    if (/auto|scroll/.test(style.overflowX) && node.scrollWidth > node.clientWidth + 1)
      found.push(`scrolls sideways: ${name}`);
    const holds = node.matches("button, label, th, h1, h2, h3, p, dt, dd, kbd");
    const dots = style.display === "inline" || style.textOverflow === "ellipsis";
    if (holds && !dots && node.clientWidth && node.scrollWidth > node.clientWidth + 1)
      found.push(`cut: ${name}`);
  }
  return found;
}"""
NAMELESS = """() => {
  const named = (node) =>
    node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length
      || node.getAttribute("alt");
  const seen = [...document.querySelectorAll("button, input, select, textarea, audio, img, dialog,"
    + "nav, canvas:not([aria-hidden]), [tabindex='0']")].filter((node) => node.checkVisibility());
  const found = seen.filter((node) => !named(node)).map((node) => node.outerHTML);
  return { n: seen.length, found };
}"""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    with Command(heaps(tmp_path_factory.mktemp("looks")), *BY_NAME) as command:
        visitor = command.visitor()
        for a, b, word in ((0, 1, "same"), (1, 2, "same"), (0, 2, "different")):
            visitor.post("/api/answer", a=a, b=b, word=word)
        visitor.post("/api/answer", a=4, b=5, word="same")
        yield command


@pytest.fixture
def screen(command, page):
    screen = Screen(page, command.address)
    screen.settled()
    return screen


def tour(screen):
    """Go through all that can be seen, by keys; gives the name of each sight."""
    screen.go("ask")
    screen.press("?")
    yield "ask"
    screen.press("?")
    screen.go("map")
    screen.at("[data-part=map] canvas").first.focus()
    screen.press("Shift+ArrowRight", "Enter")
    screen.wait("[data-part=chosen]")
    yield "map"
    screen.press("Escape")
    screen.open_cluster(screen.state()["clusters"][0]["k"])
    screen.press("ArrowRight", "Space")
    yield "cluster"
    screen.press("m")
    screen.wait("[data-sheet=pick] [data-pick]")
    yield "pick"
    screen.press("Enter")
    screen.plan()
    yield "plan"
    screen.press("Escape")
    screen.closed()
    screen.press("Escape", "Escape")
    screen.wait("[data-part=clusters] [data-cluster]")
    yield "clusters"
    screen.go("doctor")
    screen.wait("[data-contradiction]")
    yield "doctor"
    screen.press("/")
    screen.page.keyboard.type("r05")
    screen.press("Enter")
    screen.wait("[data-part=why]")
    yield "why"
    screen.go("out")
    yield "out"
    for key, name in (("h", "help"), (",", "settings")):
        screen.press(key)
        screen.wait(f"[data-sheet={name}]")
        yield name
        screen.press("Escape")
        screen.closed()


def test_all_can_be_read_and_has_a_name(screen):
    told, n_texts, n_named = [], 0, 0
    for sight in tour(screen):
        named = screen.page.evaluate(NAMELESS)
        n_named += named["n"]
        told += [f"{sight}, no name: {node}" for node in named["found"]]
        for scheme in ("light", "dark"):
            screen.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = screen.page.evaluate(CONTRAST)
            n_texts += found["n"]
            told += [f"{sight}, {scheme}: {text}" for text in found["found"]]
    assert not told, "\n".join(told)
    assert n_texts > 500
    assert n_named > 150


@pytest.mark.parametrize("width", [360, 1000])
def test_nothing_is_cut(screen, width):
    screen.page.set_viewport_size({"width": width, "height": 740})
    told = [f"{sight}: {one}" for sight in tour(screen) for one in screen.page.evaluate(CUT)]
    assert not told, "\n".join(told)


def test_what_is_cut_or_pale_or_nameless_would_be_seen(page):
    """Or the tests above would show nothing."""
    page.set_content(
        "<p style='color: #888; background: #fff'>pale</p><p style='color: #767676'>just so</p>"
        "<div style='opacity: .4'>through</div><p style='width: 20px; overflow: hidden'>beyond</p>"
        "<div style='width: 3000px'>far</div><button></button><button>named</button>"
    )
    pale = [one.split(": ")[1] for one in page.evaluate(CONTRAST)["found"]]
    assert pale == ["pale", "through"]
    cut = page.evaluate(CUT)
    assert cut[0] == "the page scrolls sideways"
    assert any(one.startswith("cut: P  beyond") for one in cut)
    assert any(one.startswith("out: DIV  far") for one in cut)
    assert page.evaluate(NAMELESS)["found"] == ["<button></button>"]


def test_every_control_can_be_reached_by_tab(screen):
    for view in VIEWS:
        screen.page.evaluate("document.activeElement.blur()")
        screen.go(view)
        screen.page.wait_for_timeout(100)
        wanted = screen.page.evaluate("""() => [...document.querySelectorAll(
            "button, input, select, audio, canvas:not([aria-hidden]), [tabindex='0']")]
          .filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0)
          .map((one, i) => { one.dataset.nth = i; return i; }).length""")
        assert wanted > 10
        seen = set()
        for _ in range(2 * wanted + 5):
            screen.press("Tab")
            seen.add(screen.page.evaluate("document.activeElement.dataset.nth ?? null"))
        missed = set(map(str, range(wanted))) - seen
        found = [
            screen.at(f"[data-nth='{i}']").first.evaluate("(o) => o.outerHTML") for i in missed
        ]
        assert not found, view
        screen.page.evaluate(
            "document.querySelectorAll('[data-nth]').forEach((one) => { delete one.dataset.nth; })"
        )


def test_what_keys_lead_to_on_the_map_is_said(screen):
    screen.go("map")
    screen.press("Shift+ArrowRight")  # the map has the keys at once
    said = "document.querySelector('[role=status]').textContent"
    screen.until(f"() => /^r\\d\\d, .+, Cluster \\d/.test({said})")
    screen.press("h")
    keys = screen.wait("[data-sheet=help]").text_content()
    assert "The next item of the cluster" in keys
    assert "Move the map" in keys


def test_clusters_that_could_not_be_worked_out_are_tried_again(screen):
    """What the server does then is tested with it, and both together where time is no matter."""
    page, asked = screen.page, []
    state = screen.state()
    broken = {**state, "phase": "failed: There is too little memory.", "remedy": "Close the rest."}
    page.route("**/api/state", lambda route: route.fulfill(json=state if asked else broken))

    def again(route):
        asked.append(route.request.method)
        route.fulfill(json={"state": {**state, "phase": "looking", "remedy": ""}})

    page.route("**/api/again", again)
    page.reload()
    told = screen.wait("[data-part=failed]").text_content()
    assert "There is too little memory." in told
    assert "Close the rest." in told
    screen.press("s", "r")
    screen.wait_for_pair()
    assert asked == ["POST"]


def test_nothing_is_kept_where_a_script_can_read_it(screen, command):
    screen.press(",")
    screen.wait("[data-theme=dark]").check()
    screen.press("Escape")
    screen.go("clusters")
    screen.page.evaluate("() => fetch('/api/state')")
    kept = screen.page.evaluate(
        "async () => [document.cookie, localStorage.length, sessionStorage.length,"
        " (await indexedDB.databases()).length, (await caches.keys()).length]"
    )
    assert kept == ["", 0, 0, 0, 0]
    token = re.search(r"token=(\S+)", command.address)[1]
    assert token not in screen.page.evaluate("document.documentElement.outerHTML + location.href")
    assert token not in screen.page.evaluate("JSON.stringify(history.state)")
    screen.page.reload()
    screen.wait("[data-view=clusters]")  # the tab knows where it was, the server what was chosen
    assert screen.at(".linkshift").get_attribute("data-theme") == "dark"


class Notebook(BaseHTTPRequestHandler):
    """A page with a frame in it, from a server of its own, as a notebook is."""

    shown = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>notebook</title>{self.shown}".encode())

    def log_message(self, *_):
        pass


def test_in_the_frame_of_a_notebook(page):
    heap = np.repeat(np.arange(4), HEAP)
    X = np.stack([heap % 2, heap // 2], axis=1) * 3.0
    X += np.random.default_rng(0).normal(scale=0.5, size=X.shape)
    session = Session(X)
    with session.serve(browser=False) as serving, HTTPServer(("127.0.0.1", 0), Notebook) as server:
        Notebook.shown = serving._repr_html_()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://localhost:{server.server_port}/")
        frame = page.frame_locator("iframe")
        for i in range(3):
            pair = frame.locator("[data-part=pair][data-question]")
            pair.wait_for(timeout=1000 * PATIENCE)
            asked = pair.get_attribute("data-question")
            a, b, _ = asked.split("-")
            frame.locator("#ls-question").click()  # the frame has the keys then
            page.keyboard.press("s" if same_heap(int(a), int(b)) else "d")
            frame.locator(f"[data-figure=answers][data-value='{i + 1}']").wait_for()
            frame.locator(f"[data-question]:not([data-question='{asked}'])").wait_for()
        page.goto("about:blank")
        server.shutdown()
    assert len(session.log) == 3
