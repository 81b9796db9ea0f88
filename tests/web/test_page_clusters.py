"""Clusters mended on the page: links are shown before they are written, and one key undoes them."""

import numpy as np
import pandas as pd
import pytest
from tests.web.screen import BY_NAME, HEAP, Command, Screen, entries, heaps, same_heap
from tests.web.test_serving import first_come


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    with Command(heaps(tmp_path_factory.mktemp("heaps")), *BY_NAME) as command:
        yield command


@pytest.fixture
def path(command):
    return command.folder / "data.linkshift"


@pytest.fixture
def screen(command, page):
    screen = Screen(page, command.address)
    screen.settled()
    return screen


def clusters_of(screen, *rows):
    labels = screen.labels()
    return [labels[row] for row in rows]


def acted(screen, path, start):
    """Start an action twice: Esc writes nothing of it, Enter what was shown. Gives the links."""
    before = entries(path)
    start()
    shown = screen.plan()
    assert shown
    screen.press("Escape")
    screen.closed()
    assert entries(path) == before
    start()
    assert screen.plan() == shown
    screen.press("Enter")
    screen.closed()
    screen.settled()
    new = entries(path)[len(before) :]
    said = [(e.body["a"], e.body["b"], e.body["word"]) for e in new if e.kind == "answer"]
    assert said == [(f"r{a:02d}", f"r{b:02d}", word) for a, b, word in shown]
    assert len({entry.action for entry in new}) == 1
    return shown


def taken_back(screen, path, labels):
    """z takes back the whole action."""
    before = entries(path)
    screen.press("z")
    screen.until(
        "(n) => fetch('/api/state').then((r) => r.json()).then((s) => s.version >= n)",
        before[-1].seq + 1,
    )
    screen.settled()
    undo = entries(path)[len(before) :]
    assert [(one.kind, one.body) for one in undo] == [("undo", {"action": before[-1].action})]
    assert first_come(screen.labels()) == labels


def largest(screen):
    return [one["k"] for one in screen.state()["clusters"]]


def test_two_clusters_are_merged(screen, path):
    labels = first_come(screen.labels())
    assert len(set(labels)) > 2
    one, other = largest(screen)[:2]

    def merge():
        screen.open_cluster(one)
        screen.press("m")
        screen.wait("[data-sheet=pick] [data-pick]")
        screen.page.keyboard.type(f"cluster {other}")
        assert screen.at("[data-sheet=pick] [data-pick]").count() == 1
        screen.press("Enter")

    a, b, word = acted(screen, path, merge)[0]
    assert word == "same"
    assert len(set(screen.labels())) == len(set(labels)) - 1
    assert len(set(clusters_of(screen, a, b))) == 1
    taken_back(screen, path, labels)


def test_a_cluster_is_split_by_two_of_its_items(screen, path):
    labels = first_come(screen.labels())
    rows = screen.get(f"/api/cluster/{largest(screen)[0]}")["rows"]
    one, other = rows[0], rows[-1]

    def split():
        screen.open_cluster(screen.labels()[one])
        for row in (one, other):
            screen.focus_row(row)
            screen.press("Space")
        assert screen.at("[data-part=members] [aria-pressed=true]").count() == 2
        screen.press("t")

    assert {*acted(screen, path, split)[0][:2]} == {one, other}
    assert len(set(clusters_of(screen, one, other))) == 2
    taken_back(screen, path, labels)


def test_an_item_is_taken_out_and_another_put_where_it_belongs(screen, path):
    labels = first_come(screen.labels())
    one, other = largest(screen)[:2]
    last = screen.get(f"/api/cluster/{one}")["rows"][-1]

    def out():
        screen.open_cluster(screen.labels()[last])
        screen.focus_row(last)
        screen.press("x")

    (a, b, word), *_ = acted(screen, path, out)
    assert last in (a, b)
    assert word == "different"
    assert len(set(clusters_of(screen, a, b))) == 2
    taken_back(screen, path, labels)

    def join():
        screen.open_cluster(screen.labels()[last])
        screen.focus_row(last)
        screen.press("b")
        screen.wait("[data-sheet=pick] [data-pick]")
        screen.page.keyboard.type(str(other))
        screen.press("Enter")

    shown = acted(screen, path, join)
    (mate,) = {row for a, b, word in shown if word == "same" for row in (a, b)} - {last}
    assert len(set(clusters_of(screen, last, mate))) == 1
    taken_back(screen, path, labels)


def test_what_comes_too_late_of_a_cluster_that_was_left_is_dropped(screen):
    one, other = largest(screen)[:2]
    page, held = screen.page, []
    page.route(f"**/api/cluster/{one}?*", lambda route: held.append(route))
    screen.go("clusters")
    if not screen.at("[data-cluster]").count():
        screen.press("Escape")
    screen.wait(f".ls-open[data-open-cluster='{one}']").click()
    while not held:
        page.wait_for_timeout(10)
    screen.press("Escape")
    screen.open_cluster(other)
    held[0].continue_()
    page.unroute(f"**/api/cluster/{one}?*")
    page.wait_for_timeout(200)
    shown = page.eval_on_selector_all(
        "[data-part=members] [data-row]", "(all) => all.map((one) => Number(one.dataset.row))"
    )
    assert shown == screen.get(f"/api/cluster/{other}")["rows"][: len(shown)]


def drawn_around(screen, rows):
    """Draw a lasso around some rows. Gives all rows that are inside."""
    places = np.array(
        screen.page.evaluate(
            "fetch('/api/map').then((r) => r.arrayBuffer()).then((b) => [...new Float32Array(b)])"
        )
    ).reshape(-1, 2)
    box = screen.at("[data-part=map] canvas").first.bounding_box()
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([box["width"], box["height"]])
    padding = min(28, *(room / 8))
    scale = ((room - 2 * padding) / np.maximum(high - low, 1e-3)).min()
    at = room / 2 + (places - (low + high) / 2) * scale * [1, -1] + [box["x"], box["y"]]
    left, top = at[rows].min(axis=0) - 4
    right, bottom = at[rows].max(axis=0) + 4
    mouse = screen.page.mouse
    mouse.move(left, top)
    mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top + 1)):
        mouse.move(x, y, steps=4)
    mouse.up()
    inside = ((at > [left, top]) & (at < [right, bottom])).all(axis=1)
    return np.flatnonzero(inside).tolist(), at


def test_what_a_lasso_holds_is_split_off(screen, path):
    labels = first_come(screen.labels())
    k = largest(screen)[0]
    rows = np.array(screen.get(f"/api/cluster/{k}")["rows"])

    def split():
        screen.go("map")
        screen.press("0", "l")
        some = rows[-3:].tolist()
        found, _ = drawn_around(screen, some)
        said = screen.wait("[data-part=lassoed]").text_content()
        assert f"{len(found)} items" in said
        screen.press("t")

    shown = acted(screen, path, split)
    assert all(word == "different" for *_, word in shown if word != "same")
    a, b, _ = next(link for link in shown if link[2] == "different")
    assert len(set(clusters_of(screen, a, b))) == 2
    taken_back(screen, path, labels)


def test_names_stay_through_answers_and_are_in_what_is_taken_along(screen, path, command):
    k = largest(screen)[0]
    heart = screen.get(f"/api/cluster/{k}")["rows"][0]
    screen.open_cluster(k)
    screen.press("n")
    screen.page.keyboard.type('=cmd, "quoted"')
    screen.press("Enter")
    screen.until("() => document.querySelector('[data-view=clusters] h2').textContent[0] === '='")

    def hold():
        screen.wait("[data-do=name-links]").click()

    assert all(word == "same" for *_, word in acted(screen, path, hold))
    screen.go("ask")
    for _ in range(5):
        a, b, _ = screen.question
        screen.answer("s" if same_heap(a, b) else "d")
    state = screen.settled()
    names = {one["k"]: one["name"] for one in state["clusters"]}
    (home,) = clusters_of(screen, heart)
    assert names[home] == '=cmd, "quoted"'
    assert [name for name in names.values() if name] == ['=cmd, "quoted"']

    screen.go("out")
    labels = pd.read_csv(screen.download("labels.csv"), keep_default_na=False)
    assert list(labels.columns) == ["id", "cluster", "name"]  # a name of its own is taken
    assert labels["id"].tolist() == pd.read_csv(command.folder / "data.csv")["name"].tolist()
    assert labels["name"].tolist() == [names[k] or "" for k in labels["cluster"]]
    assert labels["cluster"].tolist() == screen.labels()
    assert len(labels) == 4 * HEAP
    links = pd.read_csv(screen.download("links.csv"))
    links = links.drop_duplicates(["a", "b"], keep="last")  # what was said once more is there twice
    stand = screen.get("/api/links")["links"]
    kinds = {"same": "must", "different": "cannot", "unknown": "unknown"}
    assert links[["a", "b", "kind"]].to_numpy().tolist() == [
        [f"r{x['a']:02d}", f"r{x['b']:02d}", kinds[x["word"]]]
        for x in sorted(stand, key=lambda x: x["seq"])
    ]
    report = screen.download("report.html").read_text(encoding="utf-8")
    assert "data.csv" in report
    assert "=cmd" in report
