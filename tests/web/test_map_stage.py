"""The map where things go otherwise: no WebGL2, a context that is lost, other sizes, no frames."""

import numpy as np
import pytest
from tests.web import map_page
from tests.web.map_page import HEIGHT, WIDTH
from tests.web.test_map import FIVE, WHITE, fitted, hexed, near, shown

address, chart = map_page.address, map_page.chart

WITHOUT_WEBGL = """
const before = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "webgl2" ? null : before.call(this, kind, ...rest);
};
"""
COUNT_FRAMES = """
const before = window.requestAnimationFrame;
window.frames_asked = 0;
window.requestAnimationFrame = (f) => { window.frames_asked++; return before(f); };
"""
CONTEXT = "document.getElementById('chart').getContext('webgl2')"
KEEP_HANDLE = f"window.handle = {CONTEXT}.getExtension('WEBGL_lose_context')"


def is_drawn(chart, labels=(0, 1, 2, 3, 4)):
    picture = chart.picture()
    return all(
        near(shown(picture, place), hexed(k))
        and near(shown(picture, np.add(place, [0, 14])), WHITE, 0)
        for place, k in zip(chart.places(5), labels, strict=True)
    )


@pytest.fixture
def flat(chart):
    chart.do(WITHOUT_WEBGL)
    return chart


def test_without_webgl2_the_same_is_drawn(flat):
    flat.open(FIVE, [0, 1, 2, 3, 4])
    remark = flat.do("return scatter.remark")
    assert remark.startswith("Drawn without WebGL2")
    assert flat.told("remark") == [[remark]]
    np.testing.assert_allclose(flat.places(5), fitted(FIVE), atol=1e-3)
    assert is_drawn(flat)
    flat.do("scatter.setMarked({ selected: [0, 4] })")
    picture, places = flat.picture(), fitted(FIVE)
    assert near(shown(picture, places[4]), hexed(4))
    assert not near(shown(picture, places[1]), hexed(1), 60)


def test_both_ways_of_drawing_look_alike(chart):
    rng = np.random.default_rng(0)
    xy, labels = rng.normal(size=(4000, 2)), rng.integers(6, size=4000)
    quick = chart.open(xy, labels).picture()
    assert chart.do("return scatter.remark") is None
    chart.page.reload()
    chart.do(WITHOUT_WEBGL)
    slow = chart.open(xy, labels).picture()
    blocks = [
        one.reshape(HEIGHT // 20, 20, WIDTH // 20, 20, 3).mean((1, 3)) for one in (quick, slow)
    ]
    assert np.abs(blocks[0] - blocks[1]).max() < 12


def test_many_points_without_webgl2_are_drawn_in_parts(flat):
    flat.open(FIVE, [0] * 5)
    flat.do(COUNT_FRAMES)
    flat.do(
        """const xy = new Float32Array(600_000).map((_, i) => Math.sin(i * i));
        scatter.setPositions(xy);
        scatter.setLabels(new Int32Array(300_000));"""
    )
    flat.page.wait_for_timeout(1500)
    before = flat.do("return frames_asked")
    assert before > 3
    flat.page.wait_for_timeout(300)
    assert flat.do("return frames_asked") == before
    middle = flat.picture()[150:250, 250:350].mean(axis=(0, 1))
    assert near(middle, hexed(0), 90)


SLOW_CARD = """
const before = window.requestAnimationFrame;
window.requestAnimationFrame = (f) => { setTimeout(() => before(f), 70); return 1; };
const draw = WebGL2RenderingContext.prototype.drawArrays;
window.drawn = [];
WebGL2RenderingContext.prototype.drawArrays = function (kind, first, n) {
  drawn.push(n);
  draw.call(this, kind, first, n);
};
"""


def test_a_slow_card_draws_a_sample_while_the_map_moves(chart):
    n = 30_000
    chart.open(np.stack(np.mgrid[:200, :150], axis=-1).reshape(n, 2), np.zeros(n, dtype=int))
    chart.do(SLOW_CARD)
    for _ in range(8):
        chart.do("scatter.pan(3, 0)")
        chart.page.wait_for_timeout(90)
    drawn = chart.do("return drawn")
    assert 10_000 <= drawn[-1] < 0.8 * n
    chart.page.wait_for_timeout(600)
    assert chart.do("return drawn.at(-1)") == n
    before = chart.do("return drawn.length")
    chart.page.wait_for_timeout(400)
    assert chart.do("return drawn.length") == before
    chart.do("drawn.length = 0; scatter.setLabels(new Int32Array(v))", n)
    chart.page.wait_for_timeout(700)
    assert chart.do("return [...new Set(drawn)]") == [n]  # nothing moves: nothing is left out


def test_a_lost_context_comes_back(chart):
    chart.open(FIVE, [0, 1, 2, 3, 4])
    chart.do(f"{KEEP_HANDLE}; handle.loseContext()")
    chart.settle()
    chart.do("scatter.setLabels(Int32Array.from([4, 3, 2, 1, 0])); scatter.zoom([300, 200], 0.9)")
    chart.settle()
    chart.do("handle.restoreContext()")
    chart.wait(f"!{CONTEXT}.isContextLost()")
    assert is_drawn(chart, [4, 3, 2, 1, 0])
    assert chart.do("return scatter.remark") is None


def test_a_context_that_stays_away_is_done_without(chart):
    chart.do("const t = setTimeout; window.setTimeout = (f, ms) => t(f, ms > 1000 ? 50 : ms)")
    chart.open(FIVE, [0, 1, 2, 3, 4])
    chart.do(f"{KEEP_HANDLE}; handle.loseContext()")
    chart.wait("scatter.remark")
    assert is_drawn(chart)
    chart.do("scatter.zoom([300, 200], 0.8)")
    assert is_drawn(chart)
    chart.do("handle.restoreContext()")
    chart.wait("!scatter.remark")
    assert chart.do("return document.querySelectorAll('canvas').length") == 2
    assert is_drawn(chart)


def test_nothing_is_drawn_while_nothing_changes(chart):
    chart.page.emulate_media(reduced_motion="no-preference")
    chart.do(COUNT_FRAMES)
    chart.open(FIVE, [0, 1, 2, 3, 4])
    chart.do(
        "scatter.setMarked({ pair: [0, 1] }); scatter.setLabels(Int32Array.from([1, 1, 1, 1, 1]))"
    )
    chart.page.wait_for_timeout(1200)
    before = chart.do("return frames_asked")
    chart.page.wait_for_timeout(500)
    assert chart.do("return frames_asked") == before > 5
    chart.move([100, 300])
    chart.move([105, 300])  # over nothing
    assert chart.do("return frames_asked") == before


def test_points_glide_to_new_places(chart):
    chart.page.emulate_media(reduced_motion="no-preference")
    chart.open(FIVE, [0, 1, 2, 3, 4])
    before, after = fitted(FIVE), fitted(FIVE[[2, 3, 0, 1, 4]])
    chart.do("scatter.setPositions(Float32Array.from(v))", FIVE[[2, 3, 0, 1, 4]].ravel().tolist())
    way = []
    for _ in range(40):
        way.append(chart.places(5)[0])
        chart.page.wait_for_timeout(40)
    way = np.linalg.norm(way - after[0], axis=1) / np.linalg.norm(before[0] - after[0])
    assert way[0] > 0.8
    assert way[-1] < 1e-3
    assert ((way > 0.1) & (way < 0.9)).sum() >= 3
    assert (np.diff(way) <= 1e-6).all()
    assert is_drawn(chart)


def test_who_wants_no_motion_sees_none(chart):
    chart.open(FIVE, [0, 1, 2, 3, 4])
    chart.do("scatter.setPositions(Float32Array.from(v))", FIVE[[2, 3, 0, 1, 4]].ravel().tolist())
    np.testing.assert_allclose(chart.places(5), fitted(FIVE[[2, 3, 0, 1, 4]]), atol=1e-3)


def test_a_flight_arrives(chart):
    chart.page.emulate_media(reduced_motion="no-preference")
    chart.open(FIVE)
    chart.do("scatter.focus(1)")
    chart.page.wait_for_timeout(900)
    np.testing.assert_allclose(chart.places(5)[1], [WIDTH / 2, HEIGHT / 2], atol=1e-3)


def test_another_size(chart):
    chart.open(FIVE, [0, 1, 2, 3, 4])
    resize = "document.getElementById('box').style"
    chart.do(f"{resize}.width = '450px'; {resize}.height = '300px'")
    chart.settle()
    np.testing.assert_allclose(chart.places(5), fitted(FIVE, 450, 300), atol=1e-3)
    assert is_drawn(chart)
    chart.do("scatter.focus(4)")
    chart.do(f"{resize}.width = '600px'; {resize}.height = '400px'")
    chart.settle()
    np.testing.assert_allclose(chart.places(5)[4], [300, 200], atol=1e-3)  # the middle stays


def test_a_map_that_is_first_hidden(chart):
    box = "document.getElementById('box').classList"
    chart.do(f"{box}.add('hidden')")
    chart.open(FIVE, [0, 1, 2, 3, 4])
    chart.do(f"{box}.remove('hidden')")
    chart.settle()
    np.testing.assert_allclose(chart.places(5), fitted(FIVE), atol=1e-3)
    assert is_drawn(chart)
    chart.do("scatter.zoom([300, 200], 0.9)")
    before = chart.places(5)
    chart.do(f"{box}.add('hidden')")
    chart.settle()
    chart.do("scatter.setLabels(Int32Array.from([5, 5, 5, 5, 5]))")
    chart.do(f"{box}.remove('hidden')")
    chart.settle()
    np.testing.assert_array_equal(chart.places(5), before)
    assert is_drawn(chart, [5] * 5)


def test_a_row_is_sought_before_the_map_is_shown(chart):
    box = "document.getElementById('box').classList"
    chart.do(f"{box}.add('hidden')")
    chart.open(FIVE)
    chart.do(f"scatter.focus(3); {box}.remove('hidden')")
    chart.settle()
    np.testing.assert_allclose(chart.places(5)[3], [WIDTH / 2, HEIGHT / 2], atol=1e-3)


def test_labels_may_come_first_and_positions_of_other_rows_later(chart):
    chart.open(FIVE)
    chart.do("scatter.setLabels(Int32Array.from([0, 1, 2, 3, 4, 5, 6]))")
    seven = np.vstack([FIVE, [[2, 1], [8, 4]]])
    chart.do("scatter.setPositions(Float32Array.from(v))", seven.ravel().tolist())
    picture = chart.picture()
    for k, place in enumerate(fitted(seven)):
        assert near(shown(picture, place), hexed(k)), k


def test_dark_pages_have_colours_of_their_own(chart):
    chart.open(FIVE, [6] * 5)  # a dark violet
    light = shown(chart.picture(), fitted(FIVE)[0])
    chart.page.emulate_media(color_scheme="dark")
    chart.settle()
    picture = chart.picture()
    assert near(shown(picture, [WIDTH / 2, 5]), [27, 30, 35], 2)
    assert shown(picture, fitted(FIVE)[0]).sum() > light.sum() + 80


def test_nothing_is_left_behind(chart):
    chart.do(COUNT_FRAMES)
    chart.open(FIVE, [0, 1, 2, 3, 4])
    chart.do("scatter.destroy(); scatter.fit()")
    assert chart.do("return document.querySelectorAll('canvas').length") == 1
    before = chart.do("return frames_asked")
    chart.drag(np.array([[100, 100], [200, 200]]))
    chart.do("document.getElementById('box').style.width = '300px'")
    chart.settle()
    assert chart.do("return frames_asked") == before + 2  # those of `settle`
    chart.open(FIVE, [0, 1, 2, 3, 4])
    np.testing.assert_allclose(chart.places(5), fitted(FIVE, 300, HEIGHT), atol=1e-3)
