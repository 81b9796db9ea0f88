"""What pieces and features of a session allow, set by set, whatever is asked.

Beside the truth: pieces that all have the class of their heart, so that only rows that are not of
the class of their piece are wrong; hearts of which so many, drawn at random, have their class told,
and the others that of the one they most probably belong with; and how often the belief puts a pair
of hearts that are the same above one that is not, before any answer and told of 4,000 pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from benchmarks.active.sets import HALVES, QUICK, TINY, half, is_here, load
from benchmarks.harness import Array, Cell, Options, Row
from linkshift._core.arrays import first_of_equal_rows
from linkshift.active.belief import beliefs, posterior, prior
from linkshift.active.look import Look, look_at

TOLD = (20, 50, 100, 200)  # hearts whose class is known
PAIRS = 4_000


def run(options: Options) -> Iterator[Row]:
    """One draw of each set, and means of both halves."""
    every = tuple(name for names in HALVES.values() for name in names)
    found: dict[str, dict[str, float]] = {}
    for name in options.pick(TINY, QUICK, every):
        if is_here(name):
            X, y = load(name, options.seed, options.pick(80, 400, None))
            rows = np.unique(first_of_equal_rows(X))
            look = look_at(X[rows])
            found[name] = _reach(look, y[rows], np.random.default_rng(options.seed))
            about: dict[str, Cell] = {"half": half(name), "set": name}
            yield Row({"table": "what can be reached", **about, **found[name]})
    for which in HALVES:
        if of := [cells for name, cells in found.items() if half(name) == which]:
            means: dict[str, Cell] = {
                key: float(np.mean([one[key] for one in of])) for key in of[0]
            }
            yield Row({"table": "what can be reached, mean", "half": which, **means})


def _reach(look: Look, y: Array, rng: np.random.Generator) -> dict[str, float]:
    m, kind = len(look), y[look.row]
    first, second = np.triu_indices(m, 1)
    same = kind[first] == kind[second]
    before = prior()
    belief = beliefs(before.mean, look.features)
    picked = rng.choice(len(same), min(PAIRS, len(same)), replace=False)
    of_pairs = look.features[:, first[picked], second[picked]].T.astype(float)
    weights = posterior(of_pairs, same[picked].astype(float), np.ones(len(picked)), before)
    found = {"hearts": float(adjusted_rand_score(y, kind[look.piece]))}
    for count in TOLD:
        known = rng.choice(m, min(count, m), replace=False)
        labels = kind[known][belief[:, known].argmax(axis=1)]
        found[f"{count} classes"] = float(adjusted_rand_score(y, labels[look.piece]))
    for name, chance in (("before", belief), ("told", beliefs(weights, look.features))):
        found[f"AUC {name}"] = float(roc_auc_score(same, chance[first, second]))
    return found
