"""What every estimator needs at its door."""

from __future__ import annotations

import joblib

from linkshift.links import Links


def n_threads(n_jobs: int | None) -> int:
    """All cores for None; otherwise joblib's reading of ``n_jobs`` (-1: all, -2: all but one)."""
    return int(joblib.cpu_count() if n_jobs is None else joblib.effective_n_jobs(n_jobs))


def refuse_links_as_y(y: object) -> None:
    """Scikit-learn's clusterers ignore y: links in its place would be dropped without a word."""
    if isinstance(y, Links):
        raise TypeError("Links were given in the place of y, which is ignored; write links=...")
