"""The picture of view importances: numbers, names, colours; and errors before it is drawn."""

from __future__ import annotations

import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex, to_rgb
from sklearn.exceptions import NotFittedError

mpl.use("Agg")
import matplotlib.pyplot as plt

from linkshift import GroupFeatureClustering, MeanShift, plot

THREE = np.array([[0.7, 0.3, 0.0], [0.1, 0.2, 0.7], [0.25, 0.5, 0.25]])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def shares(n, m, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.5), size=n)


def mesh(ax):
    (found,) = [c for c in ax.collections if c.get_label() == "importances"]
    return found


def names(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def luminance(colour):
    """As WCAG 2 defines it, channel by channel."""
    total = 0.0
    for value, weight in zip(to_rgb(colour), (0.2126, 0.7152, 0.0722), strict=True):
        total += weight * (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return total


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_number_in_every_cell_with_clusters_as_rows():
    ax = plot.view_importances(THREE)
    np.testing.assert_array_equal(np.ravel(mesh(ax).get_array()), THREE.ravel())
    drawn = {text.get_position(): text.get_text() for text in ax.texts}
    assert len(drawn) == 9
    for c, v in np.ndindex(3, 3):
        assert drawn[(v + 0.5, c + 0.5)] == f"{THREE[c, v]:.2f}"
    assert ax.get_ylim() == (3, 0)  # the first cluster on top
    assert names(ax.xaxis) == ["view0", "view1", "view2"]
    assert names(ax.yaxis) == ["cluster 0", "cluster 1", "cluster 2"]
    assert len(ax.figure.axes) == 1  # numbers need no bar
    ax.figure.canvas.draw()


def test_the_first_view_of_a_cluster_is_bold():
    ax = plot.view_importances(THREE)
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == ["0.70", "0.70", "0.50"]


def test_names_and_sizes():
    ax = plot.view_importances(
        THREE,
        view_names=["shape", "colour", "noise"],
        cluster_names=["oak", 7, "elm"],
        sizes=[4, 50, 1],
        title="leaves",
    )
    assert names(ax.xaxis) == ["shape", "colour", "noise"]
    assert names(ax.yaxis) == ["oak (4)", "cluster 7 (50)", "elm (1)"]
    assert ax.get_title(loc="left") == "leaves"


def test_a_fitted_model():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [12, 13])
    tables = {
        "signal": 9.0 * y[:, None] + rng.normal(size=(25, 2)),
        "noise": rng.normal(size=(25, 1)),
    }
    model = GroupFeatureClustering(2, n_init=1, max_iter=2, random_state=0).fit(tables)
    ax = plot.view_importances(model)
    np.testing.assert_array_equal(np.ravel(mesh(ax).get_array()), np.ravel(model.view_importances_))
    assert names(ax.xaxis) == ["signal", "noise"]
    sizes = np.bincount(model.labels_)
    assert names(ax.yaxis) == [f"cluster 0 ({sizes[0]})", f"cluster 1 ({sizes[1]})"]
    renamed = plot.view_importances(model, view_names=["s", "n"], sizes=[1, 2])
    assert names(renamed.xaxis) == ["s", "n"]
    assert names(renamed.yaxis) == ["cluster 0 (1)", "cluster 1 (2)"]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 8))
def test_numbers_can_be_read_on_any_colour(seed, n, m):
    ax = plot.view_importances(shares(n, m, seed))
    ax.figure.canvas.draw()
    cells = mesh(ax).get_facecolors().reshape(n, m, 4)
    for text in ax.texts:
        x, y = text.get_position()
        assert contrast(text.get_color(), cells[int(y), int(x), :3]) >= 4.5
    plt.close(ax.figure)


def test_more_is_darker_and_none_is_white():
    values = np.linspace(0, 0.5, 6)
    ax = plot.view_importances(np.column_stack([values, 1.0 - values]))
    ax.figure.canvas.draw()
    cells = mesh(ax).get_facecolors().reshape(6, 2, 4)[:, 0]
    assert to_hex(cells[0]) == "#ffffff"
    found = [luminance(cell[:3]) for cell in cells]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 6
    assert to_hex(mesh(ax).get_cmap()(0.5)).upper() == plot.PALETTE[0]


@pytest.mark.parametrize(
    ("n", "m", "numbers"), [(1, 1, 1), (20, 6, 120), (50, 4, 200), (3, 30, 90), (100, 12, 0)]
)
def test_where_numbers_have_no_room_a_bar_tells_the_colours(n, m, numbers):
    ax = plot.view_importances(shares(n, m), sizes=[50] * n)
    assert len(ax.texts) == numbers
    bars = [other for other in ax.figure.axes if other is not ax]
    assert [bar.get_ylabel() for bar in bars] == ([] if numbers else ["importance"])
    assert len(names(ax.yaxis)) == n
    ax.figure.canvas.draw()


def overlaps(labels, side):
    """How many neighbouring labels touch; side 0 for columns, 1 for rows."""
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda b: b.min[side])
    return sum(a.max[side] > b.min[side] for a, b in pairwise(boxes))


@pytest.mark.parametrize(("n", "m"), [(20, 6), (100, 12), (250, 3), (4, 130)])
def test_names_never_overlap(n, m):
    long = [f"a view with name {v}" for v in range(m)]
    ax = plot.view_importances(shares(n, m), view_names=long, sizes=[1234] * n)
    ax.figure.canvas.draw()
    assert overlaps(ax.xaxis.get_ticklabels(), 0) == 0
    assert overlaps(ax.yaxis.get_ticklabels(), 1) == 0
    step = -(-n // len(names(ax.yaxis)))
    assert names(ax.yaxis) == [f"cluster {c} (1234)" for c in range(0, n, step)]


def test_axes_that_are_given():
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    assert plot.view_importances(THREE, ax=axes[0]) is axes[0]
    assert len(axes[0].texts) == 9
    plot.view_importances(shares(60, 3), ax=axes[1])
    assert not axes[1].texts
    assert len(names(axes[1].yaxis)) < 60
    figure.canvas.draw()
    part = plt.figure().subfigures(1, 2)[0]
    assert plot.view_importances(THREE, ax=part.subplots()).figure is part


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot.view_importances([0.5, 0.5]), ValueError, r"got shape \(2,\)"),
        (lambda: plot.view_importances(np.empty((0, 3))), ValueError, r"got shape \(0, 3\)"),
        (lambda: plot.view_importances(THREE.T), ValueError, "Row 0 sums to 1.05.*transpose"),
        (lambda: plot.view_importances([[1.5, -0.5]]), ValueError, "its least value is -0.5"),
        (lambda: plot.view_importances([[np.nan, 1.0]]), ValueError, "Row 0 sums to nan"),
        (lambda: plot.view_importances([["a"]]), TypeError, "a matrix of numbers"),
        (lambda: plot.view_importances([[1.0], [0.5, 0.5]]), TypeError, "a matrix of numbers"),
        (lambda: plot.view_importances("abc"), TypeError, "got str"),
        (
            lambda: plot.view_importances(THREE, view_names=["a", "b"]),
            ValueError,
            r"view_names must hold 3, one for each view, got \['a', 'b'\]",
        ),
        (
            lambda: plot.view_importances(THREE, view_names="abc"),
            ValueError,
            "view_names must hold 3, one for each view, got 'abc'",
        ),
        (lambda: plot.view_importances(THREE, sizes=[1]), ValueError, "sizes must hold 3"),
        (
            lambda: plot.view_importances(THREE, cluster_names=range(4)),
            ValueError,
            "cluster_names must hold 3, one for each cluster",
        ),
        (lambda: plot.view_importances(MeanShift()), TypeError, "MeanShift has no views"),
        (lambda: plot.view_importances(GroupFeatureClustering(2)), NotFittedError, "not fitted"),
    ],
)
def test_errors_name_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert not plt.get_fignums()


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "linkshift\[plot\]"'):
        plot.view_importances(THREE)
