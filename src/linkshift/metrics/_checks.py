"""What all scores ask of labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def checked_labels(labels: ArrayLike, name: str) -> NDArray[np.generic]:
    """Labels as an array of one dimension."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {values.shape}")
    return values
