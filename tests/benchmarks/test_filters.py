"""The benchmark of the filters runs, and says when its peer is absent."""

import importlib

import pytest
from benchmarks import run
from benchmarks.speed import filters

pytest.importorskip("skimage", reason="scikit-image is not installed")


def test_a_row_for_each_filter():
    pytest.importorskip("cv2", reason="OpenCV is not installed")
    suite = run.run_suite("filters", run.Options(size="tiny", repeats=1))
    assert suite["error"] is None
    rows = {row["cells"]["filter"]: row["cells"] for row in suite["rows"]}
    assert len(rows) == 6
    assert rows["opencv mode, 1 thread"]["same as OpenCV"] is True
    assert rows["converged, 2 threads"]["% off by > 8"] == 0.0
    assert 0.0 < rows["OpenCV"]["% off by > 8"] < 50.0
    assert rows["OpenCV"]["ratio"] == 1.0


def test_an_absent_peer_is_told(monkeypatch):
    real = importlib.import_module

    def without(name, *rest):
        if name == "cv2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(filters.importlib, "import_module", without)
    rows = [row.cells for row in filters.run(run.Options(size="tiny", repeats=1))]
    assert rows[0]["filter"] == "OpenCV (not installed)"
    assert len(rows) == 6
    assert all(row["ratio"] is None for row in rows[1:])
