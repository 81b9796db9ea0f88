"""Which rows are near a place or inside a polygon, by the grid and by slow twins."""

import numpy as np
import pytest
from tests.web import map_page
from tests.web.map_page import HEIGHT, WIDTH

address, chart = map_page.address, map_page.chart


def heaps(rng, n=3000):
    """Rows in heaps of different spread, some of them on one another, some far off."""
    middles = rng.uniform(-10, 10, (7, 2))
    spreads = rng.choice([0.0, 0.01, 0.5, 3.0], 7)
    kind = rng.integers(7, size=n)
    xy = middles[kind] + spreads[kind, None] * rng.normal(size=(n, 2))
    xy[:3] = [[300, 0], [-250, 40], [0, 90]]
    return xy.astype(np.float32)


LAYOUTS = {
    "heaps": heaps,
    "uniform": lambda rng: rng.uniform(size=(2000, 2)).astype(np.float32),
    "on a line": lambda rng: np.column_stack([rng.normal(size=500), np.zeros(500)]),
    "one place": lambda rng: np.full((40, 2), 3.25),
    "lattice": lambda rng: np.stack(np.mgrid[:30, :20], axis=-1).reshape(-1, 2) / 4,
    "one row": lambda rng: np.array([[1.0, 2.0]]),
}


@pytest.fixture(params=LAYOUTS)
def xy(request):
    return LAYOUTS[request.param](np.random.default_rng(0)).astype(np.float32)


def nearest(places, place, reach):
    """Rows that are nearest, but for rounding, and not farther than `reach`."""
    away = np.hypot(*(places - place).T)
    least = np.nanmin(away)
    if least > reach:
        return {None}
    rows = set(np.flatnonzero(away <= least + 1e-9).tolist())
    return rows | {None} if least > reach - 1e-9 else rows


def winds(polygon, places):
    """How often a polygon winds round each place: the sum of angles over a full turn."""
    corners = polygon[None] - places[:, None]
    angles = np.arctan2(corners[..., 1], corners[..., 0])
    turns = np.roll(angles, -1, axis=1) - angles
    turns = (turns + np.pi) % (2 * np.pi) - np.pi
    return np.rint(turns.sum(axis=1) / (2 * np.pi)).astype(int)


def test_the_nearest_row_is_that_of_all_rows(chart, xy):
    rng = np.random.default_rng(1)
    around = rng.uniform(xy.min(axis=0) - 1, xy.max(axis=0) + 1, (300, 2))
    close = xy[rng.integers(len(xy), size=300)] + 0.02 * rng.normal(size=(300, 2))
    asked = np.concatenate([around, close, xy[:20].astype(float)])
    reaches = rng.choice([0.01, 0.3, 2.0, 1000.0], len(asked))
    found = chart.do(
        """const { Grid } = await import("/map_grid.js");
        const grid = new Grid(Float32Array.from(v.xy));
        return v.asked.map(([x, y], i) => grid.nearest(x, y, v.reaches[i]));""",
        {"xy": xy.ravel().tolist(), "asked": asked.tolist(), "reaches": reaches.tolist()},
    )
    for row, place, reach in zip(found, asked, reaches, strict=True):
        assert row in nearest(xy.astype(float), place, reach)


def polygons(rng, xy):
    """Random ones, many of which cross themselves, small and large, and some made for the grid."""
    low, high = xy.min(axis=0).astype(float), xy.max(axis=0).astype(float)
    for _ in range(60):
        middle = xy[rng.integers(len(xy))] + rng.normal(size=2) * 0.1
        size = (high - low).max() * 10 ** rng.uniform(-3, 0.3) + 1e-3
        yield middle + size * rng.normal(size=(rng.integers(3, 40), 2))
    steps = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    yield (low + high) / 2 + 3 * np.column_stack([np.cos(steps), np.sin(steps)])
    yield np.array([low - 1, [high[0] + 1, low[1] - 1], high + 1, [low[0] - 1, high[1] + 1]])
    yield np.array([low - 9, low - 8, low - [9, 7]])


def test_rows_inside_a_polygon_are_those_it_winds_round(chart, xy):
    drawn = list(polygons(np.random.default_rng(2), xy))
    found = chart.do(
        """const { Grid } = await import("/map_grid.js");
        const grid = new Grid(Float32Array.from(v.xy));
        return v.polygons.map((polygon) => Array.from(grid.inside(polygon)));""",
        {"xy": xy.ravel().tolist(), "polygons": [one.tolist() for one in drawn]},
    )
    n_found = 0
    for rows, polygon in zip(found, drawn, strict=True):
        expected = np.flatnonzero(winds(polygon, xy.astype(float)))
        assert rows == expected.tolist()
        n_found += len(rows)
    assert n_found > 20 or len(xy) == 1


def test_rows_without_a_place_are_nowhere(chart):
    xy = np.random.default_rng(3).normal(size=(400, 2))
    xy[::7] = np.nan
    xy[3] = [np.inf, 0]
    chart.open(xy)
    there = np.isfinite(xy).all(axis=1)
    places = chart.places(400)
    assert (np.isfinite(places).all(axis=1) == there).all()
    chart.do("scatter.setTool('lasso')")
    chart.drag(np.array([[1, 1], [WIDTH - 1, 1], [WIDTH - 1, HEIGHT - 1], [1, HEIGHT - 1]]))
    assert chart.told("lasso") == [[np.flatnonzero(there).tolist()]]
    chart.open(np.full((5, 2), np.nan))
    assert chart.do("return scatter.rowAt([300, 200])") is None


def test_hovering_finds_the_nearest_point_on_the_screen(chart):
    rng = np.random.default_rng(4)
    chart.open(heaps(rng))
    chart.do("scatter.zoom([300, 200], 9)")
    places = chart.places(3000)
    for place in rng.uniform([150, 100], [450, 300], (40, 2)).round():
        chart.move([5, 5])
        chart.do("told.length = 0")
        chart.move(place)
        told = chart.told("hover")
        row = told[-1][0] if told else None
        corner = chart.corner % 1
        assert row in nearest(places, place + corner, 14)


def test_lasso_with_the_mouse(chart):
    rng = np.random.default_rng(5)
    chart.open(rng.normal(size=(500, 2)))
    places = chart.places(500)
    chart.do("scatter.setTool('lasso')")
    star = np.array([[300, 60], [380, 350], [180, 160], [420, 160], [220, 350]])
    corner = np.array([430, 30]), np.array([590, 30]), np.array([590, 390]), np.array([430, 390])
    chart.drag(star)
    first = np.flatnonzero(winds(star.astype(float), places)).tolist()
    assert len(first) > 30
    chart.do("scatter.setMarked({ selected: told[0][1] })")
    chart.page.keyboard.down("Shift")
    chart.drag(np.array(corner))
    chart.page.keyboard.up("Shift")
    more = np.flatnonzero(winds(np.array(corner, dtype=float), places)).tolist()
    told = [sorted(rows) for (rows,) in chart.told("lasso")]
    assert told == [first, sorted({*first, *more})]
    np.testing.assert_array_equal(chart.places(500), places)  # nothing was dragged


def test_escape_gives_a_lasso_up(chart):
    chart.open(np.random.default_rng(6).normal(size=(50, 2)))
    chart.do("scatter.setTool('lasso')")
    chart.page.focus("#chart")
    chart.move([100, 100])
    chart.page.mouse.down()
    chart.move([500, 100])
    chart.move([300, 390])
    chart.page.keyboard.press("Escape")
    chart.page.mouse.up()
    assert chart.told("lasso") == []
