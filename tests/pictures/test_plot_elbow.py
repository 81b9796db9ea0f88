"""The elbow picture shows the curve, its chord and the suggested number."""

import numpy as np
import pytest

from linkshift import plot
from linkshift.image import Elbow

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
