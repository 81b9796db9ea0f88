"""The picture of growth."""

import pytest
from benchmarks.speed.scale_picture import by_method, draw, exponent


def rows():
    for method, power in (("MeanShift", 1.0), ("scikit-learn HDBSCAN", 2.0)):
        for n in (2_000, 10_000, 100_000):
            refused = "too many" if (n, power) == (100_000, 2.0) else ""
            yield {"method": method, "n": n, "CPU s": n**power, "MB": 3.0, "refused": refused}


def test_slopes():
    found = by_method(rows())
    assert exponent(found["MeanShift"]) == pytest.approx(1.0)
    assert exponent(found["scikit-learn HDBSCAN"]) is None  # one size is left
    assert exponent(found["scikit-learn HDBSCAN"], least=1_000) == pytest.approx(2.0)


def test_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    draw(rows(), tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 10_000
