"""What is on the axes: artists, colours, projections; and errors before anything is drawn."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

mpl.use("Agg")
import matplotlib.pyplot as plt

from linkshift import plot
from linkshift.datasets import make_lines


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def make_links(must=(), cannot=()):
    must = np.array(must, dtype=np.int64).reshape(-1, 2)
    cannot = np.array(cannot, dtype=np.int64).reshape(-1, 2)
    return SimpleNamespace(
        must=must,
        cannot=cannot,
        must_confidence=np.ones(len(must)),
        cannot_confidence=np.ones(len(cannot)),
    )


def artist(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return found


def line_collections(ax):
    return [c for c in ax.collections if isinstance(c, LineCollection)]


def face_colours(collection):
    return {to_hex(c) for c in collection.get_facecolors()}


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_point_is_drawn_where_it_is_in_its_clusters_colour():
    X, y = make_lines(5, random_state=0)
    ax = plot.clusters(X, y)
    points = artist(ax, "points")
    drawn, colours = points.get_offsets(), points.get_facecolors()
    for row, label in zip(X, y, strict=True):
        (at,) = np.flatnonzero((drawn == row).all(axis=1))
        assert to_hex(colours[at]).upper() == plot.PALETTE[label]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("k", [2, 9, 30])
def test_clusters_have_different_colours(k):
    ax = plot.clusters(np.random.default_rng(0).normal(size=(3 * k, 2)), np.arange(3 * k) % k)
    assert len(face_colours(artist(ax, "points"))) == k


def test_clusters_may_have_names():
    ax = plot.clusters(np.eye(2), ["cat", "dog"])
    assert legend_texts(ax) == ["cat (1)", "dog (1)"]


def test_labels_need_not_be_dense():
    ax = plot.clusters(np.eye(2), [4, 90])
    assert {c.upper() for c in face_colours(artist(ax, "points"))} == set(plot.PALETTE[:2])


def test_noise_is_grey_crosses_and_takes_no_colour():
    X = np.arange(8.0).reshape(4, 2)
    ax = plot.clusters(X, [-1, 0, 1, -1])
    noise = artist(ax, "noise")
    np.testing.assert_array_equal(noise.get_offsets(), X[[0, 3]])
    assert to_hex(noise.get_edgecolors()[0]).upper() == plot.NOISE_GREY
    assert {c.upper() for c in face_colours(artist(ax, "points"))} == set(plot.PALETTE[:2])
    assert "noise (2)" in legend_texts(ax)


def test_only_noise_and_no_noise():
    ax = plot.clusters(np.eye(2), [-1, -1])
    assert len(artist(ax, "points").get_offsets()) == 0
    ax.figure.canvas.draw()
    ax = plot.clusters(np.eye(2), [0, 0])
    assert "noise" not in [c.get_label() for c in ax.collections]


def test_each_link_is_a_segment_between_its_ends():
    X, y = make_lines(10, random_state=0)
    links = make_links([(0, 9), (10, 19), (0, 10)], [(0, 59), (1, 2)])
    ax = plot.clusters(X, y, links=links)
    drawn = {c.get_label(): np.array(c.get_segments()) for c in line_collections(ax)}
    np.testing.assert_array_equal(drawn["2 must-links"], X[[[0, 9], [10, 19]]])
    np.testing.assert_array_equal(drawn["1 must-link violated"], X[[[0, 10]]])
    np.testing.assert_array_equal(drawn["1 cannot-link"], X[[[0, 59]]])
    np.testing.assert_array_equal(drawn["1 cannot-link violated"], X[[[1, 2]]])
    assert sum(map(len, drawn.values())) == 5


def test_violated_links_are_thicker_and_marked():
    ax = plot.clusters(np.eye(3)[:, :2], [0, 0, 1], links=make_links([(0, 1), (0, 2)]))
    kept, violated = (artist(ax, name) for name in ("1 must-link", "1 must-link violated"))
    assert violated.get_linewidth()[0] > 1.5 * kept.get_linewidth()[0]
    np.testing.assert_allclose(artist(ax, "violated").get_offsets(), [[0.5, 0.0]])


def test_kinds_of_links_differ_in_colour_and_dash():
    ax = plot.clusters(np.eye(3)[:, :2], [0, 0, 1], links=make_links([(0, 1)], [(0, 2)]))
    must, cannot = artist(ax, "1 must-link"), artist(ax, "1 cannot-link")
    assert to_hex(must.get_colors()[0]).upper() == plot.MUST
    assert to_hex(cannot.get_colors()[0]).upper() == plot.CANNOT
    assert must.get_linestyle()[0][1] is None
    assert cannot.get_linestyle()[0][1] is not None


def test_many_links_are_fainter():
    pairs = np.random.default_rng(0).integers(0, 100, size=(900, 2))
    X = np.random.default_rng(1).normal(size=(100, 2))
    many = plot.clusters(X, np.zeros(100, int), links=make_links(pairs))
    few = plot.clusters(X, np.zeros(100, int), links=make_links(pairs[:5]))
    assert line_collections(many)[0].get_alpha() < line_collections(few)[0].get_alpha()


def test_link_outside_raises_and_draws_nothing():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match=r"must-link \(0, 5\)"):
        plot.clusters(np.eye(2), [0, 1], links=make_links([(0, 5)]), ax=ax)
    assert len(ax.collections) == 0


def test_modes_are_stars_where_they_are():
    modes = np.array([[0.5, 0.5], [2.0, 1.0]])
    ax = plot.clusters(np.eye(2), [0, 1], modes=modes)
    np.testing.assert_array_equal(artist(ax, "modes").get_offsets(), modes)
    assert "2 modes" in legend_texts(ax)


def test_three_columns_are_projected_on_their_principal_plane():
    random = np.random.default_rng(0)
    flat = random.normal(size=(50, 2)) * [5, 2]
    frame = np.linalg.qr(random.normal(size=(4, 4)))[0][:, :2]
    X = flat @ frame.T + 3.0
    ax = plot.clusters(X, np.zeros(50, int), modes=X[:2])
    drawn = artist(ax, "points").get_offsets()
    # The data lie in a plane, so its principal plane keeps all distances.
    before = np.sort(np.linalg.norm(X[:, None] - X, axis=-1).ravel())
    after = np.sort(np.linalg.norm(drawn[:, None] - drawn, axis=-1).ravel())
    np.testing.assert_allclose(before, after, atol=1e-6)
    modes = artist(ax, "modes").get_offsets()
    assert all(np.isclose(drawn, m).all(axis=1).any() for m in modes)
    assert "principal component 1" in ax.get_xlabel()
    assert "of variance" in ax.get_ylabel()
    assert np.var(drawn[:, 0]) > np.var(drawn[:, 1])


def test_projection_agrees_for_wide_and_tall_tables():
    random = np.random.default_rng(1)
    X = random.normal(size=(8, 30))
    drawn = np.asarray(artist(plot.clusters(X, np.zeros(8, int)), "points").get_offsets())
    centred = X - X.mean(axis=0)
    singular = np.linalg.svd(centred, compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=0), singular[:2], rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 5), (2, 5), (3, 3)])
def test_degenerate_tables_are_drawn(shape):
    for X in (np.ones(shape), np.random.default_rng(0).normal(size=shape)):
        ax = plot.clusters(X, np.arange(len(X)))
        ax.figure.canvas.draw()
        assert np.isfinite(artist(ax, "points").get_offsets()).all()


def test_one_column_is_spread_along_the_height():
    X = np.linspace(0, 1, 20)[:, None]
    ax = plot.clusters(X, np.zeros(20, int), modes=[[0.5]], links=make_links([(0, 1)]))
    drawn = artist(ax, "points").get_offsets()
    np.testing.assert_array_equal(np.sort(drawn[:, 0]), X[:, 0])
    assert len(np.unique(drawn[:, 1])) == 20
    assert len(ax.get_yticks()) == 0
    ax.figure.canvas.draw()


def test_two_columns_are_to_scale_unless_a_thread():
    assert plot.clusters(np.eye(2), [0, 1]).get_aspect() == 1.0
    assert plot.clusters([[0, 0], [1e6, 1]], [0, 1]).get_aspect() == "auto"


def test_given_axes_are_used_and_no_figure_is_made():
    _, ax = plt.subplots()
    assert plot.clusters(np.eye(2), [0, 1], ax=ax, title="here") is ax
    assert plot.paths(np.eye(2), [np.eye(2)], ax=ax) is ax
    assert len(plt.get_fignums()) == 1


def test_legend_stays_short_and_can_be_left_out():
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert legend_texts(plot.clusters(X, np.arange(60) % 25)) == ["25 clusters"]
    assert len(legend_texts(plot.clusters(X, np.arange(60) % 6))) == 6
    assert plot.clusters(X, np.arange(60) % 6, legend=False).get_legend() is None


def test_size_is_honoured_and_else_adapts():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    zeros = np.zeros(5000, int)
    many = artist(plot.clusters(X, zeros), "points").get_sizes()[0]
    few = artist(plot.clusters(X[:50], zeros[:50]), "points").get_sizes()[0]
    assert many < few
    assert artist(plot.clusters(X, zeros, size=7.0), "points").get_sizes()[0] == 7.0


def test_paths_are_drawn_from_start_to_end():
    X = np.array([[0.0, 0.0], [4.0, 0.0]])
    ways = [np.array([[0, 0], [1, 1], [2, 0]]), np.array([[4.0, 0], [2, 0]])]
    ax = plot.paths(X, ways)
    (lines,) = line_collections(ax)
    for drawn, way in zip(lines.get_segments(), ways, strict=True):
        np.testing.assert_array_equal(drawn, way)
    np.testing.assert_array_equal(artist(ax, "ends").get_offsets(), [[2, 0], [2, 0]])


def test_paths_take_their_points_colours():
    X = np.eye(3)[:, :2]
    ax = plot.paths(X, [X[[i, 0]] for i in range(3)], labels=[0, 1, -1])
    (lines,) = line_collections(ax)
    colours = [to_hex(c).upper() for c in lines.get_colors()]
    assert colours == [*plot.PALETTE[:2], plot.NOISE_GREY]


@pytest.mark.parametrize("d", [1, 4])
def test_paths_are_projected_with_the_points(d):
    X = np.random.default_rng(0).normal(size=(12, d))
    ax = plot.paths(X, [np.vstack([x, X.mean(axis=0)]) for x in X], labels=np.arange(12))
    (lines,) = line_collections(ax)
    starts = np.array([segment[0] for segment in lines.get_segments()])
    drawn = np.asarray(artist(ax, "points").get_offsets())
    np.testing.assert_allclose(np.sort(starts, axis=0), np.sort(drawn, axis=0), atol=1e-9)


def test_no_paths_is_only_points():
    plot.paths(np.eye(2), []).figure.canvas.draw()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.clusters([1, 2], [0, 0]), "X must be a table"),
        (lambda: plot.clusters(np.eye(2), [0]), r"labels must have shape \(2,\)"),
        (lambda: plot.clusters(np.eye(2), [0, 1], modes=[[1, 2, 3]]), "modes must have shape"),
        (lambda: plot.paths(np.eye(2), [np.eye(2), np.eye(3)]), r"paths\[1\] must have shape"),
    ],
)
def test_errors_name_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    assert not plt.get_fignums()


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "linkshift\[plot\]"'):
        plot.clusters(np.eye(2), [0, 1])
