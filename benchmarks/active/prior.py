"""Fit the session's first belief over many data sets, and write it where the package reads it.

``python -m benchmarks.active.prior`` (some minutes; needs the data sets). None of the sets that
`benchmarks.active.sets` calls unseen has a part in it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.active.sets import SEEN, UNSEEN, load
from benchmarks.harness import Array
from linkshift._core.arrays import first_of_equal_rows
from linkshift.active.belief import Prior, posterior
from linkshift.active.look import Look, look_at

#: Further sets that only the first belief has seen.
ALSO = (
    "uci_iris",
    "uci_glass",
    "uci_ionosphere",
    "uci_yeast",
    "sipu_compound",
    "sipu_flame",
    "sipu_r15",
    "sipu_s1",
    "sipu_s3",
    "sipu_jain",
    "sipu_pathbased",
    "sipu_spiral",
    "mnist_t10k",
    "face_yale_32",
    "face_pie_5pose_10subj",
    "mv_msrc_v1",
    "mv_100leaves",
    "mv_3sources",
    "pccc_heart",
    "pccc_led7digit",
    "mv_caltech101_20_recomputed",
)
PAIRS = 4_000  # drawn of each set, by the sizes of pieces
COUNT = 200.0  # that they count as: of more, single sets would be known too well
ROUNDS = 15
LEAST = 0.01  # variance of a weight between sets

WHERE = Path(__file__).parents[2] / "src" / "linkshift" / "active" / "prior.json"


def drawn(look: Look, y: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Features of pairs of pieces, and whether they are of one class."""
    chance = np.outer(look.size, look.size)
    chance[np.tril_indices(len(look))] = 0.0
    picked = rng.choice(chance.size, PAIRS, p=chance.ravel() / chance.sum())
    kind = y[look.row]
    same = (kind[:, None] == kind[None]).ravel()[picked].astype(float)
    return look.features.reshape(len(look.features), -1)[:, picked].T.astype(float), same


def fit(sets: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Mean and covariance of the weights over sets, by turns with the weights of each set."""
    width = sets[0][0].shape[1]
    mean, covariance = np.zeros(width), np.eye(width)
    for _ in range(ROUNDS):
        before = Prior(mean, np.linalg.inv(covariance))
        weights, unsure = [], []
        for features, same in sets:
            count = np.full(len(same), COUNT / len(same))
            found = posterior(features, same, count, before)
            chance = 1 / (1 + np.exp(-features @ found))
            bend = (features * (count * chance * (1 - chance))[:, None]).T @ features
            weights.append(found)
            unsure.append(np.linalg.inv(bend + before.precision))
        mean = np.mean(weights, axis=0)
        off = np.array(weights) - mean
        covariance = off.T @ off / len(sets) + np.mean(unsure, axis=0) + LEAST * np.eye(width)
    return mean, covariance


def main() -> None:
    """Fit and write."""
    names, rng = (*SEEN, *ALSO), np.random.default_rng(0)
    assert not set(names) & set(UNSEEN)
    sets = []
    for name in names:
        X, y = load(name, 0)
        rows = np.unique(first_of_equal_rows(X))
        sets.append(drawn(look_at(X[rows]), y[rows], rng))
        print(name, len(rows), flush=True)
    mean, covariance = fit(sets)
    found = {
        "sets": names,
        "mean": [round(float(x), 4) for x in mean],
        "covariance": [round(float(x), 5) for x in covariance[np.tril_indices(len(mean))]],
    }
    WHERE.write_text(json.dumps(found, indent=0) + "\n", "utf-8")
    print(np.round(mean, 2))


if __name__ == "__main__":
    main()
