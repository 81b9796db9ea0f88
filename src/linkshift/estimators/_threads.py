"""How many threads an estimator may use."""

from __future__ import annotations

import joblib


def n_threads(n_jobs: int | None) -> int:
    """All cores for None; otherwise joblib's reading of ``n_jobs`` (-1: all, -2: all but one)."""
    return int(joblib.cpu_count() if n_jobs is None else joblib.effective_n_jobs(n_jobs))
