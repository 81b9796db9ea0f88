"""The scale_tables suite: a tiny run, in a process of its own."""

from benchmarks.harness import Options
from benchmarks.speed import scale_tables


def test_a_tiny_run():
    (row,) = (row.cells for row in scale_tables.run(Options(size="tiny", repeats=1)))
    assert (row["n"], row["d"]) == (5_000, 16)
    assert row["ARI to truth"] > 0.9
    assert row["CPU s"] > 0
    assert row["peak MB"] > 0
