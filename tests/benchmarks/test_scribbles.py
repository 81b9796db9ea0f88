"""The benchmark of scribbles: strokes stay in their segments; the suite runs."""

import numpy as np
import pytest
from benchmarks import run, scribbles
from benchmarks.harness import Options


def truth():
    """Three segments: half, a third, a sixth."""
    found = np.full((48, 48), 7)
    found[24:, :32], found[24:, 32:] = 3, 5
    return found


def test_strokes_are_in_the_largest_segments():
    strokes = scribbles.draw_strokes(truth(), 2, np.random.default_rng(0))
    for number, label in ((1, 7), (2, 3)):
        inside = truth()[strokes == number]
        assert (inside == label).all()
        assert inside.size > 10
    assert strokes.max() == 2


def test_a_segment_of_one_pixel_has_a_stroke():
    inside = np.zeros((5, 5), dtype=bool)
    inside[2, 2] = True
    drawn = scribbles.draw_stroke(inside, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, inside)


def test_every_method_answers(monkeypatch):
    pytest.importorskip("skimage")
    colours = np.zeros((8, 3), dtype=np.uint8)
    colours[[3, 5, 7]] = (200, 30, 30), (30, 200, 30), (30, 30, 200)
    image = colours[truth()]
    people = np.stack([truth(), truth()])
    monkeypatch.setattr(scribbles, "read_photographs", lambda: {"a": (image, people)})
    suite = run.run_suite("scribbles", Options(size="tiny", repeats=1))
    assert suite["error"] is None
    rows = [row["cells"] for row in suite["rows"]]
    assert [row["method"] for row in rows] == list(scribbles.methods())
    for row in rows:
        assert row["covering"] > 0.9, row
        assert 0 < row["ARI"] <= 1


def test_absent_data(monkeypatch):
    monkeypatch.setattr(scribbles, "read_photographs", lambda: None)
    (row,) = scribbles.run(Options(size="tiny"))
    assert "absent" in str(row.cells["method"])
