"""The scale suite: a tiny run, each line of it in a process of its own."""

from benchmarks.harness import Options
from benchmarks.speed import scale


def test_a_tiny_run():
    rows = [row.cells for row in scale.run(Options(size="tiny", repeats=1))]
    assert [row["method"] for row in rows] == list(scale.METHODS)
    ours = rows[0]
    assert ours["ARI to truth"] > 0.9
    assert ours["fidelity"] > 0.9
    assert all(row["CPU s"] > 0 and row["MB"] >= 0 for row in rows)


def test_rows_are_the_same_for_a_seed():
    (X, y), (Z, z) = (scale.gaussians(300, 4, 1) for _ in range(2))
    assert (X == Z).all()
    assert (y == z).all()
    assert X.dtype == "float32"
