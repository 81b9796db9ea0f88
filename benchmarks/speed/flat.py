"""Flat mean shift against scikit-learn's: the same clustering, seconds of both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import MeanShift as PeerMeanShift
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Array, Options, Row, blobs, interleave
from linkshift import MeanShift
from linkshift.bandwidth import default_bandwidth
from linkshift.profiles import Profile

TITLE = "MeanShift(flat) against sklearn.cluster.MeanShift, same bandwidth, seconds"


def run(options: Options) -> Iterator[Row]:
    n = options.pick(200, 2000, 10_000)
    MeanShift(bandwidth=5.0).fit(blobs(200, 2)[0])  # compile outside the clock
    for bin_seeding in (False, True):
        for d in options.pick((2,), (2, 3, 10), (2, 3, 10)):
            yield compare(n, d, bin_seeding, options)


def compare(n: int, d: int, bin_seeding: bool, options: Options) -> Row:
    X, _ = blobs(n, d, seed=options.seed)
    h = default_bandwidth(X, Profile("flat"))
    common: dict[str, Any] = {"bandwidth": h, "bin_seeding": bin_seeding}
    times, fitted = interleave(
        {
            "ours": lambda: MeanShift(**common, landmarks=None).fit(X),
            "ours, 1 thread": lambda: MeanShift(**common, n_jobs=1, landmarks=None).fit(X),
            "scikit-learn": lambda: PeerMeanShift(**common).fit(X),
        },
        options.repeats,
        budget=options.budget(10.0),  # the peer takes its time: one round of it is enough
    )
    ours, peer = fitted["ours"], fitted["scikit-learn"]
    ari = adjusted_rand_score(peer.labels_, ours.labels_)
    gap = centre_gap(ours.cluster_centers_, peer.cluster_centers_)
    return Row(
        {
            "n": n,
            "d": d,
            "bin_seeding": "yes" if bin_seeding else "no",
            "h": h,
            "clusters": ours.n_clusters_,
            "ours": times["ours"].best,
            "ours, 1 thread": times["ours, 1 thread"].best,
            "scikit-learn": times["scikit-learn"].best,
            "ratio": times["scikit-learn"].best / times["ours"].best,
            "ratio, 1 thread": times["scikit-learn"].best / times["ours, 1 thread"].best,
            "ratio of CPU": min(times["scikit-learn"].cpu) / min(times["ours"].cpu),
            "same labels": bool(ari == 1.0),
            "centre gap": gap,
        },
        times,
    )


def centre_gap(a: Array, b: Array) -> float:
    """Greatest distance from a centre to its nearest on the other side; inf if counts differ."""
    if a.shape != b.shape:
        return float("inf")
    distance = cdist(a, b)
    return float(np.maximum(distance.min(axis=0), distance.min(axis=1)).max())
