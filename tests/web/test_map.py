"""The map of the labelling page: what it draws where, and what it does with a mouse and keys."""

import numpy as np
import pytest
from tests.web import map_page
from tests.web.map_page import HEIGHT, WIDTH, Chart

from linkshift.pictures import colours

address, chart = map_page.address, map_page.chart

FIVE = np.array([[0, 0], [10, 0], [10, 5], [0, 5], [5, 2.5]])
WHITE = [255, 255, 255]


def fitted(xy, width=WIDTH, height=HEIGHT, padding=28):
    """Pixels of points when all are shown: the twin of `fitted` and `toScreen`."""
    low, high = np.nanmin(xy, axis=0), np.nanmax(xy, axis=0)
    wide, high_ = high - low
    scale = min((width - 2 * padding) / wide, (height - 2 * padding) / high_)
    away = (xy - (low + high) / 2) * scale
    return np.column_stack([width / 2 + away[:, 0], height / 2 - away[:, 1]])


def shown(picture, place):
    x, y = np.floor(place).astype(int)
    return picture[y, x]


def hexed(k):
    return (255 * colours.rgb(colours.PALETTE[k])).round()


def near(colour, other, tolerance=30):
    return np.abs(np.asarray(colour) - other).max() <= tolerance


def test_points_are_drawn_at_their_places_in_their_colours(chart):
    labels = [0, 1, 2, 3, -1]
    chart.open(FIVE, labels)
    places = fitted(FIVE)
    np.testing.assert_allclose(chart.places(5), places, atol=1e-3)
    picture = chart.picture()
    for place, k in zip(places, labels, strict=True):
        if k >= 0:
            assert near(shown(picture, place), hexed(k)), k
        else:  # of no cluster: grey, and paler
            assert np.ptp(shown(picture, place)) < 6
        for away in ([14, 0], [-14, 0], [0, 14], [0, -14]):
            assert near(shown(picture, place + away), WHITE, 0)


def test_pixels_of_a_screen_with_two_for_one(chart):
    context = chart.page.context.browser.new_context(device_scale_factor=2)
    try:
        fine = Chart(context.new_page())
        fine.page.goto(chart.page.url)
        fine.open(FIVE, [0, 1, 2, 3, 4])
        all_sizes = "[...document.querySelectorAll('canvas')].map((c) => [c.width, c.height])"
        assert fine.do(f"return {all_sizes}") == [[2 * WIDTH, 2 * HEIGHT]] * 2
        picture = fine.picture()
        for k, place in enumerate(fitted(FIVE)):
            assert near(shown(picture, 2 * place), hexed(k)), k
    finally:
        context.close()


def test_no_cluster_lies_on_all_others(chart):
    rng = np.random.default_rng(0)
    xy = rng.normal(size=(20000, 2))
    labels = np.repeat([0, 1], 10000)  # the second would cover the first
    picture = chart.open(xy, labels).picture()[190:210, 290:310].reshape(-1, 3)
    away = [np.abs(picture - hexed(k)).sum(axis=1) for k in (0, 1)]
    share = (away[0] < away[1]).mean()
    assert 0.3 < share < 0.7


def test_new_labels_move_nothing_and_turn_colours(chart):
    chart.open(FIVE, [0, 0, 0, 0, 0])
    chart.do("scatter.zoom([100, 80], 1.7)")
    before = chart.places(5)
    chart.do("scatter.setLabels(Int32Array.from([1, 2, 3, 4, 5]))")
    np.testing.assert_array_equal(chart.places(5), before)
    assert near(shown(chart.picture(), before[4]), hexed(5))


def test_colours_of_the_page_are_those_of_pictures(chart):
    module = chart.do(
        """const c = await import("/colours.js");
        const beyond = Array.from({ length: 300 }, (_, i) => i + c.PALETTE.length);
        return {
          palette: c.PALETTE, links: [c.MUST, c.CANNOT], grey: c.NOISE_GREY, panel: c.PANEL_DARK,
          dark: c.PALETTE.map((_, k) => c.cssOf(k, true)),
          beyond: beyond.map((k) => c.cssOf(k)), beyondDark: beyond.map((k) => c.cssOf(k, true)),
        };"""
    )
    assert tuple(module["palette"]) == colours.PALETTE
    assert module["links"] == [colours.MUST, colours.CANNOT]
    assert module["grey"] == colours.NOISE_GREY
    panel = module["panel"]
    assert module["dark"] == [colours.lightened(one, panel) for one in colours.PALETTE]
    assert len(set(module["beyond"])) > 290
    for names, paper in (("beyond", "#FFFFFF"), ("beyondDark", panel)):
        against = [colours.contrast(colours.rgb(c), colours.rgb(paper)) for c in module[names]]
        assert min(against) > 2.95, names  # 3, but for rounding to bytes


def test_zoom_keeps_what_is_under_the_pointer(chart):
    chart.open(FIVE)
    for turn in (-120, -240, 60, -90):
        place = chart.places(5)[2]
        chart.move(place)
        chart.page.mouse.wheel(0, turn)
        chart.settle()
        np.testing.assert_allclose(chart.places(5)[2], place, atol=0.5)
    assert np.ptp(chart.places(5), axis=0).min() > 1.3 * np.ptp(fitted(FIVE), axis=0).min()


def test_two_fingers_zoom(chart):
    chart.open(FIVE)
    session = chart.page.context.new_cdp_session(chart.page)
    x, y = chart.at([WIDTH / 2, HEIGHT / 2])

    def touch(kind, apart):
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        given = [] if kind == "touchEnd" else points
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": given})

    before = chart.places(5)
    touch("touchStart", 40)
    for apart in (50, 65, 80):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    chart.settle()
    middle = np.array([WIDTH / 2, HEIGHT / 2])
    np.testing.assert_allclose(chart.places(5) - middle, 2 * (before - middle), atol=2)
    assert chart.told("pick") == []


def test_dragging_pans_and_a_click_picks(chart):
    chart.open(FIVE)
    before = chart.places(5)
    chart.drag([[300, 100], [320, 110], [350, 90]])
    chart.settle()
    np.testing.assert_allclose(chart.places(5), np.add(before, [50, -10]), atol=0.5)
    assert chart.told("pick") == []
    chart.page.mouse.click(*chart.at(chart.places(5)[3] + [3, 2]))
    assert chart.told("pick") == [[3]]
    chart.page.mouse.click(*chart.at([300, 20]))  # nothing is near
    assert chart.told("pick") == [[3]]


def test_a_row_is_hovered_and_left(chart):
    chart.open(FIVE)
    places = chart.places(5)
    chart.move(places[1] + [4, -4])
    chart.move([300, 30])
    told = chart.told("hover")
    assert [row for row, _ in told] == [1, None]
    np.testing.assert_allclose(told[0][1], places[1])


def test_double_click_zooms_in(chart):
    chart.open(FIVE)
    place = chart.places(5)[4]
    chart.page.mouse.dblclick(*chart.at(place))
    chart.settle()
    now = chart.places(5)
    np.testing.assert_allclose(now[4], place, atol=1)
    assert np.ptp(now[:, 0]) > 2 * np.ptp(fitted(FIVE)[:, 0])


def test_keys(chart):
    rng = np.random.default_rng(1)
    xy, labels = rng.normal(size=(60, 2)), np.arange(60) % 3
    chart.open(xy, labels)
    before = chart.places(60)
    chart.page.focus("#chart")
    chart.page.keyboard.press("ArrowRight")
    assert (chart.places(60)[:, 0] < before[:, 0]).all()
    chart.page.keyboard.press("+")
    assert np.ptp(chart.places(60)[:, 0]) > 1.4 * np.ptp(before[:, 0])
    chart.page.keyboard.press("-")
    np.testing.assert_allclose(np.ptp(chart.places(60)[:, 0]), np.ptp(before[:, 0]))
    chart.page.keyboard.press("0")
    np.testing.assert_allclose(chart.places(60), before, atol=1e-6)
    chart.do("scatter.setMarked({ selected: [7] })")
    for key in ("Right", "Right", "Left", "Right"):
        chart.page.keyboard.press(f"Shift+Arrow{key}")
    chart.page.keyboard.press("Enter")
    own = np.flatnonzero(labels == labels[7])
    own = own[np.argsort(xy[own, 0])]
    at = np.flatnonzero(own == 7)[0]
    steps = [own[(at + s) % len(own)] for s in (1, 2, 1, 2)]
    assert [[row, how] for row, _, how in chart.told("hover")] == [[s, "keys"] for s in steps]
    assert chart.told("pick") == [[steps[-1]]]


def test_focus_brings_a_row_to_the_middle_and_fit_shows_all(chart):
    chart.open(FIVE)
    chart.do("scatter.focus(2)")
    np.testing.assert_allclose(chart.places(5)[2], [WIDTH / 2, HEIGHT / 2])
    chart.do("scatter.fit()")
    np.testing.assert_allclose(chart.places(5), fitted(FIVE), atol=1e-3)


def test_marks_are_drawn(chart):
    chart.open(FIVE, [0] * 5)
    places = fitted(FIVE)
    plain = chart.picture()
    marked = {"pair": [0, 2], "links": [{"a": 1, "b": 3, "word": "different"}], "path": [0, 1]}
    chart.do("scatter.setMarked(v)", marked)
    picture = chart.picture()
    line = picture[np.abs(picture - 255 * colours.rgb(colours.CANNOT)).max(axis=2) < 40]
    assert 100 < len(line) < 3000  # dashed
    for row in (0, 2):  # a ring around the point, dark
        x, y = places[row].astype(int)
        ring = picture[max(y - 16, 0) : y + 17, max(x - 16, 0) : x + 17].sum(axis=2)
        assert (ring < 200).sum() > 40
    chart.do("scatter.setMarked({ pair: null, links: [{ a: 1, b: 3, word: 'same' }], path: [] })")
    picture = chart.picture()
    solid = picture[np.abs(picture - 255 * colours.rgb(colours.MUST)).max(axis=2) < 40]
    assert len(solid) > 600
    chart.do("scatter.setMarked({ links: [] })")
    np.testing.assert_array_equal(chart.picture(), plain)


def test_several_selected_rows_stand_out(chart):
    chart.open(FIVE, [0] * 5)
    chart.do("scatter.setMarked({ selected: [0, 4] })")
    picture, places = chart.picture(), fitted(FIVE)
    assert all(near(shown(picture, places[row]), hexed(0)) for row in (0, 4))
    assert not any(near(shown(picture, places[row]), hexed(0), 60) for row in (1, 2, 3))


def test_an_unknown_tool_is_refused(chart):
    chart.open(FIVE)
    with pytest.raises(Exception, match="no tool of the map: brush"):
        chart.do("scatter.setTool('brush')")


def test_what_a_screen_reader_is_told(chart):
    chart.open(FIVE, [0, 0, 1, 1, -1])
    label = chart.page.get_attribute("#chart", "aria-label")
    assert label.startswith("Map of 5 rows in 2 clusters. Arrow keys move it")
