"""What every estimator needs at its door."""

from __future__ import annotations

import joblib
import numpy as np
from numpy.typing import ArrayLike

from linkshift.links import Links


def n_threads(n_jobs: int | None) -> int:
    """All cores for None; otherwise joblib's reading of ``n_jobs`` (-1: all, -2: all but one)."""
    return int(joblib.cpu_count() if n_jobs is None else joblib.effective_n_jobs(n_jobs))


def refuse_links_as_y(y: object) -> None:
    """Scikit-learn's clusterers ignore y: links in its place would be dropped without a word."""
    if isinstance(y, Links):
        raise TypeError("Links were given in the place of y, which is ignored; write links=...")


def joined_links(links: Links | None, partial_labels: ArrayLike | None, n: int) -> Links:
    """Links and partial labels as one set of links, checked against the number of rows."""
    given = Links.coerce(links).check(n)
    if partial_labels is None:
        return given
    if len(np.asarray(partial_labels)) != n:
        raise ValueError(
            f"partial_labels has {len(np.asarray(partial_labels))} entries for {n} rows; give one "
            "for each row, -1 where the class is unknown."
        )
    return given + Links.from_labels(partial_labels).check(n)
