"""The elbow picture shows the curve, its chord and the suggested number."""

import numpy as np
import pytest

from linkshift import plot
from linkshift.kmeans import Elbow

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

CURVE = Elbow(np.array([1, 2, 4, 8]), np.array([90.0, 40.0, 12.0, 8.0]), 4)


@pytest.fixture(autouse=True)
def _close():
    yield
    matplotlib.pyplot.close("all")


def test_curve_chord_and_mark():
    ax = plot.elbow(CURVE, title="coffee")
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert lines["inertia"] == [[1, 90], [2, 40], [4, 12], [8, 8]]
    assert lines["chord"] == [[1, 90], [8, 8]]
    assert lines["elbow"] == [[4, 12]]
    assert [text.get_text() for text in ax.texts] == ["k = 4"]
    assert ax.get_title(loc="left") == "coffee"
    assert ax.get_ylim()[0] == 0.0
    ax.figure.canvas.draw()


def test_given_axes_are_used():
    _, ax = matplotlib.pyplot.subplots()
    assert plot.elbow(CURVE, ax=ax) is ax


def test_a_single_number():
    ax = plot.elbow(Elbow(np.array([3]), np.array([0.5]), 3))
    assert ax.texts[0].get_text() == "k = 3"
    ax.figure.canvas.draw()


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="kmeans_elbow"):
        plot.elbow([1, 2, 3])


def test_rows_held_out_are_drawn_and_marked():
    sums = np.array([95.0, 50.0, 20.0, 18.0])
    ax = plot.elbow(Elbow(CURVE.n_clusters, CURVE.inertia, 4, sums))
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert lines["held out"] == [[1, 95], [2, 50], [4, 20], [8, 18]]
    assert lines["largest jump"] == [[4, 20]]
    assert "chord" not in lines
    ax.figure.canvas.draw()
