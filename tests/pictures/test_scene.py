"""What is drawn, as data; and that both back ends draw it."""

import json
import re

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from linkshift import Links, plot, report
from linkshift.pictures import colours, scene
from linkshift.pictures.page import svg

mpl.use("Agg")
import matplotlib.pyplot as plt

X = np.random.default_rng(0).normal(size=(8, 2))
LABELS = np.array([7, 7, 1, -1, 2, 2, 3, 4])
LINKS = Links(must=[(0, 1), (2, 3)], cannot=[(0, 2), (4, 5), (6, 7)])


@pytest.fixture
def ax():
    yield plot.clusters(X, LABELS, links=LINKS, modes=X[:2])
    plt.close("all")


@pytest.fixture
def page():
    return report.render(report.Report(X=X, labels=LABELS, links=LINKS, modes=X[:2]))


def test_links_that_look_alike_violated_ones_last():
    whole = scene.of_clusters(X, LABELS, LINKS)
    found = whole.groups
    assert [group.name for group in found] == [
        "1 must-link",
        "2 cannot-links",
        "1 must-link violated",
        "1 cannot-link violated",
    ]
    assert [group.pairs.tolist() for group in found] == [
        [[0, 1]],
        [[0, 2], [6, 7]],
        [[2, 3]],
        [[4, 5]],
    ]
    assert [whole.is_crossed(group) for group in found] == [False, False, True, True]


def test_plot_and_page_draw_the_same_links(ax, page):
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    (data,) = re.findall(r'id="data">(.*?)</script>', page)
    rows, groups = (json.loads(data)[key] for key in ("rows", "links"))
    assert len(lines) == len(groups) == 4
    for line, group in zip(lines, groups, strict=True):
        ends = X[[rows[i] for i in group["pairs"]]].reshape(-1, 2, 2)
        np.testing.assert_array_equal(line.get_segments(), ends)
        assert line.get_label() in page


def test_plot_and_page_have_the_same_colours(ax, page):
    named = dict(re.findall(r"--(\w+): (#\w+);", page.partition("@media")[0]))
    clusters = scene.Clusters.of(LABELS)
    (points,) = [c for c in ax.collections if c.get_label() == "points"]
    drawn = dict(zip(map(tuple, points.get_offsets()), points.get_facecolors(), strict=True))
    for x, c in zip(X.tolist(), clusters.position, strict=True):
        variable = svg.css(clusters.hues[c])[len("var(--") : -1]
        assert named[variable] == clusters.colours[c]
        if not clusters.is_noise[c]:
            assert to_hex(drawn[tuple(x)]).upper() == clusters.colours[c]


def test_crosses_do_not_pile_up():
    for n, few in ((200, True), (201, False)):
        pairs = [(i, i + 1) for i in range(n)]
        found = scene.of_clusters(np.eye(n + 1)[:, :2], np.arange(n + 1), Links(must=pairs))
        assert [found.is_crossed(group) for group in found.groups] == [few]


def test_links_fade_from_sixty_on():
    assert [scene.faded(n, 60) for n in (0, 1, 60, 240, 10**6)] == [1.0, 1.0, 1.0, 0.5, 0.2]


def test_no_links_to_draw_is_an_empty_table_of_pairs():
    found = scene.of_clusters(X, LABELS)
    assert found.pairs.shape == (0, 2)
    assert found.linked_rows.shape == (0,)
    assert scene.of_clusters(X, LABELS, LINKS).linked_rows.tolist() == list(range(8))


def test_a_part_of_rows_and_links_keeps_what_matters():
    n = 100
    labels = np.zeros(n, dtype=int)
    labels[99] = 1
    links = Links(must=[(i, i + 1) for i in range(99)])
    found = scene.of_clusters(np.eye(n)[:, :2], labels, links, most_points=30, most_links=10)
    assert len(found.rows) == 30
    assert len(found.pairs) == 10
    assert [98, 99] in found.pairs.tolist()  # the one that is violated
    assert set(found.pairs.ravel()) | {0, 99} <= set(found.rows)


def test_luminance_and_contrast_of_known_colours():
    black, white, grey = (colours.rgb(c) for c in ("#000000", "#FFFFFF", "#767676"))
    assert colours.contrast(black, white) == pytest.approx(21)
    assert colours.contrast(grey, white) == pytest.approx(4.54, abs=0.01)
    assert colours.takes_black(np.array([white, black])).tolist() == [True, False]
    assert colours.lightened("#FFFFFF", "#1b1e23") == "#FFFFFF"
