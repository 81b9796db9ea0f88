"""COBRAS as its authors publish it: ``pip install --no-deps cobras_ts``.

T. Van Craenendonck, S. Dumancic, E. Van Wolputte, H. Blockeel, "COBRAS: interactive clustering
with pairwise queries", IDA 2018. Nothing of that package is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.active.oracle import Oracle
from benchmarks.harness import Array


def cobras(X: Array, oracle: Oracle, checkpoints: Sequence[int], seed: int) -> dict[int, Array]:
    """Ask as COBRAS does; before the first answer it has one cluster.

    It knows two answers: who does not know says "different", which merges nothing.
    """
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    with _as_of_its_time(seed):
        model = COBRAS_kmeans(X, _Asking(oracle), max(checkpoints))
        last, kept, *_ = model.cluster()
    history = [np.zeros(len(X), dtype=np.int64), *(np.asarray(one) for one in kept)]
    if len(kept) < max(checkpoints):  # it has asked all that it wants to know
        history.append(np.asarray(last.construct_cluster_labeling()))
    return {count: history[min(count, len(history) - 1)] for count in checkpoints}


class _Asking:
    """What the package asks; its own base class needs a package that draws pictures."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    def query_points(self, a: int, b: int) -> bool:
        return self._oracle(a, b) is True

    def continue_cluster_process(self) -> bool:
        return True

    def update_clustering(self, clustering: object) -> None:
        """Show a clustering: to nobody."""


@contextmanager
def _as_of_its_time(seed: int) -> Iterator[None]:
    """Give the package what scikit-learn and numpy had when it was written, and a seed.

    k-means had ten starts by default, and numpy had a name ``int``.
    """
    from cobras_ts import cobras_kmeans as module

    before = module.KMeans, module.np
    random = np.random.RandomState(seed)
    numpy: Any = SimpleNamespace(int=np.int64, mean=np.mean, linalg=np.linalg)
    module.KMeans, module.np = partial(KMeans, n_init=10, random_state=random), numpy
    try:
        yield
    finally:
        module.KMeans, module.np = before
