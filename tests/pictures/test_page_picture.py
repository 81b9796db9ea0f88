"""The page of a report: its picture."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.pictures.pages import Page, blobs, full_report

from linkshift import Links
from linkshift.pictures.charts import Axis
from linkshift.pictures.colours import CANNOT, MUST, PALETTE, contrast, lightened, rgb
from linkshift.pictures.page import Report, page, render, svg
from linkshift.pictures.scene import Clusters, Plane

MINUS = "\N{MINUS SIGN}"


# --- picture ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 6])
def test_rows_are_where_the_projection_puts_them(d):
    X, y = blobs(90, d=d)
    page = Page(render(Report(X=X, labels=y)))
    places, clusters = page.dots()
    rows = np.array(page.data["rows"])
    assert sorted(rows.tolist()) == list(range(90))
    assert (y[rows] == clusters).all()
    flat = Plane.of(X).project(X)[rows]
    scale = np.ptp(places, axis=0) / np.ptp(flat, axis=0)
    if d > 1:
        assert scale[0] == pytest.approx(scale[1], rel=2e-3)  # distances are to scale
    drawn = (places - places.min(axis=0)) / scale
    drawn[:, 1] = drawn[:, 1].max() - drawn[:, 1]  # y points down
    assert drawn == pytest.approx(flat - flat.min(axis=0), abs=2 / scale.min())


def test_links_join_the_right_rows():
    report = full_report()
    page = Page(render(report))
    rows = page.data["rows"]
    found = {
        (group["kind"], group["kept"], *sorted((rows[a], rows[b])))
        for group in page.data["links"]
        for a, b in zip(group["pairs"][::2], group["pairs"][1::2], strict=True)
    }
    assert found == {
        ("must", True, 6, 9),
        ("must", False, 0, 3),
        ("must", False, 7, 8),
        ("cannot", True, 5, 6),
        ("cannot", False, 9, 12),
    }
    places, _ = page.dots()
    lines = [v for _, k, v in page.attributes if k == "d" and "L" in v and "." not in v]
    assert lines == [
        "".join(
            "M{} {}L{} {}".format(*places[a], *places[b])
            for a, b in zip(group["pairs"][::2], group["pairs"][1::2], strict=True)
        )
        for group in page.data["links"]
    ]
    assert page.values("data-shape") == ["cross"] * 4  # a rim and a cross for each kind
    for words in ("1 must-link", "2 must-links violated", "1 cannot-link violated", "2 modes"):
        assert words in page.words.replace("\N{NO-BREAK SPACE}", " ")


def test_colours_are_those_of_the_pictures():
    labels = np.array([9, -1, 3, 4, 3])
    clusters = Clusters.of(labels)
    css, _ = page._colours()
    named = dict(re.findall(r"(--\w+): (#\w+);", css))
    drawn = [named[svg.css(hue)[4:-1]] for hue in clusters.hues]
    assert drawn == clusters.colours
    assert (named["--must"], named["--cannot"]) == (MUST, CANNOT)


def test_colours_stand_out_on_a_dark_page():
    panel = page._PANEL_DARK
    assert f"--panel: {panel}" in render(full_report())
    for colour in (*PALETTE, MUST, CANNOT):
        assert contrast(rgb(lightened(colour, panel)), rgb(panel)) > 2.95


def test_many_rows_are_sampled_and_the_page_says_so():
    rng = np.random.default_rng(0)
    n = 30_000
    X, labels = rng.normal(size=(n, 2)), np.zeros(n, dtype=int)
    labels[17] = 1
    links = Links(must=rng.permutation(n)[:400].reshape(200, 2))
    report = Report(X=X, labels=labels, links=links)
    page = Page(render(report))
    rows = page.data["rows"]
    assert len(set(rows)) == len(rows) == svg.MOST_POINTS == len(page.dots()[0])
    assert set(links.must.ravel().tolist()) | {17} <= set(rows)
    assert "20,000 of 30,000 rows are drawn, chosen at random (seed 0)" in page.words
    # A random sample: each half of the rows has about its share.
    assert np.mean(np.array(rows) < n / 2) == pytest.approx(0.5, abs=0.02)


def test_many_links_are_sampled_the_violated_ones_first():
    n = 12_000
    labels = np.zeros(n, dtype=int)
    labels[-30:] = 1
    links = Links(must=[(i, i + 1) for i in range(n - 1)], cannot=[(0, n - 1), (0, n - 40)])
    page = Page(render(Report(X=np.arange(n)[:, None], labels=labels, links=links)))
    counts = {(g["kind"], g["kept"]): len(g["pairs"]) // 2 for g in page.data["links"]}
    assert sum(counts.values()) == svg.MOST_LINKS
    assert (counts["must", False], counts["cannot", False]) == (1, 1)
    assert "5,000 of 12,001 links are drawn, the violated ones first." in page.words


def test_many_modes_are_not_drawn():
    X, y = blobs()
    page = Page(render(Report(X=X, labels=y, modes=np.zeros((501, 2)))))
    assert "star" not in page.values("class")
    assert "The 501 modes are too many to draw." in page.words
    assert "star" in Page(render(full_report())).values("class")


@settings(max_examples=60, deadline=None)
@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 4)),
        elements=st.one_of(
            st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e-200, 1.7e308, -1.7e308, 1e16]),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
    ),
    data=st.data(),
)
def test_any_data_can_be_drawn(X, data):
    labels = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(-1, 2)))
    page = Page(render(Report(X=X, labels=labels)))
    places, _ = page.dots()
    _, _, wide, tall = map(int, next(v for v in page.values("viewbox")).split())
    assert ((places >= 0) & (places <= (wide, tall))).all()


@settings(max_examples=200, deadline=None)
@given(
    low=st.floats(-1e12, 1e12),
    span=st.floats(1e-3, 1e12),
    most=st.integers(2, 9),
    log=st.booleans(),
)
def test_ticks_are_named_after_their_places(low, span, most, log):
    start = abs(low) + 1e-6
    axis = Axis(start, start * (1 + span), log=True) if log else Axis(low, low + span)
    ticks = axis.ticks(most=most)
    assert len(ticks) <= most + 1
    slack = 1e-9 + 4 * np.spacing(abs(low) + span) / span  # what floats cannot tell apart
    for at, words in ticks:
        assert -slack <= at <= 1 + slack
        value = float(words.replace(MINUS, "-"))
        assert float(axis.place(value)) == pytest.approx(at, abs=1e-2 + slack)
