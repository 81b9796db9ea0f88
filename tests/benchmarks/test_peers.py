"""The suite beside other people's code runs with and without it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness import Options
from benchmarks.papers import peers

from linkshift import datasets

TINY = Options(size="tiny", repeats=1, seed=0)


def has(name):
    try:
        datasets.load(name)
    except FileNotFoundError:
        return False
    return True


@pytest.mark.skipif(not has("uci_iris"), reason="set LINKSHIFT_DATA")
def test_without_the_package_its_columns_are_empty(monkeypatch):
    monkeypatch.setattr(peers, "peer_class", lambda name: None)
    rows = [row.cells for row in peers.quality(TINY)]
    assert [row["method"] for row in rows] == ["PCKMeans", "MPCKMeans"]
    assert all(row["peer"] is None and row["ours"] > 0.3 for row in rows)


def test_a_peer_that_fails_is_begun_anew(monkeypatch):
    tries = []

    class Peer:
        def __init__(self, n_clusters):
            self.n_clusters = n_clusters

        def fit(self, X, ml, cl):
            tries.append((ml, cl))
            if len(tries) < 3:
                raise RuntimeError("empty cluster")
            self.labels_ = np.zeros(len(X), dtype=int)
            return self

    monkeypatch.setattr(peers, "peer_class", lambda name: Peer)
    labels = peers.peer_labels("PCKMeans", np.zeros((4, 1)), 2, peers.Links(must=[(0, 1)]), 0)
    assert labels.tolist() == [0] * 4
    assert tries == [([(0, 1)], [])] * 3


def test_density_stands_beside_the_paper():
    (one, other) = (row.cells for row in peers.density(TINY))
    assert one["data"] == "moons"
    assert one["paper"] == 1.0
    assert one["ARI"] > 0.9
    assert other["method"] == "leaf_size=30"
