"""The benchmark of the embedding: it runs, and its draws are those of the paper's tables."""

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import embedding

from linkshift import datasets


def test_draws_are_scaled_and_hold_out_rows():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(300, 3)), rng.integers(4, size=300)
    draw, again = (embedding.drawn(Z, y, 5, 100, 40) for _ in range(2))
    np.testing.assert_array_equal(draw.X, again.X)
    assert draw.X.shape == draw.new_X.shape == (100, 3)
    assert (draw.X.min(), draw.X.max(), len(draw.links)) == (0.0, 1.0, 40)
    assert not {row.tobytes() for row in draw.X} & {row.tobytes() for row in draw.new_X}
    for a, b in draw.links.must:
        assert draw.y[a] == draw.y[b]


def test_the_suite_runs():
    pytest.importorskip("torch", reason="the extra 'deep' (PyTorch) is not installed")
    try:
        datasets.load(embedding.DATA)
    except FileNotFoundError:
        pytest.skip("MNIST is not here; set LINKSHIFT_DATA")
    rows = [row.cells for row in embedding.run(Options(size="tiny", repeats=2))]
    assert rows[0]["part"] == "training"
    assert rows[0]["steps"] == 60
    assert {row["setting"] for row in rows[1:]} == {"our embedding", "10 principal components"}
    assert {row["method"] for row in rows[1:]} == set(embedding.METHODS)
    assert all(row["repeats"] == 2 for row in rows[1:])
